# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.report on the measurements of a training, and on folders. Numbers equal, to the last digit, those that the
program printed when it compared and drew by itself (report/NAME.want.json of report/NAME.measured.json); cycles and
heat maps have more digits."""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from support import raises

import stand
from stand import check, check_equal, slow

try:
    import jinja2  # noqa: F401
    import matplotlib  # noqa: F401
    import scipy  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}; ./ufp4 test installs it from PyPI")
    raise SystemExit(0)

from ufp4 import report
from ufp4.report import _explore, _train, _train_page

FIXTURES = pathlib.Path(__file__).resolve().parent / "report"
TRAININGS = ("all", "single", "ablation", "cycles", "same", "wide")
EXPLORATIONS = ("serial", "beside", "dram")


def fixture(name):
    return [json.loads((FIXTURES / f"{name}.{what}.json").read_text()) for what in ("measured", "want")]


def call(*words, **options):
    return subprocess.run(
        [sys.executable, "-B", "-m", "ufp4.report", *words], capture_output=True, text=True, timeout=600, **options
    )


def cells(page):
    without = re.sub(r"<svg.*?</svg>", "", page, flags=re.S)
    return [
        html.unescape(re.sub(r"<[^>]+>", "", cell))
        for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", without, flags=re.S)
    ]


def check_cells(got, want, name):
    """The cells of the paper's line are empty; the page has dashes there."""
    check_equal(len(got), len(want), f"{name}: cells")
    for i, (one, other) in enumerate(zip(got, want)):
        check(
            one == other or (one, other) == ("\N{EN DASH}", ""),
            f"{name}: cell {i} after {want[max(0, i - 9) : i]}: got {one!r}, want {other!r}",
        )


def training_losses(name):
    return report._training_losses(FIXTURES / f"{name}.losses.csv")


def test_training_prints_the_same_tables():
    for name in TRAININGS:
        measured, want = fixture(name)
        for got, line in zip(_train.text(measured).split("\n"), want["text"].split("\n")):
            check_equal(got, line, name)
        check_equal(_train.text(measured), want["text"], name)
        check_equal(_train.summary(measured), want["json"], f"{name} as JSON")


def test_training_page_has_the_same_numbers():
    for name in TRAININGS:
        measured, want = fixture(name)
        page = _train_page.html(measured, training_losses(name))
        check_cells(cells(page), want["cells"], name)
        check_equal(
            [html.unescape(one) for one in re.findall(r'<p class="verdict">(.*?)</p>', page)],
            want["verdicts"],
            f"{name}: verdicts",
        )


@slow
def test_a_grid_for_each_block_has_a_table_of_its_own():
    name = next(name for name in TRAININGS if "forward" in fixture(name)[0])
    measured, want = fixture(name)
    for i, line in enumerate(measured["forward"]["operands"]):
        line["sqnr_db"].update(mixed=21.25 + i, mixed_rht=22.5)
        line["alpha"].update(mixed=0.9875, mixed_rht=None)
        line["uniform"] = {"mixed": 0.375, "mixed_rht": 0.625}
    lines = _train.text(measured).split("\n")
    added = [line for line in lines if line not in want["text"].split("\n")]
    operands = measured["forward"]["operands"]
    check_equal(len(added), 2 + len(operands), f"lines: {added}")
    check_equal(added[2].split()[4:], "21.25 22.50 +1.25 0.9875 nan 0.38 0.62".split(), added[2])
    check_equal(_train.summary(measured)["forward"]["operands"][1]["rht_gain_db_mixed"], 0.25, "gain")
    nearest = [line for line in operands if line["round"] == "rne"]
    page = cells(_train_page.html(measured, training_losses(name)))
    own = page[page.index("uniform blocks") : page.index("uniform blocks") + 10 + 9]
    check_equal(own[-6:], ["21.25", "22.50", "0.9875", "\N{EN DASH}", "0.38", "0.62"], f"cells: {own}")
    check_equal(len(page) - len(want["cells"]), 6 + 9 + 9 * len(nearest), "cells")


