#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages: README.md, CONTRIBUTING.md, SECURITY.md, fpga/README.md and docs/.

usage: pages.py links | names | lines
links: every link to a file, or to a heading in one, leads somewhere.
names: every file that a page names in backticks exists, relative to the root or to the folder in the head of its
column, and so does every page that a source file names.
lines: a line has one sentence and at most 600 characters.
Needs nothing but Python.
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST = 600
BESIDE_DOCS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "fpga/README.md")
FOLDERS = ("cmodel", "docs", "drivers", "fpga", "rtl", "sim", "tests")


def sources():
    """Yields the files of the checked folders and of the root."""
    yield from (path for path in sorted(ROOT.iterdir()) if path.is_file())
    for folder in FOLDERS:
        yield from sorted(
            path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        )


def pages():
    yield from (ROOT / name for name in BESIDE_DOCS if (ROOT / name).exists())
    yield from sorted((ROOT / "docs").rglob("*.md"))


def prose(page):
    """Yields (number, line) outside of fenced code and comments."""
    fence = False
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and not line.startswith("<!--"):
            yield number, line


def slug(heading):
    """Returns the anchor that MkDocs, and GitHub, make of a heading."""
    text = re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", heading)).strip().lower()
    return re.sub(r"[-\s]+", "-", text)


@functools.cache
def anchors(page):
    return {slug(line.lstrip("#")) for _, line in prose(page) if re.match(r"#+ ", line)}


def broken_links(page):
    for number, line in prose(page):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            if not file.exists():
                yield number, f"{target}: no such file"
            elif anchor and (file.suffix != ".md" or anchor not in anchors(file)):
                yield number, f"{target}: no such heading"


def missing_files(page):
    """Yields the files in backticks, `folder/file` relative to the root, that do not exist. Words in capitals are
    placeholders, and headers have the names by which programs include them."""
    folders = []
    for number, line in prose(page):
        names = [(ROOT, name) for name in re.findall(r"`((?:%s)/[\w./-]*)[` ]" % "|".join(FOLDERS), line)]
        cells = line.split("|")[1:-1]
        if not cells or not folders:  # a table's first row is its head
            folders = [re.search(r", in `(\w+/)`", cell) for cell in cells]
        for folder, cell in zip(folders, cells):
            names += [(ROOT / folder[1], name) for name in re.findall(r"`([\w./-]+\.\w+)`", cell)] if folder else []
        for folder, name in names:
            if not re.search(r"[A-Z]{3,}", name) and not (folder / name).exists():
                yield number, f"{name}: no such file"
        for name in re.findall(r"`(ufp4[\w/]*\.h)`", line):
            if not any(
                (ROOT / part / "include" / name).exists()
                for part in ("cmodel", "drivers", "drivers/backends/cuda", "sim", "sim/systemc")
            ):
                yield number, f"{name}: no such header"


def missing_pages(file):
    try:
        lines = file.read_text().split("\n")
    except UnicodeDecodeError:
        return
    for number, line in enumerate(lines, 1):
        for name in re.findall(r"\bdocs/[\w./-]*\.md", line):
            if not (ROOT / name).exists():
                yield number, f"{name}: no such page"


def long_or_wrapped(page):
    """Yields lines that are too long, or are not one sentence. Tables, headings and indented code are exempt."""
    for number, line in prose(page):
        if len(line) > LONGEST:
            yield number, f"{len(line)} characters; {LONGEST} at most"
        text = line.strip()
        if not text or text.startswith(("|", "#", "![", "<", "!!!", "$$", "---")) or line.startswith("    "):
            continue
        words = re.sub(r"`[^`]*`", "x", text)
        if re.search(r"[\w)]\. [A-Z]", re.sub(r"^\d+\. ", "", words)):
            yield number, "two sentences"
        elif not re.search(r"[.:;,?!][)*_]*$", words):
            yield number, "a sentence goes on in the next line, or has no full stop"


def main():
    checks = {"links": [broken_links], "names": [missing_files, missing_pages], "lines": [long_or_wrapped]}
    if sys.argv[1:] not in [[name] for name in checks]:
        raise SystemExit(__doc__)
    faults = 0
    for check in checks[sys.argv[1]]:
        for file in sources() if check is missing_pages else pages():
            for number, text in check(file):
                print(f"{file.relative_to(ROOT)}:{number}: {text}")
                faults += 1
    print(f"{faults} faults")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
