# SPDX-License-Identifier: Apache-2.0
"""Tests explore with cores of any size, several of them, and their memories."""

import json
import pathlib

import stand
from stand import check, check_equal, passes, rejects, slow
from explorations import explore, shapes


def test_configurations_of_any_size_are_counted():
    pathlib.Path("mine.toml").write_text(
        '[[configuration]]\nname = "mine"  # not of it\nrows = 3\ncols = 5\ntile_rows = 16\n'
        f"# of another{' rows = 4' * 50}\n"
        'tile_cols = 16\nchunk = 8\nbus_bytes = 16\ncontract = "exact"\non_demand = true\n'
    )
    rows = explore(
        "--tokens", "32", "--serial", "--config", "mine.toml,rows=2:cols=2:bus=8,rows=12:cols=4..16+4:bus=128"
    )
    steps = {r["config"]: r for r in rows if r["layer"] == "step"}
    check_equal(
        list(steps),
        [
            "3x5-48x80-c8-b16-q16",
            "2x2-16x16-c16-b8-q16",
            "12x4-96x32-c16-b128-q16",
            "12x8-96x64-c16-b128-q16",
            "12x12-96x96-c16-b128-q16",
            "12x16-96x128-c16-b128-q16",
        ],
        "names",
    )
    small = explore("--tokens", "32", "--serial", "--config", "small")
    check_equal(steps["2x2-16x16-c16-b8-q16"]["cycles"], small[-1]["cycles"], "cycles of small by its parameters")
    check(int(steps["3x5-48x80-c8-b16-q16"]["cycles"]) > 0, "no cycles")


def test_a_configuration_that_the_rtl_refuses_is_a_row_with_its_words():
    rows = explore("--tokens", "32", "--serial", "--config", "small,rows=4..8+1:cols=8:tile_rows=4")
    reasons = {r["config"]: r["reason"] for r in rows if r["layer"] == "step"}
    check_equal(
        [name for name, reason in reasons.items() if reason],
        [f"rows={n}:cols=8:tile_rows=4" for n in (5, 6, 7)],
        "refused",
    )
    check("TileRows from 2, TileCols even" in reasons["rows=5:cols=8:tile_rows=4"], reasons)


def test_files_of_no_configuration_are_refused():
    for text, message in (
        ("", "the file holds no configuration"),
        ("rows 8\n", "mine.toml, line 1: KEY = VALUE of a configuration is needed"),
        ("rows = 8\nrows = 9\n", "there is a second value for 'rows'"),
        (
            "[[configuration]]\nrows = 8\n[[configuration]]\nrows = 9\n",
            "mine.toml, line 3: a file holds only one configuration",
        ),
        ("depth = 8\n", "formats and target, not 'depth'"),
        ("cols = 8\nrows = 8\0\n", "mine.toml, line 2: KEY = VALUE of a configuration is needed"),
        (f'rows = 8\ncols = "{"8" * 600}"\n', "mine.toml, line 2: the configuration is too long"),
    ):
        pathlib.Path("mine.toml").write_text(text)
        rejects(2, message, "explore", shapes(), "-o", "out", "--config", "mine.toml")


def test_cores_share_the_memory_and_each_gemm():
    words = ("--config", "small", "--tokens", "96", "--serial")
    alone = explore(*words)
    one, two, four = (explore(*words, "--cores", cores, "--mem-bandwidth", "64") for cores in ("1", "2", "4"))
    check_equal([r["cycles"] for r in one], [r["cycles"] for r in alone], "one core is the one without")
    gemms = lambda rows: {
        (r["layer"], r["pass"]): int(r["cycles"]) for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad")
    }
    for rows, cores in ((two, 2), (four, 4)):
        for job, cycles in gemms(rows).items():
            check(
                gemms(one)[job] / cores < cycles < gemms(one)[job],
                f"{job} on {cores} cores: {cycles} of {gemms(one)[job]}",
            )
        for r in rows:
            check(not r["bound_percent"] or float(r["util_percent"]) <= float(r["bound_percent"]) + 0.1, r)
    # Two tensors are quantized at once, in the time of the longer one.
    step, tensors = two[-1], {(r["layer"], r["pass"], r["tensor"]): int(r["cycles"]) for r in two if r["tensor"]}
    want = sum(
        count
        * (
            sum(cycles for job, cycles in gemms(two).items() if job[0] == layer)
            + sum(
                max(tensors[layer, p, "X"], tensors[layer, p, "W"]) + tensors[layer, p, "dY"] for p in ("amax", "quant")
            )
        )
        for layer, count in (("fc1", 2), ("proj", 1))
    )
    check_equal(int(step["cycles"]), want, "cycles of the step")
    # Four cores gain nothing over two on a memory that is the limit.
    narrow = [explore(*words, "--cores", cores, "--mem-bandwidth", "4")[-1] for cores in ("2", "4")]
    check(int(narrow[1]["cycles"]) > 0.97 * int(narrow[0]["cycles"]), "cores that wait for the same memory")


