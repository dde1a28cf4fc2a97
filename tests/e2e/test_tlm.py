# SPDX-License-Identifier: Apache-2.0
"""Tests the backend tlm behind the program: the golden model's data with the core's cycles, and cycles without data."""

import json
import pathlib

import stand
from stand import check, check_equal, listing, passes, rejects, slow
from trainings import demo

XWD = ["X.npy", "W.npy", "dY.npy"]
AB = ["A.safetensors", "B.safetensors"]


def tensors(tokens=33, cin=47, cout=130):
    stand.write_npy("X.npy", stand.gaussian(tokens, cin))
    stand.write_npy("W.npy", stand.gaussian(cout, cin, 0.05))
    stand.write_npy("dY.npy", stand.gaussian(tokens, cout, 1e-4))
    passes("quantize", "X.npy", "-o", "A.safetensors", "--elem", "e2m1")
    passes("quantize", "W.npy", "-o", "B.safetensors", "--elem", "e2m1")


def json_of(*words):
    return json.loads(passes(*words, "--json").out)


def timed(whole):
    """Returns the fields that depend neither on data nor on the machine."""
    counters = {k: v for k, v in whole.get("counters", {}).items() if not k.endswith(("seconds", "second"))}
    keys = ("pass", "format", "m", "n", "k", "cycles", "util_percent", "bound_percent", "bound_by", "stall_percent")
    return [[case[key] for key in keys] for case in whole["cases"]], counters


def same_time(*words):
    """Compares a run with data and one without, which writes nothing."""
    data = json_of(*words[:-2], *words[-2:], "--backend", "tlm", "--check", "model")
    check_equal(data["verdict"], "equal", "verdict")
    before = listing()
    alone = json_of(*words[:-2], "--backend", "tlm", "--timing-only")
    check_equal(listing(), before, "files")
    check_equal(alone["verdict"], "-", "verdict without data")
    check_equal(timed(alone), timed(data), "time")
    check(all(case["cycles"] > 0 for case in alone["cases"]), f"cycles: {alone}")


def test_layers_equal_the_model_and_take_the_same_time_without_data():
    tensors()
    for recipe in "ufp4", "nvfp4":
        same_time("layer", *XWD, "--recipe", recipe, "-o", "out")
    same_time("layer", *XWD, "--config", "small-fp32", "--recipe", "mxfp4", "--mem-latency", "7", "-o", "out")


def test_gemms_equal_the_model_and_take_the_same_time_without_data():
    tensors()
    stand.write_npy("C.npy", stand.gaussian(33, 130))
    same_time("gemm", *AB, "--stats", "-o", "D.npy")
    same_time("gemm", *AB, "--stats", "--c", "C.npy", "--alpha", "0.5", "--mem-bandwidth", "9", "-o", "D.npy")


def test_timing_only_prints_its_line():
    tensors()
    got = json_of("quantize", "X.npy", "--elem", "e1m2", "--backend", "tlm", "--timing-only")
    check_equal(
        [got[key] for key in ("on_core", "tensor_exponent", "nan", "saturated")],
        [True, None, None, None],
        "figures of no data",
    )
    check("gemm  e2m1     33  130   47" in passes("gemm", *AB, "--backend", "tlm", "--timing-only").out, "no line")


@slow
def test_training_has_the_losses_of_the_model():
    stand.demand_drawing()
    pathlib.Path("text.txt").write_text("".join(f"line {i * i % 997} of a text\n" for i in range(2000)))
    words = ["train", "text.txt", "--steps", "2", "--seeds", "1", "--recipe", "ufp4", "--no-control", "-o"]
    timed = passes(*words, "tlm", "--backend", "tlm").out
    plain = passes(*words, "model").out
    cycles = int(timed.split("\n")[2].split()[-1])
    check("deviation tokens_per_second cycles_per_step\n" in timed and cycles > 10**6, f"cycles of a step: {timed}")
    check("cycles" not in plain, f"cycles of the model: {plain}")
    check(f"<td>{cycles}</td>" in pathlib.Path("tlm/report.html").read_text(), "cycles in the report")
    check_equal(*(pathlib.Path(name, "losses.csv").read_text() for name in ("tlm", "model")), "losses")


def test_a_demo_says_where_the_host_quantizes():
    words = [*demo(), "--backend", "tlm", "--config", "small", "--recipe"]
    check_equal(passes(*words, "ufp4").err, "", "the core quantizes")
    told = "ufp4 demo: recipe nvfp4: the host quantizes for tlm: QUANT does not make nvfp4 scales"
    check(passes(*words, "nvfp4").err.startswith(told), "the host quantizes")


def test_info_reports_the_timed_model():
    device = json_of("info", "--backend", "tlm", "--config", "large")["device"]
    check_equal(
        (device["backend"], device["configuration"]["name"], device["cycles"]), ("tlm", "large", True), "device"
    )


def test_rejects_a_wait_beyond_the_cycle_limit():
    tensors()
    rejects(3, "tlm: ", "gemm", *AB, "-o", "D.npy", "--backend", "tlm", "--max-cycles", "100")


if __name__ == "__main__":
    stand.main(globals())
