// SPDX-License-Identifier: Apache-2.0
// SLIP framing (RFC 1055), taken off: bytes of a line become bytes of frames.
//
// Contract: with each byte of the line, in the same cycle, at most one of byte_o (data_o is the frame's next byte),
// end_o (the frame's end; also of an empty one) and error_o (what stands behind an escape is none, or the frame ends
// there; an error at a frame's end comes with end_o). Test: tests/fpga.
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
