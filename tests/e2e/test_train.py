# SPDX-License-Identifier: Apache-2.0
"""Tests the command train as its user runs it: exit status, messages, files."""

import csv
import json
import os
import pathlib
import re

import stand
from stand import check, demand_drawing, passes, rejects, run
from trainings import TINY, reject_train, shape_with, trained, write_text


def test_writes_report_losses_and_tensors():
    demand_drawing()
    out = "out"
    done = trained("--steps", "3", "--seeds", "2", "--capture", "--seed", "5")
    check(done.err == "", "stderr is no terminal:", repr(done.err))
    check("% recipe seeds held_loss" in done.out and "% recipe against gap_percent" in done.out, done.out)
    rows = list(csv.DictReader(open(os.path.join(out, "losses.csv"))))
    check(len(rows) == 6 * 2 * 3, len(rows), "rows")
    check({row["recipe"] for row in rows} == {"bf16", "ufp4", "e2m1", "nvfp4", "mxfp4", "bf16-control"}, "recipes")
    check({row["seed"] for row in rows} == {"5", "6"}, "seeds")
    check(all(bool(row["held_loss"]) == (row["step"] == "2") for row in rows), "held-out losses")
    branched = list(csv.DictReader(open(os.path.join(out, "branched.csv"))))
    check({row["step"] for row in branched} == {"2"}, "branched after two of three steps")
    check(len(open(os.path.join(out, "forward.csv")).readlines()) == 1 + 2 * 4 * 8 * 6, "forward.csv")
    report = open(os.path.join(out, "report.html")).read()
    check(report.count("<svg") == 6, "report.html:", report.count("<svg"))
    drawing = report[report.index("Gap of the training loss") :]
    line = re.search(r'<path d="([^"]*)"[^>]*style="fill: none; stroke: #444444', drawing).group(1)
    gaps = [point.split()[1] for point in re.split("[ML] ", line.strip())[1:]]
    check(len(gaps) == 3 and len(set(gaps)) == 1, "bf16 has a gap to itself:", gaps)
    check("e2m1 and ufp4 are not separated" in report or "loss than ufp4" in report, "no verdict")
    check(not os.path.exists(os.path.join(out, "runs")), "runs of a finished experiment")
    names = sorted(os.listdir(os.path.join(out, "ufp4")))
    want = sorted(
        f"layer{b}.{m}.{t}.npy" for b in range(2) for m in ("qkv", "proj", "fc1", "fc2") for t in ("X", "W", "dY")
    )
    check(names == want, names)


def test_says_how_many_tokens_it_measures():
    done = passes(
        "train",
        write_text(),
        "-o",
        "out",
        *shape_with("--eval"),
        "--seeds",
        "1",
        "--recipe",
        "ufp4",
        "--eval",
        "50000",
        "--json",
    )
    held = json.loads(done.out)["held_tokens"]
    check(
        done.err.startswith(f"ufp4 train: {held} held-out tokens are measured: all whole batches of the text\n"),
        done.err,
    )


def test_rejects_seeds_over_the_limit():
    reject_train(2, "is too large", "--seed", "9223372036854775807", "--seeds", "2")


def test_tables_alone():
    text, out = write_text(), "out"
    for tables, files in (
        (["--forward"], ["forward.csv"]),
        (["--branched"], ["branched.csv"]),
        (["--whole"], ["losses.csv"]),
        (["--forward", "--whole"], ["forward.csv", "losses.csv"]),
    ):
        done = passes(
            "train",
            text,
            "-o",
            out,
            *TINY,
            "--steps",
            "3",
            "--seeds",
            "2",
            "--recipe",
            "bf16,ufp4,e2m1",
            *tables,
            "--json",
        )
        check(sorted(os.listdir(out)) == sorted(files + ["train.json"]), tables, os.listdir(out))
        if "--branched" in tables:
            rows = csv.DictReader(open(os.path.join(out, "branched.csv")))
            check({row["recipe"] for row in rows} == {"bf16", "ufp4", "e2m1", "bf16-control"}, "branched recipes")
        got = json.loads(done.out)
        check(
            ("forward" in got, "branched" in got, "recipes" in got)
            == tuple(f"--{name}" in tables for name in ("forward", "branched", "whole")),
            tables,
            list(got),
        )


