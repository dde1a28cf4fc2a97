# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch: the bits of the program's layer, gradients, state, torch.compile, and refusals."""

import copy
import io

from support import np, raises
from torch_support import same, step, tensors, torch

import stand
import ufp4
import ufp4.torch as ut
from stand import check, check_equal, passes

QUANTIZED = (
    "ufp4",
    "ufp4/rht=wgrad/sr=dgrad",
    "ufp4-mixed",
    "e2m1",
    "e2m1-46",
    "nvfp4/rht=fprop+dgrad+wgrad",
    "nvint4",
    "mxfp4",
)


def program_layer(x, w, dy, recipe, *options):
    """Returns Y, dX and dW of `ufp4 layer`, whose C code the trainer uses."""
    for name, tensor in (("X", x), ("W", w), ("DY", dy)):
        np.save(f"{name}.npy", tensor.detach().numpy())
    passes("layer", "X.npy", "W.npy", "DY.npy", "-o", "out", "--recipe", recipe, "--backend", "model", *options)
    return [torch.from_numpy(np.load(f"out/{name}.npy")) for name in ("Y", "dX", "dW")]


def test_layer_has_the_bits_of_the_program():
    x, w, dy = tensors()
    for recipe in QUANTIZED:
        want = program_layer(x, w, dy, recipe, "--seed", 9)
        for name, got, right in zip(("Y", "dX", "dW"), step(x, w, dy, recipe=recipe, seed=9), want):
            same(got, right, f"{recipe} {name}")


def test_requantized_layer_has_the_bits_of_the_program():
    import json
    import pathlib

    x, w, dy = tensors()
    for elem, scale, rht in (("e2m1", "e4m3", "integer"), ("e1m2", "fp32", "none"), ("e2m1", "nvfp4", "bf16")):
        recipe = {"name": "again", "elem": elem, "scale": scale, "rht": rht, "requantize": True, "round": {"dy": "sr"}}
        pathlib.Path("again.json").write_text(json.dumps(recipe))
        for name, got, right in zip(
            ("Y", "dX", "dW"), step(x, w, dy, recipe=recipe), program_layer(x, w, dy, "again.json")
        ):
            same(got, right, f"{elem} {scale} {name}")


def test_larger_blocks_and_transforms_have_the_bits_of_the_program():
    import json
    import pathlib

    x, w, dy = tensors(64, 128, 192)
    for block, size in ((32, 16), (64, 32), (128, 64)):
        recipe = {
            "name": "wide",
            "elem": "e1m2",
            "block": block,
            "rht": "integer",
            "rht_size": size,
            "requantize": size == 32,
            "round": {"dy": "sr"},
        }
        pathlib.Path("wide.json").write_text(json.dumps(recipe))
        for name, got, right in zip(
            ("Y", "dX", "dW"), step(x, w, dy, recipe=recipe), program_layer(x, w, dy, "wide.json")
        ):
            same(got, right, f"{block} {size} {name}")


def random_recipe(draw):
    """Draws a recipe of any kind; more than half are illegal and drawn again."""
    scale = draw.choice(["e4m3", "nvfp4", "e8m0", "fp32"])
    given = {
        "elem": "e2m1" if scale == "nvfp4" else draw.choice(["e2m1", "e1m2", "int4"]),
        "scale": scale,
        "rht": {name: draw.choice(["none", "integer", "bf16"]) for name in ("fprop", "dgrad", "wgrad")},
        "round": {name: draw.choice(["rne", "sr"]) for name in ("x", "w", "dy")},
        "layout": {"w": draw.choice(["1d", "1d", "2d"])},
        "signs": draw.choice(["fixed", "step"]),
        "requantize": draw.random() < 0.3,
    }
    try:
        return ufp4.recipe(given)
    except ValueError:
        return random_recipe(draw)


def test_random_layers_have_the_bits_of_the_driver():
    import random

    draw = random.Random(stand.stream(1))
    try:
        device = ufp4.Device("model", threads=1)
    except ImportError as error:
        raise stand.Skipped(error)
    for case in range(100):
        shape = [draw.choice([1, 2, 15, 16, 17, 33, 64, 100]) for _ in range(3)]
        recipe = random_recipe(draw)
        place = {"seed": draw.randrange(2**63), "layer": draw.randrange(4096), "step": draw.randrange(2**48)}
        x, w, dy = tensors(*shape)
        with torch.no_grad():
            x *= 2.0 ** draw.randrange(-8, 9)
        want = device.linear(x.detach().numpy(), w.detach().numpy(), dy.numpy(), recipe=recipe, **place)
        for name, got, one in zip(
            ("Y", "dX", "dW"), step(x, w, dy, recipe=recipe, **place), (want.y, want.dx, want.dw)
        ):
            same(got, torch.from_numpy(one), f"case {case}: {name} of {shape}, {place}, {recipe.to_dict()}")


