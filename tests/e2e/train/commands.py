# SPDX-License-Identifier: Apache-2.0
"""The commands train and demo as a user meets them: exit status, messages, files. One function is one test:
commands.py PROGRAM FUNCTION. Exit status 77: skipped."""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = None
TINY = ["--d-model", "32", "--ff", "48", "--layers", "2", "--context", "16", "--batch", "4", "--eval", "256"]


def slow(test):
    """CMakeLists.txt reads the decorator: label slow."""
    return test


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=280)


def check(ok, *what):
    if not ok:
        sys.exit(f"failed: {' '.join(map(str, what))}\nto see it again: {' '.join(sys.orig_argv)}")


def shape_with(*options):
    """The tiny model and two steps, but for what the options give themselves."""
    pairs = dict(zip(TINY[::2], TINY[1::2])) | {"--steps": "2"}
    return [word for option, value in pairs.items() if option not in options for word in (option, value)]


def write_text(folder, size=40000):
    path = os.path.join(folder, "text")
    words = ["the ", "cat ", "sat ", "on ", "a ", "mat.\n"]
    state, parts = 1, []
    for _ in range(size // 4):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        parts.append(words[(state >> 16) % len(words)])
    with open(path, "w") as file:
        file.write("".join(parts)[:size])
    return path


def demand_drawing():
    """Of a test that reads a page, or tables of comparisons: from now on the program makes them, by Python."""
    if "UFP4_TEST_PYTHON" not in os.environ:
        print("skipped: scipy, matplotlib or jinja2 is missing; ./ufp4 test installs them from PyPI")
        sys.exit(77)
    os.environ["UFP4_PYTHON"] = os.environ["UFP4_TEST_PYTHON"]


def check_rejected(done, status, words):
    check(done.returncode == status, f"exit status {done.returncode}, want {status}:", done.stderr)
    check(done.stderr.count("\n") == 1, "not one line:", repr(done.stderr))
    check(words in done.stderr, f"'{words}' is not in", repr(done.stderr))
    check(done.stdout == "", "output:", repr(done.stdout))


def reject_train(status, words, *options, size=40000):
    """Runs train with a good text, and checks that it leaves no folder."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        check_rejected(run("train", write_text(folder, size), "-o", out, *shape_with(*options), *options), status,
                       words)
        check(not os.path.exists(out), "a folder was left behind")


def train_writes_report_losses_and_tensors():
    demand_drawing()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        done = run("train", write_text(folder), "-o", out, *TINY, "--steps", "3", "--seeds", "2", "--capture", "--seed", "5")
        check(done.returncode == 0, done.stderr)
        check(done.stderr == "", "stderr is no terminal:", repr(done.stderr))
        check("% recipe seeds held_loss" in done.stdout and "% recipe against gap_percent" in done.stdout, done.stdout)
        rows = list(csv.DictReader(open(os.path.join(out, "losses.csv"))))
        check(len(rows) == 6 * 2 * 3, len(rows), "rows")
        check({row["recipe"] for row in rows} == {"bf16", "ufp4", "e2m1", "nvfp4", "mxfp4", "bf16-control"}, "recipes")
        check({row["seed"] for row in rows} == {"5", "6"}, "seeds")
        check(all(bool(row["held_loss"]) == (row["step"] == "2") for row in rows), "held-out losses")
        branched = list(csv.DictReader(open(os.path.join(out, "branched.csv"))))
        check({row["step"] for row in branched} == {"2"}, "branched after two of three steps")
        check(len(open(os.path.join(out, "forward.csv")).readlines()) == 1 + 2 * 4 * 8 * 4, "forward.csv")
        report = open(os.path.join(out, "report.html")).read()
        check(report.count("<svg") == 6, "report.html:", report.count("<svg"))
        drawing = report[report.index("Gap of the training loss"):]
        line = re.search(r'<path d="([^"]*)"[^>]*style="fill: none; stroke: #444444', drawing).group(1)
        gaps = [point.split()[1] for point in re.split("[ML] ", line.strip())[1:]]
        check(len(gaps) == 3 and len(set(gaps)) == 1, "bf16 has a gap to itself:", gaps)
        check("e2m1 and ufp4 are not separated" in report or "loss than ufp4" in report, "no verdict")
        check(not os.path.exists(os.path.join(out, "runs")), "runs of a finished experiment")
        names = sorted(os.listdir(os.path.join(out, "ufp4")))
        want = sorted(f"layer{b}.{m}.{t}.npy" for b in range(2) for m in ("qkv", "proj", "fc1", "fc2") for t in ("X", "W", "dY"))
        check(names == want, names)


def train_says_how_many_tokens_it_measures():
    with tempfile.TemporaryDirectory() as folder:
        shape = shape_with("--eval")
        done = run("train", write_text(folder), "-o", os.path.join(folder, "out"), *shape, "--seeds", "1", "--recipe",
                   "ufp4", "--eval", "50000", "--json")
        check(done.returncode == 0, done.stderr)
        held = json.loads(done.stdout)["held_tokens"]
        check(done.stderr.startswith(f"ufp4 train: {held} held-out tokens are measured: all whole batches of the text\n"), done.stderr)


def train_rejects_seeds_over_the_limit():
    reject_train(2, "is over 2^63 - 1", "--seed", "9223372036854775807", "--seeds", "2")


def train_tables_alone():
    with tempfile.TemporaryDirectory() as folder:
        text, out = write_text(folder), os.path.join(folder, "out")
        for tables, files in ((["--forward"], ["forward.csv"]), (["--branched"], ["branched.csv"]),
                              (["--whole"], ["losses.csv"]), (["--forward", "--whole"], ["forward.csv", "losses.csv"])):
            done = run("train", text, "-o", out, *TINY, "--steps", "3", "--seeds", "2", "--recipe", "bf16,ufp4,e2m1", *tables, "--json")
            check(done.returncode == 0, done.stderr)
            check(sorted(os.listdir(out)) == sorted(files + ["train.json"]), tables, os.listdir(out))
            if "--branched" in tables:
                rows = csv.DictReader(open(os.path.join(out, "branched.csv")))
                check({row["recipe"] for row in rows} == {"bf16", "ufp4", "e2m1", "bf16-control"}, "branched recipes")
            got = json.loads(done.stdout)
            check(("forward" in got, "branched" in got, "recipes" in got) ==
                  tuple(f"--{name}" in tables for name in ("forward", "branched", "whole")), tables, list(got))


def train_json_of_all_tables():
    demand_drawing()
    with tempfile.TemporaryDirectory() as folder:
        done = run("train", write_text(folder), "-o", os.path.join(folder, "out"), *TINY, "--steps", "4", "--seeds", "2", "--json")
        check(done.returncode == 0, done.stderr)
        got = json.loads(done.stdout)
        first = got["branched"]["comparisons"][0]
        check((first["recipe"], first["against"], first["primary"]) == ("e2m1", "ufp4", True), first)
        held = {r["recipe"]: r["held_losses"] for r in got["branched"]["recipes"]}
        want = [100 * (a - b) / b for a, b in zip(held["e2m1"], held["ufp4"])]
        check(all(abs(a - b) < 1e-5 for a, b in zip(first["gaps_percent"], want)), first, want)
        check(held["bf16"] == {r["recipe"]: r["held_losses"] for r in got["recipes"]}["bf16"], "the base is the same run")
        check(got["settings"]["steps"] == 4 and '"e1m2"' in got["settings"]["recipe ufp4"], got["settings"])
        check(len(got["forward"]["comparisons"]) > 4 and got["forward"]["held_tokens"] > 0, got["forward"].keys())


def train_ablation():
    demand_drawing()
    with tempfile.TemporaryDirectory() as folder:
        done = run("train", write_text(folder), "-o", os.path.join(folder, "out"), *TINY, "--steps", "2", "--seeds", "1",
                   "--ablation", "--branched", "--json")
        check(done.returncode == 0, done.stderr)
        got = {c["recipe"]: c["paper_gap_percent"] for c in json.loads(done.stdout)["branched"]["comparisons"] if c["against"] == "ufp4"}
        check(len(got) == 14 and abs(got["e1m2-rht-none"] - 0.597) < 1e-3 and got["e2m1"] is None, got)


def train_long_is_the_larger_model():
    with tempfile.TemporaryDirectory() as folder:
        done = run("train", write_text(folder), "-o", os.path.join(folder, "out"), "--long", "--layers", "1", "--context", "16",
                   "--batch", "2", "--steps", "1", "--seeds", "1", "--recipe", "fp32", "--eval", "64", "--json")
        check(done.returncode == 0, done.stderr)
        settings = json.loads(done.stdout)["settings"]
        check([round(settings[k], 6) for k in ("d_model", "heads", "ff", "lr")] == [128, 4, 352, 0.0015], settings)


def train_rejects_tables_without_recipes_to_compare():
    reject_train(2, "--forward compares", "--forward", "--recipe", "ufp4")
    reject_train(2, "--branched compares", "--branched", "--recipe", "bf16")


def train_rejects_ablation_of_other_recipes():
    reject_train(2, "--ablation has recipes of its own", "--ablation", "--recipe", "ufp4")


def train_without_python():
    """Rows and what was measured; the page of an earlier run goes."""
    with tempfile.TemporaryDirectory() as folder:
        text, out = write_text(folder), os.path.join(folder, "out")
        words = ["train", text, "-o", out, *TINY, "--steps", "2", "--seeds", "2", "--recipe", "bf16,ufp4"]
        os.mkdir(out)
        open(os.path.join(out, "report.html"), "w").close()
        for more in ([], ["--json"]):
            done = run(*words, *more)
            check(done.returncode == 0 and done.stderr.count("\n") == 1, done.stderr)
            check(f"python3 -m ufp4.report {out}/train.json" in done.stderr, done.stderr)
            check(sorted(os.listdir(out)) == ["branched.csv", "forward.csv", "losses.csv", "train.json"], os.listdir(out))
        got = json.loads(done.stdout)
        check([len(r["held_losses"]) for r in got["recipes"]] == [2, 2, 2] and "comparisons" not in got, got.keys())


def train_says_that_the_page_cannot_be_drawn():
    environment = {**os.environ, "UFP4_PYTHON": "/nowhere/python3"}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        words = ["train", write_text(folder), "-o", out, *shape_with(), "--seeds", "1", "--recipe", "bf16", "--whole"]
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=280, env=environment)
        check(done.returncode == 3 and "UFP4_PYTHON: /nowhere/python3: No such file" in done.stderr, done.returncode, done.stderr)
        check(sorted(os.listdir(out)) == ["losses.csv", "train.json"], "the rows are there, and nothing to go on with:", os.listdir(out))


def train_repeats_itself():
    with tempfile.TemporaryDirectory() as folder:
        text, losses = write_text(folder), []
        for threads in ("1", "3"):
            out = os.path.join(folder, threads)
            done = run("train", text, "-o", out, *TINY, "--steps", "3", "--seeds", "2", "--threads", threads)
            check(done.returncode == 0, done.stderr)
            losses.append(open(os.path.join(out, "losses.csv")).read())
        check(losses[0] == losses[1], "losses depend on --threads")


def train_json():
    demand_drawing()
    with tempfile.TemporaryDirectory() as folder:
        done = run("train", write_text(folder), "-o", os.path.join(folder, "out"), *TINY, "--steps", "2", "--seeds", "1",
                   "--recipe", "bf16,e2m1", "--no-control", "--json")
        check(done.returncode == 0, done.stderr)
        got = json.loads(done.stdout)
        check([r["recipe"] for r in got["recipes"]] == ["bf16", "e2m1"], got)
        check(got["recipes"][0]["deviation"] is None, "one seed has no deviation")
        check([(c["verdict"], c["p"]) for c in got["comparisons"]] == [("one seed", None)], got)
        check(got["held_tokens"] == 256, got)


def train_fp32_stands_beside_bf16():
    with tempfile.TemporaryDirectory() as folder:
        text, losses = write_text(folder), []
        for recipes, control in (("fp32,ufp4,bf16", True), ("bf16,ufp4,fp32", True), ("fp32,ufp4", False)):
            out = os.path.join(folder, recipes)
            done = run("train", text, "-o", out, *TINY, "--steps", "3", "--seeds", "1", "--recipe", recipes)
            check(done.returncode == 0, done.stderr)
            rows = list(csv.DictReader(open(os.path.join(out, "losses.csv"))))
            losses.append({(row["recipe"], row["step"]): row["train_loss"] for row in rows})
            check({row["recipe"] for row in rows} == set(recipes.split(",") + ["bf16-control"] * control), recipes)
        check(losses[0] == losses[1], "the order of recipes shows:", losses)
        check(losses[0]["fp32", "2"] != losses[0]["bf16", "2"], "fp32 is bf16:", losses)


def train_captured_tensors_go_through_layer():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        done = run("train", write_text(folder), "-o", out, *TINY, "--steps", "2", "--seeds", "1", "--recipe", "ufp4", "--capture")
        check(done.returncode == 0, done.stderr)
        tensors = [os.path.join(out, "ufp4", f"layer1.fc2.{t}.npy") for t in ("X", "W", "dY")]
        done = run("layer", *tensors, "-o", os.path.join(folder, "layer"), "--recipe", "ufp4")
        check(done.returncode == 0, done.stderr)
        check(sorted(os.listdir(os.path.join(folder, "layer"))) == ["Y.npy", "dW.npy", "dX.npy"], "files")


def train_help():
    done = run("train", "--help")
    check(done.returncode == 0 and "Example:" in done.stdout and "--capture" in done.stdout, done.stdout)


def train_rejects_unknown_recipe():
    reject_train(2, "'fp3' is not one of", "--recipe", "ufp4,fp3")


def train_rejects_recipe_that_the_backend_does_not_have():
    reject_train(3, "contract exact", "--recipe", "mxfp4", "--backend", "rtl")


def train_rejects_recipe_file_that_is_not_there():
    reject_train(2, "absent.json: cannot be read", "--recipe", "absent.json")


def train_takes_every_recipe():
    with tempfile.TemporaryDirectory() as folder:
        mine = os.path.join(folder, "mine.json")
        with open(mine, "w") as file:
            file.write('{"elem": "int4", "scale": "fp32", "rht": "integer", "round": {"dy": "sr"}}')
        keys = os.path.join(folder, "keys.json")
        with open(keys, "w") as file:
            file.write('{"elem": "e1m2", "rht": "integer", "round": {"dy": {"wgrad": "sr"}}, "signs": "step", "requantize": true,'
                       ' "bf16_passes": ["dgrad"], "bf16_layers": {"first": 1, "names": ["fc2"]}}')
        built_in = ["e2m1-46", "nvfp4", "nvfp4/rht=fprop+dgrad+wgrad", "nvfp4-full", "nvint4", "nve1m2", "mxfp4", "mxfp4-rht"]
        done = run("train", write_text(folder), "-o", os.path.join(folder, "out"), *TINY, "--steps", "2", "--seeds", "1",
                   "--recipe", ",".join([*built_in, mine, keys]), "--no-control", "--json")
        check(done.returncode == 0, done.stderr)
        got = json.loads(done.stdout)
        check([r["recipe"] for r in got["recipes"]] == [*built_in, "mine", "keys"], got)


def train_captures_under_the_recipes_own_name():
    with tempfile.TemporaryDirectory() as folder:
        below = os.path.join(folder, "a folder whose name alone has more than 31 bytes")
        os.mkdir(below)
        for name, text in (("first.json", '{"elem": "e1m2"}'), ("second.json", '{"elem": "e2m1", "name": "mine"}')):
            with open(os.path.join(below, name), "w") as file:
                file.write(text)
        out = os.path.join(folder, "out")
        done = run("train", write_text(folder), "-o", out, *TINY, "--steps", "2", "--seeds", "1", "--no-control", "--capture",
                   "--recipe", os.path.join(below, "first.json") + "," + os.path.join(below, "second.json"))
        check(done.returncode == 0, done.stderr)
        check(os.path.isdir(os.path.join(out, "first")) and os.path.isdir(os.path.join(out, "mine")), os.listdir(out))
        check(sorted(os.listdir(below)) == ["first.json", "second.json"], os.listdir(below))


def train_rejects_recipe_whose_name_is_a_path():
    with tempfile.TemporaryDirectory() as folder:
        recipe = os.path.join(folder, "r.json")
        with open(recipe, "w") as file:
            file.write('{"elem": "e1m2", "name": "../elsewhere"}')
        reject_train(2, "letters, digits and", "--recipe", recipe)


def train_rejects_recipe_of_the_controls_name():
    """Nor those of the files beside the recipes' folders."""
    for name in ("bf16-control", "losses.csv", "train.json", "report.html"):
        with tempfile.TemporaryDirectory() as folder:
            recipe = os.path.join(folder, "other.json")
            with open(recipe, "w") as file:
                file.write(f'{{"elem": "e1m2", "name": "{name}"}}')
            reject_train(2, f"{name} is a name of this command's own", "--recipe", "bf16," + recipe)


def train_rejects_options_out_of_range():
    for words, *options in (("ufp4 is there twice", "--recipe", "ufp4,bf16,ufp4"), ("--recipe", "--recipe", "ufp4,"), ("gpu", "--backend", "gpu"),
                            ("--steps 0 is not within 1..", "--steps", "0"), ("--seeds 0 is not within 1..", "--seeds", "0"),
                            ("--lr must be over 0", "--lr", "-1"), ("--lr", "--lr", "nan"),
                            ("--d-model 32 is not a multiple of 2 x --heads 3", "--heads", "3"),
                            ("at most 1048576", "--batch", "65536", "--context", "128")):
        reject_train(2, words, *options)
    reject_train(2, "characters are too few for a context of 16", size=600)


def train_rejects_missing_text():
    with tempfile.TemporaryDirectory() as folder:
        missing = os.path.join(folder, "missing")
        check_rejected(run("train", missing, "-o", os.path.join(folder, "out")), 2, f"{missing}: No such file")


def train_rejects_missing_output():
    check_rejected(run("train"), 2, "-o DIR is missing")


def train_rejects_output_below_a_file():
    with tempfile.TemporaryDirectory() as folder:
        text = write_text(folder)
        check_rejected(run("train", text, "-o", os.path.join(text, "out"), *TINY, "--steps", "1"), 2, "Not a directory")


def train_rejects_output_that_is_a_file():
    with tempfile.TemporaryDirectory() as folder:
        text = write_text(folder)
        check_rejected(run("train", text, "-o", text, *TINY, "--steps", "1"), 2, "is no directory")
        check(os.path.getsize(text) > 30000, "the file was changed")


def train_rejects_outputs_that_cannot_be_before_it_reads_the_text():
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "out", "report.html"))
        check_rejected(run("train", "/nowhere", "-o", os.path.join(folder, "out")), 2, "is no regular file")
        text = os.path.join(folder, "losses.csv")
        os.rename(write_text(folder), text)
        check_rejected(run("train", text, "-o", folder), 2, "is an input")
        check(os.path.getsize(text) > 30000, "the text is as it was")


