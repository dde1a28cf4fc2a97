// SPDX-License-Identifier: Apache-2.0
// ufp4_quant_write with ufp4_quant_units_serial, on a bus of 8 bytes. An arbitrary word of the
// buffer is written, then read or skipped, then written again, and a word of scales has the scale
// of an arbitrary block at its place. Requests lie where the index says, codes before scales, and
// stay until taken; as many beats are given as were requested; a strip counts as handed over with
// the last of its units. By k-induction, so for any number of units.
module ufp4_sram_checked #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64
) (
  input  logic                     clk_i,
  input  logic                     we_i,
  input  logic [$clog2(Depth)-1:0] waddr_i,
  input  logic [Width-1:0]         wdata_i,
  input  logic                     re_i,
  input  logic [$clog2(Depth)-1:0] raddr_i,
  output logic [Width-1:0]         rdata_o,
  output logic                     error_o
);
  assign rdata_o = '0;
  assign error_o = 1'b0;
endmodule

module formal_quant_write_serial #(
  parameter bit Full = 1'b0  // one job with blocks as fast as possible, to reach more in fewer cycles
) (
  input logic             clk_i,
  input logic             start_i,
  input logic             pair_i,
  input logic [18:0]      units_i,
  input logic [1:0][32:0] codes_at_i,   // in units
  input logic [1:0][35:0] scales_at_i,  // in units of scales
  input logic [1:0][32:0] index_i,      // the next indices
  input logic [7:0]       follow_i,     // the word to follow
  input logic [3:0]       block_i,      // a block of the unit of that word
  input logic             in_valid_i,
  input logic             in_copy_i,
  input logic [7:0]       in_scale_i,
  input logic             in_last_i,
  input logic             in_blank_i,
  input logic             req_ready_i,
  input logic             dat_ready_i
);
  logic held = 1'b0, rst_n = 1'b0;  // reset lasts two cycles, because some registers follow those with a reset
  always_ff @(posedge clk_i) {rst_n, held} <= {held, 1'b1};
  logic [1:0] age = 2'd0;
  always_ff @(posedge clk_i) if (rst_n && age != 2'd3) age <= age + 2'd1;

  // The options of a job, which do not change.
  logic             begun, job, pair;
  logic [18:0]      units;
  logic [1:0][39:0] codes_addr, scales_addr;
  logic [1:0][32:0] index;
  logic [7:0]       follow;
  logic [3:0]       block;

  logic [1:0]       index_step, done, in_ready;
  logic             strip_end, dat_valid, req_valid, memory_error;
  logic [39:0]      addr;
  logic [8:0]       beats;
  logic [63:0]      dat_data;
  logic [7:0]       dat_strb;
  ufp4_memory_pkg::request_t req;
  assign {req_valid, addr, beats} = req;

  always_ff @(posedge clk_i) begin
    begun <= rst_n && start_i;
    job   <= rst_n && (job || start_i);
    if (!rst_n) begin
      follow <= follow_i;
      block  <= block_i;
    end
    if (start_i) begin
      pair  <= pair_i;
      units <= units_i;
      for (int c = 0; c < 2; c++) begin
        codes_addr[c]  <= {codes_at_i[c], 7'd0};
        scales_addr[c] <= {scales_at_i[c], 4'd0};
      end
    end
    for (int c = 0; c < 2; c++) begin
      if (start_i || index_step[c]) index[c] <= index_i[c];
    end
  end

  ufp4_quant_write #(.BusBytes(8), .Serial(1'b1)) u_dut (
    .clk_i, .rst_ni(rst_n), .pair_i(pair), .start_i(begun), .codes_addr_i(codes_addr), .scales_addr_i(scales_addr),
    .index_i(index), .index_step_o(index_step), .done_o(done), .units_i(units), .strip_end_o(strip_end),
    .memory_error_o(memory_error), .in_valid_i({in_valid_i && in_copy_i, in_valid_i && !in_copy_i}), .in_ready_o(in_ready),
    .in_codes_i('0), .in_scale_i({in_scale_i, in_scale_i}), .in_last_i({in_last_i, in_last_i}),
    .in_blank_i({in_blank_i, in_blank_i}), .wr_req_o(req), .wr_rsp_i({req_ready_i, dat_ready_i, 3'b000}),
    .wr_dat_valid_o(dat_valid), .wr_dat_data_o(dat_data), .wr_dat_strb_o(dat_strb)
  );

  // The number of blocks that a unit has.
  function automatic logic [4:0] blocks_of(input logic full, input logic [5:0] count, input logic [1:0] at,
                                           input logic in_turn);
    logic [4:0] there;
    there = in_turn ? (at[1] != count[5] ? 5'd0 : 5'(count[4:1]) + 5'(count[0] && !at[0])) :
                      (at != count[5:4] ? 5'd0 : 5'(count[3:0]));
    return full ? 5'd16 : there == 5'd16 ? 5'd0 : there;
  endfunction

  function automatic logic [3:0] in_order(input logic [1:0] first, input logic [1:0] behind, input logic any);
    logic [3:0] full;
    for (int u = 0; u < 4; u++) full[u] = first == behind ? any : 2'(2'(u) - first) < 2'(behind - first);
    return full;
  endfunction

  // The unit that leaves, the followed word, and the unit of that word.
  logic       copy, take, took, of_copy, of_scales, leaves, fresh, fresh_wanted, written, holds, mine, ask, blank;
  logic [1:0] unit, of_unit;
  logic [3:0] of_word;
  logic [4:0] there, loaded;
  logic [7:0] scale;
  logic [5:0] owed;  // beats requested minus beats taken
  logic       any_held;
  logic [39:0] held_addr;
  logic [18:0] left;
  logic [1:0]  mid;  // by copy: within a unit, or within two units in turn
  logic [1:0][1:0] next_unit;  // the unit to fill next
  assign copy = u_dut.copy_q;
  assign unit = u_dut.unit;
  assign blank = u_dut.blank_q[copy][unit];
  assign take = u_dut.take != '0;
  assign {of_copy, of_unit, of_scales, of_word} = follow;
  assign there = blocks_of(u_dut.full_q[of_copy][of_unit], u_dut.in_count_q[of_copy], of_unit, pair);
  assign loaded = u_dut.all_q ? u_dut.beats : u_dut.beat_q;
  assign leaves = u_dut.busy_q && copy == of_copy && unit == of_unit;
  assign ask = req_valid && req_ready_i;
  assign holds = u_dut.gen_serial.u_units.put_scales_q && u_dut.gen_serial.u_units.place_q == follow;  // the word is written now
  always_comb begin
    written = of_scales ? there >= {1'b0, of_word[0], 3'd0} + 5'd8 && !holds : there > 5'(of_word);
    fresh_wanted = written && !(leaves && (of_scales ? u_dut.scales_phase_q && 5'(of_word) < loaded :
                                                       u_dut.scales_phase_q || 5'(of_word) < loaded));
    for (int c = 0; c < 2; c++) begin
      mid[c] = u_dut.in_count_q[c][3:0] != '0 || (pair && u_dut.in_count_q[c][4]);
      next_unit[c] = pair ? {u_dut.in_count_q[c][5], &u_dut.in_count_q[c][4:0]} : u_dut.in_count_q[c][5:4];
    end
  end
  assign mine = take && u_dut.take[of_copy] && u_dut.in_unit_q[of_copy] == of_unit && u_dut.in_block[of_copy] == block;

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {took, fresh, owed, any_held} <= '0;
    end else begin
      took  <= take;
      if (u_dut.step_over && leaves) fresh <= 1'b0;
      if (u_dut.gen_serial.u_units.u_sram.re_i && u_dut.gen_serial.u_units.u_sram.raddr_i == follow) fresh <= 1'b0;
      if (u_dut.gen_serial.u_units.u_sram.we_i && u_dut.gen_serial.u_units.u_sram.waddr_i == follow) fresh <= 1'b1;
      owed <= owed + (ask ? 6'(beats) : 6'd0) - 6'(dat_valid && dat_ready_i);
      any_held <= req_valid && !req_ready_i;
    end
    held_addr <= addr;
    if (mine) scale <= in_scale_i;
    if (begun || strip_end) left <= units;
    else if (index_step[0]) left <= left - 19'd1;
  end

  // The place of the scale of the block: in the collected bytes, or in the word made of them.
  logic [2:0] past;
  assign past = 3'(there - 5'(block) - 5'd1);

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume (!start_i || !begun);
      assume (!(start_i || begun) || (!in_valid_i && u_dut.full_q == '0 && mid == '0 && !dat_valid));
      assume (job || !in_valid_i);
      assume (units_i != '0);
      // The block pipeline gives at most one block in two cycles, and completes a unit, or two in
      // turn, before another.
      if (in_valid_i) assume (!took && !mid[!in_copy_i]);
      if (Full) assume (start_i == (age == 2'd1) && in_valid_i == (age == 2'd3 && !took));
      if (!of_scales) assume (of_word == 4'(block));  // one of the two is enough
      else assume (of_word == {3'd0, block[3]});

      if (u_dut.gen_serial.u_units.u_sram.we_i && u_dut.gen_serial.u_units.u_sram.waddr_i == follow) assert (!fresh);
      if (u_dut.gen_serial.u_units.u_sram.re_i && u_dut.gen_serial.u_units.u_sram.raddr_i == follow) assert (fresh);
      if (holds) assert (u_dut.gen_serial.u_units.word_q[8*block[2:0]+:8] == scale);
      if (req_valid) begin
        assert (beats == (u_dut.scales_phase_q ? 9'd2 : 9'd16));
        assert (addr == (u_dut.scales_phase_q ? scales_addr[copy] + {3'd0, index[copy], 4'd0} :
                                                codes_addr[copy] + {index[copy], 7'd0}));
        if (any_held) assert (addr == held_addr);
      end else begin
        assert (!any_held);
      end
      if (index_step != '0 && !blank) assert (u_dut.scales_phase_q && (u_dut.asked_q || ask) && u_dut.loaded);
      if (u_dut.full_q == '0 && !dat_valid) assert (owed == '0);
      assert (strip_end == (index_step[0] && left == 19'd1));

      // Invariants needed for the induction.
      assert (held && (job || !begun));
      if (job) begin
        assert (units != '0);
        for (int c = 0; c < 2; c++) assert (scales_addr[c][3:0] == '0 && codes_addr[c][6:0] == '0);
      end
      if (job && !begun) begin
        assert (fresh == fresh_wanted && left == u_dut.units_q && left != '0);
        assert (owed == (u_dut.busy_q && u_dut.asked_q ? 6'(u_dut.beats) : 6'd0) - 6'(loaded) + 6'(dat_valid));
        for (int c = 0; c < 2; c++) begin
          // The full units are consecutive, from the next one to leave to the one before the next
          // to fill.
          assert (u_dut.in_unit_q[c] ==
                  (pair ? {u_dut.in_count_q[c][5], u_dut.in_count_q[c][0]} : u_dut.in_count_q[c][5:4]));
          assert (u_dut.full_q[c] == in_order(u_dut.out_unit_q[c], next_unit[c], u_dut.full_q[c] != '0));
          if (&u_dut.full_q[c]) assert (!mid[c]);
          if (pair && u_dut.in_count_q[c][4:0] > 5'd1) assert (!u_dut.full_q[c][{u_dut.in_count_q[c][5], 1'b1}]);
        end
        if (u_dut.busy_q) assert (u_dut.blank_unit_q == blank && u_dut.last_unit_q == u_dut.last_q[copy][unit]);
        if (u_dut.busy_q) assert (u_dut.full_q[copy][unit] && (!blank || {u_dut.scales_phase_q, u_dut.asked_q, loaded} == '0));
        if (u_dut.busy_q) assert (!u_dut.asked_q || !u_dut.all_q);
        if (holds) begin
          assert (there == {1'b0, of_word[0], 3'd0} + 5'd8 && !leaves);
        end else if (there > 5'(block) && there[4:3] == {1'b0, block[3]} && !u_dut.full_q[of_copy][of_unit]) begin
          assert (u_dut.gen_serial.u_units.scales_q[of_unit[0]][8*(3'd6-past)+:8] == scale);
        end
      end
      if (!job || begun) assert (u_dut.full_q == '0 && !u_dut.busy_q && !dat_valid && !took && owed == '0 && !fresh);
      assert (u_dut.busy_q || {u_dut.scales_phase_q, u_dut.asked_q, u_dut.all_q, u_dut.beat_q} == '0);
      assert (u_dut.all_q ? u_dut.busy_q : u_dut.beat_q < u_dut.beats);
      if (u_dut.gen_serial.u_units.put_scales_q) assert (took && u_dut.gen_serial.u_units.place_q[4:1] == 4'b1000);

      cover (strip_end && left == 19'd1 && units == 19'd1);
      cover (holds && block == 4'd1 && of_unit == 2'd1 && pair);
      cover (index_step[1] && blank);
      cover (any_held && u_dut.scales_phase_q && copy && fresh && of_copy);
    end else begin
      assume (!in_valid_i);
      if (held) assert (!u_dut.busy_q);
    end
  end
endmodule
