// SPDX-License-Identifier: Apache-2.0
// Dot product of Lanes pairs of decoded elements, exact: the form for cells.
//
//   dot = sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag          |dot| <= 144 Lanes
//
// Operands are the sign and magnitude planes of ufp4_elem_decode (Binary = 0): u << 2h, u of three bits. A lane
// multiplies the two u, and shifts by 0, 2 or 4, one-hot. Minus x is counted as ~x + 1 - 256, with all lanes' ones in
// one count of the negative lanes (uniform formats, whose products end at 64: + 1 - 128). Fewer formats leave out what
// their magnitudes cannot reach. The sum is left to the synthesizer, which makes one tree of carry-save adders of it.
// Combinational. Golden: none of its own, part of ufp4_gemm; tests/rtl/array.
module ufp4_dot #(
  parameter int unsigned Lanes   = 16,
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL)
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
  assign half3 = a2b1 ^ a1b2;
  assign high4 = a2b1 & a1b2;
  assign u0 = a0 & b0;
  assign u1 = (a1 & b0) ^ (a0 & b1);
  if (Formats == 32'(ufp4_spec_pkg::FORMATS_E2M1)) begin : gen_e2m1
    // No u of 5 or 7: a carry into column 2 is then all there is, and one into column 3 ends in column 4.
    assign carry3 = middle & ((a2 & b0) | (a0 & b2));
    assign low4 = half3 & carry3;
    assign u2 = ((a2 & b0) | (a0 & b2)) ^ middle;
    assign u3 = (half3 ^ carry3) | carry2;
    assign u4 = (a2 & b2 & ~high4) | low4;
    assign u5 = high4;
  end else begin : gen_any
    assign carry3 = (a2 & b0 & a0 & b2) | (middle & ((a2 & b0) | (a0 & b2)));
    assign low4 = (carry2 & carry3) | (half3 & (carry2 | carry3));
    assign u2 = (a2 & b0) ^ (a0 & b2) ^ middle;
    assign u3 = half3 ^ carry2 ^ carry3;
    assign u4 = (a2 & b2) ^ high4 ^ low4;
    assign u5 = (a2 & b2 & (high4 | low4)) | (high4 & low4);
  end

  // Planes of the products.
  localparam int unsigned Planes = (Formats == 32'(ufp4_spec_pkg::FORMATS_UNIFORM)) ? 7 : 8;
  logic [Lanes-1:0] by0, by2, by4;
  logic [Planes-1:0][Lanes-1:0] product;
  assign by0 = ~a_h & ~b_h;
  assign by2 = a_h ^ b_h;
  assign by4 = a_h & b_h;
  if (Formats == 32'(ufp4_spec_pkg::FORMATS_UNIFORM)) begin : gen_uniform
    // Shifted is only 8, with u of 2: at most 14 shifted by 2, and 4 by 4.
    assign product = {by4, u5 | (by2 & u3), u4 | (by2 & u2), (by0 & u3) | (by2 & u1), by0 & u2, by0 & u1, u0};
  end else begin : gen_e2m1_too
    // At most 21 shifted by 2, or 9 by 4.
    assign product = {
      by4 & u3,
      (by2 & u4) | (by4 & u2),
      u5 | (by2 & u3) | (by4 & u1),
      (by0 & u4) | (by2 & u2) | (by4 & u0),
      (by0 & u3) | (by2 & u1),
      (by0 & u2) | (by2 & u0),
      by0 & u1,
      by0 & u0
    };
  end

  logic [Planes+4:0] sum;
  logic [4:0] negatives;
  always_comb begin
    sum = '0;
    negatives = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      logic [Planes-1:0] counted;
      for (int unsigned p = 0; p < Planes; p++) counted[p] = product[p][l] ^ negative[l];
      sum = sum + (Planes + 5)'(counted);
      negatives = negatives + 5'(negative[l]);
    end
  end
  assign dot_o = 13'(signed'(sum - {negatives, Planes'(0)} + (Planes + 5)'(negatives)));
endmodule
