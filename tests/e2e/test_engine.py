# SPDX-License-Identifier: Apache-2.0
"""Tests quantize on a core: its QUANT engine writes the golden model's file, or the host does and the program says
so."""

import json
import math
import pathlib

import stand
from stand import check, check_equal, passes, rejects

Q = ["-o", "Q.safetensors"]

ENGINE = [
    ["--elem", "e1m2"],
    ["--elem", "e2m1", "--round", "sr", "--seed", "9", "--tensor-id", "70"],
    ["--elem", "int4", "--scale-round", "up", "--axis", "col"],
    ["--elem", "e1m2", "--rht", "on", "--rht-mask", "0x1234"],
    ["--elem", "e1m2", "--rht", "on", "--rht-mask", "0xBEEF", "--axis", "col", "--round", "sr"],
    ["--elem", "e2m1", "--scale", "e8m0"],
    ["--elem", "int4", "--scale", "e8m0", "--scale-round", "up", "--axis", "col"],
    ["--elem", "e1m2", "--tensor-exponent", "-3"],
    ["--recipe", "ufp4", "--role", "dy", "--pass", "wgrad", "--rht-mask", "0x00FF"],
]


def engine(backend, *options):
    """The engine's file must equal the golden model's, byte for byte, and take cycles."""
    for rows in (stand.gaussian(1, 1), stand.gaussian(19, 37, factor=20.0), stand.gaussian(33, 16)):
        stand.write_npy("X.npy", rows)
        for how in ENGINE:
            passes("quantize", "X.npy", "-o", "want.safetensors", *how)
            done = passes("quantize", "X.npy", *Q, *how, "--backend", backend, "--check", "model", "--stats", *options)
            check("tensor exponent and flags, equal" in done.err and "the host quantizes" not in done.err, f"{done}")
            jobs = {
                line.split()[0]: line.split()[1:]
                for line in done.out.splitlines()
                if len(line.split()) == 5 and line[0] != "%"
            }
            finds = "e8m0" not in how and "--tensor-exponent" not in how
            check_equal(list(jobs), ["amax", "quant"] if finds else ["quant"], f"{how}: jobs")
            check(all(int(words[2]) > 100 for words in jobs.values()), f"{how}: {done.out}")
            check_equal(
                pathlib.Path("Q.safetensors").read_bytes(), pathlib.Path("want.safetensors").read_bytes(), f"{how}"
            )


def test_the_engine_makes_the_models_file():
    engine("tlm", "--config", "small")
    engine("tlm", "--config", "tiny-quant")


def test_the_engine_makes_the_models_file_on_rtl():
    engine("rtl", "--config", "small")


def test_a_mask_changes_what_the_engine_makes():
    stand.write_npy("X.npy", stand.gaussian(16, 64))
    made = set()
    for mask in ("0x0000", "0x0001", "0x8000", "0xFFFF"):
        passes(
            "quantize",
            "X.npy",
            *Q,
            "--elem",
            "e1m2",
            "--rht",
            "on",
            "--rht-mask",
            mask,
            "--backend",
            "tlm",
            "--config",
            "small",
            "--check",
            "model",
        )
        made.add(pathlib.Path("Q.safetensors").read_bytes())
    check_equal(len(made), 4, "files")


def test_statistics_say_what_the_engine_did():
    stand.write_npy("X.npy", [[1.0, math.nan] + [2.0] * 30] * 20)
    words = ["quantize", "X.npy", *Q, "--elem", "e1m2", "--backend", "tlm", "--config", "small"]
    told = json.loads(passes(*words, "--check", "model", "--json").out)
    jobs = {job["job"]: job for job in told.pop("jobs")}
    counters = told.pop("counters")
    check_equal(
        told, dict(on_core=True, tensor_exponent=8, nan=True, saturated=False, mismatches=0, verdict="equal"), "JSON"
    )
    check_equal(list(jobs), ["amax", "quant"], "jobs")
    check_equal([(job["rows"], job["cols"]) for job in jobs.values()], [(20, 32)] * 2, "sizes")
    check(jobs["quant"]["cycles"] > 100 and counters["write_beats"] > 0, f"{jobs} {counters}")
    check_equal(json.loads(passes(*words, "--json").out)["verdict"], "-", "nothing compared")
    told = json.loads(passes("quantize", "X.npy", *Q, "--elem", "e1m2", "--json").out)
    check_equal(
        (told["jobs"], told["counters"]),
        (
            [
                {
                    "job": "host",
                    "rows": told["jobs"][0]["rows"],
                    "cols": told["jobs"][0]["cols"],
                    "cycles": None,
                    "numbers_per_cycle": None,
                }
            ],
            None,
        ),
        "without a core",
    )
    told = json.loads(
        passes(
            "quantize", "X.npy", "--elem", "e1m2", "--backend", "tlm", "--config", "small", "--timing-only", "--json"
        ).out
    )
    check_equal(
        {job["job"]: job["cycles"] for job in told["jobs"]},
        {name: job["cycles"] for name, job in jobs.items()},
        "cycles without data",
    )
    told = json.loads(
        passes("quantize", "X.npy", *Q, "--elem", "e1m2", "--check", "tlm", "--config", "small", "--json").out
    )
    check_equal(
        {job["job"]: job["cycles"] for job in told["jobs"]},
        {name: job["cycles"] for name, job in jobs.items()},
        "of the one that has them",
    )


