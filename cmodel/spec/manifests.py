# SPDX-License-Identifier: Apache-2.0
"""Makes the package descriptions of the RTL for FuseSoC and Bender, from the file list rtl/rtl.f and the version and
configurations of the specification."""

import pathlib
import re

RTL = pathlib.Path(__file__).resolve().parents[2] / "rtl"
BOARDS = RTL.parent / "fpga/boards"
# The boards of the Vivado flow with their parts, and the boards of the ECP5 flow with their configurations. A board's
# target is called BOARD, or BOARD_CONFIGURATION for a configuration other than tiny.
VIVADO = {"arty_a7": "xc7a35ticsg324-1L"}
TRELLIS = {"ulx3s": ["tiny", "board"], "orangecrab": ["tiny"]}
PARAMETERS = {
    "rows": "Rows",
    "cols": "Cols",
    "tile_rows": "TileRows",
    "tile_cols": "TileCols",
    "chunk": "Chunk",
    "bus_bytes": "BusBytes",
    "contract": "Contract",
    "formats": "Formats",
    "lanes": "Lanes",
    "quant": "Quant",
    "mixed": "Mixed",
}


def sources(listed=RTL / "rtl.f"):
    lines = listed.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("//")]


def version(spec):
    return "{major}.{minor}.{patch}".format(**spec["version"])


def version_word(spec):
    v = spec["version"]
    return v["major"] << 16 | v["minor"] << 8 | v["patch"]


def fusesoc(spec, value, note):
    """Returns rtl/ufp4.core. value(configuration, key) is a number, also for names. FuseSoC gives a user's top the
    parameters of the target `default` of its dependencies, so this target has none."""
    out = [
        "CAPI=2:",
        f"# {note}",
        "# SPDX-License-Identifier: Apache-2.0",
        f"name: ufp4:ufp4:core:{version(spec)}",
        "description: An open 4-bit training tensor core (E1M2, INT4, E2M1; block scales; RHT; stochastic rounding)",
        "",
        "filesets:",
        "  rtl:",
        "    files:",
    ]
    out += [f"      - {name}" for name in sources()]
    out += ["    file_type: systemVerilogSource", "", "parameters:"]
    default = next(c for c in spec["configuration"] if c["name"] == "default")
    defaults = {name: value(default, key) for key, name in PARAMETERS.items()} | {"Target": 0}
    for name, number in defaults.items():
        out += [f"  {name}:", "    datatype: int", f"    default: {number}", "    paramtype: vlogparam"]
    out += [
        "",
        "targets:",
        "  default: &default",
        "    filesets: [rtl]",
        "    toplevel: ufp4_top",
        "  lint:",
        "    <<: *default",
        f"    parameters: [{', '.join(defaults)}]",
        "    flow: lint",
        "    flow_options:",
        "      tool: verilator",
        "      verilator_options: [-Wall]",
    ]
    for c in spec["configuration"]:
        if c is default:
            continue
        out += [
            f"  {c['name']}:",
            "    <<: *default",
            "    parameters: ["
            + ", ".join(f"{name}={value(c, key)}" for key, name in PARAMETERS.items())
            + ", Target]",
        ]
    return "\n".join(out) + "\n"


def fusesoc_sva(spec, note):
    """Returns the core file of the assertions. They have their own, because a target `default` would have them for all
    who depend on it, or for none."""
    out = [
        "CAPI=2:",
        f"# {note}",
        "# SPDX-License-Identifier: Apache-2.0",
        f"name: ufp4:ufp4:sva:{version(spec)}",
        "description: The rules of the ufp4 core's ports as assertions, bound to it; for simulation",
        "",
        "filesets:",
        "  sva:",
        f"    depend: [ufp4:ufp4:core:{version(spec)}]",
        "    files:",
    ]
    out += [f"      - {name}" for name in sources(RTL / "sva.f")]
    out += [
        "    file_type: systemVerilogSource",
        "",
        "targets:",
        "  default:",
        "    filesets: [sva]",
        "    toplevel: ufp4_top",
    ]
    return "\n".join(out) + "\n"


def fusesoc_boards(spec, note):
    out = [
        "CAPI=2:",
        f"# {note}",
        "# SPDX-License-Identifier: Apache-2.0",
        f"name: ufp4:ufp4:boards:{version(spec)}",
        "description: The ufp4 core on FPGA boards",
        "",
        "filesets:",
        "  board:",
        f"    depend: [ufp4:ufp4:core:{version(spec)}]",
        "    files:",
    ]
    out += [f"      - {name}" for name in sources(BOARDS / "board.f")]
    out += ["    file_type: systemVerilogSource"]
    for name in VIVADO:
        out += [
            f"  {name}:",
            "    files:",
            f"      - {name}/{name}.sv: {{file_type: systemVerilogSource}}",
            f"      - {name}/{name}.xdc: {{file_type: xdc}}",
        ]
    for name in TRELLIS:
        out += [f"  {name}:", f"    files: [{name}/{name}.lpf: {{file_type: LPF}}]"]
    made = [
        (f"{name}_{configuration}" if configuration != "tiny" else name, name, configuration)
        for name, configurations in TRELLIS.items()
        for configuration in configurations
    ]
    out += ["", "generators:", "  flat:", "    command: fusesoc_flat.py", "    interpreter: python3", "", "generate:"]
    for target, name, configuration in made:
        out += [
            f"  {target}:",
            "    generator: flat",
            f"    parameters: {{board: {name}, configuration: {configuration}}}",
        ]
    out += ["", "targets:", "  default:", "    filesets: [board]"]
    for name, part in VIVADO.items():
        out += [
            f"  {name}:",
            f"    filesets: [board, {name}]",
            f"    toplevel: {name}",
            "    flow: vivado",
            f"    flow_options: {{part: {part}}}",
        ]
    for target, name, _ in made:
        device, package, speed = (
            re.search(rf"^{key}=['\"]?(\w+)['\"]?$", (BOARDS / f"{name}/board.sh").read_text(), re.MULTILINE)[1]
            for key in ("device", "package", "speed")
        )
        out += [
            f"  {target}:",
            f"    filesets: [{name}]",
            f"    generate: [{target}]",
            f"    toplevel: {name}",
            "    flow: trellis",
            "    flow_options:",
            "      yosys_synth_options: [-abc9]",
            (
                f"      nextpnr_options: [--{device}, --package, {package}, --speed, '{speed}', --router, router1, "
                "--seed, '1']"
            ),
            "      ecppack_options: [--compress]",
        ]
    return "\n".join(out) + "\n"


def bender(spec, note):
    out = [
        f"# {note}",
        "# SPDX-License-Identifier: Apache-2.0",
        "package:",
        "  name: ufp4",
        "  authors: [the ufp4 authors]",
        "",
        "sources:",
        "  - files:",
    ]
    out += [f"      - {name}" for name in sources()]
    out += ["  - target: ufp4_sva", "    files:"] + [f"      - {name}" for name in sources(RTL / "sva.f")]
    return "\n".join(out) + "\n"
