// SPDX-License-Identifier: Apache-2.0
// Block pipeline of the narrow engine, for both copies: takes eight pairs of FP32 numbers per block
// and gives 16 codes and an E4M3 or E8M0 scale, at one pair per cycle.
//
// Contract: as ufp4_quant_block, except for the inputs that depend on the copy of the block: rht,
// exponent and tensor_id are those of its copy, and group_i is taken in the cycle of group_take_o
// for that copy. amax_copy_o belongs to amax_valid_o, out_copy_o to out_valid_o. A block waits in a
// memory until its largest number is known (with e8m0 that of both halves of a block of 32), passes
// the transform, waits in a second memory for its scale, and passes two dividers. All beats move
// together and stop together while the output waits; beat_q[n] is the pair that was read from the
// first memory n cycles ago.
// Mixed: also supports ELEM_MIXED as ufp4_quant_block does, with a scale unit and two dividers for
// the second grid. The codes of both grids wait until all eight pairs have been seen, so blocks of
// every format take two cycles more. memory_error_o, a pulse, reports the parity of the two
// memories.
// Spec: numerics.md 3, 4. Test: tests/rtl/quant (inside the engine).
// Timed model: sim/src/timing/quant/quant_serial.
module ufp4_quant_serial_block #(
  parameter bit Mixed = 1'b0
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             start_i,
  input  ufp4_quant_pkg::job_t [1:0] job_i,

  input  logic [1:0][63:0] group_i,
  output logic [1:0]       group_take_o,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [1:0][31:0] in_words_i,
  input  logic             in_copy_i,
  input  logic             in_last_i,
  input  logic             in_blank_i,

  output logic             amax_valid_o,
  output logic             amax_copy_o,
  output logic             amax_last_o,
  output logic             amax_clean_o, // neither zero nor NaN nor Inf
  output logic             amax_nan_o,
  output logic [8:0]       amax_power_o,
  output logic [27:0]      amax_normal_o,

  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic             out_copy_o,
  output logic [63:0]      out_codes_o,  // element i in bits 4i+3..4i
  output logic [7:0]       out_scale_o,
  output logic             out_last_o,
  output logic             out_blank_o,
  output logic             out_nan_o,
  output logic             out_saturated_o,
  output logic             memory_error_o
);

  // The number of cycles after the read of a pair at which each step begins with that pair. A step
  // that takes a whole block begins with the last pair.
  localparam int unsigned SCALE  = ufp4_spec_pkg::QUANT_SERIAL_SCALE_STAGE;  // the largest is known; takes three cycles
  localparam int unsigned STORE  = SCALE - 1;   // the pair is transformed
  localparam int unsigned ALIGN  = STORE - 13;
  localparam int unsigned PLAIN  = ufp4_spec_pkg::QUANT_SERIAL_STAGES;
  localparam int unsigned OUT    = Mixed ? ufp4_spec_pkg::QUANT_SERIAL_STAGES_MIXED : PLAIN;
  localparam int unsigned CODES  = PLAIN - 1;
  localparam int unsigned ROUND  = CODES - 1;
  localparam int unsigned DIVIDE = ROUND - 5;   // first pair: the scale is known, SCALE + 3 after the last pair's read
  localparam int unsigned FETCH  = DIVIDE - 1;
  localparam int unsigned RANDOM = ROUND - 9;   // eight cycles and one to take the bytes, which ends just before ROUND

  typedef struct packed {
    logic       valid;
    logic       copy;
    logic [2:0] k;
  } beat_t;

  // Settings that both copies share; the others are looked up by copy.
  ufp4_quant_pkg::job_t job;
  assign job = job_i[0];

  logic              advance;
  beat_t             beat_issue;
  beat_t [OUT:1]     beat_q;
  logic [OUT:1]      ends;               // the last beat of a block

  assign advance = !ends[OUT] || out_ready_i;

  for (genvar n = 1; n <= OUT; n++) begin : gen_end
    assign ends[n] = beat_q[n].valid && beat_q[n].k == 3'd7;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
    end else if (advance) begin
      beat_q <= {beat_q[OUT-1:1], beat_issue};
      if (job.amax) beat_q[SCALE+3] <= '0;
    end
  end

  // --- Blocks wait for their largest number ------------------------------------------------------

  // There are two places, each for a block or a block of 32.
  typedef struct packed {
    logic [30:0] peak;   // largest magnitude
    logic        copy;
    logic        last;
    logic [1:0]  blank;  // by half
  } block_t;

  logic             w_take, w_place_d, w_place_q, w_half_d, w_half_q, r_place_d, r_place_q, r_half_d, r_half_q;
  logic [2:0]       w_k_d, w_k_q, r_k_d, r_k_q;
  logic             w_end, r_end, first_blank_d, first_blank_q, issue;
  logic [1:0]       full_d, full_q;
  logic [30:0]      peak, peak_q;
  block_t [1:0]     block_q;
  logic [1:0][31:0] words;
  logic [1:0]       error;

  assign in_ready_o = !full_q[w_place_q];
  assign w_take     = in_valid_i && in_ready_o;
  assign w_end      = w_take && w_k_q == 3'd7 && w_half_q == job.e8m0;
  assign issue      = full_q[r_place_q] && advance;
  assign r_end      = issue && r_k_q == 3'd7 && r_half_q == job.e8m0;
  assign beat_issue = '{valid: issue, copy: block_q[r_place_q].copy, k: issue ? r_k_q : 3'd0};

  function automatic logic [30:0] larger(input logic [30:0] a, input logic [30:0] b);
    return a > b ? a : b;
  endfunction

  always_comb begin
    w_k_d     = w_k_q + 3'(w_take);
    w_half_d  = w_half_q ^ (w_take && w_k_q == 3'd7 && job.e8m0);
    w_place_d = w_place_q ^ w_end;
    r_k_d     = r_k_q + 3'(issue);
    r_half_d  = r_half_q ^ (issue && r_k_q == 3'd7 && job.e8m0);
    r_place_d = r_place_q ^ r_end;
    full_d    = full_q;
    if (w_end) full_d[w_place_q] = 1'b1;
    if (r_end) full_d[r_place_q] = 1'b0;
    if (start_i) begin
      {w_k_d, w_half_d, r_k_d, r_half_d} = '0;
    end
    first_blank_d = w_take && !w_half_q ? in_blank_i : first_blank_q;
    peak          = larger(in_words_i[0][30:0], in_words_i[1][30:0]);
    if (w_k_q != 3'd0 || w_half_q) peak = larger(peak, peak_q);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      full_q    <= '0;
      w_place_q <= 1'b0;
      r_place_q <= 1'b0;
    end else begin
      full_q    <= full_d;
      w_place_q <= w_place_d;
      r_place_q <= r_place_d;
    end
    w_k_q         <= w_k_d;
    w_half_q      <= w_half_d;
    r_k_q         <= r_k_d;
    r_half_q      <= r_half_d;
    first_blank_q <= first_blank_d;
    if (w_take) peak_q <= peak;
    if (w_end) begin
      block_q[w_place_q] <= '{peak: peak, copy: in_copy_i, last: in_last_i, blank: {in_blank_i, first_blank_d}};
    end
  end

  ufp4_sram_checked #(
    .Width(64),
    .Depth(32)
  ) u_blocks (
    .clk_i,
    .we_i   (w_take),
    .waddr_i({w_place_q, w_half_q, w_k_q}),
    .wdata_i(in_words_i),
    .re_i   (issue),
    .raddr_i({r_place_q, r_half_q, r_k_q}),
    .rdata_o(words),
    .error_o(error[0])
  );

  // Attributes of a block from its read until its scale is made; up to three blocks are in between.
  typedef struct packed {
    logic [30:0] peak;
    logic        last;
    logic        blank;
  } shape_t;

  // The exponent of a subnormal counts as 1.
  function automatic logic [7:0] exponent_of(input logic [7:0] field);
    return field == 8'd0 ? 8'd1 : field;
  endfunction

  logic [1:0] w_shape_q, r_shape_q;
  logic [7:0] exponent_q;
  shape_t     shapes [4];
  shape_t     shape;

  assign shape = shapes[r_shape_q];

  always_ff @(posedge clk_i) begin
    if (issue) exponent_q <= exponent_of(block_q[r_place_q].peak[30:23]);
    if (issue && r_k_q == 3'd7) begin
      shapes[w_shape_q] <= '{peak: block_q[r_place_q].peak, last: block_q[r_place_q].last && r_half_q == job.e8m0,
                             blank: block_q[r_place_q].blank[r_half_q]};
    end
    if (start_i) begin
      w_shape_q <= '0;
      r_shape_q <= '0;
    end else if (advance) begin
      w_shape_q <= w_shape_q + 2'(issue && r_k_q == 3'd7);
      r_shape_q <= r_shape_q + 2'(ends[SCALE+2]);
    end
  end

  // --- Transform, and the largest magnitude after it ---------------------------------------------

  logic [12:0][2:0] rht_k;
  logic [12:0]      rht_here;
  logic [1:0][31:0] transformed;
  logic [27:0]      pair_peak, amax_q;

  for (genvar n = 0; n < 13; n++) begin : gen_rht
    assign rht_k[n]    = beat_q[ALIGN+n].k;
    assign rht_here[n] = job_i[beat_q[ALIGN+n].copy].rht;
  end

  ufp4_rht_pairs u_rht (
    .clk_i,
    .en_i      (advance),
    .k_i       (rht_k),
    .rht_i     (rht_here),
    .mask_i    (job.rht_mask),
    .exponent_i(exponent_q),
    .words_i   (words),
    .out_o     (transformed)
  );

  assign pair_peak = transformed[0][27:0] > transformed[1][27:0] ? transformed[0][27:0] : transformed[1][27:0];

  always_ff @(posedge clk_i) begin
    if (advance && (beat_q[STORE].k == 3'd0 || pair_peak > amax_q)) amax_q <= pair_peak;
  end

  // --- Scale -------------------------------------------------------------------------------------

  logic [2:0]  scale_en;
  logic        scale_rht, scale_copy, zero, saturated;
  logic [7:0]  scale_e4m3, scale_e8m0, elem;  // elem: the first grid if the format is ELEM_MIXED
  logic [27:0] amax;
  logic [3:0]  sig_e4m3, sig;
  logic [8:0]  base_e4m3, base_e8m0, base;
  logic        nan, mixed;

  assign mixed      = Mixed && job.elem == ufp4_spec_pkg::ELEM_MIXED;
  assign elem       = mixed ? ufp4_spec_pkg::ELEM_E2M1 : job.elem;
  assign scale_en   = advance ? {ends[SCALE+2], ends[SCALE+1], ends[SCALE]} : '0;
  // The three cycles of a block end before those of the next one begin.
  assign scale_copy = ends[SCALE] ? beat_q[SCALE].copy : ends[SCALE+1] ? beat_q[SCALE+1].copy : beat_q[SCALE+2].copy;
  assign scale_rht  = job_i[scale_copy].rht;
  assign nan        = shape.peak[30:23] == 8'hFF;
  assign amax       = scale_rht ? amax_q : {shape.peak[30:23] != 8'd0, shape.peak[22:0], 4'd0};

  ufp4_e4m3_scale u_scale (
    .clk_i,
    .en_i             (scale_en),
    .rht_i            (scale_rht),
    .elem_i           (elem),
    .up_i             (job.scale_up),
    .tensor_exponent_i(job_i[scale_copy].exponent),
    .exponent_i       (exponent_of(shape.peak[30:23])),
    .amax_i           (amax),
    .exponent_base_i  (exponent_of(shape.peak[30:23])),
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
    .en_i    (scale_en[2:1]),
    .join_i  (1'b0),
    .elem_i  (job.elem),
    .up_i    (job.scale_up),
    .power_i (amax_power_o),
    .normal_i(amax_normal_o),
    .scale_o (scale_e8m0),
    .base_o  (base_e8m0)
  );

  assign sig  = job.e8m0 ? 4'd8 : sig_e4m3;
  assign base = job.e8m0 ? base_e8m0 : base_e4m3;

  assign amax_valid_o = ends[SCALE+1] && job.amax && advance;
  assign amax_copy_o  = beat_q[SCALE+1].copy;
  assign amax_last_o  = shape.last;
  assign amax_nan_o   = nan;
  assign amax_clean_o = !nan && !zero;

  // Attributes beside the scale, then until the codes are complete.
  typedef struct packed {
    logic last;
    logic blank;
    logic nan;
    logic zero;
  } kind_t;

  kind_t      kind_q, out_kind_q;
  logic [7:0] out_scale_q;
  logic       out_over_q;

  always_ff @(posedge clk_i) begin
    if (scale_en[2]) kind_q <= '{last: shape.last, blank: shape.blank, nan: nan, zero: zero};
    if (advance && ends[DIVIDE]) begin
      out_kind_q  <= kind_q;
      out_scale_q <= job.e8m0 ? scale_e8m0 : scale_e4m3;
      out_over_q  <= saturated && !job.e8m0;
    end
  end

  // --- Blocks wait for their scale ---------------------------------------------------------------

  logic             store_place_q, fetch_place_q;
  logic [1:0][31:0] fetched;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      store_place_q <= 1'b0;
      fetch_place_q <= 1'b0;
    end else if (advance) begin
      store_place_q <= store_place_q ^ ends[STORE];
      fetch_place_q <= fetch_place_q ^ ends[FETCH];
    end
  end

  ufp4_sram_checked #(
    .Width(64),
    .Depth(16)
  ) u_transformed (
    .clk_i,
    .we_i   (advance && beat_q[STORE].valid && !job.amax),
    .waddr_i({store_place_q, beat_q[STORE].k}),
    .wdata_i(transformed),
    .re_i   (advance && beat_q[FETCH].valid),
    .raddr_i({fetch_place_q, beat_q[FETCH].k}),
    .rdata_o(fetched),
    .error_o(error[1])
  );

  assign memory_error_o = |error;

  // --- Random bytes: made during one block, used during the next ---------------------------------

  logic [7:0]       random_en_q;
  logic [127:0]     made;
  logic [1:0][63:0] random_q;  // bytes for elements 0 to 7 and 8 to 15

  always_comb begin
    group_take_o = '0;
    group_take_o[beat_q[RANDOM].copy] = advance && job.sr && beat_q[RANDOM].valid && beat_q[RANDOM].k == 3'd0;
  end

  // The step of Threefry for the beat at RANDOM.
  always_ff @(posedge clk_i) begin
    if (advance) random_en_q <= 8'(job.sr && beat_q[RANDOM-1].valid) << beat_q[RANDOM-1].k;
  end

  ufp4_threefry #(
    .Shared(1'b1)
  ) u_threefry (
    .clk_i,
    .en_i       (random_en_q),
    .stop_i     (!advance),
    .seed_i     (job.seed),
    .tensor_id_i(job_i[beat_q[RANDOM].copy].tensor_id),
    .group_i    (group_i[beat_q[RANDOM].copy]),
    .words_o    (made)
  );

  always_ff @(posedge clk_i) begin
    if (advance && job.sr) begin
      random_q <= ends[RANDOM+1] ? made : {{8'd0, random_q[1][63:8]}, {8'd0, random_q[0][63:8]}};
    end
  end

  // --- Two dividers ------------------------------------------------------------------------------

  logic [4:1][3:0] sig_q;
  logic [1:0][3:0] codes;
  logic [1:0][13:0] quotient;

  always_ff @(posedge clk_i) begin
    if (advance) sig_q <= {sig_q[3:1], sig};
  end

  ufp4_divide_round #(
    .Lanes(2)
  ) u_divide_round (
    .clk_i,
    .en_i     ({6{advance}}),
    .rht_i    (job_i[beat_q[DIVIDE].copy].rht),
    .elem_i   (elem),
    .sr_i     (job.sr),
    .payload_i(fetched),
    .base_i   (base),
    .sig_i    ({sig_q, sig}),
    .random_i ({random_q[1][7:0], random_q[0][7:0]}),
    .quotient_o(quotient),
    .codes_o  (codes)
  );

  // --- Outputs -----------------------------------------------------------------------------------

  kind_t       out_kind;
  logic [7:0]  out_scale;
  logic        out_over;
  logic [63:0] out_codes;

  if (Mixed) begin : gen_mixed
    if (OUT != PLAIN + 2) begin : gen_check_stages
      $error("ufp4_quant_serial_block: QUANT_SERIAL_STAGES_MIXED must be QUANT_SERIAL_STAGES + 2");
    end

    // Registers that are loaded at DIVIDE hold for eight cycles.
    if (OUT - 1 > DIVIDE + 8) begin : gen_check_scale
      $error("ufp4_quant_serial_block: both grids' scales must stay until the choice");
    end

    kind_t chosen_kind_q;

    always_ff @(posedge clk_i) begin
      if (advance && ends[OUT-1]) chosen_kind_q <= out_kind_q;
    end
    assign out_kind = chosen_kind_q;

    ufp4_quant_serial_mixed u_mixed (
      .clk_i,
      .scale_en_i       (scale_en),
      .scale_rht_i      (scale_rht),
      .scale_up_i       (job.scale_up),
      .tensor_exponent_i(job_i[scale_copy].exponent),
      .exponent_i       (exponent_of(shape.peak[30:23])),
      .amax_i           (amax),
      .advance_i        (advance),
      .rht_i            (job_i[beat_q[DIVIDE].copy].rht),
      .sr_i             (job.sr),
      .payload_i        (fetched),
      .random_i         ({random_q[1][7:0], random_q[0][7:0]}),
      .quotient_i       (quotient),
      .codes_i          (codes),
      .pair_i           ({beat_q[OUT-1].valid, beat_q[CODES].valid, beat_q[ROUND].valid}),
      .first_i          (beat_q[CODES].k == 3'd0),
      .last_i           ({ends[OUT-1], ends[OUT-2], ends[DIVIDE]}),
      .mixed_i          (mixed),
      .scale_i          (out_scale_q),
      .saturated_i      (out_over_q),
      .scale_o          (out_scale),
      .saturated_o      (out_over),
      .codes_o          (out_codes)
    );
  end else begin : gen_plain
    logic [1:0][7:0][3:0] codes_q;  // by half

    always_ff @(posedge clk_i) begin
      if (advance && beat_q[CODES].valid) begin
        for (int unsigned i = 0; i < 2; i++) codes_q[i] <= {codes[i], codes_q[i][7:1]};
      end
    end

    assign out_kind  = out_kind_q;
    assign out_scale = out_scale_q;
    assign out_over  = out_over_q;
    assign out_codes = codes_q;

    logic unused_quotient;
    assign unused_quotient = ^quotient;
  end

  assign out_valid_o     = ends[OUT];
  assign out_copy_o      = beat_q[OUT].copy;
  assign out_codes_o     = out_kind.nan || out_kind.zero ? 64'd0 : out_codes;
  assign out_scale_o     = out_kind.nan ? {job.e8m0, 7'h7F} : out_kind.zero ? 8'h00 : out_scale;
  assign out_last_o      = out_kind.last;
  assign out_blank_o     = out_kind.blank;
  assign out_nan_o       = out_kind.nan;
  assign out_saturated_o = out_over && !out_kind.nan && !out_kind.zero;

  logic unused;
  assign unused = ^{beat_q, ends, job, job_i[1]};

endmodule
