// SPDX-License-Identifier: Apache-2.0
// FP32 bits of a number times a power of two, rounded once.
//
//   f32 = RNE32(number * 2^exponent)     exponent unbounded before rounding
//
// IEEE overflow; gradual underflow keeps the sign; a zero gives +0, an infinity stays, and every
// NaN result is 0x7FC00000.
//
// Latency: five stages, as in ufp4_i64_to_f32. exponent_i is constant during a job.
// Golden: ufp4_gemm, contract fp32; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_f32_scale (
  input  logic               clk_i,
  input  logic [4:0]         en_i,
  input  logic signed [17:0] exponent_i,
  input  logic [31:0]        number_i,
  output logic [31:0]        f32_o
);
  // The exponent is clamped to +-1000, beyond which every number except zero overflows or becomes
  // zero.
  logic leading, largest, fraction;
  logic signed [11:0] scale, exponent_q;
  logic [23:0] significand_q;
  logic sign_q, nan_q, inf_q;
  assign leading = |number_i[30:23];
  assign largest = &number_i[30:23];
  assign fraction = |number_i[22:0];
  assign scale = (exponent_i > 18'sd1000) ? 12'sd1000 : (exponent_i < -18'sd1000) ? -12'sd1000 : exponent_i[11:0];
  always_ff @(posedge clk_i) begin
    if (en_i[0]) begin
      significand_q <= {leading, number_i[22:0]};
      exponent_q <= scale + 12'({number_i[30:24], number_i[23] | ~leading}) - 12'sd190;
      sign_q <= number_i[31];
      nan_q <= largest & fraction;
      inf_q <= largest & ~fraction;
    end
  end

  ufp4_f32_round u_f32_round (
    .clk_i,
    .en_i(en_i[4:1]),
    .magnitude_i({significand_q, 40'd0}),
    .exponent_i(exponent_q),
    .sign_i(sign_q),
    .zero_sign_i(1'b0),
    .nan_i(nan_q),
    .inf_i(inf_q),
    .f32_o
  );
endmodule
