# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch for GPUs without one: CPU tensors stand for a GPU's, and the GPU library is the emulated one, whose
memory is the host's."""

import contextlib
import copy
import ctypes
import os

from support import raises
from torch_support import same, step, tensors, torch

import stand
import ufp4
import ufp4.torch as ut
from stand import check, check_equal, slow
from ufp4 import _torch_gpu as gpu
from ufp4 import _torch_steps as steps

STREAM = 0x4560
RECIPES = ("ufp4", "ufp4-mixed", "e2m1", "e2m1-mixed", "e2m1-46", "nvfp4", "nvfp4-full", "mxfp4", "mxfp4-rht")


def of_one_layer(name):
    """Returns a recipe without its settings for whole models."""
    given = ufp4.recipe(name).to_dict()
    return given | {"name": "layer-" + name, "bf16_layers": {}}


if "UFP4_CUDA_EMULATED" in os.environ:
    os.environ["UFP4_CUDA_LIBRARY"] = os.environ["UFP4_CUDA_EMULATED"]


class Counts(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "allocations",
            "synchronizations",
            "to_device",
            "to_host",
            "works",
            "works_on_default",
            "works_on_gpu_1",
            "contexts",
            "broken_captures",
        )
    ]


def counts():
    """Returns the counts of the emulated runtime since the last call."""
    out = Counts()
    ctypes.CDLL(os.environ["UFP4_CUDA_LIBRARY"]).emulated_counts_taken(ctypes.byref(out))
    return out


@contextlib.contextmanager
def stand_in(captured=False, number=0):
    """Makes every tensor count as one of GPU `number`."""
    if "UFP4_CUDA_LIBRARY" not in os.environ:
        raise stand.Skipped("needs the emulated GPU")
    kept = {name: getattr(gpu, name) for name in ("takes", "_number", "_stream", "is_captured")}
    gpu.takes, gpu._number, gpu._stream, gpu.is_captured = (
        lambda tensor: True,
        lambda device: number,
        lambda device: STREAM,
        lambda: captured,
    )
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(gpu, name, function)


def check_step(recipe, shape, dtype=torch.float32, **options):
    x, w, dy = tensors(*shape, dtype=dtype)
    want = step(x, w, dy, recipe=recipe, **options)
    with stand_in():
        got = step(x, w, dy, recipe=recipe, **options)
    for name, one, other in zip(("Y", "dX", "dW"), got, want):
        same(one, other, f"{recipe} {shape} {dtype} {name}")


@slow
def test_layers_have_the_bits_of_the_cpu():
    for i, recipe in enumerate(map(of_one_layer, RECIPES)):
        for shape in ((1, 1, 1), (40, 50, 35), (17, 130, 16)):
            check_step(recipe, shape, seed=9 + i, step=3, layer=i)
        check_step(recipe, (33, 20, 40), torch.bfloat16, rank=5)


def test_rounding_is_recorded_as_on_the_cpu():
    x, _, dy = tensors(40, 50, 35)
    for recipe in ("ufp4", "ufp4-mixed", "e2m1", "nvfp4/rht=wgrad", "mxfp4"):
        layer = ut.Linear(50, 35, recipe=recipe)
        kept = []
        for place in (contextlib.nullcontext, stand_in):
            layer.ids[0] = 0
            with place(), ut.Watch(layer) as watch:
                layer(x).backward(dy)
            kept.append(watch.records)
        check_equal(kept[1], kept[0], recipe)
    with stand_in(captured=True), ut.Watch(layer, every=1) as watch, torch.no_grad():
        layer(x)
        check_equal(watch.records, [], "nothing is copied to the host while a stream is captured")


@slow
def test_recipes_of_ones_own_have_the_bits_of_the_cpu():
    given = [
        {"elem": "int4", "scale": "fp32", "rht": "integer", "round": "sr"},
        {"elem": "e1m2", "accumulate": "fp32", "signs": "step", "rht": {"wgrad": "integer"}, "layout": {"w": "2d"}},
        {"elem": "e2m1", "rht": "bf16", "round": {"dy": {"dgrad": "sr"}}, "scale_round": {"dy": "up"}},
        {"elem": "int4", "scale": "e8m0", "rht": "integer", "scale_round": "up", "round": {"dy": "sr"}},
    ]
    for elem, scale, rht in (
        ("e2m1", "e4m3", "integer"),
        ("e1m2", "fp32", "none"),
        ("e2m1", "nvfp4", "bf16"),
        ("mixed", "e4m3", "integer"),
        ("mixed", "nvfp4", "bf16"),
        ("int4", "e8m0", "integer"),
    ):
        given.append({"elem": elem, "scale": scale, "rht": rht, "requantize": True, "round": {"dy": "sr"}})
    for recipe in given:
        check_step(recipe, (40, 50, 35), step=7)
    for passes in (["dgrad"], ["wgrad"], ["fprop"], ["dgrad", "wgrad"]):
        check_step({"elem": "e1m2", "bf16_passes": passes, "round": {"dy": "sr"}}, (20, 30, 40))
    check_step("bf16", (20, 30, 40))


