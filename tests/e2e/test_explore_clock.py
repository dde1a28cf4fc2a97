# SPDX-License-Identifier: Apache-2.0
"""Tests explore: the clock of a case, and what it makes of a memory's nanoseconds."""

import csv
import pathlib

import stand
from stand import check, check_equal, passes
from explorations import explore, shapes

ROOT = pathlib.Path(__file__).parents[2]


def delays():
    """Returns the delays in ns of the whole cores of docs/results/silicon.csv."""
    with open(ROOT / "docs/results/silicon.csv", newline="") as file:
        return {r["unit"]: float(r["delay_ns"]) for r in csv.DictReader(file) if r["unit"].startswith("core")}


def test_a_case_has_the_clock_of_its_core():
    """The clock depends on contract and QUANT, not on size."""
    configurations = "small,4x4-32x32-c16-b8-q16,small-fp32,small-nv"
    recipes, words = "e2m1,mxfp4,nvfp4", ("--tokens", "16", "--serial")
    rows = explore("--config", configurations, "--recipe", recipes, *words)
    found = {r["config"]: float(r["clock_mhz"]) for r in rows if r["layer"] == "step"}
    names = dict(zip(configurations.split(","), ("core", "core", "core_fp32", "core_nv")))
    check_equal(found, {core: round(1e3 / delays()[name], 3) for core, name in names.items()}, "clocks")
    for row in (r for r in rows if r["layer"] == "step" and r["cycles"]):
        want = int(row["cycles"]) * delays()[names[row["config"]]] / 1e6
        check_equal(row["ms"], f"{want:.4f}", f"milliseconds of {row['config']}")
    words = ["explore", shapes(), "-o", "out", *words, "--config", "small,small-fp32", "--recipe", "e2m1,mxfp4"]
    lines = [line for line in passes(*words).out.splitlines() if line.startswith("% clock")]
    check_equal(
        [line.split(",")[0] for line in lines],
        ["% clock 934.6 MHz: core in ASAP7", "% clock 869.6 MHz: core_fp32 in ASAP7"],
        "said",
    )
    passes(*words, "--clock-mhz", "5")  # memories without banks have no nanoseconds, and so no slowest clock
    asked = passes(*words, "--clock-mhz", "800").out
    check("% clock" not in asked, "a clock that was asked for is explained")
    rows = list(csv.DictReader(pathlib.Path("out/explore.csv").read_text().splitlines()))
    check_equal({r["clock_mhz"] for r in rows}, {"800.000"}, "asked for")


def test_half_the_clock_takes_the_time_of_the_same_memory():
    """The pins are the limit. Only the core's own cycles, those without banks, may double, as far as they are not
    hidden; if the memory's timings were in cycles, the whole time would double."""
    words = ("--config", "default", "--serial", "--tokens", "128", "--mem-latency", "1")
    model = shapes("name,cin,cout,count\nproj,256,256,1\n")
    for cores in ("1", "2"):
        whole, half, own = (
            float(explore(*words, "--cores", cores, "--clock-mhz", clock, *dram, model=model)[-1]["ms"])
            for clock, dram in (("1000", ["--dram", "lpddr5:1"]), ("500", ["--dram", "lpddr5:1"]), ("1000", []))
        )
        told = f"{cores} cores: {whole} ms at 1000 MHz, {half} at 500, {own} without banks"
        check(own < 0.2 * whole and whole <= half <= whole + own, told)


if __name__ == "__main__":
    stand.main(globals())
