# SPDX-License-Identifier: Apache-2.0
"""Tests that synthesized netlists, simulated in Debian's library, give the golden model's bits in records of
`ufp4 vectors`. test_gates.py ROOT PROGRAM [TEST]"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT, PROGRAM = map(pathlib.Path, sys.argv[1:3])
SEED = 1 + 1000003 * int(os.environ.get("UFP4_TEST_SEED") or "0")
sys.path[:0] = [str(ROOT / "fpga/cells"), str(ROOT / "tests/e2e")]
import energy  # noqa: E402
import flow  # noqa: E402
import netlist  # noqa: E402
import stimulus  # noqa: E402
import toolbox  # noqa: E402
from stand import full, slow  # noqa: E402
from library import DEBIAN, Library  # noqa: E402
from rows import BY_NAME  # noqa: E402

ELEMENTS = {0: "e2m1", 1: "e1m2"}


def prepare(folder, unit):
    """Returns the tools, and puts netlist.v and cells.v into the folder. The cache is the build folder's, so that each
    unit is synthesized once."""
    try:
        ready = toolbox.Tools()
    except toolbox.Failed as error:
        if "is missing" not in str(error):
            raise
        print(f"skipped: {error}")
        raise SystemExit(0) from error
    cache = flow.Cache(pathlib.Path(os.environ.get("UFP4_BUILD", folder)) / "ppa")
    library = Library([DEBIAN], cache.folder)
    made, *_ = flow.synthesize(BY_NAME[unit], library, flow.Flow(), ready, cache, 1500)
    for source in (made / "netlist.v", energy.models(library, ready, cache) / "cells.v"):
        (folder / source.name).write_text(source.read_text())
    return ready


def records(unit, count):
    text = subprocess.run(
        [PROGRAM, "vectors", unit, "--seed", str(SEED), "--count", str(count)],
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    ).stdout
    return [line.split() for line in text.splitlines()[3:]]


def blocks(records, format_of):
    """Yields (a, b, term of the golden model) for records with elements of one format that the stimulus knows."""
    for a_elem, b_elem, a, b, a_scale, b_scale, _, _, term, _ in records:
        if a_elem == b_elem and ELEMENTS.get(int(a_elem, 16)) == format_of:
            codes = [[int(digit, 16) for digit in reversed(word)] for word in (a, b)]
            value = int(term, 16)
            yield (codes[0], int(a_scale, 16)), (codes[1], int(b_scale, 16)), value - ((value >> 47) << 48)


@slow
def test_a_pe_has_the_bits_of_the_golden_model(folder):
    """Compares 64 sums of eight blocks each with the sums of the golden model's terms."""
    ready, found = prepare(folder, "pe"), netlist.read((folder / "netlist.v").read_text())
    for elem in ELEMENTS.values():
        known = list(blocks(records("pe", 4000), elem))[:512]
        assert len(known) == 512, len(known)
        # The line has the order of the sequencer; stimulus.pe has the ports for such a line.
        line = [(a, b, k % 8 > 0, k % 8 == 7, k // 8) for k, (a, b, _) in enumerate(known)]
        made = stimulus.pe_of(line, elem, 0)
        made.sums = {i: sum(term for _, _, term in known[8 * i : 8 * i + 8]) for i in range(64)}
        printed = netlist.simulate(found, folder, made, ready, 3600, netlist.writes(found))
        energy.check_sums(made, printed)
        made.sums[5] += 1
        try:
            energy.check_sums(made, printed)
        except toolbox.Failed:
            continue
        raise AssertionError("a sum that differs was not seen")


@full
def test_a_block_of_quant_has_the_bits_of_the_golden_model(folder):
    ready = prepare(folder, "quant_block")
    lines = subprocess.run(
        [PROGRAM, "vectors", "quant_block", "--seed", str(SEED), "--count", "40"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines(True)
    lines = lines[:3] + lines[3 :: max(1, len(lines) // 120)]
    with open(folder / "readers.svh", "w") as shared:
        subprocess.run(
            [sys.executable, "-B", ROOT / "tests/rtl/vectors/readers.py", PROGRAM],
            check=True,
            stdout=shared,
            timeout=600,
        )
    for change, words in ((False, "0 mismatches"), (True, "1 mismatches")):
        if change:  # one record's codes are changed
            fields = lines[20].split()
            fields[7] = f"{int(fields[7], 16) ^ 1:016x}"
            lines[20] = " ".join(fields) + "\n"
        (folder / "records.txt").write_text("".join(lines))
        ready.run(
            [
                ready.iverilog,
                "-g2012",
                "-DPLAIN_ONLY",
                "-I",
                str(folder),
                "-o",
                "gates.vvp",
                "-s",
                "read_quant_block",
                str(ROOT / "tests/rtl/vectors/read_quant_block.sv"),
                "netlist.v",
                "cells.v",
            ],
            300,
            folder,
        )
        said = subprocess.run(
            [ready.vvp, "-n", "gates.vvp", "+quant_block=records.txt"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=3600,
        ).stdout
        assert f"{len(lines) - 3} records, {words}" in said, said


if __name__ == "__main__":
    for name in sys.argv[3:] or [name for name in dir() if name.startswith("test_")]:
        with tempfile.TemporaryDirectory() as place:
            globals()[name](pathlib.Path(place).resolve())
