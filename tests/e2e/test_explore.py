# SPDX-License-Identifier: Apache-2.0
"""Tests explore: the cycles of a model's training step."""

import csv
import json
import os
import pathlib

import stand
from stand import check, check_equal, passes, rejects, slow
from explorations import KINDS, NEEDS, explore, shapes, total


FIRST = "model,layer,pass,recipe,config,count,m,n,k,cycles".split(",")


def jobs(rows, layer):
    return [(r["pass"], r["tensor"], int(r["m"]), int(r["n"]), int(r["k"])) for r in rows if r["layer"] == layer]


def test_a_serial_step_has_every_job():
    rows = explore("--config", "small", "--tokens", "32", "--serial")
    check_equal(list(rows[0])[:10], FIRST, "first columns")
    check_equal(
        jobs(rows, "fc1"),
        [
            ("amax", "X", 32, 64, 0),
            ("quant", "X", 32, 64, 0),
            ("amax", "W", 96, 64, 0),
            ("quant", "W", 96, 64, 0),
            ("amax", "dY", 32, 96, 0),
            ("quant", "dY", 32, 96, 0),
            ("fprop", "", 32, 96, 64),
            ("dgrad", "", 32, 64, 96),
            ("wgrad", "", 96, 64, 32),
        ],
        "jobs of fc1",
    )
    step = rows[-1]
    check_equal((step["layer"], step["pass"]), ("step", "all"), "last row")
    check_equal(
        sum(int(r["cycles"]) * int(r["count"]) for r in rows if r["pass"] != "all"),
        int(step["cycles"]),
        "cycles of the step",
    )
    check_equal(
        float(step["tokens_per_second"]), float(f"{32 / (int(step['cycles']) * 1.07e-9):.9g}"), "tokens a second"
    )


def test_layers_multiply_the_serial_step():
    once = explore("--config", "small", "--tokens", "32", "--serial")[-1]
    thrice = explore("--config", "small", "--tokens", "32", "--serial", "--layers", "3")[-1]
    check_equal(int(thrice["cycles"]), 3 * int(once["cycles"]), "cycles")


def test_a_step_has_every_job_of_two_halves():
    rows = explore("--config", "small", "--tokens", "33", "--batches", "2")
    halves = [(r["pass"], r["tensor"], r["batch"], int(r["m"]), int(r["count"])) for r in rows if r["layer"] == "fc1"]
    check_equal(
        halves,
        [
            ("amax", "X", "0", 17, 2),
            ("amax", "X", "1", 16, 2),
            ("quant", "X", "0", 17, 2),
            ("quant", "X", "1", 16, 2),
            ("amax", "W", "", 96, 2),
            ("quant", "W", "", 96, 2),
            ("amax", "dY", "0", 17, 2),
            ("amax", "dY", "1", 16, 2),
            ("quant", "dY", "0", 17, 2),
            ("quant", "dY", "1", 16, 2),
            ("fprop", "", "0", 17, 2),
            ("fprop", "", "1", 16, 2),
            ("dgrad", "", "0", 17, 2),
            ("dgrad", "", "1", 16, 2),
            ("wgrad", "", "0", 96, 2),
            ("wgrad", "", "1", 96, 2),
        ],
        "jobs of fc1",
    )
    check(all(int(r["cycles"]) > 0 for r in rows), "a job without cycles")
    step = total(rows)
    check(int(step["quant"]) > 0 and int(step["quant_beside"]) > 0, "exposed and hidden quantization")
    check_equal(explore("--config", "small", "--tokens", "1")[0]["batch"], "", "halves of one token")


