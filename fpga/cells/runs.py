#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes runs.json, the inputs and outputs of units of the simulated core in each cycle of a run:
runs.py PROGRAM FOLDER >fpga/cells/runs.json

FOLDER is that of excerpt.py. Each unit has a run `full` with a memory as fast as the bus, and a run `half` with a
slower one:
  lane         row 0 of the configuration `small`, which multiplies 64 x 192 by 16 x 192 of a layer's FPROP;
               half: 2 bytes a cycle
  quant_block  the column copy of `default`, which quantizes 128 x 384 of a layer's dY (Hadamard transform, stochastic
               rounding); half: 32 bytes a cycle. It has more runs `full`: without the transform, without stochastic
               rounding (scales rounded up as with it), and in the AMAX job before
The runs dy/ELEM are computed, because no simulated core feeds a pipeline for elements mixed with a block in each cycle.
They have the blocks of quant_block's run `full`, a job with other elements, and the codes and scales of the golden
model, delayed by the stages of the pipeline. The computed run of E1M2 must equal the recorded one.
  quant_block, quant_block_mixed    get the blocks in the recorded cycles
  quant_serial_block, .._mixed      (the narrow engine) get the blocks in pairs, a pair a cycle, all of the column copy
Needs numpy and fst2vcd (Debian's gtkwave). A port has a hexadecimal word for each cycle; `word*n` stands for n cycles,
and `-` for any value. Outputs are those of the window. An input that a run lacks is that of its unit's first run.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import numpy as np
from excerpt import RECIPES, tensors
from stimulus import BLOCK, unpacked

SPEC = tomllib.loads((pathlib.Path(__file__).parents[2] / "cmodel/spec/ufp4.toml").read_text())
ELEMS = {row["name"]: row["value"] for row in [*SPEC["format"], SPEC["mixed"]]}
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
)  # bits of a job, the first of which marks an AMAX job; the value of its last field, the tensor
# The units whose runs are computed from the recorded one, and their elements.
WIDE = {"quant_block": ("e2m1",), "quant_block_mixed": ("mixed", "e2m1", "e1m2")}
SERIAL = {"quant_serial_block": ("e1m2", "e2m1"), "quant_serial_block_mixed": ("mixed", "e2m1", "e1m2")}
PAIRS = 8  # of a block
RANDOM = 11  # narrow pipeline without Mixed: stages from the one that takes a block's group to the last one
ELEM_AT, EXPONENT_AT = 147, 128  # the lowest bits of a job's fields elem and exponent
FILL, BLOCKS = 24, 32  # QUANT: blocks before the window, and in it
TILE = 8 * 8 * 12  # lane: reads of a macro-tile; the first two fill flags, the third is measured


def cycles(path, wanted):
    """Returns [{name: value}] before each rising edge of the clock. wanted: {the end of a scope: names}"""
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
    words = (("-" if value is None else f"{value:x}", len(list(same))) for value, same in itertools.groupby(values))
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


def quantized(place, program, elem):
    """Returns (tensor exponent, {words of a block: (codes, scale)}) of the golden model's column copy in elem."""
    words = ["quantize", "dy1.npy", "-o", "q.safetensors", "--recipe", "ufp4", "--role", "dy", "--pass", "wgrad"]
    subprocess.run([program, *words, "--elem", elem], cwd=place, check=True)
    found = {
        name: np.frombuffer(data, np.uint8).reshape(shape) for name, shape, data in tensors(place / "q.safetensors")
    }
    head = (place / "q.safetensors").read_bytes()
    about = json.loads(head[8 : 8 + int.from_bytes(head[:8], "little")])["__metadata__"]
    number = lambda values, bits: sum(int(value) << bits * i for i, value in enumerate(values))
    columns = np.load(place / "dy1.npy").T.view(np.uint32)
    blocks = {}
    for column, codes, scales in zip(columns, found["codes"], found["scales"]):
        for k, scale in enumerate(scales):
            part = slice(BLOCK * k, BLOCK * (k + 1))
            blocks[number(column[part], 32)] = number(codes[part], 4), int(scale)
    return int(about["tensor_exponent"]), blocks


def making(recorded, place, program, elem):
    """Returns (the recorded job with elements elem, [(words, group, codes, scale)] of its blocks)."""
    exponent, blocks = quantized(place, program, elem)
    ins = {name: unpacked(text) for name, text in recorded["inputs"].items()}
    job = (
        ins["job_i"][-1] & ~(0xFF << ELEM_AT | 0xFFFF << EXPONENT_AT) | ELEMS[elem] << ELEM_AT | exponent << EXPONENT_AT
    )
    first = ins["in_valid_i"].index(1)
    # The pipeline takes a block's group a cycle after the block.
    fed = zip(ins["in_words_i"][first:], ins["group_i"][first + 1 :])
    return job, [(words, group, *blocks[words]) for words, group in fed]


def wide(recorded, made, stages):
    """Returns the run of a pipeline of 16 numbers a cycle. made: from `making`; stages: of the pipeline."""
    job, blocks = made
    first = recorded["window"][0] - FILL
    part = slice(*(at - first - stages for at in recorded["window"]))
    _, _, codes, scales = zip(*blocks[part])
    return recorded | {
        "inputs": recorded["inputs"] | {"job_i": packed([job] * len(unpacked(recorded["inputs"]["job_i"])))},
        "outputs": recorded["outputs"] | {"out_codes_o": packed(codes), "out_scale_o": packed(scales)},
    }


