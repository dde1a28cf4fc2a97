// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_i64_to_f32 against the records of `ufp4 vectors i64_to_f32`: simulate with
// +i64_to_f32=FILE. Icarus Verilog can run it too.
`include "readers.svh"
module read_i64_to_f32;
  `READER_i64_to_f32
  wire [31:0] f32;
  reg [4:0] en = 5'h1F;
  integer stage, behind;

  ufp4_i64_to_f32 u_dut (
    .clk_i(clk), .en_i(en), .exponent_i(in_exponent), .sum_i(in_sum),
    .zero_i({in_sum[47:32] == 16'd0, in_sum[31:16] == 16'd0, in_sum[15:0] == 16'd0}), .f32_o(f32)
  );

  initial if ($value$plusargs("i64_to_f32=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      repeat (5) tick;
      judge(f32 === want_f32);
      if (shown) $display("  got %h", f32);
    end
    // The most negative sum stands for NaN by the contract of the unit; no record has it.
    in_sum = {1'b1, 63'd0};
    repeat (5) tick;
    if (f32 !== 32'h7FC0_0000) begin
      mismatches = mismatches + 1;
      $display("NaN: got %h", f32);
    end
    // No record covers stages that wait: 3 moves up one stage at a time, and -5 follows to the
    // stage behind.
    in_exponent = 0;
    for (stage = 0; stage < 5; stage = stage + 1) begin
      in_sum = 64'd3;
      en = 5'd1 << stage;
      tick;
      in_sum = -64'd5;
      for (behind = 0; behind < stage; behind = behind + 1) begin
        en = 5'd1 << behind;
        tick;
      end
      en = 5'd0;
      tick;
    end
    if (f32 !== 32'h4040_0000) begin
      mismatches = mismatches + 1;
      $display("stages that wait: got %h", f32);
    end
    close_file;
  end
endmodule
