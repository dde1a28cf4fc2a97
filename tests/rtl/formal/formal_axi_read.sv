// SPDX-License-Identifier: Apache-2.0
// ufp4_axi_read with two clients and an interconnect that answers the bursts of each ID in order
// and is otherwise free: the handshake on AR, legal bursts, beats to the requesting client, each
// once and in order, pending, halt. Beats carry their ID and a number. Bounded: all behaviours
// within the depth.
module formal_axi_read (
  input logic             clk_i,
  input logic             halt_i,
  input logic [1:0]       req_valid_i,
  input logic [1:0][39:0] req_addr_i,
  input logic [1:0][1:0]  req_beats_i,   // minus one
  input logic [1:0]       rsp_ready_i,
  input logic             arready_i,
  input logic             rvalid_i,
  input logic             rid_i,
  input logic [1:0]       rresp_i
);
  localparam int unsigned BUS_BYTES = 8;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [1:0] req_ready, rsp_valid;
  logic pending, rsp_err, arvalid, arid, rready;
  logic [39:0] araddr;
  logic [7:0] arlen;
  logic [63:0] rsp_data;
  logic [1:0][8:0] beats;
  ufp4_memory_pkg::request_t [1:0] req;
  ufp4_memory_pkg::read_response_t [1:0] rsp;
  for (genvar c = 0; c < 2; c++) begin : gen_client
    assign beats[c] = 9'(req_beats_i[c]) + 9'd1;
    assign req[c] = '{valid: req_valid_i[c], addr: req_addr_i[c], beats: beats[c]};
    assign {req_ready[c], rsp_valid[c]} = {rsp[c].req_ready, rsp[c].valid};
  end

  assign rsp_err = rsp[0].err;

  // The state of each ID: the lengths of its bursts in order, the beats sent of the oldest burst,
  // and the beats sent and received in total.
  logic [1:0][7:0][7:0] queue;
  logic [1:0][2:0] queued, ended;
  logic [1:0][7:0] sent_now, sent, got, asked;
  logic rlast;
  assign rlast = sent_now[rid_i] == queue[rid_i][ended[rid_i]];

  ufp4_axi_read #(.Clients(2), .BusBytes(BUS_BYTES)) u_dut (
    .*,
    .rst_ni(rst_n),
    .flush_i(1'b0),
    .forget_i(1'b0),
    .pending_o(pending),
    .req_i(req),
    .rsp_o(rsp),
    .rsp_data_o(rsp_data),
    .arvalid_o(arvalid),
    .arid_o(arid),
    .araddr_o(araddr),
    .arlen_o(arlen),
    .rready_o(rready),
    .rdata_i({54'd0, rresp_i[1], rid_i, sent[rid_i]}),
    .rlast_i(rlast)
  );

  logic ar_waits, r_waits;
  logic [48:0] ar_held;
  logic [2:0] r_held;
  logic [1:0] rsp_waits;
  logic [64:0] rsp_held;
  logic [2:0] halted;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {queued, ended, sent_now, sent, got, asked} <= '0;
      {ar_waits, r_waits, rsp_waits} <= '0;
      halted <= '0;
    end else begin
      if (arvalid && arready_i) begin
        queue[arid][queued[arid]] <= arlen;
        queued[arid] <= queued[arid] + 3'd1;
      end
      if (rvalid_i && rready) begin
        sent[rid_i] <= sent[rid_i] + 8'd1;
        sent_now[rid_i] <= rlast ? 8'd0 : sent_now[rid_i] + 8'd1;
        if (rlast) ended[rid_i] <= ended[rid_i] + 3'd1;
      end
      for (int c = 0; c < 2; c++) begin
        if (rsp_valid[c] && rsp_ready_i[c]) got[c] <= got[c] + 8'd1;
        if (req_valid_i[c] && req_ready[c]) asked[c] <= asked[c] + 8'(beats[c]);
      end
      ar_waits <= arvalid && !arready_i;
      ar_held <= {arid, araddr, arlen};
      r_waits <= rvalid_i && !rready;
      r_held <= {rid_i, rresp_i};
      rsp_waits <= rsp_valid & ~rsp_ready_i;
      rsp_held <= {rsp_err, rsp_data};
      halted <= !halt_i ? 3'd0 : halted + 3'(halted != 3'd7);
    end
  end

  always_ff @(posedge clk_i) begin
    // Addresses are around one boundary of 4 KiB, because formal_axi_burst proves the cutter for
    // all addresses.
    for (int c = 0; c < 2; c++) begin
      assume (req_addr_i[c][2:0] == '0);
      assume (req_addr_i[c][39:6] == 34'd63 || req_addr_i[c][39:6] == 34'd64);
    end
    if (rst_n && rvalid_i) assume (queued[rid_i] != ended[rid_i]);
    if (rst_n && r_waits) assume (rvalid_i && {rid_i, rresp_i} == r_held);
    // The harness has room for only this many bursts.
    if (rst_n) assume (queued[0] - ended[0] < 3'd7 && queued[1] - ended[1] < 3'd7);
    if (rst_n) begin
      if (ar_waits) assert (arvalid && {arid, araddr, arlen} == ar_held);
      if (arvalid) assert (13'(araddr[11:0]) + ((13'(arlen) + 13'd1) << 3) <= 13'd4096 && araddr[2:0] == '0);
      // A beat is offered until taken, to the one client that requested it, in order, with its own
      // error.
      assert (rsp_valid != 2'b11);
      if (rsp_waits != '0) assert (rsp_valid == rsp_waits && {rsp_err, rsp_data} == rsp_held);
      for (int c = 0; c < 2; c++) begin
        if (rsp_valid[c]) assert (rsp_data[8:0] == {1'(c), got[c]} && rsp_data[9] == rsp_err && rsp_data[63:10] == '0);
        if (rsp_valid[c]) assert (got[c] < asked[c] && got[c] < sent[c]);
        // Nothing is lost: beats that no client has are in the slice, two at most.
        assert (got[c] <= sent[c] && sent[0] + sent[1] - got[0] - got[1] <= 8'd2);
      end
      if (!pending) assert (!arvalid && queued == ended && got == sent);
      if (halted >= 3'd6 && queued == '0) assert (!arvalid || ar_waits);
      cover (queued[0] == 3'd2 && asked[0] <= 8'd4);
      cover (got[0] == 8'd2 && got[1] == 8'd2);
      cover (r_waits && rsp_valid[1]);
      cover (!pending && got[0] == 8'd4 && got[1] != '0);
    end
  end
endmodule
