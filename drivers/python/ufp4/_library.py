# SPDX-License-Identifier: Apache-2.0
"""The golden model as a C library: structures, functions, and errors as exceptions."""

import ctypes
import math
import numbers
import os
import pathlib
import sys
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)

from . import _spec

OK, ERROR_ARGUMENT, ERROR_UNSUPPORTED, ERROR_MEMORY = range(4)


class Message(Structure):
    _fields_ = [("text", c_char * 512)]


class Matrix(Structure):
    _fields_ = [("dtype", c_int), ("rows", c_int64), ("cols", c_int64), ("ld", c_int64), ("data", c_void_p)]


class Operand(Structure):
    _fields_ = [
        ("elem", c_int),
        ("scale", c_int),
        ("rows", c_int64),
        ("cols", c_int64),
        ("blocks", c_int64),
        ("block", c_int),
        ("scale_blocks", c_int64),
        ("codes", c_void_p),
        ("scales", c_void_p),
        ("scales_f32", c_void_p),
        ("exponent", c_int),
        ("tensor_scale", c_float),
        ("flags", c_uint),
        ("half", c_int),
    ]


class Quantize(Structure):
    _fields_ = [
        ("elem", c_int),
        ("scale", c_int),
        ("axis", c_int),
        ("layout", c_int),
        ("rht", c_int),
        ("rht_mask", c_uint64),
        ("round", c_int),
        ("scale_round", c_int),
        ("seed", c_uint64),
        ("tensor_id", c_uint64),
        ("exponent_given", c_int),
        ("exponent", c_int),
        ("kernel", c_int),
        ("threads", c_int),
        ("block", c_int),
        ("rht_size", c_int),
    ]


class Gemm(Structure):
    _fields_ = [
        ("contract", c_int),
        ("d_dtype", c_int),
        ("alpha", c_float),
        ("c", c_void_p),
        ("c_ld", c_int64),
        ("accumulate", c_void_p),
        ("accumulate_ld", c_int64),
        ("threads", c_int),
        ("kernel", c_int),
    ]


class ModelEnd(Structure):
    _fields_ = [("blocks", c_uint), ("percent", c_uint)]


class Bf16Layers(Structure):
    _fields_ = [("first", ModelEnd), ("last", ModelEnd), ("matrices", c_uint)]


class Recipe(Structure):
    _fields_ = [
        ("name", c_char * 80),
        ("quantized", c_int),
        ("dtype", c_int),
        ("elem", c_int),
        ("scale", c_int),
        ("rht", c_int * 3),
        ("rht_mask", c_uint64),
        ("signs", c_int),
        ("round", c_int * 2 * 3),
        ("scale_round", c_int * 2 * 3),
        ("layout", c_int * 3),
        ("contract", c_int),
        ("requantize", c_int),
        ("bf16_passes", c_uint),
        ("bf16_layers", Bf16Layers),
        ("block", c_int),
        ("rht_size", c_int),
    ]


class Rounding(Structure):
    _fields_ = [
        ("bias_percent", c_double),
        ("kept", c_double),
        ("sqnr_db", c_double),
        ("bucket_ratio", c_double),
        ("share", c_double * 15),
        ("uniform", c_double),
        ("blocks", c_int64),
        ("blocks_out", c_int64),
    ]


class Configuration(Structure):
    _fields_ = [("name", c_char * _spec.CONFIGURATION_NAME)] + [(key, c_uint32) for key in _spec.CONFIGURATION_KEYS]


STRUCTS = {
    "message": Message,
    "matrix": Matrix,
    "operand": Operand,
    "quantize": Quantize,
    "gemm": Gemm,
    "recipe": Recipe,
    "rounding": Rounding,
    "configuration": Configuration,
}

