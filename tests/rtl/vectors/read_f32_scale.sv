// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_f32_scale against the records of `ufp4 vectors f32_scale`: simulate with +f32_scale=FILE.
// Plain SystemVerilog with $fscanf; what comes while neither stage is enabled changes nothing.
module read_f32_scale;
  reg         clk = 1'b0, normalize = 1'b0, round = 1'b0;
  reg  [19:0] exponent, read_exponent;
  reg  [31:0] number, read_number, want, got_f32;
  wire [31:0] f32;

  ufp4_f32_scale u_dut (
    .clk_i(clk), .exponent_i(exponent[17:0]), .normalize_i(normalize), .number_i(number), .round_i(round), .f32_o(f32)
  );

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("f32_scale=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "f32_scale: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h\n", read_exponent, read_number, want);
      if (got != 3) $fatal(1, "f32_scale: record %0d has %0d of 3 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {exponent, number} = {read_exponent, read_number};
      {normalize, round} = 2'b10;
      tick;
      {normalize, round} = 2'b01;
      number = ~number;
      tick;
      {normalize, round} = 2'b00;
      got_f32 = f32;
      tick;
      records = records + 1;
      if (got_f32 !== want || f32 !== want) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: exponent %h number %h: got %h, then %h, want %h", records, exponent[17:0], read_number,
                   got_f32, f32, want);
        end
      end
    end
    $display("f32_scale: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "f32_scale failed");
    $finish;
  end
endmodule
