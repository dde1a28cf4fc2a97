# SPDX-License-Identifier: Apache-2.0
"""Energy of a netlist: the toggles of its nets, each instance's weighted by the difference of two reports of OpenSTA, with no and
with one toggle of every net a cycle; that is linear. OpenSTA 2.0.17 reads no dump, and sets no activity of a single pin."""
import json
import pathlib
import re
import shutil

import flow
import liberty
import netlist as netlists

REPORT = """foreach file {{{files}}} {{ read_liberty $file }}
read_verilog netlist.v
link_design {top}
set_cmd_units -time ns
create_clock -name clk -period {period} {clock}
set_input_delay -clock clk 0 [get_ports {{{inputs}}}]
foreach activity {{0 1}} {{
  set_power_activity -global -activity $activity
  puts "activity $activity"
  report_power -instances [get_cells *] -digits 9
}}
"""
PARTS = ("gates", "flip_flops_data", "flip_flops_clock", "clock_pins", "leakage")


def models(library, tools, cache):
    """A folder with cells.v: the library's cells for simulation."""
    text = "".join(f"read_liberty -ignore_miss_func cells/{file.name}\n" for file in library.files) + "write_verilog -noattr cells.v\n"

    def make(folder):
        flow.link(library, folder)
        (folder / "cells.ys").write_text(text)
        tools.run([tools.yosys, "-q", "-s", "cells.ys"], 300, folder)
        shutil.rmtree(folder / "cells")

    return cache.get(["cells", text, tools.versions, library.mark()], make)[0]


def weights(netlist, library, folder, period, tools, seconds):
    """{instance: (watts when no net toggles, watts more at a toggle of every net a cycle, watts that leak)}"""
    clock = "[get_ports clk_i]" if "clk_i" in netlist.ports else ""
    others = " ".join("{%s}" % name for name, (direction, _) in netlist.ports.items() if direction == "input" and name != "clk_i")
    (folder / "power.tcl").write_text(REPORT.format(files=" ".join(map(str, library.files)), top=netlist.top, period=period, clock=clock, inputs=others))
    said = tools.run([tools.sta, "-no_splash", "-exit", "power.tcl"], seconds, folder)
    runs = [{}, {}]
    for line in said.splitlines():
        if line.startswith("activity "):
            run = runs[int(line.split()[1])]
        found = re.match(r" +(\S+) +(\S+) +(\S+) +(\S+) (\S.*)$", line)
        if found and re.match(r"[-\d]", found[1]):
            run[netlists.plain(found[5].replace("\\", "") if found[5] not in netlist.cells else found[5])] = (float(found[3]), float(found[4]))
    missing = [name for name in netlist.cells if name not in runs[0] or name not in runs[1]]
    if missing:
        raise flow.Failed(f"OpenSTA reports no power of {missing[0]}, and {len(missing) - 1} more")
    return {name: (runs[0][name][1] - runs[0][name][0], runs[1][name][1] - runs[0][name][1], runs[0][name][0]) for name in netlist.cells}


def outputs_of(netlist, cells):
    """{instance: the nets that it drives}; a net that no dump has cannot be one."""
    return {name: [net for pin, net in pins.items() if cells[cell].pins[pin].direction == "output"] for name, (cell, pins) in netlist.cells.items()}


def measure(netlist, library, folder, toggles, cycles, period, tools, seconds):
    """{part: joules a cycle}: see PARTS. period: in ns."""
    cells = liberty.cells(library.files, {cell for cell, _ in netlist.cells.values()})
    driven = outputs_of(netlist, cells)
    nets = {net for _, pins in netlist.cells.values() for net in pins.values() if "'" not in net}
    missing = sorted(nets - set(toggles))
    if missing:
        raise flow.Failed(f"the simulation has no net {missing[0]}, and {len(missing) - 1} more")
    out = dict.fromkeys(PARTS, 0.0)
    for name, (still, more, leaks) in weights(netlist, library, folder, period, tools, seconds).items():
        cell = cells[netlist.cells[name][0]]
        own = [toggles[net] for net in driven[name]]
        # With several outputs their mean: the reports know instances, not pins.
        active = more * period * 1e-9 * (sum(own) / len(own) if own else 0) / cycles
        clocked = cell.clock_pins()
        out["flip_flops_data" if clocked else "gates"] += active
        out["leakage"] += leaks * period * 1e-9
        if clocked:
            # Two toggles of the clock a cycle are in the report; one of a net that is no port may have fewer.
            rate = sum(clock_rate(netlist.cells[name][1][pin], toggles, cycles) for pin in clocked) / len(clocked)
            out["flip_flops_clock"] += still * period * 1e-9 * rate
            out["clock_pins"] += sum(cell.pins[pin].capacitance * clock_rate(netlist.cells[name][1][pin], toggles, cycles) for pin in clocked) * cell.volts ** 2
    return out


def clock_rate(net, toggles, cycles):
    """Of all edges of the clock, how many a net has."""
    return toggles[net] / (2 * cycles)
