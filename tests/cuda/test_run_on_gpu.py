# SPDX-License-Identifier: Apache-2.0
"""Tests run_on_gpu.sh with stubs of its tools: it takes all its steps, and a step that is wrong, hangs or dies hides no
other one. Also tests what pack_for_gpu.sh packs, and what the recording program prints when it is ended.
test_run_on_gpu.py ROOT PROGRAM LIBRARY [TEST]"""

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
# After the expected text this prints more than a pipe holds.
LONG = "i=0; while [ $i -lt 3000 ]; do echo $i......................................; i=$((i + 1)); done"
WAYS = ("quick", "fp32", "e8m0", "outputs")
KINDS = ("memcheck", "initcheck", "racecheck", "synccheck")
SANITIZED = [f"{kind}, {way}" for kind in KINDS for way in ("quick", "fp32", "exact_near", "e8m0")]
STUBS = {
    "nvidia-smi": f"echo Some GPU, 9.0; {LONG}",
    "nproc": "echo 2",
    "ncu": "echo Duration",
    "cc": ":",
    "c++": ":",
    "python3": "exit 1",
    # Cuts the waiting for a step that hangs.
    "timeout": f"""case "$*" in *"--way ${{HANGS:-nothing}} "*) shift 3; set -- -k 1 1 "$@" ;; esac
exec {shutil.which("timeout")} "$@" """,
    "nvcc": 'printf "#!/bin/sh\\n" > "$2"; chmod +x "$2"',
    "compute-sanitizer": """[ "$1" != --version ] || { echo Version ${VERSION:-2025.1}; exit 0; }
echo "$2" >> "$STATE/sanitizer"; [ -z "$REPORT" ] || printf "$REPORT"; exit ${SANITIZER:-0}""",
    "cmake": f"""case $* in
*"--target help") echo ufp4_cli: phony; {LONG} ;;
--build*) mkdir -p "$2/drivers"; for name in ufp4 ufp4_cuda_record; do cp "$STUB/$name" "$2/drivers"; done ;;
esac""",
    "ufp4_cuda_record": f"""case $1 in
--ways) printf '%s\\n' {" ".join(WAYS)} ;;
--fuzz) [ $4 != "$FUZZ" ] || exit 1; echo "seed $4: 10 cases equal" ;;
--check) case $2 in *"way_$WRONG.txt") exit 1 ;; esac ;;
-o) case "$*" in *"--way $HANGS "*) sleep 100 ;; *"--way $DIES "*) exit 7 ;; esac; echo figure > "$2" ;;
esac""",
    "ufp4": f"""[ $# -gt 1 ] || {{ echo backend rtl: available; {LONG}; }}
echo "$*" >> "$STATE/ufp4" """,
}


def make_tools(folder):
    """@return an environment in which the stubs are found first."""
    tools, state = folder / "tools", folder / "state"
    for made in (tools, state):
        made.mkdir()
    for name, body in STUBS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    path = {"PATH": f"{tools}:{os.environ['PATH']}", "STATE": str(state), "STUB": str(tools)}
    return os.environ | dict.fromkeys(("WRONG", "HANGS", "DIES", "FUZZ"), "nothing") | path


def script(tree, env):
    """@return status, lines of the summary, standard error."""
    done = subprocess.run([tree / "tests/cuda/run_on_gpu.sh"], env=env, capture_output=True, text=True, timeout=600)
    summary = done.stdout.partition("run_on_gpu: summary\n")[2]
    return done.returncode, [line.strip() for line in summary.splitlines()], done.stderr


def run(folder, **variables):
    """Runs the script in a checkout that has nothing else."""
    tree, env = folder / "tree", make_tools(folder) | variables
    for made in (tree / "tests/cuda", tree / "docs/howto"):
        made.mkdir(parents=True)
    (tree / "docs/howto" / "words.md").write_text("words\n")
    (tree / "CMakeLists.txt").touch()
    shutil.copy(ROOT / "tests/cuda/run_on_gpu.sh", tree / "tests/cuda")
    status, lines, err = script(tree, env)
    assert (tree / "tests/cuda/records/Some_GPU.txt").read_text() == "figure\n", err
    assert (folder / "state/sanitizer").read_text().split() == [kind for kind in KINDS for _ in range(4)], err
    said = (folder / "state/ufp4").read_text().splitlines()
    layers = [line.split("-o layer ")[1] for line in said if line.startswith("layer ")]
    assert layers == LAYERS, (layers, err)
    return status, lines, err


LAYERS = ["--backend rtl --check cuda"] + [f"--recipe {recipe} --backend cuda --check model" for recipe in RECIPES]


