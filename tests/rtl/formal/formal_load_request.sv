// SPDX-License-Identifier: Apache-2.0
// ufp4_load_request in front of a QUANT that is still writing its operands: in a chunk it asks for a row group at once
// when that operand is not held or the group is in memory, and never before; it asks for no row group behind an
// operand's last one, and for no block of k behind its last one. Which group and block a request is for is told from
// its address. For operands of any size with up to 1,024 blocks of k, whose groups lie 1,024 blocks apart, by
// k-induction.
module formal_load_request
  import ufp4_spec_pkg::*;
(
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
  localparam int unsigned GROUPS_A = 2, GROUPS_B = 3, CHUNK = 4, BUS_BYTES = 64;
  localparam logic [31:0] STRIDE = 32'd1024;
  localparam logic [20:0] MOST = 21'd1 << 20;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // B lies behind A.
  gemm_descriptor_t desc;
  logic [1:0][39:0] codes_addr, scales_addr;
  assign codes_addr = {codes_addr_i + (40'd1 << 36), codes_addr_i};
  assign scales_addr = {scales_addr_i + (40'd1 << 36), scales_addr_i};
  always_comb begin
    desc = '0;
    desc.m = 32'(m_i);
    desc.n = 32'(n_i);
    desc.k = 32'(k_i);
    desc.a_stride_blocks = STRIDE;
    desc.b_stride_blocks = STRIDE;
    desc.a_codes_addr = 64'(codes_addr[0]);
    desc.b_codes_addr = 64'(codes_addr[1]);
    desc.a_scales_addr = 64'(scales_addr[0]);
    desc.b_scales_addr = 64'(scales_addr[1]);
  end

  logic held, loading, req_valid, note_valid;
  logic [39:0] addr;
  logic [8:0] beats;
  logic [12:0] note;
  ufp4_load_request #(
    .TileM(16 * GROUPS_A), .TileN(16 * GROUPS_B), .Chunk(CHUNK), .BusBytes(BUS_BYTES), .GroupWidth(2)
  ) u_dut (
    .clk_i, .rst_ni(rst_n), .start_i, .desc_i(desc), .release_i, .panels_held_i(held_i), .panels_i, .held_o(held),
    .stop_i, .loading_o(loading), .tiles_o(), .rd_req_valid_o(req_valid), .rd_req_ready_i(req_ready_i),
    .rd_req_addr_o(addr), .rd_req_beats_o(beats), .note_valid_o(note_valid), .note_ready_i, .note_o(note)
  );

  // What the request at hand is for: of which operand, which row group and which blocks of k.
  logic side, codes;
  logic [39:0] offset, block;
  logic [16:0] group, groups;
  logic [10:0] first_block, blocks, k_blocks;
  assign side = note[11];
  assign codes = note[10];
  assign offset = addr - (codes ? codes_addr[side] : scales_addr[side]);
  assign block = codes ? offset >> 7 : offset >> 4;
  assign first_block = {1'b0, block[9:0]};
  assign group = block[26:10];
  assign groups = 17'(((side ? n_i : m_i) + 21'd15) >> 4);
  assign k_blocks = 11'((16'(k_i) + 16'd15) >> 4);
  assign blocks = k_blocks - first_block < 11'(CHUNK) ? k_blocks - first_block : 11'(CHUNK);

  logic [20:0] m, n;
  logic [14:0] k;
  logic [39:0] codes_at, scales_at;
  always_ff @(posedge clk_i) {m, n, k, codes_at, scales_at} <= {m_i, n_i, k_i, codes_addr_i, scales_addr_i};

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume (m_i != '0 && m_i <= MOST && n_i != '0 && n_i <= MOST && k_i != '0 && k_i <= 15'd16384);
      assume (!loading || {m, n, k, codes_at, scales_at} == {m_i, n_i, k_i, codes_addr_i, scales_addr_i});

      if (u_dut.chunk_q) begin
        assert (held == (held_i[side] && group >= panels_i));
        assert (req_valid == (note_ready_i && !held));
        assert (block[39:27] == '0 && group < groups && first_block < k_blocks);
        assert (codes ? beats == 9'(blocks * 2) : beats == 9'((blocks + 11'd3) >> 2));
      end else begin
        assert (!req_valid && !held);
      end
      assert (note_valid == (req_valid && req_ready_i));
      assert (!u_dut.chunk_q || loading);

      // Invariants that make it inductive.
      if (loading) begin
        assert (u_dut.u_walk.m_left_q != '0 && u_dut.u_walk.n_left_q != '0);
        assert (u_dut.u_walk.m_left_q <= m_i && u_dut.u_walk.n_left_q <= n_i);
        assert ({u_dut.tile_group_a_q, 4'd0} == m_i - u_dut.u_walk.m_left_q);
        assert ({u_dut.tile_group_b_q, 4'd0} == n_i - u_dut.u_walk.n_left_q);
        assert (u_dut.tile_a_q == 33'(u_dut.tile_group_a_q) << 10 && u_dut.tile_b_q == 33'(u_dut.tile_group_b_q) << 10);
        assert (u_dut.k_q < 17'(k_blocks) && u_dut.k_q[1:0] == '0);
        if (u_dut.chunk_q && side) begin
          assert (7'(u_dut.group_q) <= (7'(u_dut.cols) - 7'd1) >> 4);
          assert (u_dut.at_a_q == u_dut.tile_a_q);
          assert (u_dut.at_b_q == u_dut.tile_b_q + (33'(u_dut.group_q) << 10));
        end else begin
          assert (!side && 6'(u_dut.group_q) <= (6'(u_dut.rows) - 6'd1) >> 4);
          assert (u_dut.at_a_q == u_dut.tile_a_q + (33'(u_dut.group_q) << 10));
          assert (u_dut.group_q != '0 || u_dut.at_b_q == u_dut.tile_b_q);
          assert (u_dut.chunk_q || (u_dut.group_q == '0 && !codes));
        end
      end

      cover (note_valid && held_i[1] && side && group == 17'd4 && first_block == '0 && panels_i == 17'd5);
      cover (note_valid && held_i[0] && !side && group == 17'd1 && first_block == 11'd4 && codes);
      cover (held && !side && group == 17'd2);
    end
  end
endmodule
