# SPDX-License-Identifier: Apache-2.0
"""Compares NVFP4 as published, and its two levels with E1M2 and INT4 (NVINT4), with the golden model.

usage: witness_nvfp4.py PIPE

The formula, in plain float32 numpy, is that of NVIDIA's NVFP4 recipe (arXiv 2509.25149) in the order of its public
reference: two levels of scales, 1x16 blocks, 16x16 tiles, and the random Hadamard transform with BF16 inputs and
results, signs included. Left out are NaN and Inf, because the reference has no blocks of NaN, and the sign of zero in
blocks of zeros, which the golden model drops. Exits 0, 1, or 77 without numpy.
"""

import itertools
import sys

import pipe
from pipe import np

F32 = np.float32
FLT_MAX = np.finfo(F32).max
SIGNS = np.array([1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1], np.float64)
E4M3 = pipe.E4M3[:0x7F]
GRIDS = {elem: np.abs(pipe.VALUES[elem][:8]) for elem in pipe.ELEMS}


def nearest(grid, x):
    """Returns the index of the nearest grid value, ties to the even index; x is float64, not negative."""
    upper = np.searchsorted(grid, x).clip(1, len(grid) - 1)
    below, above = x - grid[upper - 1], grid[upper] - x
    return np.where((above < below) | ((above == below) & (upper % 2 == 0)), upper, upper - 1)


def bf16(x):
    """Rounds float64 to BF16 values once, nearest, ties to even; the numbers here are far from overflow."""
    exponent = np.maximum(np.frexp(x)[1] - 8, -133)
    return np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent)


def transform(x):
    """Transforms blocks of 16 along the rows, padded with zeros. Sums are exact in float64 within 2^40."""
    rows, cols = x.shape
    padded = np.zeros((rows, -(-cols // 16) * 16))
    padded[:, :cols] = bf16(x.astype(np.float64))
    hadamard = np.array([[(-1.0) ** bin(i & j).count("1") for j in range(16)] for i in range(16)])
    y = (padded.reshape(-1, 16) * SIGNS) @ hadamard / 4
    return (bf16(y) + 0.0).reshape(rows, -1).astype(F32)


def reference(x, tall, elem):
    """Returns codes, scale bytes and tensor scale; a scale covers `tall` rows by 16 columns."""
    rows, cols = x.shape
    grid, qmax = GRIDS[elem], F32(GRIDS[elem][-1])
    padded = np.zeros((-(-rows // tall) * tall, -(-cols // 16) * 16), F32)
    padded[:rows, :cols] = x
    tiles = np.abs(padded).reshape(padded.shape[0] // tall, tall, padded.shape[1] // 16, 16)
    amax_b = np.repeat(tiles.max(axis=(1, 3)), tall, axis=0)
    amax = amax_b.max()
    encode = F32(1) if amax == 0 else np.minimum(F32(448 * qmax) / amax, FLT_MAX)
    decode = F32(1) / encode
    wanted = np.minimum(amax_b * (encode * (F32(1) / qmax)), F32(448))
    scales = nearest(E4M3, wanted.astype(np.float64))
    e = np.minimum(F32(1) / (E4M3[scales].astype(F32) * decode), FLT_MAX)
    product = np.clip(padded * np.repeat(e, 16, axis=1), -qmax, qmax)
    codes = nearest(grid, np.abs(product).astype(np.float64))
    if elem == "int4":
        codes = np.where(np.signbit(product), -codes, codes) % 16
    else:
        codes = codes + 8 * np.signbit(product)
    codes[np.repeat(amax_b == 0, 16, axis=1)] = 0
    return codes[:rows], scales[:rows], decode


def main(program):
    comparison = pipe.Comparison()
    for seed in range(4):
        for name, x in pipe.tensors(seed):
            variants = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
            if name in ("gaussian", "outliers", "bf16", "integers", "eighths"):
                variants += [(0, 0, 2), (0, 1, 2), (1, 0, 2), (1, 1, 2)]
            for elem, (layout, axis, rht) in itertools.product(pipe.ELEMS, variants):
                what = f"seed {seed}, {name} {x.shape}, {elem}, layout {layout}, axis {axis}, rht {rht}"
                got = pipe.quantize(program, x, elem, "nvfp4", layout, axis, rht)
                oriented = x.T if axis else x
                with np.errstate(all="ignore"):
                    codes, scales, decode = reference(
                        transform(oriented) if rht else oriented, 16 if layout else 1, elem
                    )
                comparison.bits(f"{what}: code", got.codes, codes)
                comparison.bits(f"{what}: scale", got.scales, scales)
                comparison.bits(f"{what}: tensor scale", got.tensor_scale.view(np.uint32), decode.view(np.uint32))
    return comparison.finish("nvfp4 against float32 numpy")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
