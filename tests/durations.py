#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor seconds of the tests: durations.py BUILD [OPTIONS] [CTEST OPTIONS].

Runs the tests of the build folder BUILD that CTest selects by -L, -LE, -R and -E (without these all but the label
full), one after the other, and writes what each took into durations.csv beside this program: user and system time of
the test and of all processes that it waited for. Unlike wall time, that hardly depends on what else the machine does.
The last line is the sum. tests/registration.cmake gives the rows to CTest, so that the longest tests begin first.

--sum         runs nothing: adds up the rows that are there
--missing     runs those tests alone that have no row
--most N      exit status 1 where the sum is over N processor seconds
--rows FILE   another file than durations.csv: what another commit's tests take

The exit status is also 1 if a test failed. A test that fails, is skipped or is not built gets no row, but keeps the one
that it has.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROWS = pathlib.Path(__file__).resolve().with_name("durations.csv")
SECONDS = 7200  # after which a test is ended: its own limit is for a machine that does nothing else
LONGEST = 20  # tests that the summary names

Test = collections.namedtuple("Test", "name command properties")


def selected(build, words):
    """Returns the tests that `ctest WORDS` would run in BUILD, those first that prepare something for others."""
    words = words or ["-LE", "^full$"]
    found = subprocess.run(["ctest", "--show-only=json-v1", *words], cwd=build, check=True, stdout=subprocess.PIPE)
    tests = []
    for test in json.loads(found.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        tests.append(Test(test["name"], test.get("command"), properties))
    late = ("FIXTURES_REQUIRED", "DEPENDS")
    return sorted(tests, key=lambda test: any(name in test.properties for name in late))


def environment(properties):
    """Returns the environment that CTest and ./ufp4 test would give the test."""
    env = dict(os.environ, UFP4_ROOT=str(ROOT), UFP4_TEST_SEED="0")
    env.update(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
    for line in properties.get("ENVIRONMENT_MODIFICATION", []):
        name, how = line.split("=", 1)
        how, value = how.split(":", 1)
        if how == "unset":
            env.pop(name, None)
        elif how == "path_list_prepend":
            env[name] = value + (os.pathsep + env[name] if env.get(name) else "")
        elif how == "set":
            env[name] = value
        else:
            sys.exit(f"durations.py: {line}: this program does not know '{how}'")
    return env


def run(test):
    """@return processor seconds, exit status and output"""
    properties = test.properties
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            test.command,
            cwd=properties.get("WORKING_DIRECTORY"),
            env=environment(properties),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        limit = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        limit.start()
        _, status, usage = os.wait4(process.pid, 0)
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    return usage.ru_utime + usage.ru_stime, process.returncode, text


def verdict(test, status, text):
    def says(name):
        return any(re.search(pattern, text, re.MULTILINE) for pattern in test.properties.get(name, []))

    if status == test.properties.get("SKIP_RETURN_CODE", 0) != 0 or says("SKIP_REGULAR_EXPRESSION"):
        return "skipped"
    good = says("PASS_REGULAR_EXPRESSION") if "PASS_REGULAR_EXPRESSION" in test.properties else status == 0
    if test.properties.get("WILL_FAIL"):
        good = not good
    return "failed" if not good or says("FAIL_REGULAR_EXPRESSION") else "passed"


def read(path):
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {row["test"]: float(row["processor_seconds"]) for row in csv.DictReader(file)}


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("test", "processor_seconds"))
        out.writerows((name, f"{seconds:.2f}") for name, seconds in sorted(rows.items()))


def measure(tests, rows, path):
    """Runs the tests and writes each row at once. @return the names of those that failed."""
    failed = []
    for number, test in enumerate(tests, 1):
        if not test.command or not pathlib.Path(test.command[0]).exists():
            print(f"{number}/{len(tests)} {test.name} is not built: ./ufp4 test -N and its choice of tests builds it")
            continue
        seconds, status, text = run(test)
        word = verdict(test, status, text)
        print(f"{number}/{len(tests)} {test.name} {seconds:.2f} {word}", flush=True)
        if word == "passed":
            rows[test.name] = seconds
            write(path, rows)
        elif word == "failed":
            failed.append(test.name)
            print(text[-2000:])
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--sum", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--most", type=float)
    parser.add_argument("--rows", type=pathlib.Path, default=ROWS)
    options, words = parser.parse_known_args()
    tests, rows, failed = selected(options.build, words), read(options.rows), []
    if not options.sum:
        wanted = [test for test in tests if not options.missing or test.name not in rows]
        failed = measure(wanted, rows, options.rows)
    taken = sorted(((rows[test.name], test.name) for test in tests if test.name in rows), reverse=True)
    for seconds, name in taken[:LONGEST]:
        print(f"{seconds:8.1f}  {name}")
    for name in failed:
        print(f"  failed  {name}")
    total = sum(seconds for seconds, _ in taken)
    print(f"{total:.0f} processor seconds of {len(taken)} tests; {len(tests) - len(taken)} have no row")
    return 1 if failed or (options.most is not None and total > options.most) else 0


if __name__ == "__main__":
    sys.exit(main())
