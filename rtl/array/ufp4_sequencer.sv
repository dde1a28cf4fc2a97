// SPDX-License-Identifier: Apache-2.0
// Decides what the array is fed. The order is: macro-tiles, in each the chunks of k, in each the
// sub-tiles row by row, in each the blocks, one per cycle; with fewer than 16 Lanes a block takes
// 16 / Lanes cycles.
//
// A feed waits for its panel groups (loaded_i) and, in the last chunk, for a drained accumulator
// bank. Final sums go to a bank from which nothing is loaded, so that the drain can follow at once:
// if K is one chunk, macro-tiles alternate between the banks; otherwise partial sums stay in bank
// 0, and the last chunk loads them from there and writes to bank 1. Operand slots alternate. feed_*
// is registered; busy_o and the stalls describe the decision, one cycle earlier. When the last
// block of a chunk is fed its slot is retired, and released once the last lane has read it.
// ready_o, a pulse, tells the drain that a row of sub-tiles is in its bank.
//
// With the contracts fp32 and nv a sum takes TURN_CYCLES (_NV) through its PE. A turn of several
// sub-tiles fills these cycles: one block, or group, of each sub-tile in turn. With fp32 a sum
// returns in every TURN_CYCLES-th cycle, so each sub-tile of a turn has its own phase; a feed waits
// up to three cycles for its phase after a stall, and a turn of fewer sub-tiles leaves cycles
// empty. With nv a turn is two sub-tiles, and a sub-tile that is alone waits after each of its
// groups. A group of four blocks always takes four cycles, even if the last one of K has fewer
// blocks. All these empty cycles count as accumulator stalls.
// Tests: tests/rtl/array. Timed model: sim/src/timing/array/sequencer.
module ufp4_sequencer #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned ChunkStep = 4,
  parameter int unsigned CountWidth = 5,
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  parameter int unsigned Lanes = 16,
  parameter int unsigned PeStages = 4,
  parameter int unsigned PeReturn = 2,
  parameter int unsigned PeShare = 1,
  localparam int unsigned TileWidthA = $clog2(TileRows),
  localparam int unsigned TileWidthB = $clog2(TileCols),
  localparam int unsigned BlockWidth = $clog2(Chunk),
  localparam int unsigned AddrWidthA = 1 + TileWidthA + BlockWidth,
  localparam int unsigned AddrWidthB = 1 + TileWidthB + BlockWidth,
  localparam int unsigned LaneWidthA = $clog2(Rows + 1),
  localparam int unsigned LaneWidthB = $clog2(Cols + 1),
  localparam int unsigned IndexWidth = TileWidthA + TileWidthB,
  localparam int unsigned FeedWidth = IndexWidth + ((Contract == 32'(ufp4_spec_pkg::CONTRACT_EXACT)) ? 4 : 6)
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  // Every unit of the engine reads only some fields of the descriptor.
  // verilator lint_off UNUSEDSIGNAL
  input  ufp4_spec_pkg::gemm_descriptor_t desc_i,
  // verilator lint_on UNUSEDSIGNAL
  // From the loader: macro-tiles beyond tiles_i follow while loading_i is high.
  input  logic                            loading_i,
  input  logic [2:0]                      tiles_i,
  // Operand slots.
  input  logic [1:0][CountWidth-1:0]      loaded_i,
  output logic                            retire_o,
  output logic                            retire_slot_o,
  output logic                            release_o,
  // Accumulator banks.
  input  logic                            drained_i,
  input  logic                            drained_bank_i,
  output logic                            ready_o,
  // Array.
  output logic                            feed_valid_o,
  output logic [AddrWidthA-1:0]           feed_addr_a_o,
  output logic [AddrWidthB-1:0]           feed_addr_b_o,
  output logic                            feed_parity_o,
  output logic                            feed_clear_a_o,
  output logic                            feed_clear_b_o,
  output logic                            feed_first_o,
  output logic                            feed_last_o,
  output logic [LaneWidthA-1:0]           feed_lanes_a_o,
  output logic [LaneWidthB-1:0]           feed_lanes_b_o,
  output logic [FeedWidth-1:0]            feed_control_o,
  // State of this cycle; at most one is high.
  output logic                            busy_o,
  output logic                            stall_operand_o,
  output logic                            stall_accumulator_o
);
  localparam int unsigned TileM = Rows * TileRows;
  localparam int unsigned TileN = Cols * TileCols;
  localparam int unsigned RowsWidth = $clog2(TileM + 1);
  localparam int unsigned ColsWidth = $clog2(TileN + 1);
  // LaneDelay: cycles from the decision on a feed until the last lane has read. SumDelay: until the
  // last sum of the feed is written.
  localparam int unsigned LaneDelay = (Rows > Cols) ? Rows : Cols;
  localparam int unsigned SumDelay = (Rows - 1) / PeShare + (Cols - 1) / PeShare + 2 + PeStages;

  function automatic int unsigned least(int unsigned a, int unsigned b);
    return (a < b) ? a : b;
  endfunction

  logic next_tile, last_tile, unused_last_col, unused_last;
  logic [RowsWidth-1:0] rows;
  logic [ColsWidth-1:0] cols;
  ufp4_tile_walk #(.TileM(TileM), .TileN(TileN)) u_walk (
    .clk_i,
    .start_i,
    .m_i(desc_i.m[20:0]),
    .n_i(desc_i.n[20:0]),
    .next_i(next_tile),
    .rows_o(rows),
    .cols_o(cols),
    .last_col_o(unused_last_col),
    .last_o(unused_last)
  );

  logic active_d, active_q, slot_d, slot_q, parity_d, parity_q, claimed_d, claimed_q;
  logic [1:0] full_d, full_q;
  logic [2:0] tiles_d, tiles_q;
  logic [TileWidthA-1:0] tile_a_d, tile_a_q;
  logic [TileWidthB-1:0] tile_b_d, tile_b_q;
  logic [BlockWidth-1:0] block_d, block_q, group;

  logic first_chunk, last_chunk, end_chunk;
  logic [16:0] k_blocks, k_left;
  logic [8:0] blocks;
  assign k_blocks = 17'((desc_i.k + 32'd15) >> 4);
  ufp4_chunk_walk #(.Chunk(Chunk), .Step(ChunkStep)) u_chunks (
    .clk_i,
    .start_i,
    .k_blocks_i(k_blocks),
    .next_i(end_chunk),
    .left_o(k_left),
    .blocks_o(blocks),
    .first_o(first_chunk),
    .last_o(last_chunk)
  );

  // Ends of the loops. padding: the last group of four has no such block.
  localparam bit Nv = Contract == 32'(ufp4_spec_pkg::CONTRACT_NV);
  // The block with which the group begins; the next sub-tile of a turn begins with the same block.
  assign group = Nv ? block_q & ~BlockWidth'(3) : block_q;
  logic [8:0] last_place;
  logic padding, last_block, last_b, last_a, single;
  logic [RowsWidth-1:0] end_a;
  logic [ColsWidth-1:0] end_b;
  assign end_a = (RowsWidth'(tile_a_q) + 1'b1) * RowsWidth'(Rows);
  assign end_b = (ColsWidth'(tile_b_q) + 1'b1) * ColsWidth'(Cols);
  assign last_place = (blocks - 9'd1) | (Nv ? 9'd3 : 9'd0);
  assign padding = Nv & last_chunk & (17'(block_q) >= k_left);
  assign last_block = 9'(block_q) == last_place;
  assign last_b = end_b >= cols;
  assign last_a = end_a >= rows;
  // single: the macro-tile has only one sub-tile, or one turn, whose sums stay in the registers of
  // the PEs from chunk to chunk.
  localparam int unsigned Steps = 16 / Lanes;
  localparam bit Fp32 = Contract == 32'(ufp4_spec_pkg::CONTRACT_FP32);
  localparam int unsigned Turn = Fp32 ? ufp4_spec_pkg::TURN_CYCLES / Steps : Nv ? ufp4_spec_pkg::TURN_CYCLES_NV / 4 : 1;
  always_comb begin
    single = 1'b0;
    for (int unsigned a = 1; a <= Turn; a++) single |= (32'(rows) <= a * Rows) & (32'(cols) <= (Turn / a) * Cols);
  end

  // Groups arrive in the slot in the order A0, B0, .., B(last), A1, ..; need is the number up to
  // the last one that the feed uses. If a group is not a whole number of sub-tiles, the last
  // sub-tile may extend beyond the last group.
  logic [CountWidth-1:0] group_a, group_b, groups_b, need;
  assign group_a = CountWidth'((((16 % Rows != 0 && last_a) ? 32'(rows) : 32'(end_a)) - 1) / 16);
  assign group_b = CountWidth'((((16 % Cols != 0 && last_b) ? 32'(cols) : 32'(end_b)) - 1) / 16);
  assign groups_b = CountWidth'((32'(cols) + 15) / 16);
  assign need = (group_a == 0) ? group_b + CountWidth'(2) : groups_b + group_a + CountWidth'(1);

  // The rows and columns of the sub-tile that these groups cover.
  logic [LaneWidthA-1:0] lanes_a;
  logic [LaneWidthB-1:0] lanes_b;
  assign lanes_a = LaneWidthA'(least(16 * ((32'(rows) + 15) / 16) - Rows * 32'(tile_a_q), Rows));
  assign lanes_b = LaneWidthB'(least(16 * 32'(groups_b) - Cols * 32'(tile_b_q), Cols));

  logic returned, many_chunks_q, bank, operands_here, bank_free, in_phase, feed, fed, end_row, end_tile;

  // Steps of a block.
  logic first_step, last_step;
  logic [1:0] step;
  if (Lanes == 16) begin : gen_one_step
    assign {first_step, last_step} = 2'b11;
    assign step = 2'd0;
  end else begin : gen_steps
    logic [$clog2(Steps)-1:0] step_q;
    assign step = 2'(step_q);
    assign first_step = step_q == '0;
    assign last_step = &step_q;
    always_ff @(posedge clk_i) begin
      if (start_i) begin
        step_q <= '0;
      end else if (feed) begin
        step_q <= step_q + 1'b1;
      end
    end
  end

  // Constant of the job, right long before its first feed.
  always_ff @(posedge clk_i) many_chunks_q <= k_blocks > 17'(Chunk);
  assign bank = many_chunks_q ? last_chunk : parity_q;
  assign operands_here = loaded_i[slot_q] >= need;
  assign bank_free = (~last_chunk | claimed_q | ~full_q[bank]) & returned;
  assign feed = active_q & bank_free & operands_here & in_phase;
  assign busy_o = feed & ~padding;
  assign stall_accumulator_o = active_q & (~bank_free | ((padding | ~in_phase) & operands_here));
  assign stall_operand_o = active_q & bank_free & ~operands_here;
  // The last step of a block, or of a group, is fed.
  assign fed = feed & last_step & (~Nv | (&block_q[1:0]));
  assign end_row = fed & last_block & last_b;
  assign end_chunk = end_row & last_a;
  assign end_tile = end_chunk & last_chunk;
  assign next_tile = end_tile;
  assign last_tile = ~loading_i & (tiles_d == tiles_i);
  assign tiles_d = tiles_q + 3'(end_tile);
  assign retire_o = end_chunk;
  assign retire_slot_o = slot_q;

  // The next chunk returns to the sub-tile with which a chunk ended after as few as two cycles (two
  // sub-tiles, one block of k left). Where a sum can be loaded only PeReturn cycles after its
  // block, short chunks of few sub-tiles wait.
  if (PeReturn <= 2) begin : gen_returned
    assign returned = 1'b1;
  end else begin : gen_wait
    localparam int unsigned Wait = PeReturn - 2;
    localparam int unsigned WaitWidth = $clog2(Wait + 1);
    logic [WaitWidth-1:0] wait_q;
    assign returned = single | (wait_q == '0) | (blocks > 9'(Wait)) | (32'(rows) > (Wait + 1) * Rows) |
                      (32'(cols) > (Wait + 1) * Cols);
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        wait_q <= '0;
      end else if (end_chunk & ~last_chunk) begin
        wait_q <= WaitWidth'(Wait);
      end else if (wait_q != '0) begin
        wait_q <= wait_q - 1'b1;
      end
    end
  end

  // turn_a, turn_b: the first sub-tile of the current turn; place: the current position in the
  // turn; turn_end: the current sub-tile is the last one of the turn.
  logic turn_end;
  logic [1:0] place;
  logic [TileWidthA-1:0] turn_a, next_a;
  logic [TileWidthB-1:0] turn_b, next_b;
  assign next_a = last_b ? (last_a ? '0 : tile_a_q + 1'b1) : tile_a_q;
  assign next_b = last_b ? '0 : tile_b_q + 1'b1;
  if (Turn > 1) begin : gen_turn
    logic [$clog2(Turn)-1:0] place_q;
    logic [TileWidthA-1:0] turn_a_q;
    logic [TileWidthB-1:0] turn_b_q;
    assign place = 2'(place_q);
    assign turn_end = &place_q | (last_a & last_b);
    assign {turn_a, turn_b} = {turn_a_q, turn_b_q};
    always_ff @(posedge clk_i) begin
      if (start_i) begin
        place_q <= '0;
        turn_a_q <= '0;
        turn_b_q <= '0;
      end else if (fed) begin
        place_q <= turn_end ? '0 : place_q + 1'b1;
        if (turn_end & last_block) begin
          turn_a_q <= next_a;
          turn_b_q <= next_b;
        end
      end
    end
  end else begin : gen_alone
    assign place = 2'd0;
    assign turn_end = 1'b1;
    assign {turn_a, turn_b} = {tile_a_q, tile_b_q};
  end

  if (Fp32) begin : gen_phase
    // The phase counts from the first feed of a job.
    logic [1:0] phase_q;
    logic begun_q;
    assign in_phase = phase_q == (2'(32'(place) * Steps) | step);
    always_ff @(posedge clk_i) begin
      begun_q <= ~start_i & (begun_q | feed);
      phase_q <= (start_i || !(begun_q | feed)) ? 2'd0 : phase_q + 2'd1;
    end
  end else begin : gen_no_phase
    logic unused_step;
    assign unused_step = ^step;
    if (Nv) begin : gen_pause
      // A lone sub-tile waits after its group, because the next group may belong to the same sum.
      logic [2:0] pause_q;
      assign in_phase = pause_q == 3'd0;
      always_ff @(posedge clk_i) begin
        if (!rst_ni || start_i) begin
          pause_q <= 3'd0;
        end else if (fed & turn_end & ~|place) begin
          pause_q <= 3'(ufp4_spec_pkg::TURN_CYCLES_NV - 4);
        end else begin
          pause_q <= pause_q - 3'(pause_q != 3'd0);
        end
      end
    end else begin : gen_no_pause
      assign in_phase = 1'b1;
      logic unused_place;
      assign unused_place = ^{place, fed};
    end
  end

  always_comb begin
    active_d = active_q;
    slot_d = slot_q ^ end_chunk;
    parity_d = parity_q ^ end_tile;
    claimed_d = claimed_q;
    full_d = full_q;
    tile_a_d = tile_a_q;
    tile_b_d = tile_b_q;
    block_d = block_q;
    if (drained_i) full_d[drained_bank_i] = 1'b0;
    if (feed) begin
      if (last_chunk) begin
        claimed_d = 1'b1;
        full_d[bank] = 1'b1;
      end
      if (last_step) block_d = block_q + 1'b1;
      if (fed) begin
        block_d = (turn_end & last_block) ? '0 : turn_end ? block_q + 1'b1 : group;
        tile_a_d = (turn_end & ~last_block) ? turn_a : next_a;
        tile_b_d = (turn_end & ~last_block) ? turn_b : next_b;
      end
    end
    if (end_tile) begin
      claimed_d = 1'b0;
      active_d = ~last_tile;
    end
    if (start_i) begin
      active_d = 1'b1;
      slot_d = 1'b0;
      parity_d = 1'b0;
      claimed_d = 1'b0;
      full_d = '0;
      tile_a_d = '0;
      tile_b_d = '0;
      block_d = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
    end else begin
      active_q <= active_d;
    end
    slot_q <= slot_d;
    parity_q <= parity_d;
    claimed_q <= claimed_d;
    full_q <= full_d;
    tiles_q <= start_i ? '0 : tiles_d;
    tile_a_q <= tile_a_d;
    tile_b_q <= tile_b_d;
    block_q <= block_d;
  end

  // A lone sub-tile or turn keeps its sums in the registers of the PEs, because they would not be
  // in memory in time for the next chunk.
  logic first_block, first_sum, last_sum, hold, join_held;
  logic [IndexWidth+3:0] control;
  logic [FeedWidth-1:0] feed_control;
  assign first_block = block_q == 0;
  assign control = {~first_sum | (single & ~first_chunk), first_sum & ~first_chunk & ~single & ~hold, last_sum,
                    bank, tile_a_q, tile_b_q};
  if (Contract == 32'(ufp4_spec_pkg::CONTRACT_EXACT)) begin : gen_exact
    assign first_sum = first_block;
    assign last_sum = last_block;
    assign {hold, join_held} = 2'b00;
    assign feed_control = control;
    logic unused_join;
    assign unused_join = join_held;
  end else if (Nv) begin : gen_nv
    // The control of a group is that of its first block.
    assign first_sum = (block_q >> 2) == 0;
    assign last_sum = (9'(block_q) | 9'd3) == last_place;
    assign {hold, join_held} = 2'b00;
    assign feed_control = {block_q[1:0] == 2'd0, |place, control};
    logic unused_join;
    assign unused_join = join_held;
  end else begin : gen_fp32
    // With E8M0 two blocks share a scale: the first is held for the second, if there is one.
    logic pairs;
    assign pairs = desc_i.scale == ufp4_spec_pkg::SCALE_E8M0;
    assign first_sum = (block_q >> pairs) == 0;
    assign last_sum = last_block;
    assign hold = pairs & ~block_q[0] & ~last_block;
    assign join_held = pairs & block_q[0];
    assign feed_control = {hold, join_held, control};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      feed_valid_o <= 1'b0;
    end else begin
      feed_valid_o <= feed & ~padding;
    end
    if (feed) begin
      feed_addr_a_o <= {slot_q, tile_a_q, block_q};
      feed_addr_b_o <= {slot_q, tile_b_q, block_q};
      feed_parity_o <= parity_q;
      feed_clear_a_o <= first_chunk & first_block & (tile_b_q == 0);
      feed_lanes_a_o <= lanes_a;
      feed_lanes_b_o <= lanes_b;
      feed_clear_b_o <= first_chunk & first_block & (tile_a_q == 0);
      feed_first_o <= first_step;
      feed_last_o <= last_step;
      feed_control_o <= feed_control;
    end
  end

  // Two events follow a feed at a fixed distance: a slot becomes free, and a row of sub-tiles is in
  // its bank.
  logic [LaneDelay-1:0] release_q;
  logic [SumDelay-1:0] ready_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) begin
      release_q <= '0;
      ready_q <= '0;
    end else begin
      release_q <= LaneDelay'({release_q, end_chunk});
      ready_q <= SumDelay'({ready_q, end_row & last_chunk});
    end
  end
  assign release_o = release_q[LaneDelay-1];
  assign ready_o = ready_q[SumDelay-1];
endmodule
