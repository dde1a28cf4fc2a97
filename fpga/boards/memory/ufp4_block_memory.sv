// SPDX-License-Identifier: Apache-2.0
// Block RAM as the memory of the core: an AXI4 subordinate of MemoryBytes from address 0.
//
// Contract: INCR bursts of full beats that do not cross 4 KiB, as ufp4_top makes them; WLAST ends a
// burst of writes. Answers are in order and carry the ID of their burst. Outside the memory reads
// and writes are answered with DECERR, and writes have no effect. Contents are undefined until
// written. MemoryBytes is a multiple of 4096.
// Latency: two cycles from an address to its first beat, one from the last beat to the answer.
// Throughput: one beat per cycle each way, without a gap between bursts. Test: tests/fpga.
module ufp4_block_memory #(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned MemoryBytes = 32'h4_0000,
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  ufp4_axi_pkg::request_t axi_i,
  output ufp4_axi_pkg::taken_t   axi_taken_o,
  output ufp4_axi_pkg::answer_t  axi_o,
  input  ufp4_axi_pkg::heard_t   axi_heard_i,
  input  logic [8*BusBytes-1:0]  axi_wdata_i,
  input  logic [BusBytes-1:0]    axi_wstrb_i,
  output logic [8*BusBytes-1:0]  axi_rdata_o
);
  localparam int unsigned WORDS = MemoryBytes / BusBytes;
  localparam int unsigned WORD_W = $clog2(WORDS);
  localparam int unsigned BEAT_W = $clog2(BusBytes);
  localparam logic [1:0] OKAY = 2'b00;
  localparam logic [1:0] DECERR = 2'b11;

  if (MemoryBytes % 4096 != 0 || MemoryBytes == 0) begin : gen_check_bytes
    $error("ufp4_block_memory: MemoryBytes must be a multiple of 4096");
  end

  // --- Reads: an address becomes reads of the RAM, whose output waits for rready -----------------

  logic              arready, read_q, read_outside_q, read, read_last, rvalid_q, rlast_q, r_outside_q;
  logic [ufp4_axi_pkg::ID_BITS-1:0] read_id_q, rid_q;
  logic [WORD_W-1:0] read_word_q;
  logic [7:0]        read_left_q;

  assign read            = read_q && (!rvalid_q || axi_heard_i.rready);
  assign read_last       = read_left_q == 8'd0;
  assign arready         = !read_q || (read && read_last);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q   <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      read_q   <= arready ? axi_i.arvalid : 1'b1;
      rvalid_q <= read || (rvalid_q && !axi_heard_i.rready);
    end
  end

  always_ff @(posedge clk_i) begin
    if (arready) begin
      read_id_q      <= axi_i.arid;
      read_word_q    <= axi_i.araddr[BEAT_W+:WORD_W];
      read_left_q    <= axi_i.arlen;
      read_outside_q <= axi_i.araddr >= AddrBits'(MemoryBytes);
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

  // --- Writes: beats follow the address that was taken -------------------------------------------

  logic              awready, wready, write_q, write_outside_q, write, write_last, bvalid_q, b_outside_q;
  logic [ufp4_axi_pkg::ID_BITS-1:0] write_id_q, bid_q;
  logic [WORD_W-1:0] write_word_q;

  assign wready          = write_q && (!axi_i.wlast || !bvalid_q || axi_heard_i.bready);
  assign write           = axi_i.wvalid && wready;
  assign write_last      = write && axi_i.wlast;
  assign awready         = !write_q || write_last;
  assign axi_taken_o     = '{arready: arready, awready: awready, wready: wready};
  assign axi_o           = '{rvalid: rvalid_q, rid: rid_q, rresp: r_outside_q ? DECERR : OKAY, rlast: rlast_q,
                             bvalid: bvalid_q, bid: bid_q, bresp: b_outside_q ? DECERR : OKAY};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q  <= 1'b0;
      bvalid_q <= 1'b0;
    end else begin
      write_q  <= awready ? axi_i.awvalid : 1'b1;
      bvalid_q <= write_last || (bvalid_q && !axi_heard_i.bready);
    end
  end

  always_ff @(posedge clk_i) begin
    if (awready) begin
      write_id_q      <= axi_i.awid;
      write_word_q    <= axi_i.awaddr[BEAT_W+:WORD_W];
      write_outside_q <= axi_i.awaddr >= AddrBits'(MemoryBytes);
    end else if (write) begin
      write_word_q <= write_word_q + 1'b1;
    end
    if (write_last) begin
      bid_q       <= write_id_q;
      b_outside_q <= write_outside_q;
    end
  end

  // There is one memory per byte of a beat, so that strobes become write enables, which every
  // family of block RAMs has.
  for (genvar b = 0; b < BusBytes; b++) begin : gen_byte
    ufp4_sram #(.Width(8), .Depth(WORDS)) u_sram (
      .clk_i,
      .we_i   (write && axi_wstrb_i[b] && !write_outside_q),
      .waddr_i(write_word_q),
      .wdata_i(axi_wdata_i[8*b+:8]),
      .re_i   (read),
      .raddr_i(read_word_q),
      .rdata_o(axi_rdata_o[8*b+:8])
    );
  end

  logic unused;
  assign unused = ^{axi_i.awlen, axi_i.araddr[BEAT_W-1:0], axi_i.awaddr[BEAT_W-1:0]};

endmodule
