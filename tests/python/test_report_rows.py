# SPDX-License-Identifier: Apache-2.0
"""ufp4.report on an explore.csv that is cut, or damaged."""
import pathlib
import shutil

import bench
from bench import check_equal
from test_report import FIXTURES, call  # which skips without matplotlib


def test_rejects_rows_of_an_exploration_that_are_cut():
    """Or none, or damaged: with one line that names the file, and where there is one the line; the page stays as it was."""
    folder = pathlib.Path("cut")
    folder.mkdir()
    shutil.copy(FIXTURES / "serial.measured.json", folder / "explore.json")
    whole = (FIXTURES / "serial.explore.csv").read_text()
    first, *lines = whole.splitlines(keepends=True)
    steps = [i for i, line in enumerate(lines) if line.startswith("s,step,")]
    last, end = len(lines) + 1, lines[-1]
    for text, words in (("", ": there is no column layer\n"), (first, ": there is no step in it\n"), (first.rstrip(), ": there is no step in it\n"),
                        (whole[:-1], f", line {last}: it is cut off\n"), (whole[:-2], f", line {last}: there is no reason\n"),
                        (whole[:-len(end)] + end[:len("s,step,all,u")], f", line {last}: there is no config\n"),
                        (whole[:-len(end)] + end[:3], f", line {last}: there is no pass\n"),
                        (whole[:-len(end)], f", line {last - 1}: it ends after 7 of 8 cases\n"),
                        ("".join([first, *lines[:steps[1] + 1]]), f", line {steps[1] + 2}: it ends after 2 of 8 cases\n"),
                        ("".join([first, *lines[:steps[1]], *lines[steps[1] + 1:]]), f", line {last - 1}: it ends after 7 of 8 cases\n"),
                        (whole + lines[0], f", line {last + 1}: it ends after 8 of 9 cases\n"), (first.replace("cycles,", ""), ": there is no column cycles\n"),
                        (whole.replace(",905,0,", ",9o5,0,", 1), ", line 2: cycles is '9o5', not a number\n"),
                        (whole.replace(",small,6,", ",small,,", 1), ", line 2: count is '', not a whole number\n"),
                        (whole.replace("\n", ",1\n").replace(",1\n", "\n", 1), ", line 2: it has more columns than the first line\n")):
        (folder / "explore.csv").write_text(text)
        (folder / "report.html").write_text("good")
        done = call("cut")
        check_equal((done.returncode, done.stderr, done.stdout), (2, f"ufp4.report: cut/explore.csv{words}", ""), f"{text[-60:]!r}")
        check_equal((folder / "report.html").read_text(), "good", "the page")


if __name__ == "__main__":
    bench.main(globals())
