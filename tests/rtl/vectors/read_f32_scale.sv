// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_f32_scale against the records of `ufp4 vectors f32_scale`: simulate with
// +f32_scale=FILE. Inputs that change while a stage is not enabled must have no effect.
`include "readers.svh"
module read_f32_scale;
  `READER_f32_scale
  reg  [4:0]  enable = 5'd0;
  reg  [31:0] got_f32;
  wire [31:0] f32;

  ufp4_f32_scale u_dut (
    .clk_i(clk), .en_i(enable), .exponent_i(in_exponent), .number_i(in_number), .f32_o(f32)
  );

  initial if ($value$plusargs("f32_scale=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      enable = 5'd1;
      repeat (5) begin
        tick;
        enable = enable << 1;
        in_number = ~in_number;
      end
      got_f32 = f32;
      tick;
      judge(got_f32 === want_f32 && f32 === want_f32);
      if (shown) $display("  got %h, then %h", got_f32, f32);
    end
    close_file;
  end
endmodule
