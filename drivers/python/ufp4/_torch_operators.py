# SPDX-License-Identifier: Apache-2.0
"""The two operators of ufp4.torch, forward and backward, and their derivative, FLOPs and fake kernels."""

import functools
import json
from ctypes import byref

import torch
import torch.utils.flop_counter

from . import _arrays as a
from . import _library as c
from . import _quantize
from . import _recipe
from . import _torch_gpu as gpu
from . import _torch_host as host
from . import _torch_measure as measure
from . import _torch_steps as steps
from ._recipe import recipe as make_recipe

FPROP, DGRAD, WGRAD = range(3)
X, W, DY = range(3)
ROW, COL = range(2)
DTYPES = {torch.float32: a.F32, torch.bfloat16: a.BF16}


@functools.lru_cache(maxsize=64)
def parsed(text):
    made = make_recipe(json.loads(text))
    if has_bf16_layers(made):
        raise ValueError(f"recipe {made.name}: bf16_layers needs the blocks of a whole model; give them to convert")
    return made


def has_bf16_layers(made):
    layers = made._struct.bf16_layers
    return bool(
        layers.first.blocks or layers.first.percent or layers.last.blocks or layers.last.percent or layers.matrices
    )


@functools.lru_cache(maxsize=64)
def _text_of_name(name):
    return text_of(make_recipe(name))


def text_of(recipe):
    """Returns a recipe as an operator's argument."""
    if isinstance(recipe, str):
        return _text_of_name(recipe)
    made = make_recipe(recipe)
    text = json.dumps(made.to_dict())
    parsed(text)
    return text


# --- Copies, and what multiplies them ---------------------------------------------------------------


def _dense(tensor):
    """Returns a contiguous tensor with resolved values whose address is a multiple of its element size."""
    tensor = tensor.resolve_neg().contiguous()
    return tensor.clone() if tensor.data_ptr() % tensor.element_size() else tensor


def _matrix(tensor):
    rows, cols = tensor.shape
    return c.Matrix(DTYPES[tensor.dtype], rows, cols, tensor.stride(0) if rows > 1 else cols, tensor.data_ptr())


def _how(made, role, axis, ids):
    """ids: numbers of the host; or a tensor, from which the GPU draws (steps.drawn)."""
    how = c.lib.recipe_quantize(byref(made._struct), role, axis)
    if isinstance(ids, torch.Tensor):
        how.tensor_id = role << 1 | axis
        return how
    step, layer, seed, rank = ids
    how.rht_mask = c.lib.recipe_mask(byref(made._struct), seed, step)
    drawn = step if role == W else steps.of_rank(step, rank)  # all ranks share W
    how.seed, how.tensor_id = seed, drawn << 16 | layer << 4 | role << 1 | axis
    return how


def _place(tensor):
    """Returns the module that quantizes and multiplies on the tensor's device."""
    return gpu if gpu.takes(tensor) else host


ALONG = (
    ("inputs", "tokens"),
    ("inputs", "outputs"),
    ("outputs", "tokens"),
)  # X, W, dY: the dimensions along which the row copy and the column copy are blocked


def check_points(made, size, what, owner):
    """Checks that the transform divides each dimension to which it is applied."""
    if size % made._struct.rht_size:
        raise ValueError(
            f"{owner}: the transform of {made._struct.rht_size} points of recipe {made.name} does not divide "
            f"{size}, the number of {what}, which must be a multiple"
        )


def _copies(made, tensor, hows, ids):
    tensor, role = _dense(tensor), hows[0].tensor_id >> 1 & 7
    for how in hows if made._struct.rht_size > 16 else ():
        if how.rht:
            layer = how.tensor_id >> 4 & 4095
            check_points(made, tensor.shape[1 - how.axis], ALONG[role][how.axis], f"layer {layer}")
    place = _place(tensor)
    if isinstance(ids, torch.Tensor):
        return gpu.quantize(made, _matrix(tensor), tensor, hows, ids[int(role == W)])
    copies = place.quantize(made, _matrix(tensor), tensor, hows)
    if measure.current.call is not None:
        measure.current.call.add(made, tensor, ids[0], hows, copies, place)
    return copies


def _numbers(made, ids):
    """The random numbers of copies: numbers of the host, or the GPU's tensor of them. They are copied to the host only
    if it needs them: for a Watch, and to undo a transform with drawn signs."""
    if not isinstance(ids, torch.Tensor) or ids.dim() == 1:
        return steps.checked(ids)
    undone = made.quantized and made._struct.requantize and made._struct.signs
    if gpu.is_captured():
        if undone:
            raise RuntimeError(
                f"recipe {made.name}: requantize undoes signs of a step on the host, which a CUDA graph cannot capture"
            )
        return ids
    return steps.of_drawn(ids) if undone or measure.current.call is not None else ids


