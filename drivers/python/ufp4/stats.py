# SPDX-License-Identifier: Apache-2.0
"""Statistics of paired losses: t tests and intervals over seeds, Holm's correction, and comparisons of recipes.

Needs scipy, which ``pip install 'ufp4[report]'`` brings.
"""

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

# Numbers that differ by only this many of their last places are considered equal, because rounding errors taken for
# chance would make anything significant.
NOISE = 8 * np.finfo(float).eps

__all__ = ["Comparison", "Paired", "compare", "deviation", "holm", "paired", "student_limit", "student_p"]


def student_p(t: float, freedom: int) -> float:
    """Returns the probability of a \\|t\\| of at least this size with that many degrees of freedom; 1 if there are
    none, or t is NaN."""
    from scipy import special

    if freedom < 1 or math.isnan(t):
        return 1.0
    return float(special.betainc(freedom / 2, 0.5, freedom / (freedom + t * t)))


def student_limit(p: float, freedom: int) -> float:
    """Returns the \\|t\\| whose two-sided probability is p; infinite if there are no degrees of freedom."""
    from scipy import special

    return float(-special.stdtrit(freedom, p / 2)) if freedom >= 1 and p > 0 else math.inf


def deviation(values: ArrayLike) -> float:
    """Returns the standard deviation of a sample; NaN for fewer than two values."""
    values = np.asarray(values, dtype=float)
    with np.errstate(invalid="ignore"):
        return float(np.std(values, ddof=1)) if values.size > 1 else math.nan


@dataclasses.dataclass(frozen=True)
class Paired:
    """Statistics of paired differences. For a single difference deviation, interval and t are NaN, and p is 1."""

    count: int
    mean: float
    deviation: float
    interval: float  # half of the 95 % confidence interval of the mean
    t: float  # NaN where there is no deviation
    p: float  # two-sided
    positive: int  # differences over zero


@np.errstate(invalid="ignore", over="ignore")
def paired(differences: ArrayLike, confidence: float = 0.95) -> Paired:
    """Returns the t test of paired differences against a mean of zero. A deviation caused only by rounding counts as
    none."""
    values = np.asarray(differences, dtype=float)
    return _paired(values, confidence, NOISE * float(np.max(np.abs(values), initial=0)))


def _paired(values, confidence, noise):
    """noise: limit below which a deviation counts as none."""
    count = values.size
    mean, spread = float(sum(values) / count) if count else math.nan, deviation(values)
    if spread <= noise:
        spread = 0.0
    positive = int(np.sum(values > 0))
    if count < 2:
        return Paired(count, mean, spread, math.nan, math.nan, 1.0, positive)
    error = spread / math.sqrt(count)
    t = mean / error if error > 0 else math.nan
    return Paired(
        count, mean, spread, student_limit(1 - confidence, count - 1) * error, t, student_p(t, count - 1), positive
    )


def holm(p: ArrayLike) -> np.ndarray:
    """Holm's step-down correction of several probabilities: an array, at most 1, in the same order of size.

    S. Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    p = np.asarray(p, dtype=float)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return corrected


# --- Recipes --------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The comparison of one recipe with another: 100 (L - L_against) / L_against, in percent, seed by seed."""

    recipe: str
    against: str
    primary: bool  # chosen beforehand: its p is not corrected
    gaps: tuple[float, ...]  # percent, by seed
    gap: Paired  # of those
    text_error: float  # standard error of the mean by the choice of held-out text, percent; NaN: not known
    reported: float  # percent, a published value; NaN: none
    p: float  # of others than the primary one after Holm's correction; NaN: one seed, or diverged
    diverged: tuple[str, ...] = ()  # of the two, those with a loss that is not finite

    @property
    def same(self) -> bool:
        """Returns whether both have the same losses, bit for bit."""
        return self.gap.mean == 0 and self.gap.deviation == 0

    @property
    def verdict(self) -> str:
        """ "worse" or "better" where p is under 5 %, else "not separated"; "one seed", "the same"; "diverged" of the
        recipe, "NAME diverged" of what it is compared with, "both diverged"."""
        if len(self.diverged) > 1:
            return "both diverged"
        if self.diverged == (self.against,):
            return f"{self.against} diverged"
        if not math.isfinite(self.gap.mean):
            return "diverged"
        if self.gap.count < 2:
            return "one seed"
        if self.same:
            return "the same"
        if not self.p < 0.05:
            return "not separated"
        return "worse" if self.gap.mean > 0 else "better"

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        gap = self.gap
        if not math.isfinite(gap.mean):
            whose = f"of {' and of '.join(self.diverged)} " if self.diverged else ""
            return f"{self.recipe} against {self.against}: a run {whose}has diverged."
        if gap.count < 2:
            return f"{self.recipe} against {self.against}: {gap.mean:+.3f} % on one seed, which says nothing of chance."
        agree = gap.positive
        words = f"{self.recipe} and {self.against} are not separated"
        if self.p < 0.05:
            agree = gap.positive if gap.mean > 0 else gap.count - gap.positive
            words = f"{self.recipe} ends with {'a higher' if gap.mean > 0 else 'a lower'} loss than {self.against}"
        return (
            f"{words}: {gap.mean:+.3f} % (95 % interval {gap.mean - gap.interval:+.3f} to "
            f"{gap.mean + gap.interval:+.3f}, p {self.p:.2g}, {agree} of {gap.count} seeds)."
        )


