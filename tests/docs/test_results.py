#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a row of each CSV file of docs/results again. usage: test_results.py BUILD FILE, FILE without its ending

Cycles, cells, areas and losses must be the same; ratios of times may differ by a factor of two. If a tool is missing,
the test is skipped and names it."""

import csv
import io
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/tools"))
import csv_rows  # noqa: E402
import models  # noqa: E402
import shrinkage  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
PROGRAM = BUILD / "drivers/ufp4"
CORE = BUILD / "tests/rtl/core"


class Skipped(Exception):
    pass


def rows(name):
    return csv_rows.Rows(f"{name}.csv", csv_rows.RESULTS)


def run(*words, status=0, **variables):
    if not pathlib.Path(words[0]).exists():
        raise Skipped(f"needs {words[0]}")
    done = subprocess.run(
        [str(w) for w in words], env=os.environ | variables, capture_output=True, text=True, timeout=3600
    )
    if done.returncode == 3 and "is missing" in done.stderr:
        raise Skipped(done.stderr.strip())
    assert done.returncode == status, f"{shlex.join(map(str, words))}: {done.returncode}: {done.stderr}"
    return done.stdout


def command(row, *more):
    """Runs the row's own command in the checkout."""
    program, *words = shlex.split(row["command"])
    return run(
        BUILD / program.removeprefix("build/release/") if program.startswith("build/") else ROOT / program,
        *words,
        *more,
    )


def equal(got, want, row):
    assert got == want, f"measured {got}, the row has {want}: {row}"


# --- Tensors ------------------------------------------------------------------------------------------------


