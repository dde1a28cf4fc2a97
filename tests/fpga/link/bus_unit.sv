// SPDX-License-Identifier: Apache-2.0
// The board's bus with block memory behind it, each channel of which can be stalled, and what AXI asks of the bus.
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
  logic        arvalid, arready, rvalid, rready, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic        memory_arready, memory_rvalid, memory_awready, memory_wready, memory_bvalid;
  logic [2:0]  arid, awid;
  logic [39:0] araddr, awaddr;
  logic [7:0]  arlen, awlen, wstrb;
  logic [63:0] wdata;
  logic        unused_busy, unused_error;

  assign arready = memory_arready && !stall_i[0];
  assign rvalid  = memory_rvalid && !stall_i[1];
  assign awready = memory_awready && !stall_i[2];
  assign wready  = memory_wready && !stall_i[3];
  assign bvalid  = memory_bvalid && !stall_i[4];

  ufp4_board_bus #(.BusBytes(BUS_BYTES)) u_bus (
    .clk_i,
    .rst_ni,
    .core_reset_i,
    .core_reset_done_o,
    .core_rst_no,
    .core_busy_o    (unused_busy),
    .error_o        (unused_error),
    .hold_i,
    .held_o,
    .core_arvalid_i,
    .core_arready_o,
    .core_arid_i,
    .core_araddr_i,
    .core_arlen_i,
    .core_rvalid_o,
    .core_rready_i,
    .core_awvalid_i,
    .core_awready_o,
    .core_awid_i,
    .core_awaddr_i,
    .core_awlen_i,
    .core_wvalid_i,
    .core_wready_o,
    .core_wdata_i,
    .core_wstrb_i,
    .core_bvalid_o,
    .core_bready_i,
    .link_arvalid_i,
    .link_arready_o,
    .link_araddr_i,
    .link_rvalid_o,
    .link_rready_i,
    .link_awvalid_i,
    .link_awready_o,
    .link_awaddr_i,
    .link_wvalid_i,
    .link_wready_o,
    .link_wdata_i,
    .link_wstrb_i,
    .link_bvalid_o,
    .link_bready_i,
    .m_axi_arvalid_o(arvalid),
    .m_axi_arready_i(arready),
    .m_axi_arid_o   (arid),
    .m_axi_araddr_o (araddr),
    .m_axi_arlen_o  (arlen),
    .m_axi_rvalid_i (rvalid),
    .m_axi_rready_o (rready),
    .m_axi_rid_i    (rid_o),
    .m_axi_rresp_i  (rresp_o),
    .m_axi_rlast_i  (rlast_o),
    .m_axi_awvalid_o(awvalid),
    .m_axi_awready_i(awready),
    .m_axi_awid_o   (awid),
    .m_axi_awaddr_o (awaddr),
    .m_axi_awlen_o  (awlen),
    .m_axi_wvalid_o (wvalid),
    .m_axi_wready_i (wready),
    .m_axi_wdata_o  (wdata),
    .m_axi_wstrb_o  (wstrb),
    .m_axi_wlast_o  (wlast),
    .m_axi_bvalid_i (bvalid),
    .m_axi_bready_o (bready),
    .m_axi_bid_i    (bid_o),
    .m_axi_bresp_i  (bresp_o)
  );

  ufp4_block_memory #(.BusBytes(BUS_BYTES), .IdBits(3), .MemoryBytes(16384)) u_memory (
    .clk_i,
    .rst_ni,
    .s_axi_arvalid_i(arvalid && !stall_i[0]),
    .s_axi_arready_o(memory_arready),
    .s_axi_arid_i   (arid),
    .s_axi_araddr_i (araddr),
    .s_axi_arlen_i  (arlen),
    .s_axi_rvalid_o (memory_rvalid),
    .s_axi_rready_i (rready && !stall_i[1]),
    .s_axi_rid_o    (rid_o),
    .s_axi_rdata_o  (rdata_o),
    .s_axi_rresp_o  (rresp_o),
    .s_axi_rlast_o  (rlast_o),
    .s_axi_awvalid_i(awvalid && !stall_i[2]),
    .s_axi_awready_o(memory_awready),
    .s_axi_awid_i   (awid),
    .s_axi_awaddr_i (awaddr),
    .s_axi_awlen_i  (awlen),
    .s_axi_wvalid_i (wvalid && !stall_i[3]),
    .s_axi_wready_o (memory_wready),
    .s_axi_wdata_i  (wdata),
    .s_axi_wstrb_i  (wstrb),
    .s_axi_wlast_i  (wlast),
    .s_axi_bvalid_o (memory_bvalid),
    .s_axi_bready_i (bready && !stall_i[4]),
    .s_axi_bid_o    (bid_o),
    .s_axi_bresp_o  (bresp_o)
  );

  // What is offered stays until it is taken, whatever happens to the core.
  logic        ar_waits_q, aw_waits_q, w_waits_q;
  logic [50:0] ar_q, aw_q;
  logic [72:0] w_q;

  always_ff @(posedge clk_i) begin
    ar_waits_q <= rst_ni && arvalid && !arready;
    aw_waits_q <= rst_ni && awvalid && !awready;
    w_waits_q  <= rst_ni && wvalid && !wready;
    ar_q       <= {arid, araddr, arlen};
    aw_q       <= {awid, awaddr, awlen};
    w_q        <= {wdata, wstrb, wlast};
    if (rst_ni) begin
      if (ar_waits_q) assert (arvalid && {arid, araddr, arlen} == ar_q) else $error("AR has changed");
      if (aw_waits_q) assert (awvalid && {awid, awaddr, awlen} == aw_q) else $error("AW has changed");
      if (w_waits_q) assert (wvalid && {wdata, wstrb, wlast} == w_q) else $error("W has changed");
      if (held_o) assert (!arvalid && !awvalid && !wvalid) else $error("something moves though it is held");
    end
  end

endmodule
