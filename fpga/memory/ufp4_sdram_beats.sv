// SPDX-License-Identifier: Apache-2.0
// The AXI4 side of the SDRAM: two streams of bursts become one of beats; results go back in order.
//
// Contract: as ufp4_block_memory (INCR bursts of full beats that do not cross 4 KiB). A read beat is given out only
// when there is room for its data, a write beat only with its data: neither channel waits for the other's master. A
// burst goes on until it has nothing to give out, or ends; then it is the other direction's turn. A write is answered
// when its last beat is given out: beats that are given out later see it. Outside of the memory: DECERR, no strobes.
// Latency: two cycles from an address to its first beat. Test: tests/fpga/sdram.
module ufp4_sdram_beats #(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned IdBits = 3,
  parameter int unsigned MemoryBits = 25,
  parameter int unsigned Depth = 16,          // of the queues of data, in beats
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned BeatW = $clog2(BusBytes),
  localparam int unsigned DataW = 8 * BusBytes
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  input  logic                        s_axi_arvalid_i,
  output logic                        s_axi_arready_o,
  input  logic [IdBits-1:0]           s_axi_arid_i,
  input  logic [AddrBits-1:0]         s_axi_araddr_i,
  input  logic [7:0]                  s_axi_arlen_i,
  output logic                        s_axi_rvalid_o,
  input  logic                        s_axi_rready_i,
  output logic [IdBits-1:0]           s_axi_rid_o,
  output logic [DataW-1:0]            s_axi_rdata_o,
  output logic [1:0]                  s_axi_rresp_o,
  output logic                        s_axi_rlast_o,

  input  logic                        s_axi_awvalid_i,
  output logic                        s_axi_awready_o,
  input  logic [IdBits-1:0]           s_axi_awid_i,
  input  logic [AddrBits-1:0]         s_axi_awaddr_i,
  input  logic [7:0]                  s_axi_awlen_i,
  input  logic                        s_axi_wvalid_i,
  output logic                        s_axi_wready_o,
  input  logic [DataW-1:0]            s_axi_wdata_i,
  input  logic [BusBytes-1:0]         s_axi_wstrb_i,
  input  logic                        s_axi_wlast_i,
  output logic                        s_axi_bvalid_o,
  input  logic                        s_axi_bready_i,
  output logic [IdBits-1:0]           s_axi_bid_o,
  output logic [1:0]                  s_axi_bresp_o,

  output logic                        beat_valid_o,
  input  logic                        beat_ready_i,
  output logic                        beat_write_o,
  output logic [MemoryBits-BeatW-1:0] beat_index_o,
  output logic [DataW-1:0]            beat_data_o,
  output logic [BusBytes-1:0]         beat_strb_o,

  // The data of the read beats, in their order, some time later.
  input  logic                        data_valid_i,
  input  logic [DataW-1:0]            data_i
);
  localparam int unsigned INDEX_W = AddrBits - BeatW;
  localparam int unsigned MEMORY_W = MemoryBits - BeatW;
  localparam int unsigned ROOM_W = $clog2(Depth + 1);

  typedef struct packed {
    logic               busy;
    logic [IdBits-1:0]  id;
    logic [INDEX_W-1:0] index;
    logic [7:0]         left;   // beats behind this one
  } burst_t;

  burst_t              read_d, read_q, write_d, write_q;
  logic                read_may, write_may, read_go, write_go, space, prefer_write_d, prefer_write_q;
  logic                read_outside, write_outside, w_valid, b_ready, tag_ready, data_ready;
  logic [DataW-1:0]    w_data;
  logic [BusBytes-1:0] w_strb;
  logic [ROOM_W-1:0]   room_d, room_q;

  // --- Bursts -------------------------------------------------------------------------------------------------------

  assign s_axi_arready_o = !read_q.busy;
  assign s_axi_awready_o = !write_q.busy;
  assign read_outside    = read_q.index[INDEX_W-1:MEMORY_W] != '0;
  assign write_outside   = write_q.index[INDEX_W-1:MEMORY_W] != '0;

  always_comb begin
    read_d  = read_q;
    write_d = write_q;
    if (read_go)
      {read_d.busy, read_d.index, read_d.left} = {read_q.left != '0, read_q.index + 1'b1, read_q.left - 8'd1};
    if (write_go)
      {write_d.busy, write_d.index, write_d.left} = {write_q.left != '0, write_q.index + 1'b1, write_q.left - 8'd1};
    if (s_axi_arvalid_i && s_axi_arready_o)
      read_d = '{busy: 1'b1, id: s_axi_arid_i, index: s_axi_araddr_i[AddrBits-1:BeatW], left: s_axi_arlen_i};
    if (s_axi_awvalid_i && s_axi_awready_o)
      write_d = '{busy: 1'b1, id: s_axi_awid_i, index: s_axi_awaddr_i[AddrBits-1:BeatW], left: s_axi_awlen_i};
  end

  // --- One beat after the other -------------------------------------------------------------------------------------

  assign space     = !beat_valid_o || beat_ready_i;
  assign read_may  = read_q.busy && room_q != '0;
  assign write_may = write_q.busy && w_valid && b_ready;
  assign read_go   = space && read_may && !(write_may && prefer_write_q);
  assign write_go  = space && write_may && !read_go;

  always_comb begin
    prefer_write_d = prefer_write_q;
    if (read_go) prefer_write_d = read_q.left == '0;
    if (write_go) prefer_write_d = write_q.left != '0;
    room_d = room_q - ROOM_W'(read_go) + ROOM_W'(s_axi_rvalid_o && s_axi_rready_i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q.busy    <= 1'b0;
      write_q.busy   <= 1'b0;
      prefer_write_q <= 1'b0;
      beat_valid_o   <= 1'b0;
      room_q         <= ROOM_W'(Depth);
    end else begin
      read_q.busy    <= read_d.busy;
      write_q.busy   <= write_d.busy;
      prefer_write_q <= prefer_write_d;
      room_q         <= room_d;
      if (space) beat_valid_o <= read_go || write_go;
    end
  end

  always_ff @(posedge clk_i) begin
    {read_q.id, read_q.index, read_q.left}    <= {read_d.id, read_d.index, read_d.left};
    {write_q.id, write_q.index, write_q.left} <= {write_d.id, write_d.index, write_d.left};
    if (space) begin
      beat_write_o <= write_go;
      beat_index_o <= write_go ? write_q.index[MEMORY_W-1:0] : read_q.index[MEMORY_W-1:0];
      beat_data_o  <= w_data;
      beat_strb_o  <= write_outside ? '0 : w_strb;
    end
  end

  // --- Queues: what is to be written, answers to writes, whose the read data are, and those -------------------------

  ufp4_fifo #(.Width(DataW + BusBytes), .Depth(Depth)) u_w (
    .clk_i,
    .rst_ni,
    .in_valid_i (s_axi_wvalid_i),
    .in_ready_o (s_axi_wready_o),
    .in_data_i  ({s_axi_wdata_i, s_axi_wstrb_i}),
    .out_valid_o(w_valid),
    .out_ready_i(write_go),
    .out_data_o ({w_data, w_strb})
  );

  logic b_error;
  ufp4_fifo #(.Width(IdBits + 1), .Depth(4)) u_b (
    .clk_i,
    .rst_ni,
    .in_valid_i (write_go && write_q.left == '0),
    .in_ready_o (b_ready),
    .in_data_i  ({write_q.id, write_outside}),
    .out_valid_o(s_axi_bvalid_o),
    .out_ready_i(s_axi_bready_i),
    .out_data_o ({s_axi_bid_o, b_error})
  );
  assign s_axi_bresp_o = {2{b_error}};

  logic              tag_valid, tag_error, tag_last, r_error;
  logic [IdBits-1:0] tag_id;
  ufp4_fifo #(.Width(IdBits + 2), .Depth(Depth)) u_tag (
    .clk_i,
    .rst_ni,
    .in_valid_i (read_go),
    .in_ready_o (tag_ready),
    .in_data_i  ({read_q.id, read_outside, read_q.left == '0}),
    .out_valid_o(tag_valid),
    .out_ready_i(data_valid_i),
    .out_data_o ({tag_id, tag_error, tag_last})
  );

  ufp4_fifo #(.Width(DataW + IdBits + 2), .Depth(Depth)) u_r (
    .clk_i,
    .rst_ni,
    .in_valid_i (data_valid_i),
    .in_ready_o (data_ready),
    .in_data_i  ({data_i, tag_id, tag_error, tag_last}),
    .out_valid_o(s_axi_rvalid_o),
    .out_ready_i(s_axi_rready_i),
    .out_data_o ({s_axi_rdata_o, s_axi_rid_o, r_error, s_axi_rlast_o})
  );
  assign s_axi_rresp_o = {2{r_error}};

  // A beat's room is kept from the time it is given out; WLAST says what the burst's length has said.
  logic unused;
  assign unused = ^{tag_valid, tag_ready, data_ready, s_axi_wlast_i, s_axi_araddr_i[BeatW-1:0],
                    s_axi_awaddr_i[BeatW-1:0]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!read_go || tag_ready) else $error("no room for the tag of a read beat");
      assert (!data_valid_i || (tag_valid && data_ready)) else $error("data of no read beat, or no room for them");
    end
  end
`endif

endmodule
