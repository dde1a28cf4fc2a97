// SPDX-License-Identifier: Apache-2.0
// The registers of the board itself (docs/reference/link.md).
//
// Contract: an access holds valid_i until done_o, which comes in the same cycle, except for the
// reset of the core, which lasts until core_reset_done_i. status_o is REFUSED for a register that
// does not exist or cannot be written. A read of the low half of the cycle counter keeps the high
// half for the next read of that half.
// Test: tests/fpga.
module ufp4_link_registers
  import ufp4_link_pkg::*;
#(
  parameter bit March = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        valid_i,
  input  logic        write_i,
  input  logic [31:0] address_i,
  input  logic [31:0] data_i,
  output logic        done_o,
  output status_e     status_o,
  output logic [31:0] data_o,

  input  logic        dropped_i,
  input  logic        repeated_i,
  output logic [8:0]  leds_o,              // forced while the highest bit is set
  output logic        core_reset_o,
  input  logic        core_reset_done_i,
  output logic        march_start_o,
  input  logic        march_busy_i,
  input  logic        march_done_i,
  input  logic        march_failed_i,
  input  logic [31:0] march_address_i,
  input  logic [31:0] march_count_i
);
  localparam logic [31:0] LEDS = 32'h00;
  localparam logic [31:0] MARCH = 32'h04;
  localparam logic [31:0] MARCH_ADDRESS = 32'h08;
  localparam logic [31:0] MARCH_COUNT = 32'h0C;
  localparam logic [31:0] DROPPED = 32'h10;
  localparam logic [31:0] REPEATED = 32'h14;
  localparam logic [31:0] CYCLES_LOW = 32'h18;
  localparam logic [31:0] CYCLES_HIGH = 32'h1C;
  localparam logic [31:0] CORE_RESET = 32'h20;

  logic [8:0]  leds_q;
  logic [31:0] dropped_q, repeated_q, high_q;
  logic [63:0] cycles_q;
  logic        readable, writable, write;

  always_comb begin
    readable = 1'b1;
    writable = 1'b0;
    data_o   = '0;
    unique case (address_i)
      LEDS:          {writable, data_o} = {1'b1, 23'd0, leds_q};
      MARCH:         {readable, writable, data_o} = {March, March, 29'd0, march_failed_i, march_done_i, march_busy_i};
      MARCH_ADDRESS: {readable, data_o} = {March, march_address_i};
      MARCH_COUNT:   {readable, data_o} = {March, march_count_i};
      DROPPED:       data_o = dropped_q;
      REPEATED:      data_o = repeated_q;
      CYCLES_LOW:    data_o = cycles_q[31:0];
      CYCLES_HIGH:   data_o = high_q;
      CORE_RESET:    writable = 1'b1;
      default:       readable = 1'b0;
    endcase
  end

  assign write         = valid_i && write_i && writable;
  assign core_reset_o  = write && address_i == CORE_RESET && data_i[0];
  assign march_start_o = write && address_i == MARCH && data_i[0];
  assign status_o      = (write_i ? writable : readable) ? STATUS_OK : STATUS_REFUSED;
  assign done_o        = valid_i && (!core_reset_o || core_reset_done_i);
  assign leds_o        = leds_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      leds_q     <= '0;
      dropped_q  <= '0;
      repeated_q <= '0;
      cycles_q   <= '0;
    end else begin
      if (write && address_i == LEDS) leds_q <= data_i[8:0];
      dropped_q  <= dropped_q + 32'(dropped_i);
      repeated_q <= repeated_q + 32'(repeated_i);
      cycles_q   <= cycles_q + 64'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && !write_i && address_i == CYCLES_LOW) high_q <= cycles_q[63:32];
  end

  logic unused;
  assign unused = ^data_i[31:9];

endmodule