def train_rejects_two_texts():
    check_rejected(run("train", "a", "b", "-o", "out"), 2, "too many inputs")


def run_demo(folder, *options):
    return run("demo", "--text", write_text(folder), "--steps", "2", "--sequences", "1", *options)


def demo_with_model_on_both_sides():
    with tempfile.TemporaryDirectory() as folder:
        done = run_demo(folder, "--backend", "model")
        check(done.returncode == 0, done.stderr)
        lines = done.stdout.splitlines()
        table = [line for line in lines if line.startswith(("  fprop", "  dgrad", "  wgrad"))]
        check(len(table) == 48 and all(line.endswith(" 0 equal") for line in table), done.stdout)
        check(lines[-1] == "0 mismatches: equal in every bit", lines[-1])
        check(done.stderr == "", "stderr is no terminal:", repr(done.stderr))


def demo_json():
    with tempfile.TemporaryDirectory() as folder:
        done = run_demo(folder, "--backend", "model", "--recipe", "e2m1", "--json")
        check(done.returncode == 0, done.stderr)
        got = json.loads(done.stdout)
        check(got["verdict"] == "equal" and len(got["cases"]) == 48 and len(got["training"]) == 2, got)
        check(got["cases"][0]["format"] == "e2m1" and got["cases"][0]["cycles"] is None, got["cases"][0])
        check(got["totals"]["mismatches"] == 0 and got["totals"]["loss_equal"] is True, got["totals"])


