// SPDX-License-Identifier: Apache-2.0
// Command unit: fetches descriptors from the ring, checks them, runs the engines, writes completions.
//
// Contract: jobs run in the order of the ring, one at a time. A descriptor that breaks a rule starts nothing; its
// completion carries the lowest status that applies, and the next job runs. A descriptor whose own fetch failed on the
// bus completes as job 0 with read_error. cycles in the completion: from the cycle after an engine took the job to the
// one in which it was done, inclusive; 0 where no engine ran. Flags and exponent slots are given only with status
// ok; where AMAX names one slot twice, the column copy's exponent stays. head_o counts a job once its completion has been
// answered by memory; an error of that write itself raises irq_error_o, there is no other place to report it.
// Latency: about 40 cycles and two memory round trips a job.
// Spec: docs/registers.md, docs/architecture.md "Command unit". Golden: drivers/backends/model. Test: tests/rtl/core.
module ufp4_command
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned BusBytes = 64
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  // Ring
  input  logic [ADDR_BITS-1:0]  ring_base_i,
  input  logic [3:0]            ring_log2_i,
  input  logic [31:0]           ring_tail_i,
  input  logic [ADDR_BITS-1:0]  completion_base_i,
  output logic [31:0]           head_o,
  output logic                  active_o,          // not idle
  output logic                  running_o,         // an engine runs: its cycles are its own
  output logic                  retire_o,          // one cycle per completed job
  output logic                  irq_done_o,
  output logic                  irq_error_o,

  // Exponent slots
  output logic [5:0]            slot_index_o,
  input  logic                  slot_valid_i,
  input  logic [15:0]           slot_exponent_i,
  output logic                  slot_write_o,
  output logic [15:0]           slot_write_exponent_o,

  // Engines
  output gemm_descriptor_t      gemm_desc_o,
  output quant_descriptor_t     quant_desc_o,
  output logic [15:0]           a_exponent_o,      // also of the row copy
  output logic [15:0]           b_exponent_o,      // also of the column copy
  output logic                  gemm_start_valid_o,
  input  logic                  gemm_start_ready_i,
  input  logic                  gemm_done_valid_i,
  input  logic                  gemm_done_read_error_i,
  input  logic                  gemm_done_write_error_i,
  output logic                  quant_start_valid_o,
  input  logic                  quant_start_ready_i,
  input  logic                  quant_done_valid_i,
  input  logic                  quant_done_read_error_i,
  input  logic                  quant_done_write_error_i,
  input  logic [2:0]            quant_done_flags_i,
  input  logic [15:0]           quant_done_row_exponent_i,
  input  logic [15:0]           quant_done_col_exponent_i,

  // Memory
  output logic                  rd_req_valid_o,
  input  logic                  rd_req_ready_i,
  output logic [ADDR_BITS-1:0]  rd_req_addr_o,
  output logic [8:0]            rd_req_beats_o,
  input  logic                  rd_rsp_valid_i,
  output logic                  rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0] rd_rsp_data_i,
  input  logic                  rd_rsp_err_i,

  output logic                  wr_req_valid_o,
  input  logic                  wr_req_ready_i,
  output logic [ADDR_BITS-1:0]  wr_req_addr_o,
  output logic [8:0]            wr_req_beats_o,
  output logic                  wr_dat_valid_o,
  input  logic                  wr_dat_ready_i,
  output logic [8*BusBytes-1:0] wr_dat_data_o,
  output logic [BusBytes-1:0]   wr_dat_strb_o,
  input  logic                  wr_idle_i,
  input  logic                  wr_err_i
);

  localparam int unsigned DESC_W = 8 * DESCRIPTOR_BYTES;
  localparam int unsigned DESC_BEATS = DESCRIPTOR_BYTES / BusBytes;
  // A completion is one beat, or two where the bus is only 8 bytes wide.
  localparam int unsigned DONE_BEATS = (BusBytes < COMPLETION_BYTES) ? COMPLETION_BYTES / BusBytes : 1;
  localparam int unsigned BEAT_W = $clog2(BusBytes);
  localparam logic [ADDR_BITS-1:0] BUS_MASK = (ADDR_BITS'(1) << BEAT_W) - ADDR_BITS'(1);
  localparam int unsigned COMPLETION_W = $clog2(COMPLETION_BYTES);

  if (BusBytes < 8 || BusBytes > DESCRIPTOR_BYTES || BusBytes != (1 << BEAT_W)) begin : gen_check_bus
    $error("ufp4_command: BusBytes must be 8, 16, 32, 64 or 128");
  end

  typedef enum logic [3:0] {
    StateIdle,       // until the ring holds a descriptor
    StateRequest,    // asking for it
    StateFetch,      // its beats
    StateCheck,      // rules and regions
    StateSlotA,      // exponent of A or the row copy
    StateSlotB,      // exponent of B or the column copy
    StateStart,      // verdict; handing the job to its engine
    StateRun,        // until the engine is done
    StateStoreA,     // AMAX: results into the slots
    StateStoreB,
    StateComplete,   // offering the completion and its beats
    StateRetire      // until memory has answered
  } state_e;

  state_e            state_d, state_q;
  logic [31:0]       head_d, head_q;
  logic [DESC_W-1:0] desc_q;
  logic [3:0]        beat_d, beat_q;
  logic              fetch_err_d, fetch_err_q;
  logic [15:0]       status_d, status_q;
  logic [2:0]        flags_d, flags_q;
  logic [63:0]       cycles_d, cycles_q;
  logic [15:0]       a_exponent_d, a_exponent_q, b_exponent_d, b_exponent_q;
  logic              bad_address_d, bad_address_q, bad_slot_d, bad_slot_q;
  logic              req_sent_d, req_sent_q, write_err_d, write_err_q;

  // One descriptor seen in two ways; the header fields are the same in both.
  quant_descriptor_t  quant;
  gemm_descriptor_t   gemm;
  logic               is_quant, is_amax, is_gemm;

  assign quant        = desc_q;
  assign gemm         = desc_q;
  assign is_quant     = gemm.opcode == OPCODE_QUANT || gemm.opcode == OPCODE_AMAX;
  assign is_amax      = gemm.opcode == OPCODE_AMAX;
  assign is_gemm      = gemm.opcode == OPCODE_GEMM;
  assign gemm_desc_o  = gemm;
  assign quant_desc_o = quant;
  assign head_o       = head_q;
  assign active_o     = state_q != StateIdle;
  assign running_o    = state_q == StateRun;

  // --- Ring addresses ----------------------------------------------------------------------------------------------

  logic [14:0] ring_index;

  assign ring_index = head_q[14:0] & ~(15'h7FFF << ring_log2_i);

  assign rd_req_valid_o = state_q == StateRequest;
  assign rd_req_addr_o  = ring_base_i + (ADDR_BITS'(ring_index) << $clog2(DESCRIPTOR_BYTES));
  assign rd_req_beats_o = 9'(DESC_BEATS);
  assign rd_rsp_ready_o = 1'b1;

  // --- Checks ------------------------------------------------------------------------------------------------------

  logic        bad_opcode, bad_size, misaligned, unsupported;
  logic        last_beat, regions_start, regions_done, regions_bad;
  logic [15:0] verdict;

  ufp4_check u_check (
    .desc_i       (desc_q),
    .bad_opcode_o (bad_opcode),
    .bad_size_o   (bad_size),
    .misaligned_o (misaligned),
    .unsupported_o(unsupported)
  );

  assign last_beat     = beat_q == 4'(DESC_BEATS - 1);
  assign regions_start = state_q == StateFetch && rd_rsp_valid_i && last_beat;

  ufp4_regions u_regions (
    .clk_i,
    .rst_ni,
    .start_i(regions_start),
    .desc_i (desc_q),
    .done_o (regions_done),
    .bad_o  (regions_bad)
  );

  always_comb begin
    if (fetch_err_q)        verdict = CORE_STATUS_READ_ERROR;
    else if (bad_opcode)    verdict = CORE_STATUS_BAD_OPCODE;
    else if (bad_size)      verdict = CORE_STATUS_BAD_SIZE;
    else if (misaligned)    verdict = CORE_STATUS_MISALIGNED;
    else if (bad_address_q) verdict = CORE_STATUS_BAD_ADDRESS;
    else if (unsupported)   verdict = CORE_STATUS_UNSUPPORTED;
    else if (bad_slot_q)    verdict = CORE_STATUS_BAD_SLOT;
    else                    verdict = CORE_STATUS_OK;
  end

  // --- Exponents: a value in the descriptor, a slot to read, or (AMAX) a slot to write -----------------------------

  logic        at_b, wanted, uses_slot, slot_bad;
  logic [7:0]  mode;
  logic [15:0] exponent, resolved;

  assign at_b = state_q inside {StateSlotB, StateStoreB};

  always_comb begin
    if (is_gemm) begin
      mode     = at_b ? gemm.b_mode : gemm.a_mode;
      exponent = at_b ? gemm.b_exponent : gemm.a_exponent;
      wanted   = 1'b1;
    end else begin
      mode     = at_b ? quant.col_mode : quant.row_mode;
      exponent = at_b ? quant.col_exponent : quant.row_exponent;
      wanted   = is_quant && mode[MODE_ENABLE_BIT];
    end
  end

  assign uses_slot = wanted && (is_amax || mode[MODE_SLOT_BIT]);
  assign slot_bad  = uses_slot && (exponent >= 16'(SLOTS) || (!is_amax && !slot_valid_i));
  assign resolved  = uses_slot ? slot_exponent_i : exponent;

  assign slot_index_o          = exponent[$clog2(SLOTS)-1:0];
  assign slot_write_o          = state_q inside {StateStoreA, StateStoreB} && wanted;
  assign slot_write_exponent_o = at_b ? b_exponent_q : a_exponent_q;
  assign a_exponent_o          = a_exponent_q;
  assign b_exponent_o          = b_exponent_q;

  // --- Engines -----------------------------------------------------------------------------------------------------

  logic start, started, done, done_read_error, done_write_error;

  assign start               = state_q == StateStart && verdict == CORE_STATUS_OK;
  assign gemm_start_valid_o  = start && is_gemm;
  assign quant_start_valid_o = start && is_quant;
  assign started             = is_gemm ? gemm_start_ready_i : quant_start_ready_i;
  assign done                = is_gemm ? gemm_done_valid_i : quant_done_valid_i;
  assign done_read_error     = is_gemm ? gemm_done_read_error_i : quant_done_read_error_i;
  assign done_write_error    = is_gemm ? gemm_done_write_error_i : quant_done_write_error_i;

  // --- Completion --------------------------------------------------------------------------------------------------

  completion_t          completion;
  logic [ADDR_BITS-1:0] completion_addr;

  assign completion = '{job: fetch_err_q ? 32'd0 : gemm.job, status: status_q, flags: 16'(flags_q),
                        cycles: cycles_q};
  assign completion_addr = completion_base_i + (ADDR_BITS'(ring_index) << COMPLETION_W);

  assign wr_req_valid_o = state_q == StateComplete && !req_sent_q;
  assign wr_req_addr_o  = completion_addr & ~BUS_MASK;
  assign wr_req_beats_o = 9'(DONE_BEATS);
  assign wr_dat_valid_o = state_q == StateComplete && beat_q != 4'(DONE_BEATS);

  if (BusBytes < COMPLETION_BYTES) begin : gen_narrow
    assign wr_dat_data_o = beat_q[0] ? completion[127:64] : completion[63:0];
    assign wr_dat_strb_o = '1;
  end else begin : gen_wide
    // The one place in the beat that the address selects.
    assign wr_dat_data_o = {BusBytes / COMPLETION_BYTES{completion}};
    assign wr_dat_strb_o = BusBytes'({COMPLETION_BYTES{1'b1}}) << completion_addr[BEAT_W-1:0];
  end

  assign retire_o    = state_q == StateRetire && wr_idle_i;
  assign irq_done_o  = retire_o && gemm.flags[0] && !fetch_err_q;
  assign irq_error_o = retire_o && (status_q != CORE_STATUS_OK || write_err_q);

  // --- States ------------------------------------------------------------------------------------------------------

  always_comb begin
    state_d       = state_q;
    head_d        = head_q;
    beat_d        = beat_q;
    fetch_err_d   = fetch_err_q;
    status_d      = status_q;
    flags_d       = flags_q;
    cycles_d      = cycles_q;
    a_exponent_d  = a_exponent_q;
    b_exponent_d  = b_exponent_q;
    bad_address_d = bad_address_q;
    bad_slot_d    = bad_slot_q;
    req_sent_d    = req_sent_q;
    write_err_d   = write_err_q || wr_err_i;

    unique case (state_q)
      StateIdle: begin
        beat_d      = '0;
        fetch_err_d = 1'b0;
        write_err_d = 1'b0;
        cycles_d    = '0;
        flags_d     = '0;
        req_sent_d  = 1'b0;
        if (head_q != ring_tail_i) state_d = StateRequest;
      end
      StateRequest: if (rd_req_ready_i) state_d = StateFetch;
      StateFetch: if (rd_rsp_valid_i) begin
        fetch_err_d = fetch_err_q || rd_rsp_err_i;
        beat_d      = beat_q + 4'd1;
        if (last_beat) state_d = StateCheck;
      end
      StateCheck: begin
        beat_d        = '0;
        bad_address_d = regions_bad;
        if (regions_done) state_d = StateSlotA;
      end
      StateSlotA: begin
        a_exponent_d = resolved;
        bad_slot_d   = slot_bad;
        state_d      = StateSlotB;
      end
      StateSlotB: begin
        b_exponent_d = resolved;
        bad_slot_d   = bad_slot_q || slot_bad;
        state_d      = StateStart;
      end
      StateStart: begin
        status_d = verdict;
        if (!start || !(is_gemm || is_quant)) state_d = StateComplete;   // refused, or a fence
        else if (started) state_d = StateRun;
      end
      StateRun: begin
        cycles_d = cycles_q + 64'd1;
        if (done) begin
          if (done_read_error)       status_d = CORE_STATUS_READ_ERROR;
          else if (done_write_error) status_d = CORE_STATUS_WRITE_ERROR;
          else if (is_quant)         flags_d = quant_done_flags_i;
          if (is_amax) begin
            a_exponent_d = quant_done_row_exponent_i;
            b_exponent_d = quant_done_col_exponent_i;
          end
          state_d = (is_amax && !done_read_error && !done_write_error) ? StateStoreA : StateComplete;
        end
      end
      StateStoreA: state_d = StateStoreB;
      StateStoreB: state_d = StateComplete;
      StateComplete: begin
        if (wr_req_valid_o && wr_req_ready_i) req_sent_d = 1'b1;
        if (wr_dat_valid_o && wr_dat_ready_i) beat_d = beat_q + 4'd1;
        if (req_sent_q && beat_q == 4'(DONE_BEATS)) state_d = StateRetire;
      end
      StateRetire: if (wr_idle_i) begin
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

  // Beats come in from the top, so the first one ends at the bottom.
  always_ff @(posedge clk_i) begin
    if (rd_rsp_valid_i) desc_q <= DESC_W'({rd_rsp_data_i, desc_q} >> (8 * BusBytes));
  end

  always_ff @(posedge clk_i) begin
    beat_q        <= beat_d;
    fetch_err_q   <= fetch_err_d;
    status_q      <= status_d;
    flags_q       <= flags_d;
    cycles_q      <= cycles_d;
    a_exponent_q  <= a_exponent_d;
    b_exponent_q  <= b_exponent_d;
    bad_address_q <= bad_address_d;
    bad_slot_q    <= bad_slot_d;
    req_sent_q    <= req_sent_d;
    write_err_q   <= write_err_d;
  end

endmodule