@np.errstate(invalid="ignore", over="ignore", divide="ignore")
def _gaps(losses, base):
    losses, base = np.asarray(losses, dtype=float), np.asarray(base, dtype=float)
    return 100 * (losses - base) / base


@np.errstate(invalid="ignore", over="ignore", divide="ignore")
def _text_error(stretches, losses, recipe, against):
    """Returns the error of the mean over seeds, from stretches of the text."""
    if not stretches:
        return math.nan
    one, other = (np.asarray(stretches[name], dtype=float) for name in (recipe, against))
    parts = np.mean(100 * (one - other) / np.asarray(losses[against], dtype=float)[:, None], axis=0)
    return deviation(parts) / math.sqrt(parts.size) if parts.size else math.nan


def _pairs(recipes, base, question, quantized):
    """Lists (recipe, against, primary): the question, every recipe with the base, and the quantized ones with the
    question's second or one another."""
    one, other = question
    asked = one in recipes and other in recipes
    found = [(one, other, True)] if asked else []
    found += [(name, base, False) for name in recipes if base in recipes and name != base]
    for i, name in enumerate(recipes):
        for before in recipes[:i]:
            first, second = (before, name) if name == other else (name, before)
            if (
                name not in quantized
                or before not in quantized
                or (other in recipes and (second != other or first == one))
            ):
                continue
            found.append((first, second, False))
    return found


def compare(
    losses: Mapping[str, Sequence[float]],
    base: str | None = None,
    question: tuple[str, str] = ("e2m1", "ufp4"),
    quantized: Collection[str] | None = None,
    stretches: Mapping[str, Sequence[Sequence[float]]] | None = None,
    reported: Mapping[str, float] | None = None,
) -> list[Comparison]:
    """Compares recipes over seeds, as a list of Comparison:
    the question, every recipe with the base, then recipes among themselves.

    losses     {recipe: held-out losses}, all of the same seeds in the same order
    base       the recipe that others are measured against (default: bf16, or else fp32; without one only recipes are
               compared)
    question   two recipes whose comparison was meant from the start; its p is not corrected
    quantized  recipes that are compared among themselves (default: all but the base)
    stretches  {recipe: [seed][stretch]}, mean losses of the same stretches of held-out text, for text_error
    reported   {recipe: loss} that somebody else has reported
    """
    recipes = list(losses)
    if base is None:
        base = next((name for name in ("bf16", "fp32") if name in losses), None)
    if base is not None and base not in losses:
        raise ValueError(f"base: there is no recipe {base!r}; there are {', '.join(recipes)}")
    if len({len(values) for values in losses.values()}) > 1:
        raise ValueError("losses: every recipe needs the same number of seeds")
    quantized = [name for name in recipes if name != base] if quantized is None else quantized
    reported = reported or {}
    found = []
    for recipe, against, primary in _pairs(recipes, base, question, quantized):
        gaps = _gaps(losses[recipe], losses[against])
        gap = _paired(gaps, 0.95, NOISE * (100 + float(np.max(np.abs(gaps), initial=0))))  # of both losses, in percent
        diverged = tuple(
            name for name in (recipe, against) if not np.all(np.isfinite(np.asarray(losses[name], dtype=float)))
        )
        others = [reported.get(name) or math.nan for name in (recipe, against)]
        found.append(
            Comparison(
                recipe,
                against,
                primary,
                tuple(gaps.tolist()),
                gap,
                _text_error(stretches, losses, recipe, against),
                100 * (others[0] / others[1] - 1),
                gap.p if math.isfinite(gap.deviation) else math.nan,
                diverged,
            )
        )
    # Uninformative comparisons do not tighten the limits of others: a single seed, a diverged run, the same bits.
    tested = [i for i, c in enumerate(found) if not c.primary and not math.isnan(c.p) and not c.same]
    for i, p in zip(tested, holm([found[i].p for i in tested])):
        found[i] = dataclasses.replace(found[i], p=float(p))
    return found