def _product(place, made, left, right, dtype):
    how = c.Gemm(contract=made._struct.contract, d_dtype=DTYPES[dtype], alpha=1)
    return place.product(made, left, right, how, dtype)


def _rounded(made, tensor):
    """Returns the operand of a GEMM that is not quantized."""
    bf16 = made.quantized or made._struct.dtype == a.BF16
    return tensor.to(torch.bfloat16).float() if bf16 else tensor.float()


def _quantizes(made, pass_):
    return made.quantized and made.quantizes(_recipe.PASSES[pass_])


# --- Operators: opaque to torch.compile ---------------------------------------------------------------


class _Source:
    """The row copy of X or W, if FPROP reads one, and what @p pass_ needs of the tensor, if requested."""

    def __init__(self, made, role, tensor, ids, pass_, wanted):
        row, col = (_how(made, role, axis, ids) for axis in (ROW, COL))
        again = made.quantized and made._struct.requantize
        wants_row, wants_col = _quantizes(made, FPROP), wanted and _quantizes(made, pass_)
        self.row, self.backward = None, tensor
        saved = None
        if wants_col and not again:
            *rows, saved = _copies(made, tensor, [row, col] if wants_row else [col], ids)
            self.row = rows[0] if rows else None
        elif wants_row or again:
            (self.row,) = _copies(made, tensor, [row], ids)
        if again and wanted:
            self.backward = _place(tensor).dequantize(made, self.row, row)
        if wants_col and again:
            (saved,) = _copies(made, self.backward, [col], ids)
        if saved is None:
            plain = _rounded(made, self.backward).clone() if wanted else _nothing(tensor)
            self.saved = plain, _nothing(tensor), _nothing(tensor)
        else:
            self.saved = saved.saved()


def _nothing(like):
    return like.new_empty(0, dtype=torch.uint8)


def _compute_forward(
    x: torch.Tensor, w: torch.Tensor, ids: torch.Tensor, recipe: str, need_dx: bool, need_dw: bool
) -> tuple[
    torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor
]:
    """Returns Y, the ids, and the copies of X for WGRAD and of W for DGRAD: codes, scales, and their words. ids: on the
    CPU step, layer, seed, and the rank if it is not 0; or the GPU's random numbers (steps.drawn)."""
    made = parsed(recipe)
    numbers = _numbers(made, ids)
    if 0 in (*x.shape, *w.shape):
        return _empty_forward(x, w, ids, recipe, need_dx, need_dw)
    left, right = _Source(made, X, x, numbers, WGRAD, need_dw), _Source(made, W, w, numbers, DGRAD, need_dx)
    if _quantizes(made, FPROP):
        y = _product(_place(x), made, left.row, right.row, x.dtype)
    else:
        # With requantize the host's GEMM also uses the decoded values of the copies, as in the driver.
        y = (_rounded(made, left.backward) @ _rounded(made, right.backward).T).to(x.dtype)
    return y, _kept(ids), *left.saved, *right.saved


def _kept(ids):
    """Returns ids for the backward pass, which later steps of the layer do not change."""
    on_device = isinstance(ids, torch.Tensor) and ids.dim() == 2
    return ids.clone() if on_device else torch.tensor(steps.checked(ids), device="cpu")


_forward = torch.library.custom_op(
    "ufp4::linear_forward", _compute_forward, mutates_args=(), device_types=("cpu", "cuda")
)


def _fake_copy(like, made, pass_, wanted):
    """Returns shapes and types of _Source.saved."""
    rows, cols = like.shape
    nothing = like.new_empty(0, dtype=torch.uint8)
    if not wanted:
        return nothing, nothing.clone(), nothing.clone()
    if not _quantizes(made, pass_):
        return like.new_empty((rows, cols), dtype=torch.float32), nothing, nothing.clone()
    scale = made._struct.scale
    dtype = torch.float32 if _quantize.s.SCALES[scale] == "fp32" else torch.uint8
    codes, scales = _place(like).shapes(made, cols, rows)
    return (
        like.new_empty(codes, dtype=torch.uint8),
        like.new_empty(scales, dtype=dtype),
        like.new_empty(_place(like).WORDS, dtype=torch.int32),
    )


@_forward.register_fake
def _fake_forward(x, w, ids, recipe, need_dx, need_dw):
    made = parsed(recipe)
    return (
        x.new_empty((x.shape[0], w.shape[0])),
        torch.empty_like(ids) if ids.dim() == 2 else torch.empty(4, dtype=torch.int64, device="cpu"),
        *_fake_copy(x, made, WGRAD, need_dw),
        *_fake_copy(w, made, DGRAD, need_dx),
    )


def _empty_forward(x, w, ids, recipe, need_dx, need_dw):
    """Returns the results for an empty tensor: sums of nothing, and copies that nothing reads."""
    numbers = _kept(ids)
    y, _, *copies = (tensor.zero_() for tensor in _fake_forward(x, w, numbers, recipe, need_dx, need_dw))
    return y, numbers, *copies


