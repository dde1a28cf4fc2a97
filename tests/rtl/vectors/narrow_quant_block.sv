// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_quant_serial_block against the records of `ufp4 vectors quant_block`: simulate with
// +quant_block=FILE. Each block passes alone, in eight pairs, through the plain pipeline and
// through the one with Mixed; only the latter takes ELEM_MIXED records. Every other block is of the
// column copy, and the copy that the block does not belong to has another transform, exponent,
// tensor id and group. The output waits for a while for every third block. The dividers of the
// second grid must hold in records of other elements, because that saves their energy.
`include "readers.svh"
module narrow_quant_block;
  `READER_quant_block
  reg          rst_n = 1'b0, start = 1'b0, valid = 1'b0, take = 1'b0;
  reg          copy = 1'b0;
  reg  [2:0]   k;
  wire [1:0]   ready, error;       // each by pipeline: 0 plain, 1 mixed
  wire [1:0]   done, nan, saturated, of_copy;
  wire [63:0]  codes [2];
  wire [7:0]   scale [2];
  wire         is_mixed = in_options[7:0] == 8'd3;
  reg  [73:0]  wanted;
  reg  [1:0]   good;
  reg          held;
  reg  [1:0][13:0] last;
  integer      i, waited;

  ufp4_quant_pkg::job_t       job, other;
  ufp4_quant_pkg::job_t [1:0] jobs;
  wire [1:0][63:0]            groups = copy ? {in_group, ~in_group} : {~in_group, in_group};
  wire [1:0][31:0]            pair = in_words[64*k +: 64];

  always_comb begin
    job = '{amax: 1'b0, rht: in_options[8], rht_mask: in_mask, elem: in_options[7:0], sr: in_options[9],
            scale_up: in_options[10], e8m0: 1'b0, exponent: in_tensor_exponent, seed: in_seed, tensor_id: in_tensor_id};
    other = job;
    other.rht = !job.rht;
    other.exponent = job.exponent + 16'd1;
    other.tensor_id = ~job.tensor_id;
    jobs = copy ? {job, other} : {other, job};
  end

  for (genvar m = 0; m < 2; m++) begin : gen_pipeline
    ufp4_quant_serial_block #(
      .Mixed(1'(m))
    ) u_dut (
      .clk_i(clk), .rst_ni(rst_n), .start_i(start), .job_i(jobs), .group_i(groups), .group_take_o(), .in_valid_i(valid),
      .in_ready_o(ready[m]), .in_words_i(pair), .in_copy_i(copy), .in_last_i(1'b0), .in_blank_i(1'b0), .amax_valid_o(),
      .amax_copy_o(), .amax_last_o(), .amax_clean_o(), .amax_nan_o(), .amax_power_o(), .amax_normal_o(),
      .out_valid_o(done[m]), .out_ready_i(take), .out_copy_o(of_copy[m]), .out_codes_o(codes[m]), .out_scale_o(scale[m]),
      .out_last_o(), .out_blank_o(), .out_nan_o(nan[m]), .out_saturated_o(saturated[m]), .memory_error_o(error[m])
    );
  end

  initial if ($value$plusargs("quant_block=%s", path)) begin
    open_file;
    repeat (2) tick;
    rst_n = 1'b1;
    start = 1'b1;
    tick;
    start = 1'b0;
    while (!$feof(file)) begin
      read_record;
      last = gen_pipeline[1].u_dut.gen_mixed.u_mixed.quotient;
      copy = records % 2 == 1;
      for (i = 0; i < 8; i = i + 1) begin
        k = 3'(i);
        valid = 1'b1;
        tick;
      end
      valid = 1'b0;
      waited = 0;
      while (done !== 2'b11 && waited < 100) begin
        tick;
        waited = waited + 1;
      end
      if (records % 3 == 2) repeat (20) tick;
      wanted = {want_codes, want_scale, want_nan, want_saturated};
      for (i = 0; i < 2; i = i + 1) begin
        good[i] = done[i] === 1'b1 && of_copy[i] === copy && error[i] === 1'b0 &&
                  {codes[i], scale[i], nan[i], saturated[i]} === wanted;
      end
      held = is_mixed || last == gen_pipeline[1].u_dut.gen_mixed.u_mixed.quotient;
      judge((is_mixed || good[0]) && good[1] && held);
      if (shown) $display("  got %h %h, with mixed %h %h, held %b", codes[0], scale[0], codes[1], scale[1], held);
      take = 1'b1;
      tick;
      take = 1'b0;
    end
    close_file;
  end
endmodule
