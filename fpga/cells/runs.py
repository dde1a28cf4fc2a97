#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes runs.json, what units of the simulated core see and say in each cycle of a run:
runs.py PROGRAM FOLDER >fpga/cells/runs.json

FOLDER: as excerpt.py wants it. Of each unit two runs, `full` with a memory as fast as the bus,
`half` with a slower one:
  lane         row 0 of the configuration `small`, which multiplies 64 x 192 by 16 x 192 of a layer's FPROP;
               2 bytes a cycle
  quant_block  of the column copy in `default`, which quantizes 128 x 384 of a layer's dY (Hadamard transform,
               stochastic rounding); 32 bytes a cycle; `full` without the one, without the other (scales rounded up as
               with it), and in the job before, which seeks the largest number (AMAX), too
Needs numpy and fst2vcd (Debian's gtkwave). A port is a word a cycle, hexadecimal, `word*n` for n cycles; outputs are
those of the window.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

QUANT = "gen_copy[1].u_copy.gen_lane[0].u_block"
QUANT_IN = ("job_i", "group_i", "in_valid_i", "in_words_i", "in_last_i", "in_blank_i", "out_ready_i")
QUANT_OUT = ("group_take_o", "in_ready_o", "out_valid_o", "out_codes_o", "out_scale_o", "out_last_o")
AMAX_OUT = (
    "in_ready_o",
    "out_valid_o",
    "amax_valid_o",
    "amax_last_o",
    "amax_clean_o",
    "amax_nan_o",
    "amax_power_o",
    "amax_normal_o",
)
NEAREST = {
    "elem": "e1m2",
    "rht": "integer",
    "scale_round": {"dy": "up"},
}  # the recipe ufp4 without stochastic rounding
ARRAY = "u_systolic"
LANE = (
    "elem_a_i",
    "e8m0_i",
    "we_a_i",
    "waddr_a_i",
    "write_data_i",
    "write_scales_i",
    "drain_parity_i",
    "drain_tile_a_i",
    "drain_nan_a_o",
)
ROW = ("control", "addr", "parity", "clear", "lanes", "mag", "rest")
JOB, DY_COL = (
    173,
    5,
)  # bits of a job, of which the first says that only the largest number is wanted; its last field, the tensor
FILL, BLOCKS = 24, 32  # QUANT: blocks before the window, and in it
TILE = 8 * 8 * 12  # lane: reads of a macro-tile; the first two fill flags, the third is measured


def cycles(path, wanted):
    """Yields [{name: value}] before each rising edge of the clock. wanted: {the end of a scope: names}"""
    scope, marks, clock = [], {}, None
    names = [name for names in wanted.values() for name in names]
    now, out, level = dict.fromkeys(names, 0), [], "0"
    with open(path) as file:
        for line in file:
            if line.startswith("$scope"):
                scope.append(line.split()[2])
            elif line.startswith("$upscope"):
                scope.pop()
            elif line.startswith("$var"):
                _, _, _, mark, name, *_ = line.split()
                clock = mark if name == "clk_i" and len(scope) == 1 else clock
                if any(".".join(scope).endswith(end) and name in names for end, names in wanted.items()):
                    marks.setdefault(mark, []).append(name)
            elif line.startswith("$enddefinitions"):
                break
        changed = {}
        for line in file:
            if line[0] == "#":
                now |= changed
                changed = {}
            elif line[0] in "01b":
                value, mark = line[1:].split() if line[0] == "b" else (line[0], line[1:-1])
                if mark == clock:
                    if value > level:
                        out.append(dict(now))
                    level = value
                changed |= dict.fromkeys(marks.get(mark, ()), int(value, 2))
    return out


def packed(values):
    words = ((f"{value:x}", len(list(same))) for value, same in itertools.groupby(values))
    return " ".join(word if count == 1 else f"{word}*{count}" for word, count in words)


def run(window, elements, ins, outs):
    return {
        "window": window,
        "elements": elements,
        "inputs": {name: packed(values) for name, values in ins.items()},
        "outputs": {name: packed(values[slice(*window)]) for name, values in outs.items()},
    }


def quant(seen, amax=0):
    """Returns the unit's inputs from its reset on, including those before its first block."""
    taken = [
        t
        for t, now in enumerate(seen)
        if now["job_i"] % 2**64 == DY_COL
        and now["job_i"] >> JOB - 1 == amax
        and now["in_valid_i"]
        and now["in_ready_o"]
    ]
    window = taken[FILL], taken[FILL + BLOCKS]
    part = seen[taken[0] - 4 : window[1] + 1]
    ins = {name: [now[name] for now in part] for name in QUANT_IN} | {"rst_ni": [0] * 3 + [1] * (len(part) - 3)}
    return run(
        [t - taken[0] + 4 for t in window],
        16 * BLOCKS,
        ins,
        {name: [now[name] for now in part] for name in (AMAX_OUT if amax else QUANT_OUT)},
    )


def lane(seen):
    for now in seen:
        now["read"] = now["control"] >> 10 & (now["lanes"] > 0)
    reads = [t for t, now in enumerate(seen) if now["read"]]
    window = [reads[2 * TILE], reads[3 * TILE]]
    part = seen[: window[1] + 1]
    of = lambda name, mask=-1: [now[name] & mask for now in part]
    ins = {
        "elem_i": of("elem_a_i"),
        "e8m0_i": of("e8m0_i"),
        "we_i": of("we_a_i", 1),
        "waddr_i": of("waddr_a_i"),
        "wcode_i": of("write_data_i"),
        "wscale_i": of("write_scales_i"),
        "read_i": of("read"),
        "first_i": of("read"),
        "raddr_i": of("addr"),
        "parity_i": of("parity"),
        "clear_i": of("clear"),
        "nan_parity_i": of("drain_parity_i"),
        "nan_tile_i": of("drain_tile_a_i"),
    }
    return run(window, 16 * TILE, ins, {"mag_o": of("mag"), "rest_o": of("rest"), "nan_o": of("drain_nan_a_o", 1)})


def traced(place, program, words, bandwidth, wanted):
    subprocess.run(
        [
            program,
            *words,
            "--backend",
            "rtl",
            "--mem-bandwidth",
            str(bandwidth),
            "--check",
            "model",
            "--trace",
            "t.fst",
        ],
        cwd=place,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with open(place / "t.vcd", "w") as file:
        subprocess.run(["fst2vcd", "t.fst"], cwd=place, check=True, stdout=file)
    return cycles(place / "t.vcd", wanted)


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    program, captured = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    out = {"lane": {"fprop": {}}, "quant_block": {}}
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        for role, tensor, count in (
            ("x", "fc2.X", 64),
            ("w", "fc2.W", 16),
            ("x1", "fc1.X", 128),
            ("w1", "fc1.W", 384),
            ("dy1", "fc1.dY", 128),
        ):
            np.save(place / f"{role}.npy", np.load(captured / f"ufp4/layer1.{tensor}.npy")[:count])
        for role in "xw":
            subprocess.run(
                [
                    program,
                    "quantize",
                    f"{role}.npy",
                    "-o",
                    f"{role}.safetensors",
                    "--recipe",
                    "ufp4",
                    "--role",
                    role,
                    "--pass",
                    "fprop",
                ],
                cwd=place,
                check=True,
            )
        for load, bandwidth in (("full", 0), ("half", 2)):
            out["lane"]["fprop"][load] = lane(
                traced(
                    place,
                    program,
                    ["gemm", "x.safetensors", "w.safetensors", "-o", "d.npy", "--config", "small"],
                    bandwidth,
                    {ARRAY: LANE, ARRAY + ".gen_row[0]": ROW},
                )
            )
        (place / "nearest.json").write_text(json.dumps(NEAREST))
        for data, recipe, load, bandwidth in (
            ("dy", "ufp4", "full", 0),
            ("dy", "ufp4", "half", 32),
            ("dy/rht=none", "ufp4/rht=none", "full", 0),
            ("dy/sr=none", "nearest.json", "full", 0),
        ):
            seen = traced(
                place,
                program,
                ["layer", "x1.npy", "w1.npy", "dy1.npy", "-o", "out", "--config", "default", "--recipe", recipe],
                bandwidth,
                {QUANT: QUANT_IN + tuple(dict.fromkeys(QUANT_OUT + AMAX_OUT))},
            )
            out["quant_block"].setdefault(data, {})[load] = quant(seen)
            if (data, load) == ("dy", "full"):
                amax = quant(seen, 1)
        out["quant_block"]["dy/amax"] = {"full": amax}
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
