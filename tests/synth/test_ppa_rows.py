# SPDX-License-Identifier: Apache-2.0
"""fpga/ppa with its tools. test_ppa_rows.py ROOT [TEST]"""

import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])


def ppa(*words):
    done = subprocess.run(
        [sys.executable, "-B", ROOT / "fpga/ppa", *words, "--json"], capture_output=True, text=True, timeout=3600
    )
    if done.returncode == 3 and "is missing" in done.stderr:
        print(f"skipped: {done.stderr.strip()}")
        raise SystemExit(0)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["rows"]


def slow(test):
    """Read by the CMakeLists.txt: the test has the label slow."""
    return test


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


if __name__ == "__main__":
    for name in sys.argv[2:] or [name for name in dir() if name.startswith("test_")]:
        globals()[name]()
