# SPDX-License-Identifier: Apache-2.0
"""Measures the energy of a netlist, from a simulation at zero delay and the library's tables.

A toggle of an output costs the table's energy for the input that has changed, in the state of the other inputs, and
half of the load's capacitance times volts squared. An input that changes without an output costs its own energy. A load
is the pins on a net, without wires; libraries.toml gives the slew of inputs. OpenSTA's report_power is not used,
because version 2.0.17 adds the energies of rise and fall for each toggle, and those of every input: an XOR counts four
times.
"""

import json
import math
import pathlib
import re
import shutil
import statistics
import tempfile

import contracts
import flow
import gates
import netlist as netlists
import stimulus as stimuli
import toolbox
from library import Library
from stimulus import BLOCK, Stimulus

STIMULI = {
    "ufp4_dot": stimuli.dot,
    "ufp4_pe": stimuli.pe,
    "pe_shared": contracts.shared,
    "ufp4_pe_fp32": contracts.fp32,
    "ufp4_pe_nv": contracts.nv,
    "ufp4_lane": stimuli.recorded("lane"),
    **{
        unit: stimuli.recorded(unit)
        for unit in ("quant_block", "quant_block_mixed", "quant_serial_block", "quant_serial_block_mixed")
    },
}
SOURCES = [
    (pathlib.Path(__file__).parent / f"{name}.py").read_text() for name in ("energy", "gates", "liberty", "netlist")
]
# The parts of a row's energy, and two that external drivers pay: the capacitance of clock pins, and of pins on inputs.
PARTS = ("gates", "flip_flops_data", "flip_flops_clock", "leakage")
OUTSIDE = ("clock_pins", "input_pins")


def models(library, tools, cache):
    """Returns a folder with cells.v: the library's cells for simulation."""
    gate = gates.model(library.settings["gate"]) if "gate" in library.settings else ""
    text = (
        "".join(f"read_liberty -ignore_miss_func cells/{file.name}\n" for file in library.files)
        + "write_verilog -noattr cells.v\n"
    )

    def make(folder):
        flow.link(library, folder)
        (folder / "cells.ys").write_text(text)
        tools.run([tools.yosys, "-q", "-s", "cells.ys"], 300, folder)
        if gate:
            known = (folder / "cells.v").read_text()
            kept = re.sub(rf"^module {library.settings['gate'][0]}\(.*?^endmodule\n", "", known, flags=re.M | re.S)
            (folder / "cells.v").write_text(kept + gate)
        shutil.rmtree(folder / "cells")

    return cache.get(["cells", text, gate, tools.versions, library.mark()], make)[0]


class Model:
    """A cell type with its loads, which gives the joules of a change of state. A state has one bit per pin."""

    def __init__(self, cell, loads, units, slew):
        """loads: {output: in the library's units}"""
        self.cell, self.loads, self.units, self.slew = cell, loads, units, slew
        self.pins = list(cell.pins)
        self.clocked = any(pin.clock for pin in cell.pins.values())
        self.gate = cell.gate
        self.known = {}

    def change(self, old, new):
        """Returns the joules (of data, of clock pins)."""
        if (old, new) not in self.known:
            self.known[old, new] = self.work_out(old, new)
        return self.known[old, new]

    def work_out(self, old, new):
        before, after = ({pin: state >> i & 1 for i, pin in enumerate(self.pins)} for state in (old, new))
        changed = [pin for pin in self.pins if before[pin] != after[pin]]
        outputs = [pin for pin in changed if self.cell.pins[pin].output]
        data = clock = 0.0
        for pin in outputs:
            inputs = [other for other in changed if not self.cell.pins[other].output]
            data += self.mean(self.cell.pins[pin].energies, inputs, after, after[pin], self.loads[pin])
            data += self.loads[pin] * self.units.volts**2 / 2
        for pin in changed:
            known = self.cell.pins[pin]
            if known.clock:
                # The edge acts on the state before it, because data that it changes arrive later.
                clock += self.mean(known.energies, [None], before, after[pin], 0.0)
            elif not known.output and (self.clocked or not outputs):
                data += self.mean(known.energies, [None], after, after[pin], 0.0)
        return data * self.units.joules, clock * self.units.joules

    def mean(self, energies, related, state, edge, load):
        """Returns the mean energy over the groups of these pins whose condition holds, or if none does, over those
        without a condition."""
        own = [one for one in energies if one.related in related and edge in one.tables]
        true = [one for one in own if one.when and one.when(state)] or [one for one in own if not one.when]
        if not true and related != [None]:
            true = own or [one for one in energies if edge in one.tables]
        return sum(one.tables[edge].at(self.slew, load) for one in true) / len(true) if true else 0.0


