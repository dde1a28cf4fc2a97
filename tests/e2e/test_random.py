# SPDX-License-Identifier: Apache-2.0
"""Tests random: known answers (numerics.md; Random123), counting, options."""

import json

import stand
from stand import check_equal, passes, rejects

ONES = "0xffffffff"


def draw(*options):
    return passes("random", *options).out.split()


def test_known_answers():
    check_equal(draw(), "a97328cd a9a95582 2e34d974 fe50811e".split(), "threefry 12, zeros")
    zero20 = "9c6ca96a e17eae66 fc10ecd4 5256a7d8".split()
    check_equal(draw("--rounds", 20), zero20, "threefry 20, zeros")
    ones20 = "2a881696 57012287 f6c7446e a16a6732".split()
    ones = ",".join([ONES] * 4)
    check_equal(draw("--rounds", 20, "--key", ones, "--counter", ones), ones20, "threefry 20, all ones")


def test_counters_count_up_with_carry():
    lines = passes("random", "--counter", f"{ONES},{ONES},4,0", "--count", 3).out.splitlines()
    for i, counter in enumerate([f"{ONES},{ONES},4,0", "0,0,5,0", "1,0,5,0"]):
        check_equal(lines[i], passes("random", "--counter", counter).out.strip(), f"draw {i}")
    check_equal(len(lines), 3, "draws")


def test_json_holds_the_same_words():
    text = passes("random", "--count", 2).out.split()
    check_equal(sum(json.loads(passes("random", "--count", 2, "--json").out), []), text, "words")


def test_rejects_wrong_words():
    for key in ("", "1,2,3", "1,2,3,4,5", "1,2,3,x", "1,2,3,-4", "1,2,3,4294967296", "1 ,2,3,4"):
        rejects(2, "--key", "random", "--key", key)
    rejects(2, "--counter", "random", "--counter", "1,2")


def test_rejects_too_many_rounds():
    rejects(2, "--rounds", "random", "--rounds", 73)


if __name__ == "__main__":
    stand.main(globals())
