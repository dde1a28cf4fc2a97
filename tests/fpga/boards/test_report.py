# SPDX-License-Identifier: Apache-2.0
"""usage: test_report.py REPORT_PY PROPERTY: tests what a board's report says about its clocks."""

import json
import pathlib
import subprocess
import sys
import tempfile

NETLIST = {
    "modules": {
        "cell": {"attributes": {}, "cells": {}},
        "board": {"attributes": {"top": "1"}, "cells": {"u_a.q": {"type": "TRELLIS_FF"}}},
    }
}


def report(achieved, *pins):
    """Reports on a netlist of one flip-flop whose clock must reach 24 MHz."""
    found = {
        "utilization": {"TRELLIS_FF": {"used": 1, "available": 9}},
        "fmax": {"clk": {"achieved": achieved, "constraint": 24.0}},
        "critical_paths": [{"from": "posedge clk", "to": "<async>", "path": [{"delay": 3.0}, {"delay": 4.5}]}],
    }
    with tempfile.TemporaryDirectory() as folder:
        names = [pathlib.Path(folder) / name for name in ("netlist", "report")]
        for name, content in zip(names, (NETLIST, found)):
            name.write_text(json.dumps(content))
        return subprocess.run(
            [sys.executable, "-B", sys.argv[1], "a board", *names, *pins], capture_output=True, text=True, check=True
        ).stdout.splitlines()


def test_says_that_a_clock_is_fast_enough():
    assert "clock:     24.0 MHz of 24.0 MHz (clk)" in report(24.0, "pins.lpf")


def test_says_that_a_clock_is_too_slow():
    # fpga/build.sh recognizes failure by these words.
    assert "clock:     23.9 MHz of 24.0 MHz, too slow (clk)" in report(23.9, "pins.lpf")


def test_says_how_far_the_pins_are():
    assert "pins:      7.5 ns at the most, posedge clk to <async>" in report(24.0, "pins.lpf")


def test_asks_for_nothing_without_pins():
    lines = report(23.9)
    assert "clock:     23.9 MHz" in lines and not any(line.startswith("pins") for line in lines)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
