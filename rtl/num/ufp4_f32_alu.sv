// SPDX-License-Identifier: Apache-2.0
// One FP32 multiplication or addition, rounded to nearest even.
//
//   f32 = add_i ? RNE32(a + b) : RNE32(a * b)
//
// IEEE 754 with subnormals in and out; any NaN that comes in or is made gives 0x7FC00000.
//
// Three stages, each moves when its enable is high: prepare_i takes a_i and b_i, normalize_i and round_i follow one and
// two cycles later, f32_o is there after the next edge. Multiplier and aligned adder share the rounding.
// Golden: the host's float; docs/numerics.md, 5; tests/rtl/array.
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

  logic a_max, b_max, a_nan, b_nan, a_inf, b_inf, a_zero, b_zero;
  assign a_max = &a_i[30:23];
  assign b_max = &b_i[30:23];
  assign a_nan = a_max & (|a_i[22:0]);
  assign b_nan = b_max & (|b_i[22:0]);
  assign a_inf = a_max & ~(|a_i[22:0]);
  assign b_inf = b_max & ~(|b_i[22:0]);
  assign a_zero = ~(|a_i[30:0]);
  assign b_zero = ~(|b_i[30:0]);

  // --- Addition: the smaller magnitude is moved under the larger one ---
  logic swap, differ, lost;
  logic more_sign;
  logic [30:0] more, less;
  logic [7:0] distance;
  logic [4:0] down;
  logic [2*SumBits-1:0] moved;
  logic [SumBits-1:0] more_sum, less_sum, sum;
  assign swap = b_i[30:0] > a_i[30:0];
  assign more_sign = swap ? b_i[31] : a_i[31];
  assign more = swap ? b_i[30:0] : a_i[30:0];
  assign less = swap ? a_i[30:0] : b_i[30:0];
  assign differ = a_i[31] ^ b_i[31];
  assign distance = exponent(more[30:23]) - exponent(less[30:23]);
  assign down = (distance > 8'd27) ? 5'd27 : distance[4:0];
  assign moved = {1'b0, significand(less), 3'd0, {SumBits{1'b0}}} >> down;
  assign lost = |moved[SumBits-1:0];
  assign more_sum = {1'b0, significand(more), 3'd0};
  assign less_sum = {moved[2*SumBits-1:SumBits+1], moved[SumBits] | lost};
  assign sum = differ ? more_sum - less_sum : more_sum + less_sum;

  logic [ProductBits-1:0] product;
  assign product = ProductBits'(significand(a_i[30:0])) * ProductBits'(significand(b_i[30:0]));

  // Numbers lie at the top of the 64 bits that are rounded.
  logic [ProductBits-1:0] top_q;
  logic signed [19:0] exponent_q;
  logic sign_q, zero_sign_q, nan_q, inf_q;
  always_ff @(posedge clk_i) begin
    if (prepare_i) begin
      if (add_i) begin
        top_q <= {sum, {(ProductBits - SumBits) {1'b0}}};
        exponent_q <= 20'(exponent(more[30:23])) - 20'sd189;
        sign_q <= more_sign;
        zero_sign_q <= a_i[31] & b_i[31];
        nan_q <= a_nan | b_nan | (a_inf & b_inf & differ);
        inf_q <= a_inf | b_inf;
      end else begin
        top_q <= product;
        exponent_q <= 20'(exponent(a_i[30:23])) + 20'(exponent(b_i[30:23])) - 20'sd316;
        sign_q <= differ;
        zero_sign_q <= differ;
        nan_q <= a_nan | b_nan | (a_inf & b_zero) | (a_zero & b_inf);
        inf_q <= a_inf | b_inf;
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
