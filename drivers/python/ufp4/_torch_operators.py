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
    return bool(layers.first.blocks or layers.first.percent or layers.last.blocks or layers.last.percent or layers.matrices)


@functools.lru_cache(maxsize=64)
def _text_of_name(name):
    return text_of(make_recipe(name))


def text_of(recipe):
    """A recipe as the operators take it."""
    if isinstance(recipe, str):
        return _text_of_name(recipe)
    made = make_recipe(recipe)
    text = json.dumps(made.to_dict())
    parsed(text)
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
    step, layer, seed, rank = ids
    how = c.lib.recipe_quantize(byref(made._struct), role, axis)
    how.rht_mask = c.lib.recipe_mask(byref(made._struct), seed, step)
    drawn = step if role == W else steps.of_rank(step, rank)  # all ranks have the same W
    how.seed, how.tensor_id = seed, drawn << 16 | layer << 4 | role << 1 | axis
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


def _block(made):
    return made._struct.block or _quantize.s.SCALE_BLOCK[made._struct.scale]


def _operand(made, rows, cols, codes, scales, numbers, partner):
    """A copy that _tensors gave, for as long as these tensors live, which is multiplied by @p partner."""
    scale, block = made._struct.scale, _block(made)
    bits = c.c_uint32(numbers[1])
    f32 = scales.dtype == torch.float32
    return c.Operand(elem=made._struct.elem, scale=scale, rows=rows, cols=cols, blocks=-(-cols // 16), block=block,
                     scale_blocks=-(-cols // block), codes=codes.data_ptr(), scales=None if f32 else scales.data_ptr(),
                     scales_f32=scales.data_ptr() if f32 else None, exponent=numbers[0], tensor_scale=c.c_float.from_buffer(bits).value,
                     half=partner.half)


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


def _compute_forward(x: torch.Tensor, w: torch.Tensor, ids: torch.Tensor, recipe: str, need_dx: bool, need_dw: bool) -> tuple[
        torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Y, the numbers of the copies, and the copies of X for WGRAD and of W for DGRAD. ids: step, layer, seed, and the rank if it is not 0."""
    made, numbers = parsed(recipe), steps.checked(ids)
    if 0 in (*x.shape, *w.shape):
        return _empty_forward(x, w, numbers, recipe, need_dx, need_dw)
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
    block = _block(made)
    return (like.new_empty((cols, (rows + 15) // 16 * 8), dtype=torch.uint8),
            like.new_empty((cols, (rows + block - 1) // block), dtype=dtype))


@_forward.register_fake
def _fake_forward(x, w, ids, recipe, need_dx, need_dw):
    made = parsed(recipe)
    return (x.new_empty((x.shape[0], w.shape[0])), x.new_empty(8, dtype=torch.int64), *_fake_copy(x, made, WGRAD, need_dw),
            *_fake_copy(w, made, DGRAD, need_dx))


def _empty_forward(x, w, numbers, recipe, need_dx, need_dw):
    """Of an empty tensor: sums of nothing, and copies that nothing reads."""
    y, _, *copies = (tensor.zero_() for tensor in _fake_forward(x, w, numbers, recipe, need_dx, need_dw))
    return y, torch.tensor([*numbers, 0, 0, 0, 0]), *copies


def _compute_backward(dy: torch.Tensor, numbers: torch.Tensor, x_codes: torch.Tensor, x_scales: torch.Tensor, w_codes: torch.Tensor,
              w_scales: torch.Tensor, recipe: str, cin: int, need_dx: bool, need_dw: bool, x_dtype: torch.dtype,
              w_dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """dX [tokens][cin] and dW [cout][cin]; empty where they are not needed."""
    made, numbers, dy = parsed(recipe), numbers.tolist(), _dense(dy)
    (tokens, cout), ids = dy.shape, numbers[:4]
    if 0 in (tokens, cout, cin):
        return (dy.new_zeros((tokens, cin) if need_dx else 0, dtype=x_dtype), dy.new_zeros((cout, cin) if need_dw else 0, dtype=w_dtype))
    dx, dw = torch.empty(0, dtype=x_dtype), torch.empty(0, dtype=w_dtype)
    if need_dx and _quantizes(made, DGRAD):
        left = _quantized(dy, _how(made, DY, ROW, ids))
        dx = _product(left._operand, _operand(made, cin, cout, w_codes, w_scales, numbers[6:8], left._operand), made._struct.contract, x_dtype)
    elif need_dx:
        dx = (_rounded(made, dy) @ w_codes).to(x_dtype)
    if need_dw and _quantizes(made, WGRAD):
        left = _quantized(dy, _how(made, DY, COL, ids))
        dw = _product(left._operand, _operand(made, cin, tokens, x_codes, x_scales, numbers[4:6], left._operand), made._struct.contract, w_dtype)
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


class Eager(torch.autograd.Function):
    """The same without the operators, whose calls take longer than a small layer."""

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
def _backward_flops(dy, numbers, x_codes, x_scales, w_codes, w_scales, recipe, cin, need_dx, need_dw, *_, **__):
    return 2 * dy[0] * dy[1] * cin * (need_dx + need_dw)
