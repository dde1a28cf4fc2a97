# SPDX-License-Identifier: Apache-2.0
"""Linear layers of PyTorch whose three training GEMMs are computed as a recipe says, with the bits of the golden model.

Tensors are on the CPU, float32 or bfloat16. The layer keeps the quantized copies that its backward passes need, not x.
"""
import fnmatch
import functools
import json
from collections.abc import Iterable
from ctypes import byref

import torch

from . import _arrays as a
from . import _library as c
from . import _quantize
from . import _recipe
from ._recipe import Recipe, recipe as make_recipe

__all__ = ["Linear", "convert", "linear"]

FPROP, DGRAD, WGRAD = range(3)
X, W, DY = range(3)
ROW, COL = range(2)
PLAIN = (torch.Tensor, torch.nn.Parameter)  # which no fake tensor is
DTYPES = {torch.float32: a.F32, torch.bfloat16: a.BF16}


@functools.lru_cache(maxsize=64)
def _parsed(text):
    made = make_recipe(json.loads(text))
    layers = made._struct.bf16_layers
    if layers.first.blocks or layers.first.percent or layers.last.blocks or layers.last.percent or layers.matrices:
        raise ValueError(f"recipe {made.name}: bf16_layers needs the blocks of a whole model; use another recipe, and skip of convert")
    return made


@functools.lru_cache(maxsize=64)
def _text_of_name(name):
    return _text(make_recipe(name))


def _text(recipe):
    """A recipe as the operators take it."""
    if isinstance(recipe, str):
        return _text_of_name(recipe)
    made = make_recipe(recipe)
    text = json.dumps(made.to_dict())
    _parsed(text)
    return text


# --- Copies, and what multiplies them ---------------------------------------------------------------

def _matrix(tensor):
    rows, cols = tensor.shape
    return c.Matrix(DTYPES[tensor.dtype], rows, cols, tensor.stride(0) if rows > 1 else cols, tensor.data_ptr())


def _how(made, role, axis, ids):
    step, layer, seed = ids
    how = c.lib.recipe_quantize(byref(made._struct), role, axis)
    how.rht_mask = c.lib.recipe_mask(byref(made._struct), seed, step)
    how.seed, how.tensor_id = seed, step << 16 | layer << 4 | role << 1 | axis
    how.threads = torch.get_num_threads()
    return how


def _quantized(tensor, how):
    operand, matrix = c.Operand(), _matrix(tensor)
    status = c.lib.quantize(byref(matrix), byref(how), byref(operand))
    if status != c.OK:
        message = c.Message()
        c.lib.quantize_check(byref(matrix), byref(how), byref(message))
        c.fail(status, message)
    return _quantize.Quantized(operand, how)


def _product(left, right, contract, dtype):
    how = c.Gemm(contract=contract, d_dtype=DTYPES[dtype], alpha=1, threads=torch.get_num_threads())
    shape = left.rows, right.rows
    out = torch.empty(shape, dtype=dtype)
    status = c.lib.gemm(byref(left), byref(right), byref(how), out.data_ptr(), shape[1])
    if status != c.OK:
        c.fail(status)
    return out


def _rounded(made, tensor):
    """What an operand of a GEMM that is not quantized is."""
    bf16 = made.quantized or made._struct.dtype == a.BF16
    return tensor.to(torch.bfloat16).float() if bf16 else tensor.float()


def _quantizes(made, pass_):
    return made.quantized and made.quantizes(_recipe.PASSES[pass_])


def _kept(q):
    """The values that FPROP's copy holds, of recipes that requantize."""
    return torch.from_numpy(q.dequantize(unrotate=q.rht != "off"))


def _tensors(q):
    """The memory of a quantized copy as two tensors, not copied, and the numbers beside it."""
    o = q._operand
    codes, scales = (torch.from_numpy(view) for view in q._views())
    scale_bits = c.c_uint32.from_buffer(c.c_float(o.tensor_scale)).value
    return codes, scales, (o.exponent, scale_bits)


