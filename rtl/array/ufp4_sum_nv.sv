// SPDX-License-Identifier: Apache-2.0
// What a PE of the contract nv does with dot products: four of them, a group, and a running FP32 sum are aligned to the
// largest of their exponents, truncated, added, and rounded toward zero.
//
//   e   = a_exp + b_exp - 254 of each, the exponent of base (-126 where it is subnormal or zero);  E = the largest
//   sum = RZ32(trunc(base) + trunc(dot * a_sig * b_sig * 2^(e - 8 - a_fine - b_fine)) + ..)    to multiples of 2^(E - 35)
//
// base is +0, the running sum (keep), or a sum from memory (load). Subnormals are kept, over range gives an infinity,
// which stays, and every zero is +0. A group has four cycles, from the first dot product on (first_i); one that is not
// there (valid1_i low) counts as nothing.
// Stages, counted from the first dot product: 1 takes it and the scales, 2 multiplies, 5 aligns base and the first, 6
// the next two, 7 the last, 8 normalizes. valid1_i and first_i are of stage 1, valid2_i of stage 2; begin_i, keep_i, load_i
// and loaded_i of stage 5, then middle_i, last_i, and finish_i in stage 8; sum_o is stage 8's result before its register.
// Groups may follow each other every four cycles.
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
  input  logic               keep_i,
  input  logic               load_i,
  input  logic [31:0]        loaded_i,
  input  logic               middle_i,
  input  logic               last_i,
  input  logic               finish_i,
  output logic [31:0]        sum_o
);
  // Exponents count from -254 on; that of the unit of a product's last bit, from -256 - 35 + 27.
  logic signed [12:0] dot_q;
  logic [7:0] sig_q;
  logic [8:0] exp, unit_q, largest_product_q;
  assign exp = 9'(a_exp_i) + 9'(b_exp_i);
  always_ff @(posedge clk_i) begin
    if (valid1_i) begin
      dot_q <= dot_i;
      sig_q <= 8'(a_sig_i) * 8'(b_sig_i);
      unit_q <= exp + 9'd2 - 9'(a_fine_i) - 9'(b_fine_i);
      largest_product_q <= (first_i || exp > largest_product_q) ? exp : largest_product_q;
    end
  end

  // At most 2304 * 225: 19 bits.
  logic [11:0] dot_magnitude;
  logic [18:0] product;
  assign dot_magnitude = dot_q[12] ? 12'(-dot_q) : dot_q[11:0];
  assign product = 19'(dot_magnitude) * 19'(sig_q);

  // Products wait until all exponents of the group are known: {sign, unit, magnitude}.
  logic [28:0] wait0_q, wait1_q, wait2_q;
  always_ff @(posedge clk_i) begin
    wait0_q <= valid2_i ? {dot_q[12], unit_q, product} : 29'd0;
    wait1_q <= wait0_q;
    wait2_q <= wait1_q;
  end

  logic [31:0] base, sum_q;
  logic [7:0] base_field;
  logic [8:0] base_exp, largest, largest_q;
  logic base_infinite_q, base_sign_q;
  assign base = keep_i ? sum_q : (load_i ? loaded_i : 32'd0);
  assign base_field = base[30:23] | 8'(base[30:23] == 8'd0);
  assign base_exp = 9'(base_field) + 9'd127;
  assign largest = !begin_i ? largest_q : (base_exp > largest_product_q) ? base_exp : largest_product_q;
  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      largest_q <= largest;
      base_infinite_q <= &base[30:23];
      base_sign_q <= base[31];
    end
  end

  // Two are aligned in a cycle: the older product, and base or the younger one.
  logic [8:0] older_down, other_down;
  logic [45:0] other, older_aligned, other_aligned;
  logic other_sign;
  assign older_down = largest + 9'd2 - wait2_q[27:19];
  assign other_down = begin_i ? largest - base_exp : largest + 9'd2 - wait1_q[27:19];
  assign other = begin_i ? {10'd0, base[30:23] != 8'd0, base[22:0], 12'd0} : {wait1_q[18:0], 27'd0};
  assign other_sign = begin_i ? base[31] : wait1_q[28];
  assign older_aligned = (|older_down[8:6] || last_i) ? 46'd0 : {wait2_q[18:0], 27'd0} >> older_down[5:0];
  assign other_aligned = (|other_down[8:6]) ? 46'd0 : other >> other_down[5:0];

  // Under 4 * 2304 * 225 / 4 * 2^29 + 2^36: 48 bits. A negative one is inverted, and its 1 added apart: one sum of three.
  logic [48:0] so_far, older_signed, other_signed, total, total_q;
  assign so_far = begin_i ? 49'd0 : total_q;
  assign older_signed = {3'd0, older_aligned} ^ {49{wait2_q[28]}};
  assign other_signed = {3'd0, other_aligned} ^ {49{other_sign}};
  assign total = so_far + older_signed + other_signed + 49'(wait2_q[28]) + 49'(other_sign);
  always_ff @(posedge clk_i) begin
    if (begin_i || middle_i || last_i) total_q <= total;
  end

  // Its leading one to bit 47, whose exponent field is top, or as far as the smallest exponent allows.
  logic negative, z32, z16, z8, z4, z2, z1;
  logic [47:0] magnitude, normal;
  logic [31:0] top32;
  logic [15:0] top16;
  logic [7:0] top8;
  logic [3:0] top4;
  logic [5:0] zeros;
  logic [8:0] top, up_by;
  assign negative = total_q[48];
  assign magnitude = negative ? 48'(-total_q) : total_q[47:0];
  assign z32 = magnitude[47:16] == 32'd0;
  assign top32 = z32 ? {magnitude[15:0], 16'd0} : magnitude[47:16];
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
  assign zeros = {z32, z16, z8, z4, z2, z1};
  assign top = largest_q - 9'd115;
  assign up_by = (top > 9'(zeros)) ? 9'(zeros) : top - 9'd1;
  assign normal = magnitude << up_by[5:0];

  // What is below bit 24 is cut off. The leading one is added into the exponent field, which therefore starts one lower.
  logic [31:0] cut;
  logic [30:0] number;
  assign cut = {9'(top - up_by - 9'd1), 23'd0} + 32'(normal[47:24]);
  assign number = (cut[31:23] >= 9'd255) ? 31'h7F80_0000 : cut[30:0];
  always_comb begin
    sum_o = {negative, number};
    if (normal[47:24] == 24'd0) sum_o = 32'd0;
    if (base_infinite_q) sum_o = {base_sign_q, 31'h7F80_0000};
  end
  always_ff @(posedge clk_i) begin
    if (finish_i) sum_q <= sum_o;
  end

  logic unused_bits;
  assign unused_bits = ^{up_by[8:6], normal[23:0]};
endmodule
