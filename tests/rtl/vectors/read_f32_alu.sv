// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_f32_alu against the records of `ufp4 vectors f32_alu`: simulate with +f32_alu=FILE.
`include "readers.svh"
module read_f32_alu;
  `READER_f32_alu
  reg  [31:0] result;
  wire [31:0] f32, f32_staged;

  ufp4_f32_alu u_dut (
    .clk_i(clk), .add_i(in_add), .prepare_i(1'b1), .a_i(in_a), .b_i(in_b), .normalize_i(1'b1), .round_i(1'b1), .f32_o(f32)
  );

  // The form for FPGAs: two stages more.
  ufp4_f32_alu #(.Extra(2)) u_staged (
    .clk_i(clk), .add_i(in_add), .prepare_i(3'b111), .a_i(in_a), .b_i(in_b), .normalize_i(1'b1), .round_i(1'b1),
    .f32_o(f32_staged)
  );

  initial if ($value$plusargs("f32_alu=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      repeat (3) tick;
      result = f32;
      repeat (2) tick;
      judge(result === want_f32 && f32_staged === want_f32);
      if (shown) $display("  got %h, in five stages %h", result, f32_staged);
    end
    close_file;
  end
endmodule
