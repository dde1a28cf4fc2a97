#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tools of the documents. usage: test_tools.py UNIT.PROPERTY"""

import csv
import math
import pathlib
import re
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/tools"))
import check_includes  # noqa: E402
import claims  # noqa: E402
import formats  # noqa: E402
import pages  # noqa: E402
import status  # noqa: E402
import tables  # noqa: E402

GOOD = """# A page

One sentence.
Another, with [a link](#a-page) and `rtl/ufp4_top.sv`.

| a table | with words |
|---|---|
| that end | without a full stop |

1. A list.
   Its second line.

```
code, of any length. And. Sentences
```
"""
REPORT = """<testsuite timestamp="2026-01-02T03:04:05" tests="4">
<testcase name="model.block.a" time="1.5" status="run"/>
<testcase name="model.block.b" time="0.5" status="run"/>
<testcase name="rtl.dot.c" time="2" status="fail"><failure message="Failed"/></testcase>
<testcase name="rtl.dot.d" time="0" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>skipped: needs | a tool
</system-out></testcase>
</testsuite>"""


def faults(check, text):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.md")
        page.write_text(text)
        return [said for _, said in check(page)]


def expect(got, want):
    if got != want:
        raise SystemExit(f"got {got}, want {want}")


def report():
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(REPORT)
        file.flush()
        return status.page(file.name).split("\n")


def rejects_dead_links():
    expect(
        faults(pages.broken_links, "# A\n[x](b.md) [y](#b) [z](page.md#c)\n"),
        ["b.md: no such file", "#b: no such heading", "page.md#c: no such heading"],
    )


def rejects_dead_names():
    expect(
        faults(pages.missing_files, "Read `rtl/nothing.sv`, and `tests/cuda/records/NAME.txt`.\n"),
        ["rtl/nothing.sv: no such file"],
    )
    table = "| RTL, in `rtl/` | C |\n|---|---|\n| `num/ufp4_dot.sv`, `num/none.sv` | `ufp4/format.h`, `ufp4/none.h` |\n"
    expect(faults(pages.missing_files, table), ["num/none.sv: no such file", "ufp4/none.h: no such header"])
    expect(faults(pages.missing_pages, "// docs/%s.md\n" % "nothing"), ["docs/%s.md: no such page" % "nothing"])


def rejects_long_and_wrapped_lines():
    expect(
        faults(pages.long_or_wrapped, "One. Two.\nA line that\ngoes on.\n"),
        ["two sentences", "a sentence goes on in the next line, or has no full stop"],
    )
    expect(faults(pages.long_or_wrapped, "x" * 600 + ".\n"), ["601 characters; 600 at most"])


def takes_good_ones():
    for check in (pages.broken_links, pages.missing_files, pages.missing_pages, pages.long_or_wrapped):
        expect(faults(check, GOOD), [])


FOLDERS = """| files in | may include headers in |
|---|---|
| `sim` | `cmodel/base` |
| `sim/deep`, `cmodel`, `drivers`, `fpga` | |
"""


