#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes gemm.json, what a PE of the core sees of two GEMMs of a training: excerpt.py PROGRAM FOLDER >fpga/ppa/gemm.json

FOLDER: what `PROGRAM train -o FOLDER --recipe ufp4,e2m1 --whole --seeds 1 --steps 200 --capture` has left. Of PE 0, 0 of the
configuration `default`: every 16th row of both operands, of the first macro-tile and chunk. Codes and scales are hexadecimal,
an element a digit, a scale two.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

GEMMS = {"fprop": (("x", "fc2.X"), ("w", "fc2.W")), "wgrad": (("dy", "fc1.dY"), ("x", "fc1.X"))}
RECIPES = {"e1m2": "ufp4", "e2m1": "e2m1"}
BLOCKS = 16


def tensors(path):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    for name, about in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            yield name, about["shape"], data[8 + size + begin:8 + size + end]


def operand(program, captured, recipe, gemm, role):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "q.safetensors"
        subprocess.run([program, "quantize", captured, "-o", file, "--recipe", recipe, "--role", role, "--pass", gemm], check=True)
        found = {name: (shape, data) for name, shape, data in tensors(file)}
    (count, cols), codes = found["codes"]
    (_, blocks), scales = found["scales"]
    return [{"codes": codes[r * cols:r * cols + 16 * min(BLOCKS, blocks)].hex()[1::2], "scales": scales[r * blocks:r * blocks + min(BLOCKS, blocks)].hex()}
            for r in range(0, min(count, 128), 16)]


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    out = {}
    for elem, recipe in RECIPES.items():
        for gemm, roles in GEMMS.items():
            out.setdefault(elem, {})[gemm] = [operand(sys.argv[1], f"{sys.argv[2]}/{recipe}/layer1.{name}.npy", recipe, gemm, role) for role, name in roles]
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
