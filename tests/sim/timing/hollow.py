# SPDX-License-Identifier: Apache-2.0
"""usage: hollow.py SOURCE BUILD CONFIGURATION SIZE

Compares the timed model with the RTL without its arithmetic, where the whole RTL is too slow. Outputs on which no ready
or valid depends give 0, and all control is unchanged. Verilator compiles this RTL in BUILD, and jobs of sizes up to
SIZE are compared (test_sim_timing, equals_configuration)."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

# Modules whose outputs are only data.
ARITHMETIC = (
    "array/ufp4_array",
    "mem/ufp4_sram_checked",
    "num/ufp4_i64_to_f32",
    "num/ufp4_f32_scale",
    "num/ufp4_f32_alu",
    "num/ufp4_max16",
    "num/ufp4_rht",
    "num/ufp4_e4m3_scale",
    "num/ufp4_e8m0_scale",
    "num/ufp4_threefry",
    "num/ufp4_divide_round",
)
OUTPUT = re.compile(r"^\s*output\s+logic\s*(?:\[.*\])*\s+(\w+)\s*,?\s*(?://.*)?$", re.M)
HEAD_ENDS = "\n);\n"


def hollow(text):
    """Returns a module with the same ports whose outputs are all 0."""
    end = text.index(HEAD_ENDS) + len(HEAD_ENDS)
    outputs = OUTPUT.findall(text[:end])
    assert outputs and len(outputs) == len(re.findall(r"^\s*output\b", text[:end], re.M)), text[:end]
    return text[:end] + "".join(f"  assign {name} = '0;\n" for name in outputs) + "endmodule\n"


def hollow_rtl(source, rtl):
    """Copies the RTL to the folder rtl, without its arithmetic."""
    shutil.rmtree(rtl, ignore_errors=True)
    shutil.copytree(source / "rtl", rtl)
    for module in ARITHMETIC:
        file = rtl / f"{module}.sv"
        file.write_text(hollow(file.read_text()))


def call(seconds, *command, **environment):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**os.environ, **environment},
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def main():
    source, build = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    configuration, size = sys.argv[3:5]
    rtl = build / "rtl"
    hollow_rtl(source, rtl)
    launchers = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX") if shutil.which("ccache")]
    call(
        3600,
        "cmake",
        "-G",
        "Ninja",
        "-S",
        source,
        "-B",
        build,
        "-DCMAKE_BUILD_TYPE=Release",
        "-DUFP4_CUDA=OFF",
        "-DUFP4_TESTS=ON",
        f"-DUFP4_RTL_DIR={rtl}",
        f"-DUFP4_SIMULATE={configuration}",
        "-DUFP4_SIMULATE_ALONE=ON",
        *launchers,
    )
    call(1800, "ninja", "-C", build, "test_sim_timing")
    print(
        call(
            3000,
            build / "tests" / "sim" / "timing" / "test_sim_timing",
            "equals_configuration",
            UFP4_TEST_CONFIGURATION=configuration,
            UFP4_TEST_SIZE=size,
        )
    )


if __name__ == "__main__":
    main()
