#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a page on the last test run, in Markdown.

usage: status.py TEST.xml     TEST.xml: the JUnit file that `./ufp4 test` leaves in the build folder
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree

OUTCOMES = ("passed", "failed", "skipped")


def outcome(case):
    if case.find("failure") is not None or case.get("status") == "fail":
        return "failed"
    return "skipped" if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled") else "passed"


def reason(case):
    """Returns the line of a test's output that says why it was skipped."""
    lines = [line for line in (case.findtext("system-out") or "").splitlines() if line.startswith("skipped: ")]
    note = case.find("skipped")
    return lines[0].removeprefix("skipped: ") if lines else note.get("message", "") if note is not None else ""


def table(head, rows):
    cell = lambda text: str(text).replace("|", "\\|")
    return [
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
        *("| " + " | ".join(map(cell, row)) + " |" for row in rows),
        "",
    ]


def counts(cases, parts):
    """Returns [(first parts of the tests' names, passed, failed, skipped, seconds)]."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0.0])
    for case in cases:
        row = sums[".".join(case.get("name").split(".")[:parts])]
        row[OUTCOMES.index(outcome(case))] += 1
        row[3] += float(case.get("time") or 0)
    return [[f"`{name}`", *row[:3], f"{row[3]:.1f}"] for name, row in sorted(sums.items())]


def page(path):
    suite = xml.etree.ElementTree.parse(path).getroot()
    cases = suite.findall("testcase")
    total = collections.Counter(map(outcome, cases))
    out = [
        "# Status of the tests",
        "",
        f"The last run of `./ufp4 test` in this build folder, of {suite.get('timestamp', 'unknown time')}:",
        ", ".join(f"{total[o]} {o}" for o in OUTCOMES) + f", {len(cases)} tests in all.",
        "",
        "A run of some tests (`-R`, `-L`) shows those alone.",
        "",
    ]
    for what in ("failed", "skipped"):
        rows = [[f"`{c.get('name')}`", reason(c)] for c in cases if outcome(c) == what]
        if rows:
            out += [f"## {what.capitalize()}", ""] + table(["test", "reason"], rows)
    out += ["## By layer", ""] + table(["layer", *OUTCOMES, "seconds"], counts(cases, 1))
    out += ["## By unit", ""] + table(["unit", *OUTCOMES, "seconds"], counts(cases, 2))
    return "\n".join(out)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_file():
        raise SystemExit(__doc__)
    print(page(sys.argv[1]))
