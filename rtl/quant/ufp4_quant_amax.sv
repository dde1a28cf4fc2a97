// SPDX-License-Identifier: Apache-2.0
// Keeps the largest amax of a copy and turns it into the tensor exponent.
//
// Contract: exponent_o = the largest t with amax * 2^t / qmax <= 448 exactly, amax over the clean blocks since start_i; 0
// without any. amax comes as ufp4_e4m3_scale gives it: normal * 2^(power - (rht_i ? 179 : 181)), normal in 2^27..2^28-1.
// Golden: ufp4_tensor_exponent. Spec: numerics.md 2. Test: tests/rtl/quant.
module ufp4_quant_amax (
  input  logic        clk_i,

  input  logic        start_i,
  input  logic        rht_i,
  input  logic [7:0]  elem_i,
  input  logic        clean_i,
  input  logic [8:0]  power_i,
  input  logic [27:0] normal_i,
  output logic [15:0] exponent_o
);

  import ufp4_spec_pkg::ELEM_E2M1;
  import ufp4_spec_pkg::ELEM_E1M2;

  // 448 qmax is 21 * 2^7 (E2M1), 49 * 2^4 (E1M2), 49 * 2^6 (INT4): here with the leading one at bit 27.
  localparam logic [27:0] LIMIT_21 = 28'd21 << 23;
  localparam logic [27:0] LIMIT_49 = 28'd49 << 22;

  logic        any_d, any_q;
  logic [36:0] largest_d, largest_q;  // power, then normal: ordered as the values are
  logic [15:0] limit_power;
  logic        over;

  always_comb begin
    any_d     = any_q;
    largest_d = largest_q;
    if (start_i) begin
      any_d     = 1'b0;
      largest_d = '0;
    end else if (clean_i) begin
      any_d = 1'b1;
      if ({power_i, normal_i} > largest_q) largest_d = {power_i, normal_i};
    end
  end

  always_ff @(posedge clk_i) begin
    any_q     <= any_d;
    largest_q <= largest_d;
  end

  // floor(log2) of the limit, less that of amax: power - 152 with the transform, power - 154 without.
  assign limit_power = (elem_i == ELEM_E1M2 ? 16'd9 : 16'd11) + (rht_i ? 16'd152 : 16'd154);
  assign over        = largest_q[27:0] > (elem_i == ELEM_E2M1 ? LIMIT_21 : LIMIT_49);
  assign exponent_o  = any_q ? limit_power - {7'd0, largest_q[36:28]} - {15'd0, over} : 16'd0;

endmodule
