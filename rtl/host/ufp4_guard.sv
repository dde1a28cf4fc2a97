// SPDX-License-Identifier: Apache-2.0
// Watchdog and soft reset: detects a core that has stopped, and restarts it without breaking bus
// rules.
//
// Watchdog: when there is work and nothing moves for watchdog_i cycles (0: never), fatal_code_o
// becomes nonzero and irq_fatal_o is high for one cycle; halt_o then keeps the memory masters from
// beginning another burst. fatal_code_o says what was missing: bit 0 is always set, bit 1 read
// beats, bit 2 write answers. Only a reset ends this state. A ring with more descriptors than
// places, or a tail that moved back (overflow_i), stops the core at once with bit 3: the
// descriptors it would fetch were overwritten, or were never written.
//
// Soft reset: from the cycle after soft_reset_i, the core behind the masters is in reset
// (core_rst_no) and the masters flush: they end started bursts without effect and discard answers.
// When nothing is pending the core leaves reset, but not before ResetCycles, so that a parity check
// of sums that is still under way in the array does not mark a sum of the next job. A soft reset
// during a soft reset does not restart it. If the bus is quiet for watchdog_i cycles (65536 if that
// is 0) after every address and beat was taken, missing answers are given up (forget_o). While the
// bus has not taken an address or a beat, AXI allows no way out except a reset of the bus, and the
// core stays in reset (resetting_o).
// Spec: docs/ip/architecture.md, "Watchdog and soft reset". Tests: tests/rtl/core, tests/rtl/fault.
// Timed model: sim/src/timing/core.
module ufp4_guard (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        soft_reset_i,
  input  logic [31:0] watchdog_i,
  input  logic        work_i,          // there is a job
  input  logic        overflow_i,
  input  logic        moved_i,         // a handshake on the bus, or a step of the array
  input  logic        reads_pending_i,
  input  logic        writes_pending_i,
  input  logic        sending_i,       // the bus has not taken an address or a beat

  output logic        core_rst_no,
  output logic        flush_o,
  output logic        forget_o,
  output logic        halt_o,
  output logic        resetting_o,
  output logic        irq_fatal_o,
  output logic [3:0]  fatal_code_o
);

  localparam logic [31:0] FLUSH_CYCLES = 32'd65536;
  localparam int unsigned ResetCycles = ufp4_pe_pkg::ResetCycles;
  localparam int unsigned LeftWidth = $clog2(ResetCycles);

  logic        resetting_d, resetting_q, quiet, expired;
  logic [LeftWidth-1:0] left_d, left_q;  // cycles that the soft reset lasts at least after this one
  logic [31:0] limit, still_d, still_q;
  logic [3:0]  fatal_d, fatal_q;

  assign quiet   = !reads_pending_i && !writes_pending_i;
  assign limit   = (resetting_q && watchdog_i == '0) ? FLUSH_CYCLES : watchdog_i;
  assign expired = limit != '0 && still_q >= limit;

  assign core_rst_no  = rst_ni && !resetting_q;
  assign flush_o      = resetting_q;
  assign forget_o     = resetting_q && expired && !sending_i;
  assign halt_o       = fatal_q[0];
  assign resetting_o  = resetting_q;
  assign irq_fatal_o  = !resetting_q && ((work_i && expired) || overflow_i) && !fatal_q[0];
  assign fatal_code_o = fatal_q;

  always_comb begin
    still_d     = still_q;
    fatal_d     = fatal_q;
    resetting_d = resetting_q;
    left_d      = resetting_q ? left_q - LeftWidth'(left_q != '0) : LeftWidth'(ResetCycles - 1);
    if (moved_i || forget_o || (!work_i && !resetting_q)) still_d = '0;
    else if (!expired) still_d = still_q + 32'd1;
    if (irq_fatal_o) fatal_d = {overflow_i, writes_pending_i, reads_pending_i, 1'b1};
    if (resetting_q && quiet && left_q == '0) resetting_d = 1'b0;
    if (soft_reset_i) resetting_d = 1'b1;
    if (soft_reset_i && !resetting_q) still_d = '0;
    if (resetting_q) fatal_d = '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      resetting_q <= 1'b0;
      left_q      <= '0;
      still_q     <= '0;
      fatal_q     <= '0;
    end else begin
      resetting_q <= resetting_d;
      left_q      <= left_d;
      still_q     <= still_d;
      fatal_q     <= fatal_d;
    end
  end

endmodule
