// SPDX-License-Identifier: Apache-2.0
// The QUANT engine with its memory clients as plain ports. Tests only.
module quant_engine #(
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Width = 16,
  parameter bit Mixed = 1'b0
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_valid_i,
  output logic                             start_ready_o,
  input  ufp4_spec_pkg::quant_descriptor_t desc_i,
  input  logic [15:0]                      row_exponent_i,
  input  logic [15:0]                      col_exponent_i,
  output logic [16:0]                      panels_o,
  output logic                             done_valid_o,
  output logic                             done_read_error_o,
  output logic                             done_write_error_o,
  output logic                             done_memory_error_o,
  output logic [2:0]                       done_flags_o,
  output logic [15:0]                      done_row_exponent_o,
  output logic [15:0]                      done_col_exponent_o,
  output logic                             rd_req_valid_o,
  input  logic                             rd_req_ready_i,
  output logic [39:0]                      rd_req_addr_o,
  output logic [8:0]                       rd_req_beats_o,
  input  logic                             rd_rsp_valid_i,
  output logic                             rd_rsp_ready_o,
  input  logic [8*BusBytes-1:0]            rd_rsp_data_i,
  input  logic                             rd_rsp_err_i,
  output logic                             wr_req_valid_o,
  input  logic                             wr_req_ready_i,
  output logic [39:0]                      wr_req_addr_o,
  output logic [8:0]                       wr_req_beats_o,
  output logic                             wr_dat_valid_o,
  input  logic                             wr_dat_ready_i,
  output logic [8*BusBytes-1:0]            wr_dat_data_o,
  output logic [BusBytes-1:0]              wr_dat_strb_o,
  input  logic                             wr_idle_i,
  input  logic                             wr_err_i,
  input  logic                             wr_answer_i
);
  ufp4_memory_pkg::request_t rd_req, wr_req;
  assign {rd_req_valid_o, rd_req_addr_o, rd_req_beats_o} = rd_req;
  assign {wr_req_valid_o, wr_req_addr_o, wr_req_beats_o} = wr_req;

  ufp4_quant #(
    .BusBytes(BusBytes),
    .Width   (Width),
    .Mixed   (Mixed)
  ) u_quant (
    .*,
    .rd_req_o(rd_req),
    .rd_rsp_i({rd_req_ready_i, rd_rsp_valid_i, rd_rsp_err_i}),
    .wr_req_o(wr_req),
    .wr_rsp_i({wr_req_ready_i, wr_dat_ready_i, wr_idle_i, wr_err_i, wr_answer_i})
  );
endmodule
