// SPDX-License-Identifier: Apache-2.0
// One FP32 multiplication or addition, rounded to nearest even.
//
//   f32 = add_i ? RNE32(a + b) : RNE32(a * b)
//
// IEEE 754 with subnormal inputs and outputs; every NaN result is 0x7FC00000.
//
// Latency: seven stages (ALU_STAGES); stage n moves with en_i[n], stage 0 takes a_i and b_i, and
// f32_o is valid after the seventh edge. Stage 0 finds the larger summand. Stage 1 aligns the
// smaller one to it and inverts it for a difference, or multiplies the halves of two factors. Stage
// 2 adds. The others are those of ufp4_f32_round, which sums and products share.
// Golden: the host's float; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_f32_alu (
  input  logic        clk_i,
  input  logic [6:0]  en_i,
  input  logic        add_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] f32_o
);
  // Aligned sums have three bits below the larger significand: guard, round and sticky.
  localparam int unsigned SumBits = 28;
  localparam int unsigned ProductBits = 48;
  localparam int unsigned HalfBits = 12;

  function automatic logic [23:0] significand(logic [30:0] x);
    return {|x[30:23], x[22:0]};
  endfunction
  // The effective exponent field: 1 for a subnormal.
  function automatic logic [7:0] exponent(logic [7:0] field);
    return {field[7:1], field[0] | ~(|field)};
  endfunction

  typedef struct packed {
    logic add;
    logic sign;
    logic zero_sign;
    logic nan;
    logic infinite;
  } kind_t;

  // Stage 0. Magnitudes are compared in two halves, whose carry chains are half as long.
  logic b_larger, b_larger_q, add_q;
  logic [31:0] a_q, b_q;
  assign b_larger = (b_i[30:15] > a_i[30:15]) | ((b_i[30:15] == a_i[30:15]) & (b_i[14:0] > a_i[14:0]));
  always_ff @(posedge clk_i) begin
    if (en_i[0]) {b_larger_q, add_q, a_q, b_q} <= {b_larger, add_i, a_i, b_i};
  end

  // Stage 1: the aligned significands, or the products.
  logic [31:0] more;
  logic [30:0] less;
  logic [7:0] distance, more_exponent;
  logic [4:0] down;
  logic [2*SumBits-1:0] moved;
  logic [SumBits-1:0] less_sum;
  logic [23:0] a_sig, b_sig;
  logic [3:0][2*HalfBits-1:0] part_q;  // partial products: low by low, low by high, high by low, high by high
  logic [1:0][SumBits-1:0] term_q;     // terms of a sum
  logic [9:0] exponent_q;
  logic minus_q, a_nan, b_nan, a_inf, b_inf, differ;
  kind_t [2:1] kind_q;
  assign {more, less} = b_larger_q ? {b_q, a_q[30:0]} : {a_q, b_q[30:0]};
  assign more_exponent = exponent(more[30:23]);
  assign distance = more_exponent - exponent(less[30:23]);
  assign down = (distance > 8'd27) ? 5'd27 : distance[4:0];
  assign moved = {1'b0, significand(less), 3'd0, {SumBits{1'b0}}} >> down;
  assign less_sum = {moved[2*SumBits-1:SumBits+1], moved[SumBits] | (|moved[SumBits-1:0])};
  assign a_nan = (&a_q[30:23]) & (|a_q[22:0]);
  assign b_nan = (&b_q[30:23]) & (|b_q[22:0]);
  assign a_inf = (&a_q[30:23]) & ~(|a_q[22:0]);
  assign b_inf = (&b_q[30:23]) & ~(|b_q[22:0]);
  assign differ = a_q[31] ^ b_q[31];
  assign a_sig = significand(a_q[30:0]);
  assign b_sig = significand(b_q[30:0]);
  always_ff @(posedge clk_i) begin
    if (en_i[1]) begin
      kind_q[1].add <= add_q;
      kind_q[1].infinite <= a_inf | b_inf;
      minus_q <= differ;
      if (add_q) begin
        term_q[0] <= less_sum ^ {SumBits{differ}};
        term_q[1] <= {1'b0, significand(more[30:0]), 3'd0};
        exponent_q <= {2'd0, more_exponent};
        kind_q[1].sign <= more[31];
        kind_q[1].zero_sign <= a_q[31] & b_q[31];
        kind_q[1].nan <= a_nan | b_nan | (a_inf & b_inf & differ);
      end else begin
        for (int unsigned i = 0; i < 4; i++) begin
          part_q[i] <= (2 * HalfBits)'(a_sig[HalfBits*(i/2)+:HalfBits]) *
                       (2 * HalfBits)'(b_sig[HalfBits*(i%2)+:HalfBits]);
        end
        exponent_q <= 10'(exponent(a_q[30:23])) + 10'(exponent(b_q[30:23]));
        kind_q[1].sign <= differ;
        kind_q[1].zero_sign <= differ;
        kind_q[1].nan <= a_nan | b_nan | (a_inf & ~(|b_q[30:0])) | (b_inf & ~(|a_q[30:0]));
      end
    end
  end

  // Stage 2: the sum or the product, at the top of the 64 bits to round. A carry-save step reduces
  // three terms of the product to two.
  logic [SumBits-1:0] sum;
  logic unused_carry, unused_upper;
  logic [ProductBits-1:0] product;
  logic [35:0] outer, columns, carries;
  logic [36:0] upper;
  logic [ProductBits-1:0] top_q;
  logic signed [11:0] unit_q;
  assign {sum, unused_carry} = {term_q[1], minus_q} + {term_q[0], minus_q};
  assign outer = {part_q[3], part_q[0][23:12]};
  assign columns = outer ^ 36'(part_q[1]) ^ 36'(part_q[2]);
  assign carries = 36'({(outer[23:0] & part_q[1]) | (outer[23:0] & part_q[2]) | (part_q[1] & part_q[2]), 1'b0});
  ufp4_add_halves #(.Width(36)) u_product (.a_i(columns), .b_i(carries), .sum_o(upper));
  assign product = {upper[35:0], part_q[0][11:0]};
  always_ff @(posedge clk_i) begin
    if (en_i[2]) begin
      kind_q[2] <= kind_q[1];
      top_q <= kind_q[1].add ? {sum, {(ProductBits - SumBits) {1'b0}}} : product;
      unit_q <= 12'(exponent_q) - (kind_q[1].add ? 12'sd189 : 12'sd316);
    end
  end

  ufp4_f32_round u_f32_round (
    .clk_i,
    .en_i(en_i[6:3]),
    .magnitude_i({top_q, 16'd0}),
    .exponent_i(unit_q),
    .sign_i(kind_q[2].sign),
    .zero_sign_i(kind_q[2].zero_sign),
    .nan_i(kind_q[2].nan),
    .inf_i(kind_q[2].infinite),
    .f32_o
  );
  logic unused_add;
  assign unused_add = kind_q[2].add;
  assign unused_upper = upper[36];
endmodule
