#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tables of the results pages and of the verification plan, and figures in text and in README.md, with the
CSV files of docs/results; the data sheet's memories with the specification.

usage: tables.py [FOLDER]     default: docs/results
Each row of a CSV file names its command in its last column. A figure is changed in the CSV file; this tells which lines
of which page follow. Columns that are of others, or words, are not compared. Needs nothing but Python.
"""

import csv
import pathlib
import re
import statistics
import sys
import tomllib

import claims
import memories

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"
# Tables of the results pages, by the heads of their first columns, that have words,
# or figures that stand in no CSV file.
UNCOMPARED = {
    ("gpu.md", ("bits", "seen")): "words; each row names its command",
    ("gpu.md", ("runs on the GPU",)): "words",
    ("gpu.md", ("recipe", "on the GPU")): "words",
    ("gpu.md", ("shown", "by")): "words; each row names its test",
    ("gpu.md", ("measured", "against")): "words",
    ("gpu.md", ("GPU", "contract exact")): "words",
    ("gpu.md", ("claim", "why")): "bounds, worked out there",
    ("gpu.md", ("way", "what it runs")): "words",
    ("gpu.md", ("step, in this order", "seconds at most")): "limits, those of tests/cuda/run_on_gpu.sh",
    ("gpu.md", ("kernels", "take")): "words",
    (
        "gpu.md",
        ("bytes of a step of a layer in the recipe `nvfp4`, X 70 x 50, W 40 x 50",),
    ): "demanded by the test that the page names",
    ("performance.md", ("case", "limited by")): "instructions, counted in the source",
    ("silicon.md", ("room", "`core`")): "paths, which the command prints",
    ("silicon.md", ("row", "what it is")): "words",
    ("silicon.md", ("published", "node")): "of others",
    ("silicon.md", ("Target", "operands between PEs")): "words",
    ("training.md", ("run of `bf16`", "seeds")): "losses, which the commands print; CSV files have gaps",
    ("training.md", ("operand", "SQNR, `ufp4`")): "of a training by PyTorch, which the page's commands print",
    ("training.md", ("the paper says", "here")): "words",
    ("training.md", ("source", "what it finds")): "words",
}
WORDS = {"1": "one seed", "3": "three seeds", "4": "four seeds"}


def read(name, folder=RESULTS):
    with open(folder / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Rows:
    """The rows of a CSV file, found by what some columns say."""

    def __init__(self, name, folder):
        self.name, self.rows = name, read(name, folder)

    def all(self, **keys):
        return [row for row in self.rows if all(row[key] == str(value) for key, value in keys.items())]

    def one(self, **keys):
        found = self.all(**keys)
        if len(found) != 1:
            raise SystemExit(f"{self.name}: {len(found)} rows are {keys}")
        return found[0]


# --- Figures as the pages write them ----------------------------------------------------------------------


def whole(text):
    return f"{int(text):,}" if text else ""


def signed(text, digits):
    value = f"{float(text):+.{digits}f}"
    return "0" if float(text) == 0 else value.replace("+-", "-")


def chance(text):
    """0.005647: 0.006; 2.544e-05: 0.00003; 3.827e-17: 4e-17"""
    value = float(text)
    if value < 1e-5:
        return re.sub(r"e-0?", "e-", f"{value:.0e}")
    return f"{value:.1g}" if value >= 1e-4 else f"{value:.5f}"


def gap(row, digits=3, unit=""):
    """Of a mean over seeds, and its interval."""
    return f"{signed(row['gap_percent'], digits)}{unit} +-{float(row['interval']):.{digits}f}"


# --- Which table has which rows: page, heads of its first columns, cells (None: not compared) -------------


def silicon(folder):
    csvs = Rows("silicon.csv", folder)
    yield (
        "silicon.md",
        ("PE that multiplies", "row"),
        [
            [None, f"`{unit}`", row["area_um2"], row["delay_ns"]]
            for unit in ("pe_shared", "pe_shared_e2m1", "pe_shared_uniform", "pe_shared_e1m2", "pe_in_array_parity")
            for row in [csvs.one(unit=unit, library="ASAP7", flow="full adders and sized")]
        ],
    )
    yield (
        "silicon.md",
        ("with parity", "row, beside"),
        [
            [None, f"`{unit}`", *(row[key] for row in both for key in ("area_um2", "delay_ns"))]
            for unit in ("pe_parity", "pe_fp32_parity", "sram_parity")
            for both in [[csvs.one(unit=unit + form, library="ASAP7", flow="plain") for form in ("", "_in_word")]]
        ],
    )


def whole_cores(folder):
    keys = ("area_um2", "flip_flops_um2")
    yield (
        "silicon.md",
        ("core", "row"),
        [
            [None, f"`{row['unit']}`", *(row[key] for key in keys), f"{int(row['memory_bits']):,}", row["delay_ns"]]
            for row in Rows("silicon.csv", folder).rows
            if row["unit"].startswith("core")
        ],
    )


def wires(folder):
    yield (
        "silicon.md",
        ("unit", "cells"),
        [
            [
                None,
                *(whole(row[key]) for key in ("cells", "cells_um2", "layout_um2")),
                row["wire_mm"],
                row["delay_ns"],
                row["wired_delay_ns"],
            ]
            for row in read("wires.csv", folder)
        ],
    )
    csvs = Rows("wires.csv", folder)
    yield (
        "silicon.md",
        ("claim, with wires: against E2M1 alone", "layout"),
        [
            [
                f"{unit}, {words}",
                *(
                    share(csvs.one(unit=name + ending)[key], csvs.one(unit=name + "_e2m1")[key])
                    for key in ("layout_um2", "wire_mm", "wired_delay_ns")
                ),
                None,
            ]
            for unit, name in (("dot product", "dot"), ("PE", "pe"))
            for ending, words in FORMATS
            if ending != "_e2m1" and csvs.all(unit=name + ending)
        ],
    )


CORE_ELEMS = {"all": {"e2m1", "e1m2", "int4"}, "e2m1": {"e2m1"}, "uniform": {"e1m2", "int4"}, "e1m2": {"e1m2"}}


def cores(folder):
    """The data sheet's table of configurations: from the definition, the areas that were measured,
    and the tests' names."""
    with open(ROOT / "cmodel/spec/ufp4.toml", "rb") as file:
        spec = tomllib.load(file)
    silicon, luts, cells = Rows("silicon.csv", folder), Rows("fpga.csv", folder), []
    for core in spec["configuration"]:
        name, contract, formats = core["name"], core["contract"], core["formats"]
        scales = [
            f"{row['scale'].upper()}: {', '.join(elems)}"
            for row in spec["gemm_combination"]
            if contract in row["contract"] and "core" in row["backend"]
            for elems in [[e.upper() for e in row["elem"] if e in CORE_ELEMS[formats]]]
            if elems
        ]
        unit = ("pe_shared" if contract == "exact" else f"pe_{contract}") + ("" if formats == "all" else f"_{formats}")
        area = silicon.all(unit=unit, library="ASAP7", flow="full adders and sized")
        placed = luts.all(table="core", what=name)
        cells.append(
            [
                f"`{name}`",
                f"{core['rows']} x {core['cols']}" + (f", {core['lanes']} lanes" if core["lanes"] < 16 else ""),
                contract,
                "; ".join(scales),
                str(core["quant"] or "none"),
                area[0]["area_um2"] if area and core["lanes"] == 16 else "",
                whole(placed[0]["luts"]) if placed else "",
                "with `--full`" if core.get("on_demand") else "always; its forms with `--full`",
            ]
        )
    yield "../ip/datasheet.md", ("configuration", "PEs"), cells
    yield "../ip/datasheet.md", *memories.table()


