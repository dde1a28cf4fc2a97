// SPDX-License-Identifier: Apache-2.0
// Constants of the board link (docs/reference/link.md).
package ufp4_link_pkg;
  localparam int unsigned VERSION = 2;
  localparam int unsigned WINDOW = 8;
  localparam int unsigned DATA_BYTES = 1008;      // at most in a frame
  localparam int unsigned HEADER_BYTES = 8;       // of a request
  localparam int unsigned CRC_BYTES = 4;
  localparam int unsigned IDENTITY_BYTES = 44;
  localparam int unsigned SLOT_BYTES = 1024;      // of memory for an answer
  localparam int unsigned RECEIVE_BYTES = 8192;

  localparam logic [7:0] SLIP_END = 8'hC0;
  localparam logic [7:0] SLIP_ESC = 8'hDB;
  localparam logic [7:0] SLIP_ESC_END = 8'hDC;
  localparam logic [7:0] SLIP_ESC_ESC = 8'hDD;

  typedef enum logic [3:0] {
    COMMAND_HELLO           = 4'd0,
    COMMAND_PING            = 4'd1,
    COMMAND_REGISTER_READ   = 4'd2,
    COMMAND_REGISTER_WRITE  = 4'd3,
    COMMAND_MEMORY_READ     = 4'd4,
    COMMAND_MEMORY_WRITE    = 4'd5,
    COMMAND_MEMORY_CHECKSUM = 4'd6,
    COMMAND_WAIT            = 4'd7,
    COMMAND_BOARD_READ      = 4'd8,
    COMMAND_BOARD_WRITE     = 4'd9
  } command_e;

  typedef enum logic [3:0] {
    STATUS_OK           = 4'd0,
    STATUS_UNKNOWN      = 4'd1,
    STATUS_REFUSED      = 4'd2,
    STATUS_BUS          = 4'd3,
    STATUS_NO_SESSION   = 4'd4,
    STATUS_OUT_OF_ORDER = 4'd5
  } status_e;

  typedef struct packed {
    logic [31:0] address;
    logic [15:0] length;
    logic [3:0]  round;
    logic [3:0]  command;
    logic [7:0]  sequence_number;
  } request_t;

  // The data are in the slot of the sequence number, modulo WINDOW.
  typedef struct packed {
    logic [31:0] key;
    logic [9:0]  length;
    logic [2:0]  round;
    status_e     status;
    logic [7:0]  sequence_number;
  } answer_t;

  // The start value of a CRC in a session, in the form of zlib: the nonce and the count of the
  // request without its low byte. The count is the one nearest to the expected count that has this
  // low byte.
  function automatic logic [31:0] key_of(logic [31:0] nonce, logic [7:0] sequence_number, logic [31:0] expected);
    logic [7:0]  ahead;
    logic [31:0] count;
    ahead = sequence_number - expected[7:0];
    count = expected + {{24{ahead[7]}}, ahead};
    return nonce ^ (count & 32'hFFFF_FF00);
  endfunction

  // The length field of such a request is the size of the answer; no data follow its header.
  function automatic logic asks(logic [3:0] command);
    return command inside {COMMAND_REGISTER_READ, COMMAND_MEMORY_READ, COMMAND_BOARD_READ};
  endfunction
endpackage
