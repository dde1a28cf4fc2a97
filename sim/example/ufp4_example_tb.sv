// SPDX-License-Identifier: Apache-2.0
// An example for your own testbench: the core, a memory, and a host that runs the job of docs/ip/example.md and compares each
// byte. Of the smallest core that has both elements; any other gives the same bytes. Build and run it, with the installed files:
//   $ cd PREFIX/share/ufp4
//   $ verilator --binary --timing --assert -Wno-fatal -Wno-lint -Werror-USERERROR --timescale 1ns/1ps --Mdir /tmp/example
//     --top-module ufp4_example_tb -F rtl/rtl.f -F rtl/sva.f -F example/example.f
//   $ /tmp/example/Vufp4_example_tb
module ufp4_example_tb
  import ufp4_spec_pkg::*, ufp4_example_pkg::*;
();

  localparam int unsigned BusBytes = 8;
  localparam logic [39:0] Base = 40'h80000000;

  logic clk = 1'b0, rst_n = 1'b0, irq;
  always #5 clk = !clk;

  // --- The core and its memory ----------------------------------------------------------------------------------------

  logic awvalid = 1'b0, awready, wvalid = 1'b0, wready, bvalid, arvalid = 1'b0, arready, rvalid;
  logic [11:0] awaddr, araddr;
  logic [31:0] wdata, rdata;
  logic [1:0] bresp, rresp;

  logic m_arvalid, m_arready, m_rvalid, m_rready, m_rlast;
  logic m_awvalid, m_awready, m_wvalid, m_wready, m_wlast, m_bvalid, m_bready;
  logic [1:0] m_arid, m_rid, m_rresp, m_awid, m_bid, m_bresp;
  logic [39:0] m_araddr, m_awaddr;
  logic [7:0] m_arlen;
  logic [8*BusBytes-1:0] m_rdata, m_wdata;
  logic [BusBytes-1:0] m_wstrb;

  ufp4_top #(
    .Rows    (1),
    .Cols    (1),
    .TileRows(16),
    .TileCols(16),
    .Chunk   (8),
    .BusBytes(BusBytes),
    .Lanes   (4),
    .Quant   (0)
  ) u_core (
    .clk_i           (clk),
    .rst_ni          (rst_n),
    .irq_o           (irq),
    .s_axil_awvalid_i(awvalid),
    .s_axil_awready_o(awready),
    .s_axil_awaddr_i (awaddr),
    .s_axil_wvalid_i (wvalid),
    .s_axil_wready_o (wready),
    .s_axil_wdata_i  (wdata),
    .s_axil_wstrb_i  (4'hF),
    .s_axil_bvalid_o (bvalid),
    .s_axil_bready_i (1'b1),
    .s_axil_bresp_o  (bresp),
    .s_axil_arvalid_i(arvalid),
    .s_axil_arready_o(arready),
    .s_axil_araddr_i (araddr),
    .s_axil_rvalid_o (rvalid),
    .s_axil_rready_i (1'b1),
    .s_axil_rdata_o  (rdata),
    .s_axil_rresp_o  (rresp),
    .m_axi_arvalid_o (m_arvalid),
    .m_axi_arready_i (m_arready),
    .m_axi_arid_o    (m_arid),
    .m_axi_araddr_o  (m_araddr),
    .m_axi_arlen_o   (m_arlen),
    .m_axi_arsize_o  (),  // always that of the bus
    .m_axi_arburst_o (),  // always INCR
    .m_axi_rvalid_i  (m_rvalid),
    .m_axi_rready_o  (m_rready),
    .m_axi_rid_i     (m_rid),
    .m_axi_rdata_i   (m_rdata),
    .m_axi_rresp_i   (m_rresp),
    .m_axi_rlast_i   (m_rlast),
    .m_axi_awvalid_o (m_awvalid),
    .m_axi_awready_i (m_awready),
    .m_axi_awid_o    (m_awid),
    .m_axi_awaddr_o  (m_awaddr),
    .m_axi_awlen_o   (),  // the last beat says so
    .m_axi_awsize_o  (),
    .m_axi_awburst_o (),
    .m_axi_wvalid_o  (m_wvalid),
    .m_axi_wready_i  (m_wready),
    .m_axi_wdata_o   (m_wdata),
    .m_axi_wstrb_o   (m_wstrb),
    .m_axi_wlast_o   (m_wlast),
    .m_axi_bvalid_i  (m_bvalid),
    .m_axi_bready_o  (m_bready),
    .m_axi_bid_i     (m_bid),
    .m_axi_bresp_i   (m_bresp)
  );

  ufp4_example_memory #(
    .BusBytes(BusBytes),
    .Base    (Base)
  ) u_memory (
    .clk_i    (clk),
    .rst_ni   (rst_n),
    .arvalid_i(m_arvalid),
    .arready_o(m_arready),
    .arid_i   (m_arid),
    .araddr_i (m_araddr),
    .arlen_i  (m_arlen),
    .rvalid_o (m_rvalid),
    .rready_i (m_rready),
    .rid_o    (m_rid),
    .rdata_o  (m_rdata),
    .rresp_o  (m_rresp),
    .rlast_o  (m_rlast),
    .awvalid_i(m_awvalid),
    .awready_o(m_awready),
    .awid_i   (m_awid),
    .awaddr_i (m_awaddr),
    .wvalid_i (m_wvalid),
    .wready_o (m_wready),
    .wdata_i  (m_wdata),
    .wstrb_i  (m_wstrb),
    .wlast_i  (m_wlast),
    .bvalid_o (m_bvalid),
    .bready_i (m_bready),
    .bid_o    (m_bid),
    .bresp_o  (m_bresp)
  );

  // --- The host: it drives at falling edges, the core looks at rising ones ---------------------------------------------

  task automatic write_register(input logic [11:0] offset, input logic [31:0] value);
    logic aw, w;
    @(negedge clk);
    awaddr  = offset;
    wdata   = value;
    awvalid = 1'b1;
    wvalid  = 1'b1;
    while (awvalid || wvalid) begin
      @(posedge clk);
      aw = awready;
      w  = wready;
      @(negedge clk);
      if (aw) awvalid = 1'b0;
      if (w) wvalid = 1'b0;
    end
    while (!bvalid) @(negedge clk);
  endtask

  task automatic read_register(input logic [11:0] offset, output logic [31:0] value);
    logic ar;
    @(negedge clk);
    araddr  = offset;
    arvalid = 1'b1;
    while (arvalid) begin
      @(posedge clk);
      ar = arready;
      @(negedge clk);
      if (ar) arvalid = 1'b0;
    end
    while (!rvalid) @(negedge clk);
    value = rdata;
  endtask

  int unsigned compared, wrong;
  task automatic compare(input string what, input logic [31:0] got, input logic [31:0] want);
    compared++;
    if (got === want) return;
    wrong++;
    $display("ufp4_example: %s: got %h, want %h", what, got, want);
  endtask

  logic [31:0] read;
  initial begin
    repeat (10) @(negedge clk);
    rst_n = 1'b1;
    read_register(REG_ID, read);
    compare("register id", read, 32'h55465034);
    foreach (BEFORE[l])
      for (int unsigned i = 0; i < BEFORE[l].count; i++)
        u_memory.data[32'(BEFORE[l].address-Base)+i] = BEFORE[l].bytes[8*i+:8];
    foreach (REGISTER[i]) write_register(REGISTER[i].offset, REGISTER[i].value);
    for (int cycles = 0; !irq && cycles < 10000; cycles++) @(negedge clk);
    compare("irq_o", 32'(irq), 1);
    read_register(REG_IRQ_STATUS, read);
    compare("register irq_status", read, 1);
    read_register(REG_RING_HEAD, read);
    compare("register ring_head", read, 1);
    foreach (AFTER[l])
      for (int unsigned i = 0; i < AFTER[l].count; i++)
        compare($sformatf("byte at %h", AFTER[l].address + 40'(i)), 32'(u_memory.data[32'(AFTER[l].address-Base)+i]),
                32'(AFTER[l].bytes[8*i+:8]));
    write_register(REG_IRQ_STATUS, 1);
    @(negedge clk);
    compare("irq_o after irq_status is cleared", 32'(irq), 0);
    $display("ufp4_example: %0d compared, %0d wrong, %0t", compared, wrong, $time);
    if (wrong != 0) $fatal(1, "ufp4_example: the core is not as docs/ip/example.md says");
    $finish;
  end

endmodule
