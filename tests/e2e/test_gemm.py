# SPDX-License-Identifier: Apache-2.0
"""Tests gemm against sums of decoded values in float64, and between backends."""

import json
import math
import os
import re
import struct

import stand
from stand import check, check_equal, passes, rejects, run, slow

AB = ["A.safetensors", "B.safetensors"]


def operand(name, rows, *options):
    stand.write_npy(f"{name}.npy", rows)
    passes("quantize", f"{name}.npy", "-o", f"{name}.safetensors", *options)


def operands(m, n, k, *options, other=None):
    operand("A", stand.gaussian(m, k), *options)
    operand("B", stand.gaussian(n, k, 0.1, seed=2), *(other if other is not None else options))


def multiply(*options):
    """Returns D and its type."""
    passes("gemm", *AB, "-o", "D.npy", *options)
    return stand.read_npy("D.npy")


def check_oracle(backend):
    for m, n, k in ((1, 1, 1), (3, 17, 5), (20, 33, 150)):
        for a, b in (("e2m1", "e2m1"), ("e1m2", "int4")):
            operands(m, n, k, "--elem", a, "--rht", "on", other=["--elem", b, "--rht", "on"])
            want = [[stand.to_f32(v) for v in row] for row in stand.product(*map(stand.decode, AB))]
            stand.same_bits(multiply("--backend", backend)[1], want, f"D {m}x{n}x{k} {a} {b}")


def test_equals_sums_in_float64():
    check_oracle("model")


def test_equals_sums_in_float64_on_rtl():
    check_oracle("rtl")


def test_bf16_output_rounds_the_fp32_result():
    operands(9, 20, 70, "--elem", "e2m1")
    _, wide = multiply()
    descr, narrow = multiply("--out", "bf16")
    check_equal(descr, "<u2", "type")
    for got_row, row in zip(narrow, wide, strict=True):
        for got, value in zip(got_row, row, strict=True):
            bits = stand.f32_bits(value)
            check_equal(got, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16, "BF16")


def test_alpha_and_c_round_once_each():
    operands(4, 6, 40, "--elem", "e1m2")
    _, plain = multiply()
    c = stand.gaussian(4, 6, seed=9)
    stand.write_npy("C.npy", c)
    _, got = multiply("--alpha", "0.3", "--c", "C.npy")
    alpha = stand.to_f32(0.3)
    want = [[stand.to_f32(stand.to_f32(alpha * v) + w) for v, w in zip(r, s)] for r, s in zip(plain, c)]
    stand.same_bits(got, want, "D")


def test_bf16_output_may_be_c():
    operands(4, 6, 40, "--elem", "e1m2")
    multiply("--out", "bf16")
    os.rename("D.npy", "C.npy")
    _, patterns = stand.read_npy("C.npy")
    _, got = multiply("--c", "C.npy", "--bf16")
    values = [[struct.unpack("<f", struct.pack("<I", p << 16))[0] for p in row] for row in patterns]
    stand.write_npy("C.npy", values)
    stand.same_bits(got, multiply("--c", "C.npy")[1], "D")


def test_alpha_may_be_any_fp32_value():
    """numerics.md defines one FP32 multiplication, whose NaN is always 0x7FC00000."""
    operand("A", [[1.0], [-2.0], [0.0]], "--elem", "e1m2")
    operand("B", [[4.0]], "--elem", "e1m2")
    for alpha, want in (
        ("inf", [math.inf, -math.inf, math.nan]),
        ("-inf", [-math.inf, math.inf, math.nan]),
        ("nan", [math.nan] * 3),
        ("-0", [-0.0, 0.0, -0.0]),
        ("3.4028235e38", [math.inf, -math.inf, 0.0]),
        ("1e-45", [2.0**-147, -(2.0**-146), 0.0]),
    ):
        got = [stand.f32_bits(row[0]) for row in multiply("--alpha", alpha)[1]]
        check_equal(got, [0x7FC00000 if math.isnan(v) else stand.f32_bits(v) for v in want], f"alpha {alpha}")


