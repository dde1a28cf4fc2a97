# SPDX-License-Identifier: Apache-2.0
"""Tests quantize and dequantize: the files that they read and write, whole or refused."""

import json
import os
import pathlib
import struct
import threading

import stand
from stand import check, check_equal, passes, rejects, slow
from test_quantize import LITTLE_MEMORY, Q, quantize


def test_an_output_is_replaced_whole():
    quantize("--elem", "e2m1")
    before = pathlib.Path("Q.safetensors").read_bytes()
    pathlib.Path("Y.npy").write_bytes(b"nothing")
    rejects(2, "Y.npy", "quantize", "Y.npy", *Q, "--elem", "e2m1")
    check_equal(pathlib.Path("Q.safetensors").read_bytes(), before, "the old file")


def test_rejects_damaged_files():
    cases = [
        (stand.npy_bytes([[1.0, 2.0]])[:-1], "truncated: 7 bytes"),
        (b"", "not a .npy file"),
        (stand.npy_bytes([[1]], "|u1"), "its element type is '|u1'; float32"),
        (stand.npy_bytes([[1]], "<i8"), "its elements are int64; float32"),
        (stand.npy_bytes([[1.0]], shape=(1,)), "it has 1 dimension;"),
    ]
    for data, words in cases:
        pathlib.Path("X.npy").write_bytes(data)
        rejects(2, f"X.npy: {words}", "quantize", "X.npy", *Q, "--elem", "e2m1")


def test_rejects_missing_files():
    rejects(2, "None.npy", "quantize", "None.npy", *Q, "--elem", "e2m1")
    rejects(2, "None.safetensors", "quantize", "None.safetensors:x", *Q, "--elem", "e2m1")
    rejects(2, "None.safetensors", "dequantize", "None.safetensors", "-o", "D.npy")


def test_rejects_outputs_that_cannot_be():
    stand.write_npy("X.npy", [[1.0]])
    rejects(2, "no-folder/Q", "quantize", "X.npy", "-o", "no-folder/Q.safetensors", "--elem", "e2m1")
    rejects(2, "/dev/null", "quantize", "X.npy", "-o", "/dev/null", "--elem", "e2m1")


