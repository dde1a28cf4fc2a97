// SPDX-License-Identifier: Apache-2.0
// Cells of Lattice ECP5 that the boards' tops name, as far as they use them: yosys puts its own descriptions in their place.

(* blackbox *)
module EHXPLLL #(
  parameter PLLRST_ENA = "DISABLED",
  parameter INTFB_WAKE = "DISABLED",
  parameter STDBY_ENABLE = "DISABLED",
  parameter DPHASE_SOURCE = "DISABLED",
  parameter OUTDIVIDER_MUXA = "DIVA",
  parameter OUTDIVIDER_MUXB = "DIVB",
  parameter OUTDIVIDER_MUXC = "DIVC",
  parameter OUTDIVIDER_MUXD = "DIVD",
  parameter CLKI_DIV = 1,
  parameter CLKFB_DIV = 1,
  parameter CLKOP_ENABLE = "ENABLED",
  parameter CLKOP_DIV = 8,
  parameter CLKOP_CPHASE = 0,
  parameter CLKOP_FPHASE = 0,
  parameter CLKOS_ENABLE = "DISABLED",
  parameter CLKOS_DIV = 8,
  parameter CLKOS_CPHASE = 0,
  parameter CLKOS_FPHASE = 0,
  parameter FEEDBK_PATH = "CLKOP"
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
