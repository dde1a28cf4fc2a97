// SPDX-License-Identifier: Apache-2.0
// The arithmetic units of the contract fp32 side by side, for one Verilated model: scales, the sum of a PE, and the
// rounding of its result at the drain. Tests only.
module fp32_units (
  input  logic               clk_i,

  input  logic [7:0]         byte_i,
  input  logic               e8m0_i,
  input  logic [7:0]         elem_i,
  output logic [3:0]         sig_o,
  output logic [8:0]         exp_o,
  output logic               nan_o,

  // ufp4_sum_fp32 with a block in every cycle: join_i goes with the block that entered one edge before, keep_i, load_i,
  // loaded_i and sum_o with the one that entered two edges before.
  input  logic signed [12:0] dot_i,
  input  logic [3:0]         a_sig_i,
  input  logic [8:0]         a_exp_i,
  input  logic [3:0]         b_sig_i,
  input  logic [8:0]         b_exp_i,
  input  logic               join_i,
  input  logic               hold_i,
  input  logic               keep_i,
  input  logic               load_i,
  input  logic [31:0]        loaded_i,
  output logic [31:0]        sum_o,

  input  logic [17:0]        exponent_i,
  input  logic [31:0]        number_i,
  output logic [31:0]        f32_o         // two edges after number_i
);
  ufp4_scale_number u_scale_number (.byte_i, .e8m0_i, .elem_i, .sig_o, .exp_o, .nan_o);
  ufp4_sum_fp32 u_sum_fp32 (
    .clk_i,
    .valid1_i(1'b1),
    .dot_i,
    .a_sig_i,
    .a_exp_i,
    .b_sig_i,
    .b_exp_i,
    .valid2_i(1'b1),
    .join_i,
    .valid3_i(~hold_i),
    .keep_i,
    .load_i,
    .loaded_i,
    .sum_o
  );
  ufp4_f32_scale u_f32_scale (.clk_i, .exponent_i, .normalize_i(1'b1), .number_i, .round_i(1'b1), .f32_o);
endmodule
