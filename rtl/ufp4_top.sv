// SPDX-License-Identifier: Apache-2.0
// The core: AXI4-Lite registers and command unit, QUANT engine, GEMM engine, AXI4 memory masters.
//
// docs/ip/registers.md has registers, descriptors and completions, docs/reference/numerics.md every
// bit of the results. Ports start or end in flip-flops, except irq_o and the AXI4-Lite araddr.
// rst_ni is synchronous. AXI4: 40-bit addresses, 8 * BusBytes data bits, INCR bursts of full beats
// within 4 KiB. IDs: 0 command unit, 1 GEMM, 2 QUANT writes and GEMM's addends, 3 QUANT reads.
// Test: tests/rtl/core. Timed model: sim/src/timing/core.
module ufp4_top
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  parameter int unsigned Lanes = 16,
  parameter int unsigned Quant = 16,
  parameter int unsigned Mixed = 0
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  output logic                  irq_o,

  input  logic                  s_axil_awvalid_i,
  output logic                  s_axil_awready_o,
  input  logic [11:0]           s_axil_awaddr_i,
  input  logic                  s_axil_wvalid_i,
  output logic                  s_axil_wready_o,
  input  logic [31:0]           s_axil_wdata_i,
  input  logic [3:0]            s_axil_wstrb_i,
  output logic                  s_axil_bvalid_o,
  input  logic                  s_axil_bready_i,
  output logic [1:0]            s_axil_bresp_o,
  input  logic                  s_axil_arvalid_i,
  output logic                  s_axil_arready_o,
  input  logic [11:0]           s_axil_araddr_i,
  output logic                  s_axil_rvalid_o,
  input  logic                  s_axil_rready_i,
  output logic [31:0]           s_axil_rdata_o,
  output logic [1:0]            s_axil_rresp_o,

  output logic                  m_axi_arvalid_o,
  input  logic                  m_axi_arready_i,
  output logic [1:0]            m_axi_arid_o,
  output logic [39:0]           m_axi_araddr_o,
  output logic [7:0]            m_axi_arlen_o,
  output logic [2:0]            m_axi_arsize_o,
  output logic [1:0]            m_axi_arburst_o,
  input  logic                  m_axi_rvalid_i,
  output logic                  m_axi_rready_o,
  input  logic [1:0]            m_axi_rid_i,
  input  logic [8*BusBytes-1:0] m_axi_rdata_i,
  input  logic [1:0]            m_axi_rresp_i,
  input  logic                  m_axi_rlast_i,

  output logic                  m_axi_awvalid_o,
  input  logic                  m_axi_awready_i,
  output logic [1:0]            m_axi_awid_o,
  output logic [39:0]           m_axi_awaddr_o,
  output logic [7:0]            m_axi_awlen_o,
  output logic [2:0]            m_axi_awsize_o,
  output logic [1:0]            m_axi_awburst_o,
  output logic                  m_axi_wvalid_o,
  input  logic                  m_axi_wready_i,
  output logic [8*BusBytes-1:0] m_axi_wdata_o,
  output logic [BusBytes-1:0]   m_axi_wstrb_o,
  output logic                  m_axi_wlast_o,
  input  logic                  m_axi_bvalid_i,
  output logic                  m_axi_bready_o,
  input  logic [1:0]            m_axi_bid_i,
  input  logic [1:0]            m_axi_bresp_i
);

  // --- Illegal parameters ------------------------------------------------------------------------

  // With illegal parameters the core below is elaborated with a small legal set, so that the error
  // line that says what is legal is not lost among others.
  localparam bit BusLegal = ufp4_shape_pkg::bus_legal(BusBytes);
  localparam bit ArrayLegal = ufp4_shape_pkg::array_legal(Rows, Cols);
  localparam bit TileLegal = !ArrayLegal || ufp4_shape_pkg::tile_legal(Rows, Cols, TileRows, TileCols);
  localparam bit ShapeLegal = BusLegal && ArrayLegal && TileLegal;
  localparam bit RowLegal = !ShapeLegal || ufp4_shape_pkg::row_legal(Cols, TileCols, BusBytes);
  localparam bit ChunkLegal = !ShapeLegal || ufp4_shape_pkg::chunk_legal(Chunk, Rows, Cols, BusBytes);
  localparam bit TargetLegal = Target <= 32'(TARGET_SIMULATOR);
  localparam bit ContractLegal = Contract <= 32'(CONTRACT_NV);
  localparam bit FormatsLegal = Formats <= 32'(FORMATS_E1M2);
  localparam bit LanesLegal = ufp4_shape_pkg::lanes_legal(Lanes, Contract);
  localparam bit QuantLegal = !BusLegal || ufp4_shape_pkg::quant_legal(Quant, BusBytes);
  localparam bit MixedLegal = ufp4_shape_pkg::mixed_legal(Mixed, Formats, Quant);
  localparam bit Legal = ShapeLegal && RowLegal && ChunkLegal && TargetLegal && ContractLegal && FormatsLegal &&
                         LanesLegal && QuantLegal && MixedLegal;

  if (!BusLegal) begin : gen_check_bus
    $error("ufp4_top: BusBytes must be 8, 16, 32, 64 or 128");
  end
  if (!ArrayLegal) begin : gen_check_array
    $error("ufp4_top: Rows and Cols must be 1 to 32");
  end
  if (!TileLegal) begin : gen_check_tile
    $error("ufp4_top: TileRows from 2, TileCols even; Rows * TileRows, to 32768, and Cols * TileCols multiples of 16");
  end
  if (!RowLegal) begin : gen_check_row
    $error("ufp4_top: a row of a macro-tile in unrounded sums must be at most 256 beats, of the bus and of the drain");
  end
  if (!ChunkLegal) begin : gen_check_chunk
    $error("ufp4_top: Chunk must be a power of two from 8 to 128, and a chunk of one group at most 256 beats");
  end
  if (!TargetLegal) begin : gen_check_target
    $error("ufp4_top: Target must be 0 (cells), 1 (FPGAs) or 2 (simulators)");
  end
  if (!ContractLegal) begin : gen_check_contract
    $error("ufp4_top: Contract must be 0 (exact), 1 (fp32) or 2 (nv)");
  end
  if (!FormatsLegal) begin : gen_check_formats
    $error("ufp4_top: Formats must be 0 (all), 1 (E2M1), 2 (E1M2 and INT4) or 3 (E1M2)");
  end
  if (!LanesLegal) begin : gen_check_lanes
    $error("ufp4_top: Lanes must be 16, 8 or 4, with contract nv 16");
  end
  if (!QuantLegal) begin : gen_check_quant
    $error("ufp4_top: Quant must be 0 or 16, with BusBytes 8 also 2, with BusBytes 128 also 64");
  end
  if (!MixedLegal) begin : gen_check_mixed
    $error("ufp4_top: Mixed must be 0 or 1, which needs Formats 0 (all) and a Quant that is not 0");
  end

