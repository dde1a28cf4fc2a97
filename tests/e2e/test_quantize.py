# SPDX-License-Identifier: Apache-2.0
"""Tests quantize and dequantize: files, options, illegal combinations, and missing features."""

import math
import pathlib
import struct

import stand
from stand import check, check_equal, passes, rejects

Q = ["-o", "Q.safetensors"]
LITTLE_MEMORY = ["sh", "-c", 'ulimit -v 4000000; exec "$@"', "sh"]


def quantize(*options, rows=None, **file_options):
    """Quantizes rows. Returns metadata and tensors."""
    stand.write_npy("X.npy", rows if rows is not None else stand.gaussian(5, 37), **file_options)
    passes("quantize", "X.npy", *Q, *options)
    return stand.read_safetensors("Q.safetensors")


def test_file_is_as_promised():
    seed = "18446744073709551615"
    metadata, tensors = quantize(
        "--elem", "e2m1", "--round", "sr", "--seed", seed, "--tensor-id", "7", "--scale-round", "up"
    )
    want = dict(
        format="ufp4-1",
        elem="e2m1",
        scale="e4m3",
        block="16",
        axis="row",
        rht="none",
        round="sr",
        scale_round="up",
        seed=seed,
        tensor_id="7",
        rows="5",
        cols="37",
        flags="",
    )
    t = metadata.pop("tensor_exponent")
    check_equal(metadata, want, "metadata")
    check_equal(str(int(t)), t, "t in decimal")
    check_equal(tensors["codes"][:2], ("U8", [5, 37]), "codes")
    check_equal(tensors["scales"][:2], ("U8", [5, 3]), "scales")
    check(max(tensors["codes"][2]) < 16, "codes stand in the low nibble")


def test_worked_examples_of_the_document():
    """Quantizes the block of docs/reference/numerics.md, section 7, and compares with its text."""
    root = pathlib.Path(__file__).parents[2]
    text = (root / "docs/reference/numerics.md").read_text()
    cases = [
        ("t = 7", "e1m2", [], "7e", "193183f105a02c68"),
        ("t = 8", "e2m1", [], "78", "1a5284f206c03e68"),
        ("t = 9", "int4", [], "7e", "1f31039105e02c60"),
        ("nearest:", "e1m2", ["--rht", "on"], "7a", "b7f1329965afbd53"),
        ("up:", "e1m2", ["--rht", "on", "--scale-round", "up"], "7b", "b7e12299649ebd43"),
        ("nearest:", "e2m1", ["--rht", "on"], "7c", "d7f2449976bfde64"),
        ("up:", "e2m1", ["--rht", "on", "--scale-round", "up"], "7d", "d7f2439966afde54"),
        ("", "e1m2", ["--scale-round", "up", "--round", "sr", "--tensor-id", "64"], "7e", "193182f105b11c68"),
        ("e2m1:", "e2m1", ["--scale", "e8m0"], "7f", "1a5284f206c03e68"),
        ("e1m2:", "e1m2", ["--scale", "e8m0"], "81", "093182e104a02c58"),
        ("FP32 scales", "e1m2", ["--scale", "fp32"], "b76d5b40", "193183f105a02c68"),
        ("NVFP4", "e2m1", ["--scale", "nvfp4"], "7e", "1a5284f206c03e68"),
    ]
    for label, elem, options, scale, codes in cases:
        passes("quantize", root / "tests/golden/example.npy", *Q, "--elem", elem, *options)
        _, tensors = stand.read_safetensors("Q.safetensors")
        got = "".join(f"{c:x}" for c in tensors["codes"][2])
        check_equal((tensors["scales"][2].hex(), got), (scale, codes), f"{elem} {options}")
        note = " (as it lies in the file, little-endian)" if len(scale) == 8 else ""
        line = f"scale {scale}{note}, codes {' '.join(codes)}"
        check(line in text and label in text, f"docs/reference/numerics.md should say: {line}")


def test_worked_example_of_the_contracts():
    root = pathlib.Path(__file__).parents[2]
    for name in "ab":
        passes(
            "quantize",
            root / f"tests/golden/contract_{name}.npy",
            "-o",
            f"{name}.safetensors",
            "--elem",
            "e1m2",
            "--tensor-exponent",
            "0",
        )
    got = []
    for contract in ("exact", "fp32", "nv"):
        passes("gemm", "a.safetensors", "b.safetensors", "-o", "d.npy", "--accumulate", contract)
        got.append(f"{contract} {stand.f32_bits(stand.read_npy('d.npy')[1][0][0]):08x}")
    check(
        ", ".join(got) in (root / "docs/reference/numerics.md").read_text(),
        f"docs/reference/numerics.md should say: {got}",
    )


