# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.report on explorations: their pages, and an explore.csv that is cut, damaged, or has steps without
figures."""

import html
import json
import pathlib
import re
import shutil

from support import raises

import stand
from stand import check, check_equal, slow
from test_report import EXPLORATIONS, FIXTURES, call, cells, check_cells, fixture  # which skips without matplotlib

from ufp4 import report
from ufp4.report import _explore, _pareto


@slow
def test_exploration_page_has_the_same_numbers():
    for name in EXPLORATIONS:
        measured, want = fixture(name)
        page = _explore.html(measured, _explore.read(FIXTURES / f"{name}.explore.csv"))
        found = cells(page)
        able = len(want["shares"]) // len(_explore.PARTS)
        start, width = found.index("%"), 1 + len(_explore.PARTS)
        shares = [found[start + width * (i + 1) + 1 : start + width * (i + 2)] for i in range(able)]
        check_cells(found[:start] + found[start + width * (able + 1) :], want["cells"], name)
        check_equal(
            [f"{part[0]}: {share} %" for row in shares for part, share in zip(_explore.PARTS, row)],
            want["shares"],
            f"{name}: shares",
        )
        check_equal(re.findall(r"<h[123]>(.*?)</h[123]>", page), want["titles"], f"{name}: titles")


def asked_for(*bandwidths):
    """Returns the page of a recorded exploration on a bus of 8 bytes a cycle, whose first cases asked for these
    bandwidths; those more than the bus have a note."""
    measured, _ = fixture("serial")
    rows = _explore.read(FIXTURES / "serial.explore.csv")
    wide = [case for case in _explore.cases(measured, rows) if case.config == "small" and case.bytes_per_cycle == 8]
    for case, bandwidth in zip(wide, bandwidths):
        next(
            about
            for about in measured["cases"]
            if about["config"] == "small" and about["bytes_per_cycle"] == 8 and about["tokens"] == case.tokens
        )["mem_bandwidth"] = bandwidth
        for row in case.rows:
            row["reason"] = "more than the bus" if bandwidth > 8 else ""
    return re.sub(r"<svg.*?</svg>", "", _explore.html(measured, rows), flags=re.S)


@slow
def test_a_bandwidth_above_the_bus_has_its_figures_and_what_was_asked():
    page = asked_for(1000, 1000)
    found = [
        html.unescape(re.sub(r"<[^>]+>", "|", row))
        for row in re.findall(r"<tr>(.*?</tr>\n<tr><td></td>.*?)</tr>", page, flags=re.S)
    ]
    check(
        len(found) == 2
        and all("more than the bus" in row and "1000 (bus 8)" in row.splitlines()[-2] for row in found)
        and "151,260" in found[0]
        and "45.7" in found[0],
        f"{found}",
    )
    check("Utilization over tokens: ufp4 on small, 1000 (bus 8) B/cycle" in page, "the heat map")
    titles = re.findall(r"<h3>(.*?)</h3>", asked_for(16, 1000))
    check_equal(len(set(titles)), len(titles), f"names of cases: {titles}")
    titles = re.findall(r"<h3>(.*?)</h3>", asked_for(8, 0))
    check(
        "ufp4, small, 8 B/cycle, latency 100, 32 tokens" in titles
        and "ufp4, small, 0 (bus 8) B/cycle, latency 100, 64 tokens" in titles,
        f"{titles}",
    )


@slow
def test_counters_of_several_cores_are_shares_of_all_their_cycles():
    measured, _ = fixture("serial")
    rows = _explore.read(FIXTURES / "serial.explore.csv")
    one = _explore.cases(measured, rows)[0]
    want = one.shares()
    for row in one.rows:
        row["cores"] = "4"
    for column in ("stall_operand", "stall_panel", "stall_accumulator", "stall_drain", "quant"):
        one.step[column] = str(4 * int(one.step[column]))
    measured["cases"][0]["array_busy"] *= 4
    four = _explore.cases(measured, rows)[0]
    check_equal(four.shares(), want, "shares")
    found = cells(_explore.html(measured, rows))
    check_equal(
        found[:13],
        [
            "recipe",
            "core",
            "cores",
            *cells(_explore.html(*[fixture("serial")[0], _explore.read(FIXTURES / "serial.explore.csv")]))[2:12],
        ],
        "columns",
    )
    check_equal(
        (found[15], found[25], found[28]), ("4", "44.8", "1"), "cores, exposed AMAX and QUANT, and cores of the next"
    )


def test_heat_maps_of_unequal_micro_batches_have_them_together():
    measured, _ = fixture("serial")
    rows = _explore.read(FIXTURES / "serial.explore.csv")
    whole = _explore._heat_map(
        [case for case in _explore.cases(measured, rows) if (case.config, case.bandwidth) == ("small", "8")]
    )
    second = next(
        case
        for case in _explore.cases(measured, rows)
        if (case.config, case.bandwidth, case.tokens) == ("small", "8", 64)
    )
    for row in second.gemms:  # in halves, each of half the tokens and cycles
        halves = [
            {**row, "batch": str(i), "m": str(int(row["m"]) // 2), "cycles": f"{int(row['cycles']) / 2}"}
            for i in range(2)
        ]
        at = next(i for i, other in enumerate(rows) if other is row)
        rows[at : at + 1] = halves
    halved = _explore._heat_map(
        [case for case in _explore.cases(measured, rows) if (case.config, case.bandwidth) == ("small", "8")]
    )
    of = lambda heat: [
        (line["layer"], line["pass"], [cell and round(cell["util"], 6) for cell in line["cells"]])
        for line in heat["lines"]
    ]
    check(len(whole["lines"]) > 2 and all(len(line["cells"]) == 2 for line in whole["lines"]), "columns")
    check_equal(of(halved), of(whole), "both halves together")


@slow
def test_energies_are_drawn():
    measured, _ = fixture("serial")
    rows = _explore.read(FIXTURES / "serial.explore.csv")
    check("Energy and area" not in _explore.html(measured, rows), "without --ppa")
    for row in rows:
        row.update(dict.fromkeys(("mac_joules", "idle_joules", "clock_joules", "bus_joules", "joules", "um2"), ""))
    first, second = (case.step for case in _explore.cases(measured, rows)[:2])
    first.update(
        mac_joules="1.25e-06", idle_joules="2e-05", clock_joules="3.00001e-05", joules="5.125e-05", um2="2400.0"
    )
    second.update(um2="4800.0")
    page = _explore.html(measured, rows)
    part = page[page.index("<h2>Energy and area") :]
    part = part[: part.index("<h2>", 4)]
    found = cells(part)
    check_equal(found[:6], ["mJ", "MACs", "idle lanes", "clock pins", "sum", "um2"], "no bus")
    check_equal(
        (found[7:12], found[13:]),
        (["0.00125", "0.02", "0.03", "0.05125", "2400.0"], ["\N{EN DASH}"] * 4 + ["4800.0"]),
        "cells",
    )
    check(part.count("<svg") == 1 and ">idle lanes<" in part, "bars")


@slow
def test_kinds_of_blocks_and_what_the_host_moves_have_columns():
    measured, _ = fixture("serial")
    rows = _explore.read(FIXTURES / "serial.explore.csv")
    plain = _explore.html(measured, rows)
    check("Kinds of blocks" not in plain and "MB read" not in plain, "one kind, no host")
    for row in rows:
        row.update(read_bytes="1000000", write_bytes="1000")
    case = _explore.cases(measured, rows)[0]
    block = next(i for i, row in enumerate(rows) if row["pass"] == "all")
    rows[block : block + 1] = [
        rows[block] | {"layer": f"block_{kind}", "count": count, "cycles": cycles, "util_percent": "50.04"}
        for kind, count, cycles in (("dense", "3", "1234567"), ("experts", "58", "89"))
    ]
    rows.insert(
        0,
        case.jobs[0]
        | dict.fromkeys(("cycles", "util_percent", "tensor"), "")
        | {"layer": "norm1", "pass": "forward", "read_bytes": "1500000", "write_bytes": "2000"},
    )
    page = _explore.html(measured, rows)
    part = page[page.index("<h2>Kinds of blocks") :]
    found = cells(part[: part.index("<h2>", 4)])
    check_equal(
        (found[:5], [found[6:10], found[11:15]]),
        (
            ["", "kind", "blocks", "cycles of one", "utilization, %"],
            [["block_dense", "3", "1234567", "50.0"], ["block_experts", "58", "89", "50.0"]],
        ),
        "kinds",
    )
    line = cells(next(row for row in re.findall("<tr>.*?</tr>", page) if "norm1" in row))
    check_equal(line[:2] + line[-3:], ["norm1", "FORWARD", "\N{EN DASH}", "1.500", "0.002"], "host")


def test_small_numbers_are_told_apart():
    """Covers utilizations below 1 %, and one block of one token."""
    measured, _ = fixture("serial")
    rows = _explore.read(FIXTURES / "serial.explore.csv")
    for about in measured["cases"]:
        about["peak"] *= 200
        about["tokens"] = {32: 1}.get(about["tokens"], 2)
    page = _explore.html({**measured, "blocks": 1}, rows)
    heat = page[page.index("Utilization over tokens") : page.index("Every job")]
    shown = [text for text in re.findall(r'title="m[^>]*>(.*?)<', heat)]
    check(shown and len(set(shown)) > 3 and all(re.fullmatch(r"0\.\d\d", text) for text in shown), f"{shown}")
    for words, there in (
        ("? 1 block, ", True),
        ("1 blocks", False),
        (", 1 token<", True),
        ("1 tokens", False),
        ("2 tokens", True),
    ):
        check_equal(words in page, there, words)


def test_micro_batches_have_names():
    measured, _ = fixture("beside")
    rows = _explore.read(FIXTURES / "beside.explore.csv")
    case = _explore.cases(measured, rows)[0]
    check_equal({case.part_of(row) for row in case.jobs}, {"", ", first half", ", second half"}, "of two")
    case.jobs[0]["batch"] = "3"
    check_equal(case.part_of(case.jobs[0]), ", part 4 of 4", "of four")


CELLS = {
    "command": "./ufp4 ppa <&>",
    "library": {"name": "OSU 0.18 um"},
    "flow": "plain",
    "yosys": "0.70",
    "opensta": "2.0.17",
    "rtl": "1a2b",
    "rows": [
        {"unit": unit, "formats": "", "area_um2": area, "flip_flops_um2": area / 4, "delay_ns": delay}
        for unit, area, delay in (("dot", 100, 2), ("dot_b", 90, 2), ("dot_c", 80, 3), ("dot_d", 85, 4), ("pe", 9, 1))
    ],
}


def test_units_in_cells_are_drawn():
    """The line of a panel has the units that no other one beats in both figures: not dot, not dot_d."""
    folder = pathlib.Path("ppa")
    folder.mkdir()
    (folder / "ppa.json").write_text(json.dumps(CELLS))
    report.draw("ppa")
    page = (folder / "report.html").read_text()
    want = [
        ["dot", "", "100.0", "25.0", "2.00"],
        ["dot_b *", "", "90.0", "22.5", "2.00"],
        ["dot_c *", "", "80.0", "20.0", "3.00"],
        ["dot_d", "", "85.0", "21.2", "4.00"],
        ["pe *", "", "9.0", "2.2", "1.00"],
    ]
    check_equal(cells(page)[5:], sum(want, []), "cells")
    check("./ufp4 ppa &lt;&amp;&gt;" in page, "command")
    for title in ("dot product", "PE"):
        check_equal(len(re.findall(rf"<text[^>]*>{title}</text>", page)), 1, title)
    (folder / "ppa.json").write_text(
        json.dumps(CELLS | {"rows": [CELLS["rows"][0] | {"unit": unit} for unit in ("lane", "rht")]})
    )
    report.draw("ppa")
    page = (folder / "report.html").read_text()
    check(
        "<svg" not in page and "panel" not in page and "*" not in "".join(cells(page)),
        "units that do what no other does are not compared",
    )
    (folder / "ppa.json").write_text(json.dumps(CELLS | {"rows": [{}]}))
    raises(ValueError, "ppa/ppa.json is not what train, explore or ppa writes", report.draw, "ppa")


@slow
def test_cases_are_placed_by_area_and_energy():
    """The page agrees with the program's output: a case is in front if it gives more tokens per joule than all that are
    as small."""
    columns = ("mm2_per_tmacs", "tokens_per_joule")
    found, figures = fixture("serial")[0], [("2", "5"), ("1", "4"), ("3", "5"), ("1", "3"), ("4", "6"), ("", "9")]
    rows = _explore.read(FIXTURES / "serial.explore.csv")
    cases = [case for case in _explore.cases(found, rows) if case.able][: len(figures)]
    for case, pair in zip(cases, figures):
        case.step |= dict(zip(columns, pair))
    places = _pareto.places(cases)
    check_equal(
        [(cases.index(case), first) for case, _, _, first in places],
        [(1, True), (3, False), (0, True), (2, False), (4, True)],
        "order, and which are in front",
    )
    check_equal(_pareto.picture(places[:1]), "", "one case alone is not drawn")
    page = _explore.html(found, rows)
    part = page[page.index("<h2>Area against energy</h2>") :].split("<h2>")[1]
    check("mm2 of a TMAC/s, memories included" in part and part.count("<tr>") == 1 + len(places), "the page")


def test_energies_are_drawn_by_what_they_are_of():
    """A MAC, a number of a lane and a number of QUANT each have a picture and a table with their unit."""
    folder = pathlib.Path("energies")
    folder.mkdir()
    parts = ("energy", "gates", "flip_flops_data", "flip_flops_clock", "leakage", "clock_pins", "input_pins")

    def spent(first):
        return {"data": "fprop", "elements": "e1m2", "load": "half"} | {
            f"{part}_fj": first + i / 4 for i, part in enumerate(parts)
        }

    measured = [
        CELLS["rows"][0] | {"unit": unit, "energy": [spent(first)]}
        for unit, first in (("quant_block", 800), ("dot", 10), ("lane", 7), ("pe", 40))
    ]
    (folder / "ppa.json").write_text(json.dumps(CELLS | {"megahertz": 1000, "rows": measured}))
    report.draw("energies")
    page = (folder / "report.html").read_text()
    areas, *found = re.split("<h3>", page)
    check_equal(
        [part[: part.index("<")] for part in found],
        ["Of a MAC", "Of a number that QUANT reads", "Of a number that a lane reads"],
        "parts",
    )
    check_equal(areas.count("<svg"), 1, "panels of the dot product and the PE in one picture")
    for part, own in zip(found, ((("dot", 10), ("pe", 40)), (("quant_block", 800),), (("lane", 7),))):
        words = part[3 : part.index("<")]
        check(
            part.count("<svg") == 1
            and f">fJ {words}, with the clock pins<" in part
            and f"<th>fJ {words}</th>" in part
            and ">flip flops clock<" in part,
            words,
        )
        values = [[unit, "fprop e1m2", "half", *(f"{first + i / 4:.2f}" for i in range(7))] for unit, first in own]
        check_equal(cells(part)[10:], sum(values, []), "the values beside the picture")
        for _, first in own:
            check(f">{5 * first + 3.75:.1f}<" in part, "the sum at the end of a bar")
    check("At 1000 MHz" in page, "clock")


@slow
def test_rejects_rows_of_an_exploration_that_are_cut():
    """Missing, cut or damaged rows give one line that names the file and, if possible, the line; the page stays
    unchanged."""
    folder = pathlib.Path("cut")
    folder.mkdir()
    shutil.copy(FIXTURES / "serial.measured.json", folder / "explore.json")
    whole = (FIXTURES / "serial.explore.csv").read_text()
    first, *lines = whole.splitlines(keepends=True)
    steps = [i for i, line in enumerate(lines) if line.startswith("s,step,")]
    last, end = len(lines) + 1, lines[-1]
    for text, words in (
        ("", ": column layer is missing\n"),
        (first, ": it has no step\n"),
        (first.rstrip(), ": it has no step\n"),
        (whole[:-1], f", line {last}: it is cut off\n"),
        (whole[:-2], f", line {last}: reason is missing\n"),
        (whole[: -len(end)] + end[: len("s,step,all,u")], f", line {last}: config is missing\n"),
        (whole[: -len(end)] + end[:3], f", line {last}: pass is missing\n"),
        (whole[: -len(end)], f", line {last - 1}: it ends after 7 of 8 cases\n"),
        ("".join([first, *lines[: steps[1] + 1]]), f", line {steps[1] + 2}: it ends after 2 of 8 cases\n"),
        (
            "".join([first, *lines[: steps[1]], *lines[steps[1] + 1 :]]),
            f", line {last - 1}: it ends after 7 of 8 cases\n",
        ),
        (whole + lines[0], f", line {last + 1}: it ends after 8 of 9 cases\n"),
        (first.replace("cycles,", ""), ": column cycles is missing\n"),
        (whole.replace(",905,0,", ",9o5,0,", 1), ", line 2: cycles is '9o5', not a number\n"),
        (whole.replace(",small,6,", ",small,,", 1), ", line 2: count is '', not a whole number\n"),
        (whole.replace("\n", ",1\n").replace(",1\n", "\n", 1), ", line 2: it has more columns than the first line\n"),
    ):
        (folder / "explore.csv").write_text(text)
        (folder / "report.html").write_text("good")
        done = call("cut")
        check_equal(
            (done.returncode, done.stderr, done.stdout),
            (2, f"ufp4.report: cut/explore.csv{words}", ""),
            f"{text[-60:]!r}",
        )
        check_equal((folder / "report.html").read_text(), "good", "the page")


@slow
def test_a_step_without_cycles_has_no_figures():
    """A recipe whose passes are all in BF16 gives such a step; it is tested with others and alone."""
    folder = pathlib.Path("zero")
    folder.mkdir()
    measured, _ = fixture("serial")
    names = _explore.read(FIXTURES / "serial.explore.csv")[0]
    rows = [
        {
            **dict.fromkeys(names, ""),
            "layer": layer,
            "pass": "all",
            "count": "1",
            "m": "0",
            "n": "0",
            "k": "0",
            "cycles": "0",
            "quant": "0",
        }
        for layer in ("block", "step")
    ]
    whole = (FIXTURES / "serial.explore.csv").read_text()
    lines = "".join(",".join(row.values()) + "\n" for row in rows)
    zero = {**measured["cases"][0], "recipe": "plain", "array_busy": 0.0}
    for cases, text in (
        ([*measured["cases"], zero], whole + lines),
        ([zero], whole.splitlines(keepends=True)[0] + lines),
    ):
        (folder / "explore.json").write_text(json.dumps({**measured, "cases": cases}))
        (folder / "explore.csv").write_text(text)
        done = call("zero")
        check_equal((done.returncode, done.stderr), (0, ""), f"{len(cases)} cases")
        page = (folder / "report.html").read_text()
        line = cells(next(row for row in re.findall("<tr>.*?</tr>", page, re.S) if ">plain<" in row))
        check_equal((line[0], line[-1]), ("plain", "no job of it is on the core"), "its line")
        check_equal(
            "Where the cycles go" in page and "Every job" in page and "<svg" in page, len(cases) > 1, "pictures"
        )
        check("plain, small" not in page, "in no picture")


@slow
def test_the_roofline_shows_what_ports_allow():
    """There is a tick where load or drain limits a GEMM, and none where the bus or the array does."""
    folder = pathlib.Path("ports")
    folder.mkdir()
    shutil.copy(FIXTURES / "serial.measured.json", folder / "explore.json")
    whole = (FIXTURES / "serial.explore.csv").read_text()
    bound = ",89.0,100.0,compute,"
    check(bound in whole, "the GEMM to change")
    for text, ticks in (
        (whole, 0),
        (whole.replace(bound, ",89.0,93.5,output,"), 1),
        (whole.replace(bound, ",89.0,93.5,load,"), 1),
    ):
        (folder / "explore.csv").write_text(text)
        done = call("ports")
        check_equal((done.returncode, done.stderr), (0, ""), "its page")
        page = (folder / "report.html").read_text()
        check_equal(page.count("what load or drain allow"), ticks, "the legend")
    (folder / "explore.csv").write_text(whole.replace(bound, ",89.0,much,load,"))
    done = call("ports")
    check_equal((done.returncode, "bound_percent is 'much', not a number" in done.stderr), (2, True), "its bound")


if __name__ == "__main__":
    stand.main(globals())
