# SPDX-License-Identifier: Apache-2.0
"""The package gives the bits and the files of the program."""

import itertools
import pathlib

from support import bfloat16, gaussian, np, same

import stand
import ufp4
from stand import check, check_equal, passes


def words(options):
    """Options of the program for arguments of the package."""
    out = []
    for key, value in options.items():
        out += ["--" + key.rstrip("_").replace("_", "-"), str(value)]
    return out


def program_file(x, *options):
    np.save("X.npy", x if x.dtype != bfloat16 else x.view(np.uint16))
    passes("quantize", "X.npy", "-o", "Q.safetensors", *options, *(["--bf16"] if x.dtype == bfloat16 else []))
    return pathlib.Path("Q.safetensors").read_bytes()


def check_file(x, packed=False, **options):
    q = ufp4.quantize(x, **options)
    want = program_file(x, *words(options), *(["--packed"] if packed else []))
    got = q.to_safetensors(packed=packed)
    check(got == want, f"{options}, packed {packed}: {got[:700]} and {want[:700]}")
    again = ufp4.Quantized.from_safetensors("Q.safetensors")
    check(again.to_safetensors(packed=packed) == want, f"{options}: read back")
    return q


def test_quantize_writes_the_files_of_the_program():
    x = gaussian(5, 37)
    for elem in ("e2m1", "e1m2", "int4"):
        for options in (
            {},
            {"rht": "on"},
            {"axis": "col", "rht": "on"},
            {"round": "sr", "seed": 7, "tensor_id": 3, "scale_round": "up"},
            {"scale": "fp32"},
            {"tensor_exponent": -3},
            {"rht": "on", "rht_mask": 0x1234},
        ):
            check_file(x, elem=elem, **options)


def test_quantize_with_the_other_scales():
    x = gaussian(33, 70)
    for packed in (False, True):
        check_file(x, packed, elem="e2m1", scale="nvfp4")
        check_file(x, packed, elem="e2m1", scale="nvfp4", layout="2d", scale_round="46")
        check_file(x, packed, elem="e2m1", scale="nvfp4", rht="bf16", axis="col")
        check_file(x, packed, elem="e2m1", scale="e8m0", block=32)
        check_file(x, packed, elem="e1m2", scale="e8m0", scale_round="up", round="sr")
        check_file(x, packed, elem="e1m2", scale="fp32", layout="2d")


def test_quantize_by_recipe():
    x = gaussian(20, 50)
    operands = (("x", "fprop"), ("w", "fprop"), ("dy", "dgrad"), ("w", "dgrad"), ("dy", "wgrad"), ("x", "wgrad"))
    for recipe in ("ufp4", "e2m1", "nvfp4", "mxfp4"):
        for role, pass_ in operands:
            check_file(x, recipe=recipe, role=role, pass_=pass_, seed=5)
    check_file(x, recipe="ufp4", role="dy", pass_="dgrad", elem="int4", round="rne", scale="e4m3")
    check_file(x, recipe="ufp4", role="dy", pass_="dgrad", elem="int4", scale="e8m0", rht="off", layout="1d")


def test_quantize_takes_types_and_orders():
    x = gaussian(17, 40)
    check_file(x.astype(bfloat16), elem="e2m1")
    for other in (np.float16, np.float64):
        check_file(x.astype(other), elem="e2m1", rht="on")
    for axis in ("row", "col"):
        want = ufp4.quantize(x, elem="e1m2", axis=axis, round="sr").to_safetensors()
        views = {
            "fortran": np.asfortranarray(x),
            "rows apart": np.pad(x, ((0, 0), (0, 9)))[:, :40],
            "columns apart": np.asfortranarray(np.pad(x, ((0, 5), (0, 0))))[:17],
        }
        for what, view in views.items():
            check(
                ufp4.quantize(view, elem="e1m2", axis=axis, round="sr").to_safetensors() == want, f"{what}, axis {axis}"
            )
    frozen = x.copy()
    frozen.flags.writeable = False
    ufp4.quantize(frozen, elem="e2m1")


def test_dequantize_gives_the_values_of_the_program():
    x = gaussian(6, 37)
    for options in (
        {"elem": "e2m1"},
        {"elem": "e1m2", "rht": "on"},
        {"elem": "e2m1", "scale": "nvfp4", "rht": "bf16"},
        {"elem": "int4", "scale": "fp32"},
    ):
        q = check_file(x, **options)
        passes("dequantize", "Q.safetensors", "-o", "D.npy")
        same(q.dequantize(), np.load("D.npy"), f"{options}")
        if q.rht != "off":
            passes("dequantize", "Q.safetensors", "-o", "D.npy", "--unrotate")
            same(q.dequantize(unrotate=True), np.load("D.npy"), f"{options}, unrotate")


