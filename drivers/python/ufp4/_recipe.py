# SPDX-License-Identifier: Apache-2.0
"""Recipes: how the operands of the three training GEMMs of a linear layer are quantized."""

import json
import os
import pathlib
import re
from ctypes import byref
from typing import Any

from . import _library as c
from . import _spec as s

NAMES = (
    "fp32",
    "bf16",
    "ufp4",
    "ufp4-mixed",
    "e2m1",
    "e2m1-46",
    "e2m1-mixed",
    "nvfp4",
    "nvfp4-full",
    "nvint4",
    "nve1m2",
    "mxfp4",
    "mxfp4-rht",
)
ROLES, PASSES, AXES, SIGNS, MATRICES = s.ROLES, s.PASSES, s.AXES, s.SIGNS, s.MATRICES
# The operands A and B of each pass, and the axis along which each is blocked.
OPERANDS = ((("x", "row"), ("w", "row")), (("dy", "row"), ("w", "col")), (("dy", "col"), ("x", "col")))
KEYS = (
    "name",
    "elem",
    "scale",
    "rht",
    "rht_mask",
    "round",
    "scale_round",
    "layout",
    "accumulate",
    "bf16_passes",
    "bf16_layers",
    "signs",
    "requantize",
    "block",
    "rht_size",
)


def axis_in_pass(role, pass_):
    """Returns the axis along which @p pass_ reads @p role, all by number; None if it does not."""
    return next((AXES.index(axis) for name, axis in OPERANDS[pass_] if name == ROLES[role]), None)


class Recipe:
    """A recipe, made by :func:`recipe`. Equal recipes have equal settings and names."""

    def __init__(self, struct):
        self._struct = struct

    @property
    def name(self) -> str:
        return self._struct.name.decode()

    @property
    def quantized(self) -> bool:
        """False for fp32 and bf16."""
        return bool(self._struct.quantized)

    def quantizes(self, pass_: str) -> bool:
        """Returns whether the operands of a pass ("fprop", "dgrad", "wgrad") are quantized."""
        return bool(c.lib.recipe_quantizes(byref(self._struct), c.index_of(pass_, PASSES, "pass")))

    def to_dict(self) -> dict[str, Any]:
        """Returns all settings as :func:`recipe` accepts them; under another name than a built-in recipe's they are a
        recipe file."""
        r = self._struct
        if not r.quantized:
            return {"name": self.name, "operands": "bf16" if r.dtype == s.DTYPES.index("bf16") else "fp32"}
        ends = {
            key: f"{end.percent}%" if end.percent else end.blocks
            for key, end in (("first", r.bf16_layers.first), ("last", r.bf16_layers.last))
        }
        out = {
            "name": self.name,
            "elem": s.ELEMS[r.elem],
            "scale": s.SCALES[r.scale],
            "rht": {name: s.RHTS[r.rht[i]] for i, name in enumerate(PASSES)},
        }
        if r.signs == 0:
            out["rht_mask"] = f"0x{r.rht_mask:0{max(r.rht_size, 16) // 4}X}"
        out |= {key: value for key, value in (("block", r.block), ("rht_size", r.rht_size)) if value}
        return out | {
            "signs": SIGNS[r.signs],
            "round": _copies(r.round, s.ROUNDS),
            "scale_round": _copies(r.scale_round, s.SCALE_ROUNDS),
            "layout": {name: s.LAYOUTS[r.layout[i]] for i, name in enumerate(ROLES)},
            "requantize": bool(r.requantize),
            "accumulate": s.CONTRACTS[r.contract],
            "bf16_passes": _names(r.bf16_passes, PASSES),
            "bf16_layers": ends | {"names": _names(r.bf16_layers.matrices, MATRICES)},
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self):
        return recipe, (self.to_dict(),)

    def __repr__(self) -> str:
        if not self.quantized:
            return f"<ufp4 recipe {self.name}>"
        return f"<ufp4 recipe {self.name}: {s.ELEMS[self._struct.elem]}, scales {s.SCALES[self._struct.scale]}>"


def _names(bits, names):
    return [name for i, name in enumerate(names) if bits >> i & 1]


def _copies(values, names):
    out = {role: {} for role in ROLES}
    for pass_, operands in enumerate(OPERANDS):
        for role, axis in operands:
            out[role][PASSES[pass_]] = names[values[ROLES.index(role)][AXES.index(axis)]]
    return out


