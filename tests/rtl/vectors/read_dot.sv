// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_elem_decode and the forms of ufp4_dot against the records of `ufp4 vectors dot`:
// simulate with +dot=FILE. The codes are converted to bit planes here.
`include "readers.svh"
module read_dot;
  `READER_dot
  reg  [63:0] a_planes, b_planes;
  wire [12:0] dot;
  wire [25:0] others;
  integer     lane, code_bit;

  dot_forms u_dut (
    .a_elem_i(in_a_elem), .b_elem_i(in_b_elem), .a_planes_i(a_planes), .b_planes_i(b_planes), .dot_o(dot), .others_o(others)
  );

  always @* begin
    for (lane = 0; lane < 16; lane = lane + 1) begin
      for (code_bit = 0; code_bit < 4; code_bit = code_bit + 1) begin
        a_planes[16*code_bit+lane] = in_a_codes[4*lane+code_bit];
        b_planes[16*code_bit+lane] = in_b_codes[4*lane+code_bit];
      end
    end
  end

  initial if ($value$plusargs("dot=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      #1;
      judge({others, dot} === {3{want_dot}});
      if (shown) $display("  got %h, others %h", dot, others);
    end
    close_file;
  end
endmodule
