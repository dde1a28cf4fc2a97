# SPDX-License-Identifier: Apache-2.0
"""Tests explore --ppa: joules and um2 of a step, from rows of ./ufp4 ppa."""

import csv
import json
import pathlib
import subprocess
import sys

import stand
from stand import check, check_equal, passes, rejects

SHAPES = "name,cin,cout,count\nfc1,64,96,2\nproj,48,64,1\n"
PARTS = ["mac_joules", "idle_joules", "clock_joules", "bus_joules"]
PRINTED = [*PARTS, "joules", "um2", "memory_bits", "memory_um2"]
WORTH = ["watts", "tokens_per_joule", "mm2_per_tmacs"]
COLUMNS = [*PRINTED, "memory_joules", *WORTH]
# The memory bits of `small`, parity included, as docs/tools/memories.py lists them.
BITS = 8 * 64 * 68 + 4 * 256 * (65 + 9) + 32 * 65 + 2 * 128 * 65 + 1024 * 65 + 16 * 128 * 33
WORDS = ["--config", "small", "--serial", "--tokens", "32", "--layers", "100000"]
# Sizes of fc1, which occurs twice, and of proj: the MACs of a pass, and the panel units of X, W and dY.
MACS = 32 * (2 * 64 * 96 + 48 * 64)
UNITS = 2 * (2 * 4 + 6 * 4 + 2 * 6) + 2 * 3 + 4 * 3 + 2 * 4


def explore(*options, shapes=SHAPES):
    """Returns the rows of explore.csv of a run that must succeed."""
    pathlib.Path("s.csv").write_text(shapes)
    passes("explore", "s.csv", "-o", "out", *options)
    with open("out/explore.csv", newline="") as file:
        return list(csv.DictReader(file))


def unit(name, area, **full):
    """Returns a row of ppa.json; full: fJ of FPROP and WGRAD by elements."""
    energy = [{"data": "fprop", "elements": "e1m2", "load": "none", "energy_fj": 3, "clock_pins_fj": 2}]
    for elements, both in full.items():
        energy += [
            {"data": data, "elements": elements, "load": "full", "energy_fj": fj, "clock_pins_fj": 2}
            for data, fj in zip(("fprop", "wgrad"), both)
        ]
    return {"unit": name, "area_um2": area, "energy": energy}


def ppa(*units):
    pathlib.Path("ppa.json").write_text(json.dumps({"library": {"name": "mine"}, "flow": "sized", "rows": units}))
    return "ppa.json"


def by_hand(step, fprop, wgrad, idle, clock, byte_pj=0.0, macs=1e5 * MACS):
    slots = 64 * int(step["cycles"])
    parts = [2 * macs * fprop + macs * wgrad, (slots - 3 * macs) * idle, slots * clock]
    return [fj * 1e-15 for fj in parts] + [
        byte_pj * 1e-12 * (int(step["bus_read_bytes"]) + int(step["bus_write_bytes"]))
    ]


def compare(step, want):
    for name, joules in zip(PARTS, want):
        check(abs(float(step[name] or 0) - joules) <= 1e-8 * joules, f"{name} is {step[name]}, by hand {joules}")
    want = sum(want) + float(step["memory_joules"] or 0)
    check(abs(float(step["joules"]) - want) <= 1e-8 * want, f"joules are {step['joules']}, by hand {want}")


def test_joules_and_um2_are_a_hand_calculation():
    rows = explore(*WORDS, "--ppa", "asap7", "--byte-pj", "40")
    step = rows[-1]
    compare(step, by_hand(step, 38.44, 39.06, 12.57, 4.97, 40))
    check_equal(
        (step["um2"], step["macs"], step["quant_blocks"]),
        ("16344.0", str(3 * 100000 * MACS), str(100000 * UNITS * 2 * 16)),
        "um2 and counts",
    )
    check(not any(r[name] for r in rows[:-1] for name in COLUMNS), "joules of a job")
    bare = explore(*WORDS, "--ppa", "asap7")[-1]
    check_equal(bare["bus_joules"], "", "no energy of a byte")
    compare(bare, by_hand(step, 38.44, 39.06, 12.57, 4.97))
    e2m1 = explore(*WORDS, "--ppa", "asap7", "--recipe", "e2m1")[-1]
    compare(e2m1, by_hand(e2m1, 38.31, 39.79, 12.57, 4.97))


