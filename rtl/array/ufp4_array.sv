// SPDX-License-Identifier: Apache-2.0
// Rows x Cols processing elements and the operand memories that feed them. Target and Contract
// choose the form: ufp4_array_words for simulators with the contract exact, otherwise
// ufp4_systolic. At these ports the forms differ in the number of PE stages (ufp4_pe_pkg), in the
// results of rows and columns that were not loaded, and in parity, which ufp4_array_words does not
// have.
//
// Feed: a feed names a block of two sub-tiles. Lane 0 of each side reads its operand memory in the
// same cycle, row r and column c read r and c cycles later, and PE (r, c) receives both operands r
// + c + 2 cycles after the feed. Where Share PEs per side take an operand in the same cycle, r /
// Share and c / Share replace r and c. With fewer than 16 Lanes a block is fed in 16 / Lanes steps,
// lowest elements first, and its control takes effect at the last step. feed_control_i is {keep,
// load, write, bank, index} of ufp4_pe; the contract fp32 puts hold and join before them
// (ufp4_pe_fp32), nv puts first and turn before them (ufp4_pe_nv). The sum can be read (Rows - 1) /
// Share + (Cols - 1) / Share + 2 + stages (ufp4_pe_pkg) cycles after the feed.
// Only the first feed_lanes_a_i rows and feed_lanes_b_i columns of the sub-tiles have been loaded,
// and only they are read. feed_clear_a_i and feed_clear_b_i clear the NaN flags of the feed's
// sub-tiles; flags are kept for even and odd macro-tiles (feed_parity_i).
//
// Operand memories: a beat of write_data_i is one block of BusBytes / 8 rows as bit planes, and
// write_scales_i their scales; we_a_i or we_b_i selects the set of lanes. elem_a_i, elem_b_i and
// e8m0_i apply both to what is written and to what is fed. No block is written between its steps;
// the first feed after a reset is the first step of a block.
//
// Drain: the sums (words of accumulator memories, ufp4_pe_pkg) of row drain_row_i and of the
// DrainCols columns of set drain_set_i, in sub-tile (drain_tile_a_i, drain_tile_b_i), appear at
// drain_data_o two cycles after drain_read_i; cycles with drain_enable_i low do not count. The NaN
// flags of all rows and of those columns of that sub-tile, in macro-tile drain_parity_i, are
// combinational.
//
// error_o rises three cycles after a drain, or four after the read of an operand, when a drained
// sum, a sum that it was made of, or an operand has changed in its memory (Parity: ufp4_sum_banks,
// ufp4_sram_checked).
// Tests: tests/rtl/array.
module ufp4_array #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter bit Parity = Target != 32'(ufp4_spec_pkg::TARGET_SIMULATOR),
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  parameter int unsigned Lanes = 16,
  parameter int unsigned Share = 1,
  parameter int unsigned DrainCols = Cols,
  localparam int unsigned BeatRows = BusBytes / 8,
  localparam int unsigned SetsA = Rows / BeatRows,
  localparam int unsigned SetsB = Cols / BeatRows,
  localparam int unsigned TileWidthA = $clog2(TileRows),
  localparam int unsigned TileWidthB = $clog2(TileCols),
  localparam int unsigned AddrWidthA = 1 + TileWidthA + $clog2(Chunk),
  localparam int unsigned AddrWidthB = 1 + TileWidthB + $clog2(Chunk),
  localparam int unsigned LaneWidthA = $clog2(Rows + 1),
  localparam int unsigned LaneWidthB = $clog2(Cols + 1),
  localparam int unsigned IndexWidth = TileWidthA + TileWidthB,
  localparam int unsigned FeedWidth = IndexWidth + ((Contract == 32'(ufp4_spec_pkg::CONTRACT_EXACT)) ? 4 : 6),
  localparam int unsigned RowWidth = (Rows > 1) ? $clog2(Rows) : 1,
  localparam int unsigned DrainSets = Cols / DrainCols,
  localparam int unsigned DrainSetWidth = (DrainSets > 1) ? $clog2(DrainSets) : 1,
  localparam int unsigned SumWidth = ufp4_pe_pkg::word_width(Target, Contract)
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic [7:0]                 elem_a_i,
  input  logic [7:0]                 elem_b_i,
  input  logic                       e8m0_i,
  // Feed.
  input  logic                       feed_valid_i,
  input  logic [AddrWidthA-1:0]      feed_addr_a_i,
  input  logic [AddrWidthB-1:0]      feed_addr_b_i,
  input  logic                       feed_parity_i,
  input  logic                       feed_clear_a_i,
  input  logic                       feed_clear_b_i,
  input  logic                       feed_first_i,
  input  logic                       feed_last_i,
  input  logic [LaneWidthA-1:0]      feed_lanes_a_i,
  input  logic [LaneWidthB-1:0]      feed_lanes_b_i,
  input  logic [FeedWidth-1:0]       feed_control_i,
  // Operand memories.
  input  logic [8*BusBytes-1:0]      write_data_i,
  input  logic [8*BeatRows-1:0]      write_scales_i,
  input  logic [SetsA-1:0]           we_a_i,
  input  logic [AddrWidthA-1:0]      waddr_a_i,
  input  logic [SetsB-1:0]           we_b_i,
  input  logic [AddrWidthB-1:0]      waddr_b_i,
  // Drain.
  input  logic                       drain_enable_i,
  input  logic                       drain_read_i,
  input  logic                       drain_bank_i,
  input  logic                       drain_parity_i,
  input  logic [RowWidth-1:0]        drain_row_i,
  input  logic [TileWidthA-1:0]      drain_tile_a_i,
  input  logic [TileWidthB-1:0]      drain_tile_b_i,
  input  logic [DrainSetWidth-1:0]   drain_set_i,
  output logic [SumWidth*DrainCols-1:0] drain_data_o,
  output logic [Rows-1:0]            drain_nan_a_o,
  output logic [DrainCols-1:0]       drain_nan_b_o,
  output logic                       error_o
);
  localparam bit Words = Target == 32'(ufp4_spec_pkg::TARGET_SIMULATOR) &&
                         Contract == 32'(ufp4_spec_pkg::CONTRACT_EXACT);
  if (Words) begin : gen_words
    if (Parity) $error("ufp4_array: the form for simulators has no parity");
    ufp4_array_words #(
      .Rows(Rows),
      .Cols(Cols),
      .TileRows(TileRows),
      .TileCols(TileCols),
      .Chunk(Chunk),
      .BusBytes(BusBytes),
      .Lanes(Lanes),
      .Share(Share),
      .DrainCols(DrainCols)
    ) u_words (
      .*
    );
    logic unused_scale;
    assign unused_scale = e8m0_i;
    assign error_o = 1'b0;
  end else begin : gen_systolic
    ufp4_systolic #(
      .Rows(Rows),
      .Cols(Cols),
      .TileRows(TileRows),
      .TileCols(TileCols),
      .Chunk(Chunk),
      .BusBytes(BusBytes),
      .Target(Target),
      .Parity(Parity),
      .Contract(Contract),
      .Formats(Formats),
      .Lanes(Lanes),
      .Share(Share),
      .DrainCols(DrainCols)
    ) u_systolic (
      .*
    );
  end
endmodule