def test_few_tokens_make_one_batch():
    """Two tokens must not take longer than three; --batches overrides the choice."""
    steps = [total(explore("--config", "small", "--tokens", str(n))) for n in (1, 2, 3, 63, 64)]
    check_equal([r["batches"] for r in steps], ["1", "1", "1", "1", "2"], "micro-batches")
    cycles = [int(r["cycles"]) for r in steps]
    check(cycles == sorted(cycles), f"more tokens take fewer cycles: {cycles}")
    two = total(explore("--config", "small", "--tokens", "2", "--batches", "2"))
    check(two["batches"] == "2" and int(two["cycles"]) > cycles[2], f"two halves of two tokens: {two['cycles']}")
    check_equal(total(explore("--config", "small", "--tokens", "64", "--batches", "1"))["batches"], "1", "asked for")
    check_equal(
        total(explore("--config", "small", "--tokens", "64", "--serial"))["batches"], "1", "one after the other"
    )
    rows = explore("--config", "small", "--tokens", "1,2", "--batches", "2")
    check_equal(
        [(r["cycles"] != "", r["reason"]) for r in rows if r["layer"] == "step"],
        [(False, "a layer has one token, which two micro-batches cannot share; use --batches 1"), (True, "")],
        "one token in two",
    )
    rejects(2, "it must be 1 or 2", "explore", shapes(), "-o", "no", "--batches", "3")
    rejects(2, "it must be 1 or 2", "explore", shapes(), "-o", "no", "--batches", "0")
    rejects(2, "--batches needs jobs side by side", "explore", shapes(), "-o", "no", "--batches", "1", "--serial")