def near(step, name, want):
    check(abs(float(step[name]) - want) <= 1e-8 * want, f"{name} is {step[name]}, by hand {want}")


def test_memories_and_worth_are_a_hand_calculation():
    for words, bit in (([], 0.027), (["--bit-um2", "0.05"], 0.05)):
        step = explore(*WORDS, "--ppa", "asap7", *words)[-1]
        check_equal((step["memory_bits"], step["memory_um2"]), (str(BITS), f"{BITS * bit:.1f}"), "memories")
        seconds, joules = 1.07e-9 * int(step["cycles"]), float(step["joules"])
        near(step, "watts", joules / seconds)
        near(step, "tokens_per_joule", 32 / joules)
        near(step, "mm2_per_tmacs", (16344.0 + BITS * bit) / 1e6 / (int(step["macs"]) / seconds / 1e12))
    two = explore(*WORDS, "--ppa", "asap7", "--cores", "2")[-1]
    check_equal(two["memory_bits"], str(2 * BITS), "two cores")


def test_memories_of_each_core_are_those_of_the_data_sheet():
    """Compares the memories with docs/tools/memories.py by count, words and bits."""
    tool = pathlib.Path(__file__).resolve().parents[2] / "docs/tools/memories.py"
    names = "default,large,small-fp32,default-nv"
    words = ["--tokens", "16", "--serial", "--layers", "1", "--recipe", "e2m1,mxfp4", "--ppa", "asap7"]
    for step in (row for row in explore(*words, "--config", names) if row["layer"] == "step"):
        lines = subprocess.run([sys.executable, "-B", tool, step["config"]], capture_output=True, text=True, check=True)
        bits = [int(r["count"]) * int(r["words"]) * int(r["bits"]) for r in csv.DictReader(lines.stdout.splitlines())]
        check_equal(int(step["memory_bits"]), sum(bits), step["config"])


def test_the_order_turns_with_memories():
    """The sums of contract exact have twice the bits. A core is in front if it gives more tokens per joule than all
    cores of at most its area. If the areas are nearly equal, the clocks of the cores decide."""
    ppa(
        unit("pe", 100, e2m1=(20, 30), e1m2=(50, 60)),
        unit("pe_fp32", 200, e2m1=(25, 35)),
        unit("quant_block", 10),
    )
    words = ["--tokens", "32", "--serial", "--recipe", "ufp4,e2m1,mxfp4", "--config", "small,small-fp32"]
    words += ["--ppa", "ppa.json"]
    pathlib.Path("s.csv").write_text(SHAPES)
    out = passes("explore", "s.csv", "-o", "out", *words, "--bit-um2", "0.1", "--clock-mhz", "1000").out
    lines = [line.split() for line in out.splitlines() if " on small" in line]
    check_equal(
        [(line[0], line[2], line[4], line[6], line[8:]) for line in lines],
        [
            ("mxfp4", "small-fp32", "1", "3", ["front"]),
            ("e2m1", "small", "2", "1", ["front"]),
            ("ufp4", "small", "3", "1", []),
        ],
        "the order, with memories and without",
    )
    check("memories at 0.1 um2 a bit" in out, out)
    for clock, order in (
        (["--clock-mhz", "1000"], ["small-fp32", "small", "small"]),
        ([], ["small", "small", "small-fp32"]),
    ):
        out = passes("explore", "s.csv", "-o", "out", *words, "--bit-um2", "0.005", *clock).out
        lines = [line.split() for line in out.splitlines() if " on small" in line]
        check_equal([line[2] for line in lines], order, f"the order at {clock or 'the clock of each core'}")
    check("um2 a bit" not in passes("explore", "s.csv", "-o", "out", *words).out, "an order without a bit's area")


def test_small_runs_keep_their_digits():
    words = [*WORDS[:-1], "1", "--ppa", "asap7"]
    step = explore(*words)[-1]
    compare(step, by_hand(step, 38.44, 39.06, 12.57, 4.97, macs=MACS))
    line = passes("explore", "s.csv", "-o", "out", *words).out.splitlines()[-7].split()
    check_equal(line[-8:-5], [step[name] for name in PARTS[:3]], "printed")


