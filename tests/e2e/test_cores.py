# SPDX-License-Identifier: Apache-2.0
"""Tests layer on several cores: every bit equals the golden model's, and the cycles of each core."""

import json
import pathlib

import stand
from stand import check, check_equal, passes, rejects
from test_layer import SHAPES, XWD, layer, tensors, write_recipe


def check_cores(backend, *options, shapes=((37, 70, 33), (50, 33, 129), (3, 5, 17), (1, 1, 1))):
    """The shapes are uneven, and some have fewer stripes than there are cores."""
    for shape in shapes:
        tensors(*shape)
        for cores in range(1, 5):
            for split in ("tokens", "n", "auto") if cores > 1 else ("auto",):
                words = ["--split", split] if cores > 1 else []
                result = layer("--backend", backend, "--check", "model", "--cores", cores, *words, *options)
                check_equal(result["verdict"], "equal", f"{shape} on {cores} cores by {split}")


def test_cores_share_a_layer():
    check_cores("model", "--seed", "5")
    tensors(37, 70, 33)
    files = {}
    for cores in (1, 3, 64):
        layer("--cores", cores)
        files[cores] = [pathlib.Path("out", name).read_bytes() for name in SHAPES.values()]
    check(files[1] == files[3] == files[64], "outputs")
    write_recipe("wide.json", elem="e1m2", block=64)
    write_recipe("real.json", elem="e2m1", scale="fp32")
    write_recipe("half.json", elem="e1m2", rht="integer", rht_size=32)
    tensors(64, 96, 160)
    for recipe in ("mxfp4", "nvfp4", "wide.json", "real.json", "half.json"):
        check_equal(layer("--cores", "3", "--recipe", recipe, "--check", "model")["verdict"], "equal", recipe)


def test_cores_share_a_layer_on_tlm():
    check_cores("tlm", "--config", "small", shapes=((37, 70, 33), (3, 5, 17)))


def test_cores_share_a_layer_on_rtl():
    tensors(40, 35, 50)
    words = ["--config", "small", "--cores", "2", "--check", "model"]
    for split in ("tokens", "n"):
        rtl, tlm = (layer("--backend", backend, "--split", split, *words) for backend in ("rtl", "tlm"))
        check_equal(rtl["verdict"], "equal", split)
        check_equal(rtl["cases"], tlm["cases"], f"cycles by {split}")


def test_cores_are_counted_one_by_one_on_tlm():
    tensors(40, 20, 100)
    words = ["--backend", "tlm", "--config", "small", "--timing-only"]

    def cases(*options):
        return {c["pass"]: c for c in json.loads(passes("layer", *XWD, *words, "--json", *options).out)["cases"]}

    one, by = cases(), {split: cases("--cores", "4", "--split", split) for split in ("tokens", "n", "auto")}
    check("core_cycles" not in one["fprop"], "one core is no list")
    for split, each in by.items():
        for name, case in each.items():
            check_equal((case["cores"], case["cycles"]), (4, max(case["core_cycles"])), f"{name} by {split}")
            check(
                case["cycles"] < one[name]["cycles"] or case["core_cycles"].count(0) == 3,
                f"{name} by {split} is no faster",
            )
            check(0 < case["util_percent"] <= case["bound_percent"] <= 100, f"{name} by {split}: {case}")
            check_equal(len(case["core_cycles"]), 4, "cores")
    idle = {split: {name: case["core_cycles"].count(0) for name, case in each.items()} for split, each in by.items()}
    # Y and dX have 3 groups of 16 rows, dW has 7. Y has 4 stripes of 32 columns, dX and dW have 1.
    check_equal(idle["tokens"], dict(fprop=1, dgrad=1, wgrad=0), "idle by tokens")
    check_equal(idle["n"], dict(fprop=0, dgrad=3, wgrad=3), "idle by n")
    for name, case in by["auto"].items():
        best = min(("tokens", "n"), key=lambda split: by[split][name]["cycles"])
        check_equal((case["split"], case["cycles"]), (best, by[best][name]["cycles"]), f"{name} by auto")
    lines = passes("layer", *XWD, *words, "--cores", "4").out.splitlines()
    check(lines[0].endswith("verdict split core_cycles"), lines[0])
    check_equal(lines[1].split()[-1], ",".join(map(str, by["auto"]["fprop"]["core_cycles"])), "the line of FPROP")


def test_cores_share_what_the_host_quantizes():
    tensors(37, 70, 33)
    write_recipe("nv.json", elem="e2m1", scale="nvfp4", accumulate="nv")
    write_recipe("own.json", elem="e1m2", rht="integer", requantize=True, bf16_passes=["dgrad"])
    for config, recipe in (("small", "nvfp4"), ("small-fp32", "mxfp4"), ("small-nv", "nv.json"), ("small", "own.json")):
        words = ["--backend", "tlm", "--config", config, "--recipe", recipe, "--check", "model", "--cores", "3"]
        result = layer(*words)
        check_equal(result["verdict"], "equal", recipe)
        if recipe == "own.json":
            check_equal([c["split"] is None for c in result["cases"]], [False, True, False], "DGRAD is the host's")


def test_rejects_numbers_of_cores():
    tensors(4, 5, 6)
    for cores in ("0", "-1", "65", "two", "1.5", "", "99999999999999999999"):
        rejects(2, "a whole number from 1 to 64", "layer", *XWD, "-o", "out", "--cores", cores)
    for words in ([], ["--cores", "1"]):
        rejects(2, "--split needs --cores 2 or more", "layer", *XWD, "-o", "out", "--split", "n", *words)
    rejects(2, "'k' is not one of tokens|n|auto", "layer", *XWD, "-o", "out", "--cores", "2", "--split", "k")


def test_rejects_cores_for_what_the_host_multiplies():
    tensors(4, 5, 6)
    write_recipe("half.json", elem="e1m2", rht="integer", bf16_passes=["dgrad"])
    for words in (["--recipe", "bf16"], ["--recipe", "fp32"], ["--recipe", "half.json", "--pass", "dgrad"]):
        rejects(
            2,
            "the host multiplies in these passes; leave out --cores",
            "layer",
            *XWD,
            "-o",
            "out",
            "--cores",
            "3",
            *words,
        )
    words = ["layer", *XWD, "-o", "out", "--recipe", "half.json", "--pass", "dgrad"]
    for options in (["--check", "tlm"], ["--backend", "tlm", "--timeline", "t.json"]):
        rejects(2, "--recipe half runs these passes on the host; leave out --backend", *words, *options)
    layer("--recipe", "half.json", "--pass", "wgrad", "--cores", "3", "--check", "model")


def test_rejects_cores_on_other_backends_and_in_files_of_one():
    tensors(4, 5, 6)
    for backend in ("systemc", "systemc:timed", "cuda", "fpga:/dev/none", "mmio:/dev/none"):
        rejects(
            2,
            f"model, rtl or tlm, not {backend}",
            "layer",
            *XWD,
            "-o",
            "out",
            "--backend",
            backend,
            "--cores",
            "2",
        )
    for option in ("trace", "timeline"):
        rejects(
            2,
            f"--{option} works with one core only",
            "layer",
            *XWD,
            "-o",
            "out",
            "--backend",
            "rtl",
            "--cores",
            "2",
            f"--{option}",
            "file.fst",
        )


if __name__ == "__main__":
    stand.main(globals())