def test_bytes_of_data_and_bytes_on_the_bus():
    """Each job has a descriptor of 128 bytes and a completion of 16; otherwise a bus of 8 bytes carries only the
    data."""
    kinds = ("fprop", "dgrad", "wgrad", "amax", "quant")
    for options in (["--serial"], ["--batches", "1"], ["--batches", "2"]):
        rows = explore(
            "--config",
            "small",
            "--tokens",
            "37",
            *options,
            model=shapes("name,cin,cout,count\nfc1,80,96,2\nproj,64,88,1\n"),
        )
        jobs_run = sum(int(r["count"]) for r in rows if r["pass"] in kinds)
        step = total(rows)
        check_equal(
            int(step["bus_read_bytes"]) - int(step["read_bytes"]), 128 * jobs_run, f"{options}: read beside the data"
        )
        check_equal(
            int(step["bus_write_bytes"]) - int(step["write_bytes"]),
            16 * jobs_run,
            f"{options}: written beside the data",
        )
    rows = explore(
        "--config", "default,large", "--tokens", "37", "--serial", model=shapes("name,cin,cout,count\nfc,83,99,1\n")
    )
    for row in (r for r in rows if r["pass"] == "quant"):
        m, n = int(row["m"]), int(row["n"])
        units, bus = 2 * -(-m // 16) * -(-n // 16), 64 if row["config"] == "default" else 128
        check_equal(int(row["write_bytes"]), 144 * units, "codes and scales")
        check_equal(int(row["read_bytes"]), 2 * m * n, "numbers")
        most = (128 + bus) * units + bus
        if row["config"] == "default":
            check_equal(int(row["bus_write_bytes"]), most, "beats")
        else:  # lanes fill a beat with scales of several units
            check(144 * units < int(row["bus_write_bytes"]) < most, f"beats: {row['bus_write_bytes']}")
    for row in (r for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad")):
        m, n, k = (int(row[name]) for name in "mnk")
        data = 144 * (-(-m // 16) + -(-n // 16)) * -(-k // 16) + (4 if row["pass"] == "wgrad" else 2) * m * n
        check_equal(int(row["read_bytes"]) + int(row["write_bytes"]), data, f"{row['pass']}: bytes of one macro-tile")
        check_equal(row["intensity"], f"{m * n * k / data:.1f}", "intensity")


def test_the_page_lists_every_column():
    page = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "files.md"
    section = page.read_text().split("\n## An exploration\n")[1].split("\n## ")[0]
    listed = [
        name
        for line in section.split("| column of")[1].splitlines()
        if line.startswith("| `")
        for name in line.split("|")[1].replace("`", "").split(",")
    ]
    explore("--config", "small", "--tokens", "16")
    columns = pathlib.Path("out/explore.csv").read_text().splitlines()[0].split(",")
    check_equal([name.strip() for name in listed], columns, "columns")


def test_what_was_asked_is_printed():
    def head(*options):
        lines = passes("explore", shapes(), "-o", "out", "--tokens", "16", *options).out.splitlines()
        check(all("nan" not in line.split() for line in lines), f"nan is printed: {lines}")
        check(lines.pop().startswith("% clock 934.6 MHz: core in ASAP7, 1.07 ns, "), "the clock")
        second = next(i for i, line in enumerate(lines) if i and line.startswith("%"))
        for table in (lines[:second], lines[second:]):
            check_equal({len(line.split()) for line in table[1:]}, {len(table[0].split()) - 1}, "words of a line")
        check_equal(lines[second].split()[-6:], NEEDS, "what the steps need")
        return lines[0].split()[1:]

    one = ["layer", "pass", "count", "m", "n", "k", "cycles", "tensor", "util_percent", "bound_by", "ms"]
    check_equal(head("--config", "small", "--serial"), one, "one case")
    check_equal(sorted(head("--config", "small")), sorted([*one, "batch"]), "with micro-batches")
    many = head(
        "--config", "small,board", "--recipe", "ufp4,e2m1", "--mem-bandwidth", "0,4", "--mem-latency", "1,2", "--serial"
    )
    check_equal(sorted(many), sorted([*one, "config", "recipe", "mem_bandwidth", "mem_latency"]), "of several values")
    lines = passes(
        "explore", shapes(), "-o", "out", "--tokens", "16", "--config", "small", "--recipe", "ufp4,mxfp4"
    ).out
    check("the recipe needs contract fp32, but small has contract exact" in lines and "reason" in lines, lines)


@slow
def test_side_by_side_is_faster():
    shape = shapes("name,cin,cout,count\nfc1,256,256,1\nfc2,256,256,1\n")
    fast, slow = (
        total(explore("--tokens", "2048", "--config", "default", *options, model=shape))
        for options in ([], ["--serial"])
    )
    macs = 3 * 2 * 2048 * 256 * 256
    for row in (fast, slow):
        check_equal(float(row["util_percent"]), round(100 * macs / 4096 / int(row["cycles"]), 1), "utilization")
    check(int(fast["cycles"]) < 0.85 * int(slow["cycles"]), f"{fast['cycles']} against {slow['cycles']}")
    check_equal(int(slow["quant_beside"]), 0, "hidden quantization, one after the other")


def test_blocks_are_counted_as_the_second_one():
    """The cycles of three blocks are those of a list's first block and twice what the second one adds, to within the
    ends of a list."""
    counted = explore("--config", "small", "--tokens", "64", "--layers", "3")
    step, block = total(counted), total(counted, "block")
    once = total(explore("--config", "small", "--tokens", "64", "--layers", "1"))
    check_equal(int(step["cycles"]), int(once["cycles"]) + 2 * int(block["cycles"]), "one and two more")
    layers = "".join(f"fc{i},64,96,2\nproj{i},48,64,1\n" for i in range(3))
    run = total(explore("--config", "small", "--tokens", "64", model=shapes("name,cin,cout,count\n" + layers)))
    check(abs(int(step["cycles"]) / int(run["cycles"]) - 1) < 0.01, f"{step['cycles']} against {run['cycles']}")


def test_layers_have_kinds_and_tokens_of_their_own():
    rows = explore("--config", "small", "--tokens", "64", "--serial", "--host-bytes", model=shapes(KINDS))
    forward = {
        r["layer"]: (int(r["count"]), int(r["m"]), int(r["n"]), int(r["k"]))
        for r in rows
        if r["pass"] in ("fprop", "forward")
    }
    check_equal(
        forward,
        {
            "fc": (6, 64, 96, 64),
            "expert": (1, 16, 32, 64),
            "routed": (1, 24, 32, 64),
            "mixed": (4, 128, 64, 32),
            "scores": (4, 128, 64, 32),
            "norm": (1, 64, 64, 0),
        },
        "layers",
    )
    host = {
        (r["layer"], r["pass"]): (r["cycles"], int(r["read_bytes"]), int(r["write_bytes"]))
        for r in rows
        if "ward" in r["pass"]
    }
    x, w, y = 2 * 128 * 32, 2 * 64 * 32, 2 * 128 * 64
    check_equal(
        host,
        {
            ("scores", "forward"): ("", x + w, y),
            ("scores", "backward"): ("", x + w + 2 * y, x + w),
            ("norm", "forward"): ("", 8192, 8192),
            ("norm", "backward"): ("", 16384, 8192),
        },
        "bytes of the host",
    )
    step = next(r for r in rows if r["layer"] == "step")
    check_equal(
        sum(int(r["cycles"]) * int(r["count"]) for r in rows if r["pass"] != "all" and r["cycles"]),
        int(step["cycles"]),
        "cycles of the step",
    )
    few = explore("--config", "small", "--tokens", "64", "--serial", model=shapes(KINDS))
    check_equal({r["layer"] for r in rows} - {r["layer"] for r in few}, {"scores", "norm"}, "without the host's")
    more = explore("--config", "small", "--tokens", "64", "--serial", "--attention", model=shapes(KINDS))
    cycles = {r["layer"]: [r[k] for k in ("m", "n", "k", "cycles")] for r in more if r["pass"] == "dgrad"}
    check_equal(cycles["scores"], cycles["mixed"], "attention on the core")


def test_what_no_core_does_is_a_row_with_the_reason():
    rows = explore("--config", "small", "--recipe", "ufp4,mxfp4,nvfp4", "--tokens", "16")
    reasons = {r["recipe"]: (r["cycles"], r["reason"]) for r in rows if r["layer"] == "step"}
    check(reasons["ufp4"][0] and not reasons["ufp4"][1], f"{reasons}")
    check_equal(reasons["mxfp4"], ("", "the recipe needs contract fp32, but small has contract exact"), "mxfp4")
    check_equal(reasons["nvfp4"], ("", "QUANT does not make nvfp4 scales, only the host does"), "nvfp4")
    os.remove("out/explore.csv")
    rejects(2, "no case runs on a core: ", "explore", shapes(), "-o", "out", "--recipe", "mxfp4,nvfp4")
    check(not os.path.exists("out/explore.csv"), "explore.csv of a run that failed")


def test_recipes_of_ones_own():
    pathlib.Path("step.json").write_text('{"elem": "e1m2", "rht": "integer", "signs": "step"}')
    pathlib.Path("last.json").write_text('{"elem": "e1m2", "bf16_layers": {"last": 1}}')
    rows = explore("--config", "small", "--recipe", "step.json,last.json", "--tokens", "16")
    reasons = {r["recipe"]: r["reason"] for r in rows if r["layer"] == "step"}
    check_equal(reasons, {"step": "", "last": "bf16_layers: explore does not count layers in BF16"}, "reasons")


@slow
def test_a_whole_model_takes_seconds():
    rows = explore("--layers", "1", "--serial", model="llama-7b")
    gemms = sum(int(r["cycles"]) * int(r["count"]) for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad"))
    macs = 3 * 4096 * (4096 * 12288 + 4096 * 4096 + 4096 * 22016 + 11008 * 4096)
    check(0.99 < macs / 4096 / gemms <= 1, f"utilization {macs / 4096 / gemms}")


def test_what_no_address_reaches_is_a_row_with_the_reason():
    rows = explore("--tokens", "1,1048576", model=shapes("name,cin,cout,count\nbig,1048576,1,1\n"))
    steps = [(bool(r["cycles"]), "addresses of 40 bits" in r["reason"]) for r in rows if r["layer"] == "step"]
    check_equal(steps, [(True, False), (False, True)], "steps")
    # Columns about the needs or the work of a step are filled only for steps that have run.
    for name in ("weight_bytes", "copy_bytes", "activation_bytes", "live_bytes", "quant_blocks", "macs", "ms"):
        check_equal([r[name] != "" for r in rows if r["layer"] == "step"], [True, False], name)


def test_json_has_the_rows():
    text = passes("explore", shapes(), "-o", "out", "--config", "small", "--tokens", "16", "--json").out
    rows = json.loads(text)["cases"]
    with open("out/explore.csv", newline="") as file:
        listed = list(csv.DictReader(file))
    check_equal([str(r["cycles"]) for r in rows], [r["cycles"] for r in listed], "cycles")


def test_passes_of_the_host_are_for_serial_alone():
    pathlib.Path("host.json").write_text('{"elem": "e1m2", "rht": "integer", "bf16_passes": ["wgrad"]}')
    options = ["--config", "small", "--recipe", "host.json", "--tokens", "16"]
    words = "the host multiplies the recipe's passes in BF16; use --serial to count the others"
    rejects(2, words, "explore", shapes(), "-o", "out", *options)
    check("wgrad" not in {r["pass"] for r in explore(*options, "--serial")}, "WGRAD is there")


def test_bad_shapes_are_refused():
    for text, message in (
        ("name,cin,cout\nfc,1,2\n", "the first line must be name,cin,cout,count"),
        ("name,cin,cout,count\n", "s.csv: the file holds no layer"),
        ("name,cin,cout,count\nfc,0,2,1\n", "line 2: cin is '0'"),
        ("name,cin,cout,count\nfc,8,1.5,1\n", "line 2: cout is '1.5'"),
        ("name,cin,cout,count\nfc,8,8\n", "line 2: name,cin,cout,count are needed"),
        ("name,cin,cout,count\nfc,8,8,1,1\n", "line 2: there are more columns than in the first line"),
        ("name,cin,count,cout\nfc,8,8,1\n", "the first line must be name,cin,cout,count"),
        ("name,cin,cout,count,size\nfc,8,8,1,1\n", "followed by any of kind,tokens,repeat,group,share"),
        ("name,cin,cout,count,kind,kind\nfc,8,8,1,,\n", "the first line must be"),
        ("name,cin,cout,count,group\nfc,8,8,1\n", "line 2: a column is missing"),
        ("name,cin,cout,count,group\nfc,8,8,1,0\n", "line 2: group is '0'"),
        ("name,cin,cout,count,repeat\nfc,8,8,1,x\n", "line 2: repeat is 'x'"),
        ("name,cin,cout,count,repeat\nfc,8,8,1000000,101\n", "line 2: count times repeat is more than 100000000"),
        ("name,cin,cout,count,kind,group\nfc,8,8,1,matmul,300\n", "1228800 rows; a tensor may have at most 1048576"),
        ("name,cin,cout,count,kind\nfc,8,8,1,conv\n", "line 2: kind must be linear, matmul, bf16 or host"),
        ("name,cin,cout,count,tokens\nfc,8,8,1,3/2\n", "line 2: tokens is a share of more than 1"),
        ("name,cin,cout,count,tokens\nfc,8,8,1,1/0\n", "line 2: tokens is '0'"),
        ("name,cin,cout,count,kind\nfc,8,8,1,host\n", "s.csv: no layer of it runs on the core"),
        ("name,cin,cout,count\nfc,8,8,1\nfc,8,8,1\n", "line 3: another layer has the same name"),
        ("name,cin,cout,count\nstep,8,8,1\n", "line 2: the names block and step are reserved for totals"),
        ("name,cin,cout,count\nfc,8,8,1\nblock,8,8,1\n", "line 3: the names block and step are reserved for totals"),
        ('name,cin,cout,count\n"o,d",8,8,1\n', "line 2: quotes are not supported"),
        ("name,cin,cout,count\nfc,8\0,8,1\n", "line 2: the line holds a zero byte"),
        ("name,cin,cout,count\nfc,8,8,1\n\0\n", "line 3: the line holds a zero byte"),
        ("name,cin,cout,count\nfc,2000000,8,1\n", "line 2: cin is '2000000'"),
    ):
        rejects(2, message, "explore", shapes(text), "-o", "out")
    rejects(2, "Is a directory", "explore", "./", "-o", "out")
    rejects(2, "no model is called 'llama'", "explore", "llama", "-o", "out")
    check(not os.path.exists("out"), "a folder of a run that failed")


def test_bad_options_are_refused():
    os.symlink("/dev/zero", "endless.toml")
    os.mkdir("folder.toml")
    pathlib.Path("host.json").write_text('{"elem": "e1m2", "bf16_passes": ["fprop", "dgrad", "wgrad"]}')
    for options, message in (
        (["--config", "huge"], "no configuration is called 'huge'"),
        (["--config", "small,small"], "small is given twice"),
        (["--config", "rows=8:rows=8"], "there is a second value for 'rows'"),
        (["--config", "bus=64:bus_bytes=32"], "there is a second value for 'bus_bytes'"),
        (["--config", "rows=1..000012"], "'rows=1..000012': a range must be FIRST..LAST or FIRST..LAST+STEP"),
        (["--config", "rows=000001..12"], "'rows=000001..12': a range must be"),
        (["--config", "rows=4..8+100000"], "'rows=4..8+100000': a range must be"),
        (["--config", "rows=4..32+-4"], "'rows=4..32+-4': a range must be"),
        (["--config", "rows=4..32+0"], "'rows=4..32+0': a range must be"),
        (["--config", "rows=4..32+"], "'rows=4..32+': a range must be"),
        (["--config", "rows=4..:cols=8"], "'rows=4..:cols=8': a range must be"),
        (["--config", "cols=8:rows=4..8x"], "'cols=8:rows=4..8x': a range must be"),
        (["--config", "rows=+4..8"], "(ranges only in ufp4 explore), not '+4..8'"),
        (["--config", "rows= 4..8"], "not ' 4..8'"),
        (
            ["--config", "rows=8:cols=8,cols=8:rows=8"],
            "two cases are the same: 8x8-64x64-c16-b64-q16",
        ),
        (
            ["--config", "small,rows=2:cols=2:bus=8"],
            "two cases are the same: 2x2-16x16-c16-b8-q16",
        ),
        (["--dram", "hbm3,hbm3:32"], "two cases are the same: default with --dram hbm3:32"),
        (
            ["--dram", "none,hbm3", "--channels", "0,32"],
            "two cases are the same: default with --dram hbm3:32",
        ),
        (
            ["--chips", "2x1x1,2x1x1x1", "--link", "1,1"],
            "two cases are the same: default with --chips 2x1x1 and 2x1x1x1\n",
        ),
        (
            ["--mem-bandwidth", "0,32,64"],
            "two cases are the same: default with --mem-bandwidth 0, which means its bus, and 64\n",
        ),
        (["--tokens", "4,04"], "two cases are the same: default\n"),
        (
            ["--ppa", "asap8"],
            (
                "--ppa: asap8: unable to open asap8: No such file or directory; it must be asap7, which is built in, "
                "or a file\n"
            ),
        ),
        (["--config", "rows=8..4"], "'rows=8..4': a range must start at 1 or more and go up"),
        (["--config", "bus=12"], "no case runs on a core: configuration 'bus=12': BusBytes must be 8"),
        (["--config", "endless.toml"], "cannot read 'endless.toml': it is too long for a configuration"),
        (["--config", "folder.toml"], "cannot read 'folder.toml': Is a directory"),
        (
            ["--recipe", "host.json", "--serial"],
            "no case runs on a core: all passes of the recipe are in BF16, which the host multiplies",
        ),
        (["--config", "none.toml"], "cannot read 'none.toml': No such file"),
        (["--cores", "2"], "--cores needs --serial"),
        (["--split", "n", "--serial"], "--split needs --cores"),
        (["--cores", "65", "--serial"], "--cores: '65' is not a whole number from 1 to 64"),
        (
            ["--cores", "2", "--serial", "--dram", "hbm3", "--mem-bandwidth", "64"],
            "several cores can share the banks of --dram or a --mem-bandwidth, but not both",
        ),
        (["--channels", "4"], "--channels needs a --dram other than none"),
        (["--dram", "none", "--channels", "4"], "--channels needs a --dram other than none"),
        (["--dram", "hbm3", "--channels", "1025"], "--channels: '1025' is not a whole number from 0 to 1024"),
        (
            ["--dram", "hbm3:0"],
            "no memory is called 'hbm3:0'; there are none, lpddr5 and hbm3, or as hbm3:8 with 1 to 1024 channels",
        ),
        (["--dram", "hbm3:99999"], "or as hbm3:8 with 1 to 1024 channels"),
        (["--dram", "hbm3:8", "--channels", "4"], "--dram hbm3:8 already gives the channels; leave out --channels"),
        (["--chips", "2x1x1"], "--chips DPxTPxPP and --link GBps,us need each other"),
        (["--link", "1,1"], "--chips DPxTPxPP and --link GBps,us need each other"),
        (["--chips", "2x1", "--link", "1,1"], "--chips: '2x1' is not DPxTPxPP, or DPxTPxPPxEP, each from 1 to 65536"),
        (["--chips", "2x0x1", "--link", "1,1"], "--chips: '2x0x1' is not DPxTPxPP"),
        (["--chips", "2x1x1x1x1", "--link", "1,1"], "--chips: '2x1x1x1x1' is not DPxTPxPP"),
        (["--zero", "1"], "--zero needs --chips"),
        (["--hbm-gb", "80"], "--hbm-gb needs --chips"),
        (["--chips", "2x1x1", "--link", "1,1", "--zero", "4"], "--zero is 4; it must be 0, 1, 2 or 3"),
        (
            ["--chips", "2x1x1", "--link", "1,1", "--link-pj", "1"],
            "--link-pj must be above 0, at most 1000000, and needs --ppa",
        ),
        (["--chips", "2x1x1", "--link", "1,1:1"], "--link: '1,1:1' is not GBps,us"),
        (["--chips", "2x2x1", "--link", "1,1"], "TP is 2, but no layer has a share"),
        (["--chips", "2x1x1x2", "--link", "1,1"], "EP is 2, but the model has no experts"),
        (["--micro-batches", "3", "--tokens", "16"], "--micro-batches is 3, which does not divide the 16 tokens"),
        (["--micro-batches", "2", "--cores", "2", "--serial"], "--micro-batches needs one core"),
        (["--chips", "1x1x2", "--link", "1,1"], "--chips: PP is 2, but the model has only 1 blocks"),
        (
            ["--chips", "1x1x2", "--link", "1,1", "--layers", "5", "--interleave", "3", "--micro-batches", "2"],
            "--chips: PP is 2, which with --interleave 3 gives 6 stages, but the model has only 5 blocks",
        ),
        (
            ["--chips", "1x1x2", "--link", "1,1", "--layers", "6", "--interleave", "3"],
            "--interleave: PP is 2, which does not divide --micro-batches 1",
        ),
        (
            ["--chips", "2x1x1", "--link", "1,1", "--interleave", "3"],
            "--interleave 3 needs PP 2 or more in --chips, which is 1",
        ),
        (["--chips", "2x1x1", "--link", "0,1"], "--link: '0,1' is not GBps,us"),
        (["--chips", "2x1x1", "--link", "1"], "--link: '1' is not GBps,us"),
        (
            ["--chips", "2x1x1", "--link", "1e-300,1"],
            "--link: '1e-300,1' is not GBps,us, with GBps from 0.001 and us from 0, both to 1000000",
        ),
        (["--chips", "2x1x1", "--link", "0.0009,1"], "--link: '0.0009,1' is not GBps,us"),
        (["--chips", "2x1x1", "--link", "1, 1"], "--link: '1, 1' is not GBps,us"),
        (["--chips", "2x1x1", "--link", "0x10,1"], "--link: '0x10,1' is not GBps,us"),
        (["--chips", "2x+1x1", "--link", "1,1"], "--chips: '2x+1x1' is not DPxTPxPP"),
        (["--hf", "c.json"], "either SHAPES or --hf config.json is needed, not both"),
        (["--recipe", "ufp4,,e2m1"], "an entry of the list is empty"),
        (["--mem-bandwidth", "8,x"], "'x' is not a whole number"),
        (["--dram", "ddr9"], "no memory is called 'ddr9'; there are none, lpddr5 and hbm3"),
        (["--dram", "hbm3", "--clock-mhz", "9"], "--dram hbm3 needs a --clock-mhz of 10 or more"),
        (["--mem-latency", "100001"], "'100001' is not a whole number from 1 to 100000"),
        (["--tokens", "0"], "--tokens: '0' is not a whole number from 1 to"),
        (["--layers", "0"], "--layers: '0' is not a whole number from 1 to 1000000"),
        (["--clock-mhz", "0"], "it must be from 0.001 to 1000000"),
        (["--clock-mhz", "0.0009"], "it must be from 0.001 to 1000000"),
    ):
        rejects(2, message, "explore", shapes(), "-o", "out", *options)
    for folder in ("a", "b"):
        os.mkdir(folder)
        pathlib.Path(folder, "r.json").write_text('{"elem": "e1m2"}')
    rejects(2, "two recipes are called r", "explore", shapes(), "-o", "out", "--recipe", "a/r.json,b/r.json")
    rejects(2, "-o DIR is missing", "explore", shapes())
    rejects(
        2,
        "a block has 3000 layers, and at most 2048 run side by side",
        "explore",
        shapes("name,cin,cout,count\nfc,8,8,3000\n"),
        "-o",
        "out",
    )


if __name__ == "__main__":
    stand.main(globals())
