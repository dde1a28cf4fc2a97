# SPDX-License-Identifier: Apache-2.0
"""What Liberty files say of cells' pins: direction, capacitance, which is a clock."""
import dataclasses
import re

UNITS = {"ff": 1e-15, "pf": 1e-12}


@dataclasses.dataclass
class Pin:
    direction: str
    capacitance: float  # in farads
    clock: bool


@dataclasses.dataclass
class Cell:
    pins: dict
    volts: float

    def clock_pins(self):
        return [name for name, pin in self.pins.items() if pin.clock]


def body(text, at):
    """What is between the next { and its }."""
    begin = text.index("{", at)
    depth = 0
    for found in re.compile(r'"[^"]*"|[{}]').finditer(text, begin):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return text[begin + 1:found.start()]
    raise ValueError("a Liberty file ends within a group")


def field(text, name):
    """The first one of the group, before its inner groups where those have it too."""
    found = re.search(rf"\b{name} *: *\"?([^;\"\n]+)", text)
    return found[1].strip() if found else None


def pin(text, unit):
    return Pin(field(text, "direction") or "input", float(field(text, "capacitance") or 0) * unit, field(text, "clock") == "true")


def cells(files, wanted):
    """{name: Cell} of those that are wanted."""
    out = {}
    for file in files:
        text = file.read_text()
        scale, unit = re.search(r"capacitive_load_unit *\( *([\d.]+) *, *\"?(\w+)", text).groups()
        volts = float(field(text, "nom_voltage"))
        for at in re.finditer(r"\bcell *\(\s*\"?(\w+)\"?\s*\)", text):
            if at[1] not in wanted:
                continue
            inside = body(text, at.end())
            pins = {found[1]: pin(body(inside, found.end()), float(scale) * UNITS[unit.lower()]) for found in re.finditer(r"\bpin *\(\s*\"?(\w+)\"?\s*\)", inside)}
            out[at[1]] = Cell(pins, volts)
    return out
