# SPDX-License-Identifier: Apache-2.0
"""cmake --install, and other people's projects that use what it installs (tests/e2e/consumer)."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess

import bench
from bench import check, check_equal

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
PREFIX = "/opt/ufp4"  # below DESTDIR
C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def call(*words, status=0, **environment):
    """Runs a tool; gives what it printed, standard error included."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=250, stdin=subprocess.DEVNULL, env=os.environ | environment)
    check((done.returncode == 0) == (status == 0), f"{words}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def install(build=None):
    """The build's installation below ./root, as a package builder would take it; gives its place."""
    build = build or pathlib.Path(bench.PROGRAM).parents[1]
    call("cmake", "--install", build, "--prefix", PREFIX, DESTDIR=os.path.abspath("root"))
    return pathlib.Path("root" + PREFIX).resolve()


def pkg_config(place, *words):
    return call("pkg-config", *words, PKG_CONFIG_PATH=str(place / "lib" / "pkgconfig")).split()


def build_consumer(place, *options, status=0):
    text = call("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", "consumer", f"-DCMAKE_PREFIX_PATH={place}", *options,
                status=status)
    if status == 0:
        call("cmake", "--build", "consumer")
    return text


def test_projects_with_cmake():
    build_consumer(install(), "-DCONSUMER_COMPONENTS=driver", "-DCMAKE_C_FLAGS=" + " ".join(C_FLAGS),
                   "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
    for name in ("c_model", "c_model_static", "cpp_model", "c_driver", "cpp_driver"):
        call(f"consumer/{name}")


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
        for compiler in (["cc", "-x", "c", *C_FLAGS], ["c++", "-x", "c++", "-std=c++11", *C_FLAGS[1:]]):
            pathlib.Path("one").write_text(f"#include <{header.relative_to(include)}>\n")
            call(*compiler, "-fsyntax-only", f"-I{include}", "one")


def test_program_runs_where_it_is_installed():
    place = install()
    check_equal(call(place / "bin" / "ufp4", "random").strip(), "a97328cd a9a95582 2e34d974 fe50811e", "a draw")


def declared(headers):
    """The functions that headers declare."""
    text = re.sub(r"/\*.*?\*/", "", "".join(p.read_text() for p in headers), flags=re.S)
    return set(re.findall(r"^(?:const )?[a-z_0-9]+ \*?(ufp4_[a-z0-9_]+)\(", text, flags=re.M))


def test_libraries_export_what_the_headers_declare():
    place = install()
    include = place / "include"
    model, driver = declared((include / "ufp4").glob("*.h")), declared([include / "ufp4.h"])
    check(len(model) > 40 and len(driver) > 20, f"headers were not understood: {model} {driver}")
    for file, options, want in (("libufp4_model.so", ["-D"], model), ("libufp4_model.a", [], model),
                                ("libufp4.so", ["-D"], driver)):
        lines = call("nm", "-g", "--defined-only", *options, place / "lib" / file).splitlines()
        got = {line.split()[2] for line in lines if len(line.split()) == 3}
        check_equal(sorted(got - want), [], f"{file} exports more")
        check_equal(sorted(want - got), [], f"{file} lacks")


def test_versions_agree():
    place = install()
    version = call(place / "bin" / "ufp4", "--version").split()[1]
    for package in ("ufp4", "ufp4_model"):
        check_equal(pkg_config(place, "--modversion", package), [version], package)
    check((place / "lib" / f"libufp4.so.{version}").exists(), "the library's version")
    headings = re.findall(r"^## ([0-9.]+)", (SOURCE / "docs" / "changelog.md").read_text(), flags=re.M)
    check_equal(headings[0], version, "the changelog's first version")


def simulate(place, unit):
    """The installed example testbench against @unit, as its first lines tell to build it."""
    environment = {"PKG_CONFIG_PATH": str(place / "lib" / "pkgconfig")}
    if shutil.which("ccache"):
        environment["OBJCACHE"] = "ccache"
    call("sh", "-c", "verilator --binary --top-module user_pe_tb -Wno-fatal -CFLAGS -O0"
         ' -LDFLAGS "$(pkg-config --libs ufp4_dpi)" $(pkg-config --variable=sv ufp4_dpi) ' +
         f"{unit} {place}/share/ufp4/dpi/example/user_pe_tb.sv", **environment)
    return subprocess.run(["obj_dir/Vuser_pe_tb"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)


def test_dpi_example_on_rtl():
    place = install()
    done = simulate(place, place / "share/ufp4/dpi/example/user_pe.sv")
    check(done.returncode == 0 and "850 compared, 0 mismatches" in done.stdout, done.stdout)


def test_dpi_example_finds_a_bug_on_rtl():
    """Of subnormal scales, whose significand has no hidden bit: the first block with one is named."""
    place = install()
    text = (place / "share/ufp4/dpi/example/user_pe.sv").read_text()
    right = "{scale[6:3] != 4'd0, scale[2:0]}"
    check(text.count(right) == 1, text)
    pathlib.Path("user_pe.sv").write_text(text.replace(right, "{1'b1, scale[2:0]}"))
    done = simulate(place, "user_pe.sv")
    check(done.returncode != 0 and re.search("product, row [0-9]+, block [0-9]+: got", done.stdout), done.stdout)


def commands():
    text = call(bench.PROGRAM, "--help")
    names = re.findall(r"^  ([a-z]+) ", text, flags=re.M)
    check(len(names) > 10, text)
    return names


def test_manual_pages():
    """One for each command that --help lists, with every option; no warnings of mandoc."""
    check(shutil.which("mandoc"), "mandoc is missing: apt-get install mandoc")
    folder = install() / "share" / "man" / "man1"
    names = {name: f"ufp4-{name}.1" for name in commands()}
    check_equal(sorted(p.name for p in folder.iterdir()), sorted([*names.values(), "ufp4.1"]), "pages")
    check_equal(call("mandoc", "-T", "lint", "-W", "warning", *sorted(folder.iterdir())), "", "mandoc's warnings")
    overview = call("mandoc", "-T", "utf8", "-O", "width=200", folder / "ufp4.1")
    for name, page in names.items():
        text = re.sub(".\b", "", call("mandoc", "-T", "utf8", "-O", "width=200", folder / page))
        usage = call(bench.PROGRAM, name, "--help")
        for option in re.findall(r"^  (?:-[a-z], )?(--[a-z0-9-]+)", usage, flags=re.M):
            check(re.search(rf"(^|[ ,]){option}\b", text, flags=re.M), f"{page} lacks {option}: {text}")
        check(usage.split("Example:\n  ")[1].strip() in text, f"{page}: example: {text}")
        check(f"ufp4-{name}(1)" in re.sub(".\b", "", overview), f"ufp4.1 lacks {name}: {overview}")


def test_program_needs_only_a_c_compiler():
    """And what it cannot read without libraries, it says."""
    os.mkdir("bin")
    for tool in ("cc", "as", "ld", "ar", "ranlib", "objcopy", "make"):
        os.symlink(os.path.realpath(shutil.which(tool)), f"bin/{tool}")
    cmake, path = shutil.which("cmake"), {"PATH": os.path.abspath("bin"), "CC": "", "CXX": "", "CMAKE_GENERATOR": ""}
    # CMake looks for programs beside itself too, whatever PATH is.
    absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("PkgConfig", "ZLIB", "Python3")]
    text = call(cmake, "-S", SOURCE, "-B", "bare", "-DCMAKE_BUILD_TYPE=Debug", "-DVERILATOR=OFF", "-DUFP4_NVCC=OFF", *absent, **path)
    for line in ("golden model: yes", "driver, command line: yes", ".safetensors files, recipes from JSON files: no (",
                 "text from gzip files: no (", "simulated core (backend rtl): no (", "tests: no ("):
        check(f"  {line}" in text, f"{line}: {text}")
    call(cmake, "--build", "bare", "--parallel", "2", **path)
    place = install("bare")
    build_consumer(place, "-DCONSUMER_COMPONENTS=driver")
    for name in ("c_model", "c_model_static", "cpp_model", "c_driver", "cpp_driver"):
        call(f"consumer/{name}")
    use_bare_program(place / "bin" / "ufp4")


def use_bare_program(program):
    tensors = [bench.write_npy(f"{name}.npy", bench.gaussian(rows, cols)) for name, rows, cols in
               (("X", 32, 48), ("W", 16, 48), ("dY", 32, 16))]
    reports = [json.loads(call(p, "layer", *tensors, "-o", folder, "--json"))
               for p, folder in ((program, "bare_d"), (bench.PROGRAM, "d"))]
    check_equal(reports[0], reports[1], "what it prints")
    for name in ("Y", "dX", "dW"):
        check_equal(pathlib.Path(f"bare_d/{name}.npy").read_bytes(), pathlib.Path(f"d/{name}.npy").read_bytes(), name)
    pathlib.Path("text").write_text("what one learns from " * 5000)
    call(program, "train", "text", "-o", "out", "--seeds", "1", "--steps", "1", "--recipe", "ufp4")
    pathlib.Path("text.gz").write_bytes(gzip.compress(pathlib.Path("text").read_bytes()))
    pathlib.Path("recipe.json").write_text("{}")
    for words in (["train", "text.gz", "-o", "other"], ["layer", *tensors, "-o", "d", "--recipe", "recipe.json"],
                  ["quantize", tensors[0], "-o", "X.safetensors", "--elem", "e1m2"]):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
        check(done.returncode == 3 and "was made without" in done.stderr and done.stderr.count("\n") == 1, f"{words}: {done}")


def test_golden_model_alone_on_request():
    text = call("cmake", "-G", "Ninja", "-S", SOURCE, "-B", "model", "-DUFP4_MODEL_ONLY=ON")
    check("driver, command line: no (" in text and "tests: no (" in text, text)
    call("cmake", "--build", "model")
    place = install("model")
    check(not (place / "include" / "ufp4.h").exists() and not (place / "bin").exists(), "no driver, no program")
    text = build_consumer(place, "-DCONSUMER_COMPONENTS=driver", status=1)
    check("without the component 'driver'" in text, text)


def test_folders_named_from_the_root():
    """As some distributions give them to CMake; DESTDIR alone moves them, so they are used where they end up."""
    root = os.path.abspath("root")
    library, include = f"{root}/library", f"{root}/include"
    call("cmake", "-G", "Ninja", "-S", SOURCE, "-B", "model", "-DUFP4_MODEL_ONLY=ON", f"-DCMAKE_INSTALL_PREFIX={root}",
         f"-DCMAKE_INSTALL_LIBDIR={library}", f"-DCMAKE_INSTALL_INCLUDEDIR={include}")
    call("cmake", "--build", "model")
    call("cmake", "--install", "model")
    flags = call("pkg-config", "--cflags", "--libs", "ufp4_model", PKG_CONFIG_PATH=f"{library}/pkgconfig").split()
    check_equal(flags, [f"-I{include}", f"-L{library}", "-lufp4_model"], "flags")
    call("cc", *C_FLAGS, CONSUMER / "model.c", "-o", "program", *flags)
    call("./program", LD_LIBRARY_PATH=library)


def test_rejects_another_version():
    place = install()
    os.mkdir("project")
    for version, found in (("0.1", True), ("0.0", False), ("0.2", False), ("1.0", False)):
        pathlib.Path("project/CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.22)\nproject(p C)\nfind_package(ufp4 {version} REQUIRED)\n")
        call("cmake", "-S", "project", "-B", "build", f"-DCMAKE_PREFIX_PATH={place}", status=0 if found else 1)


if __name__ == "__main__":
    bench.main(globals())
