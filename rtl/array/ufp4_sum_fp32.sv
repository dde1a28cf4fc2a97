// SPDX-License-Identifier: Apache-2.0
// Scales a dot product and adds it to the running FP32 sum of a PE of the contract fp32.
//
//   sum = RNE32(base + dot * a_sig * b_sig * 2^(a_exp + b_exp - 258))
//                                          the block product is unrounded, its exponent unbounded
//
// base is +0, the running sum (keep), or a sum from memory (load). Subnormals are kept, a sum
// beyond the range becomes an infinity, which stays, and every zero is +0. With scales of 32
// elements the first dot product of a pair is held (without add_i), and the second is added to it
// (join). Stage 1 takes dot_i and the scales, 2 joins and multiplies, 3 normalizes, 4 aligns, 5
// adds, 6 normalizes, 7 rounds. The registers of the last four stages are a ring of TURN_CYCLES
// running sums: each sum is in stage 4 in every TURN_CYCLES-th cycle, and a held dot product in
// stage 2 likewise. A cycle without add_i adds zero, which changes no sum. valid1_i belongs to
// stage 1, valid2_i, add_i and join_i to stage 2, the other controls to stage 4; sum_o is the
// result of stage 7 before its register.
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_sum_fp32 (
  input  logic               clk_i,
  input  logic               valid1_i,
  input  logic signed [12:0] dot_i,
  input  logic [3:0]         a_sig_i,
  input  logic [8:0]         a_exp_i,
  input  logic [3:0]         b_sig_i,
  input  logic [8:0]         b_exp_i,
  input  logic               valid2_i,
  input  logic               add_i,
  input  logic               join_i,
  input  logic               keep_i,
  input  logic               load_i,
  input  logic [31:0]        loaded_i,
  output logic [31:0]        sum_o
);
  import ufp4_spec_pkg::TURN_CYCLES;

  logic signed [12:0] dot_q;
  logic [7:0] sig_q;
  logic [9:0] exp_q;
  always_ff @(posedge clk_i) begin
    if (valid1_i) begin
      dot_q <= dot_i;
      sig_q <= 8'(a_sig_i) * 8'(b_sig_i);
      exp_q <= 10'(a_exp_i) + 10'(b_exp_i);
    end
  end

  // The scaled dot product has 19 bits: at most 2304 * 225 with E4M3, and 4608 with E8M0, whose
  // significands are 1.
  logic signed [TURN_CYCLES-1:0][12:0] held_q;
  logic signed [13:0] dot;
  logic [12:0] dot_magnitude;
  logic [18:0] scaled_q;
  logic scaled_sign_q;
  logic [9:0] scaled_exp_q;
  assign dot = 14'(dot_q) + (join_i ? 14'(signed'(held_q[TURN_CYCLES-1])) : 14'sd0);
  assign dot_magnitude = dot[13] ? 13'(-dot) : dot[12:0];
  always_ff @(posedge clk_i) begin
    held_q <= {held_q[TURN_CYCLES-2:0], valid2_i ? dot_q : held_q[TURN_CYCLES-1]};
    scaled_q <= add_i ? 19'(dot_magnitude) * 19'(sig_q) : 19'd0;
    scaled_sign_q <= dot[13];
    scaled_exp_q <= exp_q;
  end

  // Moves the leading one of scaled_q to bit 18.
  logic s16, s8, s4, s2, s1;
  logic [18:0] by16, by8, by4, by2, by1;
  logic [4:0] scaled_zeros;
  assign s16 = scaled_q[18:3] == 16'd0;
  assign by16 = s16 ? scaled_q << 16 : scaled_q;
  assign s8 = by16[18:11] == 8'd0;
  assign by8 = s8 ? by16 << 8 : by16;
  assign s4 = by8[18:15] == 4'd0;
  assign by4 = s4 ? by8 << 4 : by8;
  assign s2 = by4[18:17] == 2'd0;
  assign by2 = s2 ? by4 << 2 : by4;
  assign s1 = ~by2[18];
  assign by1 = s1 ? by2 << 1 : by2;
  assign scaled_zeros = {s16, s8, s4, s2, s1};

  // The block product as an FP32 number of any exponent: sign, exponent field, upper bits of the
  // significand. Zero gets an exponent below all others, so that it is never the larger operand.
  logic block_sign_q;
  logic signed [10:0] block_field_q;
  logic [18:0] block_sig_q;
  always_ff @(posedge clk_i) begin
    block_sign_q <= scaled_sign_q;
    block_sig_q <= by1;
    block_field_q <= by1[18] ? 11'(signed'({1'b0, scaled_exp_q})) - 11'(signed'({1'b0, scaled_zeros})) - 11'sd113 :
                               -11'sd512;
  end

  logic [31:0] base, sum_q;
  logic [7:0] base_field;
  logic [23:0] base_sig;
  logic base_infinite;
  assign base = keep_i ? sum_q : (load_i ? loaded_i : 32'd0);
  assign base_field = base[30:23] | 8'(base[30:23] == 8'd0);
  assign base_sig = {base[30:23] != 8'd0, base[22:0]};
  assign base_infinite = &base[30:23];

  // Shifts the operand with the smaller exponent to the other one, and keeps three bits below:
  // guard, round and sticky.
  logic signed [10:0] above;
  logic swap;
  logic [10:0] distance;
  logic [4:0] down;
  logic [23:0] less_sig;
  logic [58:0] moved;
  assign above = block_field_q - 11'(signed'({1'b0, base_field}));
  assign swap = above > 11'sd0;
  assign distance = swap ? above : -above;
  assign down = (distance > 11'd27) ? 5'd27 : distance[4:0];
  assign less_sig = swap ? base_sig : {block_sig_q, 5'd0};
  assign moved = {less_sig, 35'd0} >> down;
  logic infinite4_q, differ_q, sign4_q;
  logic [8:0] field4_q;
  logic [23:0] more_q;
  logic [26:0] less_q;
  always_ff @(posedge clk_i) begin
    infinite4_q <= base_infinite;
    differ_q <= base[31] ^ block_sign_q;
    sign4_q <= (swap & ~base_infinite) ? block_sign_q : base[31];
    field4_q <= swap ? block_field_q[8:0] : 9'(base_field);
    more_q <= swap ? {block_sig_q, 5'd0} : base_sig;
    less_q <= {moved[58:33], moved[32] | (|moved[31:0])};
  end

  logic signed [28:0] sum;
  logic infinite5_q, sign5_q;
  logic [8:0] field5_q;
  logic [27:0] magnitude_q;
  assign sum = differ_q ? 29'({more_q, 3'd0}) - 29'(less_q) : 29'({more_q, 3'd0}) + 29'(less_q);
  always_ff @(posedge clk_i) begin
    infinite5_q <= infinite4_q;
    sign5_q <= sign4_q ^ (sum[28] & ~infinite4_q);
    field5_q <= field4_q;
    magnitude_q <= sum[28] ? 28'(-sum) : sum[27:0];
  end

  // Moves the leading one to bit 27, or as far as the smallest exponent allows.
  logic z16, z8, z4, z2, z1;
  logic [15:0] top16;
  logic [7:0] top8;
  logic [3:0] top4;
  logic [4:0] zeros, up_by;
  assign z16 = magnitude_q[27:12] == 16'd0;
  assign top16 = z16 ? {magnitude_q[11:0], 4'd0} : magnitude_q[27:12];
  assign z8 = top16[15:8] == 8'd0;
  assign top8 = z8 ? top16[7:0] : top16[15:8];
  assign z4 = top8[7:4] == 4'd0;
  assign top4 = z4 ? top8[3:0] : top8[7:4];
  assign z2 = top4[3:2] == 2'd0;
  assign z1 = ~(z2 ? top4[1] : top4[3]);
  logic unused_lowest;
  assign unused_lowest = top4[0];
  assign zeros = {z16, z8, z4, z2, z1};
  assign up_by = (field5_q < 9'(zeros)) ? field5_q[4:0] : zeros;
  logic infinite6_q, sign6_q, zero_q;
  logic [8:0] field6_q;
  logic [27:0] normal_q;
  always_ff @(posedge clk_i) begin
    infinite6_q <= infinite5_q;
    sign6_q <= sign5_q;
    zero_q <= magnitude_q == 28'd0;
    field6_q <= field5_q - 9'(up_by);
    normal_q <= magnitude_q << up_by;
  end

  // The leading one is added into the exponent field, which is therefore one less.
  logic up, over;
  logic [31:0] rounded;
  logic [30:0] number;
  assign up = normal_q[3] & ((|normal_q[2:0]) | normal_q[4]);
  assign rounded = {field6_q, 23'd0} + 32'(normal_q[27:4]) + 32'(up);
  assign over = infinite6_q | (rounded[31:23] >= 9'd255);
  assign number = over ? 31'h7F80_0000 : zero_q ? 31'd0 : rounded[30:0];
  assign sum_o = {sign6_q & (number != 31'd0), number};
  always_ff @(posedge clk_i) sum_q <= sum_o;
endmodule
