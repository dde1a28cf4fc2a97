#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the tables of docs/results/models.md and many-chips.md by the commands above them, and writes
docs/results/models.csv.

usage: models.py PROGRAM [TABLE ...]     PROGRAM: build/release/drivers/ufp4; TABLE: only these, all by default
A row of the CSV file has the figures of a row of a page in the page's format; ~ keeps the page's own words.
docs/tools/tables.py writes them into the page. Tables with --dram take minutes, all others seconds.
Needs nothing but Python.
"""

import csv
import itertools
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from csv_rows import RESULTS

PAGES, FILE = (RESULTS / "models.md", RESULTS / "many-chips.md"), RESULTS / "models.csv"
GEMMS = ("fprop", "dgrad", "wgrad")
PFLOPS_TMACS, PACKAGE_TBS = 5000, 0.819  # 10 PFLOPS, and the TB/s of a package of HBM3 (question 8)


class Exploration(list):
    """The rows of an explore.csv, selected by the values of columns."""

    def all(self, **keys):
        return Exploration(row for row in self if all(row[key] == str(value) for key, value in keys.items()))

    def step(self, **keys):
        (found,) = self.all(layer="step", **keys)
        return found

    def millions(self, *passes):
        """Returns the million cycles of all jobs of these passes."""
        return sum(int(row["count"]) * int(row["cycles"]) for row in self if row["pass"] in passes) / 1e6

    def parts(self):
        """Returns the million cycles in GEMMs, in AMAX, in QUANT and in total."""
        values = (self.millions(*GEMMS), self.millions("amax"), self.millions("quant"), self.cycles())
        return [f"{value:.1f}" for value in values]

    def cycles(self):
        return int(self.step()["cycles"]) / 1e6


def by(rows, key):
    """Returns (value, rows) for each value of a column, in order of appearance."""
    return [(value, rows.all(**{key: value})) for value in dict.fromkeys(row[key] for row in rows)]


def four_times(rows):
    for name, case in by(rows, "config"):
        tokens = float(case.step()["tokens_per_second"])
        yield name, case.parts()[0], f"{case.millions('amax', 'quant'):.1f}", f"{tokens:,.0f}"


def grid(rows, cell):
    """Yields a row for each bandwidth. A cell is empty if the cycles equal those of the previous bandwidth."""
    before = {}
    for bandwidth, found in by(rows, "mem_bandwidth"):
        cells = []
        for name, case in by(found, "config") if len(by(found, "config")) > 1 else by(found, "cores"):
            cells.append(cell(case) if case.cycles() != before.get(name) else "")
            before[name] = case.cycles()
        yield bandwidth, *cells


def cost(rows):
    """Returns mm2 per TMAC/s with and without memories, by which explore --ppa sorts its last table."""
    row = rows.step()
    return float(row["mm2_per_tmacs"]), float(row["um2"]) / 1e6 / float(row["tmacs"])


def fewer_formats(rows):
    first, uniform, e1m2 = (int(case.step()["cycles"]) for _, case in by(rows, "config"))
    the_same = lambda cycles: "the same" if cycles == first else f"{cycles:,}"
    yield "all", f"{first:,}", "~"
    yield "E1M2 and INT4", the_same(uniform), "~"
    yield "E2M1 alone", "~", "~"
    yield "E1M2 alone", the_same(e1m2), "~"


def experts(rows):
    for tokens, case in by(rows.all(layer="step"), "tokens"):
        default = rows.all(config="default", layer="gate_up", count=8)
        fprop = next(row for row in default.all(**{"pass": "fprop"}) if int(row["m"]) == int(tokens) // 4)
        wgrad = next(row for row in default.all(**{"pass": "wgrad"}) if row["k"] == fprop["m"])
        steps = (case.step(config=name)["util_percent"] for name in ("default", "large"))
        yield tokens, fprop["m"], fprop["util_percent"], wgrad["util_percent"], *steps


def ten_pflops(rows):
    for name, case in by(rows, "config"):
        row = case.step()
        cores, seconds = math.ceil(PFLOPS_TMACS / float(row["tmacs"])), float(row["ms"]) / 1000
        read, written = (float(row[key]) / seconds / 1e9 for key in ("bus_read_bytes", "bus_write_bytes"))
        terabytes = (read + written) * cores / 1000
        cells = cores * float(row["um2"]) / 1e6
        area = f"{cells:.0f}", f"{cells + cores * float(row['memory_um2']) / 1e6:.0f}"
        speed = row["util_percent"], f"{float(row['tmacs']):.3f}", f"{cores:,}", f"{read:.1f}", f"{written:.1f}"
        yield name, *speed, f"{terabytes:.1f}", f"{math.ceil(terabytes / PACKAGE_TBS)}", *area


def joules(*explorations):
    keys = ("mac_joules", "idle_joules", "clock_joules", "memory_joules", "joules")
    for rows in explorations:
        for name, case in by(rows, "config"):
            row = case.step()
            spent = (f"{1000 * float(row[key]):.1f}" for key in keys)
            yield (
                f"{row['recipe']} on {name}",
                row["recipe"].replace("ufp4", "e1m2").upper(),
                *spent,
                f"{float(row['um2']):,.1f}",
            )


def places(*explorations):
    """Yields the cases in the order of the last table of explore --ppa."""
    for rows in explorations:
        cases = [case for _, case in by(rows, "config") for _, case in by(case, "recipe") if case.step()["cycles"]]
        cases.sort(key=cost)
        bare = sorted(cost(case)[1] for case in cases)
        for place, case in enumerate(cases, 1):
            row, better = case.step(), cases[: place - 1]
            front = all(float(one.step()["tokens_per_joule"]) < float(row["tokens_per_joule"]) for one in better)
            yield (
                f"`{row['recipe']}` on `{row['config']}`",
                f"{float(row['clock_mhz']):.1f}".removesuffix(".0"),
                f"{float(row['um2']):,.1f}",
                f"{float(row['memory_um2']):,.1f}",
                f"{cost(case)[0]:.4f}",
                str(place),
                f"{cost(case)[1]:.4f}",
                str(bare.index(cost(case)[1]) + 1),
                f"{float(row['tokens_per_joule']):,.0f}",
                "yes" if front else "",
            )


def tiles(rows):
    for name, case in by(rows, "config"):
        row = case.step()
        yield (
            name,
            f"{float(row['memory_um2']):,.1f}",
            *(f"{int(row[key]) / 1e12:.3f}" for key in ("sum_bits", "operand_bits")),
            f"{1000 * float(row['memory_joules']):.1f}",
            f"{cost(case)[0]:.4f}",
            f"{float(row['tokens_per_joule']):,.0f}",
        )


def links(*explorations):
    for name in dict.fromkeys(row["config"] for row in explorations[0]):
        steps = [rows.step(config=name) for rows in explorations]
        whole, *exposed = [steps[0]["reduce_ms"], *(step["reduce_exposed_ms"] for step in steps)]
        yield name, *(f"{float(value):,.0f}" for value in (steps[0]["compute_ms"], whole, *exposed))


def steps(explorations):
    return [row for rows in explorations for row in rows if row["layer"] == "step"]


def seconds(row, *parts):
    """Formats parts of a step on many chips in seconds; a part that this layout lacks is empty."""
    return [f"{float(row[part]) / 1000:.2f}" if float(row[part]) else "" for part in parts]


def layouts(*explorations):
    """Yields the layouts from the fastest to the slowest; the first five commands have --zero 1, the others 3."""
    ways = [(row, "1") for row in steps(explorations[:5])] + [(row, "3") for row in steps(explorations[5:])]
    for row, zero in sorted(ways, key=lambda way: -float(way[0]["chips_tokens_per_second"])):
        yield (
            f"{row['chips']}, {row['micro_batches']}",
            zero,
            *seconds(row, "compute_ms", "gather_ms", "bubble_ms", "chips_ms"),
            f"{float(row['chips_tokens_per_second']):,.0f}",
            f"{float(row['chip_bytes']) / 1e9:.1f}",
            row["fits"],
            f"{float(row['chips_joules']) / 1000:.2f}",
        )


def of_layers(key, explorations):
    for row in steps(explorations):
        yield (
            row[key],
            *seconds(row, "compute_ms", "gather_ms", "chips_ms"),
            f"{float(row['chips_tokens_per_second']):,.0f}",
            f"{float(row['tokens_per_joule']):.1f}",
        )


def published_runs(*explorations):
    """Yields rows whose columns have published figures beside ours."""
    ours = steps(explorations)
    share = lambda part: [100 * float(row[part]) / float(row["chips_ms"]) for row in ours]
    yield "chips", *"~~~~"
    yield "layout", *"~~~~"
    tokens = (int(row["tokens"]) * int(row["chips"].split("x")[0]) / 1e6 for row in ours)
    yield "tokens of a step", *(cell for found in tokens for cell in ("~", f"{found:.1f}M"))
    yield "peak", *"~~~~"
    rates = (float(row["chips_tokens_per_second"]) / 1e6 for row in ours)
    yield "tokens a second", *(cell for rate in rates for cell in ("~", f"{rate:.2f}M"))
    for part in ("compute_ms", "bubble_ms"):
        yield part, *(cell for found in share(part) for cell in ("~", f"{found:.1f}"))
    useful = (found * float(row["util_percent"]) / 100 for found, row in zip(share("compute_ms"), ours, strict=True))
    yield "utilization", *(cell for found in useful for cell in ("~", f"{found:.1f}"))


def published_formula(rows):
    row = rows.step()
    bubble = float(row["bubble_ms"])
    yield "bubble", "~", f"{100 * bubble / (float(row['chips_ms']) - bubble):.2f}"
    yield "activations", "~", f"{float(row['chip_activation_bytes']) / 1e9:.2f}"
    for part in ("inputs", "copies", "a layer's backward pass", "host"):
        yield part, "~", "~"


def traffic(rows):
    """Yields the traffic of each memory in GB/s at a clock of 1 GHz."""
    for name, case in by(rows, "dram"):
        jobs = [case.all(tensor="W", **{"pass": job})[0] for job in ("amax", "quant")]
        yield (
            name or "none",
            *(f"{(int(job['bus_read_bytes']) + int(job['bus_write_bytes'])) / int(job['cycles']):.1f}" for job in jobs),
        )


def of_cores(label, rows, digits):
    return label, *(f"{case.cycles():.{digits}f}" for _, case in by(rows, "cores"))


def split(automatic, gemms):
    for (bandwidth, one), (_, other) in zip(by(automatic, "mem_bandwidth"), by(gemms, "mem_bandwidth"), strict=True):
        yield of_cores(f"{bandwidth}, auto", one, 1)
        yield of_cores(f"{bandwidth}, gemms", other, 1)


# A function makes the rows of a table, label first, from the explorations of the commands above the table.
TABLES = {
    "recipes": lambda rows: ((name, *case.parts()) for name, case in by(rows, "recipe")),
    "fewer_formats": fewer_formats,
    "bandwidth": lambda rows: grid(rows, lambda case: case.step()["util_percent"]),
    "banks": lambda rows: (
        (name or "none", *case.parts(), case.step()["util_percent"]) for name, case in by(rows, "dram")
    ),
    "banks_wide": traffic,
    "four_times": four_times,
    "blocks": lambda rows: (
        (f"{recipe} on {config}", f"{rows.all(recipe=recipe, config=config).cycles():.1f}", "~", "~")
        for recipe, config in (("ufp4", "default"), ("mxfp4", "default-fp32"))
    ),
    "experts": experts,
    "ten_pflops": ten_pflops,
    "cores": lambda rows: grid(rows, lambda case: f"{case.cycles():.2f}"),
    "cores_on_banks": lambda *both: (of_cores(label, rows, 2) for label, rows in zip(("32", "4"), both, strict=True)),
    "split": split,
    "joules": joules,
    "places": places,
    "tiles": tiles,
    "links": links,
    "layouts": layouts,
    "links_of_layers": lambda *explorations: of_layers("link_gbps", explorations),
    "banks_of_chips": lambda *explorations: of_layers("dram", explorations),
    "published_runs": published_runs,
    "published_formula": published_formula,
}


def commands():
    """Returns {table: the lines of the code block above it}."""
    found, fence, block = {}, False, []
    for line in "\n".join(page.read_text(encoding="utf-8") for page in PAGES).split("\n"):
        marker = re.fullmatch(r"<!-- table: (\w+) models\.csv.* -->", line)
        if line == "```":
            fence, block = not fence, block if fence else []
        elif fence:
            block.append(line)
        elif marker:
            found[marker[1]] = block
    return found


def explorations(program, lines):
    """Runs the commands in a temporary folder, and yields the exploration that each has written."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "ufp4").symlink_to(pathlib.Path(program).resolve())
        environment = {key: value for key, value in os.environ.items() if key != "UFP4_PYTHON"}
        subprocess.run(
            ["sh", "-e", "-c", "\n".join(lines)], cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL
        )
        for out in re.findall(r" -o ([\w$-]+)", "\n".join(lines)):
            name, loop, _ = out.partition("$")
            paths = pathlib.Path(folder).glob(f"{name}{'*' if loop else ''}/explore.csv")
            for path in sorted(paths, key=os.path.getmtime):
                with open(path, newline="", encoding="utf-8") as file:
                    yield Exploration(csv.DictReader(file))


def command(lines):
    """Returns the explore commands above a table, with their options, for the column command of models.csv."""
    return "; ".join(line for line in lines if re.search("explore|^OPTIONS=", line))


def measured(program, table):
    lines = commands()[table]
    for label, *figures in TABLES[table](*explorations(program, lines)):
        own = re.sub(r"`", "", label)
        yield {"table": table, "row": own, "figures": " | ".join(figures), "command": command(lines)}


def main():
    if len(sys.argv) < 2 or set(sys.argv[2:]) - set(TABLES):
        raise SystemExit(__doc__)
    with open(FILE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for table in sys.argv[2:] or TABLES:
        rows = [row for row in rows if row["table"] != table] + list(measured(sys.argv[1], table))
    rows.sort(key=lambda row: list(TABLES).index(row["table"]))
    with open(FILE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["table", "row", "figures", "command"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    counts = itertools.groupby(rows, key=lambda row: row["table"])
    print(", ".join(f"{table}: {len(list(group))} rows" for table, group in counts))


if __name__ == "__main__":
    main()
