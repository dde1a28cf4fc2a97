// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_scale_decode against the records of `ufp4 vectors scale_decode`: simulate with
// +scale_decode=FILE. Icarus Verilog can run it too.
`include "readers.svh"
module read_scale_decode;
  `READER_scale_decode
  wire [3:0] sig, exp;
  wire       nan;

  ufp4_scale_decode u_dut (.byte_i(in_byte[6:0]), .sig_o(sig), .exp_o(exp), .nan_o(nan));

  initial if ($value$plusargs("scale_decode=%s", path)) begin
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
