# SPDX-License-Identifier: Apache-2.0
"""usage: check_registers.py RTL_DIR   compiles gen/ufp4.rdl with the SystemRDL compiler and compares each address with
the constants that the RTL decodes (gen/ufp4_spec_pkg.sv); writes IP-XACT and HTML with PeakRDL and checks that they
hold every register."""

import pathlib
import re
import subprocess
import sys
import tempfile

from systemrdl import RDLCompiler
from systemrdl.node import RegNode


def addresses(rdl):
    compiler = RDLCompiler()
    compiler.compile_file(str(rdl))
    top = compiler.elaborate().top
    return {
        node.inst_name if not node.is_array else f"{node.inst_name}{node.current_idx[0]}": node.absolute_address
        for node in top.descendants(unroll=True)
        if isinstance(node, RegNode)
    }


def constants(package):
    text = package.read_text()
    registers = {name.lower(): int(value, 16) for name, value in re.findall(r"REG_(\w+) = 12'h([0-9A-F]+);", text)}
    base = {name.lower(): int(value) for name, value in re.findall(r"REG_(\w+)_BASE = (\d+);", text)}
    counters = re.findall(r"unsigned COUNTER_(\w+) = (\d+);", text)
    for name, index in counters:
        if name == "COUNT":
            continue
        registers |= {
            f"{name.lower()}_{half}": base["counter"] + 8 * int(index) + 4 * i for i, half in enumerate(("lo", "hi"))
        }
    slots = int(re.search(r"\bSLOTS = (\d+);", text)[1])
    return registers | {f"slot{i}": base["slot"] + 4 * i for i in range(slots)}


def exported(rdl, kind, out):
    tool = pathlib.Path(sys.executable).with_name("peakrdl")
    subprocess.run([tool, kind, rdl, "-o", out], check=True, timeout=600, stdout=subprocess.DEVNULL)
    files = [out] if out.is_file() else [p for p in out.rglob("*") if p.suffix in (".js", ".json", ".html")]
    return "".join(p.read_text(errors="replace") for p in files)


def main():
    rtl = pathlib.Path(sys.argv[1])
    got, want = addresses(rtl / "gen/ufp4.rdl"), constants(rtl / "gen/ufp4_spec_pkg.sv")
    if got != want:
        sys.exit(
            "differs: "
            + ", ".join(
                f"{n} {got.get(n)} {want.get(n)}" for n in sorted(got.keys() | want.keys()) if got.get(n) != want.get(n)
            )
        )
    with tempfile.TemporaryDirectory() as folder:
        for kind, name in (("ip-xact", "ufp4.xml"), ("html", "html")):
            text = exported(rtl / "gen/ufp4.rdl", kind, pathlib.Path(folder) / name)
            missing = [n for n in got if not n.startswith("slot") and n not in text]
            if missing:
                sys.exit(f"{kind} lacks {missing}")
    print(f"{len(got)} registers agree")


if __name__ == "__main__":
    main()
