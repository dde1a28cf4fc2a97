# SPDX-License-Identifier: Apache-2.0
"""A cell library: its Liberty files, and its properties in libraries.toml."""

import fnmatch
import hashlib
import lzma
import pathlib
import re
import threading
import tomllib

import liberty

DEBIAN = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"  # from the package qflow-tech-osu018


class Library:
    def __init__(self, paths, cache):
        """cache: a folder in which the files are kept, unpacked, by their contents."""
        self.files, names = [], []
        for path in map(pathlib.Path, paths):
            data = path.read_bytes()
            try:
                data = lzma.decompress(data) if path.suffix == ".xz" else data
            except lzma.LZMAError as error:
                raise ValueError(f"{path}: {error}") from error
            found = re.search(rb"library *\( *\"?([^)\"]+?)\"? *\)", data[:65536])
            if not found:
                raise ValueError(f"{path} is not a Liberty file: it has no library (NAME)")
            names.append(found[1].decode())
            kept = cache / "liberty" / hashlib.sha256(data).hexdigest()[:16] / path.name.removesuffix(".xz")
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                beside = kept.with_suffix(".tmp")
                beside.write_bytes(data)
                beside.rename(kept)
            self.files.append(kept)
        known = tomllib.loads((pathlib.Path(__file__).parent / "libraries.toml").read_text())["library"]
        self.settings = next(
            (one for one in known if all(fnmatch.fnmatch(name, one["library"]) for name in names)), {"name": names[0]}
        )
        self.name = self.settings["name"]
        self.known, self.units, self.lock = {}, None, threading.Lock()
        self.names = names

    def has_cell(self, cell):
        """Returns the file that contains a cell, or None."""
        return next(
            (file for file in self.files if re.search(rf"\bcell *\(\s*\"?{re.escape(cell)}\"?\s*\)", file.read_text())),
            None,
        )

    def cells(self, wanted):
        """Returns the cells and units of liberty.read, and reads each cell only once."""
        with self.lock:
            missing = set(wanted) - set(self.known)
            if missing:
                found, self.units = liberty.read(self.files, missing)
                self.known |= found
            return self.known, self.units

    def area(self, cell):
        file = self.has_cell(cell)
        text = file.read_text()
        return float(
            liberty.field(text[re.search(rf"\bcell *\(\s*\"?{re.escape(cell)}\"?\s*\)", text).end() :], "area")
        )

    def mark(self):
        return [file.parent.name for file in self.files]
