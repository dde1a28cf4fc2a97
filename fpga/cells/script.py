# SPDX-License-Identifier: Apache-2.0
"""Writes the scripts, which follow one flow for all rows: yosys with its slang reader, synth -flatten, dfflibmap, abc;
OpenSTA without wires. The ports of memories become ports of the unit; with Row.memories the memories are modules in
memories.v. In a core (Row.core) memories have delays, and rooms.py reports the delay of each room."""

import rooms

GATED = 8  # the fewest flip-flops with a common enable that get a clock gate
# Full adders with a constant input become gates, in several passes because a gate may make the next adder's input
# constant. The other full adders become cells.
CONSTANT = """module ufp4_full_adder (input a_i, b_i, c_i, output carry_no, sum_no);
  parameter _TECHMAP_CONSTMSK_a_i_ = 0;
  parameter _TECHMAP_CONSTMSK_b_i_ = 0;
  parameter _TECHMAP_CONSTMSK_c_i_ = 0;
  wire _TECHMAP_FAIL_ = !(_TECHMAP_CONSTMSK_a_i_ || _TECHMAP_CONSTMSK_b_i_ || _TECHMAP_CONSTMSK_c_i_);
  assign carry_no = ~((a_i ^ b_i) ? c_i : a_i);
  assign sum_no = ~(a_i ^ b_i ^ c_i);
endmodule
"""
CELL = """module ufp4_full_adder (input a_i, b_i, c_i, output carry_no, sum_no);
  {0} cell (.{1}(a_i), .{2}(b_i), .{3}(c_i), .{4}(carry_no), .{5}(sum_no));
endmodule
"""
# Each memory is a module with its own widths, and is written to memories.v instead of the netlist.
MEMORIES = [
    "select -set memories ufp4_sram$*",
    "proc @memories",
    "opt_clean @memories",
    "select @memories",
    "write_verilog -noattr -selected memories.v",
    "select -clear",
    "blackbox @memories",
]
DELAY = """foreach file {{{files}}} {{ read_liberty $file }}
read_verilog netlist.v
link_design {top}
set_cmd_units -time ns
set clock [get_ports -quiet clk_i]
if {{[llength $clock]}} {{ create_clock -name clk -period {period} $clock }} \
else {{ create_clock -name clk -period {period} }}
set_input_delay -clock clk 0 [all_inputs]
set data {{}}
foreach port [all_outputs] {{
  if {{![string match *clk_i [get_property $port full_name]]}} {{ lappend data $port }}
}}
set_output_delay -clock clk 0 $data
"""
END = "report_checks -path_delay max -format end\n"
PERIOD = 1000  # clock period in ns, longer than any path


def files(row, library, flow):
    """Returns the files beside the script, by name."""
    out = {}
    if flow.full_adders:
        out |= {"constant.v": CONSTANT, "cell.v": CELL.format(*library.settings["full_adder"])}
    if flow.sized:
        out["constraints"] = f"set_driving_cell {library.settings['driver']}\nset_load 1.0\n"
    return out


def boxed(row):
    """Returns the reader's option: one black box for all memories of a unit, or a module for each memory of a core."""
    return "--keep-hierarchy" if row.memories or row.core else "--blackboxed-module ufp4_sram"


def synthesis(row, library, flow):
    cells = [f"cells/{file.name}" for file in library.files]
    # A library may define its flip-flops in a separate file, and the reader of cells needs each file by name.
    liberty = " ".join(f"-liberty {file}" for file in cells)
    avoid = " ".join(f"-dont_use {pattern}" for pattern in library.settings.get("dont_use", ()))
    defines = "".join(f" -D{name}" for name in ("UFP4_CLOCK_ENABLES",) * flow.gated + row.defines)
    parameters = " ".join(f"-G{name}={value}" for name, value in row.parameters.items())
    boxes, adders, size = boxed(row), [], ""
    if flow.full_adders:
        boxes += " --blackboxed-module ufp4_full_adder"
        home = library.has_cell(library.settings["full_adder"][0])
        adders = [
            f"read_liberty -lib cells/{home.name}",
            *("techmap -map constant.v", "opt -full") * 12,
            "techmap -map cell.v",
            "techmap",
            "opt -full",
        ]
    if flow.sized:
        size = f"-constr constraints -D {library.settings['picoseconds']}"
    evert = [] if row.memories else ["tee -q -o memories.txt dump t:*ufp4_sram*", "expose -evert t:*ufp4_sram*"]
    apart = MEMORIES if row.memories or row.core else []
    # A flip-flop keeps its register's name only in its cell's name, because dfflibmap and abc make new nets.
    named = ["rename -wire t:$_*DFF*"] if row.core else []
    gate = []
    if flow.gated:
        cell, enable, clock, output, *scan = library.settings["gate"]
        gate = [
            (
                f"clockgate -pos {cell} {enable}:{clock}:{output} {' '.join(f'-tie_lo {pin}' for pin in scan)} "
                f"-min_net_size {GATED}"
            )
        ]
    return "\n".join(
        [
            (
                f"read_slang -j 1 -DSYNTHESIS{defines} --top {row.module} {parameters} {boxes} -F rtl/rtl.f "
                "rtl/pe_shared.sv"
            ),
            *apart,
            f"synth -flatten -top {row.module}",
            *adders,
            *evert,
            *gate,
            *named,
            f"dfflibmap {avoid} {liberty}",
            "opt -purge",
            f"abc {avoid} {size} {liberty}",
            "setundef -zero",
            "splitnets",
            "opt_clean -purge",
            f"tee -o area stat {liberty}",
            "write_verilog -noattr -noexpr -simple-lhs netlist.v",
            "",
        ]
    )


def delay(row, library, times):
    """Returns the script of OpenSTA. times: as in rooms.script."""
    files = " ".join(f"cells/{file.name}" for file in library.files)
    return DELAY.format(files=files, top=row.module, period=PERIOD) + (rooms.script(times) if row.core else END)
