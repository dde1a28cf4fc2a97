// SPDX-License-Identifier: Apache-2.0
// FP32 bits of sum * 2^exponent, rounded once.
//
//   f32 = RNE32(sum * 2^exponent)     exponent unbounded before rounding
//
// IEEE overflow; gradual underflow keeps its sign; a sum of zero is +0. The most negative sum stands for NaN.
//
// Two stages, each moves when its enable is high: normalize_i takes sum_i, round_i one cycle later gives f32_o
// after the next edge. exponent_i is constant over a job.
// Golden: ufp4_f32_from_scaled; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_i64_to_f32 (
  input  logic               clk_i,
  input  logic signed [17:0] exponent_i,
  input  logic               normalize_i,
  input  logic [63:0]        sum_i,
  input  logic               round_i,
  output logic [31:0]        f32_o
);
  ufp4_f32_round u_f32_round (
    .clk_i,
    .normalize_i,
    .magnitude_i(sum_i[63] ? -sum_i : sum_i),
    .exponent_i(20'(exponent_i)),
    .sign_i(sum_i[63]),
    .zero_sign_i(1'b0),
    .nan_i(sum_i == {1'b1, 63'd0}),
    .inf_i(1'b0),
    .round_i,
    .f32_o
  );
endmodule
