# SPDX-License-Identifier: Apache-2.0
"""ufp4.torch: the bits of the program's layer, gradients, state, torch.compile, and what is refused."""
import copy
import io
import sys

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}; ./ufp4 test --full installs it from PyPI")
    sys.exit(0)

from support import gaussian, np, raises

import bench
import ufp4
import ufp4.torch as ut
from bench import check, check_equal, passes

QUANTIZED = ("ufp4", "e2m1", "e2m1-46", "nvfp4", "mxfp4")


def tensors(tokens=40, cin=50, cout=35, dtype=torch.float32):
    x, w, dy = (torch.from_numpy(gaussian(*shape)).to(dtype) for shape in ((tokens, cin), (cout, cin), (tokens, cout)))
    return x.requires_grad_(), w.requires_grad_(), dy


def same(got, want, what):
    check(got.dtype == want.dtype and got.shape == want.shape and torch.equal(*(t.contiguous().view(torch.uint8) for t in (got, want))),
          f"{what}: {got} and {want}")


def step(x, w, dy, **options):
    x.grad = w.grad = None
    y = ut.linear(x, w, **options)
    y.backward(dy)
    return y.detach(), x.grad.clone(), w.grad.clone()


def program_layer(x, w, dy, recipe, *options):
    """Y, dX and dW of `ufp4 layer`, whose C code the trainer uses."""
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
        for name, got, right in zip(("Y", "dX", "dW"), step(x, w, dy, recipe=recipe), program_layer(x, w, dy, "again.json")):
            same(got, right, f"{elem} {scale} {name}")


def random_recipe(draw):
    """Of all kinds; the one in three that does not go together is drawn again."""
    scale = draw.choice(["e4m3", "nvfp4", "e8m0", "fp32"])
    given = {"elem": "e2m1" if scale == "nvfp4" else draw.choice(["e2m1", "e1m2", "int4"]), "scale": scale,
             "rht": {name: draw.choice(["none", "integer", "bf16"]) for name in ("fprop", "dgrad", "wgrad")},
             "round": {name: draw.choice(["rne", "sr"]) for name in ("x", "w", "dy")}, "layout": {"w": draw.choice(["1d", "1d", "2d"])},
             "signs": draw.choice(["fixed", "step"]), "requantize": draw.random() < 0.3}
    try:
        return ufp4.recipe(given)
    except ValueError:
        return random_recipe(draw)


def test_random_layers_have_the_bits_of_the_driver():
    import random
    draw = random.Random(bench.stream(1))
    try:
        device = ufp4.Device("model", threads=1)
    except ImportError as error:
        raise bench.Skipped(error)
    for case in range(100):
        shape = [draw.choice([1, 2, 15, 16, 17, 33, 64, 100]) for _ in range(3)]
        recipe = random_recipe(draw)
        place = {"seed": draw.randrange(2**63), "layer": draw.randrange(4096), "step": draw.randrange(2**48)}
        x, w, dy = tensors(*shape)
        with torch.no_grad():
            x *= 2.0 ** draw.randrange(-8, 9)
        want = device.linear(x.detach().numpy(), w.detach().numpy(), dy.numpy(), recipe=recipe, **place)
        for name, got, one in zip(("Y", "dX", "dW"), step(x, w, dy, recipe=recipe, **place), (want.y, want.dx, want.dw)):
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
    mixed = step(x, w, dy, recipe={"elem": "e1m2", "rht": "integer", "round": {"dy": "sr"}, "scale_round": {"dy": "up"}, "bf16_passes": ["dgrad"]})
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
    torch.manual_seed(bench.stream(1))
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


