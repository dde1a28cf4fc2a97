# SPDX-License-Identifier: Apache-2.0
"""Compares the package with other packages and with simple arithmetic of our own; hypothesis searches for shapes and
types that differ."""

import warnings

from support import bfloat16, gaussian, ml_dtypes, np, same

import stand
import ufp4
from stand import check, slow

GRIDS = {"e2m1": [0, 0.5, 1, 1.5, 2, 3, 4, 6], "e1m2": [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]}


def elements(elem):
    """Returns the values of the codes 0 to 15."""
    if elem == "int4":
        return np.array([*range(8), *range(-8, 0)], np.float32)
    return np.array(GRIDS[elem] + [-1.0 * v for v in GRIDS[elem]], np.float32)


def decode(q):
    """Returns element * scale * 2^-t * Sd in float64."""
    scales = np.repeat(q.float_scales.astype(np.float64), q.block, axis=1)[:, : q.codes.shape[1]]
    return elements(q.elem)[q.codes] * scales * 2.0**-q.tensor_exponent * q.tensor_scale


def test_casts_are_those_of_ml_dtypes():
    x = (
        np.concatenate([np.linspace(-9, 9, 6000), np.logspace(-12, 3, 6000), -np.logspace(-12, 3, 6000)])
        .astype(np.float32)
        .reshape(60, -1)
    )
    nearest = ufp4.cast(x, "e2m1")
    check(
        np.array_equal(elements("e2m1")[nearest], x.astype(ml_dtypes.float4_e2m1fn).astype(np.float32)), "e2m1"
    )  # -0 is 0
    small = x[np.abs(x) <= 448]
    same(ufp4.cast(small[None], "e4m3")[0], small.astype(ml_dtypes.float8_e4m3fn).view(np.uint8), "e4m3")


def test_mxfp4_is_ocps():
    """OCP MX 1.0, 6.3: the scale is 2^(floor(log2 amax) - 2) for E2M1; elements are nearest even, and saturate."""
    x = gaussian(40, 96) * np.exp2(np.arange(40, dtype=np.float32) - 20)[:, None]
    q = ufp4.quantize(x, elem="e2m1", scale="e8m0")
    blocks = x.reshape(40, 3, 32)
    exponents = np.floor(np.log2(np.abs(blocks).max(axis=2))).astype(int) - 2
    same(q.scales, (exponents + 127).astype(np.uint8), "scales")
    scaled = np.clip(np.ldexp(blocks, -exponents[..., None]).reshape(40, 96), -6, 6)
    want = scaled.astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    check(np.array_equal(elements("e2m1")[q.codes], want), "elements")  # -0 is 0


def test_gfloat_decodes_the_same_elements():
    try:
        import gfloat
        from gfloat.formats import format_info_ocp_e2m1
    except ImportError as error:
        raise stand.Skipped(f"{error}; ./ufp4 test installs it from PyPI")
    want = np.array([gfloat.decode_float(format_info_ocp_e2m1, code).fval for code in range(16)], np.float32)
    same(elements("e2m1"), want, "values")


def test_values_are_element_times_scale():
    for options in (
        {"elem": "e2m1"},
        {"elem": "e1m2", "rht": "on"},
        {"elem": "int4", "scale": "fp32"},
        {"elem": "e2m1", "scale": "nvfp4"},
        {"elem": "e1m2", "scale": "e8m0", "round": "sr"},
    ):
        q = ufp4.quantize(gaussian(33, 70), **options)
        same(q.dequantize(), decode(q).astype(np.float32), f"{options}")


