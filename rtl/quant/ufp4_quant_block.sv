// SPDX-License-Identifier: Apache-2.0
// Block pipeline: takes 16 FP32 numbers and gives 16 codes and an E4M3 or E8M0 scale, one block per
// cycle.
//
// Contract: as ufp4_quantize_block, with RHT and stochastic rounding as configured. The random
// bytes of the n-th block since start are those of group_i in the cycle of the n-th group_take_o,
// in which the block leaves stage 1. A block with NaN or Inf gives the scale 0x7F (with e8m0 0xFF),
// codes 0 and out_nan_o. With amax no block comes out, and amax_valid_o presents the amax of each
// block (ufp4_e4m3_scale). With e8m0 the blocks are halves of blocks of 32, lower elements first,
// and both come out with the scale of the whole. The first half waits in stage 1 for the second, so
// that their scales are computed one right after the other. e8m0 excludes rht and amax.
// Mixed: also supports ELEM_MIXED, where each block takes the grid with the smaller error
// (ufp4_grid_choice), given by bit 7 of its scale. The first grid is quantized as E2M1, the second
// as E1M2 with t - 1, by a scale unit and dividers of its own.
// Latency: 18 cycles, with Mixed 21; a first half takes longer if its second half comes later than
// in the next cycle.
// Handshakes: valid/ready; the pipeline stops while the output waits. Configuration inputs are
// stable while anything is inside.
// Spec: numerics.md 3, 4. Tests: tests/rtl/quant, tests/rtl/vectors.
// Timed model: sim/src/timing/quant/quant_block.
module ufp4_quant_block #(
  parameter bit Mixed = 1'b0
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  ufp4_quant_pkg::job_t job_i,

  input  logic [63:0]       group_i,
  output logic              group_take_o,

  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [15:0][31:0] in_words_i,
  input  logic              in_last_i,    // travels with the block
  input  logic              in_blank_i,   // travels with the block

  output logic              amax_valid_o,
  output logic              amax_last_o,
  output logic              amax_clean_o, // neither zero nor NaN nor Inf
  output logic              amax_nan_o,
  output logic [8:0]        amax_power_o,
  output logic [27:0]       amax_normal_o,

  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [63:0]       out_codes_o,  // element i in bits 4i+3..4i
  output logic [7:0]        out_scale_o,
  output logic              out_last_o,
  output logic              out_blank_o,
  output logic              out_nan_o,
  output logic              out_saturated_o
);

  // Results of the stages: 1 largest exponent, 2-7 RHT, 8-9 largest magnitude, 10-12 scale, 13-17
  // quotients, 18 codes; with Mixed 18-20 the errors of both grids, 21 the better grid.
  localparam int unsigned STAGES = Mixed ? ufp4_spec_pkg::QUANT_BLOCK_STAGES_MIXED : ufp4_spec_pkg::QUANT_BLOCK_STAGES;
  localparam int unsigned AMAX_STAGE = ufp4_spec_pkg::QUANT_BLOCK_AMAX_STAGE;

  logic              advance;
  logic [STAGES:0]   valid_d, valid_q, last_d, last_q, blank_d, blank_q;
  logic [STAGES:1]   en;

  logic [10:1]       second_d, second_q;  // the stage holds a second half, and the next stage its first half
  logic              hold;

  // Control: valid_q[s] says that the registers of stage s hold a block.
  assign advance    = !valid_q[STAGES] || out_ready_i;
  assign in_ready_o = advance;
  assign hold       = job_i.e8m0 && valid_q[1] && !second_q[1] && !in_valid_i;

  always_comb begin
    valid_d  = valid_q;
    last_d   = last_q;
    blank_d  = blank_q;
    second_d = second_q;
    if (advance) begin
      valid_d = {valid_q[STAGES-1:0], 1'b0};
      valid_d[1] = in_valid_i || hold;
      if (hold) valid_d[2] = 1'b0;
      if (job_i.amax) valid_d[AMAX_STAGE+1] = 1'b0;
      last_d = {last_q[STAGES-1:0], 1'b0};
      last_d[1] = hold ? last_q[1] : in_last_i;
      blank_d = {blank_q[STAGES-1:0], 1'b0};
      blank_d[1] = hold ? blank_q[1] : in_blank_i;
      // The block that follows a first half is a second half.
      second_d = {second_q[9:1], job_i.e8m0 && in_valid_i && valid_q[1] && !second_q[1]};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= valid_d;
    last_q   <= last_d;
    blank_q  <= blank_d;
    second_q <= second_d;
  end

  assign en = !advance ? '0 : hold ? {valid_d[STAGES:2], 1'b0} : valid_d[STAGES:1];

  // Stages 1 to 9: the largest exponent of the block, at least 1; the transform; and the largest
  // magnitude, which is FP32 without the transform.
  logic [15:0][31:0] words_q, transformed;
  logic [10:1][7:0]  exponent_q;
  logic [30:0]       peak;
  logic [12:8][15:0][31:0] elements_q;  // elements on their way from the transform to the dividers

  // The exponent of a subnormal counts as 1.
  function automatic logic [7:0] largest_exponent(input logic [15:0][31:0] words);
    logic [7:0] node [32];
    for (int unsigned i = 0; i < 16; i++) node[16+i] = words[i][30:23];
    for (int unsigned n = 15; n > 0; n--) node[n] = node[2*n] > node[2*n+1] ? node[2*n] : node[2*n+1];
    return {node[1][7:1], node[1][0] || node[1][7:1] == 7'd0};
  endfunction

  ufp4_rht u_rht (
    .clk_i, .en_i(en[7:2]), .bypass_i(!job_i.rht), .mask_i(job_i.rht_mask), .exponent_i(exponent_q[1]),
    .words_i(words_q), .out_o(transformed)
  );

  ufp4_max16 #(.Width(31)) u_largest (
    .clk_i, .en_i(en[9:8]), .lanes_i(transformed), .largest_o(peak)
  );

  always_ff @(posedge clk_i) begin
    if (en[1]) begin
      words_q       <= in_words_i;
      exponent_q[1] <= largest_exponent(in_words_i);
    end
    for (int unsigned s = 2; s <= 10; s++) begin
      if (en[s]) exponent_q[s] <= exponent_q[s-1];
    end
    if (en[8]) elements_q[8] <= transformed;
    for (int unsigned s = 9; s <= 12; s++) begin
      if (en[s]) elements_q[s] <= elements_q[s-1];
    end
  end

  // Stages 10 to 12: the scale.
  logic        zero, saturated, mixed;
  logic [7:0]  elem;  // the first grid if the format is ELEM_MIXED
  logic [7:0]  scale, scale_e4m3, scale_e8m0;
  logic [3:0]  scale_sig, sig_e4m3;
  logic [8:0]  scale_base, base_e4m3, base_e8m0;

  assign mixed = Mixed && job_i.elem == ufp4_spec_pkg::ELEM_MIXED;
  assign elem  = mixed ? ufp4_spec_pkg::ELEM_E2M1 : job_i.elem;

  ufp4_e4m3_scale u_scale (
    .clk_i,
    .en_i             (en[12:10]),
    .rht_i            (job_i.rht),
    .elem_i           (elem),
    .up_i             (job_i.scale_up),
    .tensor_exponent_i(job_i.exponent),
    .exponent_i       (exponent_q[9]),
    .amax_i           (job_i.rht ? peak[27:0] : {peak[30:23] != 8'd0, peak[22:0], 4'd0}),
    .exponent_base_i  (exponent_q[10]),
    .zero_o           (zero),
    .power_o          (amax_power_o),
    .normal_o         (amax_normal_o),
    .scale_o          (scale_e4m3),
    .saturated_o      (saturated),
    .sig_o            (sig_e4m3),
    .base_o           (base_e4m3)
  );

  ufp4_e8m0_scale u_scale_e8m0 (
    .clk_i,
    .en_i    (en[12:11]),
    .join_i  (second_q[10]),
    .elem_i  (job_i.elem),
    .up_i    (job_i.scale_up),
    .power_i (amax_power_o),
    .normal_i(amax_normal_o),
    .scale_o (scale_e8m0),
    .base_o  (base_e8m0)
  );

  assign scale      = job_i.e8m0 ? scale_e8m0 : scale_e4m3;
  assign scale_sig  = job_i.e8m0 ? 4'd8 : sig_e4m3;
  assign scale_base = job_i.e8m0 ? base_e8m0 : base_e4m3;

  // The two kinds of blocks whose codes are 0.
  typedef struct packed {
    logic nan;
    logic zero;
  } kind_t;

  kind_t         kind, joined;
  kind_t [12:11] kind_q;

  assign kind   = '{nan: exponent_q[10] == 8'hFF, zero: zero};
  // The kind of a whole block of 32, from both halves.
  assign joined = '{nan: kind.nan || kind_q[11].nan, zero: kind.zero && kind_q[11].zero};

  assign amax_valid_o = valid_q[AMAX_STAGE] && job_i.amax;
  assign amax_last_o  = last_q[AMAX_STAGE];
  assign amax_nan_o   = kind.nan;
  assign amax_clean_o = !kind.nan && !kind.zero;

  // The scale byte and the kind travel beside the divider.
  typedef struct packed {
    logic       nan;
    logic       saturated;
    logic       empty;      // NaN or zero
    logic [7:0] scale;
    logic [3:0] sig;
  } result_t;

  result_t [STAGES:13] result_q;

  function automatic result_t result(input kind_t of, input logic [7:0] scale_byte, input logic over,
                                     input logic [3:0] divisor, input logic [7:0] nan_byte);
    result_t out;
    out.nan       = of.nan;
    out.empty     = of.nan || of.zero;
    out.saturated = over && !out.empty;
    out.scale     = of.nan ? nan_byte : of.zero ? 8'h00 : scale_byte;
    out.sig       = divisor;
    return out;
  endfunction

  logic [7:0] nan_scale;
  assign nan_scale = {job_i.e8m0, 7'h7F};

  always_ff @(posedge clk_i) begin
    if (en[11]) kind_q[11] <= second_q[10] ? joined : kind;
    if (en[12]) kind_q[12] <= second_q[10] ? joined : kind_q[11];
    if (en[13]) result_q[13] <= result(kind_q[12], scale, saturated && !job_i.e8m0, scale_sig, nan_scale);
    for (int unsigned s = 14; s <= STAGES; s++) begin
      if (en[s]) result_q[s] <= result_q[s-1];
    end
  end

  // Stages 2 to 17: the random bytes.
  logic [15:0][7:0] random;
  logic             draws;

  assign draws        = job_i.sr && !job_i.amax;
  assign group_take_o = en[2] && draws;

  ufp4_threefry u_threefry (
    .clk_i, .en_i(draws ? en[17:2] : 16'd0), .seed_i(job_i.seed), .tensor_id_i(job_i.tensor_id), .group_i,
    .stop_i(1'b0), .words_o(random)
  );

  // Stages 13 to 18: a divider for each element.
  logic [4:0][3:0]  sigs;
  logic [15:0][3:0] codes;
  logic [15:0][13:0] quotient;

  assign sigs = {result_q[16].sig, result_q[15].sig, result_q[14].sig, result_q[13].sig, scale_sig};

  ufp4_divide_round u_divide_round (
    .clk_i,
    .en_i     (en[18:13]),
    .rht_i    (job_i.rht),
    .elem_i   (elem),
    .sr_i     (job_i.sr),
    .payload_i(elements_q[12]),
    .base_i   (scale_base),
    .sig_i    (sigs),
    .random_i (random),
    .quotient_o(quotient),
    .codes_o  (codes)
  );

  if (Mixed) begin : gen_mixed
    // For blocks of other elements the registers of the second grid and of the choice hold, and the
    // dividers' inputs are zero because their first register lies behind the aligning shift. Two
    // stages move for every block: 10, which synthesis merges with that of the first grid, and 14,
    // where the longest path ends and whose input holds anyway.
    logic [20:11] own_en;
    assign own_en = mixed ? en[20:11] : '0;

    // Stages 10 to 12: the scale of the second grid. If t - 1 is no 16-bit number, both scales are
    // beyond all data anyway.
    logic [15:0] exponent;
    logic        own_saturated, unused_zero;
    logic [8:0]  own_base, unused_power;
    logic [27:0] unused_normal;
    logic [7:0]  own_scale;
    logic [3:0]  own_sig;

    assign exponent = job_i.exponent == 16'h8000 ? job_i.exponent : job_i.exponent - 16'd1;

    ufp4_e4m3_scale u_scale (
      .clk_i,
      .en_i             ({own_en[12:11], en[10]}),
      .rht_i            (job_i.rht),
      .elem_i           (ufp4_spec_pkg::ELEM_E1M2),
      .up_i             (job_i.scale_up),
      .tensor_exponent_i(exponent),
      .exponent_i       (exponent_q[9]),
      .amax_i           (job_i.rht ? peak[27:0] : {peak[30:23] != 8'd0, peak[22:0], 4'd0}),
      .exponent_base_i  (exponent_q[10]),
      .zero_o           (unused_zero),
      .power_o          (unused_power),
      .normal_o         (unused_normal),
      .scale_o          (own_scale),
      .saturated_o      (own_saturated),
      .sig_o            (own_sig),
      .base_o           (own_base)
    );

    // Stages 13 to 18: the dividers of the second grid.
    typedef struct packed {
      logic       saturated;
      logic       further;    // the scale of this grid has an exponent larger by one
      logic [6:0] scale;
      logic [3:0] sig;
    } other_t;

    other_t [20:13]    other_q;
    logic [4:0][3:0]   own_sigs;
    logic [15:0][13:0] own_quotient;
    logic [15:0][3:0]  own_codes;

    assign own_sigs = {other_q[16].sig, other_q[15].sig, other_q[14].sig, other_q[13].sig, own_sig};

    ufp4_divide_round u_divide_round (
      .clk_i,
      .en_i      ({own_en[18:15], en[14], own_en[13]}),
      .rht_i     (job_i.rht),
      .elem_i    (ufp4_spec_pkg::ELEM_E1M2),
      .sr_i      (job_i.sr),
      .payload_i (mixed ? elements_q[12] : '0),
      .base_i    (own_base),
      .sig_i     (own_sigs),
      .random_i  (random),
      .quotient_o(own_quotient),
      .codes_o   (own_codes)
    );

    // Stages 18 to 21: the errors of both, and the better grid's codes.
    logic [20:19][1:0][63:0] codes_q;
    logic                    better, second, out_saturated_q;
    logic [63:0]             out_codes_q;
    logic [7:0]              out_scale_q;

    ufp4_grid_choice u_choice (
      .clk_i,
      .en_i      (own_en[20:18]),
      .first_i   (1'b1),
      .quotient_i({own_quotient, quotient}),
      .sig_i     ({other_q[19].sig, result_q[19].sig}),
      .further_i (other_q[20].further),
      .second_o  (better)
    );
    assign second = mixed && better && !result_q[20].empty;

    always_ff @(posedge clk_i) begin
      if (en[13]) begin
        other_q[13] <= '{saturated: own_saturated, further: own_base[0] ^ base_e4m3[0], scale: own_scale[6:0],
                         sig: own_sig};
      end
      for (int unsigned s = 14; s <= 20; s++) begin
        if (en[s]) other_q[s] <= other_q[s-1];
      end
      if (en[19]) codes_q[19] <= {own_codes, codes};
      if (en[20]) codes_q[20] <= codes_q[19];
      if (en[21]) begin
        out_codes_q     <= codes_q[20][second];
        out_scale_q     <= second ? {1'b1, other_q[20].scale} : result_q[20].scale;
        out_saturated_q <= second ? other_q[20].saturated : result_q[20].saturated;
      end
    end

    assign out_saturated_o = out_saturated_q;
    assign out_scale_o     = out_scale_q;
    assign out_codes_o     = result_q[STAGES].empty ? 64'd0 : out_codes_q;

    logic unused_other;
    assign unused_other = ^{own_en[14], other_q[20].sig, own_scale[7], result_q[STAGES].scale,
                            result_q[STAGES].saturated};
  end else begin : gen_plain
    assign out_saturated_o = result_q[18].saturated;
    assign out_scale_o     = result_q[18].scale;
    assign out_codes_o     = result_q[18].empty ? 64'd0 : codes;

    logic unused_quotient;
    assign unused_quotient = ^quotient;
  end

  assign out_valid_o = valid_q[STAGES];
  assign out_last_o  = last_q[STAGES];
  assign out_blank_o = blank_q[STAGES];
  assign out_nan_o   = result_q[STAGES].nan;

  logic unused_stage;
  assign unused_stage = ^{valid_q[0], last_q[0], blank_q[0], result_q[STAGES-1].sig, result_q[STAGES].sig};

endmodule