def recipe(name_or_dict: str | dict[str, Any] | Recipe) -> Recipe:
    """A built-in recipe by its name, or one of one's own from a file NAME.json or a dict with its keys.

    The names are fp32, bf16, ufp4, ufp4-mixed, e2m1, e2m1-46, e2m1-mixed, nvfp4, nvfp4-full, nvint4, nve1m2, mxfp4,
    mxfp4-rht. Each, and that of a file, may have a suffix that says which GEMMs have the transform and stochastic
    rounding, as in "ufp4/rht=dgrad+wgrad/sr=none". A dict or a file needs "elem"; without "name" a dict is called
    "custom" and a file as the file is up to its first dot, and a built-in one's name goes with its own settings alone.
    ValueError: no such name or key, or settings that do not go together. OSError: a file that cannot be read.
    """
    if isinstance(name_or_dict, Recipe):
        return name_or_dict
    if isinstance(name_or_dict, str):
        return _varied(name_or_dict)
    if not isinstance(name_or_dict, dict):
        raise TypeError(f"a recipe must be a name or a dict, not {type(name_or_dict).__name__}")
    named = _named(c.text(name_or_dict.get("name", ""), "name").decode())
    if named is not None and not named.quantized and named.to_dict() == name_or_dict:
        return named
    made = Recipe(_from_dict(name_or_dict, named is not None))
    if named is not None and made != named:
        raise ValueError(f'the name {named.name} is that of a built-in recipe; give it another with "name"')
    suffix = _suffix_of(made.name)
    if suffix and _vary(Recipe(c.Recipe.from_buffer_copy(made._struct)), suffix).to_dict() | {"name": made.name} != (
        made.to_dict()
    ):
        raise ValueError(f"name: its suffix {suffix} contradicts the settings")
    return made


def _suffix_of(name):
    return "" if "\0" in name or name.endswith(".json") else c.lib.recipe_suffix(name.encode(errors="replace")).decode()


def _varied(name):
    """Finds a built-in recipe, or reads one from a file, with or without a suffix."""
    suffix = _suffix_of(name)
    base = name.removesuffix(suffix)
    made = _of_file(base) if base.endswith(".json") and "\0" not in base else _named(base)
    if made is None:
        raise ValueError(
            f"no recipe is called {name!r}; there are {', '.join(NAMES)}, NAME.json, each also with a suffix as in "
            "'ufp4/rht=dgrad+wgrad', or a dict"
        )
    return _vary(made, suffix)


def _vary(made, suffix):
    message = c.Message()
    status = c.lib.recipe_vary(byref(made._struct), suffix.encode(), byref(message))
    if status != c.OK:
        c.fail(status, message)
    return made


def _once(pairs):
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"the key {twice!r} is given twice")
    return dict(pairs)


def _name_of_file(path):
    """The name of a recipe whose file has none in it: up to the first dot, and '-' for what no name has."""
    file = os.fsencode(os.path.basename(path))
    try:
        file.decode()
        unfit = rb"[^A-Za-z0-9_+\-\x80-\xff]"
    except UnicodeDecodeError:
        unfit = rb"[^A-Za-z0-9_+\-]"
    return re.sub(unfit, b"-", file.split(b".")[0])[:31].decode(errors="ignore")


def _of_file(path):
    """Reads a recipe file as the commands do."""
    try:
        given = json.loads(pathlib.Path(path).read_bytes(), object_pairs_hook=_once)
        if not isinstance(given, dict):
            raise ValueError("a recipe must be a JSON object")
        if not isinstance(given.get("rht_mask", ""), str):
            raise ValueError('rht_mask must be a string of hex digits, as in "0xD7E8"')
        return recipe({"name": _name_of_file(path)} | given)
    except (TypeError, ValueError) as error:  # errors of JSON and of UTF-8 are among these
        raise ValueError(f"{path}: {error}") from None


def _named(name):
    """Returns a built-in recipe, or None."""
    struct = c.Recipe()
    known = "\0" not in name and c.lib.recipe_named(name.encode(errors="replace"), byref(struct)) == c.OK
    return Recipe(struct) if known else None


def _from_dict(given, built_in):
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; the keys are {', '.join(KEYS)}")
    name = given["name"].encode() if built_in else _title(given.get("name", "custom"))
    out = c.Recipe(
        quantized=1, name=name, block=_size(given, "block", s.BLOCKS), rht_size=_size(given, "rht_size", s.RHT_SIZES)
    )
    out.rht_mask = c.lib.default_mask(out.rht_size or 16)
    if "elem" not in given:
        raise ValueError(f"elem is missing; it must be one of {', '.join(s.ELEMS)}")
    out.elem = c.index_of(given["elem"], s.ELEMS, "elem")
    out.scale = c.index_of(given.get("scale", "e4m3"), s.SCALES, "scale")
    out.contract = c.lib.gemm_default_contract(out.scale)
    if "accumulate" in given:
        out.contract = c.index_of(given["accumulate"], s.CONTRACTS, "accumulate")
    _fill(out.rht, given.get("rht", "none"), s.RHTS, PASSES, "rht")
    _fill(out.layout, given.get("layout", "1d"), s.LAYOUTS, ROLES, "layout")
    _fill_copies(out.round, given.get("round", {}), s.ROUNDS, "round", 0)
    scale_round = s.SCALE_ROUNDS.index("down" if out.scale == s.SCALES.index("e8m0") else "rne")
    _fill_copies(out.scale_round, given.get("scale_round", {}), s.SCALE_ROUNDS, "scale_round", scale_round)
    _fill_signs(out, given)
    requantize = given.get("requantize", False)
    if not isinstance(requantize, bool):
        raise ValueError("requantize must be true or false")
    out.requantize = requantize
    out.bf16_passes = _bits(given.get("bf16_passes", []), PASSES, "bf16_passes")
    _fill_bf16_layers(out.bf16_layers, given.get("bf16_layers", {}))
    message = c.Message()
    status = c.lib.recipe_check(byref(out), 7, None, byref(message))
    if status != c.OK:
        c.fail(status, message)
    return out


