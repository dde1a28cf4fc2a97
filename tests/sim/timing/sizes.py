# SPDX-License-Identifier: Apache-2.0
"""usage: sizes.py BUILD COUNT PES [EQUAL [WHOLE]]

Compares cores of any size with their RTL: the edge cases, and COUNT legal configurations of up to PES processing
elements, drawn by UFP4_TEST_SEED. Their RTL is built in the folder BUILD, and each is compared with the timed model in
jobs, lists of jobs and training steps (test_sim_timing, equals_made_configuration). For 200 of them: sizes.py FOLDER
200 1024 FOLDER/equal.txt 8. The file EQUAL gets the names of those that were equal, and a script that is stopped and
started again goes on with the others. Those that differ are listed at the end.

With WHOLE only every WHOLE-th is the whole RTL. The others lack the arithmetic (hollow.py), which makes them several
times cheaper to build and to run and does not change their cycles (equals_hollow_default); they come first."""

import os
import pathlib
import random
import re
import subprocess
import sys
import tomllib

from hollow import hollow_rtl

SOURCE = pathlib.Path(__file__).resolve().parents[3]
SPEC = tomllib.loads((SOURCE / "cmodel/spec/ufp4.toml").read_text())
AT_A_TIME = 8  # configurations per program
# Rarely drawn cases: a drain wider than the bus, and the narrow QUANT that makes mixed elements.
EDGES = ["1x8-16x64-c8-b8-q16", "1x1-16x16-c8-b8-q2-l4-mixed"]


def in_python(text):
    """Translates an expression of the specification, which has at most one choice, to Python."""
    text = re.sub(r"^(.*) \? (.*) : (.*)$", r"(\2) if (\1) else (\3)", text)
    return text.replace("&&", "and").replace("||", "or").replace("~x", "-x - 1").replace(" / ", " // ")


def words(key):
    return SPEC["enum"][key]["values"]


def rules():
    names = {f"{key}_{word}".upper(): at for key in ("contract", "formats") for at, word in enumerate(words(key))}
    for shape in SPEC["shape"]:
        names[shape["name"]] = eval(f"lambda {', '.join(shape['arguments'])}: {in_python(shape['value'])}", names)
    return [
        (rule["arguments"], eval(f"lambda {', '.join(rule['arguments'])}: {in_python(rule['rule'])}", names))
        for rule in SPEC["legal"]
    ]


def drawn(draw, most, legal):
    """Returns the name of a legal configuration."""
    while True:
        c = {
            "rows": draw.randint(1, 32),
            "cols": draw.randint(1, 32),
            "tile_rows": draw.randint(2, 16),
            "tile_cols": draw.randint(2, 16),
            "chunk": draw.choice((8, 16, 32, 64, 128)),
            "bus_bytes": draw.choice((8, 16, 32, 64, 128)),
            "quant": draw.choice((0, 2, 16, 16, 64)),
            "lanes": draw.choice((4, 8, 16, 16)),
            "contract": draw.choice((0, 0, 1, 2)),
            "formats": draw.choice((0, 0, 1, 2, 3)),
            "mixed": draw.choice((0, 0, 1)),
        }
        tile = c["rows"] * c["tile_rows"], c["cols"] * c["tile_cols"]
        if (
            c["rows"] * c["cols"] > most
            or max(tile) > 96
            or not all(rule(*(c[a] for a in names)) for names, rule in legal)
        ):
            continue
        said = [
            words("contract")[c["contract"]],
            words("formats")[c["formats"]],
            f"l{c['lanes']}",
            "mixed" if c["mixed"] else "all",
            draw.choice(words("target")),
        ]
        return f"{c['rows']}x{c['cols']}-{tile[0]}x{tile[1]}-c{c['chunk']}-b{c['bus_bytes']}-q{c['quant']}" + "".join(
            f"-{word}" for word in said if word not in ("exact", "all", "l16", "asic")
        )


def call(seconds, *command, **environment):
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, **environment},
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(map(str, command))}: not done after {seconds} s") from None
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return done.stdout


def compare(build, rtl, names, equal):
    """Returns the names of those that differ, or cannot be built."""
    different = []
    try:
        call(
            3600,
            "cmake",
            "-G",
            "Ninja",
            "-S",
            SOURCE,
            "-B",
            build,
            "-DCMAKE_BUILD_TYPE=Release",
            "-DUFP4_CUDA=OFF",
            "-DUFP4_TESTS=ON",
            f"-DUFP4_SIMULATE={';'.join(names)}",
            "-DUFP4_SIMULATE_ALONE=ON",
            f"-DUFP4_RTL_DIR={rtl}",
            *(f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")),
        )
        call(3600, "ninja", "-C", build, "test_sim_timing")
    except RuntimeError as why:
        print(f"{' '.join(names)} not built: {why}", flush=True)
        return names
    for name in names:
        try:
            print(
                call(
                    3600,
                    build / "tests" / "sim" / "timing" / "test_sim_timing",
                    "equals_made_configuration",
                    UFP4_TEST_CONFIGURATION=name,
                ),
                end="",
                flush=True,
            )
        except RuntimeError as why:
            print(f"{name} differs: {why}", flush=True)
            different.append(name)
            continue
        if equal:
            with equal.open("a") as file:
                file.write(f"{name} {build.name}\n")
    return different


def main():
    build, count, most = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3])
    draw, legal = random.Random(int(os.environ.get("UFP4_TEST_SEED", "0"))), rules()
    equal = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    each = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    ended = [line.split()[0] for line in equal.read_text().splitlines()] if equal and equal.exists() else []
    names = EDGES + [drawn(draw, most, legal) for _ in range(count)]
    different = []
    for kind, rtl in (("hollow", build / "rtl"), ("whole", SOURCE / "rtl")):
        left = [name for i, name in enumerate(names) if (i % each == 0) == (kind == "whole") and name not in ended]
        if left and kind == "hollow":
            hollow_rtl(SOURCE, rtl)
        for at in range(0, len(left), AT_A_TIME):
            different += compare(build / kind, rtl, left[at : at + AT_A_TIME], equal)
    print(f"{len(names)} sizes, {len(names) - len(different)} equal")
    if different:
        sys.exit(f"different: {' '.join(different)}")


if __name__ == "__main__":
    main()
