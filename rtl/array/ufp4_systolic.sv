// SPDX-License-Identifier: Apache-2.0
// The array in the form for cells and FPGAs, and for simulators with the contracts fp32 and nv:
// Rows x Cols processing elements between their operand lanes. Operand a enters at the left edge
// and moves right, b enters at the top and moves down. Share neighbouring PEs take an operand in
// the same cycle, and the last of them passes it on. Control travels with a through the stages of a
// PE (ufp4_pe_pkg).
// Contract: that of the ports of ufp4_array. Tests: tests/rtl/array.
module ufp4_systolic #(
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
  localparam bit Exact = Contract == 32'(ufp4_spec_pkg::CONTRACT_EXACT);
  localparam bit Nv = Contract == 32'(ufp4_spec_pkg::CONTRACT_NV);
  localparam int unsigned ControlWidth = FeedWidth + 1;
  localparam int unsigned RestWidth = Lanes + (Exact ? 8 : 13);
  // With fewer than 16 Lanes two more bits: there is a step, and it is the first one of its block.
  localparam int unsigned WordWidth = ControlWidth + ((Lanes < 16) ? 2 : 0);
  // The stage that adds up the steps of a block.
  localparam int unsigned PartStage = ufp4_pe_pkg::stage_part(Target, Contract);

  // Stages of the control words. With the contracts fp32 and nv the numbers in the names of the
  // ports of a PE count from the end of the dot product, DotStages later.
  localparam int unsigned DotStages = ufp4_pe_pkg::dot_stages(Target);
  localparam int unsigned StageLoad = ufp4_pe_pkg::stage_load(Target);
  localparam int unsigned StageSum = Exact ? ufp4_pe_pkg::stage_sum(Target) : ufp4_pe_pkg::stages(Target, Contract);
  localparam int unsigned ControlCycles = (Cols - 1) / Share + 1 + StageSum;

  logic [ControlWidth-1:0] block_control;
  logic [WordWidth-1:0] feed_control;
  always_comb begin
    block_control = {feed_valid_i & feed_last_i, feed_control_i};
    // A cycle without a feed keeps the sum and loads none.
    if (!block_control[ControlWidth-1]) block_control[IndexWidth+2+:2] = 2'b10;
  end
  if (Lanes < 16) begin : gen_feed_steps
    assign feed_control = {feed_valid_i, feed_first_i, block_control};
  end else begin : gen_feed_blocks
    assign feed_control = block_control;
    logic unused_first;
    assign unused_first = feed_first_i;
  end

  // Drain: the sums of one row are read in one cycle, handed on as words in the next, and checked
  // in the third.
  logic drain_valid_q, drain_bank_q, check_q, bank_checked_q;
  logic [Rows-1:0] drain_row_q, row_checked_q;
  logic [DrainSetWidth-1:0] drain_set_q, set_checked_q;
  always_ff @(posedge clk_i) begin
    if (drain_enable_i) begin
      drain_valid_q <= drain_read_i;
      if (drain_read_i) begin
        drain_bank_q <= drain_bank_i;
        for (int unsigned r = 0; r < Rows; r++) drain_row_q[r] <= drain_row_i == RowWidth'(r);
        drain_set_q <= drain_set_i;
      end
    end
    check_q <= drain_enable_i & drain_valid_q;
    bank_checked_q <= drain_bank_q;
    row_checked_q <= drain_row_q;
    set_checked_q <= drain_set_q;
  end

  logic [Rows-1:0] lane_error_a;

  // Rows: feed and control move down the left edge, operands and control to the right.
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    logic [WordWidth-1:0] control;
    logic [AddrWidthA-1:0] addr;
    logic parity, clear;
    logic [LaneWidthA-1:0] lanes;
    if (r % Share != 0) begin : gen_shared
      assign control = gen_row[r-1].control;
      assign addr = gen_row[r-1].addr;
      assign parity = gen_row[r-1].parity;
      assign clear = gen_row[r-1].clear;
      assign lanes = gen_row[r-1].lanes;
    end else if (r == 0) begin : gen_first
      assign control = feed_control;
      assign addr = feed_addr_a_i;
      assign parity = feed_parity_i;
      assign clear = feed_clear_a_i;
      assign lanes = feed_lanes_a_i;
    end else begin : gen_next
      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          control <= '0;
        end else begin
          control <= gen_row[r-1].control;
        end
        addr <= gen_row[r-1].addr;
        parity <= gen_row[r-1].parity;
        clear <= gen_row[r-1].clear;
        lanes <= gen_row[r-1].lanes;
      end
    end

    logic [4*Lanes-1:0] mag;
    logic [RestWidth-1:0] rest;
    ufp4_lane #(
      .Tiles(TileRows),
      .Chunk(Chunk),
      .Lanes(Lanes),
      .Target(Target),
      .Parity(Parity),
      .Contract(Contract)
    ) u_lane (
      .clk_i,
      .elem_i(elem_a_i),
      .e8m0_i,
      .we_i(we_a_i[r / BeatRows]),
      .waddr_i(waddr_a_i),
      .wcode_i(write_data_i[64*(r % BeatRows)+:64]),
      .wscale_i(write_scales_i[8*(r % BeatRows)+:8]),
      .read_i(control[WordWidth-1] & (lanes > LaneWidthA'(r))),
      .first_i((Lanes < 16) ? control[WordWidth-2] : 1'b1),
      .raddr_i(addr),
      .parity_i(parity),
      .clear_i(clear),
      .mag_o(mag),
      .rest_o(rest),
      .nan_parity_i(drain_parity_i),
      .nan_tile_i(drain_tile_a_i),
      .nan_o(drain_nan_a_o[r]),
      .error_o(lane_error_a[r])
    );

    // A control word is delayed two cycles for the lane, one per column, and one for each stage
    // after the first. Rows that share registers share the delay line.
    for (genvar j = 0; j < ((r % Share == 0) ? ControlCycles : 0); j++) begin : gen_control
      // The bits of the steps end at the stage that adds them up.
      // verilator lint_off UNUSEDSIGNAL
      logic [WordWidth-1:0] word_d, word_q;
      // verilator lint_on UNUSEDSIGNAL
      if (j == 0) begin : gen_first
        assign word_d = control;
      end else begin : gen_next
        assign word_d = gen_row[r].gen_control[j-1].word_q;
      end
      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          word_q <= '0;
        end else begin
          word_q <= word_d;
        end
      end
    end

    logic [DrainSets-1:0][1:0] drain_read;
    logic [IndexWidth-1:0] drain_index;
    for (genvar s = 0; s < DrainSets; s++) begin : gen_drain_read
      assign drain_read[s] = {2{drain_read_i & drain_enable_i & (drain_row_i == RowWidth'(r)) &
                                (drain_set_i == DrainSetWidth'(s))}} & {drain_bank_i, ~drain_bank_i};
    end
    assign drain_index = {drain_tile_a_i, drain_tile_b_i};

    for (genvar c = 0; c < Cols; c++) begin : gen_col
      logic [4*Lanes-1:0] a_mag_in, b_mag_in;
      logic [SumWidth-1:0] sum0, sum1;
      logic [1:0] sum_parity;
      logic [RestWidth-1:0] a_rest_in, b_rest_in;
      // The last column and the last row have no neighbour to pass operands to.
      // verilator lint_off UNUSEDSIGNAL
      logic [4*Lanes-1:0] a_mag, b_mag;
      logic [RestWidth-1:0] a_rest, b_rest;
      // verilator lint_on UNUSEDSIGNAL
      if (c < Share) begin : gen_left
        assign a_mag_in = mag;
        assign a_rest_in = rest;
      end else if (c % Share != 0) begin : gen_shared_a
        assign a_mag_in = gen_row[r].gen_col[c-1].a_mag_in;
        assign a_rest_in = gen_row[r].gen_col[c-1].a_rest_in;
      end else begin : gen_inner
        assign a_mag_in = gen_row[r].gen_col[c-1].a_mag;
        assign a_rest_in = gen_row[r].gen_col[c-1].a_rest;
      end
      if (r < Share) begin : gen_top
        assign b_mag_in = gen_lane_b[c].mag;
        assign b_rest_in = gen_lane_b[c].rest;
      end else if (r % Share != 0) begin : gen_shared_b
        assign b_mag_in = gen_row[r-1].gen_col[c].b_mag_in;
        assign b_rest_in = gen_row[r-1].gen_col[c].b_rest_in;
      end else begin : gen_below
        assign b_mag_in = gen_row[r-1].gen_col[c].b_mag;
        assign b_rest_in = gen_row[r-1].gen_col[c].b_rest;
      end

      // The step that the PE adds up; the contract nv has only whole blocks.
      // verilator lint_off UNUSEDSIGNAL
      logic step, first;
      // verilator lint_on UNUSEDSIGNAL
      if (Lanes < 16) begin : gen_steps
        assign {step, first} = gen_row[r-r%Share].gen_control[c/Share+PartStage].word_q[WordWidth-1-:2];
      end else begin : gen_blocks
        assign step  = ufp4_pe_pkg::ClockEnables & gen_row[r-r%Share].gen_control[c/Share+1].word_q[WordWidth-1];
        assign first = 1'b0;
      end

      if (Exact) begin : gen_exact
        ufp4_pe #(.Depth(1 << IndexWidth), .Target(Target), .Parity(Parity), .Formats(Formats), .Lanes(Lanes)) u_pe (
          .clk_i,
          .rst_ni,
          .valid_i(gen_row[r-r%Share].gen_control[c/Share+ufp4_pe_pkg::StageValid].word_q[ControlWidth-1]),
          .control_load_i(gen_row[r-r%Share].gen_control[c/Share+StageLoad].word_q[ControlWidth-1:0]),
          .control_sum_i(gen_row[r-r%Share].gen_control[c/Share+StageSum].word_q[ControlWidth-1:0]),
          .base_i(gen_row[r-r%Share].gen_control[c/Share+StageSum-1].word_q[IndexWidth+2+:2]),
          .step_i(step),
          .first_i(first),
          .a_mag_i(a_mag_in),
          .a_rest_i(a_rest_in),
          .b_mag_i(b_mag_in),
          .b_rest_i(b_rest_in),
          .a_mag_o(a_mag),
          .a_rest_o(a_rest),
          .b_mag_o(b_mag),
          .b_rest_o(b_rest),
          .drain_read_i(drain_read[c/DrainCols]),
          .drain_index_i(drain_index),
          .drain_data0_o(sum0),
          .drain_data1_o(sum1),
          .drain_parity_o(sum_parity)
        );
      end else if (Nv) begin : gen_nv
        ufp4_pe_nv #(.Depth(1 << IndexWidth), .Target(Target), .Parity(Parity), .Formats(Formats)) u_pe (
          .clk_i,
          .rst_ni,
          .valid1_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+1].word_q[ControlWidth-1-:2]),
          .valid2_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+2].word_q[ControlWidth-1]),
          .control4_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+4].word_q),
          .control5_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+5].word_q),
          .valid6_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+6].word_q[ControlWidth-1-:2]),
          .valid8_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+8].word_q[ControlWidth-1-:2]),
          .valid9_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+9].word_q[ControlWidth-1-:2]),
          .control12_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+12].word_q),
          .a_mag_i(a_mag_in),
          .a_rest_i(a_rest_in),
          .b_mag_i(b_mag_in),
          .b_rest_i(b_rest_in),
          .a_mag_o(a_mag),
          .a_rest_o(a_rest),
          .b_mag_o(b_mag),
          .b_rest_o(b_rest),
          .drain_read_i(drain_read[c/DrainCols]),
          .drain_index_i(drain_index),
          .drain_data0_o(sum0),
          .drain_data1_o(sum1),
          .drain_parity_o(sum_parity)
        );
      end else begin : gen_fp32
        ufp4_pe_fp32 #(
          .Depth(1 << IndexWidth),
          .Target(Target),
          .Parity(Parity),
          .Formats(Formats),
          .Lanes(Lanes)
        ) u_pe (
          .clk_i,
          .rst_ni,
          .valid1_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+1].word_q[WordWidth-1]),
          .control2_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+2].word_q[ControlWidth-1:0]),
          .control3_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+3].word_q[ControlWidth-1:0]),
          .control4_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+4].word_q[ControlWidth-1:0]),
          .control7_i(gen_row[r-r%Share].gen_control[c/Share+DotStages+7].word_q[ControlWidth-1:0]),
          .step_i(step),
          .first_i(first),
          .a_mag_i(a_mag_in),
          .a_rest_i(a_rest_in),
          .b_mag_i(b_mag_in),
          .b_rest_i(b_rest_in),
          .a_mag_o(a_mag),
          .a_rest_o(a_rest),
          .b_mag_o(b_mag),
          .b_rest_o(b_rest),
          .drain_read_i(drain_read[c/DrainCols]),
          .drain_index_i(drain_index),
          .drain_data0_o(sum0),
          .drain_data1_o(sum1),
          .drain_parity_o(sum_parity)
        );
      end
      // One word of the column, as the drain reads it; its parity follows a cycle later.
      logic [SumWidth-1:0] word, column_word;
      logic column_parity;
      assign word = drain_bank_q ? sum1 : sum0;
      if (r == 0) begin : gen_first_word
        assign column_word = {SumWidth{drain_row_q[r]}} & word;
        assign column_parity = row_checked_q[r] & sum_parity[bank_checked_q];
      end else begin : gen_next_word
        assign column_word = gen_row[r-1].gen_col[c].column_word | ({SumWidth{drain_row_q[r]}} & word);
        assign column_parity = gen_row[r-1].gen_col[c].column_parity | (row_checked_q[r] & sum_parity[bank_checked_q]);
      end
    end
  end

  // Columns: the feed moves along the top edge.
  logic [Cols-1:0] nan_b, lane_error_b;
  for (genvar c = 0; c < Cols; c++) begin : gen_lane_b
    logic valid, first, parity, clear;
    logic [AddrWidthB-1:0] addr;
    logic [LaneWidthB-1:0] lanes;
    if (c % Share != 0) begin : gen_shared
      assign valid = gen_lane_b[c-1].valid;
      assign first = gen_lane_b[c-1].first;
      assign parity = gen_lane_b[c-1].parity;
      assign addr = gen_lane_b[c-1].addr;
      assign clear = gen_lane_b[c-1].clear;
      assign lanes = gen_lane_b[c-1].lanes;
    end else if (c == 0) begin : gen_first
      assign valid = feed_valid_i;
      assign first = feed_first_i;
      assign parity = feed_parity_i;
      assign addr = feed_addr_b_i;
      assign clear = feed_clear_b_i;
      assign lanes = feed_lanes_b_i;
    end else begin : gen_next
      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          valid <= 1'b0;
        end else begin
          valid <= gen_lane_b[c-1].valid;
        end
        first <= gen_lane_b[c-1].first;
        parity <= gen_lane_b[c-1].parity;
        addr <= gen_lane_b[c-1].addr;
        clear <= gen_lane_b[c-1].clear;
        lanes <= gen_lane_b[c-1].lanes;
      end
    end

    logic [4*Lanes-1:0] mag;
    logic [RestWidth-1:0] rest;
    ufp4_lane #(
      .Tiles(TileCols),
      .Chunk(Chunk),
      .Lanes(Lanes),
      .Target(Target),
      .Parity(Parity),
      .Contract(Contract)
    ) u_lane (
      .clk_i,
      .elem_i(elem_b_i),
      .e8m0_i,
      .we_i(we_b_i[c / BeatRows]),
      .waddr_i(waddr_b_i),
      .wcode_i(write_data_i[64*(c % BeatRows)+:64]),
      .wscale_i(write_scales_i[8*(c % BeatRows)+:8]),
      .read_i(valid & (lanes > LaneWidthB'(c))),
      .first_i(first),
      .raddr_i(addr),
      .parity_i(parity),
      .clear_i(clear),
      .mag_o(mag),
      .rest_o(rest),
      .nan_parity_i(drain_parity_i),
      .nan_tile_i(drain_tile_b_i),
      .nan_o(nan_b[c]),
      .error_o(lane_error_b[c])
    );
  end

  assign drain_nan_b_o = nan_b[drain_set_i*DrainCols+:DrainCols];
  localparam int unsigned Fold = (SumWidth + 3) / 4;
  logic [DrainCols-1:0] sum_error_q;
  for (genvar c = 0; c < DrainCols; c++) begin : gen_drain
    logic [SumWidth-1:0] word;
    logic parity;
    if (DrainSets == 1) begin : gen_one_set
      assign word = drain_valid_q ? gen_row[Rows-1].gen_col[c].column_word : '0;
      assign parity = gen_row[Rows-1].gen_col[c].column_parity;
      logic unused_set;
      assign unused_set = ^set_checked_q;
    end else begin : gen_sets
      logic [SumWidth-1:0] words [DrainSets];
      logic [DrainSets-1:0] parities;
      for (genvar s = 0; s < DrainSets; s++) begin : gen_set
        assign words[s] = gen_row[Rows-1].gen_col[DrainCols*s+c].column_word;
        assign parities[s] = gen_row[Rows-1].gen_col[DrainCols*s+c].column_parity;
      end
      assign word = drain_valid_q ? words[drain_set_q] : '0;
      assign parity = parities[set_checked_q];
    end
    always_ff @(posedge clk_i) begin
      if (drain_enable_i && drain_valid_q) drain_data_o[SumWidth*c+:SumWidth] <= word;
    end
    if (Parity) begin : gen_check
      // As in ufp4_sum_banks, four bits are folded into one, and a cycle later all of these into
      // one.
      logic [4*Fold-1:0] bits;
      logic [Fold-1:0] fold_q;
      assign bits = (4 * Fold)'(word);
      always_ff @(posedge clk_i) begin
        if (drain_enable_i && drain_valid_q) begin
          fold_q <= bits[0+:Fold] ^ bits[Fold+:Fold] ^ bits[2*Fold+:Fold] ^ bits[3*Fold+:Fold];
        end
        sum_error_q[c] <= check_q ? parity ^ ^fold_q : 1'b0;
      end
    end else begin : gen_no_check
      assign sum_error_q[c] = 1'b0;
      logic unused_parity;
      assign unused_parity = check_q ^ parity;
    end
  end

  logic [Rows-1:0] lane_error_a_q;
  logic [Cols-1:0] lane_error_b_q;
  always_ff @(posedge clk_i) begin
    lane_error_a_q <= lane_error_a;
    lane_error_b_q <= lane_error_b;
  end
  assign error_o = |sum_error_q | |lane_error_a_q | |lane_error_b_q;
endmodule
