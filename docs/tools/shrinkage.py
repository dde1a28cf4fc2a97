# SPDX-License-Identifier: Apache-2.0
"""Writes docs/results/shrinkage.csv from the forward.csv of `ufp4 train --forward --seed S`:
shrinkage.py S=FILE.csv ...

A row has the kept signal (alpha) of E2M1, rounded to nearest, without and with RHT: the mean over some operands of a
model, and the number of operands for which RHT lowers alpha. Needs nothing but Python."""

import csv
import pathlib
import statistics
import sys

TARGET = pathlib.Path(__file__).resolve().parents[1] / "results" / "shrinkage.csv"
COLUMNS = ["seed", "operands", "count", "e2m1", "e2m1_rht", "falls_on", "command"]
OUTLIERS_DB = 1  # an operand has outliers if RHT raises the SQNR of E1M2 by more


def rows(seed, path):
    """Yields the rows of the forward.csv of a seed."""
    found = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["round"] == "rne":
                operand = tuple(row[key] for key in ("layer", "matrix", "tensor", "pass"))
                found.setdefault(operand, {})[row["grid"], row["rht"]] = float(row["alpha"]), float(row["sqnr_db"])
    groups = {
        "all": list(found.values()),
        "with outliers": [
            ways for ways in found.values() if ways["e1m2", "on"][1] - ways["e1m2", "off"][1] > OUTLIERS_DB
        ],
        "fc2, X, FPROP": [ways for operand, ways in found.items() if operand[1:] == ("fc2", "X", "fprop")],
    }
    for name, group in groups.items():
        plain, transformed = ([ways["e2m1", rht][0] for ways in group] for rht in ("off", "on"))
        yield {
            "seed": seed,
            "operands": name,
            "count": len(group),
            "e2m1": f"{statistics.fmean(plain):.5f}",
            "e2m1_rht": f"{statistics.fmean(transformed):.5f}",
            "falls_on": sum(b < a for a, b in zip(plain, transformed)),
            "command": f"./ufp4 train -o out --forward --seed {seed}",
        }


def main():
    with open(TARGET, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        for word in sys.argv[1:]:
            seed, path = word.split("=", 1)
            out.writerows(rows(seed, path))


if __name__ == "__main__":
    main()
