// SPDX-License-Identifier: Apache-2.0
// Runs the units of a PE of the contract fp32 against the records of `ufp4 vectors pe_fp32`:
// simulate with +pe_fp32=FILE. A block of 16 is one step; a block of 32 is two, the first held for
// the second, which comes after one turn of the ring of sums.
`include "readers.svh"
module read_pe_fp32;
  `READER_pe_fp32
  reg          join_held = 1'b0, keep = 1'b1, load = 1'b0, add = 1'b0;
  reg  [1:0]   valid = 2'b00;
  reg  [63:0]  a_planes, b_planes;
  reg  [31:0]  got_sum, got_kept, got_zero, got_other;
  reg          half, nan;
  wire [31:0]  sum;
  wire [15:0]  a_sign, b_sign;
  wire [63:0]  a_mag, b_mag;
  wire [12:0]  dot;
  wire [3:0]   a_sig, b_sig;
  wire [8:0]   a_exp, b_exp;
  wire         a_nan, b_nan;
  wire         e8m0 = in_scale == 8'd2;
  integer      lane, code_bit;

  ufp4_elem_decode u_a (.elem_i(in_a_elem), .uniform_i(1'b0), .code_i(a_planes), .sign_o(a_sign), .mag_o(a_mag));
  ufp4_elem_decode u_b (.elem_i(in_b_elem), .uniform_i(1'b0), .code_i(b_planes), .sign_o(b_sign), .mag_o(b_mag));
  ufp4_dot u_dot (.a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(dot));
  ufp4_scale_number u_a_scale (
    .byte_i(in_a_scale), .e8m0_i(e8m0), .elem_i(in_a_elem), .sig_o(a_sig), .exp_o(a_exp), .nan_o(a_nan)
  );
  ufp4_scale_number u_b_scale (
    .byte_i(in_b_scale), .e8m0_i(e8m0), .elem_i(in_b_elem), .sig_o(b_sig), .exp_o(b_exp), .nan_o(b_nan)
  );
  ufp4_sum_fp32 u_sum (
    .clk_i(clk), .valid1_i(valid[0]), .dot_i(dot), .a_sig_i(a_sig), .a_exp_i(a_exp), .b_sig_i(b_sig), .b_exp_i(b_exp),
    .valid2_i(valid[1]), .add_i(add), .join_i(join_held), .keep_i(keep), .load_i(load), .loaded_i(in_acc_in), .sum_o(sum)
  );

  always @* begin
    for (lane = 0; lane < 16; lane = lane + 1) begin
      for (code_bit = 0; code_bit < 4; code_bit = code_bit + 1) begin
        a_planes[16*code_bit+lane] = in_a_codes[64*half+4*lane+code_bit];
        b_planes[16*code_bit+lane] = in_b_codes[64*half+4*lane+code_bit];
      end
    end
  end

  // One cycle of stage 1, and one of stage 2. Operands of other cycles are no block.
  task take(input adds, input joins);
    begin
      valid = 2'b01;
      tick;
      {valid, add, join_held} = {2'b10, adds, joins};
      {in_a_codes, in_b_codes, in_b_scale} = ~{in_a_codes, in_b_codes, in_b_scale};
      tick;
      {valid, add, join_held} = 4'b0000;
      {in_a_codes, in_b_codes, in_b_scale} = ~{in_a_codes, in_b_codes, in_b_scale};
    end
  endtask

  initial if ($value$plusargs("pe_fp32=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      half = 1'b0;
      #1 nan = a_nan | b_nan;
      if (e8m0) begin
        take(1'b0, 1'b0);
        repeat (2) tick;
        half = 1'b1;
      end
      take(1'b1, e8m0);
      tick;
      // Stage 4 of the block, then that of the next sum of the ring, which starts from zero.
      {keep, load} = 2'b01;
      tick;
      {keep, load} = 2'b00;
      in_acc_in = ~in_acc_in;
      tick;
      keep = 1'b1;
      tick;
      #1 got_sum = sum;
      tick;
      #1 got_other = sum;
      // Both sums make a turn, and the one that is not kept disappears.
      repeat (3) tick;
      #1 got_kept = sum;
      tick;
      #1 got_other = got_other | sum;
      keep = 1'b0;
      repeat (3) tick;
      #1 got_zero = sum;
      keep = 1'b1;
      judge(got_sum === want_acc && got_kept === want_acc && got_other === 32'd0 && got_zero === 32'd0 && !nan);
      if (shown) $display("  got %h, kept %h, zero %h, other %h", got_sum, got_kept, got_zero, got_other);
    end
    close_file;
  end
endmodule
