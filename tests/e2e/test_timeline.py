# SPDX-License-Identifier: Apache-2.0
"""Tests --timeline: the activity of each unit of a simulated core, in Chrome's trace format."""

import json
import os
import pathlib
import resource

import stand
from stand import check, check_equal, passes, rejects, slow

TRACKS = ["command", "QUANT", "GEMM load", "GEMM array", "GEMM drain", "AXI read", "AXI write"]
AB = ["A.safetensors", "B.safetensors"]
XWD = ["X.npy", "W.npy", "dY.npy"]
SMALL = ["--config", "small", "--mem-latency", "30", "--mem-bandwidth", "5"]


def tensors(tokens=33, cin=47, cout=50):
    stand.write_npy("X.npy", stand.gaussian(tokens, cin))
    stand.write_npy("W.npy", stand.gaussian(cout, cin, 0.05))
    stand.write_npy("dY.npy", stand.gaussian(tokens, cout, 1e-4))
    passes("quantize", "X.npy", "-o", "A.safetensors", "--elem", "e2m1")
    passes("quantize", "W.npy", "-o", "B.safetensors", "--elem", "e2m1")


def once(pairs):
    """Parses a JSON object whose keys must differ."""
    check(len(dict(pairs)) == len(pairs), f"a key is there twice: {pairs}")
    return dict(pairs)


def read(path):
    """Returns the events by track. The file may have only what the format describes: named tracks, and complete events
    that do not overlap on their track."""
    whole = json.loads(pathlib.Path(path).read_text(), object_pairs_hook=once)
    check_equal(sorted(whole), ["otherData", "traceEvents"], "keys of the file")
    names, order, tracks = {}, {}, {}
    for event in whole["traceEvents"]:
        check_equal(event["pid"], 1, "process")
        if event["ph"] == "M":
            value = event["args"].get("name", event["args"].get("sort_index"))
            check(event["name"] in ("process_name", "thread_name", "thread_sort_index"), f"{event}")
            {"thread_name": names, "thread_sort_index": order}.get(event["name"], {})[event["tid"]] = value
            continue
        check(set(event) - {"args"} == {"name", "cat", "ph", "pid", "tid", "ts", "dur"}, f"keys: {event}")
        check(event["ph"] == "X" and event["name"] and event["cat"] in ("work", "stall"), f"{event}")
        check(type(event["ts"]) is int and type(event["dur"]) is int and event["dur"] > 0, f"{event}")
        check_equal(event["cat"] == "stall", event["name"].startswith("stall: "), f"category of {event}")
        tracks.setdefault(names[event["tid"]], []).append(event)
    check_equal([names[tid] for tid in sorted(order, key=order.get)], TRACKS, "tracks in their order")
    for track, events in tracks.items():
        ends = 0
        for event in events:
            check(event["ts"] >= ends, f"{track}: {event} overlaps")
            ends = event["ts"] + event["dur"]
    return whole["otherData"], tracks


def cycles(events, name):
    return sum(event["dur"] for event in events if event["name"] == name)


def test_a_gemm_has_the_cycles_of_the_counters():
    tensors()
    counted = json.loads(
        passes(
            "gemm", *AB, "--backend", "tlm", "--timing-only", "--stats", "--json", "--timeline", "t.json", *SMALL
        ).out
    )["counters"]
    other, tracks = read("t.json")
    check_equal(other["configuration"], "small", "configuration")
    array = tracks["GEMM array"]
    for name, counter in (
        ("busy", "array_busy"),
        *((f"stall: {s}", f"stall_{s}") for s in ("operand", "panel", "accumulator", "drain")),
    ):
        check_equal(cycles(array, name), counted[counter], name)
    beats = sum(cycles(tracks["AXI read"], name) for name in ("command", "operands", "addend", "QUANT"))
    check_equal(beats, counted["read_beats"], "beats read")
    check_equal({event["args"]["job"] for event in array}, {1}, "jobs")


def test_a_gemm_and_a_layer_are_those_of_the_rtl_on_rtl():
    tensors()
    stand.write_npy("C.npy", stand.gaussian(33, 50))
    for words in (
        ["gemm", *AB, "-o", "D.npy"],
        ["gemm", *AB, "-o", "D.npy", "--c", "C.npy", "--alpha", "0.5"],
        ["layer", *XWD, "-o", "out"],
    ):
        for backend in ("rtl", "tlm"):
            passes(*words, *SMALL, "--backend", backend, "--timeline", f"{backend}.json")
        check(pathlib.Path("rtl.json").read_bytes() == pathlib.Path("tlm.json").read_bytes(), f"{words}: files differ")
        read("rtl.json")


def test_a_layer_quantizes_first():
    tensors()
    passes("layer", *XWD, "--backend", "tlm", "--timing-only", "--timeline", "t.json", *SMALL)
    _, tracks = read("t.json")
    check({"AMAX", "QUANT", "start", "last blocks"} <= {event["name"] for event in tracks["QUANT"]}, "QUANT's events")


