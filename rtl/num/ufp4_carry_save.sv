// SPDX-License-Identifier: Apache-2.0
// Carry-save adder: reduces three words and a bit to two words with the same sum, modulo 2^Width,
// without carries between columns. Both outputs are inverted:
//
//   a + b + c + ~vacant_ni = ~sum_no + ~carry_no
//
// With inverted inputs the outputs are true (ufp4_full_adder). The lowest bit of a carry word is
// free and takes the bit vacant_ni, which has the polarity of carry_no. Combinational.
// Tests: tests/rtl/vectors.
module ufp4_carry_save #(
  parameter int unsigned Width = 16
) (
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  input  logic [Width-1:0] c_i,
  input  logic             vacant_ni,
  output logic [Width-1:0] carry_no,
  output logic [Width-1:0] sum_no
);
  logic [Width:0] carry_n;
  logic unused_carry;
  assign carry_n[0] = vacant_ni;
  for (genvar i = 0; i < Width; i++) begin : gen_column
    ufp4_full_adder u_full_adder (
      .a_i(a_i[i]),
      .b_i(b_i[i]),
      .c_i(c_i[i]),
      .carry_no(carry_n[i+1]),
      .sum_no(sum_no[i])
    );
  end
  assign {unused_carry, carry_no} = carry_n;
endmodule