def test_what_no_engine_makes_the_host_does_and_says():
    stand.write_npy("X.npy", stand.gaussian(16, 32))
    for config, how, why in (
        ("small", ["--elem", "e2m1", "--scale", "nvfp4"], "QUANT does not make nvfp4 scales"),
        ("small", ["--elem", "e1m2", "--layout", "2d"], "QUANT does not make 2D scales (16 x 16 blocks)"),
        ("small", ["--elem", "e1m2", "--rht", "bf16"], "QUANT has no transform that rounds to BF16"),
        (
            "small",
            ["--elem", "e1m2", "--scale", "e8m0", "--rht", "on"],
            "QUANT does not transform blocks of 32 with E8M0 scales",
        ),
        (
            "small",
            ["--elem", "mixed"],
            "QUANT of small does not make mixed elements; a core with mixed=1, such as small-mixed, does",
        ),
        (
            "small-uniform",
            ["--elem", "mixed"],
            "QUANT of small-uniform does not make mixed elements; "
            "a core with formats=all and mixed=1, such as small-mixed, does",
        ),
        ("tiny", ["--elem", "e1m2"], "tiny has no QUANT engine"),
    ):
        words = ["quantize", "X.npy", *how, "--config", config]
        done = passes(*words, *Q, "--backend", "tlm", "--stats")
        check_equal(done.err, f"ufp4 quantize: the host quantizes for tlm: {why}\n", f"{done}")
        check("host" in done.out, f"{done}")
        for backends in (["--backend", "tlm", "--check", "model"], ["--check", "tlm"]):
            told = f"ufp4 quantize: --check {backends[-1]} compares the golden model with itself\n"
            check(told in passes(*words, *Q, *backends).err, f"{backends} with {how}")
        told = f"--timeline: the host quantizes ({why}), so there is nothing to write; leave out --timeline"
        rejects(2, told, *words, *Q, "--backend", "tlm", "--timeline", "t.json")
        check(not pathlib.Path("t.json").exists(), "a timeline")


def test_rejects_waveforms_where_the_host_quantizes_on_rtl():
    stand.write_npy("X.npy", stand.gaussian(16, 32))
    how = ["--elem", "e2m1", "--scale", "nvfp4", "--backend", "rtl", "--config", "small", "--trace", "t.fst"]
    told = "--trace: the host quantizes (QUANT does not make nvfp4 scales), so there is nothing to write"
    rejects(2, told, "quantize", "X.npy", *Q, *how)
    check(not pathlib.Path("t.fst").exists(), "waveforms")


def test_a_layer_says_why_the_host_quantizes():
    for name, shape in (("X", (16, 32)), ("W", (16, 32)), ("D", (16, 16))):
        stand.write_npy(f"{name}.npy", stand.gaussian(*shape))
    for config, recipe, why in (
        (
            "small",
            "ufp4-mixed",
            "QUANT of small does not make mixed elements; a core with mixed=1, such as small-mixed, does",
        ),
        ("tiny", "ufp4", "tiny has no QUANT engine"),
    ):
        how = ("--recipe", recipe, "--config", config, "--backend", "tlm")
        done = passes("layer", "X.npy", "W.npy", "D.npy", "-o", "layer", *how)
        check_equal(done.err, f"ufp4 layer: the host quantizes for tlm: {why}\n", config)


