# SPDX-License-Identifier: Apache-2.0
"""Tests which SystemC is linked if there are several: Debian's, and stand-ins for others. A stand-in has Debian's
headers and library under another prefix, with a CMake package (SystemCLanguage, as a SystemC built by CMake has it) or
a .pc file. Tested are this project, which is only configured, and projects that link what it installs."""

import os
import pathlib
import shutil
import subprocess

import stand
from stand import check, check_equal
from test_install import LAUNCHERS, SOURCE, call, install

LIBRARY = "libsystemc-2.3.4.so"
HEADERS = ("systemc", "systemc.h", "sysc", "tlm", "tlm.h", "tlm_core", "tlm_utils")
QUICK = ["-DUFP4_TESTS=OFF", "-DUFP4_CUDA=OFF", "-DUFP4_MPI=OFF", *LAUNCHERS]

PACKAGE = """add_library(SystemC::systemc {kind} IMPORTED)
set_target_properties(SystemC::systemc PROPERTIES IMPORTED_LOCATION {prefix}/lib/{library}
  INTERFACE_INCLUDE_DIRECTORIES {prefix}/include INTERFACE_COMPILE_DEFINITIONS STAND_IN)
"""
PC = """Name: SystemC
Description: a stand-in
Version: {version}
Libs: -L{prefix}/lib -lsystemc
Cflags: -I{prefix}/include
"""


def debian():
    """Returns Debian's library; skips if there is none."""
    if subprocess.run(["pkg-config", "--exact-version=2.3.4", "systemc"], check=False).returncode != 0:
        raise stand.Skipped("needs libsystemc-dev 2.3.4; ./ufp4 test installs it")
    return pathlib.Path(call("pkg-config", "--variable=libarchdir", "systemc").strip()) / LIBRARY


def stand_in(name, version="2.3.4", package=True, kind="SHARED"):
    prefix = pathlib.Path(name).resolve()
    (prefix / "lib/cmake/SystemCLanguage").mkdir(parents=True)
    (prefix / "lib/pkgconfig").mkdir()
    (prefix / "include").mkdir()
    for header in HEADERS:
        (prefix / "include" / header).symlink_to(pathlib.Path("/usr/include") / header)
    shutil.copy(debian(), prefix / "lib" / LIBRARY)
    (prefix / "lib/libsystemc.so").symlink_to(LIBRARY)
    words = {"prefix": prefix, "version": version, "kind": kind, "library": LIBRARY}
    if package:
        folder = prefix / "lib/cmake/SystemCLanguage"
        (folder / "SystemCLanguageConfig.cmake").write_text(PACKAGE.format(**words))
        (folder / "SystemCLanguageConfigVersion.cmake").write_text(
            f'set(PACKAGE_VERSION "{version}")\nset(PACKAGE_VERSION_COMPATIBLE ON)\n'
        )
    else:
        (prefix / "lib/pkgconfig/systemc.pc").write_text(PC.format(**words))
    return prefix


def configure(*options, status=0, build="build"):
    text = call("cmake", "-G", "Ninja", "-S", SOURCE, "-B", build, *QUICK, *options, status=status)
    if status == 0 and "SystemC modules: no (needs the simulated core" in text and "clang++" in text:
        raise stand.Skipped("needs verilator and clang++")
    return text


def linked(build="build"):
    """Returns the folders of the SystemC libraries that ninja would link."""
    rules = (pathlib.Path(build) / "build.ninja").read_text()
    words = {word for line in rules.splitlines() if "LINK_LIBRARIES = " in line for word in line.split()}
    return {str(pathlib.Path(word).parent) for word in words if pathlib.Path(word).name.startswith("libsystemc")}


def test_project_links_the_package_in_the_prefix_path():
    """Debian's SystemC is there too. The installation's .pc file must say what SystemC's own would."""
    other = stand_in("other", version="3.0.2.20251031")  # the version text of that release
    text = configure(f"-DCMAKE_PREFIX_PATH={other}")
    check(f"SystemC 3.0.2: {other}/lib/cmake/SystemCLanguage\n" in text, text)
    check_equal(linked(), {f"{other}/lib"}, "linked")
    words = pathlib.Path("build/cmodel/package/ufp4_systemc.pc").read_text()
    check("Requires" not in words and f"{other}/lib/{LIBRARY}" in words, words)
    check(f" -I{other}/include -DSTAND_IN\n" in words, words)


def test_project_links_debians_without_a_prefix_path():
    folder = str(debian().parent)
    text = configure()
    check(f"SystemC 2.3.4: {folder}/pkgconfig\n" in text, text)
    check_equal(linked(), {folder}, "linked")
    check("Requires: systemc\n" in pathlib.Path("build/cmodel/package/ufp4_systemc.pc").read_text(), "the .pc file")


def test_project_links_a_package_where_cmake_looks():
    """A package in CMake's search path precedes a .pc file in the default path."""
    other = stand_in("other", version="3.0.2")
    configure(f"-DCMAKE_SYSTEM_PREFIX_PATH={other};/usr")
    check_equal(linked(), {f"{other}/lib"}, "linked")


