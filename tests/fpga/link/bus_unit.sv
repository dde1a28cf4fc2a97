// SPDX-License-Identifier: Apache-2.0
// The board's bus with block memory behind it. Each channel can be stalled, and assertions check AXI's rules for the bus.
module bus_unit #(
  localparam int unsigned BUS_BYTES = 8
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [4:0]  stall_i,   // AR, R, AW, W, B

  input  logic        core_reset_i,
  output logic        core_reset_done_o,
  output logic        core_rst_no,
  input  logic        hold_i,
  output logic        held_o,

  input  logic        core_arvalid_i,
  output logic        core_arready_o,
  input  logic [1:0]  core_arid_i,
  input  logic [39:0] core_araddr_i,
  input  logic [7:0]  core_arlen_i,
  output logic        core_rvalid_o,
  input  logic        core_rready_i,
  input  logic        core_awvalid_i,
  output logic        core_awready_o,
  input  logic [1:0]  core_awid_i,
  input  logic [39:0] core_awaddr_i,
  input  logic [7:0]  core_awlen_i,
  input  logic        core_wvalid_i,
  output logic        core_wready_o,
  input  logic [63:0] core_wdata_i,
  input  logic [7:0]  core_wstrb_i,
  output logic        core_bvalid_o,
  input  logic        core_bready_i,

  input  logic        link_arvalid_i,
  output logic        link_arready_o,
  input  logic [39:0] link_araddr_i,
  output logic        link_rvalid_o,
  input  logic        link_rready_i,
  input  logic        link_awvalid_i,
  output logic        link_awready_o,
  input  logic [39:0] link_awaddr_i,
  input  logic        link_wvalid_i,
  output logic        link_wready_o,
  input  logic [63:0] link_wdata_i,
  input  logic [7:0]  link_wstrb_i,
  output logic        link_bvalid_o,
  input  logic        link_bready_i,

  output logic [2:0]  rid_o,
  output logic [63:0] rdata_o,
  output logic [1:0]  rresp_o,
  output logic        rlast_o,
  output logic [2:0]  bid_o,
  output logic [1:0]  bresp_o
);
  ufp4_axi_pkg::request_t request, request_seen;
  ufp4_axi_pkg::taken_t   taken, memory_taken;
  ufp4_axi_pkg::answer_t  answer, memory_answer;
  ufp4_axi_pkg::heard_t   heard;
  logic [63:0]            wdata;
  logic [7:0]             wstrb;
  logic                   unused_busy, unused_error;

  assign taken = memory_taken & ~{stall_i[0], stall_i[2], stall_i[3]};
  assign {rid_o, rresp_o, rlast_o, bid_o, bresp_o} = {answer.rid, answer.rresp, answer.rlast, answer.bid, answer.bresp};

  always_comb begin
    answer               = memory_answer;
    answer.rvalid        = memory_answer.rvalid && !stall_i[1];
    answer.bvalid        = memory_answer.bvalid && !stall_i[4];
    request_seen         = request;
    request_seen.arvalid = request.arvalid && !stall_i[0];
    request_seen.awvalid = request.awvalid && !stall_i[2];
    request_seen.wvalid  = request.wvalid && !stall_i[3];
  end

  ufp4_board_bus #(.BusBytes(BUS_BYTES)) u_bus (
    .*,
    .core_busy_o    (unused_busy),
    .error_o        (unused_error),
    .axi_o          (request),
    .axi_taken_i    (taken),
    .axi_i          (answer),
    .axi_heard_o    (heard),
    .axi_wdata_o    (wdata),
    .axi_wstrb_o    (wstrb)
  );

  ufp4_block_memory #(.BusBytes(BUS_BYTES), .MemoryBytes(16384)) u_memory (
    .clk_i,
    .rst_ni,
    .axi_i      (request_seen),
    .axi_taken_o(memory_taken),
    .axi_o      (memory_answer),
    .axi_heard_i(heard & ~{stall_i[1], stall_i[4]}),
    .axi_wdata_i(wdata),
    .axi_wstrb_i(wstrb),
    .axi_rdata_o(rdata_o)
  );

  // An offer stays until it is taken, whatever happens to the core.
  logic        ar_waits_q, aw_waits_q, w_waits_q;
  logic [50:0] ar, aw, ar_q, aw_q;
  logic [72:0] w, w_q;

  assign ar = {request.arid, request.araddr, request.arlen};
  assign aw = {request.awid, request.awaddr, request.awlen};
  assign w  = {wdata, wstrb, request.wlast};

  always_ff @(posedge clk_i) begin
    ar_waits_q <= rst_ni && request.arvalid && !taken.arready;
    aw_waits_q <= rst_ni && request.awvalid && !taken.awready;
    w_waits_q  <= rst_ni && request.wvalid && !taken.wready;
    {ar_q, aw_q, w_q} <= {ar, aw, w};
    if (rst_ni) begin
      if (ar_waits_q) assert (request.arvalid && ar == ar_q) else $error("AR has changed");
      if (aw_waits_q) assert (request.awvalid && aw == aw_q) else $error("AW has changed");
      if (w_waits_q) assert (request.wvalid && w == w_q) else $error("W has changed");
      if (held_o) begin
        assert (!request.arvalid && !request.awvalid && !request.wvalid) else $error("something moves though it is held");
      end
    end
  end

endmodule