def test_nan_and_empty_batches_are_those_of_the_cpu():
    x, w, dy = tensors()
    with torch.no_grad():
        x[3, 4], w[5, 6] = float("nan"), float("inf")
    want = step(x, w, dy)
    with stand_in():
        got = step(x, w, dy)
        check_equal(tuple(ut.linear(torch.ones(0, 50), w).shape), (0, 35), "no tokens")
    for name, one, other in zip(("Y", "dX", "dW"), got, want):
        same(one, other, name)


def test_nothing_is_copied_and_nothing_waits():
    x, w, dy = tensors()
    with stand_in():
        step(x, w, dy, recipe="nvfp4")  # opens the GPU
        counts()
        step(x, w, dy, recipe="nvfp4")
    seen = counts()
    check_equal(
        [seen.allocations, seen.synchronizations, seen.to_device, seen.to_host],
        [0, 0, 0, 0],
        "allocations, waits, bytes copied",
    )
    check(
        seen.works > 20 and seen.works_on_default == 0,
        f"{seen.works} kernels, {seen.works_on_default} on the default stream",
    )


def test_work_goes_to_the_gpu_of_the_tensor():
    x, w, dy = tensors()
    want = step(x, w, dy)
    for number in (0, 1):
        with stand_in(number=number):
            step(x, w, dy)
    with stand_in(number=1):
        counts()
        got = step(x, w, dy)
    seen = counts()
    check(seen.works == seen.works_on_gpu_1 > 0, f"{seen.works_on_gpu_1} of {seen.works} on the second")
    same(got[0], want[0], "Y")


def test_compiled_layers_have_the_same_bits():
    x, w, dy = tensors()
    ids = torch.tensor([0, 0, 0])
    with stand_in():
        for recipe in ("ufp4", "mxfp4", "nvfp4"):
            torch.library.opcheck(
                torch.ops.ufp4.linear_forward,
                (x, w, ids, ut._text(recipe), True, True),
                test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_static"),
                atol=0,
                rtol=0,
            )
        eager = ut.convert(
            torch.nn.Sequential(torch.nn.Linear(50, 35), torch.nn.Tanh(), torch.nn.Linear(35, 35)), "mxfp4"
        )
        results = []
        for model in (eager, torch.compile(copy.deepcopy(eager), backend="aot_eager", fullgraph=True)):
            for _ in range(2):
                x.grad = None
                y = model(x)
                y.backward(dy)
            results.append((y.detach(), x.grad))
    for one, want in zip(results[1], results[0]):
        same(one, want, "compiled")


def test_fake_tensors_of_cuda_have_its_shapes():
    """Panels have 16 rows and scales cover 16 elements; only the values of the random bytes are missing."""
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        x, w, dy = (torch.empty(shape, device="cuda") for shape in ((40, 50), (35, 50), (40, 35)))
        ids = torch.tensor([0, 0, 0])
        for recipe in ("ufp4", "mxfp4"):
            y, numbers, *copies = torch.ops.ufp4.linear_forward(x, w, ids, ut._text(recipe), True, True)
            check_equal([t.device.type for t in (y, *copies)], ["cuda"] * 7, "devices")
            check_equal(numbers.device.type, "cpu", "the numbers")
            check_equal([tuple(t.shape) for t in copies], [(64, 24), (64, 3), (2,), (64, 24), (64, 3), (2,)], recipe)
            dx, dw = torch.ops.ufp4.linear_backward(
                dy, numbers, *copies, ut._text(recipe), 50, True, True, torch.float32, torch.float32
            )
            check(
                dx.shape == x.shape and dw.shape == w.shape and dx.device.type == dw.device.type == "cuda", "gradients"
            )