def test_convert_numbers_layers_as_named_modules_does():
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 4)), nn.Linear(4, 2)).eval()
    weights = [p for p in model.parameters()]
    out = ut.convert(model, "e2m1", skip=["2.1"], seed=5)
    check(out is model and all(a is b for a, b in zip(weights, model.parameters(), strict=True)), "the same model and parameters")
    check_equal([(name, m.ids.tolist()) for name, m in model.named_modules() if isinstance(m, ut.Linear)],
                [("0", [0, 0, 5]), ("2.0", [0, 1, 5]), ("3", [0, 3, 5])], "layers")
    check(type(model[2][1]) is nn.Linear and not model[0].training and "recipe=e2m1" in repr(model), repr(model))
    check(isinstance(ut.convert(nn.Linear(4, 4)), ut.Linear), "a model that is a layer")
    raises(ValueError, "no linear layer is called 'head'", ut.convert, nn.Sequential(nn.Linear(4, 4)), skip=["head"])
    raises(TypeError, "model must be a torch.nn.Module, not int", ut.convert, 3)


def test_convert_keeps_hooks_and_layers_with_two_names():
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model.append(model[0])
    called = []
    model[0].register_forward_hook(lambda *_: called.append(1))
    nn.utils.weight_norm(model[1])
    ut.convert(model)
    check(type(model[2]) is ut.Linear and model[2] is model[0], "both names have the same layer")
    y = model(torch.ones(2, 8))
    check(called == [1, 1], "the hook")
    check_equal(copy.deepcopy(model[0])(torch.ones(2, 8)).shape, (2, 8), "a copy")
    y.sum().backward()
    check(model[1].weight_g.grad is not None, "what another hook makes the weight of")
    head = nn.Sequential(nn.Linear(4, 4))
    head.append(head[0])
    check(type(ut.convert(head, skip="1")[0]) is nn.Linear, "skipped by the second name")


def test_encoder_layers_are_not_passed_by_in_evaluation():
    """torch.nn's take weights past the layers that hold them there."""
    nn, x = torch.nn, torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(bench.stream(1)))
    layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, dropout=0)
    model = nn.TransformerEncoder(layer, 2).eval()
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    for options in ({}, {"src_key_padding_mask": padding}):
        plain, quantized = copy.deepcopy(model), ut.convert(copy.deepcopy(model), "e2m1")
        with torch.no_grad():
            error = (quantized(x, **options) - plain(x, **options))[0].abs().max().item()
        check(1e-2 < error < 1, f"{options}: {error}")
    by_hand = copy.deepcopy(layer).eval()
    by_hand.linear1, by_hand.linear2 = ut.Linear(32, 64), ut.Linear(64, 32)
    with torch.no_grad():
        check(not torch.allclose(by_hand(x), layer.eval()(x), atol=1e-3), "put there by hand")


def test_bf16_layers_are_those_of_the_trainer():
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.fc1 = nn.Linear(4, 12), nn.Linear(4, 8)

    def names(recipe, **options):
        model = nn.ModuleDict({"layers": nn.ModuleList(Block() for _ in range(7)), "head": nn.Linear(4, 4)})
        ut.convert(model, recipe, blocks=model["layers"], **options)
        return [(name, layer.recipe) for name, layer in model.named_modules() if isinstance(layer, ut.Linear)]

    made = names("nvfp4-full")  # 15 % of 7 blocks are two
    check_equal([name for name, recipe in made if recipe.name == "bf16"], [f"layers.{i}.{name}" for i in (5, 6) for name in ("qkv", "fc1")], "BF16")
    check_equal({recipe.name for _, recipe in made} - {"bf16"}, {"nvfp4-full.layer"}, "others")
    own = {"elem": "e1m2", "name": "n" * 31, "bf16_layers": {"first": 1, "names": ["fc1"]}}
    check_equal([name for name, recipe in names(own) if recipe.quantized], [f"layers.{i}.qkv" for i in range(1, 7)] + ["head"], "by name")
    one = made[0][1]
    check_equal(copy.deepcopy(one).to_dict() | {"name": "nvfp4"}, ufp4.recipe("nvfp4").to_dict(), "the recipe of a layer")
    layers = nn.ModuleList([nn.Linear(4, 4)])
    raises(ValueError, "bf16_layers needs blocks", ut.convert, layers, "nvfp4-full")
    raises(ValueError, "must be modules of the model", ut.convert, layers, "nvfp4-full", blocks=[nn.Linear(4, 4)])
    raises(ValueError, "must be modules of the model", ut.convert, layers, "nvfp4-full", blocks=[])
    raises(ValueError, "names fc1; no linear layer", ut.convert, layers, own, blocks=layers)
    raises(ValueError, "bf16_layers needs the blocks of a whole model", ut.Linear, 4, 4, recipe="nvfp4-full")
    check(type(layers[0]) is nn.Linear, "nothing is converted where something is refused")