FORMATS = (("", "all formats"), ("_e2m1", "E2M1 alone"), ("_uniform", "E1M2 and INT4"), ("_e1m2", "E1M2 alone"))


def energies(folder):
    csvs = Rows("energy.csv", folder)
    about = {"library": "ASAP7", "flow": "plain", "load": "full"}
    spent = lambda unit, data, elem, key="energy_fj": csvs.one(unit=unit, data=data, elements=elem, **about)[key]
    cells = []
    for ending, words in FORMATS:
        for elem in ("e1m2", "e2m1") if not ending else ("e2m1",) if ending == "_e2m1" else ("e1m2",):
            pe = csvs.one(unit=f"pe{ending}", data="fprop", elements=elem, **about)
            cells.append(
                [
                    f"{words}, data in {elem.upper()}",
                    pe["energy_fj"],
                    *(pe[f"{part}_fj"] for part in ("gates", "flip_flops_data", "flip_flops_clock")),
                    pe["clock_pins_fj"],
                    spent(f"pe{ending}", "wgrad", elem),
                    spent(f"dot{ending}", "fprop", elem),
                ]
            )
    yield "silicon.md", ("PE for", "fJ a MAC"), cells
    cells = []
    for contract, unit in (
        ("exact", "pe"),
        ("exact, sharing registers", "pe_shared"),
        ("fp32", "pe_fp32"),
        ("nv", "pe_nv"),
    ):
        pairs = [(data, elem) for elem in ("e1m2", "e2m1") for data in ("fprop", "wgrad")]
        cells.append(
            [
                contract,
                f"`{unit}`",
                *(
                    "".join(row["energy_fj"] for row in csvs.all(unit=unit, data=data, elements=elem, **about))
                    for data, elem in pairs
                ),
                spent(unit, "fprop", "e1m2", "clock_pins_fj"),
                Rows("silicon.csv", folder).one(unit=unit, library="ASAP7", flow="plain")["delay_ns"],
            ]
        )
    yield "silicon.md", ("contract", "row"), cells
    ihp = {"library": "IHP SG13G2", "flow": "plain", "load": "full", "data": "fprop"}
    yield (
        "silicon.md",
        ("IHP, PE for", "fJ a MAC"),
        [
            [
                f"{words}, data in {elem.upper()}",
                *(csvs.one(unit=f"pe{ending}", elements=elem, **ihp)[key] for key in ("energy_fj", "clock_pins_fj")),
            ]
            for ending, words, elem in (
                ("", "all formats", "e1m2"),
                ("_e2m1", "E2M1 alone", "e2m1"),
                ("_uniform", "E1M2 and INT4", "e1m2"),
                ("_e1m2", "E1M2 alone", "e1m2"),
            )
        ],
    )


