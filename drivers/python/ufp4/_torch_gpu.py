# SPDX-License-Identifier: Apache-2.0
"""Tensors of a GPU, quantized and multiplied where they are by the calls of libufp4_cuda.so (ufp4_cuda.h): on the
current stream, with torch's memory, without a copy to the host."""

import ctypes
import functools
import os
import threading
from ctypes import POINTER, Structure, byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint8, c_void_p

import torch

from . import _library as c
from . import _quantize
from ._torch_host import Copy

NAME = "libufp4_cuda.so"
E4M3, NVFP4, E8M0, FP32 = map(_quantize.s.SCALES.index, ("e4m3", "nvfp4", "e8m0", "fp32"))
SR = _quantize.s.ROUNDS.index("sr")
MIXED = _quantize.s.ELEMS.index("mixed")


class _Operand(Structure):
    _fields_ = [
        ("elem", c_int),
        ("scale", c_int),
        ("rows", c_int64),
        ("cols", c_int64),
        ("codes", c_void_p),
        ("scales", c_void_p),
        ("panel_stride", c_int64),
        ("exponent", c_void_p),
        ("exponent_value", c_int32),
        ("tensor_scale", c_void_p),
    ]


class _Call(Structure):
    _fields_ = [
        ("stream", c_void_p),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
        ("message", POINTER(c.Message)),
        ("random", c_void_p),
        ("signs", c_int),
    ]


STRUCTS = {"cuda_operand": _Operand, "cuda_call": _Call, "matrix": c.Matrix, "quantize": c.Quantize, "gemm": c.Gemm}
FUNCTIONS = {
    "cuda_open": (c_int, c_int, POINTER(c_void_p), POINTER(c.Message)),
    "cuda_quantize": (
        c_int,
        c_void_p,
        POINTER(c.Matrix),
        POINTER(c.Quantize),
        POINTER(_Operand),
        c_int,
        c_void_p,
        POINTER(_Call),
    ),
    "cuda_quantize_workspace": (c_size_t, c_void_p, POINTER(c.Matrix)),
    "cuda_gemm": (
        c_int,
        c_void_p,
        POINTER(_Operand),
        POINTER(_Operand),
        POINTER(c.Gemm),
        c_void_p,
        c_int64,
        POINTER(_Call),
    ),
    "cuda_gemm_workspace": (c_size_t, c_void_p, POINTER(_Operand), POINTER(_Operand), POINTER(c.Gemm)),
}

# --- What torch says; tests have CPU tensors stand for a GPU's here -----------------------------------


def takes(tensor):
    return tensor.device.type == "cuda"


def _number(device):
    return torch.cuda.current_device() if device.index is None else device.index


def _stream(device):
    return torch.cuda.current_stream(device).cuda_stream


def is_captured():
    return torch.cuda.is_current_stream_capturing()


# --- The library -----------------------------------------------------------------------------------


@functools.cache
def _library():
    beside = c.beside_the_modules(NAME)
    path = os.environ.get("UFP4_CUDA_LIBRARY") or (
        str(beside) if beside.exists() else f"{NAME}.{'.'.join(_quantize.s.VERSION.split('.')[:2])}"
    )
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise RuntimeError(
            f"CUDA tensors need {NAME}: {error}; `pip install ./drivers/python` builds it where nvcc is, "
            "or name one in UFP4_CUDA_LIBRARY"
        ) from None
    c.check_library(library, path, STRUCTS, "cuda_")
    return c.bind(library, FUNCTIONS)


_open, _opening = {}, threading.Lock()


def _gpu(device):
    """Opens a GPU, once per process."""
    number = _number(device)
    with _opening:
        if number not in _open:
            library, message, gpu = _library(), c.Message(), c_void_p()
            if is_captured():
                raise RuntimeError(
                    f"GPU {number} is not open, and cannot be opened while a stream is captured: "
                    "call a layer on it before the capture"
                )
            _check(library.cuda_open(number, byref(gpu), byref(message)), message)
            _open[number] = gpu
    return _open[number]


def _check(status, message):
    if status in (c.OK, c.ERROR_ARGUMENT, c.ERROR_UNSUPPORTED, c.ERROR_MEMORY):
        return status == c.OK or c.fail(status, message)
    raise RuntimeError(message.text.decode(errors="replace"))


def _call(device, workspace_bytes):
    """The stream and memory of a call, and objects that must live until it is made; torch keeps memory for later work
    on this stream."""
    workspace, message = torch.empty(workspace_bytes, dtype=torch.uint8, device=device), c.Message()
    return _Call(_stream(device), workspace.data_ptr(), workspace_bytes, ctypes.pointer(message)), (workspace, message)


# --- Copies, in panels of 16 rows, whose stores are whole sectors -----------------------------------


WORDS = 2


