// SPDX-License-Identifier: Apache-2.0
// Block pipeline: 16 FP32 numbers in, 16 codes and an E4M3 or E8M0 scale out, one block a cycle.
//
// Contract: as ufp4_quantize_block, with RHT and stochastic rounding as configured; the random bytes of the
// n-th block since start are those of group_i at the time group_take_o is high for the n-th time. A block
// with NaN or Inf: scale 0x7F, codes 0, nan_o. With amax no block comes out; amax_valid_o shows each
// block's amax instead (ufp4_e4m3_scale).
// With e8m0 the blocks are halves of 32-blocks, the lower elements first: both come out with the scale of the
// whole. The first half waits in stage 1 for the second. Neither rht nor amax then.
// Latency: 15 cycles, of a first half one more. Handshakes: valid/ready; the pipe stands still while the output waits. Configuration
// inputs hold still while anything is inside.
// Spec: numerics.md 3, 4. Tests: tests/rtl/quant, tests/rtl/vectors. Timed model: sim/src/timing/quant/quant_block.
module ufp4_quant_block (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  ufp4_quant_pkg::job_t job_i,

  input  logic [63:0]       group_i,
  output logic              group_take_o,

  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [15:0][31:0] in_words_i,
  input  logic              in_last_i,    // travels with the block
  input  logic              in_blank_i,   // likewise

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

  // Registers after stage: 1 largest number, 2-5 RHT, 6 largest magnitude, 7-9 scale, 10-14 divide, 15 round.
  localparam int unsigned STAGES = ufp4_spec_pkg::QUANT_BLOCK_STAGES;
  localparam int unsigned AMAX_STAGE = ufp4_spec_pkg::QUANT_BLOCK_AMAX_STAGE;

  // What a block carries beside its elements, from stage 1 on.
  typedef struct packed {
    logic [7:0]  exponent;  // largest, at least 1
    logic        nan;
  } shape_t;

  logic              advance;
  logic [STAGES:0]   valid_d, valid_q, last_d, last_q, blank_d, blank_q;
  logic [STAGES:1]   en;

  logic              second_d, second_q;  // stage 1 holds the second half of a 32-block
  logic              hold, join_halves;

  // Control: valid_q[s] says that the registers of stage n hold a block.
  assign advance    = !valid_q[STAGES] || out_ready_i;
  assign in_ready_o = advance;
  assign hold       = job_i.e8m0 && valid_q[1] && !second_q && !in_valid_i;
  // The first half is in stage 2, so the second is in stage 1.
  assign join_halves = job_i.e8m0 && second_q;

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
      // What enters behind a first half is a second one.
      second_d = job_i.e8m0 && in_valid_i && valid_q[1] && !second_q;
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

  // Stages 1 and 6: the block's largest number as FP32 magnitude, then after the transform.
  logic [15:0][31:0] words_q, transformed;
  logic [30:0]       peak, peak2_d, peak2_q, peak3_d;
  logic [27:0]       peak_transformed;

  ufp4_max16 #(.Width(31)) u_largest (
    .clk_i, .en_i(en[1]), .lanes_i(in_words_i), .largest_o(peak)
  );

  always_ff @(posedge clk_i) begin
    if (en[1]) words_q <= in_words_i;
  end

  // That of a subnormal is 1.
  function automatic logic [7:0] exponent_of(input logic [7:0] field);
    return field == 8'd0 ? 8'd1 : field;
  endfunction

  // From here on both halves of a 32-block have the larger of their peaks.
  assign peak2_d = join_halves && peak2_q > peak ? peak2_q : peak;
  assign peak3_d = join_halves ? peak2_d : peak2_q;

  ufp4_rht u_rht (
    .clk_i, .en_i(en[5:2]), .bypass_i(!job_i.rht), .mask_i(job_i.rht_mask), .exponent_i(exponent_of(peak[30:23])),
    .words_i(words_q), .out_o(transformed)
  );

  ufp4_max16 #(.Width(28)) u_largest_transformed (
    .clk_i, .en_i(en[6]), .lanes_i(transformed), .largest_o(peak_transformed)
  );

  // Beside them: exponent and NaN, and the significand of the largest number for blocks without RHT.
  shape_t [8:3]      shape_q;
  logic [6:3][23:0]  significand_q;
  // The elements, from the transform to the divider.
  logic [15:0][31:0] elements6_q, elements7_q, elements8_q, elements9_q;

  always_ff @(posedge clk_i) begin
    if (en[2]) peak2_q <= peak2_d;
    if (en[3]) begin
      shape_q[3]       <= {exponent_of(peak3_d[30:23]), peak3_d[30:23] == 8'hFF};
      significand_q[3] <= {peak3_d[30:23] != 8'd0, peak3_d[22:0]};
    end
    for (int unsigned s = 4; s <= 8; s++) begin
      if (en[s]) shape_q[s] <= shape_q[s-1];
    end
    for (int unsigned s = 4; s <= 6; s++) begin
      if (en[s]) significand_q[s] <= significand_q[s-1];
    end
    if (en[6]) elements6_q <= transformed;
    if (en[7]) elements7_q <= elements6_q;
    if (en[8]) elements8_q <= elements7_q;
    if (en[9]) elements9_q <= elements8_q;
  end

  // Stages 7 to 9: the scale.
  logic        zero, saturated;
  logic [7:0]  scale, scale_e4m3, scale_e8m0;
  logic [3:0]  scale_sig, sig_e4m3;
  logic [8:0]  scale_base, base_e4m3, base_e8m0;

  ufp4_e4m3_scale u_scale (
    .clk_i,
    .en_i             (en[9:7]),
    .rht_i            (job_i.rht),
    .elem_i           (job_i.elem),
    .up_i             (job_i.scale_up),
    .tensor_exponent_i(job_i.exponent),
    .exponent_i       (shape_q[6].exponent),
    .amax_i           (job_i.rht ? peak_transformed : {significand_q[6], 4'd0}),
    .exponent_base_i  (shape_q[8].exponent),
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
    .en_i    (en[9:8]),
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

  assign amax_valid_o = valid_q[AMAX_STAGE] && job_i.amax;
  assign amax_last_o  = last_q[AMAX_STAGE];
  assign amax_nan_o   = shape_q[7].nan;
  assign amax_clean_o = !shape_q[7].nan && !zero;

  // Beside the divider: the scale byte, and the two kinds of blocks whose codes are 0.
  typedef struct packed {
    logic nan;
    logic zero;
  } kind_t;

  typedef struct packed {
    logic       nan;
    logic       saturated;
    logic       empty;      // NaN or zero
    logic [7:0] scale;
    logic [3:0] sig;
  } result_t;

  kind_t   [9:8]   kind_q;
  result_t [15:10] result_q;

  function automatic result_t result(input kind_t kind, input logic [7:0] scale_byte, input logic over,
                                     input logic [3:0] divisor, input logic [7:0] nan_byte);
    result_t out;
    out.nan       = kind.nan;
    out.empty     = kind.nan || kind.zero;
    out.saturated = over && !out.empty;
    out.scale     = kind.nan ? nan_byte : kind.zero ? 8'h00 : scale_byte;
    out.sig       = divisor;
    return out;
  endfunction

  logic [7:0] nan_scale;
  assign nan_scale = {job_i.e8m0, 7'h7F};

  always_ff @(posedge clk_i) begin
    if (en[8]) kind_q[8] <= {shape_q[7].nan, zero};
    if (en[9]) kind_q[9] <= kind_q[8];
    if (en[10]) result_q[10] <= result(kind_q[9], scale, saturated && !job_i.e8m0, scale_sig, nan_scale);
    for (int unsigned s = 11; s <= 15; s++) begin
      if (en[s]) result_q[s] <= result_q[s-1];
    end
  end

  // The random bytes, ready for stage 15.
  logic [15:0][7:0] random;

  assign group_take_o = en[8] && job_i.sr;

  ufp4_threefry u_threefry (
    .clk_i, .en_i(job_i.sr ? en[14:8] : 7'd0), .seed_i(job_i.seed), .tensor_id_i(job_i.tensor_id), .group_i,
    .words_o(random)
  );

  // Stages 10 to 15: a divider for each element.
  logic [4:0][3:0]  sigs;
  logic [15:0][3:0] codes;

  assign sigs = {result_q[13].sig, result_q[12].sig, result_q[11].sig, result_q[10].sig, scale_sig};

  ufp4_divide_round u_divide_round (
    .clk_i,
    .en_i     (en[15:10]),
    .rht_i    (job_i.rht),
    .elem_i   (job_i.elem),
    .sr_i     (job_i.sr),
    .payload_i(elements9_q),
    .base_i   (scale_base),
    .sig_i    (sigs),
    .random_i (random),
    .codes_o  (codes)
  );

  assign out_valid_o     = valid_q[STAGES];
  assign out_last_o      = last_q[STAGES];
  assign out_blank_o     = blank_q[STAGES];
  assign out_nan_o       = result_q[15].nan;
  assign out_saturated_o = result_q[15].saturated;
  assign out_scale_o     = result_q[15].scale;
  assign out_codes_o     = result_q[15].empty ? 64'd0 : codes;

  logic unused_stage;
  assign unused_stage = ^{valid_q[0], last_q[0], blank_q[0], result_q[14].sig, result_q[15].sig};

endmodule
