// SPDX-License-Identifier: Apache-2.0
// The event of each performance counter (docs/ip/registers.md, "Performance counters").
//
// Contract: event_o[i] is high in each cycle that counter i counts. Every cycle is one of exactly
// eight kinds, ARRAY_BUSY to IDLE, in this order of priority: GEMM (busy, or one of its stalls),
// QUANT, the command unit while a job is under way, idle. QUANT_BESIDE counts the QUANT cycles
// beside a GEMM.
// Latency: none. Test: tests/rtl/core. Timed model: sim/src/timing/core.
module ufp4_events
  import ufp4_spec_pkg::*;
(
  input  logic                     active_i,
  input  logic                     quant_running_i,
  input  logic                     retire_i,

  input  logic                     busy_i,
  input  logic                     stall_operand_i,
  input  logic                     stall_panel_i,
  input  logic                     stall_accumulator_i,
  input  logic                     stall_drain_i,

  input  logic                     read_beat_i,
  input  logic                     write_beat_i,

  output logic [COUNTER_COUNT-1:0] event_o
);

  logic gemm;
  assign gemm = busy_i || stall_operand_i || stall_panel_i || stall_accumulator_i || stall_drain_i;

  always_comb begin
    event_o = '0;
    event_o[COUNTER_CYCLES]            = 1'b1;
    event_o[COUNTER_ARRAY_BUSY]        = busy_i;
    event_o[COUNTER_STALL_OPERAND]     = stall_operand_i;
    event_o[COUNTER_STALL_PANEL]       = stall_panel_i;
    event_o[COUNTER_STALL_ACCUMULATOR] = stall_accumulator_i;
    event_o[COUNTER_STALL_DRAIN]       = stall_drain_i;
    event_o[COUNTER_QUANT]             = quant_running_i && !gemm;
    event_o[COUNTER_COMMAND]           = active_i && !quant_running_i && !gemm;
    event_o[COUNTER_IDLE]              = !active_i && !gemm;
    event_o[COUNTER_READ_BEATS]        = read_beat_i;
    event_o[COUNTER_WRITE_BEATS]       = write_beat_i;
    event_o[COUNTER_JOBS]              = retire_i;
    event_o[COUNTER_QUANT_BESIDE]      = quant_running_i && gemm;
  end

endmodule
