// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_scale_split against the records of `ufp4 vectors scale_split`: simulate with +scale_split=FILE.
`include "readers.svh"
module read_scale_split;
  `READER_scale_split
  wire [3:0] sig;
  wire [7:0] exp;
  wire       nan;

  ufp4_scale_split u_dut (.byte_i(in_byte), .e8m0_i(in_e8m0), .sig_o(sig), .exp_o(exp), .nan_o(nan));

  initial if ($value$plusargs("scale_split=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      #1;
      judge(nan === want_nan && (nan || (sig === want_sig && exp === want_exp)));
      if (shown) $display("  got sig %h exp %h nan %b", sig, exp, nan);
    end
    close_file;
  end
endmodule
