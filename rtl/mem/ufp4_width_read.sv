// SPDX-License-Identifier: Apache-2.0
// Connects a read client of ClientBytes to a read port of BusBytes (docs/ip/interfaces.md, "Memory
// clients").
//
// Contract: the requests of the client are whole beats of its own width, at multiples of that
// width. Each becomes one request for the beats of the port that contain it. A beat of a wider port
// holds several beats of the client, which receives one per cycle. Several beats of a narrower port
// make one beat of the client, with an error if any of them had one; the client then requests at
// most 256 beats of the port. The order and the rules of the client are kept.
// Latency: none on a wider port. Test: tests/rtl/array. Timed model: sim/src/timing/mem/width.
module ufp4_width_read #(
  parameter int unsigned ClientBytes = 64,
  parameter int unsigned BusBytes = 64,
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,

  input  ufp4_memory_pkg::request_t       req_i,
  output ufp4_memory_pkg::read_response_t rsp_o,
  input  logic                            rsp_ready_i,
  output logic [8*ClientBytes-1:0]        rsp_data_o,

  output ufp4_memory_pkg::request_t       req_o,
  input  ufp4_memory_pkg::read_response_t rsp_i,
  output logic                            rsp_ready_o,
  input  logic [8*BusBytes-1:0]           rsp_data_i
);

  if (BusBytes == ClientBytes) begin : gen_same
    assign req_o       = req_i;
    assign rsp_o       = rsp_i;
    assign rsp_ready_o = rsp_ready_i;
    assign rsp_data_o  = rsp_data_i;

    logic unused_clock;
    assign unused_clock = ^{clk_i, rst_ni};
  end else if (BusBytes > ClientBytes) begin : gen_wide
    localparam int unsigned PARTS  = BusBytes / ClientBytes;
    localparam int unsigned PART_W = $clog2(PARTS);
    localparam int unsigned CLIENT_W = $clog2(ClientBytes);
    localparam int unsigned BUS_W  = $clog2(BusBytes);

    logic              note_valid, note_ready, note_done, take, started_q;
    logic [PART_W-1:0] note_part, part, part_q;
    logic [8:0]        note_beats, left, left_q;

    ufp4_fifo #(.Width(PART_W + 9), .Depth(32)) u_notes (
      .clk_i,
      .rst_ni,
      .in_valid_i (req_i.valid && rsp_i.req_ready),
      .in_ready_o (note_ready),
      .in_data_i  ({req_i.addr[BUS_W-1:CLIENT_W], req_i.beats}),
      .out_valid_o(note_valid),
      .out_ready_i(note_done),
      .out_data_o ({note_part, note_beats})
    );

    assign req_o = '{valid: req_i.valid && note_ready, addr: {req_i.addr[AddrW-1:BUS_W], BUS_W'(0)},
                     beats: 9'((10'(req_i.beats) + 10'(req_i.addr[BUS_W-1:CLIENT_W]) + 10'(PARTS - 1)) >> PART_W)};
    assign rsp_o = '{req_ready: rsp_i.req_ready && note_ready, valid: rsp_i.valid && note_valid, err: rsp_i.err};

    assign part        = started_q ? part_q : note_part;
    assign left        = started_q ? left_q : note_beats;
    assign rsp_data_o  = rsp_data_i[8*ClientBytes*part +: 8*ClientBytes];
    assign take        = rsp_i.valid && note_valid && rsp_ready_i;
    assign note_done   = take && left == 9'd1;
    // Unexpected data are dropped.
    assign rsp_ready_o = !note_valid || note_done || (take && part == PART_W'(PARTS - 1));

    always_ff @(posedge clk_i) begin
      if (!rst_ni) started_q <= 1'b0;
      else if (take) started_q <= !note_done;
      if (take) begin
        part_q <= part + 1'b1;
        left_q <= left - 9'd1;
      end
    end

    logic unused_addr;
    assign unused_addr = ^req_i.addr[CLIENT_W-1:0];
  end else begin : gen_narrow
    localparam int unsigned PARTS  = ClientBytes / BusBytes;
    localparam int unsigned PART_W = $clog2(PARTS);

    logic [PART_W-1:0]                 part_q;
    logic [8*(ClientBytes-BusBytes)-1:0] earlier_q;
    logic                              error_q, last, take;

    assign req_o = '{valid: req_i.valid, addr: req_i.addr, beats: req_i.beats << PART_W};
    assign rsp_o = '{req_ready: rsp_i.req_ready, valid: rsp_i.valid && last, err: rsp_i.err || error_q};

    assign last        = part_q == PART_W'(PARTS - 1);
    assign rsp_data_o  = {rsp_data_i, earlier_q};
    assign rsp_ready_o = rsp_ready_i || !last;
    assign take        = rsp_i.valid && rsp_ready_o;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) part_q <= '0;
      else if (take) part_q <= part_q + 1'b1;
      if (take) begin
        error_q   <= !last && (rsp_i.err || (part_q != '0 && error_q));
        earlier_q <= rsp_data_o[8*ClientBytes-1:8*BusBytes];
      end
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni && req_i.valid) begin
        assert (32'(req_i.beats) * PARTS <= 256) else $error("a request of %0d beats is too long", req_i.beats);
      end
    end
`endif
  end

  if (BusBytes != 1 << $clog2(BusBytes) || ClientBytes != 1 << $clog2(ClientBytes)) begin : gen_check
    $error("ufp4_width_read: ClientBytes and BusBytes must be powers of two");
  end

endmodule
