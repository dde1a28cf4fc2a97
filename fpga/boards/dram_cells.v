// SPDX-License-Identifier: Apache-2.0
// The ports of LiteDRAM as fpga/boards/litex/dram.sh makes it; the Verilog of that script replaces this black box.

(* blackbox *)
module ufp4_dram (
  input          clk,
  input          rst,
  output         pll_locked,
  input          user_clk,
  output         init_done,
  output         init_error,
  input          cmd_valid,
  output         cmd_ready,
  input          cmd_we,
  input  [22:0]  cmd_addr,
  input          wdata_valid,
  output         wdata_ready,
  input  [15:0]  wdata_we,
  input  [127:0] wdata_data,
  output         rdata_valid,
  input          rdata_ready,
  output [127:0] rdata_data,
  output [12:0]  ddram_a,
  output [2:0]   ddram_ba,
  output         ddram_cas_n,
  output         ddram_cke,
  output         ddram_clk_p,
  output         ddram_cs_n,
  output [1:0]   ddram_dm,
  inout  [15:0]  ddram_dq,
  inout  [1:0]   ddram_dqs_p,
  output         ddram_odt,
  output         ddram_ras_n,
  output         ddram_reset_n,
  output         ddram_we_n
);
endmodule