def _size(given, key, sizes):
    value = given.get(key, 0)
    if isinstance(value, float):
        raise ValueError(f"{key} must be one of the whole numbers {', '.join(map(str, sizes))}")
    if key in given and (isinstance(value, bool) or value not in sizes):
        raise ValueError(f"{key} must be one of {', '.join(map(str, sizes))}")
    return value


def _title(name):
    """Checks a name, which may have a suffix, as in the result of :meth:`Recipe.to_dict`, and returns it as bytes."""
    text, base = c.text(name, "name"), name.removesuffix(_suffix_of(name))
    if not 1 <= len(base.encode(errors="replace")) <= 31:
        raise ValueError("name must be a string of 1 to 31 bytes")
    if not re.fullmatch(r"(?!\.)[A-Za-z0-9._+\-\u0080-\uD7FF\uE000-\U0010FFFF]+", base):
        raise ValueError("name may hold only letters, digits and . _ + -, and may not start with '.'")
    return text


def _fill(values, given, names, of, key):
    """Reads one name for all, or a dict of names by role or pass."""
    by_name = given if isinstance(given, dict) else {name: given for name in of}
    for name, value in by_name.items():
        values[c.index_of(name, of, f"{key}:")] = c.index_of(value, names, key)


def _fill_copies(values, given, names, key, default):
    """Reads one name for all, or a dict by role of names or of dicts by pass."""
    for role in range(3):
        values[role][0] = values[role][1] = default
    by_role = given if isinstance(given, dict) else {name: given for name in ROLES}
    for name, copies in by_role.items():
        role = c.index_of(name, ROLES, f"{key}:")
        passes = [(i, axis_in_pass(role, i)) for i in range(3)]
        enters = {PASSES[i]: axis for i, axis in passes if axis is not None}
        by_pass = copies if isinstance(copies, dict) else {pass_: copies for pass_ in enters}
        for pass_, value in by_pass.items():
            if pass_ not in enters:
                raise ValueError(f"{key}: {name} is an operand of {' and '.join(enters)}, not of {pass_!r}")
            values[role][enters[pass_]] = c.index_of(value, names, key)


def _fill_signs(out, given):
    out.signs = c.index_of(given.get("signs", "fixed"), SIGNS, "signs")
    if "rht_mask" not in given:
        return
    mask, points = given["rht_mask"], out.rht_size or 16
    try:
        if isinstance(mask, str) and not re.fullmatch(r"(?:0[xX])?[0-9A-Fa-f]+", mask):
            raise ValueError
        out.rht_mask = c.whole(int(mask, 16) if isinstance(mask, str) else mask, 0, 2**points - 1, "rht_mask")
    except (TypeError, ValueError):
        raise ValueError(f'rht_mask must be {points} bits, as in "0xD7E8"') from None
    if out.signs:
        raise ValueError("rht_mask needs signs fixed; with signs step a new mask is drawn at each step")


def _bits(given, names, key):
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"{key} must be a list of {', '.join(names)}")
    return sum({1 << c.index_of(name, names, key) for name in given})


def _fill_bf16_layers(out, given):
    if not isinstance(given, dict) or not set(given) <= {"first", "last", "names"}:
        raise ValueError("bf16_layers must be a dict of first, last and names")
    for key, end in (("first", out.first), ("last", out.last)):
        value = given.get(key, 0)
        share = re.fullmatch(r"([0-9]{1,3})%", value) if isinstance(value, str) else None
        if share and int(share[1]) <= 100:
            end.percent = int(share[1])
        elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= s.MAX_DIM:
            end.blocks = value
        else:
            raise ValueError(f'bf16_layers: {key} must be a number of blocks or a share of them, as in "15%"')
    out.matrices = _bits(given.get("names", []), MATRICES, "bf16_layers: names")
