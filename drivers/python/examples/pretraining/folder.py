# SPDX-License-Identifier: Apache-2.0
"""The folder of a training: its lock, the settings of its runs, and what a longer training keeps."""

import csv
import fcntl
import hashlib
import json
import os
import shutil
import urllib.parse

import torch

from .model import SIZES

BASE, KINDS = "bf16", ("branched", "whole")
TURNS, BRANCH = 12, 8  # turns of a run, and those before the branch
FILES = {"whole": "losses.csv", "branched": "branched.csv"}
RESULTS = (*FILES.values(), "held.csv", "train.json", "report.html")
SETTINGS = ("width", "heads", "blocks", "bpe", "context", "batch", "lr", "held", "attention", "cooldown", "steps")
FORMER = {"attention": "fp32", "cooldown": 0, "recipes": {}}  # defaults for folders begun without these settings


def replace(path, write):
    """Writes a file completely or not at all, even if the process is killed."""
    fresh = path.with_name(path.name + ".new")
    write(fresh)
    os.replace(fresh, path)


class Rows:
    """A growing CSV file; rows that a run wrote after its last checkpoint are removed."""

    def __init__(self, path, columns, kept):
        lines = []
        if path.exists():
            with open(path, newline="") as file:
                lines = [row for row in csv.DictReader(file) if None not in row.values() and kept(row)]
        self.path, self.columns, self.rows = path, columns, lines
        replace(path, self._begin)
        self.file = open(path, "a", newline="")

    def _begin(self, path):
        with open(path, "w", newline="") as file:
            out = csv.DictWriter(file, self.columns, lineterminator="\n")
            out.writeheader()
            out.writerows(self.rows)

    def add(self, **row):
        csv.DictWriter(self.file, self.columns, lineterminator="\n").writerow(row)
        self.file.flush()


class Plan:
    """The steps at which a run is divided: its turns, the branch, and the end of its constant rate."""

    def __init__(self, steps, cooldown):
        self.steps = steps
        self.ends = [steps * turn // TURNS for turn in range(1, TURNS + 1)]
        self.branch = self.ends[BRANCH - 1]
        self.constant = steps - steps * cooldown // 100 if cooldown else None

    def marks(self, run):
        """Returns {kind: step}, the kinds under which the checkpoint of a run is kept."""
        kind, recipe, _ = run
        if kind != "whole":
            return {}
        return {"branch": self.branch if recipe == BASE else None, "constant": self.constant}


# --- Checkpoints ----------------------------------------------------------------------------------------------


def path_of(folder, run):
    kind, recipe, seed = run
    return folder / f"{kind},{urllib.parse.quote(recipe, safe='')},{seed}.pt"


def run_of(path):
    kind, recipe, seed = path.stem.split(",")
    return kind, urllib.parse.unquote(recipe), int(seed)


def step_of(path):
    return torch.load(path, map_location="cpu", mmap=True)["step"]


def done(folder, plan):
    """Returns the steps of all checkpoints. Removes those with another branching step, and keeps a base that is at the
    branch."""
    for path in folder.glob("branch,*.pt"):
        if step_of(path) != plan.branch:
            for other in folder.glob("branched,*.pt"):
                if run_of(other)[2] == run_of(path)[2]:
                    other.unlink()
            path.unlink()
    found = {run_of(path): step_of(path) for path in folder.glob("*.pt")}
    for kind, recipe, seed in list(found):
        branch = "branch", BASE, seed
        if (kind, recipe) == ("whole", BASE) and found[kind, recipe, seed] == plan.branch and branch not in found:
            replace(path_of(folder, branch), lambda fresh: shutil.copyfile(path_of(folder, (kind, BASE, seed)), fresh))
            found[branch] = plan.branch
    return found


def _shorten(folder, before, after):
    """Moves whole runs back to where a longer training has the same weights: at most to the end of the constant rate,
    and the base's at most to the new branch."""
    for path in list(folder.glob("whole,*.pt")):
        _, recipe, seed = run_of(path)
        limit = min(before.constant, after.branch) if recipe == BASE else before.constant
        if step_of(path) <= limit:
            continue
        kept = [path_of(folder, (kind, recipe, seed)) for kind in ("branch", "constant")]
        kept = [one for one in kept if one.exists() and step_of(one) <= limit]
        if kept:
            replace(path, lambda fresh: shutil.copyfile(max(kept, key=step_of), fresh))
        else:
            path.unlink()


# --- Settings -------------------------------------------------------------------------------------------------


def _kept_results(chosen, steps):
    """Moves the results of the shorter training to their own folder."""
    aside = chosen.o / f"tokens-{steps * chosen.batch * chosen.context}"
    if aside.exists() or not (chosen.o / "train.json").exists():
        return
    fresh = aside.with_name(aside.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    for name in RESULTS:
        if (chosen.o / name).exists():
            shutil.copy2(chosen.o / name, fresh)
    os.replace(fresh, aside)


def _read_settings(path):
    before = json.loads(path.read_text())
    if "size" in before:  # the size stood for these
        before |= dict(zip(("width", "heads", "blocks"), SIZES[before.pop("size")]))
    return FORMER | before


def _check_same(chosen, settings, before):
    """Checks that runs with these settings may continue those in the folder; only their length may grow."""
    other = [name for name in (*SETTINGS, "text") if settings[name] != before[name]]
    if other == ["steps"] and chosen.cooldown and settings["steps"] > before["steps"]:
        other = []
    if other:
        name = other[0]
        values = f": {before[name]}, not {settings[name]}" if name != "text" else ""
        more = "; only runs with a --cooldown may become longer, and none shorter" if other == ["steps"] else ""
        raise ValueError(f"{chosen.o}: the runs there have another {', '.join(other)}{values}{more}")
    for name, recipe in before["recipes"].items():
        if settings["recipes"].get(name, recipe) != recipe:
            raise ValueError(f"{chosen.o}: the recipe {name} of the runs there has other settings")
    if not chosen.resume:
        raise ValueError(f"{chosen.o}: there are runs; --resume goes on with them")


def claim(chosen, data):
    """Opens a folder for this process alone, and for runs with these settings."""
    runs = chosen.o / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    lock = open(runs / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ValueError(f"{chosen.o}: another process trains there") from None
    settings = {name: getattr(chosen, name) for name in SETTINGS}
    settings["text"] = hashlib.sha256(data).hexdigest()
    settings["recipes"] = {name: recipe.to_dict() for name, recipe in chosen.recipes.items()}
    path = runs / "settings.json"
    if path.exists():
        before = _read_settings(path)
        _check_same(chosen, settings, before)
        settings["recipes"] = before["recipes"] | settings["recipes"]
        if settings["steps"] != before["steps"]:
            _kept_results(chosen, before["steps"])
            _shorten(runs, Plan(before["steps"], chosen.cooldown), Plan(chosen.steps, chosen.cooldown))
    replace(path, lambda fresh: fresh.write_text(json.dumps(settings)))
    return lock
