// SPDX-License-Identifier: Apache-2.0
// Both memory masters with their clients as plain ports, for tests/rtl/axi.
module ufp4_axi_unit #(
  parameter int unsigned BusBytes = 64
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    halt_i,

  input  logic [2:0]              rd_req_valid_i,
  output logic [2:0]              rd_req_ready_o,
  input  logic [119:0]            rd_req_addr_i,
  input  logic [26:0]             rd_req_beats_i,
  output logic [2:0]              rd_rsp_valid_o,
  input  logic [2:0]              rd_rsp_ready_i,
  output logic [8*BusBytes-1:0]   rd_rsp_data_o,
  output logic                    rd_rsp_err_o,
  output logic                    rd_pending_o,

  input  logic [2:0]              wr_req_valid_i,
  output logic [2:0]              wr_req_ready_o,
  input  logic [119:0]            wr_req_addr_i,
  input  logic [26:0]             wr_req_beats_i,
  input  logic [2:0]              wr_dat_valid_i,
  output logic [2:0]              wr_dat_ready_o,
  input  logic [3*8*BusBytes-1:0] wr_dat_data_i,
  input  logic [3*BusBytes-1:0]   wr_dat_strb_i,
  output logic [2:0]              wr_idle_o,
  output logic [2:0]              wr_err_o,
  output logic                    wr_pending_o,
  output logic                    wr_beats_due_o,
  output logic [2:0]              wr_answer_o,

  output logic                    arvalid_o,
  input  logic                    arready_i,
  output logic [1:0]              arid_o,
  output logic [39:0]             araddr_o,
  output logic [7:0]              arlen_o,
  input  logic                    rvalid_i,
  output logic                    rready_o,
  input  logic [1:0]              rid_i,
  input  logic [8*BusBytes-1:0]   rdata_i,
  input  logic [1:0]              rresp_i,
  input  logic                    rlast_i,
  output logic                    awvalid_o,
  input  logic                    awready_i,
  output logic [1:0]              awid_o,
  output logic [39:0]             awaddr_o,
  output logic [7:0]              awlen_o,
  output logic                    wvalid_o,
  input  logic                    wready_i,
  output logic [8*BusBytes-1:0]   wdata_o,
  output logic [BusBytes-1:0]     wstrb_o,
  output logic                    wlast_o,
  input  logic                    bvalid_i,
  output logic                    bready_o,
  input  logic [1:0]              bid_i,
  input  logic [1:0]              bresp_i
);

  ufp4_memory_pkg::request_t [2:0]   rd_req;
  ufp4_memory_pkg::read_response_t [2:0]  rd_rsp;
  ufp4_memory_pkg::request_t [2:0]  wr_req;
  ufp4_memory_pkg::write_response_t [2:0] wr_rsp;
  for (genvar c = 0; c < 3; c++) begin : gen_client
    assign rd_req[c] = {rd_req_valid_i[c], rd_req_addr_i[40*c+:40], rd_req_beats_i[9*c+:9]};
    assign {rd_req_ready_o[c], rd_rsp_valid_o[c]} = {rd_rsp[c].req_ready, rd_rsp[c].valid};
    assign wr_req[c] = {wr_req_valid_i[c], wr_req_addr_i[40*c+:40], wr_req_beats_i[9*c+:9]};
    assign {wr_req_ready_o[c], wr_dat_ready_o[c], wr_idle_o[c], wr_err_o[c], wr_answer_o[c]} = wr_rsp[c];
  end
  assign rd_rsp_err_o = rd_rsp[0].err;

  ufp4_axi_read #(
    .Clients (3),
    .BusBytes(BusBytes)
  ) u_read (
    .*,
    .flush_i    (1'b0),
    .forget_i   (1'b0),
    .pending_o  (rd_pending_o),
    .req_i      (rd_req),
    .rsp_o      (rd_rsp),
    .rsp_ready_i(rd_rsp_ready_i),
    .rsp_data_o (rd_rsp_data_o)
  );

  ufp4_axi_write #(
    .Clients (3),
    .BusBytes(BusBytes)
  ) u_write (
    .*,
    .flush_i    (1'b0),
    .forget_i   (1'b0),
    .pending_o  (wr_pending_o),
    .beats_due_o(wr_beats_due_o),
    .req_i      (wr_req),
    .rsp_o      (wr_rsp),
    .dat_valid_i(wr_dat_valid_i),
    .dat_data_i (wr_dat_data_i),
    .dat_strb_i (wr_dat_strb_i)
  );

endmodule
