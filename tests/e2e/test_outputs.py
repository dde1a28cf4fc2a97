# SPDX-License-Identifier: Apache-2.0
"""Tests where outputs go: through symbolic links, but not into devices and streams, and onto full disks."""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import stand
from stand import check, check_equal, passes, rejects, slow

TRAINING = [
    "--d-model",
    32,
    "--ff",
    32,
    "--layers",
    1,
    "--context",
    16,
    "--batch",
    2,
    "--eval",
    64,
    "--steps",
    1,
    "--seeds",
    1,
    "--recipe",
    "ufp4",
]


def inputs():
    """Makes tensors, an operand and a text. Returns every command that writes a file, without the output's name."""
    stand.write_npy("X.npy", stand.gaussian(32, 64))
    pathlib.Path("text").write_text("the cat sat on a mat. " * 400)
    passes("quantize", "X.npy", "-o", "X.safetensors", "--elem", "e1m2")
    return {
        "a.npy": ["cast", "X.npy", "--to", "e2m1", "-o"],
        "b.safetensors": ["quantize", "X.npy", "--elem", "e1m2", "-o"],
        "c.npy": ["dequantize", "X.safetensors", "-o"],
        "d.npy": ["gemm", "X.safetensors", "X.safetensors", "-o"],
        "e.txt": ["vectors", "dot", "-o"],
    }


def folders():
    return {
        "layer": ["layer", "X.npy", "X.npy", "-", "--pass", "fprop", "-o"],
        "train": ["train", "text", *TRAINING, "-o"],
    }


@contextlib.contextmanager
def small_disk(size):
    """Mounts a file system of that many bytes, which needs root."""
    with tempfile.TemporaryDirectory() as folder:
        mounted = (
            os.geteuid() == 0
            and subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True
            ).returncode
            == 0
        )
        if not mounted:
            raise stand.Skipped("mounting a small file system needs root")
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
    commands = {**inputs(), "f.svg": ["bias", "X.npy", "--plot"]}
    os.mkfifo("pipe")
    os.mkdir("folder")
    for link, target in (
        ("stdout", "/proc/self/fd/1"),
        ("null", "/dev/null"),
        ("to-pipe", "pipe"),
        ("to-folder", "folder"),
        ("circle", "round"),
        ("round", "circle"),
    ):
        os.symlink(target, link)
    for name, words in commands.items():
        for path in (
            "stdout",
            "null",
            "to-pipe",
            "to-folder",
            "circle",
            "pipe",
            "/dev/stdout",
            "/dev/fd/2",
            "/dev/new",
            "/dev/null",
            "/proc/self/comm",
        ):
            if not name.endswith(".svg"):
                rejects(2, "cannot write", *words, path)
        if name.endswith(".svg"):
            os.symlink("/proc/self/fd/1", "stdout.svg")
            rejects(2, "cannot write", *words, "stdout.svg")
    for words in folders().values():
        rejects(2, "cannot write", *words, "/dev/new")


def test_standard_output_in_a_file_stays_as_it_is():
    words = inputs()["a.npy"]
    os.symlink("/proc/self/fd/1", "link")
    for name in ("link", "/dev/stdout", "out.txt"):
        with open("out.txt", "w") as out:
            out.write("printed before\n")
            out.flush()
            stand.refuses(2, "", *words, name, stdout=out)
        check_equal(pathlib.Path("out.txt").read_text(), "printed before\n", f"standard output after -o {name}")


def test_rejects_a_trace_into_a_stream_on_rtl():
    inputs()
    os.symlink("/proc/self/fd/1", "t.fst")
    rejects(
        2,
        "cannot write",
        "gemm",
        "X.safetensors",
        "X.safetensors",
        "-o",
        "D.npy",
        "--backend",
        "rtl",
        "--config",
        "small",
        "--trace",
        "t.fst",
    )


