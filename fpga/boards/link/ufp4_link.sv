// SPDX-License-Identifier: Apache-2.0
// The board link: requests of a host, in frames on a stream of bytes, read and write the registers
// of the core, the memory and the registers of the board; answers return the same way. Protocol:
// docs/reference/link.md.
//
// Contract: an incomplete or wrong frame changes nothing and gets no answer. Each sequence number
// is executed once; if it comes again its answer is repeated. rx brings one byte per cycle of
// rx_valid_i, without back-pressure, and a window of the longest frames has room. tx is
// valid/ready. Memory is MemoryBytes from address 0. AXI4: single beats of the bus with ID 0.
// Throughput: one byte per cycle each way.
// Test: tests/fpga.
module ufp4_link
  import ufp4_link_pkg::*;
#(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned MemoryBytes = 32'h4_0000,
  parameter int unsigned ClockHz = 25_000_000,
  parameter int unsigned Baud = 3_000_000,
  parameter logic [127:0] Board = "sim",
  parameter bit Sdram = 1'b0,
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  irq_i,

  input  logic                  rx_valid_i,
  input  logic [7:0]            rx_data_i,
  output logic                  tx_valid_o,
  input  logic                  tx_ready_i,
  output logic [7:0]            tx_data_o,

  output logic [8:0]            leds_o,              // forced while the highest bit is set
  output logic                  core_reset_o,        // until done
  input  logic                  core_reset_done_i,
  output logic                  march_start_o,
  input  logic                  march_busy_i,
  input  logic                  march_done_i,
  input  logic                  march_failed_i,
  input  logic [31:0]           march_address_i,
  input  logic [31:0]           march_count_i,

  output logic                  m_axil_awvalid_o,
  input  logic                  m_axil_awready_i,
  output logic [11:0]           m_axil_awaddr_o,
  output logic                  m_axil_wvalid_o,
  input  logic                  m_axil_wready_i,
  output logic [31:0]           m_axil_wdata_o,
  output logic [3:0]            m_axil_wstrb_o,
  input  logic                  m_axil_bvalid_i,
  output logic                  m_axil_bready_o,
  input  logic [1:0]            m_axil_bresp_i,
  output logic                  m_axil_arvalid_o,
  input  logic                  m_axil_arready_i,
  output logic [11:0]           m_axil_araddr_o,
  input  logic                  m_axil_rvalid_i,
  output logic                  m_axil_rready_o,
  input  logic [31:0]           m_axil_rdata_i,
  input  logic [1:0]            m_axil_rresp_i,

  output logic                  m_axi_arvalid_o,
  input  logic                  m_axi_arready_i,
  output logic [AddrBits-1:0]   m_axi_araddr_o,
  input  logic                  m_axi_rvalid_i,
  output logic                  m_axi_rready_o,
  input  logic [8*BusBytes-1:0] m_axi_rdata_i,
  input  logic [1:0]            m_axi_rresp_i,
  output logic                  m_axi_awvalid_o,
  input  logic                  m_axi_awready_i,
  output logic [AddrBits-1:0]   m_axi_awaddr_o,
  output logic                  m_axi_wvalid_o,
  input  logic                  m_axi_wready_i,
  output logic [8*BusBytes-1:0] m_axi_wdata_o,
  output logic [BusBytes-1:0]   m_axi_wstrb_o,
  input  logic                  m_axi_bvalid_i,
  output logic                  m_axi_bready_o,
  input  logic [1:0]            m_axi_bresp_i
);

  // --- Frames ------------------------------------------------------------------------------------

  logic        in_valid, in_ready, dropped, repeated, session, hello_done;
  logic [31:0] nonce, expected;
  logic [7:0]  in_data;

  ufp4_link_receive u_receive (
    .clk_i,
    .rst_ni,
    .rx_valid_i,
    .rx_data_i,
    .dropped_o   (dropped),
    .session_i   (session),
    .nonce_i     (nonce),
    .expected_i  (expected),
    .hello_done_i(hello_done),
    .valid_o     (in_valid),
    .ready_i     (in_ready),
    .data_o      (in_data)
  );

  logic       answer_valid, answer_ready, sending, store, load;
  answer_t    answer;
  logic [2:0] sending_slot, store_slot;
  logic [9:0] store_offset, load_offset;
  logic [7:0] store_data, load_data;

  ufp4_link_send u_send (
    .clk_i,
    .rst_ni,
    .irq_i,
    .valid_i      (answer_valid),
    .ready_o      (answer_ready),
    .answer_i     (answer),
    .busy_o       (sending),
    .slot_o       (sending_slot),
    .read_o       (load),
    .read_offset_o(load_offset),
    .read_data_i  (load_data),
    .tx_valid_o,
    .tx_ready_i,
    .tx_data_o
  );

  ufp4_sram #(.Width(8), .Depth(WINDOW * SLOT_BYTES)) u_answers (
    .clk_i,
    .we_i   (store),
    .waddr_i({store_slot, store_offset}),
    .wdata_i(store_data),
    .re_i   (load),
    .raddr_i({sending_slot, load_offset}),
    .rdata_o(load_data)
  );

  // --- Requests ----------------------------------------------------------------------------------

  logic        access_valid, access_board, access_write, access_done;
  logic [31:0] access_address, access_write_data, access_data, axil_data, board_data;
  logic        axil_done, axil_error, board_done;
  status_e     access_status, board_status;
  logic        memory_start, memory_write, memory_idle, memory_error;
  logic        memory_in_valid, memory_in_ready, memory_out_valid, memory_out_ready;
  logic [31:0] memory_address, memory_bytes;
  logic [7:0]  memory_out_data;

  assign access_done   = access_board ? board_done : axil_done;
  assign access_data   = access_board ? board_data : axil_data;
  assign access_status = access_board ? board_status : axil_error ? STATUS_BUS : STATUS_OK;

  ufp4_link_execute #(
    .MemoryBytes(MemoryBytes),
    .ClockHz    (ClockHz),
    .Baud       (Baud),
    .Board      (Board),
    .Sdram      (Sdram)
  ) u_execute (
    .clk_i,
    .rst_ni,
    .irq_i,
    .in_valid_i        (in_valid),
    .in_ready_o        (in_ready),
    .in_data_i         (in_data),
    .answer_valid_o    (answer_valid),
    .answer_ready_i    (answer_ready),
    .answer_o          (answer),
    .sending_i         (sending),
    .sending_slot_i    (sending_slot),
    .repeated_o        (repeated),
    .session_o         (session),
    .nonce_o           (nonce),
    .expected_o        (expected),
    .hello_done_o      (hello_done),
    .store_o           (store),
    .store_slot_o      (store_slot),
    .store_offset_o    (store_offset),
    .store_data_o      (store_data),
    .access_valid_o    (access_valid),
    .access_board_o    (access_board),
    .access_write_o    (access_write),
    .access_address_o  (access_address),
    .access_data_o     (access_write_data),
    .access_done_i     (access_done),
    .access_status_i   (access_status),
    .access_data_i     (access_data),
    .memory_start_o    (memory_start),
    .memory_write_o    (memory_write),
    .memory_bytes_o    (memory_bytes),
    .memory_address_o  (memory_address),
    .memory_idle_i     (memory_idle),
    .memory_error_i    (memory_error),
    .memory_in_valid_o (memory_in_valid),
    .memory_in_ready_i (memory_in_ready),
    .memory_out_valid_i(memory_out_valid),
    .memory_out_ready_o(memory_out_ready),
    .memory_out_data_i (memory_out_data)
  );

  // --- Targets of requests -----------------------------------------------------------------------

  ufp4_link_registers #(.March(Sdram)) u_registers (
    .clk_i,
    .rst_ni,
    .valid_i   (access_valid && access_board),
    .write_i   (access_write),
    .address_i (access_address),
    .data_i    (access_write_data),
    .done_o    (board_done),
    .status_o  (board_status),
    .data_o    (board_data),
    .dropped_i (dropped),
    .repeated_i(repeated),
    .leds_o,
    .core_reset_o,
    .core_reset_done_i,
    .march_start_o,
    .march_busy_i,
    .march_done_i,
    .march_failed_i,
    .march_address_i,
    .march_count_i
  );

  ufp4_link_axil u_axil (
    .clk_i,
    .rst_ni,
    .valid_i  (access_valid && !access_board),
    .write_i  (access_write),
    .address_i(access_address[11:0]),
    .data_i   (access_write_data),
    .done_o   (axil_done),
    .error_o  (axil_error),
    .data_o   (axil_data),
    .m_axil_awvalid_o,
    .m_axil_awready_i,
    .m_axil_awaddr_o,
    .m_axil_wvalid_o,
    .m_axil_wready_i,
    .m_axil_wdata_o,
    .m_axil_bvalid_i,
    .m_axil_bready_o,
    .m_axil_bresp_i,
    .m_axil_arvalid_o,
    .m_axil_arready_i,
    .m_axil_araddr_o,
    .m_axil_rvalid_i,
    .m_axil_rready_o,
    .m_axil_rdata_i,
    .m_axil_rresp_i
  );
  assign m_axil_wstrb_o = '1;

  ufp4_link_memory #(.BusBytes(BusBytes)) u_memory (
    .clk_i,
    .rst_ni,
    .start_i    (memory_start),
    .write_i    (memory_write),
    .address_i  (memory_address),
    .bytes_i    (memory_bytes),
    .idle_o     (memory_idle),
    .error_o    (memory_error),
    .in_valid_i (memory_in_valid),
    .in_ready_o (memory_in_ready),
    .in_data_i  (in_data),
    .out_valid_o(memory_out_valid),
    .out_ready_i(memory_out_ready),
    .out_data_o (memory_out_data),
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_araddr_o,
    .m_axi_rvalid_i,
    .m_axi_rready_o,
    .m_axi_rdata_i,
    .m_axi_rresp_i,
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .m_axi_awaddr_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_bvalid_i,
    .m_axi_bready_o,
    .m_axi_bresp_i
  );

endmodule
