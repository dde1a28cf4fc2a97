// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_i64_to_f32 against the records of `ufp4 vectors i64_to_f32`:
// simulate with +i64_to_f32=FILE. Icarus Verilog takes it too.
`include "readers.svh"
module read_i64_to_f32;
  `READER_i64_to_f32
  wire [31:0] f32;

  ufp4_i64_to_f32 u_dut (
    .clk_i(clk), .en_i(5'h1F), .exponent_i(in_exponent), .sum_i(in_sum),
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
    // The most negative sum stands for NaN: no record, but the unit's contract.
    in_sum = {1'b1, 63'd0};
    repeat (5) tick;
    if (f32 !== 32'h7FC0_0000) begin
      mismatches = mismatches + 1;
      $display("NaN: got %h", f32);
    end
    close_file;
  end
endmodule
