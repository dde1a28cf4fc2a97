# SPDX-License-Identifier: Apache-2.0
"""Tests bias: Eq. 2 of the paper, and the effects of rounding on data with known figures."""

import json
import math
import os
import pathlib
import signal
import subprocess
import time
import xml.etree.ElementTree

import stand
from stand import check, check_equal, passes, rejects, slow


def tables(*arguments):
    return json.loads(passes("bias", *arguments, "--json").out)


def line(report, data, elem, scale, rht):
    found = [l for l in report["tensors"] if (l["data"], l["format"], l["scale"], l["rht"]) == (data, elem, scale, rht)]
    check_equal(len(found), 1, f"lines of {data} {elem} {scale} {rht}")
    return found[0]


def test_equation_2():
    cells = {(c["format"], c["value"]): c for c in tables("--rows", 1, "--cols", 16)["cells"]}
    want = {("e2m1", v): 0.0 for v in (0.5, 1, 1.5, 3)} | {("e2m1", 2): -0.125, ("e2m1", 4): -0.25}
    want |= {("e1m2", v / 4): 0.0 for v in range(1, 7)} | {("int4", v): 0.0 for v in range(1, 7)}
    check_equal({k: c["bias_eq2"] for k, c in cells.items()}, want, "Eq. 2")
    for key, cell in cells.items():
        # There are 2^14 samples. One at a boundary that rounds the other way moves the mean by less than 2 / 2^14.
        check(abs(cell["bias_measured"] - want[key]) < 2**-13, f"{key}: measured {cell['bias_measured']}")


# SQNR in dB. With 2^21 samples the standard error of the Gaussian rows is under 0.01 dB. With 2 % of the channels
# outliers, the channels that share a block with one matter, by a few tenths of a dB between seeds.
@slow
def test_known_sqnr():
    report = tables()
    for elem, want in (("e2m1", 20.5), ("e1m2", 21.4), ("int4", 21.4)):
        for rht in ("off", "on"):
            got = line(report, "gaussian", elem, "fp32", rht)["sqnr_db"]
            check(abs(got - want) < 0.05, f"{elem} gaussian rht {rht}: {got}, want {want}")
            cost = got - line(report, "gaussian", elem, "e4m3", rht)["sqnr_db"]
            check(0.05 < cost < 0.35, f"{elem}: E4M3 scales cost {cost} dB")
    for elem, off, on in (("e2m1", 20.95, 19.15), ("e1m2", 18.14, 24.44)):
        for rht, want in (("off", off), ("on", on)):
            got = line(report, "outliers", elem, "fp32", rht)["sqnr_db"]
            check(abs(got - want) < 0.3, f"{elem} outliers rht {rht}: {got}, want {want}")
    up = tables("--scale", "e4m3", "--scale-round", "up")
    cost = (
        line(report, "gaussian", "e1m2", "fp32", "off")["sqnr_db"]
        - line(up, "gaussian", "e1m2", "e4m3", "off")["sqnr_db"]
    )
    check(0.35 < cost < 1.5, f"scales rounded up cost {cost} dB")


def test_e1m2_and_int4_are_one_grid():
    report = tables("--rows", 32, "--cols", 256)
    for l in report["tensors"]:
        if l["format"] == "e1m2":
            other = line(report, l["data"], "int4", l["scale"], l["rht"])
            check_equal(
                {k: v for k, v in l.items() if k != "format"}, {k: v for k, v in other.items() if k != "format"}, "int4"
            )


def test_mixed_is_the_better_of_both_grids():
    report = tables("--rows", 64, "--cols", 512, "--scale", "e4m3")
    for data in ("gaussian", "outliers"):
        for rht in ("off", "on"):
            mixed, *both = (line(report, data, elem, "e4m3", rht) for elem in ("mixed", "e2m1", "e1m2"))
            check(mixed["sqnr_db"] > max(l["sqnr_db"] for l in both), f"{mixed}, {both}")
            check(0 < mixed["uniform"] < 1 and mixed["bucket_ratio"] is None, f"{mixed}")
            check(all(l["uniform"] is None for l in both), f"{both}")


