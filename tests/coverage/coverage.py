#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line and branch coverage of the golden model (cmodel/src) by its fast tests, and by those of descriptors and jobs.

coverage.py BUILD [--least PERCENT]: builds in the folder BUILD with clang's counters, runs the tests there, prints a
line per file, and fails (exit status 1) where lines or branches in all are under PERCENT. BUILD/coverage.txt is the
source with the counts beside it. Exit status 77: a tool is missing.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = r"^(model\.|driver\.(job|descriptor)\.)"
BUT = "_on_(tlm|cuda)"  # other backends
TOOLS = ["clang", "clang++", "cmake", "ninja", "ctest", "llvm-profdata", "llvm-cov"]
# Kernels that this machine cannot run are left out. The table has the start of their files' names and the flag
# that /proc/cpuinfo must have.
KERNELS = {
    "gemm/avx512/": "avx512_vnni",
    "quantize/avx512": "avx512_vnni",
    "gemm/avx2/": "avx2",
    "quantize/avx2": "avx2",
}


def run(command, log, **more):
    """Runs a command with its output in the log; ends the program if it fails."""
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **more)
    if done.returncode != 0:
        print("".join(open(log, encoding="utf-8", errors="replace").readlines()[-40:]), file=sys.stderr)
        sys.exit(f"failed: {' '.join(map(str, command))} (the whole log: {log})")


def build_and_test(build, log):
    """Writes BUILD/coverage.profdata."""
    configure = [
        "cmake",
        "-G",
        "Ninja",
        "-S",
        ROOT,
        "-B",
        build,
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_C_FLAGS_DEBUG=-O1",
        "-DCMAKE_C_COMPILER=clang",
        "-DCMAKE_CXX_COMPILER=clang++",
        "-DUFP4_COVERAGE=ON",
        "-DUFP4_TESTS=ON",
        "-DUFP4_RTL=OFF",
    ]
    if shutil.which("ccache"):
        configure += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    run(configure, log)
    run(["ninja", "-C", build, "tests/model/all", "tests/driver/all"], log)
    profiles = build / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    # Each process and its children share a file. With %m alone, programs that have the same functions in another order
    # would share one, and the counts of all but the first would be lost.
    environment = dict(os.environ, UFP4_TEST_DRAWS="all", LLVM_PROFILE_FILE=str(profiles / "%p-%m.profraw"))
    run(
        [
            "ctest",
            "-R",
            TESTS,
            "-E",
            BUT,
            "-L",
            "fast",
            "-j",
            str(os.cpu_count()),
            "--output-on-failure",
            "--no-tests=error",
        ],
        log,
        cwd=build,
        env=environment,
    )
    # A program that died left an empty file; the test that wanted that has judged it.
    counts = [p for p in profiles.iterdir() if p.stat().st_size > 0]
    run(["llvm-profdata", "merge", "-sparse", *counts, "-o", build / "coverage.profdata"], log)
    shutil.rmtree(profiles)


def report(build):
    """Returns [(file, lines, lines run, branches, branches taken)] of every file with code."""
    # These are the object files, because llvm-cov 14 cannot read every archive that holds them.
    first, *more = sorted((build / "cmodel" / "CMakeFiles" / "ufp4_model.dir").rglob("*.o"))
    what = [
        first,
        *(word for path in more for word in ("-object", path)),
        f"-instr-profile={build / 'coverage.profdata'}",
    ]
    text = subprocess.run(["llvm-cov", "export", "-summary-only", *what], check=True, stdout=subprocess.PIPE)
    with open(build / "coverage.txt", "wb") as out:
        subprocess.run(["llvm-cov", "show", "-show-branches=count", *what], check=True, stdout=out)
    rows = []
    for item in json.loads(text.stdout)["data"][0]["files"]:
        lines, branches = item["summary"]["lines"], item["summary"]["branches"]
        if lines["count"] > 0:
            name = item["filename"].rpartition("cmodel/src/")[2]
            rows.append((name, lines["count"], lines["covered"], branches["count"], branches["covered"]))
    return sorted(rows)


def can_run(name):
    flags = open("/proc/cpuinfo", encoding="utf-8").read().split()
    return all(flag in flags for prefix, flag in KERNELS.items() if name.startswith(prefix))


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--least", type=float, default=95.0)
    options = parser.parse_args()
    for tool in TOOLS:
        if not shutil.which(tool):
            print(f"skipped: {tool} is missing")
            return 77
    build = options.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    log = build / "coverage.log"
    log.write_text("")
    build_and_test(build, log)
    total = [0, 0, 0, 0]
    print("% file                      lines     run  percent  branches   taken  percent")
    for name, *counts in report(build):
        if not can_run(name):
            print(f"  {name:<24} not counted: this processor cannot run it")
            continue
        total = [t + c for t, c in zip(total, counts)]
        print(
            f"  {name:<24} {counts[0]:6} {counts[1]:7} {percent(counts[1], counts[0]):8.2f} "
            f"{counts[2]:9} {counts[3]:7} {percent(counts[3], counts[2]):8.2f}"
        )
    lines, branches = percent(total[1], total[0]), percent(total[3], total[2])
    good = total[0] > 0 and lines >= options.least and branches >= options.least
    print(
        f"Lines {lines:.2f} %, branches {branches:.2f} %, at least {options.least:g} % each: "
        f"{'passed' if good else 'FAILED'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
