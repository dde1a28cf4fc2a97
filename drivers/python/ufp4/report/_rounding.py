# SPDX-License-Identifier: Apache-2.0
"""The table and the picture of the records of ufp4.torch.Watch."""

import json
import math
import statistics

from . import _draw

FIGURES = (
    ("sqnr_db", "SQNR, dB", 2),
    ("kept", "Kept signal", 4),
    ("bucket_ratio", "Use of the codes", 3),
    ("zeros", "Share of zeros", 4),
    ("saturated", "Share of saturated scales", 4),
    ("tensor_exponent", "Tensor exponent", 1),
)
PLACES = [
    (pass_, operand)
    for pass_, operands in (("fprop", ("x", "w")), ("dgrad", ("dy", "w")), ("wgrad", ("dy", "x")))
    for operand in operands
]


def read(file):
    """Parses lines to records; of duplicates, as after a resumed run, the last one counts."""
    found = {}
    for number, line in enumerate(file, 1):
        try:
            record = json.loads(line)
            key = record["step"], record["layer"], PLACES.index((record["pass"], record["operand"]))
            found[key] = {**record, **{name: _number(record[name]) for name, _, _ in FIGURES}}
            _number(record["tensor_scale"])
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"line {number} is not a record of ufp4.torch.Watch: {type(error).__name__}: {error}"
            ) from None
    if not found:
        raise ValueError("it holds no record")
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _number(value):
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise TypeError(f"{value!r} is not a number")
    return value


def _value(record, figure):
    """Returns NaN if there is none. The exponent of NVFP4 is that of its tensor scale."""
    value = record[figure]
    if figure == "tensor_exponent" and value is not None:
        scale = record["tensor_scale"]
        value = value - math.log2(scale) if scale else None
    return math.nan if value is None else value


def table(records):
    """Makes the table of each layer's last record."""
    last = {}
    for record in records:
        last[record["layer"], PLACES.index((record["pass"], record["operand"]))] = record
    width = max([5, *(len(layer) for layer, _ in last)])
    lines = [f"% {'layer':{width}} pass  operand  step  sqnr_db    kept buckets  zeros saturated exponent"]
    layers = list(dict.fromkeys(layer for layer, _ in last))
    for layer, place in sorted(last, key=lambda key: (layers.index(key[0]), key[1])):
        record = last[layer, place]
        cells = [
            f"{_value(record, name):{size}.{digits}f}" for (name, _, digits), size in zip(FIGURES, (8, 7, 7, 6, 9, 8))
        ]
        lines.append(f"  {layer:{width}} {record['pass']} {record['operand']:>7} {record['step']:5} {' '.join(cells)}")
    return "\n".join(lines)


def _lines(records, figure):
    """Returns {place: (steps, medians over layers, lowest, highest)}."""
    found = {}
    for record in records:
        value = _value(record, figure)
        if math.isfinite(value):
            place = record["pass"], record["operand"]
            found.setdefault(place, {}).setdefault(record["step"], []).append(value)
    out = {}
    for place in PLACES:
        steps = sorted(found.get(place, ()))
        values = [found[place][step] for step in steps]
        if steps:
            out[place] = (
                steps,
                [statistics.median(v) for v in values],
                [min(v) for v in values],
                [max(v) for v in values],
            )
    return out


def svg(records):
    """Draws the picture as a file."""
    with _draw.picture(13, 7, panels=3, rows=2, sharex=True) as (axes, out):
        drawn = {}
        for panel, (figure, title, _) in zip(axes.flat, FIGURES):
            for (pass_, operand), (steps, middle, low, high) in _lines(records, figure).items():
                color = _draw.color(PLACES.index((pass_, operand)))
                marker = "o" if len(steps) == 1 else None
                (drawn[f"{operand} of {pass_}"],) = panel.plot(steps, middle, color=color, marker=marker, markersize=3)
                panel.fill_between(steps, low, high, color=color, alpha=0.12, linewidth=0)
            panel.set_title(title)
            panel.grid(axis="y")
        for panel in axes[1]:
            panel.set_xlabel("step (median of the layers, and their range)")
        names = [f"{operand} of {pass_}" for pass_, operand in PLACES]
        _draw.legend(axes[0][0], {name: drawn[name] for name in names if name in drawn}, columns=len(PLACES))
    return out["file"]
