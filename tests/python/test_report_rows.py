# SPDX-License-Identifier: Apache-2.0
"""ufp4.report on an explore.csv that is cut, damaged, or has steps without figures."""

import json
import pathlib
import re
import shutil

import bench
from bench import check, check_equal, slow
from test_report import FIXTURES, call, cells, fixture  # which skips without matplotlib

from ufp4.report import _explore


@slow
def test_rejects_rows_of_an_exploration_that_are_cut():
    """Or none, or damaged: with one line that names the file, and where there is one the line;
    the page stays as it was."""
    folder = pathlib.Path("cut")
    folder.mkdir()
    shutil.copy(FIXTURES / "serial.measured.json", folder / "explore.json")
    whole = (FIXTURES / "serial.explore.csv").read_text()
    first, *lines = whole.splitlines(keepends=True)
    steps = [i for i, line in enumerate(lines) if line.startswith("s,step,")]
    last, end = len(lines) + 1, lines[-1]
    for text, words in (
        ("", ": there is no column layer\n"),
        (first, ": there is no step in it\n"),
        (first.rstrip(), ": there is no step in it\n"),
        (whole[:-1], f", line {last}: it is cut off\n"),
        (whole[:-2], f", line {last}: there is no reason\n"),
        (whole[: -len(end)] + end[: len("s,step,all,u")], f", line {last}: there is no config\n"),
        (whole[: -len(end)] + end[:3], f", line {last}: there is no pass\n"),
        (whole[: -len(end)], f", line {last - 1}: it ends after 7 of 8 cases\n"),
        ("".join([first, *lines[: steps[1] + 1]]), f", line {steps[1] + 2}: it ends after 2 of 8 cases\n"),
        (
            "".join([first, *lines[: steps[1]], *lines[steps[1] + 1 :]]),
            f", line {last - 1}: it ends after 7 of 8 cases\n",
        ),
        (whole + lines[0], f", line {last + 1}: it ends after 8 of 9 cases\n"),
        (first.replace("cycles,", ""), ": there is no column cycles\n"),
        (whole.replace(",905,0,", ",9o5,0,", 1), ", line 2: cycles is '9o5', not a number\n"),
        (whole.replace(",small,6,", ",small,,", 1), ", line 2: count is '', not a whole number\n"),
        (whole.replace("\n", ",1\n").replace(",1\n", "\n", 1), ", line 2: it has more columns than the first line\n"),
    ):
        (folder / "explore.csv").write_text(text)
        (folder / "report.html").write_text("good")
        done = call("cut")
        check_equal(
            (done.returncode, done.stderr, done.stdout),
            (2, f"ufp4.report: cut/explore.csv{words}", ""),
            f"{text[-60:]!r}",
        )
        check_equal((folder / "report.html").read_text(), "good", "the page")


@slow
def test_a_step_without_cycles_has_no_figures():
    """As of a recipe whose passes are all in BF16, beside others and alone."""
    folder = pathlib.Path("zero")
    folder.mkdir()
    measured, _ = fixture("serial")
    names = _explore.read(FIXTURES / "serial.explore.csv")[0]
    rows = [
        {
            **dict.fromkeys(names, ""),
            "layer": layer,
            "pass": "all",
            "count": "1",
            "m": "0",
            "n": "0",
            "k": "0",
            "cycles": "0",
            "quant": "0",
        }
        for layer in ("block", "step")
    ]
    whole = (FIXTURES / "serial.explore.csv").read_text()
    lines = "".join(",".join(row.values()) + "\n" for row in rows)
    zero = {**measured["cases"][0], "recipe": "plain", "array_busy": 0.0}
    for cases, text in (
        ([*measured["cases"], zero], whole + lines),
        ([zero], whole.splitlines(keepends=True)[0] + lines),
    ):
        (folder / "explore.json").write_text(json.dumps({**measured, "cases": cases}))
        (folder / "explore.csv").write_text(text)
        done = call("zero")
        check_equal((done.returncode, done.stderr), (0, ""), f"{len(cases)} cases")
        page = (folder / "report.html").read_text()
        line = cells(next(row for row in re.findall("<tr>.*?</tr>", page, re.S) if ">plain<" in row))
        check_equal((line[0], line[-1]), ("plain", "no job of it is on the core"), "its line")
        check_equal(
            "Where the cycles go" in page and "Every job" in page and "<svg" in page, len(cases) > 1, "pictures"
        )
        check("plain, small" not in page, "in no picture")


@slow
def test_the_roofline_shows_what_ports_allow():
    """A tick where load or drain binds a GEMM; none where the bus or the array does."""
    folder = pathlib.Path("ports")
    folder.mkdir()
    shutil.copy(FIXTURES / "serial.measured.json", folder / "explore.json")
    whole = (FIXTURES / "serial.explore.csv").read_text()
    bound = ",89.0,100.0,compute,"
    check(bound in whole, "the GEMM to change")
    for text, ticks in (
        (whole, 0),
        (whole.replace(bound, ",89.0,93.5,output,"), 1),
        (whole.replace(bound, ",89.0,93.5,load,"), 1),
    ):
        (folder / "explore.csv").write_text(text)
        done = call("ports")
        check_equal((done.returncode, done.stderr), (0, ""), "its page")
        page = (folder / "report.html").read_text()
        check_equal(page.count("what load or drain allow"), ticks, "the legend")
    (folder / "explore.csv").write_text(whole.replace(bound, ",89.0,much,load,"))
    done = call("ports")
    check_equal((done.returncode, "bound_percent is 'much', not a number" in done.stderr), (2, True), "its bound")


if __name__ == "__main__":
    bench.main(globals())
