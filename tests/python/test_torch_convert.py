# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch: converting models, the reports about that, and converting back."""

import copy
import warnings

from support import raises
from torch_support import same, torch

import stand
import ufp4
import ufp4.torch as ut
from stand import check, check_equal


def told(function, *arguments, **options):
    """Returns the warning of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments, **options)
    own = [str(one.message) for one in caught if "matrix products" in str(one.message)]
    check(len(own) < 2 and all(one.filename == __file__ for one in caught if str(one.message) in own), f"{caught}")
    return own[0] if own else ""


def test_convert_numbers_layers_as_named_modules_does():
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(8, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 4)), nn.Linear(4, 2)
    ).eval()
    weights = [p for p in model.parameters()]
    out = ut.convert(model, "e2m1", skip=["2.1"], seed=5)
    check(
        out is model and all(a is b for a, b in zip(weights, model.parameters(), strict=True)),
        "the same model and parameters",
    )
    check_equal(
        [(name, m.ids.tolist()) for name, m in model.named_modules() if isinstance(m, ut.Linear)],
        [("0", [0, 0, 5]), ("2.0", [0, 1, 5]), ("3", [0, 3, 5])],
        "layers",
    )
    check(type(model[2][1]) is nn.Linear and not model[0].training and "recipe=e2m1" in repr(model), repr(model))
    check(isinstance(ut.convert(nn.Linear(4, 4)), ut.Linear), "a model that is a layer")
    raises(ValueError, "no layer is called 'head'", ut.convert, nn.Sequential(nn.Linear(4, 4)), skip=["head"])
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
    """In evaluation torch.nn's encoder layers take weights past the layers that hold them."""
    nn, x = torch.nn, torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(stand.stream(1)))
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
    check_equal(
        [name for name, recipe in made if recipe.name == "bf16"],
        [f"layers.{i}.{name}" for i in (5, 6) for name in ("qkv", "fc1")],
        "BF16",
    )
    check_equal({recipe.name for _, recipe in made} - {"bf16"}, {"nvfp4-full.layer"}, "others")
    own = {"elem": "e1m2", "name": "n" * 31, "bf16_layers": {"first": 1, "names": ["fc1"]}}
    check_equal(
        [name for name, recipe in names(own) if recipe.quantized],
        [f"layers.{i}.qkv" for i in range(1, 7)] + ["head"],
        "by name",
    )
    one = made[0][1]
    check_equal(
        copy.deepcopy(one).to_dict() | {"name": "nvfp4"}, ufp4.recipe("nvfp4").to_dict(), "the recipe of a layer"
    )
    layers = nn.ModuleList([nn.Linear(4, 4)])
    raises(ValueError, "bf16_layers needs the argument blocks", ut.convert, layers, "nvfp4-full")
    raises(ValueError, "must be modules of the model", ut.convert, layers, "nvfp4-full", blocks=[nn.Linear(4, 4)])
    raises(ValueError, "must be modules of the model", ut.convert, layers, "nvfp4-full", blocks=[])
    raises(ValueError, "names fc1; no linear layer", ut.convert, layers, own, blocks=layers)
    raises(ValueError, "bf16_layers needs the blocks of a whole model", ut.Linear, 4, 4, recipe="nvfp4-full")
    check(type(layers[0]) is nn.Linear, "nothing is converted where something is refused")


def transformers():
    try:
        import transformers
    except ImportError as error:
        raise stand.Skipped(f"{error}; ./ufp4 test --full installs it from PyPI") from None
    transformers.logging.set_verbosity_error()
    torch.manual_seed(stand.stream(3))
    return transformers


def gpt2():
    package = transformers()
    return package.GPT2LMHeadModel(
        package.GPT2Config(
            n_layer=2,
            n_head=2,
            n_embd=32,
            n_positions=16,
            vocab_size=64,
            bos_token_id=0,
            eos_token_id=0,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
        )
    )


def mixtral():
    package = transformers()
    return package.MixtralForCausalLM(
        package.MixtralConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            num_local_experts=4,
            max_position_embeddings=16,
        )
    )


def text():
    return torch.randint(64, (2, 16), generator=torch.Generator().manual_seed(stand.stream(4)))


def loss_of(model):
    """Returns loss and gradients of a step."""
    model.zero_grad()
    loss = model(text(), labels=text()).loss
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}


def numbers(model):
    return {name: m.ids.tolist() for name, m in model.named_modules() if hasattr(m, "ids")}


