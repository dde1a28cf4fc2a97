// SPDX-License-Identifier: Apache-2.0
// Counts the strips of the row copy that are in memory, so that a GEMM may use them while QUANT
// goes on.
//
// Contract: panels_o counts the strips since start_i whose writes have all been answered, and may
// lag behind the answers; the strips are in memory from the next cycle on. Each request is one
// burst, because no request crosses 4 KiB, and answers come in the order of the bursts, because
// there is one AXI ID. So a strip is in memory after as many answers as writes were under way when
// it was handed over. One strip is watched at a time, and strips handed over meanwhile are counted
// with the next one. With pair_i strips come in twos, and the final count may be one too many.
// Spec: docs/ip/architecture.md "Dependencies". Test: tests/rtl/core.
// Timed model: sim/src/timing/quant/quant_write.
module ufp4_quant_progress (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        pair_i,
  input  logic        start_i,
  input  logic        request_i,    // a write request was taken
  input  logic        answer_i,     // a write was answered
  input  logic        strip_end_i,  // a strip was handed over; with or after its last request
  output logic [16:0] panels_o
);

  logic [9:0]  under_way_d, under_way_q;  // writes that are not answered
  logic [9:0]  left_d, left_q;            // answers until the watched strips are in memory
  logic [16:0] handed_d, handed_q, watched_d, watched_q, panels_d, panels_q;

  assign panels_o = panels_d;

  always_comb begin
    under_way_d = under_way_q + 10'(request_i) - 10'(answer_i);
    handed_d    = handed_q + (17'(strip_end_i) << pair_i);
    left_d      = left_q - 10'(answer_i && left_q != '0);
    watched_d   = watched_q;
    panels_d    = (left_d == '0) ? watched_q : panels_q;
    if (left_d == '0 && handed_d != watched_q) begin
      left_d    = under_way_d;
      watched_d = handed_d;
    end
    if (start_i) begin
      left_d    = '0;
      handed_d  = '0;
      watched_d = '0;
      panels_d  = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      under_way_q <= '0;
      left_q      <= '0;
      handed_q    <= '0;
      watched_q   <= '0;
      panels_q    <= '0;
    end else begin
      under_way_q <= under_way_d;
      left_q      <= left_d;
      handed_q    <= handed_d;
      watched_q   <= watched_d;
      panels_q    <= panels_d;
    end
  end

endmodule
