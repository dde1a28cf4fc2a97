// SPDX-License-Identifier: Apache-2.0
// The AXI4 side of SDRAM or DRAM: merges two streams of bursts into one stream of beats; results
// return in order.
//
// Contract: that of ufp4_block_memory (INCR bursts of full beats that do not cross 4 KiB). A read
// beat is issued only when there is room for its data, and a write beat only with its data, so that
// neither channel waits for the master of the other. A burst continues until it ends or has nothing
// to issue; then it is the turn of the other direction. A write is answered when its last beat is
// issued, because beats issued later see it. Outside the memory: DECERR, no strobes.
// Latency: two cycles from an address to its first beat. Test: tests/fpga/sdram.
module ufp4_sdram_beats
  import ufp4_axi_pkg::ID_BITS;
#(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned MemoryBits = 25,
  parameter int unsigned Depth = 16,          // depth of the data queues, in beats
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned BeatW = $clog2(BusBytes),
  localparam int unsigned DataW = 8 * BusBytes
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  input  ufp4_axi_pkg::request_t      axi_i,
  output ufp4_axi_pkg::taken_t        axi_taken_o,
  output ufp4_axi_pkg::answer_t       axi_o,
  input  ufp4_axi_pkg::heard_t        axi_heard_i,
  input  logic [DataW-1:0]            axi_wdata_i,
  input  logic [BusBytes-1:0]         axi_wstrb_i,
  output logic [DataW-1:0]            axi_rdata_o,

  input  logic                        failed_i,   // memory does not work: every address counts as outside
  output logic                        beat_valid_o,
  input  logic                        beat_ready_i,
  output logic                        beat_write_o,
  output logic [MemoryBits-BeatW-1:0] beat_index_o,
  output logic [DataW-1:0]            beat_data_o,
  output logic [BusBytes-1:0]         beat_strb_o,

  // The data of the read beats, in their order, some cycles later.
  input  logic                        data_valid_i,
  input  logic [DataW-1:0]            data_i
);
  localparam int unsigned INDEX_W = AddrBits - BeatW;
  localparam int unsigned MEMORY_W = MemoryBits - BeatW;
  localparam int unsigned ROOM_W = $clog2(Depth + 1);

  typedef struct packed {
    logic               busy;
    logic [ID_BITS-1:0]  id;
    logic [INDEX_W-1:0] index;
    logic [7:0]         left;   // beats after this one
  } burst_t;

  burst_t              read_d, read_q, write_d, write_q;
  logic                read_may, write_may, read_go, write_go, space, prefer_write_d, prefer_write_q;
  logic                read_outside, write_outside, w_valid, b_ready, tag_ready, data_ready;
  logic [DataW-1:0]    w_data;
  logic [BusBytes-1:0] w_strb;
  logic [ROOM_W-1:0]   room_d, room_q;

  // --- Bursts ------------------------------------------------------------------------------------

  assign axi_taken_o.arready = !read_q.busy;
  assign axi_taken_o.awready = !write_q.busy;
  assign read_outside        = failed_i || read_q.index[INDEX_W-1:MEMORY_W] != '0;
  assign write_outside       = failed_i || write_q.index[INDEX_W-1:MEMORY_W] != '0;

  always_comb begin
    read_d  = read_q;
    write_d = write_q;
    if (read_go)
      {read_d.busy, read_d.index, read_d.left} = {read_q.left != '0, read_q.index + 1'b1, read_q.left - 8'd1};
    if (write_go)
      {write_d.busy, write_d.index, write_d.left} = {write_q.left != '0, write_q.index + 1'b1, write_q.left - 8'd1};
    if (axi_i.arvalid && axi_taken_o.arready)
      read_d = '{busy: 1'b1, id: axi_i.arid, index: axi_i.araddr[AddrBits-1:BeatW], left: axi_i.arlen};
    if (axi_i.awvalid && axi_taken_o.awready)
      write_d = '{busy: 1'b1, id: axi_i.awid, index: axi_i.awaddr[AddrBits-1:BeatW], left: axi_i.awlen};
  end

  // --- One beat after the other ------------------------------------------------------------------

  assign space     = !beat_valid_o || beat_ready_i;
  assign read_may  = read_q.busy && room_q != '0;
  assign write_may = write_q.busy && w_valid && b_ready;
  assign read_go   = space && read_may && !(write_may && prefer_write_q);
  assign write_go  = space && write_may && !read_go;

  always_comb begin
    prefer_write_d = prefer_write_q;
    if (read_go) prefer_write_d = read_q.left == '0;
    if (write_go) prefer_write_d = write_q.left != '0;
    room_d = room_q - ROOM_W'(read_go) + ROOM_W'(axi_o.rvalid && axi_heard_i.rready);
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

  // --- Queues: write data, answers to writes, owners of read data, read data ---------------------

  ufp4_fifo #(.Width(DataW + BusBytes), .Depth(Depth)) u_w (
    .clk_i,
    .rst_ni,
    .in_valid_i (axi_i.wvalid),
    .in_ready_o (axi_taken_o.wready),
    .in_data_i  ({axi_wdata_i, axi_wstrb_i}),
    .out_valid_o(w_valid),
    .out_ready_i(write_go),
    .out_data_o ({w_data, w_strb})
  );

  logic b_error;
  ufp4_fifo #(.Width(ID_BITS + 1), .Depth(4)) u_b (
    .clk_i,
    .rst_ni,
    .in_valid_i (write_go && write_q.left == '0),
    .in_ready_o (b_ready),
    .in_data_i  ({write_q.id, write_outside}),
    .out_valid_o(axi_o.bvalid),
    .out_ready_i(axi_heard_i.bready),
    .out_data_o ({axi_o.bid, b_error})
  );
  assign axi_o.bresp = {2{b_error}};

  logic              tag_valid, tag_error, tag_last, r_error;
  logic [ID_BITS-1:0] tag_id;
  ufp4_fifo #(.Width(ID_BITS + 2), .Depth(Depth)) u_tag (
    .clk_i,
    .rst_ni,
    .in_valid_i (read_go),
    .in_ready_o (tag_ready),
    .in_data_i  ({read_q.id, read_outside, read_q.left == '0}),
    .out_valid_o(tag_valid),
    .out_ready_i(data_valid_i),
    .out_data_o ({tag_id, tag_error, tag_last})
  );

  ufp4_fifo #(.Width(DataW + ID_BITS + 2), .Depth(Depth)) u_r (
    .clk_i,
    .rst_ni,
    .in_valid_i (data_valid_i),
    .in_ready_o (data_ready),
    .in_data_i  ({data_i, tag_id, tag_error, tag_last}),
    .out_valid_o(axi_o.rvalid),
    .out_ready_i(axi_heard_i.rready),
    .out_data_o ({axi_rdata_o, axi_o.rid, r_error, axi_o.rlast})
  );
  assign axi_o.rresp = {2{r_error}};

  // Room for a beat is reserved when it is issued; WLAST repeats what the length of the burst says.
  logic unused;
  assign unused = ^{tag_valid, tag_ready, data_ready, axi_i.wlast, axi_i.araddr[BeatW-1:0],
                    axi_i.awaddr[BeatW-1:0]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!read_go || tag_ready) else $error("no room for the tag of a read beat");
      assert (!data_valid_i || (tag_valid && data_ready)) else $error("data of no read beat, or no room for them");
    end
  end
`endif

endmodule
