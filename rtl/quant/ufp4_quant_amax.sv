// SPDX-License-Identifier: Apache-2.0
// Keeps the largest amax of a copy and converts it to the tensor exponent.
//
// Contract: exponent_o is the largest t with amax * 2^t / qmax <= 448 exactly, where amax is the
// largest over the clean blocks from start_i to finish_i; without any it is 0. amax comes in the
// form of ufp4_e4m3_scale, normal * 2^(power - (rht_i ? 179 : 181)) with normal in 2^27..2^28-1.
// Golden: ufp4_tensor_exponent. Spec: numerics.md 2. Test: tests/rtl/quant.
module ufp4_quant_amax #(
  parameter bit Mixed = 1'b0
) (
  input  logic        clk_i,

  input  logic        start_i,
  input  logic        finish_i,   // computes exponent_o
  input  logic        rht_i,
  input  logic [7:0]  elem_i,
  input  logic        clean_i,
  input  logic [8:0]  power_i,
  input  logic [27:0] normal_i,
  output logic [15:0] exponent_o
);

  import ufp4_spec_pkg::*;

  // 448 qmax is 7 * odd * 2^(6 + exponent); LIMIT is its significand with the leading one at bit
  // 27, POWER its floor(log2). E1M2, INT4 and mixed share a significand, E2M1 and INT4 a power.
  localparam int unsigned BITS_E2M1 = $clog2(7 * QMAX_ODD_E2M1 + 1);
  localparam int unsigned BITS_UNIFORM = $clog2(7 * QMAX_ODD_INT4 + 1);
  localparam logic [27:0] LIMIT_E2M1 = 28'(7 * QMAX_ODD_E2M1) << 28 - BITS_E2M1;
  localparam logic [27:0] LIMIT_UNIFORM = 28'(7 * QMAX_ODD_INT4) << 28 - BITS_UNIFORM;
  localparam logic [15:0] POWER_E2M1 = 16'(5 + BITS_E2M1 + QMAX_EXPONENT_E2M1);
  localparam logic [15:0] POWER_E1M2 = 16'(5 + BITS_UNIFORM + QMAX_EXPONENT_E1M2);
  localparam logic [15:0] POWER_MIXED = 16'(5 + BITS_UNIFORM + QMAX_EXPONENT_MIXED);
  localparam logic [15:0] POWER_INT4 = 16'(5 + BITS_UNIFORM + QMAX_EXPONENT_INT4);

  if (QMAX_ODD_E1M2 != QMAX_ODD_INT4 || QMAX_ODD_MIXED != QMAX_ODD_INT4 || POWER_E2M1 != POWER_INT4)
  begin : gen_check_grid
    $error("ufp4_quant_amax: 448 qmax of E1M2, INT4 and mixed must have one significand, of E2M1 and INT4 one power");
  end

  logic        any_q;
  logic [36:0] largest_q;  // power above normal, so that the order is that of the values
  logic [15:0] exponent_q;

  // floor(log2) of the limit minus that of amax, which is power - 152 with the transform and power
  // - 154 without; one less if the significand of amax exceeds that of the limit.
  function automatic logic [15:0] exponent(input logic [36:0] largest, input logic [7:0] elem, input logic rht);
    logic [15:0] limit_power;
    logic        over;
    limit_power = (elem == ELEM_E1M2 ? POWER_E1M2 :
                   Mixed && elem == ELEM_MIXED ? POWER_MIXED : POWER_INT4) + (rht ? 16'd152 : 16'd154);
    over        = largest[27:0] > (elem == ELEM_E2M1 ? LIMIT_E2M1 : LIMIT_UNIFORM);
    return limit_power - {7'd0, largest[36:28]} - {15'd0, over};
  endfunction

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      any_q     <= 1'b0;
      largest_q <= '0;
    end else if (clean_i) begin
      any_q <= 1'b1;
      if ({power_i, normal_i} > largest_q) largest_q <= {power_i, normal_i};
    end
    if (finish_i) exponent_q <= any_q ? exponent(largest_q, elem_i, rht_i) : 16'd0;
  end

  assign exponent_o = exponent_q;

endmodule