def loads_of(netlist, cells):
    """Returns {net: capacitance of the pins that it drives}."""
    out = {}
    for cell, pins in netlist.cells.values():
        for pin, net in pins.items():
            if not cells[cell].pins[pin].output:
                out[net] = out.get(net, 0.0) + cells[cell].pins[pin].capacitance
    return out


class Activity:
    """The instances of a netlist, followed through a dump."""

    def __init__(self, netlist, cells, units, slew, dump):
        loads, models = loads_of(netlist, cells), {}
        nets = {net for _, pins in netlist.cells.values() for net in pins.values() if "'" not in net}
        missing = sorted(nets - set(dump.nets))
        if missing:
            raise toolbox.Failed(f"the simulation has no net {missing[0]}, and {len(missing) - 1} more")
        self.instances, self.states = [], []
        self.places = [[] for _ in range(dump.size)]  # for each bit: [(instance, bit of its state)]
        driven = set()
        for name, (cell, pins) in netlist.cells.items():
            own = {pin: loads.get(pins.get(pin), 0.0) for pin, known in cells[cell].pins.items() if known.output}
            key = (cell, tuple(sorted(own.items())))
            if key not in models:
                models[key] = Model(cells[cell], own, units, slew)
            state = 0
            for i, pin in enumerate(models[key].pins):
                net = pins.get(pin, "")
                if "'" in net:
                    state |= int(net[-1] == "1") << i
                elif net:
                    self.places[dump.nets[net]].append((len(self.instances), 1 << i))
                    if cells[cell].pins[pin].output:
                        driven.add(dump.nets[net])
            self.instances.append(models[key])
            self.states.append(state)
        self.outside = {
            dump.nets[net]: capacitance
            for net, capacitance in loads.items()
            if "'" not in net and dump.nets[net] not in driven and net != "clk_i"
        }
        clock_pins = {}
        for cell, pins in netlist.cells.values():
            for pin, net in pins.items():
                if cells[cell].pins[pin].clock and "'" not in net and dump.nets[net] not in driven:
                    clock_pins[dump.nets[net]] = clock_pins.get(dump.nets[net], 0.0) + cells[cell].pins[pin].capacitance
        self.clock_pins = clock_pins
        self.half = units.volts**2 / 2 * units.joules

    def follow(self, dump):
        """Returns ({part: joules} over the whole dump, {cycle since time 0: joules that began with its edge})."""
        out, cycles = dict.fromkeys((*PARTS, *OUTSIDE), 0.0), {}
        values, first = [None] * dump.size, True
        for moment in dump.moments():
            changed = [(bit, value) for bit, value in moment if values[bit] != value]
            touched = {}
            for bit, value in changed:
                values[bit] = value
                for instance, mask in self.places[bit]:
                    touched.setdefault(instance, self.states[instance])
                    self.states[instance] = self.states[instance] & ~mask | (mask if value else 0)
            if first:
                if None in values:
                    raise toolbox.Failed("a net has no value in the simulation")
                first = False
                continue
            for bit, _ in changed:
                out["input_pins"] += self.outside.get(bit, 0.0) * self.half
                out["clock_pins"] += self.clock_pins.get(bit, 0.0) * self.half
            spent = 0.0
            for instance, old in touched.items():
                model = self.instances[instance]
                data, clock = model.change(old, self.states[instance])
                out["flip_flops_clock" if model.gate else "flip_flops_data" if model.clocked else "gates"] += data
                out["flip_flops_clock"] += clock
                spent += data + clock
            cycle = netlists.cycle_of(dump.time)
            cycles[cycle] = cycles.get(cycle, 0.0) + spent
        return out, cycles


