# SPDX-License-Identifier: Apache-2.0
"""Runs the tutorial's blocks of Python in order and compares their output with the page. The blocks from PyTorch on
need it installed."""

import contextlib
import importlib.util
import io
import pathlib
import re
import subprocess
import sys

from support import np  # noqa: F401 skips without numpy

import stand
from stand import check, check_equal

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorial/python.md"
TORCH = importlib.util.find_spec("torch") is not None


def test_tutorial_prints_what_it_says():
    blocks = re.findall(r"```python\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```", PAGE.read_text(), re.S)
    check(len(blocks) == PAGE.read_text().count("```python") and len(blocks) >= 4, f"{len(blocks)} blocks")
    names = {}
    for code, want in blocks:
        if "import torch" in code and not TORCH:
            break
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(PAGE), "exec"), names)
        check_equal(out.getvalue(), want, code)


def test_example_draws_its_losses():
    if not TORCH:
        raise stand.Skipped("No module named 'torch'; ./ufp4 test --full installs it from PyPI")
    pathlib.Path("text").write_bytes((ROOT / "LICENSE").read_bytes())
    done = subprocess.run(
        [sys.executable, ROOT / "drivers/python/examples/language_model.py", "text", "--steps", "25"],
        capture_output=True,
        text=True,
        timeout=3600,
    )
    check(done.returncode == 0 and done.stdout.startswith("% recipe loss\n  fp32 "), f"{done}")
    losses = [float(line.split()[1]) for line in done.stdout.splitlines()[1:]]
    check(len(losses) == 3 and max(losses) - min(losses) < 0.3 and max(losses) < 5.2, f"{losses}")
    pathlib.Path("short").write_bytes(b"x" * 65)
    for words, arguments in (
        ("name a text", ["nowhere"]),
        ("65 bytes", ["short"]),
        ("0 steps", ["text", "--steps", "0"]),
    ):
        bad = subprocess.run(
            [sys.executable, ROOT / "drivers/python/examples/language_model.py", *arguments],
            capture_output=True,
            text=True,
            timeout=600,
        )
        check(bad.returncode == 2 and words in bad.stderr and "Traceback" not in bad.stderr, f"{bad}")
    check(pathlib.Path("losses.svg").read_text().count("<polyline") == 3, "three curves")


if __name__ == "__main__":
    stand.main(globals())
