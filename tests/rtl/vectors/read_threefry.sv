// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_threefry against the records of `ufp4 vectors threefry`: simulate with +threefry=FILE.
// One draw at a time through the pipeline, held in each stage while other numbers come up behind it.
`include "readers.svh"
module read_threefry;
  `READER_threefry
  wire [127:0] words;
  reg  [15:0]  en;
  integer      stage;

  ufp4_threefry u_dut (
    .clk_i(clk), .en_i(en), .stop_i(1'b0), .seed_i(in_seed), .tensor_id_i(in_tensor_id), .group_i(in_group), .words_o(words)
  );

  initial if ($value$plusargs("threefry=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      for (stage = 0; stage < 16; stage = stage + 1) begin
        {in_seed, in_tensor_id, in_group} = {read_seed, read_tensor_id, read_group};
        en = 16'd1 << stage;
        tick;
        {in_seed, in_tensor_id, in_group} = ~{in_seed, in_tensor_id, in_group};
        en = en - 16'd1;
        repeat (2) tick;
      end
      judge(words === want_words);
      if (shown) $display("  got %h", words);
    end
    close_file;
  end
endmodule
