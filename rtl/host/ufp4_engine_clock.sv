// SPDX-License-Identifier: Apache-2.0
// The clock of an engine: clk_i, or, in the form for simulators, a clock that stands still some cycles after a job until the
// next one is offered. A simulator has no work with what has no clock; an engine without a job does nothing either way.
// start_ready_i is high while the engine has no job; wake_i is what may come to it then: a start, and what the bus should not
// send, for the engine's assertions to see.
// Tests: tests/rtl/quant (engine_clock), tests/rtl/core.
module ufp4_engine_clock #(
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic wake_i,
  input  logic start_ready_i,
  output logic clk_o
);
  if (Target == 32'(ufp4_spec_pkg::TARGET_SIMULATOR)) begin : gen_stops
    // Checks of parity may still be on their way when a job has ended.
    logic [3:0] idle_q;
    logic runs;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || wake_i || !start_ready_i) idle_q <= '0;
      else if (!idle_q[3]) idle_q <= idle_q + 1'b1;
    end
    always_latch begin
      if (!clk_i) runs = !rst_ni || wake_i || !idle_q[3];
    end
    assign clk_o = clk_i & runs;
  end else begin : gen_runs
    assign clk_o = clk_i;
    logic unused_handshake;
    assign unused_handshake = rst_ni ^ wake_i ^ start_ready_i;
  end
endmodule
