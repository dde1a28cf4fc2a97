# SPDX-License-Identifier: Apache-2.0
"""usage: check_bender.py RTL_DIR VERILATOR   Bender's manifest, read as Bender does: its keys, the files that each
target has, in their order, and that Verilator elaborates the core of them. Bender itself is in no registry that the
tests reach. A manifest cannot set parameters."""

import pathlib
import subprocess
import sys

import yaml

RTL, VERILATOR = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
TINY = [
    "-GRows=1",
    "-GCols=1",
    "-GTileRows=16",
    "-GTileCols=16",
    "-GChunk=8",
    "-GBusBytes=8",
    "-GLanes=4",
    "-GQuant=0",
    "-GTarget=1",
]


def listed(name):
    return [line for line in (RTL / name).read_text().splitlines() if line and not line.startswith("//")]


def main():
    manifest = yaml.safe_load((RTL / "Bender.yml").read_text())
    assert manifest.keys() == {"package", "sources"} and manifest["package"].keys() == {"name", "authors"}, (
        manifest.keys()
    )
    assert all(group.keys() <= {"target", "files"} for group in manifest["sources"]), "a key that Bender does not know"
    for targets, lists in ((set(), ["rtl.f"]), ({"ufp4_sva"}, ["rtl.f", "sva.f"])):
        files = [
            name for group in manifest["sources"] if group.get("target") in targets | {None} for name in group["files"]
        ]
        assert files == [name for one in lists for name in listed(one)], (
            f"with the targets {targets} the files are not those of {lists}"
        )
        made = subprocess.run(
            [
                VERILATOR,
                "--lint-only",
                "--assert",
                "-Wall",
                "--top-module",
                "ufp4_top",
                *TINY,
                *(RTL / name for name in files),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=3600,
        )
        assert made.returncode == 0, made.stdout[-2000:]


main()
