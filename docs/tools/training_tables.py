# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/results/training.md, which tables.py writes into the page."""

import statistics

from csv_rows import chance, gap, signed

PAIR = {"recipe": "e2m1", "against": "ufp4"}


def worse(row):
    return f"{row.seeds_worse} of {row.seeds}"


def comparisons(runs):
    for experiment, table in (
        ("forward", "forward"),
        ("default", "branched"),
        ("seeds36", "branched"),
        ("default", "whole"),
    ):
        row, digits = runs.one(experiment=experiment, table=table, **PAIR), 2 if table == "whole" else 3
        interval = f"+-{row.interval:.{digits}f}"
        yield f"~ | {signed(row.gap_percent, digits)} % | {interval} | {chance(row.p)} | worse in {worse(row)}"


def against_bf16(runs):
    for recipe in ("ufp4", "e2m1", "nvfp4", "mxfp4", "nvfp4-full", "e2m1-46", "mxfp4-rht", "bf16-control"):
        experiment = "recipes" if recipe in ("nvfp4-full", "e2m1-46", "mxfp4-rht") else "default"
        forward, branched, whole = (
            runs.all(experiment=experiment, table=table, recipe=recipe, against="bf16")
            for table in ("forward", "branched", "whole")
        )
        ahead = signed(forward[0].gap_percent, 2) if forward else ""
        yield f"{recipe} | {ahead} | {gap(branched[0])} | {gap(whole[0], 2) if whole else 'not run'}"


def operands(csv):
    """Yields the rows of operands; the second one has the figures of the paper."""
    rows = [
        "{operand} | {e2m1} | {e2m1_rht} | {e1m2} | {e1m2_rht} | ~".format(**csv.one(operand=name))
        for name in (
            "fc2, X, FPROP",
            "qkv, X, FPROP",
            "proj, X, FPROP",
            "fc1, X, FPROP",
            "fc1, dY, DGRAD",
            "qkv, dY, WGRAD",
        )
    ]
    return [rows[0], "~ | ~ | ~ | ~ | ~ | ~", *rows[1:]]


def choices(csv):
    for row in csv.rows:
        yield "{operand} | {mixed} | {mixed_rht} | {alpha} | {alpha_rht} | {uniform} | {uniform_rht}".format(**row)


def alpha(csv):
    for row in csv.rows:
        yield "{recipe} | {fprop} | {dgrad} | {wgrad}".format(**row)


def shrinkage(csv):
    for name in ("all", "with outliers", "fc2, X, FPROP"):
        found = csv.all(operands=name)
        counts, lowered = ([int(row[key]) for row in found] for key in ("count", "falls_on"))
        plain, transformed = (statistics.fmean(float(row[key]) for row in found) for key in ("e2m1", "e2m1_rht"))
        count = " to ".join(dict.fromkeys((str(min(counts)), str(max(counts)))))
        falls = sum(float(row.e2m1_rht) < float(row.e2m1) for row in found)
        low = f"{min(lowered)} to {max(lowered)} | {falls} of {len(found)} models"
        yield f"{name} | {count} | {plain:.4f} | {transformed:.4f} | {low}"


def choices_losses(runs):
    """Yields gaps and p of recipes that choose a grid for each block, with a recipe's name only in its first row. In
    the forward table e2m1-mixed equals ufp4-mixed/rht=none, because neither transforms in FPROP."""
    shown = None
    for row in runs.all(experiment="mixed36", table="choice"):
        cells = []
        for experiment, digits in (("mixed", 3), ("mixed36", 3), ("mixed-whole", 2)):
            recipe = "ufp4-mixed/rht=none" if (experiment, row.recipe) == ("mixed", "e2m1-mixed") else row.recipe
            one = runs.one(experiment=experiment, table="choice", recipe=recipe, against=row.against)
            cells.append(f"{gap(one, digits)} | {chance(one.p)}")
        yield f"{row.recipe if row.recipe != shown else ''} | {row.against} | {' | '.join(cells)}"
        shown = row.recipe


def part(runs, recipe):
    return runs.one(experiment="ablation", table="branched", recipe=recipe, against="ufp4")


def scopes(runs):
    for uniform, other in (
        ("e1m2-rht-none", "e2m1-rht-none"),
        ("e1m2-rht-dw", "e2m1"),
        ("e1m2-rht-dx-dw", "e2m1-rht-dx-dw"),
        ("e1m2-rht-y-dw", "e2m1-rht-y-dw"),
        (None, "e2m1-rht-all"),
    ):
        yield f"~ | {gap(part(runs, uniform)) if uniform else '0 (`ufp4`)'} | ~ | {gap(part(runs, other))}"


def equal_scopes(runs):
    for row in runs.all(experiment="ablation", table="equal scope"):
        yield f"~ | {gap(row)} | {chance(row.p)} | {worse(row)}"


def against_e2m1(runs):
    for row in runs.all(experiment="ablation", table="branched", against="e2m1"):
        yield f"~ | {gap(row)} | {chance(row.p)} | {worse(row)}"


def other_changes(runs):
    ahead = runs.one(experiment="ablation", table="forward", recipe="ufp4-fp32-scale", against="ufp4")
    for recipe in ("ufp4-without-sr", "ufp4-scale-nearest", "ufp4-fp32-scale", "ufp4-int4", "e2m1-without-sr"):
        row = part(runs, recipe)
        words = "the same bits in every run" if row.gap_percent == "0" else gap(row)
        words += ", not separated" * (row.verdict == "not separated")
        if recipe == ahead.recipe:
            words += f"; forward {-float(ahead.gap_percent):.3f} below (t {-float(ahead.t):.1f})"
        yield f"~ | {words} | ~"


def depths(runs):
    for experiment, blocks, rate in (
        ("seeds12", 4, 0.003),
        ("depth8", 8, 0.003),
        ("depth16", 16, 0.003),
        ("rate", 4, 0.001),
    ):
        row = runs.one(experiment=experiment, table="branched", **PAIR)
        found = f"{signed(row.gap_percent, 3)} % | +-{row.interval:.3f} | {row.text_error:.3f} | {chance(row.p)}"
        yield f"{blocks} | {rate} | {row.seeds} | {found} | {worse(row)}"


def larger(runs):
    for row in runs.all(experiment="pretrain"):
        gaps = [signed(one, 2) for one in (*row.gaps_percent.split(), row.gap_percent)]
        yield f"{row.table} | {row.recipe} | {row.against} | {' | '.join(gaps)} | {row.text_error:.2f}"
