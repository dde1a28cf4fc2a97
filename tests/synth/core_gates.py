# SPDX-License-Identifier: Apache-2.0
"""core_gates.py icarus|verilator ROOT CONFIGURATION FOLDER [PROGRAM]: tests the netlist of the core in Debian's
library, in the form for cells. The netlist, the library's cells and the memories are in one file. In Icarus Verilog,
tests/rtl/cocotb runs GEMMs on it, with PROGRAM; in Verilator, which is a hundred times as fast, the driver runs its
jobs (tests/rtl/flat). The cache is that of UFP4_BUILD."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

SIMULATOR, ROOT, CONFIGURATION, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
# The tests of tests/rtl/cocotb/test_core.py that every configuration passes, and a netlist in minutes.
TESTS = "gemm|wrong_jobs|in_reset"
NEEDS = {"icarus": ("cocotb", "cocotbext", "systemrdl"), "verilator": ("numpy",)}
sys.path.insert(0, str(ROOT / "fpga/cells"))
import energy  # noqa: E402
import flow  # noqa: E402
import toolbox  # noqa: E402
from library import DEBIAN, Library  # noqa: E402
from rows import Row, configuration  # noqa: E402


def at_random(text):
    """Lets registers and memories start at random. Unknown values would stay unknown where gates do not see that both
    inputs of a multiplexer are equal."""
    text = re.sub(r"^  reg (DS0000|_0_);$", r"  reg \1;\n  initial \1 = $random;", text, flags=re.M)
    text = re.sub(r"^  reg (\[\d+:0\] )?rdata_o;$", r"\g<0>\n  initial rdata_o = {8{$random}};", text, flags=re.M)
    return re.sub(
        r"^  reg \[\d+:0\] mem \[(\d+):0\];$",
        r"\g<0>\n  integer i;\n  initial for (i = 0; i <= \1; i = i + 1) mem[i] = {8{$random}};",
        text,
        flags=re.M,
    )


def run(script, *words):
    subprocess.run([sys.executable, "-B", ROOT / script, *words], check=True)


def main():
    missing = [name for name in NEEDS[SIMULATOR] if not importlib.util.find_spec(name)]
    if missing:
        print(f"skipped: needs {', '.join(missing)} from PyPI")
        return
    row = Row(CONFIGURATION, "ufp4_top", configuration(CONFIGURATION), memories=True)
    cache = flow.Cache(pathlib.Path(os.environ["UFP4_BUILD"]) / "ppa")
    try:
        tools, library = toolbox.Tools(), Library([DEBIAN], cache.folder)
    except (toolbox.Failed, FileNotFoundError) as error:
        print(f"skipped: {error}")
        return
    made, *_ = flow.synthesize(row, library, flow.Flow(), tools, cache, 1500)
    parts = [made / "netlist.v", made / "memories.v", energy.models(library, tools, cache) / "cells.v"]
    text = "\n".join(part.read_text() for part in parts)
    assert text.count("\nmodule \\ufp4_sram") > 5 and text.count("\n  DFF") > 1000, "no netlist of a core"
    FOLDER.mkdir(parents=True, exist_ok=True)
    gates = FOLDER / "gates.v"
    if SIMULATOR == "icarus":
        gates.write_text(at_random(text))
        run("tests/rtl/cocotb/run.py", gates, sys.argv[5], TESTS)
    else:  # --stall makes everything start at random anyway; waveforms would be a third of the generated code
        gates.write_text(f"/* verilator tracing_off */\n{text}")
        run("tests/rtl/flat/run.py", gates, CONFIGURATION, ROOT, FOLDER / "build")


if __name__ == "__main__":
    main()
