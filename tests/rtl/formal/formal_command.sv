// SPDX-License-Identifier: Apache-2.0
// ufp4_command with any descriptors in the ring, up to eight, engines that work for up to six
// cycles, and a memory that answers within two: order, dependences, completions, and absence of
// deadlock. The module below replaces the unit that fetches and checks descriptors; exponents come
// from the descriptor, not from slots. Bounded: all behaviours within the depth.
module ufp4_front
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned BusBytes = 128,
  parameter int unsigned Contract = 0,  // there are no checks here
  parameter int unsigned Formats = 0,
  parameter int unsigned Quant = 16,
  parameter bit Mixed = 1'b0
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic [ADDR_BITS-1:0]            ring_base_i,
  input  logic [3:0]                      ring_log2_i,
  input  logic [31:0]                     ring_tail_i,
  output logic [31:0]                     next_o,
  output logic                            busy_o,
  output logic                            job_valid_o,
  input  logic                            job_ready_i,
  output logic [8*DESCRIPTOR_BYTES-1:0]   job_desc_o,
  output logic [15:0]                     job_status_o,
  output logic                            job_lost_o,
  output ufp4_memory_pkg::request_t       rd_req_o,
  input  ufp4_memory_pkg::read_response_t rd_rsp_i,
  output logic                            rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]           rd_rsp_data_i
);
  // There is a job whenever rd_rsp_i.valid says so; it is lost if rd_rsp_i has an error, and refused
  // if bit 1023 of the descriptor is set.
  logic [31:0] next_q;
  logic valid_q, lost_q;
  logic [8*DESCRIPTOR_BYTES-1:0] desc_q;
  assign {rd_req_o, rd_rsp_ready_o} = '0;
  assign {next_o, busy_o, job_valid_o, job_desc_o, job_lost_o} = {next_q, valid_q, valid_q, desc_q, lost_q};
  assign job_status_o = lost_q ? CORE_STATUS_READ_ERROR : desc_q[1023] ? CORE_STATUS_BAD_SIZE : CORE_STATUS_OK;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_q <= '0;
      valid_q <= 1'b0;
    end else if (valid_q) begin
      valid_q <= !job_ready_i;
      next_q <= next_q + 32'(job_ready_i);
    end else begin
      valid_q <= rd_rsp_i.valid && next_q != ring_tail_i;
    end
    if (!valid_q) {desc_q, lost_q} <= {rd_rsp_data_i, rd_rsp_i.err};
  end
endmodule

module formal_command
  import ufp4_spec_pkg::*;
