# SPDX-License-Identifier: Apache-2.0
"""report.html of an exploration, from explore.csv and the data about the cases in explore.json."""

import csv
import io
import math

from . import _draw, _pareto

# Parts of a step whose sum is all of its cycles, with their columns.
PARTS = (
    ("array busy", "#1a7f37", "array_busy"),
    ("waits for operands", "#d1242f", "stall_operand"),
    ("waits for panels", "#bf3989", "stall_panel"),
    ("waits for accumulators", "#9a6700", "stall_accumulator"),
    ("waits for the drain", "#d4a72c", "stall_drain"),
    ("AMAX and QUANT", "#0969da", "quant"),
    ("between jobs", "#8c959f", None),
)
GEMMS = ("fprop", "dgrad", "wgrad")
# The needs of a step, in bytes, in joules and, on many chips, in ms; the bars are sums of these.
NEEDS = (
    ("weights", "weight_bytes"),
    ("optimizer", "optimizer_bytes"),
    ("gradients", "gradient_bytes"),
    ("copies", "copy_bytes"),
    ("activations", "activation_bytes"),
)
ENERGIES = (
    ("MACs", "mac_joules"),
    ("idle lanes", "idle_joules"),
    ("clock pins", "clock_joules"),
    ("memories", "memory_joules"),
    ("bus", "bus_joules"),
)
TIMES = (
    ("compute", "compute_ms"),
    ("gather", "gather_ms"),
    ("exchange", "exchange_ms"),
    ("send", "send_ms"),
    ("bubble", "bubble_ms"),
    ("exposed all-reduce", "reduce_exposed_ms"),
)
# The bounds of a GEMM by the array's ports: operands enter it, sums leave it.
PORTS = ("load", "output")
# Columns of every line: texts, mandatory whole numbers, and numbers.
WORDS = ("layer", "pass", "tensor", "batch", "reason")
WHOLE = ("count", "m", "n", "k")
NUMBERS = ("cycles", *(column for _, _, column in PARTS[1:-1]), "bus_read_bytes", "bus_write_bytes")
# Columns that hold numbers if present, including those that not every exploration has.
FIGURES = frozenset(
    (
        *NUMBERS,
        "batch",
        "cores",
        "util_percent",
        "bound_percent",
        "read_bytes",
        "write_bytes",
        "live_bytes",
        "joules",
        "um2",
        "mm2_per_tmacs",
        "tokens_per_joule",
        "link_gbps",
        "link_us",
        "reduce_ms",
        "chips_ms",
        "chips_tokens_per_second",
        *(column for _, column in NEEDS + ENERGIES + TIMES),
    )
)


def _number(text):
    return float(text) if text else math.nan


def _is_step(row):
    return row["layer"] == "step" and row["pass"] == "all"


