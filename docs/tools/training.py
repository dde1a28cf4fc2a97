# SPDX-License-Identifier: Apache-2.0
"""Writes the output of `ufp4 train --json` to docs/results/training.csv: training.py NAME=FILE.json ...

Tables of experiments without a file stay unchanged. Several files with one NAME are forward tables of different seeds,
and become one row for each comparison. The commands of experiments stay; write that of a new experiment by hand. For
pretrain.py, `python -m ufp4.report --json < DIR/train.json` prints such a file. Needs scipy."""

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
# Comparisons of a page with a recipe other than bf16 and ufp4, which train does not make.
PAIRS = {
    "ablation": (
        "e2m1",
        ("e1m2-rht-none", "e1m2-rht-dw", "e2m1-rht-none", "e2m1-rht-dx-dw", "e2m1-rht-y-dw", "e2m1-rht-all"),
    )
}
# More comparisons, with the name of their table. Their p are corrected among themselves.
CHOOSING = ("ufp4-mixed", "e2m1-mixed", "ufp4-mixed/rht=none")


def choices(*recipes):
    return "choice", [(one, other) for one in recipes for other in ("ufp4", "e2m1", "e2m1-46")]


MORE_PAIRS = {
    "ablation": (
        "equal scope",
        [
            ("e2m1-rht-none", "e1m2-rht-none"),
            ("e2m1", "e1m2-rht-dw"),
            ("e2m1-rht-dx-dw", "e1m2-rht-dx-dw"),
            ("e2m1-rht-y-dw", "e1m2-rht-y-dw"),
            ("e2m1-rht-all", "ufp4"),
        ],
    ),
    # In forward tables e2m1-mixed equals ufp4-mixed/rht=none, because FPROP has no transform.
    "mixed": choices("ufp4-mixed", "ufp4-mixed/rht=none"),
    "mixed36": choices(*CHOOSING),
    "mixed-whole": choices(*CHOOSING),
}
QUESTION = "e2m1", "ufp4"  # the p of this comparison is not corrected


def forward_rows(results):
    """Yields forward rows. The error of a gap is that of the text for one training, and over trainings for several."""
    tables = [{(c["recipe"], c["against"]): c for c in result["forward"]["comparisons"]} for result in results]
    gaps = {pair: stats.paired([table[pair]["gap_percent"] for table in tables]) for pair in tables[0]}
    others = [pair for pair in gaps if pair != QUESTION]
    p = {QUESTION: gaps[QUESTION].p, **dict(zip(others, stats.holm([gaps[pair].p for pair in others])))}
    for recipe, against in tables[0]:
        found = [table[recipe, against] for table in tables]
        row = {"table": "forward", "recipe": recipe, "against": against, "seeds": len(found)}
        if len(found) == 1:
            yield {**row, **{key: found[0][key] for key in ("gap_percent", "standard_error", "t")}}
        else:
            yield {**row, **measures(gaps[recipe, against], p[recipe, against], [c["gap_percent"] for c in found])}


def measures(gap, p, gaps):
    """Returns the columns of a comparison over seeds."""
    return {
        "gap_percent": gap.mean,
        "interval": gap.interval,
        "deviation": gap.deviation,
        "t": gap.t,
        "p": float(p),
        "seeds_worse": gap.positive,
        "gaps_percent": gaps,
    }


def paired_rows(name, recipes):
    """Yields the comparisons of PAIRS, whose p are corrected among themselves."""
    against, others = PAIRS[name]
    losses = {r["recipe"]: r["held_losses"] for r in recipes if r["recipe"] in (against, *others)}
    for c in stats.compare(losses, against, quantized=()):
        row = {
            "table": "branched",
            "recipe": c.recipe,
            "against": c.against,
            "seeds": c.gap.count,
            "verdict": c.verdict,
        }
        yield {**row, **measures(c.gap, c.p, c.gaps)}


def more_rows(name, losses):
    """Yields the comparisons of MORE_PAIRS, whose p are corrected among themselves."""
    table, pairs = MORE_PAIRS[name]
    gaps = [[100 * (a - b) / b for a, b in zip(losses[one], losses[other])] for one, other in pairs]
    found = [stats.paired(row) for row in gaps]
    for (one, other), row, gap, p in zip(pairs, gaps, found, stats.holm([gap.p for gap in found])):
        verdict = "not separated" if p >= 0.05 else "worse" if gap.mean > 0 else "better"
        row_of = {"table": table, "recipe": one, "against": other, "seeds": gap.count, "verdict": verdict}
        yield {**row_of, **measures(gap, p, row)}


def losses_of(results):
    """Returns {recipe: losses by seed}, from forward tables of several seeds or from the runs of one experiment."""
    if "forward" in results[0] and len(results) > 1:
        tables = [{r["recipe"]: r["held_loss"] for r in result["forward"]["recipes"]} for result in results]
        return {recipe: [table[recipe] for table in tables] for recipe in tables[0]}
    runs = results[0].get("branched", results[0])
    return {r["recipe"]: r["held_losses"] for r in runs.get("recipes", [])}


def rows(name, results):
    if "forward" in results[0]:
        yield from forward_rows(results)
    for table, runs in (("branched", results[0].get("branched", {})), ("whole", results[0])):
        for c in runs.get("comparisons", []):
            yield {"table": table, "seeds": len(c["gaps_percent"]), **{key: c[key] for key in COLUMNS if key in c}}
        if table == "branched" and name in PAIRS:
            yield from paired_rows(name, runs["recipes"])
    losses = losses_of(results)
    if losses and name in MORE_PAIRS:
        yield from more_rows(name, losses)


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
    kept = []
    for name in dict.fromkeys([*commands, *given]):
        found = list(rows(name, given[name])) if name in given else []
        measured = {row["table"] for row in found}
        kept += [row for row in there if row["experiment"] == name and row["table"] not in measured]
        kept += [
            {key: shown(value) for key, value in {**row, "experiment": name, "command": commands.get(name, "")}.items()}
            for row in found
        ]
    with open(TARGET, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        out.writerows(kept)


main()
