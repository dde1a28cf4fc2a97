# SPDX-License-Identifier: Apache-2.0
"""Tests bench: every case has its line, JSON has the same columns, wrong options are refused. No time is judged."""

import json

import stand
from stand import check, check_equal, passes, rejects, slow

COLUMNS = "case format size time_ms rate unit against against_rate ratio".split()


@slow
def test_lines_cover_every_case():
    lines = [line.split() for line in passes("bench", "--size", 64, "--repeats", 1).out.splitlines()]
    check_equal(lines[0], ["%"] + COLUMNS, "first line")
    for line in lines[1:]:
        check_equal(len(line), len(COLUMNS), f"columns of {line}")
        check(float(line[4]) > 0, f"rate of {line}")
    cases = {(line[0], line[1]) for line in lines[1:]}
    for elem in ("e2m1", "e1m2"):
        check(("gemm_exact", elem) in cases and ("gemm_fp32", elem) in cases, f"{elem} in {cases}")
    check(("gemm_nv", "e2m1") in cases, f"nv in {cases}")
    for what in ("quantize_plain", "quantize_rht", "quantize_rht_sr", "amax_plain", "amax_rht"):
        for axis in ("rows", "cols"):
            check((f"{what}_{axis}", "e1m2") in cases, f"{what} {axis} in {cases}")
        check((f"{what}_rows", "mixed") in cases, f"{what} of mixed in {cases}")
    recipes = {case[0] for case in cases if case[0].startswith("train_")}
    check_equal(recipes, {f"train_{name}" for name in "fp32 bf16 ufp4 e2m1 nvfp4 mxfp4".split()}, "recipes")


@slow
def test_simulated_cores_stand_side_by_side_on_rtl():
    lines = [line.split() for line in passes("bench", "--size", 64, "--case", "simulate").out.splitlines()[1:]]
    check_equal(
        [(line[0], line[2], line[6]) for line in lines],
        [("simulate_rtl", "256", "-"), ("simulate_tlm", "256", "simulate_rtl"), ("simulate_tlm", "64", "-")],
        "lines",
    )
    check(float(lines[1][8]) > 1, f"the timed model is slower than the RTL: {lines[1]}")


@slow
def test_json_has_the_columns_as_keys():
    for line in json.loads(passes("bench", "--size", 64, "--repeats", 1, "--json").out):
        check_equal(sorted(line), sorted(COLUMNS), "keys")
        check((line["ratio"] is None) == (line["against"] == "-"), f"ratio of {line}")


@slow
def test_one_case():
    lines = passes("bench", "--size", 64, "--repeats", 1, "--case", "gemm_fp32").out.splitlines()
    check_equal(len(lines), 3, f"{lines}")
    for line in lines[1:]:
        check(line.startswith("gemm_fp32"), line)


def test_rejects_sizes_out_of_range():
    for size in (0, 15, 16385, -1):
        rejects(2, "--size", "bench", "--size", size)


def test_rejects_other_counts_out_of_range():
    rejects(2, "--repeats", "bench", "--repeats", 0)
    rejects(2, "--repeats", "bench", "--repeats", 100)
    rejects(2, "--threads", "bench", "--threads", 0)


@slow
def test_rejects_a_case_that_does_not_exist():
    result = rejects(2, "--case nope", "bench", "--size", 16, "--case", "nope")
    check_equal(result.out, "", "no table without a line")
    check_equal(rejects(2, "--case nope", "bench", "--case", "nope", "--json").out, "", "nor in JSON")


def test_rejects_options_of_the_other_backend():
    rejects(2, "--clock-mhz has no effect with --backend model", "bench", "--clock-mhz", 5)
    for option in ("--repeats", "--threads", "--seed", "--case"):
        rejects(2, f"{option} has no effect with --backend cuda", "bench", "--backend", "cuda", option, 1)


def test_rejects_inputs():
    rejects(2, "", "bench", "A.npy")


if __name__ == "__main__":
    stand.main(globals())
