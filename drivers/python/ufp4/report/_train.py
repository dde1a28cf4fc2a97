# SPDX-License-Identifier: Apache-2.0
"""Compares the measurements of train (train.json): tables as text and as JSON."""

import math

from .. import stats

KINDS = ("branched", "whole")
WAYS = ("e2m1", "e2m1_rht", "e1m2", "e1m2_rht")
MIXED = ("mixed", "mixed_rht")  # absent in the paper, and in trainings of earlier versions
# arXiv 2606.20381, input of linear_fc2 in FPROP.
PAPER = {
    "matrix": "fc2",
    "tensor": "X",
    "pass": "fprop",
    "round": "rne",
    "alpha": dict.fromkeys(WAYS),
    "sqnr_db": dict(zip(WAYS, (21.90, 20.00, 19.94, 23.19))),
    "bucket_ratio": dict(zip(WAYS, (None, None, 0.56, 0.97))),
}


def real(value):
    """Replaces JSON's null by NaN."""
    return math.nan if value is None else value


def runs_of(document, kind):
    """Returns the document's part on runs of this kind, or None."""
    return document.get("branched") if kind == "branched" else document if "recipes" in document else None


def last_step(document, runs):
    """Returns the last step of these runs, which an unfinished training records."""
    return runs.get("last_step", document["settings"]["steps"] - 1)


def is_of_paper(line):
    return all(line[key] == PAPER[key] for key in ("matrix", "tensor", "pass"))


def gain(line, way, over):
    """Returns the ratio of two SQNRs in dB."""
    return real(line["sqnr_db"][way]) - real(line["sqnr_db"][over])


# --- Comparisons ----------------------------------------------------------------------------------------


def comparisons(document, kind):
    """Compares runs of a kind as a list of ufp4.stats.Comparison."""
    recipes = runs_of(document, kind)["recipes"]
    variants = {v["recipe"]: v for v in document["variants"]}
    losses = {r["recipe"]: [real(loss) for loss in r["held_losses"]] for r in recipes}
    stretches = {r["recipe"]: [[real(loss) for loss in seed] for seed in r["stretches"]] for r in recipes}
    return stats.compare(
        losses,
        document["base"],
        quantized=[name for name in losses if variants[name]["quantized"]],
        stretches=stretches,
        reported={name: variants[name]["paper_loss"] for name in losses},
    )


def _forward_gap(recipe, against):
    """Compares on the same sequences, in percent of the mean loss; the error comes from stretches of text."""
    base = against["held_loss"]
    parts = [100 * (one - other) / base for one, other in zip(recipe["stretches"], against["stretches"])]
    percent, error = 100 * (recipe["held_loss"] - base) / base, stats.deviation(parts) / math.sqrt(len(parts))
    return {
        "recipe": recipe["recipe"],
        "against": against["recipe"],
        "gap_percent": percent,
        "standard_error": error,
        "t": percent / error if error > 0 else math.nan,
        "stretches_worse": sum(part > 0 for part in parts),
        "stretches": len(parts),
    }


def forward_gaps(document):
    """Compares with the base; then with ufp4, or quantized recipes with one another. Recipes with the same forward pass
    are not compared."""
    recipes = document["forward"]["recipes"]
    quantized = {v["recipe"] for v in document["variants"] if v["quantized"]}
    base = next((r for r in recipes if r["recipe"] == document["base"]), None)
    found = [_forward_gap(r, base) for r in recipes if base is not None and r is not base]
    asked = any(r["recipe"] == "ufp4" for r in recipes)
    for i, one in enumerate(recipes):
        for other in recipes[:i]:
            if not {one["recipe"], other["recipe"]} <= quantized or one["stretches"] == other["stretches"]:
                continue
            if not asked or other["recipe"] == "ufp4":
                found.append(_forward_gap(one, other))
            elif one["recipe"] == "ufp4":
                found.append(_forward_gap(other, one))
    return found


# --- JSON -----------------------------------------------------------------------------------------------