def test_rows_of_a_file_are_taken():
    rows = explore(*WORDS, "--ppa", ppa(unit("pe", 100, e1m2=(20, 30)), unit("quant_block", 1000)))
    compare(rows[-1], by_hand(rows[-1], 20, 30, 3, 2))
    check_equal((rows[-1]["um2"], rows[-1]["reason"]), ("2400.0", ""), "four PEs and two pipelines")
    two = explore(*WORDS, "--ppa", "ppa.json", "--cores", "2")[-1]
    check_equal((two["um2"], two["macs"]), ("4800.0", rows[-1]["macs"]), "two cores")
    document = json.loads(passes("explore", "s.csv", "-o", "out", *WORDS, "--ppa", "ppa.json", "--json").out)
    check_equal(document["cases"][-1]["um2"], 2400.0, "JSON")
    lines = passes("explore", "s.csv", "-o", "out", *WORDS, "--ppa", "ppa.json").out.splitlines()
    check_equal(lines[-8].split()[-10:], ["macs", "quant_blocks", *PRINTED], "head of the table")
    check_equal(lines[-4].split()[-3:], WORTH, "head of the last table")
    check(
        lines[-2].startswith("% joules and um2 of mine, sized: PEs")
        and "joules of memories, wires, the clock tree" in lines[-1],
        lines[-2:],
    )


