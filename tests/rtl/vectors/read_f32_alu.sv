// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_f32_alu against the records of `ufp4 vectors f32_alu`:
// simulate with +f32_alu=FILE. Plain SystemVerilog with $fscanf; Icarus Verilog takes it too.
module read_f32_alu;
  reg         clk = 1'b0;
  reg  [3:0]  add, read_add;
  reg  [31:0] a, b, read_a, read_b;
  reg  [31:0] want, result;
  wire [31:0] f32, f32_staged;

  ufp4_f32_alu u_dut (
    .clk_i(clk), .add_i(add[0]), .prepare_i(1'b1), .a_i(a), .b_i(b), .normalize_i(1'b1), .round_i(1'b1), .f32_o(f32)
  );

  // The form for FPGAs: two stages more.
  ufp4_f32_alu #(.Extra(2)) u_staged (
    .clk_i(clk), .add_i(add[0]), .prepare_i(3'b111), .a_i(a), .b_i(b), .normalize_i(1'b1), .round_i(1'b1), .f32_o(f32_staged)
  );

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("f32_alu=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "f32_alu: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h\n", read_add, read_a, read_b, want);
      if (got != 4) $fatal(1, "f32_alu: record %0d has %0d of 4 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {add, a, b} = {read_add, read_a, read_b};
      repeat (3) tick;
      result = f32;
      repeat (2) tick;
      records = records + 1;
      if (result !== want || f32_staged !== want) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: %h %s %h: got %h, in five stages %h, want %h",
                    records, a, add[0] ? "+" : "*", b, result, f32_staged, want);
        end
      end
    end
    $display("f32_alu: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "f32_alu failed");
    $finish;
  end
endmodule