@slow
def test_reads_only_the_tensor_that_is_named():
    """The model is larger than memory; the hole in its file takes no space on the disk."""
    hole = 16 << 30
    entries = {
        "big": {"dtype": "F32", "shape": [2**16, 2**16], "data_offsets": [0, hole]},
        "small": {"dtype": "F32", "shape": [1, 4], "data_offsets": [hole, hole + 16]},
    }
    header = json.dumps(entries).encode()
    with open("model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.seek(hole, os.SEEK_CUR)
        file.write(struct.pack("<4f", 0.5, 1, 2, 3))
    stand.write_npy("X.npy", [[0.5, 1.0, 2.0, 3.0]])
    passes("quantize", "X.npy", "-o", "want.safetensors", "--elem", "e1m2")
    check_equal(
        passes("quantize", "model.safetensors:small", *Q, "--elem", "e1m2", under=LITTLE_MEMORY).err, "", "message"
    )
    check_equal(pathlib.Path("Q.safetensors").read_bytes(), pathlib.Path("want.safetensors").read_bytes(), "the codes")


def test_rejects_what_is_no_npy_before_it_reads_it():
    with open("X.npy", "wb") as file:
        file.truncate(16 << 30)
    rejects(2, "not a .npy file", "quantize", "X.npy", *Q, "--elem", "e1m2", under=LITTLE_MEMORY)


def test_rejects_a_name_behind_a_quantized_tensor():
    stand.write_npy("X.npy", [[1.0]])
    passes("quantize", "X.npy", *Q, "--elem", "e1m2")
    rejects(
        2,
        "name a tensor that ufp4 quantize wrote without :LAYER",
        "dequantize",
        "Q.safetensors:codes",
        "-o",
        "D.npy",
    )


def test_rejects_an_output_that_is_read_only():
    stand.write_npy("X.npy", [[1.0]])
    pathlib.Path("Q.safetensors").write_text("precious")
    os.chmod("Q.safetensors", 0o444)
    mere = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.geteuid() == 0 else []
    rejects(
        2,
        "ufp4 quantize: Q.safetensors: cannot write: Permission denied\n",
        "quantize",
        "X.npy",
        *Q,
        "--elem",
        "e1m2",
        under=mere,
    )
    check_equal(pathlib.Path("Q.safetensors").read_text(), "precious", "the file")


def test_takes_files_from_pipes():
    """Covers a named pipe and standard input."""
    stand.write_npy("X.npy", stand.gaussian(5, 37))
    passes("quantize", "X.npy", *Q, "--elem", "e1m2")
    passes("dequantize", "Q.safetensors", "-o", "want.npy")
    os.mkfifo("P.safetensors")
    writer = threading.Thread(
        target=lambda: pathlib.Path("P.safetensors").write_bytes(pathlib.Path("Q.safetensors").read_bytes())
    )
    writer.start()
    passes("dequantize", "P.safetensors", "-o", "D.npy")
    writer.join()
    check_equal(stand.read_npy("D.npy"), stand.read_npy("want.npy"), "the values")
    done = passes(
        "quantize", "/dev/stdin", "-o", "P2.safetensors", "--elem", "e1m2", under=["sh", "-c", 'cat X.npy | "$@"', "sh"]
    )
    check_equal(done.err, "", "message")
    check_equal(pathlib.Path("P2.safetensors").read_bytes(), pathlib.Path("Q.safetensors").read_bytes(), "the codes")


def test_rejects_a_file_without_the_name_of_a_tensor():
    data = struct.pack("<f", 1.0)
    stand.write_safetensors("T.safetensors", {}, {"a": ("F32", [1, 1], data), "b.weight": ("F32", [1, 1], data)})
    result = rejects(2, "FILE.safetensors:NAME", "quantize", "T.safetensors", *Q, "--elem", "e2m1")
    check("it has a, b.weight" in result.err, str(result))
    many = {f"model.layers.{i}.weight": ("F32", [1, 1], data) for i in range(100)}
    stand.write_safetensors("T.safetensors", {}, many)
    result = rejects(2, "it has model.layers.0.weight, ", "quantize", "T.safetensors", *Q, "--elem", "e2m1")
    check(result.err.endswith(", ...\n") and len(result.err) < 400, str(result))


def test_rejects_recipes_that_are_no_files():
    stand.write_npy("X.npy", [[1.0]])
    os.mkdir("r.json")
    for name, why in (("r.json", "Is a directory"), ("own.json", "No such file")):
        rejects(
            2,
            f"{name}: cannot be read: {why}",
            "quantize",
            "X.npy",
            *Q,
            "--recipe",
            name,
            "--role",
            "x",
            "--pass",
            "fprop",
        )


def test_rejects_a_folder_as_the_tensor():
    os.mkdir("t")
    rejects(2, "t: cannot read: Is a directory", "quantize", "t", "-o", "t/x.safetensors", "--elem", "e1m2")


def test_rejects_operands_that_are_none():
    stand.write_npy("X.npy", [[1.0]])
    rejects(2, "X.npy", "dequantize", "X.npy", "-o", "D.npy")
    stand.write_safetensors("P.safetensors", {}, {"codes": ("F32", [1, 1], b"abcd")})
    rejects(2, "elem", "dequantize", "P.safetensors", "-o", "D.npy")


def test_rejects_an_output_that_is_an_input_with_a_colon_in_its_name():
    stand.write_safetensors("w.safetensors", {}, {"a:b": ("F32", [1, 2], bytes(8)), "keep": ("F32", [1, 2], bytes(8))})
    for name in ("a:b", "keep"):
        rejects(2, "is also an input", "quantize", f"w.safetensors:{name}", "-o", "w.safetensors", "--elem", "e2m1")


if __name__ == "__main__":
    stand.main(globals())
