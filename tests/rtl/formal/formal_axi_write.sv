// SPDX-License-Identifier: Apache-2.0
// ufp4_axi_write with two clients and an interconnect that keeps the rules of AXI and is otherwise
// free: the handshakes on AW and W, legal bursts, the beats of each burst (number, owner, order,
// last), the bound on outstanding bursts, idle, halt. Beats carry their client and a number.
// Bounded: all behaviours within the depth.
module formal_axi_write (
  input logic              clk_i,
  input logic              halt_i,
  input logic [1:0]        req_valid_i,
  input logic [1:0][39:0]  req_addr_i,
  input logic [1:0][1:0]   req_beats_i,   // minus one
  input logic [1:0]        dat_valid_i,
  input logic              awready_i,
  input logic              wready_i,
  input logic              bvalid_i,
  input logic              bid_i,
  input logic [1:0]        bresp_i,
  input logic [2:0]        burst_i        // the burst whose beats are counted
);
  localparam int unsigned BUS_BYTES = 8;
  localparam int unsigned BOUND = 3;      // CountW = 2
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [1:0] req_ready, dat_ready, idle, err, answer;
  logic pending, beats_due, awvalid, awid, wvalid, wlast, bready;
  logic [39:0] awaddr;
  logic [7:0] awlen, wstrb;
  logic [63:0] wdata;
  logic [1:0][8:0] beats;
  logic [1:0][63:0] data;
  logic [1:0][7:0] given_q;
  ufp4_memory_pkg::request_t [1:0] req;
  ufp4_memory_pkg::write_response_t [1:0] rsp;
  for (genvar c = 0; c < 2; c++) begin : gen_client
    assign beats[c] = 9'(req_beats_i[c]) + 9'd1;
    assign req[c] = '{valid: req_valid_i[c], addr: req_addr_i[c], beats: beats[c]};
    assign {req_ready[c], dat_ready[c], idle[c], err[c], answer[c]} = rsp[c];
    assign data[c] = {55'd0, 1'(c), given_q[c]};
  end
  ufp4_axi_write #(.Clients(2), .BusBytes(BUS_BYTES), .QueueDepth(4), .CountW(2)) u_dut (
    .*,
    .rst_ni(rst_n),
    .flush_i(1'b0),
    .forget_i(1'b0),
    .pending_o(pending),
    .beats_due_o(beats_due),
    .req_i(req),
    .rsp_o(rsp),
    .dat_data_i(data),
    .dat_strb_i('1),
    .awvalid_o(awvalid),
    .awid_o(awid),
    .awaddr_o(awaddr),
    .awlen_o(awlen),
    .wvalid_o(wvalid),
    .wdata_o(wdata),
    .wstrb_o(wstrb),
    .wlast_o(wlast),
    .bready_o(bready)
  );

  // Counts of transfers on each channel, and the owners of the bursts that wait for their answer.
  logic [4:0] aw_count, w_count, b_seen;
  logic [1:0][4:0] aw_of, complete_of, answered_of;
  logic [31:0] aw_owner;
  logic [1:0][7:0] left_beat;
  logic [1:0][7:0] asked, owed;
  logic aw_fire, w_fire, b_fire;
  assign aw_fire = awvalid && awready_i;
  assign w_fire = wvalid && wready_i;
  assign b_fire = bvalid_i && bready;
  logic aw_waits, w_waits;
  logic [48:0] aw_held;
  logic [72:0] w_held;
  logic [2:0] watched;
  logic watched_aw, watched_w, watched_owner, watched_begun, watched_beat_owner;
  logic [7:0] watched_len, watched_beats;
  logic [2:0] halted;
  logic b_waits;
  logic [2:0] b_held;
  // A burst may be answered once its address and its last beat have been taken.
  logic completes;
  assign completes = b_seen < aw_count && b_seen < w_count;

  always_ff @(posedge clk_i) begin
    watched <= burst_i;
    if (!rst_n) begin
      {aw_count, w_count, b_seen} <= '0;
      {aw_of, complete_of, answered_of} <= '0;
      {given_q, left_beat, asked} <= '0;
      {aw_waits, w_waits, b_waits} <= '0;
      {watched_aw, watched_w, watched_begun} <= '0;
      watched_beats <= '0;
      halted <= '0;
    end else begin
      for (int c = 0; c < 2; c++) begin
        if (dat_valid_i[c] && dat_ready[c]) given_q[c] <= given_q[c] + 8'd1;
        if (w_fire && wdata[8] == 1'(c)) left_beat[c] <= left_beat[c] + 8'd1;
        if (req_valid_i[c] && req_ready[c]) asked[c] <= asked[c] + 8'(beats[c]);
        if (aw_fire && awid == 1'(c)) aw_of[c] <= aw_of[c] + 5'd1;
        if (completes && aw_owner[b_seen] == 1'(c)) complete_of[c] <= complete_of[c] + 5'd1;
        if (b_fire && bid_i == 1'(c)) answered_of[c] <= answered_of[c] + 5'd1;
      end
      if (aw_fire) begin
        aw_count <= aw_count + 5'd1;
        aw_owner[aw_count] <= awid;
        if (aw_count == 5'(burst_i)) {watched_aw, watched_owner, watched_len} <= {1'b1, awid, awlen};
      end
      if (w_fire) begin
        if (wlast) w_count <= w_count + 5'd1;
        if (w_count == 5'(burst_i)) begin
          watched_beats <= watched_beats + 8'd1;
          {watched_begun, watched_beat_owner} <= {1'b1, wdata[8]};
          if (wlast) watched_w <= 1'b1;
        end
      end
      if (completes) b_seen <= b_seen + 5'd1;
      aw_waits <= awvalid && !awready_i;
      aw_held <= {awid, awaddr, awlen};
      w_waits <= wvalid && !wready_i;
      w_held <= {wdata, wstrb, wlast};
      b_waits <= bvalid_i && !bready;
      b_held <= {bid_i, bresp_i};
      halted <= !halt_i ? 3'd0 : halted + 3'(halted != 3'd7);
    end
  end

  always_ff @(posedge clk_i) begin
    // Duties of the clients and the interconnect. Addresses are around one boundary of 4 KiB,
    // because formal_axi_burst proves the cutter for all addresses.
    for (int c = 0; c < 2; c++) begin
      assume (req_addr_i[c][2:0] == '0);
      assume (req_addr_i[c][39:6] == 34'd63 || req_addr_i[c][39:6] == 34'd64);
    end
    assume (!rst_n || watched == burst_i);
    if (rst_n && bvalid_i) assume (complete_of[bid_i] > answered_of[bid_i]);
    if (rst_n && b_waits) assume (bvalid_i && {bid_i, bresp_i} == b_held);
    if (rst_n) begin
      if (aw_waits) assert (awvalid && {awid, awaddr, awlen} == aw_held);
      if (w_waits) assert (wvalid && {wdata, wstrb, wlast} == w_held);
      if (awvalid) assert (13'(awaddr[11:0]) + ((13'(awlen) + 13'd1) << 3) <= 13'd4096 && awaddr[2:0] == '0);
      // The beats of a client leave in the order given, with their strobes.
      if (wvalid) assert (wdata[7:0] == left_beat[wdata[8]] && wdata[63:9] == '0 && wstrb == '1);
      // Every burst has as many beats as its address says, the last one marked, all from the client
      // whose ID it has.
      if (watched_aw && watched_w) assert (watched_beats == watched_len + 8'd1 && watched_beat_owner == watched_owner);
      if (watched_aw && !watched_w) assert (watched_beats <= watched_len);
      if (watched_begun && wvalid && w_count == 5'(burst_i)) assert (wdata[8] == watched_beat_owner);
      for (int c = 0; c < 2; c++) begin
        assert (aw_of[c] - answered_of[c] <= 5'(BOUND));
        assert (left_beat[c] <= asked[c]);
        // Idle: everything requested has been sent and answered.
        if (idle[c]) assert (aw_of[c] == answered_of[c] && left_beat[c] == asked[c]);
        if (err[c]) assert (answer[c]);
      end
      if (!pending) assert (!awvalid && aw_of == answered_of);
      // During a halt only the contents of the slice leave.
      if (halted >= 3'd6 && aw_count == 5'd0) assert (!awvalid || aw_waits);
      assert (bready);
      cover (aw_of[0] == 5'd2 && asked[0] <= 8'd4);
      cover (answered_of[0] == 5'd1 && answered_of[1] == 5'd1);
      cover (w_count > aw_count);
      cover (aw_of[1] - answered_of[1] == 5'(BOUND));
      cover (err[1]);
    end
  end
endmodule
