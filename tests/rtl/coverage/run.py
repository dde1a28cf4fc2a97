#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line, toggle and functional coverage of the core's RTL by the fast tests that run the whole core.

run.py BUILD [--tests REGEX] [--least-lines PERCENT]: builds in the folder BUILD with Verilator's counters in the core
of configuration `small`, its processing elements in their form for silicon, runs the tests there, and prints a line per
module: lines and branches that ran, bits that went both ways, cover points reached. Instances of one module are one:
what one of them does is done. BUILD/holes.txt lists what is left: lines, bits, cover points. Fails (exit status 1) where
fewer lines and branches than asked for ran, or a cover point was not reached.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
POINTS = pathlib.Path(__file__).resolve().parent / "cover_points.sv"
TESTS = r"^(rtl\.(registers|command|jobs|faults|sim|shapes\.odd_ones_small)|driver\..*_on_rtl|e2e\..*_on_rtl)"
KINDS = ("line", "toggle", "user")
FIELD = re.compile("\1([^\2]*)\2([^\1]*)")


def run(command, log, **more):
    """Runs a command with its output in the log; ends the program where it fails."""
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **more)
    if done.returncode != 0:
        print("".join(open(log, encoding="utf-8", errors="replace").readlines()[-40:]), file=sys.stderr)
        sys.exit(f"failed: {' '.join(map(str, command))} (the whole log: {log})")


class Counts:
    """{(kind, file, line, what): how often}, of the RTL and of the cover points."""

    def __init__(self):
        self.points = collections.Counter()
        self.places = {}  # a record's text -> its key, so that each is taken apart once

    def key(self, text):
        fields = dict(FIELD.findall(text))
        kind = "user" if fields["page"].startswith("v_user") else "toggle" if fields["page"].startswith("v_toggle") else "line"
        what = fields["page"].split("/")[1] if kind == "user" else fields.get("n", "")
        return kind, pathlib.Path(fields["f"]).name, int(fields["l"]), f"{what} {fields['o']}".strip()

    def add(self, path):
        with open(path, encoding="utf-8", errors="replace") as data:
            for line in data:
                if not line.startswith("C "):
                    continue
                text, count = line[3:].rsplit("' ", 1)
                if text not in self.places:
                    self.places[text] = self.key(text)
                self.points[self.places[text]] += int(count)


def fold(counts, folder, done):
    """Adds up the files as they appear, and removes them: each core that is closed leaves some megabytes."""
    while True:
        last = done.is_set()
        for path in folder.glob("*.dat"):
            counts.add(path)
            path.unlink()
        if last:
            return
        done.wait(1)


def build_and_test(build, tests, log):
    configure = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DUFP4_RTL_COVERAGE=small",
                 f"-DUFP4_RTL_COVERAGE_FILES={POINTS}", "-DUFP4_NVCC=OFF"]
    if shutil.which("ccache"):
        configure += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    run(configure, log)
    run(["ninja", "-C", build, "tests/rtl/core/all", "tests/driver/all", "ufp4_cli"], log)
    folder = build / "counts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    counts, done = Counts(), threading.Event()
    folder_thread = threading.Thread(target=fold, args=(counts, folder, done))
    folder_thread.start()
    try:
        run(["ctest", "-R", tests, "-LE", "full|slow", "-j", str(os.cpu_count()), "--output-on-failure", "--no-tests=error"], log,
            cwd=build, env=dict(os.environ, UFP4_RTL_COVERAGE=str(folder)))
    finally:
        done.set()
        folder_thread.join()
    return counts.points


def percent(hit, count):
    return f"{100 * hit / count:6.1f}" if count else "     -"


def report(points, build):
    """Prints the table, writes the holes. Gives {kind: (hit, all)}."""
    modules = collections.defaultdict(lambda: {kind: [0, 0] for kind in KINDS})
    with open(build / "holes.txt", "w", encoding="utf-8") as holes:
        for (kind, file, line, what), count in sorted(points.items(), key=lambda item: item[0][1:]):
            if kind != "user" and file == POINTS.name:
                continue
            module = what.split(" ")[0] if kind == "user" else pathlib.Path(file).stem
            modules[module][kind][1] += 1
            modules[module][kind][0] += count > 0
            if count == 0:
                print(f"{file}:{line}: {kind}: {what}", file=holes)
    print(f"{'module':<24} {'lines':>6} {'of':>5} {'bits':>6} {'of':>6} {'points':>6} {'of':>5}")
    sums = {kind: (sum(m[kind][0] for m in modules.values()), sum(m[kind][1] for m in modules.values())) for kind in KINDS}
    for name, module in [*sorted(modules.items()), ("all", sums)]:
        cells = [f"{percent(*module[kind])} {module[kind][1]:>{5 + (kind == 'toggle')}}" for kind in KINDS]
        print(f"{name:<24} {' '.join(cells)}")
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--tests", default=TESTS, help="regular expression of the tests to run")
    parser.add_argument("--least-lines", type=float, default=95, help="percent of lines and branches")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    points = build_and_test(build, arguments.tests, build / "coverage.log")
    sums = report(points, build)
    print(f"What is left: {build / 'holes.txt'}")
    hit, count = sums["line"]
    few = 100 * hit < arguments.least_lines * count
    missed = sums["user"][1] - sums["user"][0]
    if few:
        print(f"fewer than {arguments.least_lines} % of lines and branches ran")
    if missed or not sums["user"][1]:
        print(f"{missed} cover points were not reached")
    sys.exit(few or missed > 0 or not sums["user"][1])


if __name__ == "__main__":
    main()
