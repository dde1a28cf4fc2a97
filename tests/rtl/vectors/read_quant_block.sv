// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_quant_block against the records of `ufp4 vectors quant_block`: simulate with
// +quant_block=FILE. Each block passes alone through the plain pipeline and through the one with
// Mixed; only the latter takes ELEM_MIXED records. PLAIN_ONLY leaves the latter out. In Verilator,
// which reads the RTL and no netlist, the dividers of the second grid must hold in other records,
// because that saves their energy.
`include "readers.svh"
module read_quant_block;
  `READER_quant_block
  reg         rst_n = 1'b0, valid = 1'b0;
  wire        ready, done, nan, saturated;
  wire [63:0] codes;
  wire [7:0]  scale;
  wire [74:0] mixed;  // {done, codes, scale, nan, saturated}
  wire        is_mixed = in_options[7:0] == 8'd3;
  reg  [74:0] plain, wanted;
  reg         held;
  integer     waited;

  ufp4_quant_block u_dut (
    .clk_i(clk), .rst_ni(rst_n),
    // amax, rht, rht_mask, elem, sr, scale_up, e8m0, exponent, seed, tensor_id
    .job_i({1'b0, in_options[8], in_mask, in_options[7:0], in_options[9], in_options[10], 1'b0, in_tensor_exponent, in_seed,
            in_tensor_id}),
    .group_i(in_group), .group_take_o(), .in_valid_i(valid), .in_ready_o(ready),
    .in_words_i(in_words), .in_last_i(1'b0), .in_blank_i(1'b0), .amax_valid_o(), .amax_last_o(), .amax_clean_o(),
    .amax_nan_o(), .amax_power_o(), .amax_normal_o(), .out_valid_o(done), .out_ready_i(1'b1), .out_codes_o(codes),
    .out_scale_o(scale), .out_last_o(), .out_blank_o(), .out_nan_o(nan), .out_saturated_o(saturated)
  );

`ifdef PLAIN_ONLY
  assign mixed = is_mixed ? {1'b1, want_codes, want_scale, want_nan, want_saturated} : plain;
`else
  quant_block_mixed u_mixed (
    .clk_i(clk), .rst_ni(rst_n),
    .job_i({1'b0, in_options[8], in_mask, in_options[7:0], in_options[9], in_options[10], 1'b0, in_tensor_exponent, in_seed,
            in_tensor_id}),
    .group_i(in_group), .in_valid_i(valid), .in_words_i(in_words), .out_o(mixed)
  );
`endif
`ifdef VERILATOR
  reg [15:0][13:0] last;
`endif

  initial if ($value$plusargs("quant_block=%s", path)) begin
    open_file;
    repeat (2) tick;
    rst_n = 1'b1;
    tick;
    while (!$feof(file)) begin
      read_record;
`ifdef VERILATOR
      last = u_mixed.u_block.gen_mixed.own_quotient;
`endif
      valid = ready;
      tick;
      valid = 1'b0;
      waited = 0;
      while (done === 1'b0 && waited < 100) begin
        tick;
        waited = waited + 1;
      end
      plain = {done, codes, scale, nan, saturated};
      while (mixed[74] === 1'b0 && waited < 100) begin
        tick;
        waited = waited + 1;
      end
      wanted = {1'b1, want_codes, want_scale, want_nan, want_saturated};
      held = 1'b1;
`ifdef VERILATOR
      held = is_mixed || last == u_mixed.u_block.gen_mixed.own_quotient;
`endif
      judge((is_mixed || plain === wanted) && mixed === wanted && held);
      if (shown) $display("  got %h, with mixed %h, held %b", plain, mixed, held);
    end
    close_file;
  end
endmodule
