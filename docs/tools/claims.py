# SPDX-License-Identifier: Apache-2.0
"""Judges the claims of docs/results/silicon.md by silicon.csv and energy.csv, by flow, with and without accumulators.

The accumulators of a PE are its memories, whose area is the number of bits times the area of a bit. A PE at full load
reads and writes one sum for each chunk of blocks of 16 MACs. Each difference of energies has a standard error. Both PEs
are measured on the same rows of A and of B, so it depends on how much the difference varies from row to row.
docs/tools/tables.py writes these rows into the page.
"""

import math
import statistics
import tomllib

from csv_rows import ROOT

LIBRARY = "ASAP7"
MACS = 16  # in a block
MACRO_UM2 = 0.042  # a bit of the generated macro whose times and energy fpga/cells/libraries.toml has
PLAIN, SIZED = "plain", "sized"
HEADS = (
    "claim",
    "area, plain",
    "plain, with accumulators",
    "area, sized",
    "sized, with accumulators",
    "delay, plain",
    "delay, sized",
    "fJ a MAC",
    "fJ, with accumulators",
    "held",
)
# The upper limit of a claim, in per cent, and its wording on the page.
LIMITS = {5: "at most 5 % more", 0: "less"}
CLAIMS = [
    (f"{words} against E2M1 alone, {name}", unit + ending, f"{unit}_e2m1", elem, "e2m1", limit)
    for ending, elem, words, limit in (
        ("", "e2m1", "all formats", 5),
        ("_uniform", "e1m2", "E1M2 and INT4", 0),
        ("_e1m2", "e1m2", "E1M2 alone", 0),
    )
    for unit, name in (("dot", "dot product"), ("pe", "PE"))
] + [
    ("contract exact against fp32, PE", "pe", "pe_fp32", "e1m2", "e1m2", 0),
    ("contract exact against nv, PE", "pe", "pe_nv", "e1m2", "e1m2", 0),
]


def bit():
    """Returns um2 and fJ of a bit, which ./ufp4 ppa and explore --ppa asap7 also use."""
    known = tomllib.loads((ROOT / "fpga/cells/libraries.toml").read_text(encoding="utf-8"))["library"]
    (own,) = (one for one in known if one["name"] == LIBRARY)
    return own["bit_um2"], own["bit_fj"]


def chunk():
    """Returns the number of blocks for which a sum stays in its PE, in the configuration `default`."""
    spec = tomllib.loads((ROOT / "cmodel/spec/ufp4.toml").read_text(encoding="utf-8"))
    return next(entry["chunk"] for entry in spec["configuration"] if entry["name"] == "default")


def of(rows, unit, flow):
    """Finds the row of a unit in a flow; sized rows also use the library's full adders, on both sides of a claim."""
    return rows.one(unit=unit, library=LIBRARY, flow={PLAIN: "plain", SIZED: "full adders and sized"}[flow])


def energy(rows, unit, elem):
    return rows.one(unit=unit, library=LIBRARY, flow="plain", data="fprop", elements=elem, load="full")


def samples(row):
    """Returns a list for each of the two tensors, of the fJ per MAC on each of its rows."""
    return [[float(one) for one in way.split()] for way in row["samples_fj"].split("; ")]


def error(rows, more):
    """Returns the standard error of the difference of two energies, in per cent. more: energies that the samples do not
    include, one for each."""
    one, base = (float(row["energy_fj"]) + add for row, add in zip(rows, more))
    variance = 0.0
    for ways in zip(*map(samples, rows), strict=True):
        apart = [(a + more[0] - one / base * (b + more[1])) / base for a, b in zip(*ways, strict=True)]
        variance += statistics.variance(apart) / len(apart)
    return 100 * math.sqrt(variance)


def percent(value, base):
    return 100 * (value / base - 1)


def differences(claim, silicon, energies, um2, fj):
    """Returns (difference in per cent, standard error or 0) for each column of a claim, or None for an empty one."""
    _, unit, base, elem, base_elem, _ = claim
    out, delays = [], []
    for flow in (PLAIN, SIZED):
        pair = [of(silicon, name, flow) for name in (unit, base)]
        alone, whole = ([with_sums(row, bit_um2) for row in pair] for bit_um2 in (0.0, um2))
        out += [percent(*alone), percent(*whole) if int(pair[0]["memory_bits"]) else None]
        delays.append(percent(*(float(row["delay_ns"]) for row in pair)))
    pair = [energy(energies, *one) for one in ((unit, elem), (base, base_elem))]
    spent = [float(row["energy_fj"]) for row in pair]
    sums = [sums_energy(of(silicon, name, PLAIN), fj) for name in (unit, base)]
    both = percent(*(a + b for a, b in zip(spent, sums))), error(pair, sums)
    exact = [None if value is None else (value, 0.0) for value in (*out, *delays)]
    return [*exact, (percent(*spent), error(pair, (0.0, 0.0))), both if sums[0] else None]


def with_sums(row, um2):
    """Returns the area of a PE with its accumulators, in um2."""
    return float(row["area_um2"]) + um2 * int(row["memory_bits"])


def break_even(pe, base):
    """Returns the area of a bit, in um2, at which two PEs are equally large with their accumulators."""
    bits = int(pe["memory_bits"]) - int(base["memory_bits"])
    return (float(base["area_um2"]) - float(pe["area_um2"])) / bits


def sums_energy(row, fj):
    """Returns the energy, in fJ a MAC, of reading a sum and writing one for each chunk."""
    return 2 * fj * sum_bits(row) / (MACS * chunk())


def sum_bits(row):
    """Returns the bits of a word of the PE's accumulators, which are two banks of 64 words."""
    return int(row["memory_bits"]) // 128


def verdict(values, limit):
    """Returns the words about a row. values: the row's differences; missing ones are ignored. A claim is open if it is
    within two standard errors of the limit."""
    there = [(head, *value) for head, value in zip(HEADS[1:-1], values) if value is not None]
    near = [head for head, value, error in there if abs(value - limit) < 2 * error]
    over = [head for head, value, _ in there if value > limit and head not in near]
    if not over + near:
        return f"held: {LIMITS[limit]} in all"
    rest = [f"{words}: {'; '.join(heads)}" for words, heads in (("not in", over), ("open in", near)) if heads]
    return f"{LIMITS[limit]} in {len(there) - len(over + near)}; {'; '.join(rest)}"


def cell(value):
    if value is None:
        return ""
    return f"{value[0]:+.1f} %" if not value[1] else f"{value[0]:+.1f} +-{value[1]:.1f} %"


def rows(silicon, energies):
    """Yields the rows of the table, from those of silicon.csv and energy.csv."""
    for claim in CLAIMS:
        values = differences(claim, silicon, energies, *bit())
        yield " | ".join([claim[0], *map(cell, values), verdict(values, claim[-1])])
