# SPDX-License-Identifier: Apache-2.0
"""Tests layer: the three GEMMs of a layer, alone and compared between backends."""

import json
import math
import os
import pathlib
import subprocess

import stand
from stand import check, check_equal, passes, rejects, slow

XWD = ["X.npy", "W.npy", "dY.npy"]
SHAPES = {"fprop": "Y.npy", "dgrad": "dX.npy", "wgrad": "dW.npy"}


def tensors(tokens, cin, cout):
    stand.write_npy("X.npy", stand.gaussian(tokens, cin))
    stand.write_npy("W.npy", stand.gaussian(cout, cin, 0.05))
    stand.write_npy("dY.npy", stand.gaussian(tokens, cout, 1e-4))


def layer(*options):
    """The JSON of a run that must succeed."""
    return json.loads(passes("layer", *XWD, "-o", "out", "--json", *options).out)


def check_on_rtl(*options):
    for shape in ((1, 1, 1), (3, 5, 17), (33, 47, 130)):
        tensors(*shape)
        for recipe in ("ufp4", "e2m1"):
            result = layer("--backend", "rtl", "--check", "model", "--recipe", recipe, *options)
            check_equal(result["verdict"], "equal", f"{shape} {recipe}")
            check_equal([c["mismatches"] for c in result["cases"]], [0, 0, 0], f"{shape} {recipe}")


def test_odd_shapes_on_rtl():
    check_on_rtl()


@slow
def test_small_core_slow_memory_on_rtl():
    check_on_rtl("--config", "small", "--mem-latency", "200", "--mem-bandwidth", "8", "--stall", stand.stall(11))


def test_default_core_fast_memory_on_rtl():
    check_on_rtl("--mem-latency", "1", "--mem-bandwidth", "64", "--stall", stand.stall(12))


def test_large_odd_shape_on_rtl():
    tensors(257, 129, 65)
    for recipe in ("ufp4", "e2m1"):
        check_equal(layer("--backend", "rtl", "--check", "model", "--recipe", recipe)["verdict"], "equal", recipe)


def test_rejects_more_memory_than_addresses_reach():
    pathlib.Path("X.npy").write_bytes(stand.npy_bytes([[1.0] * 2**20], shape=(2**20, 1)))
    rejects(
        2,
        "bytes of device memory are too many; from its start",
        "layer",
        "X.npy",
        "X.npy",
        "-",
        "-o",
        "out",
        "--pass",
        "fprop",
    )


def test_several_may_write_into_one_folder():
    tensors(3, 5, 17)
    words = [stand.PROGRAM, "layer", *XWD, "-o", "out", "--json"]
    for _ in range(4):
        running = [
            subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(6)
        ]
        for process in running:
            err = process.communicate(timeout=600)[1]
            check_equal((process.returncode, err), (0, ""), "exit status and message")
    check_equal(sorted(os.listdir("out")), ["Y.npy", "dW.npy", "dX.npy"], "files")


def test_prints_no_table_without_a_line_on_rtl():
    tensors(3, 5, 17)
    result = rejects(3, "within 10 cycles", "layer", *XWD, "-o", "out", "--backend", "rtl", "--max-cycles", "10")
    check_equal(result.out, "", "standard output")


def test_nan_and_inf_on_rtl():
    tensors(20, 33, 40)
    rows = stand.gaussian(20, 33)
    rows[7][20], rows[9][0] = math.nan, -math.inf
    stand.write_npy("X.npy", rows)
    check_equal(layer("--backend", "rtl", "--check", "model")["verdict"], "equal", "verdict")


