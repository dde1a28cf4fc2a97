// SPDX-License-Identifier: Apache-2.0
// ufp4_sequencer for the contracts fp32 and nv, beside a model of the sums in its PEs. With fp32
// the sums are a ring of TURN_CYCLES, of which the next one reaches the adder in each cycle, fed or
// not. With nv there are two, told apart by the turn of the feed, and each returns TURN_CYCLES_NV
// after its last group began; a group is fed in four cycles without a gap. A feed that keeps its
// sum finds the sum of its own sub-tile, with all earlier blocks and none of the later ones. A feed
// that does not keep begins with block 0, and one that loads comes after the sum of its sub-tile
// has returned to memory. No sum is dropped before it was written, and at the end each is complete.
// Bounded: any stalls within the depth, where a slot never has fewer operands than before until it
// is retired, which groups rely on.
module formal_sequencer
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned Contract = 32'(CONTRACT_FP32),
  parameter int unsigned Lanes = 16,
  parameter int unsigned Chunk = 4,
  parameter int unsigned TileRows = 2,
  parameter int unsigned TileCols = 4
) (
  input logic            clk_i,
  input logic            start_i,
  input logic [6:0]      m_i,
  input logic [6:0]      n_i,
  input logic [7:0]      k_i,
  input logic            e8m0_i,
  input logic [1:0][4:0] loaded_i,
  input logic            drained_i,
  input logic            drained_bank_i
);
  localparam int unsigned Side = 16;
  localparam int unsigned A = $clog2(TileRows), B = $clog2(TileCols);
  localparam bit Nv = Contract == 32'(CONTRACT_NV);
  localparam int unsigned Stages = Nv ? PE_STAGES_NV : PE_STAGES_FP32;
  localparam int unsigned Places = Nv ? 2 : TURN_CYCLES;
  localparam int unsigned Return = Nv ? Stages - 3 : Stages - 2;  // cycles from a block that writes to one that loads
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  gemm_descriptor_t desc;
  always_comb begin
    desc = '0;
    {desc.m, desc.n, desc.k} = {32'(m_i), 32'(n_i), 32'(k_i)};
    desc.scale = e8m0_i ? SCALE_E8M0 : SCALE_E4M3;
  end

  logic valid, last_step, retire, retire_slot;
  logic [A+B+5:0] control;
  // verilator lint_off PINCONNECTEMPTY
  ufp4_sequencer #(
    .Rows(Side), .Cols(Side), .TileRows(TileRows), .TileCols(TileCols), .Chunk(Chunk), .ChunkStep(Nv ? 4 : 2), .CountWidth(5),
    .Contract(Contract), .Lanes(Lanes), .PeStages(Stages)
  ) u_dut (
    .clk_i, .rst_ni(rst_n), .start_i, .desc_i(desc), .loading_i(1'b0), .tiles_i(3'd1), .loaded_i, .retire_o(retire),
    .retire_slot_o(retire_slot), .release_o(), .drained_i, .drained_bank_i, .ready_o(), .feed_valid_o(valid), .feed_addr_a_o(),
    .feed_addr_b_o(), .feed_parity_o(), .feed_clear_a_o(), .feed_clear_b_o(), .feed_first_o(), .feed_last_o(last_step),
    .feed_lanes_a_o(), .feed_lanes_b_o(), .feed_control_o(control), .busy_o(), .stall_operand_o(),
    .stall_accumulator_o()
  );
  // verilator lint_on PINCONNECTEMPTY

  // The block within its chunk, from the operand address; the history of the sums gives the chunk.
  logic hold, join_held, first, turn, keep, load, write, bank, adds;
  logic [A+B-1:0] tile;
  logic [1:0] block;
  assign {keep, load, write, bank, tile} = control[A+B+3:0];
  assign {hold, join_held} = Nv ? 2'b00 : control[A+B+4+:2];
  assign {first, turn} = Nv ? control[A+B+4+:2] : 2'b10;
  assign block = u_dut.feed_addr_a_o[1:0];
  assign adds = valid && last_step;

  // The sums: the sub-tile of each, and its number of blocks of k. A held dot product travels with
  // its sum.
  typedef struct packed {
    logic used;
    logic stored;
    logic held;
    logic [A+B-1:0] tile;
    logic [3:0] blocks;
  } sum_t;
  sum_t [Places-1:0] sums;
  logic running;
  logic [(1<<(A+B))-1:0][3:0] blocks_stored;  // blocks of k in the sum in memory, by sub-tile
  logic [(1<<(A+B))-1:0][3:0] since;          // cycles since its last write
  // Contract nv: cycles since the first block of the last group, of any turn and of each turn; the
  // sub-tile and turn of that group.
  logic [3:0] since_group;
  logic [1:0][3:0] since_turn;
  logic [A+B:0] group;
  sum_t here, next;
  assign here = Nv ? sums[turn] : sums[Places-1];
  always_comb begin
    next = here;
    if (adds) begin
      next.used = 1'b1;
      next.tile = tile;
      next.held = hold;
      if (first && !keep) next.blocks = load ? blocks_stored[tile] : 4'd0;
      if (!hold) next.blocks = next.blocks + (join_held ? 4'd2 : 4'd1);
      next.stored = write;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n || start_i) begin
      sums <= '0;
      running <= rst_n;
      since <= '1;
      since_group <= '1;
      since_turn <= '1;
      blocks_stored <= '0;
    end else begin
      if (Nv) sums[turn] <= next;
      else sums <= {sums[Places-2:0], next};
      since_group <= since_group + 4'(since_group != '1);
      for (int unsigned t = 0; t < 2; t++) since_turn[t] <= since_turn[t] + 4'(since_turn[t] != '1);
      if (adds && first) begin
        since_group <= 4'd1;
        since_turn[turn] <= 4'd1;
        group <= {turn, tile};
      end
      for (int unsigned t = 0; t < 1 << (A + B); t++) begin
        since[t] <= since[t] + 4'(since[t] != '1);
        if (adds && write && tile == (A + B)'(t)) begin
          if (first) since[t] <= 4'd1;
          blocks_stored[t] <= next.blocks;
        end
      end
    end
  end

  logic [1:0][4:0] loaded_before;
  logic [1:0] retired;
  always_ff @(posedge clk_i) begin
    loaded_before <= loaded_i;
    retired <= {2{retire}} & {retire_slot, ~retire_slot};
    if (rst_n && Nv) begin
      for (int unsigned slot = 0; slot < 2; slot++) assume (retired[slot] || loaded_i[slot] >= loaded_before[slot]);
    end
  end

  logic [22:0] job, job_before;
  assign job = {m_i, n_i, k_i, e8m0_i};
  always_ff @(posedge clk_i) job_before <= job;
  logic [3:0] k_blocks;
  assign k_blocks = 4'((9'(k_i) + 9'd15) >> 4);
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume (m_i != '0 && 32'(m_i) <= Side * TileRows && n_i != '0 && 32'(n_i) <= Side * TileCols && k_i != '0 &&
              k_i <= (Nv ? 8'd144 : 8'd80));
      assume (!running || (job == job_before && !start_i));
      assume (running || start_i);
      if (running && adds) begin
        // The place holds the sum that continues, or one that was written.
        if (keep || !first) assert (here.used && here.tile == tile);
        else assert (!here.used || here.stored || here.tile == tile);
        if (join_held) assert (here.held && here.tile == tile);
        else assert (!here.held);
        if (first && load && !hold) assert (32'(since[tile]) >= Return && blocks_stored[tile] != '0);
        // A sum that begins without a load is the first of its sub-tile.
        if (first && !keep && !load && !hold) assert (blocks_stored[tile] == '0);
        assert (next.blocks <= k_blocks);
        // Blocks are in order: within a chunk the sum has all earlier ones.
        if (!hold) assert (next.blocks[0] == ~block[0]);
        if (Nv) begin
          assert (next.blocks[1:0] == block + 2'd1);
          if (first) assert (block == 2'd0 && since_group >= 4'd4 && 32'(since_turn[turn]) >= TURN_CYCLES_NV);
          else assert (since_group == 4'(block) && block != 2'd0 && group == {turn, tile});
        end else if (write && bank) begin
          assert (next.blocks == k_blocks);
        end
      end
      // At the end each sub-tile of D has all blocks of k.
      if (running && !u_dut.active_q && !valid) begin
        for (int unsigned t = 0; t < 1 << (A + B); t++) begin
          if (Side * (t >> B) < 32'(m_i) && Side * (t % TileCols) < 32'(n_i)) assert (blocks_stored[t] == k_blocks);
        end
      end
      cover (running && adds && load && k_blocks == (Nv ? 4'd9 : 4'd5));
      if (Nv) cover (running && adds && first && keep && turn);
      else cover (running && adds && keep && join_held);
      cover (running && adds && keep && write && blocks_stored[tile] == (Nv ? 4'd4 : 4'd2));
    end
  end
endmodule
