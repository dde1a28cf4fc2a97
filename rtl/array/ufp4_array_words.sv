// SPDX-License-Identifier: Apache-2.0
// The array of the contract exact in the form for simulators, which does few operations on machine
// words. No operand moves: each lane keeps its latest reads in a ring, and a PE takes the entry
// whose age matches the length of its path. A PE does all its arithmetic in its last stage.
//
// One delay line of control serves all PEs: entry i is what was fed i cycles ago. PE (r, c) is r /
// Share + c / Share cycles behind; after the lanes have read its block, the block passes two
// stages, the second of which loads the sum, and the third adds and writes. Operand memories hold
// words (ufp4_words_pkg), and scales as numbers in units of 2^-9. One array holds the sums of all
// PEs. There is no parity.
// Contract: that of the ports of ufp4_array. Tests: tests/rtl/array.
module ufp4_array_words #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Lanes = 16,
  parameter int unsigned Share = 1,
  parameter int unsigned DrainCols = Cols,
  localparam int unsigned BeatRows = BusBytes / 8,
  localparam int unsigned SetsA = Rows / BeatRows,
  localparam int unsigned SetsB = Cols / BeatRows,
  localparam int unsigned TileWidthA = $clog2(TileRows),
  localparam int unsigned TileWidthB = $clog2(TileCols),
  localparam int unsigned BlockWidth = $clog2(Chunk),
  localparam int unsigned AddrWidthA = 1 + TileWidthA + BlockWidth,
  localparam int unsigned AddrWidthB = 1 + TileWidthB + BlockWidth,
  localparam int unsigned LaneWidthA = $clog2(Rows + 1),
  localparam int unsigned LaneWidthB = $clog2(Cols + 1),
  localparam int unsigned IndexWidth = TileWidthA + TileWidthB,
  localparam int unsigned FeedWidth = IndexWidth + 4,
  localparam int unsigned RowWidth = (Rows > 1) ? $clog2(Rows) : 1,
  localparam int unsigned DrainSets = Cols / DrainCols,
  localparam int unsigned DrainSetWidth = (DrainSets > 1) ? $clog2(DrainSets) : 1
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic [7:0]                 elem_a_i,
  input  logic [7:0]                 elem_b_i,
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
  output logic [64*DrainCols-1:0]    drain_data_o,
  output logic [Rows-1:0]            drain_nan_a_o,
  output logic [DrainCols-1:0]       drain_nan_b_o
);
  // The longest path to a PE along one side, and along both.
  localparam int unsigned Last = ((Rows > Cols ? Rows : Cols) - 1) / Share;
  localparam int unsigned Skew = (Rows - 1) / Share + (Cols - 1) / Share;

  // --- Feeds of i cycles ago ---------------------------------------------------------------------
  for (genvar i = 0; i <= Skew + 4; i++) begin : gen_fed
    // step: a step of a block; first: the first step; valid: the last step, to which the control
    // belongs.
    logic step, first, valid, keep, load, put, bank;
    logic [IndexWidth-1:0] index;
    if (i == 0) begin : gen_now
      assign {step, first, valid} = {feed_valid_i, feed_first_i, feed_valid_i & feed_last_i};
      assign {keep, load, put, bank, index} = feed_control_i;
    end else begin : gen_then
      always_ff @(posedge clk_i) begin
        step <= rst_ni & gen_fed[i-1].step;
        valid <= rst_ni & gen_fed[i-1].valid;
        {first, keep, load, put, bank} <= {gen_fed[i-1].first, gen_fed[i-1].keep, gen_fed[i-1].load, gen_fed[i-1].put,
                                           gen_fed[i-1].bank};
        index <= gen_fed[i-1].index;
      end
    end
    // The part of a feed that lanes use: addresses, the number of lanes that read, and which NaN
    // flags are written or cleared.
    if (i <= Last) begin : gen_address
      logic parity, clear_a, clear_b;
      logic [AddrWidthA-1:0] addr_a;
      logic [AddrWidthB-1:0] addr_b;
      logic [LaneWidthA-1:0] lanes_a;
      logic [LaneWidthB-1:0] lanes_b;
      if (i == 0) begin : gen_now
        assign {parity, clear_a, clear_b} = {feed_parity_i, feed_clear_a_i, feed_clear_b_i};
        assign {addr_a, addr_b} = {feed_addr_a_i, feed_addr_b_i};
        assign {lanes_a, lanes_b} = {feed_lanes_a_i, feed_lanes_b_i};
      end else begin : gen_then
        always_ff @(posedge clk_i) begin
          parity <= gen_fed[i-1].gen_address.parity;
          clear_a <= gen_fed[i-1].gen_address.clear_a;
          clear_b <= gen_fed[i-1].gen_address.clear_b;
          addr_a <= gen_fed[i-1].gen_address.addr_a;
          addr_b <= gen_fed[i-1].gen_address.addr_b;
          lanes_a <= gen_fed[i-1].gen_address.lanes_a;
          lanes_b <= gen_fed[i-1].gen_address.lanes_b;
        end
      end
    end
  end

  // --- Lanes: those of the rows, then those of the columns ---------------------------------------
  // An entry is used at most Last + 4 cycles after its read.
  localparam int unsigned AgeWidth = $clog2(Last + 5);
  logic [AgeWidth-1:0] now_q;
  always_ff @(posedge clk_i) now_q <= rst_ni ? now_q + 1'b1 : '0;

  logic [Rows+Cols-1:0] nan;
  for (genvar l = 0; l < Rows + Cols; l++) begin : gen_lane
    localparam bit SideB = l >= Rows;
    localparam int unsigned Place = SideB ? l - Rows : l;
    localparam int unsigned AddrWidth = SideB ? AddrWidthB : AddrWidthA;
    localparam int unsigned TileWidth = SideB ? TileWidthB : TileWidthA;

    logic we, read, clear;
    logic [7:0] elem, scale_byte;
    logic [AddrWidth-1:0] waddr, raddr;
    logic [TileWidth-1:0] drain_tile;
    if (SideB) begin : gen_b
      assign we = we_b_i[Place/BeatRows];
      assign read = gen_fed[Place/Share].step & (gen_fed[Place/Share].gen_address.lanes_b > LaneWidthB'(Place));
      assign clear = gen_fed[Place/Share].gen_address.clear_b;
      assign {elem, waddr, raddr} = {elem_b_i, waddr_b_i, gen_fed[Place/Share].gen_address.addr_b};
      assign drain_tile = drain_tile_b_i;
    end else begin : gen_a
      assign we = we_a_i[Place/BeatRows];
      assign read = gen_fed[Place/Share].step & (gen_fed[Place/Share].gen_address.lanes_a > LaneWidthA'(Place));
      assign clear = gen_fed[Place/Share].gen_address.clear_a;
      assign {elem, waddr, raddr} = {elem_a_i, waddr_a_i, gen_fed[Place/Share].gen_address.addr_a};
      assign drain_tile = drain_tile_a_i;
    end
    assign scale_byte = write_scales_i[8*(Place%BeatRows)+:8];

    logic [3:0] sig, exp;
    logic nan_byte;
    ufp4_scale_decode u_scale_decode (.byte_i(scale_byte[6:0]), .sig_o(sig), .exp_o(exp), .nan_o(nan_byte));
    // The grid of the block's codes: with ELEM_MIXED bit 7 of the scale chooses it.
    logic [7:0] grid;
    assign grid = (elem != ufp4_spec_pkg::ELEM_MIXED) ? elem :
                  scale_byte[7] ? ufp4_spec_pkg::ELEM_E1M2 : ufp4_spec_pkg::ELEM_E2M1;

    logic [63:0] words0[1<<AddrWidth], words1[1<<AddrWidth], words2[1<<AddrWidth], words3[1<<AddrWidth];
    logic [18:0] scales[1<<AddrWidth];
    always_ff @(posedge clk_i) begin
      if (we) begin
        automatic logic [63:0] codes = ufp4_words_pkg::nibbles(write_data_i[64*(Place%BeatRows)+:64]);
        words0[waddr] <= ufp4_words_pkg::word(grid, codes, 0, SideB);
        words1[waddr] <= ufp4_words_pkg::word(grid, codes, 1, SideB);
        words2[waddr] <= ufp4_words_pkg::word(grid, codes, 2, SideB);
        words3[waddr] <= ufp4_words_pkg::word(grid, codes, 3, SideB);
        scales[waddr] <= {nan_byte, 18'(sig) << exp};
      end
    end

    // The rings. With fewer Lanes the words of a step are in the first rings.
    logic [63:0] ring0[1<<AgeWidth], ring1[1<<AgeWidth], ring2[1<<AgeWidth], ring3[1<<AgeWidth];
    logic [63:0] ring_scale[1<<AgeWidth];
    logic read_q, nan_byte_q, clear_q;
    logic [TileWidth:0] flag_q;
    if (Lanes == 16) begin : gen_block
      always_ff @(posedge clk_i) begin
        if (read) begin
          ring0[now_q] <= words0[raddr];
          ring1[now_q] <= words1[raddr];
          ring2[now_q] <= words2[raddr];
          ring3[now_q] <= words3[raddr];
        end
      end
    end else begin : gen_steps
      logic [1:0] step, step_q;
      assign step = gen_fed[Place/Share].first ? 2'd0 : step_q + 2'd1;
      always_ff @(posedge clk_i) begin
        if (read) begin
          step_q <= step;
          if (Lanes == 8) begin
            ring0[now_q] <= step[0] ? words2[raddr] : words0[raddr];
            ring1[now_q] <= step[0] ? words3[raddr] : words1[raddr];
          end else begin
            ring0[now_q] <= step[1] ? (step[0] ? words3[raddr] : words2[raddr])
                                    : (step[0] ? words1[raddr] : words0[raddr]);
            ring1[now_q] <= '0;
          end
          ring2[now_q] <= '0;
          ring3[now_q] <= '0;
        end
      end
    end
    always_ff @(posedge clk_i) begin
      read_q <= read;
      if (read) begin
        ring_scale[now_q] <= 64'(scales[raddr][17:0]);
        nan_byte_q <= scales[raddr][18];
        clear_q <= clear;
        flag_q <= {gen_fed[Place/Share].gen_address.parity, raddr[BlockWidth+:TileWidth]};
      end
    end

    // NaN flags, by parity of the macro-tile and sub-tile: a block that was read had a NaN scale.
    logic [(2<<TileWidth)-1:0] nan_q;
    always_ff @(posedge clk_i) begin
      if (read_q) nan_q[flag_q] <= nan_byte_q | (nan_q[flag_q] & ~clear_q);
    end
    assign nan[l] = nan_q[{drain_parity_i, drain_tile}];
  end
  assign drain_nan_a_o = nan[Rows-1:0];
  assign drain_nan_b_o = nan[Rows+drain_set_i*DrainCols+:DrainCols];

  // --- Processing elements -----------------------------------------------------------------------
  // Each PE has two banks of sums.
  logic [63:0] sums[Cols][Rows][2<<IndexWidth];
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    for (genvar c = 0; c < Cols; c++) begin : gen_col
      // The age of the feed that the PE adds in this cycle: its path and four cycles, the first two
      // of which the lanes take to read.
      localparam int unsigned Fed = r / Share + c / Share + 4;
      logic [AgeWidth-1:0] a, b;
      assign a = now_q - AgeWidth'(c / Share + 4);
      assign b = now_q - AgeWidth'(r / Share + 4);
      logic [63:0] sum, loaded_q;
      ufp4_pe_words #(.Lanes(Lanes)) u_pe (
        .clk_i,
        .step_i(gen_fed[Fed].step),
        .first_i(gen_fed[Fed].first),
        .valid_i(gen_fed[Fed].valid),
        .keep_i(gen_fed[Fed].keep),
        .load_i(gen_fed[Fed].load),
        .loaded_i(loaded_q),
        .a0_i(gen_lane[r].ring0[a]),
        .a1_i(gen_lane[r].ring1[a]),
        .a2_i(gen_lane[r].ring2[a]),
        .a3_i(gen_lane[r].ring3[a]),
        .a_scale_i(gen_lane[r].ring_scale[a]),
        .b0_i(gen_lane[Rows+c].ring0[b]),
        .b1_i(gen_lane[Rows+c].ring1[b]),
        .b2_i(gen_lane[Rows+c].ring2[b]),
        .b3_i(gen_lane[Rows+c].ring3[b]),
        .b_scale_i(gen_lane[Rows+c].ring_scale[b]),
        .sum_o(sum)
      );
      always_ff @(posedge clk_i) begin
        if (gen_fed[Fed-1].valid && gen_fed[Fed-1].load) loaded_q <= sums[c][r][{1'b0, gen_fed[Fed-1].index}];
        if (gen_fed[Fed].valid && gen_fed[Fed].put) sums[c][r][{gen_fed[Fed].bank, gen_fed[Fed].index}] <= sum;
      end
    end
  end

  // --- Drain -------------------------------------------------------------------------------------
  logic drain_valid_q;
  always_ff @(posedge clk_i) begin
    if (drain_enable_i) drain_valid_q <= drain_read_i;
  end
  for (genvar c = 0; c < DrainCols; c++) begin : gen_drain
    logic [63:0] sum_q;
    always_ff @(posedge clk_i) begin
      if (drain_enable_i && drain_read_i) begin
        sum_q <= sums[drain_set_i*DrainCols+c][drain_row_i][{drain_bank_i, drain_tile_a_i, drain_tile_b_i}];
      end
      if (drain_enable_i && drain_valid_q) drain_data_o[64*c+:64] <= sum_q;
    end
  end
endmodule
