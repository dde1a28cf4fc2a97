// SPDX-License-Identifier: Apache-2.0
// Walks the macro-tiles of D row by row, (0,0), (0,1), ..: the loader, the sequencer and the drain each have
// one. rows_o and cols_o are what the tile holds of D, 1 to TileM and TileN. next_i moves on; after the last
// tile it does not matter.
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
  logic [20:0] m_left_q, n_left_q;
  logic last_row;
  assign last_row = m_left_q <= 21'(TileM);
  assign last_col_o = n_left_q <= 21'(TileN);
  assign last_o = last_row & last_col_o;
  assign rows_o = last_row ? m_left_q[RowsWidth-1:0] : RowsWidth'(TileM);
  assign cols_o = last_col_o ? n_left_q[ColsWidth-1:0] : ColsWidth'(TileN);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      m_left_q <= m_i;
      n_left_q <= n_i;
    end else if (next_i) begin
      m_left_q <= last_col_o ? m_left_q - 21'(TileM) : m_left_q;
      n_left_q <= last_col_o ? n_i : n_left_q - 21'(TileN);
    end
  end
endmodule
