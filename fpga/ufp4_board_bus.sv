// SPDX-License-Identifier: Apache-2.0
// The board's bus: the core and the link share one memory, and the core can be taken off to be reset.
//
// Contract: bursts pass unchanged and in the order in which they were taken, the two masters in turn where both ask;
// the core's IDs have a 0 in front, the link's a 1. Beats of writes follow their address: one burst at a time.
// core_reset_i: no further burst of the core is taken; those that were end, writes without strobes where the core gives
// no beats, and what comes back is dropped. Then core_rst_no is low for RESET_CYCLES, and core_reset_done_o ends it.
// After rst_ni, too, it stays low for as long: the core wants more cycles than one.
// hold_i: no further burst of the link and no further write of the core is taken and, when the core's writes have ended,
// no further read. held_o: nothing of the core is under way (of the link there is nothing, where the link itself asks for this).
// Latency: none. Test: tests/fpga.
module ufp4_board_bus #(
  parameter int unsigned BusBytes = 8,
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned CoreIdBits = 2,
  localparam int unsigned IdBits = CoreIdBits + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  core_reset_i,
  output logic                  core_reset_done_o,
  output logic                  core_rst_no,
  output logic                  core_busy_o,         // it moves data
  output logic                  error_o,             // an answer to it is an error
  input  logic                  hold_i,
  output logic                  held_o,

  input  logic                  core_arvalid_i,
  output logic                  core_arready_o,
  input  logic [CoreIdBits-1:0] core_arid_i,
  input  logic [AddrBits-1:0]   core_araddr_i,
  input  logic [7:0]            core_arlen_i,
  output logic                  core_rvalid_o,
  input  logic                  core_rready_i,
  input  logic                  core_awvalid_i,
  output logic                  core_awready_o,
  input  logic [CoreIdBits-1:0] core_awid_i,
  input  logic [AddrBits-1:0]   core_awaddr_i,
  input  logic [7:0]            core_awlen_i,
  input  logic                  core_wvalid_i,
  output logic                  core_wready_o,
  input  logic [8*BusBytes-1:0] core_wdata_i,
  input  logic [BusBytes-1:0]   core_wstrb_i,
  output logic                  core_bvalid_o,
  input  logic                  core_bready_i,

  // Single beats; what comes back from memory goes to both, with a valid to one.
  input  logic                  link_arvalid_i,
  output logic                  link_arready_o,
  input  logic [AddrBits-1:0]   link_araddr_i,
  output logic                  link_rvalid_o,
  input  logic                  link_rready_i,
  input  logic                  link_awvalid_i,
  output logic                  link_awready_o,
  input  logic [AddrBits-1:0]   link_awaddr_i,
  input  logic                  link_wvalid_i,
  output logic                  link_wready_o,
  input  logic [8*BusBytes-1:0] link_wdata_i,
  input  logic [BusBytes-1:0]   link_wstrb_i,
  output logic                  link_bvalid_o,
  input  logic                  link_bready_i,

  output logic                  m_axi_arvalid_o,
  input  logic                  m_axi_arready_i,
  output logic [IdBits-1:0]     m_axi_arid_o,
  output logic [AddrBits-1:0]   m_axi_araddr_o,
  output logic [7:0]            m_axi_arlen_o,
  input  logic                  m_axi_rvalid_i,
  output logic                  m_axi_rready_o,
  input  logic [IdBits-1:0]     m_axi_rid_i,
  input  logic [1:0]            m_axi_rresp_i,
  input  logic                  m_axi_rlast_i,
  output logic                  m_axi_awvalid_o,
  input  logic                  m_axi_awready_i,
  output logic [IdBits-1:0]     m_axi_awid_o,
  output logic [AddrBits-1:0]   m_axi_awaddr_o,
  output logic [7:0]            m_axi_awlen_o,
  output logic                  m_axi_wvalid_o,
  input  logic                  m_axi_wready_i,
  output logic [8*BusBytes-1:0] m_axi_wdata_o,
  output logic [BusBytes-1:0]   m_axi_wstrb_o,
  output logic                  m_axi_wlast_o,
  input  logic                  m_axi_bvalid_i,
  output logic                  m_axi_bready_o,
  input  logic [IdBits-1:0]     m_axi_bid_i,
  input  logic [1:0]            m_axi_bresp_i
);
  localparam int unsigned RESET_CYCLES = 16;
  localparam int unsigned COUNT_W = 8;   // of bursts, more than a memory takes at once

  logic       off_q, beats_off_q;   // the core has been taken off; its beats of writes too
  logic       hold_reads_q;

  // --- Addresses of reads: the choice holds while it waits ----------------------------------------------------------

  logic ar_core, ar_link, ar_hold_q, ar_last_q;

  assign ar_core = core_arvalid_i &&
                   (ar_hold_q ? !ar_last_q : !off_q && !hold_reads_q && !(link_arvalid_i && !hold_i && !ar_last_q));
  assign ar_link = link_arvalid_i && (ar_hold_q ? ar_last_q : !hold_i && !ar_core);

  assign m_axi_arvalid_o = ar_core || ar_link;
  assign m_axi_arid_o    = {ar_link, ar_link ? CoreIdBits'(0) : core_arid_i};
  assign m_axi_araddr_o  = ar_link ? link_araddr_i : core_araddr_i;
  assign m_axi_arlen_o   = ar_link ? 8'd0 : core_arlen_i;
  assign core_arready_o  = ar_core && m_axi_arready_i;
  assign link_arready_o  = ar_link && m_axi_arready_i;

  assign core_rvalid_o  = m_axi_rvalid_i && !m_axi_rid_i[CoreIdBits] && !off_q;
  assign link_rvalid_o  = m_axi_rvalid_i && m_axi_rid_i[CoreIdBits];
  assign m_axi_rready_o = m_axi_rid_i[CoreIdBits] ? link_rready_i : core_rready_i || off_q;

  // --- Writes: an address, then its beats ---------------------------------------------------------------------------

  logic       aw_core, aw_link, aw_hold_q, aw_last_q, beats_q, beat;
  logic [7:0] left_q;

  assign aw_core = core_awvalid_i && !beats_q &&
                   (aw_hold_q ? !aw_last_q : !off_q && !hold_i && !(link_awvalid_i && !aw_last_q));
  assign aw_link = link_awvalid_i && !beats_q && (aw_hold_q ? aw_last_q : !hold_i && !aw_core);

  assign m_axi_awvalid_o = aw_core || aw_link;
  assign m_axi_awid_o    = {aw_link, aw_link ? CoreIdBits'(0) : core_awid_i};
  assign m_axi_awaddr_o  = aw_link ? link_awaddr_i : core_awaddr_i;
  assign m_axi_awlen_o   = aw_link ? 8'd0 : core_awlen_i;
  assign core_awready_o  = aw_core && m_axi_awready_i;
  assign link_awready_o  = aw_link && m_axi_awready_i;

  // aw_last_q is whose beats they are.
  assign m_axi_wvalid_o = beats_q && (aw_last_q ? link_wvalid_i : core_wvalid_i || beats_off_q);
  assign m_axi_wdata_o  = aw_last_q ? link_wdata_i : core_wdata_i & {8*BusBytes{!beats_off_q}};
  assign m_axi_wstrb_o  = aw_last_q ? link_wstrb_i : core_wstrb_i & {BusBytes{!beats_off_q}};
  assign m_axi_wlast_o  = left_q == 8'd0;
  assign core_wready_o  = beats_q && !aw_last_q && m_axi_wready_i;
  assign link_wready_o  = beats_q && aw_last_q && m_axi_wready_i;
  assign beat           = m_axi_wvalid_o && m_axi_wready_i;

  assign core_bvalid_o  = m_axi_bvalid_i && !m_axi_bid_i[CoreIdBits] && !off_q;
  assign link_bvalid_o  = m_axi_bvalid_i && m_axi_bid_i[CoreIdBits];
  assign m_axi_bready_o = m_axi_bid_i[CoreIdBits] ? link_bready_i : core_bready_i || off_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_hold_q <= 1'b0;
      ar_last_q <= 1'b0;
      aw_hold_q <= 1'b0;
      aw_last_q <= 1'b0;
      beats_q   <= 1'b0;
    end else begin
      ar_hold_q <= m_axi_arvalid_o && !m_axi_arready_i;
      if (m_axi_arvalid_o) ar_last_q <= ar_link;
      aw_hold_q <= m_axi_awvalid_o && !m_axi_awready_i;
      if (m_axi_awvalid_o) aw_last_q <= aw_link;
      if (m_axi_awvalid_o && m_axi_awready_i) beats_q <= 1'b1;
      else if (beat && m_axi_wlast_o) beats_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (m_axi_awvalid_o) left_q <= m_axi_awlen_o;
    else if (beat) left_q <= left_q - 8'd1;
  end

  // --- Reset of the core: when nothing of it is under way -----------------------------------------------------------

  logic [COUNT_W-1:0]              reads_q, writes_q;
  logic [$clog2(RESET_CYCLES)-1:0] cycles_q;
  logic                            resetting_q, read_begins, read_ends, write_begins, write_ends, quiet;

  assign read_begins  = core_arready_o;
  assign read_ends    = m_axi_rvalid_i && m_axi_rready_o && m_axi_rlast_i && !m_axi_rid_i[CoreIdBits];
  assign write_begins = core_awready_o;
  assign write_ends   = m_axi_bvalid_i && m_axi_bready_o && !m_axi_bid_i[CoreIdBits];
  assign quiet        = reads_q == '0 && writes_q == '0 && !ar_core && !aw_core;

  assign core_rst_no       = rst_ni && !resetting_q;
  assign core_reset_done_o = resetting_q && cycles_q == '1;
  assign core_busy_o       = !quiet;
  assign held_o            = hold_i && hold_reads_q && quiet && !ar_link && !aw_link && !beats_q;
  assign error_o           = (core_rvalid_o && m_axi_rresp_i[1]) || (core_bvalid_o && m_axi_bresp_i[1]);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reads_q      <= '0;
      writes_q     <= '0;
      hold_reads_q <= 1'b0;
      off_q        <= 1'b0;
      beats_off_q  <= 1'b0;
      resetting_q  <= 1'b1;
    end else begin
      reads_q      <= reads_q + COUNT_W'(read_begins) - COUNT_W'(read_ends);
      writes_q     <= writes_q + COUNT_W'(write_begins) - COUNT_W'(write_ends);
      hold_reads_q <= hold_i && (hold_reads_q || (writes_q == '0 && !m_axi_awvalid_o && !beats_q));
      off_q        <= core_reset_i && !core_reset_done_o;
      // A beat that is offered stays as it is until it is taken.
      beats_off_q  <= core_reset_i && !core_reset_done_o && (beats_off_q || !m_axi_wvalid_o || m_axi_wready_i);
      resetting_q  <= !core_reset_done_o && (resetting_q || (off_q && quiet));
    end
    cycles_q <= rst_ni && resetting_q ? cycles_q + 1'b1 : '0;
  end

  logic unused;
  assign unused = ^{m_axi_rresp_i[0], m_axi_bresp_i[0]};

endmodule
