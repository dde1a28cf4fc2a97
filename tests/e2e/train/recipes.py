# SPDX-License-Identifier: Apache-2.0
"""Trainings in recipes with suffixes, larger blocks and larger transforms. As commands.py: recipes.py PROGRAM FUNCTION."""
import json
import os
import sys
import tempfile

import commands
from commands import check, reject_train, run, write_text, TINY


def recipes_takes_suffixes_of_recipes():
    """Each under its canonical name, in JSON, CSV and as a folder; and as the file that says the same."""
    with tempfile.TemporaryDirectory() as folder:
        same = os.path.join(folder, "same.json")
        with open(same, "w") as file:
            file.write('{"elem": "e1m2", "rht": {"wgrad": "integer"}, "round": {"dy": {"dgrad": "sr"}},'
                       ' "scale_round": {"dy": {"dgrad": "up"}}}')
        out, name = os.path.join(folder, "out"), "ufp4/rht=wgrad/sr=dgrad"
        done = run("train", write_text(folder), "-o", out, *TINY, "--steps", "2", "--seeds", "1", "--no-control", "--capture",
                   "--json", "--recipe", f"ufp4/sr=dgrad/rht=wgrad,{same},{same}/rht=none")
        check(done.returncode == 0, done.stderr)
        rows = {r["recipe"]: r["held_losses"] for r in json.loads(done.stdout)["recipes"]}
        check(list(rows) == [name, "same", "same/rht=none"], rows)
        check(rows[name] == rows["same"] != rows["same/rht=none"], rows)
        with open(os.path.join(out, "losses.csv")) as file:
            check({line.split(",")[0] for line in file.readlines()[1:]} == set(rows), "losses.csv")
        folders = {name.replace("/", "-") for name in rows}
        check(folders <= set(os.listdir(out)), os.listdir(out))
        done = run("train", write_text(folder), "-o", out, *TINY, "--steps", "1", "--seeds", "1", "--no-control", "--recipe", "fp32")
        check(done.returncode == 0 and not folders & set(os.listdir(out)), "an earlier run's tensors are removed", os.listdir(out))


def recipes_train_in_larger_blocks_and_transforms():
    with tempfile.TemporaryDirectory() as folder:
        wide = os.path.join(folder, "wide.json")
        with open(wide, "w") as file:
            file.write('{"elem": "e1m2", "block": 64, "rht": "integer", "rht_size": 16, "round": {"dy": "sr"}}')
        points = os.path.join(folder, "points.json")
        with open(points, "w") as file:
            file.write('{"elem": "e1m2", "rht": {"wgrad": "integer"}, "rht_size": 64, "signs": "step", "round": {"dy": "sr"}}')
        done = run("train", write_text(folder), "-o", os.path.join(folder, "out"), *TINY, "--steps", "2", "--seeds", "1", "--no-control",
                   "--json", "--recipe", f"bf16,ufp4,{wide},{points}")
        check(done.returncode == 0, done.stderr)
        losses = [r["held_losses"] for r in json.loads(done.stdout)["recipes"]]
        check(len({tuple(loss) for loss in losses}) == 4 and all(abs(loss[0] - losses[0][0]) < 0.1 for loss in losses), losses)


def recipes_rejects_transforms_that_do_not_fit_the_model():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "points.json")
        with open(path, "w") as file:
            file.write('{"elem": "e1m2", "rht": "integer", "rht_size": 64}')
        reject_train(2, "a transform of 64 points along 32 numbers", "--recipe", path)
        reject_train(3, "RHT size 64", "--recipe", path, "--backend", "rtl")


def recipes_rejects_suffixes():
    reject_train(2, "--recipe ufp4/rth=none: a suffix is", "--recipe", "ufp4/rth=none")
    reject_train(2, "is there twice", "--recipe", "ufp4/rht=wgrad+dgrad,ufp4/rht=dgrad+wgrad")
    reject_train(2, "'ufp5' is not one of", "--recipe", "ufp5/rht=none")


if __name__ == "__main__":
    commands.PROGRAM = sys.argv[1]
    globals()[sys.argv[2]]()