def operand(name, count, cols):
    draw = random.Random(name)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, {cols}), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    data = struct.pack(f"<{count * cols}f", *(draw.gauss(0, 1) for _ in range(count * cols)))
    pathlib.Path(f"{name}.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data)
    run(PROGRAM, "quantize", f"{name}.npy", "-o", f"{name}.safetensors", "--elem", "e1m2")
    return f"{name}.safetensors"


def gemm(m, n, k):
    """Runs a GEMM on the default core with the memory of these pages; cycles do not depend on the numbers."""
    text = run(
        PROGRAM,
        "gemm",
        operand("A", m, k),
        operand("B", n, k),
        "-o",
        "D.npy",
        "--backend",
        "rtl",
        "--mem-latency",
        "100",
        "--json",
    )
    return json.loads(text)["cases"][0]


# --- One row of each ----------------------------------------------------------------------------------------


def test_shapes():
    row = rows("shapes").one(m=64, n=64, k=64)
    case = gemm(64, 64, 64)
    equal((str(case["cycles"]), f"{case['util_percent']:.1f}"), (row["cycles"], row["utilization_percent"]), row)


def test_utilization():
    row = rows("utilization").one(options="", k=512)
    equal(f"{gemm(512, 512, 512)['util_percent']:.1f}", row["utilization_percent"], row)


def ppa(row):
    """Runs the row's command without the launcher, which would install tools."""
    _, _, *words = shlex.split(row["command"])
    made = run(sys.executable, "-B", ROOT / "fpga/cells", *words, "--json", UFP4_BUILD=str(BUILD))
    return json.loads(made)["rows"][0]


def test_energy():
    row = rows("energy").one(unit="dot_e1m2", library="OSU 0.18 um", data="fprop", load="full")
    found = next(one for one in ppa(row)["energy"] if (one["data"], one["load"]) == ("fprop", "full"))
    equal(
        [f"{found[key]:.2f}" for key in ("energy_fj", "error_fj", "input_pins_fj")],
        [row[key] for key in ("energy_fj", "error_fj", "input_pins_fj")],
        row,
    )


def test_silicon():
    row = rows("silicon").one(unit="dot", library="OSU 0.18 um")
    found = ppa(row)
    equal((f"{found['area_um2']:.0f}", f"{found['delay_ns']:.2f}"), (row["area_um2"], row["delay_ns"]), row)


def test_wires():
    row = rows("wires").one(unit="dot_e1m2")
    (found,) = csv.DictReader(io.StringIO(command(row)))
    equal(found, {key: row[key] for key in found}, row)


def test_fpga():
    row = rows("fpga").one(what="PE on ECP5, 16 MACs, without parity")
    cells = {kind: count for count, kind in re.findall(r"^ +(\d+) +(\w+)$", command(row), re.M)}
    equal(
        [cells.get(kind) for kind in ("LUT4", "CCU2C", "TRELLIS_FF", "DP16KD")],
        [row[key] for key in ("luts", "carry_cells", "flip_flops", "block_rams")],
        row,
    )


def test_readme():
    text = run(PROGRAM, "bias", "--scale", "fp32")
    for elem, rht, name in (("e1m2", "on", "e1m2, RHT"), ("e2m1", "on", "e2m1, RHT"), ("e2m1", "off", "e2m1, no RHT")):
        row = rows("readme").one(figure=f"SQNR, outliers, {name}")
        equal(re.findall(rf"outliers {elem} +fp32 +{rht} +\S+ \S+ +(\S+)", text), [row["value"]], row)


def test_model():
    row = rows("model").one(case="GEMM, contract exact", operands="E1M2", data="Gaussian", size=1024)
    cases = json.loads(run(PROGRAM, "bench", "--size", "1024", "--case", "gemm_exact", "--repeats", "5", "--json"))
    found = next(c for c in cases if c["format"] == "e1m2")
    machine = pathlib.Path("/proc/cpuinfo").read_text()
    if "avx512_vnni" not in machine and "avx512vnni" not in machine:
        raise Skipped("the row is of a processor with AVX-512 VNNI")
    assert 0.5 < found["ratio"] / float(row["ratio"]) < 2, f"measured {found['ratio']}: {row}"


def test_models():
    """Measures the tables recipes, fewer_formats and places of the page again. All tables must have the commands of
    the page."""
    recorded = rows("models")
    for table, lines in models.commands().items():
        equal({row.command for row in recorded.all(table=table)}, {models.command(lines)}, table)
    for table in ("recipes", "fewer_formats", "places"):
        equal(list(models.measured(PROGRAM, table)), [dict(row) for row in recorded.all(table=table)], table)


def test_quantization():
    """Computes two of the page's numbers from rows: those of 16 rows, and the constant."""
    layer = {"AMAX": 0.0, "QUANT": 0.0}
    text = run(CORE / "bench_quant", "--config", "default", "64x4096", "128x4096", "64x11008", "128x11008")
    found = {
        (job, int(r), int(c)): int(cycles)
        for r, c, amax, quant in re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+) ", text, re.M)
        for job, cycles in (("AMAX", amax), ("QUANT", quant))
    }
    for job in layer:
        for count, cols, tensors in ((4448, 4096, 14), (1024, 11008, 4)):
            slope = (found[job, 128, cols] - found[job, 64, cols]) / 4
            layer[job] += count * slope + tensors * (found[job, 64, cols] - 4 * slope)
        row = rows("quantization").one(configuration="default", job=job)
        equal(f"{layer[job] / 1e6:.2f}", row["layer_millions"], row)


def test_bit_flips():
    """Checks the bits of the memories' parity only; the long test rtl.fault.table checks the effects of the flips."""
    row = rows("bit-flips").one(structure="parity of all memories")
    text = run(BUILD / "tests/rtl/fault/test_rtl_fault", "1")
    equal(re.findall(rf"^\| {row['structure']} \| (\d+) \|", text, re.M), [row["bits"]], row)


def test_step():
    """Checks also that no GEMM uses less of the array than demanded, in this step and in the next one."""
    cold, later = (rows("step").one(step=step) for step in ("from a cold start", "following another step"))
    printed = command(cold, "--demand").split("A step ")[1:]
    for row, text in zip((cold, later), printed, strict=True):
        found = {name: int(cycles) for name, cycles in re.findall(r"^  (\w+) +(\d+) ", text, re.M)}
        equal((str(found["cycles"]), str(found["quant"] + found["stall_panel"])), (row["cycles"], row["exposed"]), row)


