// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_threefry against the records of `ufp4 vectors threefry`:
// simulate with +threefry=FILE. Plain SystemVerilog with $fscanf; one draw at a time through the pipeline, held in each
// stage while other numbers come up behind it.
module read_threefry;
  reg          clk = 1'b0;
  reg  [63:0]  seed, tensor_id, group;
  reg  [127:0] want;
  reg  [63:0]  read_seed, read_tensor_id, read_group;
  wire [127:0] words;
  reg  [6:0]   en;

  ufp4_threefry u_dut (
    .clk_i(clk), .en_i(en), .seed_i(seed), .tensor_id_i(tensor_id), .group_i(group), .words_o(words)
  );

  integer file, got, records, mismatches, stage;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("threefry=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "threefry: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h\n", read_seed, read_tensor_id, read_group, want);
      if (got != 4) $fatal(1, "threefry: record %0d has %0d of 4 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {seed, tensor_id, group} = {read_seed, read_tensor_id, read_group};
      for (stage = 0; stage < 7; stage = stage + 1) begin
        en = 7'd1 << stage;
        tick;
        {seed, tensor_id, group} = ~{seed, tensor_id, group};
        en = en - 7'd1;
        repeat (2) tick;
      end
      records = records + 1;
      if (words !== want) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: seed %h id %h group %h: got %h, want %h",
                    records, seed, tensor_id, group, words, want);
        end
      end
    end
    $display("threefry: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "threefry failed");
    $finish;
  end
endmodule