def test_packed_holds_two_codes_a_byte():
    _, plain = quantize("--elem", "e1m2")
    metadata, packed = quantize("--elem", "e1m2", "--packed")
    check_equal(packed["codes"][1], [5, 19], "shape")
    for r in range(5):
        row = plain["codes"][2][37 * r : 37 * r + 37] + b"\0"
        want = bytes(row[2 * i] | row[2 * i + 1] << 4 for i in range(19))
        check_equal(packed["codes"][2][19 * r : 19 * r + 19], want, f"row {r}")
    check_equal(packed["scales"], plain["scales"], "scales")
    passes("dequantize", "Q.safetensors", "-o", "D.npy")
    packed_values = stand.read_npy("D.npy")
    quantize("--elem", "e1m2")
    passes("dequantize", "Q.safetensors", "-o", "D.npy")
    check_equal(stand.read_npy("D.npy"), packed_values, "decoded values")


def test_rht_pads_the_codes():
    metadata, tensors = quantize("--elem", "e1m2", "--rht", "on")
    check_equal(tensors["codes"][1], [5, 48], "codes")
    check_equal(metadata["rht"], "0xD7E8", "mask")
    check_equal(metadata["cols"], "37", "logical columns")
    metadata, _ = quantize("--elem", "e1m2", "--rht", "on", "--rht-mask", "0x1", "--packed")
    check_equal(metadata["rht"], "0x0001", "mask")


def test_axis_col_is_the_transposed_tensor():
    rows = stand.gaussian(5, 37)
    metadata, tensors = quantize("--elem", "e2m1", "--axis", "col", rows=rows)
    check_equal(tensors["codes"][1], [37, 5], "codes")
    check_equal((metadata["rows"], metadata["cols"], metadata["axis"]), ("37", "5", "col"), "shape")
    _, other = quantize("--elem", "e2m1", rows=[list(c) for c in zip(*rows)])
    check_equal(tensors, other, "tensors")


def test_recipe_is_its_parts():
    """Spells out each role and pass of each recipe."""
    axes = dict(fprop=dict(x="row", w="row"), dgrad=dict(dy="row", w="col"), wgrad=dict(dy="col", x="col"))
    for recipe, elem in (("ufp4", "e1m2"), ("e2m1", "e2m1")):
        for name, roles in axes.items():
            for role, axis in roles.items():
                rht = "on" if recipe == "ufp4" or name == "wgrad" else "off"
                rounds = ["--round", "sr", "--scale-round", "up"] if role == "dy" else []
                number = dict(x=0, w=1, dy=2)[role] << 1 | (axis == "col")
                by_recipe = quantize("--recipe", recipe, "--role", role, "--pass", name, "--seed", 5)
                by_parts = quantize(
                    "--elem", elem, "--axis", axis, "--rht", rht, *rounds, "--seed", 5, "--tensor-id", number
                )
                check_equal(by_recipe, by_parts, f"{recipe} {role} {name}")


def test_parts_override_a_recipe():
    metadata, _ = quantize(
        "--recipe", "ufp4", "--role", "dy", "--pass", "dgrad", "--elem", "int4", "--round", "rne", "--scale", "e4m3"
    )
    check_equal((metadata["elem"], metadata["round"], metadata["scale_round"]), ("int4", "rne", "up"), "metadata")


def test_a_recipe_of_ones_own_has_its_mask():
    pathlib.Path("own.json").write_text('{"elem": "e1m2", "rht": "integer", "rht_mask": "0x1234"}')
    by_recipe = quantize("--recipe", "own.json", "--role", "x", "--pass", "fprop")
    check_equal(by_recipe, quantize("--elem", "e1m2", "--rht", "on", "--rht-mask", "0x1234"), "by its parts")
    other = quantize("--recipe", "own.json", "--role", "x", "--pass", "fprop", "--rht-mask", "0xD7E8")
    check_equal(other, quantize("--elem", "e1m2", "--rht", "on"), "with another mask")


def test_the_largest_numbers_are_taken_as_given():
    metadata, _ = quantize(
        "--recipe", "ufp4", "--role", "dy", "--pass", "dgrad", "--tensor-id", 2**64 - 1, "--seed", 2**64 - 1
    )
    check_equal((metadata["tensor_id"], metadata["seed"]), (str(2**64 - 1),) * 2, "metadata")
    rejects(2, "--tensor-exponent", "quantize", "X.npy", *Q, "--elem", "e1m2", "--tensor-exponent", 2**63 - 1)


