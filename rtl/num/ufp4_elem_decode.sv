// SPDX-License-Identifier: Apache-2.0
// Sixteen 4-bit codes to sign and magnitude, once per array row or column, for any element format.
//
//   quanta(lane) = (-1)^sign[lane] * (8 m3 + 4 m2 + 2 m1 + m0)[lane]
//
// Codes and magnitudes are bit planes: {p3[15:0], p2[15:0], p1[15:0], p0[15:0]}, lane l in bit l of each plane.
// In every format a magnitude with m3 set (8 or 12) has m1 = m0 = 0; ufp4_dot relies on it. The sign of a zero
// is arbitrary.
// Combinational. Golden: ufp4_elem_quanta; docs/numerics.md, 1; tests/rtl/array.
module ufp4_elem_decode (
  input  logic [7:0]  elem_i,
  input  logic [63:0] code_i,
  output logic [15:0] sign_o,
  output logic [63:0] mag_o
);
  import ufp4_spec_pkg::ELEM_E2M1;
  import ufp4_spec_pkg::ELEM_INT4;

  logic [15:0] c3, c2, c1, c0;
  assign {c3, c2, c1, c0} = code_i;

  // E2M1 magnitudes 0 1 2 3 4 6 8 12; INT4 negates below zero (-8 stays 8); E1M2 is the low three bits as they
  // are.
  logic [15:0] e2m1, int4_neg;
  assign e2m1 = {16{elem_i == ELEM_E2M1}};
  assign int4_neg = {16{elem_i == ELEM_INT4}} & c3;

  assign sign_o = c3;
  assign mag_o[63:48] = (e2m1 & c2 & c1) | (int4_neg & ~(c2 | c1 | c0));
  assign mag_o[47:32] = (e2m1 & c2 & (~c1 | c0)) | (~e2m1 & (c2 ^ (int4_neg & (c1 | c0))));
  assign mag_o[31:16] = (e2m1 & ((~c2 & c1) | (c2 & ~c1 & c0))) | (~e2m1 & (c1 ^ (int4_neg & c0)));
  assign mag_o[15:0] = c0 & ~(e2m1 & c2);
endmodule
