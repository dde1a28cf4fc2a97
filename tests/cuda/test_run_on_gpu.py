# SPDX-License-Identifier: Apache-2.0
"""run_on_gpu.sh, with tools that do nothing: all its steps are taken, and what fails beside the record hides nothing
else. And what the program of the record says when it is ended. test_run_on_gpu.py ROOT PROGRAM LIBRARY [TEST]"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT, PROGRAM, LIBRARY = map(pathlib.Path, sys.argv[1:4])
RECIPES = ("ufp4", "e2m1", "nvfp4", "e2m1-46", "mxfp4")
# More than a pipe holds, behind what is looked for.
LONG = "i=0; while [ $i -lt 3000 ]; do echo $i......................................; i=$((i + 1)); done"
STUBS = {
    "nvidia-smi": f"echo Some GPU, 9.0; {LONG}",
    "cc": ":",
    "c++": ":",
    "nvcc": 'printf "#!/bin/sh\\n" > "$2"; chmod +x "$2"',
    "compute-sanitizer": 'echo "$2" >> "$STATE/sanitizer"; exit ${SANITIZER:-0}',
    "cmake": f"""case $* in
*"--target help") echo ufp4_cli: phony; {LONG} ;;
--build*) mkdir -p "$2/drivers"; for name in ufp4 ufp4_cuda_record; do cp "$STUB/$name" "$2/drivers"; done ;;
esac""",
    "ufp4_cuda_record": '[ "$1" != -o ] || echo figure > "$2"',
    "ufp4": f"""[ $# -gt 1 ] || {{ echo backend rtl: available; {LONG}; }}
echo "$*" >> "$STATE/ufp4" """,
}


def run(folder, **variables):
    """In a checkout that has nothing but the script.
    @return status, the recipes and backends of layers, what it says."""
    tree, tools, state = (folder / name for name in ("tree", "tools", "state"))
    for made in (tools, state, tree / "tests/cuda", tree / "docs/howto"):
        made.mkdir(parents=True)
    (tree / "docs/howto" / "words.md").write_text("words\n")
    shutil.copy(ROOT / "tests/cuda/run_on_gpu.sh", tree / "tests/cuda")
    for name, body in STUBS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    env = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "STATE": str(state), "STUB": str(tools)} | variables
    done = subprocess.run([tree / "tests/cuda/run_on_gpu.sh"], env=env, capture_output=True, text=True, timeout=600)
    assert (tree / "tests/cuda/records/Some_GPU.txt").read_text() == "figure\n", done.stderr
    assert (state / "sanitizer").read_text().split() == ["memcheck", "racecheck"], done.stderr
    said = (state / "ufp4").read_text().splitlines() if (state / "ufp4").exists() else []
    return done.returncode, [line.split("-o layer ")[1] for line in said if line.startswith("layer ")], done.stderr


LAYERS = ["--backend rtl --check cuda"] + [f"--recipe {recipe} --backend cuda --check model" for recipe in RECIPES]


def test_takes_all_its_steps(folder):
    status, layers, err = run(folder)
    assert (status, layers) == (0, LAYERS), (status, layers, err)


def test_what_fails_beside_the_record_is_told_and_the_rest_goes_on(folder):
    status, layers, err = run(folder, SANITIZER="7")
    assert (status, layers) == (1, LAYERS), (status, layers, err)
    assert err.count("FAILED with status 7: compute-sanitizer") == 2, err


def test_an_ended_record_says_in_which_case(folder):
    """A kernel that hangs on a GPU would otherwise have no name."""
    made = folder / "record.txt"
    env = os.environ | {"UFP4_CUDA_LIBRARY": str(LIBRARY)}
    with subprocess.Popen([PROGRAM, "-o", made, "--size", "0"], env=env, stderr=subprocess.PIPE, text=True) as process:
        part = made.with_name("record.txt.part")
        while process.poll() is None and not (part.exists() and part.stat().st_size):  # some cases are behind it
            time.sleep(0.01)
        process.terminate()
        _, err = process.communicate(timeout=600)
    assert process.returncode == 3 and re.fullmatch(r"ufp4_cuda_record: ended in (quantize|gemm)_\w+\n", err), (
        process.returncode,
        err,
    )
    assert not made.exists()


if __name__ == "__main__":
    wanted = sys.argv[4:] or [name for name in dir() if name.startswith("test_")]
    for test in wanted:
        with tempfile.TemporaryDirectory() as place:
            globals()[test](pathlib.Path(place).resolve())
