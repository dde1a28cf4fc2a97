// SPDX-License-Identifier: Apache-2.0
// The largest of 16 unsigned numbers, each in the low Width bits of a 32-bit lane.
//
// Contract: largest_o <= max of the lanes in a cycle with en_i high. Latency: 1 cycle.
// Spec: numerics.md 3 (largest exponent) and 2 (amax). Test: tests/rtl/vectors (inside the block pipeline).
module ufp4_max16 #(
  parameter int unsigned Width = 31
) (
  input  logic              clk_i,
  input  logic              en_i,

  input  logic [15:0][31:0] lanes_i,
  output logic [Width-1:0]  largest_o
);

  // A tree: 8, 4, 2, 1 comparisons; node n has the children 2n and 2n+1.
  function automatic logic [Width-1:0] largest(input logic [15:0][31:0] lanes);
    logic [Width-1:0] node [32];
    for (int unsigned i = 0; i < 16; i++) node[16+i] = lanes[i][Width-1:0];
    for (int unsigned n = 15; n > 0; n--) node[n] = node[2*n] > node[2*n+1] ? node[2*n] : node[2*n+1];
    return node[1];
  endfunction

  always_ff @(posedge clk_i) begin
    if (en_i) largest_o <= largest(lanes_i);
  end

  // The lanes carry more than the number, a sign for example.
  logic unused_lanes;
  assign unused_lanes = ^lanes_i;

endmodule
