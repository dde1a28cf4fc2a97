// SPDX-License-Identifier: Apache-2.0
// Empties accumulator banks into D: reads one array row of sums a cycle, rounds them, and writes each row of a
// macro-tile as one burst.
//
//   D = RNE32(sum * 2^exponent), or RNE to BF16 of that; NaN where a scale of the row or the column was NaN
//
// ready_i counts rows of sub-tiles that may be read. Macro-tiles are in both banks by turns, or all in bank 1
// (one_bank_i: ufp4_sequencer). drained_o frees a bank.
// Stages: 0 read, 1 the array picks the row, 2 normalize,
// 3 round, 4 pack into beats; all wait while the output beat does.
// The bus takes Cols FP32 results a beat; two
// rows of sums make a beat of BF16. Strobes end at the last column of D. idle_o: nothing is left here.
// Golden: ufp4_gemm; docs/numerics.md, 5; tests/rtl/array.
module ufp4_drain #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned BusBytes = 64,
  localparam int unsigned RowWidth = (Rows > 1) ? $clog2(Rows) : 1,
  localparam int unsigned TileWidthA = $clog2(TileRows),
  localparam int unsigned TileWidthB = $clog2(TileCols)
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  // Each part of the engine uses its own fields of the descriptor.
  // verilator lint_off UNUSEDSIGNAL
  input  ufp4_spec_pkg::gemm_descriptor_t desc_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic signed [17:0]              exponent_i,
  input  logic                            one_bank_i,
  // Loader: whether more macro-tiles come than tiles_i.
  input  logic                            loading_i,
  input  logic [2:0]                      tiles_i,
  input  logic                            ready_i,
  output logic                            drained_o,
  output logic                            drained_bank_o,
  output logic                            idle_o,
  // Array.
  output logic                            drain_enable_o,
  output logic                            drain_read_o,
  output logic                            drain_bank_o,
  output logic                            drain_parity_o,
  output logic [RowWidth-1:0]             drain_row_o,
  output logic [TileWidthA-1:0]           drain_tile_a_o,
  output logic [TileWidthB-1:0]           drain_tile_b_o,
  input  logic [64*Cols-1:0]              drain_data_i,
  input  logic [Rows-1:0]                 drain_nan_a_i,
  input  logic [Cols-1:0]                 drain_nan_b_i,
  // Write client.
  output logic                            wr_req_valid_o,
  input  logic                            wr_req_ready_i,
  output logic [39:0]                     wr_req_addr_o,
  output logic [8:0]                      wr_req_beats_o,
  output logic                            wr_dat_valid_o,
  input  logic                            wr_dat_ready_i,
  output logic [8*BusBytes-1:0]           wr_dat_data_o,
  output logic [BusBytes-1:0]             wr_dat_strb_o
);
  import ufp4_spec_pkg::DTYPE_BF16;

  localparam int unsigned TileM = Rows * TileRows;
  localparam int unsigned TileN = Cols * TileCols;
  localparam int unsigned RowsWidth = $clog2(TileM + 1);
  localparam int unsigned ColsWidth = $clog2(TileN + 1);
  // Sums become ready a macro-tile ahead of the drain at most, and while it drains the one before.
  localparam int unsigned CreditWidth = $clog2(2 * TileRows + 1);

  logic next_tile, last_col, last_tile, unused_last;
  logic [RowsWidth-1:0] rows;
  logic [ColsWidth-1:0] cols;
  ufp4_tile_walk #(.TileM(TileM), .TileN(TileN)) u_walk (
    .clk_i,
    .start_i,
    .m_i(desc_i.m[20:0]),
    .n_i(desc_i.n[20:0]),
    .next_i(next_tile),
    .rows_o(rows),
    .cols_o(cols),
    .last_col_o(last_col),
    .last_o(unused_last)
  );

  logic bf16;
  assign bf16 = desc_i.d_dtype == DTYPE_BF16;

  // Where the next read is: row {sub-tile, row in it} of the macro-tile, sub-tile column. Addresses of this row
  // of D, of the first row in this macro-tile, and in this row of macro-tiles.
  logic active_d, active_q, open_d, open_q, parity_d, parity_q;
  logic [CreditWidth-1:0] credit_d, credit_q;
  logic [2:0] tiles_d, tiles_q;
  logic [RowsWidth-1:0] row_d, row_q;
  logic [TileWidthB-1:0] tile_b_d, tile_b_q;
  logic [39:0] addr_d, addr_q, tile_addr_d, tile_addr_q, band_addr_d, band_addr_q;

  logic last_b, last_row, row_in_tile_done, request_here, enable, read;
  logic [TileWidthB-1:0] top_b;
  assign top_b = TileWidthB'((cols - 1'b1) / ColsWidth'(Cols));
  assign last_b = tile_b_q == top_b;
  assign last_row = row_q == rows - 1'b1;
  assign row_in_tile_done = (row_q % RowsWidth'(Rows)) == RowsWidth'(Rows - 1);
  assign request_here = ~wr_req_valid_o | wr_req_ready_i;
  assign read = active_q & open_q & (tile_b_q != 0 | request_here);
  assign next_tile = read & enable & last_b & last_row;
  assign tiles_d = tiles_q + 3'(next_tile);
  assign last_tile = ~loading_i & (tiles_d == tiles_i);

  always_comb begin
    active_d = active_q;
    open_d = open_q;
    parity_d = parity_q;
    credit_d = credit_q + CreditWidth'(ready_i);
    row_d = row_q;
    tile_b_d = tile_b_q;
    addr_d = addr_q;
    tile_addr_d = tile_addr_q;
    band_addr_d = band_addr_q;
    if (active_q && !open_q && credit_q != 0) begin
      open_d = 1'b1;
      credit_d = credit_q - 1'b1 + CreditWidth'(ready_i);
    end
    if (read && enable) begin
      tile_b_d = last_b ? '0 : tile_b_q + 1'b1;
      if (last_b) begin
        row_d = row_q + 1'b1;
        addr_d = addr_q + 40'(desc_i.d_stride_bytes);
        if (row_in_tile_done) open_d = 1'b0;
      end
    end
    if (next_tile) begin
      active_d = ~last_tile;
      open_d = 1'b0;
      parity_d = ~parity_q;
      row_d = '0;
      if (last_col) band_addr_d = band_addr_q + 40'(desc_i.d_stride_bytes) * 40'(TileM);
      tile_addr_d = last_col ? band_addr_d : tile_addr_q + (bf16 ? 40'(2 * TileN) : 40'(4 * TileN));
      addr_d = tile_addr_d;
    end
    if (start_i) begin
      active_d = 1'b1;
      open_d = 1'b0;
      parity_d = 1'b0;
      credit_d = '0;
      row_d = '0;
      tile_b_d = '0;
      addr_d = desc_i.d_addr[39:0];
      tile_addr_d = desc_i.d_addr[39:0];
      band_addr_d = desc_i.d_addr[39:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
    end else begin
      active_q <= active_d;
    end
    open_q <= open_d;
    parity_q <= parity_d;
    credit_q <= credit_d;
    tiles_q <= start_i ? '0 : tiles_d;
    row_q <= row_d;
    tile_b_q <= tile_b_d;
    addr_q <= addr_d;
    tile_addr_q <= tile_addr_d;
    band_addr_q <= band_addr_d;
  end

  assign drain_enable_o = enable;
  assign drain_read_o = read;
  assign drain_bank_o = one_bank_i | parity_q;
  assign drain_parity_o = parity_q;
  assign drain_row_o = RowWidth'(row_q % RowsWidth'(Rows));
  assign drain_tile_a_o = TileWidthA'(row_q / RowsWidth'(Rows));
  assign drain_tile_b_o = tile_b_q;

  // One request for a row, when its first sums are read.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wr_req_valid_o <= 1'b0;
    end else if (read && enable && tile_b_q == 0) begin
      wr_req_valid_o <= 1'b1;
    end else if (wr_req_ready_i) begin
      wr_req_valid_o <= 1'b0;
    end
    if (read && enable && tile_b_q == 0) begin
      wr_req_addr_o <= addr_q;
      wr_req_beats_o <= bf16 ? (9'(top_b) >> 1) + 9'd1 : 9'(top_b) + 9'd1;
    end
  end

  // What travels with the sums: which columns D has and which are NaN, the half of a BF16 beat, and the ends.
  logic [3:1] valid_q;
  logic [3:1][Cols-1:0] keep_q, nan_q;
  logic [3:1] half_q, last_b_q;
  logic last_read_q;
  logic [ColsWidth-1:0] cols_left;
  logic [Cols-1:0] keep;
  assign cols_left = cols - ColsWidth'(tile_b_q) * ColsWidth'(Cols);
  assign keep = (cols_left >= ColsWidth'(Cols)) ? '1 : Cols'((64'd1 << cols_left) - 64'd1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else if (enable) begin
      valid_q <= {valid_q[2:1], read};
    end
    if (enable) begin
      keep_q <= {keep_q[2:1], keep};
      nan_q <= {nan_q[2:1], drain_nan_b_i | {Cols{drain_nan_a_i[drain_row_o]}}};
      half_q <= {half_q[2:1], tile_b_q[0]};
      last_b_q <= {last_b_q[2:1], last_b};
      last_read_q <= last_b & last_row;
      drained_bank_o <= drain_bank_o;
    end
  end
  // The bank's last sums have left the PEs.
  assign drained_o = enable & valid_q[1] & last_read_q;

  logic [Cols-1:0][31:0] f32;
  for (genvar c = 0; c < Cols; c++) begin : gen_round
    ufp4_i64_to_f32 u_i64_to_f32 (
      .clk_i,
      .exponent_i,
      .normalize_i(enable & valid_q[2]),
      .sum_i(drain_data_i[64*c+:64]),
      .round_i(enable & valid_q[3]),
      .f32_o(f32[c])
    );
  end

  // Stage 4.
  function automatic logic [15:0] to_bf16(logic [31:0] x);
    return 16'((x + 32'h7FFF + 32'(x[16])) >> 16);
  endfunction
  logic valid4_q, half4_q, last_b4_q;
  logic [Cols-1:0] keep4_q, nan4_q;
  logic full_d;
  logic [16*Cols-1:0] low_data_q;
  logic [2*Cols-1:0] low_strb_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid4_q <= 1'b0;
    end else if (enable) begin
      valid4_q <= valid_q[3];
    end
    if (enable && valid_q[3]) begin
      half4_q <= half_q[3];
      last_b4_q <= last_b_q[3];
      keep4_q <= keep_q[3];
      nan4_q <= nan_q[3];
    end
  end
  assign full_d = valid4_q & (~bf16 | half4_q | last_b4_q);
  assign enable = ~wr_dat_valid_o | wr_dat_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wr_dat_valid_o <= 1'b0;
    end else if (enable) begin
      wr_dat_valid_o <= full_d;
    end
    if (enable && valid4_q) begin
      logic [16*Cols-1:0] half_data;
      logic [2*Cols-1:0] half_strb;
      for (int unsigned c = 0; c < Cols; c++) begin
        half_data[16*c+:16] = nan4_q[c] ? 16'h7FC0 : to_bf16(f32[c]);
        half_strb[2*c+:2] = {2{keep4_q[c]}};
        if (!bf16) begin
          wr_dat_data_o[32*c+:32] <= nan4_q[c] ? 32'h7FC0_0000 : f32[c];
          wr_dat_strb_o[4*c+:4] <= {4{keep4_q[c]}};
        end
      end
      if (bf16) begin
        low_data_q <= half_data;
        low_strb_q <= half_strb;
        wr_dat_data_o <= half4_q ? {half_data, low_data_q} : {{(16 * Cols) {1'b0}}, half_data};
        wr_dat_strb_o <= half4_q ? {half_strb, low_strb_q} : {{(2 * Cols) {1'b0}}, half_strb};
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && ready_i) begin
      assert (active_q && 32'(credit_q) < 2 * TileRows)
        else $error("a row of sums too many, %0d are waiting", credit_q);
    end
  end
`endif

  assign idle_o = ~active_q & ~wr_req_valid_o & ~(|valid_q) & ~valid4_q & ~wr_dat_valid_o;
endmodule