def test_compiled_layers_are_opaque_and_have_the_same_bits():
    x, w, dy = tensors()
    ids = torch.tensor([0, 0, 0])
    for recipe in ("ufp4", "bf16", "nvfp4"):
        torch.library.opcheck(torch.ops.ufp4.linear_forward, (x, w, ids, ut._text(recipe), True, True),
                              test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_static"), atol=0, rtol=0)
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


def test_rejects_tensors_that_are_none_of_its_own():
    x, w, _ = tensors()
    raises(ValueError, "x is of type torch.float64; float32 and bfloat16 are possible", ut.linear, x.double(), w)
    raises(ValueError, "weight is of type torch.float16", ut.linear, x, w.half())
    raises(ValueError, "the last sizes must be equal", ut.linear, x[:, :3], w)
    raises(ValueError, "an empty tensor", ut.linear, x[:0], w)
    raises(ValueError, "x is torch.sparse_coo; ufp4 computes dense tensors", ut.linear, x.detach().to_sparse(), w)
    raises(ValueError, "x is on cpu; weight or bias is not", ut.linear, x, w.to("meta"))
    raises(TypeError, "bias must be a tensor, not ndarray", ut.linear, x, w, np.zeros(35))
    for bias in (torch.zeros(1), torch.zeros(40, 35), torch.zeros(2, 40, 35)):
        raises(ValueError, "it must be (35,)", ut.linear, x, w, bias)
    raises(TypeError, "x must be a tensor, not ndarray", ut.linear, x.detach().numpy(), w)
    raises(ValueError, "layer 4096 is out of range", ut.linear, x, w, layer=4096)
    raises(ValueError, "no recipe is called", ut.linear, x, w, recipe="x")
    if torch.cuda.is_available():
        raises(ValueError, "x is on cuda:0; ufp4 computes tensors of the CPU", ut.linear, x.cuda(), w)
    raises(TypeError, "x must be a numpy array, not Tensor", ufp4.quantize, x, elem="e2m1")


def test_rejects_second_derivatives():
    """Which are not 0, as autograd would take what it knows no graph of."""
    x, w, _ = tensors()
    layer = torch.ops.ufp4.linear_forward
    for y in (ut.linear(x, w), layer(x, w, torch.tensor([0, 0, 0]), ut._text("ufp4"), True, True)[0]):
        raises(RuntimeError, "differentiable once", torch.autograd.grad, y.sum(), x, create_graph=True)


def test_rejects_numbers_of_a_layer_that_are_none():
    layer = ut.Linear(8, 8)
    for ids in ([-1, 0, 0], [2**48, 0, 0], [0, 4096, 0], [0, -1, 0], [0, 0, -1]):
        layer.ids = torch.tensor(ids)
        raises(ValueError, "after to_empty, set or load them", layer, torch.ones(2, 8))


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
        raise bench.Skipped("no /proc/self/statm")
    for _ in range(5):
        step(x, w, dy)
    before = resident()
    for _ in range(40):  # copies of 0.6 MiB each time
        step(x, w, dy)
    check(resident() - before < 8 << 20, f"{(resident() - before) >> 10} KiB more")


def test_nan_reaches_the_result():
    x, w, dy = tensors()
    with torch.no_grad():
        x[3, 4] = float("nan")
    y, dx, dw = step(x, w, dy)
    check(y[3].isnan().all() and not y[4].isnan().any() and dw.isnan().any() and not dx.isnan().any(), "rows of its block")


if __name__ == "__main__":
    bench.main(globals())