def shapes(made, rows, cols):
    """Returns the shapes of codes and of scales; there is a scale per 16 elements, whatever the block."""
    rows, blocks = -(-rows // 16) * 16, -(-cols // 16)
    return (rows, blocks * 8), (rows, blocks)


def in_rows(copy):
    """Codes and scales row by row."""
    blocks = -(-copy.cols // 16)

    def turned(tensor, width):
        panels = tensor.view(-1, blocks, 16, width).transpose(1, 2)
        return panels.reshape(-1, blocks * width)[: copy.rows]

    return turned(copy.codes, 8), turned(copy.scales, 1)


def _operand(copy, elem, scale):
    exponent = copy.words.data_ptr()
    return _Operand(
        elem=elem,
        scale=scale,
        rows=copy.rows,
        cols=copy.cols,
        codes=copy.codes.data_ptr(),
        scales=copy.scales.data_ptr(),
        panel_stride=-(-copy.cols // 16),
        exponent=exponent,
        tensor_scale=exponent + 4,
    )


def _new_copy(made, tensor, how):
    rows, cols = tensor.shape[::-1] if how.axis else tensor.shape
    codes, scales = shapes(made, rows, cols)
    return Copy(
        tensor.new_empty(codes, dtype=torch.uint8),
        tensor.new_empty(scales, dtype=torch.float32 if how.scale == FP32 else torch.uint8),
        tensor.new_empty(2, dtype=torch.int32),
        rows,
        cols,
    )


def _refuse_repeated_bytes(made, hows):
    drawn = any(how.round == SR or (how.rht and made._struct.signs) for how in hows)
    if drawn and is_captured():
        raise RuntimeError(
            f"recipe {made.name}: a CUDA graph would repeat the random bytes of the step that was captured; "
            "ufp4.torch.capturable(model) lets each replay draw its own"
        )


def quantize(made, matrix, tensor, hows, drawn=None):
    """Makes copies of a tensor, one per how, two of them from one read. drawn: random numbers, a ufp4_cuda_random_t on
    the GPU."""
    gpu, library = _gpu(tensor.device), _library()
    if drawn is None:
        _refuse_repeated_bytes(made, hows)
    copies = [_new_copy(made, tensor, how) for how in hows]
    call, kept = _call(tensor.device, library.cuda_quantize_workspace(gpu, byref(matrix)))
    if drawn is not None:
        call.random, call.signs = drawn.data_ptr(), made._struct.signs
    outs = (_Operand * len(hows))(*(_operand(copy, how.elem, how.scale) for copy, how in zip(copies, hows)))
    _check(
        library.cuda_quantize(gpu, byref(matrix), (c.Quantize * len(hows))(*hows), outs, len(hows), None, byref(call)),
        kept[1],
    )
    return copies


def product(made, left, right, how, dtype):
    device = left.codes.device
    gpu, library = _gpu(device), _library()
    a, b = (_operand(copy, made._struct.elem, made._struct.scale) for copy in (left, right))
    out = torch.empty((left.rows, right.rows), dtype=dtype, device=device)
    # A refused call has size 0; the call itself reports why.
    call, kept = _call(device, library.cuda_gemm_workspace(gpu, byref(a), byref(b), byref(how)))
    _check(library.cuda_gemm(gpu, byref(a), byref(b), byref(how), out.data_ptr(), right.rows, byref(call)), kept[1])
    return out


# --- The values of a copy, as ufp4_dequantize and ufp4_rht_undo have them --------------------------------


@functools.cache
def _values(elem, device):
    """Returns the values of the 16 codes, [2][16]: by bit 7 of a block's scale, which only mixed uses."""
    codes = (c_uint8 * 16)(*(2 * (i % 8) | (2 * (i % 8) + 1) << 4 for i in range(16)))
    scales, out = (c_uint8 * 2)(0x38, 0x80 | 0x38), (c_float * 32)()  # 1
    operand = c.Operand(
        elem=elem,
        scale=E4M3,
        rows=2,
        cols=16,
        blocks=1,
        block=16,
        scale_blocks=1,
        codes=ctypes.addressof(codes),
        scales=ctypes.addressof(scales),
        tensor_scale=1,
    )
    _check(c.lib.dequantize(byref(operand), 16, ctypes.addressof(out), 16), c.Message())
    return torch.tensor(list(out), dtype=torch.float64, device=device).reshape(2, 16)


def _power(exponent):
    """Returns 2^exponent as float64, for int64 exponents."""
    return ((exponent + 1023) << 52).view(torch.float64)


def _scales(made, copy, stored):
    """Decodes to float64, in which each product is exact, so that only the rounding to FP32 remains."""
    scale = made._struct.scale
    if scale == FP32:
        return stored.double()
    if scale == E8M0:
        return torch.where(stored == 255, float("nan"), _power(stored.long() - 127))
    values = stored.view(torch.float8_e4m3fn).double().abs()
    return (
        values * _power(-copy.words[:1].long())
        if scale == E4M3
        else values * copy.words[1:].view(torch.float32).double()
    )


def dequantize(made, copy, how):
    """Returns float32 [rows][cols]: the decoded values of a row copy, with the transform undone."""
    packed, stored = in_rows(copy)
    codes = torch.stack([packed & 15, packed >> 4], -1).reshape(copy.rows, -1, 16).long()
    grid = (stored >> 7).long().unsqueeze(-1) if made._struct.elem == MIXED else 0
    values = (_values(made._struct.elem, codes.device)[grid, codes] * _scales(made, copy, stored).unsqueeze(-1)).float()
    return (_undo(values, how.rht_mask) if how.rht else values).reshape(copy.rows, -1)[:, : copy.cols].contiguous()


@functools.cache
def _hadamard(device):
    """Returns the signs [16][16] of the transform."""
    return torch.tensor(
        [[-1.0 if (i & j).bit_count() & 1 else 1.0 for j in range(16)] for i in range(16)],
        dtype=torch.float64,
        device=device,
    )


def _undo(blocks, mask):
    wide, hadamard = blocks.double(), _hadamard(blocks.device)
    sums = torch.zeros_like(wide)
    for i in range(16):  # in this order
        sums = sums + hadamard[i] * wide[..., i : i + 1]
    signs = 1.0 - 2.0 * (mask >> torch.arange(16, device=blocks.device) & 1).double()
    return (signs * sums / 4).float()
