// SPDX-License-Identifier: Apache-2.0
// The sum of two numbers, in two halves: the upper half is computed for both values of the carry
// from the lower half. Synthesis turns `+` into a carry through all bits; here a carry passes only
// half of them. Combinational. Tested inside the modules that contain it.
module ufp4_add_halves #(
  parameter int unsigned Width = 40
) (
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  output logic [Width:0]   sum_o
);
  localparam int unsigned Low = (Width + 1) / 2;
  localparam int unsigned High = Width - Low;
  logic [Low:0] low;
  logic [High:0] high;
  logic [High+1:0] high_carry;
  logic unused_carry;
  assign low = {1'b0, a_i[Low-1:0]} + {1'b0, b_i[Low-1:0]};
  assign high = {1'b0, a_i[Width-1:Low]} + {1'b0, b_i[Width-1:Low]};
  assign high_carry = {1'b0, a_i[Width-1:Low], 1'b1} + {1'b0, b_i[Width-1:Low], 1'b1};
  assign sum_o = {low[Low] ? high_carry[High+1:1] : high, low[Low-1:0]};
  assign unused_carry = high_carry[0];
endmodule
