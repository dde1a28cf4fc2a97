// SPDX-License-Identifier: Apache-2.0
// GEMM engine: D [m][n] = A [m][k] times B [n][k] transposed, under the contract exact, fp32 or nv
// (parameter Contract). Both operands are panel-major in memory.
//
//   D = RNE32((sum of block products + earlier sums) * 2^-(tA + tB)), then the scaling and the
//       addition that the descriptor asks for                   docs/reference/numerics.md, 5
//
// Data flow: memory -> load -> operand lanes -> array -> drain -> memory. The sequencer controls
// the array; the addend unit reads what the drain adds, as a read client of its own.
//
// The descriptor has been checked, and is stable from start to done; the exponents are the resolved
// t. Reads and writes follow the client rules of docs/ip/interfaces.md. done_valid_o rises when
// every read has returned and every write is answered. An error of the bus or of a memory's parity
// is remembered, and the engine then ends after the current macro-tile. From the cycle after the
// start until done, exactly one of busy_o (the array is fed) and the stall outputs is high in each
// cycle. ufp4_shape_pkg decides which parameters go together; ufp4_top checks it.
//
// Golden: ufp4_gemm; tests/rtl/array. Timed model: sim/src/timing/array/gemm.
module ufp4_gemm #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  parameter int unsigned Lanes = 16
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_valid_i,
  output logic                             start_ready_o,
  input  ufp4_spec_pkg::gemm_descriptor_t  desc_i,
  input  logic [15:0]                      a_exponent_i,
  input  logic [15:0]                      b_exponent_i,
  // While bit 0 (A) or bit 1 (B) of panels_held_i is set, only the first panels_i row groups of
  // that operand may be read: they are in memory from the next cycle on.
  input  logic [1:0]                       panels_held_i,
  input  logic [16:0]                      panels_i,
  output logic                             done_valid_o,
  output logic                             done_read_error_o,
  output logic                             done_write_error_o,
  output logic                             done_memory_error_o,
  output logic                             busy_o,
  output logic                             stall_operand_o,
  output logic                             stall_panel_o,
  output logic                             stall_accumulator_o,
  output logic                             stall_drain_o,
  output ufp4_memory_pkg::request_t        rd_req_o,
  input  ufp4_memory_pkg::read_response_t  rd_rsp_i,
  output logic                             rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]            rd_rsp_data_i,
  output ufp4_memory_pkg::request_t        add_req_o,
  input  ufp4_memory_pkg::read_response_t  add_rsp_i,
  output logic                             add_rsp_ready_o,
  input  logic [8*BusBytes-1:0]            add_rsp_data_i,
  output ufp4_memory_pkg::request_t        wr_req_o,
  input  ufp4_memory_pkg::write_response_t wr_rsp_i,
  output logic                             wr_dat_valid_o,
  output logic [8*BusBytes-1:0]            wr_dat_data_o,
  output logic [BusBytes-1:0]              wr_dat_strb_o
);
  import ufp4_spec_pkg::*;

  localparam int unsigned TileM = Rows * TileRows;
  localparam int unsigned TileN = Cols * TileCols;
  localparam int unsigned GroupsA = TileM / 16;
  localparam int unsigned GroupsB = TileN / 16;
  localparam int unsigned CountWidth = $clog2(GroupsA + GroupsB + 2);
  localparam int unsigned TileWidthA = $clog2(TileRows);
  localparam int unsigned TileWidthB = $clog2(TileCols);
  localparam int unsigned AddrWidthA = 1 + TileWidthA + $clog2(Chunk);
  localparam int unsigned AddrWidthB = 1 + TileWidthB + $clog2(Chunk);
  localparam int unsigned RowWidth = (Rows > 1) ? $clog2(Rows) : 1;
  // The engine has beats of its own: a beat of operands is one block of LoadRows rows, which
  // divides both sides of the array; a beat of D is DrainCols FP32 results, which divides a row of
  // the array. Width converters in u_load and u_addend, and u_drain_width, adapt them to the bus.
  localparam int unsigned LoadRows = ufp4_shape_pkg::load_rows(Rows, Cols, BusBytes);
  localparam int unsigned LoadBytes = 8 * LoadRows;
  localparam int unsigned DrainCols = ufp4_shape_pkg::power_of_two_in(Cols);
  localparam int unsigned DrainBytes = 4 * DrainCols;
  localparam int unsigned DrainReads = ufp4_shape_pkg::drain_reads(Cols, TileCols);
  localparam int unsigned DrainSets = Cols / DrainCols;
  localparam int unsigned DrainSetWidth = (DrainSets > 1) ? $clog2(DrainSets) : 1;
  localparam bit Exact = Contract == 32'(ufp4_spec_pkg::CONTRACT_EXACT);
  localparam bit Nv = Contract == 32'(ufp4_spec_pkg::CONTRACT_NV);
  localparam int unsigned FeedWidth = TileWidthA + TileWidthB + (Exact ? 4 : 6);
  // Chunks begin at multiples of this many blocks, so that no beat of scales, pair of E8M0 blocks
  // or group of nv is split.
  localparam int unsigned ChunkStepLeast = Nv ? 4 : 2;
  localparam int unsigned ChunkStep = (BusBytes / 16 > ChunkStepLeast) ? BusBytes / 16 : ChunkStepLeast;
  // Properties of the form of the PE: its stages, the cycles until a sum can be loaded again, and
  // how many PEs per side share the registers that pass an operand on.
  localparam int unsigned PeStages = ufp4_pe_pkg::stages(Target, Contract);
  localparam int unsigned PeReturn = Exact ? PeStages - ufp4_pe_pkg::stage_load(Target) + 1 : 2;
  localparam int unsigned PeShare = ufp4_pe_pkg::share(Target);

  logic start, active_q, drain_idle, quiet_q;
  assign start_ready_o = ~active_q;
  assign start = start_valid_i & start_ready_o;

  // Negated exponent of the unit of the sums; FP32 sums have no unit.
  function automatic logic [17:0] frac(logic [7:0] elem);
    unique case (elem)
      ELEM_E2M1: return 18'(FRAC_E2M1);
      ELEM_E1M2: return 18'(FRAC_E1M2);
      ELEM_MIXED: return 18'(FRAC_MIXED);
      default: return 18'(FRAC_INT4);
    endcase
  endfunction
  logic [17:0] unit;
  logic signed [17:0] exponent_q;
  assign unit = Exact ? 18'd18 + frac(desc_i.a_elem) + frac(desc_i.b_elem) : 18'd0;
  always_ff @(posedge clk_i) begin
    if (start) begin
      exponent_q <= -(unit + 18'(signed'(a_exponent_i)) + 18'(signed'(b_exponent_i)));
    end
  end

  logic loading, held, operand_missing, release_slot, retire, retire_slot, load_read_error, load_error;
  logic [2:0] tiles;
  logic [1:0][CountWidth-1:0] loaded;
  logic [8*LoadBytes-1:0] write_data;
  logic [8*LoadRows-1:0] write_scales;
  logic [Rows/LoadRows-1:0] we_a;
  logic [Cols/LoadRows-1:0] we_b;
  logic [AddrWidthA-1:0] waddr_a;
  logic [AddrWidthB-1:0] waddr_b;
  ufp4_memory_pkg::request_t load_req;
  ufp4_load #(
    .Rows(Rows),
    .Cols(Cols),
    .TileRows(TileRows),
    .TileCols(TileCols),
    .Chunk(Chunk),
    .ChunkStep(ChunkStep),
    .LoadBytes(LoadBytes),
    .BusBytes(BusBytes),
    .CountWidth(CountWidth)
  ) u_load (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .desc_i,
    .release_i(release_slot),
    .panels_held_i,
    .panels_i,
    .held_o(held),
    .stop_i(done_read_error_o | done_write_error_o | done_memory_error_o),
    .loading_o(loading),
    .tiles_o(tiles),
    .loaded_o(loaded),
    .retire_i(retire),
    .retire_slot_i(retire_slot),
    .write_data_o(write_data),
    .write_scales_o(write_scales),
    .we_a_o(we_a),
    .waddr_a_o(waddr_a),
    .we_b_o(we_b),
    .waddr_b_o(waddr_b),
    .read_error_o(load_read_error),
    .memory_error_o(load_error),
    .rd_req_o(load_req),
    .rd_rsp_i,
    .rd_rsp_ready_o,
    .rd_rsp_data_i
  );

  // Operands have priority until the array has received its first chunk. From then on they arrive a
  // chunk ahead, and missing addends hold up the drain and so the array: addends have priority. A
  // waiting request is never withdrawn.
  logic fed_q, waits_q, ask_operands;
  assign ask_operands = load_req.valid & (waits_q | ~(fed_q & add_req_o.valid));
  assign rd_req_o     = '{valid: ask_operands, addr: load_req.addr, beats: load_req.beats};

  always_ff @(posedge clk_i) begin
    fed_q   <= ~start & (fed_q | retire);
    waits_q <= ask_operands & ~rd_rsp_i.req_ready;
  end

  logic drained, drained_bank, rows_ready;
  logic feed_valid, feed_parity, feed_clear_a, feed_clear_b, feed_first, feed_last;
  logic [$clog2(Rows+1)-1:0] feed_lanes_a;
  logic [$clog2(Cols+1)-1:0] feed_lanes_b;
  logic [AddrWidthA-1:0] feed_addr_a;
  logic [AddrWidthB-1:0] feed_addr_b;
  logic [FeedWidth-1:0] feed_control;
  ufp4_sequencer #(
    .Rows(Rows),
    .Cols(Cols),
    .TileRows(TileRows),
    .TileCols(TileCols),
    .Chunk(Chunk),
    .ChunkStep(ChunkStep),
    .CountWidth(CountWidth),
    .Contract(Contract),
    .Lanes(Lanes),
    .PeStages(PeStages),
    .PeReturn(PeReturn),
    .PeShare(PeShare)
  ) u_sequencer (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .desc_i,
    .loading_i(loading),
    .tiles_i(tiles),
    .loaded_i(loaded),
    .retire_o(retire),
    .retire_slot_o(retire_slot),
    .release_o(release_slot),
    .drained_i(drained),
    .drained_bank_i(drained_bank),
    .ready_o(rows_ready),
    .feed_valid_o(feed_valid),
    .feed_addr_a_o(feed_addr_a),
    .feed_addr_b_o(feed_addr_b),
    .feed_parity_o(feed_parity),
    .feed_clear_a_o(feed_clear_a),
    .feed_clear_b_o(feed_clear_b),
    .feed_first_o(feed_first),
    .feed_last_o(feed_last),
    .feed_lanes_a_o(feed_lanes_a),
    .feed_lanes_b_o(feed_lanes_b),
    .feed_control_o(feed_control),
    .busy_o,
    .stall_operand_o(operand_missing),
    .stall_accumulator_o
  );
  assign stall_operand_o = operand_missing & ~held;
  assign stall_panel_o = operand_missing & held;
  assign stall_drain_o = active_q & ~busy_o & ~operand_missing & ~stall_accumulator_o;

  logic array_error, addend_read_error, addend_error;
  logic drain_enable, drain_read, drain_bank, drain_parity;
  logic [RowWidth-1:0] drain_row;
  logic [TileWidthA-1:0] drain_tile_a;
  logic [TileWidthB-1:0] drain_tile_b;
  logic [DrainSetWidth-1:0] drain_set;
  logic [ufp4_pe_pkg::word_width(Target, Contract)*DrainCols-1:0] drain_data;
  logic [Rows-1:0] drain_nan_a;
  logic [DrainCols-1:0] drain_nan_b;
  ufp4_array #(
    .Rows(Rows),
    .Cols(Cols),
    .TileRows(TileRows),
    .TileCols(TileCols),
    .Chunk(Chunk),
    .BusBytes(LoadBytes),
    .Target(Target),
    .Contract(Contract),
    .Formats(Formats),
    .Lanes(Lanes),
    .Share(PeShare),
    .DrainCols(DrainCols)
  ) u_array (
    .clk_i,
    .rst_ni,
    .elem_a_i(desc_i.a_elem),
    .elem_b_i(desc_i.b_elem),
    .e8m0_i(desc_i.scale == SCALE_E8M0),
    .feed_valid_i(feed_valid),
    .feed_addr_a_i(feed_addr_a),
    .feed_addr_b_i(feed_addr_b),
    .feed_parity_i(feed_parity),
    .feed_clear_a_i(feed_clear_a),
    .feed_clear_b_i(feed_clear_b),
    .feed_first_i(feed_first),
    .feed_last_i(feed_last),
    .feed_lanes_a_i(feed_lanes_a),
    .feed_lanes_b_i(feed_lanes_b),
    .feed_control_i(feed_control),
    .write_data_i(write_data),
    .write_scales_i(write_scales),
    .we_a_i(we_a),
    .waddr_a_i(waddr_a),
    .we_b_i(we_b),
    .waddr_b_i(waddr_b),
    .drain_enable_i(drain_enable),
    .drain_read_i(drain_read),
    .drain_bank_i(drain_bank),
    .drain_parity_i(drain_parity),
    .drain_row_i(drain_row),
    .drain_tile_a_i(drain_tile_a),
    .drain_tile_b_i(drain_tile_b),
    .drain_set_i(drain_set),
    .drain_data_o(drain_data),
    .drain_nan_a_o(drain_nan_a),
    .drain_nan_b_o(drain_nan_b),
    .error_o(array_error)
  );

  logic [$clog2(2*DrainReads+1)-1:0] sums_need, c_need;
  logic addend_idle, sums_ready, c_ready, addend_take, addend_upper, sums_read, c_read;
  logic [8*DrainBytes-1:0] sums_data, c_data;
  ufp4_addend #(
    .Rows(Rows),
    .Cols(DrainCols),
    .TileRows(TileRows),
    .TileCols(DrainReads),
    .DrainBytes(DrainBytes),
    .BusBytes(BusBytes),
    .Beats((DrainReads > 64) ? 256 : 128)
  ) u_addend (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .cancel_i(active_q & drain_idle),
    .idle_o(addend_idle),
    .desc_i,
    .sums_need_i(sums_need),
    .c_need_i(c_need),
    .sums_ready_o(sums_ready),
    .c_ready_o(c_ready),
    .take_i(addend_take),
    .upper_i(addend_upper),
    .sums_read_i(sums_read),
    .sums_data_o(sums_data),
    .c_read_i(c_read),
    .c_data_o(c_data),
    .read_error_o(addend_read_error),
    .memory_error_o(addend_error),
    .rd_req_o(add_req_o),
    .rd_rsp_i(add_rsp_i),
    .rd_rsp_ready_o(add_rsp_ready_o),
    .rd_rsp_data_i(add_rsp_data_i)
  );

  ufp4_memory_pkg::request_t out_req;
  ufp4_memory_pkg::write_response_t out_rsp;
  logic out_dat_valid;
  logic [8*DrainBytes-1:0] out_dat_data;
  logic [DrainBytes-1:0] out_dat_strb;
  ufp4_drain #(
    .Rows(Rows),
    .Cols(Cols),
    .TileRows(TileRows),
    .TileCols(TileCols),
    .DrainCols(DrainCols),
    .Contract(Contract),
    .SumWidth(ufp4_pe_pkg::word_width(Target, Contract))
  ) u_drain (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .desc_i,
    .exponent_i(exponent_q),
    .one_bank_i(desc_i.k > 32'(16 * Chunk)),
    .loading_i(loading),
    .tiles_i(tiles),
    .ready_i(rows_ready),
    .drained_o(drained),
    .drained_bank_o(drained_bank),
    .idle_o(drain_idle),
    .drain_enable_o(drain_enable),
    .drain_read_o(drain_read),
    .drain_bank_o(drain_bank),
    .drain_parity_o(drain_parity),
    .drain_row_o(drain_row),
    .drain_tile_a_o(drain_tile_a),
    .drain_tile_b_o(drain_tile_b),
    .drain_set_o(drain_set),
    .drain_data_i(drain_data),
    .drain_nan_a_i(drain_nan_a),
    .drain_nan_b_i(drain_nan_b),
    .sums_need_o(sums_need),
    .c_need_o(c_need),
    .sums_ready_i(sums_ready),
    .c_ready_i(c_ready),
    .addend_take_o(addend_take),
    .addend_upper_o(addend_upper),
    .sums_read_o(sums_read),
    .sums_data_i(sums_data),
    .c_read_o(c_read),
    .c_data_i(c_data),
    .wr_req_o(out_req),
    .wr_rsp_i(out_rsp),
    .wr_dat_valid_o(out_dat_valid),
    .wr_dat_data_o(out_dat_data),
    .wr_dat_strb_o(out_dat_strb)
  );
  ufp4_width_write #(.ClientBytes(DrainBytes), .BusBytes(BusBytes)) u_drain_width (
    .clk_i,
    .rst_ni,
    .req_i(out_req),
    .rsp_o(out_rsp),
    .dat_valid_i(out_dat_valid),
    .dat_data_i(out_dat_data),
    .dat_strb_i(out_dat_strb),
    .req_o(wr_req_o),
    .rsp_i(wr_rsp_i),
    .dat_valid_o(wr_dat_valid_o),
    .dat_data_o(wr_dat_data_o),
    .dat_strb_o(wr_dat_strb_o)
  );

  // The master's idle may not have fallen yet for a write accepted in the last cycle.
  logic quiet;
  assign quiet = active_q & drain_idle & addend_idle & out_rsp.idle;
  assign done_valid_o = quiet & quiet_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      quiet_q <= 1'b0;
    end else begin
      active_q <= start | (active_q & ~done_valid_o);
      quiet_q <= quiet & ~done_valid_o;
    end
    if (start) begin
      done_read_error_o <= 1'b0;
      done_write_error_o <= 1'b0;
      done_memory_error_o <= 1'b0;
    end else begin
      done_read_error_o <= done_read_error_o | load_read_error | addend_read_error;
      done_write_error_o <= done_write_error_o | wr_rsp_i.err;
      done_memory_error_o <= done_memory_error_o | load_error | array_error | addend_error;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert ($countones({busy_o, stall_operand_o, stall_panel_o, stall_accumulator_o, stall_drain_o}) == 32'(active_q))
        else $error("busy %b, stalls %b", busy_o, {stall_operand_o, stall_panel_o, stall_accumulator_o,
                                           stall_drain_o});
      assert (!drain_read || drain_bank || desc_i.k <= 32'(16 * Chunk))
        else $error("a drain of bank 0, where partial sums are");
    end
  end
`endif
endmodule