def test_unfinished_trainings_say_how_far_they_are():
    """pretrain.py writes this beside train's keys; also tests curves of runs of different lengths."""
    measured, _ = fixture("single")
    check("Not finished" not in _train_page.html(measured, {}), "a finished one")
    measured.update(last_step=1, program="mine.py")
    measured["settings"]["unit"] = "token"
    losses = {"fp32": [[5.0, 4.5, 4.0]], "ufp4": [[5.0, 4.5]], "e2m1": [[1.0]]}
    page = _train_page.html(measured, losses)
    check("% whole runs: steps 0 to 1\n" in _train.text(measured), _train.text(measured))
    check("Not finished: these are the losses after step 1 of 2, which all runs have." in page, page[:800])
    check("<title>mine.py" in page and "nats per token" in page and "nats per byte" not in page, "names")
    check(
        page == _train_page.html(measured, {"fp32": [[5.0, 4.5]], "ufp4": [[5.0, 4.5]]}),
        "drawn up to the step that all have",
    )


def test_trainings_say_their_rate_and_how_often_they_see_the_text():
    measured, _ = fixture("single")
    s = measured["settings"]
    s["text_tokens"] = s["steps"] * s["batch"] * s["context"]
    page = _train_page.html(measured, {})
    check("constant until" not in page and "of the text" not in page, "a cosine over a text that is as long")
    s.update(cooldown_percent=20, text_tokens=s["text_tokens"] // 4)
    page = _train_page.html(measured, {})
    check("constant until the last 20 % of the steps, each token of the text 4.0 times" in page, "what is said")


@slow
def test_pages_are_the_same_bytes_and_stand_alone():
    measured, _ = fixture("all")
    pages = [_train_page.html(measured, {}) for _ in range(2)]
    check(pages[0] == pages[1], "two pages of one training differ")
    pages.append(_train_page.html(fixture("same")[0], training_losses("same")))
    check("Gap of the training loss" in pages[-1] and pages[-1].count("<svg") == 3, "curves of whole runs")
    rows = _explore.read(FIXTURES / "serial.explore.csv")
    pages += [_explore.html(fixture("serial")[0], rows)]
    for page in pages:
        for what in ("http", "<script", "url(data", "@import", "<link", "src="):
            check(what not in page, f"{what} in the page")
        names = re.findall(r' id="([^"]+)"', page)
        used = set(re.findall(r"#([a-z0-9]{8,})", page))
        check(used <= set(names), f"names that are not there: {used - set(names)}")


def test_names_are_escaped():
    measured, _ = fixture("same")
    for text in ("<b>", "a & b"):
        page = _train_page.html({**measured, "text": text, "command": text}, {})
        check(text not in page and html.escape(text) in page, f"{text} is not escaped")


@slow
def test_folders_are_drawn():
    for name, measured, csv in (("same", "train.json", "losses.csv"), ("serial", "explore.json", "explore.csv")):
        folder = pathlib.Path(name)
        folder.mkdir()
        shutil.copy(FIXTURES / f"{name}.measured.json", folder / measured)
        shutil.copy(FIXTURES / f"{name}.{csv}", folder / csv)
        for words in ([name], [f"{name}/{measured}"]):
            done = call(*words)
            check_equal((done.returncode, done.stdout, done.stderr), (0, "", ""), f"{words}")
            check((folder / "report.html").read_text().count("<svg") >= 3, "pictures")
            (folder / "report.html").unlink()
    shutil.copy("serial/explore.json", "same/explore.json")
    raises(ValueError, "it has train.json and explore.json; name one of them", report.draw, "same")
    pathlib.Path("empty").mkdir()
    raises(ValueError, "it has none of train.json, explore.json, ppa.json", report.draw, "empty")


OWN = "recipe,seed,held_loss\n" + "".join(
    f"{name},{seed},{2 + seed / 10 + more * (1 + seed / 50)}\n"
    for name, more in (("bf16", 0), ("mine", 0.02), ("theirs", 0.05))
    for seed in range(4)
)


@slow
def test_a_researchers_own_losses():
    pathlib.Path("own.csv").write_text(OWN)
    done = call("own.csv")
    check_equal((done.returncode, done.stderr), (0, ""), done.stderr)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    check_equal([line[:2] for line in lines], [["mine", "bf16"], ["theirs", "bf16"], ["theirs", "mine"]], "pairs")
    page = pathlib.Path("own.html").read_text()
    check(
        "<svg" in page and all(number in cells(page) for line in lines for number in (line[2], f"{line[-1]}")),
        "the numbers in the page",
    )
    check_equal(report.table(report.read_losses("own.csv")), done.stdout, "the call's table")
    done = call("own.csv", "--base", "mine", "-o", "other.html")
    check(
        done.returncode == 0 and "  bf16         mine" in done.stdout and pathlib.Path("other.html").exists(), f"{done}"
    )


@slow
def test_a_base_is_asked_for_where_none_is_known():
    for names, base, status in (("ab", None, 2), ("ab", "b", 0), (("e2m1", "ufp4"), None, 0), (("a", "fp32"), None, 0)):
        pathlib.Path("own.csv").write_text(
            "recipe,seed,held_loss\n" + "".join(f"{name},{seed},2\n" for name in names for seed in range(2))
        )
        done = call("own.csv", *(["--base", base] if base else []))
        check(done.returncode == status and ("--base" in done.stderr) == (status == 2), f"{names}, {base}: {done}")


def test_a_base_that_diverged_is_named():
    pathlib.Path("own.csv").write_text("recipe,seed,held_loss\nbf16,1,nan\nbf16,2,inf\nm,1,3\nm,2,3\n")
    done = call("own.csv")
    check(done.returncode == 0 and done.stdout.splitlines()[1].endswith(" bf16 diverged"), f"{done}")
    check_equal(cells(pathlib.Path("own.html").read_text())[17], "bf16 diverged", "the page's verdict")


def test_seeds_that_not_every_recipe_has_are_left_out():
    """They are left out of the comparisons, of the table of recipes and of the page's text about both."""
    pathlib.Path("own.csv").write_text(OWN)
    losses = report.read_losses("own.csv")
    report.write_page("own.html", losses)
    losses["mine"] |= {"7": 9.0, "8": 9.0}
    report.write_page("more.html", losses)
    own, more = (pathlib.Path(name).read_text() for name in ("own.html", "more.html"))
    check_equal(cells(more), cells(own), "cells")
    words = "eft out, as not every recipe has these seeds: mine of seed 7, mine of seed 8"
    check_equal(report.table(losses).splitlines()[-1], f"% l{words}", "the table's last line")
    check(f"<p>L{words}.</p>" in more and "eft out" not in own, "the page's words")


def texts(picture):
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", picture)]


@slow
def test_names_are_drawn_as_they_are():
    """Names are not drawn as mathematics, and not left out for a leading _."""
    for name in (r"$\frac$", "_u", "_child0", "$a$"):
        report.write_page("own.html", {"bf16": {1: 2.0, 2: 2.1}, name: {1: 2.2, 2: 2.4}})
        check(f"{name} - bf16" in texts(pathlib.Path("own.html").read_text()), f"{name} in the picture")
    measured, _ = fixture("same")
    renamed = json.loads(json.dumps(measured).replace('"ufp4"', '"_u"'))
    losses = {"_u" if name == "ufp4" else name: seeds for name, seeds in training_losses("same").items()}
    check_equal(
        texts(_train_page.html(renamed, losses)).count("_u"),
        texts(_train_page.html(measured, training_losses("same"))).count("ufp4"),
        "legends",
    )
    check("_u" in losses and texts(_train_page.html(renamed, losses)).count("_u") > 1, "of both curves")


def test_the_page_on_python_prints_what_it_says():
    page = pathlib.Path(__file__).resolve().parents[2] / "docs/howto/python.md"
    code, want = re.search(r"```python\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```", page.read_text(), re.S).groups()
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=600)
    check_equal((done.stdout, done.stderr), (want, ""), "output")
    check("<title>My recipe</title>" in pathlib.Path("mine.html").read_text(), "the page")


