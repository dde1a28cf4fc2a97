# SPDX-License-Identifier: Apache-2.0
"""GEMMs of quantized tensors."""

from ctypes import byref

import numpy as np

from . import _arrays
from . import _library
from . import _spec as s
from ._quantize import Quantized

SMALL = 2**22  # multiplications that finish before another thread has started


def arguments(a, b, accumulate, alpha, c, out, accumulate_in):
    """Returns (ufp4_gemm_t, the shape of D, objects that must live as long as the structure)."""
    for value, what in ((a, "a"), (b, "b")):
        if not isinstance(value, Quantized):
            raise TypeError(f"{what} must be a Quantized, as quantize gives, not {type(value).__name__}")
    left, right = a._operand, b._operand
    if left.cols == right.cols and (
        a._how.rht != b._how.rht or (a._how.rht and (a._how.rht_mask, a.rht_size) != (b._how.rht_mask, b.rht_size))
    ):
        raise ValueError(
            f"a has rht {a.rht} 0x{a.rht_mask:04X} of {a.rht_size}, b has rht {b.rht} 0x{b.rht_mask:04X} of "
            f"{b.rht_size}; they must be equal"
        )
    how = _library.Gemm(alpha=_library.real(alpha, "alpha"), d_dtype=_library.index_of(out, s.DTYPES, "out"))
    if accumulate is None:
        how.contract = _library.lib.gemm_default_contract(left.scale)
    else:
        how.contract = _library.index_of(accumulate, s.CONTRACTS, "accumulate")
    shape, kept = (left.rows, right.rows), []
    if c is not None:
        if isinstance(c, np.ndarray) and c.dtype == _arrays.BFLOAT16:
            c = c.astype(np.float32)
        array, how.c_ld = _arrays.plain(c, shape, _arrays.FLOAT32, "c")
        how.c = _arrays.address(array)
        kept.append(array)
    if accumulate_in is not None:
        array, how.accumulate_ld = _arrays.plain(accumulate_in, shape, _arrays.DTYPES[_arrays.I64], "accumulate_in")
        how.accumulate = _arrays.address(array)
        kept.append(array)
    return how, shape, kept


def gemm(
    a: Quantized,
    b: Quantized,
    *,
    accumulate: str | None = None,
    alpha: float = 1.0,
    c: np.ndarray | None = None,
    out: str = "f32",
    accumulate_in: np.ndarray | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """D = alpha * A B^T + C: [M][N] of A [M][K] and B [N][K], both :class:`Quantized` with equal K, scale and
    transform.

    accumulate: "exact" (the default if the scale allows it), "fp32" (otherwise) or "nv". c: float32 or bfloat16 [M][N],
    added at the end. out: "f32" (float32), "bf16" (ml_dtypes.bfloat16) or "i64", the unrounded sums in units of 2^-(18
    + fraction bits of both elements), tensor exponents not applied. accumulate_in: int64 [M][N], such sums, which are
    added first. threads: all cores by default; the result does not depend on it. alpha: a number of FP32's range,
    rounded once. ValueError: an illegal combination. The contracts: docs/reference/numerics.md, 5.
    """
    how, shape, kept = arguments(a, b, accumulate, alpha, c, out, accumulate_in)
    if threads is not None:
        how.threads = _library.whole(threads, 1, 2**15, "threads")
    elif shape[0] * shape[1] * a._operand.cols > SMALL:
        how.threads = _library.all_threads()
    d = np.empty(shape, _arrays.DTYPES[how.d_dtype])
    status = _library.lib.gemm(byref(a._operand), byref(b._operand), byref(how), _arrays.address(d), shape[1])
    if status != _library.OK:
        message = _library.Message()
        _library.lib.gemm_check(byref(a._operand), byref(b._operand), byref(how), byref(message))
        _library.fail(status, message)
    del kept
    return d