@slow
def demo_on_the_simulated_core():
    with tempfile.TemporaryDirectory() as folder:
        done = run_demo(folder, "--config", "small", "--mem-latency", "30", "--stall", "7", "--json")
        if done.returncode == 3 and "rtl" in done.stderr:
            print("skipped:", done.stderr.strip())
            sys.exit(77)
        check(done.returncode == 0, done.stderr, done.stdout[-500:])
        got = json.loads(done.stdout)
        check(got["verdict"] == "equal" and all(c["cycles"] > 0 for c in got["cases"]), got["totals"])
        check(got["simulator"]["configuration"] == "small", got["simulator"])


def demo_compares_layers_and_passes_in_bf16():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "some.json")
        with open(path, "w") as file:
            file.write('{"elem": "e1m2", "bf16_passes": ["dgrad"], "bf16_layers": {"last": "15%", "names": ["proj"]}}')
        done = run_demo(folder, "--backend", "model", "--recipe", path, "--json")
        check(done.returncode == 0, done.stderr)
        cases = json.loads(done.stdout)["cases"]
        formats = [case["format"] for case in cases if case["pass"] != "dgrad"]
        check({case["format"] for case in cases if case["pass"] == "dgrad"} == {"bf16"}, cases)
        check(formats.count("e1m2") == 2 * 3 * 3 and formats.count("bf16") == 2 * (4 + 3), formats)


