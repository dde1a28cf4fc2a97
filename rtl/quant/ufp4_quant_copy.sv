// SPDX-License-Identifier: Apache-2.0
// One copy of the tensor: its blocks in the order of the walk to codes and scales, the address of each panel
// unit, and for AMAX the tensor exponent.
//
// Contract: the steps are those of ufp4_quant_index, for the counter of the random bytes (row, tile, strip)
// and for the number of the panel unit (row group, unit, units). Flags and amax_done_o (the last block has been seen)
// are sticky from start_i on; exponent_o is valid from the cycle after finish_i. Handshakes: valid/ready.
// Latency: that of ufp4_quant_block.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant_block.
module ufp4_quant_copy #(
  parameter int unsigned GroupW = 40,
  parameter int unsigned IndexW = 33
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              start_i,
  input  logic              finish_i,

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
  input  logic [16:0]       tiles_i,
  input  logic [GroupW-1:0] row_step_i,
  input  logic [GroupW-1:0] tile_step_i,
  input  logic [GroupW-1:0] strip_step_i,
  input  logic [IndexW-1:0] group_unit_step_i,
  input  logic [IndexW-1:0] unit_step_i,
  input  logic [IndexW-1:0] units_step_i,

  input  logic              block_valid_i,
  output logic              block_ready_o,
  input  logic [15:0][31:0] block_words_i,
  input  logic              block_last_i,
  input  logic              block_blank_i,

  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [63:0]       out_codes_o,
  output logic [7:0]        out_scale_o,
  output logic              out_last_o,
  output logic              out_blank_o,
  input  logic              index_step_i,
  output logic [IndexW-1:0] index_o,

  output logic              nan_o,
  output logic              saturated_o,
  output logic              amax_done_o,
  output logic [15:0]       exponent_o
);

  logic              group_take, amax_valid, amax_last, amax_clean, amax_nan, out_nan, out_saturated, out_taken;
  logic              nan_d, nan_q, saturated_d, saturated_q, amax_done_d, amax_done_q;
  logic [8:0]        amax_power;
  logic [27:0]       amax_normal;
  logic [GroupW-1:0] group;

  ufp4_quant_index #(
    .Width (GroupW),
    .Blocks(16)
  ) u_group (
    .clk_i,
    .pair_i      (e8m0_i),
    .start_i,
    .step_i      (group_take),
    .tiles_i,
    .block_step_i(row_step_i),
    .tile_step_i,
    .strip_step_i,
    .index_o     (group)
  );

  ufp4_quant_block u_block (
    .clk_i,
    .rst_ni,
    .amax_i,
    .rht_i,
    .rht_mask_i,
    .elem_i,
    .sr_i,
    .scale_up_i,
    .e8m0_i,
    .exponent_i,
    .seed_i,
    .tensor_id_i,
    .group_i        (64'(group)),
    .group_take_o   (group_take),
    .in_valid_i     (block_valid_i),
    .in_ready_o     (block_ready_o),
    .in_words_i     (block_words_i),
    .in_last_i      (block_last_i),
    .in_blank_i     (block_blank_i),
    .amax_valid_o   (amax_valid),
    .amax_last_o    (amax_last),
    .amax_clean_o   (amax_clean),
    .amax_nan_o     (amax_nan),
    .amax_power_o   (amax_power),
    .amax_normal_o  (amax_normal),
    .out_valid_o,
    .out_ready_i,
    .out_codes_o,
    .out_scale_o,
    .out_last_o,
    .out_blank_o,
    .out_nan_o      (out_nan),
    .out_saturated_o(out_saturated)
  );

  ufp4_quant_amax u_amax (
    .clk_i,
    .start_i,
    .finish_i,
    .rht_i,
    .elem_i,
    .clean_i (amax_valid && amax_clean),
    .power_i (amax_power),
    .normal_i(amax_normal),
    .exponent_o
  );

  ufp4_quant_index #(
    .Width (IndexW),
    .Blocks(1)
  ) u_unit (
    .clk_i,
    .pair_i      (e8m0_i),
    .start_i,
    .step_i      (index_step_i),
    .tiles_i,
    .block_step_i(group_unit_step_i),
    .tile_step_i (unit_step_i),
    .strip_step_i(units_step_i),
    .index_o
  );

  assign out_taken   = out_valid_o && out_ready_i;
  assign nan_d       = !start_i && (nan_q || (out_taken && out_nan) || (amax_valid && amax_nan));
  assign saturated_d = !start_i && (saturated_q || (out_taken && out_saturated));
  assign amax_done_d = !start_i && (amax_done_q || (amax_valid && amax_last));

  always_ff @(posedge clk_i) begin
    nan_q       <= nan_d;
    saturated_q <= saturated_d;
    amax_done_q <= amax_done_d;
  end

  assign nan_o       = nan_q;
  assign saturated_o = saturated_q;
  assign amax_done_o = amax_done_q;

endmodule