def serial(made, stages, random):
    """Returns the run of a pipeline of a pair a cycle, which begins in cycle 4. The pipeline reads a block from its
    memory in the eight cycles after the block's last write, takes its group `random` cycles after the first read, and
    outputs it `stages` cycles after the last read."""
    job, blocks = made
    cycles, first = PAIRS * (FILL + BLOCKS) + 4, 4
    late = first + 2 * PAIRS + stages - 1  # the cycle in which the first block leaves
    fed = [None] * first + [(words, k) for words, *_ in blocks[: FILL + BLOCKS] for k in range(PAIRS)]
    take = [(t - first - PAIRS - random + PAIRS - 1) // PAIRS for t in range(cycles)]
    left = [(t - late) // PAIRS if (t - late) % PAIRS == 0 else None for t in range(cycles)]
    ins = {
        "job_i": [job << JOB | job] * cycles,
        "group_i": [blocks[max(n, 0)][1] << 64 for n in take],
        "in_valid_i": [int(now is not None) for now in fed],
        "in_words_i": [now[0] >> 64 * now[1] & 2**64 - 1 if now else 0 for now in fed],
        "in_copy_i": [1] * cycles,
        "out_ready_i": [1] * cycles,
        "start_i": [int(t == first - 1) for t in range(cycles)],
        "rst_ni": [int(t >= first - 1) for t in range(cycles)],
    }
    outs = {
        "in_ready_o": [1] * cycles,
        "group_take_o": [2 * ((t - first - PAIRS - random) % PAIRS == 0) for t in range(cycles)],
        "out_valid_o": [int(n is not None) for n in left],
        "out_codes_o": [None if n is None else blocks[n][2] for n in left],
        "out_scale_o": [None if n is None else blocks[n][3] for n in left],
        "memory_error_o": [0] * cycles,
    }
    return run([cycles - PAIRS * BLOCKS, cycles], 16 * BLOCKS, ins, outs)


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


def lanes(place, program, captured):
    """Returns {data: {load: run}}: E1M2 at both loads, other elements only at `full`, each from its own training."""
    out = {}
    for elem, recipe in RECIPES.items():
        for role, tensor, count in (("x", "fc2.X", 64), ("w", "fc2.W", 16)):
            np.save(place / f"{role}.npy", np.load(captured / f"{recipe}/layer1.{tensor}.npy")[:count])
            words = [program, "quantize", f"{role}.npy", "-o", f"{role}.safetensors", "--recipe", recipe]
            subprocess.run([*words, "--role", role, "--pass", "fprop"], cwd=place, check=True)
        for load, bandwidth in (("full", 0), ("half", 2))[: 2 if elem == "e1m2" else 1]:
            seen = traced(
                place,
                program,
                ["gemm", "x.safetensors", "w.safetensors", "-o", "d.npy", "--config", "small"],
                bandwidth,
                {ARRAY: LANE, ARRAY + ".gen_row[0]": ROW},
            )
            out.setdefault("fprop" if elem == "e1m2" else f"fprop/{elem}", {})[load] = lane(seen)
    return out


def quants(place, program, captured):
    """Returns {unit: {data: {load: run}}}."""
    for role, tensor, count in (("x1", "fc1.X", 128), ("w1", "fc1.W", 384), ("dy1", "fc1.dY", 128)):
        np.save(place / f"{role}.npy", np.load(captured / f"ufp4/layer1.{tensor}.npy")[:count])
    (place / "nearest.json").write_text(json.dumps(NEAREST))
    out = {}
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
        out.setdefault(data, {})[load] = quant(seen)
        if (data, load) == ("dy", "full"):
            amax = quant(seen, 1)
    out["dy/amax"] = {"full": amax}
    return made_of(out["dy"]["full"], place, program, out)


def made_of(recorded, place, program, out):
    """Returns {unit: {data: {load: run}}}: out, which quant_block recorded, and runs computed from `recorded`."""
    stages = {name.removeprefix("quant_"): row["value"] for name, row in SPEC["pipeline"].items()}
    made = {elem: making(recorded, place, program, elem) for elem in ("e1m2", "e2m1", "mixed")}
    if wide(recorded, made["e1m2"], stages["block_stages"]) != recorded:
        raise SystemExit("runs.py: the model and the core differ in the recorded blocks")
    found = {"quant_block": out}
    for unit, elems in (WIDE | SERIAL).items():
        ending = "_mixed" * unit.endswith("_mixed")
        for elem in elems:
            if unit in WIDE:
                one = wide(recorded, made[elem], stages["block_stages" + ending])
            else:
                one = serial(made[elem], stages["serial_stages" + ending], stages["serial_stages"] - RANDOM)
            found.setdefault(unit, {})[f"dy/{elem}"] = {"full": one}
    return found


def shortened(runs):
    """Returns the runs of a unit without the inputs that equal those of its first run at full load."""
    first, *others = runs
    known = runs[first]["full"]["inputs"]
    own = lambda one: one | {"inputs": {name: text for name, text in one["inputs"].items() if text != known[name]}}
    return {first: runs[first]} | {data: {load: own(one) for load, one in runs[data].items()} for data in others}


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    program, captured = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        out = {"lane": lanes(place, program, captured)} | quants(place, program, captured)
    print(json.dumps({unit: shortened(runs) for unit, runs in out.items()}, indent=1))


if __name__ == "__main__":
    main()
