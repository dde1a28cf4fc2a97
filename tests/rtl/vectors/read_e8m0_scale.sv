// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_e8m0_scale against the records of `ufp4 vectors e8m0_scale`: simulate with +e8m0_scale=FILE.
`include "readers.svh"
module read_e8m0_scale;
  `READER_e8m0_scale
  reg  [2:1] en = 2'b00;
  wire [7:0] scale;
  wire [8:0] base;

  ufp4_e8m0_scale u_dut (
    .clk_i(clk), .en_i(en), .elem_i(in_elem), .up_i(in_up), .join_i(1'b0), .power_i(in_power), .normal_i(in_normal), .scale_o(scale),
    .base_o(base)
  );

  initial if ($value$plusargs("e8m0_scale=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      en = 2'b01;
      tick;
      // From now on another block is at the inputs: while neither stage moves, while the second
      // moves, and afterwards.
      {in_power, in_normal} = ~{in_power, in_normal};
      en = 2'b00;
      tick;
      en = 2'b10;
      tick;
      en = 2'b00;
      tick;
      judge(scale === want_scale && base === want_base);
      if (shown) $display("  got %h %h", scale, base);
    end
    close_file;
  end
endmodule
