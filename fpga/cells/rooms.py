# SPDX-License-Identifier: Apache-2.0
"""The rooms of a core: which part each of its registers belongs to, and the longest path that ends in each part."""

import re

# The first pattern that a register's or a port's name has at its beginning decides.
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
FROM, TO = "from memories", "to memories"  # paths that begin at a memory are told there alone
# A memory's ports have a name with a full stop, the core's own have none.
# Rooms are told of paths that begin in registers.
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
    """OpenSTA's commands behind those of any unit; `data` has the ports that are outputs. times: of a memory, in ns:
    from the clock to what it reads, and from its address and data to the clock."""
    tests = "\n".join(
        f"  if {{[regexp {{^({pattern})}} $name]}} {{ return {room} }}" for room, pattern in ROOMS if pattern
    )
    last = f"  return {ROOMS[-1][0]}"
    return SCRIPT.format(tests=f"{tests}\n{last}", read=times[0], write=times[1], from_=FROM, to=TO)


def without_brackets(netlist):
    """The netlist, whose ports are named gen<0>.rdata_o and not gen[0].rdata_o: OpenSTA 2.0 takes the brackets of the
    latter for the index of a bus, and gives such a port no delay."""
    ports = re.findall(r"^ *(?:input|output) (?:\[[^]]*\] )?(\\\S*\[\S*) ;", netlist, re.M)
    names = {port: port.replace("[", "<").replace("]", ">") for port in ports}
    return re.sub(r"\\\S+", lambda name: names.get(name[0], name[0]), netlist)


def register(name):
    """What the RTL calls it: a cell's name is its register's, its bit's, and behind a dollar sign that of its kind."""
    return re.sub(r"\$_\w*$", "", name.replace("\\", "")).replace("<", "[").replace(">", "]")


def read(said, period):
    """[{room, delay_ns, from, to}], as ROOMS are, then the paths of memories; only what there is.
    said: OpenSTA's words."""
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
