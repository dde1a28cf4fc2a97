// SPDX-License-Identifier: Apache-2.0
// Puts operand beats into the lanes' memories, and counts the whole panel groups in each of the two slots.
//
// A note of ufp4_load_request says what the next beats are. Codes are turned into bit planes and scales into
// lane order here, once, so that the array need not. loaded_o counts a group as soon as a feed of it may start;
// retire_i zeroes the count of a slot. Every beat is taken at once; writes are registered.
// Tests: tests/rtl/array.
module ufp4_load_write #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned GroupWidth = 3,
  parameter int unsigned CountWidth = 5,
  localparam int unsigned NoteWidth = 12 + GroupWidth,
  localparam int unsigned GroupRows = (Rows < 16) ? Rows : 16,
  localparam int unsigned GroupCols = (Cols < 16) ? Cols : 16,
  localparam int unsigned CodeSetsA = 8 * Rows / BusBytes,
  localparam int unsigned CodeSetsB = 8 * Cols / BusBytes,
  localparam int unsigned ScaleSetsA = Rows / GroupRows,
  localparam int unsigned ScaleSetsB = Cols / GroupCols,
  localparam int unsigned AddrWidthA = $clog2(2 * TileRows * Chunk),
  localparam int unsigned AddrWidthB = $clog2(2 * TileCols * Chunk),
  localparam int unsigned ScaleAddrWidthA = $clog2(2 * TileRows * Chunk * GroupRows / BusBytes),
  localparam int unsigned ScaleAddrWidthB = $clog2(2 * TileCols * Chunk * GroupCols / BusBytes)
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
  output logic [CodeSetsA-1:0]       code_we_a_o,
  output logic [AddrWidthA-1:0]      code_addr_a_o,
  output logic [ScaleSetsA-1:0]      scale_we_a_o,
  output logic [ScaleAddrWidthA-1:0] scale_addr_a_o,
  output logic [CodeSetsB-1:0]       code_we_b_o,
  output logic [AddrWidthB-1:0]      code_addr_b_o,
  output logic [ScaleSetsB-1:0]      scale_we_b_o,
  output logic [ScaleAddrWidthB-1:0] scale_addr_b_o
);
  localparam int unsigned UnitBeats = 128 / BusBytes;
  localparam int unsigned UnitWidth = $clog2(UnitBeats);
  localparam int unsigned ScaleBeats = 16 * Chunk / BusBytes;
  localparam int unsigned CodeSetsAWidth = $clog2(CodeSetsA);
  localparam int unsigned CodeSetsBWidth = $clog2(CodeSetsB);
  localparam int unsigned ScaleSetsAWidth = $clog2(ScaleSetsA);
  localparam int unsigned ScaleSetsBWidth = $clog2(ScaleSetsB);

  // Sixteen nibbles to four planes of sixteen bits, {lane, bit} to {bit, lane}: four exchanges of two index
  // bits, wires in hardware.
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
  // Byte k of lane r's word is byte k lanes + r of the beat.
  function automatic logic [8*BusBytes-1:0] scales_by_lane(logic [8*BusBytes-1:0] data, int unsigned lanes);
    logic [8*BusBytes-1:0] words;
    for (int unsigned i = 0; i < BusBytes; i++) words[8*((i%lanes)*(BusBytes/lanes)+i/lanes)+:8] = data[8*i+:8];
    return words;
  endfunction

  logic note_valid, slot, side, codes;
  logic [GroupWidth-1:0] group;
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
    .out_data_o({slot, side, codes, group, beats})
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

  // Which beat of the macro-tile's rows: sets of lanes first, then sub-tiles; and the block in the chunk.
  logic [15:0] rows_beat, block, code_set_a, code_set_b, scale_set_a, scale_set_b;
  assign rows_beat = (16'(group) << UnitWidth) | (16'(beat_q) & 16'(UnitBeats - 1));
  assign block = 16'(beat_q) >> UnitWidth;
  assign code_set_a = rows_beat & 16'(CodeSetsA - 1);
  assign code_set_b = rows_beat & 16'(CodeSetsB - 1);
  assign scale_set_a = 16'(group) & 16'(ScaleSetsA - 1);
  assign scale_set_b = 16'(group) & 16'(ScaleSetsB - 1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      code_we_a_o <= '0;
      code_we_b_o <= '0;
      scale_we_a_o <= '0;
      scale_we_b_o <= '0;
    end else begin
      for (int unsigned i = 0; i < CodeSetsA; i++) code_we_a_o[i] <= beat & codes & ~side & (code_set_a == 16'(i));
      for (int unsigned i = 0; i < CodeSetsB; i++) code_we_b_o[i] <= beat & codes & side & (code_set_b == 16'(i));
      for (int unsigned i = 0; i < ScaleSetsA; i++) scale_we_a_o[i] <= beat & ~codes & ~side & (scale_set_a == 16'(i));
      for (int unsigned i = 0; i < ScaleSetsB; i++) scale_we_b_o[i] <= beat & ~codes & side & (scale_set_b == 16'(i));
    end
    if (beat) begin
      code_addr_a_o <= {slot, (AddrWidthA-1)'((rows_beat >> CodeSetsAWidth) * 16'(Chunk) + block)};
      code_addr_b_o <= {slot, (AddrWidthB-1)'((rows_beat >> CodeSetsBWidth) * 16'(Chunk) + block)};
      scale_addr_a_o <= {slot, (ScaleAddrWidthA-1)'((16'(group) >> ScaleSetsAWidth) * 16'(ScaleBeats) + 16'(beat_q))};
      scale_addr_b_o <= {slot, (ScaleAddrWidthB-1)'((16'(group) >> ScaleSetsBWidth) * 16'(ScaleBeats) + 16'(beat_q))};
      if (codes) begin
        write_data_o <= rows_to_planes(rd_rsp_data_i);
      end else begin
        write_data_o <= scales_by_lane(rd_rsp_data_i, side ? GroupCols : GroupRows);
      end
    end
  end

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