def test_a_full_disk_is_the_environment():
    commands = inputs()
    stand.write_npy("X.npy", stand.gaussian(128, 512))
    passes("quantize", "X.npy", "-o", "X.safetensors", "--elem", "e1m2")
    commands["e.txt"][2:2] = ["--count", 10000]
    with small_disk(4096) as disk:
        for name, words in commands.items():
            rejects(3, "No space left", *words, f"{disk}/{name}")
            check_equal(os.listdir(disk), [], f"files that {words} has left")
        for name, words in folders().items():
            for folder in (f"{disk}/new", disk):
                rejects(3, "No space left", *words, folder, printed=name == "layer")


TRACE = ["gemm", "X.safetensors", "X.safetensors", "-o", "D.npy", "--backend", "rtl", "--config", "small", "--trace"]


# The sizes range from too little for the writer's own files to enough for the waveforms, but not for what it packs
# after them.
@slow
def test_a_full_disk_ends_waveforms_on_rtl():
    inputs()
    passes(*TRACE, "want.fst")
    whole = os.path.getsize("want.fst")
    for size in (4096, 16384, 65536, 204800, *range(whole // 4096 * 4096 - 32768, whole + 200000, 8192)):
        os.path.exists("D.npy") and os.remove("D.npy")
        with small_disk(size) as disk:
            result = stand.run(*TRACE, f"{disk}/t.fst")
            if result.status == 0:
                check_equal(os.path.getsize(f"{disk}/t.fst"), whole, f"bytes of waveforms, in {size}")
                continue
            check(result.status == 3 and result.err.count("\n") == 1 and "waveforms" in result.err, f"{size}: {result}")
            check_equal(os.listdir(disk), [], "files left")
            check(not os.path.exists("D.npy"), "a product without its waveforms")
    check(size > whole and result.status == 0, f"{size} bytes should do: {result}")


def test_waveforms_follow_links_on_rtl():
    inputs()
    pathlib.Path("real.fst").write_text("earlier")
    os.symlink("real.fst", "t.fst")
    passes(*TRACE, "t.fst")
    check(os.path.islink("t.fst") and os.path.getsize("real.fst") > 1000, "through a link")
    os.symlink("new.fst", "u.fst")
    passes(*TRACE, "u.fst")
    check(os.path.islink("u.fst") and os.path.getsize("new.fst") > 1000, "through a link to nothing")
    check_equal([n for n in os.listdir(".") if n.endswith((".tmp", ".hier"))], [], "files left")


def test_a_run_without_jobs_keeps_earlier_waveforms_on_rtl():
    inputs()
    pathlib.Path("t.fst").write_text("earlier")
    rejects(3, "contract", *TRACE, "t.fst", "--accumulate", "nv")
    with small_disk(65536) as disk:
        pathlib.Path(f"{disk}/t.fst").write_text("earlier")
        rejects(3, "waveforms", *TRACE, f"{disk}/t.fst")
        check_equal(pathlib.Path(f"{disk}/t.fst").read_text(), "earlier", "waveforms of an earlier run, on a full disk")
    check_equal(pathlib.Path("t.fst").read_text(), "earlier", "waveforms of an earlier run")


def test_rejects_waveforms_over_another_file_on_rtl():
    inputs()
    os.rename("X.safetensors", "X.fst")
    words = ["gemm", "X.fst", "X.fst", "--backend", "rtl", "--config", "small"]
    rejects(2, "is also an input", *words, "-o", "D.npy", "--trace", "X.fst")
    rejects(2, "-o and --trace", *words, "-o", "D.fst", "--trace", "D.fst")
    rejects(2, "File name too long", *words, "-o", "D.npy", "--trace", "a" * 253 + ".fst")
    name = "a" * 247 + ".fst"
    passes(*words, "-o", "D.npy", "--trace", name)
    check(os.path.getsize(name) > 1000, "waveforms of a long name")
    passes(
        "layer",
        "X.npy",
        "X.npy",
        "-",
        "--pass",
        "fprop",
        "-o",
        "out",
        "--backend",
        "rtl",
        "--check",
        "rtl",
        "--config",
        "small",
        "--trace",
        "v.fst",
    )
    check(os.path.getsize("v.fst") > 1000, "waveforms of the first of two cores")


def test_a_limit_on_file_sizes_says_a_line():
    commands = inputs()
    for name, words in commands.items():
        rejects(
            3, "File too large", *words, name, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
        )


def interrupt(number, *words):
    process = subprocess.Popen(
        [stand.PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )
    time.sleep(0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def test_signals_that_end_say_so():
    inputs()
    words = [str(w) for w in (*folders()["train"], "out")]
    words[words.index("--steps") + 1] = "1000000"
    for number, text in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")):
        status, _, err = interrupt(number, "demo", "--steps", "100000")
        check_equal((status, err), (-number, f"ufp4: {text}\n"), f"signal {number}")
        got = interrupt(number, *words)
        check_equal(got, (128 + number, "", f"ufp4 train: {text}; --resume continues it\n"), f"signal {number}")
        check_equal(os.listdir("out"), ["runs"], "what can go on")
        shutil.rmtree("out")


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


def test_rejects_outputs_that_are_inputs():
    inputs()
    os.symlink("X.npy", "X.svg")
    rejects(2, "is also an input", "bias", "X.npy", "--plot", "X.svg")
    pathlib.Path("mine.json").write_text('{"elem": "e1m2"}')
    os.symlink("mine.json", "mine.q")
    rejects(
        2,
        "is also an input",
        "quantize",
        "X.npy",
        "-o",
        "mine.q",
        "--recipe",
        "mine.json",
        "--role",
        "x",
        "--pass",
        "fprop",
    )
    os.mkdir("out")
    os.symlink("../mine.json", "out/Y.npy")
    rejects(2, "is also an input", *folders()["layer"], "out", "--recipe", "mine.json")
    os.mkdir("checkpoint")
    for name in ("model.safetensors", "config.json"):
        pathlib.Path(f"checkpoint/{name}").write_text("{}")
        os.symlink(f"checkpoint/{name}", f"{name}.npy")
        rejects(2, "is also an input", "dequantize", "checkpoint:a.b:3", "-o", f"{name}.npy")


def test_names_and_modes_of_outputs():
    commands = inputs()
    name = "a" * 251 + ".npy"
    passes(*commands["a.npy"], name)
    check_equal([n for n in os.listdir(".") if n.startswith(".")], [], "files left")
    for mode in (0o600, 0o640, 0o664):
        os.chmod(name, mode)
        passes(*commands["a.npy"], name)
        check_equal(os.stat(name).st_mode & 0o777, mode, "mode of the file that is replaced")
    folder = "/".join(["folder" * 20] * 8)
    os.makedirs(folder)
    pathlib.Path(f"{folder}/bad.npy").write_text("no tensor")
    check("not a .npy file" in stand.run("cast", f"{folder}/bad.npy", "--to", "e2m1", "-o", "c.npy").err, "no reason")


def test_a_run_that_fails_keeps_earlier_tensors():
    inputs()
    words = folders()["train"] + ["out", "--capture"]
    passes(*words)
    speeds = ("out/report.html", "out/train.json")  # these files contain speeds
    before = [entry for entry in stand.listing() if entry[0] not in speeds]
    os.remove("out/ufp4/layer0.fc2.W.npy")
    os.symlink("/dev/null", "out/ufp4/layer0.fc2.W.npy")
    rejects(2, "device or stream", *words)
    os.remove("out/ufp4/layer0.fc2.W.npy")
    passes(*words)
    check_equal([entry for entry in stand.listing() if entry[0] not in speeds], before, "the same files again")


def test_rejects_waveforms_of_several_runs():
    inputs()
    words = folders()["train"]
    words[words.index("--seeds") + 1] = 2
    rejects(2, "--trace needs a single run", *words, "out", "--backend", "rtl", "--trace", "t.fst")


if __name__ == "__main__":
    stand.main(globals())
