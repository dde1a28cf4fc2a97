# SPDX-License-Identifier: Apache-2.0
"""usage: route_report.py TITLE NETLIST REPORT [PINS]: prints the report of fpga/route.sh and fpga/build.sh.

yosys has written NETLIST and nextpnr REPORT. With PINS it says whether each clock meets its constraint, and how long
the paths to and from pins are."""

import collections
import json
import re
import sys

KINDS = ("TRELLIS_COMB", "TRELLIS_FF", "TRELLIS_RAMW", "DP16KD", "MULT18X18D")
CELLS = ("LUT4", "CCU2C", "TRELLIS_FF", "TRELLIS_DPR16X4", "DP16KD", "MULT18X18D")


def block_of(name):
    """Returns up to three levels of the hierarchy, as far as the flattened name shows them."""
    parts = [p for p in name.split(".")[:-1] if p.startswith("u_")]
    return ".".join(parts[:3]) or "(top)"


def blocks(cells):
    counts = collections.defaultdict(collections.Counter)
    for name, cell in cells.items():
        if cell["type"] in CELLS and cell["type"] != "LUT4":
            counts[block_of(name)][cell["type"]] += 1
    return counts


def path_lines(path):
    """Returns a line for each element of a path: the time in nanoseconds at which the path leaves it, and its name.
    Successive steps in one signal are one line."""
    lines, at = [], 0.0
    for step in path:
        at += step["delay"]
        cell = step["from"].get("cell") or step["to"].get("cell", "")
        name = re.split(r"_(?:TRELLIS|LUT4|CCU2C|DP16KD|MULT18|PFUMX|L6MUX)|\$", cell)[0] or "carry"
        if lines and lines[-1][1] == name:
            lines.pop()
        lines.append((at, name))
    return [f"  {at:6.1f} ns  {name}" for at, name in lines]


def main(title, netlist, report, pins=""):
    with open(netlist) as f:
        modules = json.load(f)["modules"].values()
    cells = next(m["cells"] for m in modules if "top" in m["attributes"])
    with open(report) as f:
        found = json.load(f)
    kinds = collections.Counter(cell["type"] for cell in cells.values())
    print(title)
    print("synthesis:", ", ".join(f"{kinds[k]} {k}" for k in CELLS))
    print(
        "placed:   ",
        ", ".join(
            f"{found['utilization'][k]['used']} of {found['utilization'][k]['available']} {k}"
            for k in KINDS
            if k in found["utilization"]
        ),
    )
    for clock, reached in found["fmax"].items():
        # Without pins the requested frequency is only a target for the router.
        slow = ", too slow" if reached["achieved"] < reached["constraint"] else ""
        print(
            f"clock:     {reached['achieved']:.1f} MHz"
            + (f" of {reached['constraint']:.1f} MHz{slow} ({clock})" if pins else "")
        )
    # Paths between a register and a pin, for which the FPGA and the board together have half a cycle.
    for path in found["critical_paths"] if pins else []:
        if (path["from"] == "<async>") != (path["to"] == "<async>"):
            print(
                f"pins:      {sum(step['delay'] for step in path['path']):.1f} ns at the most, "
                f"{path['from']} to {path['to']}"
            )
    for path in found["critical_paths"]:
        if path["from"].startswith("posedge") and path["from"] == path["to"]:
            print("longest path:")
            print("\n".join(path_lines(path["path"])))
    counted = blocks(cells)
    print("by block:  " + ", ".join(k for k in CELLS if k != "LUT4"))
    for block in sorted(counted, key=lambda b: -counted[b]["TRELLIS_FF"]):
        print("  " + "  ".join(f"{counted[block][k]:6d}" for k in CELLS if k != "LUT4") + "  " + block)


if __name__ == "__main__":
    main(*sys.argv[1:])