def test_checkpoints_and_converted_models_have_the_bits_of_the_cpu():
    from torch.utils.checkpoint import checkpoint

    plain = ut.convert(
        torch.nn.Sequential(torch.nn.Linear(50, 32), torch.nn.Tanh(), torch.nn.Linear(32, 35)), "ufp4", seed=4
    )
    x, _, dy = tensors()
    results = []
    for reentrant in (None, False, True):
        model = copy.deepcopy(plain)
        x.grad = None
        with stand_in() if reentrant is not None else contextlib.nullcontext():
            y = model(x) if reentrant is None else checkpoint(model, x, use_reentrant=reentrant)
            y.backward(dy)
        results.append((y.detach(), x.grad, model[0].weight.grad, model[2].weight.grad))
    for other in results[1:]:
        for one, want in zip(other, results[0]):
            same(one, want, "checkpointed")


def test_graphs_of_what_rounds_to_nearest_may_be_captured():
    x, w, dy = tensors()
    with torch.no_grad(), stand_in():
        want = ut.linear(x, w)
    with torch.no_grad(), stand_in(captured=True):
        same(ut.linear(x, w), want, "evaluation")
    with stand_in(captured=True):
        step(x, w, dy, recipe={"elem": "e1m2", "rht": "integer"})


def test_rejects_graphs_that_would_repeat_random_bytes():
    x, w, dy = tensors()
    with stand_in():
        y = ut.linear(x, w)
    with stand_in(captured=True):
        raises(RuntimeError, "recipe ufp4: a CUDA graph would repeat the random bytes", y.backward, dy)
        raises(
            RuntimeError,
            "would repeat the random bytes",
            ut.linear,
            x,
            w,
            recipe={"elem": "e1m2", "rht": "integer", "signs": "step"},
        )


DRAWN = (
    "ufp4",
    {"elem": "e1m2", "rht": "integer", "signs": "step", "round": {"dy": "sr"}},
    {"elem": "e2m1", "rht": "integer", "signs": "step", "requantize": True, "round": {"dy": "sr"}},
)


def trained(layer, x, dy, steps):
    """Returns Y, dX and dW of each step."""
    out = []
    for _ in range(steps):
        x.grad = layer.weight.grad = None
        y = layer(x)
        y.backward(dy)
        out += [y.detach(), x.grad.clone(), layer.weight.grad.clone()]
    return out


def test_capturable_layers_draw_on_the_gpu_the_bits_of_the_cpu():
    x, _, dy = tensors(40, 50, 35)
    for recipe in DRAWN:
        plain = ut.Linear(50, 35, recipe=recipe, layer=7, seed=2**62 + 3, rank=9)
        plain.ids[0] = 5
        layer = copy.deepcopy(plain)
        want = trained(plain, x, dy, 3)
        check(not torch.equal(want[1], want[4]), "each step draws")
        with stand_in():
            ut.capturable(layer)
            got = trained(layer, x, dy, 1)
            with ut.Watch(layer, every=1) as watch:
                got += trained(layer, x, dy, 1)
            check_equal({record["step"] for record in watch.records}, {6}, "the Watch has the step")
            saved = copy.deepcopy(layer.state_dict())
            check_equal(saved["ids"].tolist(), [7, 7, 2**62 + 3], "ids")
            layer(x)
            layer.load_state_dict(saved)
            with stand_in(captured=True) if "requantize" not in recipe else contextlib.nullcontext():
                got += trained(layer, x, dy, 1)
            ut.capturable(layer, False)
        check_equal(layer.ids.tolist(), plain.ids.tolist(), "ids, which count on")
        for one, other in zip(got, want):
            same(one, other, recipe)


def test_numbers_on_the_gpu_come_back():
    """Steps may pass 2^32, where a rank would lie, and the rank is the largest."""
    for count, rank in ((2**32 + 5, 0), (2**48 - 1, 0), (2**32 - 1, 2**16 - 1), (3, 9)):
        state = steps.drawn(torch.tensor([count, 4095, 2**63 - 1]), rank, "cpu")
        check_equal(steps.of_drawn(state), (count, 4095, 2**63 - 1, rank), "step, layer, seed and rank")


def test_capturable_layers_have_no_tensor_of_the_cpu():
    """Otherwise torch.compile would leave CUDA graphs out."""
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        x, w, dy = (torch.empty(shape, device="cuda") for shape in ((40, 50), (35, 50), (40, 35)))
        ids = torch.empty((2, 3), dtype=torch.int64, device="cuda")
        y, numbers, *copies = torch.ops.ufp4.linear_forward(x, w, ids, ut._text("ufp4"), True, True)
        gradients = torch.ops.ufp4.linear_backward(
            dy, numbers, *copies, ut._text("ufp4"), 50, True, True, torch.float32, torch.float32
        )
        check_equal({t.device.type for t in (y, numbers, *copies, *gradients)}, {"cuda"}, "devices")


