// SPDX-License-Identifier: Apache-2.0
// Full adder with inverted outputs, the cell of the adders in the form for cells:
//
//   2 * ~carry_no + ~sum_no = a + b + c
//
// The function is its own dual: inverted operands give the true sum and carry. Cells in a row or a
// tree therefore need no inverters between them, and a library that has such a cell can replace
// this module (fpga/cells). Combinational. Tests: tests/rtl/vectors.
module ufp4_full_adder (
  input  logic a_i,
  input  logic b_i,
  input  logic c_i,
  output logic carry_no,
  output logic sum_no
);
  // The carry is a multiplexer, because yosys then makes a smaller dot product than from a majority
  // gate (docs/ip/architecture.md).
  logic differ;
  assign differ = a_i ^ b_i;
  assign carry_no = ~(differ ? c_i : a_i);
  assign sum_no = ~(differ ^ c_i);
endmodule
