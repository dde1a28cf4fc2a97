# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/results/training.md, from the CSV files: page, heads of the first columns, cells."""

import statistics

from csv_rows import Rows, chance, gap, read, signed


def operands(folder):
    found = {row["operand"]: row for row in read("operands.csv", folder)}
    cells = []
    for name in (
        "fc2, X, FPROP",
        None,
        "qkv, X, FPROP",
        "proj, X, FPROP",
        "fc1, X, FPROP",
        "fc1, dY, DGRAD",
        "qkv, dY, WGRAD",
    ):
        row = found.get(name)
        cells.append(
            [name, *(row[key] for key in ("e2m1", "e2m1_rht", "e1m2", "e1m2_rht")), None]
            if row
            else ["the paper's"] + [None] * 5
        )
    yield "training.md", ("operand", "E2M1"), cells
    keys = ("operand", "mixed", "mixed_rht", "alpha", "alpha_rht", "uniform", "uniform_rht")
    yield "training.md", ("operand", "SQNR, dB"), [[row[key] for key in keys] for row in found.values()]
    yield (
        "training.md",
        ("recipe", "FPROP"),
        [[row[key] for key in ("recipe", "fprop", "dgrad", "wgrad")] for row in read("alpha.csv", folder)],
    )


def shrinkage(folder):
    csvs, cells = Rows("shrinkage.csv", folder), []
    for name in ("all", "with outliers", "fc2, X, FPROP"):
        found = csvs.all(operands=name)
        counts, lowered = ([int(row[key]) for row in found] for key in ("count", "falls_on"))
        plain, transformed = (statistics.fmean(float(row[key]) for row in found) for key in ("e2m1", "e2m1_rht"))
        falls = sum(float(row["e2m1_rht"]) < float(row["e2m1"]) for row in found)
        cells.append(
            [
                name,
                " to ".join(dict.fromkeys((str(min(counts)), str(max(counts))))),
                f"{plain:.4f}",
                f"{transformed:.4f}",
                f"{min(lowered)} to {max(lowered)}",
                f"{falls} of {len(found)} models",
            ]
        )
    yield "training.md", ("operands", "of a model"), cells


def training(folder):
    csvs = Rows("training.csv", folder)
    pair = {"recipe": "e2m1", "against": "ufp4"}
    cells = []
    for experiment, table in (
        ("forward", "forward"),
        ("default", "branched"),
        ("seeds36", "branched"),
        ("default", "whole"),
    ):
        row = csvs.one(experiment=experiment, table=table, **pair)
        digits = 2 if row["table"] == "whole" else 3
        cells.append(
            [
                None,
                signed(row["gap_percent"], digits) + " %",
                f"+-{float(row['interval']):.{digits}f}",
                chance(row["p"]),
                f"worse in {row['seeds_worse']} of {row['seeds']}",
            ]
        )
    yield "training.md", ("comparison", "e2m1 against ufp4, held-out loss"), cells
    cells = []
    for recipe in ("ufp4", "e2m1", "nvfp4", "mxfp4", "nvfp4-full", "e2m1-46", "mxfp4-rht", "bf16-control"):
        experiment = "recipes" if recipe in ("nvfp4-full", "e2m1-46", "mxfp4-rht") else "default"
        found = {
            t: csvs.all(experiment=experiment, table=t, recipe=recipe, against="bf16")
            for t in ("forward", "branched", "whole")
        }
        ahead = signed(found["forward"][0]["gap_percent"], 2) if found["forward"] else ""
        cells.append(
            [recipe, ahead, gap(found["branched"][0]), gap(found["whole"][0], 2) if found["whole"] else "not run"]
        )
    yield "training.md", ("recipe", "forward"), cells

    cells = []
    for experiment, seed in (("mixed", "0"), ("mixed-seed2", "2")):
        against = {row["recipe"]: row for row in csvs.all(experiment=experiment, table="forward", against="ufp4")}
        for row in csvs.all(experiment=experiment, table="forward", against="bf16"):
            other, beside = against.get(row["recipe"]), ("", "", "")
            if other:
                error, t = float(other["standard_error"]), float(other["t"])
                beside = (signed(other["gap_percent"], 3), f"{error:.3f}", f"{t:.1f}")
            cells.append([seed, row["recipe"], signed(row["gap_percent"], 3), *beside])
    yield "training.md", ("seed", "recipe", "gap to bf16, %"), cells

    def part(recipe):
        return csvs.one(experiment="ablation", table="branched", recipe=recipe, against="ufp4")

    scopes = [
        ("e1m2-rht-none", "e2m1-rht-none"),
        ("e1m2-rht-dw", "e2m1"),
        ("e1m2-rht-dx-dw", "e2m1-rht-dx-dw"),
        ("e1m2-rht-y-dw", "e2m1-rht-y-dw"),
        (None, "e2m1-rht-all"),
    ]
    yield (
        "training.md",
        ("RHT in", "E1M2 (`ufp4` with this scope)"),
        [[None, gap(part(uniform)) if uniform else "0 (`ufp4`)", None, gap(part(other))] for uniform, other in scopes],
    )
    found = csvs.all(experiment="ablation", table="branched", against="e2m1")
    yield (
        "training.md",
        ("against `e2m1`", "gap"),
        [[None, gap(row), chance(row["p"]), f"{row['seeds_worse']} of {row['seeds']}"] for row in found],
    )
    found = csvs.all(experiment="ablation", table="equal scope")
    yield (
        "training.md",
        ("RHT in", "E2M1 against E1M2"),
        [[None, gap(row), chance(row["p"]), f"{row['seeds_worse']} of {row['seeds']}"] for row in found],
    )
    rows = [
        part(recipe)
        for recipe in ("ufp4-without-sr", "ufp4-scale-nearest", "ufp4-fp32-scale", "ufp4-int4", "e2m1-without-sr")
    ]
    ahead = csvs.one(experiment="ablation", table="forward", recipe="ufp4-fp32-scale", against="ufp4")
    cells = [[None, gap(row) + (", not separated" if row["verdict"] == "not separated" else ""), None] for row in rows]
    cells[2][1] += f"; forward {-float(ahead['gap_percent']):.3f} below (t {-float(ahead['t']):.1f})"
    cells[3][1] = "the same bits in every run" if rows[3]["gap_percent"] == "0" else cells[3][1]
    yield "training.md", ("other changes", "here"), cells
    cells = []
    for experiment, blocks, rate in (
        ("seeds12", 4, 0.003),
        ("depth8", 8, 0.003),
        ("depth16", 16, 0.003),
        ("rate", 4, 0.001),
    ):
        row = csvs.one(experiment=experiment, table="branched", **pair)
        cells.append(
            [
                str(blocks),
                str(rate),
                row["seeds"],
                signed(row["gap_percent"], 3) + " %",
                f"+-{float(row['interval']):.3f}",
                f"{float(row['text_error']):.3f}",
                chance(row["p"]),
                f"{row['seeds_worse']} of {row['seeds']}",
            ]
        )
    yield "training.md", ("blocks", "rate"), cells
    yield (
        "training.md",
        ("runs", "recipe", "against"),
        [
            [
                row["table"],
                row["recipe"],
                row["against"],
                *(signed(one, 2) for one in row["gaps_percent"].split()),
                signed(row["gap_percent"], 2),
                f"{float(row['text_error']):.2f}",
            ]
            for row in csvs.all(experiment="pretrain")
        ],
    )
