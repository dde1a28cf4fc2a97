# SPDX-License-Identifier: Apache-2.0
"""Linear layers of PyTorch whose three training GEMMs are computed as a recipe says, with the bits of the golden model.

Tensors are on the CPU, dense, float32 or bfloat16. The layer keeps the quantized copies that its backward passes need, not x.
"""
import fnmatch
import functools
import json
from collections.abc import Iterable
from ctypes import byref
from typing import Any

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
    if _has_bf16_layers(made):
        raise ValueError(f"recipe {made.name}: bf16_layers needs the blocks of a whole model; give them to convert")
    return made


def _has_bf16_layers(made):
    layers = made._struct.bf16_layers
    return bool(layers.first.blocks or layers.first.percent or layers.last.blocks or layers.last.percent or layers.matrices)


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

def _dense(tensor):
    """With its rows one behind the other, numbers as they are meant, at an address that is a multiple of their size."""
    tensor = tensor.resolve_neg().contiguous()
    return tensor.clone() if tensor.data_ptr() % tensor.element_size() else tensor


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
        self.made, self.role, self.tensor, self.ids = made, role, _dense(tensor), ids

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


def _numbers(ids):
    step, layer, seed = numbers = ids.tolist()
    if not (0 <= step < 2**48 and 0 <= layer < 2**12 and 0 <= seed):
        raise ValueError(f"ids are {numbers}; step, layer and seed go to 2^48, 2^12 and 2^63 (after to_empty, set or load them)")
    return numbers


def _compute_forward(x: torch.Tensor, w: torch.Tensor, ids: torch.Tensor, recipe: str, need_dx: bool, need_dw: bool) -> tuple[
        torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Y, the numbers of the copies, and the copies of X for WGRAD and of W for DGRAD."""
    made, numbers = _parsed(recipe), _numbers(ids)
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
    made, numbers, dy = _parsed(recipe), numbers.tolist(), _dense(dy)
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
    if torch.is_grad_enabled():  # where nothing were said, the second derivative would be 0
        raise RuntimeError("ufp4's layers are differentiable once; create_graph asks for a second derivative")
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
    def backward(ctx, dy):
        return _grad(ctx, dy, compute=_compute_backward)


# --- Layers -------------------------------------------------------------------------------------------

def _check(tensor, what):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{what} must be a tensor, not {type(tensor).__name__}")
    if tensor.device.type not in ("cpu", "meta"):
        raise ValueError(f"{what} is on {tensor.device}; ufp4 computes tensors of the CPU")
    if tensor.layout != torch.strided or tensor.is_nested:
        raise ValueError(f"{what} is {'nested' if tensor.is_nested else tensor.layout}; ufp4 computes dense tensors")
    if tensor.dtype not in DTYPES:
        raise ValueError(f"{what} is of type {tensor.dtype}; float32 and bfloat16 are possible")


def _apply(x, weight, bias, ids, text):
    _check(x, "x")
    _check(weight, "weight")
    if x.dim() < 1 or weight.dim() != 2 or x.shape[-1] != weight.shape[1]:
        raise ValueError(f"x is {tuple(x.shape)}, weight is {tuple(weight.shape)}; the last sizes must be equal, weight [cout][cin]")
    if x.numel() == 0 or weight.numel() == 0:
        raise ValueError(f"x is {tuple(x.shape)}, weight is {tuple(weight.shape)}: an empty tensor")
    if bias is not None:
        _check(bias, "bias")
        if bias.shape != weight.shape[:1]:
            raise ValueError(f"bias is {tuple(bias.shape)}; it must be ({weight.shape[0]},)")
    if any(tensor.device != x.device for tensor in (weight, bias) if tensor is not None):
        raise ValueError(f"x is on {x.device}; weight or bias is not")
    grad = torch.is_grad_enabled()
    inputs = x.reshape(-1, x.shape[-1]), weight, ids, text, grad and x.requires_grad, grad and weight.requires_grad
    plain = type(x) in PLAIN and type(weight) in PLAIN and x.device.type == "cpu"
    y = _Eager.apply(*inputs) if plain and not torch.compiler.is_compiling() else torch.ops.ufp4.linear_forward(*inputs)[0]
    y = y.reshape(*x.shape[:-1], weight.shape[0])
    return y if bias is None else y + bias.to(y.dtype)


def _ids(step, layer, seed):
    """Below 2^48, 2^12, 2^63."""
    return torch.tensor([c.whole(step, 0, 2**48 - 1, "step"), c.whole(layer, 0, 4095, "layer"), c.whole(seed, 0, 2**63 - 1, "seed")])


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *, recipe: str | dict[str, Any] | Recipe = "ufp4", seed: int = 0,
           layer: int = 0, step: int = 0) -> torch.Tensor:
    """Y [..][cout] = X [..][cin] W^T + bias, of x's type; differentiable once, by x, weight [cout][cin] and bias.

    FPROP, DGRAD and WGRAD are computed as the recipe says; one that it does not quantize is PyTorch's own GEMM of operands rounded to
    BF16 (of the recipe fp32: not rounded). seed (below 2^63), layer (below 2^12) and step (below 2^48) give the random bytes, and a
    recipe's signs. ValueError: another type, device, layout or shape, or a recipe that needs a whole model. RuntimeError: a second
    derivative is asked for.
    """
    return _apply(x, weight, bias, _ids(step, layer, seed), _text(recipe))


def _is_called(module, arguments):
    """A hook that does nothing: a layer with one is called by torch.nn.TransformerEncoderLayer in evaluation too, which takes the
    weights of others past them."""


class Linear(torch.nn.Linear):
    """torch.nn.Linear by :func:`linear`.

    The buffer ids holds [step, layer, seed]: the step counts the calls in training mode, and the state dict has all three, so that a
    run that is resumed has the same bits. Arguments as those of :func:`linear` and of torch.nn.Linear.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, recipe: str | dict[str, Any] | Recipe = "ufp4", layer: int = 0,
                 seed: int = 0, device: Any = None, dtype: torch.dtype | None = None) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self._begin(_text(recipe), _ids(0, layer, seed))

    def _begin(self, text, ids):
        self._recipe = text
        self.register_buffer("ids", ids)
        self.register_forward_pre_hook(_is_called)

    @property
    def recipe(self) -> Recipe:
        return _parsed(self._recipe)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ids = self.ids.clone()
        if self.training:
            self.ids[0] += 1
        return _apply(x, self.weight, self.bias, ids, self._recipe)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, recipe={self.recipe.name}"


