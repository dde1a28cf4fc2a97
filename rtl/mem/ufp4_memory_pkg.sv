// SPDX-License-Identifier: Apache-2.0
// The messages between a memory client and its master (docs/ip/interfaces.md, "Memory clients"). Data go beside them,
// as wide as the bus, each beat with a signal of the client's: rsp_ready of a read, dat_valid of a write.
package ufp4_memory_pkg;
  import ufp4_spec_pkg::ADDR_BITS;

  typedef struct packed {
    logic                 valid;
    logic [ADDR_BITS-1:0] addr;   // a multiple of the bus's width
    logic [8:0]           beats;  // 1 to 256
  } request_t;

  typedef struct packed {
    logic req_ready;
    logic valid;      // a beat of this client
    logic err;        // with it
  } read_response_t;

  typedef struct packed {
    logic req_ready;
    logic dat_ready;
    logic idle;       // every accepted write has been answered
    logic err;        // a pulse: an answer was not OKAY
    logic answer;     // a pulse for each burst
  } write_response_t;

  // A form of the memories for cells, with the same bits and cycles: a word and its parity are one word of one macro. Else the
  // parity is a memory one bit wide, a cycle behind the word.
`ifdef UFP4_PARITY_IN_WORD
  localparam bit ParityInWord = 1'b1;
`else
  localparam bit ParityInWord = 1'b0;
`endif
endpackage
