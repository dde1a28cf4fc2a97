# SPDX-License-Identifier: Apache-2.0
"""Compares ufp4.stats with scipy.stats, closed forms and tables."""

import csv
import math
import pathlib

from support import np, raises

import stand
from stand import check, check_equal

try:
    from scipy import stats as witness
except ImportError as missing:
    print(f"skipped: {missing}; ./ufp4 test installs it from PyPI")
    raise SystemExit(0)

from ufp4 import stats


def near(got, want, what, error=1e-12):
    check(abs(got - want) <= error * max(1, abs(want)), f"{what}: got {got!r}, want {want!r}")


def test_paired_is_scipys():
    random = np.random.default_rng(stand.stream(1))
    for count in (2, 3, 8, 50):
        for shift in (0, 0.1, 3):
            values = random.standard_normal(count) + shift
            got, want = stats.paired(values), witness.ttest_1samp(values, 0)
            low, high = want.confidence_interval()
            for what, one, other in (
                ("t", got.t, want.statistic),
                ("p", got.p, want.pvalue),
                ("low", got.mean - got.interval, low),
                ("high", got.mean + got.interval, high),
                ("deviation", got.deviation, np.std(values, ddof=1)),
            ):
                near(one, other, f"{what} of {count}", 1e-10)
            check_equal((got.count, got.positive), (count, int(np.sum(values > 0))), "count, positive")


def test_published_comparisons_follow_from_their_gaps():
    """Computes the comparisons of docs/results/training.csv, whose gaps of every seed have four digits, by scipy
    alone."""
    with open(pathlib.Path(__file__).parents[2] / "docs/results/training.csv", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["seeds"]) > 1]
    check(len(rows) > 50, f"{len(rows)} comparisons of several seeds")
    for row in rows:
        gaps, what = np.array(row["gaps_percent"].split(), float), ", ".join(list(row.values())[:4])
        check_equal((len(gaps), int(np.sum(gaps > 0))), (int(row["seeds"]), int(row["seeds_worse"])), what)
        low, high = witness.ttest_1samp(gaps, 0).confidence_interval()
        for key, got in (
            ("gap_percent", np.mean(gaps)),
            ("interval", (high - low) / 2),
            ("deviation", np.std(gaps, ddof=1)),
        ):
            near(float(row[key]), got, f"{what}: {key}", 2e-3 * np.max(np.abs(gaps)))


def test_published_probabilities_are_corrected():
    """Families are an experiment's table and those of its pairs with e2m1 that the page discusses, but all pairs of a
    table "choice" are one family; the pair of e2m1 and ufp4 is not corrected."""
    with open(pathlib.Path(__file__).parents[2] / "docs/results/training.csv", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["p"]]
    families = {}
    for row in rows:
        family = row["experiment"], row["table"], row["table"] != "choice" and row["against"] == "e2m1"
        if (row["recipe"], row["against"]) != ("e2m1", "ufp4") and row["verdict"] != "the same":
            families.setdefault(family, []).append(row)
    for family, found in families.items():
        raw = [witness.ttest_1samp(np.array(row["gaps_percent"].split(), float), 0).pvalue for row in found]
        left, highest = len(found), 0
        for i in np.argsort(raw, kind="stable"):
            highest, left = min(1, max(highest, raw[i] * left)), left - 1
            check(abs(math.log(float(found[i]["p"]) / highest)) < 0.1, f"{family}: {found[i]['recipe']}: {highest}")


def test_paired_of_few_and_of_equal():
    for values in ([], [1.5]):
        got = stats.paired(values)
        check(all(map(math.isnan, (got.deviation, got.interval, got.t))) and got.p == 1, f"{got}")
    same = stats.paired([2, 2])
    check(same.deviation == 0 and math.isnan(same.t) and same.p == 1, f"no deviation, no t: {same}")
    check(math.isnan(stats.paired([1, math.nan]).mean), "a run that has diverged")


def test_student_p_is_that_of_its_closed_forms():
    """Covers 1, 2 and 4 degrees of freedom to all digits, and others by a textbook table."""
    for t in (1e-3, 0.5, 1, 2.5, 7, 80):
        x = t / math.sqrt(t * t + 4)
        for freedom, want in (
            (1, 1 - 2 / math.pi * math.atan(t)),
            (2, 1 - t / math.sqrt(2 + t * t)),
            (4, 1 - x * (3 - x * x) / 2),
        ):
            near(stats.student_p(t, freedom), want, f"t {t}, {freedom} degrees")
            check_equal(stats.student_p(-t, freedom), stats.student_p(t, freedom), "two-sided")
    check_equal(
        [stats.student_p(0, 7), stats.student_p(math.inf, 7), stats.student_p(math.nan, 7), stats.student_p(2, 0)],
        [1, 0, 1, 1],
        "ends",
    )
    for freedom, limit in ((1, 12.706), (2, 4.303), (7, 2.365), (30, 2.042), (120, 1.980)):
        check_equal(round(stats.student_limit(0.05, freedom), 3), limit, f"limit of {freedom}")
    check_equal(stats.student_limit(0.05, 0), math.inf, "none")


def test_holm_corrects_step_by_step():
    for p, want in (([0.04, 0.01, 0.03, 0.005], [0.06, 0.03, 0.06, 0.02]), ([0, 0.5, 0.5], [0, 1, 1]), ([], [])):
        check(np.allclose(stats.holm(p), want, rtol=0, atol=1e-15), f"{p}: {stats.holm(p)}")
    p = np.random.default_rng(stand.stream(2)).random(9) / 5
    check(np.all(stats.holm(p) >= p) and np.all(stats.holm(p) <= 9 * p), "between p and Bonferroni's")


