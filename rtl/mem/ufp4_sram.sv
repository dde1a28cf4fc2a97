// SPDX-License-Identifier: Apache-2.0
// The one memory wrapper: one write port, one read port, read data one cycle after the address and held until
// the next read. A read of the word being written in the same cycle returns the old word; nobody here depends
// on it. Contents are undefined until written. A memory macro replaces the body. Its parity: ufp4_sram_checked,
// ufp4_sum_banks.
module ufp4_sram #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64,
  localparam int unsigned AddrWidth = (Depth > 1) ? $clog2(Depth) : 1
) (
  input  logic                 clk_i,
  input  logic                 we_i,
  input  logic [AddrWidth-1:0] waddr_i,
  input  logic [Width-1:0]     wdata_i,
  input  logic                 re_i,
  input  logic [AddrWidth-1:0] raddr_i,
  output logic [Width-1:0]     rdata_o
);
  (* no_rw_check *) logic [Width-1:0] mem [Depth];

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
  end

  always_ff @(posedge clk_i) begin
    if (re_i) rdata_o <= mem[raddr_i];
  end
endmodule