def test_unquantized_layer_is_near_float64():
    x, w, dy = tensors()
    for recipe, bound in (("fp32", 1e-6), ("bf16", 1e-2)):
        y, dx, dw = step(x, w, dy, recipe=recipe)
        x64, w64, dy64 = (t.detach().double() for t in (x, w, dy))
        for name, got, want in (("Y", y, x64 @ w64.T), ("dX", dx, dy64 @ w64), ("dW", dw, dy64.T @ x64)):
            error = ((got.double() - want).norm() / want.norm()).item()
            check(error < bound and (error > 1e-4) == (recipe == "bf16"), f"{recipe} {name}: {error}")


def test_passes_in_bf16_are_those_of_the_recipe_bf16():
    x, w, dy = tensors()
    plain, quantized = step(x, w, dy, recipe="bf16"), step(x, w, dy, recipe="ufp4")
    mixed = step(
        x,
        w,
        dy,
        recipe={
            "elem": "e1m2",
            "rht": "integer",
            "round": {"dy": "sr"},
            "scale_round": {"dy": "up"},
            "bf16_passes": ["dgrad"],
        },
    )
    for i, (name, want) in enumerate((("Y", quantized), ("dX", plain), ("dW", quantized))):
        same(mixed[i], want[i], name)


def test_bf16_tensors_round_the_result_once():
    x, w, dy = tensors(dtype=torch.bfloat16)
    got = step(x, w, dy)
    x32, w32 = (t.detach().float().requires_grad_() for t in (x, w))
    for name, one, want in zip(("Y", "dX", "dW"), got, step(x32, w32, dy.float())):
        same(one, want.bfloat16(), name)


def test_shapes_and_gradients_that_are_not_asked_for():
    x, w, dy = tensors()
    want = step(x, w, dy)
    bias = torch.randn(35, requires_grad=True)
    y = ut.linear(x.reshape(2, 20, 50), w, bias)
    check_equal(tuple(y.shape), (2, 20, 35), "shape")
    same((y - bias).detach(), (want[0].reshape(2, 20, 35) + bias - bias).detach(), "Y")
    y.backward(dy.reshape(2, 20, 35))
    same(bias.grad, dy.reshape(2, 20, 35).sum((0, 1)), "bias")
    for first, second in ((True, False), (False, True)):
        a, b = x.detach().clone().requires_grad_(first), w.detach().clone().requires_grad_(second)
        ut.linear(a, b).backward(dy)
        check((a.grad is None) == (not first) and (b.grad is None) == (not second), "asked for")
        same(a.grad if first else b.grad, want[1] if first else want[2], "one alone")
    columns = x.detach().T.contiguous().T
    same(ut.linear(columns, w.detach()), want[0], "a transposed x")


def test_steps_and_layers_have_bits_of_their_own():
    x, w, dy = tensors()
    first = step(x, w, dy)
    for options in ({"step": 1}, {"layer": 1}, {"seed": 1}):
        other = step(x, w, dy, **options)
        same(first[0], other[0], "Y is rounded to nearest")
        check(not torch.equal(first[1], other[1]), f"{options}: dX")


def test_a_run_that_is_resumed_has_the_same_bits():
    torch.manual_seed(stand.stream(1))
    layer = ut.Linear(50, 35, layer=3, seed=77)
    x, _, dy = tensors()
    for _ in range(2):
        layer(x)
    check_equal(layer.ids.tolist(), [2, 3, 77], "step, layer, seed")
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = ut.Linear(50, 35)
    other.load_state_dict(torch.load(file, weights_only=True))
    for one in (layer, other, copy.deepcopy(layer)):
        one.zero_grad()
        x.grad = None
        one(x).backward(dy)
        if one is layer:
            want = x.grad, layer.weight.grad
        same(x.grad, want[0], "dX")
        same(one.weight.grad, want[1], "dW")
        layer.ids[0] = 2
    layer.eval()
    layer(x)
    check_equal(layer.ids[0].item(), 2, "evaluating is no step")