def test_equals_quantize_and_gemm():
    tensors(19, 35, 50)
    layer("--recipe", "ufp4", "--seed", "5")
    for name, (a, b) in dict(fprop=("x", "w"), dgrad=("dy", "w"), wgrad=("dy", "x")).items():
        for role in (a, b):
            source = dict(x="X.npy", w="W.npy", dy="dY.npy")[role]
            passes(
                "quantize",
                source,
                "-o",
                f"{role}.safetensors",
                "--recipe",
                "ufp4",
                "--role",
                role,
                "--pass",
                name,
                "--seed",
                "5",
            )
        passes("gemm", f"{a}.safetensors", f"{b}.safetensors", "-o", "D.npy")
        stand.same_bits(stand.read_npy(f"out/{SHAPES[name]}")[1], stand.read_npy("D.npy")[1], name)


def test_bf16_recipe_is_close_to_the_product():
    tensors(19, 35, 50)
    result = layer("--recipe", "bf16")
    check_equal([c["format"] for c in result["cases"]], ["bf16"] * 3, "formats")
    x, w = (stand.read_npy(p)[1] for p in XWD[:2])
    want = stand.product(x, w)
    scale = max(abs(v) for row in want for v in row)
    for got_row, row in zip(stand.read_npy("out/Y.npy")[1], want, strict=True):
        for got, value in zip(got_row, row, strict=True):
            # BF16 operands have a relative error of at most 2^-9; there are 35 products of up to a few sigma.
            check(abs(got - value) < 0.02 * scale, f"{got} {value}")


def test_lines_name_passes_and_sizes():
    tensors(4, 5, 6)
    lines = passes("layer", *XWD, "-o", "out").out.splitlines()
    check(lines[0].startswith("% pass format m n k cycles "), lines[0])
    want = ["fprop e1m2 4 6 5", "dgrad e1m2 4 5 6", "wgrad e1m2 6 5 4"]
    check_equal([" ".join(line.split()[:5]) for line in lines[1:]], want, "lines")
    check_equal(sorted(os.listdir("out")), ["Y.npy", "dW.npy", "dX.npy"], "files")


def test_one_pass_needs_two_tensors():
    tensors(4, 5, 6)
    layer()
    whole = {name: stand.read_npy(f"out/{path}") for name, path in SHAPES.items()}
    for name, files in dict(
        fprop=["X.npy", "W.npy", "-"], dgrad=["-", "W.npy", "dY.npy"], wgrad=["X.npy", "-", "dY.npy"]
    ).items():
        passes("layer", *files, "-o", name, "--pass", name)
        check_equal(os.listdir(name), [SHAPES[name]], "files")
        check_equal(stand.read_npy(f"{name}/{SHAPES[name]}"), whole[name], name)


def test_threads_do_not_change_bits():
    tensors(70, 90, 50)
    layer("--threads", "1")
    want = [stand.read_npy(f"out/{p}") for p in SHAPES.values()]
    layer("--threads", "7")
    check_equal([stand.read_npy(f"out/{p}") for p in SHAPES.values()], want, "outputs")


def test_nan_gives_nan_where_it_belongs():
    tensors(20, 33, 40)
    rows = stand.gaussian(20, 33)
    rows[7][20] = math.nan
    stand.write_npy("X.npy", rows)
    result = passes("layer", *XWD, "-o", "out")
    check("X holds NaN" in result.err, str(result))
    _, y = stand.read_npy("out/Y.npy")
    check(all((stand.f32_bits(v) == 0x7FC00000) == (r == 7) for r, row in enumerate(y) for v in row), "Y")
    _, dx = stand.read_npy("out/dX.npy")
    check(not any(math.isnan(v) for row in dx for v in row), "dX")
    _, dw = stand.read_npy("out/dW.npy")
    check(all(math.isnan(v) == (c == 20) for row in dw for c, v in enumerate(row)), "dW")


def test_rejects_shapes_that_do_not_match():
    tensors(4, 5, 6)
    stand.write_npy("other.npy", stand.gaussian(7, 8))
    for i, words in ((0, "they must be equal"), (1, "they must be equal"), (2, "they must be equal")):
        files = list(XWD)
        files[i] = "other.npy"
        result = rejects(2, words, "layer", *files, "-o", "out")
        check("other.npy" in result.err, f"should name the file: {result}")


