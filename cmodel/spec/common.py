# SPDX-License-Identifier: Apache-2.0
"""Accessors of ufp4.toml that several outputs share: field layouts, enumerations and grids."""

import textwrap

TYPE_BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
QUANTIZE_KEYS = ("scale", "elem", "layout", "rht", "block", "rht_size", "scale_round", "backend")
GEMM_KEYS = ("scale", "contract", "elem", "backend")


def sv_comment(text):
    """Returns the lines of a comment in a package of SystemVerilog."""
    return textwrap.wrap(text, 100, initial_indent="  // ", subsequent_indent="  // ")


def layout(fields, total):
    """Yields (offset, bytes, name, doc) of all fields without gaps; reserved bytes have the name None."""
    at, gap = 0, 0
    for offset, kind, name, doc in fields:
        size = TYPE_BYTES[kind]
        if offset < at or offset % size:
            raise SystemExit(f"field {name}: offset {offset} overlaps or is not naturally aligned")
        if offset > at:
            yield at, offset - at, None, "zero"
            gap += 1
        yield offset, size, name, doc
        at = offset + size
    if at < total:
        yield at, total - at, None, "zero"


def enums(spec):
    """Returns every enumeration as (name, doc, [(value name, number, doc)])."""
    elems = [(f["name"], f["value"], "") for f in [*spec["format"], spec["mixed"]]]
    yield (
        "elem",
        "4-bit element format; mixed is E2M1 or a uniform grid by the block, as bit 7 of its scale byte says",
        elems,
    )
    for name, enum in spec["enum"].items():
        yield name, enum["doc"], [(v, i, "") for i, v in enumerate(enum["values"])]
    yield "core_status", "Status in a completion", [(s["name"], i, s["doc"]) for i, s in enumerate(spec["status"])]


def all_quanta(f):
    q = f["quanta"]
    return q if len(q) == 16 else q + [-v for v in q]


def mixed_grids(spec):
    """Returns the formats of the two grids of mixed, with the frac of mixed."""
    formats = {f["name"]: f for f in spec["format"]}
    return [formats[name] | {"frac": spec["mixed"]["frac"]} for name in spec["mixed"]["grids"]]
