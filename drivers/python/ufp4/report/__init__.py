# SPDX-License-Identifier: Apache-2.0
"""Pages and tables of what `ufp4 train`, `ufp4 explore` and `ufp4 ppa` have measured,
and of held-out losses of your own.

``python -m ufp4.report DIR`` draws DIR/report.html from the files that train, explore or ppa left there;
``python -m ufp4.report FILE.csv`` compares the losses of your own runs, and ``python -m ufp4.report FILE.jsonl`` draws
what ufp4.torch.Watch has recorded. Needs scipy, matplotlib and jinja2, which ``pip install 'ufp4[report]'`` brings.
"""

import contextlib
import csv
import json
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["draw", "read_losses", "read_rounding", "rounding_table", "table", "write_page", "write_rounding"]

_MEASURED = "what train, explore or ppa writes"


@contextlib.contextmanager
def _as_kind(path, kind, *errors):
    """Raises a ValueError that names the kind if a file is not of it."""
    try:
        yield
    except errors as error:
        raise ValueError(
            f"{path} is not {kind}: {type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else 'it ends early'}"
        ) from error


def _as_measured(path):
    """Raises a ValueError if a file is not what train, explore or ppa writes."""
    return _as_kind(
        path, _MEASURED, ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError, csv.Error
    )


def _loss(path, rows, row, column):
    try:
        return float(row[column])
    except (TypeError, ValueError):
        raise ValueError(f"{path}, line {rows.line_num}: {column} is {row[column]!r}, not a number") from None


def read_losses(path: str | os.PathLike) -> dict[str, dict[str, float]]:
    """Held-out losses by recipe and seed, {recipe: {seed: loss}}, of a CSV file with the columns recipe,
    seed and held_loss.

    Lines without a held_loss are ignored, as those of train's losses.csv before a run's last step. Where a run has
    several, as in pretrain.py's, which the column step tells apart, those of the last step that all runs have are
    taken. More columns are ignored.
    """
    found = {}
    with (
        _as_kind(path, "a CSV file in UTF-8", csv.Error, UnicodeError),
        open(path, newline="", encoding="utf-8-sig") as file,
    ):
        rows = csv.DictReader(file)
        missing = {"recipe", "seed", "held_loss"} - set(rows.fieldnames or ())
        if missing:
            raise ValueError(f"{path}: column {sorted(missing)[0]} is missing; recipe, seed and held_loss are needed")
        for row in rows:
            if not row["held_loss"]:
                continue
            for column in ("recipe", "seed"):
                if not row[column]:
                    raise ValueError(f"{path}, line {rows.line_num}: {column} is missing")
            steps = found.setdefault(row["recipe"], {}).setdefault(row["seed"], {})
            step = _loss(path, rows, row, "step") if row.get("step") else 0.0
            if step in steps:
                raise ValueError(f"{path}, line {rows.line_num}: {row['recipe']} of seed {row['seed']} appears twice")
            steps[step] = _loss(path, rows, row, "held_loss")
    if not found:
        raise ValueError(f"{path}: it has no held_loss")
    return _of_one_step(path, found)


def _of_one_step(path, found):
    """Returns {recipe: {seed: loss}} from {recipe: {seed: {step: loss}}}: if runs have several steps, the last one that
    all have."""
    runs = [steps for seeds in found.values() for steps in seeds.values()]
    if all(len(steps) == 1 for steps in runs):
        return {name: {seed: [*steps.values()][0] for seed, steps in seeds.items()} for name, seeds in found.items()}
    common = set.intersection(*map(set, runs))
    if not common:
        raise ValueError(f"{path}: there is no step for which all runs have a held_loss")
    return {name: {seed: steps[max(common)] for seed, steps in seeds.items()} for name, seeds in found.items()}


def _common(losses):
    """Returns the same for the seeds that all recipes have, in their order, and a text about the others."""
    common = [seed for seed in next(iter(losses.values())) if all(seed in seeds for seeds in losses.values())]
    if not common:
        known = dict.fromkeys(seed for seeds in losses.values() for seed in seeds)
        lacks = [
            f"{name} lacks {', '.join(str(seed) for seed in known if seed not in seeds)}"
            for name, seeds in losses.items()
        ]
        raise ValueError(f"losses: no seed was run with every recipe: {'; '.join(lacks)}")
    out = [f"{name} of seed {seed}" for name, seeds in losses.items() for seed in seeds if seed not in common]
    words = f"left out, as not every recipe has these seeds: {', '.join(out)}" if out else ""
    return {name: {seed: seeds[seed] for seed in common} for name, seeds in losses.items()}, words


