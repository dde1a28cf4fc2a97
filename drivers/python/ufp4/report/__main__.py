# SPDX-License-Identifier: Apache-2.0
"""python -m ufp4.report: see --help. The program ufp4 also runs it, with measurements on standard input."""

import argparse
import json
import os
import pathlib
import sys


def say(text):
    """Prints without Python's buffer, so that output errors are raised here."""
    data = text.encode("utf-8", "surrogateescape")
    while data:
        try:
            data = data[os.write(1, data) :]
        except OSError as error:
            raise OSError(f"standard output: {error.strerror}") from error


def fail(status, text):
    print(f"ufp4.report: {text}", file=sys.stderr)
    return status


def compare(options):
    """Compares the losses of a CSV file. Without a base, a comparison must be given, because the order of recipes in
    the file has no meaning."""
    from ufp4 import report

    losses = report.read_losses(options.path)
    if (
        not options.base
        and len(losses) > 1
        and not {"bf16", "fp32"} & set(losses)
        and not {"e2m1", "ufp4"} <= set(losses)
    ):
        raise ValueError(
            f"{options.path}: it has neither bf16 nor fp32; choose with --base RECIPE what the others are compared "
            f"with, out of {', '.join(losses)}"
        )
    chosen = {"base": options.base} if options.base else {}
    try:
        text = report.table(losses, **chosen)
    except ValueError as error:
        raise ValueError(f"{options.path}: {error}") from error
    say(text)
    report.write_page(options.output or pathlib.Path(options.path).with_suffix(".html"), losses, **chosen)


def watched(options):
    """Reads the lines of a Watch."""
    from ufp4 import report

    records = report.read_rounding(options.path)
    say(report.rounding_table(records))
    report.write_rounding(options.output or pathlib.Path(options.path).with_suffix(".svg"), records)


def run(options):
    from ufp4 import report
    from ufp4.report import _bias, _draw, _train

    if options.tables or options.json:
        with report._as_measured("standard input"):
            document = json.load(sys.stdin)
            text = _train.text(document) if options.tables else json.dumps(_train.summary(document), indent=2) + "\n"
        say(text)
    elif options.plot:
        with report._as_measured("standard input"):
            picture = _bias.svg(json.load(sys.stdin))
        _draw.write(options.plot, picture)
    elif pathlib.Path(options.path).is_dir() or options.path.endswith(".json"):
        report.draw(options.path)
    elif options.path.endswith(".jsonl"):
        watched(options)
    else:
        compare(options)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m ufp4.report",
        description="Draws what ufp4 train, ufp4 explore, ufp4 ppa or ufp4.torch.Watch has measured, "
        "or compares your own runs.",
    )
    parser.add_argument(
        "path",
        nargs="?",
        metavar="DIR|FILE.csv|FILE.jsonl",
        help="what -o of train, explore or ppa named: its report.html is drawn; or a CSV with "
        "the columns recipe, seed and held_loss: the comparisons are printed and drawn; or what ufp4.torch.Watch "
        "has written: its table is printed, and drawn over the steps",
    )
    parser.add_argument(
        "-o", dest="output", metavar="FILE", help="of a CSV or JSONL (default: its name with .html or .svg)"
    )
    parser.add_argument(
        "--base", metavar="RECIPE", help="of a CSV: what the others are compared with (default bf16, or fp32)"
    )
    parser.add_argument("--tables", action="store_true", help="prints the tables of a train.json on standard input")
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    parser.add_argument("--plot", metavar="FILE.svg", help="draws what bias --json has printed, on standard input")
    options = parser.parse_args()
    if sum(map(bool, (options.path, options.tables, options.json, options.plot))) != 1:
        parser.error("one of DIR, FILE.csv, FILE.jsonl, --tables, --json and --plot is needed")
    try:
        run(options)
    except ImportError as error:
        return fail(3, f"{error}; pip install 'ufp4[report]' installs it")
    except OSError as error:
        return fail(
            2 if isinstance(error, FileNotFoundError) else 3,
            f"{error.filename}: {error.strerror}" if error.filename else error,
        )
    except ValueError as error:
        return fail(2, error)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
