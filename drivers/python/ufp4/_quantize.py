# SPDX-License-Identifier: Apache-2.0
"""Quantized tensors, and the functions that make them."""

import os
import warnings
from ctypes import byref
from typing import Any, overload

import ml_dtypes
import numpy as np

from . import _arrays as a
from . import _file
from . import _library as c
from . import _recipe
from . import _spec as s

RHT_WORDS = ("off", "on", "bf16")
SCALE_TYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "nvfp4": ml_dtypes.float8_e4m3fn, "e8m0": ml_dtypes.float8_e8m0fnu}


class Quantized:
    """A quantized tensor, made by :func:`quantize` or :meth:`from_safetensors`: rows of codes with a scale per block.

    Its values are element * scale * 2^-tensor_exponent * tensor_scale. With axis "col" it is the transposed tensor. It
    is immutable: arrays from its properties are read-only views of its memory, unless the property says that it copies.
    Two tensors are equal only if they are the same object; compare settings and values by :meth:`to_safetensors`.
    """

    def __init__(self, operand, how):
        self._memory, self._operand, self._how = a.Memory(operand), operand, how

    @property
    def shape(self) -> tuple[int, int]:
        """The logical (rows, cols) of the stored orientation."""
        return self._operand.rows, self._operand.cols

    @property
    def elem(self) -> str:
        return s.ELEMS[self._operand.elem]

    @property
    def scale(self) -> str:
        return s.SCALES[self._operand.scale]

    @property
    def block(self) -> int:
        """Elements per scale."""
        return self._operand.block

    @property
    def axis(self) -> str:
        return _recipe.AXES[self._how.axis]

    @property
    def rht(self) -> str:
        """ "off", "on" or "bf16"."""
        return RHT_WORDS[self._how.rht]

    @property
    def rht_mask(self) -> int:
        return self._how.rht_mask

    @property
    def rht_size(self) -> int:
        """Points of the transform; 16 if there is none."""
        return c.lib.how_points(byref(self._how))

    @property
    def round(self) -> str:
        return s.ROUNDS[self._how.round]

    @property
    def scale_round(self) -> str:
        return s.SCALE_ROUNDS[self._how.scale_round]

    @property
    def seed(self) -> int:
        return self._how.seed

    @property
    def tensor_id(self) -> int:
        return self._how.tensor_id

    @property
    def tensor_exponent(self) -> int:
        """t of E4M3 scales; 0 with other scales."""
        return self._operand.exponent

    @property
    def tensor_scale(self) -> float:
        """Sd of NVFP4; 1 with other scales."""
        return self._operand.tensor_scale

    @property
    def flags(self) -> tuple[str, ...]:
        """Contains "nan" if a block of the data held NaN or Inf, so that its scale is NaN, and "saturated" if a scale
        quotient exceeded 448."""
        bits = (("nan", s.FLAG_NAN), ("saturated", s.FLAG_ROW_SATURATED))
        return tuple(name for name, bit in bits if self._operand.flags & bit)

    @property
    def _stored(self):
        """Returns the columns in a file; after a transform the padding holds data."""
        cols = self._operand.cols
        return cols if self._how.rht == 0 else -(-cols // 16) * 16

    def _views(self, frozen=False):
        """Returns codes [rows][8 * blocks], two per byte, and scales, as views of the operand's memory."""
        o = self._operand
        pointer, dtype = (o.scales_f32, np.float32) if o.scales_f32 else (o.scales, np.uint8)
        return (
            self._memory.array(o.codes, (o.rows, o.blocks * 8), np.uint8, frozen),
            self._memory.array(pointer, (o.rows, o.scale_blocks), dtype, frozen),
        )

    @property
    def packed_codes(self) -> np.ndarray:
        """uint8 [rows][ceil(cols / 2)], two codes per byte, the even column in the low nibble; no copy.

        With the transform, cols is rounded up to a multiple of 16, because the padding holds data.
        """
        return self._views(frozen=True)[0][:, : -(-self._stored // 2)]

    @property
    def codes(self) -> np.ndarray:
        """uint8 [rows][cols], one code per byte; a copy. With the transform, cols is rounded up to a multiple of 16."""
        packed = self.packed_codes
        out = np.empty((packed.shape[0], packed.shape[1], 2), np.uint8)
        np.bitwise_and(packed, 15, out=out[:, :, 0])
        np.right_shift(packed, 4, out=out[:, :, 1])
        out.flags.writeable = False  # a write would seem to change the tensor
        return out.reshape(packed.shape[0], -1)[:, : self._stored]

    @property
    def scales(self) -> np.ndarray:
        """[rows][ceil(cols / block)]: uint8, E4M3 or E8M0 bytes; float32 if scale is "fp32"."""
        return self._views(frozen=True)[1]

    @property
    def float_scales(self) -> np.ndarray:
        """The scales as numbers: ml_dtypes float8_e4m3fn or float8_e8m0fnu, or float32.

        With elements mixed the sign is the grid: a block with a negative scale is uniform.
        """
        return self.scales.view(SCALE_TYPES.get(self.scale, np.float32))

    def dequantize(self, *, unrotate: bool = False) -> np.ndarray:
        """float32: the value of every code, rounded once;
        [rows][cols], with the transform cols rounded up to a multiple of 16.

        unrotate: undoes the transform, which gives [rows][cols]. NaN where a scale is NaN.
        """
        o = self._operand
        if unrotate and self._how.rht == 0:
            raise ValueError("unrotate: this tensor has no Hadamard transform to undo")
        cols = o.cols if self._how.rht == 0 else o.blocks * 16
        out = np.empty((o.rows, cols), np.float32)
        status = c.lib.dequantize(byref(o), cols, a.address(out), cols)
        if status != c.OK:
            c.fail(status)
        if unrotate:
            c.lib.rht_undo_all(
                a.address(out), o.rows * o.blocks * 16 // self.rht_size, self.rht_size, self._how.rht_mask
            )
        return out[:, : o.cols] if unrotate else out

    @overload
    def to_safetensors(self, path: None = None, *, packed: bool = False) -> bytes: ...

    @overload
    def to_safetensors(self, path: str | os.PathLike[str], *, packed: bool = False) -> None: ...

    def to_safetensors(self, path: str | os.PathLike[str] | None = None, *, packed: bool = False) -> bytes | None:
        """Returns the bytes of a file of format "ufp4-1", equal to those of `ufp4 quantize`; or writes them to @p path
        and returns None.

        packed: two codes to a byte. The file is written beside the target and renamed when complete; the mode is kept.
        OSError: it cannot be written, or is no regular file.
        """
        return _file.write(self, path, packed)

    @staticmethod
    def from_safetensors(source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> "Quantized":
        """Reads a file of format "ufp4-1" from a path, or from bytes. ValueError: it is not one; OSError: it cannot be
        read."""
        return _file.read(source, Quantized)

    def __reduce__(self):
        return Quantized.from_safetensors, (self.to_safetensors(packed=True),)

    def __repr__(self) -> str:
        rows, cols = self.shape
        words = [f"{rows} x {cols}", self.elem, f"scale {self.scale} a {self.block}", f"axis {self.axis}"]
        if self.rht != "off":
            words.append(f"rht {self.rht} 0x{self.rht_mask:0{self.rht_size // 4}X}")
        if self.round != "rne":
            words.append(f"round {self.round}, seed {self.seed}, tensor_id {self.tensor_id}")
        if self.scale in ("e4m3", "nvfp4"):
            words.append(f"t {self.tensor_exponent}" if self.scale == "e4m3" else f"Sd {self.tensor_scale:.9g}")
        return f"<ufp4 {', '.join(words + list(self.flags))}>"


def quantize(
    x: np.ndarray,
    *,
    elem: str | None = None,
    scale: str | None = None,
    block: int | None = None,
    layout: str | None = None,
    axis: str | None = None,
    rht: str | None = None,
    rht_mask: int | None = None,
    rht_size: int | None = None,
    round: str | None = None,
    scale_round: str | None = None,
    seed: int = 0,
    tensor_id: int | None = None,
    tensor_exponent: int | None = None,
    recipe: "str | dict[str, Any] | _recipe.Recipe | None" = None,
    role: str | None = None,
    pass_: str | None = None,
) -> Quantized:
    """Quantizes a tensor to 4 bits, by separate settings or by a recipe for one operand of one GEMM; settings override
    the recipe's.

    x: [rows][cols] of float32 or bfloat16 (ml_dtypes), C or Fortran order, which is not copied; float16 and float64 are
    rounded to float32 first. elem "e2m1", "e1m2", "int4" or "mixed"; scale "e4m3" (default), "nvfp4", "e8m0" or "fp32";
    block 16, with e8m0 32, with e4m3 also 32, 64 or 128; layout "1d" (default) or "2d", 16 x 16; axis "row" (default),
    or "col": of the transposed tensor; rht "off" (default), "on" or "bf16", with the signs rht_mask (a number of
    rht_size bits; 0xD7E8 in each 16) and of rht_size 16 points (with e4m3 also 32 or 64); round "rne" (default) or
    "sr", by the random bytes of seed and tensor_id (0, or by role and axis); scale_round "rne", "up", "down" or "46"
    (default "rne", with e8m0 "down"); tensor_exponent t, from the data by default. All cores are used, but with scale
    "nvfp4", and with "e4m3" in layout "2d", one; the result does not depend on it. recipe: a name, a dict or a
    :class:`Recipe`, with role "x", "w" or "dy" and pass_ "fprop", "dgrad" or "wgrad".

    ValueError: a value, shape or type that is not possible, or values that do not go together. RuntimeWarning: x holds
    NaN or Inf; the scales of those blocks are NaN.
    """
    return run(
        x,
        options(
            elem=elem,
            scale=scale,
            block=block,
            layout=layout,
            axis=axis,
            rht=rht,
            rht_mask=rht_mask,
            rht_size=rht_size,
            round=round,
            scale_round=scale_round,
            seed=seed,
            tensor_id=tensor_id,
            tensor_exponent=tensor_exponent,
            recipe=recipe,
            role=role,
            pass_=pass_,
        ),
    )


def options(
    *,
    seed=0,
    tensor_id=None,
    tensor_exponent=None,
    rht_mask=None,
    rht_size=None,
    block=None,
    recipe=None,
    role=None,
    pass_=None,
    **words,
):
    """Returns the ufp4_quantize_t of quantize's arguments."""
    unknown = set(words) - set(NAMES)
    if unknown:
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
    how = c.Quantize()
    words = {key: words.get(key) for key in NAMES}
    if recipe is not None:
        how = _recipe_how(recipe, role, pass_, words)
    elif role is not None or pass_ is not None:
        raise ValueError("role and pass_ need recipe")
    elif words["elem"] is None:
        raise ValueError("give recipe with role and pass_, or elem")
    _fill(how, words, recipe is not None)
    if rht_size is not None and how.rht == 0:
        raise ValueError("rht_size sets the points of a transform, but rht is off")
    if rht_size is not None and rht_size != (how.rht_size or 16):
        how.rht_size = c.whole(rht_size, 1, 2**15 - 1, "rht_size")
        how.rht_mask = 0
    if rht_mask is None and how.rht_mask == 0 and (recipe is None or rht_size is not None):
        how.rht_mask = c.lib.default_mask(how.rht_size or 16)
    if rht_mask is not None:
        if how.rht == 0:
            raise ValueError("rht_mask sets the signs of a transform, but rht is off")
        how.rht_mask = c.whole(rht_mask, 0, 2 ** (how.rht_size or 16) - 1, "rht_mask")
    how.seed = c.whole(seed, 0, 2**64 - 1, "seed")
    if tensor_id is not None:
        how.tensor_id = c.whole(tensor_id, 0, 2**64 - 1, "tensor_id")
    if tensor_exponent is not None:
        how.exponent_given, how.exponent = 1, c.whole(tensor_exponent, -32768, 32767, "tensor_exponent")
    if block is not None:
        how.block = c.whole(block, 1, 2**15 - 1, "block")
    return how


NAMES = {
    "elem": s.ELEMS,
    "scale": s.SCALES,
    "layout": s.LAYOUTS,
    "axis": _recipe.AXES,
    "rht": RHT_WORDS,
    "round": s.ROUNDS,
    "scale_round": s.SCALE_ROUNDS,
}
DOWN, E8M0, RHT_BF16 = s.SCALE_ROUNDS.index("down"), s.SCALES.index("e8m0"), RHT_WORDS.index("bf16")


def _recipe_how(recipe, role, pass_, words):
    """Returns the recipe's settings for one copy; a given axis must be the recipe's."""
    if role is None or pass_ is None:
        raise ValueError("recipe needs role and pass_")
    made = _recipe.recipe(recipe)
    key = c.lib.recipe_model_key(byref(made._struct))
    if key is not None:
        raise ValueError(f"recipe {made.name}: {key.decode()} applies to a whole model")
    role, pass_ = c.index_of(role, _recipe.ROLES, "role"), c.index_of(pass_, _recipe.PASSES, "pass_")
    axis = _recipe.axis_in_pass(role, pass_)
    if axis is None:
        raise ValueError("role is not an operand of pass_: fprop reads x and w, dgrad dy and w, wgrad dy and x")
    if not made.quantized or not made.quantizes(_recipe.PASSES[pass_]):
        raise ValueError(f"recipe {made.name} does not quantize" + (" this pass" if made.quantized else ""))
    if made._struct.requantize and role != 2 and pass_ != 0:
        raise ValueError(f"recipe {made.name} makes this copy from FPROP's (requantize), which quantize does not do")
    if words["axis"] not in (None, _recipe.AXES[axis]):
        raise ValueError("axis: in this pass this role is blocked along the other axis; leave axis out")
    how = c.lib.recipe_quantize(byref(made._struct), role, axis)
    how.tensor_id = role << 1 | axis
    return how


def _fill(how, words, by_recipe):
    own_scale = how.scale
    for key, word in words.items():
        if word is not None:
            setattr(how, key, c.index_of(word, NAMES[key], key))
    if words["scale_round"] is None and (not by_recipe or how.scale != own_scale):
        how.scale_round = DOWN if how.scale == E8M0 else 0


def run(x, how):
    """Quantizes an array by a structure."""
    matrix, kept, transposed = a.matrix(x, "x")
    asked, how.threads = how.axis, c.all_threads()
    how.axis ^= transposed
    operand = c.Operand()
    status = c.lib.quantize(byref(matrix), byref(how), byref(operand))
    if status != c.OK:
        message = c.Message()
        c.lib.quantize_check(byref(matrix), byref(how), byref(message))
        c.fail(status, message)
    how.axis = asked
    out = Quantized(operand, how)
    if operand.flags & s.FLAG_NAN:
        bf16 = ", or its transform numbers beyond BF16" if how.rht == RHT_BF16 else ""
        warnings.warn(
            f"x holds NaN, Inf or numbers beyond FP32{bf16}; the scales of those blocks are NaN",
            RuntimeWarning,
            stacklevel=3,
        )
    return out
