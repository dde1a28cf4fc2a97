// SPDX-License-Identifier: Apache-2.0
// Chooses among Clients requests, round robin or by rank.
//
// Contract: with Ranked, grant_o is the lowest requesting client. Otherwise grant_o is a requesting
// client if there is one, and advance_i gives the granted client the lowest priority, so that no
// client waits for more than Clients - 1 others. Combinational from request_i to grant_o.
// Test: tests/rtl/core (through the AXI masters of the whole core).
// Timed model: sim/src/timing/mem/masters.
module ufp4_arbiter #(
  parameter int unsigned Clients = 3,
  parameter bit Ranked = 1'b0,
  localparam int unsigned IdW = $clog2(Clients)
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic [Clients-1:0] request_i,
  input  logic               advance_i,
  output logic [IdW-1:0]     grant_o
);

  // The first requesting client after the last one served, otherwise the first from zero.
  logic [IdW-1:0] last_d, last_q;

  always_comb begin
    grant_o = '0;
    for (int unsigned i = Clients; i > 0; i--) begin
      if (request_i[i-1]) grant_o = IdW'(i - 1);
    end
    for (int unsigned i = Clients; i > 0; i--) begin
      if (!Ranked && request_i[i-1] && IdW'(i - 1) > last_q) grant_o = IdW'(i - 1);
    end
  end

  assign last_d = advance_i ? grant_o : last_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) last_q <= '0;
    else last_q <= last_d;
  end

endmodule