def test_convert_rejects_widths_that_a_transform_does_not_divide():
    nn = torch.nn
    recipe = {"name": "wide", "elem": "e1m2", "rht": "integer", "rht_size": 32}
    for sizes, words in (
        ((100, 64), "1: the transform of 32 points of recipe wide does not divide 100, the number of inputs"),
        ((64, 100), "does not divide 100, the number of outputs"),
    ):
        model = nn.Sequential(nn.Linear(32, 64), nn.Linear(*sizes))
        raises(ValueError, words, ut.convert, model, recipe)
        check(type(model[0]) is nn.Linear, "nothing was converted")
        ut.convert(model, recipe, skip="1")
    ut.convert(nn.Linear(64, 100), recipe | {"rht": {"fprop": "integer"}})
    raises(ValueError, "does not divide 100, the number of inputs", ut.convert, nn.Linear(100, 64).eval(), recipe)
    inference = ut.convert(nn.Linear(64, 100).eval(), recipe)
    check_equal(tuple(inference(torch.ones(32, 64)).shape), (32, 100), "inference has no DGRAD")
    raises(
        ValueError,
        "layer 0: the transform of 32 points of recipe wide does not divide 100, the number of outputs",
        inference,
        torch.ones(32, 64, requires_grad=True),
    )
    layer = ut.convert(nn.Linear(64, 32), recipe)
    raises(
        ValueError,
        "layer 0: the transform of 32 points of recipe wide does not divide 33, the number of tokens, which must be "
        "a multiple",
        layer,
        torch.ones(33, 64),
    )


def test_convert_warns_below_nine_tenths():
    nn = torch.nn
    attention = nn.MultiheadAttention(32, 2)
    model = nn.ModuleDict({"attention": attention, "fc": nn.Linear(32, 32), "head": nn.Linear(32, 32)})
    check_equal(
        told(ut.convert, model),
        "33.3% of the weights of matrix products are converted; not: attention.in_proj_weight, "
        "attention.out_proj.weight",
        "text",
    )
    check_equal(
        told(ut.convert, nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 400)), skip="1"),
        "",
        "what the caller skips is known to him",
    )
    many = nn.Sequential(*(nn.Bilinear(2, 2, 2 + i) for i in range(6)))
    check_equal(
        told(ut.convert, many),
        "0.0% of the weights of matrix products are converted; not: 5.weight, 4.weight, 3.weight, 2.weight and 2 more",
        "many",
    )
    check_equal(told(ut.convert, nn.Sequential(nn.Linear(30, 30), nn.Bilinear(2, 5, 10))), "", "at 90 %")


def test_a_second_conversion_changes_the_recipe():
    nn = torch.nn
    model = ut.convert(
        nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)), "ufp4", seed=5, skip="1", rank=2
    )
    for layer in (model[0], model[2]):
        layer(torch.ones(2, 16))
    called = []
    model[0].register_forward_hook(lambda *_: called.append(1))
    ut.convert(model, "e2m1", skip="2")
    check_equal(
        [(m._shown, m.recipe.name, m.ids.tolist(), m.rank) for m in model],
        [("e2m1", "e2m1", [1, 0, 5], 2), ("e2m1", "e2m1", [0, 1, 0], None), ("ufp4", "ufp4", [1, 2, 5], 2)],
        "steps and seeds stay",
    )
    ut.convert(model, "nvfp4", seed=7, rank=0)
    check_equal(
        [(m.ids.tolist(), m.rank) for m in model], [([1, 0, 7], 0), ([0, 1, 7], 0), ([1, 2, 7], 0)], "given ones do not"
    )
    x = torch.ones(2, 16)
    y = model[0](x)
    same(y.detach(), ut.linear(x, model[0].weight.detach(), model[0].bias.detach(), recipe="nvfp4"), "computed by it")
    check(called == [1] and len(model[0]._forward_pre_hooks) == 1, "hooks")
    check_equal(copy.deepcopy(model[0]).ids.tolist(), [2, 0, 7], "a copy")


def test_unconvert_gives_the_model_back():
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(16, 16), nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0), 1)
    )
    model[0].register_forward_pre_hook(print_nothing)
    before = copy.deepcopy(model)
    told(ut.convert, model)
    kept = list(model.parameters())
    out = ut.unconvert(model)
    check(
        out is model and all(a is b for a, b in zip(kept, model.parameters(), strict=True)),
        "the same model and parameters",
    )
    check_equal([type(m) for m in model.modules()], [type(m) for m in before.modules()], "classes")
    check_equal([*model.state_dict()], [*before.state_dict()], "state")
    check_equal(repr(model), repr(before), "text")
    check(
        [*model[0]._forward_pre_hooks.values()] == [print_nothing]
        and not model[1].layers[0].linear1._forward_pre_hooks,
        "hooks",
    )
    check(
        model[1].use_nested_tensor == before[1].use_nested_tensor
        and model.__dict__.keys() == before.__dict__.keys()
        and model[0].__dict__.keys() == before[0].__dict__.keys(),
        "what else it had",
    )
    x = torch.randn(2, 3, 16)
    same(model(x).detach(), before(x).detach(), "Y")
    check(type(ut.unconvert(ut.Linear(4, 4))) is nn.Linear and ut.unconvert(nn.ReLU()), "one made by hand, and nothing")
    changed = ut.Linear(4, 4)
    changed.__class__ = type("Other", (ut.Linear,), {})
    raises(ValueError, "the model is of class Other, which convert did not make", ut.unconvert, changed)


