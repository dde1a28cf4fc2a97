// SPDX-License-Identifier: Apache-2.0
// FP32 bits of a number times a power of two, rounded once.
//
//   f32 = RNE32(number * 2^exponent)     exponent unbounded before rounding
//
// IEEE overflow; gradual underflow keeps its sign; a zero gives +0, an infinity stays, any NaN gives 0x7FC00000.
//
// Two stages, as ufp4_i64_to_f32. exponent_i is constant over a job.
// Golden: ufp4_gemm, contract fp32; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_f32_scale (
  input  logic               clk_i,
  input  logic signed [17:0] exponent_i,
  input  logic               normalize_i,
  input  logic [31:0]        number_i,
  input  logic               round_i,
  output logic [31:0]        f32_o
);
  logic leading, largest, fraction;
  logic [7:0] field;
  assign leading = |number_i[30:23];
  assign largest = &number_i[30:23];
  assign fraction = |number_i[22:0];
  assign field = number_i[30:23] | {7'd0, ~leading};
  ufp4_f32_round u_f32_round (
    .clk_i,
    .normalize_i,
    .magnitude_i({leading, number_i[22:0], 40'd0}),
    .exponent_i(20'(exponent_i) + 20'(field) - 20'sd190),
    .sign_i(number_i[31]),
    .zero_sign_i(1'b0),
    .nan_i(largest & fraction),
    .inf_i(largest & ~fraction),
    .round_i,
    .f32_o
  );
endmodule
