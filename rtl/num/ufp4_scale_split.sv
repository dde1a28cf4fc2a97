// SPDX-License-Identifier: Apache-2.0
// Splits the scale byte of an operand, E4M3 or E8M0, for the contract nv, which aligns by the
// exponent alone.
//
//   scale = sig * 2^(exp - 130)        sig 0..15, exp 0..254
//   exp of an E4M3 zero is 1, of a subnormal 121; E8M0 has exp = its byte and sig 8
//
// The sign bit of E4M3 is ignored. A NaN byte (E4M3 0x7F and 0xFF, E8M0 0xFF) raises nan_o, and sig
// and exp are then meaningless. Combinational. Golden: ufp4_gemm, contract nv;
// docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_scale_split (
  input  logic [7:0] byte_i,
  input  logic       e8m0_i,
  output logic [3:0] sig_o,
  output logic [7:0] exp_o,
  output logic       nan_o
);
  logic [3:0] sig, exp;
  logic nan;
  ufp4_scale_decode u_scale_decode (.byte_i(byte_i[6:0]), .sig_o(sig), .exp_o(exp), .nan_o(nan));
  assign sig_o = e8m0_i ? 4'd8 : sig;
  assign exp_o = e8m0_i ? byte_i : (sig == 4'd0) ? 8'd1 : 8'(exp) + 8'd121;
  assign nan_o = e8m0_i ? &byte_i : nan;
endmodule
