# SPDX-License-Identifier: Apache-2.0
"""Tests what the package refuses: the exception says what is wrong and what would be right, and nothing is written."""

import fractions
import inspect
import pathlib
import subprocess
import sys
import typing
import warnings

from support import gaussian, np, raises, same

import stand
import ufp4
from stand import check, check_equal

X = gaussian(4, 32)


def refused(words, x=X, kind=ValueError, **options):
    raises(kind, words, ufp4.quantize, x, **({"elem": "e2m1"} | options))


def test_rejects_arrays_that_are_no_tensor():
    refused("numpy array, not list", [[1.0]], TypeError)
    refused("numpy array, not MaskedArray", np.ma.masked_array(X), TypeError)
    refused("1 dimensions; it must have 2", X[0])
    refused("3 dimensions", X[None])
    refused("0 x 32; it must not be empty", X[:0])
    for dtype in (np.int32, np.uint16, np.complex64, np.bool_):
        refused("float32, bfloat16 (ml_dtypes), float16 or float64 is needed", X.astype(dtype))
    refused("empty", np.zeros((0, 0), np.float32))


def test_rejects_arrays_that_are_not_contiguous():
    for view in (X[:, ::2], X[::-1], X[:, ::-1], np.broadcast_to(X[:1], (4, 32)), np.broadcast_to(X[:, :1], (4, 32))):
        for call in (lambda x: ufp4.quantize(x, elem="e2m1"), lambda x: ufp4.cast(x, "e2m1"), ufp4.rht):
            raises(ValueError, "not contiguous", call, view)


def test_rejects_arrays_that_are_misaligned():
    shifted = np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(X.dtype).reshape(X.shape)
    q = ufp4.quantize(X[:, :16], elem="e2m1")
    for call in (lambda x: ufp4.quantize(x, elem="e2m1"), ufp4.rht, lambda c: ufp4.gemm(q, q, c=c[:, :4])):
        raises(ValueError, "is misaligned: its address is not a multiple of 4 bytes; pass .copy() of it", call, shifted)
    check_equal(
        ufp4.quantize(shifted.copy(), elem="e2m1").to_safetensors(),
        ufp4.quantize(X, elem="e2m1").to_safetensors(),
        "of a copy",
    )


def test_rejects_words_that_are_unknown():
    for key in ("elem", "scale", "layout", "axis", "rht", "round", "scale_round"):
        refused(f"{key} 'x' is unknown; it must be one of ", **{key: "x"})
    raises(ValueError, "to 'x' is unknown", ufp4.cast, X, "x")
    raises(ValueError, "no recipe is called 'x'", ufp4.recipe, "x")
    raises(TypeError, "unexpected keyword", ufp4.quantize, X, elem="e2m1", nothing=1)
    raises(TypeError, "unexpected keyword", ufp4.bias, X, elem="e2m1", nothing=1)
    for name in ("ufp4\0x", "a\nb", "\ud800"):
        raises(ValueError, "no recipe is called", ufp4.recipe, name)


def test_rejects_words_that_are_no_text():
    q = ufp4.quantize(X, elem="e2m1")
    for value in (b"e2m1", 0, ["e2m1"], X):
        refused("elem must be a str, one of e2m1, e1m2, int4, mixed, not ", kind=TypeError, elem=value)
    raises(TypeError, "to must be a str", ufp4.cast, X, None)
    raises(TypeError, "out must be a str", ufp4.gemm, q, q, out=X)
    raises(TypeError, "key must be 4 integers, not int", ufp4.random, key=7)


def test_what_is_public_has_types_and_words():
    def look(name, function):
        check(function.__doc__ or name.rpartition(".")[2].startswith("_"), f"{name} has no docstring")
        signature, hints = inspect.signature(function), typing.get_type_hints(function)
        for parameter in list(signature.parameters) + ["return"]:
            check(parameter in hints or parameter == "self", f"{name}: {parameter} has no type")

    for name in ufp4.__all__:
        value = getattr(ufp4, name)
        if inspect.isfunction(value):
            look(name, value)
        elif inspect.isclass(value):
            check(value.__doc__, name)
            for key, member in vars(value).items():
                if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, staticmethod)):
                    look(f"{name}.{key}", inspect.unwrap(member))
                if isinstance(member, property) and not key.startswith("_"):
                    check("return" in typing.get_type_hints(member.fget), f"{name}.{key}")


