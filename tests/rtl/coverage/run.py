#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line, toggle and functional coverage of the core's RTL by tests of the whole core.

run.py BUILD [--tests REGEX] [--report]: builds in the folder BUILD with Verilator's counters in the cores of the
CONFIGURATIONS, one for each contract, their processing elements in the form for silicon, runs those tests there that
need no other core, and prints a line per module: lines and branches that ran, bits that changed, cover points reached.
A bit that has changed once, in whatever direction, counts: Verilator 5.006 counts changes alone. Registers and pins
start at zero, so what counts without a test is what is one when reset ends. Signals of more than 256 bits are left out.
Instances of one module are one: what one of them does is done. --report prints the last run's again.

What is not reached is in BUILD/holes.txt, what of it is explained in explained.txt beside this program, a line for
each: `KIND FILE PATTERN -- REASON`. FILE is `*` for all of them. PATTERN is a regular expression for the whole text of
the source line (kind `line`), the signal with its bit (`toggle`) or the cover point (`user`). Fails (exit status 1)
where fewer than 95 % of the lines and branches, 98 % of the bits, 90 % of the bits of a module, or not all cover
points, are reached or explained, where an explanation fits no hole, and where a test fails.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
POINTS = pathlib.Path(__file__).resolve().parent / "cover_points.sv"
COMMAND = (
    r"slots_are_kept|accepts_.*|ignores_.*|rejects_no_copy|rejects_bad_.*"
    r"|rejects_with_the_lowest_status|rejects_rows_longer_than_their_stride"
)
FAULTS = "few_on_small|soft_reset_without_watchdog|reset_in_soft_reset|watchdog_spares_the_living"
JOBS = "few_on_small|more_on_small|long_k_on_small|(fp32|nv|mixed)_equal_the_model"
RINGS = "interrupts|of_each_size|at_every_address|rejects_a_tail_too_far_by_each_bit"
TESTS = (
    rf"^rtl\.(registers\..*|shapes\.odd_ones_small|corners\..*|jobs\.({JOBS})|rings\.({RINGS})"
    rf"|faults\.({FAULTS})|errors\.few_on_small|command\.({COMMAND}))$"
)
CONFIGURATIONS = "small;small-fp32;small-nv"
EXPLAINED = pathlib.Path(__file__).resolve().parent / "explained.txt"
KINDS = ("line", "toggle", "user")
LEAST_LINES = 95  # per cent of lines and branches
LEAST_BITS = 98
LEAST_BITS_OF_A_MODULE = 90
SECONDS = 4000  # that a test may take: counters make a core many times slower
FIELD = re.compile("\1([^\2]*)\2([^\1]*)")


def run(command, log, **more):
    """Runs a command with its output in the log. @return whether it ended well."""
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **more)
    if done.returncode != 0:
        print("".join(open(log, encoding="utf-8", errors="replace").readlines()[-40:]), file=sys.stderr)
        print(f"failed: {' '.join(map(str, command))} (the whole log: {log})", file=sys.stderr)
    return done.returncode == 0


class Counts:
    """{(kind, file, line, what): how often}, of the RTL and of the cover points."""

    def __init__(self):
        self.points = collections.Counter()
        self.places = {}  # a record's text -> its key, so that each is taken apart once

    def key(self, text):
        fields = dict(FIELD.findall(text))
        kind = fields["page"].split("/")[0].removeprefix("v_")
        kind = kind if kind in KINDS else "line"
        # A module with other parameters has a name of its own.
        what = fields["page"].split("/")[1].split("__")[0] if kind == "user" else fields.get("n", "")
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
    """Adds up the files as they appear, and removes them: each process leaves some megabytes."""
    while True:
        last = done.is_set()
        for path in folder.glob("*.dat"):
            counts.add(path)
            path.unlink()
        if last:
            return
        done.wait(1)


def build_programs(build, log):
    configure = [
        "cmake",
        "-G",
        "Ninja",
        "-S",
        ROOT,
        "-B",
        build,
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DUFP4_RTL_COVERAGE={CONFIGURATIONS}",
        f"-DUFP4_RTL_COVERAGE_FILES={POINTS}",
        "-DUFP4_CUDA=OFF",
        "-DUFP4_TESTS=ON",
    ]
    if shutil.which("ccache"):
        configure += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    if not run(configure, log) or not run(["ninja", "-C", build, "tests/rtl/core/all"], log):
        sys.exit(1)
    for path in build.glob("tests/**/CTestTestfile.cmake"):
        path.write_text(re.sub(r'TIMEOUT "\d+"', f'TIMEOUT "{SECONDS}"', path.read_text()))


