# SPDX-License-Identifier: Apache-2.0
"""The picture of bias: the rounding error of two grids over their range, and the remaining signal."""

import math

from . import _draw

# The values of each grid, under the first of its names in bias --json; INT4 has the grid of E1M2, and mixed has both
# grids.
GRIDS = (
    ("e2m1", "E2M1", "#d95f02", (0, 0.5, 1, 1.5, 2, 3, 4, 6)),
    ("e1m2", "E1M2, INT4", "#1b9e77", (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75)),
    ("mixed", "mixed", "#7570b3", ()),
)


def _errors(axes, cells):
    """Draws the rounding error from 0 to qmax, as fractions of qmax, and its mean in each cell."""
    x = [p / 1200 for p in range(1201)]
    for grid, name, color, values in GRIDS:
        if not values:
            continue
        qmax = values[-1]
        axes.plot(
            x,
            [min(values, key=lambda value, at=at: abs(value - qmax * at)) / qmax - at for at in x],
            color=color,
            label=name,
        )
        own = [cell for cell in cells if cell["format"] == grid]
        axes.plot(
            [cell["value"] / qmax for cell in own],
            [cell["bias_eq2"] / qmax for cell in own],
            "o",
            markersize=4,
            color=color,
        )
    axes.set_title("Rounding error / qmax, and (dots) its mean in each cell (Eq. 2)")
    axes.set_xlabel("value / qmax")
    axes.grid(axis="y")
    axes.legend(labelcolor="linecolor")


def _signal(axes, tensors):
    """Draws a group of bars for each data, scale and RHT, with one bar per format."""
    groups = list(dict.fromkeys((line["data"], line["scale"], line["rht"]) for line in tensors))
    for i, (grid, name, color, _) in enumerate(GRIDS):
        own = {
            (line["data"], line["scale"], line["rht"]): line["sqnr_db"] for line in tensors if line["format"] == grid
        }
        there = [(at + 0.28 * i, own[group]) for at, group in enumerate(groups) if group in own]
        heights = [math.nan if value is None else value for _, value in there]
        axes.bar([at for at, _ in there], heights, width=0.26, color=color, label=name)
    axes.set_xticks(
        [at + 0.28 for at in range(len(groups))],
        [f"{data}\n{scale}{', RHT' if rht == 'on' else ''}" for data, scale, rht in groups],
    )
    axes.set_title("Signal to quantization noise, dB")
    axes.grid(axis="y")


def svg(document):
    """Draws the picture of the output of bias --json as a file."""
    with _draw.picture(13, 4.6, panels=2) as (axes, out):
        _errors(axes[0], document["cells"])
        _signal(axes[1], document["tensors"])
    return out["file"]
