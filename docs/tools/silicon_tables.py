# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/results/silicon.md and of the data sheet, which tables.py writes into the pages."""

import claims
import memories as of_memories
from csv_rows import WORDS, code, share

ASAP7 = {"library": "ASAP7"}
PLAIN = ASAP7 | {"flow": "plain"}
ADDERS = ASAP7 | {"flow": "full adders and sized"}
FULL = {"load": "full", "flow": "plain"}
FORMATS = (("", "all formats"), ("_e2m1", "E2M1 alone"), ("_uniform", "E1M2 and INT4"), ("_e1m2", "E1M2 alone"))
# Rows of PEs, and the elements of their data.
OWN = (("", "e1m2"), ("", "e2m1"), ("_e2m1", "e2m1"), ("_uniform", "e1m2"), ("_e1m2", "e1m2"))
GATED = (("pe", "PE", "fprop"), ("lane", "lane", "fprop"), ("quant_block", "block pipeline of QUANT", "dy"))


# --- Cells --------------------------------------------------------------------------------------------------


def elements(cells):
    for unit in ("pe_shared", "pe_shared_e2m1", "pe_shared_uniform", "pe_shared_e1m2", "pe_in_array_parity"):
        yield "~ | `{unit}` | {area_um2} | {delay_ns}".format(**cells.one(unit=unit, **ADDERS))


def parity(cells):
    for unit in ("pe_parity", "pe_fp32_parity", "sram_parity"):
        beside, within = (cells.one(unit=unit + form, **PLAIN) for form in ("", "_in_word"))
        yield f"~ | `{unit}` | {beside.area_um2} | {beside.delay_ns} | {within.area_um2} | {within.delay_ns}"


def whole_cores(cells):
    for row in cells.rows:
        if row.unit.startswith("core"):
            yield "~ | `{unit}` | {area_um2} | {flip_flops_um2} | {memory_bits:,} | {delay_ns}".format(**row)


# The commit before lanes decoded both grids, which no parameter turns off.
BEFORE_MIXED = "879b31a3"


def grids(cells):
    """Yields area and delay without and with the choice of grids, of units and of the array of `default`."""
    sized = ASAP7 | {"flow": "sized"}
    lanes = sorted(cells.all(unit="lane", **sized), key=lambda row: row.rtl != BEFORE_MIXED)
    quants = [
        [cells.one(unit=unit + form, **sized) for form in ("", "_mixed")]
        for unit in ("quant_block", "quant_serial_block")
    ]
    pe = cells.one(unit="pe_in_array", **ADDERS)
    area = lambda counted: f"{sum(count * float(row.area_um2) for count, row in counted):.1f}"
    for parts in (
        [[(1, row)] for row in lanes],
        *([[(1, row)] for row in rows] for rows in quants),
        [[(256, pe), (32, row)] for row in lanes],
        [[(256, pe), (32, row), (2, quant)] for row, quant in zip(lanes, quants[0])],
    ):
        areas = [area(counted) for counted in parts]
        delays = " | ".join(max(row.delay_ns for _, row in counted) for counted in parts)
        yield f"~ | ~ | {' | '.join(areas)} | {share(*reversed(areas))} | {delays}"


def grid_energies(csv):
    """Yields the fJ of a number that is made or decoded, and of a MAC, with standard errors. The last column compares
    mixed with E2M1 without the choice."""

    def spent(unit, data, elem):
        return csv.all(unit=unit, data=data, elements=elem, **ASAP7, **FULL)

    for unit, base, data in (
        *((unit + form, unit, "dy") for unit in ("quant_block", "quant_serial_block") for form in ("", "_mixed")),
        *((unit, unit, "fprop") for unit in ("lane", "pe")),
        ("pe", "pe", "wgrad"),
    ):
        found = [spent(unit, data, elem) for elem in ("e2m1", "e1m2", "mixed")]
        words = [f"{row.energy_fj} +-{row.error_fj}" for rows in found for row in rows]
        more = share(found[-1][0].energy_fj, spent(base, data, "e2m1")[0].energy_fj) if found[-1] else ""
        yield f"~ | `{unit}` | {' | '.join(words + [''] * (3 - len(words)))} | {more}"