def convert(model: torch.nn.Module, recipe: str | dict[str, Any] | Recipe = "ufp4", *, skip: str | Iterable[str] = (), seed: int = 0,
            blocks: Iterable[torch.nn.Module] | None = None) -> torch.nn.Module:
    """Makes each torch.nn.Linear of @p model a :class:`Linear`, in place, with its parameters and hooks, and gives the model.

    Layers are numbered as named_modules orders them, those that are skipped too. skip: names of layers, or patterns such as "head*",
    that stay as they are. Subclasses of torch.nn.Linear stay. blocks: the model's blocks in their order, such as model.layers, for
    recipes with bf16_layers: first and last count them; names (qkv, ..) are the last words of layers' names; layers outside of all
    blocks are quantized. ValueError: a word of skip that is no layer's, over 4096 layers, or bf16_layers that do not fit.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, not {type(model).__name__}")
    names = {}  # a layer may have several
    for name, module in model.named_modules(remove_duplicate=False):
        if type(module) is torch.nn.Linear:
            names.setdefault(module, []).append(name)
    skipped = _skipped(names, [skip] if isinstance(skip, str) else list(skip))
    texts = _texts(make_recipe(recipe), names, model, blocks)
    ids = [_ids(0, number, seed) for number in range(len(names))]
    for layer, one in zip(names, ids):
        if layer not in skipped:
            layer.__class__ = Linear
            layer._begin(texts[layer], one)
    for module in model.modules():
        if isinstance(module, torch.nn.TransformerEncoder):
            module.use_nested_tensor = False  # which its layers would be given in evaluation
    return model


def _skipped(names, patterns):
    known = [name for many in names.values() for name in many]
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            raise ValueError(f"skip: no linear layer is called {pattern!r}; there are {', '.join(known) or 'none'}")
    return {layer for layer, many in names.items() if any(fnmatch.fnmatchcase(name, pattern) for name in many for pattern in patterns)}


def _texts(made, names, model, blocks):
    """The recipe of each layer as text."""
    if not _has_bf16_layers(made):
        return dict.fromkeys(names, _text(made))
    if blocks is None:
        raise ValueError(f"recipe {made.name}: bf16_layers needs blocks, the model's blocks in their order, such as model.layers")
    blocks, inside = list(blocks), set(model.modules())
    if not blocks or not all(block in inside for block in blocks):
        raise ValueError("blocks must be modules of the model, in their order")
    block_of = {layer: i for i, block in reversed([*enumerate(blocks)]) for layer in block.modules()}
    words = {layer: many[0].rpartition(".")[2] for layer, many in names.items() if layer in block_of}
    for i, word in enumerate(_recipe.MATRICES):
        if made._struct.bf16_layers.matrices >> i & 1 and word not in words.values():
            raise ValueError(f"recipe {made.name}: bf16_layers names {word}; no linear layer of a block is called so")
    return {layer: _text_of_layer(made, block_of.get(layer), words.get(layer), len(blocks)) for layer in names}


def _text_of_layer(made, block, word, blocks):
    """Of a layer by its block, None: outside of all, and the last word of its name."""
    whole, count = c.Recipe.from_buffer_copy(made._struct), len(_recipe.MATRICES)
    whole.name = made.name.encode()[:25].decode(errors="ignore").encode() + b".layer"
    if block is None:
        whole.bf16_layers = c.Bf16Layers()
    if word not in _recipe.MATRICES:
        whole.bf16_layers.matrices, word = 0, _recipe.MATRICES[0]
    layer = (block or 0) * count + _recipe.MATRICES.index(word)
    own = Recipe(c.lib.recipe_of_layer(byref(whole), layer, blocks))
    return _text(own if own.quantized else "bf16")