def test_micro_batches_have_the_same_macs():
    for tokens, groups in (("33", 0), ("40", 1)):
        one, two = (
            explore("--config", "small", "--tokens", tokens, "--batches", n, "--layers", "1000", "--ppa", "asap7")[-1]
            for n in "12"
        )
        check_equal((one["macs"], one["mac_joules"]), (two["macs"], two["mac_joules"]), f"{tokens} tokens")
        more = groups * 2 * 16 * (2 * (4 + 6) + 3 + 4)  # columns of X and dY, in both copies
        check_equal(int(two["quant_blocks"]) - int(one["quant_blocks"]), 1000 * more, f"blocks of {tokens} tokens")
    rows = explore("--config", "small", "--tokens", "40", "--batches", "2", "--layers", "7")
    blocks = sum(int(r["count"]) * int(r["quant_blocks"]) for r in rows if r["pass"] == "quant")
    check_equal(
        [int(r["quant_blocks"]) * int(r["count"]) for r in rows[-2:]],
        [blocks, blocks],
        "sum over the jobs, block and step",
    )
    check_equal(
        sum(int(r["count"]) * int(r["macs"]) for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad")),
        int(rows[-1]["macs"]),
        "MACs of the jobs",
    )


def test_what_has_no_row_is_told():
    ppa(unit("pe", 100, e2m1=(20, 30)), unit("quant_block", 1000))
    words = ["--tokens", "32", "--serial", "--ppa", "ppa.json"]
    rows = explore(*words, "--config", "small,small-fp32,lean,board", "--recipe", "ufp4,e2m1")
    steps = {(r["recipe"], r["config"]): r for r in rows if r["layer"] == "step" and r["cycles"]}
    told = {key: (bool(r["joules"]), bool(r["um2"]), r["reason"]) for key, r in steps.items()}
    check_equal(told["ufp4", "small"], (False, True, "--ppa has no energies of pe for e1m2"), "no energies")
    check_equal(told["e2m1", "small"], (True, True, ""), "both")
    check_equal(told["e2m1", "lean"], (False, False, "--ppa has no row for this core's PE"), "four lanes")
    wide = explore(*words, "--config", "small", "--mem-bandwidth", "64")[-1]
    check(
        wide["reason"].startswith("--mem-bandwidth 64 is more than the bus")
        and wide["reason"].endswith("; --ppa has no energies of pe for e1m2"),
        wide["reason"],
    )
    check_equal(told["e2m1", "board"], (True, False, "--ppa has no area of this core's QUANT"), "two numbers a cycle")
    fp32 = explore(*words, "--config", "small-fp32", "--recipe", "mxfp4")[-1]
    check_equal(
        (fp32["joules"], fp32["um2"], fp32["reason"]), ("", "", "--ppa has no energies of pe_fp32 for e2m1"), "no row"
    )
    mixed = explore(*words, "--config", "small-mixed", "--recipe", "ufp4-mixed,e2m1")
    check_equal(
        [(r["joules"] != "", r["um2"], r["reason"]) for r in mixed if r["layer"] == "step" and r["cycles"]],
        [
            (False, "", "--ppa has no energies of pe for mixed, and no area of this core's QUANT"),
            (True, "", "--ppa has no area of this core's QUANT"),
        ],
        "elements mixed",
    )
    ppa(
        unit("pe", 100, e2m1=(20, 30), mixed=(40, 60)),
        unit("quant_block", 1000),
        unit("quant_block_mixed", 1300),
        unit("quant_serial_block", 200),
        unit("quant_serial_block_mixed", 250),
    )
    rows = explore(
        *words, "--config", "small-mixed,board,rows=4:cols=4:bus=8:quant=2:mixed=1", "--recipe", "ufp4-mixed,e2m1"
    )
    steps = {(r["recipe"], r["config"]): r for r in rows if r["layer"] == "step" and r["cycles"]}
    check_equal(
        {key: (float(r["um2"]), r["reason"]) for key, r in steps.items()},
        {
            ("ufp4-mixed", "small-mixed"): (4 * 100 + 2 * 1300, ""),
            ("e2m1", "small-mixed"): (4 * 100 + 2 * 1300, ""),
            ("e2m1", "board"): (4 * 100 + 200, ""),
            ("ufp4-mixed", "4x4-32x32-c16-b8-q2-mixed"): (16 * 100 + 250, ""),
            ("e2m1", "4x4-32x32-c16-b8-q2-mixed"): (16 * 100 + 250, ""),
        },
        "pipelines of both grids, and narrow ones",
    )
    twice = [float(steps[recipe, "small-mixed"]["mac_joules"]) for recipe in ("ufp4-mixed", "e2m1")]
    check_equal(round(twice[0] / twice[1], 9), 2, "energies of elements mixed")
    rows = explore(*words, "--config", "small", "--recipe", "mxfp4,e2m1")
    check_equal(
        (rows[0]["reason"].startswith("--ppa"), rows[0]["joules"], rows[0]["um2"]),
        (False, "", "2400.0"),
        "a case that does not go",
    )


def test_a_configuration_that_the_rtl_refuses_has_no_figures():
    *_, refused = explore(
        "--tokens", "32", "--serial", "--ppa", "asap7", "--config", "small,quant=2", "--recipe", "ufp4"
    )
    check(refused["reason"].startswith("configuration 'quant=2'"), refused["reason"])
    check_equal([refused[name] for name in COLUMNS], len(COLUMNS) * [""], "figures of no core")


def test_without_it_nothing_changes():
    rows, plain = explore(*WORDS, "--ppa", "asap7"), explore(*WORDS)
    check(not any(r[name] for r in plain for name in COLUMNS), "joules that were not asked for")
    check_equal([{**r, **dict.fromkeys(COLUMNS, "")} for r in rows], plain, "other columns")
    check("joules" not in passes("explore", "s.csv", "-o", "out", *WORDS).out, "a table that was not asked for")


def test_other_files_and_energies_are_refused():
    pathlib.Path("s.csv").write_text(SHAPES)
    for text, message in (
        ("{", "ppa.json: "),
        ("[]", "no row of a PE"),
        ('{"rows": [{"unit": "dot", "area_um2": 1}]}', "no row of a PE"),
        ('{"rows": [{"unit": "pe", "area_um2": -1}]}', "no row of a PE"),
        ('{"rows": [1, {"unit": 2}]}', "no row of a PE"),
        ('{"rows": [{"unit": "quant_block", "area_um2": 1}]}', "no row of a PE"),
    ):
        pathlib.Path("ppa.json").write_text(text)
        rejects(2, message, "explore", "s.csv", "-o", "no", "--ppa", "ppa.json")
    rejects(2, "--ppa: none.json", "explore", "s.csv", "-o", "no", "--ppa", "none.json")
    for words in (["--byte-pj", "5"], ["--byte-pj", "0", "--ppa", "asap7"], ["--byte-pj", "-1", "--ppa", "asap7"]):
        rejects(2, "--byte-pj must be above 0", "explore", "s.csv", "-o", "no", *words)
    for words in (["--bit-um2", "5"], ["--bit-um2", "0", "--ppa", "asap7"], ["--bit-um2", "-1", "--ppa", "asap7"]):
        rejects(2, "--bit-um2 must be above 0", "explore", "s.csv", "-o", "no", *words)


if __name__ == "__main__":
    stand.main(globals())