def test_all_input_types_give_the_same_codes():
    rows = [[1.0, -2.5, 0.375, 6.0, -0.0, 3.0]] * 3
    want = quantize("--elem", "e2m1", rows=rows)
    for descr in ("<f8", "<f2"):
        check_equal(quantize("--elem", "e2m1", rows=rows, descr=descr), want, descr)
    check_equal(quantize("--elem", "e2m1", rows=rows, fortran=True), want, "Fortran order")
    bf16 = [[stand.f32_bits(v) >> 16 for v in row] for row in rows]
    check_equal(quantize("--elem", "e2m1", "--bf16", rows=bf16, descr="<u2"), want, "uint16")
    data = b"".join(struct.pack("<6f", *row) for row in rows)
    stand.write_safetensors("X.safetensors", {}, {"other": ("F32", [1, 1], b"abcd"), "w.0": ("F32", [3, 6], data)})
    passes("quantize", "X.safetensors:w.0", *Q, "--elem", "e2m1")
    check_equal(stand.read_safetensors("Q.safetensors"), want, "safetensors")


def test_dequantize_gives_every_code_its_value():
    for options in (["--elem", "e2m1"], ["--elem", "e1m2", "--rht", "on"], ["--elem", "int4", "--round", "sr"]):
        quantize(*options)
        passes("dequantize", "Q.safetensors", "-o", "D.npy")
        descr, got = stand.read_npy("D.npy")
        check_equal(descr, "<f4", "type")
        stand.same_bits(got, stand.decode("Q.safetensors"), f"{options}")


def test_unrotate_undoes_the_transform():
    rows = stand.gaussian(5, 37)
    for options in (["--rht", "on"], ["--rht", "bf16", "--rht-mask", "0x1234"], ["--rht", "on", "--axis", "col"]):
        quantize("--elem", "e1m2", *options, rows=rows)
        metadata, _ = stand.read_safetensors("Q.safetensors")
        mask = int(metadata["rht"].split(":")[-1], 16)
        want = []
        for row in stand.decode("Q.safetensors"):
            line = []
            for b in range(0, len(row), 16):
                for j in range(16):
                    total = math.fsum(-v if (i & j).bit_count() % 2 else v for i, v in enumerate(row[b : b + 16])) / 4
                    line.append(stand.to_f32(-total if mask >> j & 1 else total))
            want.append(line[: int(metadata["cols"])])
        passes("dequantize", "Q.safetensors", "-o", "D.npy", "--unrotate")
        _, got = stand.read_npy("D.npy")
        stand.same_bits([[v + 0.0 for v in row] for row in got], [[v + 0.0 for v in row] for row in want], f"{options}")
        original = list(zip(*rows)) if "col" in options else rows
        error = max(abs(g - x) for row, xs in zip(got, original, strict=True) for g, x in zip(row, xs, strict=True))
        check(error < 1, f"{options}: off by {error}")
    quantize("--elem", "e1m2")
    rejects(2, "no Hadamard transform", "dequantize", "Q.safetensors", "-o", "E.npy", "--unrotate")


def test_says_that_there_is_nan_or_inf():
    for value in (math.nan, math.inf, -math.inf):
        rows = stand.gaussian(3, 40)
        rows[1][20] = value
        stand.write_npy("X.npy", rows)
        check_equal(
            passes("quantize", "X.npy", *Q, "--elem", "e2m1").err,
            "ufp4 quantize: X.npy holds NaN, Inf or numbers beyond FP32; the scales of those blocks are NaN\n",
            f"{value}",
        )
        metadata, tensors = stand.read_safetensors("Q.safetensors")
        check_equal(metadata["flags"], "nan", "flags")
        check_equal([i for i, scale in enumerate(tensors["scales"][2]) if scale == 0x7F], [4], "NaN scales")
        check_equal(set(tensors["codes"][2][40 + 16 : 40 + 32]), {0}, "codes of that block")
        passes("dequantize", "Q.safetensors", "-o", "D.npy")
        _, got = stand.read_npy("D.npy")
        nan = [(r, c) for r, row in enumerate(got) for c, v in enumerate(row) if math.isnan(v)]
        check_equal(nan, [(1, c) for c in range(16, 32)], "NaN of dequantize")
    stand.write_npy("X.npy", [[1.0, 3e38]])
    check_equal(passes("quantize", "X.npy", *Q, "--elem", "e2m1").err, "", "neither")
    stand.write_npy("X.npy", [[3.18e38] * 16])  # 16 of them, over 4, exceed the range of BF16
    check_equal(
        passes("quantize", "X.npy", *Q, "--elem", "e2m1", "--rht", "bf16").err,
        "ufp4 quantize: X.npy holds NaN, Inf or numbers beyond FP32, or its transform numbers beyond BF16; the scales "
        "of those blocks are NaN\n",
        "a transform",
    )


