#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instances of ufp4_sram by their parameters in elaborated cores,
and compares them with the list of the specification.

In both forms of parity: in memories of its own, and in the words (UFP4_PARITY_IN_WORD).

usage: check_memories.py ROOT VERILATOR CONFIGURATION..."""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "docs/tools"))
import memories  # noqa: E402


def elaborated(core, in_word):
    """{(words, bits): instances}"""
    words = ["-G" + "".join(part.title() for part in key.split("_")) + f"={value}" for key, value in core.items()]
    with tempfile.TemporaryDirectory() as folder:
        xml = pathlib.Path(folder, "core.xml")
        done = subprocess.run(
            [
                sys.argv[2],
                "--xml-only",
                "-Wno-lint",
                "--top-module",
                "ufp4_top",
                *words,
                *["-DUFP4_PARITY_IN_WORD"] * in_word,
                "-F",
                ROOT / "rtl/rtl.f",
                "--Mdir",
                folder,
                "--xml-output",
                xml,
            ],
            capture_output=True,
            text=True,
        )
        if "Invalid option" in done.stderr:
            raise SystemExit("skipped: needs a verilator with --xml-only")
        if done.returncode:
            raise SystemExit(done.stderr)
        text = xml.read_text()
    size, found = {}, collections.Counter()
    for name, body in re.findall(r'<module [^>]*name="([^"]+)" origName="ufp4_sram"[^>]*>(.*?)</module>', text, re.S):
        given = dict(
            re.findall(
                r'<var [^>]*name="(Width|Depth)"[^>]*param="true">\s*<const [^>]*name="32&apos;s?h([0-9a-f]+)"', body
            )
        )
        size[name] = (int(given["Depth"], 16), int(given["Width"], 16))
    for name in re.findall(r'<cell [^>]*submodname="([^"]+)"', text):
        if name in size:
            found[size[name]] += 1
    return found


def main():
    wrong = []
    for text, in_word in ((text, in_word) for text in sys.argv[3:] for in_word in (False, True)):
        core = memories.configuration(text)
        listed, found = collections.Counter(), elaborated(core, in_word)
        for _, count, words, bits in memories.macros(core, in_word):
            listed[words, bits] += count
        name = f"{text}, parity in the words" if in_word else text
        wrong += [
            f"{name}: {found[size]} memories of {size[0]} x {size[1]}, listed are {listed[size]}"
            for size in sorted(listed | found)
            if listed[size] != found[size]
        ]
        print(f"{name}: {sum(found.values())} memories")
        if not found:
            wrong.append(f"{name}: no memory at all")
    print("\n".join([*wrong, f"{len(wrong)} sizes differ"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
