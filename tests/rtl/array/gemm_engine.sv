// SPDX-License-Identifier: Apache-2.0
// The GEMM engine with its two read clients merged, so that one memory serves both: requests
// alternate, and responses keep their order. All ports are plain. Tests only.
module gemm_engine #(
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
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_valid_i,
  output logic                            start_ready_o,
  input  ufp4_spec_pkg::gemm_descriptor_t desc_i,
  input  logic [15:0]                     a_exponent_i,
  input  logic [15:0]                     b_exponent_i,
  input  logic [1:0]                      panels_held_i,
  input  logic [16:0]                     panels_i,
  output logic                            done_valid_o,
  output logic                            done_read_error_o,
  output logic                            done_write_error_o,
  output logic                            done_memory_error_o,
  output logic                            busy_o,
  output logic                            stall_operand_o,
  output logic                            stall_panel_o,
  output logic                            stall_accumulator_o,
  output logic                            stall_drain_o,
  output logic                            rd_req_valid_o,
  input  logic                            rd_req_ready_i,
  output logic [39:0]                     rd_req_addr_o,
  output logic [8:0]                      rd_req_beats_o,
  input  logic                            rd_rsp_valid_i,
  output logic                            rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]           rd_rsp_data_i,
  input  logic                            rd_rsp_err_i,
  output logic                            wr_req_valid_o,
  input  logic                            wr_req_ready_i,
  output logic [39:0]                     wr_req_addr_o,
  output logic [8:0]                      wr_req_beats_o,
  output logic                            wr_dat_valid_o,
  input  logic                            wr_dat_ready_i,
  output logic [8*BusBytes-1:0]           wr_dat_data_o,
  output logic [BusBytes-1:0]             wr_dat_strb_o,
  input  logic                            wr_idle_i,
  input  logic                            wr_err_i
);
  ufp4_memory_pkg::request_t [1:0] req;
  ufp4_memory_pkg::read_response_t [1:0] rsp;
  ufp4_memory_pkg::request_t wr_req;
  logic [1:0] rsp_ready;

  // A waiting request keeps its turn.
  logic turn, last_q, held_q, note_valid, note_ready, note_client, note_done;
  logic [8:0] note_beats, beat_q;
  assign turn = held_q ? last_q : (req[!last_q].valid ? !last_q : last_q);
  assign {rd_req_valid_o, rd_req_addr_o, rd_req_beats_o} = {req[turn].valid & note_ready, req[turn].addr, req[turn].beats};
  for (genvar c = 0; c < 2; c++) begin : gen_client
    assign rsp[c] = '{req_ready: (turn == 1'(c)) & rd_req_ready_i & note_ready,
                      valid: rd_rsp_valid_i & (note_client == 1'(c)), err: rd_rsp_err_i};
  end
  assign {wr_req_valid_o, wr_req_addr_o, wr_req_beats_o} = wr_req;
  ufp4_fifo #(.Width(10), .Depth(1024)) u_notes (
    .clk_i,
    .rst_ni,
    .in_valid_i(rd_req_valid_o & rd_req_ready_i),
    .in_ready_o(note_ready),
    .in_data_i({turn, req[turn].beats}),
    .out_valid_o(note_valid),
    .out_ready_i(note_done),
    .out_data_o({note_client, note_beats})
  );
  assign rd_rsp_ready_o = rsp_ready[note_client];
  assign note_done = note_valid & rd_rsp_valid_i & rd_rsp_ready_o & (beat_q == note_beats - 9'd1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      last_q <= 1'b0;
      held_q <= 1'b0;
      beat_q <= '0;
    end else begin
      last_q <= turn;
      held_q <= rd_req_valid_o & ~rd_req_ready_i;
      if (rd_rsp_valid_i && rd_rsp_ready_o) beat_q <= note_done ? '0 : beat_q + 9'd1;
    end
  end

  ufp4_gemm #(
    .Rows(Rows),
    .Cols(Cols),
    .TileRows(TileRows),
    .TileCols(TileCols),
    .Chunk(Chunk),
    .BusBytes(BusBytes),
    .Target(Target),
    .Contract(Contract),
    .Formats(Formats),
    .Lanes(Lanes)
  ) u_gemm (
    .*,
    .rd_req_o(req[0]),
    .rd_rsp_i(rsp[0]),
    .rd_rsp_ready_o(rsp_ready[0]),
    .add_req_o(req[1]),
    .add_rsp_i(rsp[1]),
    .add_rsp_ready_o(rsp_ready[1]),
    .add_rsp_data_i(rd_rsp_data_i),
    .wr_req_o(wr_req),
    .wr_rsp_i({wr_req_ready_i, wr_dat_ready_i, wr_idle_i, wr_err_i, 1'b0})
  );
endmodule
