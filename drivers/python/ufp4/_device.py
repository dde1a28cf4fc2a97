# SPDX-License-Identifier: Apache-2.0
"""Devices of an installed libufp4: the simulated core with its cycles, the GPU, the golden model."""

import ctypes
import dataclasses
import functools
import os
import threading
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_int64, c_uint, c_uint32, c_uint64, c_void_p
from types import MappingProxyType
from typing import Any

import numpy as np

from . import _arrays
from . import _gemm
from . import _library
from . import _recipe
from . import _spec as s
from ._quantize import Quantized
from ._recipe import Recipe


class _Options(Structure):
    _fields_ = [
        ("configuration", c_char_p),
        ("memory_bytes", c_uint64),
        ("mem_latency", c_uint),
        ("mem_bandwidth", c_uint),
        ("stall_seed", c_uint64),
        ("max_cycles", c_uint64),
        ("trace_path", c_char_p),
        ("threads", c_uint),
        ("kernel", c_int),
        ("message", POINTER(_library.Message)),
        ("timing_only", c_int),
        ("timeline_path", c_char_p),
        ("dram", c_char_p),
        ("progress", c_void_p),
        ("progress_user", c_void_p),
        ("bus", c_void_p),
        ("cycle_fs", c_uint64),
    ]


class _Info(Structure):
    _fields_ = [
        ("backend", c_char_p),
        ("configuration", _library.Configuration),
        ("version", c_uint32),
        ("memory_bytes", c_uint64),
        ("has_cycles", c_int),
        ("hardware", c_char * 256),
    ]


class _Stats(Structure):
    _fields_ = [
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("cycles", c_uint64),
        ("quantize_cycles", c_uint64),
        ("counters", c_uint64 * len(s.COUNTERS)),
    ]


class _Shape(Structure):
    _fields_ = [
        ("tokens", c_int64),
        ("cin", c_int64),
        ("cout", c_int64),
        ("layer", c_uint),
        ("seed", c_uint64),
        ("passes", c_uint),
    ]


STRUCTS = {"device_options": _Options, "device_info": _Info, "gemm_stats": _Stats, "linear_shape": _Shape}
FUNCTIONS = {
    "device_open": (c_int, c_char_p, POINTER(_Options), POINTER(c_void_p)),
    "device_close": (None, c_void_p),
    "device_info": (c_int, c_void_p, POINTER(_Info)),
    "device_message": (c_char_p, c_void_p),
    "device_gemm": (
        c_int,
        c_void_p,
        POINTER(_library.Operand),
        POINTER(_library.Operand),
        POINTER(_library.Gemm),
        c_void_p,
        c_int64,
        POINTER(_Stats),
    ),
    "linear_create": (c_int, c_void_p, POINTER(_Shape), POINTER(_library.Recipe), POINTER(c_void_p)),
    "linear_free": (None, c_void_p),
    "linear_fprop": (
        c_int,
        c_void_p,
        POINTER(_library.Matrix),
        POINTER(_library.Matrix),
        c_uint64,
        c_void_p,
        POINTER(_Stats),
    ),
    "linear_dgrad": (c_int, c_void_p, POINTER(_library.Matrix), c_uint64, c_void_p, POINTER(_Stats)),
    "linear_wgrad": (c_int, c_void_p, c_void_p, POINTER(_Stats)),
}
# Options that the backend would ignore are refused, as in the commands (cli_device_check); the library reports
# everything else.
SIMULATED, CORE = ("mem_latency", "mem_bandwidth", "dram", "stall", "trace"), ("config", "max_cycles")
UNUSED = {"model": CORE + SIMULATED, "cuda": CORE + SIMULATED, "fpga": SIMULATED, "mmio": SIMULATED, "tlm": ("trace",)}
DEFAULTS = {
    "config": None,
    "max_cycles": 0,
    "mem_latency": 100,
    "mem_bandwidth": 0,
    "dram": None,
    "stall": 0,
    "trace": None,
}
KINDS = {_library.ERROR_MEMORY: MemoryError, 6: RuntimeError, 7: RuntimeError, 8: TimeoutError, 4: OSError, 9: OSError}


@functools.cache
def _driver():
    name = ".".join(s.VERSION.split(".")[:2] if s.VERSION.startswith("0.") else s.VERSION.split(".")[:1])
    path = os.environ.get("UFP4_LIBRARY") or f"libufp4.so.{name}"
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{error}; build and install ufp4, or name its libufp4.so in UFP4_LIBRARY") from None
    _library.check_library(library, path, _library.STRUCTS)
    driver = {"version": "driver_version", "struct_bytes": "driver_struct_bytes"}
    for name, symbol in driver.items():
        result, *arguments = _library.FUNCTIONS[name]
        _library.bind(library, {symbol: (result, *arguments)})
    if library.driver_version() != library.version():
        raise ImportError(
            f"{path} is version {_library.version_text(library.driver_version())}; its golden model is "
            f"{_library.version_text(library.version())}"
        )
    for name, struct in STRUCTS.items():
        there = library.driver_struct_bytes(f"ufp4_{name}_t".encode())
        if there != ctypes.sizeof(struct):
            raise ImportError(
                f"{path}: ufp4_{name}_t has {there} bytes; this package knows {ctypes.sizeof(struct)}; rebuild it"
            )
    return _library.bind(library, FUNCTIONS)