def test_losses_of_a_training_are_read():
    losses = report.read_losses(FIXTURES / "same.losses.csv")
    measured, _ = fixture("same")
    want = {r["recipe"]: [float(f"{loss:.9g}") for loss in r["held_losses"]] for r in measured["recipes"]}
    check_equal({name: list(seeds.values()) for name, seeds in losses.items()}, want, "held-out losses")


@slow
def test_rejects_files_that_are_none():
    for text, words in (
        ("recipe,seed\na,1\n", "column held_loss is missing"),
        ("recipe,seed,held_loss\n", "it has no held_loss"),
        ("recipe,seed,held_loss\na,1,2\na,1,3\n", "line 3: a of seed 1 appears twice"),
        (
            "recipe,seed,held_loss\nbf16,1,2\nb,2,3\nb,3,3\n",
            "bad.csv: losses: no seed was run with every recipe: bf16 lacks 2, 3; b lacks 1\n",
        ),
        ("recipe,seed,held_loss\na,1,2\na,2,abc\n", "bad.csv, line 3: held_loss is 'abc', not a number\n"),
        ("recipe,held_loss,seed\na,2\n", "bad.csv, line 2: seed is missing\n"),
        (
            "recipe,seed,held_loss\nmine,1,2\nbb,1,2\n",
            "bad.csv: it has neither bf16 nor fp32; choose with --base RECIPE",
        ),
        (f"recipe,seed,held_loss\n{'a' * 140000},1,2\n", "bad.csv is not a CSV file in UTF-8: Error: field larger"),
        ("recipe,seed,held_loss\n\udcff,1,2\n", "bad.csv is not a CSV file in UTF-8: UnicodeDecodeError"),
    ):
        pathlib.Path("bad.csv").write_text(text, errors="surrogateescape")
        done = call("bad.csv")
        check(done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, f"{text!r}: {done}")
    for words in ([], ["a.csv", "--json"]):
        check_equal(call(*words).returncode, 2, f"{words}")
    check_equal(call("absent.csv").returncode, 2, "a file that is not there")


