# SPDX-License-Identifier: Apache-2.0
"""ufp4 --needs: what the launcher installs and builds before it runs a command line."""

import stand
from stand import check, check_equal, passes, rejects

CORE, NAME = "rows=8:cols=8:bus=32", "8x8-64x64-c16-b32-q16"
MULTIPLY = ("gemm", "A", "B", "-o", "D.npy")


def needs(*words):
    result = passes("--needs", *words)
    check_equal(result.err, "", "messages")
    return result.out.splitlines()


def test_systemc_where_a_backend_is_one():
    for words in (
        (*MULTIPLY, "--backend", "systemc"),
        (*MULTIPLY, "--backend=systemc:timed"),
        (*MULTIPLY, "--check", "systemc:timed"),
        ("info", "--backend", "systemc"),
    ):
        check_equal(needs(*words), ["systemc"], words)
    for words in (
        MULTIPLY,
        ("gemm", "systemc", "B", "-o", "D.npy"),
        (*MULTIPLY, "--backend", "systemcc"),
        ("gemm", "A", "B", "-o", "systemc"),
        ("demo",),
        ("bench", "--backend", "cuda"),
    ):
        check_equal(needs(*words), [], words)


def test_configurations_whose_rtl_is_simulated():
    """The name is the one that the program makes of the parameters; the timed model needs no build."""
    for words in (
        (*MULTIPLY, "--config", CORE, "--backend", "rtl"),
        (*MULTIPLY, f"--config={CORE}", "--check", "rtl"),
        ("demo", "--config", CORE),
    ):
        check_equal(needs(*words), [f"configuration {NAME}"], words)
    check_equal(needs("demo", "--config", "tiny"), ["configuration tiny"], "a named one")
    with open("mine.toml", "w") as file:
        file.write("rows = 8\ncols = 8\nbus = 32\n")
    check_equal(needs("demo", "--config", "mine.toml"), [f"configuration {NAME}"], "one of a file")
    check_equal(
        needs(*MULTIPLY, "--config", CORE, "--backend", "systemc"), ["systemc", f"configuration {NAME}"], "both"
    )
    for backend in ("tlm", "model", "systemc:timed"):
        check(f"configuration {NAME}" not in needs(*MULTIPLY, "--config", CORE, "--backend", backend), backend)
    check_equal(needs("explore", "gpt2", "-o", "out", "--config", "large"), ["drawing optional"], "a list of others")


def test_drawing_where_a_file_is_drawn():
    for command in (("train",), ("train", "text"), ("explore", "gpt2")):
        check_equal(needs(*command, "-o", "out"), ["drawing optional"], command)
    for words in (("--plot", "p.svg"), ("--plot=p.svg",)):
        check_equal(needs("bias", *words), ["drawing required"], words)
    check_equal(needs("bias"), [], "tables alone")


def test_board_by_configuration_and_memory():
    for words, board in (
        ((), "tiny/block"),
        (("--board", "sdram", "--faults", "3", "--fault-bytes=1000"), "tiny/sdram"),
        (("--config", CORE), f"{NAME}/block"),
    ):
        check_equal(needs("board-sim", *words), [f"board {board}"], words)


def test_rejects_what_is_no_board():
    rejects(2, "ufp4 board-sim: --config: configuration 'rows=99': Rows", "--needs", "board-sim", "--config", "rows=99")
    rejects(2, "ufp4 board-sim: --board: 'flash' is not one of", "--needs", "board-sim", "--board", "flash")
    rejects(2, "--nosuch is not an option", "--needs", "board-sim", "--nosuch")
    rejects(2, "too many inputs", "--needs", "board-sim", "tiny")


def test_nothing_where_nothing_is_run():
    """The launcher runs such a line all the same: the command says what is wrong."""
    for words in ((), ("--help",), ("help", "train"), ("nosuch",), ("train", "--help", "-o", "out"), ("train", "-h")):
        check_equal(needs(*words), [], words)
    check_equal(needs("demo", "--config", "rows=99"), [], "no configuration")
    check_equal(needs("train", "--steps", "1"), [], "-o is missing")
    for words in (
        ("train", "-o", "out", "--nosuch"),
        ("train", "-o", "out", "--ste", "1"),
        ("explore", "gpt2", "-o", "out", "--step=1"),
        ("bias", "--plot", "p.svg", "--plo"),
        ("gemm", "A", "--backend", "systemc"),
    ):
        check_equal(rejects(2, "ufp4 ", "--needs", *words).out, "", words)


if __name__ == "__main__":
    stand.main(globals())