def _rounded(value):
    """Rounds to nine digits; NaN and Inf become null."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    return value


def _comparison_object(c):
    return {
        "recipe": c.recipe,
        "against": c.against,
        "primary": c.primary,
        "gap_percent": c.gap.mean,
        "interval": c.gap.interval,
        "deviation": c.gap.deviation,
        "text_error": c.text_error,
        "t": c.gap.t,
        "p": c.p,
        "p_uncorrected": c.p if math.isnan(c.p) else c.gap.p,
        "gaps_percent": c.gaps,
        "seeds_worse": c.gap.positive,
        "verdict": c.verdict,
        "paper_gap_percent": c.reported,
    }


def _recipe_object(recipe):
    losses = [real(loss) for loss in recipe["held_losses"]]
    gap = stats.paired(losses)
    return {
        "recipe": recipe["recipe"],
        "seeds": recipe["seeds"],
        "held_loss": gap.mean,
        "deviation": gap.deviation,
        "held_losses": losses,
        "tokens_per_second": recipe["tokens_per_second"],
        "cycles_per_step": recipe["cycles_per_step"],
    }


def _runs_object(document, kind):
    runs = runs_of(document, kind)
    return {
        "first_step": runs["first_step"],
        "recipes": [_recipe_object(r) for r in runs["recipes"]],
        "comparisons": [_comparison_object(c) for c in comparisons(document, kind)],
    }


def _operand_object(line):
    more = {
        f"rht_gain_db_{grid}": gain(line, f"{grid}_rht", grid)
        for grid in ("e2m1", "e1m2", "mixed")
        if grid in line["sqnr_db"]
    }
    paper = {"paper": {key: PAPER[key] for key in ("sqnr_db", "bucket_ratio")}} if is_of_paper(line) else {}
    return {**line, **more, **paper}


def _forward_object(document):
    forward = document["forward"]
    shown = ("recipe", "kept_fprop", "kept_dgrad", "kept_wgrad", "held_loss")
    return {
        "operands": [_operand_object(line) for line in forward["operands"]],
        "recipes": [{key: r[key] for key in shown} for r in forward["recipes"]],
        "comparisons": forward_gaps(document),
        "sequences": forward["sequences"],
        "held_tokens": forward["held_tokens"],
    }


def summary(document):
    """Returns all tables of a document, as train --json prints them."""
    found = {key: document[key] for key in ("text", "settings")}
    if "forward" in document:
        found["forward"] = _forward_object(document)
    if "branched" in document:
        found["branched"] = _runs_object(document, "branched")
    if runs_of(document, "whole"):
        found.update(_runs_object(document, "whole"))
    found["held_tokens"] = document["held_tokens"]
    return _rounded(found)


# --- Text -----------------------------------------------------------------------------------------------


def _operand_line(name, line):
    sqnr, alpha, buckets = (
        {way: real(value) for way, value in line[key].items()} for key in ("sqnr_db", "alpha", "bucket_ratio")
    )
    return (
        f"  {name:6} {line['tensor']:6} {line['pass']:5} {line['round']:5}"
        f" {sqnr['e2m1']:5.2f} {sqnr['e2m1_rht']:5.2f} {gain(line, 'e2m1_rht', 'e2m1'):+5.2f}"
        f"  {sqnr['e1m2']:5.2f} {sqnr['e1m2_rht']:5.2f} {gain(line, 'e1m2_rht', 'e1m2'):+5.2f} "
        + "".join(f" {alpha[way]:6.4f}" for way in WAYS)
        + f"  {buckets['e1m2']:4.2f} {buckets['e1m2_rht']:4.2f}"
    )


def has_mixed(line):
    return MIXED[0] in line["sqnr_db"]


def _mixed_line(line):
    sqnr, alpha, uniform = ([real(line[key][way]) for way in MIXED] for key in ("sqnr_db", "alpha", "uniform"))
    return (
        f"  {line['matrix']:6} {line['tensor']:6} {line['pass']:5} {line['round']:5} {sqnr[0]:6.2f} {sqnr[1]:5.2f}"
        f" {sqnr[1] - sqnr[0]:+5.2f}  {alpha[0]:6.4f} {alpha[1]:6.4f}   {uniform[0]:4.2f} {uniform[1]:4.2f}"
    )


def _mixed_lines(operands):
    lines = [_mixed_line(line) for line in operands if has_mixed(line)]
    if lines:
        yield "% mixed                    SQNR in dB             alpha    uniform blocks"
        yield "% matrix tensor pass round  plain  +rht  gain   plain   +rht   plain +rht"
    yield from lines


def forward_lines(document):
    forward = document["forward"]
    yield "%                         SQNR in dB                            alpha                       buckets"
    yield "% matrix tensor pass round  e2m1  +rht  gain   e1m2  +rht  gain    e2m1   +rht   e1m2   +rht  e1m2 +rht"
    for line in forward["operands"]:
        yield _operand_line(line["matrix"], line)
        if is_of_paper(line):
            yield _operand_line("paper", PAPER)
    yield from _mixed_lines(forward["operands"])
    counts = [
        sum(gain(line, *pair) > 0 for line in forward["operands"])
        for pair in (("e1m2_rht", "e1m2"), ("e2m1_rht", "e2m1"), ("e1m2_rht", "e2m1"))
    ]
    # Prints how far the paper's explanation is visible in the data.
    yield (
        f"Of {len(forward['operands'])} lines, RHT raises the SQNR of E1M2 on {counts[0]} and of E2M1 on {counts[1]}; "
        f"E1M2 with RHT is above E2M1 without on {counts[2]}"
    )
    yield "% recipe       kept_fprop kept_dgrad kept_wgrad held_loss"
    for r in forward["recipes"]:
        kept = "".join(f" {real(r[f'kept_{one}']):10.4f}" for one in ("fprop", "dgrad", "wgrad"))
        yield f"  {r['recipe']:12}{kept} {real(r['held_loss']):9.5f}"
    gaps = forward_gaps(document)
    if gaps:
        yield "% recipe       against      gap_percent standard_error      t stretches_worse"
    for g in gaps:
        yield (
            f"  {g['recipe']:12} {g['against']:12} {g['gap_percent']:+11.4f} {g['standard_error']:14.4f} {g['t']:6.1f} "
            f"{g['stretches_worse']}/{g['stretches']}"
        )


def comparison_lines(compared, width=12):
    """Formats the table of comparisons, with an explanation of its columns below."""
    if compared:
        yield "% recipe against gap_percent interval deviation text_error p seeds_worse verdict"
    for c in compared:
        gap = c.gap
        yield (
            f"  {c.recipe:{width}} {c.against:{width}} {gap.mean:+8.3f} +-{gap.interval:6.3f} {gap.deviation:8.3f} "
            f"{c.text_error:8.3f} {c.p:8.2g} {gap.positive}/{gap.count} {c.verdict}{' (primary)' if c.primary else ''}"
            + (f", paper {c.reported:+.3f}" if math.isfinite(c.reported) else "")
        )
    if compared:
        yield "% text_error: by other held-out text, which the interval, over seeds, has not"
    if len(compared) > 1:
        which = "; of all but the primary one" if compared[0].primary else "s,"
        yield f"% p: two-sided t test{which} corrected together (Holm); the intervals are not"


def runs_lines(document, kind):
    runs = runs_of(document, kind)
    width = max(12, *(len(v["recipe"]) for v in document["variants"]))
    cycles = any(r["cycles_per_step"] is not None for r in runs["recipes"])
    yield f"% {kind} runs: steps {runs['first_step']} to {last_step(document, runs)}"
    yield f"% recipe seeds held_loss deviation tokens_per_second{' cycles_per_step' if cycles else ''}"
    for r in runs["recipes"]:
        loss = stats.paired([real(one) for one in r["held_losses"]])
        yield (
            (
                f"  {r['recipe']:{width}} {r['seeds']:3} {loss.mean:9.5f} {loss.deviation:9.5f} "
                f"{real(r['tokens_per_second']):8.0f}"
            )
            + (f" {real(r['cycles_per_step']):15.0f}" if cycles else "")
        )
    yield from comparison_lines(comparisons(document, kind), width)


def text(document):
    """Returns the lines of all tables that the document has."""
    lines = list(forward_lines(document)) if "forward" in document else []
    for kind in KINDS:
        lines += runs_lines(document, kind) if runs_of(document, kind) else []
    return "".join(f"{line}\n" for line in lines)