def test_reads_what_a_spreadsheet_writes():
    pathlib.Path("own.csv").write_bytes(b"\xef\xbb\xbf" + OWN.replace("\n", "\r\n").encode())
    check_equal(call("own.csv").returncode, 0, "with a byte order mark")


@slow
def test_rejects_documents_that_are_none():
    """Each gives one line that names the file; the documents include ones that are cut at any place."""
    measured, _ = fixture("same")
    explored, _ = fixture("serial")
    shutil.copy(FIXTURES / "serial.explore.csv", "explore.csv")
    cut = [
        {key: value for key, value in measured.items() if key != left}
        for left in ("variants", "settings", "base", "machine")
    ]
    for document in (
        {},
        [],
        1,
        None,
        "cases",
        {"cases": []},
        {"cases": [{}]},
        {**explored, "cases": explored["cases"][:-1] + [{}]},
        {key: value for key, value in explored.items() if key != "serial"},
        {**explored, "cases": [{k: v for k, v in one.items() if k != "clock_mhz"} for one in explored["cases"]]},
        *cut,
    ):
        pathlib.Path("explore.json").write_text(json.dumps(document))
        done = call("explore.json")
        words = "ufp4.report: explore.json is not what train, explore or ppa writes: "
        check(
            done.returncode == 2 and done.stderr.startswith(words) and done.stderr.count("\n") == 1,
            f"{str(document)[:90]}: {done}",
        )
    for option in ("--tables", "--json", "--plot=x.svg"):
        for text in ("[]", "{", *(["{}"] if option != "--tables" else [])):
            done = call(option, input=text)
            check(
                done.returncode == 2 and "standard input is not what" in done.stderr and done.stderr.count("\n") == 1,
                f"{option}, {text}: {done}",
            )


def test_losses_of_several_steps_are_those_of_the_last_that_all_have():
    lines = [
        "step,recipe,seed,held_loss",
        "1,bf16,0,2.0",
        "2,bf16,0,",
        "3,bf16,0,1.5",
        "1,ufp4,0,2.1",
        "3,ufp4,0,1.6",
        "5,ufp4,0,1.4",
    ]
    pathlib.Path("losses.csv").write_text("\n".join(lines) + "\n")
    check_equal(report.read_losses("losses.csv"), {"bf16": {"0": 1.5}, "ufp4": {"0": 1.6}}, "losses")
    pathlib.Path("losses.csv").write_text("\n".join([*lines[:2], lines[3], lines[-1]]) + "\n")
    raises(ValueError, "no step for which all runs have a held_loss", report.read_losses, "losses.csv")


