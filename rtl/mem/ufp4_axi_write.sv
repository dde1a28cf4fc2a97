// SPDX-License-Identifier: Apache-2.0
// AXI4 write master shared by Clients memory clients (docs/ip/interfaces.md, "Memory clients").
//
// Contract: the k-th beat of a client belongs to the k-th beat of its requests. A client may offer
// beats before their request, but must not wait for a beat to be taken before it makes the request:
// beats leave in the order of the bursts. idle: every request accepted so far has been answered.
// err pulses with an error answer (SLVERR or DECERR), at least one cycle before idle rises for it.
// At most 2^CountW - 1 bursts per client, and QueueDepth bursts whose beats have not left, are in
// flight.
// With halt_i no further burst begins. With flush_i, in addition, clients are ignored and started
// bursts get beats without strobes; pending_o falls with the last answer. After forget_i nothing is
// pending: the missing answers will never come.
// Latency: two cycles to the AW channel, one to W. All AXI outputs come from flip-flops; the AXI ID
// is the number of the client.
// Test: tests/rtl/core. Timed model: sim/src/timing/mem/masters.
module ufp4_axi_write #(
  parameter int unsigned Clients = 3,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned QueueDepth = 16,
  parameter int unsigned CountW = 8,
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned DataW = 8 * BusBytes,
  localparam int unsigned IdW = $clog2(Clients)
) (
  input  logic                                           clk_i,
  input  logic                                           rst_ni,

  input  logic                                           halt_i,
  input  logic                                           flush_i,
  input  logic                                           forget_i,
  output logic                                           pending_o,    // a burst has begun and has not been answered
  output logic                                           beats_due_o,  // a burst has beats left to send

  input  ufp4_memory_pkg::request_t [Clients-1:0]        req_i,
  output ufp4_memory_pkg::write_response_t [Clients-1:0] rsp_o,
  input  logic [Clients-1:0]                             dat_valid_i,
  input  logic [Clients-1:0][DataW-1:0]                  dat_data_i,
  input  logic [Clients-1:0][BusBytes-1:0]               dat_strb_i,

  output logic                                           awvalid_o,
  input  logic                                           awready_i,
  output logic [IdW-1:0]                                 awid_o,
  output logic [AddrW-1:0]                               awaddr_o,
  output logic [7:0]                                     awlen_o,

  output logic                                           wvalid_o,
  input  logic                                           wready_i,
  output logic [DataW-1:0]                               wdata_o,
  output logic [BusBytes-1:0]                            wstrb_o,
  output logic                                           wlast_o,

  input  logic                                           bvalid_i,
  output logic                                           bready_o,
  input  logic [IdW-1:0]                                 bid_i,
  input  logic [1:0]                                     bresp_i
);

  // --- Requests: cut into bursts, for the AW channel and for the order of the beats ---

  logic [Clients-1:0] req_ready, dat_ready, idle, err, answer;

  for (genvar c = 0; c < Clients; c++) begin : gen_client
    assign rsp_o[c] = '{req_ready: req_ready[c], dat_ready: dat_ready[c], idle: idle[c], err: err[c],
                        answer: answer[c]};
  end

  logic               burst_valid, burst_ready, burst_fire;
  logic [IdW-1:0]     burst_id;
  logic [AddrW-1:0]   burst_addr;
  logic [7:0]         burst_len;
  logic               aw_ready, order_ready, count_full;
  logic [Clients-1:0] cutting;

  ufp4_axi_burst #(
    .Clients (Clients),
    .BusBytes(BusBytes)
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
    .busy_o       (cutting)
  );

  assign burst_ready = aw_ready && order_ready && !count_full && !halt_i && !flush_i;
  assign burst_fire  = burst_valid && burst_ready;

  ufp4_skid #(
    .Width(IdW + AddrW + 8)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .in_valid_i (burst_fire),
    .in_ready_o (aw_ready),
    .in_data_i  ({burst_id, burst_addr, burst_len}),
    .out_valid_o(awvalid_o),
    .out_ready_i(awready_i),
    .out_data_o ({awid_o, awaddr_o, awlen_o})
  );

  // --- Beats: in the order of the bursts, without waiting for AW ---------------------------------

  logic           order_valid, order_pop;
  logic [IdW-1:0] order_id;
  logic [7:0]     order_len;
  logic [7:0]     beat_d, beat_q;
  logic           w_valid, w_ready, w_last;

  ufp4_fifo #(
    .Width(IdW + 8),
    .Depth(QueueDepth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i (burst_fire),
    .in_ready_o (order_ready),
    .in_data_i  ({burst_id, burst_len}),
    .out_valid_o(order_valid),
    .out_ready_i(order_pop),
    .out_data_o ({order_id, order_len})
  );

  assign w_valid   = order_valid && (dat_valid_i[order_id] || flush_i);
  assign w_last    = beat_q == order_len;
  assign order_pop = w_valid && w_ready && w_last;

  always_comb begin
    dat_ready = '0;
    dat_ready[order_id] = order_valid && w_ready && !flush_i;
    beat_d = beat_q;
    if (w_valid && w_ready) beat_d = w_last ? 8'd0 : beat_q + 8'd1;
  end

  ufp4_skid #(
    .Width(DataW + BusBytes + 1)
  ) u_w (
    .clk_i,
    .rst_ni,
    .in_valid_i (w_valid),
    .in_ready_o (w_ready),
    .in_data_i  ({dat_data_i[order_id], dat_strb_i[order_id] & {BusBytes{!flush_i}}, w_last}),
    .out_valid_o(wvalid_o),
    .out_ready_i(wready_i),
    .out_data_o ({wdata_o, wstrb_o, wlast_o})
  );

  // --- Answers: counted per client ---------------------------------------------------------------

  logic                           answer_valid, answer_err;
  logic [IdW-1:0]                 answer_id;
  logic [Clients-1:0][CountW-1:0] count_d, count_q;

  // Answers are always taken at once; this slice only registers them.
  ufp4_skid #(
    .Width(IdW + 1)
  ) u_b (
    .clk_i,
    .rst_ni,
    .in_valid_i (bvalid_i),
    .in_ready_o (bready_o),
    .in_data_i  ({bid_i, bresp_i[1]}),
    .out_valid_o(answer_valid),
    .out_ready_i(1'b1),
    .out_data_o ({answer_id, answer_err})
  );

  logic unused_bresp;
  assign unused_bresp = bresp_i[0];

  assign count_full  = &count_q[burst_id];
  assign pending_o   = count_q != '0;
  assign beats_due_o = order_valid;

  always_comb begin
    for (int unsigned c = 0; c < Clients; c++) begin
      // An answer that the client does not expect is late, of a burst that was given up.
      answer[c]  = answer_valid && answer_id == IdW'(c) && count_q[c] != '0;
      err[c]     = answer[c] && answer_err;
      idle[c]    = !cutting[c] && count_q[c] == '0;
      count_d[c] = count_q[c] + CountW'(burst_fire && burst_id == IdW'(c)) - CountW'(answer[c]);
      if (forget_i) count_d[c] = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q  <= '0;
      count_q <= '0;
    end else begin
      beat_q  <= beat_d;
      count_q <= count_d;
    end
  end

endmodule
