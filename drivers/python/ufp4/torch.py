# SPDX-License-Identifier: Apache-2.0
"""Linear layers of PyTorch whose three training GEMMs follow a recipe, with the bits of the golden model.

Tensors are on the CPU or, with libufp4_cuda.so, on a GPU, dense, float32 or bfloat16. The layer keeps the quantized
copies that its backward passes need, not x.
"""

from ._torch_convert import Coverage, convert, coverage, unconvert
from ._torch_layers import Linear, capturable, linear
from ._torch_operators import text_of as _text  # noqa: F401 the tests'
from ._torch_watch import Watch

__all__ = ["Coverage", "Linear", "Watch", "capturable", "convert", "coverage", "linear", "unconvert"]

for _member in (Coverage, Linear, Watch, capturable, convert, coverage, linear, unconvert):
    _member.__module__ = __name__