def expected(ways=(), sanitized="no report", version="2025.1", fuzz="fuzz: 20 cases equal"):
    """Returns the expected summary, with other results for some ways and for the sanitizer."""
    return (
        [f"way {way}: {dict(ways).get(way, 'equal')}" for way in WAYS]
        + [fuzz, "figures: done", "record: equal", "PyTorch: left out, there is none that sees the GPU"]
        + [f"compute-sanitizer: Version {version}"]
        + [f"{name}: {sanitized(name) if callable(sanitized) else sanitized}" for name in SANITIZED]
        + [f"ncu, {kernel}: done, see LOG" for kernel in ("fp32_kernel", "exact_kernel", "quick_kernel")]
        + ["example graph: done", "info: done", "train: done", "layer, simulated core: done"]
        + [f"layer, {recipe}: done" for recipe in RECIPES]
    )


def assert_lines(got, want, err):
    assert [re.sub(r"after \d+ s", "after N s", re.sub(r"see /.*", "see LOG", line)).strip() for line in got] == want, (
        got,
        want,
        err,
    )


def test_takes_all_its_steps(folder):
    status, lines, err = run(folder)
    assert_lines(lines, expected(), err)
    assert status == 0, err


def test_no_way_that_is_wrong_hangs_or_dies_stops_the_others(folder):
    status, lines, err = run(folder, WRONG="quick", HANGS="fp32", DIES="e8m0")
    ends = {"quick": "WRONG, see above", "fp32": "hung after N s", "e8m0": "died with status 7"}
    assert_lines(lines, expected(ends), err)
    assert status == 1, err


def test_a_seed_that_differs_is_told(folder):
    status, lines, err = run(folder, FUZZ="1")
    assert_lines(lines, expected(fuzz="fuzz, seed 1: WRONG, see LOG"), err)
    assert status == 1, err


def test_a_sanitizer_that_dies_is_told(folder):
    status, lines, err = run(folder, SANITIZER="7")
    assert_lines(lines, expected(sanitized="died with status 7, see LOG"), err)
    assert status == 1, err


REPORT = (
    r"========= COMPUTE-SANITIZER\n========= Invalid read\n=========     at {}(int)+0x10\n"
    r"=========\n========= ERROR SUMMARY: 1 error\n"
)


def test_false_reports_that_are_known_are_no_failure(folder):
    """Of memcheck's reports only those of 2023 are known to be false, of initcheck's none."""

    def end(name):
        known = name.split(",")[0] in ("racecheck", "synccheck")
        return "1 reports, all known to be false" if known else "1 REPORTS beside 0 known to be false, see LOG"

    status, lines, err = run(folder, SANITIZER="1", REPORT=REPORT.format("fp32_kernel"))
    assert_lines(lines, expected(sanitized=end), err)
    assert status == 1, err


def test_a_report_of_another_kernel_is_a_failure(folder):
    status, lines, err = run(folder, SANITIZER="1", VERSION="2023.2", REPORT=REPORT.format("quick_kernel"))
    assert_lines(lines, expected(sanitized="1 REPORTS beside 0 known to be false, see LOG", version="2023.2"), err)
    assert status == 1, err


def pack(folder, library):
    return subprocess.run(
        [ROOT / "tests/cuda/pack_for_gpu.sh", PROGRAM.parents[1], folder, library],
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_what_is_packed_runs_by_itself(folder):
    """The emulated GPU's library replaces the real one: the program runs one way, stubs run all steps."""
    kit = folder / "kit"
    done = pack(kit, LIBRARY)
    assert done.returncode == 0, done.stderr
    env = make_tools(folder)
    env.pop("UFP4_CUDA_LIBRARY", None)
    drivers, made = kit / "build/gpu/drivers", folder / "way.txt"
    for command in (["-o", made, "--quick", "--way", "quick", "--size", "0"], ["--check", made], ["--fuzz", "0.5"]):
        subprocess.run([drivers / "ufp4_cuda_record", *command], env=env, check=True, timeout=600)
    assert "way quick quick\n" in made.read_text()
    for name in ("ufp4", "ufp4_cuda_record"):
        shutil.copy(folder / "tools" / name, drivers)
    status, lines, err = script(kit, env)
    want = [line.replace("graph: done", "graph: left out, it was not built") for line in expected()]
    assert_lines(lines, want, err)
    assert status == 0, err


def test_what_is_too_much_to_carry_is_refused(folder):
    large = folder / "large.so"
    with open(large, "wb") as file:
        file.truncate(64 << 20)
    done = pack(folder / "kit", large)
    assert done.returncode == 2 and "can be carried" in done.stderr, done


def test_an_ended_record_says_in_which_case(folder):
    """Otherwise nothing would name a kernel that hangs on a GPU."""
    made = folder / "record.txt"
    env = os.environ | {"UFP4_CUDA_LIBRARY": str(LIBRARY)}
    with subprocess.Popen([PROGRAM, "-o", made, "--size", "0"], env=env, stderr=subprocess.PIPE, text=True) as process:
        part = made.with_name("record.txt.part")
        # Lines about the GPU come first; only after the first hash is a case always running.
        while process.poll() is None and not (part.exists() and "\nhash " in part.read_text()):
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
