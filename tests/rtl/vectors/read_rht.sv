// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_rht against the records of `ufp4 vectors rht`:
// simulate with +rht=FILE. Plain SystemVerilog with $fscanf; one block at a time through the pipeline.
module read_rht;
  reg          clk = 1'b0, bypass = 1'b0;
  reg  [15:0]  mask;
  reg  [7:0]   exponent;
  reg  [511:0] words, want;
  reg  [15:0]  read_mask;
  reg  [7:0]   read_exponent;
  reg  [511:0] read_words;
  wire [511:0] out;

  ufp4_rht u_dut (
    .clk_i(clk), .en_i(4'hF), .bypass_i(bypass), .mask_i(mask), .exponent_i(exponent), .words_i(words), .out_o(out)
  );

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("rht=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "rht: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h\n", read_mask, read_exponent, read_words, want);
      if (got != 4) $fatal(1, "rht: record %0d has %0d of 4 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {mask, exponent, words} = {read_mask, read_exponent, read_words};
      repeat (4) tick;
      records = records + 1;
      if (out !== want) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: mask %h words %h: got %h, want %h",
                    records, mask, words, out, want);
        end
      end
    end
    // Without the transform the last record's words pass as they are, and their complement.
    bypass = 1'b1;
    repeat (2) begin
      words = ~words;
      repeat (4) tick;
      if (out !== words) begin
        mismatches = mismatches + 1;
        $display("bypass, words %h: got %h", words, out);
      end
    end
    $display("rht: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "rht failed");
    $finish;
  end
endmodule
