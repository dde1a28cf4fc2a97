// SPDX-License-Identifier: Apache-2.0
// Removes SLIP framing (RFC 1055): turns the bytes of a line into bytes of frames.
//
// Contract: each byte of the line raises in the same cycle at most one of byte_o (data_o is the
// next byte of the frame), end_o (end of a frame, possibly empty) and error_o (an invalid byte
// after an escape, or the end of the frame there; an error at the end of a frame comes with end_o).
// Test: tests/fpga.
module ufp4_slip_decode
  import ufp4_link_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       valid_i,
  input  logic [7:0] data_i,

  output logic       byte_o,
  output logic [7:0] data_o,
  output logic       end_o,
  output logic       error_o
);
  logic escaped_q, plain;

  assign end_o = valid_i && data_i == SLIP_END;
  assign plain = data_i != SLIP_END && data_i != SLIP_ESC;

  always_comb begin
    byte_o  = valid_i && plain;
    data_o  = data_i;
    error_o = 1'b0;
    if (escaped_q) begin
      byte_o  = valid_i && (data_i == SLIP_ESC_END || data_i == SLIP_ESC_ESC);
      data_o  = data_i == SLIP_ESC_END ? SLIP_END : SLIP_ESC;
      error_o = valid_i && !byte_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) escaped_q <= 1'b0;
    else if (valid_i) escaped_q <= data_i == SLIP_ESC;
  end

endmodule