def test_an_exploration_of_one_case():
    pathlib.Path("s.csv").write_text("name,cin,cout,count\nfc,64,96,1\n")
    passes("explore", "s.csv", "-o", "out", "--tokens", "32", "--config", "small", "--timeline", "t.json")
    _, tracks = read("t.json")
    check_equal(sorted(tracks), sorted(TRACKS), "tracks with events")
    check("stall: job" in {event["name"] for event in tracks["QUANT"] + tracks["GEMM array"]}, "no dependence")
    for name in ("out/explore.json", "../" + os.path.basename(os.getcwd()) + "/out/explore.json"):
        rejects(
            2,
            f"{name}: -o out writes a file of this name; name another",
            "explore",
            "s.csv",
            "-o",
            "out",
            "--tokens",
            "32",
            "--timeline",
            name,
        )
    rejects(
        2,
        "--timeline needs a single case, and there are 2",
        "explore",
        "s.csv",
        "-o",
        "new",
        "--tokens",
        "16,32",
        "--timeline",
        "t.json",
    )


def test_an_exploration_that_goes_on_is_run_for_it():
    pathlib.Path("s.csv").write_text("name,cin,cout,count\nfc,64,96,1\n")
    words = ["explore", "s.csv", "-o", "out", "--tokens", "32", "--config", "small"]
    with open("/dev/full", "w") as full:  # the case ends, the command does not
        done = stand.run(*words, stdout=full)
    check(done.status == 3 and os.path.exists("out/cases/case-0.csv"), done)
    passes(*words, "--resume", "--timeline", "t.json")
    read("t.json")


@slow
def test_training_of_one_run():
    pathlib.Path("text.txt").write_text("".join(f"line {i * i % 997} of a text\n" for i in range(2000)))
    words = [
        "train",
        "text.txt",
        "--steps",
        "1",
        "--recipe",
        "ufp4",
        "-o",
        "out",
        "--backend",
        "tlm",
        "--timeline",
        "t.json",
        "--d-model",
        "32",
        "--heads",
        "2",
        "--layers",
        "1",
        "--ff",
        "64",
        "--context",
        "32",
    ]
    os.mkdir("out")
    rejects(
        2,
        "out/train.json: -o out writes a file of this name",
        *["out/train.json" if word == "t.json" else word for word in words],
    )
    rejects(2, "--timeline needs a single run", *words, "--seeds", "2", "--no-control")
    on_host = ["bf16" if word == "ufp4" else word for word in words]
    rejects(
        2,
        "--recipe bf16 does not quantize and runs on the host; leave out --timeline",
        *on_host,
        "--seeds",
        "1",
        "--no-control",
    )
    passes(*words, "--seeds", "1", "--no-control", "--dram", "none")
    read("t.json")
    done = passes(*words, "--seeds", "1", "--no-control", "--config", "small", "--mem-bandwidth", "1")
    check("ufp4 train: t.json: the timeline ends at cycle " in done.err, f"cut off, and says {done.err!r}")


@slow
def test_a_long_one_is_cut_off():
    stand.write_npy("X.npy", stand.gaussian(500, 500))
    passes("quantize", "X.npy", "-o", "A.safetensors", "--elem", "e2m1")
    words = [
        "gemm",
        "A.safetensors",
        "A.safetensors",
        "--backend",
        "tlm",
        "--timing-only",
        "--config",
        "small",
        "--json",
        "--mem-bandwidth",
        "3",
    ]
    whole = passes(*words, "--timeline", "t.json")
    check(
        whole.err.startswith("ufp4 gemm: t.json: the timeline ends at cycle ") and whole.err.count("\n") == 1, whole.err
    )
    other, tracks = read("t.json")
    last = max(event["ts"] + event["dur"] for events in tracks.values() for event in events)
    check_equal(int(other["cut_off_at_cycle"]), last, "last cycle")
    check_equal(sum(map(len, tracks.values())) >> 19, 0, "events, in limits")
    check_equal(
        json.loads(passes(*words).out)["cases"][0]["cycles"], json.loads(whole.out)["cases"][0]["cycles"], "cycles"
    )


def test_refused_where_it_cannot_be():
    tensors()
    words = ["gemm", *AB, "--backend", "tlm", "--timing-only"]
    rejects(2, "--timeline: 't.txt' does not end in .json", *words, "--timeline", "t.txt")
    rejects(2, "No such file or directory", *words, "--timeline", "no/t.json")
    rejects(
        2,
        "--timeline needs a simulated core, which backend model is not",
        "gemm",
        *AB,
        "-o",
        "D.npy",
        "--timeline",
        "t.json",
    )
    rejects(2, "-o and --timeline", "gemm", *AB, "-o", "D.json", "--backend", "tlm", "--timeline", "D.json")
    os.rename("A.safetensors", "A.json")
    rejects(
        2,
        "--timeline: the host quantizes (tiny has no QUANT engine), so there is nothing to write; leave out --timeline",
        "quantize",
        "X.npy",
        "-o",
        "Q.safetensors",
        "--elem",
        "e1m2",
        "--backend",
        "tlm",
        "--config",
        "tiny",
        "--timeline",
        "t.json",
    )
    rejects(
        2,
        "is also an input",
        "gemm",
        "A.json",
        "B.safetensors",
        "--backend",
        "tlm",
        "--timing-only",
        "--timeline",
        "A.json",
    )


def test_one_that_cannot_be_written_leaves_nothing():
    tensors()
    pathlib.Path("t.json").write_text("earlier")
    rejects(
        3,
        "t.json: cannot write: File too large",
        "gemm",
        *AB,
        "-o",
        "D.npy",
        "--backend",
        "tlm",
        "--timeline",
        "t.json",
        "--config",
        "small",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12000, 12000)),
    )
    check_equal(pathlib.Path("t.json").read_text(), "earlier", "the file of before")


if __name__ == "__main__":
    stand.main(globals())
