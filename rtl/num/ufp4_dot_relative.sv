// SPDX-License-Identifier: Apache-2.0
// Exact dot product of sixteen pairs of decoded elements: the form for FPGAs, a tree of adders on
// carry chains.
//
//   (-1)^negative * dot = sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag     |dot| <= 2304
//
// Operands are the sign and magnitude planes of ufp4_elem_decode (Binary = 0). All signs are
// relative to that of lane 0 (negative_o): a lane with another sign enters inverted, and the carry
// input of one of the fifteen adders adds the 1 that completes the two's complement. The inversion
// costs no logic, because it fits into the last step of the shift. The nodes have a keep attribute,
// so that no synthesizer turns them into carry-save adders.
// Latency: six stages; a new product each cycle.
// Golden: none of its own, part of ufp4_gemm; tests/rtl/vectors.
module ufp4_dot_relative (
  input  logic               clk_i,
  input  logic [15:0]        a_sign_i,
  input  logic [63:0]        a_mag_i,
  input  logic [15:0]        b_sign_i,
  input  logic [63:0]        b_mag_i,
  output logic signed [12:0] dot_o,
  output logic               negative_o
);
  // minus_q[s]: the relative signs after stage s; bit 0 is the sign of the whole.
  logic [15:0] sign;
  logic [6:1][15:0] minus_q;
  assign sign = a_sign_i ^ b_sign_i;
  always_ff @(posedge clk_i) begin
    minus_q <= {minus_q[5:1], sign ^ {{15{sign[0]}}, 1'b0}};
  end

  // Stage 1 multiplies the lower bits of the lanes, stage 2 shifts and applies the sign.
  logic [15:0][8:0] lane_q;
  for (genvar l = 0; l < 16; l++) begin : gen_lane
    logic a_h, b_h, a2, a1, a0, b2, b1, b0;
    assign {a_h, a2, a1, a0} = {a_mag_i[48+l], a_mag_i[32+l], a_mag_i[16+l], a_mag_i[l]};
    assign {b_h, b2, b1, b0} = {b_mag_i[48+l], b_mag_i[32+l], b_mag_i[16+l], b_mag_i[l]};
    logic carry2, middle, carry3, half3, high4, low4;
    logic [1:0] h_q;
    logic [5:0] u, u_q;
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
    always_ff @(posedge clk_i) begin
      h_q <= {a_h, b_h};
      u_q <= u;
    end

    // A product that is shifted once is at most 21, and one that is shifted twice at most 9.
    logic [6:0] once;
    logic [7:0] twice;
    assign once = h_q[1] ? {u_q[4:0], 2'd0} : {1'b0, u_q};
    assign twice = h_q[0] ? {once[5:0], 2'd0} : {1'b0, once};
    always_ff @(posedge clk_i) begin
      lane_q[l] <= (l == 0) ? {1'b0, twice} : {1'b0, twice} ^ {9{minus_q[1][l]}};
    end
  end

  // Stages 3 to 6 are the levels of the tree.
  (* keep *) logic [7:0][9:0] pair;
  (* keep *) logic [3:0][10:0] quad;
  (* keep *) logic [1:0][11:0] half;
  (* keep *) logic [12:0] whole;
  logic [7:0][9:0] pair_q;
  logic [3:0][10:0] quad_q;
  logic [1:0][11:0] half_q;
  for (genvar i = 0; i < 8; i++) begin : gen_pair
    assign pair[i] = {lane_q[2*i][8], lane_q[2*i]} + {lane_q[2*i+1][8], lane_q[2*i+1]} + 10'(minus_q[2][2*i+1]);
  end
  for (genvar i = 0; i < 4; i++) begin : gen_quad
    assign quad[i] = {pair_q[2*i][9], pair_q[2*i]} + {pair_q[2*i+1][9], pair_q[2*i+1]} + 11'(minus_q[3][4*i+2]);
  end
  for (genvar i = 0; i < 2; i++) begin : gen_half
    assign half[i] = {quad_q[2*i][10], quad_q[2*i]} + {quad_q[2*i+1][10], quad_q[2*i+1]} + 12'(minus_q[4][8*i+4]);
  end
  assign whole = {half_q[0][11], half_q[0]} + {half_q[1][11], half_q[1]} + 13'(minus_q[5][8]);
  always_ff @(posedge clk_i) begin
    pair_q <= pair;
    quad_q <= quad;
    half_q <= half;
    dot_o <= signed'(whole);
  end
  assign negative_o = minus_q[6][0];
endmodule