def demo_names_the_recipe_of_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "some.json")
        with open(path, "w") as file:
            file.write('{"name": "mine", "elem": "e1m2", "round": {"dy": "sr"}}')
        done = run_demo(folder, "--backend", "model", "--recipe", path)
        check(done.returncode == 0 and "; recipe mine, " in done.stdout and "some.json" not in done.stdout, done.stdout[:300])


def a_build_with_rtl():
    done = run("info", "--backend", "rtl")
    if done.returncode == 3:
        print("skipped:", done.stderr.strip())
        sys.exit(77)


def train_rejects_recipe_of_another_core_before_it_reads_the_text():
    a_build_with_rtl()
    with tempfile.TemporaryDirectory() as folder:
        done = run("train", "/nowhere", "-o", os.path.join(folder, "out"), "--recipe", "ufp4,mxfp4", "--backend", "rtl")
        check_rejected(done, 3, "accumulates by the contract exact, not by fp32")


def demo_rejects_recipe_of_another_core_before_it_trains():
    a_build_with_rtl()
    with tempfile.TemporaryDirectory() as folder:
        check_rejected(run_demo(folder, "--recipe", "mxfp4"), 3, "accumulates by the contract exact, not by fp32")


def demo_rejects_recipe_of_the_host():
    with tempfile.TemporaryDirectory() as folder:
        check_rejected(run_demo(folder, "--recipe", "bf16", "--backend", "model"), 2, "nothing to compare")


def demo_rejects_unknown_configuration():
    with tempfile.TemporaryDirectory() as folder:
        check_rejected(run_demo(folder, "--config", "huge"), 2, "huge")


def demo_rejects_missing_text():
    check_rejected(run("demo", "--text", "/nowhere/at/all", "--backend", "model"), 2, "/nowhere/at/all: No such file")


def demo_rejects_zero_steps():
    check_rejected(run("demo", "--steps", "0"), 2, "--steps must be within")


def demo_rejects_inputs():
    check_rejected(run("demo", "something"), 2, "too many inputs")


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    globals()[sys.argv[2]]()
