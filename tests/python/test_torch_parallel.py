# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch in data parallel: two processes over gloo against one process that does both halves, and the random
bytes of each rank."""

import pathlib
import re
import subprocess
import sys

from support import raises
from torch_support import same, step, tensors, torch

import stand
import ufp4.torch as ut
from stand import check, check_equal

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS, TURNS = 2, (range(3), range(3, 5))
# X and W use random bytes, and the signs change with each step.
RECIPES = {
    "ufp4": "ufp4",
    "draws": {"elem": "e1m2", "rht": "integer", "signs": "step", "round": {"x": "sr", "w": "sr", "dy": "sr"}},
}
WRAPPERS = ("ddp", "fsdp")


def model_of(recipe, **options):
    torch.manual_seed(stand.stream(1))
    model = torch.nn.Sequential(torch.nn.Linear(32, 48), torch.nn.Tanh(), torch.nn.Linear(48, 32))
    return ut.convert(model, RECIPES[recipe], seed=3, **options)


def half(rank, turn):
    """Returns the input of a rank in a turn."""
    return torch.randn(24, 32, generator=torch.Generator().manual_seed(stand.stream(100 * rank + turn)))


def losses_of(model, rank, turns):
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.01), []
    for turn in turns:
        optimizer.zero_grad()
        losses.append(model(half(rank, turn)).square().mean())
        losses[-1].backward()
        optimizer.step()
    return [loss.detach() for loss in losses]


# --- One of two processes --------------------------------------------------------------------------------


def wrapped(model, kind):
    if kind == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model)
    from torch.distributed.fsdp import fully_shard

    mesh = torch.distributed.init_device_mesh("cpu", (RANKS,))
    for part in (model[0], model[2], model):
        fully_shard(part, mesh=mesh)
    return model


def state_of(model):
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    return {name: value.clone() for name, value in state.items()}  # rank 0 alone has the whole state


def run(rank, kind, recipe):
    model = wrapped(model_of(recipe), kind)
    losses = losses_of(model, rank, TURNS[0])
    state = state_of(model)
    shared = [state]
    torch.distributed.broadcast_object_list(shared)  # as if all ranks read a file of rank 0
    losses += losses_of(model, rank, TURNS[1])
    resumed = model_of(recipe)
    resumed.load_state_dict(shared[0])
    return {"losses": losses, "state": state_of(model), "resumed": losses_of(wrapped(resumed, kind), rank, TURNS[1])}


def process(rank):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{pathlib.Path.cwd()}/meeting", rank=rank, world_size=RANKS
    )
    out = {f"{kind} {recipe}": run(rank, kind, recipe) for kind in WRAPPERS for recipe in RECIPES}
    for name, given in (("own", None), ("given", 0)):
        layer = model_of("draws", rank=given)[0]
        x = half(0, 0).requires_grad_()
        y = layer(x)
        y.backward(torch.ones_like(y))
        out[name] = [y.detach(), x.grad, layer.weight.grad]
    # A step that one rank has taken alone remains local: nothing is broadcast.
    ahead = model_of("ufp4")
    ahead[0].ids[0] += rank
    wrapped(ahead, "ddp")(half(0, 0))
    out["ahead"] = ahead[0].ids.tolist()
    torch.save(out, f"rank{rank}.pt")
    torch.distributed.destroy_process_group()


# --- What one process makes of both halves ---------------------------------------------------------------


def alone(recipe):
    """Returns losses by rank, and the state."""
    replicas = [model_of(recipe, rank=rank) for rank in range(RANKS)]
    optimizers, losses = [torch.optim.SGD(model.parameters(), lr=0.01) for model in replicas], [[] for _ in replicas]
    for turn in (*TURNS[0], *TURNS[1]):
        for rank, model in enumerate(replicas):
            model.zero_grad()
            loss = model(half(rank, turn)).square().mean()
            loss.backward()
            losses[rank].append(loss.detach())
        for both in zip(*(model.parameters() for model in replicas)):
            mean = sum(p.grad / RANKS for p in both)
            for p in both:
                p.grad = mean.clone()
        for optimizer in optimizers:
            optimizer.step()
    return losses, replicas[0].state_dict()


def test_two_processes_are_one_that_does_both_halves():
    torch.multiprocessing.spawn(process, nprocs=RANKS)
    seen = [torch.load(f"rank{rank}.pt") for rank in range(RANKS)]
    for recipe in RECIPES:
        losses, state = alone(recipe)
        for kind in WRAPPERS:
            for rank in range(RANKS):
                one, what = seen[rank][f"{kind} {recipe}"], f"{kind}, {recipe}, rank {rank}"
                same(torch.stack(one["losses"]), torch.stack(losses[rank]), f"{what}: losses")
                same(torch.stack(one["resumed"]), torch.stack(losses[rank][len(TURNS[0]) :]), f"{what}: resumed")
            got = seen[0][f"{kind} {recipe}"]["state"]
            check_equal([*got], [*state], f"{kind}: names in the state")
            for name in state:
                same(got[name], state[name], f"{kind}, {recipe}: {name}")
    for i, name in enumerate(("Y", "dX", "dW")):
        check(not torch.equal(seen[0]["own"][i], seen[1]["own"][i]), f"{name}: ranks have bytes of their own")
        same(seen[0]["own"][i], seen[1]["given"][i], f"{name}: but where one is given")
    check_equal([one["ahead"][0] for one in seen], [1, 2], "steps")


def test_a_rank_draws_for_x_and_dy_and_not_for_w():
    x, w, dy = tensors()
    for role, other in (("x", True), ("w", False), ("dy", True)):
        recipe = {"elem": "e1m2", "rht": "integer", "signs": "step", "round": {role: "sr"}}
        zero, one, next_ = (step(x, w, dy, recipe=recipe, rank=rank, step=2) for rank in (0, 1, 2))
        for name, a, b, c in zip(("Y", "dX", "dW"), zero, one, next_):
            reads = {"x": ("Y", "dW"), "w": ("Y", "dX"), "dy": ("dX", "dW")}[role]
            check(
                torch.equal(a, b) == torch.equal(a, c) == torch.equal(b, c) == (name not in reads or not other),
                f"{role}: {name}",
            )
    recipe = {"elem": "e1m2", "round": {"x": "sr", "dy": "sr"}}
    for name, a, b in zip(
        ("Y", "dX", "dW"),
        step(x, w, dy, recipe=recipe, rank=3, step=5),
        step(x, w, dy, recipe=recipe, step=3 << 32 | 5),
    ):
        same(a, b, f"{name}: where the rank is")


def test_rejects_ranks_that_are_none():
    x, w, _ = tensors()
    raises(ValueError, "rank 65536 is out of range", ut.linear, x, w, rank=65536)
    raises(ValueError, "rank -1 is out of range", ut.Linear, 4, 4, rank=-1)
    raises(ValueError, "rank 70000 is out of range", ut.convert, torch.nn.Linear(4, 4), rank=70000)
    raises(ValueError, "with a rank, step must be below 2^32", ut.linear, x, w, rank=1, step=2**32)
    layer = ut.Linear(50, 4, rank=1)
    layer.ids[0] = 2**32
    raises(ValueError, "step 4294967296 of rank 1", layer, x)


def test_rejects_tensor_parallel():
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    torch.distributed.init_process_group("gloo", init_method=f"file://{pathlib.Path.cwd()}/alone", rank=0, world_size=1)
    mesh = torch.distributed.init_device_mesh("cpu", (1,))
    layer = parallelize_module(torch.nn.Sequential(ut.Linear(16, 16)), mesh, {"0": ColwiseParallel()})
    raises(ValueError, "is a DTensor of tensor parallelism, but ufp4 needs whole layers", layer, torch.ones(2, 16))
    torch.distributed.destroy_process_group()


def example_losses(processes, *options):
    """Returns the losses of data_parallel.py, started by torchrun."""
    pathlib.Path("text").write_bytes((ROOT / "LICENSE").read_bytes())
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", processes]
    command = [*start, ROOT / "drivers/python/examples/data_parallel.py", "text", *options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=3600)
    check(done.returncode == 0, f"{done}")
    return re.findall(r"^ +(\d+) ([0-9.]+)$", done.stdout, re.M)


def test_example_is_started_by_torchrun():
    whole = example_losses(2, "--steps", 4)
    check_equal([int(number) for number, _ in whole], [*range(1, 5)], "steps")
    check(5 < float(whole[0][1]) < 6.5 and float(whole[-1][1]) < float(whole[0][1]), f"{whole}")


def test_example_of_three_ranks_is_resumed_to_the_bit():
    """Sums over three ranks depend on their order; those over two do not."""
    whole = example_losses(3, "--steps", 4, "-o", "whole.pt")
    example_losses(3, "--steps", 2, "-o", "half.pt")
    check_equal(example_losses(3, "--steps", 4, "--resume", "half.pt", "-o", "resumed.pt"), whole[2:], "losses")
    want, got = torch.load("whole.pt"), torch.load("resumed.pt")
    check_equal([*got["model"]], [*want["model"]], "names")
    for name in want["model"]:
        same(got["model"][name], want["model"][name], name)
    for number, moments in want["optimizer"]["state"].items():
        for name in moments:
            same(got["optimizer"]["state"][number][name], moments[name], f"{name} of parameter {number}")


if __name__ == "__main__":
    stand.main(globals())
