# SPDX-License-Identifier: Apache-2.0
"""report.html of a training: tables, gaps over seeds, loss curves, the forward table."""

import math

from . import _draw
from . import _train
from .. import stats
from ._train import MIXED, WAYS, real

TITLES = {"branched": "Branched runs", "whole": "Whole runs"}
WAY_NAMES = ("E2M1", "E2M1, RHT", "E1M2", "E1M2, RHT")
POINTS, GAP_POINTS = 150, 30  # of a curve; fewer for gaps, which are small compared with the noise of a step


def _markup(text):
    import markupsafe

    return markupsafe.Markup(text)


# --- Pictures -------------------------------------------------------------------------------------------


def gaps_picture(compared, colors):
    """Draws a bar for each comparison, with its interval and a point for each seed. colors: {recipe: color}"""
    with _draw.picture(7.5, 0.6 + 0.33 * len(compared)) as (axes, out):
        for at, c in enumerate(compared):
            color = colors[c.recipe]
            if math.isfinite(c.gap.mean):
                axes.barh(at, c.gap.mean, height=0.45, color=color, alpha=0.35)
            axes.plot(c.gaps, [at] * len(c.gaps), "o", markersize=3, color=color)
            if math.isfinite(c.gap.interval):
                axes.errorbar(c.gap.mean, at, xerr=c.gap.interval, color=_draw.INK, capsize=3)
        axes.axvline(0, color=_draw.INK, linewidth=0.8)
        axes.set_yticks(range(len(compared)), [f"{c.recipe} - {c.against}" for c in compared])
        for label, c in zip(axes.get_yticklabels(), compared):
            label.set_color(colors[c.recipe])
        axes.set_ylim(len(compared) - 0.5, -0.5)
        axes.grid(axis="x")
        axes.xaxis.set_major_formatter("{x:+.3g} %")
    return out["svg"]


