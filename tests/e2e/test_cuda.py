# SPDX-License-Identifier: Apache-2.0
"""Tests the backend cuda behind the program, on the emulated GPU and without a GPU."""

import json
import math
import os
import pathlib

import stand
from stand import check, check_equal, passes, rejects, slow

XWD = ["X.npy", "W.npy", "dY.npy"]
AB = ["A.safetensors", "B.safetensors"]
RECIPES = "fp32,bf16,ufp4,e2m1,nvfp4,nvfp4-full,e2m1-46,mxfp4,mxfp4-rht"


def emulated():
    os.environ["UFP4_CUDA_LIBRARY"] = os.environ["UFP4_CUDA_EMULATED"]


def tensors(tokens, cin, cout):
    stand.write_npy("X.npy", stand.gaussian(tokens, cin))
    stand.write_npy("W.npy", stand.gaussian(cout, cin, 0.05))
    stand.write_npy("dY.npy", stand.gaussian(tokens, cout, 1e-4))


def check_layer(*options):
    result = json.loads(passes("layer", *XWD, "-o", "out", "--json", *options).out)
    check_equal(result["verdict"], "equal", f"{options}")
    check_equal([c["mismatches"] for c in result["cases"]], [0, 0, 0], f"{options}")


def recipe(name, **settings):
    with open(f"{name}.json", "w", encoding="ascii") as file:
        json.dump(dict(name=name, **settings), file)
    return f"{name}.json"


@slow
def test_layers_equal_the_model():
    emulated()
    recipes = [
        "ufp4",
        "e2m1",
        "nvfp4",
        "e2m1-46",
        "mxfp4",
        recipe(
            "mxfp4_rht",
            elem="e2m1",
            scale="e8m0",
            rht={"dgrad": "integer", "wgrad": "integer"},
            round="sr",
            scale_round="up",
            accumulate="fp32",
            bf16_passes=["fprop"],
        ),
        recipe("scales", elem="e1m2", scale="fp32", rht="integer", round={"dy": "sr"}),
        recipe("contract", elem="e2m1", accumulate="fp32", round={"dy": "sr"}, scale_round={"dy": "up"}),
        recipe("tiles", elem="int4", layout={"w": "2d"}),
        recipe("bf16_transform", elem="e1m2", rht="bf16", round={"dy": "sr"}),
        recipe("mx", elem="int4", scale="e8m0", rht="integer", scale_round="up"),
        recipe("rounded_fp32", elem="e2m1", scale="nvfp4", rht="bf16", accumulate="fp32"),
    ]
    for shape in ((1, 1, 1), (33, 47, 130)):
        tensors(*shape)
        for name in recipes:
            check_layer("--backend", "cuda", "--check", "model", "--recipe", name)


@slow
def test_layer_with_nan_and_inf_equals_the_model():
    emulated()
    tensors(20, 33, 40)
    rows = stand.gaussian(20, 33)
    rows[7][20], rows[9][0] = math.nan, -math.inf
    stand.write_npy("X.npy", rows)
    for name in ("ufp4", "nvfp4", "e2m1-46", "mxfp4"):
        check_layer("--backend", "cuda", "--check", "model", "--recipe", name)


@slow
def test_training_equals_the_model_in_every_recipe():
    emulated()
    pathlib.Path("text").write_text("the cat sat on a mat. " * 400)
    for backend in ("model", "cuda"):
        passes(
            "train",
            "text",
            "-o",
            backend,
            "--backend",
            backend,
            "--recipe",
            RECIPES,
            "--steps",
            2,
            "--seeds",
            1,
            "--layers",
            2,
            "--d-model",
            32,
            "--ff",
            32,
            "--context",
            16,
            "--batch",
            2,
            "--eval",
            64,
            "--whole",
        )
    losses = [pathlib.Path(backend, "losses.csv").read_bytes() for backend in ("model", "cuda")]
    check(losses[0] == losses[1], f"losses differ: {losses}")
    for name in RECIPES.split(","):
        check(name.encode() in losses[0], f"{name} is missing in {losses[0]}")


@slow
def test_the_simulated_core_equals_it_on_rtl():
    emulated()
    tensors(33, 47, 66)
    for name in ("ufp4", "e2m1"):
        check_layer("--backend", "rtl", "--check", "cuda", "--recipe", name, "--config", "small")


@slow
def test_gemm_equals_the_model():
    emulated()
    stand.write_npy("A.npy", stand.gaussian(30, 70))
    stand.write_npy("B.npy", stand.gaussian(20, 70))
    stand.write_npy("C.npy", stand.gaussian(30, 20))
    for scale in ("e4m3", "nvfp4", "e8m0", "fp32"):
        for name in "AB":
            passes("quantize", f"{name}.npy", "-o", f"{name}.safetensors", "--elem", "e2m1", "--scale", scale)
        exact = [[], ["--out", "i64"], ["--out", "bf16"]] if scale in ("e4m3", "nvfp4") else []
        for words in [["--accumulate", "fp32"], ["--accumulate", "fp32", "--c", "C.npy", "--alpha", "0.3"], *exact]:
            passes("gemm", *AB, "-o", "D.npy", "--backend", "cuda", "--check", "model", *words)


