// SPDX-License-Identifier: Apache-2.0
// Arty A7 (XC7A35T or XC7A100T): ufp4_board_uart with block RAM and the UART over USB. Not tried in
// Vivado or on a board.
//
// Clock: the MMCM makes 960 MHz from the oscillator's 100 MHz (48 times a fifth, because its factor
// must be a multiple of 1/8), and ClockHz from that; at 24 MHz a bit of 3 Mbaud is 8 cycles.
// Reset: the button RESET, and until the MMCM is locked. LEDs 4 to 7 are 0 to 3 of ufp4_board.
// Pins: arty_a7.xdc. Build: fpga/boards/arty_a7/vivado.tcl.
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
  parameter int unsigned Mixed = 0,
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

  logic                  feedback, clk_mmcm, clk, locked, unused;
  logic [7:0]            leds;
  ufp4_sdram_pkg::pins_t sdram;
  ufp4_dram_pkg::request_t dram;

  assign led    = leds[3:0];
  assign unused = ^{leds[7:4], sdram, dram};

  MMCME2_BASE #(
    .CLKIN1_PERIOD   (10.0),
    .DIVCLK_DIVIDE   (5),
    .CLKFBOUT_MULT_F (48.0),
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

  ufp4_board_uart #(
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
    .MemoryBytes(MemoryBytes),
    .ClockHz    (ClockHz),
    .Baud       (Baud),
    .Board      (128'("arty-a7-bram"))
  ) u_board (
    .clk_i     (clk),
    .locked_i  (locked),
    .pressed_i (!ck_rst),
    .rx_i      (uart_txd_in),
    .tx_o      (uart_rxd_out),
    .leds_o    (leds),
    .sdram_o   (sdram),
    .sdram_dq_i('0),
    .dram_o    (dram),
    .dram_i    ('0)
  );
endmodule