GATED = (("pe", "PE", "fprop"), ("lane", "lane", "fprop"), ("quant_block", "block pipeline of QUANT", "dy"))


def gates(folder):
    csvs, energy, cells = Rows("silicon.csv", folder), Rows("energy.csv", folder), []
    for unit, words, data in GATED:
        for load in ("full", "half", "none"):
            found = [
                energy.one(unit=unit, data=data, elements="e1m2", library="ASAP7", flow=flow, load=load)
                for flow in ("plain", "gated")
            ]
            sums = [float(row["energy_fj"]) + float(row["clock_pins_fj"]) for row in found]
            cells.append(
                [
                    words,
                    load,
                    *(row[key] for row in found for key in ("energy_fj", "clock_pins_fj")),
                    f"{100 * (sums[1] / sums[0] - 1):+.0f} %",
                ]
            )
    yield "silicon.md", ("unit", "load"), cells
    cells = []
    for unit, words, _ in GATED:
        plain, gated = (csvs.one(unit=unit, library="ASAP7", flow=flow) for flow in ("plain", "gated"))
        cells.append(
            [
                words,
                plain["area_um2"],
                gated["area_um2"],
                share(gated["area_um2"], plain["area_um2"]),
                plain["delay_ns"],
                gated["delay_ns"],
            ]
        )
    yield "silicon.md", ("unit", "area, um2"), cells


def share(value, of):
    return f"{100 * (float(value) / float(of) - 1):+.1f} %"


def of_claims(folder):
    """Claims as their tool makes them, and what QUANT takes, by its figures."""
    yield "silicon.md", claims.HEADS[:2], claims.rows(folder)
    cells, energy = Rows("silicon.csv", folder), Rows("energy.csv", folder)
    asap = lambda unit, flow="plain": cells.one(unit=unit, library="ASAP7", flow=flow)
    spent = lambda unit, elem, data="fprop": energy.one(
        unit=unit, library="ASAP7", flow="plain", data=data, elements=elem, load="full"
    )["energy_fj"]
    out = []
    array = 256 * float(asap("pe_in_array")["area_um2"])
    whole = array + 32 * float(asap("lane")["area_um2"]) + 2 * float(asap("quant_block")["area_um2"])
    block, mac = float(spent("quant_block", "e1m2", "dy")), float(spent("pe", "e1m2"))
    for unit, name, energy_fj in (
        ("quant_block", "QUANT's two block pipelines", block),
        ("rht", "their RHT", block - float(spent("quant_block", "e1m2", "dy/rht=none"))),
        ("threefry", "their SR", block - float(spent("quant_block", "e1m2", "dy/sr=none"))),
        ("", "AMAX, in the same pipelines", float(spent("quant_block", "e1m2", "dy/amax"))),
    ):
        area = f"{200 * float(asap(unit)['area_um2']) / whole:.1f} %" if unit else ""
        out.append(
            [
                name + ", of them, 256 PEs and 32 lanes" * bool(unit),
                area,
                f"{2 * energy_fj:.0f} fJ",
                f"{2 * energy_fj / mac:.1f}",
            ]
        )
    yield "silicon.md", ("QUANT", "area"), out


