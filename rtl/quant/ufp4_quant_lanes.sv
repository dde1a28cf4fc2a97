// SPDX-License-Identifier: Apache-2.0
// Both copies of the tensor (0 row, 1 column), each in a pipeline of its own: converts rows of
// Lanes tiles side by side to codes and scales.
//
// Contract: that of ufp4_quant_copy for each copy that enable_i names. A row enters both copies in
// the same cycle: the row copy directly, the column copy through ufp4_quant_transpose.
// memory_error_o is a pulse.
// Throughput: one row per cycle. Test: tests/rtl/quant (inside the engine).
// Timed model: sim/src/timing/quant/quant.
module ufp4_quant_lanes #(
  parameter int unsigned Lanes = 1,
  parameter bit Mixed = 1'b0
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  logic                         start_i,
  input  logic                         finish_i,

  input  ufp4_quant_pkg::job_t [1:0]   job_i,
  input  logic [1:0]                   enable_i,
  input  logic [16:0]                  tiles_i,
  input  logic [1:0][16:0]             unit_tiles_i,
  input  ufp4_quant_pkg::steps_t [1:0] steps_i,

  input  logic                         row_valid_i,
  output logic                         row_ready_o,
  input  logic [Lanes-1:0][15:0][31:0] row_words_i,
  input  logic                         row_last_i,
  input  logic                         row_blank_i,

  output logic [1:0]                   out_valid_o,
  input  logic [1:0]                   out_ready_i,
  output logic [1:0][Lanes-1:0][63:0]  out_codes_o,
  output logic [1:0][Lanes-1:0][7:0]   out_scale_o,
  output logic [1:0]                   out_last_o,
  output logic [1:0]                   out_blank_o,
  input  logic [1:0]                   index_step_i,
  output ufp4_quant_pkg::unit_t [1:0]  index_o,

  output logic [1:0]                   nan_o,
  output logic [1:0]                   saturated_o,
  output logic [1:0]                   amax_done_o,
  output logic [1:0][15:0]             exponent_o,
  output logic                         memory_error_o
);

  // Blocks: the row itself, and the columns of its tile.
  logic [1:0]                        block_valid, block_ready, block_last, block_blank;
  logic [1:0][Lanes-1:0][15:0][31:0] block_words;
  logic                              transpose_ready;

  assign row_ready_o    = (block_ready[0] || !enable_i[0]) && (transpose_ready || !enable_i[1]);
  assign block_valid[0] = row_valid_i && enable_i[0] && (transpose_ready || !enable_i[1]);
  assign block_words[0] = row_words_i;
  assign block_last[0]  = row_last_i;
  assign block_blank[0] = row_blank_i;

  ufp4_quant_transpose #(
    .Lanes(Lanes)
  ) u_transpose (
    .clk_i,
    .rst_ni,
    .pair_i     (job_i[0].e8m0),
    .in_valid_i (row_valid_i && enable_i[1] && (block_ready[0] || !enable_i[0])),
    .in_ready_o (transpose_ready),
    .in_words_i (row_words_i),
    .in_last_i  (row_last_i),
    .in_blank_i (row_blank_i),
    .out_valid_o(block_valid[1]),
    .out_ready_i(block_ready[1]),
    .out_words_o(block_words[1]),
    .out_last_o (block_last[1]),
    .out_blank_o(block_blank[1]),
    .memory_error_o
  );

  for (genvar c = 0; c < 2; c++) begin : gen_copy
    ufp4_quant_copy #(
      .Lanes(Lanes),
      .Mixed(Mixed)
    ) u_copy (
      .clk_i,
      .rst_ni,
      .start_i,
      .finish_i,
      .job_i        (job_i[c]),
      .tiles_i,
      .unit_tiles_i (unit_tiles_i[c]),
      .steps_i      (steps_i[c]),
      .block_valid_i(block_valid[c]),
      .block_ready_o(block_ready[c]),
      .block_words_i(block_words[c]),
      .block_last_i (block_last[c]),
      .block_blank_i(block_blank[c]),
      .out_valid_o  (out_valid_o[c]),
      .out_ready_i  (out_ready_i[c]),
      .out_codes_o  (out_codes_o[c]),
      .out_scale_o  (out_scale_o[c]),
      .out_last_o   (out_last_o[c]),
      .out_blank_o  (out_blank_o[c]),
      .index_step_i (index_step_i[c]),
      .index_o      (index_o[c]),
      .nan_o        (nan_o[c]),
      .saturated_o  (saturated_o[c]),
      .amax_done_o  (amax_done_o[c]),
      .exponent_o   (exponent_o[c])
    );
  end

endmodule
