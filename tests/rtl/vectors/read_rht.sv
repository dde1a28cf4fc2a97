// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_rht against the records of `ufp4 vectors rht`: simulate with +rht=FILE. One block at a
// time passes through the pipeline.
`include "readers.svh"
module read_rht;
  `READER_rht
  reg          bypass = 1'b0;
  wire [511:0] out;

  ufp4_rht u_dut (
    .clk_i(clk), .en_i(6'h3F), .bypass_i(bypass), .mask_i(in_mask), .exponent_i(in_exponent), .words_i(in_words), .out_o(out)
  );

  initial if ($value$plusargs("rht=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      repeat (6) tick;
      judge(out === want_out);
      if (shown) $display("  got %h", out);
    end
    // Without the transform the words of the last record, and their complements, pass unchanged.
    bypass = 1'b1;
    repeat (2) begin
      in_words = ~in_words;
      repeat (6) tick;
      if (out !== in_words) begin
        mismatches = mismatches + 1;
        $display("bypass, words %h: got %h", in_words, out);
      end
    end
    close_file;
  end
endmodule
