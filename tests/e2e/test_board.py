# SPDX-License-Identifier: Apache-2.0
"""Tests a layer on a board: the whole board in Verilator behind a pseudo-terminal, with the program at the other
end."""

import json
import os
import signal
import subprocess
import time

import stand
from stand import check, check_equal, passes, rejects, slow

TOKENS, CIN, COUT = 512, 64, 64


class Board:
    """A simulated board that runs for the duration of a with statement."""

    def __init__(self, *options):
        program = os.environ["UFP4_BOARD_SIM"]
        self.process = subprocess.Popen([program, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().strip()
        check(self.port.startswith("/dev/"), f"the first line is {self.port!r}: {self.process.poll()}")
        self.backend = f"fpga:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.err = self.process.communicate(timeout=600)[1]
        check_equal(self.process.returncode, 0, f"status of the board: {self.err}")


def tensors(tokens=TOKENS, cin=CIN, cout=COUT):
    for seed, (name, rows, cols) in enumerate((("X", tokens, cin), ("W", cout, cin), ("dY", tokens, cout))):
        stand.write_npy(f"{name}.npy", stand.gaussian(rows, cols, seed=seed))
    return ["X.npy", "W.npy", "dY.npy"]


def check_layer(board, names, *options):
    result = passes("layer", *names, "-o", "out", "--backend", board.backend, "--check", "model", "--json", *options)
    whole = json.loads(result.out)
    check_equal(whole["verdict"], "equal", str(result))
    check("the host quantizes" in result.err, f"the host quantizes: {result}")
    return whole["cases"]


@slow
def test_a_layer_equals_the_model():
    """The layer is 512 x 64 x 64, and the board must keep its array busy."""
    with Board() as board:
        cases = check_layer(board, tensors())
        check_equal([case["pass"] for case in cases], ["fprop", "dgrad", "wgrad"], "passes")
        check(all(case["util_percent"] > 99 for case in cases), f"utilization {cases}")


@slow
def test_a_tensor_is_quantized_by_the_host_where_the_core_has_no_engine():
    stand.write_npy("X.npy", stand.gaussian(16, 32))
    with Board() as board:
        done = passes(
            "quantize", "X.npy", "-o", "Q.safetensors", "--elem", "e1m2", "--backend", board.backend, "--check", "model"
        )
        check(
            f"the host quantizes for {board.backend}: tiny has no QUANT engine\n" in done.err and "equal" in done.err,
            f"{done}",
        )


@slow
def test_faults_change_no_bit():
    """One byte in 20,000 is dropped, doubled or changed."""
    with Board("--faults", "1") as board:
        check_layer(board, tensors())
    check(int(board.err.split()[-4]) > 5, f"faults: {board.err}")


@slow
def test_a_line_that_damages_much_changes_no_bit():
    """With one damaged byte in 200 a frame of full length hardly ever arrives."""
    with Board("--faults", "3", "--fault-bytes", "200") as board:
        check_layer(board, tensors(128))
    check(int(board.err.split()[-4]) > 1000, f"faults: {board.err}")


@slow
def test_tells_what_it_is():
    with Board() as board:
        device = json.loads(passes("info", "--backend", board.backend, "--json").out)["device"]
        check_equal(
            (device["configuration"]["name"], device["cycles"], device["memory_bytes"]),
            ("tiny", True, 1 << 19),
            "device",
        )
        check(device["hardware"].startswith("board sim, core at "), device["hardware"])
        text = passes("info", "--backend", board.backend, "--selftest").out
        check("memory      512000          0 equal\n" in text and "gemm          3840          0 equal\n" in text, text)


@slow
def test_rejects_what_the_board_has_not():
    names = tensors(2048)
    with Board() as board:
        layer = ("layer", *names, "-o", "out", "--backend", board.backend)
        rejects(3, "the core is tiny, but small was requested", *layer, "--config", "small")
        rejects(3, "does not multiply e2m1", *layer, "--recipe", "e2m1")
        rejects(3, "a layer of 2048 x 64 x 64 needs ", *layer)
        rejects(2, "--stall needs a simulated core", *layer, "--stall", "1")
        rejects(2, "--trace needs a simulated core", *layer, "--trace", "x.fst")
        rejects(2, "is the same board that computes", *layer, "--check", f"{board.backend}@9600")


@slow
def test_rejects_models_and_gemms_larger_than_its_memory():
    """The refusal comes before the training, which would take many seconds."""
    stand.write_npy("X.npy", stand.gaussian(1024, 1024))
    passes("quantize", "X.npy", "-o", "X.safetensors", "--elem", "e1m2")
    with Board() as board:
        options = ("--backend", board.backend)
        where = "bytes of device memory, but only 512000 are free"
        for command in (
            ("demo", "--sequences", "64", "--steps", "100000"),
            ("train", "-o", "out", "--recipe", "bf16,ufp4", "--batch", "64", "--steps", "100000"),
        ):
            began = time.monotonic()
            result = rejects(3, "a layer of 8192 x 64 x 192 needs ", *command, *options)
            check(where in result.err, str(result))
            check(time.monotonic() - began < 30, "it trained first")
        result = rejects(
            3,
            "a GEMM of 1024 x 1024 x 1024 needs 5373952 ",
            "gemm",
            "X.safetensors",
            "X.safetensors",
            "-o",
            "D.npy",
            *options,
        )
        check(where in result.err, str(result))


def started(board, names):
    """Starts a layer and waits until it has the board and is at work."""
    words = [stand.PROGRAM, "layer", *names, "-o", "out", "--backend", board.backend]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check("the host quantizes" in process.stderr.readline(), "its first line")
    time.sleep(0.5)
    check(process.poll() is None, "it has ended early")
    return process


@slow
def test_one_program_at_a_time():
    """The second program is told the number of the first; once that one is killed amid its work, the board is free."""
    with Board() as board:
        names = tensors()
        first = started(board, names)
        rejects(3, f"in use by the process {first.pid}\n", "info", "--backend", board.backend)
        first.kill()
        first.communicate(timeout=600)
        check_layer(board, names, "--pass", "fprop")


@slow
def test_a_reset_amid_a_job_is_told():
    with Board() as board:
        names = tensors()
        first = started(board, names)
        board.process.send_signal(signal.SIGUSR1)
        out, err = first.communicate(timeout=600)
        check_equal(first.returncode, 3, f"status: {out} {err}")
        check("the board has been reset" in err, err)
        check_layer(board, names, "--pass", "wgrad")


@slow
def test_ends_with_its_signal():
    for number in (signal.SIGINT, signal.SIGTERM):
        with Board() as board:
            board.process.send_signal(number)
            board.process.wait(60)
        check(" bytes to the board" in board.err, board.err)


@slow
def test_rejects_wrong_options():
    for words, status in (
        (("--board", "wood"), 3),
        (("--config", "nope"), 3),
        (("--faults", "x"), 2),
        (("--fault-bytes", "0"), 2),
        (("--fault-bytes", "5"), 2),
        (("--speed", "1"), 2),
        (("left",), 2),
    ):
        done = subprocess.run([os.environ["UFP4_BOARD_SIM"], *words], capture_output=True, text=True, timeout=600)
        check(done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, f"{words}: {done}")


if __name__ == "__main__":
    stand.main(globals())