def test_tensor_exponent_from_outside_saturates():
    metadata, tensors = quantize("--elem", "e2m1", "--tensor-exponent", "40")
    check_equal((metadata["flags"], metadata["tensor_exponent"]), ("saturated", "40"), "metadata")
    check_equal(set(tensors["scales"][2]), {0x7E}, "scales")
    metadata, _ = quantize("--elem", "e2m1", "--tensor-exponent", "-32768")
    check_equal((metadata["flags"], metadata["tensor_exponent"]), ("", "-32768"), "metadata")


def test_says_that_a_tensor_exponent_does_not_fit():
    stand.write_npy("X.npy", [[1.0, -1.75] * 16, [0.0] * 32, [448.0] * 32])
    for elem in ("e1m2", "int4", "mixed"):
        words = ["quantize", "X.npy", *Q, "--elem", elem, "--tensor-exponent"]
        small = "ufp4 quantize: --tensor-exponent -30 is too small: every code is 0\n"
        large = "ufp4 quantize: --tensor-exponent {} is too large: {} of 6 scales are 448, which is the largest\n"
        check_equal(passes(*words, -30).err, small, elem)
        check_equal(passes(*words, 0).err, "", f"{elem}: it fits")
        check_equal(passes(*words, 4).err, large.format(4, 2), elem)
        check_equal(passes(*words, 20).err, large.format(20, 4), elem)
    stand.write_npy("X.npy", [[0.0] * 32])
    check_equal(passes(*words, -30).err, "", "a tensor of zeros")


def test_same_bits_every_time():
    first = quantize("--elem", "e2m1", "--round", "sr", "--seed", 3)
    check_equal(quantize("--elem", "e2m1", "--round", "sr", "--seed", 3), first, "again")
    check(quantize("--elem", "e2m1", "--round", "sr", "--seed", 4)[1]["codes"] != first[1]["codes"], "another seed")


def test_rejects_sides_that_no_operand_has():
    """The commands that quantize refuse a side over 2^20; cast takes any."""
    long = 2**20 + 1
    pathlib.Path("row.npy").write_bytes(stand.npy_bytes([[1.0] * long]))
    pathlib.Path("col.npy").write_bytes(stand.npy_bytes([[1.0] * long], shape=(long, 1)))
    pathlib.Path("X.npy").write_bytes(stand.npy_bytes([[1.0] * (long - 1)]))
    for name, side in (("row", "columns"), ("col", "rows")):
        words = f"{name}.npy: it has 1048577 {side}; at most 1048576 are possible"
        rejects(2, words, "quantize", f"{name}.npy", *Q, "--elem", "e2m1")
        rejects(2, words, "layer", f"{name}.npy", f"{name}.npy", "-", "-o", "out", "--pass", "fprop")
        rejects(2, words, "bias", f"{name}.npy", "--axis", "col")
        passes("cast", f"{name}.npy", "-o", "C.npy", "--to", "e2m1")
    passes("quantize", "X.npy", *Q, "--elem", "e2m1")


