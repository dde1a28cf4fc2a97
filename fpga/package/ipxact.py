# SPDX-License-Identifier: Apache-2.0
"""usage: $(./ufp4 fpga-tools)/python fpga/package/ipxact.py OUT.xml   writes the IP-XACT component (IEEE 1685-2009) of
fpga/package/ufp4_axi.v

It reads ports and parameters from that file, files from rtl/rtl.f (with paths relative to OUT.xml), and registers from
rtl/gen/ufp4.rdl by peakrdl-ipxact, which `./ufp4 fpga-tools` installs. Buses have Vivado's names, and Vivado requires
the file name component.xml."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

HERE = pathlib.Path(__file__).resolve().parent
RTL = HERE.parents[1] / "rtl"
SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
XILINX = "http://www.xilinx.com"
# Vivado offers a component only for parts of the listed families. None of them has been tried.
FAMILIES = ("zynquplus", "zynq", "artix7", "kintex7", "virtex7", "kintexuplus", "virtexuplus")
VIEWS = {"synthesis": "xilinx_anylanguagesynthesis", "simulation": "xilinx_anylanguagebehavioralsimulation"}


def element(parent, tag, text=None, **attributes):
    made = ET.SubElement(parent, f"{{{SPIRIT}}}{tag}", {f"{{{SPIRIT}}}{k}": v for k, v in attributes.items()})
    if text is not None:
        made.text = str(text)
    return made


def kind(parent, name, library, bus):
    element(parent, name, vendor="xilinx.com", library=library, name=bus, version="1.0")


def parameter(parent, name, value):
    made = element(parent, "parameter")
    element(made, "name", name)
    element(made, "value", value)


def interface(parent, name, bus, library, mode, ports, parameters=()):
    """Adds a bus interface. ports: pairs (name in the bus, port of ufp4_axi); parameters: pairs (name, value)."""
    made = element(parent, "busInterface")
    element(made, "name", name)
    kind(made, "busType", library, bus)
    kind(made, "abstractionType", library, f"{bus}_rtl")
    role = element(made, mode)
    if name == "s_axil":
        element(role, "memoryMapRef", memoryMapRef="ufp4_mmap")
    if name == "m_axi":
        element(role, "addressSpaceRef", addressSpaceRef="m_axi")
    maps = element(made, "portMaps")
    for logical, physical in ports:
        both = element(maps, "portMap")
        element(element(both, "logicalPort"), "name", logical)
        element(element(both, "physicalPort"), "name", physical)
    if parameters:
        held = element(made, "parameters")
        for pair in parameters:
            parameter(held, *pair)


def interfaces(root, ports):
    made = element(root, "busInterfaces")
    for name, mode, parameters in (
        ("s_axil", "slave", [("PROTOCOL", "AXI4LITE")]),
        ("m_axi", "master", [("PROTOCOL", "AXI4")]),
    ):
        names = [port for port, _, _ in ports if port.startswith(f"{name}_")]
        interface(
            made,
            name,
            "aximm",
            "interface",
            mode,
            [(port.removeprefix(f"{name}_").upper(), port) for port in names],
            parameters,
        )
    interface(
        made,
        "clk",
        "clock",
        "signal",
        "slave",
        [("CLK", "clk")],
        [("ASSOCIATED_BUSIF", "s_axil:m_axi"), ("ASSOCIATED_RESET", "rst_n")],
    )
    interface(made, "rst_n", "reset", "signal", "slave", [("RST", "rst_n")], [("POLARITY", "ACTIVE_LOW")])
    interface(made, "irq", "interrupt", "signal", "master", [("INTERRUPT", "irq")], [("SENSITIVITY", "LEVEL_HIGH")])


def bits(left):
    """Returns the width of a port whose upper index is `left`: "", a number, or "K*NAME"."""
    if not left or left.isdigit():
        return left and str(int(left) + 1)
    width = left.removesuffix("-1")
    return width if "*" in width else f"1*{width}"


def vector(wire, width, values):
    """Adds the range of a port. width: a number, or 'K*NAME' with a parameter NAME."""
    made = element(wire, "vector")
    if width.isdigit():
        element(made, "left", int(width) - 1, format="long")
    else:
        factor, name = width.split("*")
        element(
            made,
            "left",
            int(factor) * values[name] - 1,
            format="long",
            resolve="dependent",
            dependency=f"(({factor} * spirit:decode(id('MODELPARAM_VALUE.{name}'))) - 1)".replace("1 * ", ""),
        )
    element(made, "right", 0, format="long")


def model(root, ports, parameters):
    made = element(root, "model")
    views = element(made, "views")
    for use, name in VIEWS.items():
        view = element(views, "view")
        element(view, "name", name)
        element(view, "envIdentifier", f":vivado.xilinx.com:{use}")
        element(view, "language", "systemVerilog")
        element(view, "modelName", "ufp4_axi")
        element(element(view, "fileSetRef"), "localName", "rtl")
    held = element(made, "ports")
    for name, direction, width in ports:
        port = element(held, "port")
        element(port, "name", name)
        wire = element(port, "wire")
        element(wire, "direction", direction.removesuffix("put"))
        if width:
            vector(wire, width, parameters)
    held = element(made, "modelParameters")
    for name, value in parameters.items():
        one = element(held, "modelParameter", dataType="integer")
        element(one, "name", name)
        element(one, "value", value, format="long", resolve="generated", id=f"MODELPARAM_VALUE.{name}")


def files(root, folder):
    made = element(element(root, "fileSets"), "fileSet")
    element(made, "name", "rtl")
    lines = (RTL / "rtl.f").read_text().splitlines()
    sources = [RTL / line for line in lines if line and not line.startswith("//")]
    for source in sources + [HERE / "ufp4_axi.v"]:
        one = element(made, "file")
        element(one, "name", os.path.relpath(source, folder))
        element(one, "fileType", "systemVerilogSource" if source.suffix == ".sv" else "verilogSource")


def registers(version):
    """Returns the component that peakrdl makes, which has only the memory map."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "map.xml"
        made = subprocess.run(
            [
                pathlib.Path(sys.executable).with_name("peakrdl"),
                "ip-xact",
                RTL / "gen/ufp4.rdl",
                "--standard",
                "2009",
                "--vendor",
                "ufp4",
                "--library",
                "ufp4",
                "--name",
                "ufp4_axi",
                "--version",
                version,
                "-o",
                out,
            ],
            check=False,
            timeout=120,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if made.returncode != 0:
            raise OSError(f"peakrdl: {(made.stderr.strip().splitlines() or [f'status {made.returncode}'])[-1]}")
        return ET.parse(out).getroot()


def whole_block(maps, address_bits):
    """Extends the block of registers from the last register to all addresses that the port decodes, because block
    designs require a power of two."""
    block = maps.find(f".//{{{SPIRIT}}}addressBlock")
    block.find(f"{{{SPIRIT}}}range").text = f"0x{1 << address_bits:X}"
    usage = ET.Element(f"{{{SPIRIT}}}usage")
    usage.text = "register"
    block.insert(list(block).index(block.find(f"{{{SPIRIT}}}width")) + 1, usage)


def families(root):
    extensions = element(root, "vendorExtensions")
    core = ET.SubElement(extensions, f"{{{XILINX}}}coreExtensions")
    supported = ET.SubElement(core, f"{{{XILINX}}}supportedFamilies")
    for family in FAMILIES:
        ET.SubElement(supported, f"{{{XILINX}}}family", {f"{{{XILINX}}}lifeCycle": "Beta"}).text = family


def component(folder):
    source = (HERE / "ufp4_axi.v").read_text()
    ports = [
        (name, direction, bits(left))
        for direction, left, name in re.findall(r"^  (input|output) +(?:\[([\w*-]+):0\])? *(\w+)", source, re.M)
    ]
    parameters = {name: int(value) for name, value in re.findall(r"^  parameter (\w+) = (\d+)", source, re.M)}
    root = registers(re.search(r"^name: ufp4:ufp4:core:(\S+)", (RTL / "ufp4.core").read_text(), re.M)[1])
    maps = root.find(f"{{{SPIRIT}}}memoryMaps")
    root.remove(maps)
    widths = {name: width for name, _, width in ports}
    whole_block(maps, int(widths["s_axil_awaddr"]))
    interfaces(root, ports)
    space = element(element(root, "addressSpaces"), "addressSpace")
    element(space, "name", "m_axi")
    element(space, "range", f"0x{1 << int(widths['m_axi_araddr']):X}", format="long")
    element(
        space,
        "width",
        8 * parameters["BusBytes"],
        format="long",
        resolve="dependent",
        dependency="(8 * spirit:decode(id('MODELPARAM_VALUE.BusBytes')))",
    )
    root.append(maps)
    model(root, ports, parameters)
    files(root, folder)
    element(
        root,
        "description",
        "An open 4-bit training tensor core: E1M2, INT4 and E2M1 with block scales, RHT and stochastic rounding",
    )
    held = element(root, "parameters")
    for name, value in parameters.items():
        one = element(held, "parameter")
        element(one, "name", name)
        element(one, "value", value, format="long", resolve="user", id=f"PARAM_VALUE.{name}")
    families(root)
    ET.register_namespace("spirit", SPIRIT)
    ET.register_namespace("xilinx", XILINX)
    ET.indent(root)
    return (
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n<!-- SPDX-License-Identifier: Apache-2.0. '
            "Made by fpga/package/ipxact.py; do not edit. -->\n"
        )
        + ET.tostring(root, encoding="unicode")
        + "\n"
    )


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.splitlines()[0], file=sys.stderr)
        sys.exit(2)
    out = pathlib.Path(sys.argv[1]).resolve()
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        beside.write_text(component(out.parent), encoding="utf-8")
        os.replace(beside, out)
    except (OSError, subprocess.TimeoutExpired, ET.ParseError) as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        print(f"ipxact.py: {error}", file=sys.stderr)
        sys.exit(3)


main()
