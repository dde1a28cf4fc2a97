// SPDX-License-Identifier: Apache-2.0
// Gives each arriving beat of the source its place in the strip buffer: chunk after chunk, and row
// after row within a chunk.
//
// Contract: while take_o, the beat goes to beat_o of row row_o of the chunk in slot_o (modulo
// Chunks); chunk_o marks the last beat of the chunk. loading_i and strips_i come from
// ufp4_quant_load, which requests the beats in the same order.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_walk.
module ufp4_quant_arrival #(
  parameter int unsigned SegBeats = 4,
  parameter int unsigned Chunks = 8,
  localparam int unsigned SlotW = $clog2(Chunks),
  localparam int unsigned BeatW = $clog2(SegBeats)
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             start_i,
  input  logic             pair_i,
  input  logic [20:0]      rows_i,
  input  logic [19:0]      row_beats_i,
  input  logic             loading_i,
  input  logic [4:0]       strips_i,

  input  logic             rd_rsp_valid_i,
  output logic             take_o,
  output logic [SlotW-1:0] slot_o,
  output logic [3:0]       row_o,
  output logic [BeatW-1:0] beat_o,
  output logic             chunk_o
);

  logic             active, row_last, below, chunk_last, step, stop;
  logic [4:0]       strips_d, strips_q;
  logic [8:0]       beats;
  logic [BeatW-1:0] beat_d, beat_q;
  logic [SlotW-1:0] slot_d, slot_q;

  ufp4_quant_walk #(
    .SegBeats(SegBeats)
  ) u_walk (
    .clk_i,
    .rst_ni,
    .pair_i,
    .start_i,
    .rows_i,
    .row_beats_i,
    .step_i      (step),
    .stop_i      (stop),
    .active_o    (active),
    .row_o,
    .beats_o     (beats),
    .row_last_o  (row_last),
    .below_o     (below),
    .chunk_last_o(chunk_last)
  );

  assign take_o   = rd_rsp_valid_i && active;
  assign slot_o   = slot_q;
  assign beat_o   = beat_q;
  assign step     = take_o && 9'(beat_q) + 9'd1 == beats;
  assign chunk_o  = step && row_last;
  assign strips_d = start_i ? '0 : strips_q + 5'(chunk_o && !below && chunk_last);
  assign stop     = !loading_i && strips_d == strips_i;

  always_comb begin
    beat_d = beat_q;
    slot_d = slot_q;
    if (start_i || step) beat_d = '0;
    else if (take_o) beat_d = beat_q + 1'b1;
    if (start_i) slot_d = '0;
    else if (chunk_o) slot_d = slot_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    beat_q   <= beat_d;
    strips_q <= strips_d;
    slot_q   <= slot_d;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && rd_rsp_valid_i) assert (active) else $error("a beat that was not asked for");
  end
`endif

endmodule
