// SPDX-License-Identifier: Apache-2.0
// One FP32 multiplication or addition, rounded to nearest even.
//
//   f32 = add_i ? RNE32(a + b) : RNE32(a * b)
//
// IEEE 754 with subnormals in and out; any NaN that comes in or is made gives 0x7FC00000.
//
// Three stages, each moves when its enable is high: prepare_i takes a_i and b_i, normalize_i and round_i follow one and
// two cycles later, f32_o is there after the next edge. Multiplier and aligned adder share the rounding.
// Extra 2: five stages, bits 1 and 2 of prepare_i follow bit 0: the operands wait in registers, then the larger one of two
// summands is found.
// Golden: the host's float; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_f32_alu #(
  parameter int unsigned Extra = 0
) (
  input  logic        clk_i,
  input  logic        add_i,
  input  logic [Extra:0] prepare_i,
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

  // Addition: the smaller magnitude is moved under the larger one.
  function automatic logic [SumBits-1:0] added(logic [31:0] more, logic [31:0] less);
    logic [7:0] distance;
    logic [4:0] down;
    logic [2*SumBits-1:0] moved;
    logic [SumBits-1:0] more_sum, less_sum;
    distance = exponent(more[30:23]) - exponent(less[30:23]);
    down = (distance > 8'd27) ? 5'd27 : distance[4:0];
    moved = {1'b0, significand(less[30:0]), 3'd0, {SumBits{1'b0}}} >> down;
    more_sum = {1'b0, significand(more[30:0]), 3'd0};
    less_sum = {moved[2*SumBits-1:SumBits+1], moved[SumBits] | (|moved[SumBits-1:0])};
    return (more[31] ^ less[31]) ? more_sum - less_sum : more_sum + less_sum;
  endfunction

  // The operands; of summands the larger and the smaller one.
  logic add;
  logic [31:0] a, b, more, less;
  if (Extra == 0) begin : gen_at_once
    assign add = add_i;
    assign {a, b} = {a_i, b_i};
    assign {more, less} = (b[30:0] > a[30:0]) ? {b, a} : {a, b};
  end else begin : gen_stages
    logic taken_add_q, add_q;
    logic [31:0] taken_a_q, taken_b_q, more_q, less_q;
    always_ff @(posedge clk_i) begin
      if (prepare_i[0]) {taken_add_q, taken_a_q, taken_b_q} <= {add_i, a_i, b_i};
      if (prepare_i[1]) begin
        add_q <= taken_add_q;
        {more_q, less_q} <= (taken_b_q[30:0] > taken_a_q[30:0]) ? {taken_b_q, taken_a_q} : {taken_a_q, taken_b_q};
      end
    end
    // The factors of a product may stand in any order.
    assign add = add_q;
    assign {a, b} = {more_q, less_q};
    assign {more, less} = {more_q, less_q};
  end

  // Numbers lie at the top of the 64 bits that are rounded.
  logic [ProductBits-1:0] top_q;
  logic signed [19:0] exponent_q;
  logic sign_q, zero_sign_q, nan_q, inf_q;
  always_ff @(posedge clk_i) begin
    if (prepare_i[Extra]) begin
      logic a_nan, b_nan, a_inf, b_inf, differ;
      a_nan = (&a[30:23]) & (|a[22:0]);
      b_nan = (&b[30:23]) & (|b[22:0]);
      a_inf = (&a[30:23]) & ~(|a[22:0]);
      b_inf = (&b[30:23]) & ~(|b[22:0]);
      differ = a[31] ^ b[31];
      inf_q <= a_inf | b_inf;
      if (add) begin
        top_q <= {added(more, less), {(ProductBits - SumBits) {1'b0}}};
        exponent_q <= 20'(exponent(more[30:23])) - 20'sd189;
        sign_q <= more[31];
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
