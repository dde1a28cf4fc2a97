// SPDX-License-Identifier: Apache-2.0
// Writes operand beats into the memories of the lanes, and counts the complete panel groups in each
// of the two slots.
//
// A note from ufp4_load_request describes the next beats: the scales of a group, which wait in a
// buffer here, or its codes. A beat of codes is one block of the next BeatRows rows, which are
// neighbouring lanes of one sub-tile; it is written together with the scales of the same block and
// rows. Codes become bit planes here, once for each write, so that the array need not convert them
// at each read. loaded_o counts a group as soon as a feed of the group may start; retire_i clears
// the count of slot retire_slot_i. Every beat is taken at once; writes are registered.
// Tests: tests/rtl/array. Timed model: sim/src/timing/array/load.
module ufp4_load_write #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned CountWidth = 5,
  localparam int unsigned NoteWidth = 13,
  localparam int unsigned BeatRows = BusBytes / 8,
  localparam int unsigned SetsA = Rows / BeatRows,
  localparam int unsigned SetsB = Cols / BeatRows,
  localparam int unsigned TileWidthA = $clog2(TileRows),
  localparam int unsigned TileWidthB = $clog2(TileCols),
  localparam int unsigned BlockWidth = $clog2(Chunk),
  localparam int unsigned AddrWidthA = 1 + TileWidthA + BlockWidth,
  localparam int unsigned AddrWidthB = 1 + TileWidthB + BlockWidth
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       note_valid_i,
  output logic                       note_ready_o,
  input  logic [NoteWidth-1:0]       note_i,
  input  logic                       rd_rsp_valid_i,
  output logic                       rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]      rd_rsp_data_i,
  output logic [1:0][CountWidth-1:0] loaded_o,
  input  logic                       retire_i,
  input  logic                       retire_slot_i,
  output logic [8*BusBytes-1:0]      write_data_o,
  output logic [8*BeatRows-1:0]      write_scales_o,
  output logic                       error_o,       // parity error of the buffer
  output logic [SetsA-1:0]           we_a_o,
  output logic [AddrWidthA-1:0]      waddr_a_o,
  output logic [SetsB-1:0]           we_b_o,
  output logic [AddrWidthB-1:0]      waddr_b_o
);
  localparam int unsigned UnitBeats = 128 / BusBytes;
  localparam int unsigned UnitWidth = $clog2(UnitBeats);
  localparam int unsigned ScaleBeats = 16 * Chunk / BusBytes;
  localparam int unsigned ScaleBeatWidth = (ScaleBeats > 1) ? $clog2(ScaleBeats) : 1;
  localparam int unsigned SetsMost = (SetsA > SetsB) ? SetsA : SetsB;
  localparam int unsigned SetWidth = (SetsMost > 1) ? $clog2(SetsMost) : 1;
  localparam int unsigned TileWidth = (TileWidthA > TileWidthB) ? TileWidthA : TileWidthB;

  // Converts sixteen nibbles to four planes of sixteen bits, {lane, bit} to {bit, lane}, by four
  // exchanges of two index bits, which are only wires in hardware.
  function automatic logic [63:0] exchange(logic [63:0] x, logic [63:0] mask, int unsigned distance);
    return (x & ~(mask | (mask << distance))) | ((x & mask) << distance) | ((x >> distance) & mask);
  endfunction
  function automatic logic [63:0] bit_planes(logic [63:0] nibbles);
    logic [63:0] x;
    x = exchange(nibbles, 64'h0000_0000_CCCC_CCCC, 30);
    x = exchange(x, 64'h0000_AAAA_0000_AAAA, 15);
    x = exchange(x, 64'h00CC_00CC_00CC_00CC, 6);
    return exchange(x, 64'h0A0A_0A0A_0A0A_0A0A, 3);
  endfunction
  function automatic logic [8*BusBytes-1:0] rows_to_planes(logic [8*BusBytes-1:0] data);
    logic [8*BusBytes-1:0] planes;
    for (int unsigned i = 0; i < BusBytes / 8; i++) planes[64*i+:64] = bit_planes(data[64*i+:64]);
    return planes;
  endfunction

  logic note_valid, slot, side, codes, first;
  logic [8:0] beats;
  logic beat, last_beat;
  ufp4_fifo #(.Width(NoteWidth), .Depth(32)) u_notes (
    .clk_i,
    .rst_ni,
    .in_valid_i(note_valid_i),
    .in_ready_o(note_ready_o),
    .in_data_i(note_i),
    .out_valid_o(note_valid),
    .out_ready_i(beat & last_beat),
    .out_data_o({slot, side, codes, first, beats})
  );

  logic [7:0] beat_q;
  assign rd_rsp_ready_o = note_valid;
  assign beat = rd_rsp_valid_i & note_valid;
  assign last_beat = 9'(beat_q) == beats - 9'd1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
    end else if (beat) begin
      beat_q <= last_beat ? '0 : beat_q + 8'd1;
    end
  end

  // The set of lanes and the sub-tile of the first row of a beat of codes. Each block of a group
  // starts where the previous group of its side ended.
  typedef struct packed {
    logic [TileWidth-1:0] tile;
    logic [SetWidth-1:0] lanes;
  } place_t;
  place_t place, next, next_q;
  place_t [1:0] start_q;
  logic last_set;
  always_comb begin
    place = next_q;
    if ((beat_q & 8'(UnitBeats - 1)) == 8'd0) place = first ? '0 : start_q[side];
    last_set = place.lanes == (side ? SetWidth'(SetsB - 1) : SetWidth'(SetsA - 1));
    next.lanes = last_set ? '0 : place.lanes + 1'b1;
    next.tile = place.tile + TileWidth'(last_set);
  end
  always_ff @(posedge clk_i) begin
    if (beat && codes) begin
      next_q <= next;
      if (last_beat) start_q[side] <= next;
    end
  end

  logic [BlockWidth-1:0] block;
  assign block = BlockWidth'(beat_q >> UnitWidth);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      we_a_o <= '0;
      we_b_o <= '0;
    end else begin
      for (int unsigned i = 0; i < SetsA; i++) we_a_o[i] <= beat & codes & ~side & (place.lanes == SetWidth'(i));
      for (int unsigned i = 0; i < SetsB; i++) we_b_o[i] <= beat & codes & side & (place.lanes == SetWidth'(i));
    end
    if (beat && codes) begin
      waddr_a_o <= {slot, place.tile[TileWidthA-1:0], block};
      waddr_b_o <= {slot, place.tile[TileWidthB-1:0], block};
      write_data_o <= rows_to_planes(rd_rsp_data_i);
    end
  end

  // A beat of codes needs an eighth of a beat of scales, in the same order.
  logic [8*BusBytes-1:0] scales;
  logic [2:0] eighth_q;
  ufp4_sram_checked #(.Width(8 * BusBytes), .Depth(ScaleBeats)) u_waiting (
    .clk_i,
    .we_i(beat & ~codes),
    .waddr_i(ScaleBeatWidth'(beat_q)),
    .wdata_i(rd_rsp_data_i),
    .re_i(beat & codes),
    .raddr_i(ScaleBeatWidth'(beat_q >> 3)),
    .rdata_o(scales),
    .error_o
  );
  always_ff @(posedge clk_i) begin
    if (beat) eighth_q <= beat_q[2:0];
  end
  assign write_scales_o = scales[8*BeatRows*eighth_q+:8*BeatRows];

  logic [1:0][CountWidth-1:0] loaded_q;
  assign loaded_o = loaded_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned s = 0; s < 2; s++) begin
      if (!rst_ni || (retire_i && retire_slot_i == 1'(s))) begin
        loaded_q[s] <= '0;
      end else if (beat && last_beat && codes && slot == 1'(s)) begin
        loaded_q[s] <= loaded_q[s] + 1'b1;
      end
    end
  end
endmodule
