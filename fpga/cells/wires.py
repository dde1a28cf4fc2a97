#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what wires add to a unit's delay: Debian's qflow (graywolf and qrouter) places and routes it in OSU 0.18 um,
and OpenSTA computes the delay with and without wires.

usage: wires.py [UNIT...] [--seconds N] [--csv]     default: the dot products by format; 3600 s for a unit

The netlists are those of ./ufp4 ppa, with a buffer at each output (ports that are one wire cannot be routed). Wires
have the resistance and capacitance that qrouter takes from the library's LEF: of a plate and one edge, without coupling
to others. Inputs are driven ideally. Needs qflow, qflow-tech-osu018, opensta and yosys of ./ufp4 ppa. Exit status: 0
done, 2 usage, 3 a tool or the machine is at fault."""

import csv
import json
import os
import pathlib
import re
import shutil
import sys

import flow
import library
import rows
import toolbox

TECH = pathlib.Path("/usr/share/qflow/tech/osu018")
SCRIPTS = pathlib.Path("/usr/lib/qflow/scripts")
COLUMNS = ("unit", "library", "cells", "cells_um2", "layout_um2", "wire_mm", "delay_ns", "wired_delay_ns")
DRIVEN = "Warning: delay.tcl, 6 set_input_delay relative to a clock defined on the same port/pin not allowed."
MAPPED = """read_liberty -lib -ignore_miss_dir -setattr blackbox cells.lib
read_verilog netlist.v
hierarchy -top {top}
rename {top} {name}
iopadmap -outpad BUFX2 A:Y -bits
opt_clean
splitnets -ports
rename -wire
tee -o area stat -liberty cells.lib
write_blif -buf BUFX2 A Y mapped.blif
"""
DELAY = """read_liberty cells.lib
read_verilog placed.v
link_design {name}
set_cmd_units -time ns
if {{[llength [get_ports -quiet clk_i]]}} {{ create_clock -name clk -period 1000 [get_ports clk_i] }} \
else {{ create_clock -name clk -period 1000 }}
set_input_delay -clock clk 0 [all_inputs]
set data {{}}
foreach port [all_outputs] {{
  if {{![string match *clk_i [get_property $port full_name]]}} {{ lappend data $port }}
}}
set_output_delay -clock clk 0 $data
report_checks -path_delay max -format end
puts "with wires"
puts "read [read_spef wires.spef]"
report_checks -path_delay max -format end
"""


def tokens(line):
    """NET 1 DRIVER COUNT ( R C PIN or ( ... ) , ... ): one line of qrouter's file of delays."""
    net, _, driver, _, *tree = line.replace("(", " ( ").replace(")", " ) ").replace(",", " ").split()
    return net, driver, tree


def segments(tree):
    """Returns [(ohm, pF, number of the previous segment or None, pins at its end)]."""
    out, open_ones = [], []
    words = iter(tree)
    for word in words:
        if word == "(":
            out.append([float(next(words)), float(next(words)), open_ones[-1] if open_ones else None, []])
            open_ones.append(len(out) - 1)
        elif word == ")":
            open_ones.pop()
        else:
            out[open_ones[-1]][3].append(word)
    if open_ones:
        raise toolbox.Failed("qrouter's file of delays ends in the middle of a net")
    return out


def plain(name, ports):
    """Returns the name in qflow's Verilog."""
    bus = re.fullmatch(r"(.*)\[(\d+)\]", name)
    base, index = (bus[1], bus[2]) if bus else (name, None)
    base = re.sub(r"[^A-Za-z0-9_]", "_", base)
    if index is None:
        return base
    return f"{base}[{index}]" if base in ports else f"{base}_{index}_"


def name_the_port(net, driver, found, ports):
    """Replaces ERROR, which qrouter writes for a lost pin, by the net's port if that is the missing pin."""
    pins = [pin for *_, own in found for pin in own]
    if "ERROR" not in [driver, *pins]:
        return
    port = f"PIN/{net}"
    if (
        pins.count("ERROR") != 1
        or port in [driver, *pins]
        or "ERROR" == driver
        or plain(net, ports).partition("[")[0] not in ports
    ):
        raise toolbox.Failed(f"qrouter has lost a pin of the net {net}")
    for *_, own in found:
        own[:] = [port if pin == "ERROR" else pin for pin in own]


