// SPDX-License-Identifier: Apache-2.0
// Decodes the scale byte of an operand, E4M3 or E8M0, to significand and exponent, including the
// unit of the elements.
//
//   scale * 2^-frac = sig * 2^(exp - 129)        sig 0..15, exp 0..256
//
// The sign bit of E4M3 is ignored. A NaN byte (E4M3 0x7F and 0xFF, E8M0 0xFF) raises nan_o, and sig
// and exp are then meaningless. Combinational. Golden: ufp4_gemm, contract fp32;
// docs/reference/numerics.md, 2; tests/rtl/vectors.
module ufp4_scale_number
  import ufp4_spec_pkg::*;
(
  input  logic [7:0] byte_i,
  input  logic       e8m0_i,
  input  logic [7:0] elem_i,
  output logic [3:0] sig_o,
  output logic [8:0] exp_o,
  output logic       nan_o
);
  logic [3:0] sig, exp;
  logic nan;
  ufp4_scale_decode u_scale_decode (.byte_i(byte_i[6:0]), .sig_o(sig), .exp_o(exp), .nan_o(nan));

  logic [8:0] frac;
  always_comb begin
    unique case (elem_i)
      ELEM_E2M1: frac = 9'(FRAC_E2M1);
      ELEM_E1M2: frac = 9'(FRAC_E1M2);
      ELEM_MIXED: frac = 9'(FRAC_MIXED);
      default:   frac = 9'(FRAC_INT4);
    endcase
  end
  assign sig_o = e8m0_i ? 4'd1 : sig;
  assign exp_o = (e8m0_i ? 9'(byte_i) + 9'd2 : 9'(exp) + 9'd120) - frac;
  assign nan_o = e8m0_i ? &byte_i : nan;
endmodule