class Case:
    """A case: core, memory, recipe and size of a step, its data from explore.json, and its rows."""

    def __init__(self, about, rows):
        self.__dict__.update(about)
        self.rows = rows
        self.step = rows[-1]
        self.cycles = _number(self.step["cycles"]) or math.nan
        self.reason = self.step["reason"] or ("" if self.able else "no job of it is on the core")
        self.cores = int(self.step.get("cores") or 1)
        self.jobs = [row for row in rows if row["pass"] != "all"]
        self.gemms = [row for row in rows if row["pass"] in GEMMS]
        blocks = [row for row in rows[:-1] if row["pass"] == "all"]
        self.kinds = blocks if len(blocks) > 1 else []
        self.hosted = any(row["pass"] in ("forward", "backward") for row in rows)
        self.asked = self.mem_bandwidth or self.bytes_per_cycle  # 0: as wide as the bus
        self.bandwidth = f"{self.asked}{f' (bus {self.bytes_per_cycle})' if self.asked > self.bytes_per_cycle else ''}"
        self.memory = f"{self.dram} + {self.mem_latency}" if self.dram else f"latency {self.mem_latency}"
        self.macs = sum(self.macs_of(row) * int(row["count"]) for row in self.gemms)
        self.util = self.util_of(self.step) if self.cycles > 0 else math.nan

    def label(self, *without):
        """Returns the case's description without these keys."""
        parts = {
            "recipe": self.recipe,
            "config": self.config,
            "cores": _draw.counted(self.cores, "core") if self.cores > 1 else "",
            "bandwidth": f"{self.bandwidth} B/cycle",
            "memory": self.memory,
            "tokens": _draw.counted(self.tokens, "token"),
        }
        return ", ".join(part for key, part in parts.items() if part and key not in without)

    @property
    def name(self):
        return self.label()

    @property
    def bound(self):
        """Returns the cycles that the memory alone needs for the traffic on the bus."""
        read, written = (_number(self.step.get(f"bus_{way}_bytes")) for way in ("read", "write"))
        return max(
            read / self.bytes_per_cycle,
            written / self.bytes_per_cycle,
            (read + written) / (self.dram_bandwidth or math.inf),
        )

    @property
    def able(self):
        """Returns whether the case ran on a core; if not, `reason` is an error, otherwise a note."""
        return not math.isnan(self.cycles)

    def part_of(self, row):
        """Returns the name of a row's micro-batch, which follows its own name."""
        if not row["batch"]:
            return ""
        batches = 1 + max(int(one["batch"] or 0) for one in self.rows)
        return (
            (", first half", ", second half")[int(row["batch"])]
            if batches == 2
            else f", part {int(row['batch']) + 1} of {batches}"
        )

    def macs_of(self, row):
        """Returns the useful MACs of one job; 0 for AMAX and QUANT."""
        return self.macs if row["pass"] == "all" else int(row["m"]) * int(row["n"]) * int(row["k"])

    def util_of(self, row):
        """Returns the utilization of the array in percent; NaN without multiplications."""
        macs, cycles = self.macs_of(row), _number(row["cycles"])
        return 100 * macs / (self.peak * cycles) if macs and cycles else math.nan

    def intensity_of(self, row):
        """Returns MACs per byte in the busier direction of the bus; NaN if nothing was counted."""
        moved = max(_number(row["bus_read_bytes"]), _number(row["bus_write_bytes"]))
        return self.macs_of(row) / moved if self.macs_of(row) and moved > 0 else math.nan

    def share(self, counter):
        """Returns a counter of the step as a fraction of all cycles; with several cores both are sums."""
        return counter / (self.cores * self.cycles)

    def shares(self):
        """Returns the distribution of the cycles as fractions."""
        found = [self.share(self.array_busy), *(self.share(_number(self.step[column])) for _, _, column in PARTS[1:-1])]
        return [*found, max(0.0, 1 - sum(found))]


def cases(document, rows):
    """Splits rows into cases, each of which ends with its step."""
    found, part, abouts = [], [], iter(document["cases"])
    for row in rows:
        part.append(row)
        if _is_step(row):
            found.append(Case(next(abouts), part))
            part = []
    asked = {(case.config, case.mem_bandwidth) for case in found}
    for case in found:
        if not case.mem_bandwidth and (case.config, case.bytes_per_cycle) in asked:
            case.bandwidth = f"0 (bus {case.bytes_per_cycle})"
    return found


def _check_row(where, row):
    """Checks that all columns are present, and that numbers are numbers."""
    if None in row:
        raise ValueError(f"{where}: it has more columns than the first line")
    for column, text in row.items():
        if text is None:
            raise ValueError(f"{where}: {column} is missing")
        try:
            if column in WHOLE:
                int(text)
            elif text and column in FIGURES:
                float(text)
        except ValueError:
            raise ValueError(
                f"{where}: {column} is {text!r}, not a {'whole ' if column in WHOLE else ''}number"
            ) from None