def grid_words(cells, csv):
    """Yields texts that the page must contain, with figures that follow from both tables."""
    areas = [line.split(" | ") for line in grids(cells)]
    times = [f"{float(line[3]) / float(line[2]):.2f} times" for line in areas[1:3]]
    array, core = (line[4].removeprefix("+") for line in areas[3:])
    energy = lambda unit, elem, data: float(csv.one(unit=unit, data=data, elements=elem, **ASAP7, **FULL).energy_fj)
    more = 2 * (energy("quant_block_mixed", "mixed", "dy") - energy("quant_block", "e2m1", "dy"))
    mac = energy("pe", "e2m1", "fprop")
    yield f"cost an array of 256 PEs {array} of its area, and with both wide pipelines of QUANT {core},"
    # A layer with 1024 tokens, inputs and outputs makes a number for 1024 MACs.
    yield f"the choice takes {100 * more / (1024 * mac):.1f} % of what PEs take for its MACs"
    yield f"the wide one has {times[0]}, the narrow one {times[1]}"
    yield f"take {more:.0f} fJ more for a number than without `Mixed`, as much as {more / mac:.0f} MACs"
    idle = [
        share(energy(f"{unit}_mixed", "e2m1", "dy"), energy(unit, "e2m1", "dy")).removeprefix("+")
        for unit in ("quant_block", "quant_serial_block")
    ]
    yield f"takes {idle[0]} (wide) and {idle[1]} (narrow) more for E2M1 than one without"


def wires(csv):
    for row in csv.rows:
        layout = "{cells:,} | {cells_um2:,} | {layout_um2:,} | {wire_mm}".format(**row)
        yield f"~ | {layout} | {row.delay_ns} | {row.wired_delay_ns}"


def claims_with_wires(csv):
    for unit, name in (("dot product", "dot"), ("PE", "pe")):
        base = csv.one(unit=f"{name}_e2m1")
        for ending, words in FORMATS:
            for row in csv.all(unit=name + ending) if ending != "_e2m1" else ():
                found = [share(row[key], base[key]) for key in ("layout_um2", "wire_mm", "wired_delay_ns")]
                yield f"{unit}, {words} | {' | '.join(found)} | ~"


# --- Energies -----------------------------------------------------------------------------------------------


def energies(csv):
    parts = "{energy_fj} | {gates_fj} | {flip_flops_data_fj} | {flip_flops_clock_fj} | {clock_pins_fj}"
    for ending, elem in OWN:
        pe, later, dot = (
            csv.one(unit=unit + ending, data=data, elements=elem, **ASAP7, **FULL)
            for unit, data in (("pe", "fprop"), ("pe", "wgrad"), ("dot", "fprop"))
        )
        words = f"{dict(FORMATS)[ending]}, data in {elem.upper()}"
        yield f"{words} | {parts.format(**pe)} | {later.energy_fj} | {dot.energy_fj}"


def contracts(csv, cells):
    for unit in ("pe", "pe_shared", "pe_fp32", "pe_nv"):
        found = [
            "".join(row.energy_fj for row in csv.all(unit=unit, data=data, elements=elem, **ASAP7, **FULL))
            for elem in ("e1m2", "e2m1")
            for data in ("fprop", "wgrad")
        ]
        pins = csv.one(unit=unit, data="fprop", elements="e1m2", **ASAP7, **FULL).clock_pins_fj
        yield f"~ | `{unit}` | {' | '.join(found)} | {pins} | {cells.one(unit=unit, **PLAIN).delay_ns}"


def energies_in_ihp(csv):
    for ending, elem in (OWN[0], *OWN[2:]):
        row = csv.one(unit=f"pe{ending}", library="IHP SG13G2", data="fprop", elements=elem, **FULL)
        yield f"{dict(FORMATS)[ending]}, data in {elem.upper()} | {row.energy_fj} | {row.clock_pins_fj}"


