// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_quant_block against the records of `ufp4 vectors quant_block`:
// simulate with +quant_block=FILE. Plain SystemVerilog with $fscanf; one block at a time through the pipeline.
module read_quant_block;
  reg          clk = 1'b0, rst_n = 1'b0, valid = 1'b0;
  reg  [11:0]  options;
  reg  [15:0]  mask, tensor_exponent;
  reg  [63:0]  seed, tensor_id, group, want_codes;
  reg  [511:0] words;
  reg  [7:0]   want_scale;
  reg  [3:0]   want_nan, want_saturated;
  reg  [11:0]  read_options;
  reg  [15:0]  read_mask, read_tensor_exponent;
  reg  [63:0]  read_seed, read_tensor_id, read_group;
  reg  [511:0] read_words;
  wire         ready, done, nan, saturated;
  wire [63:0]  codes;
  wire [7:0]   scale;
  integer      waited;

  ufp4_quant_block u_dut (
    .clk_i(clk), .rst_ni(rst_n), .amax_i(1'b0), .rht_i(options[8]), .rht_mask_i(mask), .elem_i(options[7:0]),
    .sr_i(options[9]), .scale_up_i(options[10]), .e8m0_i(1'b0), .exponent_i(tensor_exponent), .seed_i(seed),
    .tensor_id_i(tensor_id), .group_i(group), .group_take_o(), .in_valid_i(valid), .in_ready_o(ready),
    .in_words_i(words), .in_last_i(1'b0), .in_blank_i(1'b0), .amax_valid_o(), .amax_last_o(), .amax_clean_o(),
    .amax_nan_o(), .amax_power_o(), .amax_normal_o(), .out_valid_o(done), .out_ready_i(1'b1), .out_codes_o(codes),
    .out_scale_o(scale), .out_last_o(), .out_blank_o(), .out_nan_o(nan), .out_saturated_o(saturated)
  );

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("quant_block=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "quant_block: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    repeat (2) tick;
    rst_n = 1'b1;
    tick;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h %h %h %h %h %h %h %h\n", read_options, read_mask,
                    read_tensor_exponent, read_seed, read_tensor_id, read_group, read_words,
                    want_codes, want_scale, want_nan, want_saturated);
      if (got != 11) $fatal(1, "quant_block: record %0d has %0d of 11 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {options, mask, tensor_exponent, seed, tensor_id, group, words} =
          {read_options, read_mask, read_tensor_exponent, read_seed, read_tensor_id, read_group, read_words};
      valid = ready;
      tick;
      valid = 1'b0;
      waited = 0;
      while (done === 1'b0 && waited < 100) begin
        tick;
        waited = waited + 1;
      end
      records = records + 1;
      if (done !== 1'b1 || {codes, scale, nan, saturated} !== {want_codes, want_scale, want_nan[0], want_saturated[0]}) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: options %h mask %h t %h words %h: got %h %h %b %b, want %h %h %b %b",
                    records, options[10:0], mask, tensor_exponent, words, codes, scale, nan, saturated,
                    want_codes, want_scale, want_nan[0], want_saturated[0]);
        end
      end
    end
    $display("quant_block: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "quant_block failed");
    $finish;
  end
endmodule
