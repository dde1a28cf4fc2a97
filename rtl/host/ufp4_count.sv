// SPDX-License-Identifier: Apache-2.0
// A counter of 64 bits. A register knows a cycle ahead that the low part is full, so that no carry
// passes through both parts.
// Tests: tests/rtl/core, tests/rtl/formal.
module ufp4_count #(
  parameter int unsigned Low = 24  // bits of the low part
) (
  input  logic        clk_i,
  input  logic        clear_i,
  input  logic        count_i,
  output logic [63:0] count_o
);
  logic [Low-1:0] low_q;
  logic [63-Low:0] high_q;
  logic full_q;
  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      {high_q, low_q, full_q} <= '0;
    end else if (count_i) begin
      low_q <= low_q + 1'b1;
      full_q <= low_q == {{(Low - 1) {1'b1}}, 1'b0};
      if (full_q) high_q <= high_q + 1'b1;
    end
  end
  assign count_o = {high_q, low_q};
endmodule
