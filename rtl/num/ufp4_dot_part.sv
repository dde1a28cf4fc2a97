// SPDX-License-Identifier: Apache-2.0
// Exact dot product of sixteen pairs of decoded elements in steps of Lanes pairs; one form for all
// targets.
//
//   dot = (first ? 0 : dot of the step before)
//         + sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag          |dot| <= 2304
//
// Magnitudes are binary planes (ufp4_elem_decode, Binary = 1). dot_o is combinational from the
// operands or, with Registered, from a register for the sum of the lanes; step_i and first_i belong
// to dot_o.
// Golden: none of its own, part of ufp4_gemm; tests/rtl/array.
module ufp4_dot_part #(
  parameter int unsigned Lanes = 4,
  parameter bit Registered = 1'b0
) (
  input  logic               clk_i,
  input  logic [Lanes-1:0]   a_sign_i,
  input  logic [4*Lanes-1:0] a_mag_i,
  input  logic [Lanes-1:0]   b_sign_i,
  input  logic [4*Lanes-1:0] b_mag_i,
  input  logic               step_i,
  input  logic               first_i,
  output logic signed [12:0] dot_o
);
  // A product is at most 144.
  logic signed [Lanes-1:0][8:0] product;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [3:0] a, b;
    logic [7:0] magnitude;
    assign a = {a_mag_i[3*Lanes+l], a_mag_i[2*Lanes+l], a_mag_i[Lanes+l], a_mag_i[l]};
    assign b = {b_mag_i[3*Lanes+l], b_mag_i[2*Lanes+l], b_mag_i[Lanes+l], b_mag_i[l]};
    assign magnitude = 8'(a) * 8'(b);
    assign product[l] = (a_sign_i[l] ^ b_sign_i[l]) ? -9'(magnitude) : 9'(magnitude);
  end

  logic signed [11:0] sum, lanes;
  always_comb begin
    sum = '0;
    for (int unsigned l = 0; l < Lanes; l++) sum = sum + 12'(signed'(product[l]));
  end
  if (Registered) begin : gen_register
    logic signed [11:0] sum_q;
    always_ff @(posedge clk_i) begin
      sum_q <= sum;
    end
    assign lanes = sum_q;
  end else begin : gen_wires
    assign lanes = sum;
  end

  logic signed [12:0] dot_q;
  assign dot_o = (first_i ? 13'sd0 : dot_q) + 13'(lanes);
  always_ff @(posedge clk_i) begin
    if (step_i) dot_q <= dot_o;
  end
endmodule
