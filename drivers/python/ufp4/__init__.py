# SPDX-License-Identifier: Apache-2.0
"""The exact 4-bit formats of ufp4 in numpy: quantize, multiply, cast,
with the bits of the golden model and of the core."""

import importlib
from typing import TYPE_CHECKING

from ._spec import VERSION as __version__

if TYPE_CHECKING:
    from ._device import Device, Layer, Stats
    from ._gemm import gemm
    from ._numbers import Bias, bias, cast, random, rht
    from ._quantize import Quantized, quantize
    from ._recipe import Recipe, recipe

__all__ = [
    "Bias",
    "Device",
    "Layer",
    "Quantized",
    "Recipe",
    "Stats",
    "bias",
    "cast",
    "gemm",
    "quantize",
    "random",
    "recipe",
    "rht",
    "__version__",
]

# These are loaded at their first use, because ufp4.stats and ufp4.report need neither the library nor ml_dtypes.
_HOMES = {
    "Device": "_device",
    "Layer": "_device",
    "Stats": "_device",
    "gemm": "_gemm",
    "Bias": "_numbers",
    "bias": "_numbers",
    "cast": "_numbers",
    "random": "_numbers",
    "rht": "_numbers",
    "Quantized": "_quantize",
    "quantize": "_quantize",
    "Recipe": "_recipe",
    "recipe": "_recipe",
}


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'ufp4' has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__})
