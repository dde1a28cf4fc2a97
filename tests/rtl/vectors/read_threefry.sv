// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_threefry, as a pipeline and with one stage for all steps, against the records of
// `ufp4 vectors threefry`: simulate with +threefry=FILE.
// The pipeline holds one draw in each stage while other numbers follow behind. The shared stage
// is stopped before a step for none, one or two cycles, and is idle for a cycle after the step,
// with other numbers at the inputs.
`include "readers.svh"
module read_threefry;
  `READER_threefry
  wire [127:0] words, shared_words;
  reg  [15:0]  en = 16'd0;
  reg  [7:0]   shared_en = 8'd0;
  reg          stop = 1'b0;
  integer      stage;

  ufp4_threefry u_dut (
    .clk_i(clk), .en_i(en), .stop_i(1'b0), .seed_i(in_seed), .tensor_id_i(in_tensor_id), .group_i(in_group),
    .words_o(words)
  );
  threefry_shared u_shared (
    .clk_i(clk), .en_i(shared_en), .stop_i(stop), .seed_i(in_seed), .tensor_id_i(in_tensor_id), .group_i(in_group),
    .words_o(shared_words)
  );

  task other_numbers;
    {in_seed, in_tensor_id, in_group} = ~{read_seed, read_tensor_id, read_group};
  endtask
  task own_numbers;
    {in_seed, in_tensor_id, in_group} = {read_seed, read_tensor_id, read_group};
  endtask

  initial if ($value$plusargs("threefry=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      for (stage = 0; stage < 16; stage = stage + 1) begin
        own_numbers;
        en = 16'd1 << stage;
        tick;
        other_numbers;
        en = en - 16'd1;
        repeat (2) tick;
      end
      en = 16'd0;
      for (stage = 0; stage < 8; stage = stage + 1) begin
        shared_en = 8'd1 << stage;
        stop = 1'b1;
        repeat ((records + stage) % 3) tick;
        own_numbers;
        stop = 1'b0;
        tick;
        other_numbers;
        shared_en = 8'd0;
        tick;
      end
      judge(words === want_words && shared_words === want_words);
      if (shown) $display("  got %h, with one stage %h", words, shared_words);
    end
    close_file;
  end
endmodule
