# SPDX-License-Identifier: Apache-2.0
"""Tests fpga/boards/kv260 without Vivado: Tcl, overlays and page against each other and against the RTL.

usage: test_kv260.py ROOT PROPERTY"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
BOARD = ROOT / "fpga/boards/kv260"
TCL, PAGE = (BOARD / "vivado.tcl").read_text(), (ROOT / "docs/howto/kv260.md").read_text()
OVERLAY, MEMORY, CLOCK = ((BOARD / f"{name}.dtso").read_text() for name in ("kv260", "memory", "clock"))

# Stubs of Vivado's commands print what is connected and set.
STUBS = """
foreach name {create_project update_ip_catalog create_bd_design apply_bd_automation validate_bd_design \
save_bd_design add_files
    launch_runs wait_on_run open_run read_verilog read_xdc synth_design opt_design place_design route_design \
write_bitstream report_utilization report_timing_summary write_hw_platform assign_bd_address} \
{ proc $name args "puts \\"$name \\$args\\"" }
foreach name {get_board_parts get_ipdefs get_files current_project current_fileset get_bd_addr_spaces get_bd_addr_segs \
get_bd_pins
    get_bd_intf_pins make_wrapper get_timing_paths get_runs} { proc $name args {return [lindex $args end]} }
proc create_bd_cell args { return [lindex $args end] }
proc get_property args {
    set what [expr {[lindex $args 0] eq "SLACK" ? [lindex $args end] : [lindex $args 0]}]
    return [expr {[info exists ::slacks($what)] ? $::slacks($what) : [lindex $args end]}]
}
foreach name {set_property connect_bd_net connect_bd_intf_net} { proc $name args "puts \\"$name \\$args\\"" }
rename file real_file
proc file args { if {[lindex $args 0] ne "copy"} { return [real_file {*}$args] } }
"""


def check(condition, text):
    if not condition:
        sys.exit(text)


def runs(*parameters, board="kv260", **slacks):
    """Runs the Tcl and returns what it does, one line per command. Slacks that are not given are 0.5 ns."""
    found = {"STATS.WNS": 0.5, "STATS.WHS": 0.5, "-setup": 0.5, "-hold": 0.5} | slacks
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "run.tcl"
        script.write_text(
            f"set argv [list {{{' '.join(parameters)}}}]\nset argc {len(parameters[:1])}\n"
            f"array set slacks {{{' '.join(f'{name} {slack}' for name, slack in found.items())}}}\n"
            f"{STUBS}\nsource {BOARD.parent}/{board}/vivado.tcl\n"
        )
        return subprocess.run(["tclsh", script], capture_output=True, text=True, timeout=600)


def demand(tool, package):
    if shutil.which(tool) is None:
        print(f"skipped: needs {tool} of Debian's {package}")
        sys.exit(0)


def slow(test):
    return test


def test_the_overlays_compile():
    demand("dtc", "device-tree-compiler")
    for name in ("kv260", "memory", "clock"):
        done = subprocess.run(
            ["dtc", "-@", "-I", "dts", "-O", "dtb", "-o", "/dev/null", BOARD / f"{name}.dtso"],
            capture_output=True,
            text=True,
            timeout=600,
        )
        wrong = [line for line in done.stderr.splitlines() if "avoid_unnecessary_addr_size" not in line]
        check(done.returncode == 0 and not wrong, f"{name}: {done.stderr}")


def test_addresses_are_one():
    """Tcl, overlays and page must agree, and the memory must lie within HP0's range."""
    registers = int(re.search(r"^set registers (0x\w+)", TCL, re.M)[1], 16)
    regions = [int(x, 16) for x in re.findall(r"0x[0-9a-f]+", re.search(r"^    reg = (.*)$", OVERLAY, re.M)[1])]
    memory = [int(x, 16) for x in re.findall(r"0x[0-9a-f]+", re.search(r"^      reg = (.*)$", MEMORY, re.M)[1])]
    check(regions[:4] == [0, registers, 0, 0x1000], f"registers: {regions} and {registers:#x}")
    check(regions[4:] == memory, f"memory: {regions[4:]} and {memory}")
    check(f"ufp4@{registers:x}" in OVERLAY and f"ufp4@{memory[1]:x}" in MEMORY, "names of the nodes")
    check("-offset 0x0 -range 2G" in TCL and memory[1] + memory[3] <= 0x80000000, "the memory is not in HP0's 2 GB")
    for number in (registers, memory[1], memory[3]):
        check(f"{number:#x}" in PAGE, f"the page does not have {number:#x}")
    clock = int(re.search(r"^set clock_mhz (\d+)", TCL, re.M)[1])
    check(f"assigned-clock-rates = <{clock * 1000000}>" in CLOCK and f"{clock} MHz" in PAGE, "clock")