FUNCTIONS = {
    "version": (c_uint32,),
    "struct_bytes": (c_size_t, c_char_p),
    "status_string": (c_char_p, c_int),
    "quantize_check": (c_int, POINTER(Matrix), POINTER(Quantize), POINTER(Message)),
    "quantize": (c_int, POINTER(Matrix), POINTER(Quantize), POINTER(Operand)),
    "dequantize": (c_int, POINTER(Operand), c_int64, c_void_p, c_int64),
    "combination_quantize": (c_int, POINTER(Quantize), c_int, c_char_p, POINTER(Message)),
    "operand_create_blocks": (c_int, c_int, c_int, c_int, c_int64, c_int64, POINTER(Operand)),
    "operand_free": (None, POINTER(Operand)),
    "gemm_default_contract": (c_int, c_int),
    "gemm_check": (c_int, POINTER(Operand), POINTER(Operand), POINTER(Gemm), POINTER(Message)),
    "gemm": (c_int, POINTER(Operand), POINTER(Operand), POINTER(Gemm), c_void_p, c_int64),
    "cast": (c_int, POINTER(Matrix), c_int, c_void_p),
    "rht": (c_int, POINTER(Matrix), c_int, c_uint16, c_void_p),
    "rht_undo_all": (None, c_void_p, c_int64, c_int, c_uint64),
    "how_block": (c_int, POINTER(Quantize)),
    "how_points": (c_int, POINTER(Quantize)),
    "default_mask": (c_uint64, c_int),
    "threefry4x32": (None, c_int, POINTER(c_uint32), POINTER(c_uint32), POINTER(c_uint32)),
    "recipe_named": (c_int, c_char_p, POINTER(Recipe)),
    "recipe_suffix": (c_char_p, c_char_p),
    "recipe_vary": (c_int, POINTER(Recipe), c_char_p, POINTER(Message)),
    "recipe_check": (c_int, POINTER(Recipe), c_uint, c_char_p, POINTER(Message)),
    "recipe_quantizes": (c_int, POINTER(Recipe), c_int),
    "recipe_model_key": (c_char_p, POINTER(Recipe)),
    "recipe_mask": (c_uint64, POINTER(Recipe), c_uint64, c_uint64),
    "recipe_of_layer": (Recipe, POINTER(Recipe), c_uint, c_uint),
    "recipe_quantize": (Quantize, POINTER(Recipe), c_int, c_int),
    "rounding_measure": (c_int, POINTER(Matrix), POINTER(Quantize), POINTER(Rounding)),
}


def bind(library, functions):
    """Sets the types of a library's functions, which are named without ufp4_."""
    for name, (result, *arguments) in functions.items():
        function = getattr(library, f"ufp4_{name}")
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    return library


def all_threads():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def version_text(word):
    return f"{word >> 16}.{word >> 8 & 255}.{word & 255}"


def check_library(library, path, structs, prefix=""):
    """Raises ImportError if a library has another version, or other structure layouts. prefix: of the functions that
    report them."""
    try:
        bind(library, {prefix + name: FUNCTIONS[name] for name in ("version", "struct_bytes")})
    except AttributeError:
        raise ImportError(f"{path} is older than 0.2.0; this package is {_spec.VERSION}") from None
    version = version_text(getattr(library, prefix + "version")())
    if version != _spec.VERSION:
        raise ImportError(f"{path} is version {version}; this package is {_spec.VERSION}")
    for name, struct in structs.items():
        there, here = getattr(library, prefix + "struct_bytes")(f"ufp4_{name}_t".encode()), ctypes.sizeof(struct)
        if there != here:
            raise ImportError(f"{path}: ufp4_{name}_t has {there} bytes; this package knows {here}")


def load(path):
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"{error}; pip install ./drivers/python builds it") from None
    check_library(library, path, STRUCTS)
    return bind(library, FUNCTIONS)


def beside_the_modules(name):
    """Finds a file of the package, which an editable install keeps in another folder than the modules."""
    paths = [pathlib.Path(folder, name) for folder in sys.modules[__package__].__path__]
    return next((path for path in paths if path.exists()), paths[0])


lib = load(beside_the_modules("libufp4_model.so"))


def fail(status, message=None):
    """Raises the exception for @p status with the C library's message."""
    text = (
        message.text.decode(errors="replace")
        if message is not None and message.text
        else lib.status_string(status).decode()
    )
    raise MemoryError(text) if status == ERROR_MEMORY else ValueError(text)


def text(value, what, errors="replace"):
    """Encodes a word for the C library."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} {value!r} holds a zero byte")
    return value.encode(errors=errors)


def index_of(value, names, what):
    """Returns the number of a word; ValueError lists the legal words."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, one of {', '.join(names)}, not {type(value).__name__}")
    try:
        return names.index(value)
    except ValueError:
        raise ValueError(f"{what} {value!r} is unknown; it must be one of {', '.join(names)}") from None


def float32(exact):
    """Returns the FP32 number nearest to a number of any kind that compares exactly with a float, ties to even."""
    try:
        wide = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    # An inexact float64 is made odd, so that the second rounding knows on which side of a tie the number lies.
    if math.isfinite(wide) and exact != wide and wide.hex().partition("p")[0][-1] in "02468ace":
        wide = math.nextafter(wide, math.inf if exact > wide else -math.inf)
    return c_float(wide).value


def real(value, what):
    """Returns a number rounded once to FP32, as the program does; NaN and Inf are accepted."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{what} must be a number, not {type(value).__name__}")
    value = int(value) if isinstance(value, numbers.Integral) else value
    narrow = float32(value)
    if (math.isinf(narrow) and value != narrow) or (narrow == 0 and value != 0):
        raise ValueError(f"{what} is not a number in FP32's range")
    return narrow


def whole(value, low, high, what):
    """Returns an integer within bounds; bool is refused."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be an integer, not {type(value).__name__}")
    value = value.__index__()
    if not low <= value <= high:
        raise ValueError(f"{what} {value} is out of range; it must be from {low} to {high}")
    return value
