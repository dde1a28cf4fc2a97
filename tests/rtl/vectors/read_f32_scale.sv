// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_f32_scale against the records of `ufp4 vectors f32_scale`: simulate with +f32_scale=FILE.
// What comes while neither stage is enabled changes nothing.
`include "readers.svh"
module read_f32_scale;
  `READER_f32_scale
  reg         normalize = 1'b0, round = 1'b0;
  reg  [31:0] got_f32;
  wire [31:0] f32;

  ufp4_f32_scale u_dut (
    .clk_i(clk), .exponent_i(in_exponent), .normalize_i(normalize), .number_i(in_number), .round_i(round), .f32_o(f32)
  );

  initial if ($value$plusargs("f32_scale=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      {normalize, round} = 2'b10;
      tick;
      {normalize, round} = 2'b01;
      in_number = ~in_number;
      tick;
      {normalize, round} = 2'b00;
      got_f32 = f32;
      tick;
      judge(got_f32 === want_f32 && f32 === want_f32);
      if (shown) $display("  got %h, then %h", got_f32, f32);
    end
    close_file;
  end
endmodule
