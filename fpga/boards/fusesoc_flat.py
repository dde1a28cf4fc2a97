#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A FuseSoC generator that writes a board's top with its core as plain Verilog, because edalize's yosys flows cannot
read SystemVerilog packages. FuseSoC passes it the name of a YAML file, whose parameters board and configuration are
those of fpga/package/flatten.sh."""

import pathlib
import re
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "package"


def main():
    text = pathlib.Path(sys.argv[1]).read_text()
    board, configuration, vlnv = (
        re.search(rf"^\s*{key}: *['\"]?([^'\"\s]+)", text, re.MULTILINE)[1]
        for key in ("board", "configuration", "vlnv")
    )
    made = subprocess.run([PACKAGE / "flatten.sh", "--board", board, configuration, f"{board}.v"])
    if made.returncode:
        return made.returncode
    pathlib.Path(f"{board}.core").write_text(f"""CAPI=2:
name: {vlnv}
filesets:
  flat:
    files: [{board}.v: {{file_type: verilogSource}}]
targets:
  default:
    filesets: [flat]
""")
    return 0


if __name__ == "__main__":
    sys.exit(main())
