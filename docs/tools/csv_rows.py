# SPDX-License-Identifier: Apache-2.0
"""Reads the CSV files of docs/results, and formats their figures for the pages."""

import csv
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"
WORDS = {"1": "one seed", "3": "three seeds", "4": "four seeds"}


class Figure(str):
    """A cell of a CSV file. A format specification applies to its number; an empty cell stays empty."""

    def __format__(self, form):
        if not form or not self:
            return str(self)
        return format(int(self) if self.isdecimal() else float(self), form)


class Row(dict):
    """The cells of a row: row.delay_ns is the cell of the column delay_ns."""

    __getattr__ = dict.__getitem__


def read(name, folder=RESULTS):
    with open(folder / name, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [Row((key, Figure(cell) if isinstance(cell, str) else cell) for key, cell in row.items()) for row in rows]


class Rows:
    """The rows of a CSV file, selected by the values of some columns."""

    def __init__(self, name, folder=RESULTS):
        self.name, self.rows = name, read(name, folder)

    def all(self, **keys):
        return [row for row in self.rows if all(row[key] == str(value) for key, value in keys.items())]

    def one(self, **keys):
        found = self.all(**keys)
        if len(found) != 1:
            raise SystemExit(f"{self.name}: {len(found)} rows are {keys}")
        return found[0]


# --- Formats of the pages ---------------------------------------------------------------------------------


def code(text):
    return f"`{text}`"


def signed(text, digits):
    value = f"{float(text):+.{digits}f}"
    return "0" if float(text) == 0 else value.replace("+-", "-")


def chance(text):
    """Formats a probability: 0.005647 as 0.006, 2.544e-05 as 0.00003, 3.827e-17 as 4e-17."""
    value = float(text)
    if value < 1e-5:
        return re.sub(r"e-0?", "e-", f"{value:.0e}")
    return f"{value:.1g}" if value >= 1e-4 else f"{value:.5f}"


def gap(row, digits=3):
    """Formats a mean over seeds and its confidence interval."""
    return f"{signed(row.gap_percent, digits)} +-{row.interval:.{digits}f}"


def share(value, of, digits=1):
    """Formats the per cent by which a value exceeds another."""
    return f"{100 * (float(value) / float(of) - 1):+.{digits}f} %"
