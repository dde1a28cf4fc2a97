// SPDX-License-Identifier: Apache-2.0
// ufp4_sdram for tests/fpga/sdram. Its AXI side belongs to the march while that is busy, else to the ports.
module sdram_unit #(
  parameter int unsigned ClockHz = 24_000_000,
  parameter int unsigned CasLatency = 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        start_i,
  output logic        busy_o,
  output logic        done_o,
  output logic        failed_o,
  output logic [31:0] first_o,
  output logic [31:0] fails_o,

  input  logic        arvalid_i,
  output logic        arready_o,
  input  logic [2:0]  arid_i,
  input  logic [39:0] araddr_i,
  input  logic [7:0]  arlen_i,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic [2:0]  rid_o,
  output logic [63:0] rdata_o,
  output logic [1:0]  rresp_o,
  output logic        rlast_o,
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [2:0]  awid_i,
  input  logic [39:0] awaddr_i,
  input  logic [7:0]  awlen_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [63:0] wdata_i,
  input  logic [7:0]  wstrb_i,
  input  logic        wlast_i,
  output logic        bvalid_o,
  input  logic        bready_i,
  output logic [2:0]  bid_o,
  output logic [1:0]  bresp_o,

  output ufp4_sdram_pkg::pins_t pins_o,
  input  logic [15:0] dq_i
);
  // Here the march tests only the first 64 of 8,192 rows of each bank, so that a test does not take too long.
  localparam int unsigned MARCH_BYTES = 32'h4_0000;

  ufp4_axi_pkg::request_t request, march;
  ufp4_axi_pkg::answer_t  answer;
  ufp4_axi_pkg::heard_t   heard;
  logic [63:0]            march_wdata;
  logic [7:0]             march_wstrb;

  assign request = '{arvalid: arvalid_i, arid: arid_i, araddr: araddr_i, arlen: arlen_i, awvalid: awvalid_i,
                     awid: awid_i, awaddr: awaddr_i, awlen: awlen_i, wvalid: wvalid_i, wlast: wlast_i};
  assign {rvalid_o, rid_o, rresp_o, rlast_o, bvalid_o, bid_o, bresp_o} = answer;

  ufp4_memory_march #(.MemoryBytes(MARCH_BYTES)) u_march (
    .*,
    .axi_o      (march),
    .axi_taken_i({arready_o, awready_o, wready_o}),
    .axi_i      (answer),
    .axi_heard_o(heard),
    .axi_wdata_o(march_wdata),
    .axi_wstrb_o(march_wstrb),
    .axi_rdata_i(rdata_o)
  );

  ufp4_sdram #(
    .ClockHz   (ClockHz),
    .CasLatency(CasLatency)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .axi_i      (busy_o ? march : request),
    .axi_taken_o({arready_o, awready_o, wready_o}),
    .axi_o      (answer),
    .axi_heard_i(busy_o ? heard : {rready_i, bready_i}),
    .axi_wdata_i(busy_o ? march_wdata : wdata_i),
    .axi_wstrb_i(busy_o ? march_wstrb : wstrb_i),
    .axi_rdata_o(rdata_o),
    .sdram_o    (pins_o),
    .sdram_dq_i (dq_i)
  );
endmodule
