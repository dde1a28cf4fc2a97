// SPDX-License-Identifier: Apache-2.0
// The only memory wrapper: one write port and one read port. Read data appear one cycle after the
// address and hold until the next read. A read of the word that is written in the same cycle
// returns the old word, which no unit depends on. Contents are undefined until written. A memory
// macro replaces the body. ufp4_sram_checked and ufp4_sum_banks add parity. With UFP4_MEMORY_BIST a
// self test can take over the pins of the memory (ufp4_sram_pins).
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
  logic we, re;
  logic [AddrWidth-1:0] waddr, raddr;
  logic [Width-1:0] wdata;
`ifdef UFP4_MEMORY_BIST
  logic test, test_we, test_re;
  logic [AddrWidth-1:0] test_addr;
  logic [Width-1:0] test_wdata;
  ufp4_sram_pins #(.Width(Width), .Depth(Depth)) u_pins (
    .test_o (test),
    .we_o   (test_we),
    .re_o   (test_re),
    .addr_o (test_addr),
    .wdata_o(test_wdata),
    .rdata_i(rdata_o)
  );
  assign we = test ? test_we : we_i;
  assign re = test ? test_re : re_i;
  assign waddr = test ? test_addr : waddr_i;
  assign raddr = test ? test_addr : raddr_i;
  assign wdata = test ? test_wdata : wdata_i;
`else
  assign {we, re, waddr, raddr, wdata} = {we_i, re_i, waddr_i, raddr_i, wdata_i};
`endif

  (* no_rw_check *) logic [Width-1:0] mem [Depth];

  always_ff @(posedge clk_i) begin
    if (we) mem[waddr] <= wdata;
  end

  always_ff @(posedge clk_i) begin
    if (re) rdata_o <= mem[raddr];
  end
endmodule
