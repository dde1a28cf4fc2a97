// SPDX-License-Identifier: Apache-2.0
// The reset of a board: active while its clock is not locked and while a button is pressed. It ends
// with a clock edge, some cycles after the last cause.
module ufp4_board_reset (
  input  logic clk_i,
  input  logic locked_i,   // asynchronous
  input  logic pressed_i,  // asynchronous
  output logic rst_no
);
  logic [1:0] pressed_q;
  logic [3:0] reset_q;

  assign rst_no = reset_q[3];
  always_ff @(posedge clk_i) begin
    pressed_q <= {pressed_q[0], pressed_i};
    reset_q   <= (locked_i && !pressed_q[1]) ? {reset_q[2:0], 1'b1} : '0;
  end
endmodule
