// SPDX-License-Identifier: Apache-2.0
// Walks the k blocks of a macro-tile in chunks: blocks_o of left_o that are left are the chunk at hand, next_i goes to the
// next one, behind the last one to the first one of the next macro-tile.
//
// A chunk has Chunk blocks. Of what is left behind the last whole one the two last chunks share, so that the first chunk of
// the next macro-tile, whose loads go on while the last one is multiplied, has something to hide behind. Chunks begin at
// multiples of Step blocks, a power of two up to Chunk: where beats of the bus begin, and no pair or group of scales ends.
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
  localparam int unsigned Width = $clog2(2 * Chunk);  // of what two chunks have
  localparam int unsigned StepWidth = $clog2(Step);

  logic [16:0] left_d, left_q;
  logic first_q;
  assign left_o = left_q;
  assign first_o = first_q;
  assign last_o = left_q <= 17'(Chunk);

  logic two_or_more;
  logic [Width-1:0] left, half;
  assign two_or_more = (left_q >> Width) != '0;
  assign left = left_q[Width-1:0];
  assign half = (left >> (StepWidth + 1)) << StepWidth;
  always_comb begin
    if (two_or_more) begin
      blocks_o = 9'(Chunk);
    end else if (last_o) begin
      blocks_o = 9'(left);
    end else if (left - half <= Width'(Chunk)) begin
      blocks_o = 9'(half);
    end else begin
      blocks_o = 9'(half) + 9'(Step);
    end
  end

  assign left_d = (start_i || last_o) ? k_blocks_i : left_q - 17'(blocks_o);
  always_ff @(posedge clk_i) begin
    if (start_i || next_i) begin
      left_q <= left_d;
      first_q <= start_i || last_o;
    end
  end
endmodule
