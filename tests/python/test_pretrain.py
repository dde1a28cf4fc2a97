# SPDX-License-Identifier: Apache-2.0
"""Tests the example pretrain.py: runs in pairs, killed and resumed to the same bits, and the data of the page."""

import csv
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from torch_support import torch

import stand
from stand import check, check_equal

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "drivers/python/examples/pretrain.py"
FILES, STEPS = ("losses.csv", "branched.csv", "held.csv"), 24
SMALL = (
    "--size",
    "0.5M",
    "--context",
    "16",
    "--batch",
    "2",
    "--tokens",
    str(STEPS * 32),
    "--held",
    "1024",
    "--seeds",
    "1",
)


def start(folder, *words, text="text", without=None):
    """Starts a small training; `without` names a common option to leave out."""
    pathlib.Path("text").write_bytes((ROOT / "LICENSE").read_bytes() * 16)
    at = SMALL.index(without) if without else len(SMALL)
    words = SMALL[:at] + SMALL[at + 2 :] + words
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-B", PROGRAM, "-o", folder, text, *words],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process, status=0):
    out, err = process.communicate(timeout=3600)
    check(process.returncode == status and "Traceback" not in err, f"status {process.returncode}: {out} {err}")
    return out, err


@functools.cache
def kept():
    """Returns a folder that several tests read."""
    return tempfile.TemporaryDirectory()


@functools.cache
def unbroken():
    """Runs a training from the first step to the last."""
    folder = pathlib.Path(kept().name) / "out"
    finish(start(folder))
    return folder


def rows(folder, name):
    with open(pathlib.Path(folder) / name, newline="") as file:
        return list(csv.DictReader(file))


def rejects(words, *arguments, **how):
    _, err = finish(start(*arguments, **how), 2)
    check(words in err.splitlines()[-1], f"should say {words!r}: {err}")


