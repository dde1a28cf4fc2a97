# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of the documentation: registers, descriptors and element formats."""

import common
import systemrdl


def table(head, rows):
    return (
        ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        + ["| " + " | ".join(str(c) for c in r) + " |" for r in rows]
        + [""]
    )


def combinations_table(rows, keys):
    cell = lambda v: ", ".join(map(str, v)) if isinstance(v, list) else v
    return table([k.replace("_", " ") for k in keys], [[cell(r[k]) for k in keys] for r in rows])


def bits(msb, lsb):
    return f"{msb}..{lsb}" if msb > lsb else str(lsb)


def drawing(r):
    """Draws the fields of a register, uppermost bits first; bits outside fields are empty."""
    cells, above = [], 31
    for name, msb, lsb, _ in sorted(r["fields"], key=lambda field: -field[1]):
        if msb < above:
            cells.append([bits(above, msb + 1), ""])
        cells.append([bits(msb, lsb), f"`{name}`"])
        above = lsb - 1
    if above >= 0:
        cells.append([bits(above, 0), ""])
    return table([where for where, _ in cells], [[name for _, name in cells]])


def fields(r):
    """Returns a register's drawing and a table with a row per field."""
    return (
        [f"### {r['name']}", ""]
        + drawing(r)
        + table(["bits", "field", "meaning"], [[bits(msb, lsb), n, doc] for n, msb, lsb, doc in r["fields"]])
    )


def reset_text(spec, r):
    value = systemrdl.reset_value(spec, r)
    return "-" if value is None else f"0x{value:08X}" if value > 9 else value


def registers(spec, note):
    out = [
        f"<!-- {note} -->",
        "# Registers, descriptors, counters",
        "",
        "## Registers",
        "",
        "AXI4-Lite, 32 bits wide.",
        "All other offsets, and all bits outside fields, read as zero and ignore writes.",
        "A write changes only the bytes whose strobes are high; a write without strobes changes nothing.",
        "`reset` is the value after reset, `-` where the core's parameters decide; counters and slots then read as 0.",
        "Access is ro (read only), wo (write only), rw (both) or w1c (write 1 to clear).",
        "",
    ]
    out += table(
        ["offset", "name", "access", "reset", "meaning"],
        [
            [
                f"0x{r['offset']:03X}",
                f"[{r['name']}](#{r['name']})" if r.get("fields") else r["name"],
                r["access"],
                reset_text(spec, r),
                r["doc"],
            ]
            for r in spec["register"]
        ],
    )
    for r in spec["register"]:
        out += fields(r) if r.get("fields") else []
    window = spec["register_window"]
    out += [
        "## Performance counters",
        "",
        f"64 bits each, at 0x{window['counter_base']:X} + 8 x index, low word first, as of the last snapshot.",
        "",
    ]
    out += table(["index", "name", "meaning"], [[i, c["name"], c["doc"]] for i, c in enumerate(spec["counter"])])
    out += [
        "## Exponent slots",
        "",
        f"Slot i is at 0x{window['slot_base']:X} + 4i: t in bits 15..0, bit 16 set once it was written.",
        "Slots are read-only.",
        "",
    ]
    for name, d in spec["descriptor"].items():
        out += [f"## Descriptor: {name}", "", d["doc"].replace(". ", ".\n"), ""]
        out += table(
            ["byte", "bits", "field", "meaning"],
            [
                [o, 8 * s, n or "reserved", t]
                for o, s, n, t in common.layout(
                    d["fields"], 8 if name == "header" else spec["limit"]["descriptor_bytes"]
                )
            ],
        )
    out += ["Copy mode bits:", ""] + table(
        ["bit", "name", "meaning"], [[b["bit"], b["name"], b["doc"]] for b in spec["mode_bit"]]
    )
    out += ["Mode bits of D:", ""] + table(
        ["bit", "name", "meaning"], [[b["bit"], b["name"], b["doc"]] for b in spec["d_mode_bit"]]
    )
    out += ["## Completion", "", spec["completion"]["doc"], ""]
    out += table(
        ["byte", "bits", "field", "meaning"],
        [
            [o, 8 * s, n or "reserved", t]
            for o, s, n, t in common.layout(spec["completion"]["fields"], spec["limit"]["completion_bytes"])
        ],
    )
    out += ["Flags:", ""] + table(["bit", "name", "meaning"], [[f["bit"], f["name"], f["doc"]] for f in spec["flag"]])
    for name, doc, values in common.enums(spec):
        meaning = spec["enum"].get(name, {}).get("meaning")
        values = [(v, n, m) for (v, n, _), m in zip(values, meaning, strict=True)] if meaning else values
        told = any(t for _, _, t in values)
        out += [f"## Values of {name}", "", f"{doc}.", ""]
        out += (
            table(["value", "name", "meaning"], [[n, v, t] for v, n, t in values])
            if told
            else table(["value", "name"], [[n, v] for v, n, _ in values])
        )
    out += ["## Limits", ""] + table(
        ["name", "value"], [[k, f"0x{v:X}" if "mask" in k else v] for k, v in spec["limit"].items()]
    )
    return "\n".join(out)


