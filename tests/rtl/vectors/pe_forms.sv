// SPDX-License-Identifier: Apache-2.0
// The work of a PE on a block in its three forms (Target) side by side: decoders, dot product,
// scales, running sum, and the sum as the drain resolves it. loaded_i is a word of the memories in
// the form for cells, three carries and 64 bits; the other forms load its value. If
// ufp4_sum_resolve marks a segment as zero wrongly, the sum of the form for cells is spoilt.
// Operands are held from the cycle of valid1_i until the sums are complete, CYCLES later for the
// form with the most stages. Tests only.
module pe_forms (
  input  logic         clk_i,
  input  logic [7:0]   a_elem_i,
  input  logic [7:0]   b_elem_i,
  input  logic [63:0]  a_planes_i,
  input  logic [63:0]  b_planes_i,
  input  logic [6:0]   a_scale_i,
  input  logic [6:0]   b_scale_i,
  input  logic         valid1_i,
  input  logic         valid2_i,
  input  logic         valid3_i,
  input  logic         keep_i,
  input  logic         load_i,
  input  logic [66:0]  loaded_i,
  output logic [12:0]  dot_o,
  output logic         nan_o,
  output logic [191:0] sums_o      // {simulator, FPGA, cells}
);
  localparam int unsigned CYCLES = 32'(ufp4_pe_pkg::DotStages) + 7;
  logic [3:0] a_sig, a_exp, b_sig, b_exp;
  logic [1:0] nan;
  ufp4_scale_decode u_a_scale (.byte_i(a_scale_i), .sig_o(a_sig), .exp_o(a_exp), .nan_o(nan[0]));
  ufp4_scale_decode u_b_scale (.byte_i(b_scale_i), .sig_o(b_sig), .exp_o(b_exp), .nan_o(nan[1]));
  assign nan_o = |nan;

  logic [63:0] loaded;
  logic [2:0] loaded_zero, sum_zero;
  ufp4_sum_resolve u_loaded (.word_i(loaded_i), .sum_o(loaded), .zero_o(loaded_zero));
  function automatic logic right(logic [63:0] sum, logic [2:0] zero);
    return zero == {sum[47:32] == '0, sum[31:16] == '0, sum[15:0] == '0};
  endfunction

  logic [15:0] a_sign, b_sign;
  logic [63:0] a_mag, b_mag;
  ufp4_elem_decode u_a (.elem_i(a_elem_i), .uniform_i(1'b0), .code_i(a_planes_i), .sign_o(a_sign), .mag_o(a_mag));
  ufp4_elem_decode u_b (.elem_i(b_elem_i), .uniform_i(1'b0), .code_i(b_planes_i), .sign_o(b_sign), .mag_o(b_mag));

  // Cells: the block is taken in the cycle of valid1_i, and in other cycles the operands are
  // garbage.
  logic [63:0] cells_q;
  logic signed [12:0] dot_taken;
  logic [3:0] a_sig_taken, b_sig_taken, a_exp_taken, b_exp_taken;
  assign {a_sig_taken, b_sig_taken, dot_taken, a_exp_taken, b_exp_taken} =
      {a_sig, b_sig, dot_o, a_exp, b_exp} ^ {29{~valid1_i}};
  ufp4_dot u_dot (.a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(dot_o));
  logic [66:0] word;
  logic [63:0] sum;
  ufp4_sum_exact u_sum (
    .clk_i,
    .valid_i(valid1_i),
    .dot_i(dot_taken),
    .a_sig_i(a_sig_taken),
    .a_exp_i(a_exp_taken),
    .b_sig_i(b_sig_taken),
    .b_exp_i(b_exp_taken),
    .keep_i(keep_i | ~valid2_i),
    .load_i(load_i & valid2_i),
    .loaded_i,
    .sum_o(word)
  );
  ufp4_sum_resolve u_resolve (.word_i(word), .sum_o(sum), .zero_o(sum_zero));
  always_ff @(posedge clk_i) begin
    if (valid3_i) cells_q <= right(sum, sum_zero) && right(loaded, loaded_zero) ? sum : ~sum;
  end

  // FPGAs: control arrives when the sum needs it, two stages before the last.
  logic [12:0] relative;
  logic negative;
  logic [15:0] a_shifted_sign, b_shifted_sign;
  logic [63:0] a_shifted, b_shifted;
  ufp4_elem_decode #(.Binary(1'b0)) u_a_shifted (
    .elem_i(a_elem_i), .uniform_i(1'b0), .code_i(a_planes_i), .sign_o(a_shifted_sign), .mag_o(a_shifted)
  );
  ufp4_elem_decode #(.Binary(1'b0)) u_b_shifted (
    .elem_i(b_elem_i), .uniform_i(1'b0), .code_i(b_planes_i), .sign_o(b_shifted_sign), .mag_o(b_shifted)
  );
  ufp4_dot_relative u_dot_relative (
    .clk_i, .a_sign_i(a_shifted_sign), .a_mag_i(a_shifted), .b_sign_i(b_shifted_sign), .b_mag_i(b_shifted),
    .dot_o(relative), .negative_o(negative)
  );
  logic [63:0] chains;
  logic [CYCLES-4:1] valid_q, keep_q;
  logic [CYCLES-6:1] load_q;
  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[CYCLES-5:1], valid3_i};
    keep_q <= {keep_q[CYCLES-5:1], keep_i};
    load_q <= {load_q[CYCLES-7:1], load_i & valid3_i};
  end
  ufp4_sum_chains u_chains (
    .clk_i,
    .dot_i(relative),
    .negative_i(negative),
    .sig_i(8'(a_sig) * 8'(b_sig)),
    .exp_i(5'(a_exp) + 5'(b_exp)),
    .load_i(load_q[CYCLES-6]),
    .loaded_i(loaded),
    .valid_i(valid_q[CYCLES-4]),
    .keep_i(keep_q[CYCLES-4]),
    .sum_o(chains)
  );

  // Simulators.
  logic [63:0] a_nibbles, b_nibbles, at_once, words_q;
  assign a_nibbles = ufp4_words_pkg::nibbles(a_planes_i);
  assign b_nibbles = ufp4_words_pkg::nibbles(b_planes_i);
  ufp4_pe_words u_words (
    .clk_i,
    .step_i(1'b0),
    .first_i(1'b0),
    .valid_i(valid3_i),
    .keep_i,
    .load_i,
    .loaded_i(loaded),
    .a0_i(ufp4_words_pkg::word(a_elem_i, a_nibbles, 0, 1'b0)),
    .a1_i(ufp4_words_pkg::word(a_elem_i, a_nibbles, 1, 1'b0)),
    .a2_i(ufp4_words_pkg::word(a_elem_i, a_nibbles, 2, 1'b0)),
    .a3_i(ufp4_words_pkg::word(a_elem_i, a_nibbles, 3, 1'b0)),
    .a_scale_i(64'(a_sig) << a_exp),
    .b0_i(ufp4_words_pkg::word(b_elem_i, b_nibbles, 0, 1'b1)),
    .b1_i(ufp4_words_pkg::word(b_elem_i, b_nibbles, 1, 1'b1)),
    .b2_i(ufp4_words_pkg::word(b_elem_i, b_nibbles, 2, 1'b1)),
    .b3_i(ufp4_words_pkg::word(b_elem_i, b_nibbles, 3, 1'b1)),
    .b_scale_i(64'(b_sig) << b_exp),
    .sum_o(at_once)
  );
  always_ff @(posedge clk_i) begin
    if (valid3_i) words_q <= at_once;
  end

  // Indexed by the number of the target.
  assign sums_o = {words_q, chains, cells_q};
endmodule
