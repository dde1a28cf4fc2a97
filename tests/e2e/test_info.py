# SPDX-License-Identifier: Apache-2.0
"""Tests info: configurations, backends, and what a device reports."""

import json

import stand
from stand import check, check_equal, passes, rejects


def test_rejects_an_unknown_configuration():
    """The message names all configurations."""
    names = [c["name"] for c in json.loads(passes("info", "--json").out)["configurations"]]
    rejects(
        2,
        f"'nope'; there are {', '.join(names[:-1])} and {names[-1]}, or parameters such as rows=8:cols=16\n",
        "info",
        "--backend",
        "rtl",
        "--config",
        "nope",
    )


def test_lists_configurations_and_backends():
    whole = json.loads(passes("info", "--json").out)
    names = [c["name"] for c in whole["configurations"]]
    check_equal(
        names,
        [
            "small",
            "default",
            "small-fp32",
            "default-fp32",
            "small-nv",
            "default-nv",
            "small-uniform",
            "small-e1m2",
            "small-mixed",
            "large",
            "lean",
            "tiny",
            "tiny-quant",
            "board",
        ],
        "configurations",
    )
    check_equal(whole["configurations"][1]["macs_per_cycle"], 4096, "MACs a cycle")
    check_equal(
        [c["contract"] for c in whole["configurations"]],
        ["exact", "exact", "fp32", "fp32", "nv", "nv"] + ["exact"] * 8,
        "contracts",
    )
    check_equal([c["lanes"] for c in whole["configurations"]][-5:], [16, 4, 4, 4, 16], "lanes")
    check_equal(
        [c["quant"] for c in whole["configurations"]][-5:], [64, 16, 0, 2, 2], "numbers that QUANT takes a cycle"
    )
    check_equal(
        [b["name"] for b in whole["backends"]],
        ["model", "rtl", "tlm", "systemc", "systemc:timed", "cuda", "fpga", "mmio"],
        "backends",
    )
    check(whole["backends"][0]["available"] is True, "the model is always there")
    check(whole["cpu"]["cores"] >= 1, "cores")
    check_equal([c["name"] for c in whole["configurations"] if c["mixed"]], ["small-mixed"], "elements mixed")
    text = passes("info").out
    check_equal(
        [l.split()[1] for l in text.splitlines() if "QUANT makes elements mixed, too" in l], ["small-mixed"], "in text"
    )
    for word in ("small", "default", "model", "rtl", "cpu"):
        check(word in text, f"{word} is missing in {text}")


def test_reports_the_model():
    device = json.loads(passes("info", "--backend", "model", "--config", "small", "--json").out)["device"]
    got = (device["backend"], device["configuration"]["name"], device["cycles"])
    check_equal(got, ("model", "small", False), "device")


def test_reports_the_core_on_rtl():
    for name, rows in (("small", 2), ("default", 16), ("small-fp32", 2), ("small-nv", 2)):
        device = json.loads(passes("info", "--backend", "rtl", "--config", name, "--json").out)["device"]
        core = device["configuration"]
        check_equal((core["name"], core["rows"], device["cycles"]), (name, rows, True), "device")
        check(name in passes("info", "--backend", "rtl", "--config", name).out, "text")


def test_selftest_of_the_core_on_rtl():
    for name in ("small", "small-fp32", "small-nv"):
        lines = json.loads(passes("info", "--backend", "rtl", "--config", name, "--selftest", "--json").out)["selftest"]
        check_equal(
            [(line["test"], line["mismatches"], line["verdict"]) for line in lines],
            [(test, 0, "equal") for test in ("memory", "quant", "gemm")],
            name,
        )
        check(all(line["compared"] > 0 for line in lines), str(lines))


def test_rejects_a_selftest_of_no_device():
    rejects(2, "--selftest needs --backend", "info", "--selftest")


def test_rejects_files_of_a_run_without_one():
    for option, value in (("--trace", "t.fst"), ("--timeline", "t.json")):
        rejects(2, f"{option} needs --selftest", "info", "--backend", "rtl", option, value)


def test_rejects_unknown_backends():
    rejects(2, "no backend is called", "info", "--backend", "abacus")
    rejects(2, "needs a port: fpga:/dev/ttyUSB0", "info", "--backend", "fpga")
    rejects(3, "fpga-none: cannot open: No such file", "info", "--backend", "fpga:fpga-none")
    rejects(2, "'fast' is not a baud rate", "info", "--backend", "fpga:fpga-none@fast")


if __name__ == "__main__":
    stand.main(globals())
