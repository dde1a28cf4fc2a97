// SPDX-License-Identifier: Apache-2.0
// ufp4_axil: each write on the bus becomes one register write with its own address, data and
// strobes, in whatever order these arrived, and is answered once; each read is answered once with
// the value of the register; answers stay until taken.
module formal_axil (
  input logic        clk_i,
  input logic        awvalid_i,
  input logic [3:0]  awaddr_i,
  input logic        wvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic [3:0]  araddr_i,
  input logic        rready_i,
  input logic [31:0] read_data_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic awready, wready, bvalid, arready, rvalid, write, read;
  logic [31:0] rdata, write_data;
  logic [3:0] write_addr, write_strb, read_addr;
  ufp4_axil #(.AddrW(4)) u_dut (
    .clk_i, .rst_ni(rst_n),
    .awvalid_i, .awready_o(awready), .awaddr_i,
    .wvalid_i, .wready_o(wready), .wdata_i, .wstrb_i,
    .bvalid_o(bvalid), .bready_i,
    .arvalid_i, .arready_o(arready), .araddr_i,
    .rvalid_o(rvalid), .rready_i, .rdata_o(rdata),
    .write_o(write), .write_addr_o(write_addr), .write_data_o(write_data), .write_strb_o(write_strb),
    .read_o(read), .read_addr_o(read_addr), .read_data_i
  );

  logic aw_in, w_in, b_due, r_due, b_wait, r_wait;
  logic [3:0] addr, strb;
  logic [31:0] data, result, r_held;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {aw_in, w_in, b_due, r_due, b_wait, r_wait} <= '0;
    end else begin
      if (write) {aw_in, w_in} <= 2'b00;
      if (awvalid_i && awready) begin
        aw_in <= 1'b1;
        addr <= awaddr_i;
      end
      if (wvalid_i && wready) begin
        w_in <= 1'b1;
        data <= wdata_i;
        strb <= wstrb_i;
      end
      b_due <= write | (b_due & ~(bvalid & bready_i));
      r_due <= read | (r_due & ~(rvalid & rready_i));
      if (read) result <= read_data_i;
      b_wait <= bvalid & ~bready_i;
      r_wait <= rvalid & ~rready_i;
      r_held <= rdata;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (write) assert (aw_in && w_in && write_addr == addr && write_data == data && write_strb == strb);
      assert (bvalid == b_due);
      assert (rvalid == r_due);
      if (write) assert (!b_due);
      if (read) assert (!r_due && arvalid_i && read_addr == araddr_i);
      if (rvalid) assert (rdata == result);
      if (b_wait) assert (bvalid);
      if (r_wait) assert (rvalid && rdata == r_held);
      if (aw_in && w_in && !b_due) assert (write);  // it never stops
      // Invariants needed for the induction.
      assert (awready == !aw_in && wready == !w_in);
      if (aw_in) assert (u_dut.awaddr_q == addr);
      if (w_in) assert (u_dut.wdata_q == data && u_dut.wstrb_q == strb);
      cover (write && b_wait == 0);
      cover (rvalid && rready_i);
    end
  end
endmodule