def print_nothing(*_):
    pass


def test_recipes_are_printed_as_they_were_written():
    nn = torch.nn
    for recipe, want in (
        ("ufp4", "ufp4"),
        ({"elem": "e2m1"}, "custom"),
        ({"elem": "e2m1", "name": "mine"}, "mine"),
        (ufp4.recipe("nvfp4"), "nvfp4"),
    ):
        check(
            f"bias=True, recipe={want})" in repr(ut.convert(nn.Linear(4, 4), recipe)),
            f"{recipe}: {ut.convert(nn.Linear(4, 4), recipe)}",
        )
        check(f"recipe={want})" in repr(ut.Linear(4, 4, recipe=recipe)), "by hand")
    layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(7))
    ut.convert(layers, "nvfp4-full", blocks=layers)
    check_equal([layer._shown for layer in layers], ["nvfp4-full"] * 5 + ["bf16 of nvfp4-full"] * 2, "some in BF16")


def test_conv1d_of_transformers_has_the_bits_of_linear():
    model = gpt2()
    layer = model.transformer.h[0].attn.c_attn
    plain = type(layer)
    check_equal(told(ut.convert, model, seed=5), "", "warning")
    check_equal(ut.coverage(model).share, 1, "share")
    check(isinstance(layer, plain) and repr(layer) == "Conv1D(nf=96, nx=32, recipe=ufp4)", repr(layer))
    check_equal([*numbers(model).values()], [[0, i, 5] for i in range(9)], "numbers")
    x = torch.randn(2, 8, 32, requires_grad=True)
    dy = torch.randn(2, 8, 96)
    layer(x).backward(dy)
    w = layer.weight.detach().T.contiguous().requires_grad_()
    other = x.detach().requires_grad_()
    ut.linear(other, w, layer.bias, seed=5).backward(dy)
    same(x.grad, other.grad, "dX")
    same(layer.weight.grad, w.grad.T, "dW")
    twin = copy.deepcopy(model)
    want = loss_of(model)
    check_equal(loss_of(twin)[0], want[0], "a copy")
    import pickle

    check_equal(numbers(pickle.loads(pickle.dumps(twin))), numbers(twin), "pickled")
    ut.unconvert(model)
    check(type(layer) is plain and not numbers(model), "back")


class Experts(torch.nn.Module):
    """Has parameters (E, out, in); the first one is converted, the second has another use too."""

    def __init__(self, experts=3, width=16):
        super().__init__()
        self.up, self.down = (torch.nn.Parameter(torch.randn(experts, width, width) / 4) for _ in range(2))

    def forward(self, x, *, chosen=(0, 2)):
        out = 0
        for i in chosen:
            out = out + torch.nn.functional.linear(torch.nn.functional.linear(x, self.up[i]), self.down[i])
        return out + 0 * self.down.sum()


EVEN = (0, 2)


class Served(Experts):
    def forward(self, x: "Unknown", *, chosen: torch.Tensor = EVEN) -> "Unknown":  # noqa: F821
        return sum(
            torch.nn.functional.linear(torch.tanh(torch.nn.functional.linear(x, self.up[i])), self.down[i])
            for i in chosen
        )


class Hidden(Experts):
    def forward(self, x):
        return torch.einsum("td,eod->teo", x, self.up).sum(1)


def test_experts_are_served_where_their_forward_can_be():
    torch.manual_seed(stand.stream(5))
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), Served())
    check_equal(told(ut.convert, model, seed=5), "", "warning")
    check_equal(numbers(model), {"0": [0, 0, 5], "1": [0, 1, 5]}, "numbers")
    experts, x = model[1], torch.randn(20, 16)
    experts(x)
    inputs = x.clone().requires_grad_(), x.clone().requires_grad_()
    experts(inputs[0], chosen=[-1]).square().sum().backward()
    up, down = (p.detach()[2].clone().requires_grad_() for p in (experts.up, experts.down))
    options = {"seed": 5, "step": 1 * 3 + 2}
    ut.linear(
        torch.tanh(ut.linear(inputs[1], up, layer=1, **options)), down, layer=2, **options
    ).square().sum().backward()
    for name, got, want in (
        ("dX", inputs[0].grad, inputs[1].grad),
        ("up", experts.up.grad[2], up.grad),
        ("down", experts.down.grad[2], down.grad),
    ):
        same(got, want, name)
    check_equal((experts.ids.tolist(), experts.up.grad[0].abs().sum().item()), ([2, 1, 5], 0), "steps")
    check(
        "recipe=ufp4" in repr(experts)
        and isinstance(experts, Served)
        and type(copy.deepcopy(experts)) is type(experts),
        repr(experts),
    )
    more = torch.nn.Sequential(Served(), torch.nn.Linear(16, 16))
    check_equal(numbers(ut.convert(more)), {"0": [0, 0, 0], "1": [0, 2, 0]}, "two numbers")
    check(
        type(ut.unconvert(model)[1]) is Served and [*model.state_dict()] == ["0.weight", "0.bias", "1.up", "1.down"],
        "back",
    )


