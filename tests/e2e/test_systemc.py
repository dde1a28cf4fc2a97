# SPDX-License-Identifier: Apache-2.0
"""The backends systemc and systemc:timed behind the program: another process, the same bits and cycles."""

import json
import os
import pathlib

import stand
from stand import check_equal, passes, rejects

BACKENDS = "systemc", "systemc:timed"
AB = ["A.safetensors", "B.safetensors"]


def operands():
    stand.write_npy("X.npy", stand.gaussian(33, 100))
    passes("quantize", "X.npy", "-o", AB[0], "--elem", "e2m1")
    passes("quantize", "X.npy", "-o", AB[1], "--elem", "int4")


def test_gemms_have_the_bits_of_the_model_and_the_cycles_of_the_core():
    operands()
    words = ["gemm", *AB, "-o", "D.npy", "--json", "--config", "small", "--mem-latency", "30", "--mem-bandwidth", "5"]
    want = json.loads(passes(*words, "--backend", "rtl").out)["cases"]
    for backend in BACKENDS:
        done = json.loads(passes(*words, "--backend", backend, "--check", "model").out)
        check_equal(done["verdict"], "equal", "verdict")
        check_equal(
            [case["cycles"] for case in done["cases"]], [case["cycles"] for case in want], f"cycles of {backend}"
        )


def test_two_devices_of_one_program():
    operands()
    passes("gemm", *AB, "-o", "D.npy", "--backend", "systemc", "--check", "systemc:timed", "--config", "small")


def test_a_time_line_is_that_of_the_other_device():
    operands()
    passes(
        "gemm",
        *AB,
        "-o",
        "D.npy",
        "--backend",
        "systemc",
        "--check",
        "tlm",
        "--config",
        "small",
        "--timeline",
        "t.json",
    )
    check_equal(json.loads(pathlib.Path("t.json").read_text())["otherData"]["configuration"], "small", "configuration")


def test_stdout_has_what_the_program_prints_alone():
    for backend in BACKENDS:
        check_equal(
            json.loads(passes("info", "--backend", backend, "--json").out)["device"]["backend"], backend, "backend"
        )


def test_drams_take_the_cycles_of_the_core():
    operands()
    for dram in "lpddr5", "hbm3":
        words = ["gemm", *AB, "-o", "D.npy", "--json", "--mem-latency", "20", "--dram", dram]
        cycles = {
            backend: json.loads(passes(*words, "--backend", backend).out)["cases"][0]["cycles"]
            for backend in ("rtl", "tlm", *BACKENDS)
        }
        check_equal(len(set(cycles.values())), 1, cycles)
        none = json.loads(passes(*words[:-2], "--backend", "tlm").out)["cases"][0]["cycles"]
        check_equal(none < cycles["tlm"], True, f"{none} cycles without banks, {cycles['tlm']} with those of {dram}")
        rejects(
            2,
            "no memory is called 'ddr9'; there are none, lpddr5 and hbm3, or as hbm3:8 with 1 to 1024 channels\n",
            *words[:-1],
            "ddr9",
            "--backend",
            "tlm",
        )
    rejects(2, "--dram needs a simulated core, which backend model is not", *words[:5], "--dram", "hbm3")


def test_rejects_what_only_the_simulator_has():
    operands()
    for backend in BACKENDS:
        rejects(
            2, "does not support random back-pressure", "gemm", *AB, "-o", "D.npy", "--backend", backend, "--stall", "3"
        )
        rejects(
            2, "--trace writes the core's signals", "gemm", *AB, "-o", "D.npy", "--backend", backend, "--trace", "t.fst"
        )
        rejects(
            2,
            f"--timeline needs backend rtl or tlm, not {backend}",
            "gemm",
            *AB,
            "-o",
            "D.npy",
            "--backend",
            backend,
            "--timeline",
            "t.json",
        )
        rejects(2, "--timing-only needs the timed model", "gemm", *AB, "--backend", backend, "--timing-only")
        rejects(
            3,
            f"{backend}: no interrupt within",
            "gemm",
            *AB,
            "-o",
            "D.npy",
            "--backend",
            backend,
            "--max-cycles",
            "100",
        )


def test_rejects_a_program_that_is_not_there():
    operands()
    os.environ["UFP4_SYSTEMC_PROGRAM"] = "/nowhere/ufp4-systemc"
    rejects(3, "/nowhere/ufp4-systemc: No such file", "gemm", *AB, "-o", "D.npy", "--backend", "systemc")


if __name__ == "__main__":
    stand.main(globals())
