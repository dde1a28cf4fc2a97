// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_i64_to_f32 against the records of `ufp4 vectors i64_to_f32`:
// simulate with +i64_to_f32=FILE. Plain SystemVerilog with $fscanf; Icarus Verilog takes it too.
module read_i64_to_f32;
  reg         clk = 1'b0;
  reg  [19:0] exponent, read_exponent;
  reg  [63:0] sum, read_sum;
  reg  [31:0] want;
  wire [31:0] f32;

  ufp4_i64_to_f32 u_dut (
    .clk_i(clk), .exponent_i(exponent[17:0]), .normalize_i(1'b1), .sum_i(sum), .round_i(1'b1), .f32_o(f32)
  );

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("i64_to_f32=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "i64_to_f32: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h\n", read_exponent, read_sum, want);
      if (got != 3) $fatal(1, "i64_to_f32: record %0d has %0d of 3 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {exponent, sum} = {read_exponent, read_sum};
      repeat (2) tick;
      records = records + 1;
      if (f32 !== want) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: exponent %h sum %h: got %h, want %h",
                    records, exponent[17:0], sum, f32, want);
        end
      end
    end
    // The most negative sum stands for NaN: no record, but the unit's contract.
    sum = {1'b1, 63'd0};
    repeat (2) tick;
    if (f32 !== 32'h7FC0_0000) begin
      mismatches = mismatches + 1;
      $display("sum %h: got %h, want 7fc00000", sum, f32);
    end
    $display("i64_to_f32: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "i64_to_f32 failed");
    $finish;
  end
endmodule
