// SPDX-License-Identifier: Apache-2.0
// Exact dot product of sixteen pairs of decoded elements, as two words: the form for cells.
//
//   sum + carry = sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag
//                                                               |dot| <= 2304, modulo 2^13
//
// Operands are the sign and binary magnitude planes of ufp4_elem_decode. -x enters as ~x + 1 - 256,
// and one count of the negative lanes provides the ones of fifteen lanes. Uniform formats, whose
// products are at most 64, use ~x + 1 - 128; E1M2 alone, at most 49, ~x + 1 - 64. Restricted
// Formats leave out logic that their magnitudes cannot reach. Words enter the tree at the levels
// that have room for them, true or inverted as the cells of that level (ufp4_full_adder) need them.
// Combinational. Golden: none of its own, part of ufp4_gemm; tests/rtl/vectors.
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

  localparam int unsigned Planes = (Formats == 32'(ufp4_spec_pkg::FORMATS_E1M2)) ? 6 :
                                   (Formats == 32'(ufp4_spec_pkg::FORMATS_UNIFORM)) ? 7 : 8;
  // E1M2 alone has no uppermost plane.
  localparam bit Large = Formats != 32'(ufp4_spec_pkg::FORMATS_E1M2);
  logic [15:0] a3, a2, a1, a0, b3, b2, b1, b0;
  assign {a3, a2, a1, a0} = {a_mag_i[63:48] & {16{Large}}, a_mag_i[47:0]};
  assign {b3, b2, b1, b0} = {b_mag_i[63:48] & {16{Large}}, b_mag_i[47:0]};

  // Products of the magnitudes, column by column, for all lanes at once. a3 excludes a1 and a0, and
  // b3 excludes b1 and b0. Hence at most one of a1 b3 and a3 b1 is set, and they share a bit of
  // column 4 (sixteen); the two terms of column 5 (by_four) are both set only in 12 times 12. A
  // carry from column 1 (3 times 3 in the lowest planes) needs a1 b1 and a0 b0, and with a1 b1 it
  // makes one bit of column 3. Without a0 b0, a1 b1 is a bit of column 2 (middle).
  logic [15:0] unit, middle, outer, sixteen, by_four;
  logic [7:0][15:0] columns;
  logic [Planes-1:0][15:0] product;
  assign unit = a0 & b0;
  assign middle = a1 & b1 & ~unit;
  assign outer = (a2 & b0) | (a0 & b2);
  assign sixteen = (a1 | b1) & (a3 | b3);
  assign by_four = (a3 & b2) | (a2 & b3);
  if (Formats == 32'(ufp4_spec_pkg::FORMATS_E2M1)) begin : gen_e2m1
    // In E2M1 a2 excludes a0 too. Column 3 has two bits: left, a1 b2 or a3 b0, and right, a2 b1 or
    // a0 b3. A carry into it occurs with one of them (6 times 3); the carry of 3 times 3 occurs
    // with neither. If fours and sixteen are both set (6 times 12), they and by_four are one bit of
    // column 6. If fours and a3 b3 are both set (12 times 12), by_four counts as two bits of column
    // 5, and with a3 b3 they make one bit of column 7.
    logic [15:0] from2, from3, left, right, fours, sum4, over4;
    assign from2 = middle & outer;
    assign left = (a1 | b0) & (a3 | b2);
    assign right = (a0 | b1) & (a2 | b3);
    assign from3 = from2 | (left & right);
    assign fours = a2 & b2;
    assign sum4 = fours ^ sixteen;
    assign over4 = fours & (sixteen | (a3 & b3));
    assign columns = {
      fours & a3 & b3,
      (~fours & a3 & b3) | (fours & sixteen),
      ((from3 & sum4) | by_four) & ~over4,
      from3 ^ sum4,
      (a1 & a0 & b1 & b0) | ((left ^ right) & ~from2),
      middle ^ outer,
      (a1 & b0) ^ (a0 & b1),
      unit
    };
  end else begin : gen_any
    // In column 3, a3 b0, a0 b3 and the carry of 3 times 3 exclude each other (eight). If both
    // terms of outer are set, so is a0 b0, and middle is not. a2 b1 and a1 b2 are both set only in
    // products of 6 and 7: together they are 16, and there is another 16, which is a2 b2 or, in 7
    // times 7, from2 and eight (which from3 leaves out). Both are counted in to5; of these products
    // only 7 times 7 counts its a2 b2 in top. If top and sixteen are both set (6 or 7 times 12),
    // they and by_four are one bit of column 6, and half3 keeps by_four out of to5; p7 is 12 times
    // 12. Without E2M1, a3 means only 8 and excludes a2 too.
    localparam logic [15:0] Twelve = {16{Formats == 32'(ufp4_spec_pkg::FORMATS_ALL)}};
    logic [15:0] from2, half3, eight, sum3, from3, top, sum4, to5, p7;
    assign top = a2 & b2 & ~middle;
    assign from2 = (unit & top) | (middle & outer);
    assign half3 = (a2 & b1) ^ (a1 & b2);
    assign eight = (a1 & b0 & a0 & b1) | (a3 & b0) | (a0 & b3);
    assign sum3 = from2 ^ eight;
    assign from3 = half3 & sum3;
    assign sum4 = (top | sixteen) & ~(top & sixteen & Twelve);
    assign to5 = ((a2 & b1) | by_four) & ~half3;
    assign p7 = a3 & b3 & top & Twelve;
    assign columns = {
      p7,
      (sixteen & top & Twelve) | (a3 & b3 & ~p7),
      (to5 & ~p7) | (from3 & sum4),
      from3 ^ sum4,
      half3 ^ sum3,
      (middle | outer) & ~from2,
      ((a1 & b0) | (a0 & b1)) & ~eight,
      unit
    };
  end
  assign product = columns[Planes-1:0];
  logic unused_columns;
  assign unused_columns = ^columns;

  // Counts the negative lanes except the last: two counts of seven, and their sum with one more
  // lane.
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

  // Words of the tree. The correction of the last lane is a bit above its product and a bit below a
  // carry word. The constant of all lanes, -16 * 2^Planes, is the ones at the top of count_word.
  logic [15:0][12:0] lane;
  logic [12:0] count_word;
  for (genvar l = 0; l < 16; l++) begin : gen_word
    for (genvar p = 0; p < Planes; p++) begin : gen_plane
      assign lane[l][p] = product[p][l] ^ negative[l];
    end
    assign lane[l][12:Planes] = {(12 - Planes)'(0), (l == 15) & ~negative[l]};
  end
  assign count_word = {(9 - Planes)'(~0), ~count, (Planes - 4)'(0), count};

  // Level 1 takes twelve lanes, level 2 one more, level 3 three more; odd levels give inverted
  // words.
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

  // Level 5 takes three words of level 4, level 6 the count, and level 7, where true words fit
  // again, the fourth word of level 4.
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
