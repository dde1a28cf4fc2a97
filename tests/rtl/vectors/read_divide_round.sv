// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_divide_round against the records of `ufp4 vectors divide_round`: simulate with
// +divide_round=FILE. One block at a time passes through the pipeline, and is held in each stage
// while another follows behind.
`include "readers.svh"
module read_divide_round;
  `READER_divide_round
  wire [63:0] codes;
  reg  [5:0]  en;
  integer     stage;

  ufp4_divide_round u_dut (
    .clk_i(clk), .en_i(en), .rht_i(in_rht), .elem_i(in_elem), .sr_i(in_sr), .payload_i(in_payload), .base_i(in_base),
    .sig_i({5{in_sig}}), .random_i(in_random), .codes_o(codes)
  );

  initial if ($value$plusargs("divide_round=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      for (stage = 0; stage < 6; stage = stage + 1) begin
        {in_rht, in_elem, in_sr, in_base, in_sig, in_payload, in_random} =
            {read_rht, read_elem, read_sr, read_base, read_sig, read_payload, read_random};
        en = 6'd1 << stage;
        tick;
        {in_rht, in_elem, in_sr, in_base, in_sig, in_payload, in_random} =
            ~{in_rht, in_elem, in_sr, in_base, in_sig, in_payload, in_random};
        en = en - 6'd1;
        repeat (2) tick;
      end
      judge(codes === want_codes);
      if (shown) $display("  got %h", codes);
    end
    close_file;
  end
endmodule