def test_json_of_all_tables():
    demand_drawing()
    got = json.loads(trained("--steps", "4", "--seeds", "2", "--json").out)
    first = got["branched"]["comparisons"][0]
    check((first["recipe"], first["against"], first["primary"]) == ("e2m1", "ufp4", True), first)
    held = {r["recipe"]: r["held_losses"] for r in got["branched"]["recipes"]}
    want = [100 * (a - b) / b for a, b in zip(held["e2m1"], held["ufp4"])]
    check(all(abs(a - b) < 1e-5 for a, b in zip(first["gaps_percent"], want)), first, want)
    check(held["bf16"] == {r["recipe"]: r["held_losses"] for r in got["recipes"]}["bf16"], "the base is the same run")
    check(got["settings"]["steps"] == 4 and '"e1m2"' in got["settings"]["recipe ufp4"], got["settings"])
    check(len(got["forward"]["comparisons"]) > 4 and got["forward"]["held_tokens"] > 0, got["forward"].keys())


def test_ablation():
    demand_drawing()
    done = trained("--steps", "2", "--seeds", "1", "--ablation", "--branched", "--json")
    got = {
        c["recipe"]: c["paper_gap_percent"]
        for c in json.loads(done.out)["branched"]["comparisons"]
        if c["against"] == "ufp4"
    }
    check(len(got) == 14 and abs(got["e1m2-rht-none"] - 0.597) < 1e-3 and got["e2m1"] is None, got)


def test_long_is_the_larger_model():
    done = passes(
        "train",
        write_text(),
        "-o",
        "out",
        "--long",
        "--layers",
        "1",
        "--context",
        "16",
        "--batch",
        "2",
        "--steps",
        "1",
        "--seeds",
        "1",
        "--recipe",
        "fp32",
        "--eval",
        "64",
        "--json",
    )
    settings = json.loads(done.out)["settings"]
    check([round(settings[k], 6) for k in ("d_model", "heads", "ff", "lr")] == [128, 4, 352, 0.0015], settings)


def test_rejects_tables_without_recipes_to_compare():
    reject_train(2, "--forward compares", "--forward", "--recipe", "ufp4")
    reject_train(2, "--branched compares", "--branched", "--recipe", "bf16")


def test_rejects_ablation_of_other_recipes():
    reject_train(2, "--ablation has its own recipes", "--ablation", "--recipe", "ufp4")


def test_without_python():
    """Without Python there are rows and measurements, and the page of an earlier run is removed."""
    text, out = write_text(), "out"
    words = ["train", text, "-o", out, *TINY, "--steps", "2", "--seeds", "2", "--recipe", "bf16,ufp4"]
    os.mkdir(out)
    open(os.path.join(out, "report.html"), "w").close()
    for more in ([], ["--json"]):
        done = run(*words, *more)
        check(done.status == 0 and done.err.count("\n") == 1, done.err)
        check(f"python3 -m ufp4.report {out}/train.json" in done.err, done.err)
        check(sorted(os.listdir(out)) == ["branched.csv", "forward.csv", "losses.csv", "train.json"], os.listdir(out))
    got = json.loads(done.out)
    check([len(r["held_losses"]) for r in got["recipes"]] == [2, 2, 2] and "comparisons" not in got, got.keys())


def test_says_that_the_page_cannot_be_drawn():
    os.environ["UFP4_PYTHON"] = "/nowhere/python3"
    done = run("train", write_text(), "-o", "out", *shape_with(), "--seeds", "1", "--recipe", "bf16", "--whole")
    check(done.status == 3 and "UFP4_PYTHON: /nowhere/python3: No such file" in done.err, done)
    check(
        sorted(os.listdir("out")) == ["losses.csv", "train.json"],
        "the rows are there, and nothing to go on with:",
        os.listdir("out"),
    )


