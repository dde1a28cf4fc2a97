// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_scale_decode against the records of `ufp4 vectors scale_decode`:
// simulate with +scale_decode=FILE. Plain SystemVerilog with $fscanf; Icarus Verilog takes it too.
module read_scale_decode;
  reg  [7:0] read, scale, want_sig, want_exp, want_nan;
  wire [3:0] sig, exp;
  wire       nan;

  ufp4_scale_decode u_dut (.byte_i(scale[6:0]), .sig_o(sig), .exp_o(exp), .nan_o(nan));

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  initial if ($value$plusargs("scale_decode=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "scale_decode: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h\n", read, want_sig, want_exp, want_nan);
      if (got != 4) $fatal(1, "scale_decode: record %0d has %0d of 4 columns", records + 1, got);
      scale = read;  // An assignment: that $fscanf changes a variable escapes Verilator 5.006
      #1;
      records = records + 1;
      if (nan !== want_nan[0] || (!nan && (sig !== want_sig[3:0] || exp !== want_exp[3:0]))) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: byte %h: got sig %h exp %h nan %b, want %h %h %b",
                    records, scale, sig, exp, nan, want_sig[3:0], want_exp[3:0], want_nan[0]);
        end
      end
    end
    $display("scale_decode: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "scale_decode failed");
    $finish;
  end
endmodule