LOSSES = {
    "bf16": [2, 2.1, 2.2],
    "ufp4": [2.018, 2.121, 2.2242],
    "e2m1": [2.059, 2.163, 2.26732],
    "control": [2.001, 2.099, 2.2],
}


def test_comparisons_are_the_question_with_the_base_and_among_recipes():
    def pairs(losses, **options):
        return [(c.recipe, c.against, c.primary) for c in stats.compare(losses, **options)]

    quantized = ["ufp4", "e2m1"]
    check_equal(
        pairs(LOSSES, quantized=quantized),
        [("e2m1", "ufp4", True), ("ufp4", "bf16", False), ("e2m1", "bf16", False), ("control", "bf16", False)],
        "pairs",
    )
    others = {"fp32": [2, 2], "nvfp4": [2.1, 2.1], "mxfp4": [2.1, 2.2], "int4": [2, 2.1]}
    check_equal(pairs(others)[:3], [(name, "fp32", False) for name in ("nvfp4", "mxfp4", "int4")], "without bf16: fp32")
    check_equal(
        pairs(others)[3:],
        [("mxfp4", "nvfp4", False), ("int4", "nvfp4", False), ("int4", "mxfp4", False)],
        "with one another",
    )
    check_equal(
        pairs({**others, "ufp4": [2, 2]})[4:],
        [(name, "ufp4", False) for name in ("nvfp4", "mxfp4", "int4")],
        "with ufp4",
    )
    check_equal(pairs({"ufp4": [2, 2]}), [], "one recipe")


def test_comparisons_are_paired_by_seed():
    got = stats.compare(LOSSES, quantized=["ufp4", "e2m1"])
    near(got[1].gap.mean, 1, "gap", 1e-9)
    check_equal([c.verdict for c in got], ["worse", "worse", "worse", "not separated"], "verdicts")
    check_equal(got[0].p, got[0].gap.p, "the question's p stands")
    check(all(c.p >= c.gap.p for c in got[1:]) and got[2].p > got[2].gap.p, "others are corrected")
    check(
        got[0].sentence.startswith("e2m1 ends with a higher loss than ufp4: +1.98")
        and "3 of 3 seeds" in got[0].sentence,
        got[0].sentence,
    )
    near(stats.compare(LOSSES, reported={"ufp4": 2.02, "bf16": 2.0})[1].reported, 1, "reported", 1e-9)


def test_verdicts():
    for one, other, want in (
        ([1, math.nan], [1, 1], "diverged"),
        ([1], [2], "one seed"),
        ([1, 2], [1, 2], "the same"),
        ([1, 1.001, 1.002], [2, 2.001, 2.002], "better"),
        ([1, 2], [1.1, 1.9], "not separated"),
    ):
        check_equal(stats.compare({"a": one, "bf16": other})[0].verdict, want, f"{one} against {other}")
    for one, other, want, whose in (
        ([1, 1], [1, math.inf], "bf16 diverged", "a run of bf16 has"),
        ([1, math.nan], [1, 1], "diverged", "a run of a has"),
        ([1, math.inf], [math.nan, 1], "both diverged", "a run of a and of bf16 has"),
    ):
        got = stats.compare({"a": one, "bf16": other})[0]
        check(
            got.verdict == want and got.sentence == f"a against bf16: {whose} diverged.",
            f"{one} against {other}: {got.verdict}, {got.sentence}",
        )
    got = stats.compare(
        {"bf16": [1, 2, 3], "same": [1, 2, 3], "a": [1.1, 1.9, 3.9], "b": [1.01, 2.02, 3.031]}, quantized=[]
    )
    by_name = {c.recipe: c for c in got}
    near(min(by_name[name].p / by_name[name].gap.p for name in "ab"), 1, "what says nothing is not counted", 1e-9)
    near(max(by_name[name].p / by_name[name].gap.p for name in "ab"), 2, "of two", 1e-9)


def test_rounding_proves_nothing():
    """The gap is the same on each seed: 10 %, or so small that rounding exceeds it."""
    for factor in (1.1, 1 + 1e-7):
        base = [2, 2.1, 2.2, 2.3]
        for count in (2, 4):
            got = stats.compare({"bf16": base[:count], "ufp4": [factor * loss for loss in base[:count]]})[0]
            check_equal(
                (got.gap.deviation, got.gap.interval, got.gap.p, got.verdict),
                (0, 0, 1, "not separated"),
                f"{factor}, {count} seeds",
            )
    got = stats.paired([0.1 + 0.2, 0.3])
    check(got.deviation == 0 and math.isnan(got.t) and got.p == 1, f"{got}")
    check(stats.paired([1, 1 + 1e-12]).deviation > 0, "a small difference is one")


def test_comparisons_have_the_error_of_the_text():
    """The gaps of two stretches are 1 % above and below the others' on each seed, which makes an error of 1 %."""

    def stretches(name):
        more = 0.01 if name == "ufp4" else 0
        return [[loss * (1 + more), loss * (1 - more)] for loss in LOSSES[name]]

    got = stats.compare(LOSSES, stretches={name: stretches(name) for name in LOSSES})
    near(got[1].text_error, 1.01, "ufp4", 1e-9)
    near(got[3].text_error, 0, "the control", 1e-9)
    check(math.isnan(stats.compare(LOSSES)[1].text_error), "without stretches")


def test_rejects_what_cannot_be_compared():
    raises(ValueError, "there is no recipe 'fp64'; there are bf16, ", stats.compare, LOSSES, base="fp64")
    raises(ValueError, "the same number of seeds", stats.compare, {"a": [1], "b": [1, 2]})


if __name__ == "__main__":
    stand.main(globals())
