# SPDX-License-Identifier: Apache-2.0
"""Tests builds by the commands of the pages, with make, the generator that CMake chooses by itself, while ./ufp4 and
the other tests use Ninja."""

import os
import pathlib
import re
import shutil
import subprocess

import stand
from stand import check, check_equal, slow
from test_install import NVCC

SOURCE = pathlib.Path(__file__).resolve().parents[2]
README, PAGE = SOURCE / "README.md", SOURCE / "docs/howto/link-library.md"


def call(*words, folder=".", seconds=600, **environment):
    """Runs a tool with CMake's own defaults, except for ccache. Returns its output, standard error included."""
    env = {name: value for name, value in os.environ.items() if name != "CMAKE_GENERATOR"}
    env["CMAKE_BUILD_PARALLEL_LEVEL"] = str(len(os.sched_getaffinity(0)))
    if shutil.which("ccache"):
        env |= {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX")}
        env |= {"CCACHE_BASEDIR": os.path.abspath(folder), "CCACHE_NOHASHDIR": "1"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        env=env | environment,
    )
    check(done.returncode == 0, f"{words}: exit status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def unmade(rules):
    """Lists the folders into which the rules of a makefile write and which neither exist nor are made by the rule."""
    target, made, missing = "", set(), []
    for line in rules.replace("\\\n", " ").splitlines():
        if not line.startswith("\t"):
            named = re.match(r"([^\s#%]+): ", line)
            if named and named[1] != target:
                target, made = named[1], set()
            continue
        cd = re.match(r"\tcd (\S+) && ", line)
        here = pathlib.Path(cd[1] if cd else "build")
        made |= {
            here / name for name in re.findall(r"-E make_directory (\S+)|--Mdir (\S+)", line) for name in name if name
        }
        for name in re.findall(r"(?<![0-9&])> (\S+)", line):
            folder = (here / name).parent
            if not folder.is_dir() and folder not in made:
                missing.append(f"{target}: > {name}")
    return missing


@slow
def test_rules_make_the_folders_that_they_write_into():
    """Only Ninja makes the folder of a rule's output by itself. Also, an installation builds no tests."""
    text = call("cmake", "-S", SOURCE, "-B", "build")
    check("  tests: no (UFP4_TESTS is off)\n" in text, text)
    check(not re.search(r"\.\.\. (test_|vector_readers)", call("make", "-C", "build", "help")), "tests are targets")
    call("cmake", "-S", SOURCE, "-B", "build", "-DUFP4_TESTS=ON")
    makefiles = sorted(pathlib.Path("build").rglob("build.make"))
    rules = [path.read_text() for path in makefiles]
    check(any("readers.new" in text for text in rules), "the makefiles are read")
    check_equal([line for text in rules for line in unmade(text)], [], "folders that no rule makes")


def test_verilated_code_names_no_checkout():
    """ccache can then reuse its objects in another checkout."""
    folder = pathlib.Path(stand.PROGRAM).parents[1] / "sim"
    files = [path for path in folder.glob("core_*/*.cpp")]
    if not files:
        raise stand.Skipped("needs verilator and clang++")
    named = [str(path) for path in files if str(SOURCE) in path.read_text()]
    check_equal(named, [], "files that name it")
    check(any('"rtl/ufp4_top.sv"' in path.read_text() for path in files), "the RTL is named from the root")


def clone():
    """Copies what a fresh clone of this checkout would have, including uncommitted changes of its files."""
    if not (SOURCE / ".git").exists() or not shutil.which("git"):
        raise stand.Skipped("needs git, and a checkout")
    for name in call("git", "ls-files", "-z", folder=SOURCE).split("\0"):
        if (SOURCE / name).is_file():
            there = pathlib.Path("clone", name)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, there, follow_symlinks=False)


def install_as_told(page):
    """Runs the page's lines unchanged, except that DESTDIR moves the installation, and then the installed program."""
    lines = re.findall(r"cmake -S \. -B build\b.*?--prefix /opt/ufp4", page.read_text(), flags=re.S)
    check_equal(len(lines), 1, f"lines that install in {page}")
    clone()
    # Replaces nvcc, if there is one, because it would take ten minutes.
    pathlib.Path("cuda/bin").mkdir(parents=True)
    pathlib.Path("cuda/bin/nvcc").write_text(NVCC)
    os.chmod("cuda/bin/nvcc", 0o755)
    places = {"DESTDIR": os.path.abspath("root"), "CUDA_HOME": os.path.abspath("cuda")}
    call("sh", "-e", "-c", lines[0], folder="clone", seconds=6000, **places)
    check((pathlib.Path("clone/build/Makefile")).exists(), "make has built it")
    program = pathlib.Path("root/opt/ufp4/bin/ufp4").resolve()
    check_equal(call(program, "random").strip(), "a97328cd a9a95582 2e34d974 fe50811e", "a draw")
    check("small" in call(program, "info", "--backend", "rtl", "--config", "small"), "the simulated core")


def test_full_the_lines_of_the_readme():
    install_as_told(README)


def test_full_the_lines_of_the_page_and_then_the_tests():
    """Make must also build those rules with commands of their own that only the tests have."""
    install_as_told(PAGE)
    call("cmake", "-S", ".", "-B", "build", "-DUFP4_TESTS=ON", folder="clone")
    targets = ["vector_readers", "dpi_tb", "mx_converter_tb", "ufp4_python"]
    call("cmake", "--build", "build", "--target", *targets, folder="clone", seconds=6000)


if __name__ == "__main__":
    stand.main(globals())
