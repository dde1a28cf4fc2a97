# SPDX-License-Identifier: Apache-2.0
"""usage: run.py ufp4_CONFIGURATION.v PROGRAM [TEST]   builds the flat Verilog core with Icarus Verilog,
runs the cocotb tests on it."""

import os
import pathlib
import sys
import tempfile

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = pathlib.Path(__file__).resolve().parent


def main():
    flat, program = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    os.environ["UFP4_PROGRAM"] = program
    os.environ["UFP4_CONFIGURATION"] = pathlib.Path(flat).stem.removeprefix("ufp4_")
    os.environ["PYTHONPATH"] = str(HERE)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        runner = get_runner("icarus")
        runner.build(
            sources=[flat, str(HERE.parents[2] / "fpga/package/ufp4_axi.v")],
            hdl_toplevel="ufp4_axi",
            build_dir=folder,
            build_args=["-g2005", "-DUFP4_FLAT", "-Pufp4_axi.BusBytes=8"],
            timescale=("1ns", "1ps"),
        )
        results = runner.test(
            hdl_toplevel="ufp4_axi",
            test_module="test_core",
            build_dir=folder,
            test_dir=folder,
            test_filter=sys.argv[3] if len(sys.argv) > 3 else None,
        )
        tests, failures = get_results(results)
    if failures or not tests:
        sys.exit(f"{failures} of {tests} tests failed")


if __name__ == "__main__":
    main()