def _parts(losses, points):
    """Averages a run over the points' intervals."""
    steps = len(losses)
    ends = [p * steps // points for p in range(points + 1)]
    return [sum(losses[a:b]) / (b - a) for a, b in zip(ends, ends[1:])]


def _curves(runs, colors, base, unit):
    """Yields (title, picture, words) of the training losses, up to the step that all have. runs: {recipe:
    [seed][step]}"""
    runs = {name: seeds for name, seeds in runs.items() if name in colors}
    shortest = min(len(losses) for seeds in runs.values() for losses in seeds)
    runs = {name: [losses[:shortest] for losses in seeds] for name, seeds in runs.items()}
    steps = len(next(iter(runs.values()))[0])

    def draw(points, of, sign):
        drawn = {}
        with _draw.picture(7.5, 3.2) as (axes, out):
            for name, seeds in runs.items():
                mean = [sum(values) / len(values) for values in zip(*of(seeds, min(points, steps)))]
                x = [(steps - 1) * p / max(1, len(mean) - 1) for p in range(len(mean))]
                (drawn[name],) = axes.plot(x, mean, color=colors[name], marker="" if len(mean) > 1 else "o")
            axes.grid(axis="y")
            axes.set_xlabel("step")
            axes.yaxis.set_major_formatter(f"{{x:{sign}.3g}}")
            _draw.legend(axes, drawn)
        return _markup(out["svg"])

    def losses(seeds, points):
        return [_parts(seed, points) for seed in seeds]

    def against_base(seeds, points):
        return [
            [100 * (a - b) / b for a, b in zip(_parts(one, points), _parts(other, points))]
            for one, other in zip(seeds, runs[base])
        ]

    yield {
        "title": f"Training loss, nats per {unit}",
        "picture": draw(POINTS, losses, ""),
        "about": "Means over seeds.",
    }
    if len(runs) > 1:
        yield {
            "title": "Gap of the training loss, %",
            "picture": draw(GAP_POINTS, against_base, "+"),
            "about": (
                f"Against {base} on the same seed, mean over seeds; each point is one of "
                f"{_draw.counted(min(GAP_POINTS, steps), 'part')} of the run."
            ),
        }


def _depth_picture(forward, colors):
    """Draws the product of FPROP's kept signal up to each layer."""
    drawn = {}
    with _draw.picture(7.5, 2.6) as (axes, out):
        for r in forward["recipes"]:
            if r["recipe"] not in colors:
                continue
            product = [1.0]
            for kept in r["layers_kept"]:
                product.append(product[-1] * real(kept))
            (drawn[r["recipe"]],) = axes.plot(range(len(product)), product, color=colors[r["recipe"]])
        axes.set_title("Product of alpha over the linear layers, FPROP")
        axes.set_xlabel("linear layers")
        axes.grid(axis="y")
        if drawn:
            _draw.legend(axes, drawn)
    return out["svg"]


def _codes_picture(forward):
    with _draw.picture(7.5, 1.6, panels=len(WAYS)) as (axes, out):
        for i, (one, share) in enumerate(zip(axes, forward["codes"])):
            one.bar(range(len(share)), [real(value) for value in share], color="#d1242f" if i < 2 else "#0969da")
            one.set_title(WAY_NAMES[i])
            one.set_xticks([])
            one.set_yticks([])
    return out["svg"]


# --- Parts of the page ----------------------------------------------------------------------------------


def _forward(document, colors):
    forward = document["forward"]
    lines = [(line["matrix"], line) for line in forward["operands"] if line["round"] == "rne"] + [
        ("paper, fc2", _train.PAPER)
    ]
    quantized = {v["recipe"] for v in document["variants"] if v["quantized"]}
    return {
        "held_tokens": forward["held_tokens"],
        "gaps": _train.forward_gaps(document),
        "recipes": forward["recipes"],
        "ways": WAY_NAMES,
        "depth": _markup(_depth_picture(forward, {name: color for name, color in colors.items() if name in quantized})),
        "codes": _markup(_codes_picture(forward)),
        "lines": [
            {
                "name": name,
                "tensor": line["tensor"],
                "pass": line["pass"],
                "sqnr": [line["sqnr_db"][way] for way in WAYS],
                "gain": _train.gain(line, "e1m2_rht", "e1m2"),
                "alpha": [line["alpha"][way] for way in WAYS],
                "buckets": [line["bucket_ratio"][way] for way in WAYS[2:]],
            }
            for name, line in lines
        ],
        "mixed": [
            {
                "name": name,
                "tensor": line["tensor"],
                "pass": line["pass"],
                **{key: [line[key][way] for way in MIXED] for key in ("sqnr_db", "alpha", "uniform")},
            }
            for name, line in lines[:-1]
            if _train.has_mixed(line)
        ],
    }


def part(title, recipes, compared, colors, base, about="", perturbed=(), curves=()):
    """Runs of a kind. recipes: of each a dict with recipe and held_losses,
    and tokens_per_second and cycles_per_step or None"""
    shown = [c for c in compared if c.primary or c.against == base] or compared
    rows = [{**r, "loss": stats.paired([real(loss) for loss in r["held_losses"]])} for r in recipes]
    return {
        "title": title,
        "about": about,
        "sentence": compared[0].sentence if compared and compared[0].primary else "",
        "compared": compared,
        "gaps": _markup(gaps_picture(shown, colors)) if shown else "",
        "seeds": len(recipes[0]["held_losses"]),
        "perturbed": perturbed,
        "recipes": rows,
        "speeds": any(r["tokens_per_second"] is not None for r in rows),
        "cycles": any(r["cycles_per_step"] is not None for r in rows),
        "curves": list(curves),
    }


def _unit(document):
    """Returns the name of a token."""
    return document["settings"].get("unit", "byte")


def _runs(document, kind, colors, losses):
    runs, settings = _train.runs_of(document, kind), document["settings"]
    base = document["base"]
    last = _train.last_step(document, runs)
    about = (
        [f"Not finished: these are the losses after step {last} of {settings['steps'] - 1}, which all runs have."]
        if last + 1 < settings["steps"]
        else []
    )
    if kind == "branched":
        about.append(
            f"Each seed trains in {base} for {runs['first_step']} of {_draw.counted(settings['steps'], 'step')}; "
            "then each recipe goes on from the same weights, moments, schedule and data."
        )
    curves = _curves(losses, colors, base or next(iter(losses)), _unit(document)) if kind == "whole" and losses else ()
    return part(
        TITLES[kind],
        runs["recipes"],
        _train.comparisons(document, kind),
        colors,
        base,
        " ".join(about),
        [v["recipe"] for v in document["variants"] if v["perturbation"]],
        curves,
    )


def _training(s):
    """Describes the length of a run, its rate, and how often it repeats a shorter text."""
    seen = s["steps"] * s["batch"] * s["context"]
    words = [
        f"{_draw.counted(s['steps'], 'step')} of {_draw.counted(s['batch'] * s['context'], 'token')}",
        f"peak learning rate {s['lr']:g}",
    ]
    if s.get("cooldown_percent"):
        words.append(f"constant until the last {s['cooldown_percent']} % of the steps")
    if seen > s.get("text_tokens", seen):
        words.append(f"each token of the text {seen / s['text_tokens']:.1f} times")
    return ", ".join(words)


def _settings(document):
    s = document["settings"]
    return {
        "command": document["command"],
        "rows": [
            ("version", f"ufp4 {s['version']}"),
            ("text", document["text"]),
            (
                "model",
                (
                    f"d {s['d_model']}, {_draw.counted(s['heads'], 'head')}, {_draw.counted(s['layers'], 'block')}, "
                    f"ff {s['ff']}, context {s['context']}"
                ),
            ),
            ("training", _training(s)),
            ("seeds", f"{s['seeds']} from {s['seed']}"),
            (
                "machine",
                (
                    f"backend {document['backend']}, {_draw.counted(document['workers'], 'run')} at a time; "
                    f"{document['machine']}"
                ),
            ),
        ],
    }


def html(document, losses):
    """Makes the page. losses: {recipe: [seed][step]}, the training losses of whole runs, or empty"""
    colors = {v["recipe"]: _draw.color(i) for i, v in enumerate(document["variants"])}
    return _draw.page(
        "train.html",
        title=document.get("program", "ufp4 train"),
        unit=_unit(document),
        heading="Training in four bits",
        question=(
            "How far does each four-bit recipe fall behind, and does a uniform grid (ufp4) do better than E2M1 (e2m1)?"
        ),
        forward=_forward(document, colors) if "forward" in document else None,
        settings=_settings(document),
        parts=[_runs(document, kind, colors, losses) for kind in _train.KINDS if _train.runs_of(document, kind)],
    )
