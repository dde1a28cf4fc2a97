# SPDX-License-Identifier: Apache-2.0
"""Tests the command demo as its user runs it: exit status and messages."""

import json
import pathlib

import stand
from stand import check, passes, rejects, slow
from trainings import demo


def test_with_model_on_both_sides():
    done = passes(*demo(), "--backend", "model")
    lines = done.out.splitlines()
    table = [line for line in lines if line.startswith(("  fprop", "  dgrad", "  wgrad"))]
    check(len(table) == 48 and all(line.endswith(" 0 equal") for line in table), done.out)
    check(lines[-1] == "0 mismatches: equal in every bit", lines[-1])
    check("bound_by names the limit" not in done.out, "a device without cycles has no limit")
    check(done.err == "ufp4 demo: --backend model compares the golden model with itself\n", repr(done.err))


def test_json():
    got = json.loads(passes(*demo(), "--backend", "model", "--recipe", "e2m1", "--json").out)
    check(got["verdict"] == "equal" and len(got["cases"]) == 48 and len(got["training"]) == 2, got)
    check(got["cases"][0]["format"] == "e2m1" and got["cases"][0]["cycles"] is None, got["cases"][0])
    check(got["totals"]["mismatches"] == 0 and got["totals"]["loss_equal"] is True, got["totals"])


@slow
def test_equals_the_model_on_rtl():
    got = json.loads(passes(*demo(), "--config", "small", "--mem-latency", "30", "--stall", "7", "--json").out)
    check(got["verdict"] == "equal" and all(c["cycles"] > 0 for c in got["cases"]), got["totals"])
    check(got["simulator"]["configuration"] == "small", got["simulator"])


def test_compares_layers_and_passes_in_bf16():
    pathlib.Path("some.json").write_text(
        '{"elem": "e1m2", "bf16_passes": ["dgrad"], "bf16_layers": {"last": "15%", "names": ["proj"]}}'
    )
    cases = json.loads(passes(*demo(), "--backend", "model", "--recipe", "some.json", "--json").out)["cases"]
    formats = [case["format"] for case in cases if case["pass"] != "dgrad"]
    check({case["format"] for case in cases if case["pass"] == "dgrad"} == {"bf16"}, cases)
    check(formats.count("e1m2") == 2 * 3 * 3 and formats.count("bf16") == 2 * (4 + 3), formats)


def test_names_the_recipe_of_a_file():
    pathlib.Path("some.json").write_text('{"name": "mine", "elem": "e1m2", "round": {"dy": "sr"}}')
    done = passes(*demo(), "--backend", "model", "--recipe", "some.json")
    check("; recipe mine, " in done.out and "some.json" not in done.out, done.out[:300])


def test_rejects_recipe_of_another_core_before_it_trains_on_rtl():
    rejects(3, "accumulates by contract exact, not fp32", *demo(), "--recipe", "mxfp4")


def test_rejects_recipe_of_the_host():
    rejects(2, "nothing to compare", *demo(), "--recipe", "bf16", "--backend", "model")


def test_rejects_unknown_configuration():
    rejects(2, "huge", *demo(), "--config", "huge")


def test_rejects_missing_text():
    rejects(2, "/nowhere/at/all: No such file", "demo", "--text", "/nowhere/at/all", "--backend", "model")


def test_rejects_zero_steps():
    rejects(2, "--steps: '0' is not a whole number from 1", "demo", "--steps", "0")


def test_rejects_inputs():
    rejects(2, "too many inputs", "demo", "something")


if __name__ == "__main__":
    stand.main(globals())
