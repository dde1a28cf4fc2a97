// SPDX-License-Identifier: Apache-2.0
// Walks the macro-tiles of D row by row: (0,0), (0,1), .. The loader, the sequencer, the drain and
// the addend unit have one each. rows_o (1 to TileM) and cols_o (1 to TileN) are the part of D in
// the current macro-tile. next_i moves on; the outputs after the last macro-tile are meaningless.
// Timed model: sim/src/timing/array/tile_walk.
module ufp4_tile_walk #(
  parameter int unsigned TileM = 128,
  parameter int unsigned TileN = 128,
  localparam int unsigned RowsWidth = $clog2(TileM + 1),
  localparam int unsigned ColsWidth = $clog2(TileN + 1)
) (
  input  logic                 clk_i,
  input  logic                 start_i,
  input  logic [20:0]          m_i,
  input  logic [20:0]          n_i,
  input  logic                 next_i,
  output logic [RowsWidth-1:0] rows_o,
  output logic [ColsWidth-1:0] cols_o,
  output logic                 last_col_o,
  output logic                 last_o
);
  // The rows and columns of D from the current macro-tile on. The state after either kind of step
  // is prepared in advance, so that only a multiplexer depends on next_i, which comes late, and the
  // outputs come straight from registers.
  logic [20:0] m_left_q, n_left_q, m_next, n_next;
  logic last_row_q, last_col_q;
  logic [RowsWidth-1:0] rows_q;
  logic [ColsWidth-1:0] cols_q;
  assign m_next = m_left_q - 21'(TileM);
  assign n_next = n_left_q - 21'(TileN);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      m_left_q <= m_i;
      last_row_q <= m_i <= 21'(TileM);
      rows_q <= m_i <= 21'(TileM) ? m_i[RowsWidth-1:0] : RowsWidth'(TileM);
    end else if (next_i && last_col_q) begin
      m_left_q <= m_next;
      last_row_q <= m_next <= 21'(TileM);
      rows_q <= m_next <= 21'(TileM) ? m_next[RowsWidth-1:0] : RowsWidth'(TileM);
    end
    if (start_i || (next_i && last_col_q)) begin
      n_left_q <= n_i;
      last_col_q <= n_i <= 21'(TileN);
      cols_q <= n_i <= 21'(TileN) ? n_i[ColsWidth-1:0] : ColsWidth'(TileN);
    end else if (next_i) begin
      n_left_q <= n_next;
      last_col_q <= n_next <= 21'(TileN);
      cols_q <= n_next <= 21'(TileN) ? n_next[ColsWidth-1:0] : ColsWidth'(TileN);
    end
  end

  assign last_col_o = last_col_q;
  assign last_o = last_row_q & last_col_q;
  assign rows_o = rows_q;
  assign cols_o = cols_q;
endmodule
