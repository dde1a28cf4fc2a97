// SPDX-License-Identifier: Apache-2.0
// The block pipeline of the QUANT engine, followed by AMAX. Tests only.
module quant_units (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              amax_i,
  input  logic              rht_i,
  input  logic [15:0]       rht_mask_i,
  input  logic [7:0]        elem_i,
  input  logic              sr_i,
  input  logic              scale_up_i,
  input  logic              e8m0_i,
  input  logic [15:0]       exponent_i,
  input  logic [63:0]       seed_i,
  input  logic [63:0]       tensor_id_i,
  input  logic [63:0]       group_i,
  output logic              group_take_o,

  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [15:0][31:0] in_words_i,
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [63:0]       out_codes_o,
  output logic [7:0]        out_scale_o,
  output logic              out_nan_o,
  output logic              out_saturated_o,

  input  logic              amax_start_i,
  input  logic              amax_finish_i,
  output logic              amax_valid_o,
  output logic              amax_nan_o,
  output logic [15:0]       amax_exponent_o
);

  logic        amax_clean, unused_in_last, unused_out_last, unused_out_blank;
  logic [8:0]  amax_power;
  logic [27:0] amax_normal;

  ufp4_quant_block u_block (
    .*,
    .job_i        ({amax_i, rht_i, rht_mask_i, elem_i, sr_i, scale_up_i, e8m0_i, exponent_i, seed_i, tensor_id_i}),
    .in_last_i    (1'b0),
    .in_blank_i   (1'b0),
    .amax_last_o  (unused_in_last),
    .amax_clean_o (amax_clean),
    .amax_power_o (amax_power),
    .amax_normal_o(amax_normal),
    .out_last_o   (unused_out_last),
    .out_blank_o  (unused_out_blank)
  );

  ufp4_quant_amax u_amax (
    .*,
    .start_i   (amax_start_i),
    .finish_i  (amax_finish_i),
    .clean_i   (amax_valid_o && amax_clean),
    .power_i   (amax_power),
    .normal_i  (amax_normal),
    .exponent_o(amax_exponent_o)
  );
endmodule
