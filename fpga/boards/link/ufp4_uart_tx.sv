// SPDX-License-Identifier: Apache-2.0
// UART transmitter, 8N1.
//
// Contract: each byte leaves as a start bit, its bits from the lowest on, and a stop bit. The clock
// is counted in steps of Baud modulo ClockHz, so that the rate is exact on average; an edge is at
// most one cycle late.
// Throughput: one byte every ten bits, without a gap. Test: tests/fpga.
module ufp4_uart_tx #(
  parameter int unsigned ClockHz = 25_000_000,
  parameter int unsigned Baud = 3_000_000
) (
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       valid_i,
  output logic       ready_o,
  input  logic [7:0] data_i,
  output logic       tx_o
);
  localparam int unsigned PHASE_W = $clog2(ClockHz + Baud);

  logic [PHASE_W-1:0] phase_q, phase;
  logic               tick;
  logic [3:0]         left_q;   // bits that have not ended
  logic [8:0]         bits_q;   // the current one is the lowest

  assign phase   = phase_q + PHASE_W'(Baud);
  assign tick    = phase >= PHASE_W'(ClockHz);
  assign ready_o = left_q == 4'd0 || (left_q == 4'd1 && tick);
  assign tx_o    = bits_q[0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= 4'd0;
      bits_q <= '1;
    end else if (valid_i && ready_o) begin
      left_q <= 4'd10;
      bits_q <= {data_i, 1'b0};
    end else if (left_q != 4'd0 && tick) begin
      left_q <= left_q - 4'd1;
      bits_q <= {1'b1, bits_q[8:1]};
    end
  end

  always_ff @(posedge clk_i) begin
    if (left_q == 4'd0) phase_q <= '0;
    else phase_q <= tick ? phase - PHASE_W'(ClockHz) : phase;
  end

endmodule