# All 16 elements are on the grid and the block scale is 1, so there is no error. Each of the 15 values occurs, one of
# them twice.
def test_a_tensor_without_error():
    values = [float(v) for v in range(-7, 8)] + [7.0]
    stand.write_npy("X.npy", [values])
    l = line(tables("X.npy", "--scale", "fp32"), "tensor", "int4", "fp32", "off")
    check_equal((l["bias_percent"], l["kept"], l["sqnr_db"]), (0.0, 1.0, None), "no error")
    p = [1 / 16] * 14 + [2 / 16]
    want = math.exp(-sum(x * math.log(x) for x in p)) / 15
    check(abs(l["bucket_ratio"] - want) < 1e-7, f"bucket ratio {l['bucket_ratio']}, want {want}")


def test_columns_are_rows_of_the_transposed():
    rows = stand.gaussian(20, 33)
    stand.write_npy("X.npy", rows)
    stand.write_npy("XT.npy", list(zip(*rows)))
    check_equal(tables("X.npy", "--axis", "col"), tables("XT.npy"), "columns")


def test_bf16_and_poisoned_blocks():
    rows = [[0x3F80 + c for c in range(32)] for _ in range(2)]
    rows[0][3] = 0x7F80
    stand.write_npy("X.npy", rows, descr="<u2")
    result = passes("bias", "X.npy", "--bf16", "--json")
    check("1 of 4 blocks" in result.err, str(result))
    for l in json.loads(result.out)["tensors"]:
        keys = ("bias_percent", "kept", "sqnr_db", "uniform" if l["format"] == "mixed" else "bucket_ratio")
        check(all(l[k] is not None for k in keys), f"a sum is NaN: {l}")


def test_draws():
    stand.demand_drawing()
    passes("bias", "--rows", 4, "--cols", 64, "--plot", "p.svg")
    check_equal(os.listdir("."), ["p.svg"], "files")
    root = xml.etree.ElementTree.parse("p.svg").getroot()
    check_equal(root.tag, "{http://www.w3.org/2000/svg}svg", "root")
    styles = [path.get("style") or "" for path in root.iter("{http://www.w3.org/2000/svg}path")]
    check_equal(
        [sum(style.startswith(f"fill: {color}") for style in styles) for color in ("#d95f02", "#1b9e77", "#7570b3")],
        [8, 8, 4],
        "bars of data, scale and RHT, of each grid",
    )
    texts = {t.text for t in root.iter("{http://www.w3.org/2000/svg}text")}
    check({"E2M1", "E1M2, INT4", "outliers", "e4m3, RHT"} <= texts, str(texts))


SMALL = ["bias", "--rows", 4, "--cols", 64, "--plot"]


def drawn_by(script, **options):
    """Starts the program with this shell script as its Python."""
    pathlib.Path("python").write_text(f"#!/bin/sh\n{script}\n")
    os.chmod("python", 0o755)
    words = [stand.PROGRAM, *map(str, SMALL), "p.svg"]
    return subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "UFP4_PYTHON": "./python"},
        **options,
    )


def test_draws_beside_other_python_files():
    """The drawing must not import files of the working directory."""
    stand.demand_drawing()
    for name in ("csv", "ufp4", "json", "matplotlib", "runpy", "sitecustomize"):
        pathlib.Path(f"{name}.py").write_text(f"open('ran-{name}', 'w').close()\nraise SystemExit(5)\n")
    result = passes(*SMALL, "p.svg")
    check_equal(([name for name in os.listdir(".") if name.startswith("ran")], result.err), ([], ""), "what has run")


def test_draws_into_names_like_options():
    stand.demand_drawing()
    os.mkdir("-d")
    passes(*SMALL[:-1], "--plot=-d/-p.svg")
    check_equal(os.listdir("-d"), ["-p.svg"], "files")