def test_a_core_multiplies_mixed_by_each_contract():
    """Either side has blocks of both kinds. The bits are the model's, the cycles the timed model's; a core without one
    of the formats refuses."""
    stand.write_npy("X.npy", stand.gaussian(20, 64))
    passes("quantize", "X.npy", *Q, "--elem", "mixed")
    passes("quantize", "X.npy", "-o", "E.safetensors", "--elem", "e1m2")
    for config, contract in (("small", "exact"), ("small-fp32", "fp32"), ("small-nv", "nv")):
        for pair in (("Q.safetensors", "E.safetensors"), ("E.safetensors", "Q.safetensors")):
            how = ["gemm", *pair, "-o", "D.npy", "--accumulate", contract, "--config", config, "--json"]
            cycles = [
                json.loads(passes(*how, "--backend", backend, "--check", "model").out)["cases"][0]["cycles"]
                for backend in ("rtl", "tlm")
            ]
            check_equal(*cycles, f"{config}, {pair}: cycles")
    for config in ("small-e1m2", "tiny"):
        words = f"configuration {config} does not multiply mixed; small does"
        rejects(3, words, "gemm", *pair, "-o", "D.npy", "--backend", "tlm", "--config", config)


def test_a_core_that_makes_mixed_quantizes_a_layer_by_itself():
    for name, shape in (("X", (48, 80)), ("W", (64, 80)), ("D", (48, 64))):
        stand.write_npy(f"{name}.npy", stand.gaussian(*shape))
    for config in ("small-mixed", "rows=2:cols=2:bus=8:quant=2:mixed=1"):
        how = ("--config", config, "--backend", "tlm", "--check", "model")
        for options in ([], ["--rht", "on", "--round", "sr"], ["--axis", "col", "--scale-round", "up"]):
            done = passes("quantize", "X.npy", *Q, "--elem", "mixed", *options, *how, "--json")
            check_equal([job["job"] for job in json.loads(done.out)["jobs"]], ["amax", "quant"], f"{options}: jobs")
        for recipe in ("ufp4-mixed", "e2m1-mixed", "ufp4-mixed/rht=none"):
            done = passes("layer", "X.npy", "W.npy", "D.npy", "-o", "layer", "--recipe", recipe, *how)
            check("host" not in done.err, f"{recipe}: {done}")


def test_rejects_what_does_not_go_with_a_backend():
    stand.write_npy("X.npy", stand.gaussian(16, 32))
    words = ["quantize", "X.npy", *Q, "--elem", "e1m2"]
    rejects(
        3,
        "backend tlm does not support this combination with scale fp32",
        *words,
        "--scale",
        "fp32",
        "--backend",
        "tlm",
    )
    rejects(
        3, "backend tlm does not support this combination with scale fp32", *words, "--scale", "fp32", "--check", "tlm"
    )
    rejects(
        3,
        "backend cuda does not support RHT integer (on) with scale e4m3, layout 2d; model, rtl",
        *words,
        "--layout",
        "2d",
        "--rht",
        "on",
        "--backend",
        "cuda",
    )
    rejects(
        3,
        "backend cuda does not support block 64 with scale e4m3; model does",
        *words,
        "--block",
        "64",
        "--backend",
        "cuda",
    )
    rejects(2, "no backend is called 'gpu'", *words, "--backend", "gpu")
    rejects(2, "no backend is called 'gpu'", *words, "--check", "gpu")
    rejects(2, "--config needs a simulated core, which backend model is not", *words, "--config", "small")
    rejects(2, "--timing-only needs the timed model", "quantize", "X.npy", "--elem", "e1m2", "--timing-only")
    rejects(2, "--timing-only computes no codes; leave out -o", *words, "--backend", "tlm", "--timing-only")
    rejects(
        2,
        "--timing-only leaves no data for --check",
        "quantize",
        "X.npy",
        "--elem",
        "e1m2",
        "--timing-only",
        "--backend",
        "tlm",
        "--check",
        "model",
    )
    rejects(2, "-o Q.safetensors is missing", "quantize", "X.npy", "--elem", "e1m2", "--backend", "tlm")
    rejects(2, "--config: no configuration is called 'huge'", *words, "--backend", "tlm", "--config", "huge")


if __name__ == "__main__":
    stand.main(globals())