def test_split_k_gives_the_same_bits():
    """The first half of K gives unrounded sums, from which the second half starts."""
    a, b = stand.gaussian(5, 64), stand.gaussian(7, 64, seed=2)
    options = ["--elem", "e2m1", "--tensor-exponent", "6"]
    operand("A", a, *options)
    operand("B", b, *options)
    _, whole = multiply()
    halves = [([r[:32] for r in a], [r[:32] for r in b]), ([r[32:] for r in a], [r[32:] for r in b])]
    operand("A", halves[0][0], *options)
    operand("B", halves[0][1], *options)
    result = passes("gemm", *AB, "-o", "S.npy", "--out", "i64")
    check("2^-20" in result.err, f"should tell the unit: {result}")
    check_equal(stand.read_npy("S.npy")[0], "<i8", "type")
    operand("A", halves[1][0], *options)
    operand("B", halves[1][1], *options)
    stand.same_bits(multiply("--accumulate-in", "S.npy")[1], whole, "D")


def test_table_and_json_say_the_same():
    operands(4, 5, 6, "--elem", "e2m1", other=["--elem", "e1m2"])
    checked = passes("gemm", *AB, "-o", "D.npy", "--stats", "--check", "model")
    check(checked.err.endswith("ufp4 gemm: compared: 20 outputs, equal\n"), checked.err)
    text = checked.out.splitlines()
    names = "pass format m n k cycles util_percent bound_percent bound_by stall_percent mismatches verdict"
    check_equal(text[0], "% " + names, "the first line")
    check_equal(text[1].split(), "gemm e2m1/e1m2 4 5 6 - - - - - 0 equal".split(), "the line")
    whole = json.loads(passes("gemm", *AB, "-o", "D.npy", "--json").out)
    want = dict(zip(names.split(), ["gemm", "e2m1/e1m2", 4, 5, 6, None, None, None, None, None, None, "-"]))
    check_equal(whole, {"cases": [want], "verdict": "-"}, "JSON")


@slow
def test_statistics_on_rtl():
    operands(64, 64, 256, "--elem", "e2m1")
    words = ["gemm", *AB, "-o", "D.npy", "--json", "--backend", "rtl", "--check", "model", "--config", "small"]
    done = passes(*words)
    check_equal(done.err, "ufp4 gemm: compared: 4096 outputs, equal\n", "what was compared")
    case = json.loads(done.out)["cases"][0]
    check_equal((case["mismatches"], case["verdict"]), (0, "equal"), "verdict")
    check(case["cycles"] >= 64 * 64 * 256 / 64, f"cycles: {case}")
    check(0 < case["util_percent"] <= case["bound_percent"] <= 100, f"utilization: {case}")
    check(abs(case["util_percent"] - 100 * 64 * 64 * 256 / 64 / case["cycles"]) < 1e-3, f"utilization: {case}")
    slow = json.loads(passes(*words, "--mem-bandwidth", "1", "--mem-latency", "200", "--stall", stand.stall(3)).out)[
        "cases"
    ][0]
    check(slow["cycles"] > case["cycles"] and slow["bound_percent"] < case["bound_percent"], f"{slow} after {case}")
    check(slow["stall_percent"] > case["stall_percent"], f"{slow} after {case}")


