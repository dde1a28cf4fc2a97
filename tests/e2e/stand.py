# SPDX-License-Identifier: Apache-2.0
"""Functions that the tests of the program share: running it in an empty folder, tensor files, and checks that print
what they saw.

A script is run as SCRIPT PROGRAM FUNCTION; without FUNCTION it runs all of its tests."""

import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

# The seed of every random test; 0 unless the environment sets it. Bits 7..0 of a stall seed choose its kind.
TEST_SEED = int(os.environ.get("UFP4_TEST_SEED") or "0", 0)
# True if tests with a choice draw many cases, as ./ufp4 test --full demands; check_draws is its counterpart in C.
DRAWS_ALL = os.environ.get("UFP4_TEST_DRAWS") == "all"


def stream(number):
    """Returns the seed of one of several streams, as check_stream of the tests in C does."""
    return (number + 1000003 * TEST_SEED) % 2**64


def stall(kind):
    """Returns a value for --stall in the same way."""
    return kind + (TEST_SEED % 2**48 << 8)


class Result:
    """One run of the program."""

    def __init__(self, arguments, status, out, err):
        self.arguments, self.status, self.out, self.err = arguments, status, out, err

    def __str__(self):
        return (
            f"ufp4 {' '.join(self.arguments)}\n  exit status {self.status}\n  stdout {self.out!r}\n"
            f"  stderr {self.err!r}"
        )


def slow(test):
    """CMakeLists.txt reads this decorator and gives the test the label slow."""
    return test


def full(test):
    """CMakeLists.txt reads this decorator and gives the test the label full."""
    return test


def run(*arguments, under=(), **options):
    """Runs the program, after the words `under`, with a time limit; options go to subprocess.run."""
    words = [str(a) for a in arguments]
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    done = subprocess.run([*under, PROGRAM, *words], text=True, timeout=3600, **how)
    return Result(words, done.returncode, done.stdout, done.stderr)


def passes(*arguments, **how):
    """Runs the program, which must end with 0."""
    result = run(*arguments, **how)
    check(result.status == 0, f"should succeed: {result}")
    return result


def refuses(status, words, *arguments, printed=False, **how):
    """Runs the program, which must end with that status and one line that contains the words. It must print no results,
    unless they come before the failure (printed)."""
    result = run(*arguments, **how)
    check(result.status == status, f"should end with {status}: {result}")
    check(result.err.count("\n") == 1 and result.err.startswith("ufp4"), f"should say one line: {result}")
    check(words in result.err, f"should say {words!r}: {result}")
    check(bool(result.out) == printed, f"should {'' if printed else 'not '}print results: {result}")
    return result


def rejects(status, words, *arguments, **how):
    """Does the same, and checks that the program leaves no new file."""
    before = listing()
    result = refuses(status, words, *arguments, **how)
    check(listing() == before, f"left files behind: {listing()}: {result}")
    return result


def listing():
    """Lists every file below the test's folder with its size."""
    return sorted((str(p), p.lstat().st_size) for p in pathlib.Path(".").rglob("*"))


class Skipped(Exception):
    """Something that the test needs is missing; the text says what."""


