// SPDX-License-Identifier: Apache-2.0
// Runs the units of a PE, in their three forms, against the records of `ufp4 vectors pe`: simulate with +pe=FILE. Each
// block is added in one copy of them to the record's sum, which is loaded with carries of its own, and in another to
// what the register holds, in runs of 64 blocks. Plain SystemVerilog with $fscanf. A record is held for 13 cycles, the
// most stages that a form has.
module read_pe;
  reg          clk = 1'b0, keep;
  reg  [2:0]   valid = 3'b000;
  reg  [7:0]   read_a_elem, read_b_elem, read_a_scale, read_b_scale, a_elem, b_elem, a_scale, b_scale;
  reg  [63:0]  read_a, read_b, a_codes, b_codes, a_planes, b_planes, read_sum, sum_in, want, want_kept;
  reg  [15:0]  want_dot;
  reg  [47:0]  want_term;
  reg  [2:0]   carries;
  wire [12:0]  dot, dot_kept;
  wire         nan, nan_kept;
  wire [191:0] sums, sums_kept;
  wire [63:0]  carried = {15'd0, carries[2], 15'd0, carries[1], 15'd0, carries[0], 16'd0};
  wire [66:0]  loaded = {carries, sum_in - carried};
  integer      lane, code_bit;

  pe_forms u_loaded (
    .clk_i(clk), .a_elem_i(a_elem), .b_elem_i(b_elem), .a_planes_i(a_planes), .b_planes_i(b_planes),
    .a_scale_i(a_scale[6:0]), .b_scale_i(b_scale[6:0]), .valid1_i(valid[0]), .valid2_i(valid[1]), .valid3_i(valid[2]),
    .keep_i(1'b0), .load_i(1'b1), .loaded_i(loaded), .dot_o(dot), .nan_o(nan), .sums_o(sums)
  );
  pe_forms u_kept (
    .clk_i(clk), .a_elem_i(a_elem), .b_elem_i(b_elem), .a_planes_i(a_planes), .b_planes_i(b_planes),
    .a_scale_i(a_scale[6:0]), .b_scale_i(b_scale[6:0]), .valid1_i(valid[0]), .valid2_i(valid[1]), .valid3_i(valid[2]),
    .keep_i(keep), .load_i(1'b0), .loaded_i(loaded), .dot_o(dot_kept), .nan_o(nan_kept), .sums_o(sums_kept)
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

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("pe=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "pe: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h %h %h %h %h %h %h\n", read_a_elem, read_b_elem, read_a, read_b, read_a_scale,
                    read_b_scale, read_sum, want_dot, want_term, want);
      if (got != 10) $fatal(1, "pe: record %0d has %0d of 10 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {a_elem, b_elem, a_codes, b_codes} = {read_a_elem, read_b_elem, read_a, read_b};
      {a_scale, b_scale, sum_in} = {read_a_scale, read_b_scale, read_sum};
      carries = records[2:0];
      // The first of a run neither keeps nor loads: from zero, whatever was before and whatever could be loaded.
      keep = records % 64 != 0;
      want_kept = (keep ? want_kept : 64'd0) + {{16{want_term[47]}}, want_term};
      records = records + 1;
      valid = 3'b001;
      tick;
      valid = 3'b010;
      tick;
      valid = 3'b100;
      tick;
      valid = 3'b000;
      repeat (10) tick;
      if ({sums, dot, nan} !== {{3{want}}, want_dot[12:0], 1'b0} || sums_kept !== {3{want_kept}}) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: elements %h %h codes %h %h scales %h %h sum %h: got %h %h, kept %h, want %h %h, kept %h",
                    records, a_elem, b_elem, a_codes, b_codes, a_scale, b_scale, sum_in, dot, sums, sums_kept,
                    want_dot[12:0], want, want_kept);
        end
      end
    end
    $display("pe: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "pe failed");
    $finish;
  end
endmodule
