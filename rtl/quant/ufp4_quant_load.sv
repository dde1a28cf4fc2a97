// SPDX-License-Identifier: Apache-2.0
// Requests the source tensor from memory, segment by segment, as far ahead as the strip buffer has
// room.
//
// Contract: there is one request per segment, in the order of ufp4_quant_walk. A chunk begins only
// when one of the Chunks places of the buffer is free; free_i returns one. Beats past the end of a
// row are not requested. After stop_i no strip follows the current one. A unit behind has seen the
// last strip when loading_o is low and its own count of strips equals strips_o (with pair_i the
// count is of two at a time); the five bits suffice because no unit is 32 behind.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_walk.
module ufp4_quant_load #(
  parameter int unsigned BusBytes = 64,
  parameter int unsigned SegBytes = 128,
  parameter int unsigned Chunks = 8,
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,

  input  logic                      pair_i,
  input  logic                      start_i,
  input  logic [AddrW-1:0]          addr_i,
  input  logic [31:0]               stride_bytes_i,
  input  logic [20:0]               rows_i,
  input  logic [19:0]               row_beats_i,
  input  logic                      free_i,
  input  logic                      stop_i,
  output logic                      loading_o,
  output logic [4:0]                strips_o,

  output ufp4_memory_pkg::request_t rd_req_o,
  input  logic                      rd_req_ready_i
);

  localparam int unsigned COUNT_W = $clog2(Chunks + 1);

  logic               active, row_last, below, chunk_last, step;
  logic [3:0]         unused_row;
  logic [8:0]         beats;
  logic [COUNT_W-1:0] places_d, places_q;
  logic [4:0]         strips_d, strips_q;
  logic [AddrW-1:0]   addr_d, addr_q, chunk_addr_d, chunk_addr_q, strip_addr_d, strip_addr_q;

  ufp4_quant_walk #(
    .SegBeats(SegBytes / BusBytes)
  ) u_walk (
    .clk_i,
    .rst_ni,
    .pair_i,
    .start_i,
    .rows_i,
    .row_beats_i,
    .step_i      (step),
    .stop_i,
    .active_o    (active),
    .row_o       (unused_row),
    .beats_o     (beats),
    .row_last_o  (row_last),
    .below_o     (below),
    .chunk_last_o(chunk_last)
  );

  assign rd_req_o  = '{valid: active && places_q != '0, addr: addr_q, beats: beats};
  assign step      = rd_req_o.valid && rd_req_ready_i;
  assign loading_o = active;
  assign strips_o  = strips_q;
  assign strips_d  = start_i ? '0 : strips_q + 5'(step && row_last && !below && chunk_last);

  // The addresses at which the next row of the chunk, the next chunk and the next strip begin.
  logic [AddrW-1:0] next_row, next_chunk, next_strip;
  logic [2:0]       unused_carry;

  ufp4_add_halves #(
    .Width(AddrW)
  ) u_next_row (
    .a_i(addr_q), .b_i(AddrW'(stride_bytes_i)), .sum_o({unused_carry[0], next_row})
  );
  ufp4_add_halves #(
    .Width(AddrW)
  ) u_next_chunk (
    .a_i(chunk_addr_q), .b_i(AddrW'(SegBytes)), .sum_o({unused_carry[1], next_chunk})
  );
  ufp4_add_halves #(
    .Width(AddrW)
  ) u_next_strip (
    .a_i(strip_addr_q), .b_i(AddrW'({stride_bytes_i, 4'd0}) << pair_i), .sum_o({unused_carry[2], next_strip})
  );

  logic unused;
  assign unused = ^unused_carry;

  always_comb begin
    places_d     = places_q + COUNT_W'(free_i) - COUNT_W'(step && row_last);
    addr_d       = addr_q;
    chunk_addr_d = chunk_addr_q;
    strip_addr_d = strip_addr_q;
    if (start_i) begin
      places_d     = COUNT_W'(Chunks);
      addr_d       = addr_i;
      chunk_addr_d = addr_i;
      strip_addr_d = addr_i;
    end else if (step && (!row_last || below)) begin
      addr_d = next_row;
    end else if (step) begin
      if (chunk_last) strip_addr_d = next_strip;
      chunk_addr_d = chunk_last ? strip_addr_d : next_chunk;
      addr_d       = chunk_addr_d;
    end
  end

  always_ff @(posedge clk_i) begin
    places_q     <= places_d;
    strips_q     <= strips_d;
    addr_q       <= addr_d;
    chunk_addr_q <= chunk_addr_d;
    strip_addr_q <= strip_addr_d;
  end

endmodule