def test_bounds_hold_for_a_core_that_begins_behind_what_others_asked_for():
    core = "rows=4:cols=12:tile_rows=4:tile_cols=8:chunk=16:bus=128:quant=16"
    words = ("--serial", "--config", core, "--source", "f32", "--mem-latency", "1", "--mem-bandwidth", "3", "--json")
    for layer, tokens, cores, split in (
        ("16,17,3", "269", "2", "tokens"),
        ("16,299,1", "322", "4", "n"),
        ("16,17,3", "269", "2", "gemms"),
        ("64,48,7", "32", "4", "gemms"),
        ("426,9,3", "2", "3", "tokens"),
    ):
        model = shapes(f"name,cin,cout,count\nfc,{layer}\n")
        out = passes("explore", model, "-o", "out", *words, "--tokens", tokens, "--cores", cores, "--split", split)
        for r in json.loads(out.out)["cases"]:
            bound, util = r["bound_percent"], r["util_percent"]
            check(bound is None or 0 < util <= bound, f"{split} on {cores}: {r['pass']} {util} of {bound}")


def test_cores_share_banks_and_their_channels():
    words = (
        "--config",
        "default",
        "--tokens",
        "256",
        "--serial",
        "--dram",
        "hbm3",
        "--cores",
        "1,2,4",
        "--channels",
        "0,4,1",
    )
    rows = explore(*words, model=shapes("name,cin,cout,count\nproj,256,256,1\n"))
    steps = {(int(r["cores"]), r["dram"]): r for r in rows if r["layer"] == "step"}
    check_equal(list(steps), [(cores, name) for name in ("hbm3", "hbm3:4", "hbm3:1") for cores in (1, 2, 4)], "cases")
    cycles = {key: int(r["cycles"]) for key, r in steps.items()}
    for cores in (2, 4):
        check(
            cycles[cores, "hbm3"] < cycles[cores, "hbm3:4"] < cycles[cores, "hbm3:1"],
            f"fewer channels on {cores} cores: {cycles}",
        )
    check(cycles[2, "hbm3"] < 0.8 * cycles[1, "hbm3"], f"two cores on all channels: {cycles}")
    check(cycles[4, "hbm3:1"] > 0.8 * cycles[1, "hbm3:1"], f"four cores on one channel: {cycles}")
    for (cores, name), step in steps.items():
        pins = {"hbm3": 32, "hbm3:4": 4, "hbm3:1": 1}[name] * 32 / 1.25  # bytes a cycle, reads and writes
        moved = int(step["bus_read_bytes"]) + int(step["bus_write_bytes"])
        check(int(step["cycles"]) >= moved / pins, f"{cores} cores on {name} move more than its pins")
    bound = {
        (r["dram"], r["cores"]): (float(r["util_percent"]), float(r["bound_percent"]))
        for r in rows
        if r["pass"] == "fprop"
    }
    check(all(util <= most + 0.1 for util, most in bound.values()), f"above the bound: {bound}")


