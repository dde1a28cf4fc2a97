# SPDX-License-Identifier: Apache-2.0
"""Tests a standard output that cannot take the results: exit status 3, one line, and no file that looks like a
result."""

import json
import os
import pathlib

import stand
from stand import check, check_equal, passes


def into_full(*arguments):
    """Runs the program with a standard output that is always full; it must leave no new file."""
    before = stand.listing()
    with open("/dev/full", "w") as full:
        stand.refuses(3, "ufp4: standard output: ", *arguments, stdout=full)
    check_equal(stand.listing(), before, f"files after {arguments}")


def closed(stream, *arguments):
    """Runs the program with one of its standard streams closed."""
    return stand.run(*arguments, preexec_fn=lambda: os.close(stream))


def quantized():
    stand.write_npy("X.npy", stand.gaussian(5, 20))
    passes("quantize", "X.npy", "-o", "X.safetensors", "--elem", "e1m2")
    return ["X.safetensors", "X.safetensors"]


def test_tables_alone_are_results():
    for words in (
        ["random"],
        ["--help"],
        ["gemm", "--help"],
        ["info"],
        ["info", "--json"],
        ["vectors", "--list"],
        ["bias", "--rows", "4", "--cols", "64"],
    ):
        into_full(*words)


def test_full_ends_what_would_print_for_hours():
    into_full("random", "--count", 10**15)
    into_full("vectors", "elem_decode", "--count", 10**15)
    into_full("vectors", "rht", "--count", 10**15)


def test_full_leaves_no_product():
    operands = quantized()
    into_full("gemm", *operands, "-o", "D.npy", "--stats")
    into_full("gemm", *operands, "-o", "D.npy", "--json")
    pathlib.Path("D.npy").write_text("earlier")
    into_full("gemm", *operands, "-o", "D.npy", "--stats")
    check_equal(pathlib.Path("D.npy").read_text(), "earlier", "what was there before")


def test_full_leaves_no_layer():
    quantized()
    into_full("layer", "X.npy", "X.npy", "-", "-o", "out", "--pass", "fprop")
    into_full("layer", "X.npy", "X.npy", "-", "-o", "out", "--pass", "fprop", "--json")
    os.mkdir("out")
    into_full("layer", "X.npy", "X.npy", "-", "-o", "out", "--pass", "fprop")


TRAINING = [
    "--d-model",
    32,
    "--ff",
    32,
    "--layers",
    1,
    "--context",
    16,
    "--batch",
    2,
    "--eval",
    64,
    "--steps",
    1,
    "--seeds",
    1,
    "--recipe",
    "ufp4",
]


def train_into_full(*words):
    pathlib.Path("text").write_text("the cat sat on a mat. " * 400)
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = stand.run("train", "text", "-o", "out", *TRAINING, *words, stdout=full)
    check_equal(result.status, 3, f"exit status: {result}")


def test_full_keeps_a_training():
    """A table that cannot be printed does not discard hours of work."""
    train_into_full("--json")
    check(pathlib.Path("out/losses.csv").stat().st_size > 0, "losses.csv")
    stand.demand_drawing()
    train_into_full("--capture")
    check(pathlib.Path("out/report.html").stat().st_size > 0, "report.html")
    check(len(list(pathlib.Path("out/ufp4").glob("*.npy"))) > 0, "captured tensors")


def test_closed_is_an_error_and_no_output_takes_its_place():
    operands = quantized()
    done = closed(1, "gemm", *operands, "-o", "D.npy", "--stats")
    check_equal((done.status, done.out), (3, ""), f"exit status and output; {done.err}")
    check(done.err.startswith("ufp4: standard output: ") and done.err.count("\n") == 1, done.err)
    check(not os.path.exists("D.npy"), "D.npy was written")


def test_closed_streams_change_no_result():
    operands = quantized()
    passes("gemm", *operands, "-o", "want.npy")
    want = pathlib.Path("want.npy").read_bytes()
    for stream in (0, 1, 2):  # without --stats nothing is printed
        check_equal(closed(stream, "gemm", *operands, "-o", "D.npy").status, 0, f"exit status, stream {stream}")
        check(pathlib.Path("D.npy").read_bytes() == want, f"D.npy differs, stream {stream}")
        os.remove("D.npy")


def layer_on_a_full_disk():
    before = stand.listing()
    done = stand.refuses(
        3,
        "dX.npy",
        "layer",
        "X.npy",
        "W.npy",
        "dY.npy",
        "-o",
        "out",
        "--json",
        printed=True,
        under=["sh", "-c", 'ulimit -f 2; exec "$@"', "sh"],
    )
    check_equal(json.loads(done.out)["cases"][0]["n"], 4, "the table is printed first")
    check_equal(stand.listing(), before, "files")


def test_no_output_is_written_where_one_cannot_be():
    """A limit on the size of files stands for a full disk: Y.npy is below it, dX.npy above."""
    stand.write_npy("X.npy", stand.gaussian(8, 400))
    stand.write_npy("W.npy", stand.gaussian(4, 400))
    stand.write_npy("dY.npy", stand.gaussian(8, 4))
    layer_on_a_full_disk()
    os.mkdir("out")
    for name in ("Y.npy", "dX.npy"):
        pathlib.Path("out", name).write_text("earlier")
    layer_on_a_full_disk()
    check_equal(pathlib.Path("out/Y.npy").read_text(), "earlier", "what was there before")


if __name__ == "__main__":
    stand.main(globals())
