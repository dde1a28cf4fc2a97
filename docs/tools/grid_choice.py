#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the choice of a grid by magnitudes costs against one by squares: a table of docs/results/silicon.md.

usage: grid_choice.py
131,072 numbers of each kind are quantized with E4M3 scales and a tensor exponent, rounded to nearest, as
docs/reference/numerics.md defines it, but in float64. A row has the SQNR in dB, and how many of the blocks are uniform.
Needs numpy, as the launcher's .venv has it.
"""

import numpy

NUMBERS = 131072
BLOCK = 16
E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
UNIFORM = numpy.arange(8) / 2
SCALES = numpy.array(
    [m / 512 for m in range(1, 8)] + [(8 + m) / 8 * 2.0 ** (e - 7) for e in range(1, 16) for m in range(8)]
)
SCALES = SCALES[SCALES <= 448]


def nearest(values, grid):
    """Rounds magnitudes to a grid, and saturates. No value of a continuous distribution is a tie."""
    return grid[numpy.searchsorted((grid[1:] + grid[:-1]) / 2, values)]


def transformed(blocks, rng):
    """Applies random signs and the orthogonal Hadamard matrix of 16."""
    matrix = numpy.ones((1, 1))
    while len(matrix) < BLOCK:
        matrix = numpy.block([[matrix, matrix], [matrix, -matrix]])
    return blocks * rng.choice([-1, 1], BLOCK) @ matrix / 4


def quantized(blocks, grid, qmax):
    """Returns the values of the codes, and each block's errors by magnitudes and by squares. qmax: that of the tensor
    exponent."""
    size, largest = numpy.abs(blocks), grid[-1]
    unit = 2.0 ** numpy.floor(numpy.log2(448 * qmax / size.max()))
    scale = nearest(size.max(axis=1) * unit / largest, SCALES)[:, None]
    value = nearest(size * unit / scale, grid)
    # In quanta of half a unit, truncated to 9 fraction bits.
    quotient = numpy.minimum(numpy.floor(512 * 2 * size * unit / scale), 16 * 512)
    magnitudes = (scale * numpy.abs(quotient - 512 * 2 * value)).sum(axis=1)
    value = numpy.sign(blocks) * value * scale / unit
    return value, magnitudes, ((blocks - value) ** 2).sum(axis=1)


def figures(blocks):
    """Yields the SQNR of E2M1, of uniform, and of the choices by magnitudes and squares, then their uniform blocks."""
    sqnr = lambda value: 10 * numpy.log10((blocks**2).sum() / ((blocks - value) ** 2).sum())
    alone = [quantized(blocks, grid, grid[-1])[0] for grid in (E2M1, UNIFORM)]
    low, high = (quantized(blocks, grid, UNIFORM[-1]) for grid in (E2M1, UNIFORM))
    uniform = [(high[error] < low[error])[:, None] for error in (1, 2)]
    yield from map(sqnr, (*alone, *(numpy.where(chosen, high[0], low[0]) for chosen in uniform)))
    yield from (100 * chosen.mean() for chosen in uniform)


def main():
    rng = numpy.random.default_rng(0)
    outliers = rng.normal(size=(NUMBERS // 64, 64))
    outliers[:, :3] *= 12
    for words, data in (
        ("Gaussian", rng.normal(size=NUMBERS)),
        ("Laplace", rng.laplace(size=NUMBERS)),
        ("Gaussian, 3 adjacent channels of 64 12 times as large", outliers),
    ):
        blocks = data.reshape(-1, BLOCK)
        for ending, used in (("", blocks), (", RHT", transformed(blocks, rng))):
            print(
                "| {}{} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} % | {:.0f} % |".format(
                    words, ending, *figures(used)
                )
            )


if __name__ == "__main__":
    main()
