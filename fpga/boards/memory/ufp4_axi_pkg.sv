// SPDX-License-Identifier: Apache-2.0
// AXI4 between the bus of a board and its memory, grouped by driver and time, so that no signal of
// a struct depends on another signal of that struct. Bursts are INCR of full beats; data and
// strobes of the width of the bus go beside.
package ufp4_axi_pkg;
  import ufp4_spec_pkg::ADDR_BITS;
  localparam int unsigned ID_BITS = 3;

  typedef struct packed {
    logic                 arvalid;
    logic [ID_BITS-1:0]   arid;
    logic [ADDR_BITS-1:0] araddr;
    logic [7:0]           arlen;
    logic                 awvalid;
    logic [ID_BITS-1:0]   awid;
    logic [ADDR_BITS-1:0] awaddr;
    logic [7:0]           awlen;
    logic                 wvalid;
    logic                 wlast;
  } request_t;

  typedef struct packed {
    logic arready;
    logic awready;
    logic wready;
  } taken_t;  // of a request

  typedef struct packed {
    logic               rvalid;
    logic [ID_BITS-1:0] rid;
    logic [1:0]         rresp;
    logic               rlast;
    logic               bvalid;
    logic [ID_BITS-1:0] bid;
    logic [1:0]         bresp;
  } answer_t;

  typedef struct packed {
    logic rready;
    logic bready;
  } heard_t;  // of an answer
endpackage
