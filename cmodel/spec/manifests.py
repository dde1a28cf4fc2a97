# SPDX-License-Identifier: Apache-2.0
"""Package descriptions of the RTL for FuseSoC and Bender, from the file list rtl/rtl.f and the version and configurations
of the specification."""
import pathlib

RTL = pathlib.Path(__file__).resolve().parents[2] / "rtl"
FPGA = RTL.parent / "fpga"
# Boards whose bitstream a flow of FuseSoC makes, and their parts. Those on an ECP5 have fpga/build.sh: yosys reads the RTL by a
# front end that FuseSoC does not know.
BOARDS = {"arty_a7": "xc7a35ticsg324-1L"}
PARAMETERS = {"rows": "Rows", "cols": "Cols", "tile_rows": "TileRows", "tile_cols": "TileCols", "chunk": "Chunk", "bus_bytes": "BusBytes",
              "contract": "Contract", "formats": "Formats", "lanes": "Lanes", "quant": "Quant"}


def sources(listed=RTL / "rtl.f"):
    lines = listed.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("//")]


def version(spec):
    return "{major}.{minor}.{patch}".format(**spec["version"])


def version_word(spec):
    v = spec["version"]
    return v["major"] << 16 | v["minor"] << 8 | v["patch"]


def parameter(name, default):
    return [f"  {name}:", "    datatype: int", f"    default: {default}", "    paramtype: vlogparam"]


def fusesoc(spec, value, note):
    """value(configuration, key) is a number, of names too."""
    out = ["CAPI=2:", f"# {note}", "# SPDX-License-Identifier: Apache-2.0", f"name: ufp4:ufp4:core:{version(spec)}",
           "description: An open 4-bit training tensor core (E1M2, INT4, E2M1; block scales; RHT; stochastic rounding)", "",
           "filesets:", "  rtl:", "    files:"]
    out += [f"      - {name}" for name in sources()]
    out += ["    file_type: systemVerilogSource", "  waivers:", "    files:", "      - lint.vlt: {file_type: vlt}", "",
            "parameters:"]
    default = next(c for c in spec["configuration"] if c["name"] == "default")
    for key, name in PARAMETERS.items():
        out += parameter(name, value(default, key))
    out += parameter("Target", 0)
    out += ["", "targets:", "  default: &default", "    filesets: [rtl]", "    toplevel: ufp4_top",
            "    parameters: [" + ", ".join([*PARAMETERS.values(), "Target"]) + "]", "  lint:", "    <<: *default",
            "    filesets: [waivers, rtl]", "    flow: lint", "    flow_options:", "      tool: verilator",
            "      verilator_options: [-Wall]"]
    for c in spec["configuration"]:
        if c is default:
            continue
        out += [f"  {c['name']}:", "    <<: *default",
                "    parameters: [" + ", ".join(f"{name}={value(c, key)}" for key, name in PARAMETERS.items()) + ", Target]"]
    return "\n".join(out) + "\n"


def fusesoc_boards(spec, note):
    out = ["CAPI=2:", f"# {note}", "# SPDX-License-Identifier: Apache-2.0", f"name: ufp4:ufp4:boards:{version(spec)}",
           "description: The ufp4 core on FPGA boards, in the configuration tiny", "", "filesets:", "  board:",
           f"    depend: [ufp4:ufp4:core:{version(spec)}]", "    files:"]
    out += [f"      - {name}" for name in sources(FPGA / "board.f")]
    out += ["    file_type: systemVerilogSource"]
    for name in BOARDS:
        out += [f"  {name}:", "    files:", f"      - boards/{name}/{name}.sv: {{file_type: systemVerilogSource}}",
                f"      - boards/{name}/{name}.xdc: {{file_type: xdc}}"]
    out += ["", "targets:", "  default:", "    filesets: [board]"]
    for name, part in BOARDS.items():
        out += [f"  {name}:", f"    filesets: [board, {name}]", f"    toplevel: {name}", "    flow: vivado",
                f"    flow_options: {{part: {part}}}"]
    return "\n".join(out) + "\n"


def bender(spec, note):
    out = [f"# {note}", "# SPDX-License-Identifier: Apache-2.0", "package:", "  name: ufp4", "  authors: [the ufp4 authors]", "",
           "sources:", "  - files:"]
    return "\n".join(out + [f"      - {name}" for name in sources()]) + "\n"