def unit_cells(row):
    luts = whole(row["luts"]) + (" LUT4" if row["luts"] and row["family"] == "ECP5" else "")
    carry = whole(row["carry_cells"]) + (" CCU2C" if row["carry_cells"] and row["family"] == "ECP5" else "")
    clock = f"{row['clock_mhz']} MHz, from {WORDS[row['seeds']]}" if row["clock_mhz"] else "not placed"
    return [row["what"], luts, carry, whole(row["flip_flops"]), whole(row["block_rams"]), clock]


def fpga(folder):
    csvs = Rows("fpga.csv", folder)
    yield (
        "silicon.md",
        ("what", "LUTs"),
        [unit_cells(row) for row in csvs.all(table="unit") if "without parity" not in row["what"]],
    )
    cells = [
        [
            f"`{row['what']}`",
            *(whole(row[key]) for key in ("cells", "luts", "carry_cells", "flip_flops", "block_rams", "dsps")),
            f"{row['clock_mhz']} MHz",
            f"`{row['rtl']}`",
        ]
        for row in csvs.all(table="core")
    ]
    yield "silicon.md", ("configuration", "cells of 83,640"), cells
    cells = [
        [
            row["family"],
            f"`{row['what']}`",
            row["memory"],
            f"{whole(row['cells'])} of {whole(row['of_cells'])}",
            whole(row["luts"]),
            whole(row["carry_cells"]),
            whole(row["flip_flops"]),
            f"{row['block_rams']} of {row['of_block_rams']}",
            row["dsps"],
            f"{row['clock_needed_mhz']} MHz",
            f"{row['clock_mhz']} MHz",
        ]
        for row in csvs.all(table="board")
    ]
    yield "silicon.md", ("board", "configuration"), cells


def performance(folder):
    csvs = Rows("utilization.csv", folder)
    options = ("", "--c C.npy", "--c C.npy --alpha 0.5", "--out i64", "--accumulate-in S.npy")
    yield (
        "performance.md",
        ("options", "K = 512"),
        [
            [f"`{o}`" if o else "none", *(csvs.one(options=o, k=k)["utilization_percent"] + " %" for k in (512, 1024))]
            for o in options
        ],
    )
    csvs = Rows("shapes.csv", folder)
    yield (
        "performance.md",
        ("m x n x k", "cycles"),
        [
            [
                f"{side} x {side} x {side}",
                whole(row["cycles"]),
                row["utilization_percent"] + " %",
                row["bound_percent"] + " %",
            ]
            for side in (17, 64, 129, 192, 256)
            for row in [csvs.one(m=side, n=side, k=side)]
        ],
    )
    csvs = Rows("model.csv", folder)
    plain = [
        csvs.one(case=f"GEMM, contract {contract}", operands=elem, data="Gaussian", size=1024)
        for contract, elem in (("exact", "E1M2"), ("exact", "E2M1"), ("fp32", "E2M1"), ("nv", "E2M1"))
    ]
    cells = [
        [None, f"{row['rate']} GMAC/s", f"{row['ratio']} times" + (" OpenBLAS sgemm" if row is plain[0] else "")]
        for row in plain
    ]
    small, large = (
        csvs.one(case="quantize, rows", operands="E1M2", data="RHT and SR", size=size) for size in (1024, 4096)
    )
    cells.append(
        [None, f"{small['rate']} {small['unit']}", f"{small['ratio']} times memcpy ({large['ratio']} at 4096)"]
    )
    yield "performance.md", ("case", "rate"), cells

    step = [Rows("step.csv", folder).one(step=name) for name in ("from a cold start", "following another step")]
    cells = [
        ["all", *(whole(row["cycles"]) for row in step)],
        ["array busy", *(row["array_busy_percent"] + " %" for row in step)],
        ["AMAX and QUANT beside GEMMs", *(whole(row["quantization_beside"]) for row in step)],
        [None, f"{whole(step[0]['exposed'])}, {step[0]['exposed_percent']} % of the rest", whole(step[1]["exposed"])],
        [None, ", ".join(step[0][f"{name}_percent"] for name in ("fprop", "dgrad", "wgrad")) + " %", ""],
    ]
    yield "performance.md", ("", "from a cold start"), cells
    jobs = Rows("quantization.csv", folder)
    cells = []
    for name in ("default", "large"):
        amax, quant = (jobs.one(configuration=name, job=job) for job in ("AMAX", "QUANT"))
        over = (float(amax["layer_millions"]) + float(quant["layer_millions"])) / float(amax["gemms_millions"])
        cells.append(
            [
                f"`{name}`",
                amax["numbers_a_cycle"],
                amax["layer_millions"],
                quant["layer_millions"],
                amax["gemms_millions"],
                f"{100 * over:.1f} %",
            ]
        )
    yield "performance.md", ("configuration", "numbers a cycle"), cells
    yield (
        "performance.md",
        ("`large`", "16 rows of 4096"),
        [
            [row["job"], row["rows_of_4096"], row["rows_of_11008"], row["constant"]]
            for row in jobs.all(configuration="large")
        ],
    )
    small, large = (
        csvs.one(case="simulated core, default, against its array alone"),
        csvs.one(case="simulated core, large"),
    )
    yield (
        "performance.md",
        ("core, GEMM", "M MAC/s of CPU time"),
        [[None, f"{small['rate']} in 22 runs", small["ratio"]], [None, large["rate"], large["ratio"]]],
    )
    ratios = [
        csvs.one(case="training step", operands=recipe)["ratio"]
        for recipe in ("fp32", "ufp4", "e2m1", "mxfp4", "nvfp4")
    ]
    yield "performance.md", ("recipe", "speed ratio, d_model 64"), [[None, ratio, None] for ratio in ratios]


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


