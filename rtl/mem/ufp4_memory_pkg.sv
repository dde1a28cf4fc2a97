// SPDX-License-Identifier: Apache-2.0
// The messages between a memory client and its master (docs/ip/interfaces.md, "Memory clients").
// Data of the width of the bus go beside them, with a handshake signal of the client per beat:
// rsp_ready for a read, dat_valid for a write.
package ufp4_memory_pkg;
  import ufp4_spec_pkg::ADDR_BITS;

  typedef struct packed {
    logic                 valid;
    logic [ADDR_BITS-1:0] addr;   // a multiple of the bus width
    logic [8:0]           beats;  // 1 to 256
  } request_t;

  typedef struct packed {
    logic req_ready;
    logic valid;      // a beat of this client
    logic err;        // with the beat
  } read_response_t;

  typedef struct packed {
    logic req_ready;
    logic dat_ready;
    logic idle;       // every accepted write has been answered
    logic err;        // a pulse: an answer was an error (SLVERR or DECERR)
    logic answer;     // a pulse for each burst
  } write_response_t;

  // UFP4_PARITY_IN_WORD chooses a form of the memories for cells in which a word and its parity are
  // one word of one macro. Otherwise parity is a memory of one bit, written and read a cycle after
  // the word. Bits and cycles of the core are the same.
`ifdef UFP4_PARITY_IN_WORD
  localparam bit ParityInWord = 1'b1;
`else
  localparam bit ParityInWord = 1'b0;
`endif
endpackage