NO_NV = "contract nv: it needs compute capability 12.0 or 12.1, and this GPU has 9.0"
# Recipes of contract nv, and the reasons given on GPUs that lack it.
NV = (("nv", "e4m3", NO_NV), ("nv_of_nvfp4", "nvfp4", NO_NV), ("nv_of_mx", "e8m0", "does not support contract nv"))


def nv_operands():
    for name, rows in (("A", 3), ("B", 5)):
        stand.write_npy(f"{name}.npy", stand.gaussian(rows, 80))
        passes("quantize", f"{name}.npy", "-o", f"{name}.safetensors", "--elem", "e2m1")


@slow
def test_rejects_the_contract_nv_below_compute_capability_12():
    emulated()
    tensors(3, 16, 4)
    for name, scale, words in NV:
        made = recipe(name, elem="e2m1", scale=scale, accumulate="nv")
        rejects(3, words, "layer", *XWD, "-o", "out", "--backend", "cuda", "--recipe", made)
    nv_operands()
    rejects(3, NO_NV, "gemm", *AB, "-o", "D.npy", "--backend", "cuda", "--accumulate", "nv")


@slow
def test_the_contract_nv_of_compute_capability_12_equals_the_model():
    emulated()
    os.environ["UFP4_EMULATED_CAPABILITY"] = "120"
    try:
        tensors(20, 70, 40)
        for name, scale, words in NV:
            made = recipe(name, elem="e2m1", scale=scale, accumulate="nv")
            if words == NO_NV:
                check_layer("--backend", "cuda", "--check", "model", "--recipe", made)
            else:
                rejects(3, words, "layer", *XWD, "-o", "out", "--backend", "cuda", "--recipe", made)
        nv_operands()
        stand.write_npy("C.npy", stand.gaussian(3, 5))
        for words in ([], ["--out", "bf16", "--alpha", "0.3"]):
            passes("gemm", *AB, "-o", "D.npy", "--backend", "cuda", "--check", "model", "--accumulate", "nv", *words)
        text = passes("info", "--backend", "cuda").out
        check("kernels by warps, the contract nv too" in text, text)
    finally:
        del os.environ["UFP4_EMULATED_CAPABILITY"]


def test_info_says_which_gpu():
    emulated()
    device = json.loads(passes("info", "--backend", "cuda", "--json").out)["device"]
    check("emulated GPU" in device["hardware"], f"hardware {device['hardware']}")
    check("emulated GPU" in passes("info", "--backend", "cuda").out, "text")


@slow
def test_bench_has_a_line_for_each_kernel_and_pass_on_rtl():
    emulated()
    lines = json.loads(passes("bench", "--backend", "cuda", "--size", "128", "--json").out)
    names = [line["case"] for line in lines]
    for name in (
        "quantize_plain",
        "quantize_rht",
        "quantize_rht_sr",
        "amax_rht",
        "gemm_exact",
        "gemm_fp32",
        "gemm_fp32_int8",
        "vendor_fp8",
        "vendor_fp8_fast",
        "vendor_fp4",
        "fprop_exact",
        "dgrad_exact",
        "wgrad_exact",
    ):
        check(name in names, f"{name} is missing in {names}")
    check_equal(
        [line["against"] for line in lines if line["case"] == "fprop_exact"], ["simulated_core_1000MHz"] * 2, "against"
    )
    skipped = [line["skipped"] for line in lines if line["case"].startswith("vendor_")]
    check(len(skipped) == 3 and all(skipped), f"an emulated GPU has no arithmetic of its own: {skipped}")


def test_bench_rejects_sizes_and_clocks():
    rejects(2, "--size", "bench", "--backend", "cuda", "--size", "100")
    rejects(2, "--clock-mhz", "bench", "--backend", "cuda", "--clock-mhz", "0")


def test_rejects_a_library_that_is_not_there():
    tensors(3, 16, 4)
    os.environ["UFP4_CUDA_LIBRARY"] = "./no_such_library.so"
    rejects(3, "no_such_library", "layer", *XWD, "-o", "out", "--backend", "cuda")
    rejects(3, "no_such_library", "info", "--backend", "cuda")
    backends = json.loads(passes("info", "--json").out)["backends"]
    check_equal([b["available"] for b in backends if b["name"] == "cuda"], [False], "available")


def test_rejects_a_machine_without_gpu():
    # This holds whether or not libufp4_cuda.so was built, and with and without a GPU.
    tensors(3, 16, 4)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for words in (
        ["layer", *XWD, "-o", "out", "--backend", "cuda"],
        ["layer", *XWD, "-o", "out", "--check", "cuda"],
        ["info", "--backend", "cuda"],
        ["bench", "--backend", "cuda"],
    ):
        rejects(3, "cuda: ", *words)


if __name__ == "__main__":
    stand.main(globals())
