// SPDX-License-Identifier: Apache-2.0
// The receive side of the link: collects the bytes of the line into complete right frames in a ring
// of block RAM.
//
// Contract: a frame is kept if its framing and CRC are right, its size matches its header, and
// there is room; otherwise it is dropped (dropped_o, a pulse). The CRC of HELLO is plain; that of
// other requests has the key of the session. Without a session (session_i low) the key is unknown
// and any CRC is accepted, because the executor only answers such a frame. After a HELLO and before
// hello_done_i frames other than HELLO are dropped, because the new key is not known yet. The
// output has only complete frames, header and data without CRC, one after the other. RECEIVE_BYTES
// hold a window of the longest frames. One byte per cycle is taken, without back-pressure. Output:
// valid/ready, one byte per cycle. Test: tests/fpga.
module ufp4_link_receive
  import ufp4_link_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       rx_valid_i,
  input  logic [7:0] rx_data_i,
  output logic       dropped_o,

  // The session, from the executor; hello_done_i: a HELLO was executed or refused.
  input  logic        session_i,
  input  logic [31:0] nonce_i,
  input  logic [31:0] expected_i,
  input  logic        hello_done_i,

  output logic       valid_o,
  input  logic       ready_i,
  output logic [7:0] data_o
);
  localparam int unsigned POINTER_W = $clog2(RECEIVE_BYTES) + 1;   // one bit more tells full from empty
  localparam int unsigned COUNT_W = 10;
  localparam logic [COUNT_W-1:0] MOST = COUNT_W'(HEADER_BYTES + DATA_BYTES + CRC_BYTES);
  localparam logic [COUNT_W-1:0] LEAST = COUNT_W'(HEADER_BYTES + CRC_BYTES);
  localparam logic [31:0] RESIDUE = 32'hDEBB_20E3;

  // --- Framing and CRC ---------------------------------------------------------------------------

  logic               byte_valid, ends, broken, store, room, right, started, bad_q, asks_q;
  logic               crc_right, hello_q, waits_q;   // waits_q: a HELLO is under way to the executor
  logic [7:0]         byte_data;
  logic [31:0]        crc_q, crc, keyed_q, keyed;    // the second byte tells whether the frame is HELLO
  logic [COUNT_W-1:0] count_q;
  logic [15:0]        length_q, due;

  ufp4_slip_decode u_decode (
    .clk_i,
    .rst_ni,
    .valid_i(rx_valid_i),
    .data_i (rx_data_i),
    .byte_o (byte_valid),
    .data_o (byte_data),
    .end_o  (ends),
    .error_o(broken)
  );

  ufp4_crc32 u_crc (
    .crc_i (crc_q),
    .data_i(byte_data),
    .crc_o (crc)
  );

  ufp4_crc32 u_keyed (
    .crc_i (count_q == '0 ? ~key_of(nonce_i, byte_data, expected_i) : keyed_q),
    .data_i(byte_data),
    .crc_o (keyed)
  );

  assign crc_right = hello_q ? crc_q == RESIDUE : !waits_q && (!session_i || keyed_q == RESIDUE);
  assign due       = asks_q ? 16'd0 : length_q;
  assign started   = count_q != '0 || bad_q || broken;
  assign right     = !bad_q && !broken && crc_right && 17'(count_q) == 17'(LEAST) + 17'(due);
  assign dropped_o = ends && started && !right;

  // --- The ring: the frame after commit_q may still be dropped -----------------------------------

  logic [POINTER_W-1:0] commit_q, read_q, write;
  logic                 read, valid_q;

  assign write   = commit_q + POINTER_W'(count_q);
  assign room    = write - read_q != POINTER_W'(RECEIVE_BYTES);
  assign store   = byte_valid && !bad_q && room && count_q != MOST;
  assign read    = read_q != commit_q && (!valid_q || ready_i);
  assign valid_o = valid_q;

  ufp4_sram #(.Width(8), .Depth(RECEIVE_BYTES)) u_ring (
    .clk_i,
    .we_i   (store),
    .waddr_i(write[POINTER_W-2:0]),
    .wdata_i(byte_data),
    .re_i   (read),
    .raddr_i(read_q[POINTER_W-2:0]),
    .rdata_o(data_o)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q  <= '0;
      bad_q    <= 1'b0;
      commit_q <= '0;
      read_q   <= '0;
      valid_q  <= 1'b0;
      waits_q  <= 1'b0;
    end else begin
      count_q <= ends ? '0 : count_q + COUNT_W'(store);
      bad_q   <= !ends && (bad_q || broken || (byte_valid && !store));
      if (ends && right) commit_q <= write - POINTER_W'(CRC_BYTES);
      waits_q <= (ends && right && hello_q) || (waits_q && !hello_done_i);
      read_q  <= read_q + POINTER_W'(read);
      valid_q <= read || (valid_q && !ready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || ends) crc_q <= '1;
    else if (store) crc_q <= crc;
    if (store) keyed_q <= keyed;
    if (store && count_q == COUNT_W'(1)) hello_q <= byte_data[3:0] == COMMAND_HELLO;
    if (store && count_q == COUNT_W'(1)) asks_q <= asks(byte_data[3:0]);
    if (store && count_q == COUNT_W'(2)) length_q[7:0] <= byte_data;
    if (store && count_q == COUNT_W'(3)) length_q[15:8] <= byte_data;
  end

endmodule
