// SPDX-License-Identifier: Apache-2.0
// AXI4 read master shared by Clients memory clients (docs/ip/interfaces.md, "Memory clients").
//
// Contract: of several requesting clients the lowest is served first; none may request without end.
// A client receives the beats of its requests in order; beats of different clients may interleave.
// The AXI ID is the number of the client. Only the width of a counter limits the bursts in flight,
// because a client requests only what it can accept, so that no beat waits for long or blocks
// another client. With halt_i no further burst begins. With flush_i, in addition, requests of
// clients are ignored and returning beats are taken and dropped; pending_o falls with the last one.
// After forget_i nothing is pending: the missing beats will never come.
// Latency: two cycles to the AR channel, one back from R. All AXI outputs come from flip-flops.
// Test: tests/rtl/core. Timed model: sim/src/timing/mem/masters.
module ufp4_axi_read #(
  parameter int unsigned Clients = 3,
  parameter int unsigned BusBytes = 64,
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned DataW = 8 * BusBytes,
  localparam int unsigned IdW = $clog2(Clients)
) (
  input  logic                                          clk_i,
  input  logic                                          rst_ni,

  input  logic                                          halt_i,
  input  logic                                          flush_i,
  input  logic                                          forget_i,
  output logic                                          pending_o,  // a burst has begun, and its last beat has not come

  // All clients share one data bus: the beat belongs to the client whose response is valid.
  input  ufp4_memory_pkg::request_t [Clients-1:0]       req_i,
  output ufp4_memory_pkg::read_response_t [Clients-1:0] rsp_o,
  input  logic [Clients-1:0]                            rsp_ready_i,
  output logic [DataW-1:0]                              rsp_data_o,

  output logic                                          arvalid_o,
  input  logic                                          arready_i,
  output logic [IdW-1:0]                                arid_o,
  output logic [AddrW-1:0]                              araddr_o,
  output logic [7:0]                                    arlen_o,

  input  logic                                          rvalid_i,
  output logic                                          rready_o,
  input  logic [IdW-1:0]                                rid_i,
  input  logic [DataW-1:0]                              rdata_i,
  input  logic [1:0]                                    rresp_i,
  input  logic                                          rlast_i
);

  // Wide enough for all bursts that a client can have in flight.
  localparam int unsigned COUNT_W = 10;

  logic [Clients-1:0] req_ready, rsp_valid;
  logic               rsp_err;

  for (genvar c = 0; c < Clients; c++) begin : gen_client
    assign rsp_o[c] = '{req_ready: req_ready[c], valid: rsp_valid[c], err: rsp_err};
  end

  logic             burst_valid, burst_ready;
  logic [IdW-1:0]   burst_id;
  logic [AddrW-1:0] burst_addr;
  logic [7:0]       burst_len;
  logic             burst_go, ar_ready, r_valid, r_ready, r_last;
  logic [IdW-1:0]   r_id;
  logic [Clients-1:0] unused_busy;

  ufp4_axi_burst #(
    .Clients (Clients),
    .BusBytes(BusBytes),
    .Ranked  (1'b1)
  ) u_burst (
    .clk_i,
    .rst_ni       (rst_ni && !flush_i),
    .req_i,
    .req_ready_o  (req_ready),
    .burst_valid_o(burst_valid),
    .burst_ready_i(burst_ready),
    .burst_id_o   (burst_id),
    .burst_addr_o (burst_addr),
    .burst_len_o  (burst_len),
    .busy_o       (unused_busy)
  );

  // Bursts of each client that have begun and whose last beat has not come.
  logic [Clients-1:0][COUNT_W-1:0] count_d, count_q;
  logic                            may_begin;

  assign may_begin   = !halt_i && !flush_i && !(&count_q[burst_id]);
  assign burst_go    = burst_valid && may_begin;
  assign burst_ready = ar_ready && may_begin;
  assign pending_o   = count_q != '0;

  ufp4_skid #(
    .Width(IdW + AddrW + 8)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .in_valid_i (burst_go),
    .in_ready_o (ar_ready),
    .in_data_i  ({burst_id, burst_addr, burst_len}),
    .out_valid_o(arvalid_o),
    .out_ready_i(arready_i),
    .out_data_o ({arid_o, araddr_o, arlen_o})
  );

  // The upper bit of the response is set for SLVERR and DECERR.
  ufp4_skid #(
    .Width(IdW + DataW + 2)
  ) u_r (
    .clk_i,
    .rst_ni,
    .in_valid_i (rvalid_i),
    .in_ready_o (rready_o),
    .in_data_i  ({rid_i, rdata_i, rresp_i[1], rlast_i}),
    .out_valid_o(r_valid),
    .out_ready_i(r_ready),
    .out_data_o ({r_id, rsp_data_o, rsp_err, r_last})
  );

  logic unused_rresp;
  assign unused_rresp = rresp_i[0];

  // A beat with the ID of no client is a fault of the interconnect; it is dropped, so that it does
  // not block the channel. A beat for a client that expects none is late, of a burst that was given
  // up; it is dropped as well.
  always_comb begin
    rsp_valid = '0;
    r_ready   = 1'b1;
    for (int unsigned c = 0; c < Clients; c++) begin
      if (r_id == IdW'(c) && !flush_i && count_q[c] != '0) begin
        rsp_valid[c] = r_valid;
        r_ready      = rsp_ready_i[c];
      end
    end
    for (int unsigned c = 0; c < Clients; c++) begin
      count_d[c] = count_q[c] + COUNT_W'(burst_go && ar_ready && burst_id == IdW'(c)) -
                   COUNT_W'(r_valid && r_ready && r_last && r_id == IdW'(c) && count_q[c] != '0);
      if (forget_i) count_d[c] = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) count_q <= '0;
    else count_q <= count_d;
  end

endmodule