def demand_drawing():
    """Makes the program draw pages and tables of comparisons by Python from now on, for a test that reads them."""
    if "UFP4_TEST_PYTHON" not in os.environ:
        raise Skipped("scipy, matplotlib or jinja2 is missing; ./ufp4 test installs them from PyPI")
    os.environ["UFP4_PYTHON"] = os.environ["UFP4_TEST_PYTHON"]


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def check_equal(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


# --- Numbers --------------------------------------------------------------------------------------------


def f32_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def to_f32(value):
    """Rounds a float64 within the range of float32 to the nearest, ties to even."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def gaussian(rows, cols, factor=1.0, seed=1):
    generator = random.Random(f"{rows} {cols} {stream(seed)}")
    return [[to_f32(generator.gauss(0, factor)) for _ in range(cols)] for _ in range(rows)]


# --- Files ----------------------------------------------------------------------------------------------

KINDS = {"<f4": "f", "<f8": "d", "<f2": "e", "<u2": "H", "<i4": "i", "<i8": "q", "|u1": "B"}


def npy_bytes(rows, descr="<f4", shape=None, fortran=False):
    shape = (len(rows), len(rows[0])) if shape is None else shape
    order = zip(*rows) if fortran else rows
    data = b"".join(struct.pack("<" + KINDS[descr] * len(row), *row) for row in order)
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def write_npy(path, rows, **options):
    pathlib.Path(path).write_bytes(npy_bytes(rows, **options))
    return path


def read_npy(path):
    """Returns (descr, rows)."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack_from("<H", data, 8)[0]
    header = eval(data[10 : 10 + length].decode(), {"__builtins__": {}})  # a literal, written by the program under test
    check((10 + length) % 64 == 0, f"{path}: data starts at {10 + length}")
    count_rows, count_cols = header["shape"]
    kind = KINDS[header["descr"]]
    check(not header["fortran_order"], f"{path}: order")
    values = struct.unpack(f"<{count_rows * count_cols}{kind}", data[10 + length :])
    return header["descr"], [list(values[r * count_cols : (r + 1) * count_cols]) for r in range(count_rows)]


def read_safetensors(path):
    """Returns (metadata, {name: (dtype, shape, bytes)})."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    data = data[8 + length :]
    return metadata, {
        name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()
    }


def write_safetensors(path, metadata, tensors):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


# --- Decoding, from the definition ------------------------------------------------------------------------

QUANTA = {"e2m1": [0, 1, 2, 3, 4, 6, 8, 12], "e1m2": [0, 1, 2, 3, 4, 5, 6, 7]}
FRACTION = {"e2m1": 1, "e1m2": 2, "int4": 0}


def element(elem, code):
    if elem == "int4":
        return float(code - 16 if code > 7 else code)
    return math.ldexp(math.copysign(QUANTA[elem][code & 7], -1 if code > 7 else 1), -FRACTION[elem])


def e4m3(byte):
    byte &= 0x7F
    if byte == 0x7F:
        return math.nan
    exponent, mantissa = byte >> 3, byte & 7
    return math.ldexp(mantissa, -9) if exponent == 0 else math.ldexp(8 + mantissa, exponent - 10)


def decode(path):
    """Returns decoded rows in float64 with t applied, for every stored column."""
    metadata, tensors = read_safetensors(path)
    rows, width = tensors["codes"][1]
    blocks = tensors["scales"][1][1]
    t = int(metadata["tensor_exponent"])
    codes, scales = tensors["codes"][2], tensors["scales"][2]
    return [
        [
            math.ldexp(element(metadata["elem"], codes[r * width + c]) * e4m3(scales[r * blocks + c // 16]), -t)
            for c in range(width)
        ]
        for r in range(rows)
    ]


def product(a, b):
    """Returns A B^T in float64, which is exact for the sizes used here. An exact zero is +0."""
    return [[math.fsum(x * y for x, y in zip(row, col)) + 0.0 for col in b] for row in a]


def same_bits(got, want, what):
    for r, (got_row, want_row) in enumerate(zip(got, want, strict=True)):
        for c, (g, w) in enumerate(zip(got_row, want_row, strict=True)):
            check(f32_bits(g) == f32_bits(w), f"{what}[{r}][{c}]: got 0x{f32_bits(g):08x}, want 0x{f32_bits(w):08x}")


# --- Running tests ----------------------------------------------------------------------------------------


def main(functions):
    global PROGRAM, SCRIPT
    SCRIPT, PROGRAM = os.path.abspath(sys.argv[0]), os.path.abspath(sys.argv[1])
    tests = {name: f for name, f in functions.items() if name.startswith("test_")}
    wanted = sys.argv[2:] or list(tests)
    for name in wanted:
        if name not in tests:
            sys.exit(f"no test is called {name}")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                tests[name]()
            except Skipped as reason:
                print(f"skipped: {reason}")
            except AssertionError as problem:
                sys.exit(
                    f"{name} failed (seed {TEST_SEED}): {problem}\n"
                    f"to see it again: UFP4_TEST_SEED={TEST_SEED} python3 {SCRIPT} {PROGRAM} {name}"
                )
            finally:
                os.chdir("/")
