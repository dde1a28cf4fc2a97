// SPDX-License-Identifier: Apache-2.0
// Walks the row segments of a tensor in the order in which they are read: rows of a chunk, chunks
// of a strip, strips. With pair_i strips are taken in twos, and each chunk of the upper strip is
// followed by the one below.
//
// Contract: a strip is 16 rows (the last may have fewer), a chunk SegBeats beats of each of its
// rows (the last of a strip may have fewer), a segment one row of a chunk. From start_i on the
// outputs describe the current segment while active_o; step_i goes to the next. stop_i makes the
// current strip (with pair_i both) the last one.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_walk.
module ufp4_quant_walk #(
  parameter int unsigned SegBeats = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        pair_i,
  input  logic        start_i,
  input  logic [20:0] rows_i,
  input  logic [19:0] row_beats_i,   // beats of one row
  input  logic        step_i,
  input  logic        stop_i,

  output logic        active_o,
  output logic [3:0]  row_o,
  output logic [8:0]  beats_o,       // beats of this segment
  output logic        row_last_o,    // last segment of the chunk
  output logic        below_o,       // the chunk below this one follows it
  output logic        chunk_last_o   // in the last chunk of the strip (with pair_i the last two)
);

  logic        active_d, active_q;
  logic [20:0] rows_d, rows_q;       // rows from this strip on
  logic [19:0] beats_d, beats_q;     // beats of a row from this chunk on
  logic [3:0]  row_d, row_q;
  logic        lower_d, lower_q;     // in the lower strip of two
  logic        strip_last, two;
  logic [20:0] left;                 // rows from the first of this chunk on

  assign active_o     = active_q;
  assign row_o        = row_q;
  assign chunk_last_o = beats_q <= 20'(SegBeats);
  assign beats_o      = chunk_last_o ? 9'(beats_q) : 9'(SegBeats);
  assign two          = pair_i && rows_q > 21'd16;
  assign below_o      = two && !lower_q;
  assign strip_last   = rows_q <= (pair_i ? 21'd32 : 21'd16);
  assign left         = lower_q ? rows_q - 21'd16 : rows_q;
  assign row_last_o   = row_q == 4'd15 || {17'd0, row_q} + 21'd1 == left;

  always_comb begin
    active_d = active_q;
    rows_d   = rows_q;
    beats_d  = beats_q;
    row_d    = row_q;
    lower_d  = lower_q;
    if (start_i) begin
      active_d = 1'b1;
      rows_d   = rows_i;
      beats_d  = row_beats_i;
      row_d    = 4'd0;
      lower_d  = 1'b0;
    end else if (step_i && !row_last_o) begin
      row_d = row_q + 4'd1;
    end else if (step_i && below_o) begin
      row_d   = 4'd0;
      lower_d = 1'b1;
    end else if (step_i) begin
      row_d   = 4'd0;
      lower_d = 1'b0;
      beats_d = chunk_last_o ? row_beats_i : beats_q - 20'(SegBeats);
      if (chunk_last_o) begin
        rows_d   = rows_q - (pair_i ? 21'd32 : 21'd16);
        active_d = !strip_last && !stop_i;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) active_q <= 1'b0;
    else active_q <= active_d;
    rows_q  <= rows_d;
    beats_q <= beats_d;
    row_q   <= row_d;
    lower_q <= lower_d;
  end

endmodule
