// SPDX-License-Identifier: Apache-2.0
// Adds SLIP framing (RFC 1055): turns the bytes of frames into bytes of a line.
//
// Contract: END comes before and after each frame; END and ESC within a frame are escaped. Both
// sides are valid/ready; a byte is taken with the last byte that it becomes, and the last one of a
// frame with END.
// Test: tests/fpga.
module ufp4_slip_encode
  import ufp4_link_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       in_valid_i,
  output logic       in_ready_o,
  input  logic [7:0] in_data_i,
  input  logic       in_last_i,

  output logic       out_valid_o,
  input  logic       out_ready_i,
  output logic [7:0] out_data_o
);
  typedef enum logic [1:0] {FIRST, PLAIN, ESCAPED, LAST} state_e;
  state_e state_d, state_q;
  logic   special;

  assign special     = in_data_i == SLIP_END || in_data_i == SLIP_ESC;
  assign out_valid_o = in_valid_i;

  always_comb begin
    state_d    = state_q;
    in_ready_o = 1'b0;
    out_data_o = SLIP_END;
    unique case (state_q)
      FIRST: if (in_valid_i && out_ready_i) state_d = PLAIN;
      PLAIN: begin
        out_data_o = special ? SLIP_ESC : in_data_i;
        in_ready_o = out_ready_i && !special && !in_last_i;
        if (in_valid_i && out_ready_i) state_d = special ? ESCAPED : in_last_i ? LAST : PLAIN;
      end
      ESCAPED: begin
        out_data_o = in_data_i == SLIP_END ? SLIP_ESC_END : SLIP_ESC_ESC;
        in_ready_o = out_ready_i && !in_last_i;
        if (in_valid_i && out_ready_i) state_d = in_last_i ? LAST : PLAIN;
      end
      LAST: begin
        in_ready_o = out_ready_i;
        if (in_valid_i && out_ready_i) state_d = FIRST;
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= FIRST;
    else state_q <= state_d;
  end

endmodule
