#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the figures of the pages' tables from the CSV files of docs/results, and compares the figures in sentences and
in README.md with these files. The last column of each file has the command that made it.

usage: tables.py [--check]     --check also compares the tables, and changes nothing.
The line above a table names its source: <!-- table: NAME FILE.csv .. -->. NAME is a function here, in silicon_tables or
in training_tables, which yields each row as `figure | figure`; ~ keeps the page's own words. If the second row is a
rule of ---, the first is the head of the table. Every other table of a results page has <!-- words: WHY --> above it.
Needs nothing but Python.
"""

import itertools
import re
import sys

import models
import silicon_tables
import training_tables
from csv_rows import ROOT, Rows, code, read

MARKER = re.compile(r"<!-- table: (\w+)((?: [\w-]+\.csv)*) -->")

# --- Tables of the pages performance, GPU and verification plan ---------------------------------------------


def utilization(csv):
    for options in ("", "--c C.npy", "--c C.npy --alpha 0.5", "--out i64", "--accumulate-in S.npy"):
        found = " | ".join(f"{csv.one(options=options, k=k).utilization_percent} %" for k in (512, 1024))
        yield f"{code(options) if options else 'none'} | {found}"


def shapes(csv):
    row = "{m} x {n} x {k} | {cycles:,} | {utilization_percent} % | {bound_percent} %"
    return [row.format(**csv.one(m=side, n=side, k=side)) for side in (17, 64, 129, 192, 256)]


def step(csv):
    cold, later = csv.rows
    yield f"~ | {cold.cycles:,} | {later.cycles:,}"
    yield f"~ | {cold.array_busy_percent} % | {later.array_busy_percent} %"
    yield f"~ | {cold.quantization_beside:,} | {later.quantization_beside:,}"
    yield f"~ | {cold.exposed:,}, {cold.exposed_percent} % of the rest | {later.exposed:,}"
    yield f"~ | {cold.fprop_percent}, {cold.dgrad_percent}, {cold.wgrad_percent} % | "


def quantization_of_a_layer(csv):
    for name in ("default", "large"):
        amax, quant = (csv.one(configuration=name, job=job) for job in ("AMAX", "QUANT"))
        over = (float(amax.layer_millions) + float(quant.layer_millions)) / float(amax.gemms_millions)
        millions = f"{amax.layer_millions} | {quant.layer_millions} | {amax.gemms_millions}"
        yield f"`{name}` | {amax.numbers_a_cycle} | {millions} | {100 * over:.1f} %"


def quantization_of_a_job(csv):
    for row in csv.all(configuration="large"):
        yield "{job} | {rows_of_4096} | {rows_of_11008} | {constant}".format(**row)


def simulation(csv):
    for case, runs in (("default, against its array alone", " in 22 runs"), ("large", "")):
        row = csv.one(case=f"simulated core, {case}")
        yield f"~ | {row.rate}{runs} | {row.ratio}"


def golden_model(csv):
    for contract, elem, words in (
        ("exact", "E1M2", " OpenBLAS sgemm"),
        ("exact", "E2M1", ""),
        ("fp32", "E2M1", ""),
        ("nv", "E2M1", ""),
    ):
        row = csv.one(case=f"GEMM, contract {contract}", operands=elem, data="Gaussian", size=1024)
        yield f"~ | {row.rate} GMAC/s | {row.ratio} times{words}"
    small, large = (
        csv.one(case="quantize, rows", operands="E1M2", data="RHT and SR", size=size) for size in (1024, 4096)
    )
    yield f"~ | {small.rate} {small.unit} | {small.ratio} times memcpy ({large.ratio} at 4096)"


def training_steps(csv):
    for recipe in ("fp32", "ufp4", "e2m1", "mxfp4", "nvfp4"):
        yield f"~ | {csv.one(case='training step', operands=recipe).ratio} | ~"


# Structures without parity, by how their names begin; those of a group are one row of the table.
WITHOUT_PARITY = [
    ("array:",),
    ("drain",),
    ("GEMM control",),
    ("QUANT arithmetic", "QUANT control"),
    ("command unit",),
    ("AXI masters",),
]


def with_parity(rows):
    return [row for row in rows if not row.structure.startswith(sum(WITHOUT_PARITY, ()))]


def bit_flips(csv):
    """Yields sums over structures, of which those with parity come first."""
    for words in [()] + WITHOUT_PARITY:
        group = [row for row in csv.rows if row.structure.startswith(words)] if words else with_parity(csv.rows)
        bits, masked, silent, stuck, *reported = (
            sum(int(row[key]) for row in group)
            for key in ("bits", "masked", "silent", "no_end", "status", "watchdog", "bus_rule")
        )
        end = f", and {('no', 'one', 'two')[stuck]} without an end" if stuck else ""
        yield f"~ | {f'{bits:,}' if words else ''} | {masked:,} | {sum(reported)}{end} | {silent}"


BASELINES = {
    "cublas_bf16": "cuBLAS BF16",
    "cublas_fp64": "cuBLAS FP64",
    "tensor_peak_bf16": "the tensor cores' peak",
    "tensor_peak_int8": "the peak in INT8",
    "peak_memory_bandwidth": "the memory's peak",
}


def gpu(csv):
    """Yields the figures of the H100's record."""
    of = lambda row: f"{float(row.rate) / float(row.of):.2f} of {BASELINES[row.against]}"
    for name, *baselines in (
        ("gemm_fp32", "cublas_bf16", "tensor_peak_bf16"),
        ("gemm_fp32_int8", "cublas_bf16"),
        ("gemm_exact", "cublas_fp64", "tensor_peak_int8"),
    ):
        found = [csv.one(figure=name, against=baseline) for baseline in baselines]
        yield f"~ | {found[0].rate:.1f} TMAC/s | {', '.join(map(of, found))}"
    for name in ("quantize_plain", "quantize_rht_to_plain", "quantize_rht_sr_to_plain", "amax_rht"):
        row = csv.one(figure=name)
        if name.endswith("to_plain"):
            yield f"~ | {row.ms:.3f} ms | {float(row.of) / float(row.rate):.2f} times plain"
        else:
            yield f"~ | {row.ms:.3f} ms, {row.rate:,.0f} GB/s | {of(row)}"