def gates(csv):
    for unit, words, data in GATED:
        for load in ("full", "half", "none"):
            found = [
                csv.one(unit=unit, data=data, elements="e1m2", flow=flow, load=load, **ASAP7)
                for flow in ("plain", "gated")
            ]
            both = share(*(float(row.energy_fj) + float(row.clock_pins_fj) for row in reversed(found)), digits=0)
            energy = " | ".join(f"{row.energy_fj} | {row.clock_pins_fj}" for row in found)
            yield f"{words} | {load} | {energy} | {both}"


def gated_areas(cells):
    for unit, words, _ in GATED:
        plain, gated = (cells.one(unit=unit, flow=flow, **ASAP7) for flow in ("plain", "gated"))
        areas = f"{plain.area_um2} | {gated.area_um2} | {share(gated.area_um2, plain.area_um2)}"
        yield f"{words} | {areas} | {plain.delay_ns} | {gated.delay_ns}"


def break_even(cells):
    """Yields the area of a bit at which exact breaks even with other contracts, and the differences at two areas."""
    for base in ("pe_fp32", "pe_nv"):
        for flow in (claims.PLAIN, claims.SIZED):
            pair = [claims.of(cells, unit, flow) for unit in ("pe", base)]
            found = [
                share(*(claims.with_sums(row, um2) for row in pair)) for um2 in (claims.bit()[0], claims.MACRO_UM2)
            ]
            yield f"`{base}`, {flow} | {claims.break_even(*pair):.3f} um2 | {' | '.join(found)}"


def sums(cells, csv):
    """Yields area, delay and energy of the contracts exact and fp32 in one flow."""
    (um2, fj), pes = claims.bit(), [claims.of(cells, unit, claims.SIZED) for unit in ("pe", "pe_fp32")]
    plain = [claims.of(cells, unit, claims.PLAIN) for unit in ("pe", "pe_fp32")]
    spent = [float(claims.energy(csv, row.unit, "e1m2").energy_fj) + claims.sums_energy(row, fj) for row in plain]
    yield " | ".join(["~", *("{area_um2} um2, {delay_ns} ns".format(**row) for row in pes)])
    yield " | ".join(["~", *("{memory_bits:,} bits".format(**row) for row in pes)])
    for of_bit in (um2, claims.MACRO_UM2):
        yield " | ".join(["~", *(f"{claims.with_sums(row, of_bit):.1f} um2" for row in pes)])
    yield " | ".join(["~", *(f"{energy:.1f} fJ" for energy in spent)])
    yield "~ | ~ | ~"


def sum_words(cells):
    """Yields texts that pages must contain, about areas with accumulators and the generator of random bytes."""
    plain, sized = (
        claims.break_even(*(claims.of(cells, unit, flow) for unit in ("pe", "pe_fp32")))
        for flow in (claims.PLAIN, claims.SIZED)
    )
    yield "ip/why.md", f"the two are equal at {sized:.3f} um2"
    yield "silicon.md", f"up to {plain:.3f} (plain) or {sized:.3f} um2 a bit (sized)"
    block, drawn = (cells.one(unit=unit, flow="sized", **ASAP7).area_um2 for unit in ("quant_block", "threefry"))
    yield "ip/why.md", f"Threefry is {drawn:,.0f} of the {block:,.0f} um2 of a QUANT pipeline"


def quantization(cells, csv):
    """Yields the share of area and the energies of QUANT's block pipeline and of its parts."""
    area = lambda unit: float(cells.one(unit=unit, **PLAIN).area_um2)
    spent = lambda unit, data: float(csv.one(unit=unit, data=data, elements="e1m2", **ASAP7, **FULL).energy_fj)
    whole = 256 * area("pe_in_array") + 32 * area("lane") + 2 * area("quant_block")
    block, mac = spent("quant_block", "dy"), spent("pe", "fprop")
    for unit, energy in (
        ("quant_block", block),
        ("rht", block - spent("quant_block", "dy/rht=none")),
        ("threefry", block - spent("quant_block", "dy/sr=none")),
        ("", spent("quant_block", "dy/amax")),
    ):
        of = f"{200 * area(unit) / whole:.1f} %" if unit else ""
        yield f"~ | {of} | {2 * energy:.0f} fJ | {2 * energy / mac:.1f}"


