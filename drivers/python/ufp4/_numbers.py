# SPDX-License-Identifier: Apache-2.0
"""Casts without scales, the Hadamard transform, random words, and the effect of rounding on a tensor."""

import dataclasses
from collections.abc import Iterable, Sequence
from ctypes import byref, c_uint32
from typing import Any

import numpy as np

from . import _arrays as a
from . import _library as c
from . import _quantize
from . import _spec as s

CASTS = ("e2m1", "e1m2", "int4", "e4m3", "e8m0")
CAST_ROUNDS = ("rne", "up", "down")


def cast(x: np.ndarray, to: str, round: str | None = None) -> np.ndarray:
    """uint8 codes [rows][cols]: each element of x by itself, without scaling.

    x: 2-D, as of :func:`ufp4.quantize`. to: "e2m1", "e1m2", "int4", "e4m3" (saturating; NaN gives 7, of e4m3 0x7F), or
    "e8m0".
    round: "rne"; of e8m0 "down" (default) or "up". ValueError: another word, shape or type.
    """
    number = c.index_of(to, CASTS, "to")
    round = ("down" if to == "e8m0" else "rne") if round is None else round
    if (to == "e8m0") == (c.index_of(round, CAST_ROUNDS, "round") == 0):
        raise ValueError("round must be up or down with e8m0, and rne with all other formats")
    matrix, kept, transposed = a.matrix(x, "x")
    out = np.empty(kept.shape, np.uint8)
    status = c.lib.cast(byref(matrix), number + (round == "up"), a.address(out))
    if status != c.OK:
        c.fail(status)
    return out.T if transposed else out


def rht(x: np.ndarray, *, kind: str = "on", rht_mask: int = s.RHT_MASK) -> np.ndarray:
    """float64 [rows][16 * ceil(cols / 16)]: the random Hadamard transform of each block of 16 along the rows,
    as the quantizer has it.

    x: 2-D, as of :func:`ufp4.quantize`. kind: "on", in integers (exact here, after the alignment that the core does),
    or "bf16", whose inputs and results are BF16. A block that holds NaN or Inf becomes NaN. ValueError: another word,
    shape or type.
    """
    number = c.index_of(kind, _quantize.RHT_WORDS[1:], "kind") + 1
    mask = c.whole(rht_mask, 0, 0xFFFF, "rht_mask")
    matrix, kept, transposed = a.matrix(x, "x")
    if transposed:
        matrix, kept, _ = a.matrix(np.ascontiguousarray(x), "x")
    out = np.empty((matrix.rows, -(-matrix.cols // 16) * 16))
    status = c.lib.rht(byref(matrix), number, mask, a.address(out))
    if status != c.OK:
        c.fail(status)
    return out


def _words(values, what):
    if values is None:
        return [0] * 4
    if not isinstance(values, Iterable):
        raise TypeError(f"{what} must be 4 integers, not {type(values).__name__}")
    values = list(values)
    if len(values) != 4:
        raise ValueError(f"{what} has {len(values)} words; it must have 4")
    return [c.whole(value, 0, 2**32 - 1, what) for value in values]


def random(
    *, rounds: int = 12, key: Sequence[int] | None = None, counter: Sequence[int] | None = None, count: int = 1
) -> np.ndarray:
    """uint32 [count][4]: the words of Threefry-4x32 for counters increasing from @p counter.

    rounds: 0 to 72. key, counter: 4 words, zeros by default. ValueError: another length or range.
    """
    rounds = c.whole(rounds, 0, 72, "rounds")
    key = (c_uint32 * 4)(*_words(key, "key"))
    start = sum(word << 32 * i for i, word in enumerate(_words(counter, "counter")))
    out = np.empty((c.whole(count, 0, 2**31, "count"), 4), np.uint32)
    words = (c_uint32 * 4)()
    for i in range(len(out)):
        at = start + i
        c.lib.threefry4x32(rounds, key, (c_uint32 * 4)(*(at >> 32 * j & 0xFFFFFFFF for j in range(4))), words)
        out[i] = words
    return out


@dataclasses.dataclass(frozen=True)
class Bias:
    """The effect of rounding a tensor A, after the transform if there is one, to four bits, Q(A).

    bias_percent: 100 sum(|Q(A)| - |A|) / sum |A|, negative is shrinkage; kept: <Q(A), A> / |A|^2; sqnr_db: 10
    log10(|A|^2 / |Q(A) - A|^2); bucket_ratio: the share of the 15 values that are in use, by entropy; share: of each
    value from the lowest; uniform: the share of the groups of elements mixed that are on the uniform grid; blocks:
    groups of 16 that were measured; blocks_out: those that hold NaN or Inf, left out. The first three are NaN where
    nothing but zeros was measured; bucket_ratio is NaN of elements mixed, uniform of all others.
    """

    bias_percent: float
    kept: float
    sqnr_db: float
    bucket_ratio: float
    share: tuple[float, ...]
    uniform: float
    blocks: int
    blocks_out: int


def bias(x: np.ndarray, **how: Any) -> Bias:
    """Returns the :class:`Bias` of x, quantized as by :func:`ufp4.quantize` with the same arguments."""
    options = _quantize.options(**how)
    matrix, kept, transposed = a.matrix(x, "x")
    options.axis ^= transposed
    out = c.Rounding()
    status = c.lib.rounding_measure(byref(matrix), byref(options), byref(out))
    if status != c.OK:
        message = c.Message()
        c.lib.quantize_check(byref(matrix), byref(options), byref(message))
        c.fail(status, message)
    plain = (out.bias_percent, out.kept, out.sqnr_db, out.bucket_ratio)
    return Bias(*plain, tuple(out.share), out.uniform, out.blocks, out.blocks_out)
