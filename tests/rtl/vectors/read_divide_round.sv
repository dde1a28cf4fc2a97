// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_divide_round against the records of `ufp4 vectors divide_round`:
// simulate with +divide_round=FILE. Plain SystemVerilog with $fscanf; one block at a time through the pipeline, held in
// each stage while another comes up behind it.
module read_divide_round;
  reg          clk = 1'b0;
  reg  [3:0]   rht, sr, sig;
  reg  [7:0]   elem;
  reg  [11:0]  base;
  reg  [511:0] payload;
  reg  [127:0] random;
  reg  [63:0]  want;
  reg  [3:0]   read_rht, read_sr, read_sig;
  reg  [7:0]   read_elem;
  reg  [11:0]  read_base;
  reg  [511:0] read_payload;
  reg  [127:0] read_random;
  wire [63:0]  codes;
  reg  [5:0]   en;

  ufp4_divide_round u_dut (
    .clk_i(clk), .en_i(en), .rht_i(rht[0]), .elem_i(elem), .sr_i(sr[0]), .payload_i(payload), .base_i(base[8:0]),
    .sig_i({5{sig}}), .random_i(random), .codes_o(codes)
  );

  integer file, got, records, mismatches, stage;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("divide_round=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "divide_round: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h %h %h %h %h\n", read_rht, read_elem, read_sr, read_base,
                    read_sig, read_payload, read_random, want);
      if (got != 8) $fatal(1, "divide_round: record %0d has %0d of 8 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      for (stage = 0; stage < 6; stage = stage + 1) begin
        {rht, elem, sr, base, sig, payload, random} =
            {read_rht, read_elem, read_sr, read_base, read_sig, read_payload, read_random};
        en = 6'd1 << stage;
        tick;
        {rht, elem, sr, base, sig, payload, random} = ~{rht, elem, sr, base, sig, payload, random};
        en = en - 6'd1;
        repeat (2) tick;
      end
      records = records + 1;
      if (codes !== want) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: rht %b elem %h sr %b base %h sig %h payload %h random %h: got %h, want %h",
                    records, read_rht[0], read_elem, read_sr[0], read_base[8:0], read_sig, read_payload, read_random,
                    codes, want);
        end
      end
    end
    $display("divide_round: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "divide_round failed");
    $finish;
  end
endmodule