def test_rejects_numbers_out_of_range():
    refused("seed -1 is out of range; it must be from 0 to 18446744073709551615", seed=-1)
    refused("tensor_id", tensor_id=2**64)
    refused("rht_mask 65536", rht="on", rht_mask=2**16)
    refused("tensor_exponent 32768", tensor_exponent=32768)
    refused("seed must be an integer, not float", kind=TypeError, seed=1.0)
    raises(ValueError, "rounds 73", ufp4.random, rounds=73)
    raises(ValueError, "key has 3 words; it must have 4", ufp4.random, key=(1, 2, 3))


def test_rejects_combinations_in_the_words_of_the_model():
    refused("scale rounding rne does not work with scale e8m0", scale="e8m0", scale_round="rne")
    refused("block 32 does not work with scale nvfp4", scale="nvfp4", block=32)
    refused("a transform of 64 points does not divide", rht="on", rht_size=64)
    refused("RHT size 64 does not work with scale fp32", scale="fp32", rht="on", rht_size=64)
    refused("scale fp32 has no tensor exponent", scale="fp32", tensor_exponent=0)
    refused("46 does not work with scale e4m3", scale_round="46")
    refused("rht_mask sets the signs of a transform, but rht is off", rht_mask=1)
    refused("rht_size sets the points of a transform, but rht is off", rht_size=32)
    refused("but rht is off", rht="off", rht_size=16)
    for words in ({"rht_mask": 1}, {"rht_size": 16}):
        refused("but rht is off", recipe="e2m1", elem=None, role="x", pass_="fprop", **words)
    refused("role and pass_ need recipe", role="x")
    refused("recipe needs role and pass_", recipe="ufp4")
    refused("fprop reads x and w", recipe="ufp4", role="dy", pass_="fprop")
    refused("does not quantize", recipe="bf16", role="x", pass_="fprop")
    for recipe, key in (
        ("nvfp4-full", "bf16_layers"),
        ({"elem": "e2m1", "bf16_layers": {"names": ["fc1"]}}, "bf16_layers"),
        ("mxfp4-rht", "signs"),
    ):
        for role, pass_ in (("w", "fprop"), ("dy", "wgrad")):
            refused(f": {key} applies to a whole model", recipe=recipe, elem=None, role=role, pass_=pass_)
    refused("the other axis", recipe="ufp4", role="x", pass_="fprop", axis="col")
    raises(ValueError, "give recipe with role and pass_, or elem", ufp4.quantize, X)
    raises(ValueError, "round must be up or down with e8m0", ufp4.cast, X, "e4m3", "up")
    plain = ufp4.quantize(X, elem="e2m1")
    raises(ValueError, "this tensor has no Hadamard transform to undo", plain.dequantize, unrotate=True)


