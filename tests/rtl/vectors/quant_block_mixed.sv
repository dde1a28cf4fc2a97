// SPDX-License-Identifier: Apache-2.0
// ufp4_quant_block with Mixed, without parameters; out_o is {out_valid_o, codes, scale, NaN,
// saturated}. Tests only.
module quant_block_mixed (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  ufp4_quant_pkg::job_t job_i,
  input  logic [63:0]          group_i,
  input  logic                 in_valid_i,
  input  logic [15:0][31:0]    in_words_i,
  output logic [74:0]          out_o
);
  logic        valid, nan, saturated;
  logic [63:0] codes;
  logic [7:0]  scale;
  ufp4_quant_block #(.Mixed(1'b1)) u_block (
    .clk_i, .rst_ni, .job_i, .group_i, .group_take_o(), .in_valid_i, .in_ready_o(), .in_words_i, .in_last_i(1'b0),
    .in_blank_i(1'b0), .amax_valid_o(), .amax_last_o(), .amax_clean_o(), .amax_nan_o(), .amax_power_o(), .amax_normal_o(),
    .out_valid_o(valid), .out_ready_i(1'b1), .out_codes_o(codes), .out_scale_o(scale), .out_last_o(), .out_blank_o(),
    .out_nan_o(nan), .out_saturated_o(saturated)
  );
  assign out_o = {valid, codes, scale, nan, saturated};
endmodule