(
  input logic        clk_i,
  input logic [7:0]  opcode_i,
  input logic [7:0]  flags_i,
  input logic [7:0]  after_i,
  input logic [7:0]  panels_i,
  input logic [7:0]  job_i,
  input logic        refused_i,
  input logic        lost_i,
  input logic        fetched_i,
  input logic [1:0]  start_ready_i,
  input logic [1:0]  done_i,
  input logic [1:0]  read_error_i,
  input logic [1:0]  write_error_i,
  input logic [1:0]  memory_error_i,
  input logic        req_ready_i,
  input logic        dat_ready_i,
  input logic        idle_i
);
  localparam int unsigned SLOW = 2;        // cycles until memory answers, or an engine takes a job
  localparam int unsigned WORK = 6;        // cycles of a job in an engine
  localparam int unsigned STILL = 10;      // cycles without progress that can only be a deadlock
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [31:0] head;
  logic active, retire, req_valid, dat_valid;
  logic [1:0] start_valid, held;
  logic [39:0] addr;
  logic [1023:0] data;
  ufp4_memory_pkg::request_t wr_req;
  assign {req_valid, addr} = {wr_req.valid, wr_req.addr};
  ufp4_command #(.BusBytes(128)) u_dut (
    .clk_i,
    .rst_ni(rst_n),
    .ring_base_i('0),
    .ring_log2_i(4'd3),
    .ring_tail_i(32'd8),
    .completion_base_i('0),
    .head_o(head),
    .active_o(active),
    .quant_running_o(),
    .retire_o(retire),
    .irq_done_o(),
    .irq_error_o(),
    .slot_index_o(),
    .slot_valid_i('1),
    .slot_exponent_i('0),
    .slot_write_o(),
    .slot_write_exponent_o(),
    .gemm_desc_o(),
    .gemm_a_exponent_o(),
    .gemm_b_exponent_o(),
    .gemm_panels_held_o(held),
    .gemm_start_valid_o(start_valid[0]),
    .gemm_start_ready_i(start_ready_i[0]),
    .gemm_done_valid_i(done_i[0]),
    .gemm_done_read_error_i(read_error_i[0]),
    .gemm_done_write_error_i(write_error_i[0]),
    .gemm_done_memory_error_i(memory_error_i[0]),
    .quant_desc_o(),
    .quant_row_exponent_o(),
    .quant_col_exponent_o(),
    .quant_start_valid_o(start_valid[1]),
    .quant_start_ready_i(start_ready_i[1]),
    .quant_done_valid_i(done_i[1]),
    .quant_done_read_error_i(read_error_i[1]),
    .quant_done_write_error_i(write_error_i[1]),
    .quant_done_memory_error_i(memory_error_i[1]),
    .quant_done_flags_i('0),
    .quant_done_row_exponent_i('0),
    .quant_done_col_exponent_i('0),
    .rd_req_o(),
    .rd_rsp_i('{req_ready: 1'b1, valid: fetched_i, err: lost_i}),
    .rd_rsp_ready_o(),
    .rd_rsp_data_i({refused_i, 959'd0, 24'd0, job_i, panels_i, after_i, flags_i, opcode_i}),
    .wr_req_o(wr_req),
    .wr_rsp_i('{req_ready: req_ready_i, dat_ready: dat_ready_i, idle: idle_i, err: 1'b0, answer: 1'b0}),
    .wr_dat_valid_o(dat_valid),
    .wr_dat_data_o(data),
    .wr_dat_strb_o()
  );

  // The state of each job, by its place in the ring: its kind and its progress.
  logic [7:0] entered, engine, gemm, alone, started, done;
  logic [7:0][3:0] after, panel_a, panel_b;
  logic [7:0][7:0] number;
  logic [7:0][15:0] status;
  logic [2:0] place;
  logic [1:0][2:0] at;
  logic [1:0] busy, fire;
  logic [1:0][2:0] slow;
  logic [1:0] reference_req, reference_dat, reference_idle;
  logic [3:0] still;
  logic stepped;
  // The latest QUANT job, whose row groups are counted; the panels of the GEMM; both as they were a
  // cycle ago.
  logic counting, gemm_before;
  logic [2:0] counted;
  logic [1:0] held_before;
  logic [1:0][3:0] panel;
  assign place = u_dut.next[2:0];
  assign fire = start_valid & start_ready_i;
  for (genvar e = 0; e < 2; e++) begin : gen_at
    assign at[e] = u_dut.tag[e][2:0];
  end
  assign panel = {panel_b[at[0]], panel_a[at[0]]};
  assign stepped = u_dut.job_ready || retire || fire != '0 || done_i != '0;

  // The dependence of job j on the job d places earlier is met by the jobs in `met`.
  function automatic logic is_met(logic [3:0] d, logic [2:0] j, logic [7:0] met);
    return d == '0 || d > 4'(j) || met[j - d[2:0]];
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {entered, started, done} <= '0;
      {busy, slow, reference_req, reference_dat, reference_idle, still} <= '0;
      {counting, gemm_before, held_before} <= '0;
    end else begin
      if (fire[1]) {counting, counted} <= {1'b1, at[1]};
      gemm_before <= busy[0] && !done_i[0];
      held_before <= held;
      if (u_dut.job_ready) begin
        entered[place] <= 1'b1;
        engine[place] <= u_dut.to_engine;
        gemm[place] <= u_dut.header.opcode == OPCODE_GEMM;
        alone[place] <= !u_dut.overlap;
        {after[place], panel_b[place], panel_a[place]} <= {u_dut.header.after[3:0], u_dut.header.panels};
        number[place] <= u_dut.job_lost ? 8'd0 : u_dut.header.job[7:0];
        status[place] <= u_dut.job_status;
        done[place] <= !u_dut.to_engine;
      end
      for (int e = 0; e < 2; e++) begin
        if (fire[e]) {started[at[e]], busy[e]} <= 2'b11;
        if (done_i[e]) begin
          {done[at[e]], busy[e]} <= 2'b10;
          status[at[e]] <= read_error_i[e] ? CORE_STATUS_READ_ERROR : write_error_i[e] ? CORE_STATUS_WRITE_ERROR :
                           memory_error_i[e] ? CORE_STATUS_MEMORY_ERROR : '0;
        end
        slow[e] <= (busy[e] || start_valid[e]) && !fire[e] && !done_i[e] ? slow[e] + 3'd1 : 3'd0;
      end
      reference_req <= req_valid && !req_ready_i ? reference_req + 2'd1 : 2'd0;
      reference_dat <= dat_valid && !dat_ready_i ? reference_dat + 2'd1 : 2'd0;
      reference_idle <= !idle_i ? reference_idle + 2'd1 : 2'd0;
      still <= stepped || !active ? 4'd0 : still + 4'(still != 4'd15);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume ((done_i & ~busy) == '0);
      for (int e = 0; e < 2; e++) begin
        if (slow[e] == 3'(WORK - 1) && busy[e]) assume (done_i[e]);
        if (slow[e] == 3'(SLOW - 1) && start_valid[e]) assume (start_ready_i[e]);
      end
      if (reference_req == 2'(SLOW - 1)) assume (req_ready_i);
      if (reference_dat == 2'(SLOW - 1)) assume (dat_ready_i);
      if (reference_idle == 2'(SLOW - 1)) assume (idle_i);

      for (int e = 0; e < 2; e++) begin
        if (fire[e]) begin
          // It is a job of this engine, started once, and after the earlier jobs of its engine.
          assert (entered[at[e]] && engine[at[e]] && gemm[at[e]] == (e == 0) && !started[at[e]] && !busy[e]);
          for (int j = 0; j < 8; j++) begin
            if (3'(j) < at[e]) assert (done[j] || !engine[j] || gemm[j] != gemm[at[e]]);
            // A job without `overlap` runs alone.
            if (3'(j) < at[e] && alone[at[e]]) assert (done[j]);
          end
          // Its dependences are done, or, for panels, at least started.
          assert (is_met(after[at[e]], at[e], done));
          assert (is_met(panel_a[at[e]], at[e], done | started) && is_met(panel_b[at[e]], at[e], done | started));
        end
      end
      // The GEMM treats panels as complete only when all of them are written, and from then on.
      if (busy[0] && !held[0]) assert (is_met(panel_a[at[0]], at[0], done));
      if (busy[0] && !held[1]) assert (is_met(panel_b[at[0]], at[0], done));
      if (busy[0]) assert (held == ~u_dut.u_issue_gemm.panels_done);
      // While it waits for panels, those of the job that it names are counted. It waits from its
      // start on or not at all, and no other QUANT starts meanwhile.
      for (int i = 0; i < 2; i++) begin
        if ((busy[0] || fire[0]) && held[i]) begin
          assert (counting && panel[i] != '0 && counted == at[0] - panel[i][2:0] && !fire[1]);
          assert (!gemm_before || held_before[i]);
        end
      end
      // A completion is written and counted only for a job that is done, in order, with its number
      // and status.
      if (req_valid) assert (addr == '0 && entered[head[2:0]] && done[head[2:0]]);
      if (dat_valid) assert (data[31:0] == 32'(number[head[2:0]]) && data[47:32] == status[head[2:0]]);
      if (retire) assert (entered[head[2:0]] && done[head[2:0]]);
      assert (head <= u_dut.next && u_dut.next <= 32'd8);
      if (!active) assert (head == u_dut.next);
      // Progress never stops.
      assert (still < 4'(STILL));
      cover (fire[0] && held[0] && busy[1] && panel_a[at[0]] != '0);
      cover (busy[0] && gemm_before && held_before[1] && !held[1]);
      cover (u_dut.finish == 2'b11);
      cover (retire && started[1:0] == 2'b11);
      cover (retire && status[head[2:0]] == CORE_STATUS_WRITE_ERROR);
    end
  end
endmodule