def test_rejects_recipes():
    good = {"elem": "e1m2"}
    for words, more in (
        ("unknown key 'x'", {"x": 1}),
        ("elem 'x' is unknown", {"elem": "x"}),
        ("round: w is an operand of fprop and dgrad", {"round": {"w": {"wgrad": "sr"}}}),
        ("rht_mask must be 16 bits", {"rht_mask": "0x10000"}),
        ("built-in", {"name": "ufp4"}),
        ("rht_mask needs signs fixed", {"rht_mask": "1", "signs": "step"}),
        ("requantize must be true or false", {"requantize": 1}),
        ("requantize must be true or false", {"requantize": "true"}),
        ("bf16_layers: first", {"bf16_layers": {"first": "x"}}),
        ("bf16_passes", {"bf16_passes": "fprop"}),
        ("rht_mask must be 16 bits", {"rht_mask": "1_0"}),
        ("rht_size has no effect without a transform", {"rht_size": 32}),
        ("rht_mask has no effect without a transform", {"rht_mask": "0x1234"}),
        ("signs step has no effect without a transform", {"signs": "step"}),
        ("block must be one of 16, 32", {"block": 24}),
        ("block must be one of the whole numbers 16, 32, 64, 128", {"block": 64.0}),
        ("rht_size must be one of", {"rht_size": True}),
        ("rht_mask must be 32 bits", {"rht_size": 32, "rht_mask": "0x100000000"}),
        ("need contract exact", {"block": 64, "accumulate": "fp32"}),
        ("does not work with scale", {"block": 64, "scale": "nvfp4", "elem": "e2m1"}),
        ("bf16_layers: first", {"bf16_layers": {"first": "\u0661%"}}),
        ("bf16_layers: last", {"bf16_layers": {"last": "0015%"}}),
        ("bf16_layers: last", {"bf16_layers": {"last": 1048577}}),
        ("may not start with '.'", {"name": "\ud800"}),
        ("does not work with scale e8m0", {"scale": "e8m0", "scale_round": "rne"}),
        ("name", {"name": "a b"}),
    ):
        raises(ValueError, words, ufp4.recipe, good | more)
    for words, name in (
        ("a suffix must be", "ufp4/rth=none"),
        ("ufp4/sr=fprop: this recipe rounds only dy stochastically, which is not an operand of fprop", "ufp4/sr=fprop"),
        ("no recipe is called 'x/rht=none'", "x/rht=none"),
        ("does not quantize, so it takes no suffix", "bf16/rht=none"),
        ("no recipe is called", "ufp4/rht=\0"),
    ):
        raises(ValueError, words, ufp4.recipe, name)
    raises(ValueError, "built-in", ufp4.recipe, good | {"name": "ufp4/rht=none"})
    contradiction = "name: its suffix /sr=wgrad contradicts the settings"
    raises(ValueError, contradiction, ufp4.recipe, good | {"name": "mine/sr=wgrad"})
    for words, text in (
        ("bad.json: the key 'elem' is given twice", '{"elem": "e1m2", "elem": "e2m1"}'),
        ("bad.json: a recipe must be a JSON object", "[]"),
        ("bad.json: Expecting", "{"),
        ("bad.json: elem is missing", "{}"),
        ("bad.json: rht_mask must be a string", '{"elem": "e2m1", "rht": "integer", "rht_mask": 4660}'),
        ("bad.json: the name ufp4 is that of a built-in", '{"name": "ufp4", "elem": "e2m1"}'),
        ("bad.json: 'utf-8' codec", "\udcff"),
    ):
        pathlib.Path("bad.json").write_text(text, errors="surrogateescape")
        raises(ValueError, words, ufp4.recipe, "bad.json")
    raises(OSError, "none.json", ufp4.recipe, "none.json/sr=none")
    without = ufp4.recipe("mxfp4-rht/rht=none")
    check_equal(ufp4.recipe(without.to_dict()), without, "what is said of a transform goes with it")
    raises(TypeError, "a name or a dict", ufp4.recipe, 7)
    raises(ValueError, "elem is missing", ufp4.recipe, {})
    raises(ValueError, "unknown key 'operands'", ufp4.recipe, {"name": "mine", "operands": "bf16"})


def test_rejects_operands_that_do_not_go_together():
    q = lambda **o: ufp4.quantize(X, **({"elem": "e2m1"} | o))
    a = q()
    raises(TypeError, "a must be a Quantized, as quantize gives, not ndarray", ufp4.gemm, X, a)
    raises(
        ValueError,
        "A has K = 32, B has K = 16; they must be equal",
        ufp4.gemm,
        a,
        ufp4.quantize(X[:, :16], elem="e2m1"),
    )
    raises(ValueError, "A has scale e4m3, B has scale fp32", ufp4.gemm, a, q(scale="fp32"))
    raises(ValueError, "a has rht off", ufp4.gemm, a, q(rht="on"))
    raises(ValueError, "they must be equal", ufp4.gemm, q(rht="on", rht_mask=1), q(rht="on"))
    raises(
        ValueError,
        "exact does not work with scale fp32",
        ufp4.gemm,
        q(scale="fp32"),
        q(scale="fp32"),
        accumulate="exact",
    )
    raises(ValueError, "need contract exact", ufp4.gemm, a, a, accumulate="fp32", out="i64")
    raises(ValueError, "leave out C, and set alpha to 1", ufp4.gemm, a, a, alpha=2, out="i64")
    for alpha in (1e40, 1e-60, 10**400, -(10**400), fractions.Fraction(1, 10**400), np.longdouble("1e39")):
        raises(ValueError, "FP32's range", ufp4.gemm, a, a, alpha=alpha)
    for alpha in ("1", None, True, 1j, np.ones(2)):
        raises(TypeError, "alpha must be a number, not ", ufp4.gemm, a, a, alpha=alpha)
    raises(ValueError, "c is 4 x 5; it must have the size of D, 4 x 4", ufp4.gemm, a, a, c=np.zeros((4, 5), np.float32))
    raises(ValueError, "c is of type float64", ufp4.gemm, a, a, c=np.zeros((4, 4)))
    raises(ValueError, "Fortran order", ufp4.gemm, a, a, c=np.zeros((4, 4), np.float32, order="F"))
    raises(ValueError, "accumulate_in is of type int32", ufp4.gemm, a, a, accumulate_in=np.zeros((4, 4), np.int32))
    raises(ValueError, "threads 0", ufp4.gemm, a, a, threads=0)


