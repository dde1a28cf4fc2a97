// SPDX-License-Identifier: Apache-2.0
// OrangeCrab r0.2 (LFE5U-25F): ufp4_board_uart with the 128 MB of DDR3, and the UART on two pins of
// the header.
//
// Clock: the PLL makes 576 MHz from the oscillator's 48 MHz, and ClockHz from that; at 24 MHz a bit
// of 3 Mbaud is 8 cycles. ufp4_dram (LiteDRAM, made by fpga/boards/litex/dram.sh) has the other
// PLL, and the 48 MHz; the clock of the DRAM is 96 MHz. Reset: the user button, and until the PLL
// is locked.
// UART, 3.3 V: pin 0 is the input (TX of an adapter), pin 1 the output. LED: green blinks; red is
// an error; blue says that the core or the link works.
// Pins: orangecrab_ddr.lpf. Build: fpga/build.sh orangecrab_ddr.
module orangecrab_ddr #(
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
  parameter int unsigned ClockHz = 24_000_000,
  parameter int unsigned Baud = 3_000_000
) (
  input  logic clk48,
  input  logic gpio_0,
  output logic gpio_1,
  input  logic usr_btn,
  output logic rgb_led0_r,
  output logic rgb_led0_g,
  output logic rgb_led0_b,

  output logic [12:0] ddram_a,
  output logic [2:0]  ddram_ba,
  output logic        ddram_ras_n,
  output logic        ddram_cas_n,
  output logic        ddram_we_n,
  output logic        ddram_cs_n,
  output logic [1:0]  ddram_dm,
  inout  wire  [15:0] ddram_dq,
  inout  wire  [1:0]  ddram_dqs_p,
  output logic        ddram_clk_p,
  output logic        ddram_cke,
  output logic        ddram_odt,
  output logic        ddram_reset_n,
  output logic [5:0]  ddram_vccio,   // supplies by pins
  output logic [1:0]  ddram_gnd
);
  localparam int unsigned PLL_HZ = 576_000_000;
  localparam int unsigned OSCILLATOR_HZ = 48_000_000;

  logic                  clk, locked, unused;
  logic [7:0]            leds;
  ufp4_sdram_pkg::pins_t sdram;
  ufp4_dram_pkg::request_t request;
  ufp4_dram_pkg::answer_t  answer;
  logic                  init_done, init_error, cmd_valid, cmd_ready, cmd_we, wdata_valid, wdata_ready, rdata_valid;
  logic                  pll_locked;
  logic [22:0]           cmd_addr;
  logic [15:0]           wdata_we;
  logic [127:0]          wdata_data, rdata_data;

  assign rgb_led0_g = !leds[0];
  assign rgb_led0_r = !leds[2];
  assign rgb_led0_b = !(leds[1] || leds[3]);
  assign ddram_vccio = '1;
  assign ddram_gnd   = '0;
  assign unused     = ^{leds[7:4], sdram, pll_locked};

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
    .Memory     (2),
    .MemoryBytes(ufp4_dram_pkg::BYTES),
    .ClockHz    (ClockHz),
    .Baud       (Baud),
    .Board      (128'("orangecrab-ddr"))
  ) u_board (
    .clk_i     (clk),
    .locked_i  (locked),
    .pressed_i (!usr_btn),
    .rx_i      (gpio_0),
    .tx_o      (gpio_1),
    .leds_o    (leds),
    .sdram_o   (sdram),
    .sdram_dq_i('0),
    .dram_o    (request),
    .dram_i    (answer)
  );

  ufp4_dram_port u_port (
    .clk_i        (clk),
    .rst_ni       (!request.reset),
    .dram_i       (request),
    .dram_o       (answer),
    .init_done_i  (init_done),
    .init_error_i (init_error),
    .cmd_valid_o  (cmd_valid),
    .cmd_ready_i  (cmd_ready),
    .cmd_we_o     (cmd_we),
    .cmd_addr_o   (cmd_addr),
    .wdata_valid_o(wdata_valid),
    .wdata_ready_i(wdata_ready),
    .wdata_we_o   (wdata_we),
    .wdata_data_o (wdata_data),
    .rdata_valid_i(rdata_valid),
    .rdata_data_i (rdata_data)
  );

  ufp4_dram u_dram (
    .clk        (clk48),
    .rst        (request.reset),
    .pll_locked (pll_locked),
    .user_clk   (clk),
    .init_done  (init_done),
    .init_error (init_error),
    .cmd_valid  (cmd_valid),
    .cmd_ready  (cmd_ready),
    .cmd_we     (cmd_we),
    .cmd_addr   (cmd_addr),
    .wdata_valid(wdata_valid),
    .wdata_ready(wdata_ready),
    .wdata_we   (wdata_we),
    .wdata_data (wdata_data),
    .rdata_valid(rdata_valid),
    .rdata_ready(1'b1),
    .rdata_data (rdata_data),
    .ddram_a,
    .ddram_ba,
    .ddram_ras_n,
    .ddram_cas_n,
    .ddram_we_n,
    .ddram_cs_n,
    .ddram_dm,
    .ddram_dq,
    .ddram_dqs_p,
    .ddram_clk_p,
    .ddram_cke,
    .ddram_odt,
    .ddram_reset_n
  );
endmodule
