// SPDX-License-Identifier: Apache-2.0
// Performance counters with a snapshot (docs/ip/registers.md, "Performance counters").
//
// Contract: counter i counts the cycles with event_i[i] high, modulo 2^64. A snapshot copies all
// counters in one cycle. A clear sets all to zero, and the cycle of the clear is not counted; with
// both in one cycle the copy comes first. The first counter equals the sum of the next eight,
// because event_i[COUNTER_CYCLES] is high in every cycle together with exactly one of the eight; an
// assertion checks this.
// Latency: two cycles. Test: tests/rtl/core. Timed model: sim/src/timing/host/registers.
module ufp4_counters
  import ufp4_spec_pkg::*;
(
  input  logic                     clk_i,
  input  logic                     rst_ni,

  input  logic [COUNTER_COUNT-1:0] event_i,
  input  logic                     snapshot_i,
  input  logic                     clear_i,

  input  logic [3:0]               select_i,
  output logic [63:0]              value_o      // from the snapshot; zero if the counter does not exist
);

  logic [63:0] snapshot_q [COUNTER_COUNT];

  // All inputs are registered, because events come from far away; the common delay keeps their
  // order.
  logic [COUNTER_COUNT-1:0] event_q;
  logic clear_q, take_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {event_q, clear_q, take_q} <= '0;
    else {event_q, clear_q, take_q} <= {event_i, clear_i, snapshot_i};
  end

  for (genvar i = 0; i < COUNTER_COUNT; i++) begin : gen_counter
    logic [63:0] count;
    ufp4_count u_count (.clk_i, .clear_i(!rst_ni || clear_q), .count_i(event_q[i]), .count_o(count));
    always_ff @(posedge clk_i) begin
      if (!rst_ni) snapshot_q[i] <= '0;
      else if (take_q) snapshot_q[i] <= count;
    end
  end

  always_comb begin
    value_o = '0;
    for (int unsigned i = 0; i < COUNTER_COUNT; i++) begin
      if (select_i == 4'(i)) value_o = snapshot_q[i];
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (event_i[COUNTER_CYCLES] && $onehot(event_i[COUNTER_IDLE:COUNTER_ARRAY_BUSY]))
        else $error("a cycle is counted as %b", event_i);
    end
  end
`endif

endmodule