def test_what_is_connected_is_there():
    """Every pin of the core in the Tcl is one of ufp4_axi.v, and so is every parameter."""
    demand("tclsh", "tcl")
    rtl = (ROOT / "fpga/package/ufp4_axi.v").read_text()
    done = runs("Rows=4", "Cols=4", "TileRows=8", "TileCols=8", "Chunk=16", "BusBytes=16", "Quant=16")
    check(done.returncode == 0, done.stdout + done.stderr)
    for pin in set(re.findall(r"\bufp4/(\w+)", done.stdout)):
        check(
            re.search(rf"(input|output) .*\b{pin}\b" if pin not in ("s_axil", "m_axi") else rf"\b{pin}_awvalid", rtl),
            f"no pin {pin}",
        )
    check(
        {"clk", "rst_n", "irq", "s_axil", "m_axi"} <= set(re.findall(r"\bufp4/(\w+)", done.stdout)),
        f"a pin is left open: {done.stdout}",
    )
    found = re.findall(r"set_property CONFIG\.(\w+) (\d+) ufp4", done.stdout)
    check(("Rows", "4") in found and len(found) == 7, f"parameters: {found}")
    for name, _ in found:
        check(re.search(rf"parameter {name} = ", rtl), f"no parameter {name}")


def test_without_arguments_it_is_the_configuration_small():
    demand("tclsh", "tcl")
    named = (ROOT / "rtl/gen/configurations.cmake").read_text()
    small = dict(re.findall(r"-G(\w+)=(\d+)", re.search(r"CONFIGURATION_small (.*)\)", named)[1]))
    done = runs()
    set_here = dict(re.findall(r"set_property CONFIG\.(\w+) (\d+) ufp4", done.stdout))
    check(set_here.items() <= small.items() and len(set_here) == 7, f"{set_here} and {small}: {done.stderr}")


def test_rejects_a_core_that_misses_its_timing():
    """A core that misses setup or hold gives no bitstream, on both boards."""
    demand("tclsh", "tcl")
    for board, names in (("kv260", ("STATS.WNS", "STATS.WHS")), ("arty_a7", ("-setup", "-hold"))):
        done = runs(board=board)
        check(done.returncode == 0, f"{board}: {done.stdout}{done.stderr}")
        for name, words in zip(names, ("a clock is too fast", "its hold time is not met"), strict=True):
            for slack in (-0.001, "none"):
                done = runs(board=board, **{name: slack})
                check(done.returncode != 0 and words in done.stderr, f"{board}, {name} {slack}: {done.stderr}")


@slow
def test_parameters_that_are_written_are_legal():
    """The RTL accepts the parameters of the Tcl, of its head and of the page."""
    demand("verilator", "verilator")
    written = set(re.findall(r'"(Rows=[\w= ]+)"', TCL + PAGE))
    check(len(written) >= 2, f"found: {written}")
    for words in written:
        done = subprocess.run(
            [
                "verilator",
                "--lint-only",
                "-Wno-lint",
                "-Wno-fatal",
                "-Werror-USERERROR",
                "--top-module",
                "ufp4_axi",
                *(f"-G{word}" for word in words.split()),
                "-F",
                ROOT / "rtl/rtl.f",
                ROOT / "fpga/package/ufp4_axi.v",
            ],
            capture_output=True,
            text=True,
            timeout=3600,
        )
        check(done.returncode == 0, f"{words}: {done.stderr[-600:]}")


def test_rejects_what_is_no_parameter():
    demand("tclsh", "tcl")
    done = runs("Rows=x")
    check(done.returncode != 0 and "'Rows=x' is not PARAMETER=NUMBER" in done.stderr, done.stderr)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
