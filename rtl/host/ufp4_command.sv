// SPDX-License-Identifier: Apache-2.0
// Command unit: fetches descriptors from the ring, checks them, dispatches them to the engines, and
// writes completions.
//
// Contract: jobs are fetched, and completed, in the order of the ring; the jobs of one engine also
// run in that order. A job without the flag `overlap`, and every fence, starts when all earlier
// jobs are done; a job with the flag starts when the jobs that it names allow it (ufp4_issue). A
// job waits only for earlier ones, so the oldest unfinished job can always proceed, and no graph of
// jobs deadlocks. A descriptor that breaks a rule starts nothing: its completion carries the lowest
// status that applies, and the next job runs. A descriptor whose fetch failed on the bus completes
// as job 0 with read_error. The cycles of a completion count from the cycle after an engine took
// the job to the cycle in which it was done, inclusive; 0 if no engine ran. Flags and exponent
// slots are given only with status ok.
// Spec: docs/ip/registers.md, docs/ip/architecture.md "Command unit". Golden:
// drivers/backends/model.
// Test: tests/rtl/core. Timed model: sim/src/timing/core.
module ufp4_command
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Contract = 32'(CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(FORMATS_ALL),
  parameter int unsigned Quant = 16,
  parameter bit Mixed = 1'b0
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  // Ring
  input  logic [ADDR_BITS-1:0]             ring_base_i,
  input  logic [3:0]                       ring_log2_i,
  input  logic [31:0]                      ring_tail_i,
  input  logic [ADDR_BITS-1:0]             completion_base_i,
  output logic [31:0]                      head_o,
  output logic                             active_o,            // there is a job
  output logic                             quant_running_o,     // the QUANT engine is running
  output logic                             retire_o,            // high for one cycle per completed job
  output logic                             irq_done_o,
  output logic                             irq_error_o,

  // Exponent slots (0: GEMM, 1: QUANT, which also writes)
  output logic [1:0][5:0]                  slot_index_o,
  input  logic [1:0]                       slot_valid_i,
  input  logic [1:0][15:0]                 slot_exponent_i,
  output logic                             slot_write_o,
  output logic [15:0]                      slot_write_exponent_o,

  // Engines
  output gemm_descriptor_t                 gemm_desc_o,
  output logic [15:0]                      gemm_a_exponent_o,
  output logic [15:0]                      gemm_b_exponent_o,
  output logic [1:0]                       gemm_panels_held_o,  // A (0) and B (1): only panels that QUANT has finished
  output logic                             gemm_start_valid_o,
  input  logic                             gemm_start_ready_i,
  input  logic                             gemm_done_valid_i,
  input  logic                             gemm_done_read_error_i,
  input  logic                             gemm_done_write_error_i,
  input  logic                             gemm_done_memory_error_i,
  output quant_descriptor_t                quant_desc_o,
  output logic [15:0]                      quant_row_exponent_o,
  output logic [15:0]                      quant_col_exponent_o,
  output logic                             quant_start_valid_o,
  input  logic                             quant_start_ready_i,
  input  logic                             quant_done_valid_i,
  input  logic                             quant_done_read_error_i,
  input  logic                             quant_done_write_error_i,
  input  logic                             quant_done_memory_error_i,
  input  logic [2:0]                       quant_done_flags_i,
  input  logic [15:0]                      quant_done_row_exponent_i,
  input  logic [15:0]                      quant_done_col_exponent_i,

  // Memory
  output ufp4_memory_pkg::request_t        rd_req_o,
  input  ufp4_memory_pkg::read_response_t  rd_rsp_i,
  output logic                             rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]            rd_rsp_data_i,
  output ufp4_memory_pkg::request_t        wr_req_o,
  input  ufp4_memory_pkg::write_response_t wr_rsp_i,
  output logic                             wr_dat_valid_o,
  output logic [8*BusBytes-1:0]            wr_dat_data_o,
  output logic [BusBytes-1:0]              wr_dat_strb_o
);

  localparam int unsigned GEMM = 0;
  localparam int unsigned QUANT = 1;
  localparam int unsigned FLAG_IRQ = 0;
  localparam int unsigned FLAG_OVERLAP = 1;
  localparam logic [4:0] WINDOW = 5'd16;

  // --- The next job ------------------------------------------------------------------------------

  logic [31:0]                   next;
  logic                          front_busy, job_valid, job_ready, job_lost;
  logic [8*DESCRIPTOR_BYTES-1:0] job_desc;
  logic [15:0]                   job_status;
  header_descriptor_t            header;

  ufp4_front #(
    .BusBytes(BusBytes),
    .Contract(Contract),
    .Formats(Formats),
    .Quant(Quant),
    .Mixed(Mixed)
  ) u_front (
    .clk_i,
    .rst_ni,
    .ring_base_i,
    .ring_log2_i,
    .ring_tail_i,
    .next_o      (next),
    .busy_o      (front_busy),
    .job_valid_o (job_valid),
    .job_ready_i (job_ready),
    .job_desc_o  (job_desc),
    .job_status_o(job_status),
    .job_lost_o  (job_lost),
    .rd_req_o,
    .rd_rsp_i,
    .rd_rsp_ready_o,
    .rd_rsp_data_i
  );

  assign header = job_desc[$bits(header_descriptor_t)-1:0];

  // --- Dispatch ----------------------------------------------------------------------------------

  logic [1:0]       job_is, give, lane_ready, running, started, finish;
  logic [1:0][3:0]  tag;
  logic [1:0][15:0] finish_status;
  logic [1:0][2:0]  finish_flags;
  logic [1:0][63:0] finish_cycles;
  logic [15:0]      done;
  logic [31:0]      head;
  logic [4:0]       undone_d, undone_q;   // jobs given to ufp4_issue and not finished
  logic [4:0]       window;
  logic             may_enter, to_engine, overlap;

  assign job_is[GEMM]  = header.opcode == OPCODE_GEMM;
  assign job_is[QUANT] = header.opcode == OPCODE_QUANT || header.opcode == OPCODE_AMAX;
  assign to_engine     = job_status == CORE_STATUS_OK && job_is != '0;
  assign overlap       = job_is != '0 && header.flags[FLAG_OVERLAP];
  // next and head are never more than WINDOW apart.
  assign window        = next[4:0] - head[4:0];
  assign may_enter     = job_valid && window < WINDOW && (overlap || undone_q == '0);
  assign give          = job_is & {2{may_enter && to_engine}};
  assign job_ready     = may_enter && (!to_engine || (job_is & lane_ready) != '0);
  assign undone_d      = undone_q + 5'(job_ready && to_engine) - 5'(finish[GEMM]) - 5'(finish[QUANT]);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) undone_q <= '0;
    else undone_q <= undone_d;
  end

  assign head_o          = head;
  assign active_o        = front_busy || next != head;
  assign quant_running_o = running[QUANT];

  // --- Engines -----------------------------------------------------------------------------------

  logic [1:0]  unused_panels;
  logic        unused_gemm_write, unused_running;
  logic [15:0] unused_gemm_exponent;

  assign unused_running = running[GEMM];

  ufp4_issue #(
    .Gemm(1'b1)
  ) u_issue_gemm (
    .clk_i,
    .rst_ni,
    .job_valid_i          (give[GEMM]),
    .job_ready_o          (lane_ready[GEMM]),
    .job_desc_i           (job_desc),
    .job_tag_i            (next[3:0]),
    .head_i               (head[3:0]),
    .done_i               (done),
    .other_running_i      (started[QUANT]),
    .other_tag_i          (tag[QUANT]),
    .other_finish_i       (finish[QUANT]),
    .slot_index_o         (slot_index_o[GEMM]),
    .slot_valid_i         (slot_valid_i[GEMM]),
    .slot_exponent_i      (slot_exponent_i[GEMM]),
    .slot_write_o         (unused_gemm_write),
    .slot_write_exponent_o(unused_gemm_exponent),
    .desc_o               (gemm_desc_o),
    .a_exponent_o         (gemm_a_exponent_o),
    .b_exponent_o         (gemm_b_exponent_o),
    .panels_held_o        (gemm_panels_held_o),
    .start_valid_o        (gemm_start_valid_o),
    .start_ready_i        (gemm_start_ready_i),
    .done_valid_i         (gemm_done_valid_i),
    .done_read_error_i    (gemm_done_read_error_i),
    .done_write_error_i   (gemm_done_write_error_i),
    .done_memory_error_i   (gemm_done_memory_error_i),
    .done_flags_i         ('0),
    .done_row_exponent_i  ('0),
    .done_col_exponent_i  ('0),
    .running_o            (running[GEMM]),
    .started_o            (started[GEMM]),
    .tag_o                (tag[GEMM]),
    .finish_o             (finish[GEMM]),
    .finish_status_o      (finish_status[GEMM]),
    .finish_flags_o       (finish_flags[GEMM]),
    .finish_cycles_o      (finish_cycles[GEMM])
  );

  ufp4_issue #(
    .Gemm(1'b0)
  ) u_issue_quant (
    .clk_i,
    .rst_ni,
    .job_valid_i          (give[QUANT]),
    .job_ready_o          (lane_ready[QUANT]),
    .job_desc_i           (job_desc),
    .job_tag_i            (next[3:0]),
    .head_i               (head[3:0]),
    .done_i               (done),
    .other_running_i      (started[GEMM]),
    .other_tag_i          (tag[GEMM]),
    .other_finish_i       (finish[GEMM]),
    .slot_index_o         (slot_index_o[QUANT]),
    .slot_valid_i         (slot_valid_i[QUANT]),
    .slot_exponent_i      (slot_exponent_i[QUANT]),
    .slot_write_o         (slot_write_o),
    .slot_write_exponent_o(slot_write_exponent_o),
    .desc_o               (quant_desc_o),
    .a_exponent_o         (quant_row_exponent_o),
    .b_exponent_o         (quant_col_exponent_o),
    .panels_held_o        (unused_panels),
    .start_valid_o        (quant_start_valid_o),
    .start_ready_i        (quant_start_ready_i),
    .done_valid_i         (quant_done_valid_i),
    .done_read_error_i    (quant_done_read_error_i),
    .done_write_error_i   (quant_done_write_error_i),
    .done_memory_error_i   (quant_done_memory_error_i),
    .done_flags_i         (quant_done_flags_i),
    .done_row_exponent_i  (quant_done_row_exponent_i),
    .done_col_exponent_i  (quant_done_col_exponent_i),
    .running_o            (running[QUANT]),
    .started_o            (started[QUANT]),
    .tag_o                (tag[QUANT]),
    .finish_o             (finish[QUANT]),
    .finish_status_o      (finish_status[QUANT]),
    .finish_flags_o       (finish_flags[QUANT]),
    .finish_cycles_o      (finish_cycles[QUANT])
  );

  // --- Completions -------------------------------------------------------------------------------

  ufp4_retire #(
    .BusBytes(BusBytes)
  ) u_retire (
    .clk_i,
    .rst_ni,
    .completion_base_i,
    .ring_log2_i,
    .enter_i        (job_ready),
    .enter_tag_i    (next[3:0]),
    .enter_job_i    (job_lost ? 32'd0 : header.job),
    .enter_irq_i    (header.flags[FLAG_IRQ] && !job_lost),
    .enter_done_i   (!to_engine),
    .enter_status_i (job_status),
    .finish_i       (finish),
    .finish_tag_i   (tag),
    .finish_status_i(finish_status),
    .finish_flags_i (finish_flags),
    .finish_cycles_i(finish_cycles),
    .head_o         (head),
    .done_o         (done),
    .retire_o,
    .irq_done_o,
    .irq_error_o,
    .wr_req_o,
    .wr_rsp_i,
    .wr_dat_valid_o,
    .wr_dat_data_o,
    .wr_dat_strb_o
  );

  // Other units read the remaining fields.
  logic unused;
  assign unused = ^header;

endmodule
