# SPDX-License-Identifier: Apache-2.0
"""Tests explore with lists of cases, and with runs that are stopped, resumed or shared."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time
import zlib

import stand
from stand import check, check_equal, passes, rejects, run, slow
from explorations import FILES, explore, shapes


SWEEP = ["--config", "small,board", "--recipe", "ufp4,mxfp4", "--tokens", "16,200", "--mem-bandwidth", "0,4"]
TWO_KINDS = {
    "model_type": "qwen3_moe",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "mlp_only_layers": [0],
}


def kill_after(case, words):
    """Starts an exploration and ends it with SIGKILL once the rows of a case are there."""
    process = subprocess.Popen([stand.PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not os.path.exists(f"out/cases/case-{case}.csv"):
        time.sleep(0.002)
    process.kill()
    process.wait(timeout=600)
    check(os.path.exists(f"out/cases/case-{case}.csv"), "it ended before it was killed")


def test_lists_are_tried_in_every_combination():
    rows = explore(
        "--config",
        "small,board",
        "--recipe",
        "ufp4,e2m1",
        "--mem-bandwidth",
        "0,4",
        "--mem-latency",
        "1,100",
        "--tokens",
        "16",
    )
    steps = [(r["recipe"], r["config"], r["mem_bandwidth"], r["mem_latency"]) for r in rows if r["layer"] == "step"]
    check_equal(len(steps), 16, "cases")
    check_equal(len(set(steps)), 16, "different cases")


def test_where_no_case_runs_one_line_says_so():
    for config in ("default", "tiny"):
        told = rejects(
            2,
            "no case runs on a core",
            "explore",
            shapes(),
            "--config",
            config,
            "--tokens",
            "1",
            "--batches",
            "2",
            "-o",
            "out",
        )
        check_equal(told.out, "", "what is printed")


def test_an_interrupted_run_says_how_to_go_on():
    words = ["explore", shapes(), *SWEEP, "-o", "out"]
    process = subprocess.Popen([stand.PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not os.path.exists("out/cases/case-0.csv"):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    check_equal(
        (process.returncode, err), (-signal.SIGINT, "ufp4 explore: interrupted; --resume continues it\n"), "its end"
    )
    check(out.endswith("\n"), f"it ends amid a line: {out[-80:]!r}")
    passes(*words, "--resume")


def test_a_bandwidth_above_the_bus_is_told():
    rows = explore("--config", "small,default", "--mem-bandwidth", "0,9,63,65", "--tokens", "16", "--serial")
    told = {(r["config"], r["mem_bandwidth"]): (bool(r["cycles"]), r["reason"]) for r in rows}
    above = "--mem-bandwidth {} is more than the bus's {} bytes per cycle"
    check_equal(
        told,
        {
            ("small", "0"): (True, ""),
            ("small", "9"): (True, above.format(9, 8)),
            ("small", "63"): (True, above.format(63, 8)),
            ("small", "65"): (True, above.format(65, 8)),
            **{("default", n): (True, "") for n in ("0", "9", "63")},
            ("default", "65"): (True, above.format(65, 64)),
        },
        "reasons",
    )


def test_commands_are_quoted():
    passes("explore", shapes(), "--config", "small", "--tokens", "4", "-o", "it's 1")
    command = json.loads(pathlib.Path("it's 1/explore.json").read_text())["command"]
    check_equal(
        shlex.split(command),
        ["ufp4", "explore", "s.csv", "--config", "small", "--tokens", "4", "-o", "it's 1"],
        "the command",
    )
    told = run("explore", "s.csv", "--config", "small", "--tokens", "4", "-o", "it's 1").err
    check_equal(shlex.split(told.split("-m ufp4.report ")[1]), ["it's 1/explore.json"], "how to draw it")


@slow
def test_what_was_cut_off_goes_on():
    words = ["explore", shapes("name,cin,cout,count\nfc1,300,400,2\n"), *SWEEP]
    lines = passes(*words, "-o", "want").out
    kill_after(2, [*words, "-o", "out"])
    check(not os.path.exists("out/explore.csv"), "a result before the end")
    rejects(2, "--resume continues it", *words, "-o", "out")
    rejects(2, "with other settings: clock_mhz is", *words, "-o", "out", "--resume", "--clock-mhz", "900")
    rejects(2, 'with other settings: dram is "none", not "hbm3"', *words, "-o", "out", "--resume", "--dram", "hbm3")
    rejects(2, "with other settings: chips is", *words, "-o", "out", "--resume", "--chips", "2x1x1", "--link", "1,1")
    rejects(2, "clock_mhz is null, not 900.1", *words, "-o", "out", "--resume", "--clock-mhz", "900.1")
    kept = pathlib.Path("out/cases/case-1.csv").read_text()
    pathlib.Path("out/cases/case-1.csv").write_text(kept[:100])
    rejects(2, "case-1.csv: damaged", *words, "-o", "out", "--resume", printed=True)  # case 0
    first, *rest = kept.split("\n")
    numbers = rest[0].split(",")
    numbers[10] = "1234567"  # cycles: the file is read, and the case is not run again
    changed = "\n".join([first, ",".join(numbers), *rest[1:-2], ""])
    pathlib.Path("out/cases/case-1.csv").write_text(f"{changed}crc32,{zlib.crc32(changed.encode()):08x}\n")
    shutil.copytree("out", "other")
    check("1234567" in passes(*words, "-o", "other", "--resume").out, "a case that has ended is run again")
    shutil.copytree("out", "rebuilt")
    program = shutil.copy(stand.PROGRAM, "program")
    with open(program, "ab") as file:
        file.write(b"\0")
    done = subprocess.run(
        [os.path.abspath(program), *words, "-o", "rebuilt", "--resume"], capture_output=True, text=True, timeout=600
    )
    check_equal((done.returncode, done.stdout), (0, lines), "another build's cases")
    check("another build of the program started this experiment; its cases are run again" in done.stderr, done.stderr)
    shutil.copytree("out", "stale")
    os.remove("stale/cases/settings.json")
    check_equal(
        "1234567" in passes(*words, "-o", "stale", "--clock-mhz", "900").out, False, "a case of other settings is read"
    )
    pathlib.Path("out/cases/case-1.csv").write_text(kept)
    check_equal(passes(*words, "-o", "out", "--resume").out, lines, "lines")
    check_equal(*(pathlib.Path(name, "explore.csv").read_bytes() for name in ("out", "want")), "explore.csv")
    check_equal(sorted(os.listdir("out")), FILES, "files left")
    rejects(2, "this folder holds no unfinished experiment", *words, "-o", "out", "--resume")


@slow
def test_ranks_write_the_same_file():
    if not shutil.which("mpirun"):
        raise stand.Skipped("mpirun is missing (openmpi-bin)")
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    if subprocess.run([*mpirun, "true"], capture_output=True, timeout=600).returncode != 0:
        raise stand.Skipped("mpirun starts no process here")
    # One of the models has two kinds of blocks.
    pathlib.Path("config.json").write_text(json.dumps(TWO_KINDS))
    for folder, *words in (["s", shapes(), *SWEEP], ["hf", "--hf", "config.json", "--serial", "--host-bytes", *SWEEP]):
        one, two = f"{folder}-one", f"{folder}-two"
        lines = passes("explore", *words, "-o", one).out
        done = subprocess.run(
            [*mpirun, stand.PROGRAM, "explore", *words, "-o", two], capture_output=True, text=True, timeout=600
        )
        if "built without MPI" in done.stderr:
            raise stand.Skipped("the program was built without MPI")
        check_equal((done.returncode, done.stdout), (0, lines), "what the ranks print")
        check_equal(*(pathlib.Path(name, "explore.csv").read_bytes() for name in (one, two)), "explore.csv")
        check_equal(sorted(os.listdir(two)), FILES, "files left")


if __name__ == "__main__":
    stand.main(globals())
