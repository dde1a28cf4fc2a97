# SPDX-License-Identifier: Apache-2.0
"""Computes mixed elements from docs/reference/numerics.md alone, sections 1 to 4 in fractions and in numpy's FP32, and
compares the results with those of the package."""

import math
import warnings
from fractions import Fraction

from support import gaussian, np, same

import ufp4
from stand import check, check_equal, slow

QUANTA = ([0, 1, 2, 3, 4, 6, 8, 12], [0, 1, 2, 3, 4, 5, 6, 7])  # in units of 1/2, by bit 7
QMAX = (Fraction(6), Fraction(7, 2))
BYTES = [Fraction(b % 8, 512) if b < 8 else Fraction(8 + b % 8) * Fraction(2) ** (b // 8 - 10) for b in range(127)]
MASK = 0xD7E8


def transformed(block):
    """Returns y of 16 FP32 numbers by section 3, as fractions."""
    bits = [int(b) for b in np.array(block, np.float32).view(np.uint32)]
    fields = [b >> 23 & 255 for b in bits]
    exponents = [max(field, 1) for field in fields]
    largest = max(exponents)
    v = []
    for i, (b, field, exponent) in enumerate(zip(bits, fields, exponents)):
        size = ((b & 0x7FFFFF) | (1 << 23 if field else 0)) >> (largest - exponent)
        v.append(-size if (b >> 31) ^ (MASK >> i & 1) else size)
    sums = [sum(v[i] * (-1) ** (i & j).bit_count() for i in range(16)) for j in range(16)]
    return [Fraction(s) * Fraction(2) ** (largest - 152) for s in sums]


def scale_byte(quotient, up):
    """Returns the E4M3 byte of a block that is not zero, by section 2."""
    if up:
        return next((b for b in range(1, 127) if BYTES[b] >= quotient), 126)
    return max(min(range(127), key=lambda b: (abs(BYTES[b] - quotient), b % 2)), 1)


def nearest(quotient, grid):
    """Returns the code of a magnitude in quanta, at most the last one."""
    return min(range(8), key=lambda c: (abs(QUANTA[grid][c] - quotient), c % 2))


def on_grid(numbers, t, grid, up):
    """Returns byte, codes and error of the numbers that share a scale."""
    byte = scale_byte(max(abs(x) for x in numbers) * Fraction(2) ** t / QMAX[grid], up)
    quotients = [abs(x) * Fraction(2) ** (t + 1) / BYTES[byte] for x in numbers]
    codes = [nearest(q, grid) for q in quotients]
    off = [abs(min(math.floor(512 * q), 16 * 512) - 512 * QUANTA[grid][c]) for q, c in zip(quotients, codes)]
    return byte, codes, BYTES[byte] * sum(off)


def signed(codes, numbers):
    return [c | 8 * (math.copysign(1, x) < 0) for c, x in zip(codes, numbers)]


def blocks_of(x, rht, layout):
    """Yields what shares a scale: rows, block, and its numbers, or None if one is NaN or Inf."""
    height = 16 if layout == "2d" else 1
    for r in range(0, x.shape[0], height):
        rows = range(r, min(r + height, x.shape[0]))
        for b in range(x.shape[1] // 16):
            part = [x[row, 16 * b : 16 * b + 16] for row in rows]
            if not np.isfinite(part).all():
                yield rows, b, None
            elif rht:
                yield rows, b, [y for one in part for y in transformed(one)]
            else:
                yield rows, b, [Fraction(float(value)) for one in part for value in one]


def exponent_of(amax):
    """Returns the largest t with amax 2^t / 3.5 <= 448."""
    t = 0
    while amax * Fraction(2) ** t / QMAX[1] > 448:
        t -= 1
    while amax and amax * Fraction(2) ** (t + 1) / QMAX[1] <= 448:
        t += 1
    return t


def quantized(x, rht, layout, up):
    """Returns exponent, scale bytes, codes, and how many choices were ties."""
    parts, ties = list(blocks_of(x, rht, layout)), 0
    t = exponent_of(max((max(map(abs, numbers)) for _, _, numbers in parts if numbers), default=Fraction(0)))
    scales, codes = np.zeros((x.shape[0], x.shape[1] // 16), np.uint8), np.zeros(x.shape, np.uint8)
    for rows, b, numbers in parts:
        if numbers is None or not any(numbers):
            scales[rows.start : rows.stop, b] = 0x7F if numbers is None else 0
            continue
        first, second = (on_grid(numbers, t, grid, up) for grid in (0, 1))
        ties += first[2] == second[2]
        byte, chosen = (second[0] | 0x80, second[1]) if second[2] < first[2] else first[:2]
        signs = numbers if rht else x[rows.start : rows.stop, 16 * b : 16 * b + 16].flat
        scales[rows.start : rows.stop, b] = byte
        codes[rows.start : rows.stop, 16 * b : 16 * b + 16] = np.reshape(signed(chosen, signs), (len(rows), 16))
    return t, scales, codes, ties


def package(x, **how):
    """Quantizes by the package; its warning about NaN is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return ufp4.quantize(x, elem="mixed", **how)


def tensor():
    """Returns a tensor with every kind of block: drawn, with outliers, tiny, exact on both grids, zero, NaN and Inf."""
    x = gaussian(40, 64)
    x[:, 5] *= 12
    x[3:6] *= np.float32(2.0**-20)
    x[7, :16] = 0
    x[8, 16:32] = -0.0
    x[9, 20], x[38, 3] = np.nan, -np.inf
    x[10:14, 32:48] = 0
    x[10:14, 37] = [42, -42 / 64, 42 / 512, 42 / 16]  # 6 x 7 and 3.5 x 12: both scales are exact
    x[14, :] = np.arange(64, dtype=np.float32) / 8
    return x


@slow
def test_blocks_are_those_of_the_page():
    x, ties, grids = tensor(), 0, set()
    for rht in (False, True):
        for layout in ("1d", "2d"):
            for up in (False, True):
                t, scales, codes, tied = quantized(x, rht, layout, up)
                q = package(x, layout=layout, rht="on" if rht else "off", scale_round="up" if up else "rne")
                what = f"rht {rht}, {layout}, up {up}"
                check_equal(q.tensor_exponent, t, f"{what}: exponent")
                same(q.scales, scales, f"{what}: scales")
                same(q.codes, codes, f"{what}: codes")
                ties += tied
                grids |= set(scales.flat)
    check(ties >= 8 and {0, 0x7F} <= grids and {g >> 7 for g in grids} == {0, 1}, f"{ties} ties, {sorted(grids)}")


def test_columns_are_rows_of_the_transposed():
    x = tensor()[:32, :48]
    t, scales, codes, _ = quantized(x.T, False, "1d", False)
    q = package(x, axis="col", rht="off")
    check_equal(q.tensor_exponent, t, "exponent")
    same(q.scales, scales, "scales")
    same(q.codes, codes, "codes")


def test_nvfp4_is_that_of_the_page():
    """Computes each operation in FP32, rounded once."""
    f = np.float32
    x = gaussian(24, 48)
    x[2:4] *= f(2.0**-9)
    x[5, :16] = 0
    S = min(f(1568) / np.abs(x).max(), np.finfo(f).max)
    Sd = f(1) / S
    scales, codes = np.zeros((24, 3), np.uint8), np.zeros(x.shape, np.uint8)
    for r in range(24):
        for b in range(3):
            block, tried = x[r, 16 * b : 16 * b + 16], []
            if not block.any():
                continue
            for grid in (0, 1):
                share = min(np.abs(block).max() * (S * (f(1) / f(QMAX[grid]))), f(448))
                byte = min(range(127), key=lambda c, share=share: (abs(BYTES[c] - Fraction(float(share))), c % 2))
                s = f(BYTES[byte])
                with np.errstate(divide="ignore"):
                    e = min(f(1) / (s * Sd), np.finfo(f).max)
                own = [nearest(Fraction(float(abs(v * e))) * 2, grid) for v in block]
                error = f(0)
                for v, c in zip(block, own):
                    d = np.copysign(f(QUANTA[grid][c]) / f(2), v) * s - v * S
                    error = error + d * d
                tried.append((byte, own, error))
            second = int(tried[1][2] < tried[0][2])
            scales[r, b] = tried[second][0] | 0x80 * second
            codes[r, 16 * b : 16 * b + 16] = signed(tried[second][1], block)
    q = package(x, scale="nvfp4", rht="off")
    check_equal(f(q.tensor_scale), Sd, "Sd")
    same(q.scales, scales, "scales")
    same(q.codes, codes, "codes")
    check_equal({int(s) >> 7 for s in scales.flat}, {0, 1}, "grids")


if __name__ == "__main__":
    import stand

    stand.main(globals())
