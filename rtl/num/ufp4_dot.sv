// SPDX-License-Identifier: Apache-2.0
// Exact dot product of sixteen pairs of decoded elements: the form for cells, in one step.
//
//   dot = sum over lanes of (-1)^(a_sign ^ b_sign) * a_mag * b_mag          |dot| <= 2304
//
// The PE of the contract exact instantiates the tree itself, with a register before the last
// addition. Combinational. Golden: none of its own, part of ufp4_gemm; tests/rtl/vectors.
module ufp4_dot #(
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL)
) (
  input  logic [15:0]        a_sign_i,
  input  logic [63:0]        a_mag_i,
  input  logic [15:0]        b_sign_i,
  input  logic [63:0]        b_mag_i,
  output logic signed [12:0] dot_o
);
  logic [12:0] sum, carry, dot;
  logic unused_carry;
  ufp4_dot_tree #(.Formats(Formats)) u_tree (
    .a_sign_i,
    .a_mag_i,
    .b_sign_i,
    .b_mag_i,
    .sum_o(sum),
    .carry_o(carry)
  );
  ufp4_ripple #(.Width(13)) u_ripple (
    .a_i(sum),
    .b_i(carry),
    .c_i(1'b0),
    .sum_o(dot),
    .carry_o(unused_carry)
  );
  assign dot_o = signed'(dot);
endmodule
