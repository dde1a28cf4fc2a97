// SPDX-License-Identifier: Apache-2.0
// The part of ufp4_quant_serial_block that ELEM_MIXED needs: the scale and the dividers of the
// second grid, and the choice between both grids.
//
// Contract: the inputs up to random_i are those of the ufp4_e4m3_scale of the block, with the
// tensor exponent t of the tensor, and of its ufp4_divide_round; quotient_i and codes_i are outputs
// of that divider. pair_i[0] is high while quotient_i belongs to a pair of a block, pair_i[1] a
// cycle later, together with first_i if it is the first pair, and pair_i[2] two more cycles later.
// last_i[0] is high while the last pair is in stage 0 of the dividers, seven cycles before
// last_i[1], which is a cycle after pair_i[1] of the last pair; last_i[2] is a cycle later. scale_i
// and saturated_i are those of the first grid from the cycle after last_i[0] to last_i[2]. In the
// cycle after last_i[2] codes_o, scale_o and saturated_o are those of the better grid; the next pair
// may shift codes_o in the cycle after that. Without mixed_i they are those of the first grid, and
// the second grid's scale (from its second stage on), its dividers and the choice hold. Nothing
// moves without advance_i. The second grid is E1M2 with t - 1. There are two scale units, each of
// which holds its results for the eight cycles of a block; one unit in turn would need extra
// registers for that. Synthesis merges their equal first stages.
// Golden: ufp4_quantize_block. Spec: numerics.md 4, The choice of a grid.
// Test: tests/rtl/quant, tests/rtl/vectors.
module ufp4_quant_serial_mixed (
  input  logic             clk_i,

  input  logic [2:0]       scale_en_i,
  input  logic             scale_rht_i,
  input  logic             scale_up_i,
  input  logic [15:0]      tensor_exponent_i,
  input  logic [7:0]       exponent_i,
  input  logic [27:0]      amax_i,

  input  logic             advance_i,
  input  logic             rht_i,
  input  logic             sr_i,
  input  logic [1:0][31:0] payload_i,
  input  logic [1:0][7:0]  random_i,
  input  logic [1:0][13:0] quotient_i,
  input  logic [1:0][3:0]  codes_i,

  input  logic [2:0]       pair_i,
  input  logic             first_i,
  input  logic [2:0]       last_i,
  input  logic             mixed_i,
  input  logic [7:0]       scale_i,
  input  logic             saturated_i,

  output logic [7:0]       scale_o,
  output logic             saturated_o,
  output logic [63:0]      codes_o
);

  import ufp4_spec_pkg::ELEM_E1M2;

  // --- The second grid ---------------------------------------------------------------------------

  logic [15:0]      t;  // if t - 1 is no 16-bit number, both scales are beyond all data
  logic             saturated, unused_zero;
  logic [8:0]       base, unused_power;
  logic [27:0]      unused_normal;
  logic [7:0]       scale;
  logic [3:0]       sig;
  logic [4:1][3:0]  sig_q;
  logic [1:0][3:0]  codes;
  logic [1:0][13:0] quotient;

  // For blocks of other elements the registers of the second grid and of the choice hold, and the
  // dividers' inputs are zero because their first register lies behind the aligning shift. The
  // scale's first stage moves for every block because synthesis merges it with the first grid's.
  logic [2:1] own_scale_en;
  logic       own_advance;
  assign own_scale_en = mixed_i ? scale_en_i[2:1] : '0;
  assign own_advance  = advance_i && mixed_i;

  assign t = tensor_exponent_i == 16'h8000 ? tensor_exponent_i : tensor_exponent_i - 16'd1;

  ufp4_e4m3_scale u_scale (
    .clk_i,
    .en_i             ({own_scale_en, scale_en_i[0]}),
    .rht_i            (scale_rht_i),
    .elem_i           (ELEM_E1M2),
    .up_i             (scale_up_i),
    .tensor_exponent_i(t),
    .exponent_i,
    .amax_i,
    .exponent_base_i  (exponent_i),
    .zero_o           (unused_zero),
    .power_o          (unused_power),
    .normal_o         (unused_normal),
    .scale_o          (scale),
    .saturated_o      (saturated),
    .sig_o            (sig),
    .base_o           (base)
  );

  always_ff @(posedge clk_i) begin
    if (advance_i) sig_q <= {sig_q[3:1], sig};
  end

  ufp4_divide_round #(
    .Lanes(2)
  ) u_divide_round (
    .clk_i,
    .en_i      ({6{own_advance}}),
    .rht_i,
    .elem_i    (ELEM_E1M2),
    .sr_i,
    .payload_i (mixed_i ? payload_i : '0),
    .base_i    (base),
    .sig_i     ({sig_q, sig}),
    .random_i,
    .quotient_o(quotient),
    .codes_o   (codes)
  );

  // --- The choice --------------------------------------------------------------------------------

  logic [6:0]      scale_q;
  logic            saturated_q, better, further, second;
  logic [1:0][3:0] weight;

  always_ff @(posedge clk_i) begin
    if (advance_i && last_i[0]) begin
      scale_q     <= scale[6:0];
      saturated_q <= saturated;
    end
  end

  function automatic logic [3:0] significand_of(input logic [6:0] of);
    return {of[6:3] != 4'd0, of[2:0]};
  endfunction

  // A subnormal has the exponent of the smallest normal number.
  function automatic logic is_odd(input logic [3:0] field);
    return field[0] || field == 4'd0;
  endfunction

  assign weight  = {significand_of(scale_q), significand_of(scale_i[6:0])};
  assign further = is_odd(scale_q[6:3]) != is_odd(scale_i[6:3]);  // the exponents differ by one or not at all

  ufp4_grid_choice #(
    .Lanes(2)
  ) u_choice (
    .clk_i,
    .en_i      (own_advance ? {last_i[1], pair_i[1:0]} : 3'd0),
    .first_i,
    .quotient_i({quotient, quotient_i}),
    .sig_i     (weight),
    .further_i (further),
    .second_o  (better)
  );

  assign second = mixed_i && better;

  // --- Outputs -----------------------------------------------------------------------------------

  logic [1:0][1:0][1:0][3:0] wait_q;   // the codes of a pair for two cycles, by grid and half
  logic [1:0][1:0][7:0][3:0] codes_q;  // then with the other codes of the block
  logic                      second_q, out_saturated_q;
  logic [7:0]                out_scale_q;

  always_ff @(posedge clk_i) begin
    if (advance_i) wait_q <= {wait_q[0], codes, codes_i};
    if (advance_i && pair_i[2]) begin
      for (int unsigned g = 0; g < 2; g++) begin
        for (int unsigned i = 0; i < 2; i++) codes_q[g][i] <= {wait_q[1][g][i], codes_q[g][i][7:1]};
      end
    end
    if (advance_i && last_i[2]) begin
      second_q        <= second;
      out_scale_q     <= second ? {1'b1, scale_q} : scale_i;
      out_saturated_q <= second ? saturated_q : saturated_i;
    end
  end

  assign codes_o     = codes_q[second_q];
  assign scale_o     = out_scale_q;
  assign saturated_o = out_saturated_q;

  logic unused;
  assign unused = ^{scale[7]};

endmodule
