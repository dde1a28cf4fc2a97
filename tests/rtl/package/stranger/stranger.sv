// SPDX-License-Identifier: Apache-2.0
// The top of another project, with the core `tiny` for FPGAs in it, whose buses nobody drives. Its
// parameter Rows has a meaning of its own.
module stranger #(
  parameter int unsigned Rows = 1,
  parameter int unsigned Depth = 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  output logic [Rows*Depth-1:0] beats_o,
  output logic                  irq_o
);
  localparam int unsigned BUS = 8;

  logic             s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid;
  logic             m_axi_arvalid, m_axi_rready, m_axi_awvalid, m_axi_wvalid, m_axi_wlast, m_axi_bready;
  logic [31:0]      s_axil_rdata;
  logic [1:0]       s_axil_bresp, s_axil_rresp, m_axi_arid, m_axi_arburst, m_axi_awid, m_axi_awburst;
  logic [39:0]      m_axi_araddr, m_axi_awaddr;
  logic [7:0]       m_axi_arlen, m_axi_awlen;
  logic [2:0]       m_axi_arsize, m_axi_awsize;
  logic [8*BUS-1:0] m_axi_wdata;
  logic [BUS-1:0]   m_axi_wstrb;
  logic             unused;

  assign unused = ^{s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid, s_axil_rdata,
                    s_axil_bresp, s_axil_rresp, m_axi_arid, m_axi_arburst, m_axi_awid, m_axi_awburst, m_axi_araddr,
                    m_axi_awaddr, m_axi_arlen, m_axi_awlen, m_axi_arsize, m_axi_awsize, m_axi_rready, m_axi_awvalid,
                    m_axi_wvalid, m_axi_wlast, m_axi_wdata, m_axi_wstrb, m_axi_bready};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) beats_o <= '0;
    else if (m_axi_arvalid) beats_o <= beats_o + 1'b1;
  end

  ufp4_top #(
    .Rows    (1),
    .Cols    (1),
    .TileRows(16),
    .TileCols(16),
    .Chunk   (8),
    .BusBytes(BUS),
    .Target  (1),
    .Formats (2),
    .Lanes   (4),
    .Quant   (0)
  ) u_core (
    .clk_i,
    .rst_ni,
    .irq_o,
    .s_axil_awvalid_i(1'b0),
    .s_axil_awready_o(s_axil_awready),
    .s_axil_awaddr_i (12'b0),
    .s_axil_wvalid_i (1'b0),
    .s_axil_wready_o (s_axil_wready),
    .s_axil_wdata_i  (32'b0),
    .s_axil_wstrb_i  (4'b0),
    .s_axil_bvalid_o (s_axil_bvalid),
    .s_axil_bready_i (1'b1),
    .s_axil_bresp_o  (s_axil_bresp),
    .s_axil_arvalid_i(1'b0),
    .s_axil_arready_o(s_axil_arready),
    .s_axil_araddr_i (12'b0),
    .s_axil_rvalid_o (s_axil_rvalid),
    .s_axil_rready_i (1'b1),
    .s_axil_rdata_o  (s_axil_rdata),
    .s_axil_rresp_o  (s_axil_rresp),
    .m_axi_arvalid_o (m_axi_arvalid),
    .m_axi_arready_i (1'b0),
    .m_axi_arid_o    (m_axi_arid),
    .m_axi_araddr_o  (m_axi_araddr),
    .m_axi_arlen_o   (m_axi_arlen),
    .m_axi_arsize_o  (m_axi_arsize),
    .m_axi_arburst_o (m_axi_arburst),
    .m_axi_rvalid_i  (1'b0),
    .m_axi_rready_o  (m_axi_rready),
    .m_axi_rid_i     (2'b0),
    .m_axi_rdata_i   (64'b0),
    .m_axi_rresp_i   (2'b0),
    .m_axi_rlast_i   (1'b0),
    .m_axi_awvalid_o (m_axi_awvalid),
    .m_axi_awready_i (1'b0),
    .m_axi_awid_o    (m_axi_awid),
    .m_axi_awaddr_o  (m_axi_awaddr),
    .m_axi_awlen_o   (m_axi_awlen),
    .m_axi_awsize_o  (m_axi_awsize),
    .m_axi_awburst_o (m_axi_awburst),
    .m_axi_wvalid_o  (m_axi_wvalid),
    .m_axi_wready_i  (1'b0),
    .m_axi_wdata_o   (m_axi_wdata),
    .m_axi_wstrb_o   (m_axi_wstrb),
    .m_axi_wlast_o   (m_axi_wlast),
    .m_axi_bvalid_i  (1'b0),
    .m_axi_bready_o  (m_axi_bready),
    .m_axi_bid_i     (2'b0),
    .m_axi_bresp_i   (2'b0)
  );
endmodule
