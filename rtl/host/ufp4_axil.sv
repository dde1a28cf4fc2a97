// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite subordinate: turns bus transactions into register accesses of one cycle.
//
// Contract: one access at a time in each direction, though the address and data of the next write
// are taken while an answer waits; every access is answered OKAY. write_o pulses once per write,
// with strobes, in whatever order address and data arrived. read_o pulses with read_addr_o, and
// read_data_i is sampled in the same cycle. Latency: two cycles for a write, one for a read. All
// bus outputs come from flip-flops.
// Spec: AMBA AXI4-Lite, docs/ip/registers.md.
// Test: tests/rtl/core. Timed model: sim/src/timing/host/registers.
module ufp4_axil #(
  parameter int unsigned AddrW = 12
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             awvalid_i,
  output logic             awready_o,
  input  logic [AddrW-1:0] awaddr_i,
  input  logic             wvalid_i,
  output logic             wready_o,
  input  logic [31:0]      wdata_i,
  input  logic [3:0]       wstrb_i,
  output logic             bvalid_o,
  input  logic             bready_i,
  input  logic             arvalid_i,
  output logic             arready_o,
  input  logic [AddrW-1:0] araddr_i,
  output logic             rvalid_o,
  input  logic             rready_i,
  output logic [31:0]      rdata_o,

  output logic             write_o,
  output logic [AddrW-1:0] write_addr_o,
  output logic [31:0]      write_data_o,
  output logic [3:0]       write_strb_o,
  output logic             read_o,
  output logic [AddrW-1:0] read_addr_o,
  input  logic [31:0]      read_data_i
);

  // --- Writes: address and data wait for each other and for the last response to leave -----------

  logic             aw_full_d, aw_full_q, w_full_d, w_full_q, bvalid_d, bvalid_q;
  logic [AddrW-1:0] awaddr_q;
  logic [31:0]      wdata_q;
  logic [3:0]       wstrb_q;

  assign awready_o    = !aw_full_q;
  assign wready_o     = !w_full_q;
  assign bvalid_o     = bvalid_q;
  assign write_o      = aw_full_q && w_full_q && !bvalid_q;
  assign write_addr_o = awaddr_q;
  assign write_data_o = wdata_q;
  assign write_strb_o = wstrb_q;

  assign aw_full_d = write_o ? 1'b0 : (aw_full_q || awvalid_i);
  assign w_full_d  = write_o ? 1'b0 : (w_full_q || wvalid_i);
  assign bvalid_d  = write_o || (bvalid_q && !bready_i);

  // --- Reads -------------------------------------------------------------------------------------

  logic        rvalid_d, rvalid_q;
  logic [31:0] rdata_q;

  assign arready_o   = !rvalid_q;
  assign rvalid_o    = rvalid_q;
  assign rdata_o     = rdata_q;
  assign read_o      = arvalid_i && arready_o;
  assign read_addr_o = araddr_i;
  assign rvalid_d    = read_o || (rvalid_q && !rready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_full_q <= 1'b0;
      w_full_q  <= 1'b0;
      bvalid_q  <= 1'b0;
      rvalid_q  <= 1'b0;
    end else begin
      aw_full_q <= aw_full_d;
      w_full_q  <= w_full_d;
      bvalid_q  <= bvalid_d;
      rvalid_q  <= rvalid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!aw_full_q) awaddr_q <= awaddr_i;
    if (!w_full_q) begin
      wdata_q <= wdata_i;
      wstrb_q <= wstrb_i;
    end
    if (read_o) rdata_q <= read_data_i;
  end

endmodule
