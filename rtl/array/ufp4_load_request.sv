// SPDX-License-Identifier: Apache-2.0
// Requests operands: for every macro-tile and every chunk of k blocks (ufp4_chunk_walk) the panel
// groups of A and B that exist, in the order A0, B0, B1, .. B(last), A1, .. A(last); of each group
// first the scales, then the codes.
//
// Chunks fill two slots in turn: a chunk starts when a slot is free, and release_i frees a slot.
// Each request comes with a note for ufp4_load_write: {slot, side (1: B), codes, first group,
// beats}. The memory layout is in docs/ip/architecture.md, "Operands in memory". While bit 0 (A) or
// bit 1 (B) of panels_held_i is set, only the first panels_i row groups of that operand, which are
// in memory from the next cycle on, may be requested; held_o says that the loader waits for more.
// After stop_i no macro-tile follows the current one. A unit behind the loader has seen the last
// macro-tile when loading_o is low and its own count equals tiles_o; the three bits suffice because
// no unit is eight macro-tiles behind.
// Tests: tests/rtl/array. Timed model: sim/src/timing/array/load.
module ufp4_load_request #(
  parameter int unsigned TileM = 128,
  parameter int unsigned TileN = 128,
  parameter int unsigned Chunk = 16,
  parameter int unsigned ChunkStep = 4,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned GroupWidth = 3,
  localparam int unsigned NoteWidth = 13
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  // Every unit of the engine reads only some fields of the descriptor.
  // verilator lint_off UNUSEDSIGNAL
  input  ufp4_spec_pkg::gemm_descriptor_t desc_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                            release_i,
  input  logic [1:0]                      panels_held_i,
  input  logic [16:0]                     panels_i,
  output logic                            held_o,
  input  logic                            stop_i,
  output logic                            loading_o,
  output logic [2:0]                      tiles_o,
  output ufp4_memory_pkg::request_t       rd_req_o,
  input  logic                            rd_req_ready_i,
  output logic                            note_valid_o,
  input  logic                            note_ready_i,
  output logic [NoteWidth-1:0]            note_o
);
  localparam int unsigned GroupsA = TileM / 16;
  localparam int unsigned GroupsB = TileN / 16;
  localparam int unsigned RowsWidth = $clog2(TileM + 1);
  localparam int unsigned ColsWidth = $clog2(TileN + 1);

  logic end_chunk_q, end_tile_q, last_col, last_tile;
  logic [RowsWidth-1:0] rows;
  logic [ColsWidth-1:0] cols;
  ufp4_tile_walk #(.TileM(TileM), .TileN(TileN)) u_walk (
    .clk_i,
    .start_i,
    .m_i(desc_i.m[20:0]),
    .n_i(desc_i.n[20:0]),
    .next_i(end_tile_q),
    .rows_o(rows),
    .cols_o(cols),
    .last_col_o(last_col),
    .last_o(last_tile)
  );

  // The current request: slot, side, group, and scales or codes. Positions count k blocks from the
  // start of an operand.
  logic active_d, active_q, chunk_d, chunk_q, slot_d, slot_q, side_d, side_q, codes_d, codes_q;
  logic [1:0] free_d, free_q;
  logic [2:0] tiles_d, tiles_q;
  logic [GroupWidth-1:0] group_d, group_q;
  logic [16:0] k_d, k_q;
  logic [32:0] tile_a_d, tile_a_q, tile_b_d, tile_b_q, at_a_d, at_a_q, at_b_d, at_b_q;

  // State that only the next chunk needs is updated a cycle after the chunk ends, because fire
  // comes late and the next chunk makes no request before the cycle after that.
  logic last_group_a, last_group_b, fire, end_chunk, end_tile, last_chunk, unused_first;
  logic [16:0] unused_left;
  logic [8:0] blocks;
  ufp4_chunk_walk #(.Chunk(Chunk), .Step(ChunkStep)) u_chunks (
    .clk_i,
    .start_i,
    .k_blocks_i(17'((desc_i.k + 32'd15) >> 4)),
    .next_i(end_chunk_q),
    .left_o(unused_left),
    .blocks_o(blocks),
    .first_o(unused_first),
    .last_o(last_chunk)
  );

  assign last_group_a = RowsWidth'(group_q) == RowsWidth'((rows - 1'b1) >> 4);
  assign last_group_b = ColsWidth'(group_q) == ColsWidth'((cols - 1'b1) >> 4);
  assign fire = rd_req_o.valid & rd_req_ready_i;
  assign end_chunk = fire & codes_q &
                     (side_q ? (last_group_b & (rows <= RowsWidth'(16))) : ((group_q != 0) & last_group_a));
  assign end_tile = end_chunk & last_chunk;
  assign loading_o = active_q;
  assign tiles_o = tiles_q;

  // The number of row groups of the macro-tile that are in memory. The start of the macro-tile
  // changes at least a cycle before its first request, so this is right in time. A register says
  // whether the current group is missing; both this group and the next one are compared in advance,
  // because fire comes late.
  logic [16:0] tile_group_a_d, tile_group_a_q, tile_group_b_d, tile_group_b_q;
  logic [GroupWidth:0] there_a, there_b;
  logic missing_q, side_next;
  logic [GroupWidth-1:0] group_next;
  function automatic logic [GroupWidth:0] there(logic [16:0] panels, logic [16:0] first);
    logic signed [17:0] left;
    left = 18'(panels) - 18'(first);
    return left < 0 ? '0 : left >= 18'sd1 << GroupWidth ? {1'b1, {GroupWidth{1'b0}}} : left[GroupWidth:0];
  endfunction
  // The order of groups: A0, all of B, the rest of A.
  assign side_next = side_q ? !last_group_b : group_q == 0;
  assign group_next = side_next && !side_q ? '0 : side_next || !side_q ? group_q + 1'b1 : GroupWidth'(1);
  assign there_a = there(panels_i, tile_group_a_q);
  assign there_b = there(panels_i, tile_group_b_q);
  always_ff @(posedge clk_i) begin
    missing_q <= fire && codes_q ? {1'b0, group_next} >= (side_next ? there_b : there_a) :
                                   {1'b0, group_q} >= (side_q ? there_b : there_a);
  end
  assign held_o = chunk_q & panels_held_i[side_q] & missing_q;

  logic [39:0] addr;
  logic [8:0] beats;
  assign rd_req_o = '{valid: chunk_q & note_ready_i & ~held_o, addr: addr, beats: beats};
  assign note_valid_o = fire;
  assign note_o = {slot_q, side_q, codes_q, group_q == 0, beats};
  always_comb begin
    logic [39:0] position, base;
    position = {7'd0, side_q ? at_b_q : at_a_q} + {23'd0, k_q};
    if (codes_q) begin
      base = side_q ? desc_i.b_codes_addr[39:0] : desc_i.a_codes_addr[39:0];
      addr = base + (position << 7);
      beats = 9'(16'(blocks) * 16'd128 / 16'(BusBytes));
    end else begin
      base = side_q ? desc_i.b_scales_addr[39:0] : desc_i.a_scales_addr[39:0];
      addr = base + (position << 4);
      beats = 9'((16'(blocks) * 16'd16 + 16'(BusBytes - 1)) / 16'(BusBytes));
    end
  end

  always_comb begin
    active_d = active_q;
    chunk_d = chunk_q;
    slot_d = slot_q;
    side_d = side_q;
    codes_d = codes_q ^ fire;
    free_d = free_q + 2'(release_i);
    group_d = group_q;
    k_d = k_q;
    tiles_d = tiles_q + 3'(end_tile);
    tile_a_d = tile_a_q;
    tile_b_d = tile_b_q;
    tile_group_a_d = tile_group_a_q;
    tile_group_b_d = tile_group_b_q;
    at_a_d = at_a_q;
    at_b_d = at_b_q;
    if (active_q && !chunk_q && free_q != 0) begin
      chunk_d = 1'b1;
      free_d = free_q - 2'd1 + 2'(release_i);
    end
    // To the next group.
    if (fire && codes_q) begin
      side_d = side_next;
      group_d = group_next;
      if (!side_next) at_a_d = at_a_q + 33'(desc_i.a_stride_blocks);
      if (side_q && side_next) at_b_d = at_b_q + 33'(desc_i.b_stride_blocks);
    end
    // To the next chunk, or to the next macro-tile.
    if (end_chunk) begin
      chunk_d = 1'b0;
      slot_d = ~slot_q;
      side_d = 1'b0;
      group_d = '0;
    end
    if (end_tile) begin
      active_d = ~(last_tile | stop_i);
      tile_group_a_d = last_col ? tile_group_a_q + 17'(GroupsA) : tile_group_a_q;
      tile_group_b_d = last_col ? '0 : tile_group_b_q + 17'(GroupsB);
    end
    if (end_chunk_q) begin
      k_d = end_tile_q ? '0 : k_q + 17'(blocks);
      if (end_tile_q) begin
        tile_a_d = last_col ? tile_a_q + 33'(desc_i.a_stride_blocks) * 33'(GroupsA) : tile_a_q;
        tile_b_d = last_col ? '0 : tile_b_q + 33'(desc_i.b_stride_blocks) * 33'(GroupsB);
      end
      at_a_d = tile_a_d;
      at_b_d = tile_b_d;
    end
    if (start_i) begin
      active_d = 1'b1;
      chunk_d = 1'b0;
      slot_d = 1'b0;
      free_d = 2'd2;
      tiles_d = '0;
      side_d = 1'b0;
      codes_d = 1'b0;
      group_d = '0;
      k_d = '0;
      tile_a_d = '0;
      tile_b_d = '0;
      tile_group_a_d = '0;
      tile_group_b_d = '0;
      at_a_d = '0;
      at_b_d = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      chunk_q <= 1'b0;
    end else begin
      active_q <= active_d;
      chunk_q <= chunk_d;
    end
    end_chunk_q <= end_chunk & ~start_i;
    end_tile_q <= end_tile & ~start_i;
    slot_q <= slot_d;
    side_q <= side_d;
    codes_q <= codes_d;
    free_q <= free_d;
    tiles_q <= tiles_d;
    group_q <= group_d;
    k_q <= k_d;
    tile_a_q <= tile_a_d;
    tile_b_q <= tile_b_d;
    tile_group_a_q <= tile_group_a_d;
    tile_group_b_q <= tile_group_b_d;
    at_a_q <= at_a_d;
    at_b_q <= at_b_d;
  end
endmodule
