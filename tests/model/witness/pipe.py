# SPDX-License-Identifier: Apache-2.0
"""Runs the golden model's program `pipe` for the witnesses, and decodes its output with tables of its own."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "e2e"))
import stand  # noqa: E402

try:
    import numpy as np
except ModuleNotFoundError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ELEMS = {"e2m1": 0, "e1m2": 1, "int4": 2}
SCALES = {"e4m3": 0, "nvfp4": 1, "e8m0": 2, "fp32": 3}
CONTRACTS = {"exact": 0, "fp32": 1, "nv": 2}
MAGNITUDES = {"e2m1": [0, 0.5, 1, 1.5, 2, 3, 4, 6], "e1m2": [k / 4 for k in range(8)]}
VALUES = {name: np.array(half + [-x for x in half], np.float64) for name, half in MAGNITUDES.items()}
VALUES["int4"] = np.array(list(range(8)) + list(range(-8, 0)), np.float64)
# E4M3 with the sign ignored: subnormals are m * 2^-9, others (8 + m) * 2^(e - 10).
E4M3 = np.array([m * 2.0**-9 if e == 0 else (8 + m) * 2.0 ** (e - 10) for e in range(16) for m in range(8)] * 2)
E4M3[[0x7F, 0xFF]] = np.nan


def block_of(scale):
    return 32 if scale == "e8m0" else 16


class Operand:
    """codes [rows][16 groups], scales [rows][scale_blocks] as patterns, tensor scale and exponent."""

    def __init__(self, elem, scale, cols, codes, scales, tensor_scale=1.0, exponent=0):
        self.elem, self.scale, self.cols, self.codes, self.scales = elem, scale, cols, codes, scales
        self.tensor_scale, self.exponent = np.float32(tensor_scale), exponent

    def tobytes(self):
        tail = np.array([self.tensor_scale], np.float32).tobytes() + np.array([self.exponent], np.int32).tobytes()
        return self.codes.astype(np.uint8).tobytes() + self.scales.astype(np.uint32).tobytes() + tail

    def scale_values(self):
        """Returns block scales as float64, without tensor scale and exponent."""
        if self.scale == "e8m0":
            return np.where(self.scales == 255, np.nan, np.ldexp(1.0, self.scales.astype(np.int64) - 127))
        if self.scale == "fp32":
            return self.scales.astype(np.uint32).view(np.float32).astype(np.float64)
        return E4M3[self.scales]

    def decoded(self):
        """Returns element * scale as float64, which is exact."""
        repeated = np.repeat(self.scale_values(), block_of(self.scale), axis=1)[:, : self.codes.shape[1]]
        return VALUES[self.elem][self.codes] * repeated


def run(program, arguments, data):
    command = [program, *(str(a) for a in arguments)]
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


def quantize(program, x, elem, scale, layout=0, axis=0, rht=0, scale_round=0):
    """Quantizes x, float32 [rows][cols], by the golden model."""
    options = [ELEMS[elem], SCALES[scale], layout, axis, rht, scale_round, *x.shape]
    out = run(program, ["quantize", *options], np.ascontiguousarray(x, np.float32).tobytes())
    rows, cols = x.shape if axis == 0 else x.shape[::-1]
    width, blocks = -(-cols // 16) * 16, -(-cols // block_of(scale))
    codes = np.frombuffer(out, np.uint8, rows * width).reshape(rows, width)
    scales = np.frombuffer(out, np.uint32, rows * blocks, rows * width).reshape(rows, blocks)
    tensor_scale = np.frombuffer(out, np.float32, 1, len(out) - 8)[0]
    exponent = int(np.frombuffer(out, np.int32, 1, len(out) - 4)[0])
    return Operand(elem, scale, cols, codes, scales, tensor_scale, exponent)


def gemm(program, a, b, contract):
    """Returns A B^T as FP32 patterns [m][n] by the golden model."""
    m, n = a.codes.shape[0], b.codes.shape[0]
    options = [ELEMS[a.elem], ELEMS[b.elem], SCALES[a.scale], CONTRACTS[contract], m, n, a.cols]
    return np.frombuffer(run(program, ["gemm", *options], a.tobytes() + b.tobytes()), np.uint32).reshape(m, n)


class Comparison:
    """Counts comparisons and mismatches, prints the first mismatches, and determines the exit status."""

    def __init__(self):
        self.compared = self.wrong = 0

    def bits(self, what, got, want):
        got, want = np.asarray(got).ravel(), np.asarray(want).ravel()
        assert got.shape == want.shape, f"{what}: {got.shape} against {want.shape}"
        differ = np.flatnonzero(got != want)
        for i in differ[: max(0, 8 - self.wrong)]:
            print(f"  {what}, index {i}: got 0x{int(got[i]):x}, want 0x{int(want[i]):x}")
        self.compared += got.size
        self.wrong += differ.size

    def finish(self, what):
        print(f"{what}: {self.compared} patterns compared, {self.wrong} differ")
        return 1 if self.wrong or not self.compared else 0


def tensors(seed):
    """Returns named test tensors of many kinds, the same for the same seed."""
    rng = np.random.default_rng(stand.stream(seed))
    shapes = [(1, 1), (16, 16), (5, 40), (33, 49), (48, 130)]
    for shape in shapes:
        normal = rng.standard_normal(shape).astype(np.float32)
        yield "gaussian", normal
        yield "outliers", np.where(rng.random(shape) < 0.02, 16 * normal, normal).astype(np.float32)
        yield "bf16", (normal.view(np.uint32) & 0xFFFF0000).view(np.float32)
        yield "integers", rng.integers(-16, 17, shape).astype(np.float32)
        yield "eighths", (rng.integers(-32, 33, shape) / 8).astype(np.float32)
        yield "sparse", np.where(rng.random(shape) < 0.9, np.float32(0) * normal, normal)
        wild = rng.integers(0, 2**32, shape, dtype=np.uint32)
        yield "wild", np.where((wild & 0x7F800000) == 0x7F800000, wild ^ 0x40000000, wild).view(np.float32)
        yield "subnormal", (wild & 0x80FFFFFF).view(np.float32)
        yield "tiny", np.ldexp(normal, -140).astype(np.float32)
        yield "huge", np.ldexp(normal, 125).astype(np.float32)
