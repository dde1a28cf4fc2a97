// SPDX-License-Identifier: Apache-2.0
// A board without clock and pins: ufp4_board with its reset and a UART, 8N1, of Baud.
//
// The top of a board adds the pins and the clock, whose rate must be at least four times Baud and
// is best a whole multiple of it (ufp4_uart_rx). locked_i and pressed_i are asynchronous and hold
// the reset; without a PLL locked_i is 1. sdram_o is idle without SDRAM, dram_o without DRAM. The
// other parameters and leds_o are those of ufp4_board.
// Test: tests/fpga/board.
module ufp4_board_uart #(
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
  parameter int unsigned ClockHz = 24_000_000,
  parameter int unsigned Baud = 3_000_000,
  parameter logic [127:0] Board = "uart"
) (
  input  logic                  clk_i,
  input  logic                  locked_i,
  input  logic                  pressed_i,
  input  logic                  rx_i,
  output logic                  tx_o,
  output logic [7:0]            leds_o,
  output ufp4_sdram_pkg::pins_t sdram_o,
  input  logic [15:0]           sdram_dq_i,
  output ufp4_dram_pkg::request_t dram_o,
  input  ufp4_dram_pkg::answer_t  dram_i
);
  logic       rst_n, rx_valid, tx_valid, tx_ready;
  logic [7:0] rx_data, tx_data;

  ufp4_board_reset u_reset (
    .clk_i,
    .locked_i,
    .pressed_i,
    .rst_no(rst_n)
  );

  ufp4_uart_rx #(.ClockHz(ClockHz), .Baud(Baud)) u_rx (
    .clk_i,
    .rst_ni (rst_n),
    .rx_i,
    .valid_o(rx_valid),
    .data_o (rx_data)
  );

  ufp4_uart_tx #(.ClockHz(ClockHz), .Baud(Baud)) u_tx (
    .clk_i,
    .rst_ni (rst_n),
    .valid_i(tx_valid),
    .ready_o(tx_ready),
    .data_i (tx_data),
    .tx_o
  );

  ufp4_board #(
    .Rows       (Rows),
    .Cols       (Cols),
    .TileRows   (TileRows),
    .TileCols   (TileCols),
    .Chunk      (Chunk),
    .BusBytes   (BusBytes),
    .Target     (Target),
    .Contract   (Contract),
    .Formats    (Formats),
    .Lanes      (Lanes),
    .Quant      (Quant),
    .Mixed      (Mixed),
    .Memory     (Memory),
    .MemoryBytes(MemoryBytes),
    .ClockHz    (ClockHz),
    .Baud       (Baud),
    .Board      (Board)
  ) u_board (
    .clk_i,
    .rst_ni    (rst_n),
    .rx_valid_i(rx_valid),
    .rx_data_i (rx_data),
    .tx_valid_o(tx_valid),
    .tx_ready_i(tx_ready),
    .tx_data_o (tx_data),
    .leds_o,
    .sdram_o,
    .sdram_dq_i,
    .dram_o,
    .dram_i
  );
endmodule
