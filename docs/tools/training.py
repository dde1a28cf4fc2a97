# SPDX-License-Identifier: Apache-2.0
"""Writes docs/results/training.csv from what `ufp4 train --json` has printed: training.py NAME=FILE.json ...
The command of an experiment is the one that the file has; that of a new one is to be written there."""
import csv
import json
import pathlib
import sys

TARGET = pathlib.Path(__file__).resolve().parents[1] / "results" / "training.csv"
COLUMNS = ["experiment", "table", "recipe", "against", "seeds", "gap_percent", "interval", "deviation", "standard_error",
           "text_error", "t", "p", "seeds_worse", "verdict", "command"]


def rows(name, result):
    for c in result.get("forward", {}).get("comparisons", []):
        yield {"experiment": name, "table": "forward", "recipe": c["recipe"], "against": c["against"], "seeds": 1,
               "gap_percent": c["gap_percent"], **{key: c[key] for key in ("standard_error", "t") if key in c}}
    for table, runs in (("branched", result.get("branched", {})), ("whole", result)):
        for c in runs.get("comparisons", []):
            yield {"experiment": name, "table": table, "seeds": len(c["gaps_percent"]),
                   **{key: c[key] for key in COLUMNS if key in c}}


def main():
    listed = [word.split("=", 1) for word in sys.argv[1:]]
    found = [row for name, path in listed for row in rows(name, json.loads(pathlib.Path(path).read_text(encoding="utf-8")))]
    with open(TARGET, newline="", encoding="utf-8") as file:
        commands = {row["experiment"]: row["command"] for row in csv.DictReader(file)}
    for row in found:
        row["command"] = commands.get(row["experiment"], "")
    with open(TARGET, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        for row in found:
            out.writerow({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()})


main()
