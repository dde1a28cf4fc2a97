// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_f32_alu against the records of `ufp4 vectors f32_alu`: simulate with +f32_alu=FILE.
// Inputs that change while a stage is not enabled must have no effect.
`include "readers.svh"
module read_f32_alu;
  `READER_f32_alu
  reg  [6:0]  enable;
  reg  [31:0] result;
  wire [31:0] f32;

  ufp4_f32_alu u_dut (.clk_i(clk), .en_i(enable), .add_i(in_add), .a_i(in_a), .b_i(in_b), .f32_o(f32));

  initial if ($value$plusargs("f32_alu=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      enable = 7'd1;
      repeat (7) begin
        tick;
        enable = enable << 1;
        {in_add, in_a, in_b} = ~{in_add, in_a, in_b};
      end
      result = f32;
      tick;
      judge(result === want_f32 && f32 === want_f32);
      if (shown) $display("  got %h, then %h", result, f32);
    end
    close_file;
  end
endmodule
