// SPDX-License-Identifier: Apache-2.0
// Both copies of the tensor through one block pipeline: does the work of two ufp4_quant_copy for
// blocks that arrive in pairs of numbers.
//
// Contract: that of ufp4_quant_copy for each copy (0 row, 1 column). Blocks arrive one after the
// other, with their copy in block_copy_i; out_codes_o to out_blank_o are shared by both copies.
// memory_error_o is a pulse.
// Latency: that of ufp4_quant_serial_block. Test: tests/rtl/quant (inside the engine).
// Timed model: sim/src/timing/quant/quant_serial.
module ufp4_quant_serial #(
  parameter bit Mixed = 1'b0
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   start_i,
  input  logic                   finish_i,

  input  ufp4_quant_pkg::job_t [1:0] job_i,
  input  logic [16:0]            tiles_i,
  input  ufp4_quant_pkg::steps_t [1:0] steps_i,

  input  logic                   block_valid_i,
  output logic                   block_ready_o,
  input  logic [1:0][31:0]       block_words_i,
  input  logic                   block_copy_i,
  input  logic                   block_last_i,
  input  logic                   block_blank_i,

  output logic [1:0]             out_valid_o,
  input  logic [1:0]             out_ready_i,
  output logic [63:0]            out_codes_o,
  output logic [7:0]             out_scale_o,
  output logic                   out_last_o,
  output logic                   out_blank_o,
  input  logic [1:0]             index_step_i,
  output ufp4_quant_pkg::unit_t [1:0] index_o,

  output logic                   nan_o,
  output logic [1:0]             saturated_o,
  output logic [1:0]             amax_done_o,
  output logic [1:0][15:0]       exponent_o,
  output logic                   memory_error_o
);

  logic             amax_valid, amax_copy, amax_last, amax_clean, amax_nan;
  logic             out_valid, out_copy, out_taken, out_nan, out_saturated;
  logic             nan_d, nan_q;
  logic [1:0]       group_take, saturated_d, saturated_q, amax_done_d, amax_done_q;
  logic [8:0]       amax_power;
  logic [27:0]      amax_normal;
  logic [1:0][63:0] group;

  ufp4_quant_serial_block #(.Mixed(Mixed)) u_block (
    .clk_i,
    .rst_ni,
    .start_i,
    .job_i,
    .group_i        (group),
    .group_take_o   (group_take),
    .in_valid_i     (block_valid_i),
    .in_ready_o     (block_ready_o),
    .in_words_i     (block_words_i),
    .in_copy_i      (block_copy_i),
    .in_last_i      (block_last_i),
    .in_blank_i     (block_blank_i),
    .amax_valid_o   (amax_valid),
    .amax_copy_o    (amax_copy),
    .amax_last_o    (amax_last),
    .amax_clean_o   (amax_clean),
    .amax_nan_o     (amax_nan),
    .amax_power_o   (amax_power),
    .amax_normal_o  (amax_normal),
    .out_valid_o    (out_valid),
    .out_ready_i    (out_ready_i[out_copy]),
    .out_copy_o     (out_copy),
    .out_codes_o,
    .out_scale_o,
    .out_last_o,
    .out_blank_o,
    .out_nan_o      (out_nan),
    .out_saturated_o(out_saturated),
    .memory_error_o
  );

  assign out_valid_o = {out_valid && out_copy, out_valid && !out_copy};
  assign out_taken   = out_valid && out_ready_i[out_copy];
  assign nan_d       = !start_i && (nan_q || (out_taken && out_nan) || (amax_valid && amax_nan));
  assign nan_o       = nan_q;

  always_ff @(posedge clk_i) begin
    nan_q <= nan_d;
  end

  // There is one lane only.
  logic unused_steps;
  assign unused_steps = ^{steps_i[0].lane, steps_i[1].lane};

  for (genvar c = 0; c < 2; c++) begin : gen_copy
    ufp4_quant_pkg::group_t number;

    ufp4_quant_index #(
      .Width (ufp4_quant_pkg::GROUP_BITS),
      .Blocks(16)
    ) u_group (
      .clk_i,
      .pair_i      (job_i[0].e8m0),
      .start_i,
      .step_i      (group_take[c]),
      .tiles_i,
      .first_i     ('0),
      .block_step_i(steps_i[c].row),
      .tile_step_i (steps_i[c].tile),
      .strip_step_i(steps_i[c].strip),
      .index_o     (number)
    );
    assign group[c] = 64'(number);

    ufp4_quant_index #(
      .Width (ufp4_quant_pkg::UNIT_BITS),
      .Blocks(1)
    ) u_unit (
      .clk_i,
      .pair_i      (job_i[0].e8m0),
      .start_i,
      .step_i      (index_step_i[c]),
      .tiles_i,
      .first_i     ('0),
      .block_step_i(steps_i[c].unit_group),
      .tile_step_i (steps_i[c].unit_tile),
      .strip_step_i(steps_i[c].unit_strip),
      .index_o     (index_o[c])
    );

    ufp4_quant_amax #(.Mixed(Mixed)) u_amax (
      .clk_i,
      .start_i,
      .finish_i,
      .rht_i   (job_i[c].rht),
      .elem_i  (job_i[0].elem),
      .clean_i (amax_valid && amax_clean && amax_copy == 1'(c)),
      .power_i (amax_power),
      .normal_i(amax_normal),
      .exponent_o(exponent_o[c])
    );

    assign saturated_d[c] = !start_i && (saturated_q[c] || (out_taken && out_saturated && out_copy == 1'(c)));
    assign amax_done_d[c] = !start_i && (amax_done_q[c] || (amax_valid && amax_last && amax_copy == 1'(c)));
  end

  always_ff @(posedge clk_i) begin
    saturated_q <= saturated_d;
    amax_done_q <= amax_done_d;
  end

  assign saturated_o = saturated_q;
  assign amax_done_o = amax_done_q;

endmodule
