# SPDX-License-Identifier: Apache-2.0
"""Tests trainings that are stopped and resumed, or spread over processes."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import stand
from stand import Skipped, check, passes, refuses, rejects, slow
from trainings import TINY, reject_train, shape_with, write_text


def processor_seconds(process):
    """Returns the processor time of all threads of a process so far, or infinity if it has ended."""
    if process.poll() is not None:
        return float("inf")
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupt(number, *words, after=0.1):
    """Runs train with these words (and -o DIR), and ends it with a signal once it trains and has used so many more
    processor seconds; wall-clock time would not show on a busy machine whether it has done anything. A run that the
    signal ends before that counts as interrupted too."""
    process = subprocess.Popen([stand.PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    settings = os.path.join(words[words.index("-o") + 1], "runs", "settings.json")
    while not os.path.exists(settings) and process.poll() is None:
        time.sleep(0.01)
    start = processor_seconds(process)
    while processor_seconds(process) < start + after:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    return 128 + number if process.returncode == -number else process.returncode, err


def all_files(folder):
    return {
        name: open(os.path.join(folder, name)).read() for name in sorted(os.listdir(folder)) if name.endswith(".csv")
    }


@slow
def test_ends_in_the_same_files():
    text, whole, part = write_text(), "whole", "part"
    words = [*TINY, "--steps", "100", "--seeds", "2", "--recipe", "bf16,ufp4,nvfp4"]
    passes("train", text, "-o", whole, *words)
    status, err = interrupt(signal.SIGINT, "train", text, "-o", part, *words)
    check(status == 130 and err == "ufp4 train: interrupted; --resume continues it\n", status, repr(err))
    rejects(2, "--resume continues", "train", text, "-o", part, *words)
    rejects(2, "seed is 0, not 7", "train", text, "-o", part, *words, "--resume", "--seed", "7")
    rejects(2, "seed is 0, not 7", "train", text, "-o", part, *words, "--seed", "7")
    stops = 1
    while status == 130 and stops < 200:
        status, err = interrupt(
            signal.SIGTERM if stops == 1 else signal.SIGINT, "train", text, "-o", part, *words, "--resume"
        )
        status = 130 if status == 143 else status
        stops += 1
    check(status == 0 and stops > 1, status, stops, err)
    check(all_files(whole) == all_files(part), "files differ")
    check(len(all_files(part)) == 3 and not os.path.exists(os.path.join(part, "runs")), os.listdir(part))


@slow
def test_captures_the_same_tensors():
    text, whole, part = write_text(), "whole", "part"
    words = [*TINY, "--steps", "150", "--seeds", "1", "--recipe", "bf16,ufp4", "--whole", "--capture", "--threads", "1"]
    passes("train", text, "-o", whole, *words)
    status, resume = 130, []
    while status == 130:
        status, err = interrupt(signal.SIGINT, "train", text, "-o", part, *words, *resume)
        resume = ["--resume"]
    check(status == 0, status, err)
    for name in sorted(os.listdir(os.path.join(whole, "ufp4"))):
        check(
            open(os.path.join(whole, "ufp4", name), "rb").read() == open(os.path.join(part, "ufp4", name), "rb").read(),
            name,
        )


def test_rejects_a_folder_where_another_process_trains():
    text, out = write_text(), "out"
    words = ["train", text, "-o", out, *shape_with("--steps"), "--steps", "100000"]
    process = subprocess.Popen([stand.PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(os.path.join(out, "runs", "settings.json")):
        time.sleep(0.01)
    try:
        refuses(2, "another process is using this folder", *words)
        refuses(2, "another process is using this folder", *words, "--resume")
    finally:
        process.kill()
        process.wait()
    rejects(2, "--resume continues", *words)


def test_measures_as_much_as_before():
    text, out = write_text(), "out"
    words = ["train", text, "-o", out, *shape_with("--steps", "--eval"), "--steps", "100000"]
    check(interrupt(signal.SIGINT, *words)[0] == 130, "interrupted")
    rejects(2, "forward_eval_all is true, not false", *words, "--resume", "--eval", "131072")


def test_says_that_the_program_was_rebuilt():
    text, out = write_text(), "out"
    words = ["train", text, "-o", out, *shape_with("--steps"), "--steps", "100000"]
    check(interrupt(signal.SIGINT, *words)[0] == 130, "interrupted")
    said = "another build of the program started this experiment"
    status, err = interrupt(signal.SIGINT, *words, "--resume")
    check(status == 130 and said not in err, status, err)
    program = stand.PROGRAM
    stand.PROGRAM = shutil.copy(program, os.path.abspath("rebuilt"))
    with open(stand.PROGRAM, "ab") as file:
        file.write(b"\0")
    status, err = interrupt(signal.SIGINT, *words, "--resume")
    stand.PROGRAM = program
    check(status == 130 and said in err, status, err)


def test_counts_cycles_as_before():
    """On a core the memory is a setting that must be the same; without cores any backend will do."""
    text, out = write_text(), "out"
    words = ["train", text, "-o", out, *shape_with("--steps", "--eval"), "--steps", "100000", "--recipe", "ufp4"]
    status, err = interrupt(signal.SIGINT, *words, "--backend", "tlm")
    if "is not in this build" in err:
        raise Skipped("needs a build with the timed model")
    check(status == 130, "interrupted", err)
    for option, value, said in (
        ("--mem-latency", "30", "mem_latency is 100, not 30"),
        ("--stall", "3", "stall is 0, not 3"),
        ("--mem-bandwidth", "5", "mem_bandwidth is 0, not 5"),
        ("--dram", "hbm3", "dram is"),
        ("--config", "small", "config is"),
    ):
        rejects(2, said, *words, "--resume", "--backend", "tlm", option, value)
    rejects(2, 'backend is "tlm", not absent', *words, "--resume")


def test_rejects_a_folder_where_nothing_is():
    reject_train(2, "--resume", "--resume")


def test_says_what_to_remove_of_a_damaged_checkpoint():
    """The damaged file is the last checkpoint of the base's first run, which has ended; the forward table reads it."""
    text, whole, out = write_text(), "whole", "out"
    words = [*TINY, "--steps", "100", "--seeds", "1", "--recipe", "bf16,ufp4", "--forward"]
    passes("train", text, "-o", whole, *words)
    words = ["train", text, "-o", out, *words]
    runs = os.path.join(out, "runs")
    process = subprocess.Popen([stand.PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(os.path.join(runs, "bf16-0.csv")) and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.wait()
    if not os.path.exists(runs):
        raise Skipped("it had ended before it could be stopped")
    os.truncate(os.path.join(runs, "bf16-0-at-end.safetensors"), 1000)
    rejects(2, "remove bf16-0.csv to repeat that run", *words, "--resume")
    os.remove(os.path.join(runs, "bf16-0-at-end.safetensors"))
    rejects(2, "remove bf16-0.csv to repeat that run", *words, "--resume")
    os.remove(os.path.join(runs, "bf16-0.csv"))
    passes(*words, "--resume")
    check(all_files(whole) == all_files(out), "files differ")


@slow
def test_a_checkpoint_that_is_cut_is_as_none():
    """A cut checkpoint of an unfinished run is silently ignored, and the run repeated; one with changed data is
    refused."""
    text, whole, part = write_text(), "whole", "part"
    words = [*TINY, "--steps", "1000", "--seeds", "1", "--recipe", "bf16", "--whole"]
    passes("train", text, "-o", whole, *words)
    status, err = interrupt(signal.SIGINT, "train", text, "-o", part, *words, after=0.1)
    checkpoint = os.path.join("runs", "bf16-0.safetensors")
    if status != 130 or not os.path.exists(os.path.join(part, checkpoint)):
        raise Skipped("it could not be stopped amid the run")
    data = pathlib.Path(part, checkpoint).read_bytes()
    pathlib.Path(part, checkpoint).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    rejects(2, f"remove {part}/{checkpoint} to repeat that run", "train", text, "-o", part, *words, "--resume")
    for size in (0, len(data) // 2, len(data) - 1):
        out = shutil.copytree(part, f"out{size}")
        pathlib.Path(out, checkpoint).write_bytes(data[:size])
        result = passes("train", text, "-o", out, *words, "--resume")
        check("safetensors" not in result.err and all_files(whole) == all_files(out), size, result.err)


def mpirun_or_skip():
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
    if not shutil.which("mpirun"):
        raise Skipped("mpirun is missing (openmpi-bin)")
    if subprocess.run([*words, "-n", "2", "true"], capture_output=True, timeout=600).returncode != 0:
        raise Skipped("mpirun starts no process here")
    return words


def test_goes_on_where_rows_of_a_rank_are_elsewhere():
    """Two ranks share no folder: nothing is written about runs that are elsewhere."""
    mpirun = mpirun_or_skip()
    here, there, whole = "here", "there", "whole"
    for name in (here, os.path.join(there, "out", "runs")):
        os.makedirs(name)
    words = [
        "train",
        os.path.abspath(write_text()),
        *TINY,
        "--steps",
        "6",
        "--seeds",
        "2",
        "--recipe",
        "bf16,ufp4,e2m1",
        "--whole",
        "--threads",
        "1",
        "-o",
    ]
    rank = ["-n", "1", stand.PROGRAM, *words, "out"]
    done = subprocess.run(
        [*mpirun, "-wdir", here, *rank, ":", "-wdir", there, *rank], capture_output=True, text=True, timeout=600
    )
    if "built without MPI" in done.stderr:
        raise Skipped("the program was built without MPI")
    check(
        done.returncode == 3 and "its rows are not in out/runs; --resume continues" in done.stderr,
        done.returncode,
        done.stderr,
    )
    out = os.path.join(here, "out")
    check(not all_files(out), "half the rows", os.listdir(out))
    passes(*words, out, "--resume")
    passes(*words, whole)
    check(all_files(whole) == all_files(out), "files differ")


def test_over_ranks_writes_the_same_files():
    mpirun = mpirun_or_skip()
    text, one, two = write_text(), "one", "two"
    words = [*TINY, "--steps", "6", "--seeds", "3", "--recipe", "bf16,ufp4,e2m1", "--threads", "1"]
    passes("train", text, "-o", one, *words)
    mpirun += ["-n", "3"]
    done = stand.run("train", text, "-o", two, *words, under=mpirun)
    if "built without MPI" in done.err:
        raise Skipped("the program was built without MPI")
    check(done.status == 0 and done.err.count("\n") == 1 and "UFP4_PYTHON" in done.err, "one rank says:", done)
    check(all_files(one) == all_files(two) and len(all_files(two)) == 3, "files differ")
    done = stand.run("train", text, "-o", two, *words, "--capture", under=mpirun)
    check(done.status == 2 and "--capture needs a single process" in done.err, done)


def test_a_signal_ends_python_too():
    """The files written so far stay. The first signal is enough here, while a training would only note it."""
    out, pid, python = "out", "pid", os.path.abspath("python")
    pathlib.Path(python).write_text(
        f'#!/bin/sh\n[ "$4" = -- ] || exit 0\necho $$ > {pid}.part\nmv {pid}.part {pid}\nexec sleep 100\n'
    )
    os.chmod(python, 0o755)
    words = ["train", write_text(), "-o", out, *shape_with(), "--seeds", "1", "--recipe", "bf16", "--whole"]
    program = subprocess.Popen(
        [stand.PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "UFP4_PYTHON": python},
    )
    end = time.monotonic() + 200
    while not os.path.exists(pid) and program.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    program.terminate()
    errors = program.communicate(timeout=600)[1]
    check(
        (program.returncode, errors) == (143, "ufp4 train: terminated; the report is incomplete\n"),
        program.returncode,
        errors,
    )
    check(not os.path.exists(f"/proc/{open(pid).read().strip()}"), "Python goes on")
    check(sorted(os.listdir(out)) == ["losses.csv", "train.json"], os.listdir(out))


if __name__ == "__main__":
    stand.main(globals())
