// SPDX-License-Identifier: Apache-2.0
// FIFO of Depth words of Width bits in flip-flops, for short queues (deep ones belong in
// ufp4_sram).
//
// Contract: in_ready_o is low only while Depth words are inside. Latency: a word is visible at the
// output in the cycle after it was accepted. Throughput: one word in and one out per cycle. Neither
// handshake depends combinationally on the other side. Depth is a power of two.
// Test: tests/rtl/core (through the AXI masters of the whole core). Timed model:
// sim/src/timing/mem/ring.
module ufp4_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 16
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

  localparam int unsigned INDEX_W = $clog2(Depth);

  if (Depth < 2 || Depth != (1 << INDEX_W)) begin : gen_check_depth
    $error("ufp4_fifo: Depth must be a power of two from 2");
  end

  logic [Width-1:0] mem [Depth];
  // One bit more than an index tells full from empty.
  logic [INDEX_W:0] head_d, head_q, tail_d, tail_q;
  logic             push, pop;

  assign out_valid_o = head_q != tail_q;
  assign in_ready_o  = head_q != {~tail_q[INDEX_W], tail_q[INDEX_W-1:0]};
  assign out_data_o  = mem[head_q[INDEX_W-1:0]];

  assign push   = in_valid_i && in_ready_o;
  assign pop    = out_valid_o && out_ready_i;
  assign tail_d = tail_q + (INDEX_W + 1)'(push);
  assign head_d = head_q + (INDEX_W + 1)'(pop);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
    end else begin
      head_q <= head_d;
      tail_q <= tail_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) mem[tail_q[INDEX_W-1:0]] <= in_data_i;
  end

endmodule
