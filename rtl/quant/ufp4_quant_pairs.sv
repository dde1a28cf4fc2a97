// SPDX-License-Identifier: Apache-2.0
// Strip buffer of the narrow engine, on a bus of 8 bytes: stores Chunks chunks of the source (16
// rows of SegBytes bytes) as they arrive, and outputs the rows and then the columns of their tiles,
// tile by tile, two numbers per cycle. With pair_i strips are taken in twos and tiles are 32x32,
// whose rows and columns leave in two halves.
//
// Contract: words_o has elements 2k and 2k+1 of a block as FP32 (BF16 is widened; elements outside
// the tensor are +0), and eight pairs are a block. Each tile gives 16 blocks (with pair_i 32 of two
// halves) of each copy that enable_i names. copy_o: 0 a row, 1 a column; last_o marks the last
// block of the copy; blank_o: the 16x16 quarter of the block is outside the tensor. free_o: the
// place of a chunk is free again. Even rows are in one bank and odd rows in the other, so that a
// pair of a column is one read of each. Responses are always taken, because ufp4_quant_load
// requests only data that has a place. error_o (bus) and memory_error_o (parity of the buffer) are
// pulses.
// Handshakes: valid/ready for the pairs. Throughput: one pair per cycle.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_serial.
module ufp4_quant_pairs #(
  parameter int unsigned SegBytes = 128,
  parameter int unsigned Chunks = 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             start_i,
  input  logic             pair_i,
  input  logic             f32_i,
  input  logic [1:0]       enable_i,
  input  logic [20:0]      rows_i,
  input  logic [20:0]      cols_i,
  input  logic [16:0]      tiles_i,       // tiles of a strip
  input  logic [19:0]      row_beats_i,
  output logic             free_o,
  input  logic             loading_i,     // from ufp4_quant_load
  input  logic [4:0]       strips_i,

  input  logic             rd_rsp_valid_i,
  output logic             rd_rsp_ready_o,
  input  logic [63:0]      rd_rsp_data_i,
  input  logic             rd_rsp_err_i,
  output logic             error_o,
  output logic             memory_error_o,

  output logic             valid_o,
  input  logic             ready_i,
  output logic [1:0][31:0] words_o,
  output logic             copy_o,
  output logic             last_o,
  output logic             blank_o
);

  localparam int unsigned SEG_BEATS = SegBytes / 8;
  localparam int unsigned SLOT_W    = $clog2(Chunks);
  localparam int unsigned BEAT_W    = $clog2(SEG_BEATS);
  localparam int unsigned SEG_W     = $clog2(SegBytes);
  localparam int unsigned COUNT_W   = $clog2(Chunks + 1);

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

  // --- Tiles: which pair to read next ------------------------------------------------------------

  // Position within the tile: the row or column, its half, and the pair.
  typedef struct packed {
    logic       upper;  // the upper 16 of 32 lines
    logic [3:0] line;
    logic       half;
    logic [2:0] k;
  } place_t;

  logic               run_d, run_q;        // there are tiles to output
  logic [COUNT_W-1:0] full_d, full_q;      // complete chunks in the buffer
  logic [SLOT_W-1:0]  slot_d, slot_q;
  logic [SEG_W-1:0]   offset_d, offset_q;  // byte of the segment at which the tile begins
  logic               copy_d, copy_q;
  place_t             at_d, at_q;
  logic [16:0]        tiles_d, tiles_q;    // 16x16 tiles of the strip from this one on
  logic [20:0]        rows_d, rows_q;      // rows from this strip on
  logic [4:0]         strips_d, strips_q;  // strips that have been output
  logic               owe_d, owe_q;        // a second place is to be freed
  logic [SEG_W:0]     offset_next;
  logic               right, lower, lower_here, block_end, copy_end, tile_end, tile_last, strip_last, chunk_done,
                      chunks_out, issue, issue_ready;

  assign right       = copy_q ? at_q.upper : at_q.half;
  assign lower       = copy_q ? at_q.half : at_q.upper;
  assign lower_here  = pair_i && rows_q > 21'd16;
  assign issue       = run_q && issue_ready && full_q > COUNT_W'(lower_here);
  assign block_end   = at_q.k == 3'd7;
  assign copy_end    = block_end && at_q.line == 4'd15 && (!pair_i || (at_q.upper && at_q.half));
  assign tile_end    = issue && copy_end && (copy_q || !enable_i[1]);
  assign tile_last   = tiles_q <= (pair_i ? 17'd2 : 17'd1);
  assign strip_last  = rows_q <= (pair_i ? 21'd32 : 21'd16) || (!loading_i && strips_q + 5'd1 == strips_i);
  assign offset_next = {1'b0, offset_q} + ((f32_i ? (SEG_W+1)'(64) : (SEG_W+1)'(32)) << pair_i);
  assign chunk_done  = tile_last || offset_next[SEG_W];
  assign chunks_out  = tile_end && chunk_done;
  assign free_o      = chunks_out || owe_q;

  always_comb begin
    run_d    = run_q;
    full_d   = full_q + COUNT_W'(chunk_in) - COUNT_W'(chunks_out) - COUNT_W'(chunks_out && lower_here);
    owe_d    = chunks_out && lower_here;
    slot_d   = slot_q + SLOT_W'(chunks_out) + SLOT_W'(chunks_out && lower_here);
    offset_d = offset_q;
    copy_d   = copy_q;
    at_d     = at_q;
    tiles_d  = tiles_q;
    rows_d   = rows_q;
    strips_d = strips_q;
    if (issue) begin
      at_d.k = at_q.k + 3'd1;
      // The second half of a block follows the first.
      if (block_end) at_d = {at_q[8:3] + (pair_i ? 6'd1 : 6'd2), 3'd0};
      if (copy_end) begin
        at_d   = '0;
        copy_d = !copy_q && enable_i[1];
      end
    end
    if (tile_end) begin
      copy_d   = !enable_i[0];
      offset_d = chunk_done ? '0 : offset_next[SEG_W-1:0];
      tiles_d  = tile_last ? tiles_i : tiles_q - (pair_i ? 17'd2 : 17'd1);
      if (tile_last) begin
        rows_d   = rows_q - (pair_i ? 21'd32 : 21'd16);
        strips_d = strips_q + 5'd1;
        run_d    = !strip_last;
      end
    end
    if (start_i) begin
      run_d    = 1'b1;
      full_d   = '0;
      owe_d    = 1'b0;
      slot_d   = '0;
      offset_d = '0;
      copy_d   = !enable_i[0];
      at_d     = '0;
      tiles_d  = tiles_i;
      rows_d   = rows_i;
      strips_d = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      owe_q <= 1'b0;
    end else begin
      run_q <= run_d;
      owe_q <= owe_d;
    end
    full_q   <= full_d;
    slot_q   <= slot_d;
    offset_q <= offset_d;
    copy_q   <= copy_d;
    at_q     <= at_d;
    tiles_q  <= tiles_d;
    rows_q   <= rows_d;
    strips_q <= strips_d;
  end

  // --- The buffer: two banks ---------------------------------------------------------------------

  logic [1:0]        in_tensor, read, bank_error;
  logic [1:0][63:0]  data;
  logic [SEG_W-1:0]  place;                  // byte of the segment, for the first column of the pair
  logic [3:0]        column;
  logic              beyond_right, last_tile;

  assign column       = copy_q ? at_q.line : {at_q.k, 1'b0};
  assign place        = offset_q + (!right ? '0 : f32_i ? SEG_W'(64) : SEG_W'(32)) +
                        (f32_i ? SEG_W'({column, 2'b00}) : SEG_W'({column, 1'b0}));
  assign beyond_right = right && tiles_q == 17'd1;
  assign last_tile    = tiles_q == (right ? 17'd2 : 17'd1);

  // in_tensor: the first and the second number of the pair are inside the tensor.
  for (genvar i = 0; i < 2; i++) begin : gen_inside
    logic [3:0] row, col;
    assign row = copy_q ? {at_q.k, 1'(i)} : at_q.line;
    assign col = copy_q ? at_q.line : {at_q.k, 1'(i)};
    assign in_tensor[i] = {16'd0, lower, row} < rows_q && !beyond_right &&
                          !(last_tile && cols_i[3:0] != 4'd0 && col >= cols_i[3:0]);
    // In a row the second number of a pair is in the beat of the first.
    assign read[i] = copy_q ? in_tensor[i] : in_tensor[0] && at_q.line[0] == 1'(i);

    ufp4_sram_checked #(
      .Width(64),
      .Depth(Chunks * 8 * SEG_BEATS)
    ) u_sram (
      .clk_i,
      .we_i   (w_take && w_row[0] == 1'(i)),
      .waddr_i({w_slot, w_row[3:1], w_beat}),
      .wdata_i(rd_rsp_data_i),
      .re_i   (issue && read[i]),
      .raddr_i({slot_q + SLOT_W'(lower), copy_q ? at_q.k : at_q.line[3:1], place[SEG_W-1:3]}),
      .rdata_o(data[i]),
      .error_o(bank_error[i])
    );
  end

  assign memory_error_o = |bank_error;

  // --- Beats to pairs ----------------------------------------------------------------------------

  // Attributes of the beats at the outputs of the banks.
  typedef struct packed {
    logic       copy;
    logic       last;
    logic       blank;
    logic       odd;     // the row is in the second bank
    logic [1:0] half;    // which BF16 number of the beat
    logic [1:0] mask;    // numbers inside the tensor
  } read_t;

  logic             b_valid_d, b_valid_q, c_valid_d, c_valid_q, c_ready;
  read_t            b_d, b_q, c_q;
  logic [1:0][31:0] words_d, words_q;

  assign c_ready     = !c_valid_q || ready_i;
  assign issue_ready = !b_valid_q || c_ready;
  assign b_valid_d   = issue || (b_valid_q && !c_ready);
  assign c_valid_d   = b_valid_q || (c_valid_q && !ready_i);

  always_comb begin
    b_d = b_q;
    if (issue) begin
      b_d.copy  = copy_q;
      b_d.last  = tile_last && strip_last && at_q.line == 4'd15 && (!pair_i || (at_q.upper && at_q.half));
      b_d.blank = pair_i && (beyond_right || (lower && !lower_here));
      b_d.odd   = !copy_q && at_q.line[0];
      b_d.half  = place[2:1];
      b_d.mask  = in_tensor;
    end
  end

  function automatic logic [31:0] number(input logic [63:0] beat, input logic f32, input logic [1:0] half);
    logic [1:0][31:0] wide;
    logic [3:0][15:0] narrow;
    wide   = beat;
    narrow = beat;
    return f32 ? wide[half[1]] : {narrow[half], 16'd0};
  endfunction

  always_comb begin
    for (int unsigned i = 0; i < 2; i++) begin
      words_d[i] = b_q.copy ? number(data[i], f32_i, b_q.half) :
                              number(b_q.odd ? data[1] : data[0], f32_i, {f32_i ? 1'(i) : b_q.half[1], 1'(i)});
      if (!b_q.mask[i]) words_d[i] = 32'd0;
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
    if (b_valid_q && c_ready) begin
      words_q <= words_d;
      c_q     <= b_q;
    end
  end

  assign valid_o = c_valid_q;
  assign words_o = words_q;
  assign copy_o  = c_q.copy;
  assign last_o  = c_q.last;
  assign blank_o = c_q.blank;

  logic unused_bits;
  assign unused_bits = ^{cols_i[20:4], place[0], c_q};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && chunk_in) assert (full_q != COUNT_W'(Chunks)) else $error("a chunk without a place");
  end
`endif

endmodule