def test_compiled_layers_are_opaque_and_have_the_same_bits():
    x, w, dy = tensors()
    ids = torch.tensor([0, 0, 0])
    for recipe in ("ufp4", "bf16", "nvfp4"):
        torch.library.opcheck(
            torch.ops.ufp4.linear_forward,
            (x, w, ids, ut._text(recipe), True, True),
            test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_static"),
            atol=0,
            rtol=0,
        )
    eager = ut.convert(torch.nn.Sequential(torch.nn.Linear(50, 35), torch.nn.Tanh(), torch.nn.Linear(35, 35)))
    compiled = torch.compile(copy.deepcopy(eager), backend="aot_eager", fullgraph=True)
    for model in (eager, compiled):
        for _ in range(2):
            x.grad = None
            y = model(x)
            y.backward(dy)
        if model is eager:
            want = y.detach(), x.grad
        same(y.detach(), want[0], "Y")
        same(x.grad, want[1], "dX")
    check_equal(compiled._orig_mod[0].ids.tolist(), eager[0].ids.tolist(), "steps")


def test_empty_batches_are_those_of_torch():
    """An expert may have no tokens, and a sum no terms."""
    for tokens, cin, cout in ((0, 50, 35), (4, 0, 35), (4, 50, 0), (0, 0, 0)):
        for dtype in (torch.float32, torch.bfloat16):
            for recipe in ("ufp4", "nvfp4", "bf16", {"elem": "e1m2", "bf16_passes": ["dgrad", "wgrad"]}):
                got, want = [], []
                for out, function in (
                    (got, lambda *given, recipe=recipe: ut.linear(*given, recipe=recipe)),
                    (want, torch.nn.functional.linear),
                ):
                    x, w = (
                        torch.ones(*shape, dtype=dtype, requires_grad=True) for shape in ((2, tokens, cin), (cout, cin))
                    )
                    bias = torch.ones(cout, dtype=dtype, requires_grad=True)
                    y = function(x, w, bias)
                    y.sum().backward()
                    out += [y.detach(), x.grad, w.grad, bias.grad]
                for one, other in zip(got, want):
                    same(one, other, f"{tokens} {cin} {cout} {dtype} {recipe}")
    y = ut.linear(torch.ones(0, 50), torch.ones(35, 50, requires_grad=True))
    check(y.requires_grad and y.shape == (0, 35), "one gradient alone")


def test_compiled_empty_batches_count_a_step():
    layer = ut.Linear(8, 4)
    compiled = torch.compile(layer, backend="aot_eager_decomp_partition", fullgraph=True, dynamic=True)
    for tokens in (5, 0, 3, 0):
        layer.zero_grad()
        y = compiled(torch.ones(tokens, 8))
        y.sum().backward()
        check(
            y.shape == (tokens, 4) and (layer.weight.grad.abs().sum() == 0) == (tokens == 0),
            f"{tokens}: {layer.weight.grad}",
        )
    check_equal(layer.ids.tolist(), [4, 0, 0], "steps")


def test_ids_stay_integers_whatever_becomes_of_the_layer():
    for change in (
        lambda m: m.type(torch.float32),
        lambda m: m.half(),
        lambda m: m.to(torch.bfloat16),
        lambda m: m.double(),
        lambda m: m.float(),
        lambda m: m.to("meta").to_empty(device="cpu"),
    ):
        layer = change(ut.Linear(8, 4, layer=3, seed=2**62 + 1))
        check(layer.ids.dtype == torch.int64 and layer.ids.tolist() == [0, 3, 2**62 + 1], f"{layer.ids}")
    layer.float()(torch.ones(2, 8))
    with torch.device("meta"):
        check_equal(ut.Linear(8, 4, layer=3).ids.tolist(), [0, 3, 0], "made without memory")
    check(
        not list(layer.buffers()) and [*layer.state_dict()] == ["weight", "bias", "ids"],
        "no buffer, but a part of the state",
    )


def test_state_without_numbers_is_told():
    layer, plain = ut.Linear(8, 4, layer=3), torch.nn.Linear(8, 4)
    check("Missing key(s)" in told(layer, plain.state_dict()) and "ids" in told(layer, plain.state_dict()), "missing")
    check("Unexpected key(s)" in told(plain, layer.state_dict()), "unexpected")
    check(
        "ids is (2,); it has step, layer and seed" in told(layer, layer.state_dict() | {"ids": torch.tensor([1, 2])}),
        "another shape",
    )
    keys = layer.load_state_dict(plain.state_dict(), strict=False)
    check_equal((keys.missing_keys, layer.ids.tolist()), (["ids"], [0, 3, 0]), "not strict")


def told(layer, state):
    try:
        layer.load_state_dict(state)
    except RuntimeError as error:
        return str(error)
    return ""


