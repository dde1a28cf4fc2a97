// SPDX-License-Identifier: Apache-2.0
// The one memory wrapper: one write port, one read port, read data one cycle after the address and held until
// the next read. A read of the word being written in the same cycle returns the old word; nobody here depends
// on it. Contents are undefined until written. A memory macro replaces the body.
//
// Parity: error_o, for one cycle, two cycles after a read: the word has not the parity that it was written with, a bit of
// it has changed. So no word may be read that was never written. Parity is kept in a memory of its own, a cycle behind
// the data in writes and reads alike, so that reads see what the data see. A macro with a check of its own drives error_o;
// tied low, parity is left out by synthesis.
// Tests: tests/rtl/fault; every test of the core sees it silent.
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
  output logic [Width-1:0]     rdata_o,
  output logic                 error_o
);
  (* no_rw_check *) logic [Width-1:0] mem [Depth];

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
  end

  always_ff @(posedge clk_i) begin
    if (re_i) rdata_o <= mem[raddr_i];
  end

  // Four bits to one in the first cycle, these to one in the second: what reads a memory's output or feeds its input has
  // one gate more.
  localparam int unsigned FoldWidth = (Width + 3) / 4;
  (* no_rw_check *) logic parity [Depth];
  logic [4*FoldWidth-1:0] write_data, read_data;
  logic [FoldWidth-1:0] write_fold_q, read_fold_q;
  logic write_q, read_q, check_q, parity_q;
  logic [AddrWidth-1:0] write_addr_q, read_addr_q;
  assign write_data = (4 * FoldWidth)'(wdata_i);
  assign read_data  = (4 * FoldWidth)'(rdata_o);

  always_ff @(posedge clk_i) begin
    write_q <= we_i;
    if (we_i) begin
      write_addr_q <= waddr_i;
      write_fold_q <= write_data[0+:FoldWidth] ^ write_data[FoldWidth+:FoldWidth] ^ write_data[2*FoldWidth+:FoldWidth] ^
                      write_data[3*FoldWidth+:FoldWidth];
    end
    if (write_q) parity[write_addr_q] <= ^write_fold_q;
  end

  always_ff @(posedge clk_i) begin
    read_q <= re_i;
    check_q <= read_q;
    if (re_i) read_addr_q <= raddr_i;
    if (read_q) begin
      parity_q <= parity[read_addr_q];
      read_fold_q <= read_data[0+:FoldWidth] ^ read_data[FoldWidth+:FoldWidth] ^ read_data[2*FoldWidth+:FoldWidth] ^
                     read_data[3*FoldWidth+:FoldWidth];
    end
  end
  assign error_o = check_q & (parity_q ^ ^read_fold_q);
endmodule
