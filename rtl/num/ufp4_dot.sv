// SPDX-License-Identifier: Apache-2.0
// Dot product of Lanes pairs of decoded elements, exact: the form for cells.
//
//   dot = sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag          |dot| <= 144 Lanes
//
// Operands are the sign and magnitude planes of ufp4_elem_decode (Binary = 0): u << 2h, u of three bits. A lane
// multiplies the two u, and shifts by 0, 2 or 4, one-hot. Minus x is counted as ~x + 1 - 256, with all lanes' ones in
// one count of the negative lanes. The sum is left to the synthesizer, which makes one tree of carry-save adders of it.
// Combinational. Golden: none of its own, part of ufp4_gemm; tests/rtl/array.
module ufp4_dot #(
  parameter int unsigned Lanes = 16
) (
  input  logic [Lanes-1:0]   a_sign_i,
  input  logic [4*Lanes-1:0] a_mag_i,
  input  logic [Lanes-1:0]   b_sign_i,
  input  logic [4*Lanes-1:0] b_mag_i,
  output logic signed [12:0] dot_o
);
  logic [Lanes-1:0] negative;
  assign negative = a_sign_i ^ b_sign_i;

  logic [Lanes-1:0] a_h, b_h, a2, a1, a0, b2, b1, b0;
  assign {a_h, a2, a1, a0} = a_mag_i;
  assign {b_h, b2, b1, b0} = b_mag_i;

  // Planes of the products of two u, column by column. The carry into column 2 exists only where a1 b1 does: the two
  // are one bit of column 2 or one of column 3.
  logic [Lanes-1:0] a2b1, a1b2, carry2, middle, carry3, half3, high4, low4, u5, u4, u3, u2, u1, u0;
  assign a2b1 = a2 & b1;
  assign a1b2 = a1 & b2;
  assign carry2 = a1 & a0 & b1 & b0;
  assign middle = a1 & b1 & ~(a0 & b0);
  assign carry3 = (a2 & b0 & a0 & b2) | (middle & ((a2 & b0) | (a0 & b2)));
  assign half3 = a2b1 ^ a1b2;
  assign high4 = a2b1 & a1b2;
  assign low4 = (carry2 & carry3) | (half3 & (carry2 | carry3));
  assign u0 = a0 & b0;
  assign u1 = (a1 & b0) ^ (a0 & b1);
  assign u2 = (a2 & b0) ^ (a0 & b2) ^ middle;
  assign u3 = half3 ^ carry2 ^ carry3;
  assign u4 = (a2 & b2) ^ high4 ^ low4;
  assign u5 = (a2 & b2 & (high4 | low4)) | (high4 & low4);

  // Planes of the products: at most 21 shifted by 2, or 9 by 4.
  logic [Lanes-1:0] by0, by2, by4;
  logic [7:0][Lanes-1:0] counted;
  assign by0 = ~a_h & ~b_h;
  assign by2 = a_h ^ b_h;
  assign by4 = a_h & b_h;
  assign counted[0] = negative ^ (by0 & u0);
  assign counted[1] = negative ^ (by0 & u1);
  assign counted[2] = negative ^ ((by0 & u2) | (by2 & u0));
  assign counted[3] = negative ^ ((by0 & u3) | (by2 & u1));
  assign counted[4] = negative ^ ((by0 & u4) | (by2 & u2) | (by4 & u0));
  assign counted[5] = negative ^ ((by0 & u5) | (by2 & u3) | (by4 & u1));
  assign counted[6] = negative ^ ((by2 & u4) | (by4 & u2));
  assign counted[7] = negative ^ (by4 & u3);

  logic [12:0] sum;
  logic [4:0] negatives;
  always_comb begin
    sum = '0;
    negatives = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      sum = sum + 13'({counted[7][l], counted[6][l], counted[5][l], counted[4][l],
                       counted[3][l], counted[2][l], counted[1][l], counted[0][l]});
      negatives = negatives + 5'(negative[l]);
    end
  end
  // - 256 negatives, as 256 (~negatives + 1)
  assign dot_o = signed'(sum + {~negatives, 8'd0} + 13'(negatives) + 13'd256);
endmodule
