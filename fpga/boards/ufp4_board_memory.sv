// SPDX-License-Identifier: Apache-2.0
// The memory of a board: block RAM, or SDRAM or DRAM with a memory march.
//
// Contract: the AXI side is that of ufp4_block_memory; block RAM has no march, and the ports of
// absent memories are idle. After march_start_i, a pulse, the march waits with hold_o until held_i,
// when everything under way has ended and nothing more comes. march_* are those of
// ufp4_memory_march, and march_busy_o is also high during the wait. Test: tests/fpga.
module ufp4_board_memory #(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned Memory = 0,   // as in ufp4_board
  parameter int unsigned ClockHz = 25_000_000,
  parameter int unsigned MemoryBytes = 32'h4_0000
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  march_start_i,
  output logic                  march_busy_o,
  output logic                  march_done_o,
  output logic                  march_failed_o,
  output logic [31:0]           march_address_o,
  output logic [31:0]           march_count_o,
  output logic                  hold_o,
  input  logic                  held_i,

  input  ufp4_axi_pkg::request_t axi_i,
  output ufp4_axi_pkg::taken_t   axi_taken_o,
  output ufp4_axi_pkg::answer_t  axi_o,
  input  ufp4_axi_pkg::heard_t   axi_heard_i,
  input  logic [8*BusBytes-1:0]  axi_wdata_i,
  input  logic [BusBytes-1:0]    axi_wstrb_i,
  output logic [8*BusBytes-1:0]  axi_rdata_o,

  output ufp4_sdram_pkg::pins_t sdram_o,
  input  logic [15:0]           sdram_dq_i,
  output ufp4_dram_pkg::request_t dram_o,
  input  ufp4_dram_pkg::answer_t  dram_i
);
  localparam ufp4_sdram_pkg::pins_t SDRAM_IDLE = '{cs_n: 1'b1, ras_n: 1'b1, cas_n: 1'b1, we_n: 1'b1, default: '0};

  if (Memory != 0) begin : gen_march
    // --- The march: it owns the memory while it runs ---------------------------------------------

    logic                   waits_q, march_busy, march_done;
    ufp4_axi_pkg::request_t march_request;
    ufp4_axi_pkg::taken_t   taken;
    ufp4_axi_pkg::answer_t  answer, march_answer;
    ufp4_axi_pkg::heard_t   march_heard;
    logic [8*BusBytes-1:0]  march_wdata;
    logic [BusBytes-1:0]    march_wstrb;

    assign march_busy_o = waits_q || march_busy;
    assign march_done_o = march_done && !waits_q;
    assign hold_o       = march_busy_o;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) waits_q <= 1'b0;
      else waits_q <= march_start_i ? !march_busy : waits_q && !held_i;
    end

    ufp4_memory_march #(
      .BusBytes   (BusBytes),
      .MemoryBytes(MemoryBytes)
    ) u_march (
      .clk_i,
      .rst_ni,
      .start_i        (waits_q && held_i),
      .busy_o         (march_busy),
      .done_o         (march_done),
      .failed_o       (march_failed_o),
      .first_o        (march_address_o),
      .fails_o        (march_count_o),
      .axi_o          (march_request),
      .axi_taken_i    (taken),
      .axi_i          (march_answer),
      .axi_heard_o    (march_heard),
      .axi_wdata_o    (march_wdata),
      .axi_wstrb_o    (march_wstrb),
      .axi_rdata_i    (axi_rdata_o)
    );

    assign axi_taken_o = march_busy ? '0 : taken;
    always_comb begin
      axi_o               = answer;
      march_answer        = answer;
      axi_o.rvalid        = answer.rvalid && !march_busy;
      axi_o.bvalid        = answer.bvalid && !march_busy;
      march_answer.rvalid = answer.rvalid && march_busy;
      march_answer.bvalid = answer.bvalid && march_busy;
    end

    ufp4_axi_pkg::request_t request;
    ufp4_axi_pkg::heard_t   heard;
    logic [8*BusBytes-1:0]  wdata;
    logic [BusBytes-1:0]    wstrb;

    assign request = march_busy ? march_request : axi_i;
    assign heard   = march_busy ? march_heard : axi_heard_i;
    assign wdata   = march_busy ? march_wdata : axi_wdata_i;
    assign wstrb   = march_busy ? march_wstrb : axi_wstrb_i;

    if (Memory == 1) begin : gen_sdram
      ufp4_sdram #(
        .ClockHz (ClockHz),
        .BusBytes(BusBytes)
      ) u_sdram (
        .clk_i,
        .rst_ni,
        .axi_i      (request),
        .axi_taken_o(taken),
        .axi_o      (answer),
        .axi_heard_i(heard),
        .axi_wdata_i(wdata),
        .axi_wstrb_i(wstrb),
        .axi_rdata_o,
        .sdram_o,
        .sdram_dq_i
      );
      assign dram_o = '0;

      logic unused;
      assign unused = ^dram_i;
    end else begin : gen_dram
      if (BusBytes != 8 || MemoryBytes != ufp4_dram_pkg::BYTES) begin : gen_check
        $error("ufp4_board_memory: DRAM has a bus of 8 bytes, and 128 MiB");
      end

      ufp4_sdram_beats #(
        .BusBytes  (BusBytes),
        .MemoryBits($clog2(MemoryBytes))
      ) u_beats (
        .clk_i,
        .rst_ni,
        .axi_i       (request),
        .axi_taken_o (taken),
        .axi_o       (answer),
        .axi_heard_i (heard),
        .axi_wdata_i (wdata),
        .axi_wstrb_i (wstrb),
        .axi_rdata_o,
        .failed_i    (dram_i.failed),
        .beat_valid_o(dram_o.valid),
        .beat_ready_i(dram_i.ready),
        .beat_write_o(dram_o.write),
        .beat_index_o(dram_o.index),
        .beat_data_o (dram_o.data),
        .beat_strb_o (dram_o.strb),
        .data_valid_i(dram_i.valid),
        .data_i      (dram_i.data)
      );
      assign dram_o.reset = !rst_ni;
      assign sdram_o      = SDRAM_IDLE;

      logic unused;
      assign unused = ^sdram_dq_i;
    end
  end else begin : gen_block
    ufp4_block_memory #(
      .BusBytes   (BusBytes),
      .MemoryBytes(MemoryBytes)
    ) u_block (
      .clk_i,
      .rst_ni,
      .axi_i,
      .axi_taken_o,
      .axi_o,
      .axi_heard_i,
      .axi_wdata_i,
      .axi_wstrb_i,
      .axi_rdata_o
    );
    assign {march_busy_o, march_done_o, march_failed_o, march_address_o, march_count_o, hold_o} = '0;
    assign sdram_o = SDRAM_IDLE;
    assign dram_o  = '0;

    logic unused;
    assign unused = ^{march_start_i, held_i, sdram_dq_i, dram_i};
  end

endmodule