def test_waits_for_python_where_the_ends_of_children_were_ignored():
    done = drawn_by("exit 0", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    check_equal((done.communicate(timeout=600)[1], done.returncode), ("", 0), "end")


def test_a_signal_ends_python_too():
    for number, line in (
        (signal.SIGTERM, "ufp4: terminated\n"),
        (signal.SIGINT, "ufp4: interrupted\n"),
        (signal.SIGHUP, "ufp4: the terminal is gone\n"),
    ):
        signal.signal(number, signal.SIG_DFL)  # under nohup it would be ignored, in the program too
        program = drawn_by("echo $$ > pid.part; mv pid.part pid; exec sleep 100")
        end = time.monotonic() + 60
        while not os.path.exists("pid") and time.monotonic() < end:
            time.sleep(0.01)
        program.send_signal(number)
        check_equal((program.communicate(timeout=600)[1], program.returncode), (line, -number), "end")
        try:
            os.kill(int(pathlib.Path("pid").read_text()), 0)
            check(False, "Python goes on")
        except ProcessLookupError:
            os.remove("pid")


def test_rejects_a_folder_of_temporary_files_that_is_none():
    os.environ["UFP4_PYTHON"], before = "/bin/true", os.environ.get("TMPDIR")
    try:
        os.environ["TMPDIR"] = "/nowhere"
        rejects(3, "a temporary file in /nowhere: No such file", *SMALL, "p.svg", printed=True)
    finally:
        del os.environ["UFP4_PYTHON"], os.environ["TMPDIR"]
        if before is not None:
            os.environ["TMPDIR"] = before


def test_large_numbers_do_not_overflow():
    rows = stand.gaussian(8, 48)
    stand.write_npy("X.npy", rows)
    stand.write_npy("Y.npy", [[stand.to_f32(v * 2.0**125) for v in row] for row in rows])
    small, large = tables("X.npy"), tables("Y.npy")
    for l, other in zip(small["tensors"], large["tensors"]):
        for key in ("bias_percent", "kept", "sqnr_db", "uniform" if l["format"] == "mixed" else "bucket_ratio"):
            check(abs(l[key] - other[key]) < 1e-4, f"{key}: {l} and {other}")


def test_zeros_have_no_sqnr():
    stand.write_npy("X.npy", [[0.0] * 20])
    stand.demand_drawing()
    result = passes("bias", "X.npy", "--plot", "z.svg")
    check("-nan" not in result.out and " nan " in result.out, str(result))


def test_two_without_error_have_no_gain():
    stand.write_npy("X.npy", [[1.0]])
    text = passes("bias", "X.npy").out
    check("-nan" not in text and " inf " in text, text)


def test_rejects_a_plot_by_what_is_no_python():
    """The refusal comes before any output."""
    for name in ("/nowhere/python3", "no-such-python"):
        os.environ["UFP4_PYTHON"] = name
        try:
            told = rejects(
                3, f"UFP4_PYTHON: {name}: No such file", "bias", "--rows", 4, "--cols", 64, "--plot", "p.svg"
            )
        finally:
            del os.environ["UFP4_PYTHON"]
        check_equal(told.out, "", "what is printed")


def test_rejects_a_picture_without_python():
    result = rejects(3, "--plot: UFP4_PYTHON must name a Python", "bias", "--rows", 4, "--cols", 64, "--plot", "p.svg")
    check_equal(result.out, "", "output")


def test_rejects_options_that_do_not_fit():
    stand.write_npy("X.npy", [[1.0]])
    rejects(2, "--axis", "bias", "--axis", "col")
    rejects(2, "--rows", "bias", "X.npy", "--rows", 3)
    rejects(2, ".svg", "bias", "--plot", "x.png")
    rejects(2, "no/x.svg", "bias", "--plot", "no/x.svg")
    rejects(2, "2^28", "bias", "--rows", 1048576, "--cols", 1048576)
    rejects(2, "None.npy", "bias", "None.npy")
    rejects(2, "16 bits", "bias", "--rht-mask", "0x10000")
    rejects(2, "--scale-round needs E4M3 scales", "bias", "--scale", "fp32", "--scale-round", "up")


if __name__ == "__main__":
    stand.main(globals())
