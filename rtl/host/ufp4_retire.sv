// SPDX-License-Identifier: Apache-2.0
// Records how the jobs under way have ended, and writes their completions in the order of the ring.
//
// Contract: a job enters with enter_i under the tag enter_tag_i (its ring index modulo 16; at most
// 16 are inside). It is either done already (enter_done_i, with its status), or engine e finishes
// it later with finish_i[e]. done_o has a bit per tag for the jobs inside. head_o is the ring index
// of the oldest one, and advances when memory has answered the write of its completion. A status
// other than ok raises irq_error_o, and so does an error of that write, because there is no other
// place to report it.
// Spec: docs/ip/registers.md "Completion". Test: tests/rtl/core. Timed model:
// sim/src/timing/host/command.
module ufp4_retire
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned BusBytes = 64
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  logic [ADDR_BITS-1:0]             completion_base_i,
  input  logic [3:0]                       ring_log2_i,

  input  logic                             enter_i,
  input  logic [3:0]                       enter_tag_i,
  input  logic [31:0]                      enter_job_i,
  input  logic                             enter_irq_i,
  input  logic                             enter_done_i,
  input  logic [15:0]                      enter_status_i,

  input  logic [1:0]                       finish_i,
  input  logic [1:0][3:0]                  finish_tag_i,
  input  logic [1:0][15:0]                 finish_status_i,
  input  logic [1:0][2:0]                  finish_flags_i,
  input  logic [1:0][63:0]                 finish_cycles_i,

  output logic [31:0]                      head_o,
  output logic [15:0]                      done_o,
  output logic                             retire_o,  // high for one cycle per completed job
  output logic                             irq_done_o,
  output logic                             irq_error_o,

  output ufp4_memory_pkg::request_t        wr_req_o,
  input  ufp4_memory_pkg::write_response_t wr_rsp_i,
  output logic                             wr_dat_valid_o,
  output logic [8*BusBytes-1:0]            wr_dat_data_o,
  output logic [BusBytes-1:0]              wr_dat_strb_o
);

  // A completion is one beat, or two on a bus of 8 bytes.
  localparam int unsigned DONE_BEATS = (BusBytes < COMPLETION_BYTES) ? COMPLETION_BYTES / BusBytes : 1;
  localparam int unsigned BEAT_W = $clog2(BusBytes);
  localparam logic [ADDR_BITS-1:0] BUS_MASK = (ADDR_BITS'(1) << BEAT_W) - ADDR_BITS'(1);
  localparam int unsigned COMPLETION_W = $clog2(COMPLETION_BYTES);
  localparam int unsigned STATUS_W = $clog2(CORE_STATUS_CANCELLED + 1);

  // --- Jobs under way ----------------------------------------------------------------------------

  // How an engine ended a job.
  typedef struct packed {
    logic [STATUS_W-1:0] status;
    logic [2:0]          flags;
    logic [63:0]         cycles;
  } ending_t;

  logic [15:0]         done_d, done_q, irq_q;
  logic [15:0]         ended_q;         // an engine has ended the job, so its ending is in ending_q
  logic [31:0]         job_q    [16];
  logic [STATUS_W-1:0] entered_q [16];  // status of a job that was done when it entered
  ending_t             ending_q [16];
  ending_t             ending;          // ending of the oldest job
  logic [31:0]         head_d, head_q;
  logic [3:0]          at;

  logic unused;
  assign unused = ^{enter_status_i, finish_status_i, wr_rsp_i.answer};

  assign at     = head_q[3:0];
  assign head_o = head_q;
  assign done_o = done_q;

  always_comb begin
    done_d = done_q;
    if (retire_o) done_d[at] = 1'b0;
    if (enter_i) done_d[enter_tag_i] = enter_done_i;
    for (int unsigned e = 0; e < 2; e++) begin
      if (finish_i[e]) done_d[finish_tag_i[e]] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) done_q <= '0;
    else done_q <= done_d;
  end

  // Each array has one write port, so that it can be a memory. If two jobs end at once, the ending
  // of the second is written a cycle later, before it is read.
  logic       wait_d, wait_q;
  logic [3:0] wait_tag_q;
  ending_t    wait_ending_q;
  ending_t [1:0] finished;

  for (genvar e = 0; e < 2; e++) begin : gen_finished
    assign finished[e] = '{status: STATUS_W'(finish_status_i[e]), flags: finish_flags_i[e], cycles: finish_cycles_i[e]};
  end
  assign wait_d = &finish_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) wait_q <= 1'b0;
    else wait_q <= wait_d;
    wait_tag_q    <= finish_tag_i[1];
    wait_ending_q <= finished[1];
    if (wait_q || finish_i != '0) begin
      ending_q[wait_q ? wait_tag_q : finish_tag_i[!finish_i[0]]] <= wait_q ? wait_ending_q : finished[!finish_i[0]];
    end
  end

  always_ff @(posedge clk_i) begin
    if (enter_i) begin
      job_q[enter_tag_i]     <= enter_job_i;
      entered_q[enter_tag_i] <= STATUS_W'(enter_status_i);
      irq_q[enter_tag_i]     <= enter_irq_i;
      ended_q[enter_tag_i]   <= 1'b0;
    end
    for (int unsigned e = 0; e < 2; e++) begin
      if (finish_i[e]) ended_q[finish_tag_i[e]] <= 1'b1;
    end
  end

  assign ending = ended_q[at] ? ending_q[at] : '{status: entered_q[at], flags: '0, cycles: '0};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && wait_q) assert (finish_i == '0) else $error("an engine has ended a second job at once");
  end