`ifndef SYNTHESIS
  // This stops a simulator that takes $error at elaboration as a warning, and would run the small
  // set.
  if (!Legal) begin : gen_illegal
    initial $fatal(1, "ufp4_top: parameters that do not go together; the elaboration says which");
  end
`endif

  localparam int unsigned CoreRows = Legal ? Rows : 1;
  localparam int unsigned CoreCols = Legal ? Cols : 1;
  localparam int unsigned CoreTileRows = Legal ? TileRows : 16;
  localparam int unsigned CoreTileCols = Legal ? TileCols : 16;
  localparam int unsigned CoreChunk = Legal ? Chunk : 8;
  localparam int unsigned CoreBus = Legal ? BusBytes : 8;
  localparam int unsigned CoreTarget = Legal ? Target : 32'(TARGET_ASIC);
  localparam int unsigned CoreContract = Legal ? Contract : 32'(CONTRACT_EXACT);
  localparam int unsigned CoreFormats = Legal ? Formats : 32'(FORMATS_ALL);
  localparam int unsigned CoreLanes = Legal ? Lanes : 16;
  localparam int unsigned CoreQuant = Legal ? Quant : 0;
  localparam bit CoreMixed = Legal && Mixed != 0;

  localparam int unsigned READERS = 4;
  localparam int unsigned WRITERS = 3;
  localparam int unsigned COMMAND = 0;
  localparam int unsigned GEMM = 1;
  localparam int unsigned QUANT = 2;
  // Reads are served by rank: first the clients that hold up the array. ufp4_gemm decides between
  // operands and addends.
  localparam int unsigned READ_ADDEND = 2;
  localparam int unsigned READ_QUANT = 3;
  localparam logic [1:0] BURST_INCR = 2'b01;

  // --- Memory masters ----------------------------------------------------------------------------

  ufp4_memory_pkg::request_t [READERS-1:0]        rd_req;
  ufp4_memory_pkg::read_response_t [READERS-1:0]  rd_rsp;
  logic [READERS-1:0]                             rd_rsp_ready;
  logic [8*CoreBus-1:0]                           rd_rsp_data;
  ufp4_memory_pkg::request_t [WRITERS-1:0]        wr_req;
  ufp4_memory_pkg::write_response_t [WRITERS-1:0] wr_rsp;
  logic [WRITERS-1:0]                             wr_dat_valid;
  logic [WRITERS-1:0][8*CoreBus-1:0]              wr_dat_data;
  logic [WRITERS-1:0][CoreBus-1:0]                wr_dat_strb;
  logic                                           halt, flush, forget, reads_pending, writes_pending, beats_due;
  logic                                           core_rst_n, moved, sending, active, busy;

  ufp4_axi_read #(
    .Clients (READERS),
    .BusBytes(CoreBus)
  ) u_axi_read (
    .clk_i,
    .rst_ni,
    .halt_i     (halt),
    .flush_i    (flush),
    .forget_i   (forget),
    .pending_o  (reads_pending),
    .req_i      (rd_req),
    .rsp_o      (rd_rsp),
    .rsp_ready_i(rd_rsp_ready),
    .rsp_data_o (rd_rsp_data),
    .arvalid_o  (m_axi_arvalid_o),
    .arready_i  (m_axi_arready_i),
    .arid_o     (m_axi_arid_o),
    .araddr_o   (m_axi_araddr_o),
    .arlen_o    (m_axi_arlen_o),
    .rvalid_i   (m_axi_rvalid_i),
    .rready_o   (m_axi_rready_o),
    .rid_i      (m_axi_rid_i),
    .rdata_i    (m_axi_rdata_i),
    .rresp_i    (m_axi_rresp_i),
    .rlast_i    (m_axi_rlast_i)
  );

  ufp4_axi_write #(
    .Clients (WRITERS),
    .BusBytes(CoreBus)
  ) u_axi_write (
    .clk_i,
    .rst_ni,
    .halt_i     (halt),
    .flush_i    (flush),
    .forget_i   (forget),
    .pending_o  (writes_pending),
    .beats_due_o(beats_due),
    .req_i      (wr_req),
    .rsp_o      (wr_rsp),
    .dat_valid_i(wr_dat_valid),
    .dat_data_i (wr_dat_data),
    .dat_strb_i (wr_dat_strb),
    .awvalid_o  (m_axi_awvalid_o),
    .awready_i  (m_axi_awready_i),
    .awid_o     (m_axi_awid_o),
    .awaddr_o   (m_axi_awaddr_o),
    .awlen_o    (m_axi_awlen_o),
    .wvalid_o   (m_axi_wvalid_o),
    .wready_i   (m_axi_wready_i),
    .wdata_o    (m_axi_wdata_o),
    .wstrb_o    (m_axi_wstrb_o),
    .wlast_o    (m_axi_wlast_o),
    .bvalid_i   (m_axi_bvalid_i),
    .bready_o   (m_axi_bready_o),
    .bid_i      (m_axi_bid_i),
    .bresp_i    (m_axi_bresp_i)
  );

  assign m_axi_arsize_o  = 3'($clog2(CoreBus));
  assign m_axi_awsize_o  = 3'($clog2(CoreBus));
  assign m_axi_arburst_o = BURST_INCR;
  assign m_axi_awburst_o = BURST_INCR;

  // --- Host side: registers, slots, counters, watchdog and soft reset ----------------------------

  logic [ADDR_BITS-1:0]     ring_base, completion_base;
  logic [3:0]               ring_log2;
  logic [31:0]              ring_tail, ring_head;
  logic                     quant_running, retire, irq_done, irq_error, slot_write;
  logic [COUNTER_COUNT-1:0] count;
  logic [1:0][5:0]          slot;
  logic [1:0]               slot_valid;
  logic [1:0][15:0]         slot_exponent;
  logic [15:0]              slot_write_exponent;

  assign s_axil_bresp_o = 2'b00;
  assign s_axil_rresp_o = 2'b00;

  assign moved   = (m_axi_arvalid_o && m_axi_arready_i) || (m_axi_rvalid_i && m_axi_rready_o) ||
                   (m_axi_awvalid_o && m_axi_awready_i) || (m_axi_wvalid_o && m_axi_wready_i) ||
                   (m_axi_bvalid_i && m_axi_bready_o) || busy;
  assign sending = m_axi_arvalid_o || m_axi_awvalid_o || m_axi_wvalid_o || beats_due;

  ufp4_host #(
    .Rows    (CoreRows),
    .Cols    (CoreCols),
    .TileRows(CoreTileRows),
    .TileCols(CoreTileCols),
    .Chunk   (CoreChunk),
    .BusBytes(CoreBus),
    .Contract(CoreContract),
    .Formats (CoreFormats),
    .Lanes   (CoreLanes),
    .Quant   (CoreQuant),
    .Mixed   (CoreMixed)
  ) u_host (
    .clk_i,
    .rst_ni,
    .irq_o,
    .s_axil_awvalid_i,
    .s_axil_awready_o,
    .s_axil_awaddr_i,
    .s_axil_wvalid_i,
    .s_axil_wready_o,
    .s_axil_wdata_i,
    .s_axil_wstrb_i,
    .s_axil_bvalid_o,
    .s_axil_bready_i,
    .s_axil_arvalid_i,
    .s_axil_arready_o,
    .s_axil_araddr_i,
    .s_axil_rvalid_o,
    .s_axil_rready_i,
    .s_axil_rdata_o,
    .ring_base_o          (ring_base),
    .ring_log2_o          (ring_log2),
    .ring_tail_o          (ring_tail),
    .completion_base_o    (completion_base),
    .ring_head_i          (ring_head),
    .running_i            (active),
    .irq_done_i           (irq_done),
    .irq_error_i          (irq_error),
    .slot_index_i         (slot),
    .slot_valid_o         (slot_valid),
    .slot_exponent_o      (slot_exponent),
    .slot_write_i         (slot_write),
    .slot_write_exponent_i(slot_write_exponent),
    .moved_i              (moved),
    .sending_i            (sending),
    .reads_pending_i      (reads_pending),
    .writes_pending_i     (writes_pending),
    .core_rst_no          (core_rst_n),
    .flush_o              (flush),
    .forget_o             (forget),
    .halt_o               (halt),
    .count_i              (count)
  );

  // --- Command unit and engines ------------------------------------------------------------------

  gemm_descriptor_t  gemm_desc;
  quant_descriptor_t quant_desc;
  logic [15:0]       a_exponent, b_exponent, row_exponent, col_exponent, row_result, col_result;
  logic [1:0]        panels_held;
  logic [16:0]       panels;
  logic              gemm_start_valid, gemm_start_ready, gemm_done, gemm_read_error, gemm_write_error;
  logic              gemm_memory_error, quant_memory_error;
  logic              quant_start_valid, quant_start_ready, quant_done, quant_read_error, quant_write_error;
  logic [2:0]        quant_flags;
  logic              stall_operand, stall_panel, stall_accumulator, stall_drain;

  ufp4_command #(
    .BusBytes(CoreBus),
    .Contract(CoreContract),
    .Formats (CoreFormats),
    .Quant   (CoreQuant),
    .Mixed   (CoreMixed)
  ) u_command (
    .clk_i,
    .rst_ni(core_rst_n),
    .ring_base_i              (ring_base),
    .ring_log2_i              (ring_log2),
    .ring_tail_i              (ring_tail),
    .completion_base_i        (completion_base),
    .head_o                   (ring_head),
    .active_o                 (active),
    .quant_running_o          (quant_running),
    .retire_o                 (retire),
    .irq_done_o               (irq_done),
    .irq_error_o              (irq_error),
    .slot_index_o             (slot),
    .slot_valid_i             (slot_valid),
    .slot_exponent_i          (slot_exponent),
    .slot_write_o             (slot_write),
    .slot_write_exponent_o    (slot_write_exponent),
    .gemm_desc_o              (gemm_desc),
    .gemm_a_exponent_o        (a_exponent),
    .gemm_b_exponent_o        (b_exponent),
    .gemm_panels_held_o       (panels_held),
    .quant_desc_o             (quant_desc),
    .quant_row_exponent_o     (row_exponent),
    .quant_col_exponent_o     (col_exponent),
    .gemm_start_valid_o       (gemm_start_valid),
    .gemm_start_ready_i       (gemm_start_ready),
    .gemm_done_valid_i        (gemm_done),
    .gemm_done_read_error_i   (gemm_read_error),
    .gemm_done_write_error_i  (gemm_write_error),
    .gemm_done_memory_error_i  (gemm_memory_error),
    .quant_start_valid_o      (quant_start_valid),
    .quant_start_ready_i      (quant_start_ready),
    .quant_done_valid_i       (quant_done),
    .quant_done_read_error_i  (quant_read_error),
    .quant_done_write_error_i (quant_write_error),
    .quant_done_memory_error_i (quant_memory_error),
    .quant_done_flags_i       (quant_flags),
    .quant_done_row_exponent_i(row_result),
    .quant_done_col_exponent_i(col_result),
    .rd_req_o                 (rd_req[COMMAND]),
    .rd_rsp_i                 (rd_rsp[COMMAND]),
    .rd_rsp_ready_o           (rd_rsp_ready[COMMAND]),
    .rd_rsp_data_i            (rd_rsp_data),
    .wr_req_o                 (wr_req[COMMAND]),
    .wr_rsp_i                 (wr_rsp[COMMAND]),
    .wr_dat_valid_o           (wr_dat_valid[COMMAND]),
    .wr_dat_data_o            (wr_dat_data[COMMAND]),
    .wr_dat_strb_o            (wr_dat_strb[COMMAND])
  );

  ufp4_gemm #(
    .Rows    (CoreRows),
    .Cols    (CoreCols),
    .TileRows(CoreTileRows),
    .TileCols(CoreTileCols),
    .Chunk   (CoreChunk),
    .BusBytes(CoreBus),
    .Target  (CoreTarget),
    .Contract(CoreContract),
    .Formats (CoreFormats),
    .Lanes   (CoreLanes)
  ) u_gemm (
    .clk_i,
    .rst_ni(core_rst_n),
    .start_valid_i      (gemm_start_valid),
    .start_ready_o      (gemm_start_ready),
    .desc_i             (gemm_desc),
    .a_exponent_i       (a_exponent),
    .b_exponent_i       (b_exponent),
    .panels_held_i      (panels_held),
    .panels_i           (panels),
    .done_valid_o       (gemm_done),
    .done_read_error_o  (gemm_read_error),
    .done_write_error_o (gemm_write_error),
    .done_memory_error_o(gemm_memory_error),
    .busy_o             (busy),
    .stall_operand_o    (stall_operand),
    .stall_panel_o      (stall_panel),
    .stall_accumulator_o(stall_accumulator),
    .stall_drain_o      (stall_drain),
    .rd_req_o           (rd_req[GEMM]),
    .rd_rsp_i           (rd_rsp[GEMM]),
    .rd_rsp_ready_o     (rd_rsp_ready[GEMM]),
    .rd_rsp_data_i      (rd_rsp_data),
    .add_req_o          (rd_req[READ_ADDEND]),
    .add_rsp_i          (rd_rsp[READ_ADDEND]),
    .add_rsp_ready_o    (rd_rsp_ready[READ_ADDEND]),
    .add_rsp_data_i     (rd_rsp_data),
    .wr_req_o           (wr_req[GEMM]),
    .wr_rsp_i           (wr_rsp[GEMM]),
    .wr_dat_valid_o     (wr_dat_valid[GEMM]),
    .wr_dat_data_o      (wr_dat_data[GEMM]),
    .wr_dat_strb_o      (wr_dat_strb[GEMM])
  );

  if (CoreQuant > 0) begin : gen_quant
    logic quant_clk;
    ufp4_engine_clock #(.Target(CoreTarget)) u_clock (
      .clk_i,
      .rst_ni(core_rst_n),
      .wake_i(quant_start_valid || rd_rsp[READ_QUANT].valid || wr_rsp[QUANT].answer),
      .start_ready_i(quant_start_ready),
      .clk_o(quant_clk)
    );
    ufp4_quant #(
      .BusBytes(CoreBus),
      .Width   (CoreQuant),
      .Mixed   (CoreMixed)
    ) u_quant (
      .clk_i(quant_clk),
      .rst_ni(core_rst_n),
      .start_valid_i      (quant_start_valid),
      .start_ready_o      (quant_start_ready),
      .desc_i             (quant_desc),
      .row_exponent_i     (row_exponent),
      .col_exponent_i     (col_exponent),
      .panels_o           (panels),
      .done_valid_o       (quant_done),
      .done_read_error_o  (quant_read_error),
      .done_write_error_o (quant_write_error),
      .done_memory_error_o(quant_memory_error),
      .done_flags_o       (quant_flags),
      .done_row_exponent_o(row_result),
      .done_col_exponent_o(col_result),
      .rd_req_o           (rd_req[READ_QUANT]),
      .rd_rsp_i           (rd_rsp[READ_QUANT]),
      .rd_rsp_ready_o     (rd_rsp_ready[READ_QUANT]),
      .rd_rsp_data_i      (rd_rsp_data),
      .wr_req_o           (wr_req[QUANT]),
      .wr_rsp_i           (wr_rsp[QUANT]),
      .wr_dat_valid_o     (wr_dat_valid[QUANT]),
      .wr_dat_data_o      (wr_dat_data[QUANT]),
      .wr_dat_strb_o      (wr_dat_strb[QUANT])
    );
  end else begin : gen_no_quant
    // No QUANT or AMAX job starts, because the command unit refuses them.
    assign quant_start_ready = 1'b0;
    assign {quant_done, quant_read_error, quant_write_error, quant_memory_error, quant_flags} = '0;
    assign {row_result, col_result, panels} = '0;
    assign rd_req[READ_QUANT] = '0;
    assign rd_rsp_ready[READ_QUANT] = 1'b1;
    assign {wr_req[QUANT], wr_dat_valid[QUANT], wr_dat_data[QUANT], wr_dat_strb[QUANT]} = '0;
    logic unused_quant;
    assign unused_quant = ^{quant_desc, row_exponent, col_exponent, quant_start_valid, rd_rsp[READ_QUANT],
                            wr_rsp[QUANT]};
  end

  // --- Performance events ------------------------------------------------------------------------

  ufp4_events u_events (
    .active_i           (active),
    .quant_running_i    (quant_running),
    .retire_i           (retire),
    .busy_i             (busy),
    .stall_operand_i    (stall_operand),
    .stall_panel_i      (stall_panel),
    .stall_accumulator_i(stall_accumulator),
    .stall_drain_i      (stall_drain),
    .read_beat_i        (m_axi_rvalid_i && m_axi_rready_o),
    .write_beat_i       (m_axi_wvalid_o && m_axi_wready_i),
    .event_o            (count)
  );

endmodule
