// SPDX-License-Identifier: Apache-2.0
// ufp4_sdram_control with any beats: the order of the power-up, all times between commands, no
// command to a bank in the wrong state, no refresh later than its limit, and one read or write per
// beat, in its row. By k-induction: the ages of commands that are kept here and the counters that
// wait for them add up to at least the required time.
module formal_sdram_control
  import ufp4_sdram_pkg::*;
(
  input logic        clk_i,
  input logic        beat_valid_i,
  input logic        beat_write_i,
  input logic [1:0]  beat_bank_i,
  input logic [12:0] beat_row_i,
  input logic [8:0]  beat_column_i
);
  localparam int unsigned BURST = 4;
  localparam int unsigned CAS = 2;
  // Times are short, so that much happens in few cycles, and each is longer than the other times
  // already enforce.
  localparam timing_t T = '{rcd: 2, rp: 2, ras: 7, rc: 10, rfc: 2, rrd: 5, wr: 2, mrd: 3, refresh: 40, power_up: 2};
  localparam int unsigned RECOVERY = BURST - 1 + 32'(T.wr);
  localparam int unsigned TURN = CAS + BURST;
  localparam int unsigned BUSY = 7;
  localparam int unsigned OLD = 63;
  // Copies of constants of the controller: its states and its refresh interval.
  localparam logic [2:0] PAUSE = 3'd0;
  localparam logic [2:0] CLOSE = 3'd1;
  localparam logic [2:0] FRESH = 3'd2;
  localparam logic [2:0] SET = 3'd3;
  localparam int unsigned INTERVAL = 40 - (BUSY + 2 + 10 + 3);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic        beat_ready, up;
  command_e    pins_command;
  logic [1:0]  pins_bank;
  logic [12:0] pins_addr;
  ufp4_sdram_control #(.BurstWords(BURST), .CasLatency(CAS), .Timing(T)) u_dut (
    .clk_i, .rst_ni(rst_n), .beat_valid_i, .beat_ready_o(beat_ready), .beat_write_i, .beat_bank_i, .beat_row_i,
    .beat_column_i, .up_o(up), .command_o(pins_command), .bank_o(pins_bank), .addr_o(pins_addr)
  );

  // The command at the pins in the next cycle, and the ages of earlier commands: 1 in the cycle
  // after the command.
  command_e    command;
  logic [1:0]  bank;
  logic [12:0] addr;
  assign {command, bank, addr} = {u_dut.command_d, u_dut.bank_d, u_dut.addr_d};

  typedef logic [5:0] age_t;
  logic [3:0]       open;
  logic [3:0][12:0] row;
  age_t [3:0]       activated, closed, read, written;
  age_t             any_activated, any_read, any_written, refreshed, mode;
  logic             closed_all, set;
  logic [3:0]       refreshes;
  logic             was;
  logic [17:0]      was_pins;

  function automatic age_t older(age_t age);
    return age == age_t'(OLD) ? age : age + 6'd1;
  endfunction

  always_ff @(posedge clk_i) begin
    was <= rst_n;
    was_pins <= {command, bank, addr};
    if (!rst_n) begin
      {open, closed_all, set, refreshes} <= '0;
      {activated, closed, read, written} <= '1;
      {any_activated, any_read, any_written, refreshed, mode} <= '1;
    end else begin
      any_activated <= command == ACTIVATE ? 6'd1 : older(any_activated);
      any_read      <= command == READ ? 6'd1 : older(any_read);
      any_written   <= command == WRITE ? 6'd1 : older(any_written);
      refreshed     <= command == REFRESH ? 6'd1 : older(refreshed);
      mode          <= command == MODE ? 6'd1 : older(mode);
      if (command == REFRESH && refreshes != '1) refreshes <= refreshes + 4'd1;
      if (command == PRECHARGE && addr[10]) closed_all <= 1'b1;
      if (command == MODE) set <= 1'b1;
      for (int b = 0; b < 4; b++) begin
        activated[b] <= older(activated[b]);
        closed[b]    <= older(closed[b]);
        read[b]      <= older(read[b]);
        written[b]   <= older(written[b]);
        if (bank == 2'(b)) begin
          if (command == ACTIVATE) {open[b], row[b], activated[b]} <= {1'b1, addr, 6'd1};
          if (command == READ) read[b] <= 6'd1;
          if (command == WRITE) written[b] <= 6'd1;
        end
        if (command == PRECHARGE && (addr[10] || bank == 2'(b))) {open[b], closed[b]} <= {1'b0, 6'd1};
      end
    end
  end

  logic [4:0] most_close, most_wait;
  always_comb begin
    most_close = '0;
    most_wait  = '0;
    for (int b = 0; b < 4; b++) begin
      if (u_dut.close_q[b] > most_close) most_close = u_dut.close_q[b];
      if (u_dut.open_wait_q[b] > most_wait) most_wait = u_dut.open_wait_q[b];
    end
  end
  logic [7:0] to_refresh;   // cycles since the end of the interval, if it has ended
  assign to_refresh = open == '0 ? 8'(most_wait) :
                      8'(most_close) + 8'd1 + (8'(most_wait) > 8'(T.rp) ? 8'(most_wait) : 8'(T.rp));

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (was) assert ({pins_command, pins_bank, pins_addr} == was_pins);
      // --- Rules of the data sheet ---------------------------------------------------------------
      if (command == ACTIVATE) begin
        assert (set && mode >= 6'(T.mrd) && !open[bank]);
        assert (closed[bank] >= 6'(T.rp));
        assert (activated[bank] >= 6'(T.rc));
        assert (any_activated >= 6'(T.rrd));
        assert (refreshed >= 6'(T.rfc));
      end
      if (command == READ || command == WRITE) begin
        assert (open[bank] && activated[bank] >= 6'(T.rcd));
        assert (any_read >= 6'(BURST) && any_written >= 6'(BURST));
        assert (row[bank] == beat_row_i && bank == beat_bank_i && addr == 13'(beat_column_i));
        assert (beat_valid_i && beat_ready && beat_write_i == (command == WRITE));
      end
      if (command == WRITE) assert (any_read >= 6'(TURN));
      if (beat_ready) assert (command == READ || command == WRITE);
      if (command == PRECHARGE) begin
        for (int b = 0; b < 4; b++) begin
          if (open[b] && (addr[10] || bank == 2'(b))) begin
            assert (activated[b] >= 6'(T.ras));
            assert (written[b] >= 6'(RECOVERY) && read[b] >= 6'(BURST));
          end
        end
      end
      if (command == REFRESH || command == MODE) begin
        assert (open == '0 && closed_all && refreshed >= 6'(T.rfc));
        for (int b = 0; b < 4; b++) assert (closed[b] >= 6'(T.rp));
      end
      if (command == REFRESH) begin
        assert (!set || mode >= 6'(T.mrd));
        for (int b = 0; b < 4; b++) assert (activated[b] >= 6'(T.rc));
      end
      if (command == MODE) assert (refreshes == 4'd8 && bank == 2'd0 && addr == 13'h022);
      assert (command != STOP);
      if (set) assert (refreshed <= 6'(T.refresh));
      // --- Invariants needed for the induction ---------------------------------------------------
      assert (set == up && u_dut.state_q <= 3'd4);
      if (u_dut.state_q == PAUSE || u_dut.state_q == CLOSE)
        assert (!closed_all && refreshes == '0 && refreshed == 6'(OLD) && u_dut.wait_q <= 16'(T.power_up));
      else assert (closed_all);
      if (u_dut.state_q == CLOSE) assert (u_dut.wait_q == '0);
      if (!set) begin
        assert (open == '0 && mode == 6'(OLD) && any_activated == 6'(OLD) && any_read == 6'(OLD));
        assert (any_written == 6'(OLD) && most_close == '0 && u_dut.other_q == '0);
        assert (activated == '1 && written == '1 && read == '1);
        assert (most_wait == '0 || (u_dut.state_q == SET && most_wait < 5'(T.mrd)));
      end
      if (u_dut.state_q == PAUSE) assert (most_wait == '0);
      if (u_dut.state_q == FRESH || u_dut.state_q == SET) begin
        assert (refreshes == (u_dut.state_q == SET ? 4'd8 : 4'd7 - u_dut.left_q) && u_dut.wait_q < 16'd2);
        if (u_dut.state_q == FRESH) assert (u_dut.left_q <= 4'd7);
        assert (refreshes == '0 || 16'(refreshed) + u_dut.wait_q >= 16'(T.rfc));
        assert (refreshes == '0 || 16'(refreshed) + u_dut.wait_q <= 16'(T.rfc));
      end
      for (int b = 0; b < 4; b++) begin
        assert (open[b] == u_dut.open_q[b]);
        if (open[b]) assert (row[b] == u_dut.row_q[b]);
        assert (6'(u_dut.close_q[b]) < 6'(BUSY) && 6'(u_dut.open_wait_q[b]) < 6'(T.rc));
        assert (activated[b] + 7'(u_dut.close_q[b]) >= 7'(T.ras));
        assert (written[b] + 7'(u_dut.close_q[b]) >= 7'(RECOVERY));
        assert (read[b] + 7'(u_dut.close_q[b]) >= 7'(BURST));
        assert (activated[b] + 7'(u_dut.column_q[b]) >= 7'(T.rcd));
        assert (activated[b] + 7'(u_dut.open_wait_q[b]) >= 7'(T.rc));
        if (set) assert (closed[b] + 7'(u_dut.open_wait_q[b]) >= 7'(T.rp));
        else assert (u_dut.state_q == PAUSE || u_dut.state_q == CLOSE ||
                     16'(closed[b]) + u_dut.wait_q >= 16'(T.rp));
        if (set) assert (refreshed + 7'(u_dut.open_wait_q[b]) >= 7'(T.rfc));
        if (set) assert (mode + 7'(u_dut.open_wait_q[b]) >= 7'(T.mrd));
      end
      assert (any_activated + 7'(u_dut.other_q) >= 7'(T.rrd));
      assert (any_read + 7'(u_dut.read_q) >= 7'(BURST) && any_written + 7'(u_dut.read_q) >= 7'(BURST));
      assert (any_read + 7'(u_dut.write_q) >= 7'(TURN) && any_written + 7'(u_dut.write_q) >= 7'(BURST));
      if (set && !u_dut.waited) assert (17'(refreshed) + 17'(u_dut.wait_q) == 17'(INTERVAL));
      if (set && u_dut.waited) assert (8'(refreshed) + to_refresh <= 8'(T.refresh));
      cover (command == WRITE && any_read == 6'(TURN));
      cover (command == PRECHARGE && !addr[10]);
      cover (set && command == REFRESH);
      cover (open == '1);
    end
  end
endmodule
