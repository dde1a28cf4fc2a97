# SPDX-License-Identifier: Apache-2.0
"""Files of quantized tensors: .safetensors of format "ufp4-1", identical to those of the program."""

import decimal
import errno
import json
import math
import os
import pathlib
import re
import secrets
import stat
from ctypes import byref

import numpy as np

from . import _library as c
from . import _recipe
from . import _spec as s

F8 = {"e4m3": "F8_E4M3", "nvfp4": "F8_E4M3", "e8m0": "F8_E8M0"}
HEADER_LIMIT = 100_000_000  # bytes, as in the safetensors package
FLOAT = np.finfo(np.float32)
DECIMAL = re.compile(r"[ \t\n\v\f\r]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")


# --- Writing -------------------------------------------------------------------------------------


def _metadata(q):
    o, how = q._operand, q._how
    rht = "none" if how.rht == 0 else f"{'bf16:' if how.rht == 2 else ''}0x{how.rht_mask:0{q.rht_size // 4}X}"
    out = {"format": "ufp4-1", "elem": q.elem, "scale": q.scale, "block": str(o.block), "axis": q.axis, "rht": rht}
    if q.rht_size > 16:
        out["rht_size"] = str(q.rht_size)
    out |= {"round": q.round, "scale_round": q.scale_round, "seed": str(how.seed), "tensor_id": str(how.tensor_id)}
    if q.scale == "nvfp4":
        out["tensor_scale"] = f"{o.tensor_scale:.9g}"
    else:
        out["tensor_exponent"] = str(o.exponent)
    return out | {"rows": str(o.rows), "cols": str(o.cols), "flags": ",".join(q.flags)}


def _parts(q, packed):
    """Returns the header and the arrays that follow it. FP32 scales come first, so that they are aligned to 4 bytes."""
    codes, scales = (q.packed_codes if packed else q.codes), q.scales
    arrays = [("codes", "U8", codes), ("scales", "F32" if q.scale == "fp32" else "U8", scales)]
    if q.scale == "fp32":
        arrays.reverse()
    entries, at = {}, 0
    for name, dtype, array in arrays:
        entries[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    header = {"__metadata__": _metadata(q), "codes": entries["codes"], "scales": entries["scales"]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text] + [np.ascontiguousarray(array).data for _, _, array in arrays]


def write(q, path, packed):
    parts = _parts(q, packed)
    if path is None:
        return b"".join(parts)
    named = os.fsdecode(path)
    try:
        _write_beside(pathlib.Path(os.path.realpath(named)), parts)
    except OSError as error:  # the error may name the temporary file
        raise OSError(error.errno, error.strerror, named) from None


def _write_beside(path, parts):
    there = path.stat() if path.exists() else None
    if there and not stat.S_ISREG(there.st_mode):
        raise OSError(errno.EINVAL, "it already exists and is not a regular file")
    beside = path.with_name(f".ufp4-{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            if there:
                os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode) & 0o777)
            for part in parts:
                file.write(part)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


# --- Reading -------------------------------------------------------------------------------------


