# SPDX-License-Identifier: Apache-2.0
"""core_gates.py ROOT CONFIGURATION FOLDER: the core in Debian's library, in the form for cells: its netlist, the library's cells and
its memories in one file, which tests/rtl/flat/run.py compares with the golden model. The cache is that of UFP4_BUILD."""
import os
import pathlib
import re
import subprocess
import sys

ROOT, CONFIGURATION, FOLDER = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
sys.path.insert(0, str(ROOT / "fpga/ppa"))
import energy  # noqa: E402
import flow  # noqa: E402
from library import DEBIAN, Library  # noqa: E402
from rows import Row  # noqa: E402


def main():
    known = re.search(rf"^set\(UFP4_CONFIGURATION_{CONFIGURATION} (.*)\)$", (ROOT / "rtl/gen/configurations.cmake").read_text(), re.M)[1]
    row = Row(CONFIGURATION, "ufp4_top", {name: int(value) for name, value in re.findall(r"-G(\w+)=(\d+)", known)}, memories=True)
    cache = flow.Cache(pathlib.Path(os.environ["UFP4_BUILD"]) / "ppa")
    try:
        tools, library = flow.Tools(), Library([DEBIAN], cache.folder)
    except (flow.Failed, FileNotFoundError) as error:
        print(f"skipped: {error}")
        return
    made, _ = flow.synthesize(row, library, flow.Flow(), tools, cache, 1500)
    parts = [made / "netlist.v", made / "memories.v", energy.models(library, tools, cache) / "cells.v"]
    text = "\n".join(part.read_text() for part in parts)
    assert text.count("\nmodule \\ufp4_sram") > 5 and text.count("\n  DFF") > 1000, "no netlist of a core"
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "gates.v").write_text(text)
    subprocess.run([sys.executable, "-B", ROOT / "tests/rtl/flat/run.py", FOLDER / "gates.v", CONFIGURATION, ROOT, FOLDER], check=True)


if __name__ == "__main__":
    main()
