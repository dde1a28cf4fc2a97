# SPDX-License-Identifier: Apache-2.0
"""Finishes the clock gates that yosys's clockgate has inserted: divides a gate that drives more than LIMIT flip-flops,
and makes the scan enable a port."""

import re

import netlist as netlists

LIMIT = 32
SCAN = "scan_enable_i"


def blocks(text):
    """Returns {instance: its text}."""
    return {
        netlists.plain(found[1]): found[0]
        for found in re.finditer(
            rf"^  (?!input|output|wire|assign|reg|module)\w+ ({netlists.NAME}) ?\(\n.*?\n  \);\n", text, re.M | re.S
        )
    }


def finish(text, gate):
    """Returns (the netlist, the number of added gates). gate: the cell and its pins for enable, clock, output, and scan
    enable if it has one."""
    cell, _, _, output, *scan = gate
    read, known, added = netlists.read(text), blocks(text), []
    for name, (kind, pins) in read.cells.items():
        if kind != cell:
            continue
        driven = [
            (other, pin)
            for other, (_, nets) in read.cells.items()
            for pin, net in nets.items()
            if net == pins[output] and other != name
        ]
        parts = -(-len(driven) // LIMIT)
        for part in range(1, parts):
            net = f"_gated_{len(added)}_"
            added.append(
                f"  wire {net};\n"
                + re.sub(
                    rf"\.{output}\(.*?\)",
                    f".{output}({net})",
                    known[name].replace(known[name].split()[1], f"_gate_{len(added)}_", 1),
                )
            )
            for other, pin in driven[part::parts]:
                changed = re.sub(rf"\.{pin}\(.*?\)(,?)$", rf".{pin}({net})\1", known[other], flags=re.M)
                text = text.replace(known[other], changed)
                known[other] = changed
    text = text.replace("endmodule", "".join(added) + "endmodule")
    if scan and f"{cell} " in text:
        text = re.sub(rf"(  {cell} .*?\.{scan[0]}\().*?(\))", rf"\g<1>{SCAN}\2", text, flags=re.S)
        text = text.replace("(clk_i,", f"(clk_i, {SCAN},", 1).replace(
            "  input clk_i;\n", f"  input clk_i;\n  input {SCAN};\n  wire {SCAN};\n", 1
        )
    return text, len(added)


def model(gate):
    """Returns a simulation model, a latch that is open while the clock is low, because yosys reads no statetable."""
    cell, enable, clock, output, *scan = gate
    ports = ", ".join(f"input {pin}" for pin in (enable, clock, *scan))
    return (
        f"module {cell}({ports}, output {output});\n  reg open;\n"
        f"  always @* if (!{clock}) open = {' | '.join((enable, *scan))};\n"
        f"  assign {output} = {clock} & open;\nendmodule\n"
    )
