# SPDX-License-Identifier: Apache-2.0
"""Tests what holds for every command: help, options, exit statuses, signals."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import time

import stand
from stand import check, check_equal, passes, rejects, run

COMMANDS = [
    "demo",
    "train",
    "layer",
    "gemm",
    "quantize",
    "dequantize",
    "cast",
    "random",
    "bias",
    "vectors",
    "bench",
    "explore",
    "info",
]


def test_help_lists_every_command():
    text = passes("--help").out
    for command in COMMANDS:
        line = re.search(rf"\n  {command} .*", text)
        check(line is not None and line[0].endswith("."), f"no sentence of {command} in {text}")


def test_help_of_every_command_has_an_example():
    for command in COMMANDS:
        text = passes(command, "--help").out
        check(text.startswith(f"Usage: ufp4 {command}"), text)
        check(f"Example:\n  ufp4 {command}" in text, text)


def test_examples_work():
    """Tensors with the examples' names are there; demo and train have tests of their own."""
    for name, rows, cols in (("X", 20, 33), ("W", 7, 33), ("dY", 20, 7)):
        stand.write_npy(f"{name}.npy", stand.gaussian(rows, cols))
    passes("quantize", "W.npy", "-o", "W.safetensors", "--recipe", "ufp4", "--role", "w", "--pass", "fprop")
    for command in ["quantize", "dequantize", "cast", "random", "vectors", "info", "gemm", "layer"]:
        example = passes(command, "--help").out.split("Example:\n")[1].strip()
        words = shlex.split(example.replace("--backend rtl", "--backend model"))
        passes(*words[1:])


def test_help_says_what_zero_means():
    text = passes("layer", "--help").out
    for what in ("the bus width", "all cores", "none", "10^11"):
        words = f"(default 0: {what}"
        check(words in text, f"{words} is missing in {text}")


def test_version():
    check(passes("--version").out.startswith("ufp4 0."), "version")


def test_rejects_an_unknown_kernel():
    """One line names the kernel and those that exist."""
    for name in (" ", "avx513"):
        rejects(
            2,
            f"ufp4: UFP4_KERNEL: '{name}' is not one of fastest, portable, avx2, avx512\n",
            "random",
            env={**os.environ, "UFP4_KERNEL": name},
        )


def test_an_empty_kernel_is_none():
    check_equal(passes("random", env={**os.environ, "UFP4_KERNEL": ""}).err, "", "message")


def test_rejects_letters_by_their_word():
    for word, letter in (("-xyz", "x"), ("-stats", "s"), ("-jx", "j")):
        rejects(2, f"{word}: -{letter} is not an option", "gemm", "A", "B", word, "-o", "c.npy")
        rejects(2, f"{word}: -{letter} is not an option", "gemm", "A", "B", "-o", "c.npy", word)
    rejects(2, "-x is not an option", "gemm", "A", "B", "-x")


