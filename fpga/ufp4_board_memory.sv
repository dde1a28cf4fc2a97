// SPDX-License-Identifier: Apache-2.0
// A board's memory: block RAM, or SDRAM with its march.
//
// Contract: the AXI side is that of ufp4_block_memory; without SDRAM there is no march and the pins are idle. A march
// that is started (march_start_i, a pulse) waits with hold_o until held_i: until what is under way has ended and
// nothing more comes.
// march_*: as ufp4_memory_march has them; busy while it waits, too. Test: tests/fpga.
module ufp4_board_memory #(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned IdBits = 3,
  parameter int unsigned SdramClockHz = 0,   // 0: block RAM
  parameter int unsigned MemoryBytes = 32'h4_0000,
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  march_start_i,
  output logic                  march_busy_o,
  output logic                  march_done_o,
  output logic                  march_failed_o,
  output logic [31:0]           march_address_o,
  output logic [31:0]           march_count_o,
  output logic                  hold_o,
  input  logic                  held_i,

  input  logic                  s_axi_arvalid_i,
  output logic                  s_axi_arready_o,
  input  logic [IdBits-1:0]     s_axi_arid_i,
  input  logic [AddrBits-1:0]   s_axi_araddr_i,
  input  logic [7:0]            s_axi_arlen_i,
  output logic                  s_axi_rvalid_o,
  input  logic                  s_axi_rready_i,
  output logic [IdBits-1:0]     s_axi_rid_o,
  output logic [8*BusBytes-1:0] s_axi_rdata_o,
  output logic [1:0]            s_axi_rresp_o,
  output logic                  s_axi_rlast_o,
  input  logic                  s_axi_awvalid_i,
  output logic                  s_axi_awready_o,
  input  logic [IdBits-1:0]     s_axi_awid_i,
  input  logic [AddrBits-1:0]   s_axi_awaddr_i,
  input  logic [7:0]            s_axi_awlen_i,
  input  logic                  s_axi_wvalid_i,
  output logic                  s_axi_wready_o,
  input  logic [8*BusBytes-1:0] s_axi_wdata_i,
  input  logic [BusBytes-1:0]   s_axi_wstrb_i,
  input  logic                  s_axi_wlast_i,
  output logic                  s_axi_bvalid_o,
  input  logic                  s_axi_bready_i,
  output logic [IdBits-1:0]     s_axi_bid_o,
  output logic [1:0]            s_axi_bresp_o,

  output ufp4_sdram_pkg::pins_t sdram_o,
  input  logic [15:0]           sdram_dq_i
);

  if (SdramClockHz != 0) begin : gen_sdram
    // --- The march: memory is its own while it runs -----------------------------------------------------------------

    logic                  waits_q, march_busy, march_done;
    logic                  arvalid, arready, rvalid, rready, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
    logic                  march_arvalid, march_rready, march_awvalid, march_wvalid, march_wlast, march_bready;
    logic [IdBits-1:0]     arid, awid, march_arid, march_awid;
    logic [AddrBits-1:0]   araddr, awaddr, march_araddr, march_awaddr;
    logic [7:0]            arlen, awlen, march_arlen, march_awlen;
    logic [8*BusBytes-1:0] wdata, march_wdata;
    logic [BusBytes-1:0]   wstrb, march_wstrb;

    assign march_busy_o = waits_q || march_busy;
    assign march_done_o = march_done && !waits_q;
    assign hold_o       = march_busy_o;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) waits_q <= 1'b0;
      else waits_q <= march_start_i ? !march_busy : waits_q && !held_i;
    end

    ufp4_memory_march #(
      .BusBytes   (BusBytes),
      .IdBits     (IdBits),
      .MemoryBytes(MemoryBytes)
    ) u_march (
      .clk_i,
      .rst_ni,
      .start_i        (waits_q && held_i),
      .busy_o         (march_busy),
      .done_o         (march_done),
      .failed_o       (march_failed_o),
      .first_o        (march_address_o),
      .fails_o        (march_count_o),
      .m_axi_arvalid_o(march_arvalid),
      .m_axi_arready_i(arready),
      .m_axi_arid_o   (march_arid),
      .m_axi_araddr_o (march_araddr),
      .m_axi_arlen_o  (march_arlen),
      .m_axi_rvalid_i (rvalid && march_busy),
      .m_axi_rready_o (march_rready),
      .m_axi_rdata_i  (s_axi_rdata_o),
      .m_axi_rresp_i  (s_axi_rresp_o),
      .m_axi_rlast_i  (s_axi_rlast_o),
      .m_axi_awvalid_o(march_awvalid),
      .m_axi_awready_i(awready),
      .m_axi_awid_o   (march_awid),
      .m_axi_awaddr_o (march_awaddr),
      .m_axi_awlen_o  (march_awlen),
      .m_axi_wvalid_o (march_wvalid),
      .m_axi_wready_i (wready),
      .m_axi_wdata_o  (march_wdata),
      .m_axi_wstrb_o  (march_wstrb),
      .m_axi_wlast_o  (march_wlast),
      .m_axi_bvalid_i (bvalid && march_busy),
      .m_axi_bready_o (march_bready),
      .m_axi_bresp_i  (s_axi_bresp_o)
    );

    assign arvalid = march_busy ? march_arvalid : s_axi_arvalid_i;
    assign arid    = march_busy ? march_arid    : s_axi_arid_i;
    assign araddr  = march_busy ? march_araddr  : s_axi_araddr_i;
    assign arlen   = march_busy ? march_arlen   : s_axi_arlen_i;
    assign rready  = march_busy ? march_rready  : s_axi_rready_i;
    assign awvalid = march_busy ? march_awvalid : s_axi_awvalid_i;
    assign awid    = march_busy ? march_awid    : s_axi_awid_i;
    assign awaddr  = march_busy ? march_awaddr  : s_axi_awaddr_i;
    assign awlen   = march_busy ? march_awlen   : s_axi_awlen_i;
    assign wvalid  = march_busy ? march_wvalid  : s_axi_wvalid_i;
    assign wdata   = march_busy ? march_wdata   : s_axi_wdata_i;
    assign wstrb   = march_busy ? march_wstrb   : s_axi_wstrb_i;
    assign wlast   = march_busy ? march_wlast   : s_axi_wlast_i;
    assign bready  = march_busy ? march_bready  : s_axi_bready_i;
    assign s_axi_arready_o = arready && !march_busy;
    assign s_axi_rvalid_o  = rvalid && !march_busy;
    assign s_axi_awready_o = awready && !march_busy;
    assign s_axi_wready_o  = wready && !march_busy;
    assign s_axi_bvalid_o  = bvalid && !march_busy;

    ufp4_sdram #(
      .ClockHz (SdramClockHz),
      .BusBytes(BusBytes),
      .IdBits  (IdBits)
    ) u_sdram (
      .clk_i,
      .rst_ni,
      .s_axi_arvalid_i(arvalid),
      .s_axi_arready_o(arready),
      .s_axi_arid_i   (arid),
      .s_axi_araddr_i (araddr),
      .s_axi_arlen_i  (arlen),
      .s_axi_rvalid_o (rvalid),
      .s_axi_rready_i (rready),
      .s_axi_rid_o    (s_axi_rid_o),
      .s_axi_rdata_o  (s_axi_rdata_o),
      .s_axi_rresp_o  (s_axi_rresp_o),
      .s_axi_rlast_o  (s_axi_rlast_o),
      .s_axi_awvalid_i(awvalid),
      .s_axi_awready_o(awready),
      .s_axi_awid_i   (awid),
      .s_axi_awaddr_i (awaddr),
      .s_axi_awlen_i  (awlen),
      .s_axi_wvalid_i (wvalid),
      .s_axi_wready_o (wready),
      .s_axi_wdata_i  (wdata),
      .s_axi_wstrb_i  (wstrb),
      .s_axi_wlast_i  (wlast),
      .s_axi_bvalid_o (bvalid),
      .s_axi_bready_i (bready),
      .s_axi_bid_o    (s_axi_bid_o),
      .s_axi_bresp_o  (s_axi_bresp_o),
      .sdram_o,
      .sdram_dq_i
    );
  end else begin : gen_block
    ufp4_block_memory #(
      .BusBytes   (BusBytes),
      .IdBits     (IdBits),
      .MemoryBytes(MemoryBytes)
    ) u_block (
      .clk_i,
      .rst_ni,
      .s_axi_arvalid_i,
      .s_axi_arready_o,
      .s_axi_arid_i,
      .s_axi_araddr_i,
      .s_axi_arlen_i,
      .s_axi_rvalid_o,
      .s_axi_rready_i,
      .s_axi_rid_o,
      .s_axi_rdata_o,
      .s_axi_rresp_o,
      .s_axi_rlast_o,
      .s_axi_awvalid_i,
      .s_axi_awready_o,
      .s_axi_awid_i,
      .s_axi_awaddr_i,
      .s_axi_awlen_i,
      .s_axi_wvalid_i,
      .s_axi_wready_o,
      .s_axi_wdata_i,
      .s_axi_wstrb_i,
      .s_axi_wlast_i,
      .s_axi_bvalid_o,
      .s_axi_bready_i,
      .s_axi_bid_o,
      .s_axi_bresp_o
    );
    assign {march_busy_o, march_done_o, march_failed_o, march_address_o, march_count_o, hold_o} = '0;
    assign sdram_o = '{cs_n: 1'b1, ras_n: 1'b1, cas_n: 1'b1, we_n: 1'b1, default: '0};

    logic unused;
    assign unused = ^{march_start_i, held_i, sdram_dq_i};
  end

endmodule