def test_repeats_itself():
    text, losses = write_text(), []
    for threads in ("1", "3"):
        passes("train", text, "-o", threads, *TINY, "--steps", "3", "--seeds", "2", "--threads", threads)
        losses.append(open(os.path.join(threads, "losses.csv")).read())
    check(losses[0] == losses[1], "losses depend on --threads")


def test_json():
    demand_drawing()
    got = json.loads(trained("--steps", "2", "--seeds", "1", "--recipe", "bf16,e2m1", "--no-control", "--json").out)
    check([r["recipe"] for r in got["recipes"]] == ["bf16", "e2m1"], got)
    check(got["recipes"][0]["deviation"] is None, "one seed has no deviation")
    check([(c["verdict"], c["p"]) for c in got["comparisons"]] == [("one seed", None)], got)
    check(got["held_tokens"] == 256, got)


def test_fp32_stands_beside_bf16():
    text, losses = write_text(), []
    for recipes, control in (("fp32,ufp4,bf16", True), ("bf16,ufp4,fp32", True), ("fp32,ufp4", False)):
        passes("train", text, "-o", recipes, *TINY, "--steps", "3", "--seeds", "1", "--recipe", recipes)
        rows = list(csv.DictReader(open(os.path.join(recipes, "losses.csv"))))
        losses.append({(row["recipe"], row["step"]): row["train_loss"] for row in rows})
        check({row["recipe"] for row in rows} == set(recipes.split(",") + ["bf16-control"] * control), recipes)
    check(losses[0] == losses[1], "the order of recipes shows:", losses)
    check(losses[0]["fp32", "2"] != losses[0]["bf16", "2"], "fp32 is bf16:", losses)


def test_captured_tensors_go_through_layer():
    trained("--steps", "2", "--seeds", "1", "--recipe", "ufp4", "--capture")
    passes("layer", *(f"out/ufp4/layer1.fc2.{t}.npy" for t in ("X", "W", "dY")), "-o", "layer", "--recipe", "ufp4")
    check(sorted(os.listdir("layer")) == ["Y.npy", "dW.npy", "dX.npy"], "files")


def test_help():
    done = passes("train", "--help")
    check("Example:" in done.out and "--capture" in done.out, done.out)


def test_rejects_unknown_recipe():
    reject_train(2, "'fp3' is not one of", "--recipe", "ufp4,fp3")


def test_rejects_recipe_that_the_backend_does_not_have():
    reject_train(3, "contract exact", "--recipe", "mxfp4", "--backend", "rtl")


def test_rejects_recipe_file_that_is_not_there():
    reject_train(2, "absent.json: cannot be read", "--recipe", "absent.json")


def test_takes_every_recipe():
    pathlib.Path("mine.json").write_text('{"elem": "int4", "scale": "fp32", "rht": "integer", "round": {"dy": "sr"}}')
    pathlib.Path("keys.json").write_text(
        '{"elem": "e1m2", "rht": "integer", "round": {"dy": {"wgrad": "sr"}}, "signs": "step",'
        ' "requantize": true, "bf16_passes": ["dgrad"], "bf16_layers": {"first": 1, "names": ["fc2"]}}'
    )
    built_in = [
        "e2m1-46",
        "nvfp4",
        "nvfp4/rht=fprop+dgrad+wgrad",
        "nvfp4-full",
        "nvint4",
        "nve1m2",
        "mxfp4",
        "mxfp4-rht",
    ]
    recipes = ",".join([*built_in, "mine.json", "keys.json"])
    got = json.loads(trained("--steps", "2", "--seeds", "1", "--recipe", recipes, "--no-control", "--json").out)
    check([r["recipe"] for r in got["recipes"]] == [*built_in, "mine", "keys"], got)


def test_captures_under_the_recipes_own_name():
    below = "a folder whose name alone has more than 31 bytes"
    os.mkdir(below)
    for name, text in (("first.json", '{"elem": "e1m2"}'), ("second.json", '{"elem": "e2m1", "name": "mine"}')):
        pathlib.Path(below, name).write_text(text)
    trained(
        "--steps",
        "2",
        "--seeds",
        "1",
        "--no-control",
        "--capture",
        "--recipe",
        f"{below}/first.json,{below}/second.json",
    )
    check(os.path.isdir("out/first") and os.path.isdir("out/mine"), os.listdir("out"))
    check(sorted(os.listdir(below)) == ["first.json", "second.json"], os.listdir(below))