def test_a_signal_ends_it_and_leaves_nothing():
    stand.write_npy("X.npy", [[1.0] * 1024] * 1024)
    passes("quantize", "X.npy", "-o", "Q.safetensors", "--elem", "e2m1")
    before = stand.listing()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for delay in (0.01, 0.1):
            words = ["gemm", "Q.safetensors", "Q.safetensors", "-o", "D.npy", "--threads", "1"]
            process = subprocess.Popen(
                [stand.PROGRAM, *words],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            time.sleep(delay)
            process.send_signal(number)
            status = process.wait(60)
            check(status in (-number, 0), f"signal {number}: exit status {status}")
            left = [entry for entry in stand.listing() if entry not in before]
            check(left in ([], [("D.npy", 128 + 4 * 1024 * 1024)]), f"files: {left}")  # none, or the whole result
            check(left or status != 0, "done, and no result")
            if left:
                os.remove("D.npy")


def test_help_of_a_command_by_name():
    for command in COMMANDS:
        check_equal(passes("help", command).out, passes(command, "--help").out, f"help {command}")
    rejects(2, "no command is called 'gem'", "help", "gem")
    rejects(2, "one command", "help", "gemm", "layer")


def test_h_is_help():
    check_equal(passes("-h").out, passes("--help").out, "-h")
    for command in COMMANDS:
        check_equal(passes(command, "-h").out, passes(command, "--help").out, f"{command} -h")


def test_messages_are_one_line_of_text():
    """Names and values may hold anything; letters outside ASCII are kept."""
    rejects(2, "no command is called 'a?b'", "a\nb")
    rejects(2, "'1?2' is not", "layer", "a", "b", "c", "-o", "d", "--seed", "1\n2")
    rejects(2, "no?folder/\u00fc: cannot create", "quantize", "X", "--elem", "e2m1", "-o", "no\nfolder/\u00fc")
    rejects(2, "a?b: cannot open", "cast", "a\tb", "--to", "e2m1", "-o", "c")
    long = "/".join(["folder"] * 400)
    result = rejects(2, "cannot create", "cast", "a", "--to", "e2m1", "-o", long)
    check("No such file" in result.err, f"the reason is there: {result}")


def test_rejects_no_command():
    rejects(2, "a command is needed")


def test_rejects_unknown_commands():
    for name in ("quantise", "", "-x", "--layer"):
        rejects(2, "no command is called", name)


def test_says_where_the_tests_are():
    rejects(2, "./ufp4 test", "test")
    rejects(2, "./ufp4 test", "help", "test")
    rejects(2, "./ufp4 docs", "docs")
    rejects(2, "./ufp4 ppa", "ppa")


def test_help_lists_every_command_of_the_launcher():
    """The help also says how to call each of them."""
    root = pathlib.Path(__file__).parents[2]
    cases = re.findall(r"^  ([a-z][a-z| -]+)\)", (root / "ufp4").read_text(), re.M)
    commands = {name for case in cases for name in case.split(" | ")}
    check_equal({help.stem for help in (root / "docs/reference/help").iterdir()}, commands - {"ppa"}, "help texts")
    check_equal(
        set(re.findall(r"^  \./ufp4 ([a-z-]+) ", passes("--help").out, re.M)), commands, "commands of the launcher"
    )
    for command in commands:
        rejects(2, f"./ufp4 {command} --help", command)


def test_rejects_unknown_options():
    for command in COMMANDS:
        rejects(2, "--frobnicate is not an option", command, "--frobnicate")
        rejects(2, "-Z is not an option", command, "-Z")
        rejects(2, "-Z is not an option", command, "-ZY", "word")


def test_rejects_options_without_their_value():
    rejects(2, "--seed needs a value", "layer", "a", "b", "c", "--seed")
    rejects(2, "-o needs a value", "cast", "a", "-o")
    rejects(2, "takes no value", "gemm", "a", "b", "--json=yes")
    # Otherwise the value would be the name of the next option.
    rejects(2, "--hf needs a value", "explore", "a.csv", "--hf", "-o", "o", "--serial")
    rejects(
        2,
        "-o needs a value",
        "explore",
        "gpt2",
        "-o",
        "--serial",
        "--config",
        "small",
        "--layers",
        "1",
        "--tokens",
        "16",
    )
    rejects(2, "-o needs a value", "cast", "a", "-o", "--to", "e2m1")


def test_rejects_beginnings_of_options():
    """getopt_long would accept them until another option begins likewise."""
    words = "--accumulate- is not an option of this command; --accumulate-in is"
    rejects(2, words, "gemm", "a", "b", "--accumulate-", "s")
    rejects(2, "--stat is not an option of this command; --stats is", "gemm", "--stat", "a", "b", "-o", "c")
    rejects(2, "--rec is not an option of this command; --recipe is", "layer", "--rec=ufp4", "a", "b", "c", "-o", "d")
    rejects(2, "--sta is not an option of this command; see", "gemm", "a", "b", "-o", "c", "--sta")  # ambiguous
    for option in ("--hel", "--he"):
        rejects(2, "is not an option", "gemm", option)


def test_rejects_options_given_twice():
    """Covers flags, short options and both ways of writing a value, also with the same value."""
    rejects(2, "--seed is given twice", "layer", "a", "b", "c", "-o", "d", "--seed", 1, "--seed=1")
    rejects(2, "-o is given twice", "cast", "a", "-ob", "--to", "e2m1", "-o", "c")
    rejects(2, "--packed is given twice", "quantize", "a", "-o", "b", "--packed", "--packed")
    for command in COMMANDS:
        option = "--bf16" if command == "cast" else "-o" if command == "dequantize" else "--seed"
        value = ["7"] if option != "--bf16" else []
        if command in ("gemm", "info"):
            option = "--threads"
        if command == "explore":
            option = "--tokens"
        if command == "random":
            option = "--count"
        rejects(2, "is given twice", command, option, *value, option, *value)


def test_rejects_values_that_are_no_numbers():
    for value in ("", "x", "1.5", "-1", "0x", "1e3", "18446744073709551616", "1 "):
        rejects(2, "--seed", "layer", "a", "b", "c", "-o", "d", "--seed", value)
    for value in ("", "1.5", "--3", "9223372036854775808"):
        rejects(2, "--tensor-exponent", "quantize", "a", "-o", "b", "--tensor-exponent", value)
    for value in ("", "one", "1,5", " 1", "1e39", "-1e99", "1e-60"):  # the last ones are outside the range of FP32
        rejects(2, "--alpha", "gemm", "a", "b", "-o", "c", "--alpha", value)


def test_rejects_values_with_the_range_of_the_option():
    explore = ["explore", "gpt2", "-o", "out"]
    quantize = ["quantize", "X", "-o", "Q.safetensors", "--elem", "e1m2"]
    for words, option, value, told in (
        (explore, "--batches", "1,2", "1 or 2"),
        (explore, "--layers", "x", "from 1 to 1000000"),
        (quantize, "--threads", "-1", "from 0 to 1024"),
        (quantize, "--rht-mask", "zz", "a number with as many bits as the transform has points"),
        (quantize, "--rht-mask", "0x12345", "0x12345 has more bits than the transform's 16 points"),
        (["bias"], "--rht-mask", "0x12345", "0x12345 has more than 16 bits"),
        (quantize, "--backend", "foo", "there are model, rtl, tlm"),
    ):
        rejects(2, told, *words, option, value)


def test_rejects_an_input_without_a_name():
    rejects(2, "the name of an input is empty", "quantize", "", "-o", "Q.safetensors", "--elem", "e1m2")


def test_rejects_unknown_choices():
    result = rejects(2, "e2m1|e1m2|int4", "quantize", "a", "-o", "b", "--elem", "fp4")
    check("'fp4'" in result.err, str(result))
    rejects(2, "x|w|dy", "quantize", "a", "-o", "b", "--role", "")
    rejects(2, "exact|fp32|nv", "gemm", "a", "b", "-o", "c", "--accumulate", "exact|fp32")


def test_rejects_wrong_numbers_of_inputs():
    rejects(2, "too few inputs", "quantize", "-o", "Q.safetensors")
    rejects(2, "too many inputs", "quantize", "a", "b", "-o", "Q.safetensors")
    rejects(2, "too few inputs", "gemm", "a", "-o", "D.npy")
    rejects(2, "too few inputs", "layer", "a", "b", "-o", "D")
    rejects(2, "too many inputs", "random", "a")


def test_rejects_missing_outputs():
    rejects(2, "-o", "quantize", "a", "--elem", "e2m1")
    rejects(2, "-o", "dequantize", "a")
    rejects(2, "-o", "cast", "a", "--to", "e2m1")
    rejects(2, "-o", "gemm", "a", "b")
    rejects(2, "-o", "layer", "a", "b", "c")


def test_rejects_names_of_other_kinds_of_files():
    """The refusal comes before any input is read."""
    npy = (["dequantize", "Q"], ["gemm", "A", "B"], ["cast", "X", "--to", "e2m1"])
    for words in npy:
        for name in ("x.safetensors", "x.safetensors:x"):
            rejects(2, f"{name}: this command writes a .npy file", *words, "-o", name)
    for name in ("x.npy", "x.safetensors:x"):
        rejects(2, f"{name}: this command writes a .safetensors file", "quantize", "X", "--elem", "e2m1", "-o", name)
    for words in (
        *npy,
        ["quantize", "X", "--elem", "e2m1"],
        ["layer", "X", "W", "dY"],
        ["train", "text"],
        ["vectors", "rht"],
    ):
        rejects(2, "does not write to standard output", *words, "-o", "-")
        rejects(2, "the name of the output is empty", *words, "-o", "")
        rejects(2, "'=x' begins with '='; leave it out", *words, "-o=x")


def test_rejects_device_options_out_of_range():
    stand.write_npy("X.npy", [[1.0]])
    for option, value in (
        ("--config", "huge"),
        ("--mem-latency", "0"),
        ("--mem-latency", "100001"),
        ("--mem-bandwidth", "5000"),
        ("--dram", "ddr5"),
        ("--threads", "2000"),
    ):
        rejects(2, f"{option}: ", "layer", "X.npy", "X.npy", "X.npy", "-o", "out", "--backend", "rtl", option, value)
    rejects(
        2,
        "no memory is called 'ddr5'; there are none, lpddr5 and hbm3, or as hbm3:8 with 1 to 1024 channels\n",
        "layer",
        "X.npy",
        "X.npy",
        "X.npy",
        "-o",
        "out",
        "--backend",
        "tlm",
        "--dram",
        "ddr5",
    )
    rejects(2, "no backend is called", "layer", "X.npy", "X.npy", "X.npy", "-o", "out", "--backend", "gpu")
    rejects(2, "no backend is called", "layer", "X.npy", "X.npy", "X.npy", "-o", "out", "--check", "gpu")


def test_rejects_options_of_the_simulated_core_without_one():
    """The refusal comes before any input is read; an unknown backend has an error of its own."""
    given = (
        ("--config", "small"),
        ("--mem-latency", 5),
        ("--mem-bandwidth", 8),
        ("--dram", "hbm3"),
        ("--stall", 1),
        ("--max-cycles", 9),
        ("--trace", "t.fst"),
        ("--timeline", "t.json"),
    )
    for option, value in given:
        words = f"{option} needs a simulated core, which backend model is not"
        rejects(2, words, "layer", "X", "W", "dY", "-o", "out", option, value)
        rejects(2, words, "gemm", "A", "B", "-o", "D.npy", option, value, "--check", "model")
        rejects(2, words, "train", "text", "-o", "out", option, value)
        rejects(2, words, "demo", "--backend", "model", option, value)
        if option != "--config":
            rejects(2, words, "info", "--backend", "model", option, value)
        rejects(2, f"{option} needs --backend", "info", option, value)
        rejects(2, "which backend cuda is not", "gemm", "A", "B", "-o", "D.npy", "--backend", "cuda", option, value)
        rejects(2, "A: ", "gemm", "A", "B", "-o", "D.npy", "--check", "rtl", option, value)


def test_a_backend_compared_with_itself_is_told():
    stand.write_npy("X.npy", stand.gaussian(16, 32))
    quantize = ["quantize", "X.npy", "-o", "Q.safetensors", "--elem", "e1m2"]
    passes(*quantize)
    gemm = ["gemm", "Q.safetensors", "Q.safetensors", "-o", "D.npy"]
    for words in (quantize, gemm, ["layer", "X.npy", "X.npy", "-", "-o", "out", "--pass", "fprop"]):
        told = f"ufp4 {words[0]}: --check model compares the backend with itself; name another\n"
        check(told in passes(*words, "--check", "model").err, f"{words} do not say it")
        check(told not in passes(*words, "--backend", "tlm", "--check", "model").err, f"{words} say it of another")


def test_rejects_waveforms_of_what_has_no_signals():
    words = "--trace writes the core's signals, and backend tlm has none; use --backend rtl"
    rejects(2, words, "layer", "X", "W", "dY", "-o", "out", "--backend", "tlm", "--trace", "t.fst")
    rejects(2, words, "gemm", "A", "B", "-o", "D.npy", "--backend", "tlm", "--check", "model", "--trace", "t.fst")
    rejects(2, "A: ", "gemm", "A", "B", "-o", "D.npy", "--backend", "tlm", "--check", "rtl", "--trace", "t.fst")


def test_rejects_timing_only_with_data():
    gemm, layer = ["gemm", "A", "B", "--timing-only"], ["layer", "X", "W", "dY", "--timing-only"]
    for words in gemm, layer:
        for backend in "model", "rtl", "cuda":
            rejects(2, f"backend {backend} is another one; use --backend tlm", *words, "--backend", backend)
        rejects(2, "no data for --check to compare", *words, "--backend", "tlm", "--check", "model")
        rejects(2, "leave out -o", *words, "--backend", "tlm", "-o", "out.npy")
    rejects(2, "is not an option", "train", "text", "-o", "out", "--timing-only")


def test_options_may_stand_anywhere():
    check_equal(run("random", "--count", "2").out, run("random", "--count=2").out, "draws")
    stand.write_npy("X.npy", [[1.0]])
    passes("quantize", "--elem", "e2m1", "-o", "Q.safetensors", "X.npy")
    passes("quantize", "--elem=e2m1", "-oQ.safetensors", "--", "X.npy")


if __name__ == "__main__":
    stand.main(globals())