def flips(folder):
    """Sums of structures; a structure is parity-protected where no flip stayed silent."""
    found = read("bit-flips.csv", folder)
    groups = [[row for row in found if row["silent"] == "0"]]
    for words in (
        ["array:"],
        ["drain"],
        ["GEMM control"],
        ["QUANT arithmetic", "QUANT control"],
        ["command unit"],
        ["AXI masters"],
    ):
        groups.append([row for row in found if row["structure"].startswith(tuple(words))])
    cells = []
    for group in groups:
        bits, masked, silent, stuck = (
            sum(int(row[key]) for row in group) for key in ("bits", "masked", "silent", "no_end")
        )
        reported = sum(int(row[key]) for row in group for key in ("status", "watchdog", "bus_rule"))
        cells.append(
            [
                None,
                whole(bits) if group is not groups[0] else "",
                whole(masked),
                str(reported) + (f", and {('no', 'one', 'two')[stuck]} without an end" if stuck else ""),
                str(silent),
            ]
        )
    yield "../verification/plan.md", ("structure", "bits"), cells


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


GPU_BASELINES = {
    "cublas_bf16": "cuBLAS BF16",
    "cublas_fp64": "cuBLAS FP64",
    "tensor_peak_bf16": "the tensor cores' peak",
    "tensor_peak_int8": "the peak in INT8",
    "peak_memory_bandwidth": "the memory's peak",
}