def test_larger_blocks_and_transforms_are_those_of_numpy():
    """The transform is exact on whole numbers, so float64 reproduces everything but the rounding."""
    rng = np.random.default_rng(stand.stream(5))
    for block in (16, 32, 64, 128):
        for size, divisor in ((16, 4), (32, 4), (64, 8)):
            x = rng.integers(-99, 100, (7, 192)).astype(np.float32) * rng.integers(1, 20, (7, 192)).astype(np.float32)
            mask = int(rng.integers(0, 2**63)) % 2**size
            signs = np.array([-1.0 if mask >> i & 1 else 1.0 for i in range(size)])
            hadamard = np.array([[(-1.0) ** (i & j).bit_count() for j in range(size)] for i in range(size)])
            y = ((x.astype(np.float64).reshape(-1, size) * signs) @ hadamard / divisor).reshape(7, 192)
            q = ufp4.quantize(x, elem="e1m2", block=block, rht="on", rht_size=size, rht_mask=mask)
            t = int(np.floor(np.log2(784 / np.abs(y).max())))
            padded = np.zeros((7, -(-192 // block) * block))
            padded[:, :192] = y
            amax = np.abs(padded).reshape(7, -1, block).max(axis=2)
            scales = (amax * 2.0**t / 1.75).astype(np.float32).astype(ml_dtypes.float8_e4m3fn)
            codes = np.minimum(
                np.rint(4 * np.abs(y) * 2.0**t / np.repeat(scales.astype(np.float64), block, axis=1)[:, :192]), 7
            ).astype(int)
            check(
                q.tensor_exponent == t and np.array_equal(q.float_scales.view(np.uint8), scales.view(np.uint8)),
                f"{block} {size}: scales",
            )
            check(np.array_equal(q.codes, np.where(y < 0, codes + 8, codes)), f"{block} {size}: codes")
            product = q.dequantize().astype(np.float64) @ q.dequantize().astype(np.float64).T / (2 if size == 32 else 1)
            check(np.array_equal(ufp4.gemm(q, q), product.astype(np.float32)), f"{block} {size}: product")


def test_gemm_is_the_exact_product_rounded_once():
    for elem, scale in (("e2m1", "e4m3"), ("e1m2", "e4m3"), ("e2m1", "e8m0")):
        a, b = (ufp4.quantize(gaussian(rows, 80), elem=elem, scale=scale) for rows in (20, 30))
        same(ufp4.gemm(a, b), (decode(a) @ decode(b).T).astype(np.float32), f"{elem} {scale}")


@slow
def test_any_shape_type_and_order_is_taken_or_refused():
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError as error:
        raise stand.Skipped(f"{error}; ./ufp4 test installs it from PyPI")
    side = st.integers(1, 70)
    types = st.sampled_from([np.float32, bfloat16, np.float16, np.float64])
    views = st.sampled_from(["c", "fortran", "rows apart", "reversed", "every second"])
    words = st.fixed_dictionaries(
        {
            "elem": st.sampled_from(["e2m1", "e1m2", "int4"]),
            "scale": st.sampled_from(["e4m3", "nvfp4", "e8m0", "fp32"]),
            "layout": st.sampled_from(["1d", "2d"]),
            "axis": st.sampled_from(["row", "col"]),
            "rht": st.sampled_from(["off", "on", "bf16"]),
            "round": st.sampled_from(["rne", "sr"]),
            "scale_round": st.sampled_from([None, "rne", "up", "down", "46"]),
            "seed": st.integers(0, 2**64 - 1),
            "tensor_id": st.integers(0, 2**64 - 1),
        }
    )

    def look(x, view):
        wide = np.zeros((x.shape[0] * 2, x.shape[1] * 2), x.dtype)
        if view == "fortran":
            return np.asfortranarray(x)
        if view == "rows apart":
            wide[: x.shape[0], : x.shape[1]] = x
            return wide[: x.shape[0], : x.shape[1]]
        if view == "every second":
            wide[::2, ::2] = x
            return wide[::2, ::2]
        return x[::-1] if view == "reversed" else x

    @hypothesis.seed(stand.TEST_SEED)
    @hypothesis.settings(max_examples=400, deadline=None, derandomize=stand.TEST_SEED == 0, database=None)
    @hypothesis.given(side, side, types, views, words, st.integers(0, 2**32))
    def property_(rows, cols, dtype, view, options, seed):
        x = gaussian(rows, cols, dtype, seed)
        try:
            want = ufp4.quantize(x, **options)
        except ValueError as error:
            hypothesis.assume("does not work with" not in str(error))
            raise
        shown = look(x, view)
        try:
            got = ufp4.quantize(shown, **options)
        except ValueError as error:
            check("not contiguous" in str(error) and view in ("reversed", "every second"), f"{view} {x.shape}: {error}")
            return
        wanted = want if view != "reversed" else ufp4.quantize(np.ascontiguousarray(shown), **options)
        check(got.to_safetensors() == wanted.to_safetensors(), f"{view} {x.shape} {options}")
        check(
            ufp4.Quantized.from_safetensors(got.to_safetensors(packed=True)).to_safetensors() == got.to_safetensors(),
            "read back",
        )
        same(got.dequantize(), decode(got).astype(np.float32), f"{options}")

    warnings.simplefilter("ignore")
    property_()


if __name__ == "__main__":
    stand.main(globals())
