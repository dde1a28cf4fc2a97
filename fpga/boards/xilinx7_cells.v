// SPDX-License-Identifier: Apache-2.0
// The cells of Xilinx's 7 series that the boards instantiate, with the parameters and ports in use, for lint only:
// Vivado has its own.

(* blackbox *)
module MMCME2_BASE #(
  parameter real CLKIN1_PERIOD = 0.0,
  parameter DIVCLK_DIVIDE = 1,
  parameter real CLKFBOUT_MULT_F = 5.0,
  parameter real CLKOUT0_DIVIDE_F = 1.0
) (
  input  CLKIN1,
  input  CLKFBIN,
  output CLKFBOUT,
  output CLKOUT0,
  output LOCKED,
  input  PWRDWN,
  input  RST
);
endmodule

(* blackbox *)
module BUFG (
  input  I,
  output O
);
endmodule
