# SPDX-License-Identifier: Apache-2.0
"""Tests cmake --install, and foreign projects that use the installed files (tests/e2e/consumer)."""

import os
import pathlib
import re
import shutil
import subprocess

import stand
from stand import check, check_equal, full

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
PREFIX = "/opt/ufp4"  # below DESTDIR
LAUNCHERS = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX") if shutil.which("ccache")]
PROGRAMS = ("c_model", "c_model_static", "cpp_model", "c_driver", "cpp_driver")
C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def call(*words, status=0, **environment):
    """Runs a tool. Returns its output, standard error included."""
    done = subprocess.run(
        [str(w) for w in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3600,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )
    check((done.returncode == 0) == (status == 0), f"{words}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def install(build=None):
    """Installs the build below ./root, as a package builder would. Returns that place."""
    build = build or pathlib.Path(stand.PROGRAM).parents[1]
    call("cmake", "--install", build, "--prefix", PREFIX, DESTDIR=os.path.abspath("root"))
    return pathlib.Path("root" + PREFIX).resolve()


def pkg_config(place, *words):
    return call("pkg-config", *words, PKG_CONFIG_PATH=str(place / "lib" / "pkgconfig")).split()


def build_consumer(place, *options, status=0):
    text = call(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        CONSUMER,
        "-B",
        "consumer",
        f"-DCMAKE_PREFIX_PATH={place}",
        *options,
        *LAUNCHERS,
        status=status,
    )
    if status == 0:
        call("cmake", "--build", "consumer")
    return text


def test_projects_with_cmake():
    build_consumer(
        install(),
        "-DCONSUMER_COMPONENTS=driver",
        "-DCMAKE_C_FLAGS=" + " ".join(C_FLAGS),
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror",
    )
    for name in PROGRAMS:
        call(f"consumer/{name}")


def use_as_a_part(*options):
    """Builds the consumer with ufp4 as a part, which must give it libraries and nothing else."""
    build_consumer("", *options, "-DCMAKE_C_FLAGS=-Wall -Wextra")
    for name in PROGRAMS:
        call(f"consumer/{name}")
    rules = pathlib.Path("consumer/build.ninja").read_text()
    for word in ("-Werror", "erilat", "nvcc", "ufp4_cuda.so"):
        check(word not in rules, f"{word} in the consumer's rules")
    check("Total Tests: 1\n" in call("ctest", "--test-dir", "consumer", "-N"), "the consumer has a test, ufp4 none")
    call("cmake", "--install", "consumer", "--prefix", os.path.abspath("installed"))
    check_equal(
        [str(p) for p in pathlib.Path("installed").rglob("*") if p.is_file()], ["installed/bin/c_model"], "installed"
    )
    libraries = {
        file.name: file.parent for file in pathlib.Path("consumer").rglob("libufp4*") if "package" in file.parts
    }
    for name, options, headers in (
        ("libufp4_model.so", ["-D"], SOURCE.glob("cmodel/include/ufp4/*.h")),
        ("libufp4_model.a", [], SOURCE.glob("cmodel/include/ufp4/*.h")),
        ("libufp4.so", ["-D"], SOURCE.glob("drivers/include/*.h")),
    ):
        check_equal(exported(libraries[name] / name, *options), declared(headers), name)


def test_part_of_a_project_by_add_subdirectory():
    use_as_a_part(f"-DCONSUMER_SOURCE={SOURCE}")


@full
def test_part_of_a_project_by_fetch_content():
    use_as_a_part(f"-DFETCHCONTENT_SOURCE_DIR_UFP4={SOURCE}")


def test_part_of_a_project_in_c_alone():
    """ufp4 must not ask for another language, and must not report what it finds."""
    os.mkdir("project")
    pathlib.Path("project/CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.22)\nproject(p C)\nadd_subdirectory({SOURCE} ufp4)\n"
    )
    text = call("cmake", "-S", "project", "-B", "build", CXX="/no/compiler")
    check("golden model" not in text, text)
    check("CMAKE_CXX_COMPILER" not in pathlib.Path("build/CMakeCache.txt").read_text(), "C++ was asked for")


def test_switches_that_are_off():
    """RTL and CUDA are off, although their tools were found before."""
    tools = ["-DVERILATOR=/bin/true", "-DCLANGXX=/bin/true", "-DUFP4_NVCC=/bin/true"]
    off = ["-DUFP4_RTL=OFF", "-DUFP4_CUDA=OFF", "-DUFP4_TESTS=OFF"]
    text = call("cmake", "-G", "Ninja", "-S", SOURCE, "-B", "build", *tools, *off)
    for name, part in (
        ("RTL", "simulated core (backend rtl)"),
        ("CUDA", "GPU code of the backend cuda"),
        ("TESTS", "tests"),
    ):
        check(f"  {part}: no (UFP4_{name} is off)\n" in text, f"{part}: {text}")
    rules = pathlib.Path("build/build.ninja").read_text()
    check(
        "ufp4_sim" not in rules and "libufp4_cuda.so" not in rules and "test_gemm" not in rules, "what is off is built"
    )


def test_rejects_a_switch_whose_tools_are_missing():
    for name, options, words in (
        ("RTL", ["-DVERILATOR=OFF"], "that needs the driver, verilator, a C"),
        ("CUDA", ["-DUFP4_NVCC=OFF"], "that needs nvcc of the CUDA toolkit"),
        ("TESTS", ["-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON"], "that needs the driver and a C++ compiler"),
        ("RTL", ["-DUFP4_MODEL_ONLY=ON"], "that needs UFP4_MODEL_ONLY to be OFF"),
    ):
        shutil.rmtree("build", ignore_errors=True)
        text = call("cmake", "-G", "Ninja", "-S", SOURCE, "-B", "build", f"-DUFP4_{name}=ON", *options, status=1)
        check(f"UFP4_{name} is ON; {words}" in " ".join(text.split()), f"{name} {options}: {text}")


def test_projects_with_pkg_config():
    place = install()
    library = {"LD_LIBRARY_PATH": str(place / "lib")}
    for package, sources in (("ufp4_model", ("model.c", "model.cpp")), ("ufp4", ("driver.c", "driver.cpp"))):
        flags = pkg_config(place, "--cflags", "--libs", package)
        for source in sources:
            compiler = ["cc", *C_FLAGS] if source.endswith(".c") else ["c++", "-std=c++11", "-Wall", "-Werror"]
            call(*compiler, CONSUMER / source, "-o", "program", *flags)
            call("./program", **library)
    static = pkg_config(place, "--static", "--cflags", "--libs", "ufp4_model")
    static = [str(place / "lib" / "libufp4_model.a") if word == "-lufp4_model" else word for word in static]
    call("cc", *C_FLAGS, CONSUMER / "model.c", "-o", "program", *static)
    call("./program")


def test_simulated_core_from_the_library_on_rtl():
    build_consumer(install(), "-DCONSUMER_COMPONENTS=driver")
    check_equal(call("consumer/c_driver", "rtl"), call("consumer/c_driver", "model"), "Y on rtl")


def test_every_header_stands_alone():
    include = install() / "include"
    headers = sorted(include.rglob("*.h"))
    check(len(headers) > 10, str(headers))
    for header in headers:
        if header.name in (
            "ufp4_arbiter.h",
            "ufp4_systemc.h",
        ):  # C++17 with the headers of SystemC is tested by test_systemc_example_on_rtl
            continue
        for compiler in (["cc", "-x", "c", *C_FLAGS], ["c++", "-x", "c++", "-std=c++11", *C_FLAGS[1:]]):
            pathlib.Path("one").write_text(f"#include <{header.relative_to(include)}>\n")
            call(*compiler, "-fsyntax-only", f"-I{include}", "one")


def test_program_runs_where_it_is_installed():
    place = install()
    check_equal(call(place / "bin" / "ufp4", "random").strip(), "a97328cd a9a95582 2e34d974 fe50811e", "a draw")


def declared(headers):
    """Returns the functions that the headers declare."""
    text = re.sub(r"/\*.*?\*/", "", "".join(p.read_text() for p in headers), flags=re.S)
    return set(re.findall(r"^(?:const )?[a-z_0-9]+ \*?(ufp4_[a-z0-9_]+)\(", text, flags=re.M))


def exported(library, *options):
    """Returns the functions that a library exports."""
    lines = call("nm", "-g", "--defined-only", *options, library).splitlines()
    return {line.split()[2] for line in lines if len(line.split()) == 3}


def test_libraries_export_what_the_headers_declare():
    place = install()
    include = place / "include"
    gpu = include / "ufp4_cuda.h"  # installed if there is nvcc
    model, driver = (
        declared((include / "ufp4").glob("*.h")),
        declared(header for header in include.glob("*.h") if header != gpu),
    )
    check(len(model) > 40 and len(driver) > 20, f"headers were not understood: {model} {driver}")
    for file, options, want in (
        ("libufp4_model.so", ["-D"], model),
        ("libufp4_model.a", [], model),
        ("libufp4.so", ["-D"], driver),
        ("libufp4_cuda.so", ["-D"], declared([gpu]) | {"ufp4_cuda_table"} if gpu.exists() else None),
    ):
        if want is None or (
            file == "libufp4_cuda.so" and not (place / "lib" / file).exists()
        ):  # it is built on request
            continue
        got = exported(place / "lib" / file, *options)
        check_equal(sorted(got - want), [], f"{file} exports more")
        check_equal(sorted(want - got), [], f"{file} lacks")


def test_versions_agree():
    place = install()
    version = call(place / "bin" / "ufp4", "--version").split()[1]
    systemc = ["ufp4_systemc"] if (place / "include" / "ufp4_systemc.h").exists() else []
    gpu = ["ufp4_cuda"] if (place / "include" / "ufp4_cuda.h").exists() else []
    for package in ("ufp4", "ufp4_model", *systemc, *gpu):
        check_equal(pkg_config(place, "--modversion", package), [version], package)
    check((place / "lib" / f"libufp4.so.{version}").exists(), "the library's version")
    headings = re.findall(r"^## ([0-9.]+)", (SOURCE / "docs" / "changelog.md").read_text(), flags=re.M)
    check_equal(headings[0], version, "the changelog's first version")


def commands():
    text = call(stand.PROGRAM, "--help")
    names = re.findall(r"^  ([a-z]+) ", text, flags=re.M)
    check(len(names) > 10, text)
    return names


def test_manual_pages():
    """Each command that --help lists has a page with every option, without warnings of mandoc."""
    check(shutil.which("mandoc"), "mandoc is missing: apt-get install mandoc")
    folder = install() / "share" / "man" / "man1"
    names = {name: f"ufp4-{name}.1" for name in commands()}
    check_equal(sorted(p.name for p in folder.iterdir()), sorted([*names.values(), "ufp4.1"]), "pages")
    check_equal(call("mandoc", "-T", "lint", "-W", "warning", *sorted(folder.iterdir())), "", "mandoc's warnings")
    overview = call("mandoc", "-T", "utf8", "-O", "width=200", folder / "ufp4.1")
    for name, page in names.items():
        text = re.sub(".\b", "", call("mandoc", "-T", "utf8", "-O", "width=200", folder / page))
        usage = call(stand.PROGRAM, name, "--help")
        for option in re.findall(r"^  (?:-[a-z], )?(--[a-z0-9-]+)", usage, flags=re.M):
            check(re.search(rf"(^|[ ,]){option}\b", text, flags=re.M), f"{page} lacks {option}: {text}")
        check(usage.split("Example:\n  ")[1].strip() in text, f"{page}: example: {text}")
        check(
            re.search(rf"^ +{name}( |$)", re.sub(".\b", "", overview), flags=re.M), f"ufp4.1 lacks {name}: {overview}"
        )


def check_model_alone(place):
    """Checks that only the golden model is installed, and that it needs only the C library."""
    check(not list((place / "include").glob("*.h")) and not (place / "bin").exists(), "no driver, no program")
    needed = re.findall(r"NEEDED.*\[(.*)\]", call("readelf", "-d", place / "lib" / "libufp4_model.so"))
    others = [name for name in needed if not re.match(r"(libc|libm|libpthread|ld-linux[^.]*)\.so", name)]
    check("libc.so.6" in needed and not others, f"libufp4_model.so needs {needed}")
    flags = pkg_config(place, "--static", "--libs", "ufp4_model")
    check_equal(flags[1:], ["-lufp4_model", "-pthread", "-lm"], "what the archive needs")
    text = build_consumer(place, "-DCONSUMER_COMPONENTS=driver", status=1)
    check("without the component 'driver'" in text, text)
    build_consumer(place, "-DCONSUMER_COMPONENTS=")
    for name in ("c_model", "c_model_static", "cpp_model"):
        call(f"consumer/{name}")


def test_golden_model_needs_only_a_c_compiler():
    """The report must also name the packages that would add the other parts."""
    os.mkdir("bin")
    for tool in ("cc", "as", "ld", "ar", "ranlib", "objcopy", "make"):
        os.symlink(os.path.realpath(shutil.which(tool)), f"bin/{tool}")
    cmake, path = shutil.which("cmake"), {"PATH": os.path.abspath("bin"), "CC": "", "CXX": "", "CMAKE_GENERATOR": ""}
    # CMake searches its own folder too, whatever PATH is.
    absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("PkgConfig", "ZLIB", "Python3")]
    text = call(
        cmake,
        "-S",
        SOURCE,
        "-B",
        "bare",
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DUFP4_RTL=OFF",
        "-DUFP4_CUDA=OFF",
        *absent,
        **path,
    )
    for line in (
        "golden model: yes",
        "driver, command line: no (needs libjansson-dev and zlib1g-dev)",
        "simulated core (backend rtl): no (",
        "tests: no (",
    ):
        check(f"  {line}" in text, f"{line}: {text}")
    call(cmake, "--build", "bare", "--parallel", "2", **path)
    check_model_alone(install("bare"))


@full
def test_gpu_code_needs_none_of_the_drivers_libraries():
    """A machine with a GPU often has nvcc, but neither pkg-config nor jansson."""
    pathlib.Path("nvcc").write_text("#!/bin/sh\necho compute_90\n")
    os.chmod("nvcc", 0o755)
    text = call(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        SOURCE,
        "-B",
        "gpu",
        f"-DUFP4_NVCC={os.path.abspath('nvcc')}",
        "-DUFP4_CUDA_ARCHITECTURES=90",
        "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON",
        *LAUNCHERS,
    )
    check("driver, command line: no (" in text and "GPU code of the backend cuda: yes" in text, text)
    targets = call("ninja", "-C", "gpu", "-t", "targets", "all")
    check("ufp4_cuda: phony" in targets and "ufp4_cli: phony" not in targets, targets)
    call("ninja", "-C", "gpu", "ufp4_cuda_record")


NVCC = """#!/bin/sh
# In place of nvcc: what it knows, and a library of one function beside the golden model's.
case "$*" in *--list-gpu-arch*) echo compute_90; exit 0;; esac
while [ $# -gt 0 ]; do \
case "$1" in -o) out=$2;; -soname=*) name=$1;; *rules*.o) objects="$objects $1";; esac; shift; done
echo "unsigned ufp4_cuda_version(void) { return 0x1234; }" >one.c
cc -shared -fPIC "-Wl,$name" -o "$out" one.c $objects
"""
USER = """#include <ufp4_cuda.h>
int main(void) { ufp4_cuda_call_t call = {0}; return call.stream != NULL || ufp4_cuda_version() != 0x1234; }
"""


@full
def test_gpu_library_in_projects():
    """A stub replaces nvcc, which would take minutes. The library is installed, and linked by CMake and by pkg-config,
    in C and in C++."""
    pathlib.Path("nvcc").write_text(NVCC)
    os.chmod("nvcc", 0o755)
    call(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        SOURCE,
        "-B",
        "gpu",
        f"-DUFP4_NVCC={os.path.abspath('nvcc')}",
        "-DUFP4_CUDA_ARCHITECTURES=90",
        "-DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON",
        "-DUFP4_TESTS=OFF",
        *LAUNCHERS,
    )
    call("ninja", "-C", "gpu", "all", "ufp4_cuda")
    place = install("gpu")
    library = {"LD_LIBRARY_PATH": str(place / "lib")}
    version = call("pkg-config", "--modversion", "ufp4_cuda", PKG_CONFIG_PATH=str(place / "lib" / "pkgconfig")).strip()
    soname = ".".join(version.split(".")[:2])
    check_equal(
        sorted(path.name for path in (place / "lib").glob("libufp4_cuda*")),
        ["libufp4_cuda.so", f"libufp4_cuda.so.{soname}", f"libufp4_cuda.so.{version}"],
        "installed",
    )
    for name, compiler in (
        ("user.c", ["cc", *C_FLAGS]),
        ("user.cpp", ["c++", "-std=c++11", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]),
    ):
        pathlib.Path(name).write_text(USER)
        call(*compiler, name, "-o", "program", *pkg_config(place, "--cflags", "--libs", "ufp4_cuda"))
        call("./program", **library)
        check(f"libufp4_cuda.so.{soname}" in call("objdump", "-p", "program"), "the name that the program asks for")
    pathlib.Path("CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(user C)\nfind_package(ufp4 REQUIRED COMPONENTS cuda)\n"
        "add_executable(user user.c)\ntarget_link_libraries(user ufp4::cuda)\n"
    )
    call("cmake", "-G", "Ninja", "-S", ".", "-B", "user", f"-DCMAKE_PREFIX_PATH={place}")
    call("cmake", "--build", "user")
    call("user/user")


@full
def test_golden_model_alone_on_request():
    text = call("cmake", "-G", "Ninja", "-S", SOURCE, "-B", "model", "-DUFP4_MODEL_ONLY=ON")
    check("driver, command line: no (" in text and "tests: no (" in text, text)
    call("cmake", "--build", "model")
    check_model_alone(install("model"))


@full
def test_folders_named_from_the_root():
    """Some distributions give CMake absolute folders. Only DESTDIR moves them, so they are used at their final
    place."""
    root = os.path.abspath("root")
    library, include = f"{root}/library", f"{root}/include"
    call(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        SOURCE,
        "-B",
        "model",
        "-DUFP4_MODEL_ONLY=ON",
        f"-DCMAKE_INSTALL_PREFIX={root}",
        f"-DCMAKE_INSTALL_LIBDIR={library}",
        f"-DCMAKE_INSTALL_INCLUDEDIR={include}",
    )
    call("cmake", "--build", "model")
    call("cmake", "--install", "model")
    flags = call("pkg-config", "--cflags", "--libs", "ufp4_model", PKG_CONFIG_PATH=f"{library}/pkgconfig").split()
    check_equal(flags, [f"-I{include}", f"-L{library}", "-lufp4_model"], "flags")
    call("cc", *C_FLAGS, CONSUMER / "model.c", "-o", "program", *flags)
    call("./program", LD_LIBRARY_PATH=library)


def test_rejects_another_version():
    place = install()
    os.mkdir("project")
    for version, found in (("0.3", True), ("0.2", False), ("0.4", False), ("1.0", False)):
        pathlib.Path("project/CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.22)\nproject(p C)\nfind_package(ufp4 {version} REQUIRED)\n"
        )
        call("cmake", "-S", "project", "-B", "build", f"-DCMAKE_PREFIX_PATH={place}", status=0 if found else 1)


if __name__ == "__main__":
    stand.main(globals())
