# SPDX-License-Identifier: Apache-2.0
"""Where outputs go: through symbolic links, into no device and no stream, and onto disks that are full."""
import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time

import bench
from bench import check, check_equal, passes, rejects

TRAINING = ["--d-model", 32, "--ff", 32, "--layers", 1, "--context", 16, "--batch", 2, "--eval", 64, "--steps", 1,
            "--seeds", 1, "--recipe", "ufp4"]


def inputs():
    """Tensors, an operand, a text; and every command that writes a file, its output's name left out."""
    bench.write_npy("X.npy", bench.gaussian(32, 64))
    pathlib.Path("text").write_text("the cat sat on a mat. " * 400)
    passes("quantize", "X.npy", "-o", "X.safetensors", "--elem", "e1m2")
    return {
        "a.npy": ["cast", "X.npy", "--to", "e2m1", "-o"],
        "b.safetensors": ["quantize", "X.npy", "--elem", "e1m2", "-o"],
        "c.npy": ["dequantize", "X.safetensors", "-o"],
        "d.npy": ["gemm", "X.safetensors", "X.safetensors", "-o"],
        "e.txt": ["vectors", "dot", "-o"],
        "f.svg": ["bias", "X.npy", "--plot"],
    }


def folders():
    return {"layer": ["layer", "X.npy", "X.npy", "-", "--pass", "fprop", "-o"], "train": ["train", "text", *TRAINING, "-o"]}


@contextlib.contextmanager
def small_disk(size):
    """A file system of that many bytes, of root alone."""
    with tempfile.TemporaryDirectory() as folder:
        mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True).returncode == 0
        if not mounted:
            raise bench.Skipped("mounting a small file system needs root")
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)


def test_a_link_stays_and_its_file_is_replaced():
    os.mkdir("there")
    for name, words in inputs().items():
        passes(*words, name)
        os.rename(name, f"there/{name}")
        want = pathlib.Path(f"there/{name}").read_bytes()
        os.symlink(f"there/{name}", "between")
        os.symlink("between", name)
        pathlib.Path(f"there/{name}").write_text("earlier")
        passes(*words, name)
        check(os.path.islink(name) and os.path.islink("between"), f"{words}: the links are gone")
        check_equal(pathlib.Path(f"there/{name}").read_bytes(), want, f"what {words} has written")
        os.remove("between")


def test_a_link_to_nothing_creates_its_target():
    os.mkdir("there")
    for name, words in inputs().items():
        os.symlink(f"there/{name}", name)
        passes(*words, name)
        check(os.path.islink(name) and os.path.getsize(f"there/{name}") > 0, f"{words}: no file where the link leads")
        os.symlink(f"nowhere/{name}", "lost-" + name)
        rejects(2, "cannot create", *words, "lost-" + name)
    for name, words in folders().items():
        os.symlink(f"there/{name}", name)
        passes(*words, f"{name}/")
        check(os.path.islink(name) and os.listdir(f"there/{name}"), f"{words}: nothing where the link leads")


def test_outputs_of_a_folder_follow_links():
    inputs()
    for words, name in ((folders()["layer"], "Y.npy"), (folders()["train"], "losses.csv")):
        os.makedirs("out", exist_ok=True)
        os.symlink("../elsewhere", f"out/{name}")
        passes(*words, "out")
        check(os.path.islink(f"out/{name}") and os.path.getsize("elsewhere") > 0, f"{words}: {name}")
        os.remove("elsewhere")
        os.remove(f"out/{name}")
        os.symlink("/dev/null", f"out/{name}")
        rejects(2, "device or stream", *words, "out")


def test_rejects_devices_and_streams():
    commands = inputs()
    os.mkfifo("pipe")
    os.mkdir("folder")
    for link, target in (("stdout", "/proc/self/fd/1"), ("null", "/dev/null"), ("to-pipe", "pipe"), ("to-folder", "folder"),
                         ("circle", "round"), ("round", "circle")):
        os.symlink(target, link)
    for name, words in commands.items():
        for path in ("stdout", "null", "to-pipe", "to-folder", "circle", "pipe", "/dev/stdout", "/dev/fd/2", "/dev/new",
                     "/dev/null", "/proc/self/comm"):
            if not name.endswith(".svg"):
                rejects(2, "cannot write", *words, path)
        if name.endswith(".svg"):
            os.symlink("/proc/self/fd/1", "stdout.svg")
            rejects(2, "cannot write", *words, "stdout.svg")
    for words in folders().values():
        rejects(2, "cannot write", *words, "/dev/new")


