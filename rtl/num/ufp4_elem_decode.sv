// SPDX-License-Identifier: Apache-2.0
// Decodes 4-bit codes of any element format to sign and magnitude; there is one decoder per array
// row or column.
//
//   quanta(lane) = (-1)^sign[lane] * magnitude(lane)
//
// Codes and magnitudes are bit planes, {p3[Lanes-1:0], p2, p1, p0}, with lane l in bit l of each
// plane. The magnitude has two codings; the second is for the dot product in the form for FPGAs
// (ufp4_dot_relative):
//
//   Binary = 1:  8 p3 + 4 p2 + 2 p1 + p0         p3 set (8 or 12): p1 = p0 = 0
//   Binary = 0:  (4 p2 + 2 p1 + p0) << 2 p3      p3 set (8 or 12): p2 = 0, p1 = 1
//
// ELEM_MIXED codes are E2M1 or the three bits of E1M2, as uniform_i (bit 7 of the scale byte of the
// block) says; other formats ignore uniform_i. The sign of a zero is arbitrary. Combinational.
// Golden: ufp4_elem_quanta; docs/reference/numerics.md, 1; tests/rtl/vectors.
module ufp4_elem_decode #(
  parameter int unsigned Lanes  = 16,
  parameter bit          Binary = 1'b1
) (
  input  logic [7:0]         elem_i,
  input  logic               uniform_i,
  input  logic [4*Lanes-1:0] code_i,
  output logic [Lanes-1:0]   sign_o,
  output logic [4*Lanes-1:0] mag_o
);
  import ufp4_spec_pkg::ELEM_E2M1;
  import ufp4_spec_pkg::ELEM_INT4;
  import ufp4_spec_pkg::ELEM_MIXED;

  logic [Lanes-1:0] c3, c2, c1, c0;
  assign {c3, c2, c1, c0} = code_i;

  // E2M1 magnitudes are 0 1 2 3 4 6 8 12. A negative INT4 code is negated (-8 becomes 8). The
  // magnitude of E1M2 is the low three bits of the code.
  logic [Lanes-1:0] e2m1, int4_neg, eight;
  assign e2m1 = {Lanes{elem_i == ELEM_E2M1 || (elem_i == ELEM_MIXED && !uniform_i)}};
  assign int4_neg = {Lanes{elem_i == ELEM_INT4}} & c3;
  assign eight = int4_neg & ~(c2 | c1 | c0);

  // The low planes for E1M2 and INT4.
  logic [Lanes-1:0] u2, u1;
  assign u2 = ~e2m1 & (c2 ^ (int4_neg & (c1 | c0)));
  assign u1 = ~e2m1 & (c1 ^ (int4_neg & c0));

  logic [Lanes-1:0] p3, p2, p1, p0;
  assign p3 = (e2m1 & c2 & c1) | eight;
  if (Binary) begin : gen_binary
    assign p2 = (e2m1 & c2 & (~c1 | c0)) | u2;
    assign p1 = (e2m1 & ((~c2 & c1) | (c2 & ~c1 & c0))) | u1;
    assign p0 = c0 & ~(e2m1 & c2);
  end else begin : gen_shifted
    assign p2 = (e2m1 & c2 & ~c1) | u2;
    assign p1 = (e2m1 & (c1 | (c2 & c0))) | u1 | eight;
    assign p0 = c0 & ~(e2m1 & c2 & ~c1);
  end

  assign sign_o = c3;
  assign mag_o = {p3, p2, p1, p0};
endmodule
