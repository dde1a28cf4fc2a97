# SPDX-License-Identifier: Apache-2.0
"""Tests trainings by recipes with suffixes, larger blocks and larger transforms."""

import json
import os
import pathlib

import stand
from stand import check
from trainings import reject_train, trained


def test_takes_suffixes_of_recipes():
    """Each appears under its canonical name in JSON, CSV and as a folder, and equals the file with the same
    settings."""
    pathlib.Path("same.json").write_text(
        '{"elem": "e1m2", "rht": {"wgrad": "integer"}, "round": {"dy": {"dgrad": "sr"}},'
        ' "scale_round": {"dy": {"dgrad": "up"}}}'
    )
    out, name = "out", "ufp4/rht=wgrad/sr=dgrad"
    done = trained(
        "--steps",
        "2",
        "--seeds",
        "1",
        "--no-control",
        "--capture",
        "--json",
        "--recipe",
        "ufp4/sr=dgrad/rht=wgrad,same.json,same.json/rht=none",
    )
    rows = {r["recipe"]: r["held_losses"] for r in json.loads(done.out)["recipes"]}
    check(list(rows) == [name, "same", "same/rht=none"], rows)
    check(rows[name] == rows["same"] != rows["same/rht=none"], rows)
    check({line.split(",")[0] for line in open("out/losses.csv").readlines()[1:]} == set(rows), "losses.csv")
    folders = {name.replace("/", "-") for name in rows}
    check(folders <= set(os.listdir(out)), os.listdir(out))
    trained("--steps", "1", "--seeds", "1", "--no-control", "--recipe", "fp32")
    check(not folders & set(os.listdir(out)), "an earlier run's tensors are removed", os.listdir(out))


def test_train_in_larger_blocks_and_transforms():
    pathlib.Path("wide.json").write_text(
        '{"elem": "e1m2", "block": 64, "rht": "integer", "rht_size": 16, "round": {"dy": "sr"}}'
    )
    pathlib.Path("points.json").write_text(
        '{"elem": "e1m2", "rht": {"wgrad": "integer"}, "rht_size": 64, "signs": "step", "round": {"dy": "sr"}}'
    )
    done = trained(
        "--steps", "2", "--seeds", "1", "--no-control", "--json", "--recipe", "bf16,ufp4,wide.json,points.json"
    )
    losses = [r["held_losses"] for r in json.loads(done.out)["recipes"]]
    check(
        len({tuple(loss) for loss in losses}) == 4 and all(abs(loss[0] - losses[0][0]) < 0.1 for loss in losses), losses
    )


def test_rejects_transforms_that_do_not_fit_the_model():
    pathlib.Path("points.json").write_text('{"elem": "e1m2", "rht": "integer", "rht_size": 64}')
    reject_train(2, "a transform of 64 points does not divide 32", "--recipe", "points.json")
    reject_train(3, "RHT size 64", "--recipe", "points.json", "--backend", "rtl")


def test_rejects_suffixes():
    reject_train(2, "--recipe ufp4/rth=none: a suffix must be", "--recipe", "ufp4/rth=none")
    reject_train(2, "is given twice", "--recipe", "ufp4/rht=wgrad+dgrad,ufp4/rht=dgrad+wgrad")
    reject_train(2, "'ufp5' is not one of", "--recipe", "ufp5/rht=none")


if __name__ == "__main__":
    stand.main(globals())