def spef(name, lines, ports):
    """Converts qrouter's resistances and capacitances to SPEF. ports: names of the module's ports."""
    out = [
        f'*SPEF "IEEE 1481-1998"\n*DESIGN "{name}"\n*DATE ""\n*VENDOR ""\n*PROGRAM ""\n*VERSION ""\n*DESIGN_FLOW ""\n'
        "*DIVIDER /\n*DELIMITER :\n"
        "*BUS_DELIMITER [ ]\n*T_UNIT 1 NS\n*C_UNIT 1 PF\n*R_UNIT 1 OHM\n*L_UNIT 1 HENRY\n"
    ]
    for line in filter(str.strip, lines):
        net, driver, tree = tokens(line)
        found = segments(tree)
        name_the_port(net, driver, found, ports)

        def pin(word, port):
            if word.startswith("PIN/"):
                return f"*P {plain(word[4:], ports)} {port}", plain(word[4:], ports)
            return f"*I {word.replace('/', ':')} {'O' if port == 'I' else 'I'}", word.replace("/", ":")

        first, root = pin(driver, "I")
        connections, wires, net = [first], [], plain(net, ports)
        for number, (ohm, _, before, pins) in enumerate(found):
            wires.append((root if before is None else f"{net}:{before + 1}", f"{net}:{number + 1}", ohm))
            for word in pins:
                text, node = pin(word, "O")
                connections.append(text)
                wires.append((f"{net}:{number + 1}", node, 0.001))
        out.append(
            f"\n*D_NET {net} {sum(one[1] for one in found):.8f}\n*CONN\n" + "".join(f"{text}\n" for text in connections)
        )
        out.append("*CAP\n" + "".join(f"{i} {net}:{i} {one[1]:.8f}\n" for i, one in enumerate(found, 1)))
        out.append("*RES\n" + "".join(f"{i} {a} {b} {ohm:.6f}\n" for i, (a, b, ohm) in enumerate(wires, 1)) + "*END\n")
    return "".join(out)


def wire_mm(text):
    """Returns the length of the routes in a DEF file, whose unit is 10 nm; * repeats the previous coordinate."""
    length = 0
    for route in re.findall(r"(?:ROUTED|NEW) \w+ ((?:\([^)]*\) *)+)", text):
        at = None
        for point in re.findall(r"\(([^)]*)\)", route):
            here = [int(before if word == "*" else word) for word, before in zip(point.split(), at or (0, 0))]
            length += sum(abs(a - b) for a, b in zip(here, at)) if at else 0
            at = here
    return length * 1e-5


def place_and_route(name, top, netlist, folder, tools, seconds):
    for part in ("source", "synthesis", "layout", "log"):
        (folder / part).mkdir()
    shutil.copy(TECH / "osu018_stdcells.lib", folder / "cells.lib")
    shutil.copy(netlist, folder / "netlist.v")
    (folder / "mapped.ys").write_text(MAPPED.format(top=top, name=name))
    tools.run([tools.yosys, "-q", "-s", "mapped.ys"], 300, folder)
    folders = {
        "projectpath": folder,
        "techdir": TECH,
        "sourcedir": folder / "source",
        "synthdir": folder / "synthesis",
        "layoutdir": folder / "layout",
        "techname": "osu018",
        "scriptdir": SCRIPTS,
        "bindir": SCRIPTS.parent / "bin",
        "logdir": folder / "log",
    }
    (folder / "qflow_vars.sh").write_text("".join(f"set {key}={value}\n" for key, value in folders.items()))
    (folder / "project_vars.sh").write_text("set vddnet=vdd\nset gndnet=gnd\n")
    tools.run([SCRIPTS / "ypostproc.tcl", "mapped.blif", name, TECH / "osu018.sh", "vdd", "gnd"], 300, folder)
    shutil.copy(folder / "mapped_tmp.blif", folder / "synthesis" / f"{name}.blif")
    shutil.copy(TECH / "osu018.par", folder / "layout" / f"{name}.par")
    for file in ("log/synth.log", *(f"synthesis/{name}.{form}.v" for form in ("rtl", "rtlnopwr", "rtlbb"))):
        (folder / file).touch()
    tools.run([SCRIPTS / "placement.sh", "-k", "-d", folder, name], seconds, folder)
    tools.run([SCRIPTS / "router.sh", folder, name], seconds, folder)