def test_rejects_missing_tensors():
    tensors(4, 5, 6)
    rejects(2, "W is '-'", "layer", "X.npy", "-", "dY.npy", "-o", "out")
    rejects(2, "dY is '-'", "layer", "X.npy", "W.npy", "-", "-o", "out")
    rejects(2, "None.npy", "layer", "X.npy", "None.npy", "dY.npy", "-o", "out")


def test_rejects_recipes():
    tensors(4, 5, 6)
    rejects(2, "'ufp8' is not one of", "layer", *XWD, "-o", "out", "--recipe", "ufp8")
    rejects(2, "own.json", "layer", *XWD, "-o", "out", "--recipe", "own.json")
    words = ["layer", *XWD, "-o", "out", "--recipe", "bf16"]
    for options in (["--check", "rtl"], ["--backend", "rtl"], ["--backend", "rtl", "--check", "model"]):
        rejects(2, "--recipe bf16 does not quantize and runs on the host", *words, *options)


def test_nvfp4_quantized_by_the_host_on_rtl():
    for shape, suffix in (((1, 1, 1), ""), ((33, 47, 130), ""), ((33, 47, 130), "/rht=fprop+dgrad/sr=dgrad")):
        tensors(*shape)
        words = [
            "layer",
            *XWD,
            "-o",
            "out",
            "--json",
            "--recipe",
            f"nvfp4{suffix}",
            "--backend",
            "rtl",
            "--check",
            "model",
        ]
        result = passes(*words, "--config", "small")
        check("the host quantizes" in result.err, f"should say so: {result}")
        whole = json.loads(result.out)
        check_equal(whole["verdict"], "equal", f"{shape}")
        check(all(c["cycles"] > 0 for c in whole["cases"]), "the core multiplies")


def test_suffixes_are_their_recipes():
    tensors(33, 47, 130)
    write_recipe(
        "same.json",
        elem="e1m2",
        rht={"wgrad": "integer"},
        round={"dy": {"dgrad": "sr"}},
        scale_round={"dy": {"dgrad": "up"}},
    )
    outputs = []
    for recipe in ("ufp4/rht=wgrad/sr=dgrad", "same.json", "ufp4/sr=dgrad", "same.json/rht=fprop+dgrad+wgrad"):
        layer("--recipe", recipe)
        outputs.append([pathlib.Path("out", name).read_bytes() for name in SHAPES.values()])
    check(outputs[0] == outputs[1] != outputs[2] == outputs[3], "outputs")
    check(outputs[0][2] == outputs[2][2] and outputs[0][0] != outputs[2][0], "of FPROP and DGRAD alone")


def test_larger_blocks_and_transforms_are_the_products_of_their_files():
    tensors(64, 128, 192)
    for block, size in ((32, 16), (64, 32), (128, 64)):
        write_recipe("wide.json", elem="e1m2", block=block, rht="integer", rht_size=size, round={"dy": "sr"})
        layer("--recipe", "wide.json")
        for gemm, a, b in (
            ("fprop", ("x", "X.npy"), ("w", "W.npy")),
            ("dgrad", ("dy", "dY.npy"), ("w", "W.npy")),
            ("wgrad", ("dy", "dY.npy"), ("x", "X.npy")),
        ):
            for at, (role, source) in (("a", a), ("b", b)):
                passes(
                    "quantize",
                    source,
                    "-o",
                    f"{at}.safetensors",
                    "--recipe",
                    "wide.json",
                    "--role",
                    role,
                    "--pass",
                    gemm,
                )
            passes("gemm", "a.safetensors", "b.safetensors", "-o", "D.npy")
            check_equal(open(f"out/{SHAPES[gemm]}", "rb").read(), open("D.npy", "rb").read(), gemm)


