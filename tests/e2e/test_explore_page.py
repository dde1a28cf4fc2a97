# SPDX-License-Identifier: Apache-2.0
"""Tests explore's page, and what happens if it cannot be drawn."""

import os
import pathlib
import subprocess
import sys

import stand
from stand import check, check_equal, passes
from explorations import FILES, explore, shapes


def test_a_bandwidth_above_the_bus_is_drawn():
    stand.demand_drawing()
    rows = explore("--config", "small", "--mem-bandwidth", "8,1000", "--tokens", "16", "--serial")
    page = pathlib.Path("out/report.html").read_text()
    cycles = [f"<td>{int(r['cycles']):,}</td>" for r in rows if r["layer"] == "step"]
    check(len(cycles) == 2 and all(page.count(cell) == cycles.count(cell) for cell in cycles), f"{cycles}")
    check(
        "small, 1000 (bus 8) B/cycle" in page and "--mem-bandwidth 1000 is more than the bus" in page, "label and note"
    )


def test_the_page_stands_alone():
    stand.demand_drawing()
    explore("--config", "small", "--mem-bandwidth", "2,8", "--tokens", "16")
    page = pathlib.Path("out/report.html").read_text()
    for what in (
        "A training step",
        "Where the cycles go",
        "Utilization against bandwidth",
        "Roofline",
        "MACs a byte",
        "small, 2 B/cycle",
        "Every job",
    ):
        check(what in page, f"{what} is missing")
    check("http" not in page and "<script" not in page, "outside references")
    check_equal(sorted(os.listdir("out")), [*FILES, "report.html"], "files")


def test_a_page_in_a_folder_like_an_option():
    stand.demand_drawing()
    passes("explore", shapes(), "--o=-d", "--config", "small", "--tokens", "16")
    check_equal(sorted(os.listdir("-d")), [*FILES, "report.html"], "files")


def test_without_python_the_rows_are_there():
    os.mkdir("out")
    pathlib.Path("out/report.html").write_text("an earlier one")
    result = passes("explore", shapes(), "-o", "out", "--config", "small", "--tokens", "16")
    check(result.err.count("\n") == 1 and "python3 -m ufp4.report out/explore.json" in result.err, str(result))
    check_equal(sorted(os.listdir("out")), FILES, "files, without the earlier page")


def test_a_python_without_the_package_is_told_in_one_line():
    os.makedirs("bin")
    pathlib.Path("bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    os.chmod("bin/python", 0o755)
    done = subprocess.run(
        [stand.PROGRAM, "explore", shapes(), "--config", "small", "--tokens", "4", "-o", "out"],
        capture_output=True,
        text=True,
        env={**os.environ, "UFP4_PYTHON": "bin/python"},
        timeout=600,
    )
    check_equal((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
    check(done.stderr.endswith("; name a Python that has ufp4[report]\n"), done.stderr)
    check_equal(sorted(os.listdir("out")), FILES, "what stays")


def test_several_sizes_of_a_step_make_a_heat_map():
    rows = explore("--config", "small", "--tokens", "1,16,64", "--serial")
    util = [float(r["util_percent"]) for r in rows if (r["layer"], r["pass"]) == ("proj", "fprop")]
    check(util == sorted(util) and util[0] < 60 < util[2], f"utilization {util}")
    stand.demand_drawing()
    explore("--config", "small", "--tokens", "16,64", "--batches", "2")
    page = pathlib.Path("out/report.html").read_text()
    check("Utilization over tokens: ufp4 on small" in page, "no heat map")
    heat = page[page.index("Utilization over tokens") : page.index("Every job")]
    check_equal([heat.count(f"FPROP, {half} half") for half in ("first", "second")], [2, 2], "halves")


if __name__ == "__main__":
    stand.main(globals())
