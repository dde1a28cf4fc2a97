# SPDX-License-Identifier: Apache-2.0
"""explore: cycles of a model's training step."""
import csv
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zlib

import bench
from bench import check, check_equal, passes, rejects, run, slow

SHAPES = "name,cin,cout,count\nfc1,64,96,2\nproj,48,64,1\n"
FIRST = "model,layer,pass,recipe,config,count,m,n,k,cycles".split(",")


def shapes(text=SHAPES):
    pathlib.Path("s.csv").write_text(text)
    return "s.csv"


def explore(*options, model=None):
    """The rows of explore.csv of a run that must succeed."""
    passes("explore", model or shapes(), "-o", "out", *options)
    with open("out/explore.csv", newline="") as file:
        return list(csv.DictReader(file))


FILES = ["explore.csv", "explore.json"]


def jobs(rows, layer):
    return [(r["pass"], r["tensor"], int(r["m"]), int(r["n"]), int(r["k"])) for r in rows if r["layer"] == layer]


def test_a_serial_step_has_every_job():
    rows = explore("--config", "small", "--tokens", "32", "--serial")
    check_equal(list(rows[0])[:10], FIRST, "first columns")
    check_equal(jobs(rows, "fc1"), [("amax", "X", 32, 64, 0), ("quant", "X", 32, 64, 0), ("amax", "W", 96, 64, 0),
                                    ("quant", "W", 96, 64, 0), ("amax", "dY", 32, 96, 0), ("quant", "dY", 32, 96, 0),
                                    ("fprop", "", 32, 96, 64), ("dgrad", "", 32, 64, 96), ("wgrad", "", 96, 64, 32)],
                "jobs of fc1")
    step = rows[-1]
    check_equal((step["layer"], step["pass"]), ("step", "all"), "last row")
    check_equal(sum(int(r["cycles"]) * int(r["count"]) for r in rows if r["pass"] != "all"), int(step["cycles"]),
                "cycles of the step")
    check_equal(float(step["tokens_per_second"]), round(32 / (int(step["cycles"]) * 1e-9), 1), "tokens a second")


def test_layers_multiply_the_serial_step():
    once = explore("--config", "small", "--tokens", "32", "--serial")[-1]
    thrice = explore("--config", "small", "--tokens", "32", "--serial", "--layers", "3")[-1]
    check_equal(int(thrice["cycles"]), 3 * int(once["cycles"]), "cycles")


def total(rows, layer="step"):
    return next(r for r in rows if r["layer"] == layer and r["pass"] == "all")


def test_a_step_has_every_job_of_two_halves():
    rows = explore("--config", "small", "--tokens", "33", "--batches", "2")
    halves = [(r["pass"], r["tensor"], r["batch"], int(r["m"]), int(r["count"])) for r in rows if r["layer"] == "fc1"]
    check_equal(halves, [("amax", "X", "0", 17, 2), ("amax", "X", "1", 16, 2), ("quant", "X", "0", 17, 2),
                         ("quant", "X", "1", 16, 2), ("amax", "W", "", 96, 2), ("quant", "W", "", 96, 2),
                         ("amax", "dY", "0", 17, 2), ("amax", "dY", "1", 16, 2), ("quant", "dY", "0", 17, 2),
                         ("quant", "dY", "1", 16, 2), ("fprop", "", "0", 17, 2), ("fprop", "", "1", 16, 2),
                         ("dgrad", "", "0", 17, 2), ("dgrad", "", "1", 16, 2), ("wgrad", "", "0", 96, 2),
                         ("wgrad", "", "1", 96, 2)], "jobs of fc1")
    check(all(int(r["cycles"]) > 0 for r in rows), "a job without cycles")
    step = total(rows)
    check(int(step["quant"]) > 0 and int(step["quant_beside"]) > 0, "exposed and hidden quantization")
    check_equal(explore("--config", "small", "--tokens", "1")[0]["batch"], "", "halves of one token")


def test_few_tokens_make_one_batch():
    """Two tokens do not take longer than three, and --batches decides otherwise."""
    steps = [total(explore("--config", "small", "--tokens", str(n))) for n in (1, 2, 3, 63, 64)]
    check_equal([r["batches"] for r in steps], ["1", "1", "1", "1", "2"], "micro-batches")
    cycles = [int(r["cycles"]) for r in steps]
    check(cycles == sorted(cycles), f"more tokens take fewer cycles: {cycles}")
    two = total(explore("--config", "small", "--tokens", "2", "--batches", "2"))
    check(two["batches"] == "2" and int(two["cycles"]) > cycles[2], f"two halves of two tokens: {two['cycles']}")
    check_equal(total(explore("--config", "small", "--tokens", "64", "--batches", "1"))["batches"], "1", "asked for")
    check_equal(total(explore("--config", "small", "--tokens", "64", "--serial"))["batches"], "1", "one after the other")
    rows = explore("--config", "small", "--tokens", "1,2", "--batches", "2")
    check_equal([(r["cycles"] != "", r["reason"]) for r in rows if r["layer"] == "step"],
                [(False, "a layer sees one token, which two micro-batches cannot share"), (True, "")], "one token in two")
    rejects(2, "--batches: 1 or 2", "explore", shapes(), "-o", "no", "--batches", "3")
    rejects(2, "--batches: 1 or 2", "explore", shapes(), "-o", "no", "--batches", "0")
    rejects(2, "--batches goes side by side", "explore", shapes(), "-o", "no", "--batches", "1", "--serial")


