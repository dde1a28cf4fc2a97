#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every include of C, C++ and CUDA against the table of docs/reference/folders.md.

usage: check_includes.py [FOLDER]     FOLDER: a checkout, by default this one
A file may include headers of its own folder and of the folders in its row of the table, which is the row of its folder
or of the nearest folder above with a row. A folder in a row includes its subfolders. Headers outside of the checkout
(of libraries, or made by a build) are not checked. If several folders have a header of that name, it is enough that
one of them is allowed. Needs nothing but Python.
"""

import pathlib
import posixpath
import re
import sys

PAGE = "docs/reference/folders.md"
FOLDERS = ("cmodel", "sim", "drivers", "fpga")
HEADERS = (".h", ".hpp", ".cuh")
SOURCES = tuple(suffix + template for suffix in (".c", ".cc", ".cpp", ".cu", *HEADERS) for template in ("", ".in"))


def table(root):
    """Returns {folder: the folders whose headers its files may include}."""
    rows, inside = {}, False
    for line in (root / PAGE).read_text().split("\n"):
        inside = line.startswith("| files in |") or inside and line.startswith("|")
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
        if inside and cells[0]:
            rows.update({folder.rstrip("/"): [other.rstrip("/") for other in cells[-1]] for folder in cells[0]})
    return rows


def is_in(path, folder):
    return path == folder or path.startswith(folder + "/")


def headers(root):
    """Returns {name: paths of headers with this name}."""
    found = {}
    for folder in (*FOLDERS, "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in HEADERS:
                found.setdefault(path.name, []).append(path.relative_to(root).as_posix())
    return found


def candidates(source, name, found):
    """Returns the headers that an include may mean: one in the same folder, or else all whose path ends with it."""
    known = found.get(posixpath.basename(name), [])
    here = posixpath.normpath(posixpath.join(source.parent.as_posix(), name))
    end = "/" + re.sub(r"^(\.\./)+", "", posixpath.normpath(name))
    return [one for one in known if one == here] or [one for one in known if ("/" + one).endswith(end)]


def violations(root):
    rows, found = table(root), headers(root)
    if not rows:
        yield f"{PAGE}: no table whose first cell is 'files in'"
    for folder in sorted({name for row in rows.items() for name in (row[0], *row[1])}):
        if not (root / folder).exists():
            yield f"{PAGE}: there is no {folder}"
    for path in sorted(
        path for folder in FOLDERS for path in (root / folder).rglob("*") if path.name.endswith(SOURCES)
    ):
        source = pathlib.PurePosixPath(path.relative_to(root).as_posix())
        nearest = [folder for folder in rows if is_in(source.parent.as_posix(), folder)]
        if not nearest:
            yield f"{source}: no row of the table is for its folder"
            continue
        row = max(nearest, key=len)
        for number, line in enumerate(path.read_text().split("\n"), 1):
            include = re.match(r'\s*#\s*include\s*(?:"|<(?=ufp4|[^>]*/))([^>"]+)[>"]', line)
            meant = candidates(source, include.group(1), found) if include else []
            allowed = [
                one
                for one in meant
                if pathlib.PurePosixPath(one).parent == source.parent or any(is_in(one, folder) for folder in rows[row])
            ]
            if meant and not allowed:
                yield f"{source}:{number}: {meant[0]}: the row of {row} does not name its folder"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = list(violations(root))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
