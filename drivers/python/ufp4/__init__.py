# SPDX-License-Identifier: Apache-2.0
"""The exact 4-bit formats of ufp4 in numpy: quantize, multiply, cast, with the bits of the golden model and of the core."""
from ._device import Device, Layer, Stats
from ._gemm import gemm
from ._numbers import Bias, bias, cast, random, rht
from ._quantize import Quantized, quantize
from ._recipe import Recipe, recipe
from ._spec import VERSION as __version__

__all__ = ["Bias", "Device", "Layer", "Quantized", "Recipe", "Stats", "bias", "cast", "gemm", "quantize", "random", "recipe", "rht", "__version__"]