def test_numbers_are_rounded_once():
    """The values lie over or under a tie of FP32 by less than a float64 resolves."""
    x = np.eye(16, dtype=np.float32)
    a = ufp4.quantize(x, elem="e2m1", scale="e8m0")  # the products are 1
    over, under = 2**60 + 2**36 + 1, 2**60 + 3 * 2**36 - 1
    one = float(ufp4.gemm(a, a)[0, 0])
    for alpha, want in (
        (over, 2**60 + 2**37),
        (np.int64(over), 2**60 + 2**37),
        (under, 2**60 + 2**37),
        (2**60 + 2**36, 2**60),
        (-over, -(2**60) - 2**37),
        (fractions.Fraction(over, 2**90), (2**60 + 2**37) / 2**90),
        (np.longdouble(2**60) + 2**36 + 1, 2**60 + 2**37),
    ):
        check_equal(float(ufp4.gemm(a, a, alpha=alpha)[0, 0]), want * one, f"{alpha!r}")
    data = ufp4.quantize(x, elem="e2m1", scale="nvfp4").to_safetensors()
    size = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + size].rstrip()
    at = header.index(b'"tensor_scale":"') + 16
    for text, want in (
        ("1.000000059604644775390625", 1),
        ("1.0000000596046447753906250000000001", 1 + 2**-23),
        ("1.000000178813934326171874999999999999", 1 + 2**-23),
        (" 1e-45", 2**-149),
        ("7.0064923216240853546186479164495806564013097093825788587853415e-46", 2**-149),
    ):
        changed = header[:at] + text.encode() + header[header.index(b'"', at) :]
        changed += b" " * (-len(changed) % 8)
        path = pathlib.Path("Q.safetensors")
        path.write_bytes(len(changed).to_bytes(8, "little") + changed + data[8 + size :])
        check_equal(ufp4.Quantized.from_safetensors(path).tensor_scale, want, text)
        stand.passes("dequantize", path, "-o", "D.npy")
        same(ufp4.Quantized.from_safetensors(path).dequantize(), np.load("D.npy"), text)
    for text in ("1_0", "1 ", "nan", "1e400", "1e-400", "1e999999999", "1e-999999999", "0x", "-1"):
        changed = header[:at] + text.encode() + header[header.index(b'"', at) :]
        changed += b" " * (-len(changed) % 8)
        raises(
            ValueError,
            "metadata tensor_scale is",
            ufp4.Quantized.from_safetensors,
            len(changed).to_bytes(8, "little") + changed + data[8 + size :],
        )


def test_numpys_error_state_does_not_matter():
    for exponent, flags in ((900, ("nan",)), (-1000, ())):
        x = np.ldexp(X.astype(np.float64), exponent)
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_equal(ufp4.quantize(x, elem="e2m1").flags, flags, f"2^{exponent}")


def test_nan_is_flagged_and_warned_of():
    x = X.copy()
    x[1, 3] = np.nan
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        q = ufp4.quantize(x, elem="e2m1")
    check(
        len(seen) == 1
        and seen[0].category is RuntimeWarning
        and "the scales of those blocks are NaN" in str(seen[0].message),
        f"{seen}",
    )
    check_equal(seen[0].filename, __file__, "the warning's place")
    check_equal(q.flags, ("nan",), "flags")
    check(np.isnan(q.float_scales.astype(np.float32)).sum() == 1 and "nan" in repr(q), repr(q))
    check(np.isnan(q.dequantize()).sum() == 16, "one block")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ufp4.quantize(np.full((1, 16), 3.18e38, np.float32), elem="e2m1", rht="bf16")
    check("or its transform numbers beyond BF16; the scales" in str(seen[0].message), f"{seen}")