def means(values, samples):
    """Returns a list of the samples' means for each way to split the window, in the order in which samples begin."""
    return [
        [statistics.fmean(v for v, mark in zip(values, way, strict=True) if mark == one) for one in dict.fromkeys(way)]
        for way in samples
    ]


def standard_error(found):
    """Returns the standard error of the mean from the means of samples, or None without samples. If blocks of two
    tensors meet, each tensor adds its variance, which also contains their common part."""
    return math.sqrt(sum(statistics.variance(one) / len(one) for one in found)) if found else None


def measure(netlist, library, folder, stimulus, period):
    """Returns {part: joules per cycle}, and as samples the means of all parts but OUTSIDE. period: in ns."""
    cells, units = library.cells({cell for cell, _ in netlist.cells.values()})
    with open(folder / "toggles.vcd") as file:
        dump = netlists.Dump(file)
        found, cycles = Activity(netlist, cells, units, library.settings["transition"], dump).follow(dump)
    out = {part: joules / len(stimulus.window) for part, joules in found.items()}
    leakage = sum(cells[cell].leakage for cell, _ in netlist.cells.values()) * period * 1e-9
    out["leakage"] = leakage
    out["samples"] = means([cycles.get(cycle, 0.0) + leakage for cycle in stimulus.window], stimulus.samples)
    return out


CHECK = """module check(clk_i, a_i, y_o, z_o);
  input clk_i;
  input [1:0] a_i;
  output [1:0] y_o;
  output z_o;
  wire q;
  DFF r0 (
    .CLK(clk_i),
    .D(a_i[1]),
    .Q(q)
  );
  INV i0 (
    .A(q),
    .Y(y_o[1])
  );
  INV i1 (
    .A(y_o[1]),
    .Y(y_o[0])
  );
  INV i2 (
    .A(a_i[0]),
    .Y(z_o)
  );
endmodule
"""
# The netlist's energies in femtojoules, by check.lib. a_i[1] toggles in every second cycle, a_i[0] in every fourth.
#   r0: 8 a cycle for its clock; a toggle costs (2 + 6) / 2 and half of the load of 4 fF at 1 V, and 1 for D
#   i0: a toggle costs (2 + 4) / 2 and half of the 4 fF of i1's pin; i1 and i2: a toggle costs 3
#   clock pins: 3 fF a cycle; input pins: a toggle costs half of the capacitance of D or of i2's pin
#   leakage: 1.5 + 3 * 0.5 uW for 2 ns
CHECKED = {
    "gates": 0.5 * (5 + 3) + 0.25 * 3,
    "flip_flops_data": 0.5 * (6 + 1),
    "flip_flops_clock": 8,
    "clock_pins": 3,
    "input_pins": 0.5 * 1 + 0.25 * 2,
    "leakage": 6,
}


def check_itself(tools, cache, seconds):
    """Measures a netlist whose energy is known from its library's tables."""
    library = Library([pathlib.Path(__file__).parent / "check.lib"], cache.folder)
    pattern = [t >> 1 & 1 for t in range(80)], [t >> 2 & 1 for t in range(80)]
    stimulus = Stimulus({"a_i": [slow | fast << 1 for fast, slow in zip(*pattern)]}, range(8, 72), 0, {})
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "netlist.v").write_text(CHECK)
        found = run(pathlib.Path(place) / "netlist.v", library, stimulus, 2.0, tools, cache, seconds)
    for part, value in CHECKED.items():
        if abs(found[part] * 1e15 - value) > 1e-3 * value:
            raise toolbox.Failed(
                f"check of energies: {part} of the check's netlist is {found[part] * 1e15:g} fJ a cycle, "
                f"its library says {value:g}"
            )