def _operand(made, rows, cols, codes, scales, numbers):
    """A copy that _tensors gave, for as long as these tensors live."""
    scale = made._struct.scale
    block = _quantize.s.SCALE_BLOCK[scale]
    bits = c.c_uint32(numbers[1])
    f32 = scales.dtype == torch.float32
    return c.Operand(elem=made._struct.elem, scale=scale, rows=rows, cols=cols, blocks=-(-cols // 16), block=block,
                     scale_blocks=-(-cols // block), codes=codes.data_ptr(), scales=None if f32 else scales.data_ptr(),
                     scales_f32=scales.data_ptr() if f32 else None, exponent=numbers[0], tensor_scale=c.c_float.from_buffer(bits).value)


# --- Operators: opaque to torch.compile ---------------------------------------------------------------

class _Source:
    """X or W: its row copy, made once and if it is needed, and what backward passes take instead of it."""

    def __init__(self, made, role, tensor, ids):
        self.made, self.role, self.tensor, self.ids = made, role, tensor.contiguous(), ids

    @functools.cached_property
    def row(self):
        return _quantized(self.tensor, _how(self.made, self.role, ROW, self.ids))

    @functools.cached_property
    def backward(self):
        requantizes = self.made.quantized and self.made._struct.requantize
        return _kept(self.row) if requantizes else self.tensor

    def saved(self, pass_, wanted):
        """What @p pass_ needs of it: a column copy, or where the pass is not quantized the rounded tensor."""
        if not wanted:
            return torch.empty(0, dtype=torch.uint8), torch.empty(0, dtype=torch.uint8), (0, 0)
        if not _quantizes(self.made, pass_):
            return _rounded(self.made, self.backward).clone(), torch.empty(0, dtype=torch.uint8), (0, 0)
        return _tensors(_quantized(self.backward, _how(self.made, self.role, COL, self.ids)))


def _compute_forward(x: torch.Tensor, w: torch.Tensor, ids: torch.Tensor, recipe: str, need_dx: bool, need_dw: bool) -> tuple[
        torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Y, the numbers of the copies, and the copies of X for WGRAD and of W for DGRAD."""
    made, numbers = _parsed(recipe), ids.tolist()
    sources = _Source(made, X, x, numbers), _Source(made, W, w, numbers)
    if _quantizes(made, FPROP):
        y = _product(sources[X].row._operand, sources[W].row._operand, made._struct.contract, x.dtype)
    else:
        # As the driver: with requantize the host's GEMM takes the copies' values too.
        left, right = (_rounded(made, source.backward) for source in sources)
        y = (left @ right.T).to(x.dtype)
    x_codes, x_scales, x_numbers = sources[X].saved(WGRAD, need_dw)
    w_codes, w_scales, w_numbers = sources[W].saved(DGRAD, need_dx)
    return y, torch.tensor([*numbers, *x_numbers, *w_numbers]), x_codes, x_scales, w_codes, w_scales


_forward = torch.library.custom_op("ufp4::linear_forward", _compute_forward, mutates_args=(), device_types="cpu")


def _fake_copy(like, made, pass_, wanted):
    """Shapes and types of _Source.saved."""
    rows, cols = like.shape
    if not wanted:
        return like.new_empty(0, dtype=torch.uint8), like.new_empty(0, dtype=torch.uint8)
    if not _quantizes(made, pass_):
        return like.new_empty((rows, cols), dtype=torch.float32), like.new_empty(0, dtype=torch.uint8)
    scale = made._struct.scale
    dtype = torch.float32 if _quantize.s.SCALES[scale] == "fp32" else torch.uint8
    block = _quantize.s.SCALE_BLOCK[scale]
    return (like.new_empty((cols, (rows + 15) // 16 * 8), dtype=torch.uint8),
            like.new_empty((cols, (rows + block - 1) // block), dtype=dtype))


@_forward.register_fake
def _(x, w, ids, recipe, need_dx, need_dw):
    made = _parsed(recipe)
    return (x.new_empty((x.shape[0], w.shape[0])), x.new_empty(7, dtype=torch.int64), *_fake_copy(x, made, WGRAD, need_dw),
            *_fake_copy(w, made, DGRAD, need_dx))


def _compute_backward(dy: torch.Tensor, numbers: torch.Tensor, x_codes: torch.Tensor, x_scales: torch.Tensor, w_codes: torch.Tensor,
              w_scales: torch.Tensor, recipe: str, cin: int, need_dx: bool, need_dw: bool, x_dtype: torch.dtype,
              w_dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """dX [tokens][cin] and dW [cout][cin]; empty where they are not needed."""
    made, numbers, dy = _parsed(recipe), numbers.tolist(), dy.contiguous()
    (tokens, cout), ids = dy.shape, numbers[:3]
    dx, dw = torch.empty(0, dtype=x_dtype), torch.empty(0, dtype=w_dtype)
    if need_dx and _quantizes(made, DGRAD):
        left = _quantized(dy, _how(made, DY, ROW, ids))
        dx = _product(left._operand, _operand(made, cin, cout, w_codes, w_scales, numbers[5:7]), made._struct.contract, x_dtype)
    elif need_dx:
        dx = (_rounded(made, dy) @ w_codes).to(x_dtype)
    if need_dw and _quantizes(made, WGRAD):
        left = _quantized(dy, _how(made, DY, COL, ids))
        dw = _product(left._operand, _operand(made, cin, tokens, x_codes, x_scales, numbers[3:5]), made._struct.contract, w_dtype)
    elif need_dw:
        dw = (_rounded(made, dy).T @ x_codes).to(w_dtype)
    return dx, dw


_backward = torch.library.custom_op("ufp4::linear_backward", _compute_backward, mutates_args=(), device_types="cpu")


@_backward.register_fake
def _(dy, numbers, x_codes, x_scales, w_codes, w_scales, recipe, cin, need_dx, need_dw, x_dtype, w_dtype):
    return (dy.new_empty((dy.shape[0], cin) if need_dx else 0, dtype=x_dtype),
            dy.new_empty((dy.shape[1], cin) if need_dw else 0, dtype=w_dtype))


def _setup(ctx, inputs, output):
    x, w, _, ctx.recipe, ctx.need_dx, ctx.need_dw = inputs
    ctx.cin, ctx.dtypes = x.shape[1], (x.dtype, w.dtype)
    ctx.save_for_backward(*output[1:])


def _grad(ctx, dy, *_, compute=torch.ops.ufp4.linear_backward):
    dx, dw = compute(dy, *ctx.saved_tensors, ctx.recipe, ctx.cin, ctx.need_dx, ctx.need_dw, *ctx.dtypes)
    return dx if ctx.need_dx else None, dw if ctx.need_dw else None, None, None, None, None


torch.library.register_autograd("ufp4::linear_forward", _grad, setup_context=_setup)


class _Eager(torch.autograd.Function):
    """The same without the operators, whose calls take longer than a small layer."""

    @staticmethod
    def forward(ctx, *inputs):
        output = _compute_forward(*inputs)
        _setup(ctx, inputs, output)
        return output[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        return _grad(ctx, dy, compute=_compute_backward)


# --- Layers -------------------------------------------------------------------------------------------

def _check(tensor, what):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{what} must be a tensor, not {type(tensor).__name__}")
    if tensor.device.type not in ("cpu", "meta"):
        raise ValueError(f"{what} is on {tensor.device}; ufp4 computes tensors of the CPU")
    if tensor.dtype not in DTYPES:
        raise ValueError(f"{what} is of type {tensor.dtype}; float32 and bfloat16 are possible")


def _apply(x, weight, bias, ids, text):
    _check(x, "x")
    _check(weight, "weight")
    if x.dim() < 1 or weight.dim() != 2 or x.shape[-1] != weight.shape[1]:
        raise ValueError(f"x is {tuple(x.shape)}, weight is {tuple(weight.shape)}; the last sizes must be equal, weight [cout][cin]")
    if x.numel() == 0 or weight.numel() == 0:
        raise ValueError(f"x is {tuple(x.shape)}, weight is {tuple(weight.shape)}: an empty tensor")
    grad = torch.is_grad_enabled()
    inputs = x.reshape(-1, x.shape[-1]), weight, ids, text, grad and x.requires_grad, grad and weight.requires_grad
    plain = type(x) in PLAIN and type(weight) in PLAIN and x.device.type == weight.device.type == "cpu"
    y = _Eager.apply(*inputs) if plain and not torch.compiler.is_compiling() else torch.ops.ufp4.linear_forward(*inputs)[0]
    y = y.reshape(*x.shape[:-1], weight.shape[0])
    return y if bias is None else y + bias.to(y.dtype)


def _ids(step, layer, seed):
    """Below 2^48, 2^12, 2^63."""
    return torch.tensor([c.whole(step, 0, 2**48 - 1, "step"), c.whole(layer, 0, 4095, "layer"), c.whole(seed, 0, 2**63 - 1, "seed")])


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *, recipe: str | dict | Recipe = "ufp4", seed: int = 0,
           layer: int = 0, step: int = 0) -> torch.Tensor:
    """Y [..][cout] = X [..][cin] W^T + bias, of x's type; differentiable once, by x, weight [cout][cin] and bias.

    FPROP, DGRAD and WGRAD are computed as the recipe says; one that it does not quantize is PyTorch's own GEMM of operands rounded to
    BF16 (of the recipe fp32: not rounded). seed, layer (0 to 4095) and step give the random bytes, and a recipe's signs. ValueError:
    another type, device or shape, or a recipe that needs a whole model.
    """
    return _apply(x, weight, bias, _ids(step, layer, seed), _text(recipe))


class Linear(torch.nn.Linear):
    """torch.nn.Linear by :func:`linear`.

    The buffer ids holds [step, layer, seed]: the step counts the calls in training mode, and the state dict has all three, so that a
    run that is resumed has the same bits.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, recipe: str | dict | Recipe = "ufp4", layer: int = 0,
                 seed: int = 0, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self._recipe = _text(recipe)
        self.register_buffer("ids", _ids(0, layer, seed))

    @property
    def recipe(self) -> Recipe:
        return _parsed(self._recipe)

    def forward(self, x):
        ids = self.ids.clone()
        if self.training:
            self.ids[0] += 1
        return _apply(x, self.weight, self.bias, ids, self._recipe)

    def extra_repr(self):
        return f"{super().extra_repr()}, recipe={self.recipe.name}"


def convert(model: torch.nn.Module, recipe: str | dict | Recipe = "ufp4", *, skip: str | Iterable[str] = (),
            seed: int = 0) -> torch.nn.Module:
    """Replaces each torch.nn.Linear of @p model by a :class:`Linear` with the same parameters, in place, and gives the model.

    Layers are numbered as named_modules orders them, those that are skipped too. skip: names of layers, or patterns such as "head*",
    that stay as they are. Subclasses of torch.nn.Linear stay. ValueError: a word of skip that is no layer's, over 4096 layers, or a
    recipe that needs a whole model.
    """
    skip = [skip] if isinstance(skip, str) else list(skip)
    names = [name for name, module in model.named_modules() if type(module) is torch.nn.Linear]
    for pattern in skip:
        if not fnmatch.filter(names, pattern):
            raise ValueError(f"skip: no linear layer is called {pattern!r}; there are {', '.join(names) or 'none'}")
    made = {name: _of_layer(model.get_submodule(name), recipe, number, seed) for number, name in enumerate(names)
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in skip)}
    for name, layer in made.items():
        if name == "":
            return layer
        model.set_submodule(name, layer)
    return model


def _of_layer(module, recipe, number, seed):
    new = Linear(module.in_features, module.out_features, False, recipe=recipe, layer=number, seed=seed, device="meta", dtype=module.weight.dtype)
    new.weight, new.bias = module.weight, module.bias
    return new.train(module.training)