def test_rejects_files_that_are_none():
    q = ufp4.quantize(X, elem="e2m1")
    data = q.to_safetensors()
    path = pathlib.Path("Q.safetensors")
    for words, bad in (
        ("header is longer than the file", b""),
        ("header is longer than the file", data[:100]),
        ("offsets", data[:-1]),
        ("not a JSON object", b"\2" + bytes(7) + b"[]"),
        ("elem 'e9m9' is unknown", data.replace(b'"e2m1"', b'"e9m9"')),
        ("a code is greater than 15", data.replace(data[-136:-8], b"\x20" * 128)),
        ("metadata rows", data.replace(b'"rows":"4"', b'"rows":"x"')),
        ("do not match scales of", data.replace(b'"rows":"4"', b'"rows":"5"')),
    ):
        path.write_bytes(bad)
        raises(ValueError, words, ufp4.Quantized.from_safetensors, path)
        raises(ValueError, "Q.safetensors: ", ufp4.Quantized.from_safetensors, path)
        raises(ValueError, words, ufp4.Quantized.from_safetensors, bad)
    raises(FileNotFoundError, "nowhere", ufp4.Quantized.from_safetensors, "nowhere")
    raises(FileNotFoundError, "'nowhere/Q.safetensors'", q.to_safetensors, "nowhere/Q.safetensors")
    with open("open", "w+b") as file:
        for number in (file.fileno(), np.int64(file.fileno()), True):
            raises(TypeError, "path", ufp4.Quantized.from_safetensors, number)
            raises(TypeError, "os.PathLike", q.to_safetensors, number)
        file.write(b"still open")


def test_one_column_has_a_nibble_of_padding():
    q = ufp4.quantize(X[:, :1], elem="e2m1")
    data = q.to_safetensors(packed=True)
    codes = bytes(code | 0xA0 for code in data[-8:-4])
    padded = data[:-8] + codes + data[-4:]
    check_equal(ufp4.Quantized.from_safetensors(padded).to_safetensors(packed=True), data, "the padding is ignored")
    raises(
        ValueError,
        "a code is greater than 15",
        ufp4.Quantized.from_safetensors,
        padded.replace(b'"cols":"1"', b'"colx":"1"'),
    )


def test_rejects_files_whose_tensors_overlap_or_leave_bytes():
    q = ufp4.quantize(X, elem="e2m1")
    data = q.to_safetensors()
    for bad in (
        data + b"x",
        data.replace(b"[0,128]", b"[8,136]"),
        data.replace(b"[128,136]", b"[120,128]"),
        data.replace(b"[128,136]", b"[136,128]"),
    ):
        raises(ValueError, "without gaps or overlaps", ufp4.Quantized.from_safetensors, bad)
    twice = data.replace(b'{"dtype":"U8","shape":[4,2]', b'{"dtype":"U8","dtype":"U8"', 1)
    raises(ValueError, "not a JSON object", ufp4.Quantized.from_safetensors, twice)


def test_bytes_of_any_shape_are_read():
    q = ufp4.quantize(X, elem="e2m1")
    data = np.frombuffer(q.to_safetensors(), np.uint8)
    for view in (
        bytearray(data),
        memoryview(data.reshape(-1, 8)),
        memoryview(data.view(np.float32)),
        memoryview(np.repeat(data, 2))[::2],
    ):
        check(ufp4.Quantized.from_safetensors(view).to_safetensors() == data.tobytes(), f"{view}")


def test_a_file_keeps_its_mode_and_a_device_stays():
    q = ufp4.quantize(X, elem="e2m1")
    path = pathlib.Path("n" * 250)
    path.touch(0o640)
    q.to_safetensors(path)
    check_equal(path.stat().st_mode & 0o777, 0o640, "mode")
    for other in ("/dev/null", ".", ""):
        raises(OSError, "not a regular file", q.to_safetensors, other)
    check(pathlib.Path("/dev/null").is_char_device(), "the device")


def test_a_file_is_written_whole_or_not():
    q = ufp4.quantize(X, elem="e2m1")
    pathlib.Path("Q.safetensors").write_bytes(b"before")
    pathlib.Path("link").symlink_to("Q.safetensors")
    q.to_safetensors("link")
    check(
        pathlib.Path("link").is_symlink() and pathlib.Path("Q.safetensors").read_bytes() == q.to_safetensors(),
        "the link stays",
    )
    check_equal(sorted(p.name for p in pathlib.Path(".").iterdir()), ["Q.safetensors", "link"], "files")


