// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_elem_decode and ufp4_dot, in its forms, against the records of `ufp4 vectors dot`:
// simulate with +dot=FILE. Plain SystemVerilog with $fscanf; codes become bit planes on the way.
module read_dot;
  reg  [7:0]  read_a_elem, read_b_elem, a_elem, b_elem;
  reg  [63:0] read_a, read_b, a_codes, b_codes, a_planes, b_planes;
  reg  [15:0] want;
  wire [12:0] dot;
  wire [25:0] others;
  integer     lane, code_bit;

  dot_forms u_dut (
    .a_elem_i(a_elem), .b_elem_i(b_elem), .a_planes_i(a_planes), .b_planes_i(b_planes), .dot_o(dot), .others_o(others)
  );

  always @* begin
    for (lane = 0; lane < 16; lane = lane + 1) begin
      for (code_bit = 0; code_bit < 4; code_bit = code_bit + 1) begin
        a_planes[16*code_bit+lane] = a_codes[4*lane+code_bit];
        b_planes[16*code_bit+lane] = b_codes[4*lane+code_bit];
      end
    end
  end

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  initial if ($value$plusargs("dot=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "dot: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h %h\n", read_a_elem, read_b_elem, read_a, read_b, want);
      if (got != 5) $fatal(1, "dot: record %0d has %0d of 5 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {a_elem, b_elem, a_codes, b_codes} = {read_a_elem, read_b_elem, read_a, read_b};
      #1;
      records = records + 1;
      if ({others, dot} !== {3{want[12:0]}}) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: elements %h %h codes %h %h: got %h, others %h, want %h",
                    records, a_elem, b_elem, a_codes, b_codes, dot, others, want[12:0]);
        end
      end
    end
    $display("dot: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "dot failed");
    $finish;
  end
endmodule
