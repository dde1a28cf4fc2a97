// SPDX-License-Identifier: Apache-2.0
// The E8M0 scale of a block, 2^(scale_o - 127), as a pipeline beside ufp4_e4m3_scale, whose first stage it
// shares.
//
// Contract: amax = normal_i * 2^(power_i - 181), normal_i in 2^27..2^28-1, as ufp4_e4m3_scale gives it after
// its stage 0 without the transform. Down: floor(log2 amax) - emax; up: the smallest k with amax <= qmax * 2^k;
// clamped to -127..127. After stage 2: the byte, and base_o as the divider wants it (ufp4_divide_round) with
// the significand 8: the scale is 8 * 2^(exp - 9) with exp = scale_o - 121.
// Stage k runs with en_i[k] high; normal_i and power_i go with stage 1.
// Golden: ufp4_quantize. Spec: numerics.md 2. Test: tests/rtl/vectors.
module ufp4_e8m0_scale (
  input  logic        clk_i,
  input  logic [2:1]  en_i,

  input  logic [7:0]  elem_i,
  input  logic        up_i,
  input  logic [8:0]  power_i,
  input  logic [27:0] normal_i,

  output logic [7:0]  scale_o,
  output logic [8:0]  base_o
);

  import ufp4_spec_pkg::ELEM_E2M1;
  import ufp4_spec_pkg::ELEM_E1M2;

  // qmax is 1.5 * 2^2, 1.75 and 1.75 * 2^2: its significand with the leading one at bit 27.
  localparam logic [27:0] LIMIT_3 = 28'd3 << 26;
  localparam logic [27:0] LIMIT_7 = 28'd7 << 25;

  logic signed [9:0] biased_d, biased_q;  // the exponent plus 127, not clamped
  logic [7:0]        scale_q;
  logic [8:0]        base_q;
  logic [7:0]        scale_d;
  logic              over;

  // floor(log2 amax) is power - 154.
  assign over     = normal_i > (elem_i == ELEM_E2M1 ? LIMIT_3 : LIMIT_7);
  assign biased_d = signed'({1'b0, power_i}) - (elem_i == ELEM_E1M2 ? 10'sd27 : 10'sd29) + 10'(up_i && over);
  assign scale_d  = biased_q < 10'sd0 ? 8'd0 : biased_q > 10'sd254 ? 8'd254 : 8'(biased_q);

  always_ff @(posedge clk_i) begin
    if (en_i[1]) biased_q <= biased_d;
    if (en_i[2]) begin
      scale_q <= scale_d;
      // 149 - frac + exp of ufp4_e4m3_scale.
      base_q  <= {1'b0, scale_d} + (elem_i == ELEM_E2M1 ? 9'd27 : elem_i == ELEM_E1M2 ? 9'd26 : 9'd28);
    end
  end

  assign scale_o = scale_q;
  assign base_o  = base_q;

endmodule
