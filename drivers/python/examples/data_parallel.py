#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the language model of language_model.py in ufp4 on several processes, each with batches of its own.

usage, on one machine:   torchrun --standalone --nproc-per-node 2 data_parallel.py [TEXT]
on two, on each of them: torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d \\
                         --rdzv-endpoint FIRST:29500 data_parallel.py [TEXT]
options: [--recipe ufp4] [--steps 50] [--resume FILE] [-o FILE]; the same number of processes has the same losses, also
where a run is resumed.
"""

import argparse
import pathlib

import torch
import torch.distributed as dist
from torch import nn

import ufp4.torch
from language_model import BATCH, CONTEXT, Model, read


def batch_of(text, step, rank):
    """Draws a batch that depends only on rank and step."""
    starts = torch.randint(
        len(text) - CONTEXT - 1, (BATCH,), generator=torch.Generator().manual_seed(step << 16 | rank)
    )
    batch = torch.stack([text[start : start + CONTEXT + 1] for start in starts])
    return batch[:, :-1], batch[:, 1:]


def train(text, chosen):
    torch.manual_seed(1)
    model = ufp4.torch.convert(
        Model(), chosen.recipe, skip="head", seed=1
    )  # all ranks have one seed: the rank is mixed in
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer, first = torch.optim.AdamW(model.parameters(), lr=3e-3), 0
    if chosen.resume:
        # DDP reorders its buckets after its first backward pass, and with them the sums over three ranks or more. The
        # first pass therefore comes before the state is loaded, so that all steps have the order of an uninterrupted
        # run.
        parallel(batch_of(text, 0, dist.get_rank())[0]).sum().backward()
        saved = torch.load(chosen.resume)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    for step in range(first, chosen.steps):
        inputs, targets = batch_of(text, step, dist.get_rank())
        loss = nn.functional.cross_entropy(parallel(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach() / dist.get_world_size()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print(f"  {step + 1} {mean.item():.6f}", flush=True)
    if chosen.o and dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": chosen.steps}, chosen.o)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", type=pathlib.Path, default=pathlib.Path("/usr/share/dictd/gcide.dict.dz"))
    parser.add_argument("--recipe", default="ufp4")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--resume")
    parser.add_argument("-o")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        print("% step loss")
    train(read(chosen.text), chosen)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
