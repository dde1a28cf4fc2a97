# SPDX-License-Identifier: Apache-2.0
"""The memories beside a netlist, each with one write port and one read port, as reported by yosys."""

import collections
import re


def of(folder, share):
    """Returns {memories: [{name, count, words, bits}]}, the largest first; empty if yosys wrote no file. share: the
    units in the netlist, which share the count."""
    file, bodies = folder / "memories.txt", folder / "memories.v"
    kinds = read_bodies(bodies.read_text()) if bodies.exists() else {}
    found = collections.Counter(read_cells(file.read_text(), kinds) if file.exists() else ())
    rows = [
        {"name": name, "count": count / share if count % share else count // share, "words": words, "bits": bits}
        for (name, words, bits), count in found.items()
    ]
    return {"memories": sorted(rows, key=lambda row: (-row["count"] * row["words"] * row["bits"], row["name"]))}


def read_bodies(text):
    """Returns {module: (words, bits)} of memories that have their own modules."""
    found = re.finditer(
        r"^module \\?(\S+?) ?\(.*?^  reg (?:\[(\d+):0\] )?mem \[(\d+):0\];$.*?^endmodule", text, re.M | re.S
    )
    return {name: (int(top) + 1, int(left or 0) + 1) for name, left, top in (one.groups() for one in found)}


def read_cells(text, kinds):
    """Yields (name, words, bits) of each memory in yosys's dump, by its module or its parameters."""
    for cell in re.split(r"^ *(?=cell )", text, flags=re.M)[1:]:
        module, path = re.match(r"cell \\?(\S+) \\?(\S+)", cell).groups()
        size = {key: int(value, 2) for key, value in re.findall(r"parameter \\(\w+) \d+'([01]+)", cell)}
        size |= {key: int(value) for key, value in re.findall(r"parameter (?:signed )?\\(\w+) (\d+)$", cell, re.M)}
        words, bits = kinds.get(module) or (size["Depth"], size["Width"])
        # u_pe.u_bank0 and u_pe.gen_bank[1].u_sram are reduced to their names in the RTL, without numbers.
        parts = [
            part
            for part in re.sub(r"\[\d+\]", "", path).split(".")
            if part not in ("u_sram", "gen_parity", "gen_beside")
        ] or ["u_sram"]
        yield re.sub(r"\d+$", "", ".".join(parts[-2:])), words, bits


def words(row):
    """Returns the memories as text, such as `u_codes 4 of 256 x 64`."""
    return "; ".join(f"{one['name']} {one['count']:g} of {one['words']} x {one['bits']}" for one in row["memories"])


def total(row):
    return sum(one["count"] * one["words"] * one["bits"] for one in row["memories"])