def gpu(folder):
    csvs = Rows("gpu.csv", folder)
    cells = []
    for name, baselines in (
        ("gemm_fp32", ("cublas_bf16", "tensor_peak_bf16")),
        ("gemm_fp32_int8", ("cublas_bf16",)),
        ("gemm_exact", ("cublas_fp64", "tensor_peak_int8")),
    ):
        found = [csvs.one(figure=name, against=baseline) for baseline in baselines]
        of = [f"{float(row['rate']) / float(row['of']):.2f} of {GPU_BASELINES[row['against']]}" for row in found]
        cells.append([None, f"{float(found[0]['rate']):.1f} TMAC/s", ", ".join(of)])
    for name in ("quantize_plain", "quantize_rht_to_plain", "quantize_rht_sr_to_plain", "amax_rht"):
        row = csvs.one(figure=name)
        rate, of = float(row["rate"]), float(row["of"])
        if name.endswith("to_plain"):
            cells.append([None, f"{float(row['ms']):.3f} ms", f"{of / rate:.2f} times plain"])
        else:
            cells.append(
                [
                    None,
                    f"{float(row['ms']):.3f} ms, {rate:,.0f} GB/s",
                    f"{rate / of:.2f} of {GPU_BASELINES[row['against']]}",
                ]
            )
    yield "gpu.md", ("figure of the record", "measured"), cells
    cells = []
    for name in (
        "fp32",
        "fp32, both operands unpacked",
        "gemm.cuh in 128 registers",
        "exact, two digits",
        "exact, three digits",
    ):
        row = csvs.one(figure=f"prototype: {name}", against="cublas_bf16")
        of = row["ratio"] + (" of cuBLAS BF16" if name in ("fp32", "exact, two digits") else "")
        of += "".join(
            f", {other['ratio']} times `gemm.cuh`" for other in csvs.all(figure=row["figure"], against="gemm.cuh")
        )
        cells.append([None, f"{row['rate']} {row['unit']}", of])
    yield "gpu.md", ("prototype", "measured"), cells
    cells = []
    for name in (
        "quantize plain",
        "quantize with the transform",
        "quantize with the transform and stochastic rounding",
        "AMAX with the transform",
    ):
        row = csvs.one(figure=f"prototype: {name}")
        time, of = f"{float(row['ms']):.3f} ms", f"{row['ratio']} of a copy's bandwidth"
        if row["against"] == "copy":
            time += f", {int(row['rate']):,} GB/s"
        else:
            of = f"{row['ratio']} times plain"
        cells.append([None, time, of])
    yield "gpu.md", ("prototype of the quantizer", "measured"), cells
    csvs, cells = Rows("gpu-registers.csv", folder), []
    for name in (
        "fp32_kernel",
        "exact_kernel",
        "gemm_kernel",
        "digits_kernel",
        "those that unpack",
        "e8m0_kernel",
        "quick_kernel",
        "quantize_kernel",
        "quantize_scales_kernel",
    ):
        found = [row for row in csvs.rows if row["kernel"].startswith(name)]
        registers = [word for row in found for word in (row["registers"], row["set_later"]) if word]
        cells.append([None, found[0]["threads"], "; ".join(registers)])
    yield "gpu.md", ("kernel, sm_90a", "threads"), cells


def tables(folder=RESULTS):
    for of_page in (
        silicon,
        whole_cores,
        wires,
        energies,
        gates,
        of_claims,
        cores,
        fpga,
        performance,
        operands,
        shrinkage,
        training,
        flips,
        gpu,
    ):
        yield from of_page(folder)


def sentences(folder=RESULTS):
    """(page, words that it has to have): figures in text and in README.md's table."""
    cells, lut = Rows("silicon.csv", folder), Rows("fpga.csv", folder)
    block = cells.one(unit="quant_block", library="ASAP7", flow="sized")
    plain = lut.one(what="PE on ECP5, 16 MACs, without parity")
    whole_runs = Rows("training.csv", folder).one(experiment="default", table="whole", recipe="e2m1", against="ufp4")
    seeds36 = Rows("training.csv", folder).one(experiment="seeds36", table="branched", recipe="e2m1", against="ufp4")
    use = Rows("utilization.csv", folder).one(options="", k=512)["utilization_percent"]
    yield "silicon.md", f"Sized, it runs at {block['delay_ns']} ns"
    yield "silicon.md", f"(`{plain['command']}`) it has {plain['luts']} LUT4"
    core = cells.one(unit="core", library="ASAP7", flow="sized")
    yield "README.md", f"without memories and wires | {float(core['area_um2']):,.0f} um2, {core['delay_ns']} ns |"
    spent = Rows("energy.csv", folder).one(
        unit="pe", library="ASAP7", flow="plain", data="fprop", elements="e1m2", load="full"
    )
    yield "README.md", f"clock tree, memories and glitches | {spent['energy_fj']} fJ |"
    yield "README.md", f"512 x 512 x 512 | {use} % |"
    yield "README.md", f"8 seeds | {float(whole_runs['gap_percent']):.2f} +- {float(whole_runs['interval']):.2f} % |"
    counted = f"in {seeds36['seeds_worse']} of {seeds36['seeds']} pairs"
    yield (
        "README.md",
        f"higher {counted} | {float(seeds36['gap_percent']):.3f} +- {float(seeds36['interval']):.3f} % |",
    )
    busy = Rows("step.csv", folder).one(step="from a cold start")["array_busy_percent"]
    yield "README.md", f"16 layers of 1024 x 1024 x 1024 | {busy} % |"
    said = {row["figure"]: row["value"] for row in read("readme.csv", folder)}
    demo = {name.removeprefix("demo: "): value for name, value in said.items() if name.startswith("demo: ")}
    yield (
        "README.md",
        (
            f"Compared: {demo['codes']} codes, {demo['scales']} scales, {demo['outputs']} outputs, "
            f"the loss ({demo['loss']}, equal), {demo['weights']} weights (0 differ)"
        ),
    )
    yield (
        "README.md",
        (
            f"Totals: {demo['GEMMs']} GEMMs, {demo['M MAC']} M MAC, {demo['cycles in GEMMs']} cycles in GEMMs "
            f"(utilization {demo['utilization']} %), {demo['cycles in quantization']} in quantization, "
            f"{demo['cycles']} in all"
        ),
    )
    yield "README.md", f"| 0 of {sum(int(demo[name]) for name in ('codes', 'scales', 'outputs', 'weights')):,} |"
    yield (
        "README.md",
        (
            f"| {said['llama-7b: million cycles']} million, utilization {said['llama-7b: utilization']} %; "
            "of AMAX and QUANT (quantization) all but "
            f"{said['llama-7b: million cycles of AMAX and QUANT not beside GEMMs']} million run"
        ),
    )
    uniform, other, bare = (
        float(said[f"SQNR, outliers, {name}"]) for name in ("e1m2, RHT", "e2m1, RHT", "e2m1, no RHT")
    )
    yield "README.md", f"| {uniform - other:.1f} dB ({uniform - bare:.1f} dB above E2M1 without RHT) |"


