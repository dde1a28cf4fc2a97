// SPDX-License-Identifier: Apache-2.0
// Runs the units of a PE, in their three forms, against the records of `ufp4 vectors pe`: simulate
// with +pe=FILE. One copy of the units adds each block to the sum of the record, loaded with
// carries of its own; the other adds it to its register, in runs of 64 blocks. A record is held for
// 13 cycles, the most stages that a form has.
`include "readers.svh"
module read_pe;
  `READER_pe
  reg          keep;
  reg  [2:0]   valid = 3'b000, carries;
  reg  [63:0]  a_planes, b_planes, want_kept;
  wire [12:0]  dot, dot_kept;
  wire         nan, nan_kept;
  wire [191:0] sums, sums_kept;
  wire [63:0]  carried = {15'd0, carries[2], 15'd0, carries[1], 15'd0, carries[0], 16'd0};
  wire [66:0]  loaded = {carries, in_sum_in - carried};
  integer      lane, code_bit;

  pe_forms u_loaded (
    .clk_i(clk), .a_elem_i(in_a_elem), .b_elem_i(in_b_elem), .a_planes_i(a_planes), .b_planes_i(b_planes),
    .a_scale_i(in_a_scale[6:0]), .b_scale_i(in_b_scale[6:0]), .valid1_i(valid[0]), .valid2_i(valid[1]),
    .valid3_i(valid[2]), .keep_i(1'b0), .load_i(1'b1), .loaded_i(loaded), .dot_o(dot), .nan_o(nan), .sums_o(sums)
  );
  pe_forms u_kept (
    .clk_i(clk), .a_elem_i(in_a_elem), .b_elem_i(in_b_elem), .a_planes_i(a_planes), .b_planes_i(b_planes),
    .a_scale_i(in_a_scale[6:0]), .b_scale_i(in_b_scale[6:0]), .valid1_i(valid[0]), .valid2_i(valid[1]),
    .valid3_i(valid[2]), .keep_i(keep), .load_i(1'b0), .loaded_i(loaded), .dot_o(dot_kept), .nan_o(nan_kept),
    .sums_o(sums_kept)
  );

  always @* begin
    for (lane = 0; lane < 16; lane = lane + 1) begin
      for (code_bit = 0; code_bit < 4; code_bit = code_bit + 1) begin
        a_planes[16*code_bit+lane] = in_a_codes[4*lane+code_bit];
        b_planes[16*code_bit+lane] = in_b_codes[4*lane+code_bit];
      end
    end
  end

  initial if ($value$plusargs("pe=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      carries = records[2:0];
      // The first block of a run neither keeps nor loads: it starts from zero, whatever was before
      // and whatever could be loaded.
      keep = records % 64 != 0;
      want_kept = (keep ? want_kept : 64'd0) + {{16{want_term[47]}}, want_term};
      valid = 3'b001;
      tick;
      valid = 3'b010;
      tick;
      valid = 3'b100;
      tick;
      valid = 3'b000;
      repeat (10) tick;
      judge({sums, dot, nan} === {{3{want_sum}}, want_dot, 1'b0} && sums_kept === {3{want_kept}});
      if (shown) $display("  got %h %h, kept %h, want kept %h", dot, sums, sums_kept, want_kept);
    end
    close_file;
  end
endmodule
