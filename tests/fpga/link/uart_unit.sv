// SPDX-License-Identifier: Apache-2.0
// The link behind its UART, bit by bit, for test_uart.cpp. It reaches neither core nor memory.
module uart_unit #(
  parameter int unsigned ClockHz = 25_000_000,
  parameter int unsigned Baud = 3_000_000
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       rx_i,
  output logic       tx_o,
  output logic       rx_valid_o,
  output logic [7:0] rx_data_o
);
  logic       tx_valid, tx_ready;
  logic [7:0] tx_data;

  ufp4_uart_rx #(.ClockHz(ClockHz), .Baud(Baud)) u_rx (
    .*,
    .valid_o(rx_valid_o),
    .data_o (rx_data_o)
  );

  ufp4_uart_tx #(.ClockHz(ClockHz), .Baud(Baud)) u_tx (
    .*,
    .valid_i(tx_valid),
    .ready_o(tx_ready),
    .data_i (tx_data)
  );

  ufp4_link #(.ClockHz(ClockHz), .Baud(Baud)) u_link (
    .clk_i,
    .rst_ni,
    .irq_i            (1'b0),
    .rx_valid_i       (rx_valid_o),
    .rx_data_i        (rx_data_o),
    .tx_valid_o       (tx_valid),
    .tx_ready_i       (tx_ready),
    .tx_data_o        (tx_data),
    .core_reset_done_i(1'b0),
    .march_busy_i     (1'b0),
    .march_done_i     (1'b0),
    .march_failed_i   (1'b0),
    .march_address_i  ('0),
    .march_count_i    ('0),
    .m_axil_awready_i (1'b0),
    .m_axil_wready_i  (1'b0),
    .m_axil_bvalid_i  (1'b0),
    .m_axil_bresp_i   ('0),
    .m_axil_arready_i (1'b0),
    .m_axil_rvalid_i  (1'b0),
    .m_axil_rdata_i   ('0),
    .m_axil_rresp_i   ('0),
    .m_axi_arready_i  (1'b0),
    .m_axi_rvalid_i   (1'b0),
    .m_axi_rdata_i    ('0),
    .m_axi_rresp_i    ('0),
    .m_axi_awready_i  (1'b0),
    .m_axi_wready_i   (1'b0),
    .m_axi_bvalid_i   (1'b0),
    .m_axi_bresp_i    ('0)
  );

endmodule
