// SPDX-License-Identifier: Apache-2.0
// A memory on the core's AXI4 port, for simulation: one burst of reads and one of writes at a time, a beat a cycle, answers in
// order. An address outside it is answered by SLVERR. Before the first write its bytes are 0xA5.
module ufp4_example_memory #(
  parameter int unsigned BusBytes = 8,
  parameter logic [39:0] Base = 40'h80000000,
  parameter int unsigned Bytes = 32768
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  arvalid_i,
  output logic                  arready_o,
  input  logic [1:0]            arid_i,
  input  logic [39:0]           araddr_i,
  input  logic [7:0]            arlen_i,
  output logic                  rvalid_o,
  input  logic                  rready_i,
  output logic [1:0]            rid_o,
  output logic [8*BusBytes-1:0] rdata_o,
  output logic [1:0]            rresp_o,
  output logic                  rlast_o,

  input  logic                  awvalid_i,
  output logic                  awready_o,
  input  logic [1:0]            awid_i,
  input  logic [39:0]           awaddr_i,
  input  logic                  wvalid_i,
  output logic                  wready_o,
  input  logic [8*BusBytes-1:0] wdata_i,
  input  logic [BusBytes-1:0]   wstrb_i,
  input  logic                  wlast_i,
  output logic                  bvalid_o,
  input  logic                  bready_i,
  output logic [1:0]            bid_o,
  output logic [1:0]            bresp_o
);

  logic [7:0] data[Bytes];
  initial for (int i = 0; i < Bytes; i++) data[i] = 8'hA5;

  function automatic logic inside_of(logic [39:0] address);
    return address >= Base && address - Base <= 40'(Bytes - BusBytes);
  endfunction

  // --- Reads ----------------------------------------------------------------------------------------------------------

  logic        reading_q;
  logic [1:0]  rid_q;
  logic [39:0] raddr_q;
  logic [7:0]  left_q;

  assign arready_o = !reading_q;
  assign rvalid_o = reading_q;
  assign rid_o = rid_q;
  assign rlast_o = left_q == 0;
  assign rresp_o = inside_of(raddr_q) ? 2'b00 : 2'b10;
  always_comb begin
    rdata_o = '0;
    if (inside_of(raddr_q)) begin
      for (int unsigned i = 0; i < BusBytes; i++) rdata_o[8*i+:8] = data[32'(raddr_q-Base)+i];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reading_q <= 1'b0;
    end else if (!reading_q) begin
      reading_q <= arvalid_i;
      rid_q     <= arid_i;
      raddr_q   <= araddr_i;
      left_q    <= arlen_i;
    end else if (rready_i) begin
      reading_q <= !rlast_o;
      raddr_q   <= raddr_q + 40'(BusBytes);
      left_q    <= left_q - 1'b1;
    end
  end

  // --- Writes: their address, their beats, their answer ---------------------------------------------------------------

  logic        writing_q, answer_q, error_q;
  logic [1:0]  bid_q;
  logic [39:0] waddr_q;

  assign awready_o = !writing_q && !answer_q;
  assign wready_o = writing_q;
  assign bvalid_o = answer_q;
  assign bid_o = bid_q;
  assign bresp_o = error_q ? 2'b10 : 2'b00;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writing_q <= 1'b0;
      answer_q  <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) begin
        writing_q <= 1'b1;
        error_q   <= 1'b0;
        bid_q     <= awid_i;
        waddr_q   <= awaddr_i;
      end
      if (wvalid_i && wready_o) begin
        if (inside_of(waddr_q)) begin
          for (int unsigned i = 0; i < BusBytes; i++) if (wstrb_i[i]) data[32'(waddr_q-Base)+i] <= wdata_i[8*i+:8];
        end else begin
          error_q <= 1'b1;
        end
        waddr_q   <= waddr_q + 40'(BusBytes);
        writing_q <= !wlast_i;
        answer_q  <= wlast_i;
      end
      if (bready_i && bvalid_o) answer_q <= 1'b0;
    end
  end

endmodule
