// SPDX-License-Identifier: Apache-2.0
// A board with LiteDRAM as its memory, like fpga/boards/orangecrab_ddr but without pins and UART. The core is that of tiny.
module dram_board (
  input  logic       clk_i,
  input  logic       dram_clk_i,
  input  logic       rst_ni,
  input  logic       rx_valid_i,
  input  logic [7:0] rx_data_i,
  output logic       tx_valid_o,
  input  logic       tx_ready_i,
  output logic [7:0] tx_data_o,
  output logic [7:0] leds_o,
  output logic       trained_o,
  output logic       failed_o
);
  ufp4_dram_pkg::request_t request;
  ufp4_dram_pkg::answer_t  answer;
  ufp4_sdram_pkg::pins_t   sdram;
  logic                    init_done, init_error, pll_locked, cmd_valid, cmd_ready, cmd_we, wdata_valid, wdata_ready, rdata_valid;
  logic [22:0]             cmd_addr;
  logic [15:0]             wdata_we;
  logic [127:0]            wdata_data, rdata_data;

  assign trained_o = init_done;
  assign failed_o  = answer.failed;

  ufp4_board #(
    .Memory     (2),
    .MemoryBytes(ufp4_dram_pkg::BYTES),
    .ClockHz    (24_000_000),
    .Board      (128'("dram"))
  ) u_board (
    .*,
    .sdram_o   (sdram),
    .sdram_dq_i('0),
    .dram_o    (request),
    .dram_i    (answer)
  );

  ufp4_dram_port u_port (
    .clk_i,
    .rst_ni,
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
    .clk        (dram_clk_i),
    .rst        (request.reset),
    .user_clk   (clk_i),
    .rdata_ready(1'b1),
    .pll_locked (pll_locked),
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
    .rdata_data (rdata_data)
  );
endmodule