def _refuse_unused(backend, given):
    for name in UNUSED.get(backend.partition(":")[0], ()):
        if given[name] != DEFAULTS[name]:
            what = "a core" if name in CORE else "a simulated core"
            why = (
                f"needs {what}, which backend {backend} is not"
                if backend != "tlm"
                else "writes the core's signals, and backend tlm has none"
            )
            raise ValueError(f"{name} {why}; use backend rtl")


@dataclasses.dataclass(frozen=True)
class Stats:
    """Statistics of one GEMM, D [m][n] over k: clock cycles of the GEMM job, those of the quantization before it, and
    the core's counters by name (docs/ip/registers.md). All zero on a backend without cycles."""

    m: int
    n: int
    k: int
    cycles: int
    quantize_cycles: int
    counters: MappingProxyType[str, int]

    @staticmethod
    def _of(struct):
        counters = MappingProxyType(dict(zip(s.COUNTERS, struct.counters)))
        return Stats(struct.m, struct.n, struct.k, struct.cycles, struct.quantize_cycles, counters)


@dataclasses.dataclass(frozen=True)
class Layer:
    """The results of a linear layer: y [tokens][cout], dx [tokens][cin] and dw [cout][cin], float32, and the
    :class:`Stats` of each pass. dx and dw are None without dY."""

    y: np.ndarray
    dx: np.ndarray | None
    dw: np.ndarray | None
    stats: dict[str, Stats]


