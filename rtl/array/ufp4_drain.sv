// SPDX-License-Identifier: Apache-2.0
// Empties accumulator banks into D: reads array rows of sums, sends them through the epilogue, and
// writes each row of a macro-tile as one burst.
//
//   D = epilogue(sums), as FP32, as BF16 (RNE of the FP32), or as the sums themselves (i64);
//   NaN where a scale of the row or of the column was NaN
//
// ready_i is a pulse per row of sub-tiles that may be read. Macro-tiles alternate between the two
// banks, or are all in bank 1 (one_bank_i: ufp4_sequencer). drained_o frees a bank. idle_o: nothing
// is left here.
//
// Stages: 0 read, 1 the array picks the row, 2 earlier sums are added, 3 their carries, 4 to 8
// rounding, then ALU_STAGES per operation; the last one fills beats. All stages wait while the
// output beat waits. There is a read every cycle; every other cycle where unrounded sums are read
// or written (two beats) or two operations share a lane's unit; every fourth with three operations.
// Reads keep to the phase of slot_q, so that no two of them meet in that unit.
//
// A read takes DrainCols columns, the largest power of two that divides Cols, and a beat has as
// many FP32 results. Two reads fill a beat of BF16; unrounded sums take two beats per read. Strobes
// end at the last column of D.
//
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/array. Timed model:
// sim/src/timing/array/drain.
module ufp4_drain #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned DrainCols = 16,
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  parameter int unsigned SumWidth = 64,  // width of an accumulator word (ufp4_pe_pkg)
  localparam int unsigned BusBytes = 4 * DrainCols,
  localparam int unsigned RowWidth = (Rows > 1) ? $clog2(Rows) : 1,
  localparam int unsigned TileWidthA = $clog2(TileRows),
  localparam int unsigned TileWidthB = $clog2(TileCols),
  localparam int unsigned Sets = Cols / DrainCols,
  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1,
  localparam int unsigned RowBeatsWidth = $clog2(2 * TileCols * Sets + 1)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_i,
  // Every unit of the engine reads only some fields of the descriptor.
  // verilator lint_off UNUSEDSIGNAL
  input  ufp4_spec_pkg::gemm_descriptor_t  desc_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic signed [17:0]               exponent_i,
  input  logic                             one_bank_i,
  // From the loader: macro-tiles beyond tiles_i follow while loading_i is high.
  input  logic                             loading_i,
  input  logic [2:0]                       tiles_i,
  input  logic                             ready_i,
  output logic                             drained_o,
  output logic                             drained_bank_o,
  output logic                             idle_o,
  // Array.
  output logic                             drain_enable_o,
  output logic                             drain_read_o,
  output logic                             drain_bank_o,
  output logic                             drain_parity_o,
  output logic [RowWidth-1:0]              drain_row_o,
  output logic [TileWidthA-1:0]            drain_tile_a_o,
  output logic [TileWidthB-1:0]            drain_tile_b_o,
  output logic [SetWidth-1:0]              drain_set_o,
  input  logic [SumWidth*DrainCols-1:0]    drain_data_i,
  input  logic [Rows-1:0]                  drain_nan_a_i,
  input  logic [DrainCols-1:0]             drain_nan_b_i,
  // From ufp4_addend: the numbers to add.
  output logic [RowBeatsWidth-1:0]         sums_need_o,
  output logic [RowBeatsWidth-1:0]         c_need_o,
  input  logic                             sums_ready_i,
  input  logic                             c_ready_i,
  output logic                             addend_take_o,
  output logic                             addend_upper_o,
  output logic                             sums_read_o,
  input  logic [8*BusBytes-1:0]            sums_data_i,
  output logic                             c_read_o,
  input  logic [8*BusBytes-1:0]            c_data_i,
  // Write client.
  output ufp4_memory_pkg::request_t        wr_req_o,
  input  ufp4_memory_pkg::write_response_t wr_rsp_i,
  output logic                             wr_dat_valid_o,
  output logic [8*BusBytes-1:0]            wr_dat_data_o,
  output logic [BusBytes-1:0]              wr_dat_strb_o
);
  import ufp4_spec_pkg::*;

  localparam int unsigned TileM = Rows * TileRows;
  localparam int unsigned TileN = Cols * TileCols;
  localparam int unsigned RowsWidth = $clog2(TileM + 1);
  localparam int unsigned ColsWidth = $clog2(TileN + 1);
  localparam int unsigned ReadWidth = $clog2(TileN / DrainCols);
  localparam int unsigned CountWidth = $clog2(DrainCols + 1);
  // Rows of sums that wait: at most those of the macro-tile that is drained and of the next one.
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

  logic bf16, wide, has_sums, has_c;
  assign bf16 = desc_i.d_dtype == DTYPE_BF16;
  assign wide = desc_i.d_dtype == DTYPE_I64;
  assign has_sums = desc_i.d_mode[D_MODE_SUMS_BIT];
  assign has_c = desc_i.d_mode[D_MODE_C_BIT];

  // Constants of the job, known long before its first row: the number of operations after rounding,
  // the bits of slot_q that are zero at each read, and which stage is the last: bit n of ends_q for
  // n operations, bit 4 for unrounded sums.
  logic [1:0] operations_d, operations_q, slot_mask_q;
  logic [4:0] ends_q;
  always_comb begin
    operations_d = 2'(desc_i.scale == SCALE_NVFP4) + 2'(desc_i.d_mode[D_MODE_ALPHA_BIT]) + 2'(has_c);
    if (wide) operations_d = 2'd0;
  end
  always_ff @(posedge clk_i) begin
    operations_q <= operations_d;
    slot_mask_q <= {operations_d == 2'd3, has_sums | wide | operations_d[1]};
    ends_q <= {wide, {4{~wide}} & (4'd1 << operations_d)};
  end

  // The place of the next read: the row of the macro-tile, its sub-tile and array row, and the
  // number of the read within the row, which gives the sub-tile and the set of columns. addr is
  // that of this row of D, tile_addr of the first row of the macro-tile, band_addr of the first row
  // of this row of macro-tiles.
  logic active_d, active_q, open_d, open_q, parity_d, parity_q;
  logic [CreditWidth-1:0] credit_d, credit_q;
  logic [2:0] tiles_d, tiles_q;
  logic [RowsWidth-1:0] row_d, row_q;
  logic [TileWidthA-1:0] tile_a_d, tile_a_q;
  logic [RowWidth-1:0] array_row_d, array_row_q;
  logic [ReadWidth-1:0] read_d, read_q;
  logic at_first_q;  // read_q == 0
  logic [39:0] addr_d, addr_q, tile_addr_d, tile_addr_q, band_addr_d, band_addr_q;

  logic last_read, last_row, row_in_tile_done, request_here, addends_here, enable, read, req_valid_q;
  logic [39:0] req_addr_q;
  logic [8:0] req_beats_q;
  logic [1:0] slot_q;
  logic [RowsWidth-1:0] top_row_q;
  logic [ReadWidth-1:0] top_read_q;
  logic [ReadWidth:0] top_half_q;
  logic [CountWidth-1:0] last_count_q;
  logic last_upper_q, upper;

  // The last row of the macro-tile, the last read of a row, the last beat of unrounded sums, and
  // the number of columns of the last read. These registers are right in time because a macro-tile
  // opens two or more cycles after the one before.
  always_ff @(posedge clk_i) begin
    top_row_q <= rows - 1'b1;
    top_read_q <= ReadWidth'((cols - 1'b1) / ColsWidth'(DrainCols));
    top_half_q <= (ReadWidth + 1)'(({cols, 1'b0} - 1'b1) / (ColsWidth + 1)'(DrainCols));
    last_count_q <= CountWidth'((cols - 1'b1) % ColsWidth'(DrainCols)) + 1'b1;
    last_upper_q <= (cols - 1'b1) % ColsWidth'(DrainCols) >= ColsWidth'(DrainCols / 2);
  end
  assign last_read = read_q == top_read_q;
  assign last_row = row_q == top_row_q;
  assign upper = ~last_read | last_upper_q;
  assign row_in_tile_done = array_row_q == RowWidth'(Rows - 1);
  assign request_here = ~req_valid_q | wr_rsp_i.req_ready;
  assign addends_here = (~has_sums | sums_ready_i) & (~has_c | c_ready_i);
  assign read = active_q & open_q & (~at_first_q | request_here) & (slot_q & slot_mask_q) == 2'd0 & addends_here;
  assign next_tile = read & enable & last_read & last_row;
  assign tiles_d = tiles_q + 3'(next_tile);
  assign last_tile = ~loading_i & (tiles_d == tiles_i);
  logic [39:0] element_bytes;
  assign element_bytes = bf16 ? 40'd2 : wide ? 40'd8 : 40'd4;

  always_comb begin
    active_d = active_q;
    open_d = open_q;
    parity_d = parity_q;
    credit_d = credit_q + CreditWidth'(ready_i);
    row_d = row_q;
    tile_a_d = tile_a_q;
    array_row_d = array_row_q;
    read_d = read_q;
    addr_d = addr_q;
    tile_addr_d = tile_addr_q;
    band_addr_d = band_addr_q;
    if (active_q && !open_q && credit_q != 0) begin
      open_d = 1'b1;
      credit_d = credit_q - 1'b1 + CreditWidth'(ready_i);
    end
    if (read && enable) begin
      read_d = last_read ? '0 : read_q + 1'b1;
      if (last_read) begin
        row_d = row_q + 1'b1;
        array_row_d = row_in_tile_done ? '0 : array_row_q + 1'b1;
        tile_a_d = tile_a_q + TileWidthA'(row_in_tile_done);
        addr_d = addr_q + 40'(desc_i.d_stride_bytes);
        if (row_in_tile_done) open_d = 1'b0;
      end
    end
    if (next_tile) begin
      active_d = ~last_tile;
      open_d = 1'b0;
      parity_d = ~parity_q;
      row_d = '0;
      tile_a_d = '0;
      array_row_d = '0;
      if (last_col) band_addr_d = band_addr_q + 40'(desc_i.d_stride_bytes) * 40'(TileM);
      tile_addr_d = last_col ? band_addr_d : tile_addr_q + 40'(TileN) * element_bytes;
      addr_d = tile_addr_d;
    end
    if (start_i) begin
      active_d = 1'b1;
      open_d = 1'b0;
      parity_d = 1'b0;
      credit_d = '0;
      row_d = '0;
      tile_a_d = '0;
      array_row_d = '0;
      read_d = '0;
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
    if (!rst_ni) begin
      slot_q <= '0;
    end else if (enable) begin
      slot_q <= slot_q + 1'b1;
    end
    open_q <= open_d;
    parity_q <= parity_d;
    credit_q <= credit_d;
    tiles_q <= start_i ? '0 : tiles_d;
    row_q <= row_d;
    tile_a_q <= tile_a_d;
    array_row_q <= array_row_d;
    read_q <= read_d;
    addr_q <= addr_d;
    tile_addr_q <= tile_addr_d;
    band_addr_q <= band_addr_d;
  end

  assign drain_enable_o = enable;
  assign drain_read_o = read;
  assign drain_bank_o = one_bank_i | parity_q;
  assign drain_parity_o = parity_q;
  assign drain_row_o = array_row_q;
  assign drain_tile_a_o = tile_a_q;
  if (Sets == 1) begin : gen_whole_rows
    assign drain_tile_b_o = read_q;
    assign drain_set_o = '0;
  end else begin : gen_sets
    logic [TileWidthB-1:0] tile_b_q;
    logic [SetWidth-1:0] set_q;
    always_ff @(posedge clk_i) begin
      if (start_i || (read && enable && last_read)) begin
        tile_b_q <= '0;
        set_q <= '0;
      end else if (read && enable) begin
        tile_b_q <= tile_b_q + TileWidthB'(set_q == SetWidth'(Sets - 1));
        set_q <= (set_q == SetWidth'(Sets - 1)) ? '0 : set_q + 1'b1;
      end
    end
    assign drain_tile_b_o = tile_b_q;
    assign drain_set_o = set_q;
  end

  // Each row is one request. Once accepted, it owns the port, and the data of other clients wait
  // behind it: so a row asks only when its first sums are DRAIN_ASK_STAGES before the last stage,
  // or when the next row needs the request register.
  localparam int unsigned Last = DRAIN_STAGES + 3 * ALU_STAGES;
  localparam int unsigned WaitWidth = $clog2(Last);
  logic asks, waited_q;  // wait_q == 0
  logic [WaitWidth-1:0] row_wait, wait_q;
  always_comb begin
    row_wait = {WaitWidth{ends_q[4]}} & WaitWidth'(DRAIN_SUM_STAGES - DRAIN_ASK_STAGES);
    for (int unsigned n = 0; n < 4; n++) begin
      row_wait |= {WaitWidth{ends_q[n]}} & WaitWidth'(DRAIN_STAGES + n * ALU_STAGES - DRAIN_ASK_STAGES);
    end
  end
  assign asks = req_valid_q & (waited_q | (active_q & open_q & at_first_q));
  assign wr_req_o = '{valid: asks, addr: req_addr_q, beats: req_beats_q};
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      at_first_q <= 1'b1;
    end else if (read && enable) begin
      at_first_q <= last_read;
    end
    if (read && enable && at_first_q) begin
      wait_q <= row_wait;
      waited_q <= row_wait == 0;
    end else if (enable && wait_q != 0) begin
      wait_q <= wait_q - 1'b1;
      waited_q <= wait_q == WaitWidth'(1);
    end
    if (!rst_ni) begin
      req_valid_q <= 1'b0;
    end else if (read && enable && at_first_q) begin
      req_valid_q <= 1'b1;
    end else if (asks && wr_rsp_i.req_ready) begin
      req_valid_q <= 1'b0;
    end
    if (read && enable && at_first_q) begin
      req_addr_q <= addr_q;
      req_beats_q <= bf16 ? (9'(top_read_q) >> 1) + 9'd1 : wide ? 9'(top_half_q) + 9'd1 : 9'(top_read_q) + 9'd1;
    end
  end

  // This note travels with the sums: the number of columns of D here, the half of a BF16 beat, and
  // whether the read is the last of its row. Nothing moves past the last stage that the job needs.
  typedef struct packed {
    logic [CountWidth-1:0] count;
    logic half;
    logic last_read;
  } note_t;
  logic [Last:1] valid_q, valid_d, reached;
  logic [4:0] at_end;
  note_t [Last:1] note_q;
  note_t note, last_note;
  logic [2:1][DrainCols-1:0] nan_q;
  logic upper_q;
  logic last_sums_q;
  for (genvar i = 1; i <= Last; i++) begin : gen_reached
    if (i <= DRAIN_SUM_STAGES) begin : gen_all
      assign reached[i] = 1'b1;
    end else if (i <= DRAIN_STAGES) begin : gen_rounded
      assign reached[i] = ~ends_q[4];
    end else begin : gen_operation
      assign reached[i] = |ends_q[3:(i-DRAIN_STAGES+ALU_STAGES-1)/ALU_STAGES];
    end
  end
  always_comb begin
    at_end[4] = ends_q[4] & valid_q[DRAIN_SUM_STAGES];
    last_note = {$bits(note_t) {ends_q[4]}} & note_q[DRAIN_SUM_STAGES];
    for (int unsigned n = 0; n < 4; n++) begin
      at_end[n] = ends_q[n] & valid_q[DRAIN_STAGES+n*ALU_STAGES];
      last_note |= {$bits(note_t) {ends_q[n]}} & note_q[DRAIN_STAGES+n*ALU_STAGES];
    end
  end
  assign note.count = last_read ? last_count_q : CountWidth'(DrainCols);
  assign note.half = read_q[0];
  assign note.last_read = last_read;
  assign valid_d = {valid_q[Last-1:1], read} & reached;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      upper_q <= 1'b0;
    end else if (enable) begin
      valid_q <= valid_d;
      upper_q <= upper & read;
    end
    if (enable) begin
      note_q <= {note_q[Last-1:1], note};
      nan_q <= {nan_q[1], drain_nan_b_i | {DrainCols{drain_nan_a_i[drain_row_o]}}};
      last_sums_q <= last_read & last_row;
      drained_bank_o <= drain_bank_o;
    end
  end
  // The last sums of the bank have left the PEs.
  assign drained_o = enable & valid_q[1] & last_sums_q;

  // The lower half of the earlier sums waits here for the upper half.
  logic [8*BusBytes-1:0] sums_low_q;
  // A row begins only when all its addends are buffered: write data must never wait for a read,
  // because a memory that serves one burst at a time would not serve that read.
  assign sums_need_o = at_first_q ? RowBeatsWidth'(top_half_q) + 1'b1 : RowBeatsWidth'(upper) + 1'b1;
  assign c_need_o = at_first_q ? RowBeatsWidth'(top_read_q) + 1'b1 : RowBeatsWidth'(1);
  assign addend_take_o = read & enable;
  assign addend_upper_o = upper;
  assign sums_read_o = has_sums & enable & (read | (valid_q[1] & upper_q));
  always_ff @(posedge clk_i) begin
    if (enable && has_sums && valid_q[1]) sums_low_q <= sums_data_i;
  end

  logic [64*DrainCols-1:0] sums;
  logic [32*DrainCols-1:0] f32;
  ufp4_epilogue #(.Cols(DrainCols), .Contract(Contract), .SumWidth(SumWidth)) u_epilogue (
    .clk_i,
    .desc_i,
    .exponent_i,
    .enable_i(enable),
    .valid_i(valid_q[Last-1:2]),
    .operations_i(operations_q),
    .accumulator_i(drain_data_i),
    .poisoned_i(nan_q[2]),
    .sums_low_i(sums_low_q),
    .sums_high_i(sums_data_i),
    .c_read_o,
    .c_i(c_data_i),
    .sum_o(sums),
    .f32_o(f32)
  );

  // Output beats. The upper half of a row of unrounded sums follows the lower half.
  function automatic logic [15:0] to_bf16(logic [31:0] x);
    // The NaN of the contract nv has all bits but the sign set, and rounding would change it.
    if (Contract == 32'(CONTRACT_NV) && (&x[30:0])) return 16'h7FFF;
    return 16'((x + 32'h7FFF + 32'(x[16])) >> 16);
  endfunction
  logic arrives, full_d, upper_d, upper_out_q;
  logic [CountWidth-1:0] upper_count_q;
  logic [16*DrainCols-1:0] low_data_q, half_data;
  logic [2*DrainCols-1:0] low_strb_q, half_strb;
  assign arrives = |at_end;  // low while nothing is valid, even before the first job has set ends_q
  assign upper_d = wide & arrives & (last_note.count > CountWidth'(DrainCols / 2));
  assign full_d = upper_out_q | (arrives & (~bf16 | last_note.half | last_note.last_read));
  assign enable = ~wr_dat_valid_o | wr_rsp_i.dat_ready;
  for (genvar c = 0; c < DrainCols; c++) begin : gen_half
    assign half_data[16*c+:16] = to_bf16(f32[32*c+:32]);
    assign half_strb[2*c+:2] = {2{CountWidth'(c) < last_note.count}};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wr_dat_valid_o <= 1'b0;
      upper_out_q <= 1'b0;
    end else if (enable) begin
      wr_dat_valid_o <= full_d;
      upper_out_q <= upper_d;
    end
    if (enable && (arrives || upper_out_q)) begin
      upper_count_q <= last_note.count;
      if (wide) begin
        wr_dat_data_o <= upper_out_q ? sums[64*DrainCols-1:32*DrainCols] : sums[32*DrainCols-1:0];
        for (int unsigned b = 0; b < BusBytes; b++) begin
          wr_dat_strb_o[b] <= upper_out_q ? CountWidth'((BusBytes + b) / 8) < upper_count_q :
                                            CountWidth'(b / 8) < last_note.count;
        end
      end else if (bf16) begin
        low_data_q <= half_data;
        low_strb_q <= half_strb;
        wr_dat_data_o <= last_note.half ? {half_data, low_data_q} : {{(16 * DrainCols) {1'b0}}, half_data};
        wr_dat_strb_o <= last_note.half ? {half_strb, low_strb_q} : {{(2 * DrainCols) {1'b0}}, half_strb};
      end else begin
        wr_dat_data_o <= f32;
        for (int unsigned c = 0; c < DrainCols; c++) begin
          wr_dat_strb_o[4*c+:4] <= {4{CountWidth'(c) < last_note.count}};
        end
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

  assign idle_o = ~active_q & ~req_valid_q & ~(|valid_q) & ~upper_out_q & ~wr_dat_valid_o;

  // ufp4_gemm uses idle and err.
  logic unused_rsp;
  assign unused_rsp = ^{wr_rsp_i.idle, wr_rsp_i.err, wr_rsp_i.answer};
endmodule