# --- FPGAs --------------------------------------------------------------------------------------------------


def fpga_units(csv):
    for row in csv.all(table="unit"):
        luts, carry = (" LUT4", " CCU2C") if row.luts and row.family == "ECP5" else ("", "")
        clock = f"{row.clock_mhz} MHz, from {WORDS[row.seeds]}" if row.clock_mhz else "not placed"
        found = f"{row.luts:,}{luts} | {row.carry_cells:,}{carry} | {row.flip_flops:,} | {row.block_rams}"
        if "without parity" not in row.what:
            yield f"{row.what} | {found} | {clock}"


def fpga_cores(csv):
    for row in csv.all(table="core"):
        cells = "{cells:,} | {luts:,} | {carry_cells:,} | {flip_flops:,} | {block_rams} | {dsps}".format(**row)
        yield f"`{row.what}` | {cells} | {row.clock_mhz} MHz | `{row.rtl}`"


def boards(csv):
    for row in csv.all(table="board"):
        cells = "{cells:,} of {of_cells:,} | {luts:,} | {carry_cells:,} | {flip_flops:,}".format(**row)
        rest = "{block_rams} of {of_block_rams} | {dsps} | {clock_needed_mhz} MHz | {clock_mhz} MHz".format(**row)
        yield f"{row.family} | `{row.what}` | {row.memory} | {cells} | {rest}"


# --- The data sheet -----------------------------------------------------------------------------------------

CORE_ELEMS = {"all": {"e2m1", "e1m2", "int4", "mixed"}, "e2m1": {"e2m1"}, "uniform": {"e1m2", "int4"}, "e1m2": {"e1m2"}}


def figures(use, step, cells, fpga):
    pe, lut = cells.one(unit="pe_shared", **ADDERS), fpga.one(what="PE on ECP5, 16 MACs")
    yield f"~ | {use.one(options='', k=512).utilization_percent} % | ~"
    yield f"~ | {step.one(step='from a cold start').array_busy_percent} % | ~"
    yield f"~ | {pe.area_um2} um2 at {pe.delay_ns} ns | ~"
    yield f"~ | {lut.luts} LUT4, {lut.carry_cells} carry cells | ~"


# The data sheet's words for values of the specification.
CHOICES = {"uniform": "E1M2 and INT4", "e1m2": "E1M2", "asic": "cells", "fpga": "FPGAs", "simulator": "simulators"}


def parameters():
    for core in of_memories.SPEC["configuration"]:
        said = {key: CHOICES.get(value, value) for key, value in core.items()}
        array = "`{name}` | {rows} x {cols} | {tile_rows} x {tile_cols} | {chunk} | {bus_bytes}".format(**said)
        yield array + " | {contract} | {formats} | {lanes} | {quant} | {mixed} | {simulated}".format(**said)


def configurations(cells, fpga):
    """Yields rows of the configurations, from the specification, the measured areas and the names of tests."""
    spec = of_memories.SPEC
    for core in spec["configuration"]:
        name, contract, formats = core["name"], core["contract"], core["formats"]
        scales = [
            f"{row['scale'].upper()}: {', '.join(elems)}"
            for row in spec["gemm_combination"]
            if contract in row["contract"] and "core" in row["backend"]
            for elems in [[e if e == "mixed" else e.upper() for e in row["elem"] if e in CORE_ELEMS[formats]]]
            if elems
        ]
        unit = ("pe_shared" if contract == "exact" else f"pe_{contract}") + ("" if formats == "all" else f"_{formats}")
        area = "".join(row.area_um2 for row in cells.all(unit=unit, **ADDERS) if core["lanes"] == 16)
        luts = "".join(f"{row.luts:,}" for row in fpga.all(table="core", what=name))
        tests = "with `--full`" if core.get("on_demand") else "always; its forms with `--full`"
        yield f"{code(name)} | {'; '.join(scales)} | {area} | {luts} | {tests}"


# --- Tables that have their own module ----------------------------------------------------------------------

held = claims.rows
memories = of_memories.table
