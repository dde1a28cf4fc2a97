# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch under torch.utils.checkpoint: a repeated call uses the random bytes of the first one and counts as
the same step."""

import copy

from support import raises
from torch_support import same, torch

import stand
import ufp4.torch as ut
from stand import check, check_equal
from torch.utils.checkpoint import checkpoint

# Y depends on the random bytes through X, and on the step through the signs.
DRAWS = {"elem": "e1m2", "rht": "integer", "signs": "step", "round": {"x": "sr", "w": "sr", "dy": "sr"}}
KINDS = {"reentrant": {"use_reentrant": True}, "not reentrant": {"use_reentrant": False}}


class Block(torch.nn.Module):
    """Two layers, the first of which is called twice."""

    def __init__(self, width=32):
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(width, width), torch.nn.Linear(width, width)

    def forward(self, x):
        return x + self.fc2(torch.tanh(self.fc1(torch.tanh(self.fc1(x)))) + self.fc1(x))


class Model(torch.nn.Module):
    def __init__(self, blocks=3, **how):
        super().__init__()
        self.blocks, self.how = torch.nn.ModuleList(Block() for _ in range(blocks)), how

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, **self.how) if self.how else block(x)
        return x


def models(recipe=DRAWS, **how):
    """Returns a model that keeps all activations, and one that does not."""
    torch.manual_seed(stand.stream(1))
    plain = ut.convert(Model(), recipe, seed=3)
    other = copy.deepcopy(plain)
    other.how = how
    return plain, other


def batches(count=3, same_ones=True):
    """Returns micro-batches, the first two of which are equal."""
    torch.manual_seed(stand.stream(2))
    made = [torch.randn(24, 32) for _ in range(count)]
    return [made[0], made[0], *made[2:]] if same_ones else made


def train(model, batches, together, steps=2):
    """Returns losses, gradients, and the numbers of the layers.
    together: all micro-batches run forward before the first runs backward."""
    out, sums = [], []
    for _ in range(steps):
        model.zero_grad()
        inputs = [x.clone().requires_grad_() for x in batches]
        if together == "one":
            losses = [model(x).square().sum() for x in inputs]
            sum(losses).backward()
        elif together:
            losses = [model(x).square().sum() for x in inputs]
            for loss in losses if together == "first" else losses[::-1]:
                loss.backward()
        else:
            losses = []
            for x in inputs:
                losses.append(model(x).square().sum())
                losses[-1].backward()
        out += [loss.detach() for loss in losses] + [x.grad for x in inputs]
        sums.append([p.grad.clone() for p in model.parameters()])
    return out, sums, [m.ids.tolist() for m in model.modules() if isinstance(m, ut.Linear)]


def check_same(got, want, what):
    check_equal(got[2], want[2], f"{what}: numbers of the layers")
    for i, (one, other) in enumerate(zip(got[0], want[0], strict=True)):
        same(one, other, f"{what}: {i}")
    for one, other in zip(
        sum(got[1], []), sum(want[1], []), strict=True
    ):  # FP32 sums depend on autograd's order; other bytes would change 1e-2 of them
        check((one - other).norm() < 1e-6 * other.norm(), f"{what}: gradients of parameters")


def test_repeats_have_the_bytes_of_the_first_call():
    for name, how in KINDS.items():
        for together in ("", "one", "first", "last"):
            plain, other = models(**how)
            check_same(train(other, batches(), together), train(plain, batches(), together), f"{name}, {together}")


def test_compiled_repeats_have_the_bytes_of_the_first_call():
    """Covers a checkpoint in a compiled model, whose compiler repeats calls by itself, and compiled blocks in a
    checkpoint."""
    for name, how in KINDS.items():
        plain, inside = models(**how)
        outside = copy.deepcopy(inside)
        for block in outside.blocks:
            block.forward = torch.compile(block.forward, backend="aot_eager_decomp_partition", fullgraph=True)
        compiled = torch.compile(inside, backend="aot_eager_decomp_partition", fullgraph=True)
        for together in ("", "first"):
            want = train(plain, batches(), together)
            check_same(train(outside, batches(), together), want, f"{name}, blocks, {together}")
            got = train(compiled, batches(), together)
            check_same(got, want, f"{name}, whole, {together}")


def test_repeats_in_a_repeat_have_the_bytes_of_the_first_call():
    for outer in KINDS.values():
        for inner in KINDS.values():
            plain, other = models(**inner)
            whole = copy.deepcopy(other)
            whole.forward = lambda x, model=other, how=outer: checkpoint(model.__class__.forward, model, x, **how)
            whole.blocks = other.blocks
            check_same(train(whole, batches(), "first"), train(plain, batches(), "first"), f"{inner} in {outer}")


def test_repeats_of_a_second_backward_pass_and_of_a_part():
    """retain_graph repeats a region again; a loss of one output repeats a part of it."""
    for recipe in ("ufp4", DRAWS):
        plain, other = models(recipe, use_reentrant=False)
        x = batches()[0].requires_grad_()
        for model in (plain, other):
            y = model(x)
            (first,) = torch.autograd.grad(y[:12].sum(), x, retain_graph=True)
            model(x)
            (second,) = torch.autograd.grad(y[12:].square().sum(), x)
            if model is plain:
                want = first, second
            same(first, want[0], "first")
            same(second, want[1], "second")


def test_evaluation_and_other_calls_in_a_backward_pass_count_as_they_do():
    plain, other = models(use_reentrant=False)
    for model in (plain, other):
        model.eval()
    check_same(train(other, batches(), "first"), train(plain, batches(), "first"), "evaluation")
    check_equal([m.ids[0].item() for m in other.modules() if isinstance(m, ut.Linear)], [0] * 6, "steps")
    layer = ut.Linear(8, 8)
    x = torch.ones(2, 8, requires_grad=True)
    x.register_hook(lambda grad: layer(grad).detach())
    layer(x).sum().backward()
    check_equal(layer.ids[0].item(), 2, "a call in a hook is no repeat")
    for name, how in KINDS.items():
        layer, hooked = ut.Linear(8, 8), ut.Linear(8, 8, layer=1)

        def function(x, layer=layer, hooked=hooked):
            y = layer(x)
            if y.requires_grad:
                y.register_hook(lambda grad: hooked(grad).detach())
            return y

        checkpoint(function, torch.ones(2, 8, requires_grad=True), **how).sum().backward()
        check_equal((layer.ids[0].item(), hooked.ids[0].item()), (1, 1), f"{name}: a hook in a checkpoint")


def test_rejects_repeats_of_calls_that_are_forgotten():
    _, other = models(use_reentrant=False)
    y = other(batches()[0].requires_grad_())
    with torch.no_grad():
        for _ in range(2100):
            other.blocks[0].fc1(torch.ones(1, 32))
    raises(RuntimeError, "not among the last 1024 of its layer", y.sum().backward)


def test_rejects_checkpoints_without_random_numbers():
    """The repeat would draw other bytes and count as a step."""
    for how in KINDS.values():
        _, other = models(preserve_rng_state=False, **how)
        raises(
            RuntimeError,
            "which preserve_rng_state=False does not repeat",
            other(batches()[0].requires_grad_()).sum().backward,
        )


def test_random_numbers_of_others_stay():
    """If nothing can be repeated, torch's generator ends in the state in which torch.nn.Linear leaves it."""
    layer, x = ut.convert(torch.nn.Linear(32, 32), DRAWS, seed=7), batches()[0]
    before = torch.get_rng_state()
    layer(x).sum().backward()
    same(torch.get_rng_state(), before, "the generator")


class Dropping(Block):
    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x), 0.5)


def test_repeats_are_known_beside_other_random_numbers():
    """Covers dropout, and a generator that is set to the same state before each step."""
    for name, how in KINDS.items():
        plain, other = models(**how)
        seen = []
        for model in (plain, other):
            model.register_forward_pre_hook(lambda *_: torch.manual_seed(stand.stream(5)) and None)
        check_same(train(other, batches(), "", 3), train(plain, batches(), "", 3), f"{name}, the same state")
        for block in other.blocks:
            block.__class__ = Dropping
            block.fc2.register_forward_hook(
                lambda module, _, y: seen.append((module.ids[1].item(), y.detach().clone()))
            )
        for _ in range(2):
            seen.clear()
            other(batches()[0].requires_grad_()).sum().backward()
            for layer, first in seen[:3]:
                (again,) = (y for number, y in seen[3:] if number == layer)
                same(again, first, f"{name}, dropout: layer {layer}")


if __name__ == "__main__":
    stand.main(globals())
