// SPDX-License-Identifier: Apache-2.0
// Runs the units of a PE of the contract nv against the records of `ufp4 vectors pe_nv`: simulate
// with +pe_nv=FILE. The blocks of a step enter one per cycle; steps of zeros follow without a gap:
// one begins the sum of the other turn, then each turn keeps its sum, and at the end the sum of the
// record is dropped. The turns of records alternate.
`include "readers.svh"
module read_pe_nv;
  `READER_pe_nv
  reg          valid = 1'b0, valid_q = 1'b0;
  reg          first = 1'b0, start = 1'b0, turn = 1'b0, keep = 1'b0, load = 1'b1, align = 1'b0, last = 1'b0, ending = 1'b0;
  reg          finish = 1'b0, finish_turn = 1'b0, odd = 1'b0;
  reg  [31:0]  got_sum, got_other, got_kept, got_other_kept, got_zero;
  reg  [63:0]  a_group, b_group, a_planes, b_planes;
  reg  [7:0]   a_scale, b_scale;
  reg          nan;
  wire [31:0]  sum;
  wire [15:0]  a_sign, b_sign;
  wire [63:0]  a_mag, b_mag;
  wire [12:0]  dot;
  wire [3:0]   a_sig, b_sig;
  wire [7:0]   a_exp, b_exp;
  wire         a_nan, b_nan;
  wire         e8m0 = in_scale == 8'd2;
  integer      lane, code_bit, cycle;

  ufp4_elem_decode u_a (.elem_i(in_a_elem), .uniform_i(1'b0), .code_i(a_planes), .sign_o(a_sign), .mag_o(a_mag));
  ufp4_elem_decode u_b (.elem_i(in_b_elem), .uniform_i(1'b0), .code_i(b_planes), .sign_o(b_sign), .mag_o(b_mag));
  ufp4_dot u_dot (.a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(dot));
  ufp4_scale_split u_a_scale (.byte_i(a_scale), .e8m0_i(e8m0), .sig_o(a_sig), .exp_o(a_exp), .nan_o(a_nan));
  ufp4_scale_split u_b_scale (.byte_i(b_scale), .e8m0_i(e8m0), .sig_o(b_sig), .exp_o(b_exp), .nan_o(b_nan));
  ufp4_sum_nv u_sum (
    .clk_i(clk), .valid1_i(valid), .first_i(first), .dot_i(dot), .a_sig_i(a_sig), .a_exp_i(a_exp),
    .a_fine_i(in_a_elem == 8'd1), .b_sig_i(b_sig), .b_exp_i(b_exp), .b_fine_i(in_b_elem == 8'd1), .valid2_i(valid_q),
    .begin_i(start), .turn_i(turn), .keep_i(keep), .load_i(load), .loaded_i(in_acc_in), .align_i(align), .last_i(last),
    .end_i(ending), .finish_i(finish), .finish_turn_i(finish_turn), .sum_o(sum)
  );

  always @* begin
    for (lane = 0; lane < 16; lane = lane + 1) begin
      for (code_bit = 0; code_bit < 4; code_bit = code_bit + 1) begin
        a_planes[16*code_bit+lane] = a_group[4*lane+code_bit];
        b_planes[16*code_bit+lane] = b_group[4*lane+code_bit];
      end
    end
  end

  // Sets the operands that enter in a cycle, and the control of the steps before.
  task enter;
    begin
      first = cycle % 4 == 0;
      valid = cycle < 4 ? cycle < in_groups : first && cycle < 20;
      // Operands without valid are no group.
      {a_group, b_group, a_scale, b_scale} = ~144'd0;
      if (valid && cycle < 4) begin
        {a_group, b_group} = {in_a_codes[64*cycle+:64], in_b_codes[64*cycle+:64]};
        {a_scale, b_scale} = {in_a_scales[8*cycle+:8], in_b_scales[8*cycle+:8]};
      end else if (valid) begin
        {a_group, b_group, a_scale, b_scale} = 144'd0;
      end
      start = cycle >= 4 && first;
      turn = odd ^ (cycle / 4 % 2 == 0);
      {keep, load} = {cycle / 4 == 3 || cycle / 4 == 4, cycle / 4 == 1};
      align = cycle >= 4 && cycle % 4 == 1;
      last = cycle >= 4 && cycle % 4 == 3;
      ending = cycle >= 8 && first;
      finish = cycle >= 8 && cycle % 4 == 3;
      finish_turn = ~turn;
    end
  endtask

  initial if ($value$plusargs("pe_nv=%s", path)) begin
    open_file;
    while (!$feof(file)) begin
      read_record;
      nan = 1'b0;
      for (cycle = 0; cycle < 28; cycle = cycle + 1) begin
        enter;
        #1 nan = nan | (valid & (a_nan | b_nan));
        if (cycle == 11) got_sum = sum;
        if (cycle == 15) got_other = sum;
        if (cycle == 19) got_kept = sum;
        if (cycle == 23) got_other_kept = sum;
        if (cycle == 27) got_zero = sum;
        tick;
        valid_q = valid;
      end
      odd = ~odd;
      judge(got_sum === want_acc && got_kept === want_acc && {got_other, got_other_kept, got_zero} === 96'd0 && nan === 1'b0);
      if (shown) begin
        $display("  got %h, kept %h, zero %h, other %h, kept %h", got_sum, got_kept, got_zero, got_other, got_other_kept);
      end
    end
    close_file;
  end
endmodule
