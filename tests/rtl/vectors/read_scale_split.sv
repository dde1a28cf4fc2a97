// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_scale_split against the records of `ufp4 vectors scale_split`: simulate with +scale_split=FILE.
// Plain SystemVerilog with $fscanf.
module read_scale_split;
  reg  [7:0] read_byte, read_e8m0, scale, e8m0, want_sig, want_exp, want_nan;
  wire [3:0] sig;
  wire [7:0] exp;
  wire       nan;

  ufp4_scale_split u_dut (.byte_i(scale), .e8m0_i(e8m0[0]), .sig_o(sig), .exp_o(exp), .nan_o(nan));

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  initial if ($value$plusargs("scale_split=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "scale_split: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h %h\n", read_byte, read_e8m0, want_sig, want_exp, want_nan);
      if (got != 5) $fatal(1, "scale_split: record %0d has %0d of 5 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {scale, e8m0} = {read_byte, read_e8m0};
      #1;
      records = records + 1;
      if (nan !== want_nan[0] || (!nan && (sig !== want_sig[3:0] || exp !== want_exp))) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: byte %h e8m0 %b: got sig %h exp %h nan %b, want %h %h %b", records, scale, e8m0[0], sig,
                   exp, nan, want_sig[3:0], want_exp, want_nan[0]);
        end
      end
    end
    $display("scale_split: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "scale_split failed");
    $finish;
  end
endmodule
