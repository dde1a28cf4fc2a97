# SPDX-License-Identifier: Apache-2.0
"""Explorations of small models, for tests of explore."""

import csv
import pathlib

from stand import passes


SHAPES = "name,cin,cout,count\nfc1,64,96,2\nproj,48,64,1\n"


def shapes(text=SHAPES):
    pathlib.Path("s.csv").write_text(text)
    return "s.csv"


def explored(*words):
    """Returns the rows of explore.csv of a run that must succeed."""
    passes("explore", *words, "-o", "out")
    with open("out/explore.csv", newline="") as file:
        return list(csv.DictReader(file))


def explore(*options, model=None):
    return explored(model or shapes(), *options)


FILES = ["explore.csv", "explore.json"]


def total(rows, layer="step"):
    return next(r for r in rows if r["layer"] == layer and r["pass"] == "all")


NEEDS = ["weight_bytes", "copy_bytes", "activation_bytes", "gradient_bytes", "optimizer_bytes", "live_bytes"]


KINDS = (
    "name,cin,cout,count,kind,tokens,repeat,group\nfc,64,96,2,,,3,\nexpert,64,32,1,linear,2/8,,\nrouted,64,32,1,,24,,\n"
    "scores,32,seq,1,bf16,,4,2\nmixed,32,seq,1,matmul,,4,2\nnorm,64,64,1,host,,,\n"
)
