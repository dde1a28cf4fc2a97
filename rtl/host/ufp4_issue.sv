// SPDX-License-Identifier: Apache-2.0
// Runs the jobs of one engine: holds a waiting job beside the running one, waits for dependencies,
// resolves exponent slots, starts the engine, and reports how the job ended.
//
// Contract: jobs run in the order in which they are given. A job starts when the job that `after`
// names is done and the jobs that `panels` names have at least started; while it runs,
// panels_held_o says for A (bit 0) and B (bit 1) that it may use only the row groups that
// ufp4_quant_progress has counted. A distance d names the job d places earlier in the ring; 0, or a
// job whose completion is already written, is no dependency. finish_o is a pulse with finish_*;
// tags are ring indices modulo WINDOW. If AMAX names one slot twice, the exponent of the column
// copy remains.
// Latency: four cycles from finish_o of a job to start_valid_o of the next.
// Spec: docs/ip/architecture.md "Dependencies". Test: tests/rtl/core. Timed model:
// sim/src/timing/host/command.
module ufp4_issue
  import ufp4_spec_pkg::*;
#(
  parameter bit Gemm = 1'b0,
  localparam int unsigned DescW = 8 * DESCRIPTOR_BYTES
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              job_valid_i,
  output logic              job_ready_o,
  input  logic [DescW-1:0]  job_desc_i,
  input  logic [3:0]        job_tag_i,

  // Other jobs
  input  logic [3:0]        head_i,            // tag of the oldest job whose completion is not written
  input  logic [15:0]       done_i,            // done flags by tag, of the jobs from head_i on
  input  logic              other_running_i,   // the job of the other engine has started and is not done
  input  logic [3:0]        other_tag_i,
  input  logic              other_finish_i,    // that job is done from the next cycle on

  output logic [5:0]        slot_index_o,
  input  logic              slot_valid_i,
  input  logic [15:0]       slot_exponent_i,
  output logic              slot_write_o,
  output logic [15:0]       slot_write_exponent_o,

  output logic [DescW-1:0]  desc_o,
  output logic [15:0]       a_exponent_o,      // QUANT: exponent of the row copy
  output logic [15:0]       b_exponent_o,      // QUANT: exponent of the column copy
  output logic [1:0]        panels_held_o,
  output logic              start_valid_o,
  input  logic              start_ready_i,
  input  logic              done_valid_i,
  input  logic              done_read_error_i,
  input  logic              done_write_error_i,
  input  logic              done_memory_error_i,
  input  logic [2:0]        done_flags_i,
  input  logic [15:0]       done_row_exponent_i,
  input  logic [15:0]       done_col_exponent_i,

  output logic              running_o,         // the engine is at work
  output logic              started_o,         // from the start until the job is done, stores of AMAX included
  output logic [3:0]        tag_o,
  output logic              finish_o,
  output logic [15:0]       finish_status_o,
  output logic [2:0]        finish_flags_o,
  output logic [63:0]       finish_cycles_o
);

  typedef enum logic [3:0] {
    StateEmpty,      // waits for a job
    StateWait,       // waits for the jobs that it depends on
    StateSlotA,      // resolves the exponent of A or the row copy
    StateSlotB,      // resolves the exponent of B or the column copy
    StateStart,      // offers the job to the engine
    StateRun,        // waits for the engine
    StateStoreA,     // AMAX writes its results into the slots
    StateStoreB,
    StateFinish      // reports how the job ended
  } state_e;

  state_e           state_d, state_q;
  logic             next_valid_d, next_valid_q, load;
  logic [DescW-1:0] next_desc_q, desc_q;
  logic [3:0]       next_tag_q, tag_q;
  logic [15:0]      status_d, status_q, a_exponent_d, a_exponent_q, b_exponent_d, b_exponent_q;
  logic [2:0]       flags_d, flags_q;
  logic [63:0]      cycles;

  header_descriptor_t header;
  quant_descriptor_t  quant;
  gemm_descriptor_t   gemm;
  logic               is_amax;

  assign header  = desc_q[$bits(header_descriptor_t)-1:0];
  assign quant   = desc_q;
  assign gemm    = desc_q;
  assign is_amax = !Gemm && header.opcode == OPCODE_AMAX;

  // Other units read the remaining fields.
  logic unused;
  assign unused = ^{header, quant, gemm};

  // --- Dependencies ------------------------------------------------------------------------------

  // The job `distance` places earlier is done; every job before head_i is.
  function automatic logic is_done(logic [3:0] distance, logic [3:0] tag, logic [3:0] head, logic [15:0] done);
    return distance == '0 || distance > tag - head || done[tag - distance];
  endfunction

  logic       after_done;
  logic [1:0] panels_done, panels_started, named;  // named: panels names the job of the other engine

  assign after_done     = is_done(header.after[3:0], tag_q, head_i, done_i);
  assign panels_done[0] = is_done(header.panels[3:0], tag_q, head_i, done_i);
  assign panels_done[1] = is_done(header.panels[7:4], tag_q, head_i, done_i);

  for (genvar i = 0; i < 2; i++) begin : gen_panels
    assign named[i]          = other_tag_i == tag_q - header.panels[4*i +: 4];
    assign panels_started[i] = panels_done[i] || (other_running_i && named[i]);
  end

  // While the job runs, a dependency ends in the cycle after the other engine has finished its job.
  logic [1:0] held_d, held_q;
  assign held_d = (state_q == StateRun ? held_q : ~panels_done) & ~({2{other_finish_i}} & named);
  always_ff @(posedge clk_i) begin
    held_q <= held_d;
  end
  assign panels_held_o = held_q;

  // --- Exponents: a value in the descriptor, a slot to read, or (AMAX) a slot to write -----------

  logic        at_b, wanted, uses_slot, slot_bad;
  logic [7:0]  mode;
  logic [15:0] exponent, resolved;

  assign at_b = state_q inside {StateSlotB, StateStoreB};

  always_comb begin
    if (Gemm) begin
      mode     = at_b ? gemm.b_mode : gemm.a_mode;
      exponent = at_b ? gemm.b_exponent : gemm.a_exponent;
      wanted   = 1'b1;
    end else begin
      mode     = at_b ? quant.col_mode : quant.row_mode;
      exponent = at_b ? quant.col_exponent : quant.row_exponent;
      wanted   = mode[MODE_ENABLE_BIT];
    end
  end

  assign uses_slot = wanted && (is_amax || mode[MODE_SLOT_BIT]);
  assign slot_bad  = uses_slot && (exponent >= 16'(SLOTS) || (!is_amax && !slot_valid_i));
  assign resolved  = uses_slot ? slot_exponent_i : exponent;

  assign slot_index_o          = exponent[$clog2(SLOTS)-1:0];
  assign slot_write_o          = state_q inside {StateStoreA, StateStoreB} && wanted;
  assign slot_write_exponent_o = at_b ? b_exponent_q : a_exponent_q;

  ufp4_count u_cycles (
    .clk_i, .clear_i(state_q inside {StateEmpty, StateFinish}), .count_i(state_q == StateRun), .count_o(cycles)
  );

  // --- States ------------------------------------------------------------------------------------

  assign desc_o          = desc_q;
  assign a_exponent_o    = a_exponent_q;
  assign b_exponent_o    = b_exponent_q;
  assign tag_o           = tag_q;
  assign start_valid_o   = state_q == StateStart && status_q == CORE_STATUS_OK;
  assign running_o       = state_q == StateRun;
  assign started_o       = state_q inside {StateRun, StateStoreA, StateStoreB, StateFinish};
  assign finish_o        = state_q == StateFinish;
  assign finish_status_o = status_q;
  assign finish_flags_o  = flags_q;
  assign finish_cycles_o = cycles;
  assign job_ready_o     = !next_valid_q;
  assign load            = next_valid_q && state_q inside {StateEmpty, StateFinish};
  assign next_valid_d    = (next_valid_q && !load) || (job_valid_i && job_ready_o);

  always_comb begin
    state_d      = state_q;
    status_d     = status_q;
    flags_d      = flags_q;
    a_exponent_d = a_exponent_q;
    b_exponent_d = b_exponent_q;
    unique case (state_q)
      StateEmpty, StateFinish: begin
        status_d = CORE_STATUS_OK;
        flags_d  = '0;
        state_d  = load ? StateWait : StateEmpty;
      end
      StateWait: if (after_done && (&panels_started)) state_d = StateSlotA;
      StateSlotA: begin
        a_exponent_d = resolved;
        if (slot_bad) status_d = CORE_STATUS_BAD_SLOT;
        state_d      = StateSlotB;
      end
      StateSlotB: begin
        b_exponent_d = resolved;
        if (slot_bad) status_d = CORE_STATUS_BAD_SLOT;
        state_d      = StateStart;
      end
      StateStart: begin
        if (status_q != CORE_STATUS_OK) state_d = StateFinish;
        else if (start_ready_i) state_d = StateRun;
      end
      StateRun: begin
        if (done_valid_i) begin
          if (done_read_error_i)       status_d = CORE_STATUS_READ_ERROR;
          else if (done_write_error_i) status_d = CORE_STATUS_WRITE_ERROR;
          else if (done_memory_error_i) status_d = CORE_STATUS_MEMORY_ERROR;
          else                         flags_d = done_flags_i;
          if (is_amax) begin
            a_exponent_d = done_row_exponent_i;
            b_exponent_d = done_col_exponent_i;
          end
          state_d = (is_amax && status_d == CORE_STATUS_OK) ? StateStoreA : StateFinish;
        end
      end
      StateStoreA: state_d = StateStoreB;
      StateStoreB: state_d = StateFinish;
      default: state_d = StateEmpty;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= StateEmpty;
      next_valid_q <= 1'b0;
    end else begin
      state_q      <= state_d;
      next_valid_q <= next_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (job_valid_i && job_ready_o) begin
      next_desc_q <= job_desc_i;
      next_tag_q  <= job_tag_i;
    end
    if (load) begin
      desc_q <= next_desc_q;
      tag_q  <= next_tag_q;
    end
    status_q     <= status_d;
    flags_q      <= flags_d;
    a_exponent_q <= a_exponent_d;
    b_exponent_q <= b_exponent_d;
  end

endmodule
