// SPDX-License-Identifier: Apache-2.0
// FP32 bits of sum * 2^exponent, rounded once.
//
//   f32 = RNE32(sum * 2^exponent)     exponent unbounded before rounding
//
// IEEE overflow; gradual underflow keeps the sign; a sum of zero gives +0. The most negative sum
// stands for NaN.
//
// Latency: five stages; stage n moves with en_i[n], and f32_o is valid after the fifth edge. The
// first stage makes the magnitude, the others are those of ufp4_f32_round. exponent_i is constant
// during a job.
// Golden: ufp4_f32_from_scaled; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_i64_to_f32 (
  input  logic               clk_i,
  input  logic [4:0]         en_i,
  input  logic signed [17:0] exponent_i,
  input  logic [63:0]        sum_i,
  input  logic [2:0]         zero_i,       // each of the lower three segments of 16 bits of sum_i is zero
  output logic [31:0]        f32_o
);
  // The magnitude of a negative sum: a segment is negated if all below it are zero, and otherwise
  // inverted.
  logic [63:0] negated, magnitude_q;
  logic [3:0] zero_below;
  assign zero_below = {&zero_i, &zero_i[1:0], zero_i[0], 1'b1};
  for (genvar i = 0; i < 4; i++) begin : gen_segment
    assign negated[16*i+:16] = ~sum_i[16*i+:16] + {15'd0, zero_below[i]};
  end

  // The exponent is clamped to +-1000, beyond which every sum except zero overflows or becomes
  // zero.
  logic signed [11:0] exponent_q;
  logic sign_q, nan_q;
  always_ff @(posedge clk_i) begin
    if (en_i[0]) begin
      magnitude_q <= sum_i[63] ? negated : sum_i;
      exponent_q <= (exponent_i > 18'sd1000) ? 12'sd1000 : (exponent_i < -18'sd1000) ? -12'sd1000 : exponent_i[11:0];
      sign_q <= sum_i[63];
      nan_q <= (&zero_i) & (sum_i[63:48] == 16'h8000);
    end
  end

  ufp4_f32_round u_f32_round (
    .clk_i,
    .en_i(en_i[4:1]),
    .magnitude_i(magnitude_q),
    .exponent_i(exponent_q),
    .sign_i(sign_q),
    .zero_sign_i(1'b0),
    .nan_i(nan_q),
    .inf_i(1'b0),
    .f32_o
  );
endmodule