def test_runs_are_in_pairs():
    whole, branched = rows(unbroken(), "losses.csv"), rows(unbroken(), "branched.csv")
    check_equal(list(whole[0]), ["step", "tokens", "seed", "recipe", "train_loss", "held_loss"], "columns")
    by_recipe = {recipe: [row for row in whole if row["recipe"] == recipe] for recipe in ("bf16", "ufp4", "e2m1")}
    check_equal([len(one) for one in by_recipe.values()], [STEPS] * 3, "steps")
    first = [float(one[0]["train_loss"]) for one in by_recipe.values()]
    check(len(set(first)) == 3 and max(first) - min(first) < 0.02, f"the same weights and text: {first}")
    check_equal([row["tokens"] for row in by_recipe["ufp4"]], [str(32 * (step + 1)) for step in range(STEPS)], "tokens")
    check_equal(
        [bool(row["held_loss"]) for row in by_recipe["e2m1"]],
        [step % 2 == 1 for step in range(STEPS)],
        "measured each turn",
    )
    check(float(by_recipe["ufp4"][-1]["held_loss"]) < float(by_recipe["ufp4"][1]["held_loss"]) - 0.5, "it learns")
    check_equal(
        [(row["recipe"], row["step"]) for row in branched if row["step"] in ("16", "23")],
        [("ufp4", "16"), ("e2m1", "16"), ("ufp4", "23"), ("e2m1", "23")],
        "from two thirds on",
    )
    check_equal(len(branched), 2 * STEPS // 3, "and not before")
    base = {row["step"]: float(row["train_loss"]) for row in by_recipe["bf16"]}
    gaps = [abs(float(row["train_loss"]) - base[row["step"]]) for row in branched if row["step"] == "16"]
    check(0 < min(gaps) and max(gaps) < 0.02, f"they begin where bf16 is: {gaps}")


def test_page_has_the_comparisons():
    stand.demand_drawing()
    folder = unbroken()
    done = subprocess.run(
        [os.environ["UFP4_PYTHON"], "-B", "-m", "ufp4.report", folder], capture_output=True, text=True, timeout=600
    )
    check_equal((done.returncode, done.stderr), (0, ""), "the page")
    page = (folder / "report.html").read_text()
    last = [row for row in rows(folder, "losses.csv") if row["step"] == str(STEPS - 1)]
    ufp4, e2m1 = (float(row["held_loss"]) for recipe in ("ufp4", "e2m1") for row in last if row["recipe"] == recipe)
    words = f"Whole runs: e2m1 against ufp4: {100 * (e2m1 - ufp4) / ufp4:+.3f} % on one seed"
    check(
        words in page and "<title>pretrain.py" in page and "Branched runs" in page and "Not finished" not in page,
        f"{words}: {page[:400]}",
    )


def test_watch_records_rounding_and_changes_no_bit():
    finish(start("watched", "--recipe", "ufp4", "--watch", "5"))
    for name in ("losses.csv", "branched.csv"):
        want = [row for row in rows(unbroken(), name) if row["recipe"] != "e2m1"]
        check_equal(sorted(map(str, rows("watched", name))), sorted(map(str, want)), name)
    files = sorted(pathlib.Path("watched/rounding").iterdir())
    check_equal([file.name for file in files], ["branched,ufp4,1.jsonl", "whole,ufp4,1.jsonl"], "of what is quantized")
    for file, steps in zip(files, ((20,), (0, 5, 10, 15, 20))):
        records = [json.loads(line) for line in file.read_text().splitlines()]
        places = [(record["step"], record["layer"]) for record in records]
        want = {
            (step, f"blocks.{i}.{name}") for step in steps for i in (0, 1) for name in ("qkv", "proj", "fc1", "fc2")
        }
        check(set(places) == want and len(places) == 6 * len(want), f"{file}: {sorted(set(places))}")


def killed_at(folder, step, *words):
    """Kills a run as soon as so many rows are there."""
    process = start(folder, "--resume", "--save", "0", *words)
    path = pathlib.Path(folder) / "losses.csv"
    while process.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") > step):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    check(process.returncode == -signal.SIGKILL, f"it ended before it was killed: {process.returncode}")


def test_killed_runs_go_on_to_the_same_bits():
    for step in (1, 5, 50):
        killed_at("killed", step)
    with open("killed/losses.csv", "a") as file:
        file.write("23,768,1,ufp4,9.9,\n2,")  # a row after the checkpoint, and half a line
    finish(start("killed", "--resume"))
    for name in FILES:
        one, other = (
            sorted((folder / name).read_text().splitlines()) for folder in (unbroken(), pathlib.Path("killed"))
        )
        check_equal(other, one, name)
    one, other = (json.loads((folder / "train.json").read_text()) for folder in (unbroken(), pathlib.Path("killed")))
    check(one.pop("command") != other.pop("command"), "commands")
    check_equal(other, one, "train.json")


def test_seeds_and_recipes_are_added():
    finish(start("out", "--branched", "--recipe", "ufp4"))
    before = rows("out", "losses.csv"), rows("out", "branched.csv")
    check_equal([len(one) for one in before], [STEPS, STEPS // 3], "the base, and the branch")
    finish(start("out", "--recipe", "ufp4,nvfp4-full", "--seeds", "2", "--resume"))
    after = rows("out", "losses.csv"), rows("out", "branched.csv")
    check_equal([len(one) for one in after], [6 * STEPS, 4 * (STEPS // 3)], "of both seeds")
    check(all(row in later for one, later in zip(before, after) for row in one), "what was there stays")
    document = json.loads(pathlib.Path("out/train.json").read_text())
    check_equal(
        [[len(r["held_losses"]) for r in part["recipes"]] for part in (document, document["branched"])],
        [[2, 2, 2]] * 2,
        "seeds",
    )


def test_bpe_is_trained_and_kept():
    try:
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise stand.Skipped(f"{error}; ./ufp4 test --full installs it from PyPI") from error
    finish(start("out", "--bpe", "300", "--whole", "--recipe", "ufp4"))
    kept = pathlib.Path("out/tokenizer.json").read_bytes()
    check_equal(json.loads(pathlib.Path("out/train.json").read_text())["settings"]["unit"], "token", "unit")
    losses = pathlib.Path("out/losses.csv").read_bytes()
    finish(start("out", "--bpe", "300", "--whole", "--recipe", "ufp4", "--resume"))
    check(
        kept == pathlib.Path("out/tokenizer.json").read_bytes()
        and losses == pathlib.Path("out/losses.csv").read_bytes(),
        "the same again",
    )


def states(folder, kind):
    """Returns the checkpoints of a kind, by recipe."""
    found = pathlib.Path(folder, "runs").glob(f"{kind},*.pt")
    return {path.stem.split(",")[1]: torch.load(path) for path in found}


def same_states(one, other):
    return one["step"] == other["step"] and all(
        torch.equal(one["model"][name], tensor) for name, tensor in other["model"].items()
    )


def test_longer_runs_have_the_bits_of_those_that_were_as_long_from_the_start():
    longer = "--cooldown", "20", "--recipe", "ufp4"
    finish(start("out", *longer))
    before = pathlib.Path("out/losses.csv").read_bytes()
    finish(start("out", *longer, "--resume", "--tokens", str(36 * 32)))
    finish(start("whole", *longer, "--tokens", str(36 * 32)))
    for kind in ("whole", "branched", "branch", "constant"):
        one, other = states("out", kind), states("whole", kind)
        check(one.keys() == other.keys() and len(one) > 0, f"{kind}: {one.keys()} and {other.keys()}")
        for recipe in one:
            check(same_states(one[recipe], other[recipe]), f"{kind} {recipe}: steps {one[recipe]['step']}")
    trained = [
        sorted((row["step"], row["recipe"], row["train_loss"]) for row in rows(folder, name))
        for name in ("losses.csv", "branched.csv")
        for folder in ("out", "whole")
    ]
    check(trained[0] == trained[1] and trained[2] == trained[3], "training losses")
    kept = pathlib.Path(f"out/tokens-{STEPS * 32}")
    check((kept / "losses.csv").read_bytes() == before and (kept / "train.json").exists(), "the shorter one's results")
    rejects("have another steps: 36, not 24; only runs with a --cooldown", "out", *longer, "--resume")
    rejects("have another cooldown", "out", "--recipe", "ufp4", "--resume", "--tokens", str(36 * 32))


def test_sweep_has_a_folder_for_each_rate():
    finish(start("one", "--whole", "--recipe", "ufp4", "--lr", "1e-3"))
    out, _ = finish(start("out", "--whole", "--recipe", "ufp4", "--lr", "1e-4,1e-3"))
    for name in ("losses.csv", "held.csv"):
        check_equal(rows("out/lr-0.001", name), rows("one", name), name)
    table = rows("out", "sweep.csv")
    check_equal(
        [(row["recipe"], row["lr"]) for row in table],
        [(r, x) for r in ("bf16", "ufp4") for x in ("0.0001", "0.001")],
        "rows",
    )
    check_equal(table[-1]["held_loss"], rows("one", "losses.csv")[-1]["held_loss"], "loss")
    check("ufp4            0.001" in out and "beyond which a better rate may be: bf16 (whole) at 0.001" in out, out)
    rejects("the runs there are those of several rates", "out", "--resume")
    rejects("the runs there are those of one rate", "one", "--resume", "--lr", "1e-3,2e-3")


def test_shape_and_length_are_chosen():
    more = "--width", "32", "--blocks", "1", "--whole", "--tokens-per-weight", "0.1", "--attention", "bf16"
    pathlib.Path("mine.json").write_text('{"elem": "e2m1", "rht": "integer"}')
    out, _ = finish(start("out", *more, "--recipe", "mine.json/rht=wgrad", without="--tokens"))
    weights = 4 * 32 * 32 + 3 * 32 * 96
    steps = round(0.1 * weights) // 32
    line = f"% {weights} weights in blocks; a run has {steps} steps, {steps * 32} tokens, {steps * 32 / weights:.3g} a "
    check(line + "weight, at rate 0.003" in out, out)
    check("tokens to train on: a run sees each" not in out, "no repeats")
    last = states("out", "whole")
    check_equal(sorted(last), ["bf16", "mine%2Frht%3Dwgrad"], "recipes")
    model = last["bf16"]["model"]
    check(model["blocks.0.qkv.weight"].shape == (96, 32) and "blocks.1.qkv.weight" not in model, "shape")
    check_equal({row["recipe"] for row in rows("out", "losses.csv")}, {"bf16", "mine/rht=wgrad"}, "in the table")
    pathlib.Path("mine.json").write_text('{"elem": "e1m2", "rht": "integer"}')
    rejects(
        "the recipe mine/rht=wgrad of the runs there has other settings",
        "out",
        *more,
        "--recipe",
        "mine.json/rht=wgrad",
        "--resume",
        without="--tokens",
    )
    rejects("another attention: bf16, not fp32", "out", *more[:-2], "--resume", without="--tokens")


def test_repeats_of_the_text_are_said():
    pathlib.Path("short").write_bytes((ROOT / "LICENSE").read_bytes() * 3)
    words = (
        "--width",
        "16",
        "--blocks",
        "1",
        "--whole",
        "--recipe",
        "bf16",
        "--tokens",
        str(64 * 1024),
        "--held",
        "512",
        "--batch",
        "64",
    )
    out, _ = finish(start("out", *words, text="short"))
    check(re.search(r"text has \d+ tokens to train on: a run sees each 2\.\d times in the mean", out), out)


def test_older_folders_go_on():
    """Older folders have the size instead of width, heads and blocks, and no attention, cooldown and recipes."""
    shutil.copytree(unbroken(), "out")
    path = pathlib.Path("out/runs/settings.json")
    settings = json.loads(path.read_text())
    for name in ("width", "heads", "blocks", "attention", "cooldown", "recipes"):
        del settings[name]
    path.write_text(json.dumps(settings | {"size": "0.5M"}))
    finish(start("out", "--resume"))
    for name in FILES:
        check_equal(rows("out", name), rows(unbroken(), name), name)
    rejects("have another steps: 24, not 36; only runs with a --cooldown", "out", "--resume", "--tokens", str(36 * 32))


def test_rejects_other_runs():
    process = start("out", "--save", "0")
    while not pathlib.Path("out/losses.csv").exists() and process.poll() is None:
        time.sleep(0.01)
    rejects("another process trains there", "out", "--resume")
    process.kill()
    process.communicate()
    rejects("--resume goes on", "out")
    rejects("have another lr", "out", "--resume", "--lr", "1e-4")


def test_rejects_what_cannot_be_trained():
    rejects("at least 24", "out", "--tokens", "700")
    rejects("no recipe is called", "out", "--recipe", "bf16,none")
    rejects("too few", "out", "--context", "4096", "--tokens", "1000000", "--held", "131072")
    for words in (("--lr", "0"), ("--lr", "-1"), ("--lr", "nan"), ("--seed", "-1")):
        rejects(f"argument {words[0]}: invalid", "out", *words)
    rejects("--held 511 is less than 32 windows of --context 16: 512 is the least", "out", "--held", "511")
    if not torch.cuda.is_available():
        rejects("--device cuda: ", "out", "--device", "cuda")
    rejects("--device nothing: ", "out", "--device", "nothing")
    rejects("argument --cooldown: invalid", "out", "--cooldown", "34")
    rejects("--heads 5: each needs an even width", "out", "--heads", "5")
    pathlib.Path("wide.json").write_text('{"elem": "e1m2", "rht": "integer", "rht_size": 32}')
    rejects("does not divide 144, the number of inputs", "out", "--recipe", "wide.json")
    rejects("No such file or directory: 'missing.json'", "out", "--recipe", "missing.json")
    pathlib.Path("utf16").write_text("a text " * 999, "utf-16")
    rejects("utf16 has zero bytes, as UTF-16 has", "out", text="utf16")
    check(not re.search(r"\.pt", str(stand.listing())), "no run began")


if __name__ == "__main__":
    stand.main(globals())
