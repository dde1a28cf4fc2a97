// SPDX-License-Identifier: Apache-2.0
// Adds a group of four dot products to the running FP32 sum of a PE of the contract nv: all five
// are aligned to the largest of their exponents, truncated, added, and rounded toward zero.
//
//   e   = a_exp + b_exp - 254 of each product; of base its exponent (-126 if subnormal or zero)
//   E   = the largest e
//   sum = RZ32(trunc(base) + trunc(dot * a_sig * b_sig * 2^(e - 8 - a_fine - b_fine)) + ..)
//         where trunc drops what is no multiple of 2^(E - 35)
//
// base is +0, one of two running sums (keep, turn), or a sum from memory (load). Subnormals are
// kept, a sum beyond the range becomes an infinity, which stays, and every zero is +0. A group
// takes four cycles from its first dot product (first_i); a product that is missing (valid1_i low)
// contributes nothing.
// Stages, counted from the first dot product: 1 takes it and the scales, 2 makes it a magnitude, 3
// multiplies; 5 compares exponents, 6 aligns base and the first product, 7 the next two, 8 the
// last, and each is added a stage later; 10 makes the total a magnitude, 11 counts its zeros, 12
// normalizes. valid1_i and first_i belong to stage 1, valid2_i to 2, begin_i, turn_i, keep_i,
// load_i and loaded_i to 5, align_i to 6, last_i to 8, end_i to 9, finish_i and finish_turn_i to
// 12; sum_o is the result of stage 12 before its register. Groups may start every four cycles, and
// those of one sum every eight.
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_sum_nv (
  input  logic               clk_i,
  input  logic               valid1_i,
  input  logic               first_i,
  input  logic signed [12:0] dot_i,
  input  logic [3:0]         a_sig_i,
  input  logic [7:0]         a_exp_i,
  input  logic               a_fine_i,
  input  logic [3:0]         b_sig_i,
  input  logic [7:0]         b_exp_i,
  input  logic               b_fine_i,
  input  logic               valid2_i,
  input  logic               begin_i,
  input  logic               turn_i,
  input  logic               keep_i,
  input  logic               load_i,
  input  logic [31:0]        loaded_i,
  input  logic               align_i,
  input  logic               last_i,
  input  logic               end_i,
  input  logic               finish_i,
  input  logic               finish_turn_i,
  output logic [31:0]        sum_o
);
  // Exponents are biased by 254. The last bit of a product has the weight 2^(unit_q - 264).
  logic signed [12:0] dot_q;
  logic [7:0] sig_q;
  logic [8:0] exp, unit_q, largest_product_q;
  assign exp = 9'(a_exp_i) + 9'(b_exp_i);
  always_ff @(posedge clk_i) begin
    dot_q <= dot_i;
    sig_q <= 8'(a_sig_i) * 8'(b_sig_i);
    unit_q <= exp + 9'd2 - 9'(a_fine_i) - 9'(b_fine_i);
    if (valid1_i && (first_i || exp > largest_product_q)) largest_product_q <= exp;
  end

  // The product has 19 bits: at most 2304 * 225.
  logic magnitude_sign_q;
  logic [8:0] magnitude_unit_q;
  logic [11:0] dot_magnitude_q;
  logic [7:0] magnitude_sig_q;
  always_ff @(posedge clk_i) begin
    magnitude_sign_q <= dot_q[12];
    magnitude_unit_q <= unit_q;
    dot_magnitude_q <= !valid2_i ? 12'd0 : dot_q[12] ? 12'(-dot_q) : dot_q[11:0];
    magnitude_sig_q <= sig_q;
  end

  // Products wait here until all exponents of the group are known: {sign, unit, magnitude}.
  logic [28:0] wait4_q, wait5_q, wait6_q;
  always_ff @(posedge clk_i) begin
    wait4_q <= {magnitude_sign_q, magnitude_unit_q, 19'(dot_magnitude_q) * 19'(magnitude_sig_q)};
    wait5_q <= wait4_q;
    wait6_q <= wait5_q;
  end

  logic [1:0][31:0] sums_q;
  logic [31:0] base, base_q;
  logic [7:0] base_field;
  logic [8:0] base_exp, largest_q;
  logic base_infinite_q, base_sign_q;
  assign base = keep_i ? sums_q[turn_i] : (load_i ? loaded_i : 32'd0);
  assign base_field = base[30:23] | 8'(base[30:23] == 8'd0);
  assign base_exp = 9'(base_field) + 9'd127;
  always_ff @(posedge clk_i) begin
    base_q <= base;
    if (begin_i) begin
      largest_q <= (base_exp > largest_product_q) ? base_exp : largest_product_q;
      base_infinite_q <= &base[30:23];
      base_sign_q <= base[31];
    end
  end

  // Each cycle aligns two operands: the older product, and base or the younger product. A negative
  // operand is inverted here, and its 1 is added separately.
  logic [8:0] older_down, other_down;
  logic [45:0] other, older_aligned, other_aligned;
  logic [46:0] older_q, other_q;
  logic other_sign;
  assign older_down = largest_q + 9'd2 - wait6_q[27:19];
  assign other_down = align_i ? largest_q - 9'd127 - 9'(base_q[30:23]) - 9'(base_q[30:23] == 8'd0) :
                                largest_q + 9'd2 - wait5_q[27:19];
  assign other = align_i ? {10'd0, base_q[30:23] != 8'd0, base_q[22:0], 12'd0} : {wait5_q[18:0], 27'd0};
  assign other_sign = align_i ? base_q[31] : wait5_q[28];
  assign older_aligned = (|older_down[8:6] || last_i) ? 46'd0 : {wait6_q[18:0], 27'd0} >> older_down[5:0];
  assign other_aligned = (|other_down[8:6]) ? 46'd0 : other >> other_down[5:0];
  always_ff @(posedge clk_i) begin
    older_q <= {wait6_q[28], older_aligned ^ {46{wait6_q[28]}}};
    other_q <= {other_sign, other_aligned ^ {46{other_sign}}};
  end

  // The total is below 4 * 2304 * 225 * 2^27 + 2^36, which has 48 bits. A carry-save step reduces
  // three numbers to two. The lowest bit of the carry word is free and takes the one of the older
  // operand; the lower half adds that of the other operand. The upper half is computed for both
  // values of the carry from the lower half.
  logic [48:0] so_far, older, adding, two_sum, two_carry, total_q;
  logic [25:0] lower;
  logic [23:0] upper0, upper1;
  assign so_far = (last_i || end_i) ? total_q : 49'd0;
  assign older = 49'(signed'(older_q));
  assign adding = 49'(signed'(other_q));
  assign two_sum = so_far ^ older ^ adding;
  assign two_carry = {(so_far[47:0] & older[47:0]) | (so_far[47:0] & adding[47:0]) | (older[47:0] & adding[47:0]),
                      older_q[46]};
  assign lower = 26'(two_sum[24:0]) + 26'(two_carry[24:0]) + 26'(other_q[46]);
  assign upper0 = two_sum[48:25] + two_carry[48:25];
  assign upper1 = two_sum[48:25] + two_carry[48:25] + 24'd1;
  always_ff @(posedge clk_i) total_q <= {lower[25] ? upper1 : upper0, lower[24:0]};

  // Attributes of the total, kept until the next group ends: top, the exponent field of bit 47; and
  // whether base is infinite, with its sign.
  logic [8:0] top_q;
  logic infinite_q, sign_q, sign11_q, sign12_q;
  logic [47:0] negated, magnitude_q;
  // Negation inverts all bits above the lowest one.
  assign negated[19:0] = -total_q[19:0];
  assign negated[47:20] = (total_q[19:0] == 20'd0) ? -total_q[47:20] : ~total_q[47:20];
  always_ff @(posedge clk_i) begin
    if (end_i) begin
      top_q <= largest_q - 9'd115;
      infinite_q <= base_infinite_q;
      sign_q <= base_sign_q;
    end
    sign11_q <= infinite_q ? sign_q : total_q[48];
    magnitude_q <= total_q[48] ? negated : total_q[47:0];
  end

  // Moves the leading one to bit 47, or as far as the smallest exponent allows: a one is inserted
  // at that limit before the zeros are counted.
  logic z32, z16, z8, z4, z2, z1;
  logic [47:0] limited;
  logic [31:0] top32;
  logic [15:0] top16;
  logic [7:0] top8;
  logic [3:0] top4;
  always_comb begin
    for (int unsigned i = 0; i < 48; i++) limited[i] = magnitude_q[i] | (top_q == 9'(48 - i));
  end
  assign z32 = limited[47:16] == 32'd0;
  assign top32 = z32 ? {limited[15:0], 16'd0} : limited[47:16];
  assign z16 = top32[31:16] == 16'd0;
  assign top16 = z16 ? top32[15:0] : top32[31:16];
  assign z8 = top16[15:8] == 8'd0;
  assign top8 = z8 ? top16[7:0] : top16[15:8];
  assign z4 = top8[7:4] == 4'd0;
  assign top4 = z4 ? top8[3:0] : top8[7:4];
  assign z2 = top4[3:2] == 2'd0;
  assign z1 = ~(z2 ? top4[1] : top4[3]);
  logic unused_lowest;
  assign unused_lowest = top4[0];

  logic [5:0] up_by_q;
  logic [47:0] moving_q;
  always_ff @(posedge clk_i) begin
    sign12_q <= sign11_q;
    up_by_q <= {z32, z16, z8, z4, z2, z1};
    moving_q <= magnitude_q;
  end

  // Bits below 24 are truncated. Without a leading one in bit 47 the number is subnormal.
  logic [8:0] field;
  logic [47:0] moved;
  logic [30:0] number;
  assign field = top_q - 9'(up_by_q);
  assign moved = moving_q << up_by_q;
  always_comb begin
    number = {field[7:0] & {8{moved[47]}}, moved[46:24]};
    if (infinite_q || (moved[47] && field >= 9'd255)) number = 31'h7F80_0000;
  end
  assign sum_o = {sign12_q & (number != 31'd0), number};
  always_ff @(posedge clk_i) begin
    if (finish_i) sums_q[finish_turn_i] <= sum_o;
  end

  logic unused_bits;
  assign unused_bits = ^moved[23:0];
endmodule
