// SPDX-License-Identifier: Apache-2.0
// Rounds what adders and multipliers leave behind to FP32.
//
//   f32 = RNE32(magnitude * 2^exponent) with its sign      exponent unbounded before rounding
//
// IEEE overflow; gradual underflow keeps the sign. A magnitude of zero gives a zero of sign zero_sign_i. nan_i and
// inf_i override the number: 0x7FC00000, and infinity with sign_i.
//
// Two stages, each moves when its enable is high: normalize_i takes the number, round_i one cycle later gives f32_o
// after the next edge.
// Golden: ufp4_f32_from_scaled; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_f32_round (
  input  logic               clk_i,
  input  logic               normalize_i,
  input  logic [63:0]        magnitude_i,
  input  logic signed [19:0] exponent_i,
  input  logic               sign_i,
  input  logic               zero_sign_i,
  input  logic               nan_i,
  input  logic               inf_i,
  input  logic               round_i,
  output logic [31:0]        f32_o
);
  // {leading zeros, value with its leading one on top}
  function automatic logic [69:0] normalized(logic [63:0] value);
    logic [63:0] x;
    logic [5:0] zeros;
    x = value;
    for (int i = 5; i >= 0; i--) begin
      zeros[i] = (x >> (64 - (1 << i))) == 64'd0;
      if (zeros[i]) x = x << (1 << i);
    end
    return {zeros, x};
  endfunction

  // Significand {24 bits, guard, sticky} and biased exponent to the magnitude of an FP32 number. The leading
  // one is added into the exponent field, which therefore starts one lower; it is shifted out of a subnormal.
  function automatic logic [30:0] rounded(logic [25:0] sig, logic signed [19:0] biased);
    logic normal, guard, sticky, up;
    logic [4:0] shift;
    logic [23:0] kept;
    logic [7:0] field;
    logic [51:0] wide;
    if (biased > 20'sd254) return 31'h7F80_0000;
    normal = biased >= 20'sd1;
    field = normal ? biased[7:0] - 8'd1 : 8'd0;
    shift = normal ? 5'd0 : ((biased < -20'sd25) ? 5'd26 : 5'(20'sd1 - biased));
    wide = {sig, 26'd0} >> shift;
    {kept, guard} = wide[51:27];
    sticky = |wide[26:0];
    up = guard & (sticky | kept[0]);
    return {field, 23'd0} + {7'd0, kept} + {30'd0, up};
  endfunction

  logic sign_q, nan_q, inf_q, nonzero_q;
  logic [25:0] sig_q;
  logic signed [19:0] biased_q;
  always_ff @(posedge clk_i) begin
    if (normalize_i) begin
      logic [63:0] x;
      logic [5:0] zeros;
      {zeros, x} = normalized(magnitude_i);
      sign_q <= (x[63] | inf_i) ? sign_i : zero_sign_i;
      nan_q <= nan_i;
      inf_q <= inf_i;
      nonzero_q <= x[63];
      sig_q <= {x[63:39], |x[38:0]};
      biased_q <= exponent_i + 20'sd190 - 20'(zeros);
    end
  end

  always_ff @(posedge clk_i) begin
    if (round_i) begin
      if (nan_q) f32_o <= 32'h7FC0_0000;
      else if (inf_q) f32_o <= {sign_q, 31'h7F80_0000};
      else f32_o <= {sign_q, nonzero_q ? rounded(sig_q, biased_q) : 31'd0};
    end
  end
endmodule