def registers(csv):
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
        found = [row for row in csv.rows if row.kernel.startswith(name)]
        counts = [word for row in found for word in (row.registers, row.set_later) if word]
        yield f"~ | {found[0].threads} | {'; '.join(counts)}"


# --- Sentences ----------------------------------------------------------------------------------------------


def sentences(folder):
    """Yields (page of results or with its folder, texts that it must contain): figures in sentences and in README.md's
    table."""
    cells, fpga, runs = (Rows(f"{name}.csv", folder) for name in ("silicon", "fpga", "training"))
    block, core = (cells.one(unit=unit, library="ASAP7", flow="sized") for unit in ("quant_block", "core"))
    plain = fpga.one(what="PE on ECP5, 16 MACs, without parity")
    yield "silicon.md", f"Sized, it runs at {block.delay_ns} ns"
    yield "silicon.md", f"(`{plain.command}`) it has {plain.luts} LUT4"
    for words in silicon_tables.grid_words(cells, Rows("energy.csv", folder)):
        yield "silicon.md", words
    yield from silicon_tables.sum_words(cells)
    yield "README.md", f"without memories and wires | {core.area_um2:,.0f} um2, {core.delay_ns} ns |"
    about = {"library": "ASAP7", "flow": "plain", "data": "fprop", "elements": "e1m2", "load": "full"}
    spent = Rows("energy.csv", folder).one(unit="pe", **about)
    yield "README.md", f"clock tree, memories and glitches | {spent.energy_fj} fJ |"
    explored = Rows("models.csv", folder)
    of_default = lambda table, row: explored.one(table=table, row=row).figures.replace(",", "").split(" | ")
    rate = of_default("ten_pflops", "default")[1]
    areas = float(of_default("joules", "ufp4 on default")[-1]) / 1e6, float(of_default("tiles", "default")[0]) / 1e6
    yield (
        "README.md",
        "| {:.3f} mm2 of PEs and QUANT pipelines, at least {:.3f} mm2 of memories |".format(*areas),
    )
    safe = with_parity(read("bit-flips.csv", folder))
    silent, flips = (sum(int(row[key]) for row in safe) for key in ("silent", "flips"))
    yield "README.md", f"with parity that stayed silent | {silent} of {flips:,} |"
    for name, place in (("tiny", "OrangeCrab 25F"), ("board", "ULX3S 85F")):
        made = fpga.one(table="board", what=name, family=place)
        yield "README.md", f"| {made.luts:,} LUT4, {made.clock_mhz} MHz, {made.clock_needed_mhz} needed |"
    cover = (ROOT / "tests/rtl/coverage/run.py").read_text(encoding="utf-8")
    lines, bits = (re.search(rf"^LEAST_{name} = (\d+)", cover, re.M)[1] for name in ("LINES", "BITS"))
    yield "README.md", f"| {lines} % of lines, {bits} % of bits, each cover point reached or explained |"
    whole = runs.one(experiment="default", table="whole", recipe="e2m1", against="ufp4")
    yield "README.md", f"8 seeds | {whole.gap_percent:.2f} +- {whole.interval:.2f} % |"
    many = runs.one(experiment="seeds36", table="branched", recipe="e2m1", against="ufp4")
    counted = f"in {many.seeds_worse} of {many.seeds} pairs"
    yield "README.md", f"higher {counted} | {many.gap_percent:.3f} +- {many.interval:.3f} % |"
    free = runs.one(experiment="mixed36", table="choice", recipe="ufp4-mixed/rht=none", against="ufp4")
    found = {"not separated": "no difference found"}.get(free.verdict, free.verdict)
    yield "README.md", f"against `ufp4`: {found} | {free.gap_percent:+.3f} +- {free.interval:.3f} % |"
    busy = Rows("step.csv", folder).one(step="from a cold start").array_busy_percent
    yield "README.md", f"16 layers of 1024 x 1024 x 1024 the array is [busy {busy} %]"
    said = {row.figure: row.value for row in read("readme.csv", folder)}
    demo = {name.removeprefix("demo: "): value for name, value in said.items()}
    for words in (
        "Compared: {codes} codes, {scales} scales, {outputs} outputs, the loss ({loss}, equal), {weights} weights "
        "(0 differ)",
        "Totals: {GEMMs} GEMMs, {M MAC} M MAC, {cycles in GEMMs} cycles in GEMMs (utilization {utilization} %), "
        "{cycles in quantization} in quantization, {cycles} in all",
    ):
        yield "README.md", words.format(**demo)
    yield "README.md", f"| 0 of {sum(int(demo[name]) for name in ('codes', 'scales', 'outputs', 'weights')):,} |"
    llama = {name.removeprefix("llama-7b: "): value for name, value in said.items()}
    yield (
        "README.md",
        f"| {rate} TMAC/s, " + "{million cycles} million cycles, utilization {utilization} % |".format(**llama),
    )
    uniform, other, bare = (
        float(said[f"SQNR, outliers, {name}"]) for name in ("e1m2, RHT", "e2m1, RHT", "e2m1, no RHT")
    )
    yield "README.md", f"| {uniform - other:.1f} dB ({uniform - bare:.1f} dB above E2M1 without RHT) |"


