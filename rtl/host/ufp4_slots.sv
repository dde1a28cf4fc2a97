// SPDX-License-Identifier: Apache-2.0
// The exponent slots: SLOTS tensor exponents, which AMAX writes and QUANT and GEMM read by number.
//
// Contract: a slot is valid from its first write until reset. There are three asynchronous read
// ports, two for the command unit and one for the registers.
// Spec: docs/ip/registers.md, "Exponent slots". Test: tests/rtl/core.
// Timed model: sim/src/timing/host/command.
module ufp4_slots
  import ufp4_spec_pkg::*;
#(
  localparam int unsigned IndexW = $clog2(SLOTS)
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              write_i,
  input  logic [IndexW-1:0] write_index_i,
  input  logic [15:0]       write_exponent_i,

  input  logic [1:0][IndexW-1:0] command_index_i,
  output logic [1:0]        command_valid_o,
  output logic [1:0][15:0]  command_exponent_o,

  input  logic [IndexW-1:0] host_index_i,
  output logic              host_valid_o,
  output logic [15:0]       host_exponent_o
);

  logic [SLOTS-1:0] valid_q;
  logic [15:0]      exponent_q [SLOTS];

  for (genvar i = 0; i < 2; i++) begin : gen_command
    assign command_valid_o[i]    = valid_q[command_index_i[i]];
    assign command_exponent_o[i] = exponent_q[command_index_i[i]];
  end
  assign host_valid_o    = valid_q[host_index_i];
  assign host_exponent_o = exponent_q[host_index_i];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else if (write_i) valid_q[write_index_i] <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (write_i) exponent_q[write_index_i] <= write_exponent_i;
  end

endmodule
