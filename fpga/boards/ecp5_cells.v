// SPDX-License-Identifier: Apache-2.0
// The cells of Lattice ECP5 that the boards instantiate, with the parameters and ports in use; yosys replaces them.

(* blackbox *)
module EHXPLLL #(
  parameter CLKI_DIV = 1,
  parameter CLKFB_DIV = 1,
  parameter FEEDBK_PATH = "CLKOP",
  parameter CLKOP_ENABLE = "ENABLED",
  parameter CLKOP_DIV = 8,
  parameter CLKOP_CPHASE = 0,
  parameter CLKOS_ENABLE = "DISABLED",
  parameter CLKOS_DIV = 8,
  parameter CLKOS_CPHASE = 0
) (
  input  CLKI,
  input  CLKFB,
  input  PHASESEL1,
  input  PHASESEL0,
  input  PHASEDIR,
  input  PHASESTEP,
  input  PHASELOADREG,
  input  STDBY,
  input  PLLWAKESYNC,
  input  RST,
  input  ENCLKOP,
  input  ENCLKOS,
  output CLKOP,
  output CLKOS,
  output LOCK
);
endmodule

(* blackbox *)
module ODDRX1F (
  input  SCLK,
  input  RST,
  input  D0,
  input  D1,
  output Q
);
endmodule

(* blackbox *)
module BB (
  input  I,
  input  T,
  output O,
  inout  B
);
endmodule
