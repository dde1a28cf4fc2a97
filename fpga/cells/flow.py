# SPDX-License-Identifier: Apache-2.0
"""Runs the tools for a row, and caches their results by the contents of all inputs."""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import tempfile

import gates
import memories
import rooms
import script
from toolbox import ROOT, Failed

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Flow:
    full_adders: bool = False
    sized: bool = False
    gated: bool = False

    @property
    def name(self):
        return (
            " and ".join(["full adders"] * self.full_adders + ["sized"] * self.sized + ["gated"] * self.gated)
            or "plain"
        )


def narrowed(said):
    """Returns yosys's message about a memory's port that has lost bits, or None. All memories of a unit share one black
    box, whose widths must be those of the widest memory."""
    found = re.finditer(r"Resizing cell port \S+ from (\d+) bits to (\d+) bits", said)
    return next((port.group() for port in found if int(port[2]) < int(port[1])), None)


class Cache:
    """A cache of folders by the contents from which they were made."""

    def __init__(self, folder):
        self.folder = folder
        self.sources = {
            path.relative_to(ROOT / "rtl").as_posix(): path.read_bytes()
            for path in sorted((ROOT / "rtl").rglob("*"))
            if path.suffix in (".sv", ".f")
        }
        self.sources["pe_shared.sv"] = (HERE / "pe_shared.sv").read_bytes()
        self.rtl = digest(self.sources)

    def get(self, key, make):
        """Returns (folder, whether it existed). make(folder) fills a new one, which gets its name only if make
        succeeds."""
        folder = self.folder / digest(key)
        if folder.exists():
            return folder, True
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="making-", dir=self.folder) as place:
            made = pathlib.Path(place) / "row"
            made.mkdir()
            make(made)
            try:
                made.rename(folder)
            except OSError:  # another process has made it meanwhile
                if not folder.exists():
                    raise
        return folder, False


def digest(value):
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, default=lambda data: hashlib.sha256(data).hexdigest()).encode()
    ).hexdigest()[:16]


def synthesize(row, library, flow, tools, cache, seconds, times=(0, 0)):
    """Returns (folder with netlist.v, its figures, whether both were cached). times: the delays of a core's memories;
    other delays use the same cached netlist."""
    text, beside = script.synthesis(row, library, flow), script.files(row, library, flow)
    timing = script.delay(row, library, times)

    def make(folder):
        for name, data in cache.sources.items():
            (folder / "rtl" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "rtl" / name).write_bytes(data)
        link(library, folder)
        for name, content in (beside | {"synthesis.ys": text}).items():
            (folder / name).write_text(content)
        # The reader accepts only files below the current folder.
        lost = narrowed(tools.run([tools.yosys, "-q", "-s", "synthesis.ys"], seconds, folder))
        if lost:
            raise Failed(f"the black box of memories is too narrow for one of them: {lost}")
        more = 0
        if flow.gated:
            text_of, added = gates.finish((folder / "netlist.v").read_text(), library.settings["gate"])
            (folder / "netlist.v").write_text(text_of)
            more = added * library.area(library.settings["gate"][0])
        found = areas(row, (folder / "area").read_text(), more) | memories.of(folder, row.of)
        (folder / "figures.json").write_text(json.dumps(found))
        shutil.rmtree(folder / "rtl")
        shutil.rmtree(folder / "cells")

    made, known = cache.get([text, beside, cache.rtl, tools.versions, library.mark()], make)

    def time(folder):
        link(library, folder)
        (folder / "netlist.v").write_text(rooms.without_brackets((made / "netlist.v").read_text()))
        (folder / "delay.tcl").write_text(timing)
        said = tools.run([tools.sta, "-no_splash", "-exit", "delay.tcl"], seconds, folder)
        (folder / "netlist.v").unlink()
        (folder / "delays.json").write_text(json.dumps(delays(row, said)))
        (folder / "said").write_text(said)
        shutil.rmtree(folder / "cells")

    timed, again = cache.get([made.name, timing], time)
    found = [json.loads(file.read_text()) for file in (made / "figures.json", timed / "delays.json")]
    return made, found[0] | found[1], known and again


def link(library, folder):
    """Links the library's files below the folder, because yosys reads no others."""
    (folder / "cells").mkdir()
    for file in library.files:
        os.link(file, folder / "cells" / file.name)


def areas(row, said, more):
    """Returns the areas of one unit. more: the area that was added after yosys."""
    area = re.findall(r"Chip area for .*: *([0-9.]+)", said)
    flops = re.findall(r"sequential elements: *([0-9.]+)", said)
    if not area:
        raise Failed("no figures: yosys reported no area")
    return {
        "area_um2": (float(area[-1]) + more) / row.of,
        "flip_flops_um2": (float(flops[-1]) + more if flops else 0.0) / row.of,
    }


def delays(row, said):
    # A core's report ends with its longest path.
    slack = re.findall(r" (-?[0-9.]+) +(?:slack )?\((?:MET|VIOLATED)\)$", said, re.M)
    if not slack:
        raise Failed(f"no figures: {said.strip().splitlines()[-1] if said.strip() else 'OpenSTA printed nothing'}")
    found = {"delay_ns": round(script.PERIOD - float(slack[-1]), 4)}
    return found | ({"rooms": rooms.read(said, script.PERIOD)} if row.core else {})