def run_tests(build, tests, log):
    """@return the counts, and whether all tests passed."""
    folder = build / "counts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    counts, done = Counts(), threading.Event()
    folder_thread = threading.Thread(target=fold, args=(counts, folder, done))
    folder_thread.start()
    try:
        passed = run(
            ["ctest", "-R", tests, "-j", str(len(os.sched_getaffinity(0))), "--output-on-failure", "--no-tests=error"],
            log,
            cwd=build,
            env=dict(os.environ, UFP4_RTL_COVERAGE=str(folder)),
        )
    finally:
        done.set()
        folder_thread.join()
    return counts.points, passed


class Explained:
    """The explanations, and which of them were used."""

    def __init__(self):
        self.entries, self.used, self.sources = [], set(), {}
        for number, line in enumerate(EXPLAINED.read_text().splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            what, found, reason = line.partition(" -- ")
            fields = what.split(None, 2)
            if not found or not reason or len(fields) != 3 or fields[0] not in KINDS:
                sys.exit(f"{EXPLAINED}:{number}: is not KIND FILE PATTERN -- REASON")
            self.entries.append((number, fields[0], fields[1], re.compile(fields[2].strip())))
        for path in [*(ROOT / "rtl").rglob("*.sv"), POINTS]:
            self.sources[path.name] = path.read_text().splitlines()

    def text(self, kind, file, line, what):
        return self.sources[file][line - 1].strip() if kind == "line" else what.rsplit(" ", 1)[-1]

    def covers(self, kind, file, line, what):
        text = self.text(kind, file, line, what)
        fits = {
            number
            for number, of, where, pattern in self.entries
            if of == kind and where in (file, "*") and pattern.fullmatch(text)
        }
        self.used |= fits
        return bool(fits)

    def unused(self):
        return [number for number, *_ in self.entries if number not in self.used]


def enough(cells, least):
    reached, more, count = cells
    return 100 * (reached + more) >= least * count


def percent(hit, count):
    return f"{100 * hit / count:6.1f}" if count else "     -"


def report(points, build):
    """Prints the table, writes the holes. @return whether enough was reached or explained."""
    modules = collections.defaultdict(lambda: {kind: [0, 0, 0] for kind in KINDS})  # reached, explained, all
    explained = Explained()
    with open(build / "holes.txt", "w", encoding="utf-8") as holes:
        for (kind, file, line, what), count in sorted(points.items(), key=lambda item: item[0][1:]):
            if kind != "user" and file == POINTS.name:
                continue
            cells = modules[what.split(" ")[0] if kind == "user" else pathlib.Path(file).stem][kind]
            covered = count == 0 and explained.covers(kind, file, line, what)
            cells[0] += count > 0
            cells[1] += covered
            cells[2] += 1
            if count == 0:
                text = explained.text(kind, file, line, what)
                print(f"{'explained' if covered else 'hole'}: {file}:{line}: {kind}: {what}: {text}", file=holes)
    print(f"{'module':<24} " + " ".join(f"{kind:>7} {'expl.':>5} {'of':>5}" for kind in ("lines", "bits", "points")))
    sums = {kind: [sum(column) for column in zip(*(m[kind] for m in modules.values()))] for kind in KINDS}
    for name, module in [*sorted(modules.items()), ("all", sums)]:
        print(
            f"{name:<24} "
            + " ".join(
                f"{percent(hit, count):>7} {more:>5} {count:>5}"
                for hit, more, count in (module[kind] for kind in KINDS)
            )
        )
    for number in explained.unused():
        print(f"{EXPLAINED.name}:{number}: explains nothing that is left")
    left = {kind: count - hit - more for kind, (hit, more, count) in sums.items()}
    print(
        f"neither reached nor explained: {left['line']} lines and branches, {left['user']} cover points, "
        f"{left['toggle']} bits: {build / 'holes.txt'}"
    )
    poor = [name for name, module in sorted(modules.items()) if not enough(module["toggle"], LEAST_BITS_OF_A_MODULE)]
    for name in poor:
        print(f"{name}: fewer than {LEAST_BITS_OF_A_MODULE} % of its bits are reached or explained")
    return (
        enough(sums["line"], LEAST_LINES)
        and enough(sums["toggle"], LEAST_BITS)
        and not poor
        and left["user"] == 0
        and sums["user"][2] > 0
        and not explained.unused()
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--tests", default=TESTS, help="regular expression of the tests to run")
    parser.add_argument("--report", action="store_true", help="no run: once more what the last one counted")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    saved, log, passed = build / "points.json", build / "coverage.log", True
    if not arguments.report:
        build_programs(build, log)
        points, passed = run_tests(build, arguments.tests, log)
        saved.write_text(json.dumps([[*key, count] for key, count in points.items()]))
    points = {tuple(key): count for *key, count in json.loads(saved.read_text())}
    sys.exit(not (report(points, build) and passed))


if __name__ == "__main__":
    main()
