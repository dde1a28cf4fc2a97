# SPDX-License-Identifier: Apache-2.0
"""Tensors of the CPU, quantized and multiplied by the golden model."""

from ctypes import byref, c_float, c_int32
from typing import NamedTuple

import torch

from . import _library as c
from . import _quantize


WORDS = 3


class Copy(NamedTuple):
    """A quantized tensor [rows][cols]: its codes [rows][8 ceil(cols / 16)] and scales, and int32 [WORDS] with its
    tensor exponent, the bits of its tensor scale, and on the host whether its products are halved."""

    codes: torch.Tensor
    scales: torch.Tensor
    words: torch.Tensor
    rows: int
    cols: int

    def saved(self):
        return self[:3]


class _Made:
    """A new copy, whose tensors are made only when they are saved."""

    __slots__ = ("quantized",)

    def __init__(self, quantized):
        self.quantized = quantized

    def saved(self):
        return _tensors(self.quantized)


def is_captured():
    return False


def block(made):
    return made._struct.block or _quantize.s.SCALE_BLOCK[made._struct.scale]


def shapes(made, rows, cols):
    """Returns the shapes of codes and of scales."""
    return (rows, -(-cols // 16) * 8), (rows, -(-cols // block(made)))


def in_rows(copy):
    """Codes and scales row by row."""
    return copy.saved()[:2]


def quantize(made, matrix, tensor, hows):
    """Makes copies of a tensor, one per how; they use the golden model's memory without copying."""
    return [_Made(_quantized(matrix, how)) for how in hows]


def _quantized(matrix, how):
    operand = c.Operand()
    how.threads = torch.get_num_threads()
    status = c.lib.quantize(byref(matrix), byref(how), byref(operand))
    if status != c.OK:
        message = c.Message()
        c.lib.quantize_check(byref(matrix), byref(how), byref(message))
        c.fail(status, message)
    return _quantize.Quantized(operand, how)


def _tensors(q):
    o = q._operand
    codes, scales = (torch.from_numpy(view) for view in q._views())
    bits = c_int32.from_buffer(c_float(o.tensor_scale)).value
    return codes, scales, torch.tensor([o.exponent, bits, o.half], dtype=torch.int32, device="cpu")


def _operand(made, copy):
    """Returns an operand that is valid as long as the copy."""
    if isinstance(copy, _Made):
        return copy.quantized._operand
    scale = made._struct.scale
    exponent, bits, half = copy.words.tolist()
    f32 = copy.scales.dtype == torch.float32
    return c.Operand(
        elem=made._struct.elem,
        scale=scale,
        rows=copy.rows,
        cols=copy.cols,
        blocks=-(-copy.cols // 16),
        block=block(made),
        scale_blocks=copy.scales.shape[1],
        codes=copy.codes.data_ptr(),
        scales=None if f32 else copy.scales.data_ptr(),
        scales_f32=copy.scales.data_ptr() if f32 else None,
        exponent=exponent,
        tensor_scale=c_float.from_buffer(c_int32(bits)).value,
        half=half,
    )


def product(made, left, right, how, dtype):
    a, b = _operand(made, left), _operand(made, right)
    how.threads = torch.get_num_threads()
    out = torch.empty((a.rows, b.rows), dtype=dtype, device="cpu")
    status = c.lib.gemm(byref(a), byref(b), byref(how), out.data_ptr(), b.rows)
    if status != c.OK:
        c.fail(status)
    return out


def dequantize(made, copy, how):
    """Returns float32 [rows][cols]: the decoded values of a row copy, with the transform undone."""
    return torch.from_numpy(copy.quantized.dequantize(unrotate=bool(how.rht)))
