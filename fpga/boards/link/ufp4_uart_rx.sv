// SPDX-License-Identifier: Apache-2.0
// UART receiver, 8N1.
//
// Contract: valid_o is high for one cycle with each byte whose start and stop bits are right; there
// is no back-pressure. The clock is counted in steps of Baud modulo ClockHz, so that the rate is
// exact on average for any ClockHz >= 4 * Baud, and a sample is at most one cycle from the middle
// of its bit. The rate of the sender may therefore differ by (0.5 - Baud / ClockHz) / 9.5: 3.9 % at
// 8 cycles per bit, 2.6 % at 4.
// Latency: the middle of the stop bit, and two cycles of the synchronizer. Test: tests/fpga.
module ufp4_uart_rx #(
  parameter int unsigned ClockHz = 25_000_000,
  parameter int unsigned Baud = 3_000_000
) (
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       rx_i,
  output logic       valid_o,
  output logic [7:0] data_o
);
  localparam int unsigned PHASE_W = $clog2(ClockHz + Baud);

  if (ClockHz < 4 * Baud) begin : gen_check_clock
    $error("ufp4_uart_rx: ClockHz must be at least four times Baud");
  end

  logic [1:0]         rx_q;
  logic               rx, busy_q, tick;
  logic [PHASE_W-1:0] phase_q, phase;
  logic [3:0]         bit_q;   // 0: start, 1 to 8: data, 9: stop
  logic [7:0]         data_q;

  assign rx      = rx_q[1];
  assign phase   = phase_q + PHASE_W'(Baud);
  assign tick    = busy_q && phase >= PHASE_W'(ClockHz);
  assign valid_o = tick && bit_q == 4'd9 && rx;
  assign data_o  = data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rx_q   <= '1;
      busy_q <= 1'b0;
    end else begin
      rx_q <= {rx_q[0], rx_i};
      if (!busy_q) busy_q <= !rx;
      else if (tick && (bit_q == 4'd9 || (bit_q == 4'd0 && rx))) busy_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!busy_q) begin
      phase_q <= PHASE_W'(ClockHz / 2 + Baud);   // the start bit began up to a cycle before it is seen
      bit_q   <= 4'd0;
    end else begin
      phase_q <= tick ? phase - PHASE_W'(ClockHz) : phase;
      if (tick) bit_q <= bit_q + 4'd1;
    end
    if (tick && bit_q != 4'd9) data_q <= {rx, data_q[7:1]};
  end

endmodule
