// SPDX-License-Identifier: Apache-2.0
// ufp4_axi_burst: no burst crosses 4 KiB or is longer than 256 beats; the bursts of a request cover
// its bytes once and in order; an offered burst stays; only a requesting client is accepted.
module formal_axi_burst #(
  parameter int unsigned BusBytes = 64
) (
  input logic        clk_i,
  input logic [1:0]  req_valid_i,
  input logic [39:0] req_addr0_i,
  input logic [39:0] req_addr1_i,
  input logic [8:0]  req_beats0_i,
  input logic [8:0]  req_beats1_i,
  input logic        burst_ready_i
);
  localparam int unsigned BEAT_W = $clog2(BusBytes);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [1:0] req_ready, busy;
  logic valid;
  logic [0:0] id;
  logic [39:0] addr;
  logic [7:0] len;
  ufp4_axi_burst #(.Clients(2), .BusBytes(BusBytes)) u_dut (
    .clk_i,
    .rst_ni(rst_n),
    .req_i({req_valid_i[1], req_addr1_i, req_beats1_i, req_valid_i[0], req_addr0_i, req_beats0_i}),
    .req_ready_o(req_ready),
    .burst_valid_o(valid),
    .burst_ready_i,
    .burst_id_o(id),
    .burst_addr_o(addr),
    .burst_len_o(len),
    .busy_o(busy)
  );

  // The current request: the part that is not covered yet.
  logic        open;
  logic [0:0]  owner;
  logic [39:0] next_addr;
  logic [8:0]  left;
  logic        waiting;
  logic [48:0] held;
  logic [1:0]  taken;
  assign taken = req_valid_i & req_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      open <= 1'b0;
      waiting <= 1'b0;
    end else begin
      if (valid && burst_ready_i) begin
        next_addr <= next_addr + ((40'(len) + 40'd1) << BEAT_W);
        left <= left - 9'(len) - 9'd1;
        open <= left != 9'(len) + 9'd1;
      end
      if (|taken) begin
        open <= 1'b1;
        owner <= taken[1];
        next_addr <= taken[1] ? req_addr1_i : req_addr0_i;
        left <= taken[1] ? req_beats1_i : req_beats0_i;
      end
      waiting <= valid & ~burst_ready_i;
      held <= {id, addr, len};
    end
  end

  always_ff @(posedge clk_i) begin
    // Duties of the clients.
    assume (req_beats0_i >= 9'd1 && req_beats0_i <= 9'd256 && req_addr0_i[BEAT_W-1:0] == '0);
    assume (req_beats1_i >= 9'd1 && req_beats1_i <= 9'd256 && req_addr1_i[BEAT_W-1:0] == '0);
    if (rst_n) begin
      assert (valid == open);
      if (valid) assert (addr == next_addr && id == owner && 9'(len) < left);
      if (valid) assert (13'(addr[11:0]) + ((13'(len) + 13'd1) << BEAT_W) <= 13'd4096);
      if (waiting) assert (valid && {id, addr, len} == held);
      assert ((taken & ~req_valid_i) == 0 && taken != 2'b11);
      // A request is taken only when nothing of the last one is left.
      if (|taken) assert (!open || (burst_ready_i && left == 9'(len) + 9'd1));
      // Invariants needed for the induction.
      if (open) assert (left >= 9'd1 && left <= 9'd256 && next_addr[BEAT_W-1:0] == '0);
      if (open) assert (u_dut.beats_q == left && u_dut.addr_q == next_addr);
      if (open) assert (u_dut.last_q == (17'(addr[11:0]) + (17'(left) << BEAT_W) <= 17'd4096));
      cover (valid && burst_ready_i && left > 9'(len) + 9'd1 && len > 0);
      cover (valid && len == 8'd63 && owner);
    end
  end
endmodule