def check_gemm(left, right, extra=(), **options):
    pathlib.Path("A.safetensors").write_bytes(left.to_safetensors())
    pathlib.Path("B.safetensors").write_bytes(right.to_safetensors())
    passes("gemm", "A.safetensors", "B.safetensors", "-o", "D.npy", *words(options), *extra)
    want = np.load("D.npy")
    return want.view(bfloat16) if want.dtype == np.uint16 else want


def test_gemm_gives_the_bits_of_the_program():
    a, b = gaussian(19, 70), gaussian(33, 70, seed=2)
    for elem, scale in itertools.product(("e2m1", "e1m2"), ("e4m3", "e8m0", "fp32")):
        left, right = ufp4.quantize(a, elem=elem, scale=scale), ufp4.quantize(b, elem=elem, scale=scale)
        for options in ({}, {"accumulate": "fp32"}, {"alpha": 0.3}, {"out": "bf16"}):
            same(ufp4.gemm(left, right, **options), check_gemm(left, right, **options), f"{elem} {scale} {options}")
    left, right = (ufp4.quantize(x, elem="e2m1", scale="nvfp4") for x in (a, b))
    for accumulate in ("exact", "fp32", "nv"):
        same(
            ufp4.gemm(left, right, accumulate=accumulate),
            check_gemm(left, right, accumulate=accumulate),
            f"nvfp4 {accumulate}",
        )


def test_gemm_adds_c_and_sums():
    left, right = (ufp4.quantize(gaussian(rows, 40), elem="e1m2", rht="on") for rows in (18, 21))
    c = gaussian(18, 21)
    np.save("C.npy", c)
    want = check_gemm(left, right, ("--c", "C.npy"), alpha=2)
    same(ufp4.gemm(left, right, c=c, alpha=2), want, "C")
    same(ufp4.gemm(left, right, c=np.pad(c, ((0, 0), (0, 3)))[:, :21], alpha=2), want, "C, rows apart")
    sums = ufp4.gemm(left, right, out="i64")
    same(sums, check_gemm(left, right, out="i64"), "unrounded sums")
    np.save("S.npy", sums)
    same(
        ufp4.gemm(left, right, accumulate_in=sums), check_gemm(left, right, ("--accumulate-in", "S.npy")), "sums added"
    )
    low = c.astype(bfloat16)
    np.save("C.npy", low.view(np.uint16))
    same(ufp4.gemm(left, right, c=low), check_gemm(left, right, ("--c", "C.npy", "--bf16")), "C of BF16")


def test_gemm_does_not_depend_on_threads():
    left, right = (ufp4.quantize(gaussian(rows, 512), elem="e2m1") for rows in (130, 150))
    want = ufp4.gemm(left, right, threads=1)
    for threads in (None, 2, 5):
        same(ufp4.gemm(left, right, threads=threads), want, f"{threads} threads")


def test_cast_gives_the_codes_of_the_program():
    x = np.concatenate(
        [gaussian(6, 40) * 5, np.array([[np.nan, np.inf, -np.inf, -0.0, 448, 449, 1e-30, 2**-127]] * 6, np.float32)],
        axis=1,
    )
    for to, round in (("e2m1", None), ("e1m2", "rne"), ("int4", None), ("e4m3", None), ("e8m0", None), ("e8m0", "up")):
        for array in (x, x.astype(bfloat16)):
            np.save("X.npy", array if array.dtype == np.float32 else array.view(np.uint16))
            passes(
                "cast",
                "X.npy",
                "-o",
                "C.npy",
                "--to",
                to,
                *(["--round", round] if round else []),
                *(["--bf16"] if array is not x else []),
            )
            same(ufp4.cast(array, to, round), np.load("C.npy"), f"{to} {round}")
            same(
                np.ascontiguousarray(ufp4.cast(np.asfortranarray(array), to, round)),
                np.load("C.npy"),
                f"{to} {round}, Fortran order",
            )


def test_random_gives_the_words_of_the_program():
    key, counter = (1, 2, 3, 2**32 - 1), (2**32 - 1, 2**32 - 1, 7, 0)
    for rounds in ({}, {"rounds": 20}):
        options = [word for name, value in rounds.items() for word in (f"--{name}", value)]
        result = passes(
            "random", "--key", ",".join(map(str, key)), "--counter", ",".join(map(str, counter)), "--count", 3, *options
        )
        want = np.array([[int(word, 16) for word in line.split()] for line in result.out.splitlines()], np.uint32)
        same(ufp4.random(key=key, counter=counter, count=3, **rounds), want, str(rounds))


