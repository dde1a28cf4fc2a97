# SPDX-License-Identifier: Apache-2.0
"""Converts numpy arrays to matrices of the C library, and back."""

import ctypes

import ml_dtypes
import numpy as np

from . import _library as c

F32, BF16, I64 = range(3)
FLOAT32, BFLOAT16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)
DTYPES = {F32: FLOAT32, BF16: BFLOAT16, I64: np.dtype(np.int64)}


def address(array):
    return array.__array_interface__["data"][0]


def demand_array(array, what, dimensions=2):
    """Refuses anything but a plain array with that many dimensions and at least one element."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{what} must be a numpy array, not {type(array).__name__}")
    if array.ndim != dimensions:
        raise ValueError(f"{what} has {array.ndim} dimensions; it must have {dimensions}")
    if array.size == 0:
        raise ValueError(f"{what} is {' x '.join(map(str, array.shape))}; it must not be empty")


def floats(array, what):
    """Returns an array of float32 or bfloat16: the array itself, or a copy of float16 or float64 rounded to float32."""
    if array.dtype == FLOAT32 or array.dtype == BFLOAT16:
        return array
    if array.dtype.kind != "f" or array.dtype.itemsize not in (2, 4, 8):
        raise ValueError(
            f"{what} is of type {array.dtype}; float32, bfloat16 (ml_dtypes), float16 or float64 is needed"
        )
    with np.errstate(all="ignore"):
        return array.astype(FLOAT32)


def rows_of(array, what):
    """Returns (array, transposed): an array with contiguous rows, transposed if its columns are; nothing is copied."""
    size = array.itemsize
    for view, transposed in ((array, False), (array.T, True)):
        rows, cols = view.shape
        row, col = view.strides
        if (
            (col == size or cols == 1)
            and (rows == 1 or (row >= cols * size and row % size == 0))
            and address(array) % size == 0
        ):
            return view, transposed
    if address(array) % size:
        raise ValueError(f"{what} is misaligned: its address is not a multiple of {size} bytes; pass .copy() of it")
    raise ValueError(f"{what} is not contiguous (strides {array.strides}); pass numpy.ascontiguousarray of it")


def matrix(array, what):
    """Returns (Matrix, an object that must live as long, transposed) for a 2-D array of floats."""
    demand_array(array, what)
    kept, transposed = rows_of(floats(array, what), what)
    rows, cols = kept.shape
    ld = kept.strides[0] // kept.itemsize if rows > 1 else cols
    return c.Matrix(F32 if kept.dtype == FLOAT32 else BF16, rows, cols, ld, address(kept)), kept, transposed


def plain(array, shape, dtype, what):
    """Returns an array of that shape and type with contiguous rows, and their distance in elements."""
    demand_array(array, what)
    if array.shape != shape:
        raise ValueError(
            f"{what} is {array.shape[0]} x {array.shape[1]}; it must have the size of D, {shape[0]} x {shape[1]}"
        )
    if array.dtype != dtype:
        raise ValueError(f"{what} is of type {array.dtype}; it must be {dtype}")
    kept, transposed = rows_of(array, what)
    if transposed:
        raise ValueError(f"{what} is in Fortran order; pass numpy.ascontiguousarray of it")
    return kept, kept.strides[0] // kept.itemsize if shape[0] > 1 else shape[1]


class Memory:
    """An operand of the C library, which is freed with the last array that views it."""

    def __init__(self, operand):
        self.operand = operand

    def __del__(self, free=c.lib.operand_free, byref=ctypes.byref):
        free(byref(self.operand))

    def array(self, pointer, shape, dtype, frozen):
        """Returns a view of the operand's memory that keeps it alive; a frozen view is read-only."""
        view = _View()
        view.memory = self
        view.__array_interface__ = {
            "data": (pointer, frozen),
            "shape": shape,
            "typestr": np.dtype(dtype).str,
            "version": 3,
        }
        return np.asarray(view)


class _View:
    pass
