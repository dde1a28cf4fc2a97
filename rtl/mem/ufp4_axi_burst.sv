// SPDX-License-Identifier: Apache-2.0
// Takes the requests of the memory clients, round robin or (Ranked) the lowest client first, and
// cuts each request into AXI4 bursts.
//
// Contract: a request (addr, beats) of client c, with 1 <= beats <= 256 and addr a multiple of
// BusBytes, leaves as INCR bursts that cover the same bytes in order; no burst crosses a 4 KiB
// boundary. Requests of one client keep their order. Throughput: one burst per cycle. Handshakes:
// req_ready_o is high for one client at a time; the burst stream is valid/ready.
// Spec: AMBA AXI4 A3.4.1. Test: tests/rtl/core. Timed model: sim/src/timing/mem/masters.
module ufp4_axi_burst #(
  parameter int unsigned Clients = 3,
  parameter int unsigned BusBytes = 64,
  parameter bit Ranked = 1'b0,
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned IdW = $clog2(Clients)
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,

  input  ufp4_memory_pkg::request_t [Clients-1:0] req_i,
  output logic [Clients-1:0]                      req_ready_o,

  output logic                                    burst_valid_o,
  input  logic                                    burst_ready_i,
  output logic [IdW-1:0]                          burst_id_o,
  output logic [AddrW-1:0]                        burst_addr_o,
  output logic [7:0]                              burst_len_o,  // beats - 1, as in AXI

  output logic [Clients-1:0]                      busy_o        // a request of this client is being cut
);

  localparam int unsigned BEAT_W = $clog2(BusBytes);      // address bits inside a beat
  localparam int unsigned PAGE_BEATS = 4096 / BusBytes;

  logic [Clients-1:0] valid;
  logic               busy_d, busy_q;
  logic [IdW-1:0]     id_q, grant;
  logic [AddrW-1:0]   addr_d, addr_q;
  logic [8:0]         beats_d, beats_q;
  logic               accept, last_d, last_q;  // the rest of the request does not cross the next boundary
  logic [8:0]         piece;

  for (genvar c = 0; c < Clients; c++) begin : gen_valid
    assign valid[c] = req_i[c].valid;
  end

  ufp4_arbiter #(
    .Clients(Clients),
    .Ranked (Ranked)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(valid),
    .advance_i(accept),
    .grant_o  (grant)
  );

  // A page has up to 512 beats of 8 bytes, which takes ten bits; a piece is never longer than its
  // request.
  function automatic logic [9:0] beats_to_boundary(input logic [11:BEAT_W] at);
    return 10'(PAGE_BEATS) - 10'(at);
  endfunction
  assign piece       = last_q ? beats_q : 9'(beats_to_boundary(addr_q[11:BEAT_W]));

  assign burst_valid_o = busy_q;
  assign burst_id_o    = id_q;
  assign burst_addr_o  = addr_q;
  assign burst_len_o   = 8'(piece - 9'd1);

  assign accept = (|valid) && (!busy_q || (burst_ready_i && last_q));

  always_comb begin
    req_ready_o = '0;
    req_ready_o[grant] = accept;
    busy_o = '0;
    busy_o[id_q] = busy_q;
  end

  always_comb begin
    busy_d  = busy_q;
    addr_d  = addr_q;
    beats_d = beats_q;
    last_d  = last_q;
    if (accept) begin
      busy_d  = 1'b1;
      addr_d  = req_i[grant].addr;
      beats_d = req_i[grant].beats;
      last_d  = 10'(beats_d) <= beats_to_boundary(addr_d[11:BEAT_W]);
    end else if (busy_q && burst_ready_i) begin
      busy_d  = !last_q;
      addr_d  = {addr_q[AddrW-1:12] + 1'b1, 12'd0};  // the rest begins at the next 4 KiB boundary
      beats_d = beats_q - piece;
      last_d  = 10'(beats_d) <= 10'(PAGE_BEATS);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= busy_d;
  end

  always_ff @(posedge clk_i) begin
    addr_q  <= addr_d;
    beats_q <= beats_d;
    last_q  <= last_d;
    if (accept) id_q <= grant;
  end

`ifndef SYNTHESIS
  for (genvar c = 0; c < Clients; c++) begin : gen_assert
    always_ff @(posedge clk_i) begin
      if (rst_ni && valid[c]) begin
        assert (req_i[c].beats >= 9'd1 && req_i[c].beats <= 9'd256)
          else $error("client %0d asks for %0d beats", c, req_i[c].beats);
        assert (req_i[c].addr[BEAT_W-1:0] == '0)
          else $error("client %0d asks for address %h, not a multiple of a beat", c, req_i[c].addr);
      end
    end
  end
`endif

endmodule
