// SPDX-License-Identifier: Apache-2.0
// ufp4_quant_write_wide beside a model of the needs of a group. Each request is the next one of its
// group, lies where the index says, does not cross 4 KiB, and stays until taken. As many beats are
// given as were requested, and none before its request is taken. A strip counts as handed over with
// the last request of its last group. By k-induction, so for any number of groups of any kind at
// any addresses. The collected blocks (ufp4_quant_units_wide) are left out.
module ufp4_quant_units_wide #(
  parameter int unsigned Slots = 4,
  localparam int unsigned SlotW = $clog2(Slots)
) (
  input  logic                  clk_i,
  input  logic                  pair_i,
  input  logic [1:0]            take_i,
  input  logic [1:0][SlotW-1:0] take_slot_i,
  input  logic [1:0][3:0]       take_block_i,
  input  logic [1:0]            take_half_i,
  input  logic [1:0][3:0][63:0] codes_i,
  input  logic [1:0][3:0][7:0]  scale_i,
  input  logic                  load_i,
  input  logic                  load_copy_i,
  input  logic [SlotW-1:0]      load_slot_i,
  input  logic [1:0]            load_unit_i,
  output logic [15:0][63:0]     codes_o,
  output logic [15:0][7:0]      scales_o,
  output logic                  error_o
);
  assign codes_o = '0;
  assign scales_o = '0;
  assign error_o = 1'b0;
endmodule

