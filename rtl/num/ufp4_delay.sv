// SPDX-License-Identifier: Apache-2.0
// Delays a word by Cycles cycles. The registers have no reset, so the output is undefined for the
// first Cycles cycles.
module ufp4_delay #(
  parameter int unsigned Width = 8,
  parameter int unsigned Cycles = 1
) (
  input  logic             clk_i,
  input  logic [Width-1:0] word_i,
  output logic [Width-1:0] word_o
);
  logic [Cycles-1:0][Width-1:0] word_q;
  always_ff @(posedge clk_i) begin
    word_q[0] <= word_i;
    for (int unsigned i = 1; i < Cycles; i++) word_q[i] <= word_q[i-1];
  end
  assign word_o = word_q[Cycles-1];
endmodule