def test_rejects_losses_of_a_training_that_are_none():
    folder = pathlib.Path("bad")
    folder.mkdir()
    shutil.copy(FIXTURES / "same.measured.json", folder / "train.json")
    (folder / "losses.csv").write_text("recipe,seed,train_loss\nufp4,1,x\n")
    done = call("bad")
    check_equal(
        (done.returncode, done.stderr),
        (2, "ufp4.report: bad/losses.csv, line 2: train_loss is 'x', not a number\n"),
        f"{done}",
    )


def test_full_output_is_an_error():
    measured = json.dumps(fixture("same")[0])
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-B", "-m", "ufp4.report", "--tables"],
            input=measured,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=600,
        )
    check_equal((done.returncode, done.stderr), (3, "ufp4.report: standard output: No space left on device\n"), "full")


def test_says_what_is_missing():
    """The Python lacks matplotlib, as in an environment without it."""
    pathlib.Path("without").mkdir()
    pathlib.Path("without/matplotlib.py").write_text("raise ImportError(\"No module named 'matplotlib'\")\n")
    pathlib.Path("own.csv").write_text(OWN)
    done = call("own.csv", env={**os.environ, "PYTHONPATH": f"without:{os.environ.get('PYTHONPATH', '')}"})
    check_equal(
        (done.returncode, done.stderr),
        (3, "ufp4.report: No module named 'matplotlib'; pip install 'ufp4[report]' installs it\n"),
        "message",
    )


def test_needs_no_library():
    """Pages are drawn without libufp4_model and ml_dtypes."""
    script = (
        "import sys; import ufp4.stats, ufp4.report; print([name for name in ('ml_dtypes', 'scipy', 'matplotlib', "
        "'ufp4._library') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True, timeout=600)
    check_equal(done.stdout, "[]\n", done.stderr)


def watched_records():
    """Returns records as ufp4.torch.Watch makes them: two layers, two steps, all six copies; one in NVFP4, one with a
    missing number."""
    from ufp4.report import _rounding

    return [
        {
            "step": step,
            "layer": layer,
            "pass": pass_,
            "operand": operand,
            "sqnr_db": 20.25 + i,
            "kept": None if (step, layer, i) == (100, "b.fc1", 5) else 0.9875,
            "bucket_ratio": 0.75,
            "zeros": 0.0625,
            "saturated": 0.0,
            "tensor_exponent": 0 if layer == "b.fc1" else -3,
            "tensor_scale": 0.125 if layer == "b.fc1" else 1.0,
        }
        for step in (0, 100)
        for layer in ("a", "b.fc1")
        for i, (pass_, operand) in enumerate(_rounding.PLACES)
    ]


@slow
def test_what_rounding_did_is_printed_and_drawn():
    records = watched_records()
    again = {**records[0], "sqnr_db": 1.5}
    pathlib.Path("run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in [again, *records]))
    done = call("run.jsonl")
    check(done.returncode == 0, f"{done}")
    lines = done.stdout.splitlines()
    check_equal(len(lines), 13, "a line for each copy of the last step")
    check_equal(lines[1].split(), "a fprop x 100 20.25 0.9875 0.750 0.0625 0.0000 -3.0".split(), lines[0])
    check_equal(lines[12].split(), "b.fc1 wgrad x 100 25.25 nan 0.750 0.0625 0.0000 3.0".split(), lines[0])
    check_equal(report.rounding_table(records), done.stdout, "of the records")
    picture = pathlib.Path("run.svg").read_text()
    for words in ("SQNR, dB", "Share of saturated scales", "dy of wgrad", "x of fprop"):
        check(f">{words}</text>" in picture, f"{words} in the picture")
    report.write_rounding("again.svg", report.read_rounding("run.jsonl"))
    check_equal(pathlib.Path("again.svg").read_text(), picture, "the same records, the same bytes")


def test_what_no_watch_wrote_is_refused():
    for text, words in (
        ("", "it holds no record"),
        ("{}\n", "line 1 is not a record of ufp4.torch.Watch"),
        (json.dumps(watched_records()[0]) + "\n{", "line 2 is not a record"),
        (json.dumps({**watched_records()[0], "zeros": "0"}), "'0' is not a number"),
    ):
        pathlib.Path("bad.jsonl").write_text(text)
        bad = call("bad.jsonl")
        check(bad.returncode == 2 and words in bad.stderr and bad.stderr.count("\n") == 1, f"{bad}")


if __name__ == "__main__":
    stand.main(globals())
