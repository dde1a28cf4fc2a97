// SPDX-License-Identifier: Apache-2.0
// A whole board except its pins: the core, its memory, and the link to a host as a stream of bytes.
//
// Contract: docs/reference/link.md. rx brings one byte per cycle of rx_valid_i; tx is valid/ready.
// Memory selects 0 block RAM of MemoryBytes, 1 SDRAM (ufp4_sdram; sdram_o is idle otherwise), or 2
// DRAM, whose beats leave through dram_o for ufp4_dram_port. Board is a name of up to 16
// characters. leds_o: 0 blinks; 1 the core moves data; 2 an access of the core or the march has
// failed since reset; 3 bytes move on the link. LEDs 1 and 3 are stretched so that they can be
// seen; the host can force all of them. rst_ni is synchronous; one cycle is enough.
// Test: tests/fpga.
module ufp4_board #(
  parameter int unsigned Rows = 1,
  parameter int unsigned Cols = 1,
  parameter int unsigned TileRows = 16,
  parameter int unsigned TileCols = 16,
  parameter int unsigned Chunk = 8,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_FPGA),
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_UNIFORM),
  parameter int unsigned Lanes = 4,
  parameter int unsigned Quant = 0,
  parameter int unsigned Mixed = 0,
  parameter int unsigned Memory = 0,
  parameter int unsigned MemoryBytes = 32'h4_0000,
  parameter int unsigned ClockHz = 25_000_000,
  parameter int unsigned Baud = 3_000_000,
  parameter logic [127:0] Board = "sim"
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        rx_valid_i,
  input  logic [7:0]  rx_data_i,
  output logic        tx_valid_o,
  input  logic        tx_ready_i,
  output logic [7:0]  tx_data_o,
  output logic [7:0]  leds_o,

  output ufp4_sdram_pkg::pins_t sdram_o,
  input  logic [15:0]           sdram_dq_i,
  output ufp4_dram_pkg::request_t dram_o,
  input  ufp4_dram_pkg::answer_t  dram_i
);
  localparam int unsigned ADDR_BITS = ufp4_spec_pkg::ADDR_BITS;
  localparam int unsigned CORE_ID_BITS = ufp4_axi_pkg::ID_BITS - 1;
  if (Memory > 2) begin : gen_check_memory
    $error("ufp4_board: Memory is 0, block RAM, 1, SDRAM, or 2, DRAM");
  end

  // --- The core ----------------------------------------------------------------------------------

  logic                    irq, core_rst_n;
  logic                    axil_awvalid, axil_awready, axil_wvalid, axil_wready, axil_bvalid, axil_bready;
  logic                    axil_arvalid, axil_arready, axil_rvalid, axil_rready;
  logic [11:0]             axil_awaddr, axil_araddr;
  logic [31:0]             axil_wdata, axil_rdata;
  logic [3:0]              axil_wstrb;
  logic [1:0]              axil_bresp, axil_rresp;
  logic                    core_arvalid, core_arready, core_rvalid, core_rready;
  logic                    core_awvalid, core_awready, core_wvalid, core_wready, core_bvalid, core_bready;
  logic [CORE_ID_BITS-1:0] core_arid, core_awid;
  logic [ADDR_BITS-1:0]    core_araddr, core_awaddr;
  logic [7:0]              core_arlen, core_awlen;
  logic [8*BusBytes-1:0]   core_wdata;
  logic [BusBytes-1:0]     core_wstrb;
  logic [8*BusBytes-1:0]   rdata;
  ufp4_axi_pkg::answer_t   answer;
  // All bursts are INCR of full beats, and the bus counts their beats.
  logic                    unused_wlast;
  logic [2:0]              unused_arsize, unused_awsize;
  logic [1:0]              unused_arburst, unused_awburst;

  ufp4_top #(
    .Rows    (Rows),
    .Cols    (Cols),
    .TileRows(TileRows),
    .TileCols(TileCols),
    .Chunk   (Chunk),
    .BusBytes(BusBytes),
    .Target  (Target),
    .Contract(Contract),
    .Formats (Formats),
    .Lanes   (Lanes),
    .Quant   (Quant),
    .Mixed   (Mixed)
  ) u_core (
    .clk_i,
    .rst_ni          (core_rst_n),
    .irq_o           (irq),
    .s_axil_awvalid_i(axil_awvalid),
    .s_axil_awready_o(axil_awready),
    .s_axil_awaddr_i (axil_awaddr),
    .s_axil_wvalid_i (axil_wvalid),
    .s_axil_wready_o (axil_wready),
    .s_axil_wdata_i  (axil_wdata),
    .s_axil_wstrb_i  (axil_wstrb),
    .s_axil_bvalid_o (axil_bvalid),
    .s_axil_bready_i (axil_bready),
    .s_axil_bresp_o  (axil_bresp),
    .s_axil_arvalid_i(axil_arvalid),
    .s_axil_arready_o(axil_arready),
    .s_axil_araddr_i (axil_araddr),
    .s_axil_rvalid_o (axil_rvalid),
    .s_axil_rready_i (axil_rready),
    .s_axil_rdata_o  (axil_rdata),
    .s_axil_rresp_o  (axil_rresp),
    .m_axi_arvalid_o (core_arvalid),
    .m_axi_arready_i (core_arready),
    .m_axi_arid_o    (core_arid),
    .m_axi_araddr_o  (core_araddr),
    .m_axi_arlen_o   (core_arlen),
    .m_axi_arsize_o  (unused_arsize),
    .m_axi_arburst_o (unused_arburst),
    .m_axi_rvalid_i  (core_rvalid),
    .m_axi_rready_o  (core_rready),
    .m_axi_rid_i     (answer.rid[CORE_ID_BITS-1:0]),
    .m_axi_rdata_i   (rdata),
    .m_axi_rresp_i   (answer.rresp),
    .m_axi_rlast_i   (answer.rlast),
    .m_axi_awvalid_o (core_awvalid),
    .m_axi_awready_i (core_awready),
    .m_axi_awid_o    (core_awid),
    .m_axi_awaddr_o  (core_awaddr),
    .m_axi_awlen_o   (core_awlen),
    .m_axi_awsize_o  (unused_awsize),
    .m_axi_awburst_o (unused_awburst),
    .m_axi_wvalid_o  (core_wvalid),
    .m_axi_wready_i  (core_wready),
    .m_axi_wdata_o   (core_wdata),
    .m_axi_wstrb_o   (core_wstrb),
    .m_axi_wlast_o   (unused_wlast),
    .m_axi_bvalid_i  (core_bvalid),
    .m_axi_bready_o  (core_bready),
    .m_axi_bid_i     (answer.bid[CORE_ID_BITS-1:0]),
    .m_axi_bresp_i   (answer.bresp)
  );

  // --- The link ----------------------------------------------------------------------------------

  logic [8:0]            leds_forced;
  logic                  core_reset, core_reset_done, march_start, march_busy, march_done, march_failed;
  logic [31:0]           march_address, march_count;
  logic                  link_arvalid, link_arready, link_rvalid, link_rready;
  logic                  link_awvalid, link_awready, link_wvalid, link_wready, link_bvalid, link_bready;
  logic [ADDR_BITS-1:0]  link_araddr, link_awaddr;
  logic [8*BusBytes-1:0] link_wdata;
  logic [BusBytes-1:0]   link_wstrb;

  ufp4_link #(
    .BusBytes   (BusBytes),
    .MemoryBytes(MemoryBytes),
    .ClockHz    (ClockHz),
    .Baud       (Baud),
    .Board      (Board),
    .Sdram      (Memory != 0)
  ) u_link (
    .clk_i,
    .rst_ni,
    .irq_i            (irq),
    .rx_valid_i,
    .rx_data_i,
    .tx_valid_o,
    .tx_ready_i,
    .tx_data_o,
    .leds_o           (leds_forced),
    .core_reset_o     (core_reset),
    .core_reset_done_i(core_reset_done),
    .march_start_o    (march_start),
    .march_busy_i     (march_busy),
    .march_done_i     (march_done),
    .march_failed_i   (march_failed),
    .march_address_i  (march_address),
    .march_count_i    (march_count),
    .m_axil_awvalid_o (axil_awvalid),
    .m_axil_awready_i (axil_awready),
    .m_axil_awaddr_o  (axil_awaddr),
    .m_axil_wvalid_o  (axil_wvalid),
    .m_axil_wready_i  (axil_wready),
    .m_axil_wdata_o   (axil_wdata),
    .m_axil_wstrb_o   (axil_wstrb),
    .m_axil_bvalid_i  (axil_bvalid),
    .m_axil_bready_o  (axil_bready),
    .m_axil_bresp_i   (axil_bresp),
    .m_axil_arvalid_o (axil_arvalid),
    .m_axil_arready_i (axil_arready),
    .m_axil_araddr_o  (axil_araddr),
    .m_axil_rvalid_i  (axil_rvalid),
    .m_axil_rready_o  (axil_rready),
    .m_axil_rdata_i   (axil_rdata),
    .m_axil_rresp_i   (axil_rresp),
    .m_axi_arvalid_o  (link_arvalid),
    .m_axi_arready_i  (link_arready),
    .m_axi_araddr_o   (link_araddr),
    .m_axi_rvalid_i   (link_rvalid),
    .m_axi_rready_o   (link_rready),
    .m_axi_rdata_i    (rdata),
    .m_axi_rresp_i    (answer.rresp),
    .m_axi_awvalid_o  (link_awvalid),
    .m_axi_awready_i  (link_awready),
    .m_axi_awaddr_o   (link_awaddr),
    .m_axi_wvalid_o   (link_wvalid),
    .m_axi_wready_i   (link_wready),
    .m_axi_wdata_o    (link_wdata),
    .m_axi_wstrb_o    (link_wstrb),
    .m_axi_bvalid_i   (link_bvalid),
    .m_axi_bready_o   (link_bready),
    .m_axi_bresp_i    (answer.bresp)
  );

  // --- The bus and memory ------------------------------------------------------------------------

  logic                   busy, bus_error, hold, held;
  ufp4_axi_pkg::request_t request;
  ufp4_axi_pkg::taken_t   taken;
  ufp4_axi_pkg::heard_t   heard;
  logic [8*BusBytes-1:0]  wdata;
  logic [BusBytes-1:0]    wstrb;

  ufp4_board_bus #(.BusBytes(BusBytes)) u_bus (
    .clk_i,
    .rst_ni,
    .core_reset_i     (core_reset),
    .core_reset_done_o(core_reset_done),
    .core_rst_no      (core_rst_n),
    .core_busy_o      (busy),
    .error_o          (bus_error),
    .hold_i           (hold),
    .held_o           (held),
    .core_arvalid_i   (core_arvalid),
    .core_arready_o   (core_arready),
    .core_arid_i      (core_arid),
    .core_araddr_i    (core_araddr),
    .core_arlen_i     (core_arlen),
    .core_rvalid_o    (core_rvalid),
    .core_rready_i    (core_rready),
    .core_awvalid_i   (core_awvalid),
    .core_awready_o   (core_awready),
    .core_awid_i      (core_awid),
    .core_awaddr_i    (core_awaddr),
    .core_awlen_i     (core_awlen),
    .core_wvalid_i    (core_wvalid),
    .core_wready_o    (core_wready),
    .core_wdata_i     (core_wdata),
    .core_wstrb_i     (core_wstrb),
    .core_bvalid_o    (core_bvalid),
    .core_bready_i    (core_bready),
    .link_arvalid_i   (link_arvalid),
    .link_arready_o   (link_arready),
    .link_araddr_i    (link_araddr),
    .link_rvalid_o    (link_rvalid),
    .link_rready_i    (link_rready),
    .link_awvalid_i   (link_awvalid),
    .link_awready_o   (link_awready),
    .link_awaddr_i    (link_awaddr),
    .link_wvalid_i    (link_wvalid),
    .link_wready_o    (link_wready),
    .link_wdata_i     (link_wdata),
    .link_wstrb_i     (link_wstrb),
    .link_bvalid_o    (link_bvalid),
    .link_bready_i    (link_bready),
    .axi_o            (request),
    .axi_taken_i      (taken),
    .axi_i            (answer),
    .axi_heard_o      (heard),
    .axi_wdata_o      (wdata),
    .axi_wstrb_o      (wstrb)
  );

  ufp4_board_memory #(
    .BusBytes   (BusBytes),
    .Memory     (Memory),
    .ClockHz    (ClockHz),
    .MemoryBytes(MemoryBytes)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .march_start_i  (march_start),
    .march_busy_o   (march_busy),
    .march_done_o   (march_done),
    .march_failed_o (march_failed),
    .march_address_o(march_address),
    .march_count_o  (march_count),
    .hold_o         (hold),
    .held_i         (held),
    .axi_i          (request),
    .axi_taken_o    (taken),
    .axi_o          (answer),
    .axi_heard_i    (heard),
    .axi_wdata_i    (wdata),
    .axi_wstrb_i    (wstrb),
    .axi_rdata_o    (rdata),
    .sdram_o,
    .sdram_dq_i,
    .dram_o,
    .dram_i
  );

  // --- LEDs --------------------------------------------------------------------------------------

  localparam int unsigned BLINK_W = $clog2(ClockHz);
  localparam int unsigned STRETCH_W = BLINK_W - 5;   // some 30 to 60 ms

  logic [BLINK_W-1:0]        blink_q;
  logic [1:0][STRETCH_W-1:0] stretch_q;
  logic [1:0]                active;
  logic                      failed_q;

  assign active = {rx_valid_i || (tx_valid_o && tx_ready_i), busy};
  assign leds_o = leds_forced[8] ? leds_forced[7:0] :
                  {4'd0, stretch_q[1] != '0, failed_q, stretch_q[0] != '0, blink_q[BLINK_W-1]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      blink_q   <= '0;
      stretch_q <= '0;
      failed_q  <= 1'b0;
    end else begin
      blink_q  <= blink_q + 1'b1;
      failed_q <= failed_q || bus_error || march_failed;
      for (int unsigned i = 0; i < 2; i++) begin
        if (active[i]) stretch_q[i] <= '1;
        else if (stretch_q[i] != '0) stretch_q[i] <= stretch_q[i] - 1'b1;
      end
    end
  end

endmodule
