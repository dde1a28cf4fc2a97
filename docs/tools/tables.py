#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tables of the results pages and of the verification plan, and figures in text and in README.md, with the
CSV files of docs/results; the data sheet's memories with the specification.

usage: tables.py [FOLDER]     default: docs/results
Each row of a CSV file names its command in its last column. A figure is changed in the CSV file; this tells which lines
of which page follow. Columns that are of others, or words, are not compared. Needs nothing but Python.
"""

import pathlib
import re
import sys

from csv_rows import RESULTS, ROOT, Rows, read, whole
from silicon_tables import cores, energies, fpga, gates, grids, of_claims, silicon, whole_cores, wires
from training_tables import operands, shrinkage, training

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
    ("silicon.md", ("room", "ns")): "likewise",
    ("silicon.md", ("row", "what it is")): "words",
    ("silicon.md", ("published", "node")): "of others",
    ("silicon.md", ("Target", "operands between PEs")): "words",
    ("training.md", ("run of `bf16`", "seeds")): "losses, which the commands print; CSV files have gaps",
    ("training.md", ("operand", "SQNR, `ufp4`")): "of a training by PyTorch, which the page's commands print",
    ("training.md", ("the paper says", "here")): "words",
    ("training.md", ("source", "what it finds")): "words",
}


# Pages whose tables all have what explore prints, each by the command above it, and stand in no CSV file.
PAGES_OF_COMMANDS = ("models.md",)

# --- Which table has which rows: page, heads of its first columns, cells (None: not compared) -------------


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
        "fp32_kernel, tiles of 192 rows",
        "fp32_kernel, tiles of 128 rows",
        "exact_kernel",
        "gemm_kernel",
        "digits_kernel",
        "those that unpack",
        "e8m0_kernel",
        "quick_kernel",
        "quantize_kernel",
        "quantize_scales_kernel",
        "quantize_mixed_kernel",
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
        grids,
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
        if file.name in PAGES_OF_COMMANDS:
            continue
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
