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

  // What is left, and the chunk of it, are made ready for either next chunk, so that only a choice stands behind next_i, which
  // comes late, and no logic before the outputs.
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