def test_bias_gives_the_figures_of_the_program():
    import json

    x = gaussian(64, 100)
    np.save("X.npy", x)
    lines = json.loads(passes("bias", "X.npy", "--json").out)["tensors"]
    check_equal(len(lines), 14, "lines")
    for line in lines:
        got = ufp4.bias(x, elem=line["format"], scale=line["scale"], rht=line["rht"])
        for key in ("bias_percent", "kept", "sqnr_db", "bucket_ratio", "uniform"):
            if line[key] is None:
                check(np.isnan(getattr(got, key)), f"{line}: {got}")
                continue
            check(abs(getattr(got, key) - line[key]) <= 1e-8 * abs(line[key]), f"{line}: {got}")


def test_rht_is_what_the_quantizer_sees():
    x = gaussian(7, 45)
    x[2, 5] = np.inf
    rotated = ufp4.rht(x)
    check(
        np.isnan(rotated[2, :16]).all() and np.isfinite(np.delete(rotated, 2, axis=0)).all(),
        "the block with Inf, and no other",
    )
    with np.errstate(invalid="ignore"):
        import warnings

        warnings.simplefilter("ignore")
        by_quantizer = ufp4.quantize(x, elem="e1m2", rht="on")
        of_rotated = ufp4.quantize(
            rotated.astype(np.float32), elem="e1m2", tensor_exponent=by_quantizer.tensor_exponent
        )
    # Rounding to FP32 on the way moves no code here.
    same(by_quantizer.scales, of_rotated.scales, "scales")
    same(ufp4.rht(x, kind="bf16").astype(bfloat16).astype(np.float64), ufp4.rht(x, kind="bf16"), "BF16 numbers")
    same(ufp4.rht(np.asfortranarray(x)), rotated, "Fortran order")


def test_recipes_are_those_of_recipe_files():
    import json

    x = gaussian(20, 40)
    own = {
        "name": "mine",
        "elem": "e1m2",
        "scale": "fp32",
        "rht": {"wgrad": "integer"},
        "rht_mask": "0x1234",
        "round": {"dy": {"wgrad": "sr"}},
        "layout": {"w": "2d"},
        "bf16_passes": ["dgrad"],
    }
    pathlib.Path("own.json").write_text(json.dumps(own))
    for role, pass_ in (("x", "fprop"), ("w", "fprop"), ("dy", "wgrad"), ("x", "wgrad")):
        got = ufp4.quantize(x, recipe=own, role=role, pass_=pass_, seed=3).to_safetensors()
        check(
            got == program_file(x, "--recipe", "own.json", "--role", role, "--pass", pass_, "--seed", 3),
            f"{role} {pass_}",
        )
    del own["name"]
    pathlib.Path("other.json").write_text(json.dumps(own))
    for name in ("own.json", "other.json/sr=none", "other.json/rht=none"):
        got = ufp4.quantize(x, recipe=name, role="dy", pass_="wgrad", seed=3).to_safetensors()
        check(got == program_file(x, "--recipe", name, "--role", "dy", "--pass", "wgrad", "--seed", 3), name)
        check_equal(ufp4.recipe(ufp4.recipe(name).to_dict()), ufp4.recipe(name), f"{name} as a dict")
    check_equal(ufp4.recipe("other.json/sr=none").name, "other/sr=none", "name")
    for name in ("ufp4/sr=wgrad", "ufp4/rht=dgrad+wgrad"):
        got = ufp4.quantize(x, recipe=name, role="dy", pass_="dgrad", seed=3).to_safetensors()
        check(got == program_file(x, "--recipe", name, "--role", "dy", "--pass", "dgrad", "--seed", 3), name)
        check(
            (got == ufp4.quantize(x, recipe="ufp4", role="dy", pass_="dgrad", seed=3).to_safetensors())
            == ("rht" in name),
            name,
        )
    for name in (
        "fp32",
        "bf16",
        "ufp4",
        "ufp4-mixed",
        "e2m1",
        "e2m1-46",
        "e2m1-mixed",
        "nvfp4",
        "nvfp4-full",
        "nvint4",
        "nve1m2",
        "mxfp4",
        "mxfp4-rht",
    ):
        made = ufp4.recipe(name)
        check_equal(made.name, name, "name")
        if made.quantized:
            again = ufp4.recipe(made.to_dict() | {"name": "again"})
            check_equal(again.to_dict() | {"name": name}, made.to_dict(), name)