`endif

  // --- Completions -------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    StateIdle,       // waits until the oldest job is done
    StateComplete,   // offers the completion and its beats
    StateRetire      // waits for the answer of memory
  } state_e;

  state_e               state_d, state_q;
  logic [1:0]           beat_d, beat_q;
  logic                 req_sent_d, req_sent_q, write_err_d, write_err_q;
  completion_t          completion;
  logic [14:0]          ring_index, ring_mask_q;
  logic [19:0]          address_low;
  logic [ADDR_BITS-1:0] completion_addr;

  // This register is right in time: the length of the ring is set long before its first job.
  always_ff @(posedge clk_i) ring_mask_q <= ~(15'h7FFF << ring_log2_i);
  assign ring_index      = head_q[14:0] & ring_mask_q;
  assign completion      = '{job: job_q[at], status: 16'(ending.status), flags: 16'(ending.flags),
                             cycles: ending.cycles};
  // The address is computed in two parts, ahead of the request.
  assign address_low     = 20'(completion_base_i[18:0]) + (20'(ring_index) << COMPLETION_W);
  always_ff @(posedge clk_i) begin
    completion_addr <= {completion_base_i[ADDR_BITS-1:19] + 21'(address_low[19]), address_low[18:0]};
  end

  assign wr_req_o = '{valid: state_q == StateComplete && !req_sent_q, addr: completion_addr & ~BUS_MASK,
                      beats: 9'(DONE_BEATS)};
  assign wr_dat_valid_o = state_q == StateComplete && beat_q != 2'(DONE_BEATS);

  if (BusBytes < COMPLETION_BYTES) begin : gen_narrow
    assign wr_dat_data_o = beat_q[0] ? completion[127:64] : completion[63:0];
    assign wr_dat_strb_o = '1;
  end else begin : gen_wide
    // The strobes select the place in the beat.
    assign wr_dat_data_o = {BusBytes / COMPLETION_BYTES{completion}};
    assign wr_dat_strb_o = BusBytes'({COMPLETION_BYTES{1'b1}}) << completion_addr[BEAT_W-1:0];
  end

  assign retire_o    = state_q == StateRetire && wr_rsp_i.idle;
  assign irq_done_o  = retire_o && irq_q[at];
  assign irq_error_o = retire_o && (ending.status != '0 || write_err_q || wr_rsp_i.err);

  always_comb begin
    state_d     = state_q;
    head_d      = head_q;
    beat_d      = beat_q;
    req_sent_d  = req_sent_q;
    write_err_d = write_err_q || wr_rsp_i.err;
    unique case (state_q)
      StateIdle: begin
        beat_d      = '0;
        req_sent_d  = 1'b0;
        write_err_d = 1'b0;
        if (done_q[at]) state_d = StateComplete;
      end
      StateComplete: begin
        if (wr_req_o.valid && wr_rsp_i.req_ready) req_sent_d = 1'b1;
        if (wr_dat_valid_o && wr_rsp_i.dat_ready) beat_d = beat_q + 2'd1;
        if (req_sent_q && beat_q == 2'(DONE_BEATS)) state_d = StateRetire;
      end
      StateRetire: if (wr_rsp_i.idle) begin
        head_d  = head_q + 32'd1;
        state_d = StateIdle;
      end
      default: state_d = StateIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StateIdle;
      head_q  <= '0;
    end else begin
      state_q <= state_d;
      head_q  <= head_d;
    end
  end

  always_ff @(posedge clk_i) begin
    beat_q      <= beat_d;
    req_sent_q  <= req_sent_d;
    write_err_q <= write_err_d;
  end

endmodule
