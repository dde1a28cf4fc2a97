// SPDX-License-Identifier: Apache-2.0
// Dot product of sixteen pairs of decoded elements, exact, as two words: the form for cells.
//
//   sum + carry = sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag          |dot| <= 2304, modulo 2^13
//
// Operands are the sign and magnitude planes of ufp4_elem_decode (Binary = 0): u << 2h, u of three bits. A lane
// multiplies the two u, and shifts by 0, 2 or 4, one-hot. Minus x is counted as ~x + 1 - 256, with fifteen lanes' ones in
// one count of the negative lanes (uniform formats, whose products end at 64: + 1 - 128; E1M2 alone, at 49: + 1 - 64).
// Fewer formats leave out what their magnitudes cannot reach. Words enter the tree where its levels have room for them,
// true or inverted as the cells of that level (ufp4_full_adder) want them.
// Combinational. Golden: none of its own, part of ufp4_gemm; tests/rtl/array.
module ufp4_dot_tree #(
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL)
) (
  input  logic [15:0]        a_sign_i,
  input  logic [63:0]        a_mag_i,
  input  logic [15:0]        b_sign_i,
  input  logic [63:0]        b_mag_i,
  output logic [12:0]        sum_o,
  output logic [12:0]        carry_o
);
  logic [15:0] negative;
  assign negative = a_sign_i ^ b_sign_i;

  logic [15:0] a_h, b_h, a2, a1, a0, b2, b1, b0;
  assign {a_h, a2, a1, a0} = a_mag_i;
  assign {b_h, b2, b1, b0} = b_mag_i;

  // Planes of the products of two u, column by column; from1 and from2 are carries. The carry from column 1 exists only
  // where a1 b1 does: the two are one bit of column 2 or one of column 3.
  logic [15:0] a2b1, a1b2, from1, middle, from2, half3, high4, low4, u5, u4, u3, u2, u1, u0;
  assign a2b1 = a2 & b1;
  assign a1b2 = a1 & b2;
  assign from1 = a1 & a0 & b1 & b0;
  assign middle = a1 & b1 & ~(a0 & b0);
  assign half3 = a2b1 ^ a1b2;
  assign high4 = a2b1 & a1b2;
  assign u0 = a0 & b0;
  assign u1 = (a1 & b0) ^ (a0 & b1);
  if (Formats == 32'(ufp4_spec_pkg::FORMATS_E2M1)) begin : gen_e2m1
    // No u of 5 or 7: a carry into column 2 is then all there is, and one into column 3 ends in column 4.
    assign from2 = middle & ((a2 & b0) | (a0 & b2));
    assign low4 = half3 & from2;
    assign u2 = ((a2 & b0) | (a0 & b2)) ^ middle;
    assign u3 = (half3 ^ from2) | from1;
    assign u4 = (a2 & b2 & ~high4) | low4;
    assign u5 = high4;
  end else begin : gen_any
    assign from2 = (a2 & b0 & a0 & b2) | (middle & ((a2 & b0) | (a0 & b2)));
    assign low4 = (from1 & from2) | (half3 & (from1 | from2));
    assign u2 = (a2 & b0) ^ (a0 & b2) ^ middle;
    assign u3 = half3 ^ from1 ^ from2;
    assign u4 = (a2 & b2) ^ high4 ^ low4;
    assign u5 = (a2 & b2 & (high4 | low4)) | (high4 & low4);
  end

  // Planes of the products.
  localparam int unsigned Planes = (Formats == 32'(ufp4_spec_pkg::FORMATS_E1M2)) ? 6 :
                                   (Formats == 32'(ufp4_spec_pkg::FORMATS_UNIFORM)) ? 7 : 8;
  logic [15:0] by0, by2, by4;
  logic [Planes-1:0][15:0] product;
  assign by0 = ~a_h & ~b_h;
  assign by2 = a_h ^ b_h;
  assign by4 = a_h & b_h;
  if (Formats == 32'(ufp4_spec_pkg::FORMATS_E1M2)) begin : gen_e1m2
    assign product = {u5, u4, u3, u2, u1, u0};
    logic unused_shift;
    assign unused_shift = ^{by0, by2, by4};
  end else if (Formats == 32'(ufp4_spec_pkg::FORMATS_UNIFORM)) begin : gen_uniform
    // Shifted is only 8, with u of 2: at most 14 shifted by 2, and 4 by 4.
    assign product = {by4, u5 | (by2 & u3), u4 | (by2 & u2), (by0 & u3) | (by2 & u1), by0 & u2, by0 & u1, u0};
  end else begin : gen_e2m1_too
    // At most 21 shifted by 2, or 9 by 4.
    assign product = {
      by4 & u3,
      (by2 & u4) | (by4 & u2),
      u5 | (by2 & u3) | (by4 & u1),
      (by0 & u4) | (by2 & u2) | (by4 & u0),
      (by0 & u3) | (by2 & u1),
      (by0 & u2) | (by2 & u0),
      by0 & u1,
      by0 & u0
    };
  end

  // Negative lanes, but the last: two counts of seven, and their sum with one more.
  logic [1:0][2:0] seven;
  for (genvar i = 0; i < 2; i++) begin : gen_seven
    logic [6:0] n;
    logic s0_n, s1_n, c0_n, c1_n, c2;
    assign n = negative[7*i+:7];
    ufp4_full_adder u_0 (.a_i(n[0]), .b_i(n[1]), .c_i(n[2]), .carry_no(c0_n), .sum_no(s0_n));
    ufp4_full_adder u_1 (.a_i(n[3]), .b_i(n[4]), .c_i(n[5]), .carry_no(c1_n), .sum_no(s1_n));
    ufp4_full_adder u_2 (.a_i(s0_n), .b_i(s1_n), .c_i(~n[6]), .carry_no(c2), .sum_no(seven[i][0]));
    ufp4_full_adder u_3 (.a_i(c0_n), .b_i(c1_n), .c_i(~c2), .carry_no(seven[i][2]), .sum_no(seven[i][1]));
  end
  logic [3:0] count;
  ufp4_ripple #(.Width(3)) u_count (
    .a_i(seven[0]),
    .b_i(seven[1]),
    .c_i(negative[14]),
    .sum_o(count[2:0]),
    .carry_o(count[3])
  );

  // Words of the tree. The last lane's correction is a bit above its product and one below a carry word; the constants
  // of all lanes, -16 * 256, are ones on top of the count's word.
  logic [15:0][12:0] lane;
  logic [12:0] count_word;
  for (genvar l = 0; l < 16; l++) begin : gen_word
    for (genvar p = 0; p < Planes; p++) begin : gen_plane
      assign lane[l][p] = product[p][l] ^ negative[l];
    end
    assign lane[l][12:Planes] = {(12 - Planes)'(0), (l == 15) & ~negative[l]};
  end
  assign count_word = {(9 - Planes)'(~0), ~count, (Planes - 4)'(0), count};

  // Levels 1 (twelve lanes), 2 (and one more), 3 (and three), 4. Odd levels give inverted words.
  logic [7:0][12:0] level1;
  logic [5:0][12:0] level2, level3;
  logic [3:0][12:0] level4;
  logic [8:0][12:0] to_level2, to_level3;
  assign to_level2 = {~lane[12], level1};
  assign to_level3 = {lane[15:13], level2};
  for (genvar i = 0; i < 4; i++) begin : gen_level1
    ufp4_carry_save #(.Width(13)) u_level1 (
      .a_i(lane[3*i]),
      .b_i(lane[3*i+1]),
      .c_i(lane[3*i+2]),
      .vacant_ni((i == 0) ? ~negative[15] : 1'b1),
      .carry_no(level1[4+i]),
      .sum_no(level1[i])
    );
  end
  for (genvar i = 0; i < 3; i++) begin : gen_level2
    ufp4_carry_save #(.Width(13)) u_level2 (
      .a_i(to_level2[3*i]),
      .b_i(to_level2[3*i+1]),
      .c_i(to_level2[3*i+2]),
      .vacant_ni(1'b0),
      .carry_no(level2[3+i]),
      .sum_no(level2[i])
    );
    ufp4_carry_save #(.Width(13)) u_level3 (
      .a_i(to_level3[3*i]),
      .b_i(to_level3[3*i+1]),
      .c_i(to_level3[3*i+2]),
      .vacant_ni(1'b1),
      .carry_no(level3[3+i]),
      .sum_no(level3[i])
    );
  end
  for (genvar i = 0; i < 2; i++) begin : gen_level4
    ufp4_carry_save #(.Width(13)) u_level4 (
      .a_i(level3[3*i]),
      .b_i(level3[3*i+1]),
      .c_i(level3[3*i+2]),
      .vacant_ni(1'b0),
      .carry_no(level4[2+i]),
      .sum_no(level4[i])
    );
  end

  // Levels 5 to 7, a word each: three of level 4, the count, and the fourth, which is true again at level 7.
  logic [12:0] sum5, sum6, sum7, carry5, carry6, carry7;
  ufp4_carry_save #(.Width(13)) u_level5 (
    .a_i(level4[0]),
    .b_i(level4[1]),
    .c_i(level4[2]),
    .vacant_ni(1'b1),
    .carry_no(carry5),
    .sum_no(sum5)
  );
  ufp4_carry_save #(.Width(13)) u_level6 (
    .a_i(sum5),
    .b_i(carry5),
    .c_i(~count_word),
    .vacant_ni(1'b0),
    .carry_no(carry6),
    .sum_no(sum6)
  );
  ufp4_carry_save #(.Width(13)) u_level7 (
    .a_i(sum6),
    .b_i(carry6),
    .c_i(level4[3]),
    .vacant_ni(1'b1),
    .carry_no(carry7),
    .sum_no(sum7)
  );
  assign sum_o = ~sum7;
  assign carry_o = ~carry7;
endmodule