def read(path, cases=1):
    """Reads explore.csv as dicts of texts, which must contain the steps of at least that many cases."""
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    lines, rows = csv.DictReader(io.StringIO(text, newline="")), []
    missing = [column for column in (*WORDS, *WHOLE, *NUMBERS) if column not in (lines.fieldnames or ())]
    if missing:
        raise ValueError(f"{path}: column {missing[0]} is missing")
    for row in lines:
        _check_row(f"{path}, line {lines.line_num}", row)
        rows.append(row)
    if not rows:
        raise ValueError(f"{path}: it has no step")
    if not text.endswith("\n"):
        raise ValueError(f"{path}, line {lines.line_num}: it is cut off")
    steps = sum(map(_is_step, rows))
    cases = max(cases, steps + (not _is_step(rows[-1])))
    if steps < cases:
        raise ValueError(f"{path}, line {lines.line_num}: it ends after {steps} of {_draw.counted(cases, 'case')}")
    return rows


# --- Pictures -------------------------------------------------------------------------------------------


def _bars(able):
    with _draw.picture(9, 1.1 + 0.25 * len(able)) as (axes, out):
        left, drawn = [0.0] * len(able), {}
        shares = [case.shares() for case in able]
        for p, (name, color, _) in enumerate(PARTS):
            width = [100 * share[p] for share in shares]
            drawn[name] = axes.barh(range(len(able)), width, left=left, color=color, height=0.7)
            left = [a + b for a, b in zip(left, width)]
        axes.set_yticks(range(len(able)), [case.name for case in able])
        axes.set_ylim(len(able) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the step's cycles")
        _draw.legend(axes, drawn, 4)
    return out["svg"]


def _groups(able, *keys):
    """Groups cases that are alike in these keys, in the order of their first case."""
    found = {}
    for case in able:
        found.setdefault(tuple(getattr(case, key) for key in keys), []).append(case)
    return list(found.values())


def _bandwidth_curves(able):
    groups = [
        group
        for group in _groups(able, "recipe", "config", "cores", "memory", "tokens")
        if len({case.asked for case in group}) > 1
    ]
    if not groups:
        return ""
    drawn = {}
    with _draw.picture(9, 3.2 + 0.2 * len(groups)) as (axes, out):
        for i, group in enumerate(groups):
            points = sorted((case.asked, case.util) for case in group)
            (drawn[group[0].label("bandwidth")],) = axes.plot(
                *zip(*points), color=_draw.color(i), marker="o", markersize=4
            )
        axes.set_xticks(sorted({case.asked for group in groups for case in group}))
        axes.set_xlim(left=0)
        axes.set_ylim(0, 100)
        axes.grid(axis="y")
        axes.set_title("utilization of the whole step, %")
        axes.set_xlabel("bytes a cycle, each way")
        _draw.legend(axes, drawn, 1)
    return out["svg"]


def _time_curves(able, key, of, ticks):
    """Draws cycles of the step over one size of the case, and dashed the cycles that the memory alone needs, for cases
    that differ only in `of`."""
    alike = [name for name in ("recipe", "config", "cores", "mem_bandwidth", "memory", "tokens") if name != of]
    groups = [group for group in _groups(able, *alike) if len({getattr(case, key) for case in group}) > 1]
    if not groups:
        return ""
    from matplotlib.ticker import LogLocator

    drawn = {}
    with _draw.picture(9, 3.2 + 0.2 * len(groups)) as (axes, out):
        for i, group in enumerate(groups):
            group = sorted(group, key=lambda case: (getattr(case, key), case.cycles))
            x = [getattr(case, key) for case in group]
            name = (
                group[0].label(of) if group[0].mem_bandwidth else group[0].label(of, "bandwidth")
            )  # else as wide as the bus
            (drawn[name],) = axes.plot(
                x, [case.cycles / 1e6 for case in group], color=_draw.color(i), marker="o", markersize=4
            )
            axes.plot(x, [case.bound / 1e6 for case in group], color=_draw.color(i), linestyle="--")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        x = sorted({getattr(case, key) for group in groups for case in group})
        if len(x) <= 12:
            axes.set_xticks(x)
        axes.minorticks_off()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.grid(axis="y")
        axes.set_title("million cycles of the step; dashed: of the memory alone, for all that is on its bus")
        axes.set_xlabel(ticks)
        _draw.legend(axes, drawn, 1)
    return out["svg"]


def _stacks(able, parts, unit, scale):
    """Draws a bar for each case, from columns of its step."""
    with _draw.picture(9, 1.1 + 0.25 * len(able)) as (axes, out):
        left, drawn = [0.0] * len(able), {}
        for p, (name, column) in enumerate(parts):
            width = [_number(case.step[column]) / scale for case in able]
            drawn[name] = axes.barh(range(len(able)), width, left=left, color=_draw.color(p), height=0.7)
            left = [a + b for a, b in zip(left, width)]
        axes.set_yticks(range(len(able)), [case.name for case in able])
        axes.set_ylim(len(able) - 0.5, -0.5)
        axes.set_xlabel(unit)
        _draw.legend(axes, drawn, 4)
    return out["svg"]


def _points(case):
    """Returns (MACs per byte, utilization) of its GEMMs, if they run one after the other, and of the whole step."""
    rows = [(case.intensity_of(row), case.util_of(row)) for row in [*case.gemms, case.step]]
    return [point for point in rows if all(map(math.isfinite, point))]


def _port_bounds(case):
    """Returns (MACs per byte, utilization, its bound) of GEMMs limited by the array's load or drain port."""
    rows = [row for row in case.gemms if row.get("bound_by") in PORTS]
    found = [(case.intensity_of(row), case.util_of(row), _number(row["bound_percent"])) for row in rows]
    return [bound for bound in found if all(map(math.isfinite, bound))]


def _roofline(able):
    groups = [
        group for group in _groups(able, "config", "cores", "bytes_per_cycle", "dram") if any(map(_points, group))
    ]
    if not groups:
        return ""
    knees = [group[0].peak / min(group[0].bytes_per_cycle, group[0].dram_bandwidth or math.inf) for group in groups]
    points = [[point for case in group for point in _points(case)] for group in groups]
    low = 2 ** math.floor(math.log2(min(*knees, *(4 * x for group in points for x, _ in group)) / 4))
    high = 2 ** math.ceil(math.log2(max(*knees, *(x for group in points for x, _ in group))) + 0.5)
    drawn, tick = {}, None
    with _draw.picture(9, 3.4) as (axes, out):
        for i, (group, knee) in enumerate(zip(groups, knees)):
            x = [low * (high / low) ** (p / 255) for p in range(256)]
            dram = f", {group[0].dram}" if group[0].dram else ""
            cores = f", {group[0].cores} cores" if group[0].cores > 1 else ""
            name = f"{group[0].config}{cores}, {group[0].bytes_per_cycle} B/cycle{dram}"
            (drawn[name],) = axes.plot(x, [min(100, 100 * one / knee) for one in x], color=_draw.color(i))
            axes.plot(*zip(*points[i]), "o", markersize=4, color=_draw.color(i))
            ports = {bound for case in group for bound in _port_bounds(case)}
            for at, util, bound in sorted(ports):
                axes.plot([at, at], [util, bound], color=_draw.color(i), linewidth=0.6)
                (tick,) = axes.plot(at, bound, "_", markersize=9, color=_draw.color(i))
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0f}" if x >= 1 else f"1/{1 / x:.0f}")
        axes.set_xlim(low, high)
        axes.set_ylim(0, 105)
        axes.grid(axis="y")
        axes.set_title("utilization, %")
        axes.set_xlabel("MACs a byte on the bus, of the busier way")
        if tick:
            drawn["what load or drain allow"] = tick
        _draw.legend(axes, drawn)
    return out["svg"]


