# SPDX-License-Identifier: Apache-2.0
"""Measures the rounding of a layer's quantized copies, and records which watched layer a thread is in."""

import math
import threading

import torch

from . import _quantize
from . import _torch_host as host
from ._recipe import PASSES, ROLES, axis_in_pass


class _Current(threading.local):
    """call: the Hook of _torch_watch that receives the copies of this thread; None: nobody watches."""

    call = None


current = _Current()
# The pass that uses the copy of a role and axis.
PASS_OF = {
    (role, axis): PASSES[number]
    for number in range(len(PASSES))
    for role in range(len(ROLES))
    if (axis := axis_in_pass(role, number)) is not None
}
LARGEST = {"e4m3": 126, "nvfp4": 126, "e8m0": 254, "fp32": torch.finfo(torch.float32).max}  # scales as they are stored
INT4, MIXED = (_quantize.s.ELEMS.index(name) for name in ("int4", "mixed"))


def _finite(value):
    """Replaces values that are not numbers in JSON by None."""
    value = float(value)
    return value if math.isfinite(value) else None


def _errors(exact, values):
    """Returns SQNR in dB and kept signal, for the numbers that are finite in both."""
    exact, values = exact.double(), values.double()
    good = exact.isfinite() & values.isfinite()
    exact, values = exact.where(good, 0), values.where(good, 0)
    signal, dot = float((exact * exact).sum()), float((values * exact).sum())
    noise = float((values - exact).square_().sum())
    if signal == 0:
        return None, None
    return _finite(10 * math.log10(signal / noise)) if noise else None, _finite(dot / signal)


def _plain_scales(scale, stored):
    """Returns scales without the sign of E4M3, which does not affect their size, and which of them are numbers."""
    if scale == "fp32":
        return stored, ~stored.isnan()
    stored = stored & 127 if scale in ("e4m3", "nvfp4") else stored
    return stored, stored != (255 if scale == "e8m0" else 127)


def _use_of_codes(elem, codes, good, block, cols):
    """Returns bucket ratio, None for elements mixed, and share of zeros, for the blocks whose scale is a number."""
    codes = torch.stack([codes & 15, codes >> 4], -1).reshape(codes.shape[0], -1)[:, :cols]
    kept = codes[good.repeat_interleave(block, 1)[:, :cols]]
    counts = torch.bincount(kept.int(), minlength=16).cpu().double()
    if elem != INT4:  # whose code 8 is not zero
        counts[0] += counts[8]
        counts[8] = 0
    total = float(counts.sum())
    if not total:
        return None, None
    shares = counts[counts > 0] / total
    ratio = math.exp(-float((shares * shares.log()).sum())) / 15
    return None if elem == MIXED else ratio, float(counts[0]) / total


@torch.no_grad()
def figures(made, tensor, how, copy, place):
    """Returns the measures of one copy of a tensor, which :class:`ufp4.torch.Watch` describes."""
    scale = _quantize.s.SCALES[made._struct.scale]
    (codes, stored), words = place.in_rows(copy), copy.saved()[2]
    exact = tensor.T if how.axis else tensor
    cols = codes.shape[1] * 2 if how.rht else exact.shape[1]  # after a transform the padding has values
    sqnr, kept = _errors(exact, place.dequantize(made, copy, how))
    scales, good = _plain_scales(scale, stored)
    ratio, zeros = _use_of_codes(made._struct.elem, codes, good, host.block(made) if place is host else 16, cols)
    count = int(good.sum())
    return {
        "sqnr_db": sqnr,
        "kept": kept,
        "bucket_ratio": ratio,
        "zeros": zeros,
        "saturated": float((scales[good] == LARGEST[scale]).sum()) / count if count else None,
        "tensor_exponent": int(words[0]) if scale == "e4m3" else 0,
        "tensor_scale": _finite(words[1:2].view(torch.float32)) if scale == "nvfp4" else 1.0,
    }
