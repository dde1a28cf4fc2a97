#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the Python package is, on one thread: its processor time, ratios from one process,
the fastest of several rounds that take turns.

usage: bench_torch.py [--size 1024] [--tokens 2048] [--rounds 5]       needs torch, and ufp4 on PYTHONPATH
"""

import argparse
import time

import numpy as np
import torch

import ufp4
import ufp4.torch

SIGNS = torch.tensor([-1.0 if 0xD7E8 >> i & 1 else 1.0 for i in range(16)])


def hadamard():
    h = torch.ones(1, 1)
    while len(h) < 16:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
    return h * SIGNS / 4


H = hadamard().T.contiguous()


def emulate(x, stochastic):
    """Does what eager emulations of the recipe ufp4 do: transform, E4M3 scales, E1M2 elements, and back to FP32."""
    blocks = x.reshape(-1, 16) @ H.to(x.device)
    amax = blocks.abs().amax(1, keepdim=True)
    tensor = amax.max() / (448 * 1.75)
    scale = (amax / 1.75 / tensor).to(torch.float8_e4m3fn).float().clamp_min(2**-9) * tensor
    scaled = blocks / scale * 4
    rounded = torch.floor(scaled + torch.rand_like(scaled)) if stochastic else torch.round(scaled)
    return (rounded.clamp_(-7, 7) * (scale / 4)).reshape(x.shape)


class Emulated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return emulate(x, False) @ emulate(w, False).T

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx = emulate(dy, True) @ emulate(w.T.contiguous(), False).T
        return dx, emulate(dy.T.contiguous(), True) @ emulate(x.T.contiguous(), False).T


def seconds(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin


def step(function, x, w, dy):
    def run():
        x.grad = w.grad = None
        function(x, w).backward(dy)

    return run


def autocast(x, w):
    with torch.autocast("cpu", torch.bfloat16):
        return torch.nn.functional.linear(x, w)


def step_in_bf16(x, w, dy):
    """Runs a step with FP32 weights and activations and GEMMs in BF16, as torch.autocast trains."""
    return step(autocast, x, w, dy.to(torch.bfloat16))


def rounds(cases, count):
    """Returns the fastest of `count` rounds of each case."""
    best = {name: seconds(case) for name, case in cases.items()}
    for _ in range(count):
        for name, case in cases.items():
            best[name] = min(best[name], seconds(case))
    return best


def operands(tokens, cin, cout):
    generator = torch.Generator().manual_seed(1)
    x, w, dy = (torch.randn(*shape, generator=generator) for shape in ((tokens, cin), (cout, cin), (tokens, cout)))
    return x.requires_grad_(), w.requires_grad_(), dy


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    given = operands(chosen.tokens, chosen.size, chosen.size)
    best = rounds(
        {
            "torch FP32": step(torch.nn.functional.linear, *given),
            "torch BF16": step_in_bf16(*given),
            "eager emulation": step(Emulated.apply, *given),
            "ufp4": step(ufp4.torch.linear, *given),
        },
        chosen.rounds,
    )
    print(f"% linear {chosen.tokens} x {chosen.size} x {chosen.size}, forward and backward: case ms ratio_to_ufp4")
    for name, time_ in best.items():
        print(f"  {name:16} {time_ * 1e3:8.2f} {time_ / best['ufp4']:6.2f}")
    small = operands(16, 16, 16)
    cost = {
        name: step(function, *small)
        for name, function in (("torch FP32", torch.nn.functional.linear), ("ufp4", ufp4.torch.linear))
    }
    best = {
        name: min(seconds(lambda: [case() for _ in range(100)]) / 100 for _ in range(chosen.rounds))
        for name, case in cost.items()
    }
    print("% linear 16 x 16 x 16, forward and backward, which is the cost of autograd: case us")
    for name, time_ in best.items():
        print(f"  {name:16} {time_ * 1e6:8.1f}")
    a = ufp4.quantize(np.random.default_rng(1).standard_normal((16, 16), np.float32), elem="e1m2")
    best = min(seconds(lambda: [ufp4.gemm(a, a) for _ in range(1000)]) / 1000 for _ in range(chosen.rounds))
    print(f"% numpy gemm 16 x 16 x 16: us\n  {best * 1e6:.1f}")


if __name__ == "__main__":
    main()
