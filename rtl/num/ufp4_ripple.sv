// SPDX-License-Identifier: Apache-2.0
// Sum of two words and a carry, bit by bit: {carry_o, sum_o} = a + b + c. Every other bit is added
// inverted, so that the carry needs no inverter (ufp4_full_adder). Bits from Cells on are plain
// gates that the synthesizer may restructure, for sums whose timing is critical: the full adder of
// a library is small, not fast. Combinational. Tests: tests/rtl/vectors.
module ufp4_ripple #(
  parameter int unsigned Width = 16,
  parameter int unsigned Cells = Width
) (
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  input  logic             c_i,
  output logic [Width-1:0] sum_o,
  output logic             carry_o
);
  for (genvar i = 0; i < Width; i++) begin : gen_bit
    localparam logic INVERTED = 1'(i % 2);
    logic carry, carry_n, sum_n;
    if (i == 0) begin : gen_first
      assign carry = c_i;
    end else begin : gen_next
      assign carry = gen_bit[i-1].carry_n;
    end
    logic a, b;
    assign a = a_i[i] ^ INVERTED;
    assign b = b_i[i] ^ INVERTED;
    if (i < Cells) begin : gen_cell
      ufp4_full_adder u_full_adder (.a_i(a), .b_i(b), .c_i(carry), .carry_no(carry_n), .sum_no(sum_n));
    end else begin : gen_gates
      logic differ;
      assign differ = a ^ b;
      assign carry_n = ~(differ ? carry : a);
      assign sum_n = ~(differ ^ carry);
    end
    assign sum_o[i] = sum_n ^ ~INVERTED;
  end
  assign carry_o = gen_bit[Width-1].carry_n ^ 1'(Width % 2);
endmodule
