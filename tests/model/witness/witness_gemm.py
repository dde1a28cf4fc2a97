# SPDX-License-Identifier: Apache-2.0
"""Compares GEMM contracts in Python with the golden model: witness_gemm.py PIPE.

exact: a float64 matrix product of the decoded operands, whose sums stay under 2^53 units here, rounded once by numpy.
fp32 and nv: fractions, so that only the contract's own roundings occur; nv follows the description of Blackwell's
block-scaled instruction in MMA-Sim (arXiv 2511.10909). Exits 0, 1, or 77 without numpy.
"""

import sys
from fractions import Fraction

import pipe
from pipe import np

NAN, NAN_NV, INF = 0x7FC00000, 0x7FFFFFFF, 0x7F800000


def two_to(exponent):
    return Fraction(2) ** exponent


def exponent_of(x):
    """Returns floor(log2 x) of a positive fraction."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if two_to(guess) <= x else guess - 1


def to_f32(x, nearest=True):
    """Rounds a fraction to an FP32 pattern: nearest, ties to even, or toward zero with overflow to Inf; zero has no
    sign."""
    if x == 0:
        return 0
    sign, x = (0x80000000, -x) if x < 0 else (0, x)
    exponent = max(exponent_of(x), -126)
    scaled = x * two_to(23 - exponent)
    whole = round(scaled) if nearest else int(scaled)  # round() of a fraction rounds ties to even
    pattern = ((exponent + 126) << 23) + whole
    return sign | min(pattern, INF) if pattern else sign * nearest


def from_f32(pattern):
    return Fraction(float(np.uint32(pattern).view(np.float32)))


def finite(pattern):
    return pattern & INF != INF


def fp32_add(accumulator, block):
    """Returns RNE32(accumulator + block)."""
    return to_f32(from_f32(accumulator) + block) if finite(accumulator) else accumulator


def nv_exponent(scale, pattern):
    if scale == "e8m0":
        return int(pattern) - 127
    return -126 if pattern & 0x7F == 0 else max((int(pattern) >> 3 & 15) - 7, -6)


def nv_step(accumulator, groups):
    """Adds groups of (value, exponent), all aligned to the largest exponent, with 35 places kept of each."""
    own = max((accumulator >> 23 & 255) - 127, -126)
    unit = two_to(max([own] + [e for _, e in groups]) - 35)
    total = sum(int(x / unit) for x in [from_f32(accumulator)] + [x for x, _ in groups]) * unit
    return to_f32(total, nearest=False)


def dots(a, b, i, j, width):
    """Returns exact dot products of consecutive pieces, without scales."""
    x, y = pipe.VALUES[a.elem][a.codes[i]], pipe.VALUES[b.elem][b.codes[j]]
    return [Fraction(float(x[k : k + width] @ y[k : k + width])) for k in range(0, len(x), width)]


def fp32(a, b, i, j):
    accumulator = 0
    scales = zip(a.scale_values()[i], b.scale_values()[j], dots(a, b, i, j, pipe.block_of(a.scale)))
    for scale_a, scale_b, dot in scales:
        if scale_a != scale_a or scale_b != scale_b:
            return NAN
        if a.scale == "fp32":
            with np.errstate(all="ignore"):
                block = np.float32(scale_a) * np.float32(scale_b) * np.float32(float(dot))
                total = np.uint32(accumulator).view(np.float32) + block
            if total != total:
                return NAN
            accumulator = int(total.view(np.uint32))
        else:
            accumulator = fp32_add(accumulator, dot * Fraction(float(scale_a)) * Fraction(float(scale_b)))
    return accumulator


def nv(a, b, i, j):
    accumulator = 0
    per_scale = pipe.block_of(a.scale) // 16
    groups = []
    for g, dot in enumerate(dots(a, b, i, j, 16)):
        patterns = a.scales[i, g // per_scale], b.scales[j, g // per_scale]
        values = a.scale_values()[i, g // per_scale], b.scale_values()[j, g // per_scale]
        if any(v != v for v in values):
            return NAN_NV
        value = dot * Fraction(float(values[0])) * Fraction(float(values[1]))
        groups.append((value, sum(nv_exponent(a.scale, p) for p in patterns)))
    for first in range(0, len(groups), 4):
        if finite(accumulator):
            accumulator = nv_step(accumulator, groups[first : first + 4])
    return accumulator


def finish(a, b, pattern):
    """Multiplies by 2^-(tA + tB), then by RNE32(SdA * SdB)."""
    if not finite(pattern):
        return pattern
    pattern = to_f32(from_f32(pattern) * two_to(-a.exponent - b.exponent)) if pattern & 0x7FFFFFFF else 0
    if a.scale == "nvfp4":
        with np.errstate(all="ignore"):
            pattern = int((np.uint32(pattern).view(np.float32) * (a.tensor_scale * b.tensor_scale)).view(np.uint32))
    return pattern


def exact(a, b):
    """Computes the whole matrix at once."""
    with np.errstate(all="ignore"):
        product = (a.decoded() @ b.decoded().T).astype(np.float64)
        d = (np.ldexp(product, -a.exponent - b.exponent) + 0.0).astype(np.float32)
        if a.scale == "nvfp4":
            d = d * (a.tensor_scale * b.tensor_scale)
    return np.where(np.isnan(d), np.uint32(NAN), d.view(np.uint32))


# Kinds of random operands: any scales; scales near each other; with NaN; few nonzero codes; groups that cancel.
KINDS = range(5)


def random_scales(rng, scale, shape, kind):
    ranges = {
        "e4m3": [(0, 0x7F), (0x20, 0x50)],
        "nvfp4": [(0, 0x7F), (0x20, 0x50)],
        "e8m0": [(0, 255), (110, 144)],
        "fp32": [(0, INF), (120 << 23, 134 << 23)],
    }
    near = kind in (1, 2) or (kind == 4 and scale == "e8m0")
    low, high = ranges[scale][near]
    out = rng.integers(low, high, shape, dtype=np.uint32)
    nan = {"e4m3": 0x7F, "nvfp4": 0x7F, "e8m0": 0xFF, "fp32": 0x7FC00000}[scale]
    return np.where(rng.random(shape) < 0.02, nan, out).astype(np.uint32) if kind == 2 else out


def random_operand(rng, elem, scale, rows, cols, kind):
    width = -(-cols // 16) * 16
    codes = rng.integers(0, 16, (rows, width), dtype=np.uint8)
    if kind == 3:  # few nonzero codes, so that groups are far below their scales' exponents
        codes[rng.random((rows, width)) < 0.8] = 0
    scales = random_scales(rng, scale, (rows, -(-cols // pipe.block_of(scale))), kind)
    tensor_scale = np.float32(rng.random() + 0.5) if scale == "nvfp4" else np.float32(1)
    exponent = int(rng.integers(-20, 20)) if scale == "e4m3" else 0
    return pipe.Operand(elem, scale, cols, codes, scales, tensor_scale, exponent)


def cancel(a, b):
    """Makes the second group in each step of 64 the negative of the first, so that much smaller terms show."""
    a.scales, b.scales = a.scales.copy(), b.scales.copy()
    for operand, flip in ((a, 8), (b, 0)):
        for first in range(0, operand.codes.shape[1] - 16, 64):
            operand.codes[:, first + 16 : first + 32] = operand.codes[:, first : first + 16] ^ flip
            if pipe.block_of(operand.scale) == 16:
                operand.scales[:, first // 16 + 1] = operand.scales[:, first // 16]


def cases():
    """Yields elements of A and B, scale, contract."""
    scales_of = {"exact": ["e4m3", "nvfp4"], "fp32": list(pipe.SCALES), "nv": ["e4m3", "nvfp4", "e8m0"]}
    for contract, scales in scales_of.items():
        for scale in scales:
            elems = ["e2m1", "e1m2"] if contract == "nv" else list(pipe.ELEMS)
            for elem_a in elems:
                for elem_b in elems:
                    yield elem_a, elem_b, scale, contract


def main(program):
    rng = np.random.default_rng(pipe.stand.stream(7))
    comparison = pipe.Comparison()
    for elem_a, elem_b, scale, contract in cases():
        for kind in KINDS:
            m, n, k = (19, 23, 300) if contract == "exact" else (5, 6, int(rng.integers(1, 300)))
            a, b = random_operand(rng, elem_a, scale, m, k, kind), random_operand(rng, elem_b, scale, n, k, kind)
            if kind == 4:
                cancel(a, b)
            got = pipe.gemm(program, a, b, contract)
            one = {"fp32": fp32, "nv": nv}.get(contract)
            want = [[finish(a, b, one(a, b, i, j)) for j in range(n)] for i in range(m)] if one else exact(a, b)
            comparison.bits(f"{contract}, {scale}, {elem_a} x {elem_b}, {m} x {n} x {k}", got, want)
    return comparison.finish("GEMM contracts against Python")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