def test_compiled_capturable_layers_have_the_same_bits():
    x, _, dy = tensors()
    seen = []

    def backend(graph, inputs):
        seen.extend(node.target for node in graph.graph.nodes if "ufp4" in str(node.target))
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    with stand_in():
        layer = ut.convert(torch.nn.Sequential(torch.nn.Linear(50, 35)), "ufp4")
        ut.capturable(layer)
        other = copy.deepcopy(layer)
        results = []
        for model in (layer, torch.compile(other, backend=backend, fullgraph=True)):
            for _ in range(2):
                x.grad = None
                model(x).backward(dy)
                results.append(x.grad)
        check_equal(other[0].state_dict()["ids"].tolist()[0], 2, "steps of the compiled layer")
    check_equal(len([1 for target in seen if "draw" in str(target)]), 0, "no operator of the host draws")
    for one, want in zip(results[2:], results[:2]):
        same(one, want, "compiled")


def test_rejects_what_cannot_be_capturable():
    x, _, dy = tensors()
    model = ut.convert(torch.nn.Sequential(torch.nn.Linear(50, 35)), "ufp4")
    raises(ValueError, "a layer is on cpu, but CUDA graphs need a GPU", ut.capturable, model)
    from torch.utils.checkpoint import checkpoint

    with stand_in():
        ut.capturable(model)
        for reentrant in (False, True):
            raises(
                RuntimeError,
                "activation checkpointing repeats calls",
                lambda: checkpoint(model, x, use_reentrant=reentrant).backward(dy),
            )
        compiled = torch.compile(model, backend="aot_eager")
        message = ""  # torch adds the place in the graph
        try:
            checkpoint(compiled, x, use_reentrant=False).backward(dy)
        except RuntimeError as error:
            message = str(error)
        check(message.startswith("activation checkpointing repeats calls"), f"compiled: {message!r}")
        layer = ut.Linear(50, 35, recipe=DRAWN[2])
        ut.capturable(layer)
        with stand_in(captured=True):
            raises(RuntimeError, "requantize undoes signs of a step on the host", layer, x)


def test_graphed_callables_are_models_that_hold_layers():
    """torch accepts no module with hooks, and checks for them before it needs a GPU."""
    layer = ut.convert(torch.nn.Linear(16, 8), "ufp4")
    for callable_, refused in ((layer, True), (torch.nn.Sequential(layer), False)):
        try:
            torch.cuda.make_graphed_callables(callable_, (torch.ones(2, 16),))
            said = ""
        except Exception as error:
            said = str(error)
        check_equal("hooks" in said, refused, said)


def test_rejects_opening_a_gpu_in_a_capture():
    x, w, _ = tensors()
    gpu._open.pop(0, None)
    with torch.no_grad(), stand_in(captured=True):
        raises(RuntimeError, "GPU 0 is not open, and cannot be opened while a stream is captured", ut.linear, x, w)


def test_rejects_what_the_library_does_not_have():
    x, w, _ = tensors()
    with stand_in():
        raises(
            ValueError,
            "cuda: contract nv: it needs compute capability 12.0 or 12.1, and this GPU has 9.0",
            ut.linear,
            x,
            w,
            recipe={"elem": "e2m1", "accumulate": "nv"},
        )
        raises(ValueError, "x is of type torch.float16", ut.linear, x.half(), w)
    with stand_in(number=7):
        raises(RuntimeError, "there is no GPU 7", ut.linear, x, w)


def test_autocast_has_no_effect():
    x, w, dy = tensors()
    with stand_in():
        want = step(x, w, dy)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            got = step(x, w, dy)
    for name, one, other in zip(("Y", "dX", "dW"), got, want):
        same(one, other, name)


def test_rejects_cuda_tensors_without_the_library():
    x, w, _ = tensors()
    named = os.environ.pop("UFP4_CUDA_LIBRARY", None)
    opened = dict(gpu._open)
    os.environ["UFP4_CUDA_LIBRARY"] = "/nowhere/libufp4_cuda.so"
    gpu._library.cache_clear()
    gpu._open.clear()
    try:
        with stand_in():
            raises(
                RuntimeError,
                "`pip install ./drivers/python` builds it where nvcc is, or name one in UFP4_CUDA_LIBRARY",
                ut.linear,
                x,
                w,
            )
            ut.linear(x, w, recipe="bf16")  # torch's own
    finally:
        gpu._library.cache_clear()
        gpu._open.update(opened)
        if named is not None:
            os.environ["UFP4_CUDA_LIBRARY"] = named


if __name__ == "__main__":
    stand.main(globals())
