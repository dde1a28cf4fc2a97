// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_e4m3_scale against the records of `ufp4 vectors e4m3_scale`: simulate with
// +e4m3_scale=FILE. One block at a time passes through the pipeline.
`include "readers.svh"
module read_e4m3_scale;
  `READER_e4m3_scale
  wire        zero, saturated;
  wire [8:0]  power, base;
  wire [27:0] normal;
  wire [7:0]  scale;
  wire [3:0]  sig;
  reg  [36:0] got_normal;  // after the first stage, which moves on

  ufp4_e4m3_scale u_dut (
    .clk_i(clk), .en_i(3'h7), .rht_i(in_rht), .elem_i(in_elem), .up_i(in_up), .tensor_exponent_i(in_tensor_exponent),
    .exponent_i(in_exponent), .amax_i(in_amax), .exponent_base_i(in_exponent), .zero_o(zero), .power_o(power),
    .normal_o(normal), .scale_o(scale), .saturated_o(saturated), .sig_o(sig), .base_o(base)
  );

  initial if ($value$plusargs("e4m3_scale=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      tick;
      got_normal = {power, normal};
      repeat (2) tick;
      judge({zero, got_normal, scale, saturated, sig, base} ===
            {1'b0, want_power, want_normal, want_scale, want_saturated, want_sig, want_base});
      if (shown) $display("  got %h %h %b %h %h", got_normal, scale, saturated, sig, base);
    end
    // A block of zeros has no scale by the contract of the unit; no record has one.
    in_amax = '0;
    tick;
    if (zero !== 1'b1) begin
      mismatches = mismatches + 1;
      $display("amax 0: zero_o is 0");
    end
    close_file;
  end
endmodule
