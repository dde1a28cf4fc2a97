#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch on a GPU: bits of the CPU, graphs, compiled layers, and speed. Exit status 1: something differs.

usage: run_on_gpu.py [--tokens 8192] [--size 4096] [--rounds 11]
It needs torch for CUDA, and ufp4 with its GPU library: pip install ./drivers/python
"""

import argparse
import copy
import json
import random
import sys
import time
import traceback

import torch
from bench_torch import Emulated

import ufp4
import ufp4.torch as ut

RECIPES = ("ufp4", "e2m1", "e2m1-46", "nvfp4", "nvfp4-full", "mxfp4", "mxfp4-rht")
SHAPES = 40
failed = []


def note(what, ok, more=""):
    print(f"{'equal' if ok else 'DIFFERENT'}  {what}{more}", flush=True)
    if not ok:
        failed.append(what)


def same(got, want):
    return all(
        one.dtype == two.dtype and torch.equal(one.cpu().flatten().view(torch.uint8), two.flatten().view(torch.uint8))
        for one, two in zip(got, want)
    )


def of_one_layer(name):
    """Returns the recipe without its settings for whole models."""
    return ufp4.recipe(name).to_dict() | {"name": "layer-" + name, "bf16_layers": {}}


def own_recipes():
    """Returns recipes with features that no built-in one has: other elements and scales, contract fp32, tiles, values
    kept from FPROP."""
    return [
        {"elem": "int4", "scale": "fp32", "rht": "integer", "round": "sr"},
        {"elem": "e1m2", "accumulate": "fp32", "layout": {"w": "2d"}},
        {"elem": "e2m1", "rht": "bf16", "requantize": True, "round": {"dy": "sr"}},
        {"elem": "int4", "scale": "e8m0", "rht": "integer", "requantize": True, "scale_round": "up"},
    ]


def step(x, w, dy, **options):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    y = ut.linear(x, w, **options)
    y.backward(dy)
    return y.detach(), x.grad, w.grad


def check_bits():
    draw = random.Random(0)
    recipes = [(name, of_one_layer(name)) for name in RECIPES] + [(json.dumps(given), given) for given in own_recipes()]
    shapes = [
        tuple(draw.choice([1, 15, 16, 17, 48, 100, 129, 256, 500]) for _ in range(3)) for _ in range(SHAPES - 2)
    ] + [(512, 768, 256), (2048, 64, 1024)]
    for name, recipe in recipes:
        different = []
        for i, (tokens, cin, cout) in enumerate(shapes):
            dtype = torch.bfloat16 if i % 3 == 2 else torch.float32
            given = [
                (torch.randn(shape) * 2.0 ** draw.randrange(-8, 9)).to(dtype)
                for shape in ((tokens, cin), (cout, cin), (tokens, cout))
            ]
            place = {
                "recipe": recipe,
                "seed": draw.randrange(2**63),
                "layer": draw.randrange(4096),
                "step": draw.randrange(2**31),
                "rank": i % 3,
            }
            if not same(step(*(t.cuda() for t in given), **place), step(*given, **place)):
                different.append((tokens, cin, cout))
        note(f"{name}: Y, dX and dW of {len(shapes)} shapes", not different, f" {different}" if different else "")


def check_streams_and_devices():
    x, w = torch.randn(300, 200), torch.randn(100, 200)
    want = ut.linear(x, w)
    for i in range(torch.cuda.device_count()):
        stream = torch.cuda.Stream(device=i)
        a, b = x.to(i), w.to(i)
        stream.wait_stream(torch.cuda.current_stream(i))
        with torch.cuda.stream(stream):
            y = ut.linear(a, b)
        stream.synchronize()
        note(f"GPU {i}, a stream of its own", same([y], [want]))


def check_graphs():
    recipe = {"elem": "e1m2", "rht": "integer"}
    model = ut.convert(
        torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).cuda(), recipe
    )
    plain = copy.deepcopy(model)
    x = torch.randn(128, 256, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(model, (x,))
    for turn in range(3):
        given = torch.randn(128, 256, device="cuda")
        grads = []
        for one in (graphed, plain):
            leaf = given.clone().requires_grad_()
            y = one(leaf)
            y.sum().backward()
            grads.append((y.detach().clone(), leaf.grad.clone()))
        note(f"make_graphed_callables, call {turn}", same([t.cpu() for t in grads[0]], [t.cpu() for t in grads[1]]))
    # A single layer has a hook, which make_graphed_callables does not accept.
    drawing = ut.convert(torch.nn.Sequential(torch.nn.Linear(64, 64).cuda()), "ufp4")
    try:
        torch.cuda.make_graphed_callables(drawing, (torch.randn(32, 64, device="cuda", requires_grad=True),))
        note("a graph that repeats random bytes is refused", False)
    except RuntimeError as error:
        note(
            "a graph that repeats random bytes is refused", "repeat the random bytes" in f"{error} {error.__context__}"
        )


def check_captured_steps():
    """Captures a training step in a CUDA graph: each replay must draw by a step of its own, as a layer on the CPU
    does."""
    plain = ut.Linear(256, 128, bias=False, recipe="ufp4", layer=3, seed=11, rank=0)
    layer = copy.deepcopy(plain).cuda()
    ut.capturable(layer)
    given = [(torch.randn(100, 256), torch.randn(100, 128)) for _ in range(4)]
    x, dy = given[0][0].cuda().requires_grad_(), given[0][1].cuda()

    def train(layer, x, dy):
        x.grad = layer.weight.grad = None
        y = layer(x)
        y.backward(dy)
        return [y.detach(), x.grad, layer.weight.grad]

    wanted = [train(plain, x.requires_grad_(), dy) for x, dy in copy.deepcopy(given)]
    # The first step runs outside of the graph, as torch demands; the captured one is not run.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        first = train(layer, x, dy)
    torch.cuda.current_stream().wait_stream(stream)
    note("captured step, before the capture", same(first, wanted[0]))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = train(layer, x, dy)
    for turn in range(1, 4):
        x.data.copy_(given[turn][0])
        dy.copy_(given[turn][1])
        graph.replay()
        note(f"captured step, replay {turn}", same(results, wanted[turn]))


def check_compiled():
    model = ut.convert(
        torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 256)).cuda(), "ufp4"
    )
    compiled = torch.compile(copy.deepcopy(model), backend="aot_eager", fullgraph=True)
    x = torch.randn(128, 256, device="cuda")
    results = []
    for one in (model, compiled):
        leaf = x.clone().requires_grad_()
        one(leaf).sum().backward()
        results.append(leaf.grad.cpu())
    note("torch.compile", same(results[:1], results[1:]))


# --- Speed ------------------------------------------------------------------------------------------


def milliseconds(functions, rounds):
    """Returns medians of GPU time; the functions take turns."""
    times = {name: [] for name in functions}
    for i in range(rounds + 2):
        for name, function in functions.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            function()
            end.record()
            end.synchronize()
            if i >= 2:
                times[name].append(begin.elapsed_time(end))
    return {name: sorted(of)[len(of) // 2] for name, of in times.items()}


def measure(tokens, size, rounds):
    def make(dtype):
        return [
            torch.randn(shape, device="cuda", dtype=dtype) for shape in ((tokens, size), (size, size), (tokens, size))
        ]

    def run(function, given):
        x, w, dy = given
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        return lambda: function(x, w).backward(dy)

    bf16, fp32 = make(torch.bfloat16), make(torch.float32)
    functions = {
        "torch, BF16": run(torch.nn.functional.linear, bf16),
        "an eager fake quantization, FP32": run(Emulated.apply, fp32),
    }
    for recipe in ("ufp4", "e2m1", "nvfp4", "mxfp4"):
        functions[f"ufp4.torch, {recipe}, BF16"] = run(
            lambda x, w, recipe=of_one_layer(recipe): ut.linear(x, w, recipe=recipe), bf16
        )
    functions["ufp4.torch, ufp4 with contract fp32, BF16"] = run(
        lambda x, w: ut.linear(x, w, recipe=of_one_layer("ufp4") | {"accumulate": "fp32"}), bf16
    )
    seen = milliseconds(functions, rounds)
    print(
        f"\nA layer of {size} x {size}, {tokens} tokens, forward and backward:\n\n| what | ms | of torch in BF16 |\n"
        "|---|---|---|"
    )
    for name, spent in seen.items():
        print(f"| {name} | {spent:.2f} | {spent / seen['torch, BF16']:.2f} |")


def measure_host(calls=200):
    """Measures the host's microseconds for a call that queues little work."""
    x = torch.randn(64, 256, device="cuda", dtype=torch.bfloat16)
    plain = torch.nn.Linear(256, 256, bias=False, device="cuda", dtype=torch.bfloat16)
    functions = {"torch, BF16": plain}
    for recipe in ("ufp4", "nvfp4"):
        functions[f"ufp4.torch, {recipe}"] = ut.convert(copy.deepcopy(plain), of_one_layer(recipe)).eval()
    print("\nHost time of a forward call, 64 x 256 x 256:\n\n| what | us |\n|---|---|")
    for name, function in functions.items():
        with torch.no_grad():
            function(x)
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(calls):
                function(x)
        host = time.perf_counter() - begin
        torch.cuda.synchronize()
        print(f"| {name} | {1e6 * host / calls:.0f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("run_on_gpu.py: torch sees no GPU")
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, ufp4 {ufp4.__version__}")
    for check in (check_bits, check_streams_and_devices, check_compiled, check_graphs, check_captured_steps):
        try:
            check()
        except Exception:  # later measurements are useful all the same
            traceback.print_exc()
            note(check.__name__, False, " as it ended early")
    measure(options.tokens, options.size, options.rounds)
    measure_host()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