def test_rejects_larger_blocks_and_transforms():
    tensors(64, 128, 192)
    write_recipe("block.json", elem="e1m2", block=64)
    write_recipe("size.json", elem="e1m2", rht="integer", rht_size=64)
    for name, words in (("block.json", "block 64"), ("size.json", "RHT size 64")):
        for backend in ("rtl", "tlm"):
            rejects(
                3,
                f"backend {backend} does not support {words} with scale e4m3; model does",
                "layer",
                *XWD,
                "-o",
                "out",
                "--recipe",
                name,
                "--backend",
                backend,
            )
    passes("quantize", "X.npy", "-o", "q.safetensors", "--elem", "e1m2", "--block", "64")
    rejects(
        3,
        "does not support blocks larger than 16 or transforms of 32 points; model does",
        "gemm",
        "q.safetensors",
        "q.safetensors",
        "-o",
        "D.npy",
        "--backend",
        "rtl",
    )
    rejects(2, "need contract exact", "gemm", "q.safetensors", "q.safetensors", "-o", "D.npy", "--accumulate", "fp32")
    write_recipe("real.json", elem="e1m2", block=64.0)
    rejects(
        2, "block must be one of the whole numbers 16, 32, 64, 128", "layer", *XWD, "-o", "out", "--recipe", "real.json"
    )
    tensors(64, 128, 100)
    rejects(
        2,
        "a transform of 64 points does not divide 100, the number of outputs, which must be a multiple",
        "layer",
        *XWD,
        "-o",
        "out",
        "--recipe",
        "size.json",
    )


def test_rejects_uniform_grids_with_two_levels_on_other_backends():
    tensors(4, 5, 6)
    layer("--recipe", "nvint4")
    for backend in ("rtl", "tlm"):
        rejects(
            3,
            f"backend {backend} does not support element int4 with scale nvfp4; model does",
            "layer",
            *XWD,
            "-o",
            "out",
            "--recipe",
            "nvint4",
            "--backend",
            backend,
        )


def test_mxfp4_equals_the_model_on_rtl():
    for shape in ((1, 1, 1), (33, 47, 130)):
        tensors(*shape)
        words = ["layer", *XWD, "-o", "out", "--json", "--recipe", "mxfp4", "--backend", "rtl", "--check", "model"]
        whole = json.loads(passes(*words, "--config", "small-fp32").out)
        check_equal(whole["verdict"], "equal", f"{shape}")


def write_recipe(name, **keys):
    with open(name, "w") as file:
        json.dump(keys, file)


def test_a_pass_in_bf16_and_copies_that_differ_on_rtl():
    """The host computes that pass and quantizes those copies."""
    tensors(33, 47, 30)
    write_recipe("own.json", elem="e1m2", rht="integer", round={"dy": {"wgrad": "sr"}}, bf16_passes=["dgrad"])
    result = layer("--recipe", "own.json", "--backend", "rtl", "--check", "model")
    check_equal(result["verdict"], "equal", "verdict")
    check_equal([c["format"] for c in result["cases"]], ["e1m2", "bf16", "e1m2"], "formats")
    ours = [open(f"out/{name}", "rb").read() for name in SHAPES.values()]
    layer("--recipe", "bf16")
    check_equal(open("out/dX.npy", "rb").read(), ours[1], "dX of bf16")
    check(open("out/dW.npy", "rb").read() != ours[2], "dW is quantized")