def test_flops_are_those_of_torch():
    from torch.utils.flop_counter import FlopCounterMode

    for grads in ((True, True), (False, True), (True, False)):
        counts = []
        for function in (ut.linear, torch.nn.functional.linear):
            x, w = (torch.ones(*shape, requires_grad=grad) for shape, grad in zip(((40, 50), (35, 50)), grads))
            with FlopCounterMode(display=False) as counter:
                function(x, w).sum().backward()
            counts.append(counter.get_total_flops())
        check_equal(counts[0], counts[1], f"{grads}: FLOPs")
    check_equal(counts[0], 4 * 40 * 50 * 35, "FLOPs")
    x, w, dy = tensors()
    want = step(x, w, dy)
    with FlopCounterMode(display=False):
        for one, other in zip(step(x, w, dy), want):
            same(one, other, "the same bits")


def test_rejects_tensors_that_are_none_of_its_own():
    x, w, _ = tensors()
    raises(ValueError, "x is of type torch.float64; it must be float32 or bfloat16", ut.linear, x.double(), w)
    raises(ValueError, "weight is of type torch.float16", ut.linear, x, w.half())
    raises(ValueError, "the last sizes must be equal", ut.linear, x[:, :3], w)
    raises(ValueError, "x is torch.sparse_coo; it must be a dense tensor", ut.linear, x.detach().to_sparse(), w)
    raises(ValueError, "x is on cpu, but weight or bias is not", ut.linear, x, w.to("meta"))
    raises(TypeError, "bias must be a tensor, not ndarray", ut.linear, x, w, np.zeros(35))
    for bias in (torch.zeros(1), torch.zeros(40, 35), torch.zeros(2, 40, 35)):
        raises(ValueError, "it must be (35,)", ut.linear, x, w, bias)
    raises(TypeError, "x must be a tensor, not ndarray", ut.linear, x.detach().numpy(), w)
    raises(ValueError, "layer 4096 is out of range", ut.linear, x, w, layer=4096)
    raises(ValueError, "no recipe is called", ut.linear, x, w, recipe="x")
    if torch.cuda.is_available():
        raises(ValueError, "x is on cuda:0, but weight or bias is not", ut.linear, x.cuda(), w)
    raises(TypeError, "x must be a numpy array, not Tensor", ufp4.quantize, x, elem="e2m1")


def test_rejects_second_derivatives():
    """Second derivatives are not 0, which autograd would assume without a graph."""
    x, w, _ = tensors()
    layer = torch.ops.ufp4.linear_forward
    for y in (ut.linear(x, w), layer(x, w, torch.tensor([0, 0, 0]), ut._text("ufp4"), True, True)[0]):
        raises(RuntimeError, "no second derivative", torch.autograd.grad, y.sum(), x, create_graph=True)


def test_rejects_numbers_of_a_layer_that_are_none():
    layer = ut.Linear(8, 8)
    for ids in ([-1, 0, 0], [2**48, 0, 0], [0, 4096, 0], [0, -1, 0], [0, 0, -1]):
        layer.ids = torch.tensor(ids)
        raises(ValueError, "step, layer and seed must be below 2^48, 2^12 and 2^63", layer, torch.ones(2, 8))


def test_tensors_that_lie_oddly_have_the_same_bits():
    x, w, dy = tensors()
    want = step(x, w, dy)
    odd = torch.frombuffer(bytearray(4 * 40 * 50 + 1), dtype=torch.float32, offset=1).reshape(40, 50)
    odd.copy_(x.detach())
    for other in (torch._neg_view(-x.detach()), odd, x.detach().T.contiguous().T):
        for name, got, one in zip(("Y", "dX", "dW"), step(other.requires_grad_(), w, torch._neg_view(-dy)), want):
            same(got, one, name)


def test_memory_does_not_leak():
    import pathlib

    x, w, dy = tensors(512, 512, 512)

    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    if not pathlib.Path("/proc/self/statm").exists():
        raise stand.Skipped("no /proc/self/statm")
    for _ in range(5):
        step(x, w, dy)
    before = resident()
    for _ in range(40):  # copies of 0.6 MiB each time
        step(x, w, dy)
    check(resident() - before < 8 << 20, f"{(resident() - before) >> 10} KiB more")


def test_the_default_device_does_not_matter():
    x, w, dy = tensors()
    for recipe in ("ufp4", {"elem": "e2m1", "requantize": True}):
        want = step(x, w, dy, recipe=recipe)
        with torch.device("meta"):
            got = step(x, w, dy, recipe=recipe)
        for one, other in zip(got, want):
            same(one, other, "bits")


def test_nan_reaches_the_result():
    x, w, dy = tensors()
    with torch.no_grad():
        x[3, 4] = float("nan")
    y, dx, dw = step(x, w, dy)
    check(
        y[3].isnan().all() and not y[4].isnan().any() and dw.isnan().any() and not dx.isnan().any(), "rows of its block"
    )


if __name__ == "__main__":
    stand.main(globals())
