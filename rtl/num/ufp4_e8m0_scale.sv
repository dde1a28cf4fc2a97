// SPDX-License-Identifier: Apache-2.0
// The E8M0 scale of a block, 2^(scale_o - 127), as a pipeline beside ufp4_e4m3_scale, whose first
// stage it shares.
//
// Contract: amax = normal_i * 2^(power_i - 181), with normal_i in 2^27..2^28-1, as ufp4_e4m3_scale
// gives it after stage 0 without the transform. Rounding down: floor(log2 amax) - emax; up: the
// smallest k with amax <= qmax * 2^k; both clamped to -127..127. After stage 2: the byte, and
// base_o for the divider (ufp4_divide_round) with the significand 8: the scale is 8 * 2^(exp - 9)
// with exp = scale_o - 121. With join_i, which is set while the first half of a block of 32 is in
// stage 2 and the second enters stage 1, both halves continue with the larger of their scales;
// normal_i of a half of zeros is 0.
// Stages: stage k moves with en_i[k]; normal_i and power_i belong to stage 1.
// Golden: ufp4_quantize. Spec: numerics.md 2. Test: tests/rtl/vectors.
module ufp4_e8m0_scale (
  input  logic        clk_i,
  input  logic [2:1]  en_i,

  input  logic [7:0]  elem_i,
  input  logic        up_i,
  input  logic        join_i,
  input  logic [8:0]  power_i,
  input  logic [27:0] normal_i,

  output logic [7:0]  scale_o,
  output logic [8:0]  base_o
);

  import ufp4_spec_pkg::*;

  // LIMIT is the significand of qmax with its leading one at bit 27, EMAX the exponent of qmax.
  // E1M2 and INT4 share a significand, E2M1 and INT4 an exponent.
  localparam logic [27:0] LIMIT_E2M1 = 28'(QMAX_ODD_E2M1) << 28 - $clog2(QMAX_ODD_E2M1 + 1);
  localparam logic [27:0] LIMIT_UNIFORM = 28'(QMAX_ODD_INT4) << 28 - $clog2(QMAX_ODD_INT4 + 1);
  localparam int EMAX_E2M1 = QMAX_EXPONENT_E2M1 + $clog2(QMAX_ODD_E2M1 + 1) - 1;
  localparam int EMAX_E1M2 = QMAX_EXPONENT_E1M2 + $clog2(QMAX_ODD_E1M2 + 1) - 1;
  localparam int EMAX_INT4 = QMAX_EXPONENT_INT4 + $clog2(QMAX_ODD_INT4 + 1) - 1;

  if (QMAX_ODD_E1M2 != QMAX_ODD_INT4 || EMAX_E2M1 != EMAX_INT4) begin : gen_check_grid
    $error("ufp4_e8m0_scale: qmax of E1M2 and INT4 must have one significand, of E2M1 and INT4 one exponent");
  end

  logic signed [9:0] biased, biased_d, biased_q, whole;  // exponent plus 127, before clamping
  logic [7:0]        scale_q;
  logic [8:0]        base_q;
  logic [7:0]        scale_d;
  logic              over;

  // floor(log2 amax) is power - 154.
  assign over     = normal_i > (elem_i == ELEM_E2M1 ? LIMIT_E2M1 : LIMIT_UNIFORM);
  assign biased   = !normal_i[27] ? -10'sd512 :
                    signed'({1'b0, power_i}) - (elem_i == ELEM_E1M2 ? 10'(27 + EMAX_E1M2) : 10'(27 + EMAX_INT4)) +
                    10'(up_i && over);
  assign biased_d = join_i && biased_q > biased ? biased_q : biased;
  assign whole    = join_i ? biased_d : biased_q;
  assign scale_d  = whole < 10'sd0 ? 8'd0 : whole > 10'sd254 ? 8'd254 : 8'(whole);

  always_ff @(posedge clk_i) begin
    if (en_i[1]) biased_q <= biased_d;
    if (en_i[2]) begin
      scale_q <= scale_d;
      // 149 - frac + exp of ufp4_e4m3_scale.
      base_q  <= {1'b0, scale_d} + (elem_i == ELEM_E2M1 ? 9'(28 - FRAC_E2M1) :
                                    elem_i == ELEM_E1M2 ? 9'(28 - FRAC_E1M2) : 9'(28 - FRAC_INT4));
    end
  end

  assign scale_o = scale_q;
  assign base_o  = base_q;

endmodule