def explored(table):
    """Returns the maker of a table of docs/tools/models.py; models.csv has its figures in the page's format."""
    own = {"places": lambda row: "`{}` on `{}`".format(*row.row.split(" on ")), "layouts": lambda row: row.row}
    first = own.get(table, lambda row: "~")
    return lambda csv: [f"{first(row)} | {row.figures}" for row in csv.all(table=table)]


MAKERS = vars(silicon_tables) | vars(training_tables) | globals() | {name: explored(name) for name in models.TABLES}

# --- Pages --------------------------------------------------------------------------------------------------


def split(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]


def joined(cells):
    if all(cell == "---" for cell in cells):
        return f"|{'|'.join(cells)}|"
    return re.sub(r"(?<=\|)  (?=\|)", " ", f"| {' | '.join(cells)} |")


def made(name, files, own, folder):
    """Returns the cells of a table by its marker. own: the cells of the page."""
    if name not in MAKERS:
        raise ValueError(f"no table is called {name}")
    given = [split(row) for row in MAKERS[name](*(Rows(file, folder / "results") for file in files.split()))]
    if len(given) < 2 or given[1][0] != "---":
        given = own[:2] + given
    if len(given) != len(own) and any("~" in row for row in given):
        raise ValueError(f"{len(own) - 2} rows, the CSV files have {len(given) - 2}, and words of the page are in them")
    return [
        [mine if cell == "~" else cell for cell, mine in itertools.zip_longest(row, mine[: len(row)])]
        for row, mine in itertools.zip_longest(given, own[: len(given)], fillvalue=[])
    ]


