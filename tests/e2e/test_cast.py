# SPDX-License-Identifier: Apache-2.0
"""cast: elementwise, no scaling."""

import math
import os

import stand
from stand import check_equal, passes, rejects

VALUES = [0.0, -0.0, 0.25, 0.75, -0.25, 1.0, 2.5, -3.5, 5.0, 100.0, -math.inf, math.nan]


def cast(to, *options, values=VALUES):
    stand.write_npy("X.npy", [values])
    passes("cast", "X.npy", "-o", "C.npy", "--to", to, *options)
    descr, rows = stand.read_npy("C.npy")
    check_equal(descr, "|u1", "type")
    return rows[0]


def test_four_bit_formats():
    check_equal(cast("e2m1"), [0, 8, 0, 2, 8, 2, 4, 14, 6, 7, 15, 7], "e2m1")
    check_equal(cast("e1m2"), [0, 8, 1, 3, 9, 4, 7, 15, 7, 7, 15, 7], "e1m2")
    check_equal(cast("int4"), [0, 0, 0, 1, 0, 1, 2, 12, 5, 7, 9, 7], "int4")


def test_e4m3():
    want = [0x00, 0x80, 0x28, 0x34, 0xA8, 0x38, 0x42, 0xC6, 0x4A, 0x6C, 0xFE, 0x7F]
    check_equal(cast("e4m3"), want, "e4m3")
    edges = [448.0, 464.0, 1e9, -1e9, 2.0**-10, 2.0**-9]
    check_equal(cast("e4m3", values=edges), [0x7E, 0x7E, 0x7E, 0xFE, 0, 1], "edges")


def test_e8m0_down_and_up():
    values = [0.0, 1.0, 1.5, -1.5, 2.0**-126, 3e38, math.inf, math.nan]
    check_equal(cast("e8m0", values=values), [0, 127, 127, 127, 1, 254, 254, 255], "down")
    check_equal(cast("e8m0", "--round", "down", values=values), [0, 127, 127, 127, 1, 254, 254, 255], "down")
    check_equal(cast("e8m0", "--round", "up", values=values), [0, 127, 128, 128, 1, 254, 254, 255], "up")


def test_rejects_roundings_the_format_does_not_have():
    stand.write_npy("X.npy", [[1.0]])
    for to, rounding in (("e2m1", "up"), ("e4m3", "down"), ("int4", "up"), ("e8m0", "rne")):
        rejects(2, "--round", "cast", "X.npy", "-o", "C.npy", "--to", to, "--round", rounding)


def test_rejects_a_missing_format():
    stand.write_npy("X.npy", [[1.0]])
    rejects(2, "--to", "cast", "X.npy", "-o", "C.npy")
    rejects(2, "--to", "cast", "X.npy", "-o", "C.npy", "--to", "e5m2")
    rejects(2, "--to", "cast", "X.npy", "-o", "C.npy", "--to", "mixed")  # a single number has no grid


def test_rejects_an_output_that_is_an_input():
    stand.write_npy("X.npy", [[1.0]])
    os.symlink("X.npy", "same.npy")
    rejects(2, "is also an input", "cast", "X.npy", "-o", "X.npy", "--to", "e2m1")
    rejects(2, "is also an input", "cast", "X.npy", "-o", "same.npy", "--to", "e2m1")
    check_equal(stand.read_npy("X.npy")[1], [[1.0]], "the input")


if __name__ == "__main__":
    stand.main(globals())
