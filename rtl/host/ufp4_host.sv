// SPDX-License-Identifier: Apache-2.0
// The host side of the core: the register port with registers, exponent slots and counters, and the
// watchdog and soft reset.
//
// Contract: docs/ip/registers.md; ufp4_guard describes the ports from moved_i to halt_o.
// core_rst_no resets everything that works on jobs, including the slots. The ports of ufp4_top that
// end here start or end in flip-flops, except the AXI4-Lite read address and irq_o.
// Test: tests/rtl/core. Timed model: sim/src/timing/core.
module ufp4_host
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Contract = 32'(CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(FORMATS_ALL),
  parameter int unsigned Lanes = 16,
  parameter int unsigned Quant = 16,
  parameter bit Mixed = 1'b0
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  output logic                     irq_o,

  input  logic                     s_axil_awvalid_i,
  output logic                     s_axil_awready_o,
  input  logic [11:0]              s_axil_awaddr_i,
  input  logic                     s_axil_wvalid_i,
  output logic                     s_axil_wready_o,
  input  logic [31:0]              s_axil_wdata_i,
  input  logic [3:0]               s_axil_wstrb_i,
  output logic                     s_axil_bvalid_o,
  input  logic                     s_axil_bready_i,
  input  logic                     s_axil_arvalid_i,
  output logic                     s_axil_arready_o,
  input  logic [11:0]              s_axil_araddr_i,
  output logic                     s_axil_rvalid_o,
  input  logic                     s_axil_rready_i,
  output logic [31:0]              s_axil_rdata_o,

  // Command unit: ring, interrupts, slots (0: GEMM, 1: QUANT, which also writes)
  output logic [ADDR_BITS-1:0]     ring_base_o,
  output logic [3:0]               ring_log2_o,
  output logic [31:0]              ring_tail_o,
  output logic [ADDR_BITS-1:0]     completion_base_o,
  input  logic [31:0]              ring_head_i,
  input  logic                     running_i,
  input  logic                     irq_done_i,
  input  logic                     irq_error_i,
  input  logic [1:0][5:0]          slot_index_i,
  output logic [1:0]               slot_valid_o,
  output logic [1:0][15:0]         slot_exponent_o,
  input  logic                     slot_write_i,
  input  logic [15:0]              slot_write_exponent_i,

  // Watchdog and soft reset (ufp4_guard)
  input  logic                     moved_i,
  input  logic                     sending_i,
  input  logic                     reads_pending_i,
  input  logic                     writes_pending_i,
  output logic                     core_rst_no,
  output logic                     flush_o,
  output logic                     forget_o,
  output logic                     halt_o,

  input  logic [COUNTER_COUNT-1:0] count_i
);

  logic        write, unused_read, snapshot, clear, slot_valid, soft_reset, resetting, irq_fatal, overflow;
  logic [11:0] write_addr, read_addr;
  logic [31:0] write_data, read_data, watchdog;
  logic [3:0]  write_strb, counter_select, fatal_code;
  logic [63:0] counter_value;
  logic [5:0]  slot_index;
  logic [15:0] slot_exponent;

  ufp4_axil #(
    .AddrW(12)
  ) u_axil (
    .clk_i,
    .rst_ni,
    .awvalid_i   (s_axil_awvalid_i),
    .awready_o   (s_axil_awready_o),
    .awaddr_i    (s_axil_awaddr_i),
    .wvalid_i    (s_axil_wvalid_i),
    .wready_o    (s_axil_wready_o),
    .wdata_i     (s_axil_wdata_i),
    .wstrb_i     (s_axil_wstrb_i),
    .bvalid_o    (s_axil_bvalid_o),
    .bready_i    (s_axil_bready_i),
    .arvalid_i   (s_axil_arvalid_i),
    .arready_o   (s_axil_arready_o),
    .araddr_i    (s_axil_araddr_i),
    .rvalid_o    (s_axil_rvalid_o),
    .rready_i    (s_axil_rready_i),
    .rdata_o     (s_axil_rdata_o),
    .write_o     (write),
    .write_addr_o(write_addr),
    .write_data_o(write_data),
    .write_strb_o(write_strb),
    .read_o      (unused_read),
    .read_addr_o (read_addr),
    .read_data_i (read_data)
  );

  ufp4_registers #(
    .Rows    (Rows),
    .Cols    (Cols),
    .TileRows(TileRows),
    .TileCols(TileCols),
    .Chunk   (Chunk),
    .BusBytes(BusBytes),
    .Contract(Contract),
    .Formats (Formats),
    .Lanes   (Lanes),
    .Quant   (Quant),
    .Mixed   (Mixed)
  ) u_registers (
    .clk_i,
    .rst_ni,
    .write_i         (write),
    .write_addr_i    (write_addr),
    .write_data_i    (write_data),
    .write_strb_i    (write_strb),
    .read_addr_i     (read_addr),
    .read_data_o     (read_data),
    .ring_base_o,
    .ring_log2_o,
    .ring_tail_o,
    .completion_base_o,
    .ring_head_i,
    .running_i,
    .irq_done_i,
    .irq_error_i,
    .soft_reset_o    (soft_reset),
    .watchdog_o      (watchdog),
    .resetting_i     (resetting),
    .irq_fatal_i     (irq_fatal),
    .fatal_code_i    (fatal_code),
    .overflow_o      (overflow),
    .snapshot_o      (snapshot),
    .clear_o         (clear),
    .counter_select_o(counter_select),
    .counter_value_i (counter_value),
    .slot_index_o    (slot_index),
    .slot_valid_i    (slot_valid),
    .slot_exponent_i (slot_exponent),
    .irq_o
  );

  ufp4_slots u_slots (
    .clk_i,
    .rst_ni            (core_rst_no),
    .write_i           (slot_write_i),
    .write_index_i     (slot_index_i[1]),
    .write_exponent_i  (slot_write_exponent_i),
    .command_index_i   (slot_index_i),
    .command_valid_o   (slot_valid_o),
    .command_exponent_o(slot_exponent_o),
    .host_index_i      (slot_index),
    .host_valid_o      (slot_valid),
    .host_exponent_o   (slot_exponent)
  );

  ufp4_counters u_counters (
    .clk_i,
    .rst_ni,
    .event_i   (count_i),
    .snapshot_i(snapshot),
    .clear_i   (clear),
    .select_i  (counter_select),
    .value_o   (counter_value)
  );

  ufp4_guard u_guard (
    .clk_i,
    .rst_ni,
    .soft_reset_i(soft_reset),
    .watchdog_i  (watchdog),
    .work_i      (running_i),
    .overflow_i  (overflow),
    .moved_i,
    .reads_pending_i,
    .writes_pending_i,
    .sending_i,
    .core_rst_no,
    .flush_o,
    .forget_o,
    .halt_o,
    .resetting_o (resetting),
    .irq_fatal_o (irq_fatal),
    .fatal_code_o(fatal_code)
  );

endmodule
