# SPDX-License-Identifier: Apache-2.0
"""A netlist in yosys's format (one cell or declaration per group of lines, all pins on nets or bits of nets), simulated
by Icarus Verilog at zero delay."""

import dataclasses
import re

from toolbox import Failed

NAME = r"(?:\\\S+ |[A-Za-z_][\w$]*)"


@dataclasses.dataclass
class Netlist:
    top: str
    ports: dict  # name: (direction, width)
    cells: dict  # instance: (cell, {pin: net})


def plain(name):
    """Removes the escape: `\\a.b [3]` is `a.b[3]`."""
    return re.sub(r"^\\(\S+) ", r"\1", name.strip() + " ").replace(" ", "")


def read(text):
    top = re.search(rf"^module ({NAME})", text, re.M)[1].strip()
    ports = {}
    for direction, high, name in re.findall(rf"^  (input|output) (?:\[(\d+):0\] )?({NAME});", text, re.M):
        ports[plain(name)] = (direction, int(high or 0) + 1)
    cells = {}
    for cell, instance, pins in re.findall(
        rf"^  ((?!input|output|wire|assign|reg|module)\w+) ({NAME}) ?\(\n(.*?)\n  \);", text, re.M | re.S
    ):
        cells[plain(instance)] = (
            cell,
            {pin: plain(net) for pin, net in re.findall(r"\.(\w+)\((.*?)\)(?:,|$)", pins, re.M)},
        )
    if not cells or not ports:
        raise Failed("the netlist has no cells")
    return Netlist(top, ports, cells)


def memories(netlist):
    """Returns prefixes of the ports of ufp4_sram."""
    return sorted({name.removesuffix(".rdata_o") for name in netlist.ports if name.endswith(".rdata_o")})


def writes(netlist):
    """Returns the ports through which PEs write their first memories, PE after PE, or none."""
    banks = [name.removesuffix("we_i") for name in netlist.ports if name.endswith("u_banks.u_bank0.we_i")]
    place = lambda bank: [int(number) for number in re.findall(r"\[(\d+)\]", bank)]
    return [bank + name for bank in sorted(banks, key=place) for name in ("we_i", "waddr_i", "wdata_i")]


def inputs(netlist):
    """Returns [(name, width)] of the ports that a stimulus drives."""
    return [
        (name, width)
        for name, (direction, width) in netlist.ports.items()
        if direction == "input" and name != "clk_i" and not name.endswith(".rdata_o")
    ]


def words(netlist, stimulus, cycles):
    """Returns one hexadecimal number per cycle, with the first port in its lowest bits. stimulus: {port: [value]},
    missing ports are 0."""
    unknown = set(stimulus) - {name for name, _ in inputs(netlist)}
    if unknown:
        raise Failed(f"the netlist has no input {sorted(unknown)[0]}")
    lines, total = [], sum(width for _, width in inputs(netlist))
    for t in range(cycles):
        word, at = 0, 0
        for name, width in inputs(netlist):
            word |= (stimulus[name][t] if name in stimulus else 0) << at
            at += width
        lines.append(f"{word:0{(total + 3) // 4}x}\n")
    return "".join(lines)