def test_rejects_recipe_whose_name_is_a_path():
    pathlib.Path("r.json").write_text('{"elem": "e1m2", "name": "../elsewhere"}')
    reject_train(2, "letters, digits and", "--recipe", "r.json")


def test_rejects_recipe_of_the_controls_name():
    """The names of files next to the recipes' folders are refused too."""
    for name in ("bf16-control", "losses.csv", "train.json", "report.html"):
        pathlib.Path("other.json").write_text(f'{{"elem": "e1m2", "name": "{name}"}}')
        reject_train(2, f"the name {name} is reserved by this command", "--recipe", "bf16,other.json")


def test_rejects_options_out_of_range():
    for words, *options in (
        ("ufp4 is given twice", "--recipe", "ufp4,bf16,ufp4"),
        ("--recipe", "--recipe", "ufp4,"),
        ("gpu", "--backend", "gpu"),
        ("--steps: '0' is not a whole number from 1", "--steps", "0"),
        ("--seeds: '0' is not a whole number from 1", "--seeds", "0"),
        ("--lr is -1; it must be above 0", "--lr", "-1"),
        ("--lr", "--lr", "nan"),
        ("--d-model 32 is not a multiple of 2 x --heads 3", "--heads", "3"),
        ("at most 1048576", "--batch", "65536", "--context", "128"),
    ):
        reject_train(2, words, *options)
    reject_train(2, "characters are too few for --context 16", size=600)


def test_rejects_text_in_utf_16():
    text = pathlib.Path(write_text()).read_text()
    for encoding, words in (
        ("utf-16", "UTF-16LE, according to its byte order mark"),
        ("utf-32-be", "UTF-32BE, according to its zeros"),
    ):
        pathlib.Path("text").write_text(text, encoding=encoding)
        rejects(2, words, "train", "text", "-o", "out", *TINY, "--steps", "1")


def test_bytes_that_are_no_text_get_a_note():
    pathlib.Path("text").write_bytes(bytes(range(128, 256)) * 200)
    done = passes("train", "text", "-o", "out", *TINY, "--steps", "1", "--seeds", "1", "--recipe", "bf16", "--whole")
    words = "ufp4 train: text: 25600 of the first 25600 bytes are not printable UTF-8; is this text?\n"
    check(done.err.startswith(words), done.err)


def test_rejects_missing_text():
    rejects(2, "missing: No such file", "train", "missing", "-o", "out")


def test_rejects_missing_output():
    rejects(2, "-o DIR is missing", "train")


def test_rejects_output_below_a_file():
    text = write_text()
    rejects(2, "Not a directory", "train", text, "-o", os.path.join(text, "out"), *TINY, "--steps", "1")


def test_rejects_output_that_is_a_file():
    text = write_text()
    rejects(2, "is not a directory", "train", text, "-o", text, *TINY, "--steps", "1")
    check(os.path.getsize(text) > 30000, "the file was changed")


def test_rejects_outputs_that_cannot_be_before_it_reads_the_text():
    os.makedirs("out/report.html")
    rejects(2, "is not a regular file", "train", "/nowhere", "-o", "out")
    text = "losses.csv"
    os.rename(write_text(), text)
    rejects(2, "is also an input", "train", text, "-o", ".")
    check(os.path.getsize(text) > 30000, "the text is as it was")


def test_rejects_two_texts():
    rejects(2, "too many inputs", "train", "a", "b", "-o", "out")


def test_rejects_recipe_of_another_core_before_it_reads_the_text_on_rtl():
    rejects(
        3,
        "accumulates by contract exact, not fp32",
        "train",
        "/nowhere",
        "-o",
        "out",
        "--recipe",
        "ufp4,mxfp4",
        "--backend",
        "rtl",
    )


if __name__ == "__main__":
    stand.main(globals())