# --- Tables ---------------------------------------------------------------------------------------------


def _totals(case):
    seconds = case.cycles / case.clock_mhz / 1e6
    return {
        "case": case,
        "ms": 1e3 * seconds,
        "speed": case.tokens / seconds,
        "quant": 100 * case.share(_number(case.step["quant"])),
    }


def _heat_cell(case, rows):
    """Combines a GEMM, or its micro-batches."""
    cycles = sum(int(row["count"]) * _number(row["cycles"]) for row in rows)
    if not cycles > 0:
        return None
    util = 100 * sum(int(row["count"]) * case.macs_of(row) for row in rows) / (case.peak * cycles)
    color = f"rgb({255 - 1.6 * util:.0f},{255 - 0.6 * util:.0f},{255 - 1.6 * util:.0f})"
    return {
        "util": util,
        "color": color,
        "title": "; ".join(f"m {row['m']}, n {row['n']}, k {row['k']}" for row in rows),
    }


def _heat_map(group):
    """Draws the utilization of every GEMM in the first successful case over the sizes of a step; by micro-batch if all
    have as many."""
    lines, first = [], next(case for case in group if case.able)
    apart = len({frozenset(row["batch"] for row in case.gemms) for case in group if case.able}) == 1
    keys = ("layer", "pass", "batch") if apart else ("layer", "pass")
    of = lambda row: tuple(row[key] for key in keys)
    alike = {}
    for row in first.gemms:
        alike.setdefault(of(row), row)
    for key, like in alike.items():
        cells = [_heat_cell(case, [row for row in case.gemms if of(row) == key]) for case in group]
        lines.append(
            {
                "layer": like["layer"],
                "pass": like["pass"].upper() + (first.part_of(like) if apart else ""),
                "cells": cells,
            }
        )
    return {"name": f"{first.recipe} on {first.label('recipe', 'tokens')}", "group": group, "lines": lines}


