# SPDX-License-Identifier: Apache-2.0
"""Writes into docs/results/training.csv what `ufp4 train --json` has printed: training.py NAME=FILE.json ...

Tables that no file has stay as they are. Of several files with one NAME, which are forward tables of different seeds, each comparison is one row.
The command of an experiment is the one that training.csv has; that of a new one is to be written there.
Of pretrain.py, `python -m ufp4.report --json < DIR/train.json` prints the same. Needs scipy."""

import csv
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "drivers/python"))

from ufp4 import stats

TARGET = ROOT / "docs/results/training.csv"
COLUMNS = [
    "experiment",
    "table",
    "recipe",
    "against",
    "seeds",
    "gap_percent",
    "interval",
    "deviation",
    "standard_error",
    "text_error",
    "t",
    "p",
    "seeds_worse",
    "verdict",
    "gaps_percent",
    "command",
]
# Recipes that a page compares with one that is neither bf16 nor ufp4, which train does not.
PAIRS = {
    "ablation": (
        "e2m1",
        ("e1m2-rht-none", "e1m2-rht-dw", "e2m1-rht-none", "e2m1-rht-dx-dw", "e2m1-rht-y-dw", "e2m1-rht-all"),
    )
}


def forward_rows(results):
    """Of one training the error of a gap is that of the text; of several the deviation is over them."""
    tables = [{(c["recipe"], c["against"]): c for c in result["forward"]["comparisons"]} for result in results]
    for recipe, against in tables[0]:
        found = [table[recipe, against] for table in tables]
        row = {"table": "forward", "recipe": recipe, "against": against, "seeds": len(found)}
        if len(found) == 1:
            yield {**row, **{key: found[0][key] for key in ("gap_percent", "standard_error", "t")}}
        else:
            gap = stats.paired([c["gap_percent"] for c in found])
            yield {
                **row,
                "gap_percent": gap.mean,
                "interval": gap.interval,
                "deviation": gap.deviation,
                "t": gap.t,
                "p": gap.p,
                "seeds_worse": gap.positive,
                "gaps_percent": [c["gap_percent"] for c in found],
            }


def paired_rows(name, recipes):
    """Of PAIRS; their p is corrected among them."""
    against, others = PAIRS[name]
    losses = {r["recipe"]: r["held_losses"] for r in recipes if r["recipe"] in (against, *others)}
    for c in stats.compare(losses, against, quantized=()):
        yield {
            "table": "branched",
            "recipe": c.recipe,
            "against": c.against,
            "seeds": c.gap.count,
            "gap_percent": c.gap.mean,
            "interval": c.gap.interval,
            "deviation": c.gap.deviation,
            "t": c.gap.t,
            "p": c.p,
            "seeds_worse": c.gap.positive,
            "verdict": c.verdict,
            "gaps_percent": c.gaps,
        }


def rows(name, results):
    if "forward" in results[0]:
        yield from forward_rows(results)
    for table, runs in (("branched", results[0].get("branched", {})), ("whole", results[0])):
        for c in runs.get("comparisons", []):
            yield {"table": table, "seeds": len(c["gaps_percent"]), **{key: c[key] for key in COLUMNS if key in c}}
        if table == "branched" and name in PAIRS:
            yield from paired_rows(name, runs["recipes"])


def shown(value):
    if isinstance(value, (list, tuple)):
        return " ".join(map(shown, value))
    return f"{value:.4g}" if isinstance(value, float) else value


def main():
    given = {}
    for word in sys.argv[1:]:
        name, path = word.split("=", 1)
        given.setdefault(name, []).append(json.loads(pathlib.Path(path).read_text(encoding="utf-8")))
    with open(TARGET, newline="", encoding="utf-8") as file:
        there = list(csv.DictReader(file))
    commands = {row["experiment"]: row["command"] for row in there}
    with open(TARGET, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        for name in dict.fromkeys([*commands, *given]):
            found = list(rows(name, given[name])) if name in given else []
            measured = {row["table"] for row in found}
            out.writerows(row for row in there if row["experiment"] == name and row["table"] not in measured)
            for row in found:
                out.writerow(
                    {
                        key: shown(value)
                        for key, value in {**row, "experiment": name, "command": commands.get(name, "")}.items()
                    }
                )


main()
