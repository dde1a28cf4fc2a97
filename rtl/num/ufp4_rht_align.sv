// SPDX-License-Identifier: Apache-2.0
// Aligns one FP32 number to the largest exponent of its block, for the Hadamard transform.
//
// Contract: aligned_o is the significand of the number, shifted right by largest_i (the largest
// exponent of the block, at least 1) minus its own exponent, truncated, and negated if exactly one
// of its sign and flip_i is set; two's complement in bits 28..0. Combinational.
// Golden: ufp4_rht_block. Spec: numerics.md 3. Test: tests/rtl/vectors (inside the transform).
module ufp4_rht_align (
  input  logic [31:0] word_i,
  input  logic [7:0]  largest_i,
  input  logic        flip_i,
  output logic [31:0] aligned_o
);

  logic [23:0] significand;
  logic [7:0]  exponent, shift;
  logic [28:0] magnitude;

  assign significand = {word_i[30:23] != 8'd0, word_i[22:0]};
  assign exponent    = word_i[30:23] == 8'd0 ? 8'd1 : word_i[30:23];
  assign shift       = largest_i - exponent;
  assign magnitude   = shift > 8'd23 ? 29'd0 : {5'd0, significand} >> shift[4:0];
  assign aligned_o   = {3'd0, (word_i[31] ^ flip_i) ? -magnitude : magnitude};

endmodule
