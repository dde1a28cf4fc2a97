# SPDX-License-Identifier: Apache-2.0
"""usage: run.py FLAT.v CONFIGURATION SOURCE BUILD

Builds the program in BUILD with the flat Verilog release through Verilator, in the place of that configuration's
RTL. Compares with the golden model: GEMMs of odd shapes and each type of D, the three GEMMs of a step, and, if there is
a QUANT engine, the tensors that it quantizes."""

import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "e2e"))
import stand  # noqa: E402

SHAPES = [(1, 4, 16), (37, 29, 53), (19, 70, 40)]  # M, N, K
QUANTIZED = [("x", "X", "fprop"), ("x", "X", "wgrad"), ("dy", "dY", "dgrad"), ("dy", "dY", "wgrad")]


def call(folder, seconds, *command):
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def has_quant(source, configuration):
    known = (source / "rtl/gen/configurations.cmake").read_text()
    return int(re.search(rf"^set\(UFP4_CONFIGURATION_{configuration} .*-GQuant=(\d+)", known, re.M)[1]) > 0


def main():
    flat, configuration = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    source, build = (pathlib.Path(name).resolve() for name in sys.argv[3:5])
    build.mkdir(parents=True, exist_ok=True)
    launchers = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX") if shutil.which("ccache")]
    call(
        build,
        600,
        "cmake",
        "-G",
        "Ninja",
        "-S",
        source,
        "-B",
        build,
        "-DCMAKE_BUILD_TYPE=Release",
        "-DUFP4_CUDA=OFF",
        "-DUFP4_TESTS=OFF",
        f"-DUFP4_RTL_NETLIST={flat}",
        f"-DUFP4_RTL_NETLIST_OF={configuration}",
        *launchers,
    )
    call(build, 1800, "ninja", "-C", build, "ufp4_cli")
    program, random = build / "drivers" / "ufp4", np.random.default_rng(stand.stream(1))
    gemms = 0
    for (m, n, k), out, stall in itertools.product(SHAPES, ("f32", "bf16", "i64"), (0, 7)):
        for name, rows in (("X", m), ("W", n)):
            np.save(build / f"{name}.npy", random.standard_normal((rows, k)).astype(np.float32))
            call(build, 60, program, "quantize", f"{name}.npy", "-o", f"{name}.safetensors", "--elem", "e1m2")
        call(
            build,
            300,
            program,
            "gemm",
            "X.safetensors",
            "W.safetensors",
            "-o",
            "D.npy",
            "--backend",
            "rtl",
            "--config",
            configuration,
            "--check",
            "model",
            "--out",
            out,
            "--stall",
            stall and stand.stall(stall),
        )
        gemms += 1
    np.save(build / "dY.npy", random.standard_normal((37, 29)).astype(np.float32))
    for name, rows in (("X", 37), ("W", 29)):
        np.save(build / f"{name}.npy", random.standard_normal((rows, 53)).astype(np.float32))
    call(
        build,
        300,
        program,
        "layer",
        "X.npy",
        "W.npy",
        "dY.npy",
        "-o",
        "step",
        "--backend",
        "rtl",
        "--config",
        configuration,
        "--check",
        "model",
        "--stall",
        stand.stall(7),
    )
    tensors = 0
    for role, name, of in QUANTIZED * has_quant(source, configuration):
        said = call(
            build,
            300,
            program,
            "quantize",
            f"{name}.npy",
            "-o",
            "q.safetensors",
            "--recipe",
            "ufp4",
            "--role",
            role,
            "--pass",
            of,
            "--backend",
            "rtl",
            "--config",
            configuration,
            "--check",
            "model",
            "--json",
        )
        if not json.loads(said)["on_core"]:
            sys.exit(f"{name} of {of} was not quantized on the core")
        tensors += 1
    print(f"{gemms + 3} GEMMs and {tensors} quantized tensors on the Verilog of {configuration} are equal in every bit")


if __name__ == "__main__":
    main()