def test_gpu():
    """Checks the rows against the record of a GPU, which has the measured figures."""
    fields = re.findall(
        r"^figure (\S+) (\d+) (\d+) (\d+) (\S+) ms (\S+) (\S+) against (\S+) (\S+) ratio (\S+)$",
        (ROOT / "tests/cuda/records/NVIDIA_H100_80GB_HBM3.txt").read_text(),
        re.M,
    )
    found = [tuple(row.values())[:-1] for row in rows("gpu").rows]
    equal(found, fields, "gpu.csv")


def test_gpu_registers():
    """Counts registers as ptxas of CUDA 13.0 reports them."""
    found = rows("gpu-registers").rows
    program = shlex.split(found[0]["command"])[0]
    if not shutil.which(program):
        raise Skipped(f"needs {program}")
    if "release 13.0" not in run(shutil.which(program), "--version"):
        raise Skipped("the rows are of CUDA 13.0")
    for command in dict.fromkeys(row["command"] for row in found):
        done = subprocess.run(
            [*shlex.split(command), "-o", str(pathlib.Path("code.cubin").resolve())],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=3600,
        )
        assert done.returncode == 0, done.stdout
        entries = re.findall(r"entry function '(\S+)'(?:.*\n)+?.*Used (\d+) registers", done.stdout)
        spills = sum(int(count) for count in re.findall(r"(\d+) bytes spill", done.stdout))
        for row in found:
            if row["command"] != command:
                continue
            used = [int(count) for name, count in entries if re.search(row["entries"], name)]
            equal(str(used[0]) if len(set(used)) == 1 else f"{min(used)} to {max(used)}", row["registers"], row)
            equal(str(spills), row["spill_bytes"], row)


def test_training():
    """Checks the forward table, which needs one model trained in BF16, and the effect of rounding on the operands of
    one layer."""
    if "UFP4_TEST_PYTHON" not in os.environ:
        raise Skipped("scipy, matplotlib or jinja2 is missing; ./ufp4 test installs them from PyPI")
    os.environ["UFP4_PYTHON"] = os.environ["UFP4_TEST_PYTHON"]
    whole = json.loads(run(PROGRAM, "train", "-o", "out", "--forward", "--recipe", "bf16,ufp4,e2m1", "--json"))
    row = rows("training").one(experiment="default", table="forward", recipe="e2m1", against="ufp4")
    found = next(c for c in whole["forward"]["comparisons"] if (c["recipe"], c["against"]) == ("e2m1", "ufp4"))
    keys = ("gap_percent", "standard_error", "t")
    equal([f"{found[key]:.4g}" for key in keys], [row[key] for key in keys], row)
    row = rows("operands").one(operand="fc2, X, FPROP")
    found = next(
        o
        for o in whole["forward"]["operands"]
        if (o["matrix"], o["tensor"], o["pass"], o["round"]) == ("fc2", "X", "fprop", "rne")
    )
    ways = ("e2m1", "e2m1_rht", "e1m2", "e1m2_rht", "mixed", "mixed_rht")
    equal([f"{found['sqnr_db'][way]:.2f}" for way in ways], [row[way] for way in ways], row)
    shares = [f"{100 * found['uniform'][way]:.0f}" for way in ways[4:]]
    equal(shares, [row[key] for key in ("uniform", "uniform_rht")], row)
    row = rows("alpha").one(recipe="e2m1")
    found = next(r for r in whole["forward"]["recipes"] if r["recipe"] == "e2m1")
    passes = ("fprop", "dgrad", "wgrad")
    equal([f"{found[f'kept_{name}']:.3f}" for name in passes], [row[name] for name in passes], row)
    for found in shrinkage.rows("0", "out/forward.csv"):
        row = rows("shrinkage").one(seed="0", operands=found["operands"])
        equal({key: str(value) for key, value in found.items()}, row, row)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            globals()["test_" + sys.argv[2].replace("-", "_")]()
        except Skipped as why:
            print(f"skipped: {why}")