def test_rejects_a_library_of_another_version():
    script = (
        "import ctypes, ufp4._library as l, ufp4._spec as s\n"
        "s.VERSION = '9.9.9'\n"
        "try: l.load(l.lib._name)\n"
        "except ImportError as e: print(e)\n"
        "s.VERSION = l.version_text(l.lib.version())\n"
        "class Other(ctypes.Structure): _fields_ = l.Gemm._fields_[:-2]\n"
        "l.STRUCTS['gemm'] = Other\n"
        "try: l.load(l.lib._name)\n"
        "except ImportError as e: print(e)\n"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600).stdout
    check(
        f"is version {ufp4.__version__}; this package is 9.9.9" in out
        and "ufp4_gemm_t has 56 bytes; this package knows 48" in out,
        out,
    )


def test_rejects_writes_to_what_a_tensor_gives():
    """Writes to the memory of a tensor are refused, and to copies of it, where a write would have no effect."""
    for how in ({"elem": "e2m1"}, {"elem": "e1m2", "rht": "on", "scale": "e8m0"}, {"elem": "int4", "scale": "fp32"}):
        q = ufp4.quantize(X, **how)
        for name in ("codes", "packed_codes", "scales", "float_scales"):
            array = getattr(q, name)
            raises(ValueError, "read-only", array.__setitem__, (0, 0), 0)
            raises(ValueError, "cannot set WRITEABLE flag", array.setflags, write=True)
            check(array.copy().flags.writeable, f"a copy of {name}")


def test_memory_lives_as_long_as_its_views():
    def views():
        q = ufp4.quantize(X, elem="e2m1")
        return q.packed_codes, q.scales, q.packed_codes.copy(), q.scales.copy()

    kept = [views() for _ in range(50)]
    [ufp4.quantize(X * 3, elem="e1m2") for _ in range(200)]
    for codes, scales, codes_before, scales_before in kept:
        check(np.array_equal(codes, codes_before) and np.array_equal(scales, scales_before), "overwritten")


def test_copies_are_equal_and_have_memory_of_their_own():
    import copy
    import pickle

    q = ufp4.quantize(X, elem="e1m2", rht="on", round="sr", seed=2**64 - 1)
    for other in (copy.deepcopy(q), pickle.loads(pickle.dumps(q))):
        check(other.to_safetensors() == q.to_safetensors() and not np.shares_memory(other.scales, q.scales), "a copy")
    for recipe in ("ufp4", "bf16", "mxfp4-rht", "ufp4/rht=none/sr=wgrad", {"elem": "e2m1", "name": "mine"}):
        check_equal(ufp4.recipe(ufp4.recipe(recipe).to_dict()), ufp4.recipe(recipe), "recipe")
        check_equal(pickle.loads(pickle.dumps(ufp4.recipe(recipe))), ufp4.recipe(recipe), "recipe")


def test_memory_does_not_leak():
    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    if not pathlib.Path("/proc/self/statm").exists():
        raise stand.Skipped("no /proc/self/statm")
    x = gaussian(256, 1024)

    def use():
        q = ufp4.quantize(x, elem="e1m2", rht="on")
        again = ufp4.Quantized.from_safetensors(q.to_safetensors())
        ufp4.gemm(q, again, threads=1)
        q.dequantize()
        raises(ValueError, "does not work", ufp4.quantize, x, elem="e1m2", scale="e8m0", scale_round="rne")

    for _ in range(5):
        use()
    before = resident()
    for _ in range(40):  # 160 KiB each, 6 MiB in all
        use()
    check(resident() - before < 2 << 20, f"{(resident() - before) >> 10} KiB more")


def test_other_threads_run_meanwhile():
    """The library is called without the GIL, so a counting thread goes on while one call runs."""
    import threading
    import time

    q = ufp4.quantize(gaussian(1024, 4096), elem="e2m1")
    running, ticks = True, []

    def count():
        while running:
            time.sleep(0.001)
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.perf_counter()
    ufp4.gemm(q, q, threads=1)
    end = time.perf_counter()
    running = False
    thread.join()
    check(
        sum(begin < t < end for t in ticks) >= 3, f"{sum(begin < t < end for t in ticks)} ticks in {end - begin:.3f} s"
    )


if __name__ == "__main__":
    stand.main(globals())
