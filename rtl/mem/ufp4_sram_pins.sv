// SPDX-License-Identifier: Apache-2.0
// The pins of the self test of a memory: with UFP4_MEMORY_BIST each ufp4_sram contains one. A flow
// removes these modules, so that their ports become pins of the netlist
// (docs/howto/integrate-rtl.md: a black box for each width), or replaces them by its own. As given
// there is no self test, and the core owns its memory.
// Tests: synth.memories.
module ufp4_sram_pins #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64,
  localparam int unsigned AddrWidth = (Depth > 1) ? $clog2(Depth) : 1
) (
  output logic                 test_o,  // the test owns the memory
  output logic                 we_o,
  output logic                 re_o,
  output logic [AddrWidth-1:0] addr_o,  // address of both ports, so the test does not find disturbances between ports
  output logic [Width-1:0]     wdata_o,
  input  logic [Width-1:0]     rdata_i
);
  assign {test_o, we_o, re_o, addr_o, wdata_o} = '0;
  logic unused_rdata;
  assign unused_rdata = ^rdata_i;
endmodule
