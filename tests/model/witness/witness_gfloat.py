# SPDX-License-Identifier: Apache-2.0
"""Compares MXFP4 as gfloat (PyPI) encodes it with the golden model: witness_gfloat.py PIPE.

gfloat computes the scale of the OCP specification (rounded down) and encodes scale and elements by itself, -0 included.
Left out are NaN and Inf, which gfloat's scale does not support, and the sign of zeros in blocks of zeros, which the
golden model drops. Exits 0, 1, or 77 without numpy or gfloat.
"""

import sys
from importlib.metadata import version

import pipe
from pipe import np

try:
    import gfloat
    from gfloat.formats import format_info_mxfp4_e2m1 as mxfp4
except ModuleNotFoundError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def reference(block):
    """Returns the scale byte and the codes of up to 32 numbers."""
    values = block.astype(np.float64)
    scale = gfloat.compute_scale_amax(mxfp4.etype.emax, values)
    encoded = list(gfloat.encode_block(mxfp4, scale, values / scale))
    return encoded[0], encoded[1:] if values.any() else [0] * len(values)


def main(program):
    comparison = pipe.Comparison()
    down = 2
    for name, x in pipe.tensors(0):
        rows, cols = x.shape
        got = pipe.quantize(program, x, "e2m1", "e8m0", scale_round=down)
        for first in range(0, cols, 32):
            blocks = [reference(row[first : first + 32]) for row in x]
            what = f"{name} {x.shape}, columns from {first}"
            comparison.bits(f"{what}: scale", got.scales[:, first // 32], [scale for scale, _ in blocks])
            codes = got.codes[:, first : min(first + 32, cols)]
            comparison.bits(f"{what}: code", codes, [want for _, want in blocks])
    return comparison.finish(f"mxfp4 against gfloat {version('gfloat')}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
