#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/figures/NAME.dot with Graphviz and NAME.json5 with wavedrom, each to NAME.svg.

usage: figures.py [--check]     --check compares with the committed figures and changes nothing.
Needs Graphviz 2.43.0 (Debian 12's graphviz) and wavedrom 2.0.3.post3 (PyPI). Without these versions --check says
"skipped: ..", because others draw different files.
"""

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "figures"
GRAPHVIZ, WAVEDROM = "2.43.0", "2.0.3.post3"


def on_one_line(picture):
    """Removes white space between the elements of a picture."""
    return re.sub(r">\s+<", "><", picture.strip()) + "\n"


def missing():
    """Returns why the figures cannot be drawn here, or nothing."""
    if not shutil.which("dot"):
        return "needs graphviz"
    version = subprocess.run(["dot", "-V"], capture_output=True, text=True).stderr
    if f" {GRAPHVIZ} " not in version:
        return f"needs graphviz {GRAPHVIZ}; this is {version.strip()}"
    try:
        found = importlib.metadata.version("wavedrom")
    except importlib.metadata.PackageNotFoundError:
        return "needs wavedrom from PyPI"
    return "" if found == WAVEDROM else f"needs wavedrom {WAVEDROM}; this is {found}"


def plugins(folder):
    """Links Graphviz's plugins but Pango into the folder, so that the sizes of words come from tables and not from the
    machine's fonts."""
    places = [
        pathlib.Path(line.split('"')[1])
        for line in subprocess.run(
            ["dot", "-v", "-Tsvg"], input="graph {}", capture_output=True, text=True
        ).stderr.split("\n")
        if "libdir" in line
    ]
    for name in ("core", "dot_layout", "neato_layout"):
        for file in places[0].glob(f"libgvplugin_{name}.so.*"):
            (folder / file.name).symlink_to(file.resolve())
    subprocess.run(
        ["dot", "-c"], env={"GVBINDIR": str(folder), "PATH": "/usr/bin:/bin"}, check=True, capture_output=True
    )


def draw_graph(source, folder):
    done = subprocess.run(
        ["dot", "-Tsvg", source],
        env={"GVBINDIR": str(folder), "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    if done.stderr:
        raise SystemExit(f"{source.name}: {done.stderr.strip()}")
    return on_one_line(re.sub(r"<!--.*?-->\n?", "", done.stdout, flags=re.S))


def draw_waves(source):
    import wavedrom

    text = re.sub(r"^//.*\n", "", source.read_text(), flags=re.M)
    return wavedrom.render(text).tostring() + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    why = missing()
    if why:
        print(f"skipped: {why}")
        return 0 if sys.argv[1:] else 3
    stale = []
    with tempfile.TemporaryDirectory() as scratch:
        plugins(pathlib.Path(scratch))
        for source in sorted([*FOLDER.glob("*.dot"), *FOLDER.glob("*.json5")]):
            text = draw_graph(source, scratch) if source.suffix == ".dot" else draw_waves(source)
            picture = source.with_suffix(".svg")
            if picture.exists() and picture.read_text() == text:
                continue
            stale.append(picture.name)
            if not sys.argv[1:]:
                picture.write_text(text)
    if stale and sys.argv[1:]:
        print("stale (run docs/tools/figures.py): " + " ".join(stale))
        return 1
    print("wrote " + " ".join(stale) if stale else "up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
