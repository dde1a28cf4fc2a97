// SPDX-License-Identifier: Apache-2.0
// OrangeCrab r0.2 (LFE5U-25F): ufp4_board_uart with block RAM, and the UART on two pins of the
// header.
//
// Clock: the PLL makes 576 MHz from the oscillator's 48 MHz, and ClockHz from that; at 24 MHz a bit
// of 3 Mbaud is 8 cycles. Reset: the user button, and until the PLL is locked.
// UART, 3.3 V: pin 0 is the input (TX of an adapter), pin 1 the output. LED: green blinks; red is
// an error; blue says that the core or the link works.
// Pins: orangecrab.lpf. Build: fpga/build.sh orangecrab.
module orangecrab #(
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
  parameter int unsigned MemoryBytes = 32'h1_0000,
  parameter int unsigned ClockHz = 24_000_000,
  parameter int unsigned Baud = 3_000_000
) (
  input  logic clk48,
  input  logic gpio_0,
  output logic gpio_1,
  input  logic usr_btn,
  output logic rgb_led0_r,
  output logic rgb_led0_g,
  output logic rgb_led0_b
);
  localparam int unsigned PLL_HZ = 576_000_000;
  localparam int unsigned OSCILLATOR_HZ = 48_000_000;

  logic                  clk, locked, unused;
  logic [7:0]            leds;
  ufp4_sdram_pkg::pins_t sdram;
  ufp4_dram_pkg::request_t dram;

  assign rgb_led0_g = !leds[0];
  assign rgb_led0_r = !leds[2];
  assign rgb_led0_b = !(leds[1] || leds[3]);
  assign unused     = ^{leds[7:4], sdram, dram};

  ecp5_clock #(.OscillatorHz(OSCILLATOR_HZ), .PllHz(PLL_HZ), .ClockHz(ClockHz)) u_clock (
    .oscillator_i(clk48),
    .clk_o       (clk),
    .locked_o    (locked)
  );

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
    .Board      (128'("orangecrab-bram"))
  ) u_board (
    .clk_i     (clk),
    .locked_i  (locked),
    .pressed_i (!usr_btn),
    .rx_i      (gpio_0),
    .tx_o      (gpio_1),
    .leds_o    (leds),
    .sdram_o   (sdram),
    .sdram_dq_i('0),
    .dram_o    (dram),
    .dram_i    ('0)
  );
endmodule
