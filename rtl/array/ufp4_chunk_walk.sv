// SPDX-License-Identifier: Apache-2.0
// Walks the k blocks of a macro-tile in chunks. left_o blocks are left, and blocks_o of them are
// the current chunk; next_i moves to the next chunk, or from the last one to the first of the next
// macro-tile.
//
// A chunk has Chunk blocks, but the last two chunks share what is left after the last whole one:
// the first chunk of the next macro-tile is loaded while the last one is multiplied, and a short
// last chunk would not hide that load. Chunks begin at multiples of Step blocks, a power of two up
// to Chunk, so that no beat of scales, pair of E8M0 blocks or group of nv is split.
//
// Tests: tests/rtl/array, tests/rtl/formal/formal_load_request. Timed model: sim/src/timing/shape.
module ufp4_chunk_walk #(
  parameter int unsigned Chunk = 16,
  parameter int unsigned Step = 4
) (
  input  logic        clk_i,
  input  logic        start_i,
  input  logic [16:0] k_blocks_i,
  input  logic        next_i,
  output logic [16:0] left_o,
  output logic [8:0]  blocks_o,
  output logic        first_o,
  output logic        last_o
);
  localparam int unsigned Width = $clog2(2 * Chunk);  // of the blocks of two chunks
  localparam int unsigned StepWidth = $clog2(Step);

  // The state after either kind of step is prepared in advance, so that only a multiplexer depends
  // on next_i, which comes late, and the outputs come straight from registers.
  logic [16:0] left_q, after;
  logic [8:0] blocks_q;
  logic first_q, last_q;
  assign left_o = left_q;
  assign blocks_o = blocks_q;
  assign first_o = first_q;
  assign last_o = last_q;
  assign after = left_q - 17'(blocks_q);

  function automatic logic [8:0] chunk_of(logic [16:0] left);
    logic [Width-1:0] two, half;
    two = left[Width-1:0];
    half = (two >> (StepWidth + 1)) << StepWidth;
    if ((left >> Width) != '0) return 9'(Chunk);
    if (left <= 17'(Chunk)) return 9'(two);
    return 9'(half) + (two - half <= Width'(Chunk) ? 9'd0 : 9'(Step));
  endfunction

  always_ff @(posedge clk_i) begin
    if (start_i || (next_i && last_q)) begin
      left_q <= k_blocks_i;
      blocks_q <= chunk_of(k_blocks_i);
      last_q <= k_blocks_i <= 17'(Chunk);
      first_q <= 1'b1;
    end else if (next_i) begin
      left_q <= after;
      blocks_q <= chunk_of(after);
      last_q <= after <= 17'(Chunk);
      first_q <= 1'b0;
    end
  end
endmodule
