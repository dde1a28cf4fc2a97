// SPDX-License-Identifier: Apache-2.0
// Decodes an E4M3 scale byte to significand and exponent: value = sig * 2^(exp - 9), sig 0..15, exp
// 0..14; the sign bit is ignored. A NaN byte (0x7F, 0xFF) raises nan_o, and sig and exp are then
// meaningless. Combinational. Golden: ufp4_e4m3_decode; docs/reference/numerics.md, 2;
// tests/rtl/vectors.
module ufp4_scale_decode (
  input  logic [6:0] byte_i,
  output logic [3:0] sig_o,
  output logic [3:0] exp_o,
  output logic       nan_o
);
  logic normal;
  assign normal = |byte_i[6:3];
  assign sig_o = {normal, byte_i[2:0]};
  assign exp_o = normal ? byte_i[6:3] - 4'd1 : 4'd0;
  assign nan_o = &byte_i;
endmodule
