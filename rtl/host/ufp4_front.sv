// SPDX-License-Identifier: Apache-2.0
// Fetches descriptors from the ring, one ahead of the running jobs, and checks them.
//
// Contract: descriptors leave in the order of the ring, from index 0 after a reset, each with the
// lowest status that applies. Exponent slots are checked later, which keeps this rule because
// bad_slot is the highest of these codes. next_o is the ring index of the descriptor that is
// fetched or offered. The job is a valid/ready stream, stable until taken.
// Latency: a memory round trip and about 55 cycles for five regions (ufp4_regions).
// Spec: docs/ip/architecture.md "Command unit". Test: tests/rtl/core.
// Timed model: sim/src/timing/host/command.
module ufp4_front
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Contract = 32'(CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(FORMATS_ALL),
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
  output logic                            job_lost_o,  // the fetch failed, and the descriptor is meaningless

  output ufp4_memory_pkg::request_t       rd_req_o,
  input  ufp4_memory_pkg::read_response_t rd_rsp_i,
  output logic                            rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]           rd_rsp_data_i
);

  localparam int unsigned DESC_W = 8 * DESCRIPTOR_BYTES;
  localparam int unsigned DESC_BEATS = DESCRIPTOR_BYTES / BusBytes;

  typedef enum logic [2:0] {
    StateIdle,       // waits for a descriptor in the ring
    StateRequest,    // requests the descriptor
    StateFetch,      // receives its beats
    StateCheck,      // checks rules and regions
    StateOffer       // waits until the descriptor is taken
  } state_e;

  state_e            state_d, state_q;
  logic [31:0]       next_d, next_q;
  logic [DESC_W-1:0] desc_q;
  logic [3:0]        beat_d, beat_q;
  logic              fetch_err_d, fetch_err_q;
  logic [15:0]       status_d, status_q;
  logic [22:0]       ring_low;
  logic [ADDR_BITS-1:0] ring_addr_q;
  logic              bad_opcode, bad_size, misaligned, unsupported;
  logic              last_beat, regions_start, regions_done, regions_bad;
  logic [14:0]       ring_index, ring_mask_q;

  // This register is right in time: the length of the ring is set long before its first job.
  always_ff @(posedge clk_i) ring_mask_q <= ~(15'h7FFF << ring_log2_i);
  assign ring_index     = next_q[14:0] & ring_mask_q;
  assign next_o         = next_q;
  assign busy_o         = state_q != StateIdle;
  assign job_valid_o    = state_q == StateOffer;
  assign job_desc_o     = desc_q;
  assign job_lost_o     = fetch_err_q;
  assign rd_req_o       = '{valid: state_q == StateRequest,
                            addr: ring_addr_q,
                            beats: 9'(DESC_BEATS)};
  assign rd_rsp_ready_o = 1'b1;
  assign job_status_o   = status_q;
  // The address is computed in two parts, ahead of the request.
  assign ring_low       = 23'(ring_base_i[21:0]) + (23'(ring_index) << $clog2(DESCRIPTOR_BYTES));
  always_ff @(posedge clk_i) ring_addr_q <= {ring_base_i[ADDR_BITS-1:22] + 18'(ring_low[22]), ring_low[21:0]};

  ufp4_check #(
    .Contract(Contract),
    .Formats(Formats),
    .Quant(Quant),
    .Mixed(Mixed)
  ) u_check (
    .clk_i,
    .desc_i       (desc_q),
    .bad_opcode_o (bad_opcode),
    .bad_size_o   (bad_size),
    .misaligned_o (misaligned),
    .unsupported_o(unsupported)
  );

  assign last_beat     = beat_q == 4'(DESC_BEATS - 1);
  assign regions_start = state_q == StateFetch && rd_rsp_i.valid && last_beat;

  ufp4_regions u_regions (
    .clk_i,
    .rst_ni,
    .start_i(regions_start),
    .desc_i (desc_q),
    .done_o (regions_done),
    .bad_o  (regions_bad)
  );

  // The checks of ufp4_check end before regions_done.
  always_comb begin
    if (fetch_err_q)      status_d = CORE_STATUS_READ_ERROR;
    else if (bad_opcode)  status_d = CORE_STATUS_BAD_OPCODE;
    else if (bad_size)    status_d = CORE_STATUS_BAD_SIZE;
    else if (misaligned)  status_d = CORE_STATUS_MISALIGNED;
    else if (regions_bad) status_d = CORE_STATUS_BAD_ADDRESS;
    else if (unsupported) status_d = CORE_STATUS_UNSUPPORTED;
    else                  status_d = CORE_STATUS_OK;
  end

  always_comb begin
    state_d       = state_q;
    next_d        = next_q;
    beat_d        = beat_q;
    fetch_err_d   = fetch_err_q;
    unique case (state_q)
      StateIdle: begin
        beat_d      = '0;
        fetch_err_d = 1'b0;
        if (next_q != ring_tail_i) state_d = StateRequest;
      end
      StateRequest: if (rd_rsp_i.req_ready) state_d = StateFetch;
      StateFetch: if (rd_rsp_i.valid) begin
        fetch_err_d = fetch_err_q || rd_rsp_i.err;
        beat_d      = beat_q + 4'd1;
        if (last_beat) state_d = StateCheck;
      end
      StateCheck: if (regions_done) state_d = StateOffer;
      StateOffer: if (job_ready_i) begin
        next_d  = next_q + 32'd1;
        state_d = StateIdle;
      end
      default: state_d = StateIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StateIdle;
      next_q  <= '0;
    end else begin
      state_q <= state_d;
      next_q  <= next_d;
    end
  end

  // Beats shift in from the top, so the first one ends at the bottom.
  always_ff @(posedge clk_i) begin
    if (rd_rsp_i.valid) desc_q <= DESC_W'({rd_rsp_data_i, desc_q} >> (8 * BusBytes));
    beat_q        <= beat_d;
    fetch_err_q   <= fetch_err_d;
    if (state_q == StateCheck) status_q <= status_d;
  end

endmodule