class Device:
    """A device of libufp4, which is loaded from UFP4_LIBRARY or by the loader. Close it, or use it in a with statement.

    backend: "model", "rtl", "tlm", "systemc", "systemc:timed", "cuda", "fpga:PORT" or "mmio:DEVICE". config: a
    configuration of the core ("default", "small", ..; None: "default", or what the board has). mem_latency in cycles;
    mem_bandwidth in bytes a cycle each way (0: as wide as the bus); stall: seed of random back-pressure (0: none);
    max_cycles: until a completion (0: the default limit); trace: a waveform file (.fst); threads of the model (0: all
    cores); dram: "lpddr5" or "hbm3", banks behind the simulated memory's latency. config and max_cycles are of a core,
    simulated or on a board; mem_latency, mem_bandwidth, stall, dram and trace of a simulated one, trace of "rtl" alone.
    ImportError: there is no such library, or it is of another version. ValueError: an option that is not of the
    backend, or what the library refuses, in its words. A device that fails raises RuntimeError, one that passes its
    limit TimeoutError.
    """

    backend: str
    has_cycles: bool
    hardware: str
    configuration: dict[str, str | int]

    def __init__(
        self,
        backend: str = "model",
        *,
        config: str | None = None,
        memory_bytes: int = 1 << 30,
        mem_latency: int = 100,
        mem_bandwidth: int = 0,
        stall: int = 0,
        max_cycles: int = 0,
        trace: str | os.PathLike[str] | None = None,
        threads: int = 0,
        dram: str | None = None,
    ) -> None:
        self._device, self._lock, self._lib = c_void_p(), threading.Lock(), _driver()
        message, word = _library.Message(), 2**32 - 1
        name = _library.text(backend, "backend")
        if config is None and not name.startswith((b"fpga", b"mmio")):
            config = "default"
        options = _Options(
            None if config is None else _library.text(config, "config"),
            _library.whole(memory_bytes, 1, 2**63, "memory_bytes"),
            _library.whole(mem_latency, 0, word, "mem_latency"),
            _library.whole(mem_bandwidth, 0, word, "mem_bandwidth"),
            _library.whole(stall, 0, 2**64 - 1, "stall"),
            _library.whole(max_cycles, 0, 2**64 - 1, "max_cycles"),
            None if trace is None else _library.text(os.fsdecode(trace), "trace", "surrogateescape"),
            _library.whole(threads, 0, 2**15, "threads"),
            0,
            ctypes.pointer(message),
            0,
            None,
            None if dram is None else _library.text(dram, "dram"),
        )
        _refuse_unused(
            backend,
            {
                "config": None if config == "default" else config,
                "max_cycles": max_cycles,
                "mem_latency": mem_latency,
                "mem_bandwidth": mem_bandwidth,
                "dram": dram,
                "stall": stall,
                "trace": trace,
            },
        )
        status = self._lib.device_open(name, byref(options), byref(self._device))
        if status != _library.OK:
            self._raise(status, message.text)
        info = _Info()
        self._check(self._lib.device_info(self._device, byref(info)))
        self.backend, self.has_cycles, self.hardware = (
            info.backend.decode(),
            bool(info.has_cycles),
            info.hardware.decode(),
        )
        self.configuration = {"name": info.configuration.name.decode()} | {
            key: getattr(info.configuration, key) for key in s.CONFIGURATION_KEYS
        }

    def _raise(self, status, text):
        raise KINDS.get(status, ValueError)((text or _library.lib.status_string(status)).decode(errors="replace"))

    def _check(self, status):
        if status != _library.OK:
            self._raise(status, self._lib.device_message(self._device))

    def _open(self):
        if not self._device:
            raise ValueError("the device is closed")

    def close(self) -> None:
        """Closes the device, if it is open."""
        with self._lock:
            self._lib.device_close(self._device)
            self._device = c_void_p()

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_device", None):
            self.close()

    def __reduce__(self):
        raise TypeError("a device can be neither copied nor pickled; open another")

    def __repr__(self) -> str:
        return f"<ufp4 device {self.backend}, {self.configuration['name']}{'' if self._device else ', closed'}>"

    def gemm(
        self,
        a: Quantized,
        b: Quantized,
        *,
        accumulate: str | None = None,
        alpha: float = 1.0,
        c: np.ndarray | None = None,
        out: str = "f32",
        accumulate_in: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Stats]:
        """Returns (D, :class:`Stats`): runs :func:`ufp4.gemm` on the device."""
        how, shape, kept = _gemm.arguments(a, b, accumulate, alpha, c, out, accumulate_in)
        d, stats = np.empty(shape, _arrays.DTYPES[how.d_dtype]), _Stats()
        with self._lock:
            self._open()
            self._check(
                self._lib.device_gemm(
                    self._device,
                    byref(a._operand),
                    byref(b._operand),
                    byref(how),
                    _arrays.address(d),
                    shape[1],
                    byref(stats),
                )
            )
        del kept
        return d, Stats._of(stats)

    def linear(
        self,
        x: np.ndarray,
        w: np.ndarray,
        dy: np.ndarray | None = None,
        *,
        recipe: str | dict[str, Any] | Recipe = "ufp4",
        seed: int = 0,
        layer: int = 0,
        step: int = 0,
    ) -> Layer:
        """The training GEMMs of a linear layer, as `ufp4 layer` runs them: FPROP of x [tokens][cin] and w [cout][cin],
        and with dy [tokens][cout] DGRAD and WGRAD too. seed, layer and step give the random bytes."""
        made = _recipe.recipe(recipe)
        matrices = {}
        for name, array in (("x", x), ("w", w), ("dy", dy)):
            if array is not None:
                matrix, kept, transposed = _arrays.matrix(array, name)
                matrices[name] = _arrays.matrix(np.ascontiguousarray(array), name)[:2] if transposed else (matrix, kept)
        (xm, _), (wm, _) = matrices["x"], matrices["w"]
        self._check_shapes(xm, wm, matrices.get("dy", (None,))[0])
        shape = _Shape(
            xm.rows,
            xm.cols,
            wm.rows,
            _library.whole(layer, 0, 4095, "layer"),
            _library.whole(seed, 0, 2**64 - 1, "seed"),
            1 if dy is None else 7,
        )
        with self._lock:
            self._open()
            handle = c_void_p()
            self._check(self._lib.linear_create(self._device, byref(shape), byref(made._struct), byref(handle)))
            try:
                return self._run(handle, shape, matrices, _library.whole(step, 0, 2**48 - 1, "step"))
            finally:
                self._lib.linear_free(handle)

    @staticmethod
    def _check_shapes(x, w, dy):
        if x.cols != w.cols:
            raise ValueError(
                f"x is {x.rows} x {x.cols}, w is {w.rows} x {w.cols}; their columns must be equal in number"
            )
        if dy is not None and (dy.rows, dy.cols) != (x.rows, w.rows):
            raise ValueError(f"dy is {dy.rows} x {dy.cols}; it must have the size of Y, {x.rows} x {w.rows}")

    def _run(self, handle, shape, matrices, step):
        y, stats = np.empty((shape.tokens, shape.cout), np.float32), [_Stats() for _ in range(3)]
        self._check(
            self._lib.linear_fprop(
                handle, byref(matrices["x"][0]), byref(matrices["w"][0]), step, _arrays.address(y), byref(stats[0])
            )
        )
        if "dy" not in matrices:
            return Layer(y, None, None, {"fprop": Stats._of(stats[0])})
        dx, dw = np.empty((shape.tokens, shape.cin), np.float32), np.empty((shape.cout, shape.cin), np.float32)
        self._check(
            self._lib.linear_dgrad(handle, byref(matrices["dy"][0]), step, _arrays.address(dx), byref(stats[1]))
        )
        self._check(self._lib.linear_wgrad(handle, _arrays.address(dw), byref(stats[2])))
        return Layer(y, dx, dw, {name: Stats._of(one) for name, one in zip(_recipe.PASSES, stats)})
