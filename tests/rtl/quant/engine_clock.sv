// SPDX-License-Identifier: Apache-2.0
// The clock of an engine in the form for simulators, which stops it, and in the other forms, which
// do not. Tests only.
module engine_clock (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic wake_i,
  input  logic start_ready_i,
  output logic stopped_o,
  output logic [1:0] free_o
);
  ufp4_engine_clock #(.Target(32'(ufp4_spec_pkg::TARGET_SIMULATOR))) u_stopped (
    .clk_i,
    .rst_ni,
    .wake_i,
    .start_ready_i,
    .clk_o(stopped_o)
  );
  localparam int unsigned Free[2] = '{32'(ufp4_spec_pkg::TARGET_ASIC), 32'(ufp4_spec_pkg::TARGET_FPGA)};
  for (genvar i = 0; i < 2; i++) begin : gen_free
    ufp4_engine_clock #(.Target(Free[i])) u_clock (
      .clk_i,
      .rst_ni,
      .wake_i,
      .start_ready_i,
      .clk_o(free_o[i])
    );
  end
endmodule
