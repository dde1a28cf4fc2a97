// SPDX-License-Identifier: Apache-2.0
// The AXI4-Lite master of the link: one access at a time.
//
// Contract: an access holds valid_i, write_i, address_i and data_i until done_o. With done_o,
// error_o says that the answer was an error, and data_o is the word of a read. Test: tests/fpga.
module ufp4_link_axil (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        valid_i,
  input  logic        write_i,
  input  logic [11:0] address_i,
  input  logic [31:0] data_i,
  output logic        done_o,
  output logic        error_o,
  output logic [31:0] data_o,

  output logic        m_axil_awvalid_o,
  input  logic        m_axil_awready_i,
  output logic [11:0] m_axil_awaddr_o,
  output logic        m_axil_wvalid_o,
  input  logic        m_axil_wready_i,
  output logic [31:0] m_axil_wdata_o,
  input  logic        m_axil_bvalid_i,
  output logic        m_axil_bready_o,
  input  logic [1:0]  m_axil_bresp_i,
  output logic        m_axil_arvalid_o,
  input  logic        m_axil_arready_i,
  output logic [11:0] m_axil_araddr_o,
  input  logic        m_axil_rvalid_i,
  output logic        m_axil_rready_o,
  input  logic [31:0] m_axil_rdata_i,
  input  logic [1:0]  m_axil_rresp_i
);
  // The address and the data of the access have been taken.
  logic address_q, data_q;

  assign m_axil_awvalid_o = valid_i && write_i && !address_q;
  assign m_axil_wvalid_o  = valid_i && write_i && !data_q;
  assign m_axil_arvalid_o = valid_i && !write_i && !address_q;
  assign m_axil_awaddr_o  = address_i;
  assign m_axil_araddr_o  = address_i;
  assign m_axil_wdata_o   = data_i;
  assign m_axil_bready_o  = 1'b1;
  assign m_axil_rready_o  = 1'b1;

  assign done_o  = write_i ? m_axil_bvalid_i : m_axil_rvalid_i;
  assign error_o = write_i ? m_axil_bresp_i[1] : m_axil_rresp_i[1];
  assign data_o  = m_axil_rdata_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      address_q <= 1'b0;
      data_q    <= 1'b0;
    end else begin
      address_q <= !done_o && (address_q || (m_axil_awvalid_o && m_axil_awready_i) ||
                               (m_axil_arvalid_o && m_axil_arready_i));
      data_q    <= !done_o && (data_q || (m_axil_wvalid_o && m_axil_wready_i));
    end
  end

  logic unused;
  assign unused = ^{m_axil_bresp_i[0], m_axil_rresp_i[0]};

endmodule
