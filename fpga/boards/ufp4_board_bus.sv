// SPDX-License-Identifier: Apache-2.0
// The bus of a board: the core and the link share one memory, and the core can be disconnected for
// a reset.
//
// Contract: bursts pass unchanged and in the order in which they were taken; the two masters take
// turns when both ask. IDs get a 0 in front for the core and a 1 for the link. The beats of a write
// follow its address, one burst at a time. With core_reset_i no further burst of the core is taken.
// Bursts already taken end: the remaining beats of a write leave without strobes, and returning
// data are dropped. Then core_rst_no is low for RESET_CYCLES, and core_reset_done_o ends the
// request.
// core_rst_no is low for as long after rst_ni, because the core needs more than one cycle. With
// hold_i no further burst of the link and no further write of the core is taken; when the writes of
// the core have ended, no further read either. held_o: nothing of the core is under way. (Nothing
// of the link is under way when the link itself makes this request.)
// Latency: none. Test: tests/fpga.
module ufp4_board_bus #(
  parameter int unsigned BusBytes = 8,
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned CoreIdBits = ufp4_axi_pkg::ID_BITS - 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  core_reset_i,
  output logic                  core_reset_done_o,
  output logic                  core_rst_no,
  output logic                  core_busy_o,         // the core moves data
  output logic                  error_o,             // an answer to the core is an error
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

  // The link makes single beats. Responses of memory go to both masters, with valid for one of
  // them.
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

  output ufp4_axi_pkg::request_t axi_o,
  input  ufp4_axi_pkg::taken_t   axi_taken_i,
  input  ufp4_axi_pkg::answer_t  axi_i,
  output ufp4_axi_pkg::heard_t   axi_heard_o,
  output logic [8*BusBytes-1:0]  axi_wdata_o,
  output logic [BusBytes-1:0]    axi_wstrb_o
);
  localparam int unsigned RESET_CYCLES = 16;
  localparam int unsigned COUNT_W = 8;   // width of counts of bursts, more than a memory takes at once

  logic       off_q, beats_off_q;   // the core is disconnected; its write beats too
  logic       hold_reads_q;

  // --- Addresses of reads: the choice holds while it waits ---------------------------------------

  logic ar_core, ar_link, ar_hold_q, ar_last_q;

  assign ar_core = core_arvalid_i &&
                   (ar_hold_q ? !ar_last_q : !off_q && !hold_reads_q && !(link_arvalid_i && !hold_i && !ar_last_q));
  assign ar_link = link_arvalid_i && (ar_hold_q ? ar_last_q : !hold_i && !ar_core);

  assign axi_o.arvalid  = ar_core || ar_link;
  assign axi_o.arid     = {ar_link, ar_link ? CoreIdBits'(0) : core_arid_i};
  assign axi_o.araddr   = ar_link ? link_araddr_i : core_araddr_i;
  assign axi_o.arlen    = ar_link ? 8'd0 : core_arlen_i;
  assign core_arready_o = ar_core && axi_taken_i.arready;
  assign link_arready_o = ar_link && axi_taken_i.arready;

  assign core_rvalid_o      = axi_i.rvalid && !axi_i.rid[CoreIdBits] && !off_q;
  assign link_rvalid_o      = axi_i.rvalid && axi_i.rid[CoreIdBits];
  assign axi_heard_o.rready = axi_i.rid[CoreIdBits] ? link_rready_i : core_rready_i || off_q;

  // --- Writes: an address, then its beats --------------------------------------------------------

  logic       aw_core, aw_link, aw_hold_q, aw_last_q, beats_q, beat;
  logic [7:0] left_q;

  assign aw_core = core_awvalid_i && !beats_q &&
                   (aw_hold_q ? !aw_last_q : !off_q && !hold_i && !(link_awvalid_i && !aw_last_q));
  assign aw_link = link_awvalid_i && !beats_q && (aw_hold_q ? aw_last_q : !hold_i && !aw_core);

  assign axi_o.awvalid  = aw_core || aw_link;
  assign axi_o.awid     = {aw_link, aw_link ? CoreIdBits'(0) : core_awid_i};
  assign axi_o.awaddr   = aw_link ? link_awaddr_i : core_awaddr_i;
  assign axi_o.awlen    = aw_link ? 8'd0 : core_awlen_i;
  assign core_awready_o = aw_core && axi_taken_i.awready;
  assign link_awready_o = aw_link && axi_taken_i.awready;

  // aw_last_q names the master of these beats.
  assign axi_o.wvalid  = beats_q && (aw_last_q ? link_wvalid_i : core_wvalid_i || beats_off_q);
  assign axi_wdata_o   = aw_last_q ? link_wdata_i : core_wdata_i & {8*BusBytes{!beats_off_q}};
  assign axi_wstrb_o   = aw_last_q ? link_wstrb_i : core_wstrb_i & {BusBytes{!beats_off_q}};
  assign axi_o.wlast   = left_q == 8'd0;
  assign core_wready_o = beats_q && !aw_last_q && axi_taken_i.wready;
  assign link_wready_o = beats_q && aw_last_q && axi_taken_i.wready;
  assign beat          = axi_o.wvalid && axi_taken_i.wready;

  assign core_bvalid_o      = axi_i.bvalid && !axi_i.bid[CoreIdBits] && !off_q;
  assign link_bvalid_o      = axi_i.bvalid && axi_i.bid[CoreIdBits];
  assign axi_heard_o.bready = axi_i.bid[CoreIdBits] ? link_bready_i : core_bready_i || off_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_hold_q <= 1'b0;
      ar_last_q <= 1'b0;
      aw_hold_q <= 1'b0;
      aw_last_q <= 1'b0;
      beats_q   <= 1'b0;
    end else begin
      ar_hold_q <= axi_o.arvalid && !axi_taken_i.arready;
      if (axi_o.arvalid) ar_last_q <= ar_link;
      aw_hold_q <= axi_o.awvalid && !axi_taken_i.awready;
      if (axi_o.awvalid) aw_last_q <= aw_link;
      if (axi_o.awvalid && axi_taken_i.awready) beats_q <= 1'b1;
      else if (beat && axi_o.wlast) beats_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (axi_o.awvalid) left_q <= axi_o.awlen;
    else if (beat) left_q <= left_q - 8'd1;
  end

  // --- Reset of the core: when nothing of it is under way ----------------------------------------

  logic [COUNT_W-1:0]              reads_q, writes_q;
  logic [$clog2(RESET_CYCLES)-1:0] cycles_q;
  logic                            resetting_q, read_begins, read_ends, write_begins, write_ends, quiet;

  assign read_begins  = core_arready_o;
  assign read_ends    = axi_i.rvalid && axi_heard_o.rready && axi_i.rlast && !axi_i.rid[CoreIdBits];
  assign write_begins = core_awready_o;
  assign write_ends   = axi_i.bvalid && axi_heard_o.bready && !axi_i.bid[CoreIdBits];
  assign quiet        = reads_q == '0 && writes_q == '0 && !ar_core && !aw_core;

  assign core_rst_no       = rst_ni && !resetting_q;
  assign core_reset_done_o = resetting_q && cycles_q == '1;
  assign core_busy_o       = !quiet;
  assign held_o            = hold_i && hold_reads_q && quiet && !ar_link && !aw_link && !beats_q;
  assign error_o           = (core_rvalid_o && axi_i.rresp[1]) || (core_bvalid_o && axi_i.bresp[1]);

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
      hold_reads_q <= hold_i && (hold_reads_q || (writes_q == '0 && !axi_o.awvalid && !beats_q));
      off_q        <= core_reset_i && !core_reset_done_o;
      // An offered beat must not change until it is taken.
      beats_off_q  <= core_reset_i && !core_reset_done_o && (beats_off_q || !axi_o.wvalid || axi_taken_i.wready);
      resetting_q  <= !core_reset_done_o && (resetting_q || (off_q && quiet));
    end
    cycles_q <= rst_ni && resetting_q ? cycles_q + 1'b1 : '0;
  end

  logic unused;
  assign unused = ^{axi_i.rresp[0], axi_i.bresp[0]};

endmodule
