// SPDX-License-Identifier: Apache-2.0
// Arty A7 (XC7A35T or XC7A100T): ufp4_board with block RAM, UART over USB. Tried neither in Vivado nor on a board.
//
// Clock: the MMCM makes 960 MHz of the oscillator's 100 MHz, and ClockHz of that; of 24 MHz 3 Mbaud are 8 cycles.
// Reset: the button RESET, and until the MMCM is locked. LEDs 4 to 7: ufp4_board's 0 to 3. Pins: arty_a7.xdc.
// Build: fpga/boards/arty_a7/vivado.tcl.
module arty_a7 #(
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
  parameter int unsigned MemoryBytes = 32'h2_0000,
  parameter int unsigned ClockHz = 24_000_000,
  parameter int unsigned Baud = 3_000_000
) (
  input  logic       clk_100mhz,
  input  logic       uart_txd_in,   // from the host
  output logic       uart_rxd_out,  // to the host
  input  logic       ck_rst,        // low: pressed
  output logic [3:0] led
);
  localparam int unsigned MMCM_HZ = 960_000_000;

  if (MMCM_HZ % ClockHz != 0) begin : gen_check_clock
    $error("arty_a7: ClockHz must divide 960 MHz");
  end

  logic feedback, clk_mmcm, clk, locked, rst_n;

  MMCME2_BASE #(
    .CLKIN1_PERIOD   (10.0),
    .CLKFBOUT_MULT_F (9.6),
    .CLKOUT0_DIVIDE_F(MMCM_HZ / ClockHz)
  ) u_mmcm (
    .CLKIN1  (clk_100mhz),
    .CLKFBIN (feedback),
    .CLKFBOUT(feedback),
    .CLKOUT0 (clk_mmcm),
    .LOCKED  (locked),
    .PWRDWN  (1'b0),
    .RST     (1'b0)
  );
  BUFG u_clk (.I(clk_mmcm), .O(clk));

  ufp4_board_reset u_reset (.clk_i(clk), .locked_i(locked), .pressed_i(!ck_rst), .rst_no(rst_n));

  logic       rx_valid, tx_valid, tx_ready;
  logic [7:0] rx_data, tx_data, leds;
  logic       unused_leds;

  assign led         = leds[3:0];
  assign unused_leds = ^leds[7:4];

  ufp4_uart_rx #(.ClockHz(ClockHz), .Baud(Baud)) u_rx (
    .clk_i  (clk),
    .rst_ni (rst_n),
    .rx_i   (uart_txd_in),
    .valid_o(rx_valid),
    .data_o (rx_data)
  );

  ufp4_uart_tx #(.ClockHz(ClockHz), .Baud(Baud)) u_tx (
    .clk_i  (clk),
    .rst_ni (rst_n),
    .valid_i(tx_valid),
    .ready_o(tx_ready),
    .data_i (tx_data),
    .tx_o   (uart_rxd_out)
  );

  // Without SDRAM its pins are idle.
  logic        unused_cke, unused_cs, unused_ras, unused_cas, unused_we, unused_oe;
  logic [1:0]  unused_ba, unused_dqm;
  logic [12:0] unused_a;
  logic [15:0] unused_dq;

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
    .Memory     (0),
    .MemoryBytes(MemoryBytes),
    .ClockHz    (ClockHz),
    .Baud       (Baud),
    .Board      (128'("arty-a7-bram"))
  ) u_board (
    .clk_i        (clk),
    .rst_ni       (rst_n),
    .rx_valid_i   (rx_valid),
    .rx_data_i    (rx_data),
    .tx_valid_o   (tx_valid),
    .tx_ready_i   (tx_ready),
    .tx_data_o    (tx_data),
    .leds_o       (leds),
    .sdram_cke_o  (unused_cke),
    .sdram_cs_no  (unused_cs),
    .sdram_ras_no (unused_ras),
    .sdram_cas_no (unused_cas),
    .sdram_we_no  (unused_we),
    .sdram_ba_o   (unused_ba),
    .sdram_a_o    (unused_a),
    .sdram_dqm_o  (unused_dqm),
    .sdram_dq_oe_o(unused_oe),
    .sdram_dq_o   (unused_dq),
    .sdram_dq_i   ('0)
  );
endmodule
