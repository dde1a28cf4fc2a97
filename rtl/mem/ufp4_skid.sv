// SPDX-License-Identifier: Apache-2.0
// Register slice of a valid/ready stream: cuts every combinational path between its two sides.
//
// Contract: words leave unchanged and in order. Latency one cycle, throughput one word per cycle;
// the second register is written only when the output stalls. Every AXI4 channel of ufp4_top passes
// a slice, so that all AXI4 outputs of the core come from flip-flops.
// Test: tests/rtl/core (through the AXI masters of the whole core).
// Timed model: sim/src/timing/mem/masters.
module ufp4_skid #(
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,

  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);

  logic             main_valid_q, skid_valid_q;
  logic [Width-1:0] main_data_q, skid_data_q;
  logic             main_free;

  assign main_free   = out_ready_i || !main_valid_q;
  assign in_ready_o  = !skid_valid_q;
  assign out_valid_o = main_valid_q;
  assign out_data_o  = main_data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      main_valid_q <= 1'b0;
      skid_valid_q <= 1'b0;
    end else if (main_free) begin
      main_valid_q <= skid_valid_q || in_valid_i;
      skid_valid_q <= 1'b0;
    end else if (in_valid_i) begin
      skid_valid_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (main_free && skid_valid_q) main_data_q <= skid_data_q;
    else if (main_free && in_valid_i) main_data_q <= in_data_i;
    if (!main_free && !skid_valid_q) skid_data_q <= in_data_i;
  end

endmodule