def test_recipe_files_have_the_names_of_the_program():
    """The program names a recipe that needs a whole model when it refuses it."""
    np.save("X.npy", gaussian(1, 16))
    words = ("quantize", "X.npy", "-o", "Q.safetensors", "--role", "x", "--pass", "fprop", "--recipe")
    text = '{"elem": "e2m1", "rht": "integer", "signs": "step"}'
    for file, name in (
        ("my.v2.json", "my"),
        ("a b,(c).x.json", "a-b--c-"),
        ("grün.json", "grün"),
        ("f\udcfc.json", "f-"),
        (40 * "n" + ".json", 31 * "n"),
    ):
        pathlib.Path(file).write_text(text)
        stand.rejects(2, f"--recipe {name}: signs", *words, file)
        check_equal(ufp4.recipe(file).name, name, repr(file))


def test_larger_blocks_and_transforms_are_those_of_the_program():
    x = gaussian(5, 192)
    for block in (32, 64, 128):
        for size in (None, 16, 32, 64):
            more = {} if size is None else {"rht": "on", "rht_size": size}
            options = ["--elem", "e1m2", "--round", "sr", "--seed", 7, "--block", block] + (
                [] if size is None else ["--rht", "on", "--rht-size", size]
            )
            q = ufp4.quantize(x, elem="e1m2", block=block, round="sr", seed=7, **more)
            check(q.to_safetensors() == program_file(x, *options), f"{block} {size}")
            again = ufp4.Quantized.from_safetensors(q.to_safetensors(packed=True))
            check(
                again.to_safetensors() == q.to_safetensors() and (again.block, again.rht_size) == (block, size or 16),
                repr(again),
            )
            same(ufp4.gemm(again, again), ufp4.gemm(q, q), "product")


def test_files_of_others_are_read():
    q = ufp4.quantize(gaussian(4, 48), elem="e2m1")
    metadata = {"elem": "e2m1", "scale": "e4m3", "block": "16", "tensor_exponent": str(q.tensor_exponent)}
    for dtype, shape in (("U8", [4, 24]), ("F4", [4, 48])):
        stand.write_safetensors(
            "O.safetensors",
            metadata,
            {"codes": (dtype, shape, q.packed_codes.tobytes()), "scales": ("F8_E4M3", [4, 3], q.scales.tobytes())},
        )
        same(ufp4.Quantized.from_safetensors("O.safetensors").dequantize(), q.dequantize(), dtype)


def test_mixed_is_as_the_program_has_it():
    """Scales keep bit 7, the grid of each block, also in files whose scales are F8_E4M3."""
    x = gaussian(20, 64)
    for scale in ("e4m3", "nvfp4"):
        q = ufp4.quantize(x, elem="mixed", scale=scale)
        check(q.to_safetensors() == program_file(x, "--elem", "mixed", "--scale", scale), scale)
        check_equal(set((q.scales >> 7).flat), {0, 1}, f"grids with {scale}")
        again = ufp4.Quantized.from_safetensors(q.to_safetensors(packed=True))
        same(again.dequantize(), q.dequantize(), scale)
        other = ufp4.quantize(x, elem="e1m2", scale=scale)
        same(ufp4.gemm(again, other), ufp4.gemm(q, other), "product")
        q.to_safetensors("Q.safetensors")
        metadata, tensors = stand.read_safetensors("Q.safetensors")
        kind, shape, scales = tensors["scales"]
        stand.write_safetensors("F8.safetensors", metadata, tensors | {"scales": ("F8_E4M3", shape, scales)})
        same(ufp4.Quantized.from_safetensors("F8.safetensors").dequantize(), q.dequantize(), "F8_E4M3")


def test_safetensors_reads_the_files():
    try:
        import safetensors
        import safetensors.numpy
    except ImportError as error:
        raise stand.Skipped(f"{error}; ./ufp4 test installs it from PyPI")
    for options in ({"elem": "e2m1"}, {"elem": "e1m2", "scale": "fp32"}):
        q = ufp4.quantize(gaussian(5, 37), **options)
        q.to_safetensors("Q.safetensors")
        tensors = safetensors.numpy.load_file("Q.safetensors")
        same(tensors["codes"], q.codes, "codes")
        same(tensors["scales"], q.scales, "scales")
        with safetensors.safe_open("Q.safetensors", "np") as file:
            metadata = file.metadata()
        check_equal(metadata["elem"], options["elem"], "metadata")
        safetensors.numpy.save_file(tensors, "again.safetensors", metadata)
        check(
            ufp4.Quantized.from_safetensors("again.safetensors").to_safetensors() == q.to_safetensors(),
            "written by safetensors",
        )


if __name__ == "__main__":
    stand.main(globals())
