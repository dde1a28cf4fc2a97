// SPDX-License-Identifier: Apache-2.0
// Beats between a board and its DRAM, grouped by driver: one command per beat; read data return in
// order.
package ufp4_dram_pkg;
  localparam int unsigned BYTES = 32'h800_0000;
  localparam int unsigned INDEX_BITS = $clog2(BYTES / 8);

  typedef struct packed {
    logic                  reset;   // of the board
    logic                  valid;
    logic                  write;
    logic [INDEX_BITS-1:0] index;
    logic [63:0]           data;
    logic [7:0]            strb;
  } request_t;

  typedef struct packed {
    logic        ready;
    logic        failed;   // the DRAM was not trained, or its test failed: read data are meaningless
    logic        valid;    // of data, which have no back-pressure
    logic [63:0] data;
  } answer_t;
endpackage