def test_a_gemm_is_split_by_tokens_or_n_or_the_better():
    model = shapes("name,cin,cout,count\ntall,64,32,1\nwide,32,256,1\n")
    rows = {
        split: explore("--config", "small", "--tokens", "16", "--serial", "--cores", "3", "--split", split, model=model)
        for split in ("tokens", "n", "auto")
    }
    cycles = {split: {(r["layer"], r["pass"]): int(r["cycles"]) for r in rows[split] if r["split"]} for split in rows}
    for job, least in cycles["auto"].items():
        check_equal(least, min(cycles["tokens"][job], cycles["n"][job]), f"{job}")
    check_equal({r["split"] for r in rows["tokens"]}, {"", "tokens"}, "tokens")
    check_equal({r["split"] for r in rows["n"]}, {"", "n"}, "n")
    check_equal({r["split"] for r in rows["auto"]}, {"", "tokens", "n"}, "auto")


def test_layers_that_are_alike_take_a_core_each():
    """There are eight experts and a single layer. Three cores run three experts at once, twice, and then two."""
    model = shapes("name,cin,cout,count,tokens\nup,64,96,8,2/8\nproj,64,64,1,\n")
    words = ("--config", "small", "--tokens", "64", "--serial", "--mem-bandwidth", "12", "--split")
    jobs = lambda rows, layer: {(r["pass"], r["tensor"]): r for r in rows if r["layer"] == layer}
    rows = {
        (split, cores): explore(*words, split, "--cores", str(cores), model=model)
        for split in ("auto", "gemms")
        for cores in (1, 2, 3)
    }
    check_equal([r["cycles"] for r in rows["gemms", 1]], [r["cycles"] for r in rows["auto", 1]], "one core")
    alone = jobs(rows["gemms", 1], "up")
    step = lambda split, cores, name="cycles": int(rows[split, cores][-1][name])
    for cores in (2, 3):
        for job, r in jobs(rows["gemms", cores], "up").items():
            each = int(alone[job]["cycles"])
            rounds = -(-8 // cores)
            check(
                rounds * each <= 8 * int(r["cycles"]) + 8 and int(r["cycles"]) < 1.1 * each,
                f"{job} in {rounds} rounds: {r['cycles']}, alone {each}",
            )
            check_equal((r["split"], r["count"]), ("gemms", "8"), f"{job}")
            check_equal(
                *(
                    [
                        x[name]
                        for name in (
                            "macs",
                            "read_bytes",
                            "write_bytes",
                            "bus_read_bytes",
                            "bus_write_bytes",
                            "quant_blocks",
                        )
                    ]
                    for x in (r, alone[job])
                ),
                f"{job} is whole",
            )
            check(
                not r["util_percent"]
                or abs(
                    float(r["util_percent"]) * cores * int(r["cycles"]) / (float(alone[job]["util_percent"]) * each) - 1
                )
                < 0.02,
                f"util of {job}",
            )
            check(not r["bound_percent"] or float(r["util_percent"]) <= float(r["bound_percent"]) + 0.1, r)
        check_equal(
            *([r["cycles"] for r in jobs(rows[split, cores], "proj").values()] for split in ("gemms", "auto")),
            "a layer alone",
        )
        for name in ("macs", "quant_blocks", "weight_bytes", "live_bytes", "write_bytes"):
            check_equal(step("gemms", cores, name), step("auto", cores, name), name)
        proj = {job: int(r["cycles"]) for job, r in jobs(rows["gemms", cores], "proj").items()}
        want = 8 * sum(int(r["cycles"]) for r in jobs(rows["gemms", cores], "up").values())
        want += sum(cycles for job, cycles in proj.items() if job[1] not in ("X", "W")) + sum(
            max(proj[p, "X"], proj[p, "W"]) for p in ("amax", "quant")
        )
        check(abs(step("gemms", cores) - want) <= 4 * 9, f"{cores} cores: {step('gemms', cores)}, its jobs {want}")
    check(step("gemms", 2) < 0.8 * step("auto", 2), "experts are quantized by a core each")


@slow
def test_memories_with_banks_cost_what_a_layer_finds():
    """A layer has other addresses, and refreshes fall at other moments. On LPDDR5, which has a sixteenth of HBM3's
    pins, one GEMM of this size takes 13,070 to 15,451 cycles depending on when it starts (--mem-latency 80 to 150); the
    three together differ by less."""
    for name, shape in (("X", (256, 512)), ("W", (256, 512)), ("dY", (256, 256))):
        stand.write_npy(f"{name}.npy", stand.gaussian(*shape))
    rows = explore(
        "--source",
        "f32",
        "--tokens",
        "256",
        "--serial",
        "--dram",
        "none,lpddr5,hbm3",
        "--clock-mhz",
        "1000",
        model=shapes("name,cin,cout,count\nproj,512,256,1\n"),
    )
    ours = {(r["dram"], r["pass"]): r for r in rows}
    for name in ("lpddr5", "hbm3"):
        layer = json.loads(
            passes("layer", "X.npy", "W.npy", "dY.npy", "-o", "layer", "--json", "--backend", "tlm", "--dram", name).out
        )
        counted = {one["pass"]: (int(ours[name, one["pass"]]["cycles"]), one["cycles"]) for one in layer["cases"]}
        for one, (cycles, found) in counted.items():
            check(
                abs(cycles / found - 1) < (0.18 if name == "lpddr5" else 0.03),
                f"{name}, {one}: {cycles} against {found}",
            )
        cycles, found = map(sum, zip(*counted.values()))
        check(abs(cycles / found - 1) < 0.05, f"{name}, all GEMMs: {cycles} against {found}")
    for one in ("fprop", "dgrad", "wgrad", "quant"):
        plain, slow_one, fast_one = (int(ours[name, one]["cycles"]) for name in ("", "lpddr5", "hbm3"))
        check(plain < fast_one < 0.75 * slow_one, f"{one}: {plain}, {fast_one}, {slow_one}")
    bounds = {
        name: (float(ours[name, "fprop"]["bound_percent"]), ours[name, "fprop"]["bound_by"])
        for name in ("", "lpddr5", "hbm3")
    }
    check_equal(bounds["hbm3"], bounds[""], "HBM3's pins carry more than the bus")
    check(bounds["lpddr5"][0] < bounds[""][0] and bounds["lpddr5"][1] == "memory", f"{bounds}")


def test_channels_behind_a_name_are_those_of_channels():
    model, words = shapes("name,cin,cout,count\nproj,64,64,1\n"), ("--tokens", "32", "--serial")
    steps = lambda *options: [
        (r["dram"], r["cycles"]) for r in explore(*words, *options, model=model) if r["layer"] == "step"
    ]
    named = steps("--dram", "hbm3:8,lpddr5")
    check_equal([name for name, _ in named], ["hbm3:8", "lpddr5"], "names")
    product = steps("--dram", "none,hbm3", "--channels", "1,8")
    check_equal([name for name, _ in product], ["", "hbm3:1", "hbm3:8"], "none has no channels, and is there once")
    check_equal(product[2], named[0], "the same memory")


def test_memories_with_banks_side_by_side():
    steps = {
        r["dram"]: int(r["cycles"])
        for r in explore(
            "--dram", "lpddr5,none,hbm3", "--tokens", "256", model=shapes("name,cin,cout,count\nproj,256,256,1\n")
        )
        if r["layer"] == "step"
    }
    check(steps[""] < steps["hbm3"] < steps["lpddr5"], f"{steps}")


def test_cycles_are_the_simulated_cores_on_rtl():
    tokens, cin, cout = 40, 48, 64
    stand.write_npy("X.npy", stand.gaussian(tokens, cin))
    stand.write_npy("W.npy", stand.gaussian(cout, cin))
    stand.write_npy("dY.npy", stand.gaussian(tokens, cout))
    options = ["--config", "small", "--mem-latency", "30", "--mem-bandwidth", "4"]
    simulated = json.loads(
        passes("layer", "X.npy", "W.npy", "dY.npy", "-o", "layer", "--json", "--backend", "rtl", *options).out
    )
    rows = explore(
        "--source",
        "f32",
        "--tokens",
        str(tokens),
        "--serial",
        *options,
        model=shapes("name,cin,cout,count\nproj,48,64,1\n"),
    )
    ours = {r["pass"]: int(r["cycles"]) for r in rows if r["pass"] in ("fprop", "dgrad", "wgrad")}
    check_equal(ours, {c["pass"]: c["cycles"] for c in simulated["cases"]}, "cycles")


if __name__ == "__main__":
    stand.main(globals())
