// SPDX-License-Identifier: Apache-2.0
// OrangeCrab r0.2 (LFE5U-25F): ufp4_board with block RAM, and its UART on two pins of the header.
//
// Clock: the PLL makes 576 MHz of the oscillator's 48 MHz, and ClockHz of that; of 24 MHz 3 Mbaud are 8 cycles.
// UART, 3.3 V: pin 0 is the input (an adapter's TX), pin 1 the output. Reset: the user button, and until the PLL
// is locked. LED: green blinks; red: error; blue: the core works, or the link. Pins: orangecrab.lpf.
// Build: fpga/build.sh orangecrab.
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

  logic clk, locked, rst_n;

  ecp5_clock #(.OscillatorHz(OSCILLATOR_HZ), .PllHz(PLL_HZ), .ClockHz(ClockHz)) u_clock (
    .oscillator_i(clk48),
    .clk_o       (clk),
    .locked_o    (locked)
  );

  ufp4_board_reset u_reset (.clk_i(clk), .locked_i(locked), .pressed_i(!usr_btn), .rst_no(rst_n));

  logic       rx_valid, tx_valid, tx_ready;
  logic [7:0] rx_data, tx_data, led;
  logic       unused_led;

  assign rgb_led0_g = !led[0];
  assign rgb_led0_r = !led[2];
  assign rgb_led0_b = !(led[1] || led[3]);
  assign unused_led = ^led[7:4];

  ufp4_uart_rx #(.ClockHz(ClockHz), .Baud(Baud)) u_rx (
    .clk_i  (clk),
    .rst_ni (rst_n),
    .rx_i   (gpio_0),
    .valid_o(rx_valid),
    .data_o (rx_data)
  );

  ufp4_uart_tx #(.ClockHz(ClockHz), .Baud(Baud)) u_tx (
    .clk_i  (clk),
    .rst_ni (rst_n),
    .valid_i(tx_valid),
    .ready_o(tx_ready),
    .data_i (tx_data),
    .tx_o   (gpio_1)
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
    .Board      (128'("orangecrab-bram"))
  ) u_board (
    .clk_i        (clk),
    .rst_ni       (rst_n),
    .rx_valid_i   (rx_valid),
    .rx_data_i    (rx_data),
    .tx_valid_o   (tx_valid),
    .tx_ready_i   (tx_ready),
    .tx_data_o    (tx_data),
    .leds_o       (led),
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
