#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes gemm.json, the operands that a PE of the core gets in two GEMMs of a training:
excerpt.py PROGRAM FOLDER >fpga/cells/gemm.json

`PROGRAM train -o FOLDER --recipe ufp4,e2m1,ufp4-mixed --whole --seeds 1 --steps 200 --capture` makes FOLDER. The PE is
that in row 0 and column 0 of the configuration `default`, which gets every 16th row of both operands in the first
macro-tile and chunk. Codes and scales are hexadecimal, with one digit for an element and two for a scale. `half` has
the idle cycles between blocks of the first macro-tile of fprop if the simulated core's memory delivers 27 bytes a
cycle, half of what the array takes: pairs [cycles in which blocks are fed, idle cycles that follow].
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

GEMMS = {"fprop": (("x", "fc2.X"), ("w", "fc2.W")), "wgrad": (("dy", "fc1.dY"), ("x", "fc1.X"))}
RECIPES = {"e1m2": "ufp4", "e2m1": "e2m1", "mixed": "ufp4-mixed"}
BLOCKS = 16


def tensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    for name, about in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            yield name, about["shape"], data[8 + size + begin : 8 + size + end]


def rows(path):
    found = {name: (shape, data) for name, shape, data in tensors(path)}
    (count, cols), codes = found["codes"]
    (_, blocks), scales = found["scales"]
    return [
        {
            "codes": codes[r * cols : r * cols + 16 * min(BLOCKS, blocks)].hex()[1::2],
            "scales": scales[r * blocks : r * blocks + min(BLOCKS, blocks)].hex(),
        }
        for r in range(0, min(count, 128), 16)
    ]


def operands(program, folder, recipe, gemm, where):
    """Writes the quantized operands of a GEMM to files."""
    for role, name in GEMMS[gemm]:
        subprocess.run(
            [
                program,
                "quantize",
                f"{folder}/{recipe}/layer1.{name}.npy",
                "-o",
                f"{where}/{role}.safetensors",
                "--recipe",
                recipe,
                "--role",
                role,
                "--pass",
                gemm,
            ],
            check=True,
        )


def half(program, captured):
    with tempfile.TemporaryDirectory() as folder:
        operands(program, captured, "ufp4", "fprop", folder)
        subprocess.run(
            [
                program,
                "gemm",
                f"{folder}/x.safetensors",
                f"{folder}/w.safetensors",
                "-o",
                f"{folder}/d.npy",
                "--backend",
                "rtl",
                "--mem-bandwidth",
                "27",
                "--timeline",
                f"{folder}/t.json",
            ],
            check=True,
        )
        events = json.loads((pathlib.Path(folder) / "t.json").read_text())["traceEvents"]
    track = next(event["tid"] for event in events if event["ph"] == "M" and event["args"].get("name") == "GEMM array")
    spans, fed = [], 0
    for event in (event for event in events if event["ph"] == "X" and event["tid"] == track):
        if event["name"] == "busy":
            if fed == 8 * 4 * 12:
                return spans
            fed += event["dur"]
            spans.append([event["dur"], 0])
        elif spans:
            spans[-1][1] += event["dur"]


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    program, captured = sys.argv[1:]
    out = {"half": half(program, captured)}
    for elem, recipe in RECIPES.items():
        for gemm in GEMMS:
            with tempfile.TemporaryDirectory() as folder:
                operands(program, captured, recipe, gemm, folder)
                out.setdefault(elem, {})[gemm] = [
                    rows(pathlib.Path(folder) / f"{role}.safetensors") for role, _ in GEMMS[gemm]
                ]
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
