// SPDX-License-Identifier: Apache-2.0
// The largest of 16 unsigned numbers, each in the low Width bits of a 32-bit lane.
//
// Latency: two stages; stage k moves with en_i[k] and compares twice in a row.
// Spec: numerics.md 2 (amax). Test: tests/rtl/vectors (inside the block pipeline).
module ufp4_max16 #(
  parameter int unsigned Width = 31
) (
  input  logic              clk_i,
  input  logic [1:0]        en_i,

  input  logic [15:0][31:0] lanes_i,
  output logic [Width-1:0]  largest_o
);

  function automatic logic [Width-1:0] largest(input logic [3:0][Width-1:0] in);
    logic [1:0][Width-1:0] half;
    for (int unsigned i = 0; i < 2; i++) half[i] = in[2*i] > in[2*i+1] ? in[2*i] : in[2*i+1];
    return half[0] > half[1] ? half[0] : half[1];
  endfunction

  logic [3:0][Width-1:0] quarter_d, quarter_q;

  for (genvar q = 0; q < 4; q++) begin : gen_quarter
    logic [3:0][Width-1:0] lanes;
    for (genvar i = 0; i < 4; i++) begin : gen_lane
      assign lanes[i] = lanes_i[4*q+i][Width-1:0];
    end
    assign quarter_d[q] = largest(lanes);
  end

  always_ff @(posedge clk_i) begin
    if (en_i[0]) quarter_q <= quarter_d;
    if (en_i[1]) largest_o <= largest(quarter_q);
  end

  // The lanes carry more than the number, for example a sign.
  logic unused_lanes;
  assign unused_lanes = ^lanes_i;

endmodule
