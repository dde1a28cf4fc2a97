// SPDX-License-Identifier: Apache-2.0
// Memories with parity (ufp4_sram_checked) of several widths, each with its parity beside the words
// and in the words, and a way to flip a bit. Tests only.
module sram_checked #(
  localparam int unsigned Most = 67,
  localparam int unsigned Depth = 8,
  localparam int unsigned Memories = 12
) (
  input  logic                     clk_i,
  input  logic [3:0]               which_i,  // index of the memory; the others see neither writes nor reads
  input  logic                     we_i,
  input  logic [$clog2(Depth)-1:0] waddr_i,
  input  logic [Most-1:0]          wdata_i,
  input  logic                     re_i,
  input  logic [$clog2(Depth)-1:0] raddr_i,
  input  logic                     flip_i,
  input  logic [$clog2(Depth)-1:0] flip_addr_i,
  input  logic [6:0]               flip_bit_i,  // a value of Width flips the parity
  output logic [Most-1:0]          rdata_o,
  output logic                     error_o,
  output logic [6:0]               width_o
);
  // Widths of one bit, with quarters of one and two bits, with whole and partial quarters, the word
  // of a QUANT lane, and that of sums.
  localparam int unsigned Widths[Memories/2] = '{1, 4, 6, 8, 64, 67};
  logic [Memories-1:0][Most-1:0] rdata;
  logic [Memories-1:0] error;
  logic [Memories-1:0][6:0] widths;

  for (genvar m = 0; m < Memories; m++) begin : gen_memory
    localparam int unsigned Width = Widths[m/2];
    localparam bit InWord = m % 2 == 1;
    logic here, flip;
    logic [Width-1:0] word;
    assign here = which_i == 4'(m);
    assign flip = here && flip_i;
    ufp4_sram_checked #(.Width(Width), .Depth(Depth), .InWord(InWord)) u_memory (
      .clk_i,
      .we_i   (here && we_i),
      .waddr_i,
      .wdata_i(wdata_i[Width-1:0]),
      .re_i   (here && re_i),
      .raddr_i,
      .rdata_o(word),
      .error_o(error[m])
    );
    assign rdata[m] = Most'(word);
    assign widths[m] = 7'(Width);
    if (InWord) begin : gen_in_word
      always_ff @(posedge clk_i) begin
        if (flip) u_memory.u_sram.mem[flip_addr_i][flip_bit_i] <= ~u_memory.u_sram.mem[flip_addr_i][flip_bit_i];
      end
    end else begin : gen_beside
      always_ff @(posedge clk_i) begin
        if (flip && flip_bit_i == 7'(Width)) begin
          u_memory.gen_parity.gen_beside.u_parity.mem[flip_addr_i] <= ~u_memory.gen_parity.gen_beside.u_parity.mem[flip_addr_i];
        end else if (flip) begin
          u_memory.u_sram.mem[flip_addr_i][flip_bit_i] <= ~u_memory.u_sram.mem[flip_addr_i][flip_bit_i];
        end
      end
    end
  end
  assign rdata_o = rdata[which_i];
  assign error_o = error[which_i];
  assign width_o = widths[which_i];
endmodule
