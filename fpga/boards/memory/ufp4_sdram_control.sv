// SPDX-License-Identifier: Apache-2.0
// The commands of an SDRAM: power-up, refresh in time, open rows, one burst of BurstWords per beat.
//
// Contract: beats are taken in order, each with its read or write command (beat_ready_o is high in
// the cycle of the command, before the register of the pins). Commands are at least as far apart as
// Timing requires, and refreshes at most Timing.refresh. A row stays open until another row of its
// bank is needed, or a refresh. While a burst takes its cycles the row of the next beat is opened.
// A write follows a read when the words of the read have left the pins for half a cycle.
// Latency: one cycle to the pins. Throughput: a burst every BurstWords cycles while rows are open.
// Proof: tests/rtl/formal/formal_sdram_control.sv. Test: tests/fpga/sdram.
module ufp4_sdram_control
  import ufp4_sdram_pkg::*;
#(
  parameter int unsigned BurstWords = 4,
  parameter int unsigned CasLatency = 2,
  parameter timing_t Timing = timing(25_000_000)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   beat_valid_i,
  output logic                   beat_ready_o,
  input  logic                   beat_write_i,
  input  logic [BANK_BITS-1:0]   beat_bank_i,
  input  logic [ROW_BITS-1:0]    beat_row_i,
  input  logic [COLUMN_BITS-1:0] beat_column_i,

  output logic                   up_o,        // the power-up sequence has ended
  output command_e               command_o,
  output logic [BANK_BITS-1:0]   bank_o,
  output logic [ROW_BITS-1:0]    addr_o
);
  localparam int unsigned TURN = CasLatency + BurstWords;       // read to write
  localparam int unsigned RECOVERY = BurstWords - 1 + 32'(Timing.wr);  // write to precharge
  localparam int unsigned BUSY = 32'(Timing.ras) > RECOVERY ? 32'(Timing.ras) : RECOVERY;
  // Between the end of the interval and the refresh there is at most the rest of a command and a
  // precharge.
  localparam int unsigned CYCLE = Timing.rc > Timing.rfc ? 32'(Timing.rc) : 32'(Timing.rfc);
  localparam int unsigned SLACK = BUSY + 32'(Timing.rp) + CYCLE + 3;
  localparam int unsigned INTERVAL = 32'(Timing.refresh) - SLACK;
  localparam int unsigned COUNT_W = 5;
  localparam logic [ROW_BITS-1:0] ALL = ROW_BITS'(1 << ALL_BANKS);
  localparam logic [ROW_BITS-1:0] MODE_WORD = ROW_BITS'((CasLatency << 4) | $clog2(BurstWords));

  if (BurstWords > 8 || BurstWords != (1 << $clog2(BurstWords))) begin : gen_check_burst
    $error("ufp4_sdram_control: a burst has 1, 2, 4 or 8 words");
  end
  if (32'(Timing.refresh) <= SLACK + BUSY + CYCLE) begin : gen_check_refresh
    $error("ufp4_sdram_control: the clock is too slow for a beat between two refreshes");
  end

  // A command may come when the counters that concern it are 0; n cycles after the cause is a count
  // of n - 1.
  typedef logic [COUNT_W-1:0] count_t;
  function automatic count_t after(int unsigned cycles);
    return count_t'(cycles - 1);
  endfunction
  function automatic count_t longer(count_t a, count_t b);
    return a > b ? a : b;
  endfunction
  function automatic count_t less(count_t a);
    return a == '0 ? '0 : a - count_t'(1);
  endfunction

  // --- Power-up: a pause, a precharge of all, refreshes, the mode register -----------------------

  typedef enum logic [2:0] {PAUSE, CLOSE, FRESH, SET, RUN} state_e;
  state_e      state_d, state_q;
  logic [3:0]  left_d, left_q;         // refreshes left in the power-up
  logic [15:0] wait_d, wait_q;         // cycles to the next power-up command; then the refresh interval
  logic        run, due, waited;

  assign run    = state_q == RUN;
  assign up_o   = run;
  assign waited = wait_q == '0;
  assign due    = run && waited;

  // --- Choice of the command ---------------------------------------------------------------------

  logic [BANKS-1:0]               open_d, open_q;
  logic [BANKS-1:0][ROW_BITS-1:0] row_d, row_q;
  count_t [BANKS-1:0]             close_d, close_q, open_wait_d, open_wait_q, column_d, column_q;
  count_t                         other_d, other_q, read_d, read_q, write_d, write_q;
  logic                           hit, column, activate, precharge, close_all, refresh;

  assign hit       = open_q[beat_bank_i] && row_q[beat_bank_i] == beat_row_i;
  assign column    = run && !due && beat_valid_i && hit && column_q[beat_bank_i] == '0 &&
                     (beat_write_i ? write_q : read_q) == '0;
  assign activate  = run && !due && beat_valid_i && !open_q[beat_bank_i] && open_wait_q[beat_bank_i] == '0 &&
                     other_q == '0;
  assign precharge = run && !due && beat_valid_i && open_q[beat_bank_i] && !hit && close_q[beat_bank_i] == '0;
  assign close_all = due && open_q != '0 && close_q == '0;
  assign refresh   = due && open_q == '0 && open_wait_q == '0;

  assign beat_ready_o = column;

  command_e             command_d;
  logic [BANK_BITS-1:0] bank_d;
  logic [ROW_BITS-1:0]  addr_d;

  always_comb begin
    command_d = NOP;
    bank_d    = beat_bank_i;
    addr_d    = beat_row_i;
    if (column) begin
      command_d = beat_write_i ? WRITE : READ;
      addr_d    = ROW_BITS'(beat_column_i);
    end else if (activate) begin
      command_d = ACTIVATE;
    end else if (precharge) begin
      command_d = PRECHARGE;
      addr_d    = '0;
    end else if (close_all || (state_q == CLOSE)) begin
      command_d = PRECHARGE;
      addr_d    = ALL;
    end else if (refresh || (state_q == FRESH && waited)) begin
      command_d = REFRESH;
    end else if (state_q == SET && waited) begin
      command_d = MODE;
      bank_d    = '0;
      addr_d    = MODE_WORD;
    end
  end

  always_comb begin
    state_d = state_q;
    left_d  = left_q;
    wait_d  = waited ? '0 : wait_q - 16'd1;
    unique case (state_q)
      PAUSE: if (waited) state_d = CLOSE;
      CLOSE: begin
        state_d = FRESH;
        wait_d  = 16'(Timing.rp) - 16'd1;
        left_d  = 4'(POWER_UP_REFRESHES - 1);
      end
      FRESH: if (waited) begin
        if (left_q == '0) state_d = SET;
        wait_d = 16'(Timing.rfc) - 16'd1;
        left_d = left_q - 4'd1;
      end
      SET: if (waited) begin
        state_d = RUN;
        // The last refresh was that of the power-up.
        wait_d  = 16'(INTERVAL - 32'(Timing.rfc) - 1);
      end
      default: if (refresh) wait_d = 16'(INTERVAL - 1);
    endcase
  end

  // --- Waits that each command causes ------------------------------------------------------------

  always_comb begin
    open_d  = open_q;
    row_d   = row_q;
    other_d = activate ? after(32'(Timing.rrd)) : less(other_q);
    read_d  = column ? after(BurstWords) : less(read_q);
    write_d = column ? after(beat_write_i ? BurstWords : TURN) : less(write_q);
    for (int unsigned b = 0; b < BANKS; b++) begin
      close_d[b]     = less(close_q[b]);
      open_wait_d[b] = less(open_wait_q[b]);
      column_d[b]    = less(column_q[b]);
      if (beat_bank_i == BANK_BITS'(b)) begin
        if (column) close_d[b] = longer(close_d[b], after(beat_write_i ? RECOVERY : BurstWords));
        if (activate) begin
          open_d[b]      = 1'b1;
          row_d[b]       = beat_row_i;
          close_d[b]     = after(32'(Timing.ras));
          open_wait_d[b] = after(32'(Timing.rc));
          column_d[b]    = after(32'(Timing.rcd));
        end
      end
      if (close_all || (precharge && beat_bank_i == BANK_BITS'(b))) begin
        open_d[b]      = 1'b0;
        open_wait_d[b] = longer(open_wait_d[b], after(32'(Timing.rp)));
      end
      if (refresh) open_wait_d[b] = after(32'(Timing.rfc));
      if (state_q == SET) open_wait_d[b] = after(32'(Timing.mrd));
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= PAUSE;
      wait_q      <= Timing.power_up;
      open_q      <= '0;
      close_q     <= '0;
      open_wait_q <= '0;
      column_q    <= '0;
      other_q     <= '0;
      read_q      <= '0;
      write_q     <= '0;
      command_o   <= NOP;
    end else begin
      state_q     <= state_d;
      wait_q      <= wait_d;
      open_q      <= open_d;
      close_q     <= close_d;
      open_wait_q <= open_wait_d;
      column_q    <= column_d;
      other_q     <= other_d;
      read_q      <= read_d;
      write_q     <= write_d;
      command_o   <= command_d;
    end
  end

  always_ff @(posedge clk_i) begin
    left_q <= left_d;
    row_q  <= row_d;
    bank_o <= bank_d;
    addr_o <= addr_d;
  end

endmodule
