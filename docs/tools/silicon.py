#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/figures/silicon-*.svg from docs/results/silicon.csv and energy.csv.

usage: silicon.py [--check]     --check compares and changes nothing. Needs matplotlib, which the launcher's .venv has.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "drivers/python"), str(ROOT / "docs/tools")]
import csv_rows  # noqa: E402
import figures  # noqa: E402
import silicon_tables  # noqa: E402
from ufp4.report import _ppa  # noqa: E402


def area():
    found = [
        {"unit": row["unit"], "area_um2": float(row["area_um2"]), "delay_ns": float(row["delay_ns"])}
        for row in csv_rows.read("silicon.csv")
        if (row["library"], row["flow"]) == ("ASAP7", "plain")
        and row["unit"] in [u + e for u in ("dot", "pe", "pe_shared") for e, _ in silicon_tables.FORMATS]
    ]
    return _ppa.pareto(_ppa.families(found))["file"]


def energy():
    found = [
        row
        for row in csv_rows.read("energy.csv")
        if row["library"] == "ASAP7" and row["unit"].startswith("pe") and row["data"] == "fprop"
    ]
    keys = [f"{part}_fj" for part, _ in _ppa.PARTS]
    return _ppa.bars(
        "a MAC",
        [
            (row["unit"] + (", gated" if row["flow"] == "gated" else ""), row | {key: float(row[key]) for key in keys})
            for row in found
        ],
    )["file"]


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    stale = []
    for name, draw in (("area", area), ("energy", energy)):
        path = ROOT / f"docs/figures/silicon-{name}.svg"
        text = figures.on_one_line(draw())
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.name)
        if not sys.argv[1:]:
            path.write_text(text)
    if stale and sys.argv[1:]:
        raise SystemExit(f"stale (run docs/tools/silicon.py): {', '.join(stale)}")
    print(f"wrote {', '.join(stale)}" if stale else "up to date")


if __name__ == "__main__":
    main()
