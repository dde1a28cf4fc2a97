// SPDX-License-Identifier: Apache-2.0
// The clock of a board with an ECP5, from its PLL. OscillatorHz and ClockHz must both divide PllHz.
module ecp5_clock #(
  parameter int unsigned OscillatorHz = 25_000_000,
  parameter int unsigned PllHz = 600_000_000,
  parameter int unsigned ClockHz = 24_000_000
) (
  input  logic oscillator_i,
  output logic clk_o,
  output logic locked_o
);
  if (PllHz % ClockHz != 0 || PllHz % OscillatorHz != 0) begin : gen_check_clock
    $error("ecp5_clock: ClockHz and OscillatorHz must divide PllHz");
  end

  logic feedback;

  // The loop filter settings are those of ecppll; without them the filter is off.
  (* ICP_CURRENT = "12", LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
  EHXPLLL #(
    .CLKI_DIV    (1),
    .CLKFB_DIV   (1),
    .FEEDBK_PATH ("CLKOP"),
    .CLKOP_ENABLE("ENABLED"),
    .CLKOP_DIV   (PllHz / OscillatorHz),
    .CLKOP_CPHASE(PllHz / OscillatorHz - 1),
    .CLKOS_ENABLE("ENABLED"),
    .CLKOS_DIV   (PllHz / ClockHz),
    .CLKOS_CPHASE(PllHz / ClockHz - 1)
  ) u_pll (
    .CLKI        (oscillator_i),
    .CLKFB       (feedback),
    .PHASESEL1   (1'b0),
    .PHASESEL0   (1'b0),
    .PHASEDIR    (1'b0),
    .PHASESTEP   (1'b0),
    .PHASELOADREG(1'b0),
    .STDBY       (1'b0),
    .PLLWAKESYNC (1'b0),
    .RST         (1'b0),
    .ENCLKOP     (1'b0),
    .ENCLKOS     (1'b0),
    .CLKOP       (feedback),
    .CLKOS       (clk_o),
    .LOCK        (locked_o)
  );
endmodule