def _header(data):
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(len(data) - 8, HEADER_LIMIT):
        raise ValueError("not a safetensors file: its header is longer than the file")
    try:
        header = json.loads(bytes(data[8 : 8 + size]).decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ValueError("not a safetensors file: its header is not a JSON object")
    metadata = header.get("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("not a safetensors file: its metadata is not an object of strings")
    _check_places(header, len(data) - 8 - size)
    return header, metadata, data[8 + size :]


def _unique(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _are_numbers(value):
    return isinstance(value, list) and len(value) == 2 and all(type(v) is int and v >= 0 for v in value)


def _check_places(header, size):
    """Checks that the tensors are adjacent and fill the file, as the format requires."""
    places = [
        entry.get("data_offsets") if isinstance(entry, dict) else None
        for name, entry in header.items()
        if name != "__metadata__"
    ]
    at = 0 if all(map(_are_numbers, places)) else -1
    for begin, end in sorted(places) if at == 0 else []:
        at = end if begin == at <= end else -1
    if at != size:
        raise ValueError(
            f"not a safetensors file: the offsets of its tensors do not cover its {size} bytes of data without "
            "gaps or overlaps"
        )


def _tensor(header, body, name, accepted):
    """Returns (type, 2-D array of bytes or FP32) of a tensor; F4 has half as many columns, of two codes each."""
    entry = header.get(name)
    if not isinstance(entry, dict):
        raise ValueError(f"tensor {name} is missing")
    dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if dtype not in accepted:
        raise ValueError(f"{name}: its element type is {dtype}; {' or '.join(accepted)} is needed")
    if not _are_numbers(shape) or 0 in shape:
        raise ValueError(f"{name}: it must have two dimensions and not be empty")
    rows, cols = shape
    if dtype == "F4" and cols % 2:
        raise ValueError(f"{name}: type F4 needs an even number of columns; here it is {cols}")
    width = {"F4": cols // 2, "F32": 4 * cols}.get(dtype, cols)
    begin, end = offsets
    if end - begin != rows * width:
        raise ValueError(f"{name}: its offsets {begin} and {end} do not match {rows} x {cols} in {len(body)} bytes")
    array = np.frombuffer(body, np.uint8, rows * width, begin).reshape(rows, width)
    return dtype, array.copy().view("<f4").astype(np.float32, copy=False) if dtype == "F32" else array


def _number(metadata, key, low, high, default):
    text = metadata.get(key)
    if text is None:
        return default
    if not re.fullmatch(r"-?[0-9]{1,20}", text) or not low <= int(text) <= high:
        raise ValueError(f"metadata {key} is '{text}'; it must be a number from {low} to {high}")
    return int(text)


def _word(metadata, key, names, default=None):
    if key not in metadata and default is None:
        raise ValueError(f"metadata {key} is missing; elem, scale and block are needed")
    return c.index_of(metadata.get(key, default), names, f"metadata {key}")


def _how(metadata):
    """Returns the metadata as a ufp4_quantize_t, after checking that it is legal."""
    if metadata.get("format", "ufp4-1") != "ufp4-1":
        raise ValueError(f"metadata format is '{metadata['format']}'; it must be ufp4-1")
    how = c.Quantize(elem=_word(metadata, "elem", s.ELEMS), scale=_word(metadata, "scale", s.SCALES))
    if "block" not in metadata:
        raise ValueError("metadata block is missing; elem, scale and block are needed")
    block = s.SCALE_BLOCK[how.scale]
    how.block = _number(metadata, "block", block, 128 if s.SCALES[how.scale] == "e4m3" else block, block)
    rht, points = re.fullmatch(r"none|(bf16:)?((?:0[xX])?[0-9A-Fa-f]{1,16})", metadata.get("rht", "none")), 16
    if rht and rht[2]:
        points = _number(metadata, "rht_size", 16, 64, 16)
    if not rht or (rht[2] and int(rht[2], 16) >> points):
        raise ValueError(
            f"metadata rht is '{metadata['rht']}'; it must be none, a mask in hex of rht_size bits (16 by "
            "default), or bf16: followed by such a mask"
        )
    how.rht_mask = s.RHT_MASK
    if rht[2]:
        how.rht, how.rht_mask, how.rht_size = 2 if rht[1] else 1, int(rht[2], 16), points
    how.axis = _word(metadata, "axis", _recipe.AXES, "row")
    how.round = _word(metadata, "round", s.ROUNDS, "rne")
    how.scale_round = _word(
        metadata, "scale_round", s.SCALE_ROUNDS, "down" if s.SCALES[how.scale] == "e8m0" else s.SCALE_ROUNDS[0]
    )
    how.seed = _number(metadata, "seed", 0, 2**64 - 1, 0)
    how.tensor_id = _number(metadata, "tensor_id", 0, 2**64 - 1, 0)
    e4m3 = how.scale == s.SCALES.index("e4m3")
    bound = (-32768, 32767) if e4m3 else (0, 0)
    how.exponent_given, how.exponent = int(e4m3), _number(metadata, "tensor_exponent", *bound, 0)
    message = c.Message()
    if c.lib.combination_quantize(byref(how), 0, None, byref(message)) != c.OK:
        raise ValueError(f"metadata: {message.text.decode()}")
    return how


def _tensor_scale(metadata, scale):
    text = metadata.get("tensor_scale")
    if text is None:
        return 1.0
    value = c.float32(decimal.Decimal(text)) if DECIMAL.fullmatch(text) else math.nan
    if not 0 < value <= FLOAT.max or (scale != "nvfp4" and value != 1):
        raise ValueError(
            f"metadata tensor_scale is '{text}'; it must be a finite number above 0, and 1 unless scale is nvfp4"
        )
    return value


def _layout(metadata, how, dtype, codes, scales):
    """Returns (cols, columns stored, packed). Without cols in the metadata the number of scales tells whether codes are
    packed."""
    block, points, (rows, width), blocks = (
        c.lib.how_block(byref(how)),
        c.lib.how_points(byref(how)),
        codes.shape,
        scales.shape[1],
    )
    cols = _number(metadata, "cols", 1, 2**62, None)
    if cols is None:
        packed = dtype == "F4" or -(-width // block) != blocks
        cols = stored = 2 * width if packed else width
    else:
        stored = -(-cols // 16) * 16 if how.rht else cols
        packed = dtype == "F4" or stored != width or stored == 1  # with one column both hold the code in the low nibble
    good = (
        (-(-stored // 2) if packed else stored) == width and -(-stored // block) == blocks and scales.shape[0] == rows
    )
    if (
        not good
        or (how.rht and (cols if points > 16 else stored) % points)
        or _number(metadata, "rows", 1, 2**62, rows) != rows
    ):
        raise ValueError(
            f"codes of {rows} x {width} do not match scales of {scales.shape[0]} x {blocks}; "
            f"codes are [rows][cols], or packed [rows][ceil(cols/2)], and scales [rows][ceil(cols/{block})]"
        )
    return cols, stored, packed


def _fill_scales(q, dtype, scales):
    to = q._views()[1]
    if q.scale == "fp32":
        if np.any(scales < 0) or np.any(scales > FLOAT.max):
            raise ValueError("a scale is negative or infinite; it must be a number from 0 up, or NaN")
        to[...] = np.where(np.isnan(scales), np.float32(np.nan), scales)
    elif dtype == "F8_E4M3" and q.elem != "mixed":  # bit 7 is not a sign
        magnitude = scales & 0x7F
        if np.any((scales != magnitude) & (magnitude != 0) & (magnitude != 0x7F)):
            raise ValueError("a scale is negative")
        to[...] = magnitude
    else:
        to[...] = scales


def _fill_codes(q, codes, stored, packed):
    to = q._views()[0][:, : -(-stored // 2)]
    if packed:
        to[...] = codes
        if stored % 2:
            to[:, -1] &= 15
        return
    if np.any(codes > 15):
        raise ValueError(
            "a code is greater than 15, although there is one code per byte; if two are packed in each byte, metadata "
            "cols is missing"
        )
    to[...] = codes[:, 0::2]
    to[:, : stored // 2] |= codes[:, 1::2] << 4


def read(source, make):
    """Reads an operand and passes it to make(operand, how)."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        view = memoryview(source)
        return _read(view.cast("B") if view.c_contiguous else memoryview(view.tobytes()), make)
    if not isinstance(source, (str, os.PathLike)):  # an integer would be used as an open file, and closed
        raise TypeError(f"source must be a path or the bytes of a file, not {type(source).__name__}")
    with open(source, "rb") as file:
        data = file.read()
    try:
        return _read(memoryview(data), make)
    except ValueError as error:
        raise ValueError(f"{os.fspath(source)}: {error}") from None


def _read(data, make):
    header, metadata, body = _header(data)
    how = _how(metadata)
    scale = s.SCALES[how.scale]
    codes_type, codes = _tensor(header, body, "codes", ("U8", "F4") if how.elem == 0 else ("U8",))
    scales_type, scales = _tensor(header, body, "scales", ("F32",) if scale == "fp32" else ("U8", F8[scale]))
    tensor_scale = _tensor_scale(metadata, scale)
    cols, stored, packed = _layout(metadata, how, codes_type, codes, scales)
    operand = c.Operand()
    status = c.lib.operand_create_blocks(
        how.elem, how.scale, c.lib.how_block(byref(how)), codes.shape[0], cols, byref(operand)
    )
    if status == c.ERROR_ARGUMENT:
        raise ValueError(f"it has {codes.shape[0]} rows and {cols} columns; at most {s.MAX_DIM} are possible")
    if status != c.OK:
        c.fail(status)
    out = make(operand, how)
    operand.exponent, operand.tensor_scale, operand.half = (
        how.exponent,
        tensor_scale,
        int(c.lib.how_points(byref(how)) == 32),
    )
    flags = metadata.get("flags", "")
    operand.flags = (s.FLAG_NAN if "nan" in flags else 0) | (s.FLAG_ROW_SATURATED if "saturated" in flags else 0)
    _fill_scales(out, scales_type, scales)
    _fill_codes(out, codes, stored, packed)
    return out
