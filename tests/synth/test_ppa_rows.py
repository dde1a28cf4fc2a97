# SPDX-License-Identifier: Apache-2.0
"""Tests fpga/cells with its tools. test_ppa_rows.py ROOT [TEST]"""

import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(ROOT / "fpga/cells"), str(ROOT / "tests/e2e")]
import rooms  # noqa: E402
import script  # noqa: E402
from stand import slow  # noqa: E402

# The ports of a memory in an array, as yosys names them: with brackets.
MEMORY = r"""module top(clk_i, \u_host.gen[0].rdata_o , \u_host.gen[0].wdata_i );
  input clk_i;
  input [1:0] \u_host.gen[0].rdata_o ;
  output \u_host.gen[0].wdata_i ;
  wire \u_host.q[0] , n;
  INV i (.A(\u_host.gen[0].rdata_o [1]), .Y(n));
  DFF \u_host.q[0]$_DFF_P_ (.CLK(clk_i), .D(n), .Q(\u_host.q[0] ));
  INV o (.A(\u_host.q[0] ), .Y(\u_host.gen[0].wdata_i ));
endmodule
"""


def ppa(*words):
    done = subprocess.run(
        [sys.executable, "-B", ROOT / "fpga/cells", *words, "--json"], capture_output=True, text=True, timeout=3600
    )
    if done.returncode == 3 and "is missing" in done.stderr:
        print(f"skipped: {done.stderr.strip()}")
        raise SystemExit(0)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["rows"]


@slow
def test_dots_are_those_of_the_results(_=None):
    with open(ROOT / "docs/results/silicon.csv", newline="") as file:
        rows = {
            row["unit"]: row
            for row in csv.DictReader(file)
            if row["library"] == "OSU 0.18 um" and row["flow"] == "plain"
        }
    names = ["dot", "dot_e2m1", "dot_uniform", "dot_e1m2"]
    found = {
        row["unit"]: (f"{row['area_um2']:.0f}", f"{row['delay_ns']:.2f}") for row in ppa("--unit", ",".join(names))
    }
    assert found == {name: (rows[name]["area_um2"], rows[name]["delay_ns"]) for name in names}, found


def test_paths_of_a_cores_memories_are_told(_=None):
    if not (sta := shutil.which("sta")):
        print("skipped: needs opensta")
        raise SystemExit(0)
    row, cells = types.SimpleNamespace(core=True, module="top"), ROOT / "fpga/cells/check.lib"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "cells").mkdir()
        pin = "pin (D) { direction : input; capacitance : 2;"
        setup = """timing () { related_pin : "CLK"; timing_type : setup_rising;
          rise_constraint (scalar) { values ("0.01"); } fall_constraint (scalar) { values ("0.01"); } }"""
        text = cells.read_text()
        assert text.count(pin) == 1, text
        (folder / "cells/check.lib").write_text(text.replace(pin, f"{pin} {setup}"))
        (folder / "netlist.v").write_text(rooms.without_brackets(MEMORY))
        (folder / "delay.tcl").write_text(script.delay(row, types.SimpleNamespace(files=[cells]), (20, 5)))
        done = subprocess.run(
            [sta, "-no_splash", "-exit", "delay.tcl"], cwd=folder, capture_output=True, text=True, timeout=600
        )
    assert "Error" not in done.stdout + done.stderr, done
    found = {path["room"]: path for path in rooms.read(done.stdout, script.PERIOD)}
    read, write = found["from memories"], found["to memories"]
    assert (read["from"], read["to"]) == ("u_host.gen[0].rdata_o[1]", "u_host.q[0]") and read["delay_ns"] > 20, read
    assert (write["from"], write["to"]) == ("u_host.q[0]", "u_host.gen[0].wdata_i") and write["delay_ns"] > 5, write


if __name__ == "__main__":
    for name in sys.argv[2:] or [name for name in dir() if name.startswith("test_")]:
        globals()[name]()
