// SPDX-License-Identifier: Apache-2.0
// QUANT engine: one read of a row-major tensor gives its row copy, its column copy or both,
// quantized and panel-major. AMAX makes the same walk and gives the tensor exponents of the copies.
//
// Contract: as ufp4_quantize and ufp4_tensor_exponent for each copy. desc_i is valid, and with the
// exponents stable, from start until done. Errors of the bus and of memories are sticky: the engine
// ends after the strip that it reads (after both, with E8M0 scales). done comes when every read has
// returned and every write is answered. Bytes outside the units of the copies are never written.
// With E8M0 scales a block has 32 elements: tiles are 32x32, and their rows and columns pass in
// halves of 16.
// Width: numbers per cycle. With 16 each copy has a pipeline of its own. With 2, for a bus of 8
// bytes, both copies share a far smaller one. With 64, for a bus of 128 bytes, the pipelines take
// four tiles side by side (FP32: the two that a beat brings; E8M0 scales: one).
// Mixed: also quantizes to ELEM_MIXED.
// Throughput: a 16x16 tile (or the tiles side by side) takes 16 cycles for both copies, and with
// Width 2 128 cycles per copy, if memory is fast enough. Source rows are read in segments of
// SegBytes, and Chunks times 16 segments are in flight or buffered: the least that keeps up with
// FP32 at a latency of 200 cycles on a 64-byte bus (92 % there, 97 % at 100), and with E8M0 scales
// on a 16-byte bus.
// Spec: numerics.md 1 to 4, docs/ip/architecture.md. Test: tests/rtl/quant.
// Timed model: sim/src/timing/quant/quant.
module ufp4_quant #(
  parameter int unsigned BusBytes = 64,
  parameter int unsigned SegBytes = BusBytes > 64 ? 256 : 128,
  parameter int unsigned Chunks = BusBytes >= 16 ? 8 : 4,
  parameter int unsigned Width = 16,
  parameter bit Mixed = 1'b0,
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned DataW = 8 * BusBytes
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  logic                             start_valid_i,
  output logic                             start_ready_o,
  input  ufp4_spec_pkg::quant_descriptor_t desc_i,
  input  logic [15:0]                      row_exponent_i,
  input  logic [15:0]                      col_exponent_i,

  output logic [16:0]                      panels_o,  // row groups of the row copy in memory from the next cycle on
  output logic                             done_valid_o,
  output logic                             done_read_error_o,
  output logic                             done_write_error_o,
  output logic                             done_memory_error_o,
  output logic [2:0]                       done_flags_o,
  output logic [15:0]                      done_row_exponent_o,
  output logic [15:0]                      done_col_exponent_o,

  output ufp4_memory_pkg::request_t        rd_req_o,
  input  ufp4_memory_pkg::read_response_t  rd_rsp_i,
  output logic                             rd_rsp_ready_o,
  input  logic [DataW-1:0]                 rd_rsp_data_i,

  output ufp4_memory_pkg::request_t        wr_req_o,
  input  ufp4_memory_pkg::write_response_t wr_rsp_i,
  output logic                             wr_dat_valid_o,
  output logic [DataW-1:0]                 wr_dat_data_o,
  output logic [BusBytes-1:0]              wr_dat_strb_o
);

  import ufp4_spec_pkg::*;

  localparam int unsigned BUS_W   = $clog2(BusBytes);
  localparam int unsigned LANES   = Width > 16 ? Width / 16 : 1;

  if (SegBytes < 2 * BusBytes || SegBytes < 128 || SegBytes > 256 * BusBytes || SegBytes != (1 << $clog2(SegBytes)))
  begin : gen_check_segment
    $error("ufp4_quant: SegBytes must be a power of two from 128, of 2 to 256 beats");
  end
  if (Chunks < 2 || Chunks != (1 << $clog2(Chunks))) begin : gen_check_chunks
    $error("ufp4_quant: Chunks must be a power of two from 2");
  end

  // --- Fields of the descriptor, decoded once, in the cycle after start --------------------------

  logic        start;                    // starts everything below, a cycle after setup
  logic        setup, amax_q, f32_q, e8m0_q;
  logic [1:0]  enable_q, rht_q;          // bit 0: row copy, bit 1: column copy
  logic [20:0] rows_q, cols_q;
  logic [16:0] row_tiles_q, col_tiles_q; // blocks along a row; along a column
  logic [19:0] row_beats_q;
  logic [22:0] row_bytes;
  logic        e8m0;
  logic [16:0] row_tiles, col_tiles;
  logic [1:0][21:0] strip_blocks_q;      // per 16 rows and per 16 columns of the tensor (32 with E8M0)
  logic [1:0][32:0] stride_q;            // in blocks, to the next row group (with E8M0 to the second next)

  assign e8m0      = desc_i.opcode == OPCODE_QUANT && desc_i.scale == SCALE_E8M0;
  assign row_tiles = 17'((desc_i.cols[20:0] + 21'd15) >> 4);
  assign col_tiles = 17'((desc_i.rows[20:0] + 21'd15) >> 4);
  assign row_bytes = desc_i.src_dtype == DTYPE_F32 ? {desc_i.cols[20:0], 2'b00} : {1'b0, desc_i.cols[20:0], 1'b0};

  always_ff @(posedge clk_i) begin
    if (setup) begin
      amax_q         <= desc_i.opcode == OPCODE_AMAX;
      f32_q          <= desc_i.src_dtype == DTYPE_F32;
      e8m0_q         <= e8m0;
      enable_q       <= {desc_i.col_mode[MODE_ENABLE_BIT], desc_i.row_mode[MODE_ENABLE_BIT]};
      rht_q          <= {desc_i.col_mode[MODE_RHT_BIT], desc_i.row_mode[MODE_RHT_BIT]};
      rows_q         <= desc_i.rows[20:0];
      cols_q         <= desc_i.cols[20:0];
      row_tiles_q    <= row_tiles;
      col_tiles_q    <= col_tiles;
      strip_blocks_q <= {22'({col_tiles, 4'd0}) << e8m0, 22'({row_tiles, 4'd0}) << e8m0};
      stride_q       <= {33'(desc_i.col_stride_blocks) << e8m0, 33'(desc_i.row_stride_blocks) << e8m0};
      row_beats_q    <= 20'((row_bytes + 23'(BusBytes - 1)) >> BUS_W);
    end
  end

  // The command unit checks the rest of the descriptor.
  logic unused_desc;
  assign unused_desc = ^desc_i;

  // --- Control -----------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    Idle,
    Setup,   // decodes the fields of the descriptor
    Start,
    Run,     // until both copies have left the pipelines
    Settle,  // the write master sees the last request
    Drain,   // until all writes are answered
    Done
  } state_e;

  state_e     state_d, state_q;
  logic [1:0] finished;
  logic       read_error, read_error_d, read_error_q, write_error_d, write_error_q;
  logic       strip_error, blocks_error, write_memory_error, memory_error_d, memory_error_q;

  assign start_ready_o = state_q == Idle;
  assign setup         = state_q == Setup;
  assign start         = state_q == Start;
  assign done_valid_o  = state_q == Done;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle:    if (start_valid_i) state_d = Setup;
      Setup:   state_d = Start;
      Start:   state_d = Run;
      Run:     if (&(finished | ~enable_q)) state_d = Settle;
      Settle:  state_d = Drain;
      Drain:   if (wr_rsp_i.idle) state_d = Done;
      Done:    state_d = Idle;
      default: state_d = Idle;
    endcase
    read_error_d  = !start && (read_error_q || read_error);
    write_error_d = !start && (write_error_q || wr_rsp_i.err);
    memory_error_d = !start && (memory_error_q || strip_error || blocks_error || write_memory_error);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
    read_error_q  <= read_error_d;
    write_error_q <= write_error_d;
    memory_error_q <= memory_error_d;
  end

  assign done_read_error_o  = read_error_q;
  assign done_write_error_o = write_error_q;
  assign done_memory_error_o = memory_error_q;

  // --- Read requests for the source --------------------------------------------------------------

  logic       free, loading;
  logic [4:0] strips;

  ufp4_quant_load #(
    .BusBytes(BusBytes),
    .SegBytes(SegBytes),
    .Chunks  (Chunks)
  ) u_load (
    .clk_i,
    .rst_ni,
    .pair_i        (e8m0_q),
    .start_i       (start),
    .addr_i        (desc_i.src_addr[AddrW-1:0]),
    .stride_bytes_i(desc_i.src_stride_bytes),
    .rows_i        (rows_q),
    .row_beats_i   (row_beats_q),
    .free_i        (free),
    .stop_i        (read_error_q || write_error_q || memory_error_q),
    .loading_o     (loading),
    .strips_o      (strips),
    .rd_req_o,
    .rd_req_ready_i(rd_rsp_i.req_ready)
  );

  // --- Blocks to codes and scales ----------------------------------------------------------------

  logic                        strip_end;
  logic [1:0]                  out_valid, out_ready, out_last, out_blank, nan, saturated, amax_done;
  logic [1:0]                  index_step, write_done;
  logic [1:0][LANES-1:0][63:0] out_codes;
  logic [1:0][LANES-1:0][7:0]  out_scale;
  ufp4_quant_pkg::unit_t [1:0] index;
  logic [1:0][15:0]            t_found;
  ufp4_quant_pkg::job_t [1:0]  job;        // settings by copy
  ufp4_quant_pkg::steps_t [1:0] steps;
  logic [16:0]                 tiles;      // tiles along a row: 16x16, with E8M0 32x32
  logic [1:0]                  side;       // log2 of the tiles that pass side by side
  logic [16:0]                 groups;     // groups of such tiles along a row

  for (genvar c = 0; c < 2; c++) begin : gen_job
    assign job[c] = '{
      amax:      amax_q,
      rht:       rht_q[c],
      rht_mask:  desc_i.rht_mask,
      elem:      desc_i.elem,
      sr:        desc_i.round == ROUND_SR,
      scale_up:  desc_i.scale_round == SCALE_ROUND_UP,
      e8m0:      e8m0_q,
      exponent:  c == 0 ? row_exponent_i : col_exponent_i,
      seed:      desc_i.seed,
      tensor_id: c == 0 ? desc_i.row_tensor_id : desc_i.col_tensor_id
    };
  end

  assign tiles  = e8m0_q ? 17'((row_tiles_q + 17'd1) >> 1) : row_tiles_q;
  assign side   = LANES == 1 || e8m0_q ? 2'd0 : f32_q ? 2'd1 : 2'd2;
  assign groups = (tiles + (17'd1 << side) - 17'd1) >> side;

  // The counter of the random bytes is row * blocks + block, and 32x32 tiles are twice as far
  // apart. The number of the unit of a tile is group * stride + block, and a 32x32 tile has two
  // groups of two blocks.
  assign steps[0] = '{
    row:        ufp4_quant_pkg::group_t'(row_tiles_q),
    lane:       ufp4_quant_pkg::group_t'(1) << e8m0_q,
    tile:       ufp4_quant_pkg::group_t'(1) << e8m0_q << side,
    strip:      ufp4_quant_pkg::group_t'(strip_blocks_q[0]),
    unit_group: ufp4_quant_pkg::unit_t'(desc_i.row_stride_blocks),
    unit_tile:  ufp4_quant_pkg::unit_t'(1) << e8m0_q << side,
    unit_strip: ufp4_quant_pkg::unit_t'(stride_q[0])
  };
  assign steps[1] = '{
    row:        ufp4_quant_pkg::group_t'(col_tiles_q),
    lane:       ufp4_quant_pkg::group_t'(strip_blocks_q[1]),
    tile:       ufp4_quant_pkg::group_t'(strip_blocks_q[1]) << side,
    strip:      ufp4_quant_pkg::group_t'(1) << e8m0_q,
    unit_group: ufp4_quant_pkg::unit_t'(desc_i.col_stride_blocks),
    unit_tile:  ufp4_quant_pkg::unit_t'(stride_q[1]),
    unit_strip: ufp4_quant_pkg::unit_t'(1) << e8m0_q
  };

  if (Width >= 16) begin : gen_wide
    logic                         row_valid, row_ready, row_last, row_blank;
    logic [LANES-1:0][15:0][31:0] row_words;

    ufp4_quant_strip #(
      .BusBytes(BusBytes),
      .SegBytes(SegBytes),
      .Chunks  (Chunks),
      .Lanes   (LANES)
    ) u_strip (
      .clk_i,
      .rst_ni,
      .start_i    (start),
      .pair_i     (e8m0_q),
      .f32_i      (f32_q),
      .rows_i     (rows_q),
      .cols_i     (cols_q),
      .tiles_i    (row_tiles_q),
      .row_beats_i(row_beats_q),
      .free_o     (free),
      .loading_i  (loading),
      .strips_i   (strips),
      .rd_rsp_valid_i(rd_rsp_i.valid),
      .rd_rsp_ready_o,
      .rd_rsp_data_i,
      .rd_rsp_err_i(rd_rsp_i.err),
      .error_o    (read_error),
      .memory_error_o(strip_error),
      .row_valid_o(row_valid),
      .row_ready_i(row_ready),
      .row_words_o(row_words),
      .row_last_o (row_last),
      .row_blank_o(row_blank)
    );

    ufp4_quant_lanes #(
      .Lanes(LANES),
      .Mixed(Mixed)
    ) u_lanes (
      .clk_i,
      .rst_ni,
      .start_i      (start),
      .finish_i     (state_q == Settle),
      .job_i        (job),
      .enable_i     (enable_q),
      .tiles_i      (groups),
      .unit_tiles_i ({tiles, groups}),
      .steps_i      (steps),
      .row_valid_i  (row_valid),
      .row_ready_o  (row_ready),
      .row_words_i  (row_words),
      .row_last_i   (row_last),
      .row_blank_i  (row_blank),
      .out_valid_o  (out_valid),
      .out_ready_i  (out_ready),
      .out_codes_o  (out_codes),
      .out_scale_o  (out_scale),
      .out_last_o   (out_last),
      .out_blank_o  (out_blank),
      .index_step_i (index_step),
      .index_o      (index),
      .nan_o        (nan),
      .saturated_o  (saturated),
      .amax_done_o  (amax_done),
      .exponent_o   (t_found),
      .memory_error_o(blocks_error)
    );
  end else begin : gen_narrow
    logic             pair_valid, pair_ready, pair_copy, pair_last, pair_blank, any_nan;
    logic [1:0][31:0] pair_words;
    logic [63:0]      codes;
    logic [7:0]       scale;
    logic             last, blank;

    ufp4_quant_pairs #(
      .SegBytes(SegBytes),
      .Chunks  (Chunks)
    ) u_strip (
      .clk_i,
      .rst_ni,
      .start_i    (start),
      .pair_i     (e8m0_q),
      .f32_i      (f32_q),
      .enable_i   (enable_q),
      .rows_i     (rows_q),
      .cols_i     (cols_q),
      .tiles_i    (row_tiles_q),
      .row_beats_i(row_beats_q),
      .free_o     (free),
      .loading_i  (loading),
      .strips_i   (strips),
      .rd_rsp_valid_i(rd_rsp_i.valid),
      .rd_rsp_ready_o,
      .rd_rsp_data_i,
      .rd_rsp_err_i(rd_rsp_i.err),
      .error_o    (read_error),
      .memory_error_o(strip_error),
      .valid_o    (pair_valid),
      .ready_i    (pair_ready),
      .words_o    (pair_words),
      .copy_o     (pair_copy),
      .last_o     (pair_last),
      .blank_o    (pair_blank)
    );

    ufp4_quant_serial #(.Mixed(Mixed)) u_serial (
      .clk_i,
      .rst_ni,
      .start_i      (start),
      .finish_i     (state_q == Settle),
      .job_i        (job),
      .tiles_i      (groups),
      .steps_i      (steps),
      .block_valid_i(pair_valid),
      .block_ready_o(pair_ready),
      .block_words_i(pair_words),
      .block_copy_i (pair_copy),
      .block_last_i (pair_last),
      .block_blank_i(pair_blank),
      .out_valid_o  (out_valid),
      .out_ready_i  (out_ready),
      .out_codes_o  (codes),
      .out_scale_o  (scale),
      .out_last_o   (last),
      .out_blank_o  (blank),
      .index_step_i (index_step),
      .index_o      (index),
      .nan_o        (any_nan),
      .saturated_o  (saturated),
      .amax_done_o  (amax_done),
      .exponent_o   (t_found),
      .memory_error_o(blocks_error)
    );

    assign nan       = {1'b0, any_nan};
    assign out_codes = {codes, codes};
    assign out_scale = {scale, scale};
    assign out_last  = {last, last};
    assign out_blank = {blank, blank};
  end

  assign finished = amax_q ? amax_done : write_done;

  always_comb begin
    done_flags_o = '0;
    done_flags_o[FLAG_NAN_BIT]           = |nan;
    done_flags_o[FLAG_ROW_SATURATED_BIT] = saturated[0];
    done_flags_o[FLAG_COL_SATURATED_BIT] = saturated[1];
  end

  assign done_row_exponent_o = t_found[0];
  assign done_col_exponent_o = t_found[1];

  // --- Codes and scales to memory ----------------------------------------------------------------

  if (LANES > 1) begin : gen_write_wide
    logic [2:0] last_units;
    assign last_units = 3'(tiles - ((groups - 17'd1) << side));

    ufp4_quant_write_wide u_write (
      .clk_i,
      .rst_ni,
      .pair_i       (e8m0_q),
      .two_i        (e8m0_q || f32_q),
      .last_units_i (last_units),
      .groups_i     (e8m0_q ? {tiles, 1'b0} : {1'b0, groups}),
      .start_i      (start),
      .codes_addr_i ({desc_i.col_codes_addr[AddrW-1:0], desc_i.row_codes_addr[AddrW-1:0]}),
      .scales_addr_i({desc_i.col_scales_addr[AddrW-1:0], desc_i.row_scales_addr[AddrW-1:0]}),
      .index_i      (index),
      .index_step_o (index_step),
      .done_o       (write_done),
      .strip_end_o  (strip_end),
      .memory_error_o(write_memory_error),
      .in_valid_i   (out_valid),
      .in_ready_o   (out_ready),
      .in_codes_i   (out_codes),
      .in_scale_i   (out_scale),
      .in_last_i    (out_last),
      .in_blank_i   (out_blank),
      .wr_req_o,
      .wr_rsp_i,
      .wr_dat_valid_o,
      .wr_dat_data_o,
      .wr_dat_strb_o
    );
  end else begin : gen_write
    ufp4_quant_write #(
      .BusBytes(BusBytes),
      .Serial  (Width < 16)
    ) u_write (
      .clk_i,
      .rst_ni,
      .pair_i       (e8m0_q),
      .start_i      (start),
      .codes_addr_i ({desc_i.col_codes_addr[AddrW-1:0], desc_i.row_codes_addr[AddrW-1:0]}),
      .scales_addr_i({desc_i.col_scales_addr[AddrW-1:0], desc_i.row_scales_addr[AddrW-1:0]}),
      .index_i      (index),
      .index_step_o (index_step),
      .done_o       (write_done),
      .units_i      (e8m0_q ? {tiles, 2'b00} : {2'b00, row_tiles_q}),
      .strip_end_o  (strip_end),
      .memory_error_o(write_memory_error),
      .in_valid_i   (out_valid),
      .in_ready_o   (out_ready),
      .in_codes_i   (out_codes),
      .in_scale_i   (out_scale),
      .in_last_i    (out_last),
      .in_blank_i   (out_blank),
      .wr_req_o,
      .wr_rsp_i,
      .wr_dat_valid_o,
      .wr_dat_data_o,
      .wr_dat_strb_o
    );
  end

  ufp4_quant_progress u_progress (
    .clk_i,
    .rst_ni,
    .pair_i     (e8m0_q),
    .start_i    (start_valid_i && start_ready_o),
    .request_i  (wr_req_o.valid && wr_rsp_i.req_ready),
    .answer_i   (wr_rsp_i.answer),
    .strip_end_i(strip_end),
    .panels_o
  );

endmodule
