// SPDX-License-Identifier: Apache-2.0
// The clock of an engine. It is clk_i, except in the form for simulators, where it stops some
// cycles after a job and runs again when the next one is offered: a simulator has no work for logic
// without a clock, and an engine without a job does nothing either way. start_ready_i is high while
// the engine has no job. wake_i is everything that may reach an idle engine: a start, and beats
// that the bus should not send, so that the assertions of the engine see them.
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
    // Parity checks may still be under way when a job has ended, so the clock runs on for eight
    // cycles.
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
