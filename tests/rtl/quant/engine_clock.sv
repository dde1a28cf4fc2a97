// SPDX-License-Identifier: Apache-2.0
// The clock of an engine in the form for simulators, which stops it, and in that for cells, which does not. Tests only.
module engine_clock (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic wake_i,
  input  logic start_ready_i,
  output logic stopped_o,
  output logic free_o
);
  ufp4_engine_clock #(.Target(32'(ufp4_spec_pkg::TARGET_SIMULATOR))) u_stopped (
    .clk_i,
    .rst_ni,
    .wake_i,
    .start_ready_i,
    .clk_o(stopped_o)
  );
  ufp4_engine_clock #(.Target(32'(ufp4_spec_pkg::TARGET_ASIC))) u_free (
    .clk_i,
    .rst_ni,
    .wake_i,
    .start_ready_i,
    .clk_o(free_o)
  );
endmodule
