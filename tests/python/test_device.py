# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.Device with the library of this build (UFP4_LIBRARY): the package's bits, cycles, and refusals."""

import os
import subprocess
import sys

from support import bfloat16, gaussian, np, raises, same

import stand
import ufp4
from stand import check, check_equal, slow


def operands():
    return [ufp4.quantize(gaussian(rows, 48), elem="e1m2", rht="on") for rows in (20, 33)]


def test_gemm_on_the_model_is_the_packages():
    a, b = operands()
    with ufp4.Device("model", threads=1) as device:
        d, stats = device.gemm(a, b)
        same(d, ufp4.gemm(a, b), "D")
        check_equal((stats.m, stats.n, stats.k, stats.cycles), (20, 33, 48, 0), "stats")
        c = gaussian(20, 33)
        same(device.gemm(a, b, c=c, alpha=2, out="bf16")[0], ufp4.gemm(a, b, c=c, alpha=2, out="bf16"), "with C")
        check(not device.has_cycles and "model" in repr(device), repr(device))
    check("closed" in repr(device), repr(device))
    raises(ValueError, "the device is closed", device.gemm, a, b)
    device.close()


@slow
def test_gemm_and_linear_have_cycles_on_rtl():
    a, b = operands()
    x, w, dy = gaussian(20, 40), gaussian(33, 40), gaussian(20, 33)
    with ufp4.Device("rtl", config="small") as core, ufp4.Device("model") as model:
        d, stats = core.gemm(a, b)
        same(d, ufp4.gemm(a, b), "D")
        check(stats.cycles > 0 and stats.counters["jobs"] == 1, f"{stats}")
        got, want = core.linear(x, w, dy, seed=3, layer=2, step=5), model.linear(x, w, dy, seed=3, layer=2, step=5)
        for name in ("y", "dx", "dw"):
            same(getattr(got, name), getattr(want, name), name)
        check(all(got.stats[name].cycles > 0 for name in ("fprop", "dgrad", "wgrad")), f"{got.stats}")
        check_equal(core.configuration["name"], "small", "configuration")


def test_rejects_copies_of_a_device():
    """Two copies would close the device twice."""
    import copy
    import pickle

    a, b = operands()
    with ufp4.Device("model") as device:
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            raises(TypeError, "neither copied nor pickled", make, device)
        raises(TypeError, "backend must be a str", ufp4.Device, 5)
        raises(ValueError, "zero byte", ufp4.Device, "model\0x")
        raises(ValueError, "trace 'a\\x00b' holds a zero byte", ufp4.Device, "model", trace="a\0b")
        same(device.gemm(a, b)[0], ufp4.gemm(a, b), "D")


def test_linear_is_made_of_quantize_and_gemm():
    x, w, dy = gaussian(20, 40), gaussian(33, 40).astype(bfloat16), gaussian(20, 33)
    with ufp4.Device("model") as device:
        layer = device.linear(x, np.asfortranarray(w), dy, seed=4)
        copies = {
            (role, pass_): ufp4.quantize(array, recipe="ufp4", role=role, pass_=pass_, seed=4)
            for role, pass_, array in (
                ("x", "fprop", x),
                ("w", "fprop", w),
                ("dy", "dgrad", dy),
                ("w", "dgrad", w),
                ("dy", "wgrad", dy),
                ("x", "wgrad", x),
            )
        }
        for got, pass_, left, right in (
            (layer.y, "fprop", "x", "w"),
            (layer.dx, "dgrad", "dy", "w"),
            (layer.dw, "wgrad", "dy", "x"),
        ):
            same(got, ufp4.gemm(copies[left, pass_], copies[right, pass_]), pass_)
        check(device.linear(x, w).dx is None, "without dY")


def test_rejects_what_the_library_refuses():
    a, _ = operands()
    raises(
        ValueError,
        "no backend is called 'x'; there are model, rtl, tlm, systemc, systemc:timed, cuda, fpga:PORT and mmio:DEVICE",
        ufp4.Device,
        "x",
    )
    raises(ValueError, "no configuration is called 'x'", ufp4.Device, "systemc", config="x")
    with ufp4.Device("model") as device:
        raises(ValueError, "they must be equal", device.gemm, a, ufp4.quantize(gaussian(3, 16), elem="e1m2", rht="on"))
        raises(
            ValueError,
            "dy is 4 x 4; it must have the size of Y, 20 x 33",
            device.linear,
            gaussian(20, 40),
            gaussian(33, 40),
            gaussian(4, 4),
        )
        raises(ValueError, "their columns must be equal in number", device.linear, gaussian(20, 40), gaussian(33, 41))
        raises(
            ValueError,
            "bf16_layers applies to a whole model",
            device.linear,
            gaussian(4, 4),
            gaussian(4, 4),
            recipe="nvfp4-full",
        )


SIMULATED = {"mem_latency": 5, "mem_bandwidth": 4, "dram": "hbm3", "stall": 1, "trace": "y.fst"}
CORE = {"config": "small", "max_cycles": 9}


def test_rejects_options_that_a_backend_does_not_use():
    """The commands refuse these too; the library's systemc does so itself. The default value of an option is
    accepted."""
    for backend, options in (
        ("model", CORE | SIMULATED),
        ("cuda", CORE | SIMULATED),
        ("fpga:x", SIMULATED),
        ("mmio:x", SIMULATED),
    ):
        for option, value in options.items():
            kind = "a core" if option in CORE else "a simulated core"
            raises(
                ValueError,
                f"{option} needs {kind}, which backend {backend} is not; use backend rtl",
                ufp4.Device,
                backend,
                **{option: value},
            )
    raises(
        ValueError,
        "trace writes the core's signals, and backend tlm has none; use backend rtl",
        ufp4.Device,
        "tlm",
        trace="y.fst",
    )
    for backend in ("systemc", "systemc:timed"):
        raises(ValueError, f"{backend} does not support waveforms", ufp4.Device, backend, trace="y.fst")
        raises(ValueError, f"{backend} does not support random back-pressure", ufp4.Device, backend, stall=1)
    raises(ValueError, "no backend is called 'x'", ufp4.Device, "x", trace="y.fst")
    raises(RuntimeError, "cannot open /nowhere", ufp4.Device, "mmio:/nowhere", config="small", max_cycles=9)
    check(not os.path.exists("y.fst"), "waveforms")
    for given in (
        {"config": None},
        {
            "config": "default",
            "mem_latency": 100,
            "mem_bandwidth": 0,
            "dram": None,
            "stall": 0,
            "max_cycles": 0,
            "trace": None,
        },
    ):
        ufp4.Device("model", **given).close()


def test_rejects_a_library_that_is_missing_or_another():
    script = "import ufp4\ntry: ufp4.Device()\nexcept ImportError as error: print(error)"
    for library, words in (
        ("/nowhere/libufp4.so", "name its libufp4.so in UFP4_LIBRARY"),
        ("libc.so.6", "is older than"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=600,
            env=dict(os.environ, UFP4_LIBRARY=library),
        )
        check(words in done.stdout, f"{library}: {done}")


if __name__ == "__main__":
    stand.main(globals())
