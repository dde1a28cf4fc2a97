// SPDX-License-Identifier: Apache-2.0
// One FP32 multiplication or addition, rounded to nearest even.
//
//   f32 = add_i ? RNE32(a + b) : RNE32(a * b)
//
// IEEE 754 with subnormals in and out; any NaN that comes in or is made gives 0x7FC00000.
//
// Three stages, each moves when its enable is high: prepare_i takes a_i and b_i, normalize_i and round_i follow one and
// two cycles later, f32_o is there after the next edge. Multiplier and aligned adder share the rounding.
// Golden: the host's float; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_f32_alu (
  input  logic        clk_i,
  input  logic        add_i,
  input  logic        prepare_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  input  logic        normalize_i,
  input  logic        round_i,
  output logic [31:0] f32_o
);
  // Aligned sums have three bits below the larger significand's: guard, round, and all the rest in one.
  localparam int unsigned SumBits = 28;
  localparam int unsigned ProductBits = 48;

  function automatic logic [23:0] significand(logic [30:0] x);
    return {|x[30:23], x[22:0]};
  endfunction
  // The exponent field of the significand's unit: a subnormal counts as 1.
  function automatic logic [7:0] exponent(logic [7:0] field);
    return (field == 8'd0) ? 8'd1 : field;
  endfunction

  // Addition: the smaller magnitude is moved under the larger one. {sign and magnitude of the larger, sum}
  function automatic logic [SumBits+31:0] added(logic [31:0] a, logic [31:0] b);
    logic [31:0] more, less;
    logic [7:0] distance;
    logic [4:0] down;
    logic [2*SumBits-1:0] moved;
    logic [SumBits-1:0] more_sum, less_sum;
    {more, less} = (b[30:0] > a[30:0]) ? {b, a} : {a, b};
    distance = exponent(more[30:23]) - exponent(less[30:23]);
    down = (distance > 8'd27) ? 5'd27 : distance[4:0];
    moved = {1'b0, significand(less[30:0]), 3'd0, {SumBits{1'b0}}} >> down;
    more_sum = {1'b0, significand(more[30:0]), 3'd0};
    less_sum = {moved[2*SumBits-1:SumBits+1], moved[SumBits] | (|moved[SumBits-1:0])};
    return {more, (more[31] ^ less[31]) ? more_sum - less_sum : more_sum + less_sum};
  endfunction

  // Numbers lie at the top of the 64 bits that are rounded.
  logic [ProductBits-1:0] top_q;
  logic signed [19:0] exponent_q;
  logic sign_q, zero_sign_q, nan_q, inf_q;
  always_ff @(posedge clk_i) begin
    if (prepare_i) begin
      logic [31:0] a, b;
      logic a_nan, b_nan, a_inf, b_inf, differ;
      {a, b} = {a_i, b_i};
      a_nan = (&a[30:23]) & (|a[22:0]);
      b_nan = (&b[30:23]) & (|b[22:0]);
      a_inf = (&a[30:23]) & ~(|a[22:0]);
      b_inf = (&b[30:23]) & ~(|b[22:0]);
      differ = a[31] ^ b[31];
      inf_q <= a_inf | b_inf;
      if (add_i) begin
        logic more_sign;
        logic [7:0] more_field;
        logic [22:0] unused_fraction;
        logic [SumBits-1:0] sum;
        {more_sign, more_field, unused_fraction, sum} = added(a, b);
        top_q <= {sum, {(ProductBits - SumBits) {1'b0}}};
        exponent_q <= 20'(exponent(more_field)) - 20'sd189;
        sign_q <= more_sign;
        zero_sign_q <= a[31] & b[31];
        nan_q <= a_nan | b_nan | (a_inf & b_inf & differ);
      end else begin
        top_q <= ProductBits'(significand(a[30:0])) * ProductBits'(significand(b[30:0]));
        exponent_q <= 20'(exponent(a[30:23])) + 20'(exponent(b[30:23])) - 20'sd316;
        sign_q <= differ;
        zero_sign_q <= differ;
        nan_q <= a_nan | b_nan | (a_inf & ~(|b[30:0])) | (b_inf & ~(|a[30:0]));
      end
    end
  end

  ufp4_f32_round u_f32_round (
    .clk_i,
    .normalize_i,
    .magnitude_i({top_q, 16'd0}),
    .exponent_i(exponent_q),
    .sign_i(sign_q),
    .zero_sign_i(zero_sign_q),
    .nan_i(nan_q),
    .inf_i(inf_q),
    .round_i,
    .f32_o
  );
endmodule