def _compute_backward(
    dy: torch.Tensor,
    numbers: torch.Tensor,
    x_codes: torch.Tensor,
    x_scales: torch.Tensor,
    x_words: torch.Tensor,
    w_codes: torch.Tensor,
    w_scales: torch.Tensor,
    w_words: torch.Tensor,
    recipe: str,
    cin: int,
    need_dx: bool,
    need_dw: bool,
    x_dtype: torch.dtype,
    w_dtype: torch.dtype,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns dX [tokens][cin] and dW [cout][cin]; empty if they are not needed."""
    made = parsed(recipe)
    ids = _numbers(made, numbers)
    tokens, cout = dy.shape
    if 0 in (tokens, cout, cin):
        return (
            dy.new_zeros((tokens, cin) if need_dx else 0, dtype=x_dtype),
            dy.new_zeros((cout, cin) if need_dw else 0, dtype=w_dtype),
        )
    axes = [
        axis for axis, pass_, need in ((ROW, DGRAD, need_dx), (COL, WGRAD, need_dw)) if need and _quantizes(made, pass_)
    ]
    hows = [_how(made, DY, axis, ids) for axis in axes]
    made_of_dy = dict(zip(axes, _copies(made, dy, hows, ids))) if axes else {}
    dx, dw = dy.new_empty(0, dtype=x_dtype), dy.new_empty(0, dtype=w_dtype)
    if ROW in made_of_dy:
        dx = _product(_place(dy), made, made_of_dy[ROW], host.Copy(w_codes, w_scales, w_words, cin, cout), x_dtype)
    elif need_dx:
        dx = (_rounded(made, dy) @ w_codes).to(x_dtype)
    if COL in made_of_dy:
        dw = _product(_place(dy), made, made_of_dy[COL], host.Copy(x_codes, x_scales, x_words, cin, tokens), w_dtype)
    elif need_dw:
        dw = (_rounded(made, dy).T @ x_codes).to(w_dtype)
    return dx, dw


_backward = torch.library.custom_op(
    "ufp4::linear_backward", _compute_backward, mutates_args=(), device_types=("cpu", "cuda")
)


@_backward.register_fake
def _(
    dy, numbers, x_codes, x_scales, x_words, w_codes, w_scales, w_words, recipe, cin, need_dx, need_dw, x_dtype, w_dtype
):
    return (
        dy.new_empty((dy.shape[0], cin) if need_dx else 0, dtype=x_dtype),
        dy.new_empty((dy.shape[1], cin) if need_dw else 0, dtype=w_dtype),
    )


def _setup(ctx, inputs, output):
    x, w, _, ctx.recipe, ctx.need_dx, ctx.need_dw = inputs
    ctx.cin, ctx.dtypes = x.shape[1], (x.dtype, w.dtype)
    ctx.watched = measure.current.call
    ctx.save_for_backward(*output[1:])


def _grad(ctx, dy, *_, compute=torch.ops.ufp4.linear_backward):
    if torch.is_grad_enabled():  # without this error, the second derivative would silently be 0
        raise RuntimeError("ufp4's layers have no second derivative; leave out create_graph")
    saved = ctx.saved_tensors  # a checkpoint repeats calls when this is read
    measure.current.call = ctx.watched
    try:
        dx, dw = compute(dy, *saved, ctx.recipe, ctx.cin, ctx.need_dx, ctx.need_dw, *ctx.dtypes)
    finally:
        measure.current.call = None
    return dx if ctx.need_dx else None, dw if ctx.need_dw else None, None, None, None, None


torch.library.register_autograd("ufp4::linear_forward", _grad, setup_context=_setup)


class Eager(torch.autograd.Function):
    """Computes a layer without the operators, whose overhead exceeds the time of a small layer."""

    @staticmethod
    def forward(ctx, *inputs):
        output = _compute_forward(*inputs)
        _setup(ctx, inputs, output)
        return output[0]

    @staticmethod
    def backward(ctx, dy):
        return _grad(ctx, dy, compute=_compute_backward)


# --- FLOPs, of which torch.utils.flop_counter asks ------------------------------------------------------


@torch.utils.flop_counter.register_flop_formula(torch.ops.ufp4.linear_forward)
def _forward_flops(x, w, *_, **__):
    return 2 * x[0] * x[1] * w[0]


@torch.utils.flop_counter.register_flop_formula(torch.ops.ufp4.linear_backward)
def _backward_flops(
    dy, numbers, x_codes, x_scales, x_words, w_codes, w_scales, w_words, recipe, cin, need_dx, need_dw, *_, **__
):
    return 2 * dy[0] * dy[1] * cin * (need_dx + need_dw)