def built(files):
    """Returns the violations that check_includes.py reports for a tree of these files, {name: includes}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, includes in {check_includes.PAGE: None, **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(FOLDERS if includes is None else "".join(f'#include "{one}"\n' for one in includes))
        for name in ("drivers", "fpga", "sim/deep"):
            (root / name).mkdir(parents=True, exist_ok=True)
        return list(check_includes.violations(root))


TREE = {
    "cmodel/base/file.h": [],
    "cmodel/base/deep/word.h": [],
    "cmodel/other.h": [],
    "sim/a.c": ["base/file.h", "word.h", "own.h", "made.h"],
    "sim/own.h": [],
}


def takes_what_the_table_allows():
    expect(built(TREE), [])


def rejects_headers_of_other_folders():
    expect(
        built(TREE | {"sim/b.c": ["base/file.h", "other.h"]}),
        ["sim/b.c:2: cmodel/other.h: the row of sim does not name its folder"],
    )
    expect(
        built(TREE | {"sim/deep/b.c": ["base/file.h"]}),
        ["sim/deep/b.c:1: cmodel/base/file.h: the row of sim/deep does not name its folder"],
    )
    for name in ("../../sim/own.h", "deep/../../../sim/own.h"):
        expect(
            built(TREE | {"cmodel/base/b.c": [name]}),
            ["cmodel/base/b.c:1: sim/own.h: the row of cmodel does not name its folder"],
        )
    expect(
        built(TREE | {"sim/b.cpp.in": ["other.h"]}),
        ["sim/b.cpp.in:1: cmodel/other.h: the row of sim does not name its folder"],
    )


def rejects_a_file_in_no_table():
    expect(
        formats.check(["rtl/a.sv", "drivers/tools/b.c", "rtl/num/c.sv"], ["rtl/a.sv", "drivers/tools"]),
        ["rtl/num/c.sv knows the formats and is in no table"],
    )
    for code in ("  if (elem == UFP4_ELEM_INT4) return;\n", "// |dot| <= 2304\n", "localparam F = FRAC_E1M2;\n"):
        with tempfile.NamedTemporaryFile("w", suffix=".sv") as file:
            pathlib.Path(file.name).write_text(code)
            expect(formats.knows(pathlib.Path(file.name)), True)
            pathlib.Path(file.name).write_text("// ELEM_E2M1 in words\n")
            expect(formats.knows(pathlib.Path(file.name)), False)


def rejects_a_row_without_files():
    expect(formats.check(["rtl/a.sv"], ["rtl/a.sv", "sim"]), ["sim is in a table; nothing there knows a format"])


def counts_by_layer_and_unit():
    page = report()
    for line in (
        "2 passed, 1 failed, 1 skipped, 4 tests in all.",
        "| `model` | 2 | 0 | 0 | 2.0 |",
        "| `rtl.dot` | 0 | 1 | 1 | 2.0 |",
    ):
        expect([line] if line in page else page, [line])


def tells_why_one_was_skipped():
    line = "| `rtl.dot.d` | needs \\| a tool |"
    expect([line] if line in report() else report(), [line])


def one_figure_more(lines, docs):
    """Changes the first figure of each table that a tool writes. Yields the numbers of the changed lines."""
    for at, marker in enumerate(map(tables.MARKER.fullmatch, lines)):
        if marker:
            given = tables.MAKERS[marker[1]](*(tables.Rows(file, docs / "results") for file in marker[2].split()))
            figure = next(cell for row in given for cell in tables.split(row) if re.search(r"\d", cell))
            line = next(i for i in range(at, len(lines)) if f"| {figure} |" in lines[i])
            lines[line] = lines[line].replace(f"| {figure} |", f"| {figure}1 |", 1)
            yield line


def copies(folder):
    """Copies the pages that have tables into a folder."""
    for part in ("ip", "results", "verification"):
        shutil.copytree(tables.ROOT / "docs" / part, pathlib.Path(folder) / part)
    return pathlib.Path(folder)


def rejects_figures_of_its_own():
    """A figure that differs from the CSV file is refused in every table, and writing restores it."""
    with tempfile.TemporaryDirectory() as folder:
        docs, changed = copies(folder), 0
        expect(list(tables.faults(docs)), [])
        for page in sorted(docs.rglob("*.md")):
            before = page.read_text().split("\n")
            lines = list(before)
            if at := list(one_figure_more(lines, docs)):
                page.write_text("\n".join(lines))
                said = f"stale (run docs/tools/tables.py): {page.name}:{at[0] + 1}: the CSV file says '{before[at[0]]}'"
                expect(list(tables.faults(docs)), [said])
                expect(list(tables.faults(docs, write=True)), [])
                expect(page.read_text().split("\n"), before)
                changed += len(at)
        expect(changed > 40, True)


def writes_figures_and_leaves_words():
    """A table of figures alone gets another row from its CSV file; one that contains words of the page is refused an
    additional row."""
    with tempfile.TemporaryDirectory() as folder:
        docs = copies(folder)
        for name, row in (("alpha", "mine,1,2,3,command\n"), ("wires", "pe_e1m2,OSU,1,2,3,4,5,6,rtl,command\n")):
            with open(docs / f"results/{name}.csv", "a") as file:
                file.write(row)
        said = list(tables.faults(docs, write=True))
        expect(
            [line.split(": ", 1)[1] for line in said],
            [
                "7 rows, the CSV files have 8, and words of the page are in them",
                "5 rows, the CSV files have 6, and words of the page are in them",
            ],
        )
        text = (docs / "results/training.md").read_text()
        expect("\n| ufp4-mixed/rht=none | 0.931 | 0.956 | 0.987 |\n| mine | 1 | 2 | 3 |\n" in text, True)


def count_accumulators():
    """A PE of 100 um2 and 10 fJ is compared with one of 200 and 20, with memories of 128 sums of 67 and of 32 bits, in
    both flows. A sum is read and written for each chunk of 16 blocks of 16 MACs."""
    with tempfile.TemporaryDirectory() as folder:
        results = copies(folder) / "results"
        for name, figures in (("silicon.csv", (1, 2)), ("energy.csv", (1, 2))):
            lines = tables.read(name, results)
            for row in lines:
                figure = figures[row["unit"] != "pe"]
                bits = "4096" if row["unit"] in ("pe_fp32", "pe_nv") else "8576"
                row |= {"area_um2": 100 * figure, "delay_ns": figure, "memory_bits": bits} if "area_um2" in row else {}
                if "energy_fj" in row:
                    row |= {"energy_fj": 10 * figure}
                    row |= {"samples_fj": f"{10 * figure - 1} {10 * figure + 1}; {10 * figure} {10 * figure}"}
            with open(results / name, "w", newline="") as file:
                writer = csv.DictWriter(file, lines[0])
                writer.writeheader()
                writer.writerows(lines)
        um2, fj = claims.bit()
        share = lambda a, b: f"{100 * (a / b - 1):+.1f}"
        area = share(100 + 8576 * um2, 200 + 4096 * um2) + " %"
        both = 10 + 2 * 67 * fj / 256, 20 + 2 * 32 * fj / 256
        # On the first row each takes 1 fJ less than on average, on the second one more.
        error = lambda a, b: f"+-{100 * (1 - a / b) / b:.1f} %"
        spent, alone = f"{share(*both)} {error(*both)}", f"-50.0 {error(10, 20)}"
        rows = claims.rows(tables.Rows("silicon.csv", results), tables.Rows("energy.csv", results))
        found = {name: cells for name, *cells in map(tables.split, rows)}
        halves = ["-50.0 %", area] * 2
        over = "less in 6; not in: plain, with accumulators; sized, with accumulators"
        for contract in ("fp32", "nv"):
            expect(found[f"contract exact against {contract}, PE"], [*halves, *["-50.0 %"] * 2, alone, spent, over])


def have_standard_errors():
    """The errors in energy.csv, and those of differences of two energies, must equal the jackknife's, which leaves out
    one row of a tensor at a time. All energies of ASAP7 at full load in the plain flow have an error, except those of
    PEs that share registers, which see several rows at once."""

    def jackknife(ways, figure):
        variance = 0.0
        for at, way in enumerate(ways):
            found = []
            for left in range(len(way)):
                kept = way[:left] + way[left + 1 :]
                found.append(figure([statistics.fmean(kept) if i == at else None for i in range(len(ways))]))
            middle = statistics.fmean(found)
            variance += (len(way) - 1) / len(way) * sum((one - middle) ** 2 for one in found)
        return math.sqrt(variance)

    energies, compared = tables.Rows("energy.csv"), 0
    only = lambda means: next(one for one in means if one is not None)
    for row in energies.rows:
        wanted = (row["library"], row["flow"], row["load"]) == ("ASAP7", "plain", "full") and row["unit"] != "pe_shared"
        expect(bool(row["error_fj"]) and bool(row["samples_fj"]), wanted or bool(row["error_fj"]))
        if row["samples_fj"]:
            ways = claims.samples(row)
            expect(all(abs(statistics.fmean(way) - float(row["energy_fj"])) < 0.02 for way in ways), True)
            # Samples are rounded to 0.01 fJ.
            expect(abs(jackknife(ways, only) - float(row["error_fj"])) < 0.011, True)
            compared += 1
    expect(compared >= 36, True)
    for _, unit, base, elem, base_elem, _ in claims.CLAIMS:
        pair = claims.energy(energies, unit, elem), claims.energy(energies, base, base_elem)
        for more in ((0.0, 0.0), (11.0, 5.0)):
            both = [[(a + more[0], b + more[1]) for a, b in zip(*way)] for way in zip(*map(claims.samples, pair))]
            variance = 0.0
            for way in both:
                left = [[one for i, one in enumerate(way) if i != out] for out in range(len(way))]
                found = [100 * sum(a for a, _ in kept) / sum(b for _, b in kept) for kept in left]
                middle = statistics.fmean(found)
                variance += (len(way) - 1) / len(way) * sum((one - middle) ** 2 for one in found)
            got = claims.error(pair, more)
            expect(abs(got / math.sqrt(variance) - 1) < 0.05, True)


def rejects_sentences_of_their_own():
    """Sentences must agree with the CSV files, in README.md too. The test changes the CSV file in the digit that the
    pattern's group finds."""
    for name, pattern, page in (
        ("silicon.csv", r"^core,ASAP7,sized,(\d)", "README.md"),
        ("fpga.csv", r'^unit,"PE on ECP5, 16 MACs, without parity",ECP5,,,,(\d)', "silicon.md"),
        ("silicon.csv", r"^pe_fp32,ASAP7,full adders and sized,\d(\d)", "ip/why.md"),
        ("models.csv", r'^ten_pflops,default,"\S+ \| \d+\.\d\d(\d)', "README.md"),
        ("models.csv", r'^tiles,default,"(\d)', "README.md"),
        ("fpga.csv", r"^board,board,ULX3S 85F.*,(\d)\d\.\d,24,", "README.md"),
        ("bit-flips.csv", r"^parity of all memories,\d+,\d(\d)", "README.md"),
        ("step.csv", r"^1024,16,from a cold start,\d+,\d+\.(\d),", "README.md"),
        ("readme.csv", r"^llama-7b: million cycles,\d+\.(\d),", "README.md"),
        ("readme.csv", r'^"SQNR, outliers, e1m2, RHT",\d+\.(\d)', "README.md"),
        ("readme.csv", r"^demo: loss,\d+\.\d\d(\d)", "README.md"),
        ("training.csv", r"^default,whole,e2m1,ufp4,8,\d+\.(\d)", "README.md"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            docs = copies(folder)
            results = docs / "results"
            text = (results / name).read_text()
            at = re.search(pattern, text, re.M).start(1)
            (results / name).write_text(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")
            said = [line for line in tables.faults(docs) if line.startswith(f"{page}: does not say")]
            expect(len(said), 1)


def a_row_of_each_file_is_measured_again():
    """CMake must register a test for each file, or for several together."""
    here = pathlib.Path(__file__)
    registered = {
        name.replace("-", "_")
        for names in re.findall(r"^results_test\(\w+ (.*)\)", here.with_name("CMakeLists.txt").read_text(), re.M)
        for name in names.split()
    }
    parts = re.split(r"^def test_(\w+)\(", here.with_name("test_results.py").read_text(), flags=re.M)
    tests = dict(zip(parts[1::2], parts[2::2]))
    expect(set(tests) ^ registered, set())
    measured = {name for text in tests.values() for name in re.findall(r'\brows\("([\w-]+)"\)', text)}
    expect(
        [file.name for file in sorted((tables.ROOT / "docs/results").glob("*.csv")) if file.stem not in measured], []
    )


def rejects_tables_that_no_file_has():
    none = "a table below neither <!-- table: NAME FILE.csv --> nor <!-- words: WHY -->"
    with tempfile.TemporaryDirectory() as folder:
        docs = copies(folder)
        page = docs / "results/training.md"
        text = page.read_text()
        for changed, at, fault in (
            (text + "\n| recipe | speed |\n|---|---|\n| mine | 7 |\n", text.count("\n") + 2, none),
            (
                text + "\n<!-- table: none alpha.csv -->\n| a |\n|---|\n| 7 |\n",
                text.count("\n") + 3,
                "no table is called none",
            ),
            (text + "\n<!-- table: alpha alpha.csv -->\nwords.\n", text.count("\n") + 3, "no table below its marker"),
            (
                text + "\n<!-- words: mine -->\n| a | b |\n|---|---|\n| 7 |\n",
                text.count("\n") + 3,
                "a row has not the 2 cells of the head",
            ),
        ):
            page.write_text(changed)
            expect(list(tables.faults(docs)), [f"training.md:{at}: {fault}"])


def rejects_rows_without_their_command():
    with tempfile.TemporaryDirectory() as folder:
        docs = copies(folder)
        text = (docs / "results/shapes.csv").read_text()
        (docs / "results/shapes.csv").write_text(text.replace(",build/release/tests/rtl/core/bench_shapes", ",", 1))
        expect(list(tables.faults(docs)), ["shapes.csv: a row without its command"])


if __name__ == "__main__":
    globals()[sys.argv[1].split(".")[1]]()
