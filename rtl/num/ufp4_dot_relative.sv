// SPDX-License-Identifier: Apache-2.0
// Dot product of sixteen pairs of decoded elements, exact: the form for FPGAs, a tree of adders on carry chains.
//
//   dot = sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag          |dot| <= 2304
//
// Operands are the sign and magnitude planes of ufp4_elem_decode (Binary = 0). Each node of the tree adds or subtracts
// its right value, as the signs of the two sides are equal or not, and passes on the left sign, which the root applies.
// Nodes are kept, so that no synthesizer makes carry-save adders of them.
// Combinational. Golden: none of its own, part of ufp4_gemm; tests/rtl/array.
module ufp4_dot_relative (
  input  logic [15:0]        a_sign_i,
  input  logic [63:0]        a_mag_i,
  input  logic [15:0]        b_sign_i,
  input  logic [63:0]        b_mag_i,
  output logic signed [12:0] dot_o
);
  logic [15:0] negative;
  assign negative = a_sign_i ^ b_sign_i;

  // Products of the lanes, as in ufp4_dot.
  logic [15:0][7:0] product;
  for (genvar l = 0; l < 16; l++) begin : gen_lane
    logic a_h, b_h, a2, a1, a0, b2, b1, b0;
    assign {a_h, a2, a1, a0} = {a_mag_i[48+l], a_mag_i[32+l], a_mag_i[16+l], a_mag_i[l]};
    assign {b_h, b2, b1, b0} = {b_mag_i[48+l], b_mag_i[32+l], b_mag_i[16+l], b_mag_i[l]};

    logic carry2, middle, carry3, half3, high4, low4;
    logic [5:0] u;
    assign carry2 = a1 & a0 & b1 & b0;
    assign middle = a1 & b1 & ~(a0 & b0);
    assign carry3 = (a2 & b0 & a0 & b2) | (middle & ((a2 & b0) | (a0 & b2)));
    assign half3 = (a2 & b1) ^ (a1 & b2);
    assign high4 = a2 & b1 & a1 & b2;
    assign low4 = (carry2 & carry3) | (half3 & (carry2 | carry3));
    assign u[0] = a0 & b0;
    assign u[1] = (a1 & b0) ^ (a0 & b1);
    assign u[2] = (a2 & b0) ^ (a0 & b2) ^ middle;
    assign u[3] = half3 ^ carry2 ^ carry3;
    assign u[4] = (a2 & b2) ^ high4 ^ low4;
    assign u[5] = (a2 & b2 & (high4 | low4)) | (high4 & low4);
    assign product[l] = ({8{~a_h & ~b_h}} & {2'd0, u}) | ({8{a_h ^ b_h}} & {1'b0, u[4:0], 2'd0}) |
                        ({8{a_h & b_h}} & {u[3:0], 4'd0});
  end

  // Level by level: a value, and in negative[] the sign of its leftmost lane.
  (* keep *) logic [7:0][9:0] pair;
  (* keep *) logic [3:0][10:0] quad;
  (* keep *) logic [1:0][11:0] half;
  (* keep *) logic [12:0] whole;
  logic [7:0] minus_pair;
  logic [3:0] minus_quad;
  logic [1:0] minus_half;
  logic minus_whole;
  for (genvar i = 0; i < 8; i++) begin : gen_pair
    assign minus_pair[i] = negative[2*i] ^ negative[2*i+1];
    assign pair[i] = {2'd0, product[2*i]} + ({2'd0, product[2*i+1]} ^ {10{minus_pair[i]}}) + 10'(minus_pair[i]);
  end
  for (genvar i = 0; i < 4; i++) begin : gen_quad
    assign minus_quad[i] = negative[4*i] ^ negative[4*i+2];
    assign quad[i] = {pair[2*i][9], pair[2*i]} + ({pair[2*i+1][9], pair[2*i+1]} ^ {11{minus_quad[i]}}) +
                     11'(minus_quad[i]);
  end
  for (genvar i = 0; i < 2; i++) begin : gen_half
    assign minus_half[i] = negative[8*i] ^ negative[8*i+4];
    assign half[i] = {quad[2*i][10], quad[2*i]} + ({quad[2*i+1][10], quad[2*i+1]} ^ {12{minus_half[i]}}) +
                     12'(minus_half[i]);
  end
  assign minus_whole = negative[0] ^ negative[8];
  assign whole = {half[0][11], half[0]} + ({half[1][11], half[1]} ^ {13{minus_whole}}) + 13'(minus_whole);
  assign dot_o = signed'((whole ^ {13{negative[0]}}) + 13'(negative[0]));
endmodule
