// SPDX-License-Identifier: Apache-2.0
// ufp4_load_request beside a model of its walk, with a QUANT that may still be writing its
// operands. Each request is the next one in the order of the unit's contract; its address tells the
// side, the row group and the blocks of k. It is made as soon as its chunk has a slot and its row
// group is in memory or not held, and not before. The job ends after its last request, or with the
// macro-tile in which stop_i came. By k-induction, for operands of any size with up to 1,024 blocks
// of k, whose row groups lie 1,024 blocks (A) and 4,096 blocks (B) apart.
module formal_load_request
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned GroupsA = 4,  // row groups of a macro-tile
  parameter int unsigned GroupsB = 2,
  parameter int unsigned Chunk = 16
) (
  input logic        clk_i,
  input logic        start_i,
  input logic [20:0] m_i,
  input logic [20:0] n_i,
  input logic [14:0] k_i,
  input logic [39:0] codes_addr_i,
  input logic [39:0] scales_addr_i,
  input logic        release_i,
  input logic [1:0]  held_i,
  input logic [16:0] panels_i,
  input logic        stop_i,
  input logic        req_ready_i,
  input logic        note_ready_i
);
  localparam logic [20:0] MOST = 21'd1 << 20;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // B is after A in memory.
  gemm_descriptor_t desc;
  logic [1:0][39:0] codes_addr, scales_addr;
  assign codes_addr = {codes_addr_i + (40'd1 << 36), codes_addr_i};
  assign scales_addr = {scales_addr_i + (40'd1 << 36), scales_addr_i};
  always_comb begin
    desc = '0;
    {desc.m, desc.n, desc.k} = {32'(m_i), 32'(n_i), 32'(k_i)};
    {desc.a_stride_blocks, desc.b_stride_blocks} = {32'd1024, 32'd4096};
    {desc.a_codes_addr, desc.b_codes_addr} = {64'(codes_addr[0]), 64'(codes_addr[1])};
    {desc.a_scales_addr, desc.b_scales_addr} = {64'(scales_addr[0]), 64'(scales_addr[1])};
  end

  logic held, loading, req_valid, note_valid;
  logic [2:0] tiles;
  logic [39:0] addr;
  logic [8:0] beats;
  logic [12:0] note;
  ufp4_memory_pkg::request_t req;
  assign {req_valid, addr, beats} = req;
  ufp4_load_request #(
    .TileM(16 * GroupsA), .TileN(16 * GroupsB), .Chunk(Chunk), .ChunkStep(4), .BusBytes(64), .GroupWidth(4)
  ) u_dut (
    .clk_i, .rst_ni(rst_n), .start_i, .desc_i(desc), .release_i, .panels_held_i(held_i), .panels_i, .held_o(held),
    .stop_i, .loading_o(loading), .tiles_o(tiles), .rd_req_o(req), .rd_req_ready_i(req_ready_i), .note_valid_o(note_valid), .note_ready_i, .note_o(note)
  );

  // The block and the row group of the current request.
  logic [39:0] block;
  logic [16:0] group;
  assign block = note[10] ? (addr - codes_addr[note[11]]) >> 7 : (addr - scales_addr[note[11]]) >> 4;
  assign group = note[11] ? block[28:12] : block[26:10];

  // The model: the row groups of both operands and the blocks of k; the macro-tile, chunk and group
  // that come next.
  logic        run, in_chunk, slot, side, codes;
  logic [1:0]  free;
  logic [2:0]  ended;
  logic [16:0] groups_a, groups_b, tile_a, tile_b, in_tile, last_a, last_b;
  logic [10:0] k_blocks, k_at, blocks;
  logic        may_ask, asks, end_chunk, end_tile;
  logic [16:0] panels;  // row groups in memory, which panels_i announces a cycle before
  always_ff @(posedge clk_i) panels <= panels_i;
  assign groups_a = 17'((m_i + 21'd15) >> 4);
  assign groups_b = 17'((n_i + 21'd15) >> 4);
  assign k_blocks = 11'((16'(k_i) + 16'd15) >> 4);
  assign last_a = (groups_a - tile_a > 17'(GroupsA) ? 17'(GroupsA) : groups_a - tile_a) - 17'd1;
  assign last_b = (groups_b - tile_b > 17'(GroupsB) ? 17'(GroupsB) : groups_b - tile_b) - 17'd1;
  // The last two chunks share the blocks after the whole ones. The split is at a multiple of 4
  // blocks (a beat of scales) and leaves the last chunk the larger half, or, if that is too long, 4
  // blocks less.
  logic [10:0] left, shared;
  assign left = k_blocks - k_at;
  assign shared = left / 11'd8 * 11'd4;
  always_comb begin
    if (left >= 11'(2 * Chunk)) blocks = 11'(Chunk);
    else if (left <= 11'(Chunk)) blocks = left;
    else blocks = shared + (left - shared > 11'(Chunk) ? 11'd4 : 11'd0);
  end
  assign may_ask = !held_i[side] || (side ? tile_b : tile_a) + in_tile < panels;
  assign asks = in_chunk && may_ask && note_ready_i && req_ready_i;
  assign end_chunk = asks && codes && (side ? in_tile == last_b && last_a == '0 : in_tile == last_a && in_tile != '0);
  assign end_tile = end_chunk && k_at + blocks == k_blocks;

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {run, in_chunk} <= '0;
    end else if (start_i) begin
      {run, in_chunk, free, ended} <= {1'b1, 1'b0, 2'd2, 3'd0};
      {slot, side, codes, tile_a, tile_b, in_tile, k_at} <= '0;
    end else begin
      free <= free + 2'(release_i) - 2'(run && !in_chunk && free != '0);
      if (run && !in_chunk && free != '0) in_chunk <= 1'b1;
      if (asks) codes <= !codes;
      if (asks && codes) begin
        // The order of groups: A0, all of B, the rest of A.
        if (side ? in_tile != last_b : in_tile != '0) in_tile <= in_tile + 17'd1;
        else {side, in_tile} <= side ? {1'b0, 17'd1} : {1'b1, 17'd0};
      end
      if (end_chunk) begin
        {in_chunk, slot, side, in_tile} <= {1'b0, !slot, 1'b0, 17'd0};
        k_at <= end_tile ? '0 : k_at + blocks;
      end
      if (end_tile) begin
        ended <= ended + 3'd1;
        tile_b <= groups_b - tile_b > 17'(GroupsB) ? tile_b + 17'(GroupsB) : '0;
        if (groups_b - tile_b <= 17'(GroupsB)) tile_a <= tile_a + 17'(GroupsA);
        if (stop_i || (groups_b - tile_b <= 17'(GroupsB) && groups_a - tile_a <= 17'(GroupsA))) run <= 1'b0;
      end
    end
  end

  function automatic logic [20:0] least(logic [20:0] a, logic [20:0] b);
    return a < b ? a : b;
  endfunction

  // The fields of the job do not change.
  logic [136:0] job, job_before;
  assign job = {m_i, n_i, k_i, codes_addr_i, scales_addr_i};
  always_ff @(posedge clk_i) job_before <= job;

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume (m_i != '0 && m_i <= MOST && n_i != '0 && n_i <= MOST && k_i != '0 && k_i <= 15'd16384);
      assume (!run || job == job_before);
      assume (!run || !release_i || free != 2'd2);  // only a taken slot is released

      assert (loading == run && u_dut.chunk_q == in_chunk);
      assert (note_valid == asks && req_valid == (in_chunk && may_ask && note_ready_i));
      assert (held == (in_chunk && !may_ask));
      if (run) assert (tiles == ended);
      if (in_chunk) begin
        assert (run && note[12:9] == {slot, side, codes, in_tile == '0} && note[8:0] == beats);
        assert (group == (side ? tile_b : tile_a) + in_tile && group < (side ? groups_b : groups_a));
        assert (block == (side ? {11'd0, group, 12'd0} : {13'd0, group, 10'd0}) + 40'(k_at) && k_at < k_blocks);
        assert (beats == (codes ? 9'(blocks * 2) : 9'((blocks + 11'd3) >> 2)));
      end

      // Invariants needed for the induction.
      if (run) begin
        assert (tile_a < groups_a && tile_b < groups_b && k_at < k_blocks && k_at[1:0] == '0);
        assert ({u_dut.free_q, u_dut.slot_q, u_dut.side_q, u_dut.codes_q} == {free, slot, side, codes});
        assert (17'(u_dut.group_q) == in_tile);
        assert (u_dut.tile_group_a_q == tile_a && u_dut.tile_group_b_q == tile_b);
        if (in_chunk) assert (u_dut.missing_q == ((side ? tile_b : tile_a) + in_tile >= panels));
        assert (side ? in_tile <= last_b : in_tile <= last_a);
        if (!in_chunk) assert (!side && !codes && in_tile == '0);
        if (in_chunk) assert (!u_dut.end_chunk_q);
      end
      // Except in the cycle after the end of a chunk.
      if (run && !u_dut.end_chunk_q) begin
        assert (u_dut.u_chunks.left_q == 17'(left) && u_dut.u_chunks.blocks_q == 9'(blocks));
        assert (u_dut.u_chunks.last_q == (left <= 11'(Chunk)));
        assert (u_dut.u_walk.m_left_q == m_i - {tile_a, 4'd0} && u_dut.u_walk.n_left_q == n_i - {tile_b, 4'd0});
        assert (u_dut.u_walk.rows_q == least(m_i - {tile_a, 4'd0}, 21'(16 * GroupsA)));
        assert (u_dut.u_walk.cols_q == least(n_i - {tile_b, 4'd0}, 21'(16 * GroupsB)));
        assert (u_dut.u_walk.last_row_q == (m_i - {tile_a, 4'd0} <= 21'(16 * GroupsA)));
        assert (u_dut.u_walk.last_col_q == (n_i - {tile_b, 4'd0} <= 21'(16 * GroupsB)));
        assert (u_dut.tile_a_q == {6'd0, tile_a, 10'd0} && u_dut.tile_b_q == {4'd0, tile_b, 12'd0});
        assert (u_dut.k_q == 17'(k_at) && u_dut.at_a_q == {6'd0, tile_a + (side ? 17'd0 : in_tile), 10'd0});
        if (side || in_tile == '0) assert (u_dut.at_b_q == {4'd0, tile_b + in_tile, 12'd0});
      end

      cover (note_valid && held_i[1] && side && group == 17'd3 && panels == 17'd4);
      cover (note_valid && held_i[0] && !side && in_tile == 17'd3 && codes);
      cover (held && !side && group == 17'd4);
      cover (note_valid && k_at == 11'd16 && slot);
      cover (rst_n && !loading && ended == 3'd2);
    end
  end
endmodule
