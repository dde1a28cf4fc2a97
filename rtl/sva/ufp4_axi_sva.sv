// SPDX-License-Identifier: Apache-2.0
// The rules of the ports of ufp4_top (docs/ip/interfaces.md) as concurrent assertions, for
// simulators and formal tools.
//
// Contract: each rule is an assertion with a name of its own; a broken rule ends in $error with a
// line that names it. With Memory = 1 and Host = 1 the duties of the memory and of the host are
// checked too. No rule applies before the first clock edge in reset. If the memory loses an answer,
// the counts of bursts in flight are right again only after the next reset. After a soft reset irq
// may fall and beats may be without strobes, until the host writes a register while irq is low and
// no write is in flight. Files: rtl/sva.f, and ufp4_axi_bind.sv, which binds this module to each
// ufp4_top. Test: tests/rtl/sva breaks each rule.
`define UFP4_RULE(NAME, PROPERTY, TEXT) \
  NAME: assert property (@(posedge clk_i) disable iff (!on) PROPERTY) else $error("ufp4 bus rule: %s", TEXT);

module ufp4_axi_sva
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Quant = 16,
  parameter bit          Memory = 1'b1,
  parameter bit          Host = 1'b1
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  irq_o,

  input logic                  s_axil_awvalid_i,
  input logic                  s_axil_awready_o,
  input logic [11:0]           s_axil_awaddr_i,
  input logic                  s_axil_wvalid_i,
  input logic                  s_axil_wready_o,
  input logic [31:0]           s_axil_wdata_i,
  input logic [3:0]            s_axil_wstrb_i,
  input logic                  s_axil_bvalid_o,
  input logic                  s_axil_bready_i,
  input logic [1:0]            s_axil_bresp_o,
  input logic                  s_axil_arvalid_i,
  input logic                  s_axil_arready_o,
  input logic [11:0]           s_axil_araddr_i,
  input logic                  s_axil_rvalid_o,
  input logic                  s_axil_rready_i,
  input logic [31:0]           s_axil_rdata_o,
  input logic [1:0]            s_axil_rresp_o,

  input logic                  m_axi_arvalid_o,
  input logic                  m_axi_arready_i,
  input logic [1:0]            m_axi_arid_o,
  input logic [39:0]           m_axi_araddr_o,
  input logic [7:0]            m_axi_arlen_o,
  input logic [2:0]            m_axi_arsize_o,
  input logic [1:0]            m_axi_arburst_o,
  input logic                  m_axi_rvalid_i,
  input logic                  m_axi_rready_o,
  input logic [1:0]            m_axi_rid_i,
  input logic [8*BusBytes-1:0] m_axi_rdata_i,
  input logic [1:0]            m_axi_rresp_i,
  input logic                  m_axi_rlast_i,

  input logic                  m_axi_awvalid_o,
  input logic                  m_axi_awready_i,
  input logic [1:0]            m_axi_awid_o,
  input logic [39:0]           m_axi_awaddr_o,
  input logic [7:0]            m_axi_awlen_o,
  input logic [2:0]            m_axi_awsize_o,
  input logic [1:0]            m_axi_awburst_o,
  input logic                  m_axi_wvalid_o,
  input logic                  m_axi_wready_i,
  input logic [8*BusBytes-1:0] m_axi_wdata_o,
  input logic [BusBytes-1:0]   m_axi_wstrb_o,
  input logic                  m_axi_wlast_o,
  input logic                  m_axi_bvalid_i,
  input logic                  m_axi_bready_o,
  input logic [1:0]            m_axi_bid_i,
  input logic [1:0]            m_axi_bresp_i
);

  // --- Limits: docs/ip/interfaces.md, "How much is in flight" ------------------------------------

  localparam int unsigned GROUPS    = (Rows * TileRows + Cols * TileCols) / PANEL_ROWS;
  localparam int unsigned SUM_BYTES = 8 * Cols * TileCols;
  localparam bit          LONG      = BusBytes == 128;
  localparam int unsigned UNITS     = Quant > 16 ? Quant / 16 : 1;
  localparam int unsigned LOADS     = 4 * GROUPS < 32 ? 4 * GROUPS : 32;
  localparam int unsigned STRIPS    = Quant == 0 ? 0 : LONG ? 256 : BusBytes >= 16 ? 128 : 64;

  // Limits by ID; a request may be two bursts. An ID with 0 bursts does not exist.
  localparam int unsigned READ_BURSTS [4] = '{1, 2 * LOADS, 32, STRIPS};
  localparam int unsigned READ_BYTES [4]  = '{DESCRIPTOR_BYTES, PANEL_CODE_BYTES * Chunk, SUM_BYTES, LONG ? 256 : 128};
  localparam int unsigned WRITE_BURSTS [4] = '{1, 255, Quant == 0 ? 0 : 255, 0};
  localparam int unsigned WRITE_BYTES [4] = '{COMPLETION_BYTES, SUM_BYTES, UNITS * PANEL_CODE_BYTES, 0};
  // Strobes begin and end at multiples of GRAIN bytes. EMPTY: a beat may have none, which happens
  // when the FP32 results of a drain beat are wider than the bus.
  localparam int unsigned GRAIN [4]       = '{COMPLETION_BYTES, 2, PANEL_SCALE_BYTES, 1};
  localparam bit          EMPTY [4]       = '{1'b0, 4 * (Cols & (~Cols + 1)) > BusBytes, 1'b0, 1'b0};
  localparam int unsigned MAX_READS       = 256;
  localparam int unsigned MAX_BEGUN       = 18;  // write bursts with an address whose data are incomplete
  localparam int unsigned MAX_EARLY       = 2;   // write bursts with data but no address
  localparam int unsigned MAX_HELD        = 32;  // cycles that a beat of read data may wait
  localparam int unsigned SIZE            = $clog2(BusBytes);

  // --- Reset -------------------------------------------------------------------------------------

  logic begun_q = 1'b0, in_reset_q = 1'b0, on;
  assign on = rst_ni && begun_q;
  always_ff @(posedge clk_i) begin
    begun_q    <= begun_q || !rst_ni;
    in_reset_q <= !rst_ni;
  end

  reset_is_quiet: assert property (@(posedge clk_i) !rst_ni && in_reset_q |->
      {irq_o, s_axil_bvalid_o, s_axil_rvalid_o, m_axi_arvalid_o, m_axi_awvalid_o, m_axi_wvalid_o} == '0)
    else $error("ufp4 bus rule: %s", "a valid or the interrupt is high in reset");

  // --- State of the rules ------------------------------------------------------------------------

  // Reads in flight by ID; reads_left is without a read that ends in this cycle. Lengths are in a
  // ring whose oldest entry is at first_q.
  logic [3:0][8:0] reads_q, reads_left, beats_q;
  logic [3:0][7:0] first_q, next_q;
  logic [7:0]      len_q [4][MAX_READS];
  logic [5:0]      held_q;
  logic [8:0]      ar_bursts, aw_bursts;
  logic            ar_fits, aw_fits, ar_taken, r_taken_now;

  // Write bursts: addresses whose data are incomplete, and data without their address, the oldest
  // first.
  typedef struct packed {
    logic [1:0] id;
    logic [8:0] beats;
  } address_t;

  typedef struct packed {
    logic [8:0] beats;
    logic       last;    // wlast was seen
    logic       on;      // the strobe of the previous byte
    logic       begun;   // a strobe was set
    logic       gap;     // a strobe was set again after one that was not
    logic       empty;   // a beat had no strobe
    logic [6:0] places;  // the places at which strobes change, ORed
  } data_t;

  // The strobe state of the oldest data has no further use.
  // verilator lint_off UNUSEDSIGNAL
  address_t        address, addresses_q [32], addresses_next [32];
  data_t           oldest, data_q [4], data_next [4];
  // verilator lint_on UNUSEDSIGNAL
  logic [5:0]      addresses_n_q, addresses_d;
  logic [2:0]      data_n_q, data_n_d;
  logic            aw_taken, w_taken, wrong_last, whole, in_element, may_be_empty;
  logic [3:0][8:0] writes_q, writes_left, unanswered_q;

  // Writes that the register port has taken, the oldest first. A write takes effect in the cycle
  // before its answer.
  logic [11:0] port_address_q [4], done_address;
  logic [31:0] port_word_q [4];
  logic [3:0]  port_strb_q [4];
  logic [2:0]  port_addresses_q, port_addresses_d, port_data_q, port_data_d, mask, mask_q;
  logic        port_read_q, port_aw_taken, port_w_taken, port_answer, b_waits_q, done, soft_q;

  // --- Addresses of bursts -----------------------------------------------------------------------

  function automatic logic in_page(logic [11:0] offset, logic [7:0] len);
    return 32'(offset) + (32'(len) + 1) * BusBytes <= 4096;
  endfunction

  function automatic logic fits(logic [7:0] len, int unsigned bytes);
    return (32'(len) + 1) * BusBytes <= (bytes > BusBytes ? bytes : BusBytes);
  endfunction

  `UFP4_RULE(ar_waits, m_axi_arvalid_o && !m_axi_arready_i |=>
      m_axi_arvalid_o && $stable({m_axi_arid_o, m_axi_araddr_o, m_axi_arlen_o, m_axi_arsize_o, m_axi_arburst_o}),
      "AR: valid fell or its payload changed before ready")
  `UFP4_RULE(ar_full_beats, m_axi_arvalid_o |-> m_axi_arsize_o == 3'(SIZE),
      "AR: the size is not a full beat")
  `UFP4_RULE(ar_incr, m_axi_arvalid_o |-> m_axi_arburst_o == 2'b01,
      "AR: the burst is not INCR")
  `UFP4_RULE(ar_aligned, m_axi_arvalid_o |-> m_axi_araddr_o[SIZE-1:0] == '0,
      "AR: the address is not a multiple of a beat")
  `UFP4_RULE(ar_4k, m_axi_arvalid_o |-> in_page(m_axi_araddr_o[11:0], m_axi_arlen_o),
      "AR: the burst crosses 4 KiB")
  `UFP4_RULE(ar_id, m_axi_arvalid_o |-> ar_bursts != 0,
      "AR: the core has no such ID")
  `UFP4_RULE(ar_length, m_axi_arvalid_o |-> ar_fits,
      "AR: the burst is longer than those of its ID are")
  `UFP4_RULE(ar_in_flight, m_axi_arvalid_o && m_axi_arready_i |-> reads_left[m_axi_arid_o] < ar_bursts,
      "AR: more bursts of an ID are in flight than may be")

  `UFP4_RULE(aw_waits, m_axi_awvalid_o && !m_axi_awready_i |=>
      m_axi_awvalid_o && $stable({m_axi_awid_o, m_axi_awaddr_o, m_axi_awlen_o, m_axi_awsize_o, m_axi_awburst_o}),
      "AW: valid fell or its payload changed before ready")
  `UFP4_RULE(aw_full_beats, m_axi_awvalid_o |-> m_axi_awsize_o == 3'(SIZE),
      "AW: the size is not a full beat")
  `UFP4_RULE(aw_incr, m_axi_awvalid_o |-> m_axi_awburst_o == 2'b01,
      "AW: the burst is not INCR")
  `UFP4_RULE(aw_aligned, m_axi_awvalid_o |-> m_axi_awaddr_o[SIZE-1:0] == '0,
      "AW: the address is not a multiple of a beat")
  `UFP4_RULE(aw_4k, m_axi_awvalid_o |-> in_page(m_axi_awaddr_o[11:0], m_axi_awlen_o),
      "AW: the burst crosses 4 KiB")
  `UFP4_RULE(aw_id, m_axi_awvalid_o |-> aw_bursts != 0,
      "AW: the core has no such ID")
  `UFP4_RULE(aw_length, m_axi_awvalid_o |-> aw_fits,
      "AW: the burst is longer than those of its ID are")
  `UFP4_RULE(aw_in_flight, m_axi_awvalid_o && m_axi_awready_i |-> writes_left[m_axi_awid_o] < aw_bursts,
      "AW: more bursts of an ID are in flight than may be")
  `UFP4_RULE(aw_begun, addresses_d - 6'(whole) <= 6'(MAX_BEGUN),
      "AW: more bursts have begun whose data are missing than may be")

  assign ar_bursts = 9'(READ_BURSTS[m_axi_arid_o]);
  assign ar_fits   = fits(m_axi_arlen_o, READ_BYTES[m_axi_arid_o]);
  assign aw_bursts = 9'(WRITE_BURSTS[m_axi_awid_o]);
  assign aw_fits   = fits(m_axi_awlen_o, WRITE_BYTES[m_axi_awid_o]);

  // --- Read data ---------------------------------------------------------------------------------

  `UFP4_RULE(r_taken, m_axi_rvalid_i && !m_axi_rready_o |-> held_q < 6'(MAX_HELD),
      "R: a beat waits for more than 32 cycles")


  assign ar_taken    = m_axi_arvalid_o && m_axi_arready_i;
  assign r_taken_now = m_axi_rvalid_i && m_axi_rready_o;

  always_comb begin
    reads_left = reads_q;
    if (r_taken_now && m_axi_rlast_i && reads_q[m_axi_rid_i] != 0) reads_left[m_axi_rid_i] -= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {reads_q, beats_q, first_q, next_q, held_q} <= '0;
    end else begin
      for (int unsigned id = 0; id < 4; id++) begin
        reads_q[id] <= reads_left[id] + 9'(ar_taken && m_axi_arid_o == 2'(id));
        if (ar_taken && m_axi_arid_o == 2'(id)) next_q[id] <= next_q[id] + 1'b1;
        if (r_taken_now && m_axi_rid_i == 2'(id)) begin
          beats_q[id] <= m_axi_rlast_i ? '0 : beats_q[id] + 1'b1;
          first_q[id] <= first_q[id] + 8'(m_axi_rlast_i);
        end
      end
      held_q <= m_axi_rvalid_i && !m_axi_rready_o ? held_q + 6'(held_q != '1) : '0;
    end
    if (ar_taken) len_q[m_axi_arid_o][next_q[m_axi_arid_o]] <= m_axi_arlen_o;
  end

  // --- Write data --------------------------------------------------------------------------------

  `UFP4_RULE(w_waits, m_axi_wvalid_o && !m_axi_wready_i |=>
      m_axi_wvalid_o && $stable({m_axi_wdata_o, m_axi_wstrb_o, m_axi_wlast_o}),
      "W: valid fell or its payload changed before ready")
  `UFP4_RULE(w_last, !wrong_last,
      "W: wlast is not where the burst ends")
  `UFP4_RULE(w_early, addresses_d != 0 || data_n_d <= 3'(MAX_EARLY),
      "W: data of too many bursts come before their address")
  `UFP4_RULE(w_one_run, !(whole && oldest.gap),
      "W: the strobes of a burst have a gap")
  `UFP4_RULE(w_grain, !(whole && in_element),
      "W: the strobes of a burst begin or end inside an element")
  `UFP4_RULE(w_some_strobe, !(whole && oldest.empty && !may_be_empty),
      "W: no strobe of a beat is on")

  assign aw_taken = m_axi_awvalid_o && m_axi_awready_i;
  assign w_taken  = m_axi_wvalid_o && m_axi_wready_i;
  assign address  = addresses_next[0];
  assign oldest   = data_next[0];

  assign in_element   = (32'(oldest.places) & (GRAIN[address.id] - 1)) != 0;
  assign may_be_empty = EMPTY[address.id] || soft_q;

  function automatic data_t with_beat(data_t so_far, logic [BusBytes-1:0] strobes, logic last);
    with_beat       = so_far;
    with_beat.beats = so_far.beats + 1'b1;
    with_beat.last  = last;
    with_beat.empty = so_far.empty || strobes == '0;
    for (int unsigned i = 0; i < BusBytes; i++) begin
      if (strobes[i] != with_beat.on) begin
        with_beat.gap    = with_beat.gap || (strobes[i] && with_beat.begun);
        with_beat.begun  = with_beat.begun || strobes[i];
        with_beat.places = with_beat.places | 7'(i);
        with_beat.on     = strobes[i];
      end
    end
  endfunction

  // The address and the beat of this cycle join the others; then the oldest address is compared
  // with the oldest data.
  always_comb begin
    addresses_next = addresses_q;
    addresses_d    = addresses_n_q;
    data_next      = data_q;
    data_n_d       = data_n_q;
    if (aw_taken) begin
      addresses_next[addresses_n_q[4:0]] = '{id: m_axi_awid_o, beats: 9'(m_axi_awlen_o) + 1'b1};
      addresses_d = addresses_n_q + 1'b1;
    end
    if (w_taken) begin
      if (data_n_q == 0 || data_q[2'(data_n_q - 1'b1)].last) begin
        data_next[data_n_q[1:0]] = with_beat('0, m_axi_wstrb_o, m_axi_wlast_o);
        data_n_d = data_n_q + 1'b1;
      end else begin
        data_next[2'(data_n_q - 1'b1)] = with_beat(data_q[2'(data_n_q - 1'b1)], m_axi_wstrb_o, m_axi_wlast_o);
      end
    end
    wrong_last = addresses_d != 0 && data_n_d != 0 &&
                 (oldest.beats > address.beats || oldest.last != (oldest.beats == address.beats));
    whole      = addresses_d != 0 && data_n_d != 0 && oldest.last;
  end

  always_comb begin
    writes_left = writes_q;
    if (m_axi_bvalid_i && m_axi_bready_o && writes_q[m_axi_bid_i] != 0) writes_left[m_axi_bid_i] -= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 31; i++) addresses_q[i] <= whole ? addresses_next[i+1] : addresses_next[i];
    for (int unsigned i = 0; i < 3; i++) data_q[i] <= whole ? data_next[i+1] : data_next[i];
    if (!rst_ni) begin
      {addresses_n_q, data_n_q, writes_q, unanswered_q} <= '0;
    end else begin
      addresses_n_q <= addresses_d - 6'(whole);
      data_n_q      <= data_n_d - 3'(whole);
      for (int unsigned id = 0; id < 4; id++) begin
        writes_q[id]     <= writes_left[id] + 9'(aw_taken && m_axi_awid_o == 2'(id));
        unanswered_q[id] <= unanswered_q[id] + 9'(whole && address.id == 2'(id)) -
                            9'(m_axi_bvalid_i && m_axi_bready_o && m_axi_bid_i == 2'(id) && unanswered_q[id] != 0);
      end
    end
  end

  // --- Duties of the memory ----------------------------------------------------------------------

  if (Memory) begin : gen_memory
    logic [7:0] oldest_len;
    assign oldest_len = len_q[m_axi_rid_i][first_q[m_axi_rid_i]];
    memory_reset_is_quiet: assert property (@(posedge clk_i) !rst_ni && in_reset_q |->
        {m_axi_rvalid_i, m_axi_bvalid_i} == '0)
      else $error("ufp4 bus rule: %s", "a valid of the memory is high in reset");
    `UFP4_RULE(r_waits, m_axi_rvalid_i && !m_axi_rready_o |=>
        m_axi_rvalid_i && $stable({m_axi_rid_i, m_axi_rdata_i, m_axi_rresp_i, m_axi_rlast_i}),
        "R: valid fell or its payload changed before ready")
    `UFP4_RULE(r_asked, m_axi_rvalid_i |-> reads_q[m_axi_rid_i] != 0,
        "R: a beat of an ID of which nothing is in flight")
    `UFP4_RULE(r_last, m_axi_rvalid_i && reads_q[m_axi_rid_i] != 0 |->
        m_axi_rlast_i == (beats_q[m_axi_rid_i] == 9'(oldest_len)),
        "R: rlast is not where the oldest burst of its ID ends")
    `UFP4_RULE(b_waits, m_axi_bvalid_i && !m_axi_bready_o |=> m_axi_bvalid_i && $stable({m_axi_bid_i, m_axi_bresp_i}),
        "B: valid fell or its payload changed before ready")
    `UFP4_RULE(b_asked, m_axi_bvalid_i |-> unanswered_q[m_axi_bid_i] != 0,
        "B: an answer to a burst whose address or data have not all been taken")
  end

  // --- Register port -----------------------------------------------------------------------------

  `UFP4_RULE(s_r_waits, s_axil_rvalid_o && !s_axil_rready_i |=>
      s_axil_rvalid_o && $stable({s_axil_rdata_o, s_axil_rresp_o}),
      "R of the registers: valid fell or its payload changed before ready")
  `UFP4_RULE(s_b_waits, s_axil_bvalid_o && !s_axil_bready_i |=> s_axil_bvalid_o && $stable(s_axil_bresp_o),
      "B of the registers: valid fell or its payload changed before ready")
  `UFP4_RULE(s_r_okay, s_axil_rvalid_o |-> s_axil_rresp_o == 2'b00,
      "R of the registers: an answer is not OKAY")
  `UFP4_RULE(s_b_okay, s_axil_bvalid_o |-> s_axil_bresp_o == 2'b00,
      "B of the registers: an answer is not OKAY")
  `UFP4_RULE(s_r_asked, s_axil_rvalid_o |-> port_read_q,
      "R of the registers: an answer that nothing was asked for")
  `UFP4_RULE(s_b_asked, s_axil_bvalid_o |-> port_addresses_q != 0 && port_data_q != 0,
      "B of the registers: an answer that nothing was asked for")
  `UFP4_RULE(s_ar_one, s_axil_arvalid_i && s_axil_arready_o |-> !port_read_q || (s_axil_rvalid_o && s_axil_rready_i),
      "AR of the registers: a second read is taken")
  `UFP4_RULE(s_aw_two, port_addresses_d <= 2,
      "AW of the registers: a third write is taken")
  `UFP4_RULE(s_w_two, port_data_d <= 2,
      "W of the registers: a third write is taken")

  if (Host) begin : gen_host
    `UFP4_RULE(s_ar_waits, s_axil_arvalid_i && !s_axil_arready_o |=> s_axil_arvalid_i && $stable(s_axil_araddr_i),
        "AR of the registers: valid fell or its payload changed before ready")
    `UFP4_RULE(s_aw_waits, s_axil_awvalid_i && !s_axil_awready_o |=> s_axil_awvalid_i && $stable(s_axil_awaddr_i),
        "AW of the registers: valid fell or its payload changed before ready")
    `UFP4_RULE(s_w_waits, s_axil_wvalid_i && !s_axil_wready_o |=>
        s_axil_wvalid_i && $stable({s_axil_wdata_i, s_axil_wstrb_i}),
        "W of the registers: valid fell or its payload changed before ready")
  end

  // --- Interrupt: its mask, and why it falls -----------------------------------------------------

  `UFP4_RULE(irq_unmasked, irq_o |-> mask != 0,
      "irq is high, and irq_mask is 0")
  `UFP4_RULE(irq_falls, $fell(irq_o) |->
      soft_q || (done && (done_address == REG_IRQ_STATUS || done_address == REG_IRQ_MASK)),
      "irq falls without a write to irq_status or irq_mask, or a soft reset")

  assign port_answer      = s_axil_bvalid_o && s_axil_bready_i;
  assign port_aw_taken    = s_axil_awvalid_i && s_axil_awready_o;
  assign port_w_taken     = s_axil_wvalid_i && s_axil_wready_o;
  assign port_addresses_d = port_addresses_q - 3'(port_answer && port_addresses_q != 0) + 3'(port_aw_taken);
  assign port_data_d      = port_data_q - 3'(port_answer && port_data_q != 0) + 3'(port_w_taken);
  assign done             = s_axil_bvalid_o && !b_waits_q;
  assign done_address     = port_address_q[0];
  assign mask             = done && done_address == REG_IRQ_MASK && port_strb_q[0][0] ? port_word_q[0][2:0] : mask_q;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 4; i++) begin
      if (port_answer && i < 3) begin
        port_address_q[i] <= port_address_q[2'(i+1)];
        port_word_q[i]    <= port_word_q[2'(i+1)];
        port_strb_q[i]    <= port_strb_q[2'(i+1)];
      end
      if (port_aw_taken && 3'(i) == port_addresses_d - 1'b1) port_address_q[i] <= s_axil_awaddr_i;
      if (port_w_taken && 3'(i) == port_data_d - 1'b1) begin
        port_word_q[i] <= s_axil_wdata_i;
        port_strb_q[i] <= s_axil_wstrb_i;
      end
    end
    if (!rst_ni) begin
      {port_addresses_q, port_data_q, port_read_q, b_waits_q, mask_q, soft_q} <= '0;
    end else begin
      port_addresses_q <= port_addresses_d;
      port_data_q      <= port_data_d;
      port_read_q      <= (s_axil_arvalid_i && s_axil_arready_o) ||
                          (port_read_q && !(s_axil_rvalid_o && s_axil_rready_i));
      b_waits_q        <= s_axil_bvalid_o && !s_axil_bready_i;
      mask_q           <= mask;
      if (done && done_address == REG_CONTROL && port_strb_q[0][0] && port_word_q[0][2]) begin
        soft_q <= 1'b1;
      end else if (done && addresses_n_q == '0 && data_n_q == '0 && writes_q == '0 && !irq_o) begin
        soft_q <= 1'b0;
      end
    end
  end
endmodule

`undef UFP4_RULE