def test_project_links_the_pc_file_in_the_prefix_path():
    """The named .pc file precedes a package in CMake's search path."""
    named, other = stand_in("named", package=False), stand_in("other")
    for path in (named, f"{named}/"):
        configure(f"-DCMAKE_SYSTEM_PREFIX_PATH={other};/usr", f"-DCMAKE_PREFIX_PATH={path}")
        check_equal(linked(), {f"{named}/lib"}, f"linked by {path}")
    configure(f"-DCMAKE_SYSTEM_PREFIX_PATH={other};/usr", build="environment", status=0)
    check_equal(linked("environment"), {f"{other}/lib"}, "linked without a name")


def test_project_looks_again_after_another_prefix_path():
    folder = str(debian().parent)
    first, second, third = stand_in("first"), stand_in("second", version="2.3.3"), stand_in("third", package=False)
    for prefix, want in (
        (first, f"{first}/lib"),
        (second, f"{second}/lib"),
        ("", folder),
        (third, f"{third}/lib"),
        (first, f"{first}/lib"),
    ):
        configure(f"-DCMAKE_PREFIX_PATH={prefix}")
        check_equal(linked(), {want}, f"linked after {prefix}")


def test_rejects_a_static_library():
    """The modules' library and its user would each have a kernel. Without ON the modules are left out."""
    other = stand_in("other", kind="STATIC")
    text = " ".join(configure("-DUFP4_SYSTEMC=ON", f"-DCMAKE_PREFIX_PATH={other}", status=1).split())
    check(
        f"that needs the simulated core and SystemC as a shared library for C++17, as libsystemc-dev has it; 2.3.4 in "
        f"{other}/lib/cmake/SystemCLanguage is not" in text,
        text,
    )
    text = configure(f"-DCMAKE_PREFIX_PATH={other}", build="auto")
    check("SystemC modules: no (needs the simulated core and SystemC as a shared library" in text, text)


def platform(place, *options, status=0):
    """Configures the installed example with these options. Returns the SystemC that the loader finds for it."""
    text = call(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        place / "share/ufp4/systemc/example",
        "-B",
        "platform",
        *options,
        *LAUNCHERS,
        status=status,
    )
    if status != 0:
        return text
    call("cmake", "--build", "platform")
    return {line.split()[2] for line in call("ldd", "platform/platform").splitlines() if "libsystemc" in line}


def installed():
    place = install()
    if not (place / "include" / "ufp4_systemc.h").exists():
        raise stand.Skipped("needs libsystemc-dev when ufp4 is configured; ./ufp4 test installs it")
    return place


def test_consumer_links_the_package_in_the_prefix_path_on_rtl():
    place, other = installed(), stand_in("other")
    check_equal(
        platform(place, f"-DCMAKE_PREFIX_PATH={place};{other}"), {f"{other}/lib/{LIBRARY}"}, "the platform's SystemC"
    )
    for model in ("rtl", "timed"):
        check("every bit is the golden model's" in call("platform/platform", model), model)


def test_consumer_links_what_ufp4_was_built_with_on_rtl():
    """A package of the same version in CMake's search path must not take precedence."""
    place, other = installed(), stand_in("other")
    made = platform(place, f"-DCMAKE_PREFIX_PATH={place}", f"-DCMAKE_SYSTEM_PREFIX_PATH={other};/usr")
    check_equal({os.path.realpath(path) for path in made}, {os.path.realpath(debian())}, "the platform's SystemC")


def test_consumer_links_its_own_target_on_rtl():
    """The project has made that target before it looks for ufp4."""
    place, other = installed(), stand_in("other", package=False)
    example = place / "share/ufp4/systemc/example"
    os.mkdir("project")
    words = {"prefix": other, "kind": "SHARED", "library": LIBRARY}
    text = (
        (example / "CMakeLists.txt").read_text().replace("find_package(", PACKAGE.format(**words) + "find_package(", 1)
    )
    pathlib.Path("project/CMakeLists.txt").write_text(text)
    shutil.copy(example / "platform.cpp", "project")
    call("cmake", "-G", "Ninja", "-S", "project", "-B", "build", f"-DCMAKE_PREFIX_PATH={place}", *LAUNCHERS)
    check_equal(linked(), {f"{other}/lib"}, "linked")


def test_rejects_a_consumer_with_another_version_on_rtl():
    place, other = installed(), stand_in("other", version="3.0.2")
    text = " ".join(platform(place, f"-DCMAKE_PREFIX_PATH={place};{other}", status=1).split())
    check("ufp4::systemc needs SystemC 2.3.4, with which it was built in" in text, text)
    check(
        f"; 3.0.2 in {other}/lib/cmake/SystemCLanguage is another: name its folder in CMAKE_PREFIX_PATH" in text, text
    )


if __name__ == "__main__":
    stand.main(globals())
