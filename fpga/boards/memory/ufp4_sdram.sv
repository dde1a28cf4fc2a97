// SPDX-License-Identifier: Apache-2.0
// A 16-bit SDRAM of 32 MB (ufp4_sdram_pkg) as the memory of the core: an AXI4 subordinate from
// address 0.
//
// Contract: the AXI side is that of ufp4_block_memory. Byte a of memory is in bank a[11:10] (a
// burst that leaves a row continues in another bank), row a[24:12], column a[9:1]. A beat is one
// burst of BusBytes / 2 words. Requests wait until the power-up sequence has ended (200 us).
// Pins: flip-flops here drive them directly. The clock of the SDRAM is clk_i inverted, so that each
// side samples half a cycle after the other has changed. sdram_o.dq_oe: sdram_o.dq drives the pins.
// Latency: 9 cycles from an address to its first beat (CasLatency 2, 4 words, open row).
// Throughput: 2 bytes per cycle. Test: tests/fpga/sdram.
module ufp4_sdram
  import ufp4_sdram_pkg::*;
#(
  parameter int unsigned ClockHz = 25_000_000,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned CasLatency = 2,       // 2 up to 100 MHz, else 3
  parameter timing_t Timing = timing(64'(ClockHz))
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  ufp4_axi_pkg::request_t  axi_i,
  output ufp4_axi_pkg::taken_t    axi_taken_o,
  output ufp4_axi_pkg::answer_t   axi_o,
  input  ufp4_axi_pkg::heard_t    axi_heard_i,
  input  logic [8*BusBytes-1:0]   axi_wdata_i,
  input  logic [BusBytes-1:0]     axi_wstrb_i,
  output logic [8*BusBytes-1:0]   axi_rdata_o,

  output pins_t                   sdram_o,
  input  logic [8*WORD_BYTES-1:0] sdram_dq_i
);
  localparam int unsigned WORDS = BusBytes / WORD_BYTES;
  localparam int unsigned DATA_W = 8 * BusBytes;
  localparam int unsigned WORD_W = 8 * WORD_BYTES;
  localparam int unsigned BEAT_COLUMN_W = $clog2(WORDS);
  localparam int unsigned INDEX_W = $clog2(BYTES) - $clog2(BusBytes);
  localparam int unsigned COLUMNS_W = COLUMN_BITS - BEAT_COLUMN_W;

  if (BusBytes < 4 || BusBytes > 16 || (CasLatency != 2 && CasLatency != 3)) begin : gen_check
    $error("ufp4_sdram: a beat has 4, 8 or 16 bytes, and the CAS latency is 2 or 3");
  end

  // --- Beats and their commands ------------------------------------------------------------------

  logic                  beat_valid, beat_ready, beat_write, data_valid, up;
  logic [INDEX_W-1:0]    beat_index;
  logic [DATA_W-1:0]     beat_data, data_q;
  logic [BusBytes-1:0]   beat_strb;
  command_e              command;
  logic [BANK_BITS-1:0]  bank;
  logic [ROW_BITS-1:0]   address;
  logic [WORD_BYTES-1:0] dqm_q;

  ufp4_sdram_beats #(
    .BusBytes  (BusBytes),
    .MemoryBits($clog2(BYTES))
  ) u_beats (
    .clk_i,
    .rst_ni,
    .axi_i,
    .axi_taken_o,
    .axi_o,
    .axi_heard_i,
    .axi_wdata_i,
    .axi_wstrb_i,
    .axi_rdata_o,
    .failed_i    (1'b0),
    .beat_valid_o(beat_valid),
    .beat_ready_i(beat_ready),
    .beat_write_o(beat_write),
    .beat_index_o(beat_index),
    .beat_data_o (beat_data),
    .beat_strb_o (beat_strb),
    .data_valid_i(data_valid),
    .data_i      (data_q)
  );

  ufp4_sdram_control #(
    .BurstWords(WORDS),
    .CasLatency(CasLatency),
    .Timing    (Timing)
  ) u_control (
    .clk_i,
    .rst_ni,
    .beat_valid_i (beat_valid),
    .beat_ready_o (beat_ready),
    .beat_write_i (beat_write),
    .beat_bank_i  (beat_index[COLUMNS_W+:BANK_BITS]),
    .beat_row_i   (beat_index[INDEX_W-1-:ROW_BITS]),
    .beat_column_i({beat_index[COLUMNS_W-1:0], BEAT_COLUMN_W'(0)}),
    .up_o         (up),
    .command_o    (command),
    .bank_o       (bank),
    .addr_o       (address)
  );

  // --- Words to write: the first one with the command --------------------------------------------

  logic                write_go;
  logic [WORDS-1:0]    writing_d, writing_q;   // a bit for each word to come, the current one the lowest
  logic [DATA_W-1:0]   words_d, words_q;
  logic [BusBytes-1:0] masks_d, masks_q;

  assign write_go = beat_ready && beat_write;

  always_comb begin
    writing_d = writing_q >> 1;
    words_d   = words_q >> WORD_W;
    masks_d   = masks_q >> WORD_BYTES;
    if (write_go) begin
      writing_d = '1;
      words_d   = beat_data;
      masks_d   = ~beat_strb;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) writing_q <= '0;
    else writing_q <= writing_d;
    // Masked while the SDRAM powers up; not masked while it reads.
    if (!rst_ni) dqm_q <= '1;
    else dqm_q <= !up ? '1 : writing_d[0] ? masks_d[WORD_BYTES-1:0] : '0;
    words_q <= words_d;
    masks_q <= masks_d;
  end

  assign sdram_o = '{cke: 1'b1, cs_n: 1'b0, ras_n: command[2], cas_n: command[1], we_n: command[0],
                     ba: bank, a: address, dqm: dqm_q, dq_oe: writing_q[0], dq: words_q[WORD_W-1:0]};

  // --- Words that were read: the first one is sampled CasLatency cycles after beat_ready ---------

  localparam int unsigned READ_W = CasLatency + WORDS - 1;
  logic [READ_W:0] reading_q;   // a bit for each read and each cycle since its command
  logic            read_go;

  assign read_go    = beat_ready && !beat_write;
  assign data_valid = reading_q[READ_W];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) reading_q <= '0;
    else reading_q <= {reading_q[READ_W-1:0], read_go};
    data_q <= {sdram_dq_i, data_q[DATA_W-1:WORD_W]};
  end

endmodule