def formats(spec, note):
    out = [
        f"<!-- {note} -->",
        "# Element formats",
        "",
        "    value = quanta x 2^-frac",
        "",
        "Codes 8..15 of a sign-magnitude format are the negatives of 0..7 (8 is -0).",
        "",
    ]
    rows = []
    for code in range(16):
        row = [code, f"{code:04b}"]
        for f in spec["format"]:
            q = common.all_quanta(f)[code]
            text = f"{q / 2 ** f['frac']:g}"
            row += [q, "-0" if f["coding"] == "sign_magnitude" and code == 8 else text]
        rows.append(row)
    head = ["code", "bits"]
    for f in spec["format"]:
        head += [f"{f['name'].upper()} quanta", "value"]
    out += table(head, rows)
    out += table(
        ["format", "frac", "coding", "qmax"],
        [
            [f["name"].upper(), f["frac"], f["coding"].replace("_", " "), f"{max(f['quanta']) / 2 ** f['frac']:g}"]
            for f in spec["format"]
        ],
    )
    mixed, grids = spec["mixed"], common.mixed_grids(spec)
    out += [
        "With elements mixed each block has one of two grids, which bit 7 of the block's scale byte selects.",
        "Both grids are sign magnitude with quanta of the same size, so the unit of a sum does not depend on the grid.",
        "",
    ]
    out += table(
        ["mixed, bit 7", "frac", "quanta of codes 0..7", "largest value"],
        [
            [bit, mixed["frac"], " ".join(map(str, g["quanta"])), f"{max(g['quanta']) / 2 ** mixed['frac']:g}"]
            for bit, g in enumerate(grids)
        ],
    )
    out += [
        "## What goes together",
        "",
        "A combination in no row is illegal on every backend: a usage error, exit status 2.",
        "A combination in a row that does not name the backend is legal, but that backend lacks it: exit status 3.",
        "In the column backend, core stands for "
        + ", ".join(b for b, c in spec["backend"].items() if c == "core")
        + " and your own ports.",
        "Every row allows both roundings of elements, to nearest even and stochastic.",
        "",
        "### Quantizing",
        "",
        "Without a block size a scale belongs to "
        + ", ".join(
            f"{block} elements ({name})"
            for name, block in zip(spec["enum"]["scale"]["values"], spec["enum"]["scale"]["block"])
        )
        + ".",
        "In the layout 2d it belongs to a tile of as many columns and 16 rows.",
        (
            "Blocks of other sizes, and transforms of 32 and 64 points (rht size), need the contract exact, and only "
            "the golden model has them."
        ),
        (
            "On a core, QUANT makes E4M3 scales in the layout 1d without a transform or with the integer one, and "
            "E8M0 scales without a transform; it makes elements mixed only with E4M3 scales and the parameter Mixed."
        ),
        "In all other rows with core the host quantizes, with the same bits, and the core only multiplies.",
        "The parameter Formats limits what a core [multiplies](#gemm), not what its QUANT makes.",
        "",
    ]
    out += combinations_table(spec["quantize_combination"], common.QUANTIZE_KEYS)
    out += [
        "### GEMM",
        "",
        "Both operands have the same scale format; their elements may differ.",
        (
            "A core with Formats all multiplies every element in the rows with core, with Formats e2m1 only E2M1, with "
            "Formats uniform E1M2 and INT4, and with Formats e1m2 only E1M2."
        ),
        "With the contract nv a core does not add C; the model and a GPU begin the sum with C.",
        "The contract nv on a GPU needs compute capability 12.x.",
        "",
    ]
    out += combinations_table(spec["gemm_combination"], common.GEMM_KEYS)
    return "\n".join(out)