def test_standard_output_in_a_file_stays_as_it_is():
    words = [bench.PROGRAM, *map(str, inputs()["a.npy"])]
    os.symlink("/proc/self/fd/1", "link")
    for name, status in (("link", 2), ("/dev/stdout", 2), ("out.txt", 2)):
        with open("out.txt", "w") as out:
            out.write("printed before\n")
            out.flush()
            done = subprocess.run([*words, name], stdout=out, stderr=subprocess.PIPE, text=True, timeout=60)
        check_equal((done.returncode, done.stderr.count("\n")), (status, 1), f"-o {name}: {done.stderr!r}")
        check_equal(pathlib.Path("out.txt").read_text(), "printed before\n", f"standard output after -o {name}")


def test_rejects_a_trace_into_a_stream_on_rtl():
    inputs()
    os.symlink("/proc/self/fd/1", "t.fst")
    rejects(2, "cannot write", "gemm", "X.safetensors", "X.safetensors", "-o", "D.npy", "--backend", "rtl", "--config",
            "small", "--trace", "t.fst")


def test_a_full_disk_is_the_environment():
    commands = inputs()
    bench.write_npy("X.npy", bench.gaussian(128, 512))
    passes("quantize", "X.npy", "-o", "X.safetensors", "--elem", "e1m2")
    commands["e.txt"][2:2] = ["--count", 10000]
    with small_disk(4096) as disk:
        for name, words in commands.items():
            rejects(3, "No space left", *words, f"{disk}/{name}")
            check_equal(os.listdir(disk), [], f"files that {words} has left")
        for words in folders().values():
            rejects(3, "No space left", *words, f"{disk}/new")
            rejects(3, "No space left", *words, disk)


# 16 KiB: too little for the writer's own files; 200 KiB: for the waveforms.
def test_a_full_disk_ends_waveforms_on_rtl():
    inputs()
    words = ["gemm", "X.safetensors", "X.safetensors", "-o", "D.npy", "--backend", "rtl", "--config", "small", "--trace"]
    for size in (4096, 16384, 65536, 204800):
        with small_disk(size) as disk:
            rejects(3, "waveforms", *words, f"{disk}/t.fst")
            check_equal(os.listdir(disk), [], "files left")
    passes(*words, "t.fst")
    check_equal(sorted(p for p in os.listdir(".") if p.startswith("t.fst")), ["t.fst"], "waveforms")


def test_a_limit_on_file_sizes_says_a_line():
    commands = inputs()
    for name, words in commands.items():
        command = [bench.PROGRAM, *map(str, words), name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
        check_equal((done.returncode, done.stderr.count("\n")), (3, 1), f"{words}: {done.stderr!r}")
        check("File too large" in done.stderr and not os.path.exists(name), f"{words}: {done.stderr!r}")


def test_signals_that_end_say_so():
    inputs()
    words = [str(w) for w in (*folders()["train"], "out")]
    words[words.index("--steps") + 1] = "1000000"
    for number, text in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")):
        process = subprocess.Popen([bench.PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   stdin=subprocess.DEVNULL)
        time.sleep(0.5)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        check_equal((process.returncode, out, err), (-number, "", f"ufp4: {text}\n"), f"signal {number}")
        check(not os.path.exists("out"), "an output is there")


def test_captured_tensors_are_of_one_run():
    inputs()
    words = folders()["train"] + ["out", "--capture"]
    two = [2 if words[i - 1] == "--layers" else w for i, w in enumerate(words)]
    other = ["e2m1" if w == "ufp4" else w for w in words]
    passes(*two)
    check_equal(len(os.listdir("out/ufp4")), 2 * 4 * 3, "tensors of two blocks")
    pathlib.Path("out/ufp4/notes.txt").write_text("mine")
    pathlib.Path("out/ufp4/layer1.mine.X.npy").write_text("mine")
    passes(*words)
    kept = {"notes.txt", "layer1.mine.X.npy"}
    found = set(os.listdir("out/ufp4"))
    check(kept < found and len(found) == 4 * 3 + 2 and all(n.startswith("layer0.") for n in found - kept), str(found))
    passes(*other)
    check_equal(set(os.listdir("out/ufp4")), kept, "of another recipe's run")
    passes(*other[:-1])
    check(not os.path.exists("out/e2m1"), "tensors of a run that was not the last")


def test_rejects_waveforms_of_several_runs():
    inputs()
    words = folders()["train"]
    words[words.index("--seeds") + 1] = 2
    rejects(2, "one run", *words, "out", "--backend", "rtl", "--trace", "t.fst")


if __name__ == "__main__":
    bench.main(globals())