# --- Pages --------------------------------------------------------------------------------------------------


def tables_of(text):
    """(line of the first row, heads, rows) of each table."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not re.fullmatch(r"\|[-|]+\|", line):
            continue
        end = next(i for i in range(number, len(lines) + 1) if i == len(lines) or not lines[i].startswith("|"))
        split = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip("|"))]
            for row in (lines[number - 1], *lines[number + 1 : end])
        ]
        yield number + 2, split[0], split[1:]


def compare(name, text, head, want):
    found = [(at, rows) for at, heads, rows in tables_of(text) if tuple(heads[: len(head)]) == head]
    if len(found) != 1:
        yield f"{name}: {len(found)} tables begin with {' | '.join(head)}"
        return
    at, rows = found[0]
    if len(rows) != len(want):
        yield f"{name}:{at}: {len(rows)} rows, the CSV file has {len(want)}"
    for number, (got, cells) in enumerate(zip(rows, want), at):
        for cell, figure in zip(got, cells):
            if figure is not None and cell != figure:
                yield f"{name}:{number}: '{cell}', the CSV file says '{figure}'"
        if len(got) != len(cells):
            yield f"{name}:{number}: {len(got)} columns, not {len(cells)}"


def unknown(folder):
    """Tables of the results pages that are neither compared nor said to be of words;
    rows that have not as many cells as the head."""
    known = {(name, head): False for name, head, _ in tables(folder)} | {where: False for where in UNCOMPARED}
    for file in sorted(folder.glob("*.md")):
        for at, heads, rows in tables_of(file.read_text(encoding="utf-8")):
            yield from (
                f"{file.name}:{number}: {len(row)} cells, the head has {len(heads)}"
                for number, row in enumerate(rows, at)
                if len(row) != len(heads)
            )
            found = [(name, head) for name, head in known if name == file.name and tuple(heads[: len(head)]) == head]
            known |= {where: True for where in found}
            if not found:
                yield f"{file.name}:{at}: no CSV file has the table of {' | '.join(heads)}"
    for name, head in (where for where in UNCOMPARED if not known[where]):
        yield f"{name}: no table begins with {' | '.join(head)}"


def page(name, folder):
    return (folder / name if name != "README.md" else ROOT / name).read_text(encoding="utf-8")


def faults(folder=RESULTS):
    for name, head, want in tables(folder):
        yield from compare(name, page(name, folder), head, want)
    yield from unknown(folder)
    for name, words in sentences(folder):
        if words not in page(name, folder):
            yield f"{name}: does not say '{words}'"
    for file in sorted(folder.glob("*.csv")):
        if any(not row.get("command") or None in row for row in read(file.name, folder)):
            yield f"{file.name}: a row without its command"


def main():
    found = list(faults(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else RESULTS))
    print("\n".join([*found, f"{len(found)} faults"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
