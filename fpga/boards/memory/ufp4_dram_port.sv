// SPDX-License-Identifier: Apache-2.0
// Connects the beats of 8 bytes of a board to a LiteDRAM port of 16 bytes, in the clock of the
// board. fpga/boards/litex/ufp4_dram.py makes the LiteDRAM module.
//
// Contract: no command leaves before init_done_i, whatever init_error_i says. The data of a write
// leave at least one cycle before its command, because they cross to the clock of the DRAM by
// another queue and must be there when the command is. At most Depth reads are under way, because
// the queue of LiteDRAM would overflow.
// Throughput: one read per cycle, one write every two. Test: tests/fpga/dram.
module ufp4_dram_port #(
  parameter int unsigned Depth = 16
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  ufp4_dram_pkg::request_t dram_i,
  output ufp4_dram_pkg::answer_t  dram_o,

  input  logic                    init_done_i,
  input  logic                    init_error_i,
  output logic                    cmd_valid_o,
  input  logic                    cmd_ready_i,
  output logic                    cmd_we_o,
  output logic [22:0]             cmd_addr_o,
  output logic                    wdata_valid_o,
  input  logic                    wdata_ready_i,
  output logic [15:0]             wdata_we_o,
  output logic [127:0]            wdata_data_o,
  input  logic                    rdata_valid_i,
  input  logic [127:0]            rdata_data_i
);
  logic asks, sent_q, tag_ready, tag_valid, high;

  assign asks          = init_done_i && dram_i.valid && tag_ready;
  assign wdata_valid_o = asks && dram_i.write && !sent_q;
  assign wdata_we_o    = dram_i.index[0] ? {dram_i.strb, 8'd0} : {8'd0, dram_i.strb};
  assign wdata_data_o  = {2{dram_i.data}};
  assign cmd_valid_o   = asks && (!dram_i.write || sent_q);
  assign cmd_we_o      = dram_i.write;
  assign cmd_addr_o    = dram_i.index[23:1];

  assign dram_o.ready  = cmd_valid_o && cmd_ready_i;
  assign dram_o.failed = init_error_i;
  assign dram_o.valid  = rdata_valid_i;
  assign dram_o.data   = high ? rdata_data_i[127:64] : rdata_data_i[63:0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) sent_q <= 1'b0;
    else sent_q <= sent_q ? !cmd_ready_i : wdata_valid_o && wdata_ready_i;
  end

  // The half of the 16 bytes that a read takes.
  ufp4_fifo #(.Width(1), .Depth(Depth)) u_half (
    .clk_i,
    .rst_ni,
    .in_valid_i (dram_o.ready && !dram_i.write),
    .in_ready_o (tag_ready),
    .in_data_i  (dram_i.index[0]),
    .out_valid_o(tag_valid),
    .out_ready_i(rdata_valid_i),
    .out_data_o (high)
  );

  logic unused;
  assign unused = ^{tag_valid, dram_i.reset};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) assert (!rdata_valid_i || tag_valid) else $error("data of no read");
  end
`endif

endmodule