def _compare(losses, options):
    from .. import stats

    return stats.compare({name: list(seeds.values()) for name, seeds in losses.items()}, **options)


def table(losses: Mapping[str, Mapping[Any, float]], **options: Any) -> str:
    """The table of comparisons as text. losses: {recipe: {seed: loss}}; options: those of ufp4.stats.compare."""
    from . import _train

    losses, left_out = _common(losses)
    compared = _compare(losses, options)
    width = max([12, *map(len, losses)])
    lines = [*_train.comparison_lines(compared, width), *([f"% {left_out}"] if left_out else [])]
    return "".join(f"{line}\n" for line in lines)


def write_page(
    path: str | os.PathLike, losses: Mapping[str, Mapping[Any, float]], title: str = "Held-out losses", **options: Any
) -> None:
    """Writes a page on held-out losses: the table of comparisons and a picture of the gaps. Arguments as in table."""
    from . import _draw, _train_page

    losses, left_out = _common(losses)
    compared = _compare(losses, options)
    colors = {name: _draw.color(i) for i, name in enumerate(losses)}
    base = options.get("base") or next((name for name in ("bf16", "fp32") if name in losses), None)
    recipes = [
        {"recipe": name, "held_losses": list(seeds.values()), "tokens_per_second": None, "cycles_per_step": None}
        for name, seeds in losses.items()
    ]
    part = _train_page.part(
        "Runs", recipes, compared, colors, base, left_out and f"{left_out[0].upper()}{left_out[1:]}."
    )
    _draw.write(
        path,
        _draw.page(
            "train.html",
            title=title,
            heading=title,
            question="How far does each recipe fall behind?",
            forward=None,
            settings=None,
            parts=[part],
        ),
    )


def read_rounding(path: str | os.PathLike) -> list[dict[str, Any]]:
    """Returns the records of a file of ufp4.torch.Watch, ordered by step; of duplicates, as after a resumed run, the
    last one."""
    from . import _rounding

    with _as_kind(path, "what ufp4.torch.Watch writes", ValueError), open(path, encoding="utf-8") as file:
        return _rounding.read(file)


def rounding_table(records: Iterable[Mapping[str, Any]]) -> str:
    """Returns the table of each layer's last record as text."""
    from . import _rounding

    return _rounding.table(records) + "\n"


def write_rounding(path: str | os.PathLike, records: Iterable[Mapping[str, Any]]) -> None:
    """Draws records over their steps into an SVG file: for each operand of each pass the median of the layers,
    and their range."""
    from . import _draw, _rounding

    _draw.write(path, _rounding.svg(list(records)))


def _read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _training_losses(path):
    """Returns {recipe: [seed][step]} of losses.csv, or nothing."""
    found = {}
    if path.exists():
        with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
            rows = csv.DictReader(file)
            for row in rows:
                found.setdefault(row["recipe"], {}).setdefault(row["seed"], []).append(
                    _loss(path, rows, row, "train_loss")
                )
    return {name: list(seeds.values()) for name, seeds in found.items()}


def draw(path: str | os.PathLike) -> None:
    """Draws the report.html of a folder from what train (train.json, losses.csv), explore (explore.json, explore.csv)
    or ppa (ppa.json) has left there.

    path: the folder, or where several have written into it the .json file in it.
    """
    from . import _draw, _explore, _ppa, _train_page

    path = pathlib.Path(path)
    if path.is_dir():
        names = ("train.json", "explore.json", "ppa.json")
        there = [path / name for name in names if (path / name).exists()]
        if not there:
            raise ValueError(f"{path}: it has none of {', '.join(names)}")
        if len(there) > 1:
            raise ValueError(f"{path}: it has {' and '.join(one.name for one in there)}; name one of them")
        path = there[0]
    with _as_measured(path):
        document = _read_json(path)
        kind = next((key for key in ("cases", "library") if key in document), "recipes")
        cases = len(document["cases"]) if kind == "cases" else 0
    if kind == "library":
        with _as_measured(path):
            text = _ppa.html(document)
    else:
        beside = path.with_name("explore.csv" if kind == "cases" else "losses.csv")
        with _as_kind(beside, _MEASURED, LookupError, TypeError, csv.Error):  # a ValueError names its own file
            rows = _explore.read(beside, cases) if kind == "cases" else _training_losses(beside)
        with _as_measured(path):
            text = _explore.html(document, rows) if kind == "cases" else _train_page.html(document, rows)
    _draw.write(path.with_name("report.html"), text)
