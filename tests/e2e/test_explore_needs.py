# SPDX-License-Identifier: Apache-2.0
"""Tests explore: what a step needs, against a calculation by hand."""

import pathlib

import stand
from stand import check, check_equal
from explorations import KINDS, NEEDS, explore, shapes


def needs(*options, model=None):
    rows = explore("--config", "small", *options, model=model or shapes())
    check(not any(r[name] for r in rows[:-1] for name in NEEDS), "needs of a job")
    return [int(rows[-1][name]) for name in NEEDS]


def test_what_a_step_needs_is_a_hand_calculation():
    """By hand: panel units have 144 bytes in each of two copies, a block has fc1 twice, and there are three blocks."""
    w, x = 2 * 6 * 4 * 288 + 4 * 3 * 288, 2 * 3 * 4 * 288 + 3 * 3 * 288
    always = [3 * 2 * 15360, 3 * (w + x), 3 * 2 * 33 * (2 * 64 + 48), 3 * 4 * 15360, 3 * 12 * 15360]
    # The most bytes are live in the backward pass of the first block's fc1: all gradients, its copies of W and X, and
    # X, dY with its copies, and dX.
    first = 2 * (24 + 12 + 18) * 288 + 2 * 33 * 2 * (64 + 96 + 64)
    check_equal(
        needs("--tokens", "33", "--layers", "3", "--serial"),
        [*always, always[0] + always[4] + always[3] + first],
        "serial",
    )
    halves, whole = (needs("--tokens", "40", "--layers", "3", *words) for words in (["--batches", "2"], ["--serial"]))
    check_equal(halves[1] - whole[1], 3 * (2 * 4 + 3) * 288, "two halves of 20 rows have four groups of 16")
    check_equal(halves[3], 2 * whole[3], "each has a gradient")
    check_equal(needs("--tokens", "33", "--batches", "2")[1], w + x, "17 and 16 rows have three")
    single = needs("--tokens", "33", "--layers", "3", "--serial", "--source", "f32")
    check_equal((single[0], single[4]), (3 * 4 * 15360, 3 * 8 * 15360), "no other weights in FP32")
    # With many tokens the last block needs most: what both blocks keep, and one gradient.
    long = needs("--tokens", "1024", "--layers", "2", "--serial", model=shapes("name,cin,cout,count\nfc,16,16,1\n"))
    x = 64 * 288 + 1024 * 32
    check_equal(long[5], 2 * 14 * 256 + 2 * (x + 288) + 1024 + x + 1024 * 32, "live")
    check_equal(
        needs("--tokens", "64", "--serial", model=shapes(KINDS))[0],
        2 * (6 * 64 * 96 + 2 * 64 * 32),
        "activations are no weights",
    )
    rows = explore("--config", "small", "--recipe", "ufp4,mxfp4", "--tokens", "16")
    check_equal(rows[-1]["cycles"], "", "a case that does not go")
    check_equal([rows[-1][name] for name in NEEDS], [""] * len(NEEDS), "and says of no step what it needs")


def test_the_page_draws_cores_sizes_needs_and_chips():
    stand.demand_drawing()
    rows = explore(
        "--config",
        "rows=2..4:cols=2:tile=32x16:bus=8",
        "--cores",
        "1,2",
        "--tokens",
        "32",
        "--serial",
        "--chips",
        "4x1x1",
        "--link",
        "1,2",
    )
    page = pathlib.Path("out/report.html").read_text()
    for heading in ("Time against cores", "Time against the size of the array", "What a step needs", "On many chips"):
        check(page.count(f"<h2>{heading}</h2>\n<svg") == 1, f"{heading}: no picture")
    steps = [r for r in rows if r["layer"] == "step"]
    for step in steps:
        needs_cells = "".join(
            f"<td>{int(step[name]) / 1e9:.3f}</td>"
            for name in (
                "weight_bytes",
                "optimizer_bytes",
                "gradient_bytes",
                "copy_bytes",
                "activation_bytes",
                "live_bytes",
            )
        )
        check(needs_cells in page, f"needs {needs_cells}")
        chips = "".join(
            f"<td>{float(step[name]):.3f}</td>"
            for name in (
                "compute_ms",
                "gather_ms",
                "exchange_ms",
                "send_ms",
                "bubble_ms",
                "reduce_exposed_ms",
                "reduce_ms",
                "chips_ms",
            )
        )
        check(f'<td class="text">4x1x1</td><td>1</td><td>2</td>{chips}' in page, f"chips {chips}")
    check_equal([page.count(f", {name}") > 0 for name in ("2 cores", "1 core,")], [True, False], "labels")
    explore("--config", "small", "--tokens", "32", "--serial")
    page = pathlib.Path("out/report.html").read_text()
    check(
        "Time against" not in page and "On many chips" not in page and "What a step needs" in page,
        "pictures of one case",
    )


if __name__ == "__main__":
    stand.main(globals())
