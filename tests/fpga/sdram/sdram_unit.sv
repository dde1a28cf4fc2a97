// SPDX-License-Identifier: Apache-2.0
// ufp4_sdram, for tests/fpga/sdram; while the march is busy its master has the AXI side, else the ports have it.
module sdram_unit #(
  parameter int unsigned ClockHz = 24_000_000,
  parameter int unsigned CasLatency = 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        start_i,
  output logic        busy_o,
  output logic        done_o,
  output logic        failed_o,
  output logic [31:0] first_o,
  output logic [31:0] fails_o,

  input  logic        arvalid_i,
  output logic        arready_o,
  input  logic [2:0]  arid_i,
  input  logic [39:0] araddr_i,
  input  logic [7:0]  arlen_i,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic [2:0]  rid_o,
  output logic [63:0] rdata_o,
  output logic [1:0]  rresp_o,
  output logic        rlast_o,
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [2:0]  awid_i,
  input  logic [39:0] awaddr_i,
  input  logic [7:0]  awlen_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [63:0] wdata_i,
  input  logic [7:0]  wstrb_i,
  input  logic        wlast_i,
  output logic        bvalid_o,
  input  logic        bready_i,
  output logic [2:0]  bid_o,
  output logic [1:0]  bresp_o,

  output ufp4_sdram_pkg::pins_t pins_o,
  input  logic [15:0] dq_i
);
  // A quarter of a bank's rows and all banks: what the march tests here, in a time that a test may take.
  localparam int unsigned MARCH_BYTES = 32'h4_0000;

  logic        m_arvalid, m_rready, m_awvalid, m_wvalid, m_wlast, m_bready;
  logic [2:0]  m_arid, m_awid;
  logic [39:0] m_araddr, m_awaddr;
  logic [7:0]  m_arlen, m_awlen, m_wstrb;
  logic [63:0] m_wdata;

  ufp4_memory_march #(.MemoryBytes(MARCH_BYTES)) u_march (
    .clk_i,
    .rst_ni,
    .start_i,
    .busy_o,
    .done_o,
    .failed_o,
    .first_o,
    .fails_o,
    .m_axi_arvalid_o(m_arvalid),
    .m_axi_arready_i(arready_o),
    .m_axi_arid_o   (m_arid),
    .m_axi_araddr_o (m_araddr),
    .m_axi_arlen_o  (m_arlen),
    .m_axi_rvalid_i (rvalid_o),
    .m_axi_rready_o (m_rready),
    .m_axi_rdata_i  (rdata_o),
    .m_axi_rresp_i  (rresp_o),
    .m_axi_rlast_i  (rlast_o),
    .m_axi_awvalid_o(m_awvalid),
    .m_axi_awready_i(awready_o),
    .m_axi_awid_o   (m_awid),
    .m_axi_awaddr_o (m_awaddr),
    .m_axi_awlen_o  (m_awlen),
    .m_axi_wvalid_o (m_wvalid),
    .m_axi_wready_i (wready_o),
    .m_axi_wdata_o  (m_wdata),
    .m_axi_wstrb_o  (m_wstrb),
    .m_axi_wlast_o  (m_wlast),
    .m_axi_bvalid_i (bvalid_o),
    .m_axi_bready_o (m_bready),
    .m_axi_bresp_i  (bresp_o)
  );

  ufp4_sdram #(
    .ClockHz   (ClockHz),
    .CasLatency(CasLatency)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_axi_arvalid_i(busy_o ? m_arvalid : arvalid_i),
    .s_axi_arready_o(arready_o),
    .s_axi_arid_i   (busy_o ? m_arid : arid_i),
    .s_axi_araddr_i (busy_o ? m_araddr : araddr_i),
    .s_axi_arlen_i  (busy_o ? m_arlen : arlen_i),
    .s_axi_rvalid_o (rvalid_o),
    .s_axi_rready_i (busy_o ? m_rready : rready_i),
    .s_axi_rid_o    (rid_o),
    .s_axi_rdata_o  (rdata_o),
    .s_axi_rresp_o  (rresp_o),
    .s_axi_rlast_o  (rlast_o),
    .s_axi_awvalid_i(busy_o ? m_awvalid : awvalid_i),
    .s_axi_awready_o(awready_o),
    .s_axi_awid_i   (busy_o ? m_awid : awid_i),
    .s_axi_awaddr_i (busy_o ? m_awaddr : awaddr_i),
    .s_axi_awlen_i  (busy_o ? m_awlen : awlen_i),
    .s_axi_wvalid_i (busy_o ? m_wvalid : wvalid_i),
    .s_axi_wready_o (wready_o),
    .s_axi_wdata_i  (busy_o ? m_wdata : wdata_i),
    .s_axi_wstrb_i  (busy_o ? m_wstrb : wstrb_i),
    .s_axi_wlast_i  (busy_o ? m_wlast : wlast_i),
    .s_axi_bvalid_o (bvalid_o),
    .s_axi_bready_i (busy_o ? m_bready : bready_i),
    .s_axi_bid_o    (bid_o),
    .s_axi_bresp_o  (bresp_o),
    .sdram_o        (pins_o),
    .sdram_dq_i     (dq_i)
  );
endmodule