@slow
def test_512_cubed_keeps_the_default_array_busy_on_rtl():
    """At 64 bytes per cycle and latency 100 the array must be busy in at least 90 % of the cycles."""
    operands(512, 512, 512, "--elem", "e1m2")
    whole = json.loads(
        passes(
            "gemm",
            *AB,
            "-o",
            "D.npy",
            "--json",
            "--stats",
            "--backend",
            "rtl",
            "--check",
            "model",
            "--mem-latency",
            "100",
            "--mem-bandwidth",
            "64",
        ).out
    )
    case, counters = whole["cases"][0], whole["counters"]
    check_equal(case["verdict"], "equal", "verdict")
    check(case["util_percent"] >= 90, f"utilization: {case}")
    parts = ("array_busy", "stall_operand", "stall_accumulator", "stall_drain", "quant", "command", "idle")
    check_equal(sum(counters[p] for p in parts), counters["cycles"], "sum of the counters")
    check_equal(counters["array_busy"], 512**3 // 4096, "cycles fed")
    check_equal(counters["write_beats"], 512 * 512 * 4 // 64 + 1, "beats: D and the completion")


def test_waveforms_on_rtl():
    operands(2, 2, 16, "--elem", "e2m1")
    passes("gemm", *AB, "-o", "D.npy", "--backend", "rtl", "--config", "small", "--trace", "wave.fst")
    check(any(p == "wave.fst" and size > 0 for p, size in stand.listing()), f"files: {stand.listing()}")


def test_rejects_a_trace_that_is_no_fst_on_rtl():
    operands(2, 2, 16, "--elem", "e2m1")
    rejects(2, "A.safetensors", "gemm", *AB, "-o", "D.npy", "--backend", "rtl", "--trace", "A.safetensors")


def test_cycle_limit_on_rtl():
    operands(64, 64, 256, "--elem", "e2m1")
    stopped = []
    for limit in (100, 200):
        result = run("gemm", *AB, "-o", "D.npy", "--backend", "rtl", "--config", "small", "--max-cycles", limit)
        check_equal(result.status, 3, "exit status")
        check(("D.npy", 0) not in stand.listing() and f"within {limit} cycles" in result.err, f"{result}")
        stopped.append(int(re.search(r"cycles: cycle (\d+)", result.err)[1]))
    check_equal(stopped[1] - stopped[0], 100, "cycles between the two ends: it waits once")


def test_rejects_operands_that_do_not_go_together():
    operand("A", stand.gaussian(3, 20), "--elem", "e2m1")
    operand("B", stand.gaussian(3, 21), "--elem", "e2m1")
    result = rejects(2, "K = 20", "gemm", *AB, "-o", "D.npy")
    check("K = 21" in result.err, str(result))
    for a, b, why in (
        ([], ["--rht", "on"], "Hadamard"),
        (["--rht", "on"], ["--rht", "on", "--rht-mask", "1"], "Hadamard"),
        ([], ["--scale", "e8m0"], "A has scale e4m3, B has scale e8m0"),
    ):
        operands(3, 4, 16, "--elem", "e2m1", *a, other=["--elem", "e2m1", *b])
        rejects(2, why, "gemm", *AB, "-o", "D.npy")


def test_rejects_c_and_sums_of_wrong_shape_or_type():
    operands(3, 4, 16, "--elem", "e2m1")
    stand.write_npy("C.npy", stand.gaussian(4, 3))
    rejects(2, "C.npy is 4 x 3; it must have the size of D, 3 x 4", "gemm", *AB, "-o", "D.npy", "--c", "C.npy")
    rejects(2, "int64", "gemm", *AB, "-o", "D.npy", "--accumulate-in", "C.npy")
    stand.write_npy("I.npy", [[0] * 4] * 3, descr="<i4")
    rejects(2, "int64", "gemm", *AB, "-o", "D.npy", "--accumulate-in", "I.npy")
    stand.write_npy("S.npy", [[1, 2], [3, 4]], descr="<i8")
    rejects(
        2, "S.npy is 2 x 2; it must have the size of D, 3 x 4", "gemm", *AB, "-o", "D.npy", "--accumulate-in", "S.npy"
    )
    rejects(2, "int64", "gemm", *AB, "-o", "D.npy", "--c", "S.npy")
    rejects(2, "--bf16 describes C", "gemm", *AB, "-o", "D.npy", "--bf16")


def test_rejects_scaling_of_unrounded_sums():
    operands(3, 4, 16, "--elem", "e2m1")
    stand.write_npy("C.npy", stand.gaussian(3, 4))
    rejects(2, "unrounded sums", "gemm", *AB, "-o", "D.npy", "--out", "i64", "--alpha", "2")
    rejects(2, "unrounded sums", "gemm", *AB, "-o", "D.npy", "--out", "i64", "--c", "C.npy")


def test_rejects_what_does_not_go_with_the_contract():
    operands(3, 4, 16, "--elem", "e2m1")
    stand.write_npy("C.npy", stand.gaussian(3, 4))
    stand.write_npy("S.npy", [[0] * 4] * 3, descr="<i8")
    for contract in ("fp32", "nv"):
        for words in (["--out", "i64"], ["--accumulate-in", "S.npy"]):
            rejects(2, "need contract exact", "gemm", *AB, "-o", "D.npy", "--accumulate", contract, *words)
    rejects(
        2,
        "contract nv starts the sums with C",
        "gemm",
        *AB,
        "-o",
        "D.npy",
        "--accumulate",
        "nv",
        "--c",
        "C.npy",
        "--alpha",
        "2",
    )


def test_rejects_the_second_backend_before_the_first_ones_work_on_rtl():
    operands(3, 4, 20, "--elem", "e1m2")
    os.environ["UFP4_CUDA_LIBRARY"] = "/nowhere/libufp4_cuda.so"
    rejects(3, "/nowhere", "gemm", *AB, "-o", "D.npy", "--backend", "rtl", "--max-cycles", 1, "--check", "cuda")


def test_sums_factors_and_c_on_rtl():
    """Tests each option alone and all together, with every scale that the core has."""
    device = ["--backend", "rtl", "--check", "model", "--config", "small"]
    stand.write_npy("C.npy", stand.gaussian(19, 37, seed=9))
    for scale in ("e4m3", "nvfp4"):
        operands(19, 37, 50, "--elem", "e2m1", "--scale", scale)
        passes("gemm", *AB, "-o", "S.npy", "--out", "i64", *device)
        for words in (
            ["--alpha", "-0.3"],
            ["--c", "C.npy"],
            ["--accumulate-in", "S.npy"],
            ["--accumulate-in", "S.npy", "--alpha", "2.5", "--c", "C.npy", "--out", "bf16"],
            ["--accumulate-in", "S.npy", "--out", "i64"],
        ):
            passes("gemm", *AB, "-o", "D.npy", *device, *words)


def test_rejects_what_only_the_model_has_on_rtl():
    operands(3, 4, 16, "--elem", "e2m1")
    for contract, why in (("fp32", "contract exact"), ("nv", "contract exact")):
        rejects(3, why, "gemm", *AB, "-o", "D.npy", "--backend", "rtl", "--accumulate", contract)
        rejects(3, why, "gemm", *AB, "-o", "D.npy", "--check", "rtl", "--accumulate", contract)


def test_fp32_sums_equal_the_model_on_rtl():
    device = ["--backend", "rtl", "--check", "model", "--config", "small-fp32", "--accumulate", "fp32"]
    stand.write_npy("C.npy", stand.gaussian(33, 47))
    for scale in ("e4m3", "e8m0", "nvfp4"):
        operands(33, 47, 130, "--elem", "e2m1", "--scale", scale)
        for words in ([], ["--alpha", "-0.3", "--c", "C.npy", "--out", "bf16"]):
            passes("gemm", *AB, "-o", "D.npy", *device, *words)


def test_nv_sums_equal_the_model_on_rtl():
    device = ["--backend", "rtl", "--check", "model", "--config", "small-nv", "--accumulate", "nv"]
    stand.write_npy("C.npy", stand.gaussian(33, 47))
    for scale in ("e4m3", "e8m0", "nvfp4"):
        operands(33, 47, 130, "--elem", "e2m1", "--scale", scale)
        for words in ([], ["--alpha", "-0.3", "--out", "bf16"]):
            passes("gemm", *AB, "-o", "D.npy", *device, *words)
    operands(33, 47, 130, "--elem", "e2m1", "--scale", "e8m0")
    rejects(3, "a core cannot start its sums with C", "gemm", *AB, "-o", "D.npy", *device, "--c", "C.npy")
    operands(3, 4, 16, "--elem", "int4")
    rejects(2, "int4 does not work", "gemm", *AB, "-o", "D.npy", *device)


def test_rejects_files_that_are_no_operands():
    operands(3, 4, 16, "--elem", "e2m1")
    rejects(2, "None", "gemm", "None.safetensors", AB[1], "-o", "D.npy")
    rejects(2, "A.npy: it is a .npy file; a .safetensors file is needed", "gemm", "A.npy", AB[1], "-o", "D.npy")


if __name__ == "__main__":
    stand.main(globals())