def _job(case, row):
    return {
        "layer": row["layer"],
        "name": f"{row['pass'].upper()}{' ' if row['tensor'] else ''}{row['tensor']}{case.part_of(row)}",
        "row": row,
        "cycles": _number(row["cycles"]),
        "util": case.util_of(row),
    }


def html(document, rows):
    """Makes the page from explore.json and the rows of explore.csv, each a dict of texts."""
    import markupsafe

    found = cases(document, rows)
    able = [case for case in found if case.able]
    chips = [case for case in able if case.step.get("chips")]
    needs = [case for case in found if case.step.get("live_bytes")]
    spent = [case for case in able if case.step.get("joules")]
    sized = [case for case in able if case.step.get("um2")]
    energies = [part for part in ENERGIES if any(case.step.get(part[1]) for case in spent)]
    places = _pareto.places(able)
    pictures = {
        "bars": _bars(able) if able else "",
        "bandwidth": _bandwidth_curves(able),
        "roofline": _roofline(able),
        "cores": _time_curves(able, "cores", "cores", "cores"),
        "sizes": _time_curves(able, "peak", "config", "MACs a cycle, all cores together"),
        "needs": _stacks(needs, NEEDS, "GB", 1e9) if needs else "",
        "energy": _stacks(spent, energies, "mJ of a step", 1e-3) if spent else "",
        "pareto": _pareto.picture(places),
        "chips": _stacks(chips, TIMES, "ms of a step on many chips", 1) if chips else "",
    }
    groups = _groups(found, "recipe", "config", "cores", "memory", "mem_bandwidth")
    heat = [_heat_map(group) for group in groups if len(group) > 1 and any(case.able for case in group)]
    return _draw.page(
        "explore.html",
        title="ufp4 explore",
        about=document,
        totals=[_totals(case) for case in found],
        able=able,
        cores_apart=any(case.cores > 1 for case in found),
        energy_cases=[case for case in able if case in spent or case in sized],
        energy_parts=energies,
        places=places,
        need_cases=needs,
        kind_cases=[case for case in able if case.kinds],
        chip_cases=chips,
        need_parts=NEEDS,
        time_parts=TIMES,
        parts=PARTS,
        heat=heat,
        jobs=[(case, [_job(case, row) for row in case.jobs]) for case in able],
        **{name: markupsafe.Markup(picture) for name, picture in pictures.items()},
    )
