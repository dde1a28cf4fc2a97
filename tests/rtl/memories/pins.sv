// SPDX-License-Identifier: Apache-2.0
// A memory with pins for a self test. The test, in the place of ufp4_sram_pins, writes and reads
// every word while the core side makes other accesses; then the core owns the memory. Tests only.
module ufp4_sram_pins #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64,
  parameter int unsigned AddrWidth = (Depth > 1) ? $clog2(Depth) : 1
) (
  output logic                 test_o,
  output logic                 we_o,
  output logic                 re_o,
  output logic [AddrWidth-1:0] addr_o,
  output logic [Width-1:0]     wdata_o,
  input  logic [Width-1:0]     rdata_i
);
  // Writes all words and reads them, then again with the other bits, then does nothing.
  int unsigned step;
  logic read_q;
  logic [Width-1:0] want_q;
  assign test_o = step < 4 * Depth;
  assign we_o = step % (2 * Depth) < Depth;
  assign re_o = !we_o;
  assign addr_o = AddrWidth'(step % Depth);
  assign wdata_o = {Width{1'(step / (2 * Depth))}} ^ Width'(64'h5bd1e995 * 64'(step % Depth));
  initial step = 0;
  always @(posedge pins.clk) begin
    step <= step + 1;
    read_q <= test_o && re_o;
    want_q <= wdata_o;
    if (step > 0 && read_q && rdata_i !== want_q) begin
      $display("step %0d: %h, not %h", step, rdata_i, want_q);
      $fatal(1, "a word that the test has written is another");
    end
  end
endmodule

module pins;
  localparam int unsigned Width = 9, Depth = 12;
  logic clk = 1'b0;
  int unsigned cycle = 0;
  logic [Width-1:0] rdata;
  // The core repeatedly writes all words in 12 cycles, in another order than the test, and reads
  // the word that it has written before.
  logic [3:0] at, last;
  assign at = 4'((5 * cycle + 3) % Depth);
  assign last = 4'((5 * cycle + 10) % Depth);
  ufp4_sram #(.Width(Width), .Depth(Depth)) u_sram (
    .clk_i(clk), .we_i(1'b1), .waddr_i(at), .wdata_i(Width'(cycle)), .re_i(1'b1), .raddr_i(last), .rdata_o(rdata));
  always @(posedge clk) begin
    cycle <= cycle + 1;
    // From the second word that it has written after the test.
    if (cycle > 4 * Depth + 2 && rdata !== Width'(cycle - 2)) $fatal(1, "the core reads another word than it has written");
    if (cycle == 6 * Depth) begin
      $display("4 passes over %0d words, then the core's", Depth);
      $finish;
    end
  end
  always #1 clk = !clk;
endmodule
