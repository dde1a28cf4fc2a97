# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/results/silicon.md and of the data sheet, from the CSV files: page, heads of the first columns,
cells."""

import tomllib

import claims
import memories
from csv_rows import ROOT, WORDS, Rows, read, whole


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


CORE_ELEMS = {"all": {"e2m1", "e1m2", "int4", "mixed"}, "e2m1": {"e2m1"}, "uniform": {"e1m2", "int4"}, "e1m2": {"e1m2"}}


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
            for elems in [[e if e == "mixed" else e.upper() for e in row["elem"] if e in CORE_ELEMS[formats]]]
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


MIXED = (
    ("a lane, which decodes by the block's bit", "lane"),
    ("a block pipeline of QUANT without them", "quant_block"),
    ("a block pipeline that makes them, too", "quant_block_mixed"),
)


def grids(folder):
    csvs = Rows("silicon.csv", folder)
    rows = [(words, unit, csvs.one(unit=unit, library="ASAP7", flow="sized")) for words, unit in MIXED]
    yield (
        "silicon.md",
        ("elements mixed", "row"),
        [[words, f"`{unit}`", row["area_um2"], row["delay_ns"]] for words, unit, row in rows],
    )


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
