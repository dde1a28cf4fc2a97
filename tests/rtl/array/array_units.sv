// SPDX-License-Identifier: Apache-2.0
// The arithmetic units of the GEMM engine side by side, for one Verilated model: element and scale decoders,
// the dot product of two decoded operands in its forms, the rounding of sums, and FP32 multiplication and
// addition. Tests only.
module array_units (
  input  logic               clk_i,

  input  logic [7:0]         a_elem_i,
  input  logic [7:0]         b_elem_i,
  input  logic [63:0]        a_code_i,
  input  logic [63:0]        b_code_i,
  output logic [15:0]        a_sign_o,
  output logic [63:0]        a_mag_o,         // shifted
  output logic [63:0]        a_binary_o,
  output logic signed [12:0] dot_o,
  output logic signed [12:0] dot_e2m1_o,
  output logic signed [12:0] dot_uniform_o,
  output logic signed [12:0] dot_e1m2_o,
  output logic signed [12:0] dot_planes_o,
  output logic signed [63:0] dot_words_o,     // as the PE for simulators sums it
  output logic signed [12:0] dot_relative_o,  // ufp4_pe_pkg::DotStages edges after its operands

  input  logic [7:0]         scale_i,
  output logic [3:0]         scale_sig_o,
  output logic [3:0]         scale_exp_o,
  output logic               scale_nan_o,

  input  logic [17:0]        exponent_i,
  input  logic [63:0]        sum_i,
  output logic [31:0]        f32_o,        // two edges after sum_i

  input  logic               add_i,
  input  logic [31:0]        a_f32_i,
  input  logic [31:0]        b_f32_i,
  output logic [31:0]        result_o      // three edges after its operands
);
  logic [15:0] a_sign, b_sign, b_shifted_sign;
  logic [63:0] b_binary, b_shifted;
  ufp4_elem_decode u_elem_decode_a (.elem_i(a_elem_i), .code_i(a_code_i), .sign_o(a_sign), .mag_o(a_binary_o));
  ufp4_elem_decode u_elem_decode_b (.elem_i(b_elem_i), .code_i(b_code_i), .sign_o(b_sign), .mag_o(b_binary));
  ufp4_dot u_dot (.a_sign_i(a_sign), .a_mag_i(a_binary_o), .b_sign_i(b_sign), .b_mag_i(b_binary), .dot_o);

  // Without the other formats: right for operands of its own.
  ufp4_dot #(.Formats(32'(ufp4_spec_pkg::FORMATS_E2M1))) u_dot_e2m1 (
    .a_sign_i(a_sign),
    .a_mag_i(a_binary_o),
    .b_sign_i(b_sign),
    .b_mag_i(b_binary),
    .dot_o(dot_e2m1_o)
  );
  ufp4_dot #(.Formats(32'(ufp4_spec_pkg::FORMATS_UNIFORM))) u_dot_uniform (
    .a_sign_i(a_sign),
    .a_mag_i(a_binary_o),
    .b_sign_i(b_sign),
    .b_mag_i(b_binary),
    .dot_o(dot_uniform_o)
  );
  ufp4_dot #(.Formats(32'(ufp4_spec_pkg::FORMATS_E1M2))) u_dot_e1m2 (
    .a_sign_i(a_sign),
    .a_mag_i(a_binary_o),
    .b_sign_i(b_sign),
    .b_mag_i(b_binary),
    .dot_o(dot_e1m2_o)
  );
  ufp4_dot_planes u_dot_planes (
    .a_sign_i(a_sign),
    .a_mag_i(a_binary_o),
    .b_sign_i(b_sign),
    .b_mag_i(b_binary),
    .dot_o(dot_planes_o)
  );

  ufp4_elem_decode #(.Binary(1'b0)) u_elem_decode_a_shifted (
    .elem_i(a_elem_i),
    .code_i(a_code_i),
    .sign_o(a_sign_o),
    .mag_o(a_mag_o)
  );
  ufp4_elem_decode #(.Binary(1'b0)) u_elem_decode_b_shifted (
    .elem_i(b_elem_i),
    .code_i(b_code_i),
    .sign_o(b_shifted_sign),
    .mag_o(b_shifted)
  );
  logic signed [12:0] relative;
  logic negative;
  ufp4_dot_relative u_dot_relative (
    .clk_i,
    .a_sign_i(a_sign_o),
    .a_mag_i(a_mag_o),
    .b_sign_i(b_shifted_sign),
    .b_mag_i(b_shifted),
    .dot_o(relative),
    .negative_o(negative)
  );
  assign dot_relative_o = negative ? -relative : relative;

  logic [63:0] a_nibbles, b_nibbles;
  assign a_nibbles = ufp4_words_pkg::nibbles(a_code_i);
  assign b_nibbles = ufp4_words_pkg::nibbles(b_code_i);
  ufp4_pe_words u_pe_words (
    .clk_i,
    .step_i(1'b1),
    .first_i(1'b1),
    .valid_i(1'b1),
    .keep_i(1'b0),
    .load_i(1'b0),
    .loaded_i(64'd0),
    .a0_i(ufp4_words_pkg::word(a_elem_i, a_nibbles, 0, 1'b0)),
    .a1_i(ufp4_words_pkg::word(a_elem_i, a_nibbles, 1, 1'b0)),
    .a2_i(ufp4_words_pkg::word(a_elem_i, a_nibbles, 2, 1'b0)),
    .a3_i(ufp4_words_pkg::word(a_elem_i, a_nibbles, 3, 1'b0)),
    .a_scale_i(64'd1),
    .b0_i(ufp4_words_pkg::word(b_elem_i, b_nibbles, 0, 1'b1)),
    .b1_i(ufp4_words_pkg::word(b_elem_i, b_nibbles, 1, 1'b1)),
    .b2_i(ufp4_words_pkg::word(b_elem_i, b_nibbles, 2, 1'b1)),
    .b3_i(ufp4_words_pkg::word(b_elem_i, b_nibbles, 3, 1'b1)),
    .b_scale_i(64'd1),
    .sum_o(dot_words_o)
  );

  ufp4_scale_decode u_scale_decode (
    .byte_i(scale_i[6:0]),
    .sig_o(scale_sig_o),
    .exp_o(scale_exp_o),
    .nan_o(scale_nan_o)
  );
  ufp4_i64_to_f32 u_i64_to_f32 (.clk_i, .exponent_i, .normalize_i(1'b1), .sum_i, .round_i(1'b1), .f32_o);
  ufp4_f32_alu u_f32_alu (
    .clk_i,
    .add_i,
    .prepare_i(1'b1),
    .a_i(a_f32_i),
    .b_i(b_f32_i),
    .normalize_i(1'b1),
    .round_i(1'b1),
    .f32_o(result_o)
  );
endmodule