def test_rejects_illegal_combinations():
    stand.write_npy("X.npy", [[1.0]])
    cases = [
        ("--scale nvfp4 --block 32", "block 32"),
        ("--block 64 --layout 2d", "block 64"),
        ("--block 24", "block 24 does not work"),
        ("--elem e1m2 --block 17", "block 17 does not work"),
        ("--rht on --rht-size 24", "--rht-size"),
        ("--rht on --rht-size 64 --scale fp32", "RHT size 64"),
        ("--rht on --rht-size 64", "must be a multiple"),
        ("--rht-mask 0x100000000 --rht on --rht-size 32", "more bits than the transform's 32 points"),
        ("--scale e8m0 --block 16", "block 16"),
        ("--scale e8m0 --rht bf16", "RHT"),
        ("--scale nvfp4 --rht on", "RHT integer (on) does not work with scale nvfp4; it must be none (off) or bf16"),
        ("--scale fp32 --rht bf16", "RHT bf16"),
        ("--scale nvfp4 --elem e1m2 --scale-round 46", "rounding 46"),
        ("--scale-round down", "rounding down"),
        ("--scale e8m0 --scale-round rne", "rounding rne"),
        ("--scale nvfp4 --scale-round up", "rounding up"),
        ("--scale-round 46", "rounding 46"),
        ("--scale fp32 --scale-round up", "rounding up"),
        ("--scale e8m0 --tensor-exponent 3", "no tensor exponent"),
        ("--tensor-exponent 32768", "--tensor-exponent"),
        ("--tensor-exponent -32769", "--tensor-exponent"),
        ("--rht-mask 0x10000", "--rht-mask"),
        ("--rht-size 32", "--rht-size sets the points of a transform, but --rht is off; add --rht on"),
        ("--rht-size 16 --rht off", "but --rht is off"),
        ("--rht-mask 1", "--rht-mask sets the signs of a transform, but --rht is off; add --rht on"),
        ("--rht-mask 1 --rht off", "but --rht is off"),
        ("--role x", "--role"),
        ("--pass fprop", "--pass"),
    ]
    for case, words in cases:
        elem = [] if "--elem" in case else ["--elem", "e2m1"]
        rejects(2, words, "quantize", "X.npy", *Q, *elem, *case.split())


def test_rejects_impossible_recipes():
    stand.write_npy("X.npy", [[1.0]])
    cases = [
        ("--recipe ufp4", "--role"),
        ("--recipe ufp4 --role x", "--pass"),
        ("--recipe bf16 --role x --pass fprop", "bf16"),
        ("--recipe ufp4 --role dy --pass fprop", "fprop reads"),
        ("--recipe ufp4 --role w --pass wgrad", "wgrad"),
        ("--recipe ufp5 --role x --pass fprop", "ufp5"),
        ("--recipe ufp4 --role x --pass fprop --axis col", "--axis"),
        ("", "--elem"),
    ]
    for case, words in cases:
        rejects(2, words, "quantize", "X.npy", *Q, *case.split())


def test_every_scale_layout_and_transform_reads_back():
    stand.write_npy("X.npy", stand.gaussian(20, 40))
    for case in (
        "--scale nvfp4",
        "--scale nvfp4 --rht bf16",
        "--scale nvfp4 --layout 2d",
        "--scale e8m0",
        "--scale e8m0 --rht on",
        "--scale nvfp4 --scale-round 46 --layout 2d",
        "--scale fp32 --rht on",
        "--rht bf16",
        "--layout 2d",
    ):
        passes("quantize", "X.npy", *Q, "--elem", "e2m1", *case.split())
        passes("dequantize", "Q.safetensors", "-o", "D.npy")
    for recipe in ("nvfp4", "mxfp4", "e2m1-46"):
        passes("quantize", "X.npy", *Q, "--recipe", recipe, "--role", "x", "--pass", "fprop")


def test_mixed_keeps_the_grid_of_each_block():
    """Covers files of U8 and of F8_E4M3, whose bit 7 is a sign with other elements."""
    stand.write_npy("X.npy", stand.gaussian(20, 64))
    for case in ("", "--scale nvfp4", "--layout 2d", "--rht on --round sr --scale-round up"):
        passes("quantize", "X.npy", *Q, "--elem", "mixed", *case.split())
        metadata, tensors = stand.read_safetensors("Q.safetensors")
        dtype, shape, scales = tensors["scales"]
        check_equal({byte >> 7 for byte in scales}, {0, 1}, f"grids of {case}")
        passes("dequantize", "Q.safetensors", "-o", "D.npy")
        stand.write_safetensors("F8.safetensors", metadata, tensors | {"scales": ("F8_E4M3", shape, scales)})
        passes("dequantize", "F8.safetensors", "-o", "E.npy")
        check_equal(stand.read_npy("E.npy"), stand.read_npy("D.npy"), case)
        passes("gemm", "Q.safetensors", "F8.safetensors", "-o", "D.npy")


def test_rejects_mixed_where_it_does_not_go():
    stand.write_npy("X.npy", stand.gaussian(20, 64))
    for case, words in (
        ("--scale e8m0", "element mixed does not work with scale e8m0"),
        ("--scale fp32", "element mixed does not work with scale fp32"),
        ("--scale nvfp4 --scale-round 46", "scale rounding 46 does not work with"),
        ("--block 32", "block 32 does not work with"),
    ):
        rejects(2, words, "quantize", "X.npy", *Q, "--elem", "mixed", *case.split())


if __name__ == "__main__":
    stand.main(globals())
