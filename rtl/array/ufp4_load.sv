// SPDX-License-Identifier: Apache-2.0
// The loader of the GEMM engine: brings operands from memory into the memories of the lanes, one
// chunk of k blocks at a time.
//
// ufp4_load_request makes the requests and passes a note for each to ufp4_load_write, which takes
// the data. A beat between them is LoadBytes, one block of LoadBytes / 8 rows; the read client has
// the width of the bus. ufp4_load_request describes held_o, loading_o, tiles_o, stop_i and
// panels_*; ufp4_load_write describes loaded_o, retire_*, write_*, we_* and waddr_*. read_error_o
// (bus) and memory_error_o (parity) are pulses.
// Tests: tests/rtl/array.
module ufp4_load #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned ChunkStep = 4,
  parameter int unsigned LoadBytes = 64,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned CountWidth = 5,
  localparam int unsigned LoadRows = LoadBytes / 8,
  localparam int unsigned AddrWidthA = 1 + $clog2(TileRows) + $clog2(Chunk),
  localparam int unsigned AddrWidthB = 1 + $clog2(TileCols) + $clog2(Chunk)
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  input  ufp4_spec_pkg::gemm_descriptor_t desc_i,
  input  logic                            release_i,
  input  logic [1:0]                      panels_held_i,
  input  logic [16:0]                     panels_i,
  output logic                            held_o,
  input  logic                            stop_i,
  output logic                            loading_o,
  output logic [2:0]                      tiles_o,
  output logic [1:0][CountWidth-1:0]      loaded_o,
  input  logic                            retire_i,
  input  logic                            retire_slot_i,
  output logic [8*LoadBytes-1:0]          write_data_o,
  output logic [8*LoadRows-1:0]           write_scales_o,
  output logic [Rows/LoadRows-1:0]        we_a_o,
  output logic [AddrWidthA-1:0]           waddr_a_o,
  output logic [Cols/LoadRows-1:0]        we_b_o,
  output logic [AddrWidthB-1:0]           waddr_b_o,
  output logic                            read_error_o,
  output logic                            memory_error_o,
  // Read client.
  output ufp4_memory_pkg::request_t       rd_req_o,
  input  ufp4_memory_pkg::read_response_t rd_rsp_i,
  output logic                            rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]           rd_rsp_data_i
);
  localparam int unsigned GroupsA = Rows * TileRows / 16;
  localparam int unsigned GroupsB = Cols * TileCols / 16;
  localparam int unsigned GroupWidth = $clog2(((GroupsA > GroupsB) ? GroupsA : GroupsB) + 1);

  ufp4_memory_pkg::request_t req;
  ufp4_memory_pkg::read_response_t rsp;
  logic rsp_ready;
  logic [8*LoadBytes-1:0] rsp_data;
  ufp4_width_read #(.ClientBytes(LoadBytes), .BusBytes(BusBytes)) u_width (
    .clk_i,
    .rst_ni,
    .req_i(req),
    .rsp_o(rsp),
    .rsp_ready_i(rsp_ready),
    .rsp_data_o(rsp_data),
    .req_o(rd_req_o),
    .rsp_i(rd_rsp_i),
    .rsp_ready_o(rd_rsp_ready_o),
    .rsp_data_i(rd_rsp_data_i)
  );
  assign read_error_o = rsp.valid & rsp_ready & rsp.err;

  logic note_valid, note_ready;
  logic [12:0] note;
  ufp4_load_request #(
    .TileM(Rows * TileRows),
    .TileN(Cols * TileCols),
    .Chunk(Chunk),
    .ChunkStep(ChunkStep),
    .BusBytes(LoadBytes),
    .GroupWidth(GroupWidth)
  ) u_request (
    .clk_i,
    .rst_ni,
    .start_i,
    .desc_i,
    .release_i,
    .panels_held_i,
    .panels_i,
    .held_o,
    .stop_i,
    .loading_o,
    .tiles_o,
    .rd_req_o(req),
    .rd_req_ready_i(rsp.req_ready),
    .note_valid_o(note_valid),
    .note_ready_i(note_ready),
    .note_o(note)
  );
  ufp4_load_write #(
    .Rows(Rows),
    .Cols(Cols),
    .TileRows(TileRows),
    .TileCols(TileCols),
    .Chunk(Chunk),
    .BusBytes(LoadBytes),
    .CountWidth(CountWidth)
  ) u_write (
    .clk_i,
    .rst_ni,
    .note_valid_i(note_valid),
    .note_ready_o(note_ready),
    .note_i(note),
    .rd_rsp_valid_i(rsp.valid),
    .rd_rsp_ready_o(rsp_ready),
    .rd_rsp_data_i(rsp_data),
    .loaded_o,
    .retire_i,
    .retire_slot_i,
    .write_data_o,
    .write_scales_o,
    .error_o(memory_error_o),
    .we_a_o,
    .waddr_a_o,
    .we_b_o,
    .waddr_b_o
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) assert (!rsp.valid || rsp_ready) else $error("a read response that was not asked for");
  end
`endif
endmodule
