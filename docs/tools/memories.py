#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the memories of a core as CSV: every instance of ufp4_sram, each with one write port and one read port.

usage: memories.py CONFIGURATION [--in-word]
CONFIGURATION: a name, or parameters such as rows=8:cols=16:bus=32 (docs/howto/add-configuration.md), where omitted
parameters have the defaults of ufp4_top.
--in-word: memories whose words hold their parity, as with UFP4_PARITY_IN_WORD.
Reads cmodel/spec/ufp4.toml. Needs nothing but Python.
"""

import csv
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = tomllib.loads((ROOT / "cmodel/spec/ufp4.toml").read_text(encoding="utf-8"))
ENUMS = {key: SPEC["enum"][key]["values"] for key in ("contract", "formats", "target")}
KEYS = [key for key in SPEC["configuration"][0] if key not in ("name", "simulated", "on_demand")]
TOP = {
    "rows": 16,
    "cols": 16,
    "tile_rows": 8,
    "tile_cols": 8,
    "chunk": 16,
    "bus_bytes": 64,
    "contract": 0,
    "formats": 0,
    "lanes": 16,
    "quant": 16,
    "mixed": 0,
    "target": 0,
}


def python(text):
    """Translates an expression of the specification to Python."""
    test, choice, rest = text.partition(" ? ")
    if choice:
        yes, _, no = rest.partition(" : ")
        return f"({python(yes)} if {python(test)} else {python(no)})"
    return text.replace("&&", "and").replace("||", "or").replace(" / ", " // ")


def scope():
    names = {f"{key}_{word}".upper(): at for key, words in ENUMS.items() for at, word in enumerate(words)}
    names["power_of_two_from"] = lambda x: 1 << (x - 1).bit_length()
    for entry in SPEC["shape"]:
        names[entry["name"]] = eval(f"lambda {', '.join(entry['arguments'])}: {python(entry['value'])}", names)
    return names


SCOPE = scope()


def value(text, core):
    return eval(python(text), SCOPE, core)


def number(key, word):
    if key in ENUMS and word in ENUMS[key]:
        return ENUMS[key].index(word)
    if key not in ENUMS and re.fullmatch("[0-9]{1,6}", word):
        return int(word)
    takes = "|".join(ENUMS[key]) if key in ENUMS else "a whole number of up to six digits"
    raise SystemExit(f"memories.py: {key} takes {takes}, not '{word}'")


def parameters(text):
    """Returns {parameter: number} of a text such as `rows=8:cols=16`."""
    core, tile = dict(TOP), None
    for key, _, word in (part.partition("=") for part in text.split(":")):
        key = {"bus": "bus_bytes"}.get(key, key)
        if key == "tile" and re.fullmatch("[0-9]{1,6}x[0-9]{1,6}", word):
            tile = [int(side) for side in word.split("x")]
        elif key == "tile":
            raise SystemExit(f"memories.py: tile takes a size in outputs such as 128x256, not '{word}'")
        elif key in core:
            core[key] = number(key, word)
        else:
            raise SystemExit(f"memories.py: tile, bus and {', '.join(core)} are the keys, not '{key}'")
    for side, outputs in zip(("rows", "cols"), tile or ()):
        core[f"tile_{side}"] = outputs // core[side] if core[side] and outputs % core[side] == 0 else 0
    return core


def configuration(text):
    """Returns a core by its name or parameters, in the form for cells unless these give another target."""
    for entry in SPEC["configuration"]:
        if entry["name"] == text:
            return TOP | {key: ENUMS[key].index(entry[key]) if key in ENUMS else entry[key] for key in KEYS}
    if "=" not in text:
        raise SystemExit(f"memories.py: no configuration is called '{text}'")
    core = parameters(text)
    for rule in SPEC["legal"]:
        if not value(rule["rule"], core):
            raise SystemExit(f"memories.py: {rule['says']}")
    if core["target"] == SCOPE["TARGET_SIMULATOR"]:
        raise SystemExit("memories.py: the form for simulators has other memories")
    return core


def memories(core):
    """Returns (name, count, words, bits) of each kind of memory, without parity and also if the core has none."""
    return [
        (entry["name"], *(value(entry[key], core) for key in ("count", "words", "bits"))) for entry in SPEC["memory"]
    ]


def macros(core, in_word=False):
    """Returns the core's memories, each followed by its parity memory, or with parity in its words."""
    if in_word:
        return [(name, count, words, bits + 1) for name, count, words, bits in memories(core) if count]
    return [
        row
        for name, count, words, bits in memories(core)
        if count
        for row in ((name, count, words, bits), (f"{name}: parity", count, words, 1))
    ]


def table():
    """Yields the head and the rows of the data sheet's table. Named configurations with the same memories share a
    column."""
    alike = {}
    for entry in SPEC["configuration"]:
        alike.setdefault(tuple(memories(configuration(entry["name"]))), []).append(f"`{entry['name']}`")
    yield " | ".join(["memory", *(", ".join(names) for names in alike.values())])
    yield "|".join(["---"] * (len(alike) + 1))
    for of_each in zip(*alike):
        sizes = [f"{count} of {words} x {bits}" if count else "" for _, count, words, bits in of_each]
        yield " | ".join([of_each[0][0], *sizes])
    for name, each in (
        ("macros", lambda words, bits: 2),
        ("macros with both in one", lambda words, bits: 1),
        ("bits without parity", lambda words, bits: words * bits),
        ("bits of parity", lambda words, bits: words),
    ):
        sums = [sum(count * each(words, bits) for _, count, words, bits in one) for one in alike]
        yield " | ".join([name, *(f"{one:,}" for one in sums)])


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--in-word"]):
        raise SystemExit(__doc__)
    found = macros(configuration(sys.argv[1]), len(sys.argv) == 3)
    csv.writer(sys.stdout, lineterminator="\n").writerows(
        [("memory", "count", "words", "bits", "write_ports", "read_ports"), *((*row, 1, 1) for row in found)]
    )


if __name__ == "__main__":
    main()
