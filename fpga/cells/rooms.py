# SPDX-License-Identifier: Apache-2.0
"""Assigns each register of a core to a part, its room, and reports the longest path that ends in each room."""

import re

# The first pattern that matches the beginning of a register's or port's name decides.
ROOMS = (
    ("host", r"u_host\.|s_axil_|irq_"),
    ("command", r"u_command\."),
    ("AXI", r"u_axi_|m_axi_"),
    ("loader", r"u_gemm\.u_load\."),
    ("sequencer", r"u_gemm\.u_sequencer\."),
    ("lanes", r"u_gemm\.u_array\.(\S*\.)?u_lane\."),
    ("array", r"u_gemm\.u_array\."),
    ("drain", r"u_gemm\.(u_drain|u_addend)"),
    ("QUANT", r"gen_quant\."),
    ("others", r""),
)
FROM, TO = "from memories", "to memories"  # no other room reports paths of memories
# Ports of memories have a dot in their names, the core's own ports have none. Rooms report paths that begin in
# registers.
SCRIPT = """proc room {{name}} {{
  set name [string map {{\\\\ {{}}}} $name]
{tests}
}}
proc name {{object}} {{ return [string map {{\\\\ {{}}}} [get_property $object full_name]] }}
proc told {{room words}} {{
  puts "room $room"
  eval report_checks -path_delay max $words
}}
set reads {{}}
set writes {{}}
foreach port [all_inputs] {{ if {{[string match *.rdata_o* [name $port]]}} {{ lappend reads $port }} }}
foreach port $data {{
  if {{[string match *.* [name $port]]}} {{ lappend writes $port }} else {{ lappend ends([room [name $port]]) $port }}
}}
if {{[llength $reads]}} {{ set_input_delay -clock clk {read} $reads }}
if {{[llength $writes]}} {{ set_output_delay -clock clk {write} $writes }}
foreach pin [all_registers -data_pins] {{ lappend ends([room [name $pin]]) $pin }}
set begins [all_registers -clock_pins]
foreach {{room found}} [array get ends] {{ told $room [list -from $begins -to $found] }}
if {{[llength $reads]}} {{ told {{{from_}}} [list -from $reads] }}
if {{[llength $writes]}} {{ told {{{to}}} [list -from $begins -to $writes] }}
puts "room core"
report_checks -path_delay max
"""


def script(times):
    """Returns the OpenSTA commands that follow those of any unit, which have set `data` to the output ports. times: a
    memory's delay from the clock to its read data, and its setup time of address and write data, in ns."""
    tests = "\n".join(
        f"  if {{[regexp {{^({pattern})}} $name]}} {{ return {room} }}" for room, pattern in ROOMS if pattern
    )
    last = f"  return {ROOMS[-1][0]}"
    return SCRIPT.format(tests=f"{tests}\n{last}", read=times[0], write=times[1], from_=FROM, to=TO)


def without_brackets(netlist):
    """Renames the netlist's ports gen[0].rdata_o to gen<0>.rdata_o, because OpenSTA 2.0 takes the brackets for the
    index of a bus, and gives such a port no delay."""
    ports = re.findall(r"^ *(?:input|output) (?:\[[^]]*\] )?(\\\S*\[\S*) ;", netlist, re.M)
    names = {port: port.replace("[", "<").replace("]", ">") for port in ports}
    return re.sub(r"\\\S+", lambda name: names.get(name[0], name[0]), netlist)


def register(name):
    """Returns the RTL's name: a cell's name consists of those of its register and bit, a dollar sign, and its kind."""
    return re.sub(r"\$_\w*$", "", name.replace("\\", "")).replace("<", "[").replace(">", "]")


def read(said, period):
    """Returns [{room, delay_ns, from, to}] from OpenSTA's output, in the order of ROOMS and then for paths of
    memories."""
    found = {}
    for part in re.split(r"^room ", said, flags=re.M)[1:]:
        room = part.split("\n", 1)[0]
        ends = [re.search(rf"^{end}: (\S+)", part, re.M) for end in ("Startpoint", "Endpoint")]
        slack = re.search(r"(-?[0-9.]+) +slack", part)
        if all(ends) and slack:
            found[room] = {
                "room": room,
                "delay_ns": round(period - float(slack[1]), 4),
                "from": register(ends[0][1]),
                "to": register(ends[1][1]),
            }
    return [found[room] for room in (*(room for room, _ in ROOMS), FROM, TO) if room in found]
