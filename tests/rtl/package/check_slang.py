# SPDX-License-Identifier: Apache-2.0
"""usage: check_slang.py ROOT   has slang, which keeps to the standard, elaborate the RTL with its assertions: each
configuration for each target, each define, the wrapper, and two cores in a stranger's design, as one compilation unit
and as many. A warning fails."""

import pathlib
import re
import sys
import tempfile

from pyslang.driver import Driver

ROOT = pathlib.Path(sys.argv[1]).resolve()
CORE = ["-F", ROOT / "rtl/rtl.f", "-F", ROOT / "rtl/sva.f"]
STRANGER = pathlib.Path(__file__).resolve().parent / "stranger/stranger.sv"
DEFINES = ["UFP4_PARITY_IN_WORD", "UFP4_MEMORY_BIST", "UFP4_CLOCK_ENABLES", "SYNTHESIS"]

# The compilation unit of another project has this before the core: its directives, and our names
# with other meanings.
BEFORE = """`timescale 1ns/1ps
`default_nettype none
`define READERS 7
localparam int ADDR_BITS = 3, ELEM_E2M1 = 99, CONTRACT_NV = 9;
typedef int request_t;
function automatic int power_of_two_in(int x);
  return x;
endfunction
"""

TOP = """module two (input wire clk_i, input wire rst_ni, output wire [1:0] irq_o);
  wire [1:0] beats;
  stranger u_tiny (.clk_i, .rst_ni, .beats_o(beats[0]), .irq_o(irq_o[0]));
  if (1) begin : gen_other
    stranger_wide u_other (.clk_i, .rst_ni, .beats_o(beats[1]), .irq_o(irq_o[1]));
  end
endmodule
"""


def configurations():
    text = (ROOT / "rtl/gen/configurations.cmake").read_text()
    return {name: line.split() for name, line in re.findall(r"^set\(UFP4_CONFIGURATION_(\S+) (.*)\)$", text, re.M)}


def elaborate(what, *arguments):
    driver = Driver()
    driver.addStandardArgs()
    read = driver.parseCommandLine(" ".join(str(word) for word in ("slang", "-j", "1", "-Werror", *arguments)))
    assert read and driver.processOptions() and driver.parseAllSources() and driver.runFullCompilation(True), what


def main():
    named = configurations()
    assert named
    for name, parameters in named.items():
        for target in range(3):
            elaborate(f"{name}, target {target}", *parameters, f"-GTarget={target}", "--top", "ufp4_top", *CORE)
    for name in ("small", "large", "board"):
        for define in DEFINES:
            elaborate(f"{name}, {define}", *named[name], f"-D{define}", "--top", "ufp4_top", *CORE)
    elaborate("the wrapper", "--top", "ufp4_axi", *CORE, ROOT / "fpga/package/ufp4_axi.v")

    with tempfile.TemporaryDirectory() as folder:
        before, wide, top = (pathlib.Path(folder) / f"{name}.sv" for name in ("before", "wide", "top"))
        before.write_text(BEFORE)
        text, changed = re.subn(
            r"localparam int unsigned BUS = 8;", "localparam int unsigned BUS = 16;", STRANGER.read_text()
        )
        assert changed == 1
        wide.write_text(
            text.replace("module stranger ", "module stranger_wide ").replace(".Quant   (0)", ".Quant   (16)")
        )
        assert "stranger_wide" in wide.read_text() and wide.read_text().count("(16)") == 3
        top.write_text(TOP)
        elaborate("two cores, one unit", "--single-unit", "--top", "two", before, *CORE, STRANGER, wide, top)
        elaborate("two cores, many units", "--timescale", "1ns/1ps", "--top", "two", top, STRANGER, wide, *CORE, before)


main()
