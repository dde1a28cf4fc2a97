// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_elem_decode against the records of `ufp4 vectors elem_decode`: simulate with
// +elem_decode=FILE. Each code passes through every lane in turn, while the other lanes hold codes
// of which every bit differs.
`include "readers.svh"
module read_elem_decode;
  `READER_elem_decode
  reg  [63:0] planes;
  reg  [15:0] one;
  reg  [7:0]  quanta;
  reg         good;
  wire [15:0] sign;
  wire [63:0] mag;
  integer     lane;

  ufp4_elem_decode u_dut (
    .elem_i(in_elem), .uniform_i(in_uniform), .code_i(planes), .sign_o(sign), .mag_o(mag)
  );

  initial if ($value$plusargs("elem_decode=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      good = 1'b1;
      for (lane = 0; lane < 16; lane = lane + 1) begin
        one = 16'd1 << lane;
        planes = {in_code[3] ? one : ~one, in_code[2] ? one : ~one, in_code[1] ? one : ~one, in_code[0] ? one : ~one};
        #1;
        quanta = {4'd0, mag[48+lane], mag[32+lane], mag[16+lane], mag[lane]};
        if (sign[lane]) quanta = -quanta;
        good = good && quanta === want_quanta;
      end
      judge(good);
      if (shown) $display("  got %h in the last lane", quanta);
    end
    close_file;
  end
endmodule
