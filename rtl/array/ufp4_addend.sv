// SPDX-License-Identifier: Apache-2.0
// Reads the addends of D ahead of the drain: unrounded sums (i64) and C (f32), in the order in
// which the drain takes them.
//
// Both are row-major tensors of the shape of D. Each row of a macro-tile is one request per tensor
// that the job has, sums before C, made as soon as the buffer of Beats beats has room for it.
// sums_ready_o and c_ready_o say that at least sums_need_i and c_need_i beats are buffered. With
// take_i the drain reserves beats for an array row; upper_i says that its sums need both of their
// two beats. sums_read_i and c_read_i then take one beat each, whose data appear in the next cycle
// and hold. After cancel_i (the drain has ended, perhaps early) nothing more is requested; idle_o
// says that nothing is outstanding either.
//
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/array. Timed model:
// sim/src/timing/array/addend.
module ufp4_addend #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned DrainBytes = 64,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Beats = 128
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  input  logic                            cancel_i,
  output logic                            idle_o,
  // Every unit of the engine reads only some fields of the descriptor.
  // verilator lint_off UNUSEDSIGNAL
  input  ufp4_spec_pkg::gemm_descriptor_t desc_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [$clog2(2*TileCols+1)-1:0] sums_need_i,
  input  logic [$clog2(2*TileCols+1)-1:0] c_need_i,
  output logic                            sums_ready_o,
  output logic                            c_ready_o,
  input  logic                            take_i,
  input  logic                            upper_i,
  input  logic                            sums_read_i,
  output logic [8*DrainBytes-1:0]         sums_data_o,
  input  logic                            c_read_i,
  output logic [8*DrainBytes-1:0]         c_data_o,
  output logic                            read_error_o,    // an error response of the bus
  output logic                            memory_error_o,  // a parity error of the buffers (ufp4_sram_checked)
  // Read client.
  output ufp4_memory_pkg::request_t       rd_req_o,
  input  ufp4_memory_pkg::read_response_t rd_rsp_i,
  output logic                            rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]           rd_rsp_data_i
);
  import ufp4_spec_pkg::*;

  localparam int unsigned TileM = Rows * TileRows;
  localparam int unsigned TileN = Cols * TileCols;
  localparam int unsigned RowsWidth = $clog2(TileM + 1);
  localparam int unsigned ColsWidth = $clog2(TileN + 1);
  localparam int unsigned IndexWidth = $clog2(Beats);
  localparam int unsigned RowBeatsWidth = $clog2(2 * TileCols + 1);
  localparam logic SUMS = 1'b0;
  localparam logic C = 1'b1;

  if (Beats != 1 << $clog2(Beats) || Beats < 2 * TileCols) begin : gen_check_beats
    $error("ufp4_addend: Beats must be a power of two and hold a row of sums of a macro-tile");
  end

  logic has_sums, has_c;
  assign has_sums = desc_i.d_mode[D_MODE_SUMS_BIT];
  assign has_c = desc_i.d_mode[D_MODE_C_BIT];

  // --- Requests ----------------------------------------------------------------------------------
  logic next_tile, last_col, last_tile;
  logic [RowsWidth-1:0] rows;
  logic [ColsWidth-1:0] cols;
  ufp4_tile_walk #(.TileM(TileM), .TileN(TileN)) u_walk (
    .clk_i,
    .start_i,
    .m_i(desc_i.m[20:0]),
    .n_i(desc_i.n[20:0]),
    .next_i(next_tile),
    .rows_o(rows),
    .cols_o(cols),
    .last_col_o(last_col),
    .last_o(last_tile)
  );

  // addr: of the current row; tile_addr: of the first row of the macro-tile; band_addr: of the
  // first row of this row of macro-tiles.
  logic active_d, active_q, stream_d, stream_q, last_row, fits, issue, note_ready;
  logic [RowsWidth-1:0] row_d, row_q;
  ufp4_memory_pkg::read_response_t rsp;
  logic req_valid_q;
  logic [39:0] req_addr_q;
  logic [8:0] req_beats_q;
  logic [1:0][39:0] addr_d, addr_q, tile_addr_d, tile_addr_q, band_addr_d, band_addr_q;
  // Room in each buffer, without the beat that was read in the last cycle, because the drain
  // decides late in a cycle what it reads.
  logic [1:0][IndexWidth:0] room_d, room_q;
  logic [1:0] read, freed_q;
  logic [RowBeatsWidth-1:0] top_beat, beats;
  logic [39:0] stride, tile_bytes;
  assign read = {c_read_i, sums_read_i};
  assign top_beat = (stream_q == SUMS) ? RowBeatsWidth'(({cols, 1'b0} - 1'b1) >> $clog2(Cols)) :
                                         RowBeatsWidth'((cols - 1'b1) >> $clog2(Cols));
  assign beats = top_beat + 1'b1;
  assign fits = freed_q[stream_q] ? room_q[stream_q] >= (IndexWidth + 1)'(top_beat) :
                                    room_q[stream_q] > (IndexWidth + 1)'(top_beat);
  assign stride = (stream_q == SUMS) ? 40'(desc_i.sums_stride_bytes) : 40'(desc_i.c_stride_bytes);
  assign tile_bytes = (stream_q == SUMS) ? 40'(8 * TileN) : 40'(4 * TileN);
  assign last_row = row_q == rows - 1'b1;
  assign issue = active_q & ~cancel_i & fits & note_ready & (~req_valid_q | rsp.req_ready);
  assign next_tile = issue & last_row & (stream_q == has_c);

  always_comb begin
    active_d = active_q;
    stream_d = stream_q;
    row_d = row_q;
    addr_d = addr_q;
    tile_addr_d = tile_addr_q;
    band_addr_d = band_addr_q;
    room_d[SUMS] = room_q[SUMS] + (IndexWidth + 1)'(freed_q[SUMS]);
    room_d[C] = room_q[C] + (IndexWidth + 1)'(freed_q[C]);
    if (issue) begin
      room_d[stream_q] = room_d[stream_q] - (IndexWidth + 1)'(beats);
      addr_d[stream_q] = addr_q[stream_q] + stride;
      if (last_row) begin
        if (last_col) band_addr_d[stream_q] = band_addr_q[stream_q] + stride * 40'(TileM);
        tile_addr_d[stream_q] = last_col ? band_addr_d[stream_q] : tile_addr_q[stream_q] + tile_bytes;
        addr_d[stream_q] = tile_addr_d[stream_q];
      end
      stream_d = (has_sums & has_c) ? ~stream_q : stream_q;
      if (stream_q == has_c) row_d = last_row ? '0 : row_q + 1'b1;
      if (next_tile) active_d = ~last_tile;
    end
    if (cancel_i) active_d = 1'b0;
    if (start_i) begin
      active_d = has_sums | has_c;
      stream_d = ~has_sums;
      row_d = '0;
      addr_d[SUMS] = desc_i.sums_addr[39:0];
      addr_d[C] = desc_i.c_addr[39:0];
      tile_addr_d = addr_d;
      band_addr_d = addr_d;
      room_d = {2{(IndexWidth + 1)'(Beats)}};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      req_valid_q <= 1'b0;
    end else begin
      active_q <= active_d;
      req_valid_q <= issue | (req_valid_q & ~rsp.req_ready);
    end
    stream_q <= stream_d;
    row_q <= row_d;
    addr_q <= addr_d;
    tile_addr_q <= tile_addr_d;
    band_addr_q <= band_addr_d;
    room_q <= room_d;
    freed_q <= start_i ? '0 : read;
    if (issue) begin
      req_addr_q <= addr_q[stream_q];
      req_beats_q <= 9'(beats);
    end
  end

  logic [8*DrainBytes-1:0] rsp_data;
  ufp4_width_read #(.ClientBytes(DrainBytes), .BusBytes(BusBytes)) u_width (
    .clk_i,
    .rst_ni,
    .req_i('{valid: req_valid_q, addr: req_addr_q, beats: req_beats_q}),
    .rsp_o(rsp),
    .rsp_ready_i(1'b1),
    .rsp_data_o(rsp_data),
    .req_o(rd_req_o),
    .rsp_i(rd_rsp_i),
    .rsp_ready_o(rd_rsp_ready_o),
    .rsp_data_i(rd_rsp_data_i)
  );
  assign read_error_o = rsp.valid & rsp.err;

  // --- Responses: a note for each request says whose beats come ----------------------------------
  logic note_valid, note_stream, note_done;
  logic [RowBeatsWidth-1:0] note_beats, beat_q;
  ufp4_fifo #(.Width(RowBeatsWidth + 1), .Depth(16)) u_notes (
    .clk_i,
    .rst_ni,
    .in_valid_i(issue),
    .in_ready_o(note_ready),
    .in_data_i({stream_q, beats}),
    .out_valid_o(note_valid),
    .out_ready_i(note_done),
    .out_data_o({note_stream, note_beats})
  );
  assign note_done = rsp.valid & (beat_q == note_beats - 1'b1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
    end else if (rsp.valid) begin
      beat_q <= note_done ? '0 : beat_q + 1'b1;
    end
  end

  // --- Buffers -----------------------------------------------------------------------------------
  logic [1:0] write;
  logic [1:0][IndexWidth-1:0] head_q, tail_q;
  logic [1:0][IndexWidth:0] here_d, here_q;
  logic [1:0][8*DrainBytes-1:0] data;
  logic [1:0] error;
  assign write[SUMS] = rsp.valid & (note_stream == SUMS);
  assign write[C] = rsp.valid & (note_stream == C);
  assign sums_ready_o = here_q[SUMS] >= (IndexWidth + 1)'(sums_need_i);
  assign c_ready_o = here_q[C] >= (IndexWidth + 1)'(c_need_i);
  assign {c_data_o, sums_data_o} = data;
  assign memory_error_o = |error;
  always_comb begin
    here_d[SUMS] = here_q[SUMS] + (IndexWidth + 1)'(write[SUMS]);
    here_d[C] = here_q[C] + (IndexWidth + 1)'(write[C]);
    if (take_i && has_sums) here_d[SUMS] = here_d[SUMS] - (upper_i ? (IndexWidth + 1)'(2) : (IndexWidth + 1)'(1));
    if (take_i && has_c) here_d[C] = here_d[C] - 1'b1;
    if (start_i) here_d = '0;
  end
  always_ff @(posedge clk_i) begin
    here_q <= here_d;
  end
  for (genvar s = 0; s < 2; s++) begin : gen_buffer
    ufp4_sram_checked #(.Width(8 * DrainBytes), .Depth(Beats)) u_sram (
      .clk_i,
      .we_i(write[s]),
      .waddr_i(tail_q[s]),
      .wdata_i(rsp_data),
      .re_i(read[s]),
      .raddr_i(head_q[s]),
      .rdata_o(data[s]),
      .error_o(error[s])
    );
    always_ff @(posedge clk_i) begin
      if (start_i) begin
        head_q[s] <= '0;
        tail_q[s] <= '0;
      end else begin
        head_q[s] <= head_q[s] + IndexWidth'(read[s]);
        tail_q[s] <= tail_q[s] + IndexWidth'(write[s]);
      end
    end
  end

  assign idle_o = ~active_q & ~req_valid_q & ~note_valid;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) assert (!rsp.valid || note_valid) else $error("a read response that was not asked for");
  end
`endif
endmodule
