// SPDX-License-Identifier: Apache-2.0
// ufp4_sequencer of the contract fp32, beside a model of the ring of sums that its PEs have: TURN_CYCLES sums, of which
// another one comes to the adder in each cycle, whether something is fed or not. A feed that keeps its sum finds the sum of
// its own sub-tile, with all blocks before it and none behind; one that does not begins with block 0; one that loads comes
// when the sum of its sub-tile is back in memory; no sum is left before it was written, and at the end each is whole. For
// any stalls, all there is within the depth.
module formal_sequencer
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned Lanes = 16,
  parameter int unsigned TileRows = 2,
  parameter int unsigned TileCols = 4
) (
  input logic            clk_i,
  input logic            start_i,
  input logic [6:0]      m_i,
  input logic [6:0]      n_i,
  input logic [6:0]      k_i,
  input logic            e8m0_i,
  input logic [1:0][4:0] loaded_i,
  input logic            drained_i,
  input logic            drained_bank_i
);
  localparam int unsigned Side = 16, Chunk = 4;
  localparam int unsigned A = $clog2(TileRows), B = $clog2(TileCols);
  localparam int unsigned Return = PE_STAGES_FP32 - 2;  // from a block that is written to one that loads
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  gemm_descriptor_t desc;
  always_comb begin
    desc = '0;
    {desc.m, desc.n, desc.k} = {32'(m_i), 32'(n_i), 32'(k_i)};
    desc.scale = e8m0_i ? SCALE_E8M0 : SCALE_E4M3;
  end

  logic valid, last_step;
  logic [A+B+5:0] control;
  // verilator lint_off PINCONNECTEMPTY
  ufp4_sequencer #(
    .Rows(Side), .Cols(Side), .TileRows(TileRows), .TileCols(TileCols), .Chunk(Chunk), .ChunkStep(2), .CountWidth(5),
    .Contract(32'(CONTRACT_FP32)), .Lanes(Lanes), .PeStages(PE_STAGES_FP32)
  ) u_dut (
    .clk_i, .rst_ni(rst_n), .start_i, .desc_i(desc), .loading_i(1'b0), .tiles_i(3'd1), .loaded_i, .retire_o(),
    .retire_slot_o(), .release_o(), .drained_i, .drained_bank_i, .ready_o(), .feed_valid_o(valid), .feed_addr_a_o(),
    .feed_addr_b_o(), .feed_parity_o(), .feed_clear_a_o(), .feed_clear_b_o(), .feed_first_o(), .feed_last_o(last_step),
    .feed_lanes_a_o(), .feed_lanes_b_o(), .feed_control_o(control), .busy_o(), .stall_operand_o(),
    .stall_accumulator_o()
  );
  // verilator lint_on PINCONNECTEMPTY

  // Which block it is: of its chunk, from the operands' address; chunks from the sums' history.
  logic hold, join_held, keep, load, write, bank, adds;
  logic [A+B-1:0] tile;
  logic block;
  assign {hold, join_held, keep, load, write, bank, tile} = control;
  assign block = u_dut.feed_addr_a_o[0];
  assign adds = valid && last_step;

  // The ring: who has the sum, and how many blocks of k are in it. What is held goes round as well.
  typedef struct packed {
    logic used;
    logic stored;
    logic held;
    logic [A+B-1:0] tile;
    logic [3:0] blocks;
  } sum_t;
  sum_t [TURN_CYCLES-1:0] ring;
  logic running;
  logic [(1<<(A+B))-1:0][3:0] blocks_stored;  // of each sub-tile, in memory
  logic [(1<<(A+B))-1:0][2:0] since;          // cycles from its last write on
  sum_t here, next;
  assign here = ring[TURN_CYCLES-1];
  always_comb begin
    next = here;
    if (adds) begin
      next.used = 1'b1;
      next.tile = tile;
      next.held = hold;
      if (!keep) next.blocks = load ? blocks_stored[tile] : 4'd0;
      if (!hold) next.blocks = next.blocks + (join_held ? 4'd2 : 4'd1);
      next.stored = write;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n || start_i) begin
      ring <= '0;
      running <= rst_n;
      since <= '1;
      blocks_stored <= '0;
    end else begin
      ring <= {ring[TURN_CYCLES-2:0], next};
      for (int unsigned t = 0; t < 1 << (A + B); t++) begin
        since[t] <= since[t] + 3'(since[t] != '1);
        if (adds && write && tile == (A + B)'(t)) begin
          since[t] <= 3'd1;
          blocks_stored[t] <= next.blocks;
        end
      end
    end
  end

  logic [21:0] job, job_before;
  assign job = {m_i, n_i, k_i, e8m0_i};
  always_ff @(posedge clk_i) job_before <= job;
  logic [3:0] k_blocks;
  assign k_blocks = 4'((k_i + 7'd15) >> 4);
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume (m_i != '0 && 32'(m_i) <= Side * TileRows && n_i != '0 && 32'(n_i) <= Side * TileCols && k_i != '0 && k_i <= 7'd80);
      assume (!running || (job == job_before && !start_i));
      assume (running || start_i);
      if (running && adds) begin
        // Nothing but the sum that goes on may be in its place, or one that was written.
        if (keep) assert (here.used && here.tile == tile);
        else assert (!here.used || here.stored || here.tile == tile);
        if (join_held) assert (here.held && here.tile == tile);
        else assert (!here.held);
        if (load && !hold) assert (32'(since[tile]) >= Return && blocks_stored[tile] != '0);
        // A sum that begins without one from memory is the first of its sub-tile.
        if (!keep && !load && !hold) assert (blocks_stored[tile] == '0);
        assert (next.blocks <= k_blocks);
        if (write && bank) assert (next.blocks == k_blocks);
        // Block by block: within a chunk the sum has those before it.
        if (!hold) assert (next.blocks[0] == ~block);
      end
      // At the end each sub-tile of D has all blocks of k.
      if (running && !u_dut.active_q && !valid) begin
        for (int unsigned t = 0; t < 1 << (A + B); t++) begin
          if (Side * (t >> B) < 32'(m_i) && Side * (t % TileCols) < 32'(n_i)) assert (blocks_stored[t] == k_blocks);
        end
      end
      cover (running && adds && load && k_blocks == 4'd5);
      cover (running && adds && keep && join_held);
      cover (running && adds && keep && write && blocks_stored[tile] == 4'd2);
    end
  end
endmodule