def test_bytes_of_data_and_bytes_on_the_bus():
    """Each job has a descriptor of 128 bytes and a completion of 16; else a bus of 8 bytes has no more than the data."""
    kinds = ("fprop", "dgrad", "wgrad", "amax", "quant")
    for options in (["--serial"], ["--batches", "1"], ["--batches", "2"]):
        rows = explore("--config", "small", "--tokens", "37", *options, model=shapes("name,cin,cout,count\nfc1,80,96,2\nproj,64,88,1\n"))
        jobs_run = sum(int(r["count"]) for r in rows if r["pass"] in kinds)
        step = total(rows)
        check_equal(int(step["bus_read_bytes"]) - int(step["read_bytes"]), 128 * jobs_run, f"{options}: read beside the data")
        check_equal(int(step["bus_write_bytes"]) - int(step["write_bytes"]), 16 * jobs_run, f"{options}: written beside the data")
    rows = explore("--config", "default,large", "--tokens", "37", "--serial", model=shapes("name,cin,cout,count\nfc,83,99,1\n"))
    for row in (r for r in rows if r["pass"] == "quant"):
        m, n = int(row["m"]), int(row["n"])
        units, bus = 2 * -(-m // 16) * -(-n // 16), 64 if row["config"] == "default" else 128
        check_equal(int(row["write_bytes"]), 144 * units, "codes and scales")
        check_equal(int(row["read_bytes"]), 2 * m * n, "numbers")
        most = (128 + bus) * units + bus
        if row["config"] == "default":
            check_equal(int(row["bus_write_bytes"]), most, "beats")
        else:  # whose lanes fill a beat with scales of several units
            check(144 * units < int(row["bus_write_bytes"]) < most, f"beats: {row['bus_write_bytes']}")
    for row in (r for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad")):
        m, n, k = (int(row[name]) for name in "mnk")
        data = 144 * (-(-m // 16) + -(-n // 16)) * -(-k // 16) + (4 if row["pass"] == "wgrad" else 2) * m * n
        check_equal(int(row["read_bytes"]) + int(row["write_bytes"]), data, f"{row['pass']}: bytes of one macro-tile")
        check_equal(row["intensity"], f"{m * n * k / data:.1f}", "intensity")


def test_the_page_lists_every_column():
    page = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "files.md"
    section = page.read_text().split("\n## An exploration\n")[1].split("\n## ")[0]
    listed = [name for line in section.split("| column of")[1].splitlines() if line.startswith("| `") for name in line.split("|")[1].replace("`", "").split(",")]
    explore("--config", "small", "--tokens", "16")
    columns = pathlib.Path("out/explore.csv").read_text().splitlines()[0].split(",")
    check_equal([name.strip() for name in listed], columns, "columns")


NEEDS = ["weight_bytes", "copy_bytes", "activation_bytes", "gradient_bytes", "optimizer_bytes", "live_bytes"]


def needs(*options, model=None):
    rows = explore("--config", "small", *options, model=model or shapes())
    check(not any(r[name] for r in rows[:-1] for name in NEEDS), "needs of a job")
    return [int(rows[-1][name]) for name in NEEDS]


def test_what_a_step_needs_is_a_hand_calculation():
    """By hand: panel units of 144 bytes of both copies, and of fc1 two in a block, which is worth three."""
    w, x = 2 * 6 * 4 * 288 + 4 * 3 * 288, 2 * 3 * 4 * 288 + 3 * 3 * 288
    always = [3 * 2 * 15360, 3 * (w + x), 3 * 2 * 33 * (2 * 64 + 48), 3 * 4 * 15360, 3 * 12 * 15360]
    # Most in the backward pass of the first block's fc1: all gradients, and its copies of W, X; X, dY and its copies, dX.
    first = 2 * (24 + 12 + 18) * 288 + 2 * 33 * 2 * (64 + 96 + 64)
    check_equal(needs("--tokens", "33", "--layers", "3", "--serial"), [*always, always[0] + always[4] + always[3] + first], "serial")
    halves, whole = (needs("--tokens", "40", "--layers", "3", *words) for words in (["--batches", "2"], ["--serial"]))
    check_equal(halves[1] - whole[1], 3 * (2 * 4 + 3) * 288, "two halves of 20 rows have four groups of 16")
    check_equal(halves[3], 2 * whole[3], "each has a gradient")
    check_equal(needs("--tokens", "33", "--batches", "2")[1], w + x, "17 and 16 rows have three")
    single = needs("--tokens", "33", "--layers", "3", "--serial", "--source", "f32")
    check_equal((single[0], single[4]), (3 * 4 * 15360, 3 * 8 * 15360), "no other weights in FP32")
    # With many tokens the last block's: what both keep, and one gradient.
    long = needs("--tokens", "1024", "--layers", "2", "--serial", model=shapes("name,cin,cout,count\nfc,16,16,1\n"))
    x = 64 * 288 + 1024 * 32
    check_equal(long[5], 2 * 14 * 256 + 2 * (x + 288) + 1024 + x + 1024 * 32, "live")
    check_equal(needs("--tokens", "64", "--serial", model=shapes(KINDS))[0], 2 * (6 * 64 * 96 + 2 * 64 * 32), "activations are no weights")
    rows = explore("--config", "small", "--recipe", "ufp4,mxfp4", "--tokens", "16")
    check_equal(rows[-1]["cycles"], "", "a case that does not go")
    check_equal(*([r[name] for name in NEEDS] for r in rows if r["layer"] == "step"), "and needs the same")


TIMES = ["compute_ms", "gather_ms", "send_ms", "bubble_ms", "reduce_ms", "reduce_exposed_ms", "chips_ms"]


def times(want, *options):
    """Compares a step on chips with milliseconds by hand, a function of those of the step on one chip."""
    rows = explore("--config", "small", *options)
    step, got = rows[-1], [float(rows[-1][name]) for name in TIMES]
    parts = want(int(step["cycles"]) / 1e6)
    for name, ours, by_hand in zip(TIMES, got, [*parts, sum(parts) - parts[4]], strict=True):
        check(abs(ours - by_hand) < 6e-5, f"{options}: {name} is {ours}, by hand {by_hand}")
    check(not any(r[name] for r in rows[:-1] for name in [*TIMES, "chips"]), "times of a job")
    return step, got


def test_a_step_on_many_chips_is_a_hand_calculation():
    def stages(one, speed=1e7):  # of three and two blocks, whose layers two chips share; 10 GB/s are 10^7 bytes a ms
        compute, message = 3 * one / 5 / 2, 0.002
        y = 2 * (32 * 96 / speed + message) + 32 * 64 / speed + message  # half of 2 * 32 * 96 bytes, twice, and of proj
        dx = 2 * (32 * 64 / speed + message) + 32 * 48 / speed + message
        send = 2 * (32 * 64 / speed + message)  # half of the output, and of its gradient
        ring = 2 * 3 * (4 * 15360 / 2 / 4 / speed + message)
        backward = 2 / 3 * one / 5 / 2 + dx
        return compute, 3 * (y + dx), send, compute + 3 * (y + dx) + send, 3 * ring, ring + 2 * max(0, ring - backward)
    step, _ = times(stages, "--tokens", "32", "--serial", "--layers", "5", "--chips", "4x2x2", "--link", "10,2")
    check_equal((step["chips"], float(step["link_gbps"]), float(step["link_us"])), ("4x2x2", 10, 2), "what was asked")
    speed = 4 * 32 / float(step["chips_ms"]) * 1e3
    check(abs(float(step["chips_tokens_per_second"]) / speed - 1) < 1e-3, "tokens a second of four replicas")

    times(lambda one: stages(one, 1e6), "--tokens", "32", "--serial", "--layers", "5", "--chips", "4x2x2", "--link", "1,2")

    def halves(one):  # four stages of one block, two micro-batches of 32 tokens; 10^6 bytes a ms
        send = 2 * 32 * 64 * 2 / 1e6
        ring = 2 * (4 * 15360 / 2 / 1e6)
        return one / 4, 0, 2 * send, 3 * (one / 8 + send), ring, ring
    times(halves, "--tokens", "64", "--batches", "2", "--layers", "4", "--chips", "2x1x4", "--link", "1,0")

    def slow_stages(one):  # two stages of two blocks: gradients are whole in the second micro-batch alone
        send = 2 * 32 * 64 * 2 / 1e6
        ring = 2 * (4 * 15360 / 2 / 1e6)
        return one / 2, 0, 2 * send, one / 4 + send, 2 * ring, ring + max(0, ring - 2 / 3 * one / 4 / 2)
    times(slow_stages, "--tokens", "64", "--batches", "2", "--layers", "4", "--chips", "2x1x2", "--link", "1,0")


def test_a_slow_link_is_not_hidden():
    words = ("--tokens", "64", "--serial", "--layers", "3", "--chips")
    def ring(gbps):
        return lambda one: (one, 0, 0, 0, 3 * 2 * 7 * 7680 / gbps / 1e6, 2 * 7 * 7680 / gbps / 1e6 + 2 * max(0, 2 * 7 * 7680 / gbps / 1e6 - 2 / 3 * one / 3))
    _, fast = times(ring(100), *words, "8x1x1", "--link", "100,0")
    _, slow = times(ring(0.1), *words, "8x1x1", "--link", "0.1,0")
    check(fast[5] < 0.4 * fast[4] and slow[5] > 0.9 * slow[4], f"exposed: {fast[5]} of {fast[4]}, {slow[5]} of {slow[4]}")
    times(lambda one: (one, 0, 0, 0, 0, 0), *words, "1x1x1", "--link", "1,1")
    rows = explore("--config", "small", "--recipe", "ufp4,mxfp4", "--tokens", "16", "--chips", "8x1x1", "--link", "1,1")
    check_equal([rows[-1][name] for name in ["cycles", *TIMES]], [""] * 8, "a case that does not go")


def test_what_was_asked_is_printed():
    def head(*options):
        lines = passes("explore", shapes(), "-o", "out", "--tokens", "16", *options).out.splitlines()
        check(all("nan" not in line.split() for line in lines), f"nan is printed: {lines}")
        second = next(i for i, line in enumerate(lines) if i and line.startswith("%"))
        for table in (lines[:second], lines[second:]):
            check_equal({len(line.split()) for line in table[1:]}, {len(table[0].split()) - 1}, "words of a line")
        check_equal(lines[second].split()[-6:], NEEDS, "what the steps need")
        return lines[0].split()[1:]
    one = ["layer", "pass", "count", "m", "n", "k", "cycles", "tensor", "util_percent", "bound_by", "ms"]
    check_equal(head("--config", "small", "--serial"), one, "one case")
    check_equal(sorted(head("--config", "small")), sorted([*one, "batch"]), "with micro-batches")
    many = head("--config", "small,board", "--recipe", "ufp4,e2m1", "--mem-bandwidth", "0,4", "--mem-latency", "1,2", "--serial")
    check_equal(sorted(many), sorted([*one, "config", "recipe", "mem_bandwidth", "mem_latency"]), "of several values")
    lines = passes("explore", shapes(), "-o", "out", "--tokens", "16", "--config", "small", "--recipe", "ufp4,mxfp4").out
    check("it needs contract fp32, and small has exact" in lines and "reason" in lines, lines)


def test_a_bandwidth_above_the_bus_is_told():
    rows = explore("--config", "small,default", "--mem-bandwidth", "0,8,9,64", "--tokens", "16", "--serial")
    told = {(r["config"], r["mem_bandwidth"]): (bool(r["cycles"]), r["reason"]) for r in rows}
    above = "mem-bandwidth {} is above the bus, which carries 8 bytes a cycle"
    check_equal(told, {("small", "0"): (True, ""), ("small", "8"): (True, ""), ("small", "9"): (True, above.format(9)),
                       ("small", "64"): (True, above.format(64)), **{("default", n): (True, "") for n in ("0", "8", "9", "64")}},
                "reasons")


def test_a_bandwidth_above_the_bus_is_drawn():
    bench.demand_drawing()
    rows = explore("--config", "small", "--mem-bandwidth", "8,1000", "--tokens", "16", "--serial")
    page = pathlib.Path("out/report.html").read_text()
    cycles = [f"<td>{int(r['cycles']):,}</td>" for r in rows if r["layer"] == "step"]
    check(len(cycles) == 2 and all(page.count(cell) == cycles.count(cell) for cell in cycles), f"{cycles}")
    check("small, 1000 (bus 8) B/cycle" in page and "mem-bandwidth 1000 is above the bus" in page, "label and note")


def test_side_by_side_is_faster():
    shape = shapes("name,cin,cout,count\nfc1,256,256,1\nfc2,256,256,1\n")
    fast, slow = (total(explore("--tokens", "2048", "--config", "default", *options, model=shape))
                  for options in ([], ["--serial"]))
    macs = 3 * 2 * 2048 * 256 * 256
    for row in (fast, slow):
        check_equal(float(row["util_percent"]), round(100 * macs / 4096 / int(row["cycles"]), 1), "utilization")
    check(int(fast["cycles"]) < 0.85 * int(slow["cycles"]), f"{fast['cycles']} against {slow['cycles']}")
    check_equal(int(slow["quant_beside"]), 0, "hidden quantization, one after the other")


def test_blocks_are_counted_as_the_second_one():
    """Three blocks are one list's first two and what the second adds, to within the ends of a list."""
    counted = explore("--config", "small", "--tokens", "64", "--layers", "3")
    step, block = total(counted), total(counted, "block")
    once = total(explore("--config", "small", "--tokens", "64", "--layers", "1"))
    check_equal(int(step["cycles"]), int(once["cycles"]) + 2 * int(block["cycles"]), "one and two more")
    layers = "".join(f"fc{i},64,96,2\nproj{i},48,64,1\n" for i in range(3))
    run = total(explore("--config", "small", "--tokens", "64", model=shapes("name,cin,cout,count\n" + layers)))
    check(abs(int(step["cycles"]) / int(run["cycles"]) - 1) < 0.01, f"{step['cycles']} against {run['cycles']}")


def test_cycles_are_the_simulated_cores_on_rtl():
    tokens, cin, cout = 40, 48, 64
    bench.write_npy("X.npy", bench.gaussian(tokens, cin))
    bench.write_npy("W.npy", bench.gaussian(cout, cin))
    bench.write_npy("dY.npy", bench.gaussian(tokens, cout))
    options = ["--config", "small", "--mem-latency", "30", "--mem-bandwidth", "4"]
    simulated = json.loads(passes("layer", "X.npy", "W.npy", "dY.npy", "-o", "layer", "--json", "--backend", "rtl",
                                  *options).out)
    rows = explore("--source", "f32", "--tokens", str(tokens), "--serial", *options,
                   model=shapes("name,cin,cout,count\nproj,48,64,1\n"))
    ours = {r["pass"]: int(r["cycles"]) for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad")}
    check_equal(ours, {c["pass"]: c["cycles"] for c in simulated["cases"]}, "cycles")


def test_configurations_of_any_size_are_counted():
    pathlib.Path("mine.toml").write_text('[[configuration]]\nname = "mine"  # not of it\nrows = 3\ncols = 5\ntile_rows = 16\n'
                                         f'# of another{" rows = 4" * 50}\n'
                                         'tile_cols = 16\nchunk = 8\nbus_bytes = 16\ncontract = "exact"\non_demand = true\n')
    rows = explore("--tokens", "32", "--serial", "--config", "mine.toml,rows=2:cols=2:bus=8,small,rows=12:cols=4..16+4:bus=128")
    steps = {r["config"]: r for r in rows if r["layer"] == "step"}
    check_equal(list(steps), ["3x5-48x80-c8-b16-q16", "2x2-16x16-c16-b8-q16", "small", "12x4-96x32-c16-b128-q16",
                              "12x8-96x64-c16-b128-q16", "12x12-96x96-c16-b128-q16", "12x16-96x128-c16-b128-q16"], "names")
    check_equal(steps["2x2-16x16-c16-b8-q16"]["cycles"], steps["small"]["cycles"], "cycles of small by its parameters")
    check(int(steps["3x5-48x80-c8-b16-q16"]["cycles"]) > 0, "no cycles")


def test_a_configuration_that_the_rtl_refuses_is_a_row_with_its_words():
    rows = explore("--tokens", "32", "--serial", "--config", "small,rows=4..8+1:cols=8:tile_rows=4")
    reasons = {r["config"]: r["reason"] for r in rows if r["layer"] == "step"}
    check_equal([name for name, reason in reasons.items() if reason],
                [f"rows={n}:cols=8:tile_rows=4" for n in (5, 6, 7)], "refused")
    check("TileRows from 2, TileCols even" in reasons["rows=5:cols=8:tile_rows=4"], reasons)


def test_files_of_no_configuration_are_refused():
    for text, message in (("", "there is no configuration in it"), ("rows 8\n", "mine.toml, line 1: no KEY = VALUE"),
                          ("rows = 8\nrows = 9\n", "given twice is 'rows'"), ("depth = 8\n", "are known, not 'depth'"), ("cols = 8\nrows = 8\0\n", "mine.toml, line 2: no KEY")):
        pathlib.Path("mine.toml").write_text(text)
        rejects(2, message, "explore", shapes(), "-o", "out", "--config", "mine.toml")


KINDS = ("name,cin,cout,count,kind,tokens,repeat,group\nfc,64,96,2,,,3,\nexpert,64,32,1,linear,2/8,,\nrouted,64,32,1,,24,,\n"
         "scores,32,seq,1,bf16,,4,2\nmixed,32,seq,1,matmul,,4,2\nnorm,64,64,1,host,,,\n")


def test_layers_have_kinds_and_tokens_of_their_own():
    rows = explore("--config", "small", "--tokens", "64", "--serial", "--host-bytes", model=shapes(KINDS))
    forward = {r["layer"]: (int(r["count"]), int(r["m"]), int(r["n"]), int(r["k"])) for r in rows if r["pass"] in ("fprop", "forward")}
    check_equal(forward, {"fc": (6, 64, 96, 64), "expert": (1, 16, 32, 64), "routed": (1, 24, 32, 64), "mixed": (4, 128, 64, 32),
                          "scores": (4, 128, 64, 32), "norm": (1, 64, 64, 0)}, "layers")
    host = {(r["layer"], r["pass"]): (r["cycles"], int(r["read_bytes"]), int(r["write_bytes"])) for r in rows if "ward" in r["pass"]}
    x, w, y = 2 * 128 * 32, 2 * 64 * 32, 2 * 128 * 64
    check_equal(host, {("scores", "forward"): ("", x + w, y), ("scores", "backward"): ("", x + w + 2 * y, x + w),
                       ("norm", "forward"): ("", 8192, 8192), ("norm", "backward"): ("", 16384, 8192)}, "bytes of the host")
    step = next(r for r in rows if r["layer"] == "step")
    check_equal(sum(int(r["cycles"]) * int(r["count"]) for r in rows if r["pass"] != "all" and r["cycles"]), int(step["cycles"]),
                "cycles of the step")
    few = explore("--config", "small", "--tokens", "64", "--serial", model=shapes(KINDS))
    check_equal({r["layer"] for r in rows} - {r["layer"] for r in few}, {"scores", "norm"}, "without the host's")
    more = explore("--config", "small", "--tokens", "64", "--serial", "--attention", model=shapes(KINDS))
    cycles = {r["layer"]: [r[k] for k in ("m", "n", "k", "cycles")] for r in more if r["pass"] == "dgrad"}
    check_equal(cycles["scores"], cycles["mixed"], "attention on the core")


def test_cores_share_the_memory_and_each_gemm():
    words = ("--config", "small", "--tokens", "96", "--serial")
    alone = explore(*words)
    one, two, four = (explore(*words, "--cores", cores, "--mem-bandwidth", "64") for cores in ("1", "2", "4"))
    check_equal([r["cycles"] for r in one], [r["cycles"] for r in alone], "one core is the one without")
    gemms = lambda rows: {(r["layer"], r["pass"]): int(r["cycles"]) for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad")}
    for rows, cores in ((two, 2), (four, 4)):
        for job, cycles in gemms(rows).items():
            check(gemms(one)[job] / cores < cycles < gemms(one)[job], f"{job} on {cores} cores: {cycles} of {gemms(one)[job]}")
        for r in rows:
            check(not r["bound_percent"] or float(r["util_percent"]) <= float(r["bound_percent"]) + 0.1, r)
    # Two tensors are quantized at once, and take the longer one's time.
    step, tensors = two[-1], {(r["layer"], r["pass"], r["tensor"]): int(r["cycles"]) for r in two if r["tensor"]}
    want = sum(count * (sum(cycles for job, cycles in gemms(two).items() if job[0] == layer) +
                        sum(max(tensors[layer, p, "X"], tensors[layer, p, "W"]) + tensors[layer, p, "dY"] for p in ("amax", "quant")))
               for layer, count in (("fc1", 2), ("proj", 1)))
    check_equal(int(step["cycles"]), want, "cycles of the step")
    # What one core can hardly use, two cannot share.
    narrow = [explore(*words, "--cores", cores, "--mem-bandwidth", "4")[-1] for cores in ("2", "4")]
    check(int(narrow[1]["cycles"]) > 0.97 * int(narrow[0]["cycles"]), "cores that wait for the same memory")


def test_a_gemm_is_split_by_tokens_or_n_or_the_better():
    model = shapes("name,cin,cout,count\ntall,64,32,1\nwide,32,256,1\n")
    rows = {split: explore("--config", "small", "--tokens", "16", "--serial", "--cores", "3", "--split", split, model=model)
            for split in ("tokens", "n", "auto")}
    cycles = {split: {(r["layer"], r["pass"]): int(r["cycles"]) for r in rows[split] if r["split"]} for split in rows}
    for job, least in cycles["auto"].items():
        check_equal(least, min(cycles["tokens"][job], cycles["n"][job]), f"{job}")
    check_equal({r["split"] for r in rows["tokens"]}, {"", "tokens"}, "tokens")
    check_equal({r["split"] for r in rows["n"]}, {"", "n"}, "n")
    check_equal({r["split"] for r in rows["auto"]}, {"", "tokens", "n"}, "auto")


def test_lists_are_tried_in_every_combination():
    rows = explore("--config", "small,board", "--recipe", "ufp4,e2m1", "--mem-bandwidth", "0,4", "--mem-latency",
                   "1,100", "--tokens", "16")
    steps = [(r["recipe"], r["config"], r["mem_bandwidth"], r["mem_latency"]) for r in rows if r["layer"] == "step"]
    check_equal(len(steps), 16, "cases")
    check_equal(len(set(steps)), 16, "different cases")


@slow
def test_memories_with_banks_cost_what_a_layer_finds():
    """A layer has other addresses, and refresh at other moments: some percent. LPDDR5 has a sixteenth of HBM3's pins."""
    for name, shape in (("X", (256, 512)), ("W", (256, 512)), ("dY", (256, 256))):
        bench.write_npy(f"{name}.npy", bench.gaussian(*shape))
    rows = explore("--source", "f32", "--tokens", "256", "--serial", "--dram", "none,lpddr5,hbm3",
                   model=shapes("name,cin,cout,count\nproj,512,256,1\n"))
    ours = {(r["dram"], r["pass"]): r for r in rows}
    for name in ("lpddr5", "hbm3"):
        layer = json.loads(passes("layer", "X.npy", "W.npy", "dY.npy", "-o", "layer", "--json", "--backend", "tlm", "--dram", name).out)
        for one in layer["cases"]:
            cycles = int(ours[name, one["pass"]]["cycles"])
            check(abs(cycles / one["cycles"] - 1) < 0.1, f"{name}, {one['pass']}: {cycles} against {one['cycles']}")
    for one in ("fprop", "dgrad", "wgrad", "quant"):
        plain, slow_one, fast_one = (int(ours[name, one]["cycles"]) for name in ("", "lpddr5", "hbm3"))
        check(plain < fast_one < 0.75 * slow_one, f"{one}: {plain}, {fast_one}, {slow_one}")
    bounds = {name: (float(ours[name, "fprop"]["bound_percent"]), ours[name, "fprop"]["bound_by"]) for name in ("", "lpddr5", "hbm3")}
    check_equal(bounds["hbm3"], bounds[""], "HBM3's pins carry more than the bus")
    check(bounds["lpddr5"][0] < bounds[""][0] and bounds["lpddr5"][1] == "memory", f"{bounds}")


def test_memories_with_banks_side_by_side():
    steps = {r["dram"]: int(r["cycles"]) for r in explore("--dram", "lpddr5,none,hbm3", "--tokens", "256",
             model=shapes("name,cin,cout,count\nproj,256,256,1\n")) if r["layer"] == "step"}
    check(steps[""] < steps["hbm3"] < steps["lpddr5"], f"{steps}")


def test_what_no_core_does_is_a_row_with_the_reason():
    rows = explore("--config", "small", "--recipe", "ufp4,mxfp4,nvfp4", "--tokens", "16")
    reasons = {r["recipe"]: (r["cycles"], r["reason"]) for r in rows if r["layer"] == "step"}
    check(reasons["ufp4"][0] and not reasons["ufp4"][1], f"{reasons}")
    check_equal(reasons["mxfp4"], ("", "it needs contract fp32, and small has exact"), "mxfp4")
    check_equal(reasons["nvfp4"], ("", "QUANT makes no nvfp4 scales: the host does"), "nvfp4")
    os.remove("out/explore.csv")
    rejects(2, "no case runs on a core: ", "explore", shapes(), "-o", "out", "--recipe", "mxfp4,nvfp4")
    check(not os.path.exists("out/explore.csv"), "explore.csv of a run that failed")


def test_recipes_of_ones_own():
    pathlib.Path("step.json").write_text('{"elem": "e1m2", "rht": "integer", "signs": "step"}')
    pathlib.Path("last.json").write_text('{"elem": "e1m2", "bf16_layers": {"last": 1}}')
    rows = explore("--config", "small", "--recipe", "step.json,last.json", "--tokens", "16")
    reasons = {r["recipe"]: r["reason"] for r in rows if r["layer"] == "step"}
    check_equal(reasons, {"step": "", "last": "bf16_layers: layers in BF16 are not counted"}, "reasons")


def test_a_whole_model_takes_seconds():
    rows = explore("--layers", "1", "--serial", model="llama-7b")
    gemms = sum(int(r["cycles"]) * int(r["count"]) for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad"))
    macs = 3 * 4096 * (4096 * 12288 + 4096 * 4096 + 4096 * 22016 + 11008 * 4096)
    check(0.99 < macs / 4096 / gemms <= 1, f"utilization {macs / 4096 / gemms}")


def test_the_page_stands_alone():
    bench.demand_drawing()
    explore("--config", "small", "--mem-bandwidth", "2,8", "--tokens", "16")
    page = pathlib.Path("out/report.html").read_text()
    for what in ("A training step", "Where the cycles go", "Utilization against bandwidth", "Roofline",
                 "MACs a byte", "small, 2 B/cycle", "Every job"):
        check(what in page, f"{what} is missing")
    check("http" not in page and "<script" not in page, "outside references")
    check_equal(sorted(os.listdir("out")), [*FILES, "report.html"], "files")


def test_a_page_in_a_folder_like_an_option():
    bench.demand_drawing()
    passes("explore", shapes(), "--o=-d", "--config", "small", "--tokens", "16")
    check_equal(sorted(os.listdir("-d")), [*FILES, "report.html"], "files")


def test_without_python_the_rows_are_there():
    os.mkdir("out")
    pathlib.Path("out/report.html").write_text("an earlier one")
    result = passes("explore", shapes(), "-o", "out", "--config", "small", "--tokens", "16")
    check(result.err.count("\n") == 1 and "python3 -m ufp4.report out/explore.json" in result.err, str(result))
    check_equal(sorted(os.listdir("out")), FILES, "files, without the earlier page")


def test_a_python_without_the_package_is_told_in_one_line():
    os.makedirs("bin")
    pathlib.Path("bin/python").write_text(f"#!/bin/sh\nexec {sys.executable} -S -I \"$@\"\n")
    os.chmod("bin/python", 0o755)
    done = subprocess.run([bench.PROGRAM, "explore", shapes(), "--config", "small", "--tokens", "4", "-o", "out"],
                          capture_output=True, text=True, env={**os.environ, "UFP4_PYTHON": "bin/python"}, timeout=60)
    check_equal((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
    check(done.stderr.endswith("; one with ufp4[report] does\n"), done.stderr)
    check_equal(sorted(os.listdir("out")), FILES, "what stays")


def test_several_sizes_of_a_step_make_a_heat_map():
    rows = explore("--config", "small", "--tokens", "1,16,64", "--serial")
    util = [float(r["util_percent"]) for r in rows if (r["layer"], r["pass"]) == ("proj", "fprop")]
    check(util == sorted(util) and util[0] < 60 < util[2], f"utilization {util}")
    bench.demand_drawing()
    explore("--config", "small", "--tokens", "16,64", "--batches", "2")
    page = pathlib.Path("out/report.html").read_text()
    check("Utilization over tokens: ufp4 on small" in page, "no heat map")
    heat = page[page.index("Utilization over tokens"):page.index("Every job")]
    check_equal([heat.count(f"FPROP, {half} half") for half in ("first", "second")], [2, 2], "halves")


def test_what_no_address_reaches_is_a_row_with_the_reason():
    rows = explore("--tokens", "16,1048576", model=shapes("name,cin,cout,count\nbig,65536,262144,1\n"))
    steps = [(bool(r["cycles"]), "addresses of 40 bits" in r["reason"]) for r in rows if r["layer"] == "step"]
    check_equal(steps, [(True, False), (False, True)], "steps")


def test_json_has_the_rows():
    text = passes("explore", shapes(), "-o", "out", "--config", "small", "--tokens", "16", "--json").out
    rows = json.loads(text)["cases"]
    with open("out/explore.csv", newline="") as file:
        listed = list(csv.DictReader(file))
    check_equal([str(r["cycles"]) for r in rows], [r["cycles"] for r in listed], "cycles")


def test_passes_of_the_host_are_for_serial_alone():
    pathlib.Path("host.json").write_text('{"elem": "e1m2", "rht": "integer", "bf16_passes": ["wgrad"]}')
    options = ["--config", "small", "--recipe", "host.json", "--tokens", "16"]
    rejects(2, "the host multiplies passes in BF16: --serial counts the others", "explore", shapes(), "-o", "out",
            *options)
    check("wgrad" not in {r["pass"] for r in explore(*options, "--serial")}, "WGRAD is there")


SWEEP = ["--config", "small,board", "--recipe", "ufp4,mxfp4", "--tokens", "16,200", "--mem-bandwidth", "0,4"]


def kill_after(case, words):
    """Starts an exploration, and ends it with SIGKILL once the rows of a case are there."""
    process = subprocess.Popen([bench.PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not os.path.exists(f"out/cases/case-{case}.csv"):
        time.sleep(0.002)
    process.kill()
    process.wait(timeout=60)
    check(os.path.exists(f"out/cases/case-{case}.csv"), "it ended before it was killed")


def test_where_no_case_runs_one_line_says_so():
    for config in ("default", "tiny"):
        told = rejects(2, "no case runs on a core", "explore", shapes(), "--config", config, "--tokens", "1", "--batches", "2",
                       "-o", "out")
        check_equal(told.out, "", "what is printed")


def test_an_interrupted_run_says_how_to_go_on():
    words = ["explore", shapes(), *SWEEP, "-o", "out"]
    process = subprocess.Popen([bench.PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not os.path.exists("out/cases/case-0.csv"):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    check_equal((process.returncode, err), (-signal.SIGINT, "ufp4 explore: interrupted; --resume goes on with it\n"), "its end")
    check(out.endswith("\n"), f"it ends amid a line: {out[-80:]!r}")
    passes(*words, "--resume")


def test_commands_are_quoted():
    passes("explore", shapes(), "--config", "small", "--tokens", "4", "-o", "it's 1")
    command = json.loads(pathlib.Path("it's 1/explore.json").read_text())["command"]
    check_equal(shlex.split(command), ["ufp4", "explore", "s.csv", "--config", "small", "--tokens", "4", "-o", "it's 1"],
                "the command")
    told = run("explore", "s.csv", "--config", "small", "--tokens", "4", "-o", "it's 1").err
    check_equal(shlex.split(told.split("-m ufp4.report ")[1]), ["it's 1/explore.json"], "how to draw it")


@slow
def test_what_was_cut_off_goes_on():
    words = ["explore", shapes("name,cin,cout,count\nfc1,300,400,2\n"), *SWEEP]
    lines = passes(*words, "-o", "want").out
    kill_after(2, [*words, "-o", "out"])
    check(not os.path.exists("out/explore.csv"), "a result before the end")
    rejects(2, "--resume goes on with it", *words, "-o", "out")
    rejects(2, "of other settings is there: clock_mhz is", *words, "-o", "out", "--resume", "--clock-mhz", "900")
    rejects(2, "of other settings is there: dram is \"none\", not \"hbm3\"", *words, "-o", "out", "--resume", "--dram", "hbm3")
    rejects(2, "of other settings is there: chips is", *words, "-o", "out", "--resume", "--chips", "2x1x1", "--link", "1,1")
    rejects(2, "clock_mhz is 1000.0, not 900.1;", *words, "-o", "out", "--resume", "--clock-mhz", "900.1")
    kept = pathlib.Path("out/cases/case-1.csv").read_text()
    pathlib.Path("out/cases/case-1.csv").write_text(kept[:100])
    rejects(2, "case-1.csv: damaged", *words, "-o", "out", "--resume")
    first, *rest = kept.split("\n")
    numbers = rest[0].split(",")
    numbers[10] = "1234567"  # cycles: read, not run again
    changed = "\n".join([first, ",".join(numbers), *rest[1:-2], ""])
    pathlib.Path("out/cases/case-1.csv").write_text(f"{changed}crc32,{zlib.crc32(changed.encode()):08x}\n")
    shutil.copytree("out", "other")
    check("1234567" in passes(*words, "-o", "other", "--resume").out, "a case that has ended is run again")
    shutil.copytree("out", "rebuilt")
    program = shutil.copy(bench.PROGRAM, "program")
    with open(program, "ab") as file:
        file.write(b"\0")
    done = subprocess.run([os.path.abspath(program), *words, "-o", "rebuilt", "--resume"], capture_output=True, text=True, timeout=120)
    check_equal((done.returncode, done.stdout), (0, lines), "another build's cases")
    check("another build of the program began it; its cases are run again" in done.stderr, done.stderr)
    shutil.copytree("out", "stale")
    os.remove("stale/cases/settings.json")
    check_equal("1234567" in passes(*words, "-o", "stale", "--clock-mhz", "900").out, False, "a case of other settings is read")
    pathlib.Path("out/cases/case-1.csv").write_text(kept)
    check_equal(passes(*words, "-o", "out", "--resume").out, lines, "lines")
    check_equal(*(pathlib.Path(name, "explore.csv").read_bytes() for name in ("out", "want")), "explore.csv")
    check_equal(sorted(os.listdir("out")), FILES, "files left")
    rejects(2, "no unfinished experiment is there", *words, "-o", "out", "--resume")


@slow
def test_ranks_write_the_same_file():
    if not shutil.which("mpirun"):
        raise bench.Skipped("mpirun is missing (openmpi-bin)")
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    if subprocess.run([*mpirun, "true"], capture_output=True, timeout=60).returncode != 0:
        raise bench.Skipped("mpirun starts no process here")
    words = ["explore", shapes(), *SWEEP]
    lines = passes(*words, "-o", "one").out
    done = subprocess.run([*mpirun, bench.PROGRAM, *words, "-o", "two"], capture_output=True, text=True, timeout=120)
    if "built without MPI" in done.stderr:
        raise bench.Skipped("the program was built without MPI")
    check_equal((done.returncode, done.stdout), (0, lines), "what the ranks print")
    check_equal(*(pathlib.Path(name, "explore.csv").read_bytes() for name in ("one", "two")), "explore.csv")
    check_equal(sorted(os.listdir("two")), FILES, "files left")


def test_bad_shapes_are_refused():
    for text, message in (("name,cin,cout\nfc,1,2\n", "the first line must be name,cin,cout,count"),
                          ("name,cin,cout,count\n", "there is no layer in it"),
                          ("name,cin,cout,count\nfc,0,2,1\n", "line 2: cin is '0'"),
                          ("name,cin,cout,count\nfc,8,1.5,1\n", "line 2: cout is '1.5'"),
                          ("name,cin,cout,count\nfc,8,8\n", "line 2: name,cin,cout,count are needed"),
                          ("name,cin,cout,count\nfc,8,8,1,1\n", "line 2: more columns than the first line has"),
                          ("name,cin,count,cout\nfc,8,8,1\n", "the first line must be name,cin,cout,count"),
                          ("name,cin,cout,count,size\nfc,8,8,1,1\n", "and behind it what is wanted of kind,tokens,repeat,group"),
                          ("name,cin,cout,count,kind,kind\nfc,8,8,1,,\n", "the first line must be"),
                          ("name,cin,cout,count,group\nfc,8,8,1\n", "line 2: a column is missing"),
                          ("name,cin,cout,count,group\nfc,8,8,1,0\n", "line 2: group is '0'"),
                          ("name,cin,cout,count,repeat\nfc,8,8,1,x\n", "line 2: repeat is 'x'"),
                          ("name,cin,cout,count,kind\nfc,8,8,1,conv\n", "line 2: kind is linear, matmul, bf16 or host"),
                          ("name,cin,cout,count,tokens\nfc,8,8,1,3/2\n", "line 2: tokens are more than all"),
                          ("name,cin,cout,count,tokens\nfc,8,8,1,1/0\n", "line 2: tokens is '0'"),
                          ("name,cin,cout,count,kind\nfc,8,8,1,host\n", "s.csv: the core has nothing to do in it"),
                          ("name,cin,cout,count\nfc,8,8,1\nfc,8,8,1\n", "line 3: this name is there twice"),
                          ("name,cin,cout,count\nstep,8,8,1\n", "line 2: block and step are the names of totals"),
                          ("name,cin,cout,count\nfc,8,8,1\nblock,8,8,1\n", "line 3: block and step are the names of totals"),
                          ('name,cin,cout,count\n"o,d",8,8,1\n', "line 2: quotes are not supported"),
                          ("name,cin,cout,count\nfc,2000000,8,1\n", "line 2: cin is '2000000'")):
        rejects(2, message, "explore", shapes(text), "-o", "out")
    rejects(2, "Is a directory", "explore", "./", "-o", "out")
    rejects(2, "no model is called 'llama'", "explore", "llama", "-o", "out")
    check(not os.path.exists("out"), "a folder of a run that failed")


def test_bad_options_are_refused():
    for options, message in ((["--config", "huge"], "no configuration is called 'huge'"),
                             (["--config", "small,small"], "small is there twice"),
                             (["--config", "rows=8:rows=8"], "given twice is 'rows'"),
                             (["--config", "bus=64:bus_bytes=32"], "given twice is 'bus_bytes'"),
                             (["--config", "rows=1..000012"], "'rows=1..000012': a range is FIRST..LAST or FIRST..LAST+STEP"),
                             (["--config", "rows=000001..12"], "'rows=000001..12': a range is"),
                             (["--config", "rows=4..8+100000"], "'rows=4..8+100000': a range is"),
                             (["--config", "rows=4..32+-4"], "'rows=4..32+-4': a range is"),
                             (["--config", "rows=4..32+0"], "'rows=4..32+0': a range is"),
                             (["--config", "rows=4..32+"], "'rows=4..32+': a range is"),
                             (["--config", "rows=4..:cols=8"], "'rows=4..:cols=8': a range is"),
                             (["--config", "cols=8:rows=4..8x"], "'cols=8:rows=4..8x': a range is"),
                             (["--config", "rows=+4..8"], "is 'rows=+4..8'"),
                             (["--config", "rows= 4..8"], "is 'rows= 4..8'"),
                             (["--config", "rows=8..4"], "'rows=8..4': a range goes up from 1 or more"),
                             (["--config", "bus=12"], "no case runs on a core: configuration 'bus=12': BusBytes must be 8"),
                             (["--config", "none.toml"], "cannot read 'none.toml': No such file"),
                             (["--cores", "2"], "--cores goes with --serial"),
                             (["--split", "n", "--serial"], "--split goes with --cores"),
                             (["--cores", "65", "--serial"], "--cores: '65' is no whole number from 1 to 64"),
                             (["--cores", "2", "--serial", "--dram", "hbm3"], "the memory of several cores has no banks"),
                             (["--chips", "2x1x1"], "--chips DPxTPxPP and --link GBps,us go together"),
                             (["--link", "1,1"], "--chips DPxTPxPP and --link GBps,us go together"),
                             (["--chips", "2x1", "--link", "1,1"], "--chips: '2x1' is not DPxTPxPP, each from 1 to 65536"),
                             (["--chips", "2x0x1", "--link", "1,1"], "--chips: '2x0x1' is not DPxTPxPP"),
                             (["--chips", "2x1x1x1", "--link", "1,1"], "--chips: '2x1x1x1' is not DPxTPxPP"),
                             (["--chips", "1x1x2", "--link", "1,1"], "--chips: PP is 2, and blocks are 1"),
                             (["--chips", "2x1x1", "--link", "0,1"], "--link: '0,1' is not GBps,us"),
                             (["--chips", "2x1x1", "--link", "1"], "--link: '1' is not GBps,us"),
                             (["--chips", "2x1x1", "--link", "1e-300,1"], "--link: '1e-300,1' is not GBps,us: from 0.001, and from 0, to 1000000"),
                             (["--chips", "2x1x1", "--link", "0.0009,1"], "--link: '0.0009,1' is not GBps,us"),
                             (["--chips", "2x1x1", "--link", "1, 1"], "--link: '1, 1' is not GBps,us"),
                             (["--chips", "2x1x1", "--link", "0x10,1"], "--link: '0x10,1' is not GBps,us"),
                             (["--chips", "2x+1x1", "--link", "1,1"], "--chips: '2x+1x1' is not DPxTPxPP"),
                             (["--hf", "c.json"], "SHAPES or --hf config.json is needed, and not both"),
                             (["--recipe", "ufp4,,e2m1"], "a name is empty"),
                             (["--mem-bandwidth", "8,x"], "'x' is no whole number"),
                             (["--dram", "ddr9"], "no memory is called 'ddr9'; there are none, lpddr5 and hbm3"),
                             (["--dram", "hbm3", "--clock-mhz", "800"], "--dram hbm3 is for --clock-mhz 1000"),
                             (["--mem-latency", "100001"], "'100001' is no whole number from 0 to 100000"),
                             (["--tokens", "0"], "--tokens: '0' is no whole number from 1 to"),
                             (["--layers", "0"], "--layers: a whole number from 1 to 1000000"),
                             (["--clock-mhz", "0"], "--clock-mhz: over 0")):
        rejects(2, message, "explore", shapes(), "-o", "out", *options)
    for folder in ("a", "b"):
        os.mkdir(folder)
        pathlib.Path(folder, "r.json").write_text('{"elem": "e1m2"}')
    rejects(2, "two are called r", "explore", shapes(), "-o", "out", "--recipe", "a/r.json,b/r.json")
    rejects(2, "-o DIR is missing", "explore", shapes())
    rejects(2, "a block of 3000 layers: at most 2048 side by side", "explore",
            shapes("name,cin,cout,count\nfc,8,8,3000\n"), "-o", "out")


if __name__ == "__main__":
    bench.main(globals())
