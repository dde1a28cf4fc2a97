// SPDX-License-Identifier: Apache-2.0
// Strip buffer: stores Chunks chunks of the source (16 rows of SegBytes bytes each) as they arrive,
// and outputs the rows of their 16x16 tiles, tile by tile from left to right, strip by strip. With
// pair_i strips are taken in twos and tiles are 32x32, whose rows leave in two halves, left and
// right. With 4 Lanes, on a bus of 128 bytes, the tiles of a beat leave at once: 4 of BF16, 2 of
// FP32; with pair_i one, in the first lane.
//
// Contract: row_words_o has 16 elements per lane as FP32 (BF16 is widened; elements outside the
// tensor are +0). Each tile gives 16 rows, or 32 of two halves. row_last_o marks the last row of
// the last tile; row_blank_o: the 16x16 quarter of this half row is outside the tensor. free_o: the
// place of a chunk is free again. Responses are always taken, because ufp4_quant_load requests only
// data that has a place. error_o (bus) and memory_error_o (parity of the buffer) are pulses.
// Handshakes: valid/ready for the rows. Throughput: one row per cycle, or as many cycles as it has
// beats.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_strip.
module ufp4_quant_strip #(
  parameter int unsigned BusBytes = 64,
  parameter int unsigned SegBytes = 128,
  parameter int unsigned Chunks = 8,
  parameter int unsigned Lanes = 1,
  localparam int unsigned DataW = 8 * BusBytes
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  logic                         start_i,
  input  logic                         pair_i,
  input  logic                         f32_i,
  input  logic [20:0]                  rows_i,
  input  logic [20:0]                  cols_i,
  input  logic [16:0]                  tiles_i,       // tiles of a strip
  input  logic [19:0]                  row_beats_i,
  output logic                         free_o,
  input  logic                         loading_i,     // from ufp4_quant_load
  input  logic [4:0]                   strips_i,

  input  logic                         rd_rsp_valid_i,
  output logic                         rd_rsp_ready_o,
  input  logic [DataW-1:0]             rd_rsp_data_i,
  input  logic                         rd_rsp_err_i,
  output logic                         error_o,
  output logic                         memory_error_o,

  output logic                         row_valid_o,
  input  logic                         row_ready_i,
  output logic [Lanes-1:0][15:0][31:0] row_words_o,
  output logic                         row_last_o,
  output logic                         row_blank_o
);

  localparam int unsigned SEG_BEATS  = SegBytes / BusBytes;
  localparam int unsigned SLOT_W     = $clog2(Chunks);
  localparam int unsigned BEAT_W     = $clog2(SEG_BEATS);
  localparam int unsigned BUS_W      = $clog2(BusBytes);
  localparam int unsigned SEG_W      = $clog2(SegBytes);
  localparam int unsigned COUNT_W    = $clog2(Chunks + 1);
  localparam int unsigned F32_BEATS  = BusBytes > 64 ? 1 : 64 / BusBytes;
  localparam int unsigned BF16_BEATS = BusBytes > 32 ? 1 : 32 / BusBytes;
  localparam int unsigned F32_W      = BusBytes > 64 ? 4 : BUS_W - 2;  // log2 of the elements of a row in a beat
  localparam int unsigned BF16_W     = BusBytes > 32 ? 4 : BUS_W - 1;

  // --- Arrival -----------------------------------------------------------------------------------

  logic              w_take, chunk_in;
  logic [3:0]        w_row;
  logic [BEAT_W-1:0] w_beat;
  logic [SLOT_W-1:0] w_slot;

  ufp4_quant_arrival #(
    .SegBeats(SEG_BEATS),
    .Chunks  (Chunks)
  ) u_arrival (
    .clk_i,
    .rst_ni,
    .start_i,
    .pair_i,
    .rows_i,
    .row_beats_i,
    .loading_i,
    .strips_i,
    .rd_rsp_valid_i,
    .take_o (w_take),
    .slot_o (w_slot),
    .row_o  (w_row),
    .beat_o (w_beat),
    .chunk_o(chunk_in)
  );

  assign rd_rsp_ready_o = 1'b1;
  assign error_o        = rd_rsp_valid_i && rd_rsp_err_i;

  // --- Tiles: which beat to read next ------------------------------------------------------------

  logic [COUNT_W-1:0] full_d, full_q;      // complete chunks in the buffer
  logic [SLOT_W-1:0]  slot_d, slot_q;
  logic [SEG_W-1:0]   offset_d, offset_q;  // byte of the segment at which the tile begins
  logic [SEG_W-1:0]   place;               // byte of the segment at which this half row begins
  logic [4:0]         row_d, row_q;
  logic               half_d, half_q;      // the right half
  logic [2:0]         beat_d, beat_q;
  logic [16:0]        tiles_d, tiles_q;    // 16x16 tiles of the strip from this one on
  logic [20:0]        rows_d, rows_q;      // rows from this strip on
  logic [4:0]         strips_d, strips_q;  // strips that have been output
  logic [SEG_W:0]     offset_next;
  logic               row_here, beat_last, rows_end, lower_here, tile_last, strip_last, chunk_done, chunk_out;
  logic               beyond_right, beyond_below, above_kept, here, issue, issue_ready;
  logic [1:0]         side;                // log2 of the tiles that leave side by side

  assign side        = pair_i ? 2'd1 : Lanes == 1 ? 2'd0 : f32_i ? 2'd1 : 2'd2;
  // The right and the lower half of a 32x32 tile may be outside the tensor.
  assign beyond_right = half_q && tiles_q == 17'd1;
  assign lower_here   = rows_q > 21'd16;
  assign beyond_below = row_q[4] && !lower_here;
  assign row_here    = {16'd0, row_q} < rows_q && !beyond_right;
  assign beat_last   = !row_here || beat_q == (f32_i ? 3'(F32_BEATS - 1) : 3'(BF16_BEATS - 1));
  assign rows_end    = beat_last && row_q[3:0] == 4'd15 && half_q == pair_i;
  assign tile_last   = tiles_q <= 17'd1 << side;
  assign strip_last  = rows_q <= (pair_i ? 21'd32 : 21'd16) || (!loading_i && strips_q + 5'd1 == strips_i);
  assign offset_next = {1'b0, offset_q} + ((f32_i ? (SEG_W+1)'(64) : (SEG_W+1)'(32)) << side);
  assign chunk_done  = tile_last || offset_next[SEG_W];
  // The upper chunk stays in front of the lower one until its last tile is done.
  assign above_kept  = row_q[4] && !chunk_done;
  assign here        = beyond_below || (above_kept ? full_q > COUNT_W'(1) : full_q != '0);
  assign issue       = here && issue_ready;
  assign chunk_out   = issue && rows_end && chunk_done && !beyond_below;
  assign free_o      = chunk_out;

  always_comb begin
    full_d   = full_q + COUNT_W'(chunk_in) - COUNT_W'(chunk_out);
    slot_d   = slot_q + SLOT_W'(chunk_out);
    offset_d = offset_q;
    row_d    = row_q;
    half_d   = half_q;
    beat_d   = beat_q;
    tiles_d  = tiles_q;
    rows_d   = rows_q;
    strips_d = strips_q;
    if (start_i) begin
      full_d   = '0;
      slot_d   = '0;
      offset_d = '0;
      row_d    = 5'd0;
      half_d   = 1'b0;
      beat_d   = 3'd0;
      tiles_d  = tiles_i;
      rows_d   = rows_i;
      strips_d = '0;
    end else if (issue && !beat_last) begin
      beat_d = beat_q + 3'd1;
    end else if (issue) begin
      beat_d = 3'd0;
      half_d = pair_i && !half_q;
      if (half_q == pair_i) row_d = row_q + 5'd1;
      if (rows_end && row_q[4] == pair_i) begin
        row_d    = 5'd0;
        offset_d = chunk_done ? '0 : offset_next[SEG_W-1:0];
        tiles_d  = tile_last ? tiles_i : tiles_q - (17'd1 << side);
        if (tile_last) begin
          rows_d   = rows_q - (pair_i ? 21'd32 : 21'd16);
          strips_d = strips_q + 5'd1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    // A row below the tensor needs no chunk, so these are reset: nothing may leave before the first
    // start.
    if (!rst_ni) begin
      full_q <= '0;
      row_q  <= 5'd0;
    end else begin
      full_q <= full_d;
      row_q  <= row_d;
    end
    slot_q   <= slot_d;
    offset_q <= offset_d;
    half_q   <= half_d;
    beat_q   <= beat_d;
    tiles_q  <= tiles_d;
    rows_q   <= rows_d;
    strips_q <= strips_d;
  end

  // --- The buffer --------------------------------------------------------------------------------

  logic [DataW-1:0]  data;
  logic [BEAT_W-1:0] read_beat;
  logic              beat_here;            // the beat has elements of the tensor

  assign place     = offset_q + (!half_q ? '0 : f32_i ? SEG_W'(64) : SEG_W'(32));
  assign read_beat = place[SEG_W-1:BUS_W] + BEAT_W'(beat_q);

  ufp4_sram_checked #(
    .Width(DataW),
    .Depth(Chunks * 16 * SEG_BEATS)
  ) u_sram (
    .clk_i,
    .we_i   (w_take),
    .waddr_i({w_slot, w_row, w_beat}),
    .wdata_i(rd_rsp_data_i),
    .re_i   (issue && row_here && beat_here),
    .raddr_i({slot_q + SLOT_W'(above_kept), row_q[3:0], read_beat}),
    .rdata_o(data),
    .error_o(memory_error_o)
  );

  // --- Beats to rows -----------------------------------------------------------------------------

  // Attributes of the beat at the output of the buffer.
  typedef struct packed {
    logic        finish;  // the last beat of the row
    logic        last;    // belongs to the last row of the last tile
    logic        blank;   // belongs to a quarter outside the tensor
    logic        upper;   // the BF16 row of the first lane is in the upper half of the gathered words
    logic        high;    // the gathered words are the upper half of a beat of 128 bytes
    logic [Lanes-1:0][15:0] mask;  // elements inside the tensor
  } beat_t;

  logic        b_valid_d, b_valid_q, c_valid_d, c_valid_q, c_ready, b_take;
  beat_t       b_d, b_q;
  logic [15:0] mask_last;
  logic [Lanes-1:0][15:0] in_row;

  // The last tile of a strip has 1 to 16 columns.
  assign mask_last   = 16'hFFFF >> (4'd0 - cols_i[3:0]);
  assign in_row[0]   = !row_here ? 16'd0 : tiles_q == (half_q ? 17'd2 : 17'd1) ? mask_last : 16'hFFFF;
  for (genvar l = 1; l < Lanes; l++) begin : gen_in_row
    assign in_row[l] = !row_here || pair_i || (f32_i && l >= 2) || tiles_q <= 17'(l) ? 16'd0 :
                       tiles_q == 17'(l + 1) ? mask_last : 16'hFFFF;
  end
  assign beat_here   = in_row[0][4'(beat_q) << (f32_i ? F32_W : BF16_W)];
  assign c_ready     = !c_valid_q || row_ready_i;
  assign issue_ready = !b_valid_q || c_ready;
  assign b_take      = b_valid_q && c_ready;

  always_comb begin
    b_d        = b_q;
    b_valid_d  = issue || (b_valid_q && !c_ready);
    c_valid_d  = (b_take && b_q.finish) || (c_valid_q && !row_ready_i);
    if (issue) begin
      b_d.finish = beat_last;
      b_d.last   = tile_last && strip_last && rows_end && row_q[4] == pair_i;
      b_d.blank  = pair_i && (beyond_right || beyond_below);
      b_d.upper  = BusBytes < 64 || place[5];
      b_d.high   = place[6];
      b_d.mask   = in_row;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      b_valid_q <= 1'b0;
      c_valid_q <= 1'b0;
    end else begin
      b_valid_q <= b_valid_d;
      c_valid_q <= c_valid_d;
    end
    b_q <= b_d;
  end

  // The beats of a row shift in from above; a beat outside the tensor is not read, and the mask
  // clears its elements. Of a beat of 128 bytes a lane takes its half or quarter.
  logic [Lanes-1:0][511:0] gathered;
  logic [Lanes-1:0]        in_upper;

  assign in_upper[0] = b_q.upper;
  if (Lanes > 1) begin : gen_lanes
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      logic high;
      assign high        = l == 0 ? b_q.high : l == 1 ? f32_i : 1'b1;
      assign gathered[l] = high ? data[DataW-1-:512] : data[511:0];
      if (l > 0) begin : gen_upper
        assign in_upper[l] = 1'(l);
      end
    end
  end else if (BusBytes == 128) begin : gen_half
    assign gathered = b_q.high ? data[DataW-1:512] : data[511:0];
  end else if (BusBytes == 64) begin : gen_whole
    assign gathered = data;
  end else begin : gen_gather
    logic [511-DataW:0] earlier_q;
    assign gathered = {data, earlier_q};
    always_ff @(posedge clk_i) begin
      if (b_take) earlier_q <= gathered[0][511:DataW];
    end
  end

  function automatic logic [15:0][31:0] widen(input logic [15:0][31:0] in, input logic f32, input logic upper,
                                              input logic [15:0] mask);
    logic [15:0][31:0] out;
    logic [31:0][15:0] halves;
    logic [15:0]       half;
    halves = in;
    for (int unsigned i = 0; i < 16; i++) begin
      half   = upper ? halves[16+i] : halves[i];
      out[i] = !mask[i] ? 32'd0 : f32 ? in[i] : {half, 16'd0};
    end
    return out;
  endfunction

  logic [Lanes-1:0][15:0][31:0] words_q;
  logic              last_q, blank_q;

  always_ff @(posedge clk_i) begin
    if (b_take && b_q.finish) begin
      for (int unsigned l = 0; l < Lanes; l++) words_q[l] <= widen(gathered[l], f32_i, in_upper[l], b_q.mask[l]);
      last_q  <= b_q.last;
      blank_q <= b_q.blank;
    end
  end

  assign row_valid_o = c_valid_q;
  assign row_words_o = words_q;
  assign row_last_o  = last_q;
  assign row_blank_o = blank_q;

  logic unused_bits;
  assign unused_bits = ^{cols_i[20:4], place, b_q};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && chunk_in) assert (full_q != COUNT_W'(Chunks)) else $error("a chunk without a place");
  end
`endif

endmodule
