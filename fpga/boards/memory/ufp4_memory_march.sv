// SPDX-License-Identifier: Apache-2.0
// Memory march: writes and reads a whole memory over AXI4, and reports what it found.
//
// Contract: start_i (one cycle, while not busy) begins, and busy_o is high until the end. Then
// done_o, with failed_o if a beat was not what was written or had an error response, fails_o the
// number of such beats (a burst of writes with an error response counts as one), and first_o the
// address of the first one that was met. These outputs hold until the next start. The contents of
// memory are lost.
// Data: the 16-bit word at byte 2i is i[15:0] ^ {2{i[23:16]}} ^ {8{i[25:24]}}, or its complement;
// addresses that differ in one line have different words. There are four passes over blocks of
// BurstBeats beats:
//   upwards:   write
//   upwards:   read, write the complement
//   downwards: read that, write the even bytes of the word (the odd ones masked)
//   upwards:   read that
// Each bit then has held both values, and the mask of the odd bytes has been on and off.
// AXI: one aligned burst of BurstBeats beats in flight, with ID 0. Six beats move for each beat of
// memory.
// Test: tests/fpga/sdram.
module ufp4_memory_march #(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned MemoryBytes = 32'h200_0000,   // a power of two
  parameter int unsigned BurstBeats = 16,              // a power of two
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  start_i,
  output logic                  busy_o,
  output logic                  done_o,
  output logic                  failed_o,
  output logic [31:0]           first_o,
  output logic [31:0]           fails_o,

  output ufp4_axi_pkg::request_t axi_o,
  input  ufp4_axi_pkg::taken_t   axi_taken_i,
  input  ufp4_axi_pkg::answer_t  axi_i,
  output ufp4_axi_pkg::heard_t   axi_heard_o,
  output logic [8*BusBytes-1:0]  axi_wdata_o,
  output logic [BusBytes-1:0]    axi_wstrb_o,
  input  logic [8*BusBytes-1:0]  axi_rdata_i
);
  localparam int unsigned DATA_W = 8 * BusBytes;
  localparam int unsigned WORDS = BusBytes / 2;
  localparam int unsigned BEAT_W = $clog2(BurstBeats);
  localparam int unsigned BLOCK_W = $clog2(MemoryBytes / (BurstBeats * BusBytes));
  localparam int unsigned INDEX_W = BLOCK_W + BEAT_W;
  localparam logic [1:0] FILL = 2'd0;
  localparam logic [1:0] UP = 2'd1;
  localparam logic [1:0] DOWN = 2'd2;
  localparam logic [1:0] LOOK = 2'd3;

  typedef enum logic [2:0] {IDLE, ASK, TAKE, SEND, ANSWER} state_e;
  state_e             state_d, state_q;
  logic [1:0]         pass_d, pass_q;
  logic [BLOCK_W-1:0] block_d, block_q;
  logic [BEAT_W-1:0]  beat_d, beat_q;
  logic               address_d, address_q, done_d, done_q, last_beat, last_block, next, wrong;
  logic [31:0]        first_d, first_q, fails_d, fails_q;
  logic [DATA_W-1:0]  word, want;
  logic [INDEX_W-1:0] index;

  // --- Data of a beat ----------------------------------------------------------------------------

  assign index = {block_q, beat_q};

  for (genvar w = 0; w < WORDS; w++) begin : gen_word
    logic [25:0] at;
    assign at = 26'(index) * 26'(WORDS) + 26'(w);
    assign word[16*w+:16] = at[15:0] ^ {2{at[23:16]}} ^ {8{at[25:24]}};
    assign want[16*w+:16] = pass_q == UP ? word[16*w+:16] : ~word[16*w+:16] ^ {8'd0, {8{pass_q == LOOK}}};
  end

  assign axi_wdata_o = pass_q == UP ? ~word : word;
  assign axi_wstrb_o = {WORDS{pass_q != DOWN, 1'b1}};

  // --- Blocks: in each pass a read, a write, or both ---------------------------------------------

  assign last_beat  = &beat_q;
  assign last_block = pass_q == DOWN ? block_q == '0 : &block_q;
  assign wrong      = (state_q == TAKE && axi_i.rvalid && (axi_rdata_i != want || axi_i.rresp[1])) ||
                      (state_q == ANSWER && axi_i.bvalid && axi_i.bresp[1]);

  always_comb begin
    state_d   = state_q;
    beat_d    = beat_q;
    address_d = 1'b0;
    next      = 1'b0;
    unique case (state_q)
      ASK: if (axi_taken_i.arready) state_d = TAKE;
      TAKE: if (axi_i.rvalid) begin
        beat_d = beat_q + 1'b1;
        if (last_beat) begin
          state_d = SEND;
          next    = pass_q == LOOK;
        end
      end
      SEND: begin
        // The address and the beats leave independently.
        address_d = address_q || axi_taken_i.awready;
        if (axi_taken_i.wready && axi_o.wvalid) beat_d = beat_q + 1'b1;
        if (axi_taken_i.wready && axi_o.wvalid && last_beat) state_d = ANSWER;
      end
      ANSWER: if (axi_i.bvalid) next = 1'b1;
      default: if (start_i) state_d = SEND;
    endcase
    if (next) state_d = (pass_q == FILL && !last_block) ? SEND : ASK;
    if (next && last_block && pass_q == LOOK) state_d = IDLE;
  end

  always_comb begin
    pass_d  = pass_q;
    block_d = block_q;
    done_d  = done_q;
    first_d = first_q;
    fails_d = fails_q;
    if (wrong) begin
      if (fails_q == '0) first_d = 32'(index) * 32'(BusBytes);
      if (fails_q != '1) fails_d = fails_q + 32'd1;
    end
    if (next) begin
      block_d = pass_q == DOWN ? block_q - 1'b1 : block_q + 1'b1;
      if (last_block) begin
        pass_d  = pass_q + 2'd1;
        block_d = pass_q == UP ? '1 : '0;
        done_d  = pass_q == LOOK;
      end
    end
    if (state_q == IDLE && start_i) begin
      pass_d  = FILL;
      block_d = '0;
      done_d  = 1'b0;
      first_d = '0;
      fails_d = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= IDLE;
      done_q    <= 1'b0;
      beat_q    <= '0;
      address_q <= 1'b0;
      first_q   <= '0;
      fails_q   <= '0;
    end else begin
      state_q   <= state_d;
      done_q    <= done_d;
      beat_q    <= beat_d;
      address_q <= address_d;
      first_q   <= first_d;
      fails_q   <= fails_d;
    end
  end

  always_ff @(posedge clk_i) begin
    pass_q  <= pass_d;
    block_q <= block_d;
  end

  assign busy_o   = state_q != IDLE;
  assign done_o   = done_q;
  assign failed_o = done_q && fails_q != '0;
  assign first_o  = first_q;
  assign fails_o  = fails_q;

  logic [AddrBits-1:0] address;
  assign address     = AddrBits'(block_q) * AddrBits'(BurstBeats * BusBytes);
  assign axi_heard_o = '{rready: state_q == TAKE, bready: state_q == ANSWER};
  assign axi_o       = '{arvalid: state_q == ASK, araddr: address, arlen: 8'(BurstBeats - 1),
                         awvalid: state_q == SEND && !address_q, awaddr: address, awlen: 8'(BurstBeats - 1),
                         wvalid: state_q == SEND && address_q, wlast: last_beat, default: '0};

  logic unused;
  assign unused = ^{axi_i.rlast, axi_i.rresp[0], axi_i.bresp[0], axi_i.rid, axi_i.bid};

endmodule
