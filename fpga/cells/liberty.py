# SPDX-License-Identifier: Apache-2.0
"""Reads cells' pins and energies from Liberty files."""

import bisect
import dataclasses
import re

CAPACITANCE = {"ff": 1e-15, "pf": 1e-12}
LEAKAGE = {"pw": 1e-12, "nw": 1e-9, "uw": 1e-6, "mw": 1e-3}
SLEW, LOAD = "input_transition_time", "total_output_net_capacitance"


def body(text, at):
    """Returns the text between the next { and its }."""
    begin = text.index("{", at)
    depth = 0
    for found in re.compile(r'"[^"]*"|[{}]').finditer(text, begin):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return text[begin + 1 : found.start()]
    raise ValueError("a Liberty file ends within a group")


def groups(text, kind):
    """Returns [(text in the parentheses, body)]."""
    return [
        (found[1].strip().strip('"'), body(text, found.end()))
        for found in re.finditer(rf"\b{kind} *\(([^)]*)\)(?= *\{{|\s*\{{)", text)
    ]


def field(text, name):
    """Returns the first attribute of the group, before those of inner groups."""
    found = re.search(rf"\b{name} *: *\"?([^;\"\n]+)", text)
    return found[1].strip() if found else None


def numbers(text):
    return [float(word) for word in re.findall(r"[-+.\deE]+", text)]


@dataclasses.dataclass
class Table:
    axes: list  # [(variable, [points])]
    values: list

    def at(self, slew, load):
        """Interpolates linearly between the points, and is constant beyond them. slew, load: in the library's units."""
        places = []
        for variable, points in self.axes:
            value = min(max(slew if variable == SLEW else load, points[0]), points[-1])
            low = min(max(bisect.bisect_right(points, value) - 1, 0), max(len(points) - 2, 0))
            places.append((low, (value - points[low]) / (points[low + 1] - points[low]) if len(points) > 1 else 0.0))
        if not places:
            return self.values[0]
        if len(places) == 1:
            low, part = places[0]
            return self.values[low] if part == 0 else self.values[low] * (1 - part) + self.values[low + 1] * part
        (row, down), (col, right) = places
        width = len(self.axes[1][1])
        value = lambda i, j: self.values[min(i, len(self.axes[0][1]) - 1) * width + min(j, width - 1)]
        return (value(row, col) * (1 - right) + value(row, col + 1) * right) * (1 - down) + (
            value(row + 1, col) * (1 - right) + value(row + 1, col + 1) * right
        ) * down


@dataclasses.dataclass
class Energy:
    """An internal_power group: a toggle of an output that `related` causes, or of an input that changes no output."""

    related: str
    when: object  # a function of {pin: 0 or 1}, or None
    tables: dict  # {1: rise, 0: fall}


@dataclasses.dataclass
class Pin:
    output: bool
    capacitance: float  # in the library's units
    clock: bool
    energies: list


@dataclasses.dataclass
class Cell:
    name: str
    pins: dict
    leakage: float  # watts
    gate: bool  # a clock gate


@dataclasses.dataclass
class Units:
    farads: float
    volts: float

    @property
    def joules(self):
        """Returns the unit of energies in tables, that of capacitance times volts squared."""
        return self.farads


def condition(text):
    """Returns a function of {pin: bit}."""
    text = re.sub(r"(\w+)\s*'", r"(not \1)", text)
    words = re.findall(r"\w+|[!*&+|^()]", text)
    out = []
    for word in words:
        if (
            out
            and (word == "!" or word == "(" or word[0].isalnum() or word[0] == "_")
            and (out[-1] == ")" or out[-1].startswith("p["))
            and word != "not"
        ):
            out.append(" and ")
        out.append(
            {
                "!": " not ",
                "*": " and ",
                "&": " and ",
                "+": " or ",
                "|": " or ",
                "^": " != ",
                "(": "(",
                ")": ")",
                "not": " not ",
            }.get(word, f"p[{word!r}]")
        )
    return eval("lambda p: bool(" + "".join(out) + ")")  # contains only names and operators


def table(name, text, templates):
    axes = []
    for i, (variable, points) in enumerate(templates.get(name, [])):
        own = re.search(rf"\bindex_{i + 1} *\(([^)]*)\)", text)
        axes.append((variable, numbers(own[1]) if own else points))
    return Table(axes, numbers(re.search(r"\bvalues *\(([^)]*)\)", text)[1]))


def energies(text, templates, grounds):
    out = []
    for _, group in groups(text, "internal_power"):
        # The tables of a ground pin are skipped, because they repeat the charge from the supply.
        if field(group, "related_pg_pin") in grounds:
            continue
        tables = {}
        for kind, edges in (("rise_power", (1,)), ("fall_power", (0,)), ("power", (0, 1))):
            for name, inside in groups(group, kind):
                tables |= {edge: table(name, inside, templates) for edge in edges}
        when = field(group, "when")
        out.append(Energy(field(group, "related_pin"), condition(when) if when else None, tables))
    return out


def cell(name, text, templates, leakage_unit):
    grounds = {pin for pin, inside in groups(text, "pg_pin") if "ground" in (field(inside, "pg_type") or "")}
    pins = {}
    for pin, inside in groups(text, "pin"):
        direction = field(inside, "direction")
        if direction in ("input", "output"):
            pins[pin] = Pin(
                direction == "output",
                float(field(inside, "capacitance") or 0),
                field(inside, "clock") == "true",
                energies(inside, templates, grounds),
            )
    leaks = [
        float(field(inside, "value"))
        for _, inside in groups(text, "leakage_power")
        if field(inside, "related_pg_pin") not in grounds
    ]
    leaks = leaks or [float(field(text, "cell_leakage_power") or 0)]
    return Cell(name, pins, sum(leaks) / len(leaks) * leakage_unit, "clock_gating_integrated_cell" in text)


def read(files, wanted):
    """Returns ({name: Cell} of the requested cells, Units); all files of a library have the same units."""
    out, units = {}, None
    for file in files:
        text = file.read_text()
        scale, unit = re.search(r"capacitive_load_unit *\( *([\d.]+) *, *\"?(\w+)", text).groups()
        units = Units(float(scale) * CAPACITANCE[unit.lower()], float(field(text, "nom_voltage")))
        leakage = re.match(r"([\d.]+)(\w+)", field(text, "leakage_power_unit"))
        templates = {}
        for kind in ("power_lut_template", "lu_table_template"):
            for name, inside in groups(text, kind):
                axes = [
                    (field(inside, f"variable_{i}"), found)
                    for i in (1, 2)
                    for found in [re.search(rf"\bindex_{i} *\(([^)]*)\)", inside)]
                    if found
                ]
                templates[name] = [
                    (SLEW if "transition" in variable else LOAD, numbers(found[1])) for variable, found in axes
                ]
        for at in re.finditer(r"\bcell *\(\s*\"?(\w+)\"?\s*\)", text):
            if at[1] in wanted:
                out[at[1]] = cell(
                    at[1], body(text, at.end()), templates, float(leakage[1]) * LEAKAGE[leakage[2].lower()]
                )
    missing = sorted(set(wanted) - set(out))
    if missing:
        raise ValueError(f"the library's files have no cell {missing[0]}")
    return out, units
