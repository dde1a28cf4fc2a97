// SPDX-License-Identifier: Apache-2.0
// Exact dot product of sixteen pairs of decoded elements: the form for simulators.
//
//   dot = sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag          |dot| <= 2304
//
// Operands are the sign and binary magnitude planes of ufp4_elem_decode. Because p3 excludes p1 and
// p0, partial products of one weight that cannot both be set share a plane: 13 planes instead of
// 16. The partial products a_i b_j stay planes of 16 lanes, four in a 64-bit word, and are counted
// in fields that double in width. Each addition has a constant zero above every field, so no carry
// crosses fields, and few word operations are enough. In cells ufp4_dot is smaller by a third.
// Signs: plane ^ negative counts -x as weight - x in each lane, so 193, the sum of the weights,
// times the number of negative lanes is subtracted at the end. Combinational. Golden: none of its
// own, part of ufp4_gemm; tests/rtl/vectors.
module ufp4_dot_planes (
  input  logic [15:0]        a_sign_i,
  input  logic [63:0]        a_mag_i,
  input  logic [15:0]        b_sign_i,
  input  logic [63:0]        b_mag_i,
  output logic signed [12:0] dot_o
);
  localparam logic [63:0] MASK1 = 64'h5555_5555_5555_5555;
  localparam logic [63:0] MASK2 = 64'h3333_3333_3333_3333;
  localparam logic [63:0] MASK4 = 64'h0F0F_0F0F_0F0F_0F0F;
  localparam logic [63:0] MASK8 = 64'h00FF_00FF_00FF_00FF;

  logic [63:0] a, b, neg;
  assign a = a_mag_i;
  assign b = b_mag_i;
  assign neg = {4{a_sign_i ^ b_sign_i}};

  // Planes by log2 of their weight: even {6, 4, 2, 0}; odd_a and odd_b {5, 3, 1, -}; mixed
  // {negative lanes, 2, 4, 2}.
  logic [63:0] even, odd_a, odd_b, swap, mixed;
  assign even = (a & b) ^ neg;
  assign odd_a = ((a & (b << 16)) | ((a & (b >> 48)) << 32)) ^ (neg << 16);
  assign odd_b = ((b & (a << 16)) | ((b & (a >> 48)) << 32)) ^ (neg << 16);
  assign swap = a & {b[31:0], b[63:32]};
  assign mixed = {16'd0, swap[47:32], swap[31:16] | swap[63:48], swap[15:0]} ^ neg;

  logic [63:0] even2, odd_a2, odd_b2, mixed2;
  assign even2 = (even & MASK1) + ((even >> 1) & MASK1);
  assign odd_a2 = (odd_a & MASK1) + ((odd_a >> 1) & MASK1);
  assign odd_b2 = (odd_b & MASK1) + ((odd_b >> 1) & MASK1);
  assign mixed2 = (mixed & MASK1) + ((mixed >> 1) & MASK1);

  logic [63:0] even4, odd4, mixed4;
  assign even4 = (even2 & MASK2) + ((even2 >> 2) & MASK2);
  assign odd4 = ((odd_a2 & MASK2) + ((odd_a2 >> 2) & MASK2)) + ((odd_b2 & MASK2) + ((odd_b2 >> 2) & MASK2));
  assign mixed4 = (mixed2 & MASK2) + ((mixed2 >> 2) & MASK2);

  // The odd planes have half the weight of the even ones in the same field.
  logic [63:0] main8, mixed8;
  assign main8 = ((even4 & MASK4) << 1) + ((even4 >> 3) & (MASK4 << 1)) + ((odd4 & MASK4) + ((odd4 >> 4) & MASK4));
  assign mixed8 = (mixed4 & MASK4) + ((mixed4 >> 4) & MASK4);

  // The counts leave the uppermost bits of their fields unused.
  // verilator lint_off UNUSEDSIGNAL
  logic [63:0] main16, mixed16;
  assign main16 = (main8 & MASK8) + ((main8 >> 8) & MASK8);
  assign mixed16 = (mixed8 & MASK8) + ((mixed8 >> 8) & MASK8);

  // Fields are counts of at most 64 (main) and 16 (mixed).
  logic [63:0] pairs, quads;
  assign pairs = main16 + (main16 >> 14);
  assign quads = pairs + (pairs >> 28);
  // verilator lint_on UNUSEDSIGNAL

  logic [12:0] negatives;
  assign negatives = {8'd0, mixed16[52:48]};
  assign dot_o = signed'({1'b0, quads[12:1]} + {6'd0, mixed16[4:0], 2'd0} + {6'd0, mixed16[36:32], 2'd0} +
                         {4'd0, mixed16[20:16], 4'd0} - (negatives << 8) + (negatives << 6) - negatives);
endmodule
