// SPDX-License-Identifier: Apache-2.0
// A memory (ufp4_sram) with parity. error_o is high for one cycle, three cycles after a read, if
// the parity of the word differs from that of the write: a bit has changed. Hence no word may be
// read that was never written. Parity is kept in a memory of its own, written and read one cycle
// after the data, so that a read finds the parity of the data that it found; with InWord it is part
// of the word, computed in the cycle of the write. Without Parity error_o is always low.
// Tests: tests/rtl/memories and tests/rtl/fault, in both forms; error_o stays low in every other
// test of the core.
module ufp4_sram_checked #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64,
  parameter bit Parity = 1'b1,
  parameter bit InWord = ufp4_memory_pkg::ParityInWord,
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
  localparam int unsigned Stored = Width + 32'(Parity && InWord);
  logic [Stored-1:0] wdata, rdata;
  ufp4_sram #(.Width(Stored), .Depth(Depth)) u_sram (
    .clk_i,
    .we_i,
    .waddr_i,
    .wdata_i(wdata),
    .re_i,
    .raddr_i,
    .rdata_o(rdata)
  );
  assign rdata_o = rdata[Width-1:0];

  if (Parity) begin : gen_parity
    // Four bits are folded into one in the first cycle, and all of these into one in the second, so
    // that the paths from and to the memory have only one gate more.
    localparam int unsigned Fold = (Width + 3) / 4;
    logic [4*Fold-1:0] read_data;
    logic [Fold-1:0] read_fold_q;
    logic read_q, check_q, parity;  // parity is valid two cycles after the read
    assign read_data = (4 * Fold)'(rdata_o);

    if (InWord) begin : gen_in_word
      assign wdata = {^wdata_i, wdata_i};
      always_ff @(posedge clk_i) begin
        if (read_q) parity <= rdata[Stored-1];
      end
    end else begin : gen_beside
      logic [4*Fold-1:0] write_data;
      logic [Fold-1:0] write_fold_q;
      logic write_q;
      logic [AddrWidth-1:0] write_addr_q, read_addr_q;
      assign write_data = (4 * Fold)'(wdata_i);
      assign wdata = wdata_i;

      ufp4_sram #(.Width(1), .Depth(Depth)) u_parity (
        .clk_i,
        .we_i(write_q),
        .waddr_i(write_addr_q),
        .wdata_i(^write_fold_q),
        .re_i(read_q),
        .raddr_i(read_addr_q),
        .rdata_o(parity)
      );

      always_ff @(posedge clk_i) begin
        write_q <= we_i;
        if (we_i) begin
          write_addr_q <= waddr_i;
          write_fold_q <= write_data[0+:Fold] ^ write_data[Fold+:Fold] ^ write_data[2*Fold+:Fold] ^
                          write_data[3*Fold+:Fold];
        end
        if (re_i) read_addr_q <= raddr_i;
      end
    end

    always_ff @(posedge clk_i) begin
      error_o <= check_q & (parity ^ ^read_fold_q);
      check_q <= read_q;
      if (read_q) begin
        read_fold_q <= read_data[0+:Fold] ^ read_data[Fold+:Fold] ^ read_data[2*Fold+:Fold] ^ read_data[3*Fold+:Fold];
      end
      read_q <= re_i;
    end
  end else begin : gen_no_parity
    assign wdata = wdata_i;
    assign error_o = 1'b0;
  end
endmodule