def testbench(netlist, cycles, window, show):
    """Writes a testbench: inputs change after the clock edge, as registers do; memories behave as ufp4_sram; all nets
    are dumped in the cycles of the window. show: outputs that are printed before each edge, as hexadecimal numbers."""
    escape = lambda name: name if re.fullmatch(r"\w+", name) else f"\\{name} "
    total = sum(width for _, width in inputs(netlist))
    out, at = [], 0
    connected, declared = [], []
    for name, (direction, width) in netlist.ports.items():
        if name == "clk_i" or name in (f"{prefix}.clk_i" for prefix in memories(netlist)):
            connected.append(f".{escape(name)}({'clk' if name == 'clk_i' else ''})")
        elif direction == "input" and not name.endswith(".rdata_o"):
            connected.append(f".{escape(name)}(now[{at + width - 1}:{at}])")
            at += width
        else:
            declared.append(f"  {'reg' if direction == 'input' else 'wire'} [{width - 1}:0] {escape(name)};")
            connected.append(f".{escape(name)}({escape(name)})")
    for prefix in memories(netlist):
        p = lambda name: f"\\{prefix}.{name} "
        width, deep = netlist.ports[f"{prefix}.rdata_o"][1], netlist.ports[f"{prefix}.waddr_i"][1]
        out += [
            f"  reg [{width - 1}:0] \\{prefix}.mem [0:{2**deep - 1}];",
            f"  initial {p('rdata_o')} = 0;",
            f"  always @(posedge clk) begin if ({p('we_i')}) \\{prefix}.mem [{p('waddr_i')}] <= {p('wdata_i')};",
            f"    if ({p('re_i')}) {p('rdata_o')} <= \\{prefix}.mem [{p('raddr_i')}]; end",
        ]
    shown = "".join(f'$write(" %h", {escape(name)}); ' for name in show)
    return "\n".join(
        [
            "`timescale 1ns/1ps",
            "module testbench;",
            "  reg clk = 0;",
            f"  reg [{total - 1}:0] now, all [0:{cycles - 1}];",
            "  integer t;",
            *declared,
            *out,
            f"  {netlist.top} u ({', '.join(connected)});",
            '  initial begin $readmemh("stimulus.hex", all); now = all[0]; $dumpfile("toggles.vcd");',
            f"    for (t = 1; t <= {cycles}; t = t + 1) begin",
            f"      if (t == {window.start + 1}) $dumpvars(1, u);",
            f"      #1 if (t == {window.stop + 1}) $dumpoff;",  # includes the last falling edge
            (
                f"      {shown}{'$display; ' if show else ''}clk = 1; now <= all[t < {cycles} ? t : {cycles - 1}]; "
                "#1 clk = 0;"
            ),
            "    end $finish; end",
            "endmodule",
            "",
        ]
    )


def cycle_of(time):
    """Returns the testbench's cycle to which this picosecond belongs, from its rising edge on."""
    return (time - 1000) // 2000


class Dump:
    """A VCD file, read once from its beginning: nets and bits of buses by name, then the changes of each moment."""

    def __init__(self, file):
        self.file, self.marks, self.nets = file, {}, {}
        self.size = 0  # number of bits; a net and its aliases are one
        self.time = 0  # the last yielded moment
        for line in file:
            if line.startswith("$var"):
                _, _, width, mark, name, *index = line.split()
                width, name = int(width), name.lstrip("\\")
                if mark not in self.marks:
                    self.marks[mark] = (self.size, width)
                    self.size += width
                at = self.marks[mark][0]
                if index and index[0] != "$end":
                    low = int(re.search(r"(\d+)\]", index[0])[1])
                    self.nets |= {f"{name}[{low + i}]": at + i for i in range(width)}
                else:
                    self.nets[name] = at
            elif line.startswith("$enddefinitions"):
                return

    def moments(self):
        """Yields lists of (bit, value), the first of all bits. X and Z are refused."""
        found = []
        for line in self.file:
            if line[0] == "#":
                if found:
                    yield found
                found, self.time = [], int(line[1:])
            elif line[0] in "01":
                found.append((self.marks[line[1:].rstrip()][0], int(line[0])))
            elif line[0] == "b":
                value, mark = line[1:].split()
                at, width = self.marks[mark]
                self.refuse(value, at)
                found += [(at + i, int(bit)) for i, bit in enumerate(reversed(value.zfill(width)))]
            elif line.startswith("$dumpoff"):
                break
            elif line[0] in "xz":
                self.refuse(line[0], self.marks[line[1:].rstrip()][0])
        if found:
            yield found

    def refuse(self, value, at):
        if set(value) - {"0", "1"}:
            raise Failed(f"{next(name for name, bit in self.nets.items() if bit == at)} is {value} in the simulation")


def simulate(netlist, folder, stimulus, tools, seconds, show=()):
    """Returns the printed lines of the netlist.v in the folder, whose cells are in cells.v; toggles.vcd has its nets in
    the window."""
    cycles = len(next(iter(stimulus.ports.values())))
    (folder / "stimulus.hex").write_text(words(netlist, stimulus.ports, cycles))
    (folder / "testbench.v").write_text(testbench(netlist, cycles, stimulus.window, show))
    tools.run(
        [tools.iverilog, "-g2005-sv", "-o", "testbench.vvp", "-s", "testbench", "testbench.v", "netlist.v", "cells.v"],
        seconds,
        folder,
    )
    printed = tools.run([tools.vvp, "-n", "testbench.vvp"], seconds, folder)
    return [line for line in printed.splitlines() if line.startswith(" ")]
