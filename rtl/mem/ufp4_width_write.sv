// SPDX-License-Identifier: Apache-2.0
// Connects a write client of ClientBytes to a write port of BusBytes (docs/ip/interfaces.md,
// "Memory clients").
//
// Contract: the requests of the client are whole beats of its own width, at multiples of that
// width. Each becomes one request for the beats of the port that contain it. Several beats of the
// client are gathered in a beat of a wider port, whose other bytes have no strobe. A narrower port
// takes a beat of the client in parts, and the client requests at most 256 parts. The order and the
// rules of the client are kept. rsp_o.idle is high only if nothing of the client is in this unit.
// Latency: one cycle for beats and none for requests; none at all if the widths are equal.
// Test: tests/rtl/array. Timed model: sim/src/timing/mem/width.
module ufp4_width_write #(
  parameter int unsigned ClientBytes = 64,
  parameter int unsigned BusBytes = 64,
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  ufp4_memory_pkg::request_t        req_i,
  output ufp4_memory_pkg::write_response_t rsp_o,
  input  logic                             dat_valid_i,
  input  logic [8*ClientBytes-1:0]         dat_data_i,
  input  logic [ClientBytes-1:0]           dat_strb_i,

  output ufp4_memory_pkg::request_t        req_o,
  input  ufp4_memory_pkg::write_response_t rsp_i,
  output logic                             dat_valid_o,
  output logic [8*BusBytes-1:0]            dat_data_o,
  output logic [BusBytes-1:0]              dat_strb_o
);

  if (BusBytes == ClientBytes) begin : gen_same
    assign req_o       = req_i;
    assign rsp_o       = rsp_i;
    assign dat_valid_o = dat_valid_i;
    assign dat_data_o  = dat_data_i;
    assign dat_strb_o  = dat_strb_i;

    logic unused_clock;
    assign unused_clock = ^{clk_i, rst_ni};
  end else if (BusBytes > ClientBytes) begin : gen_wide
    localparam int unsigned PARTS  = BusBytes / ClientBytes;
    localparam int unsigned PART_W = $clog2(PARTS);
    localparam int unsigned CLIENT_W = $clog2(ClientBytes);
    localparam int unsigned BUS_W  = $clog2(BusBytes);

    logic                  note_valid, note_ready, note_done, dat_ready, take, ends, started_q, full_q, fresh_q;
    logic [PART_W-1:0]     note_part, part, part_q;
    logic [8:0]            note_beats, left, left_q;
    logic [8*BusBytes-1:0] data_q;
    logic [BusBytes-1:0]   strb_q;

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
    assign rsp_o = '{req_ready: rsp_i.req_ready && note_ready, dat_ready: dat_ready,
                     idle: rsp_i.idle && !note_valid && !full_q, err: rsp_i.err, answer: rsp_i.answer};

    assign part      = started_q ? part_q : note_part;
    assign left      = started_q ? left_q : note_beats;
    assign dat_ready = note_valid && (!full_q || rsp_i.dat_ready);
    assign take      = dat_valid_i && dat_ready;
    assign note_done = take && left == 9'd1;
    assign ends      = note_done || (take && part == PART_W'(PARTS - 1));

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        started_q <= 1'b0;
        full_q    <= 1'b0;
        fresh_q   <= 1'b1;
      end else begin
        if (take) started_q <= !note_done;
        if (take) fresh_q <= ends;
        full_q <= ends || (full_q && !rsp_i.dat_ready);
      end
      if (take) begin
        part_q <= part + 1'b1;
        left_q <= left - 9'd1;
        if (fresh_q) strb_q <= '0;
        data_q[8*ClientBytes*part +: 8*ClientBytes] <= dat_data_i;
        strb_q[ClientBytes*part +: ClientBytes]     <= dat_strb_i;
      end
    end

    assign dat_valid_o = full_q;
    assign dat_data_o  = data_q;
    assign dat_strb_o  = strb_q;

    logic unused_addr;
    assign unused_addr = ^req_i.addr[CLIENT_W-1:0];
  end else begin : gen_narrow
    localparam int unsigned PARTS  = ClientBytes / BusBytes;
    localparam int unsigned PART_W = $clog2(PARTS);

    logic                     full_q, last, dat_ready, take;
    logic [PART_W-1:0]        part_q;
    logic [8*ClientBytes-1:0] data_q;
    logic [ClientBytes-1:0]   strb_q;

    assign req_o = '{valid: req_i.valid, addr: req_i.addr, beats: req_i.beats << PART_W};
    assign rsp_o = '{req_ready: rsp_i.req_ready, dat_ready: dat_ready, idle: rsp_i.idle && !full_q, err: rsp_i.err,
                     answer: rsp_i.answer};

    assign last      = part_q == PART_W'(PARTS - 1);
    assign dat_ready = !full_q || (last && rsp_i.dat_ready);
    assign take      = dat_valid_i && dat_ready;

    // The next part shifts down.
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        full_q <= 1'b0;
        part_q <= '0;
      end else begin
        full_q <= take || (full_q && !(last && rsp_i.dat_ready));
        part_q <= part_q + PART_W'(full_q && rsp_i.dat_ready);
      end
      if (take) begin
        data_q <= dat_data_i;
        strb_q <= dat_strb_i;
      end else if (full_q && rsp_i.dat_ready) begin
        data_q <= data_q >> (8 * BusBytes);
        strb_q <= strb_q >> BusBytes;
      end
    end

    assign dat_valid_o = full_q;
    assign dat_data_o  = data_q[8*BusBytes-1:0];
    assign dat_strb_o  = strb_q[BusBytes-1:0];

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni && req_i.valid) begin
        assert (32'(req_i.beats) * PARTS <= 256) else $error("a request of %0d beats is too long", req_i.beats);
      end
    end
`endif
  end

  if (BusBytes != 1 << $clog2(BusBytes) || ClientBytes != 1 << $clog2(ClientBytes)) begin : gen_check
    $error("ufp4_width_write: ClientBytes and BusBytes must be powers of two");
  end

endmodule
