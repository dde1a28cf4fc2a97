# SPDX-License-Identifier: Apache-2.0
"""Functions that the tests of the Python package share."""

import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}; ./ufp4 test installs it from PyPI")
    sys.exit(0)

from stand import check, stream


def gaussian(rows, cols, dtype=np.float32, seed=1):
    return np.random.default_rng([rows, cols, stream(seed)]).standard_normal((rows, cols)).astype(dtype)


def bits(array):
    """Returns an array as bytes, so that NaN equals NaN and -0 is not 0."""
    return np.ascontiguousarray(array).view(np.uint8)


def same(got, want, what):
    check(
        got.dtype == want.dtype and got.shape == want.shape,
        f"{what}: got {got.dtype} {got.shape}, want {want.dtype} {want.shape}",
    )
    different = np.argwhere(bits(got) != bits(want))
    check(len(different) == 0, f"{what}: first difference at byte {different[:1]}: got\n{got}\nwant\n{want}")


def raises(kind, words, function, *arguments, **options):
    """Checks that a call raises this kind of exception with one line that contains the words."""
    try:
        got = function(*arguments, **options)
    except kind as error:
        text = str(error)
        check(words in text and "\n" not in text, f"should say {words!r}: {type(error).__name__}: {text}")
        return
    check(False, f"should raise {kind.__name__} with {words!r}; gave {got!r}")


bfloat16 = ml_dtypes.bfloat16
