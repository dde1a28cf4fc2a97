// SPDX-License-Identifier: Apache-2.0
// A 16-bit SDRAM of 32 MB: geometry, commands, and the slowest times among the data sheets of such
// chips.
//
// The ULX3S has a MT48LC16M16A2-6A, an IS42S16160G-7 or a W9825G6KH-6 (its manual and schematic).
// These times are at least those of every grade in the data sheets of AS4C16M16SA (rev. 3.0, table
// 16) and W9825G6JH (rev. A04, 9.5), and of the grades -75 of MT48LC16M16A2 and -7 of IS42S16160D.
package ufp4_sdram_pkg;
  localparam int unsigned WORD_BYTES = 2;
  localparam int unsigned BANK_BITS = 2;
  localparam int unsigned BANKS = 4;
  localparam int unsigned ROW_BITS = 13;
  localparam int unsigned COLUMN_BITS = 9;
  localparam int unsigned BYTES = WORD_BYTES << (BANK_BITS + ROW_BITS + COLUMN_BITS);

  // {RAS#, CAS#, WE#}, with CS# low.
  typedef enum logic [2:0] {
    MODE      = 3'b000,
    REFRESH   = 3'b001,
    PRECHARGE = 3'b010,
    ACTIVATE  = 3'b011,
    WRITE     = 3'b100,
    READ      = 3'b101,
    STOP      = 3'b110,
    NOP       = 3'b111
  } command_e;

  // The pins that drive the chip; they are idle without SDRAM.
  typedef struct packed {
    logic                 cke;
    logic                 cs_n;
    logic                 ras_n;
    logic                 cas_n;
    logic                 we_n;
    logic [BANK_BITS-1:0] ba;
    logic [ROW_BITS-1:0]  a;
    logic [1:0]           dqm;
    logic                 dq_oe;
    logic [15:0]          dq;
  } pins_t;

  localparam int unsigned ALL_BANKS = 10;          // this address bit makes a precharge apply to all banks
  localparam int unsigned POWER_UP_REFRESHES = 8;

  // Cycles between two commands, and the longest intervals.
  typedef struct packed {
    logic [3:0]  rcd;       // activate to read or write, same bank
    logic [3:0]  rp;        // precharge to activate or refresh
    logic [3:0]  ras;       // activate to precharge, same bank
    logic [3:0]  rc;        // activate to activate or refresh, same bank
    logic [3:0]  rfc;       // refresh to any command
    logic [3:0]  rrd;       // activate to activate, other bank
    logic [3:0]  wr;        // last word written to precharge
    logic [3:0]  mrd;       // mode register to any command
    logic [15:0] refresh;   // from one refresh to the next, at most
    logic [15:0] power_up;  // before the first command
  } timing_t;

  function automatic int unsigned cycles_up(longint unsigned ns, longint unsigned hz);
    return 32'((ns * hz + 999_999_999) / 1_000_000_000);
  endfunction

  function automatic int unsigned at_least_two(int unsigned cycles);
    return cycles < 2 ? 2 : cycles;
  endfunction

  function automatic timing_t timing(longint unsigned hz);
    return '{
      rcd:      4'(cycles_up(21, hz)),
      rp:       4'(cycles_up(21, hz)),
      ras:      4'(cycles_up(45, hz)),
      rc:       4'(cycles_up(68, hz)),
      rfc:      4'(cycles_up(68, hz)),
      rrd:      4'(at_least_two(cycles_up(15, hz))),
      wr:       4'(at_least_two(cycles_up(15, hz))),
      mrd:      4'(at_least_two(cycles_up(15, hz))),
      refresh:  16'(64 * hz / 1000 / 8192),
      power_up: 16'(cycles_up(200_000, hz))
    };
  endfunction
endpackage
