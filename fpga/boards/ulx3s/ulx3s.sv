// SPDX-License-Identifier: Apache-2.0
// ULX3S (LFE5U-85F, 32 MB of SDRAM, FT231X): ufp4_board_uart with its clock and pins.
//
// Clock: the PLL makes 600 MHz from the oscillator's 25 MHz, and ClockHz from that, one clock for
// everything. A bit of 3 Mbaud is a whole number of cycles (24 MHz: 8, 30 MHz: 10), so that the
// rate of the UART has only the error of the oscillator. The clock of the SDRAM is the inverse,
// made by an output register. Reset: the button FIRE1, and until the PLL is locked. LEDs: those of
// ufp4_board.
// Pins: ulx3s.lpf. Build: fpga/build.sh ulx3s.
module ulx3s #(
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
  parameter int unsigned MemoryBytes = Memory == 1 ? ufp4_sdram_pkg::BYTES : 32'h4_0000,
  parameter int unsigned ClockHz = 24_000_000,
  parameter int unsigned Baud = 3_000_000
) (
  input  logic        clk_25mhz,
  input  logic        ftdi_txd,    // from the host
  output logic        ftdi_rxd,    // to the host
  input  logic        btn_fire1,
  output logic [7:0]  led,
  output logic        wifi_gpio0,  // high: the WiFi module does not reset the board

  output logic        sdram_clk,
  output logic        sdram_cke,
  output logic        sdram_csn,
  output logic        sdram_rasn,
  output logic        sdram_casn,
  output logic        sdram_wen,
  output logic [1:0]  sdram_ba,
  output logic [12:0] sdram_a,
  output logic [1:0]  sdram_dqm,
  inout  wire  [15:0] sdram_d
);
  localparam int unsigned PLL_HZ = 600_000_000;
  localparam int unsigned OSCILLATOR_HZ = 25_000_000;
  localparam logic [127:0] BOARD = Memory == 1 ? 128'("ulx3s-sdram") : 128'("ulx3s-bram");

  logic                  clk, locked;
  logic [15:0]           dq;
  ufp4_sdram_pkg::pins_t sdram;
  ufp4_dram_pkg::request_t dram;
  logic                  unused;

  assign unused = ^dram;

  assign wifi_gpio0 = 1'b1;

  ecp5_clock #(.OscillatorHz(OSCILLATOR_HZ), .PllHz(PLL_HZ), .ClockHz(ClockHz)) u_clock (
    .oscillator_i(clk_25mhz),
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
    .Memory     (Memory),
    .MemoryBytes(MemoryBytes),
    .ClockHz    (ClockHz),
    .Baud       (Baud),
    .Board      (BOARD)
  ) u_board (
    .clk_i     (clk),
    .locked_i  (locked),
    .pressed_i (btn_fire1),
    .rx_i      (ftdi_txd),
    .tx_o      (ftdi_rxd),
    .leds_o    (led),
    .sdram_o   (sdram),
    .sdram_dq_i(dq),
    .dram_o    (dram),
    .dram_i    ('0)
  );

  // --- Pins of the SDRAM: its clock is low in the first half of a cycle --------------------------

  assign {sdram_cke, sdram_csn, sdram_rasn, sdram_casn, sdram_wen} =
         {sdram.cke, sdram.cs_n, sdram.ras_n, sdram.cas_n, sdram.we_n};
  assign {sdram_ba, sdram_a, sdram_dqm} = {sdram.ba, sdram.a, sdram.dqm};

  ODDRX1F u_sdram_clk (
    .SCLK(clk),
    .RST (1'b0),
    .D0  (1'b0),
    .D1  (1'b1),
    .Q   (sdram_clk)
  );

  for (genvar b = 0; b < 16; b++) begin : gen_dq
    BB u_pin (
      .I(sdram.dq[b]),
      .T(!sdram.dq_oe),
      .O(dq[b]),
      .B(sdram_d[b])
    );
  end

endmodule