def test_experts_that_cannot_be_served_are_named():
    for kind, served in ((Experts, {"up": "ufp4"}), (Hidden, {})):
        model = kind()
        words = told(ut.convert, model)
        covered = ut.coverage(model)
        check_equal(
            (covered.converted, [*covered.others]),
            (served, [name for name in ("up", "down") if name not in served]),
            kind.__name__,
        )
        check(words.startswith("50.0%" if served else "0.0%") and "down" in words, words)
        model(torch.ones(2, 16)).sum().backward()
    made = {}
    exec(
        "import torch\nclass Made(torch.nn.Module):\n  def __init__(self):\n    super().__init__()\n"
        "    self.w = torch.nn.Parameter(torch.ones(2, 3, 3))\n"
        "  def forward(self, x):\n    return torch.nn.functional.linear(x, self.w[0])\n",
        made,
    )
    check("not: w" in told(ut.convert, made["Made"]()), "without a source")


def test_experts_of_transformers_have_the_bits_of_linear():
    model = mixtral()
    plain, (want, grads) = copy.deepcopy(model), loss_of(model)
    check_equal(told(ut.convert, model, "fp32"), "", "warning")
    check_equal([*ut.coverage(model).others], ["model.layers.0.mlp.gate.weight"], "not converted: the router")
    loss, others = loss_of(model)
    check(
        (loss - want).abs() < 1e-5
        and all((others[name] - grad).norm() <= 1e-4 * grad.norm() for name, grad in grads.items()),
        "nearly the same in FP32",
    )
    ut.convert(model, "ufp4")
    loss, others = loss_of(model)
    experts = "model.layers.0.mlp.experts.gate_up_proj"
    error = (others[experts] - grads[experts]).norm() / grads[experts].norm()
    check(1e-2 < error < 0.5 and 0 < (loss - want).abs() < 0.1, f"four bits: {error}")
    check_equal(numbers(model)["model.layers.0.mlp.experts"], [2, 4, 0], "steps")
    ut.unconvert(model)
    same(loss_of(model)[0], loss_of(plain)[0], "back")


def test_models_of_transformers_are_saved_and_loaded():
    import safetensors.torch

    for make in (gpt2, mixtral):
        model = make()
        ut.convert(model, seed=5)
        loss_of(model)
        model.save_pretrained("saved")
        state = numbers(model)
        own = {name: tensor for name, tensor in model.state_dict().items() if name.endswith(".ids")}
        check(len(own) == len(state) > 4, f"{[*own]}")
        safetensors.torch.save_file(own, "saved/ids.safetensors")  # transformers renames some of them in its own file
        loaded = ut.convert(type(model).from_pretrained("saved"))
        loaded.load_state_dict(safetensors.torch.load_file("saved/ids.safetensors"), strict=False)
        check_equal(numbers(loaded), state, "numbers")
        loaded.train()
        (want, grads), (got, others) = loss_of(model), loss_of(loaded)
        same(got, want, "loss")
        for name in grads:
            same(others[name], grads[name], name)
        ut.unconvert(model).save_pretrained("plain")
        check(
            not any(key.endswith(".ids") for key in safetensors.torch.load_file("plain/model.safetensors")),
            "no numbers",
        )


def test_checkpoints_of_transformers_repeat_the_bytes():
    draws = {"elem": "e1m2", "rht": "integer", "signs": "step", "round": {"x": "sr", "w": "sr", "dy": "sr"}}
    for make in (gpt2, mixtral):
        model = ut.convert(make(), draws, seed=5).train()
        for reentrant in (False, True):
            plain, other = copy.deepcopy(model), copy.deepcopy(model)
            other.gradient_checkpointing_enable({"use_reentrant": reentrant})
            for _ in range(2):
                (want, grads), (got, others) = loss_of(plain), loss_of(other)
                same(got, want, "loss")
                for name in grads:
                    same(others[name], grads[name], f"{make.__name__}, {reentrant}: {name}")
            check_equal(numbers(other), numbers(plain), "steps")


if __name__ == "__main__":
    stand.main(globals())
