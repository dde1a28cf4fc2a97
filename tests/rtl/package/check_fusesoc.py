# SPDX-License-Identifier: Apache-2.0
"""usage: check_fusesoc.py FUSESOC VERILATOR ROOT   has FuseSoC make the project of each target of each core file, and
compares the parameters in it (its EDAM file, Verilator's arguments, Vivado's generics) with what
docs/howto/integrate-rtl.md and add-board.md promise; lints and elaborates a stranger's core file that depends on ours.
Targets that make flat Verilog: check_ecp5_board.sh."""

import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

import yaml

FUSESOC, VERILATOR = sys.argv[1:3]
ROOT = pathlib.Path(sys.argv[3]).resolve()
STRANGER = pathlib.Path(__file__).resolve().parent / "stranger"


def configurations():
    """Name to parameters, without Target."""
    text = (ROOT / "rtl/gen/configurations.cmake").read_text()
    return {
        name: {key: int(number) for key, number in re.findall(r"-G(\w+)=(\d+)", line)}
        for name, line in re.findall(r"^set\(UFP4_CONFIGURATION_(\S+) (.*)\)$", text, re.M)
    }


def targets_of(core):
    return yaml.safe_load(core.read_text())["targets"]


def project(folder, name, target, *arguments, steps=("--setup",), tool=()):
    """FuseSoC's project: its folder and EDAM."""
    work = folder / "-".join([name.split(":")[-1], target, *arguments]).replace("=", "-").strip("-")
    roots = [word for root in (ROOT / "rtl", ROOT / "fpga", STRANGER) for word in ("--cores-root", root)]
    made = subprocess.run(
        [FUSESOC, *roots, "run", *steps, "--target", target, *tool, "--work-root", work, name, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3600,
    )
    assert made.returncode == 0, f"{name}, target {target}: {made.stdout[-2000:]}"
    return work, yaml.safe_load(next(work.glob("*.eda.yml")).read_text())


def parameters(work, edam):
    """Returns the project's parameters, which must be the same in the EDAM file and in the tool's input."""
    want = {key: each["default"] for key, each in edam.get("parameters", {}).items()}
    for made in work.glob("*.vc"):
        got = {key: int(number) for key, number in re.findall(r"^-G(\w+)=(\d+)$", made.read_text(), re.M)}
        assert got == want, f"{made.name} has {got}, not {want}"
    for made in work.glob("*.tcl"):
        got = {
            key: int(number)
            for line in re.findall(r"generic \{([^}]*)\}", made.read_text())
            for key, number in re.findall(r"(\w+)=(\d+)", line)
        }
        assert got == want or not re.search("generic|create_project", made.read_text()), (
            f"{made.name} has {got}, not {want}"
        )
    assert list(work.glob("*.vc")) or list(work.glob("*.tcl")), (
        f"{work.name}: neither Verilator's arguments nor Vivado's project"
    )
    return want


def elaborated(work, edam, *more, module="ufp4_top"):
    """The parameters that the core, or another module, gets in the design."""
    words = [f"-G{key}={number}" for key, number in parameters(work, edam).items()]
    sources = [work / each["name"] for each in edam["files"] if each["file_type"].endswith("erilogSource")]
    subprocess.run(
        [
            VERILATOR,
            "--xml-only",
            "-Wno-fatal",
            "--top-module",
            edam["toplevel"],
            "--Mdir",
            work / "xml",
            *words,
            *sources,
            *more,
        ],
        check=True,
        timeout=3600,
        stderr=subprocess.DEVNULL,
    )
    netlist = ET.parse(work / f"xml/V{edam['toplevel']}.xml").getroot().find("netlist")
    top = next(each for each in netlist.iterfind("module") if each.get("origName") == module)
    return {
        each.get("name"): int(each.find("const").get("name").split("'")[1].lstrip("sh"), 16)
        for each in top.iterfind("var")
        if each.get("param") == "true"
    }


def core_targets(folder, known):
    """default: none, so that none reach who depends on it; lint: those of `default`;
    else those of the configuration."""
    name = "ufp4:ufp4:core"
    verilator = ("--tool", "verilator")
    targets = set(targets_of(ROOT / "rtl/ufp4.core"))
    assert targets == known.keys() | {"lint"}, f"the targets {targets} are not lint and the configurations"
    assert parameters(*project(folder, name, "default", tool=verilator)) == {}, "the target default gives parameters on"
    assert parameters(*project(folder, name, "lint")) == known["default"] | {"Target": 0}
    for target in sorted(targets - {"default", "lint"}):
        made = parameters(*project(folder, name, target, tool=verilator))
        assert made == known[target] | {"Target": 0}, f"target {target} has {made}"
    made = project(folder, name, "tiny", "--Target=1", "--Chunk=4", tool=verilator)
    assert parameters(*made) == known["tiny"] | {"Target": 1, "Chunk": 4}, (
        "what the command line gives is not what the project has"
    )
    assert elaborated(*made).items() >= parameters(*made).items()


def sva_targets(folder, _):
    assert set(targets_of(ROOT / "rtl/ufp4_sva.core")) == {"default"}
    assert parameters(*project(folder, "ufp4:ufp4:sva", "default", tool=("--tool", "verilator"))) == {}


def board_targets(folder, known):
    for target, each in targets_of(ROOT / "fpga/boards/ufp4_boards.core").items():
        assert not each.get("parameters"), f"the boards' target {target} has parameters"
        if each.get("flow") != "vivado":
            continue
        work, edam = project(folder, "ufp4:ufp4:boards", target)
        assert parameters(work, edam) == {}, f"{target}: {parameters(work, edam)} are set over those of the board's top"
        made = elaborated(work, edam, ROOT / "fpga/boards/xilinx7_cells.v")
        assert made.items() >= (known["tiny"] | {"Target": 1}).items(), f"{target} has the core {made}"


def stranger(folder, known):
    work, edam = project(folder, "someone:chips:stranger", "lint", steps=())
    assert parameters(work, edam) == {"Rows": 5, "Depth": 3}, "a stranger's parameters are not his own"
    assert elaborated(work, edam).items() >= (known["tiny"] | {"Target": 1}).items(), (
        "a stranger's core is not as he instantiates it"
    )
    work, edam = project(folder, "someone:chips:stranger", "rules", steps=())
    assert parameters(work, edam) == {}
    made = elaborated(work, edam, module="ufp4_axi_sva")
    assert made.items() >= {key: known["tiny"][key] for key in ("TileRows", "Chunk", "BusBytes", "Quant")}.items(), (
        f"bound with {made}"
    )
    made = parameters(*project(folder, "someone:chips:stranger", "vivado"))
    assert made == {"Depth": 7}, f"in Vivado a stranger's parameters are {made}"


def main():
    known = configurations()
    found = {path.name for folder in ("rtl", "fpga") for path in (ROOT / folder).rglob("*.core")}
    assert found == {"ufp4.core", "ufp4_sva.core", "ufp4_boards.core"}, f"core files: {found}"
    with tempfile.TemporaryDirectory() as name:
        for check in (core_targets, sva_targets, board_targets, stranger):
            check(pathlib.Path(name), known)


main()
