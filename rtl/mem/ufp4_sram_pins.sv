// SPDX-License-Identifier: Apache-2.0
// The pins of a memory's self test: each ufp4_sram has one of these with UFP4_MEMORY_BIST. A flow takes these modules
// away, so that their ports become pins of the netlist (docs/howto/integrate-rtl.md: a black box for each width), or
// puts its own in their place.
// As it stands there is no test, and the core has its memory.
// Tests: synth.memories.
module ufp4_sram_pins #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64,
  localparam int unsigned AddrWidth = (Depth > 1) ? $clog2(Depth) : 1
) (
  output logic                 test_o,  // the memory is the test's
  output logic                 we_o,
  output logic                 re_o,
  output logic [AddrWidth-1:0] addr_o,  // of both ports: how one disturbs the other is not seen
  output logic [Width-1:0]     wdata_o,
  input  logic [Width-1:0]     rdata_i
);
  assign {test_o, we_o, re_o, addr_o, wdata_o} = '0;
  logic unused_rdata;
  assign unused_rdata = ^rdata_i;
endmodule