module formal_quant_write_wide #(
  parameter bit Full = 1'b0  // one job with blocks as fast as possible, to reach more in fewer cycles
) (
  input logic             clk_i,
  input logic             start_i,
  input logic             pair_i,
  input logic             two_i,
  input logic [2:0]       last_units_i,
  input logic [17:0]      groups_i,
  input logic [1:0][32:0] codes_at_i,   // in units
  input logic [1:0][32:0] scales_at_i,  // in beats
  input logic [1:0][32:0] index_i,      // the next indices
  input logic [1:0]       in_valid_i,
  input logic [1:0]       in_last_i,
  input logic [1:0]       in_blank_i,
  input logic             req_ready_i,
  input logic             dat_ready_i
);
  localparam int unsigned SLOTS = 2;
  logic held = 1'b0, rst_n = 1'b0;  // reset lasts two cycles, because some registers follow those with a reset
  always_ff @(posedge clk_i) {rst_n, held} <= {held, 1'b1};
  logic [1:0] age = 2'd0;
  always_ff @(posedge clk_i) if (rst_n && age != 2'd3) age <= age + 2'd1;

  // The options of a job, which do not change.
  logic             begun, pair, two;
  logic [2:0]       last_units;
  logic [17:0]      groups;
  logic [1:0][39:0] codes_addr, scales_addr;
  logic [1:0][32:0] index;
  logic [1:0]       in_ready, index_step, done;
  logic             strip_end, memory_error, req_valid, dat_valid;
  logic [39:0]      addr;
  logic [8:0]       beats;
  logic [1023:0]    dat_data;
  logic [127:0]     dat_strb;
  ufp4_memory_pkg::request_t req;
  assign {req_valid, addr, beats} = req;

  // If units follow each other, a group begins at a multiple of its largest size.
  function automatic logic [32:0] aligned(input logic [32:0] in, input logic joined, input logic in_twos);
    return joined ? (in_twos ? {in[32:1], 1'b0} : {in[32:2], 2'b00}) : in;
  endfunction

  always_ff @(posedge clk_i) begin
    begun <= rst_n && start_i;
    if (start_i) begin
      pair <= pair_i;
      two <= two_i || pair_i;
      last_units <= last_units_i;
      groups <= groups_i;
      for (int c = 0; c < 2; c++) begin
        codes_addr[c] <= {codes_at_i[c], 7'd0};
        scales_addr[c] <= {scales_at_i[c], 7'd0};
      end
    end
    for (int c = 0; c < 2; c++) begin
      if (start_i || index_step[c]) begin
        index[c] <= aligned(index_i[c], c == 0 || (start_i ? pair_i : pair), start_i ? two_i || pair_i : two);
      end
    end
  end

  ufp4_quant_write_wide #(.Slots(SLOTS)) u_dut (
    .clk_i, .rst_ni(rst_n), .pair_i(pair), .two_i(two), .last_units_i(last_units), .groups_i(groups), .start_i(begun),
    .codes_addr_i(codes_addr), .scales_addr_i(scales_addr), .index_i(index), .index_step_o(index_step), .done_o(done),
    .strip_end_o(strip_end), .memory_error_o(memory_error), .in_valid_i, .in_ready_o(in_ready), .in_codes_i('0),
    .in_scale_i('0), .in_last_i, .in_blank_i, .wr_req_o(req), .wr_rsp_i({req_ready_i, dat_ready_i, 3'b000}),
    .wr_dat_valid_o(dat_valid), .wr_dat_data_o(dat_data), .wr_dat_strb_o(dat_strb)
  );

  // The current group: how many codes and scales of its units are requested; the index of the unit,
  // or of the group if its units follow each other.
  logic        copy, joined, ask, codes_next, ask_end;
  logic [2:0]  units, codes_asked, scales_asked, codes_now, scales_now;
  logic [32:0] at;
  logic [4:0]  owed;  // beats requested minus beats taken
  logic [17:0] left;
  logic        any_held, job;
  logic [39:0] held_addr;
  logic [8:0]  held_beats;
  assign copy = u_dut.ask_copy_q;
  assign joined = !copy || pair;
  assign units = u_dut.count;
  assign ask_end = u_dut.ask_end;
  assign ask = req_valid && req_ready_i;
  // The codes of units that follow each other come first; otherwise the codes and the scales of a
  // unit alternate.
  assign codes_next = joined ? codes_asked != units : codes_asked == scales_asked;
  assign codes_now = codes_asked + (ask && codes_next ? beats[2:0] : 3'd0);
  assign scales_now = scales_asked + (ask && !codes_next ? (joined ? units : 3'd1) : 3'd0);
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {codes_asked, scales_asked, any_held, job, owed} <= '0;
    end else begin
      if (start_i) job <= 1'b1;
      owed <= owed + (ask ? 5'(beats) : 5'd0) - 5'(dat_valid && dat_ready_i);
      codes_asked <= ask_end ? 3'd0 : codes_now;
      scales_asked <= ask_end ? 3'd0 : scales_now;
      if (begun) left <= groups;
      else if (ask_end && !copy) left <= left == 18'd1 ? groups : left - 18'd1;
      any_held <= req_valid && !req_ready_i;
      held_addr <= addr;
      held_beats <= beats;
      if (u_dut.begin_slot || u_dut.set_end) at <= index[u_dut.ask_copy_d];
    end
  end

  // The queue between requests and beats: the number of beats in it, and of groups that end in it.
  logic [2:0]      queued;
  logic [1:0]      place;
  logic [4:0]      beats_queued;
  logic [1:0][2:0] ends;
  logic            sane;
  logic            of_copy, of_joined, of_scales, of_empty, of_release;
  logic [1:0]      of_first;
  logic [2:0]      of_units, of_place;
  logic            tail_ends;  // the last beat is the last of a group
  assign queued = u_dut.u_notes.tail_q - u_dut.u_notes.head_q;
  always_comb begin
    beats_queued = '0;
    ends = '0;
    sane = 1'b1;
    tail_ends = 1'b1;
    for (int i = 0; i < 4; i++) begin
      place = u_dut.u_notes.head_q[1:0] + 2'(i);
      {of_copy, of_joined, of_scales, of_empty, of_release, of_first, of_units, of_place} = u_dut.u_notes.mem[place];
      if (3'(i) < queued) begin
        beats_queued += of_empty ? 5'd0 : of_scales ? 5'd1 : 5'(of_units);
        ends[of_copy] += 3'(of_release);
        tail_ends = of_release;
        if (of_units > 3'd4 || (of_units == '0 && !of_empty) || (of_empty && !of_release)) sane = 1'b0;
        if (i == 0 && (of_empty || of_scales ? u_dut.beat_q != '0 : 3'(u_dut.beat_q) >= of_units)) sane = 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume (!start_i || !begun);
      assume (!(start_i || begun) || (in_valid_i == '0 && u_dut.filled_q == '0 && !dat_valid));
      assume (job || in_valid_i == '0);
      if (Full) assume (start_i == (age == 2'd1) && in_valid_i == {2{age == 2'd3}});
      assume (last_units_i >= 3'd1 && last_units_i <= (two_i || pair_i ? 3'd2 : 3'd4) && groups_i != '0);

      if (req_valid) begin
        assert (beats >= 9'd1 && {4'd0, addr[11:7]} + beats <= 9'd32 && addr[6:0] == '0);
        if (any_held) assert (addr == held_addr && beats == held_beats);
        if (codes_next) assert (addr == codes_addr[copy] + {at + (joined ? 33'(codes_asked) : 33'd0), 7'd0});
        else assert (addr[39:7] == 33'((scales_addr[copy] + {3'd0, at, 4'd0}) >> 7) && beats == 9'd1);
        if (codes_next) assert (codes_asked + beats[2:0] <= units && (joined || beats == 9'd1));
      end else begin
        assert (!any_held);
      end
      if (dat_valid) assert (owed != '0);
      if (ask_end) assert (codes_now == units && scales_now == units);
      assert (strip_end == (ask_end && !copy && left == 18'd1));
      if (u_dut.filled_q == '0 && !dat_valid) assert (owed == '0);

      // Invariants needed for the induction.
      if (!begun && job) begin
        assert (last_units >= 3'd1 && last_units <= (two ? 3'd2 : 3'd4) && groups != '0 && (two || !pair));
        assert (u_dut.left_q[0] == left);
        for (int c = 0; c < 2; c++) begin
          assert (u_dut.in_q[c].slot == 1'(u_dut.ask_q[c] + u_dut.waiting_q[c][0]));
          assert (u_dut.ask_q[c] == 1'(u_dut.out_q[c] + ends[c][0]));
          assert (pair || !u_dut.in_q[c].half);
          assert (codes_addr[c][6:0] == '0 && scales_addr[c][6:0] == '0);
          assert (index[c] == aligned(index[c], c == 0 || pair, two));
        end
      end
      for (int c = 0; c < 2; c++) begin
        assert (u_dut.filled_q[c] <= 2'(SLOTS) && 3'(u_dut.filled_q[c]) == 3'(u_dut.waiting_q[c]) + ends[c]);
      end
      if (!job) assert (!u_dut.busy_q && u_dut.filled_q == '0 && !dat_valid);
      assert (sane && queued <= 3'd4 && owed == 5'(dat_valid) + beats_queued - 5'(u_dut.beat_q));
      if (queued == '0) assert (u_dut.beat_q == '0);
      assert (tail_ends || u_dut.busy_q);
      if (u_dut.busy_q) begin
        assert (u_dut.waiting_q[copy] != '0 && units <= 3'd4 && at == aligned(at, joined, two));
        if (u_dut.scales_q) begin
          assert (units != '0 && 3'(u_dut.first_q) < units);
          assert (u_dut.addr_q == scales_addr[copy] + {3'd0, at, 4'd0});
          assert (codes_asked == (joined ? units : 3'(u_dut.first_q) + 3'd1));
          assert (scales_asked == (joined ? 3'd0 : 3'(u_dut.first_q)));
        end else if (units != '0) begin
          assert (u_dut.addr_q == codes_addr[copy] + {at + (joined ? 33'(u_dut.first_q) : 33'd0), 7'd0} && at == index[copy]);
          assert (3'(u_dut.first_q) < units && scales_asked == (joined ? 3'd0 : 3'(u_dut.first_q)));
          assert (codes_asked == 3'(u_dut.first_q));
        end else begin
          assert ({codes_asked, scales_asked} == '0);
        end
      end else begin
        assert ({u_dut.scales_q, u_dut.first_q, codes_asked, scales_asked} == '0);
      end

      cover (strip_end && left == 18'd1 && units == 3'd3);
      cover (ask && joined && !pair && codes_asked == 3'd2 && codes_next && units == 3'd4);
      cover (ask_end && copy && !pair && units == 3'd4 && queued == 3'd3);
      cover (ask_end && pair && units == '0);
    end
  end
endmodule