def run(path, library, stimulus, period, tools, cache, seconds):
    """Returns the result of `measure` for a netlist and a stimulus, cached by their contents."""
    netlist = netlists.read(path.read_text())
    key = [path.read_text(), repr(stimulus), period, library.mark(), tools.versions, SOURCES]

    def make(folder):
        shutil.copy(path, folder / "netlist.v")
        cells = (models(library, tools, cache) / "cells.v").read_text()
        (folder / "cells.v").write_text(started(cells) if stimulus.from_zero else cells)
        check(
            stimulus,
            netlists.simulate(
                netlist, folder, stimulus, tools, seconds, list(stimulus.outputs) or netlists.writes(netlist)
            ),
        )
        found = measure(netlist, library, folder, stimulus, period)
        for name in ("toggles.vcd", "testbench.vvp", "cells.v", "netlist.v"):
            (folder / name).unlink()
        (folder / "energy.json").write_text(json.dumps(found))

    return json.loads((cache.get(["energy", key], make)[0] / "energy.json").read_text())


def started(cells):
    """Returns the models of the cells with every flip-flop initialized to 0."""
    return re.sub(r"^  reg (\w+);$", r"  reg \1 = 0;", cells, flags=re.M)


def check(stimulus, printed):
    """Checks that the netlist behaves like the RTL."""
    if stimulus.outputs:
        check_outputs(stimulus, printed)
    else:
        check_sums(stimulus, printed)


def check_outputs(stimulus, printed):
    """Checks that the outputs equal those of the unit in the core."""
    for t, line in zip(stimulus.window, printed[stimulus.window.start : stimulus.window.stop], strict=True):
        for (name, values), word in zip(stimulus.outputs.items(), line.split(), strict=True):
            wanted = values[t - stimulus.window.start]
            if wanted is not None and (set(word) & set("xz") or int(word, 16) != wanted):
                raise toolbox.Failed(f"the netlist's {name} is {word} in cycle {t}, the core's is {wanted:x}")


def written(word, contract):
    """Returns the sum that a PE writes as `word`; for contracts other than exact the FP32 pattern."""
    if contract != "exact":
        return word
    word += sum((word >> (64 + i) & 1) << (16 * (i + 1)) for i in range(3))  # the carries of ufp4_sum_exact
    return (word & 2**64 - 1) - ((word >> 63 & 1) << 64)


def check_sums(stimulus, printed):
    """Checks that the sums which PEs have written equal those of their blocks' products."""
    found = {}
    for line in printed:
        words = line.split()
        for pe in range(len(words) // 3):
            enable, index, word = words[3 * pe : 3 * pe + 3]
            if enable == "1" and not set(index + word) & set("xz"):
                found[stimuli.SPACE * pe + int(index, 16)] = written(int(word, 16), stimulus.contract)
    for index, value in stimulus.sums.items():
        if found.get(index) != value:
            raise toolbox.Failed(f"the netlist's sum {index} is {found.get(index)}, its blocks' is {value}")


def of_case(path, row, case, library, tools, cache, seconds):
    """Returns femtojoules per MAC of a row in one of its cases, or for lanes and QUANT per element; without load, per
    MAC or element that full load would compute in the same time."""
    data, elem, load = case
    stimulus = (STIMULI.get(row.name) or STIMULI[row.module])(data, elem, load)
    megahertz = library.settings["megahertz"]
    joules = run(path, library, stimulus, 1e3 / megahertz, tools, cache, seconds)
    macs = stimulus.macs / len(stimulus.window) or BLOCK * row.of
    parts = {part: 1e15 * joules[part] / macs for part in (*PARTS, *OUTSIDE)}
    samples = [[1e15 * value / macs for value in way] for way in joules["samples"]]
    out = {"data": data, "elements": elem, "load": load, "energy_fj": sum(parts[part] for part in PARTS)}
    return (
        out
        | ({"error_fj": standard_error(samples), "samples_fj": samples} if samples else {})
        | {f"{part}_fj": value for part, value in parts.items()}
    )