def checked(table, above, page, folder):
    """Returns the lines of a table, rewritten if the line above it names a source."""
    cells, marker = [split(line)[1:-1] for line in table], MARKER.fullmatch(above)
    if marker:
        cells = made(*marker.groups(), cells, folder)
    elif page.parent.name == "results" and not above.startswith("<!-- words: "):
        raise ValueError("a table below neither <!-- table: NAME FILE.csv --> nor <!-- words: WHY -->")
    if any(len(row) != len(cells[0]) for row in cells):
        raise ValueError(f"a row has not the {len(cells[0])} cells of the head")
    return [joined(row) for row in cells] if marker else table


def written(page, folder):
    """Returns (the page's lines with tables from the CSV files, faults that rewriting does not mend)."""
    lines, out, found = page.read_text(encoding="utf-8").split("\n"), [], []
    while lines:
        table, above = list(itertools.takewhile(lambda line: line.startswith("|"), lines)), out[-1] if out else ""
        at, lines = len(out) + 1, lines[len(table) :]
        if len(table) > 1 and re.fullmatch(r"\|[-|]+\|", table[1]):
            try:
                table = checked(table, above, page, folder)
            except ValueError as fault:
                found.append(f"{page.name}:{at}: {fault}")
        elif MARKER.fullmatch(above):
            found.append(f"{page.name}:{at}: no table below its marker")
        out += table or [lines.pop(0)]
    return out, found


def faults(folder=ROOT / "docs", write=False):
    """Yields the faults of a folder such as docs, after its tables have been written if that is requested."""
    for page in sorted(folder.rglob("*.md")):
        before = page.read_text(encoding="utf-8").split("\n")
        after, found = written(page, folder)
        yield from found
        if write and after != before:
            page.write_text("\n".join(after), encoding="utf-8")
            print(f"wrote {page.name}")
        elif after != before:
            at, line = next((at, line) for at, (line, old) in enumerate(zip(after, before), 1) if line != old)
            yield f"stale (run docs/tools/tables.py): {page.name}:{at}: the CSV file says '{line}'"
    for name, words in sentences(folder / "results"):
        page = ROOT / name if name == "README.md" else folder / ("" if "/" in name else "results") / name
        if words not in page.read_text(encoding="utf-8"):
            yield f"{name}: does not say '{words}'"
    for file in sorted((folder / "results").glob("*.csv")):
        if any(not row.get("command") or None in row for row in read(file.name, file.parent)):
            yield f"{file.name}: a row without its command"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    found = list(faults(write=not sys.argv[1:]))
    print("\n".join([*found, f"{len(found)} faults"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