def delays(name, folder, tools):
    """Returns the delays (without wires, with them), in ns, of a design routed by qflow."""
    log = (folder / "log/route.log").read_text()
    if "Final: No failed routes!" not in log:
        left = re.findall(r"Failed net routes: (\d+)", log)
        raise toolbox.Failed(f"qrouter has left {left[-1] if left else 'some'} nets open")
    text = (folder / "synthesis" / f"{name}.rtlnopwr.v").read_text()
    ports = set(re.findall(r"^(?:input|output) (?:\[\d+:\d+\] )?(\w+);", text, re.M))
    (folder / "placed.v").write_text(re.sub(r"^FILL .*\n", "", text, flags=re.M))
    (folder / "wires.spef").write_text(spef(name, (folder / "layout" / f"{name}.rc").read_text().splitlines(), ports))
    (folder / "delay.tcl").write_text(DELAY.format(name=name))
    said = tools.run([tools.sta, "-no_splash", "-exit", "delay.tcl"], 300, folder)
    found = [round(1000 - float(slack), 4) for slack in re.findall(r" (-?[0-9.]+) \((?:MET|VIOLATED)\)$", said, re.M)]
    wired = said.partition("with wires\n")[2]
    if len(found) != 2 or not wired.startswith("read 1\n") or "Warning" in said.replace(DRIVEN, "") or "Error" in said:
        raise toolbox.Failed(f"OpenSTA does not take the wires: {toolbox.reason(said)}")
    return found


def figures(name, folder):
    area = float(re.findall(r"Chip area for .*: *([0-9.]+)", (folder / "area").read_text())[-1])
    layout = (folder / "layout" / f"{name}.def").read_text()
    x0, y0, x1, y1 = map(int, re.search(r"DIEAREA \( (-?\d+) (-?\d+) \) \( (-?\d+) (-?\d+) \)", layout).groups())
    cells = len(
        re.findall(r"^(?!FILL|module|endmodule|input|output|wire)\w+ \w+ \(", (folder / "placed.v").read_text(), re.M)
    )
    return {
        "unit": name,
        "library": "OSU 0.18 um",
        "cells": cells,
        "cells_um2": round(area),
        "layout_um2": round((x1 - x0) * (y1 - y0) * 1e-4),
        "wire_mm": round(wire_mm(layout), 1),
    }


def measure(row, cells, tools, cache, seconds):
    folder, *_ = flow.synthesize(row, cells, flow.Flow(), tools, cache, 900)
    source = (folder / "netlist.v").read_text()

    def make(place):
        place_and_route(row.name, row.module, folder / "netlist.v", place, tools, seconds)
        without, wired = delays(row.name, place, tools)
        (place / "wires.json").write_text(
            json.dumps(figures(row.name, place) | {"delay_ns": without, "wired_delay_ns": wired})
        )

    kept, _ = cache.get(["wires", source, pathlib.Path(__file__).read_text()], make)
    return json.loads((kept / "wires.json").read_text())


def run(words):
    names, seconds, as_csv = [], 3600, False
    while words:
        word = words.pop(0)
        if word == "--csv":
            as_csv = True
        elif word == "--seconds" and words and words[0].isdecimal():
            seconds = int(words.pop(0))
        elif word in rows.BY_NAME:
            names.append(word)
        else:
            print(
                __doc__ if word in ("-h", "--help") else f"wires.py: '{word}'; see --help",
                file=sys.stdout if word in ("-h", "--help") else sys.stderr,
            )
            return 0 if word in ("-h", "--help") else 2
    if not (SCRIPTS / "router.sh").exists():
        raise toolbox.Failed("qflow is missing (Debian's qflow and qflow-tech-osu018)")
    place = pathlib.Path(os.environ.get("UFP4_BUILD", flow.ROOT / "build/release")).resolve()
    os.environ["PATH"] += f":{place / 'ppa-venv/bin'}"  # where the launcher installs yosys
    build = place / "ppa"
    tools, cache, cells = toolbox.Tools(), flow.Cache(build), library.Library([library.DEBIAN], build)
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    if as_csv:
        out.writeheader()
    else:
        print(f"{'unit':<12} {'cells':>6} {'um2':>8} {'layout':>8} {'wire, mm':>8} {'ns':>6} {'wired':>6}")
    for name in names or ["dot", "dot_e2m1", "dot_uniform", "dot_e1m2"]:
        one = measure(rows.BY_NAME[name], cells, tools, cache, seconds)
        if as_csv:
            out.writerow(one | {key: f"{one[key]:.2f}" for key in ("delay_ns", "wired_delay_ns")})
        else:
            print(
                f"{name:<12} {one['cells']:>6} {one['cells_um2']:>8} {one['layout_um2']:>8} {one['wire_mm']:>8.1f} "
                f"{one['delay_ns']:>6.2f} {one['wired_delay_ns']:>6.2f}"
            )
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except toolbox.Failed as error:
        sys.exit(print(f"wires.py: {error}", file=sys.stderr) or 3)