def test_requantize_is_what_the_commands_do_one_by_one():
    """DGRAD takes W and WGRAD takes X from FPROP's copies, as on a chip that keeps only those copies."""
    tensors(33, 47, 30)
    keys = {"elem": "e2m1", "rht": "integer", "round": {"dy": "sr"}, "scale_round": {"dy": "up"}}
    write_recipe("once.json", **keys)
    write_recipe("own.json", **keys, requantize=True)
    layer("--recipe", "own.json", "--seed", "5")
    recipe = ["--recipe", "once.json", "--seed", "5"]
    for role, name in (("x", "X"), ("w", "W")):
        passes("quantize", f"{name}.npy", "-o", f"{name}.safetensors", *recipe, "--role", role, "--pass", "fprop")
        passes("dequantize", f"{name}.safetensors", "-o", f"{name}.kept.npy", "--unrotate")
    for gemm, a, b in (
        ("dgrad", ("dy", "dY.npy"), ("w", "W.kept.npy")),
        ("wgrad", ("dy", "dY.npy"), ("x", "X.kept.npy")),
    ):
        for at, (role, source) in (("a", a), ("b", b)):
            passes("quantize", source, "-o", f"{at}.safetensors", *recipe, "--role", role, "--pass", gemm)
        passes("gemm", "a.safetensors", "b.safetensors", "-o", "D.npy")
        check_equal(open(f"out/{SHAPES[gemm]}", "rb").read(), open("D.npy", "rb").read(), gemm)


def test_rejects_recipes_that_need_a_model():
    tensors(4, 5, 6)
    write_recipe("layers.json", elem="e1m2", bf16_layers={"last": 1})
    write_recipe("signs.json", elem="e1m2", rht="integer", signs="step")
    for recipe, key in (
        ("layers.json", "bf16_layers"),
        ("signs.json", "signs"),
        ("nvfp4-full", "bf16_layers"),
        ("mxfp4-rht", "signs"),
    ):
        rejects(2, f"{key} applies to a whole model", "layer", *XWD, "-o", "out", "--recipe", recipe)
        rejects(
            2,
            f"{key} applies to a whole model",
            "quantize",
            "X.npy",
            "-o",
            "Q.safetensors",
            "--recipe",
            recipe,
            "--role",
            "x",
            "--pass",
            "fprop",
        )


def test_rejects_quantizing_what_a_recipe_does_not():
    tensors(4, 5, 6)
    write_recipe("some.json", elem="e1m2", bf16_passes=["fprop"])
    write_recipe("again.json", elem="e1m2", requantize=True)
    rejects(
        2,
        "computes this --pass in BF16",
        "quantize",
        "X.npy",
        "-o",
        "Q.safetensors",
        "--recipe",
        "some.json",
        "--role",
        "x",
        "--pass",
        "fprop",
    )
    rejects(
        2,
        "from FPROP's",
        "quantize",
        "X.npy",
        "-o",
        "Q.safetensors",
        "--recipe",
        "again.json",
        "--role",
        "x",
        "--pass",
        "wgrad",
    )
    passes("quantize", "dY.npy", "-o", "Q.safetensors", "--recipe", "again.json", "--role", "dy", "--pass", "wgrad")


def test_rejects_another_contract_on_rtl():
    tensors(4, 5, 6)
    words = ["layer", *XWD, "-o", "out", "--backend", "rtl"]
    rejects(3, "default accumulates by contract exact, not fp32; default-fp32 does", *words, "--recipe", "mxfp4")
    rejects(
        3,
        "small accumulates by contract exact, not fp32; small-fp32 does",
        *words,
        "--recipe",
        "mxfp4",
        "--config",
        "small",
    )
    rejects(3, "small-fp32 accumulates by contract fp32, not exact; small does", *words, "--config", "small-fp32")


def test_rejects_a_folder_that_cannot_be_made():
    tensors(4, 5, 6)
    open("file", "w").close()
    rejects(2, "no/folder: cannot create", "layer", *XWD, "-o", "no/folder")
    rejects(2, "file: already exists", "layer", *XWD, "-o", "file")


def test_rejects_an_output_that_is_an_input():
    os.mkdir("out")
    tensors(4, 5, 6)
    os.rename("X.npy", "out/Y.npy")
    before = open("out/Y.npy", "rb").read()
    rejects(2, "is also an input", "layer", "out/Y.npy", "W.npy", "dY.npy", "-o", "out")
    check_equal(open("out/Y.npy", "rb").read(), before, "the input")


if __name__ == "__main__":
    stand.main(globals())
