// SPDX-License-Identifier: Apache-2.0
// Block RAM as the core's memory: an AXI4 subordinate of MemoryBytes from address 0.
//
// Contract: INCR bursts of full beats that do not cross 4 KiB, as ufp4_top makes them; WLAST ends a burst of writes.
// Answers are in order and carry their burst's ID. Outside of the memory reads give DECERR, and writes do nothing and
// are answered DECERR. Contents are undefined until written.
// Latency: two cycles from an address to its first beat, one from the last beat to the answer. Throughput: a beat a
// cycle each way, without a gap between bursts. MemoryBytes is a multiple of 4096. Test: tests/fpga.
module ufp4_block_memory #(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned IdBits = 3,
  parameter int unsigned MemoryBytes = 32'h4_0000,
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  s_axi_arvalid_i,
  output logic                  s_axi_arready_o,
  input  logic [IdBits-1:0]     s_axi_arid_i,
  input  logic [AddrBits-1:0]   s_axi_araddr_i,
  input  logic [7:0]            s_axi_arlen_i,
  output logic                  s_axi_rvalid_o,
  input  logic                  s_axi_rready_i,
  output logic [IdBits-1:0]     s_axi_rid_o,
  output logic [8*BusBytes-1:0] s_axi_rdata_o,
  output logic [1:0]            s_axi_rresp_o,
  output logic                  s_axi_rlast_o,

  input  logic                  s_axi_awvalid_i,
  output logic                  s_axi_awready_o,
  input  logic [IdBits-1:0]     s_axi_awid_i,
  input  logic [AddrBits-1:0]   s_axi_awaddr_i,
  input  logic [7:0]            s_axi_awlen_i,
  input  logic                  s_axi_wvalid_i,
  output logic                  s_axi_wready_o,
  input  logic [8*BusBytes-1:0] s_axi_wdata_i,
  input  logic [BusBytes-1:0]   s_axi_wstrb_i,
  input  logic                  s_axi_wlast_i,
  output logic                  s_axi_bvalid_o,
  input  logic                  s_axi_bready_i,
  output logic [IdBits-1:0]     s_axi_bid_o,
  output logic [1:0]            s_axi_bresp_o
);
  localparam int unsigned WORDS = MemoryBytes / BusBytes;
  localparam int unsigned WORD_W = $clog2(WORDS);
  localparam int unsigned BEAT_W = $clog2(BusBytes);
  localparam logic [1:0] OKAY = 2'b00;
  localparam logic [1:0] DECERR = 2'b11;

  if (MemoryBytes % 4096 != 0 || MemoryBytes == 0) begin : gen_check_bytes
    $error("ufp4_block_memory: MemoryBytes must be a multiple of 4096");
  end

  // --- Reads: an address becomes reads of the RAM, whose output waits for rready ------------------------------------

  logic              read_q, read_outside_q, read, read_last, rvalid_q, rlast_q, r_outside_q;
  logic [IdBits-1:0] read_id_q, rid_q;
  logic [WORD_W-1:0] read_word_q;
  logic [7:0]        read_left_q;

  assign read            = read_q && (!rvalid_q || s_axi_rready_i);
  assign read_last       = read_left_q == 8'd0;
  assign s_axi_arready_o = !read_q || (read && read_last);
  assign s_axi_rvalid_o  = rvalid_q;
  assign s_axi_rid_o     = rid_q;
  assign s_axi_rlast_o   = rlast_q;
  assign s_axi_rresp_o   = r_outside_q ? DECERR : OKAY;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q   <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      read_q   <= s_axi_arready_o ? s_axi_arvalid_i : 1'b1;
      rvalid_q <= read || (rvalid_q && !s_axi_rready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axi_arready_o) begin
      read_id_q      <= s_axi_arid_i;
      read_word_q    <= s_axi_araddr_i[BEAT_W+:WORD_W];
      read_left_q    <= s_axi_arlen_i;
      read_outside_q <= s_axi_araddr_i >= AddrBits'(MemoryBytes);
    end else if (read) begin
      read_word_q <= read_word_q + 1'b1;
      read_left_q <= read_left_q - 8'd1;
    end
    if (read) begin
      rid_q       <= read_id_q;
      rlast_q     <= read_last;
      r_outside_q <= read_outside_q;
    end
  end

  // --- Writes: beats follow the address that was taken --------------------------------------------------------------

  logic              write_q, write_outside_q, write, write_last, bvalid_q, b_outside_q;
  logic [IdBits-1:0] write_id_q, bid_q;
  logic [WORD_W-1:0] write_word_q;

  assign s_axi_wready_o  = write_q && (!s_axi_wlast_i || !bvalid_q || s_axi_bready_i);
  assign write           = s_axi_wvalid_i && s_axi_wready_o;
  assign write_last      = write && s_axi_wlast_i;
  assign s_axi_awready_o = !write_q || write_last;
  assign s_axi_bvalid_o  = bvalid_q;
  assign s_axi_bid_o     = bid_q;
  assign s_axi_bresp_o   = b_outside_q ? DECERR : OKAY;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q  <= 1'b0;
      bvalid_q <= 1'b0;
    end else begin
      write_q  <= s_axi_awready_o ? s_axi_awvalid_i : 1'b1;
      bvalid_q <= write_last || (bvalid_q && !s_axi_bready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axi_awready_o) begin
      write_id_q      <= s_axi_awid_i;
      write_word_q    <= s_axi_awaddr_i[BEAT_W+:WORD_W];
      write_outside_q <= s_axi_awaddr_i >= AddrBits'(MemoryBytes);
    end else if (write) begin
      write_word_q <= write_word_q + 1'b1;
    end
    if (write_last) begin
      bid_q       <= write_id_q;
      b_outside_q <= write_outside_q;
    end
  end

  // A memory for each byte of a beat: strobes are then its write enables, which every family of block RAMs has.
  for (genvar b = 0; b < BusBytes; b++) begin : gen_byte
    ufp4_sram #(.Width(8), .Depth(WORDS)) u_sram (
      .clk_i,
      .we_i   (write && s_axi_wstrb_i[b] && !write_outside_q),
      .waddr_i(write_word_q),
      .wdata_i(s_axi_wdata_i[8*b+:8]),
      .re_i   (read),
      .raddr_i(read_word_q),
      .rdata_o(s_axi_rdata_o[8*b+:8])
    );
  end

  logic unused;
  assign unused = ^{s_axi_awlen_i, s_axi_araddr_i[BEAT_W-1:0], s_axi_awaddr_i[BEAT_W-1:0]};

endmodule
