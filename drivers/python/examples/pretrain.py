#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT in several recipes from the same weights and on the same text, seed by seed,
and leaves what the page of `ufp4 train` is drawn from.

usage: pretrain.py -o DIR [--size 10M] [--tokens 2000000] [--seeds 2] [--recipe bf16,ufp4,e2m1] [--device cuda]
                   [--resume] [TEXT]

Whole runs train in their recipe from the start. Branched runs go on from the bf16 run with the same seed, at two thirds
of its steps. All runs advance in turns of a twelfth of the steps, so whenever this stops they are there in pairs;
--resume goes on to the same bits.

DIR gets losses.csv and branched.csv (step, tokens, seed, recipe, train_loss, held_loss), held.csv (the held-out loss in
parts), train.json and report.html, and runs/ with checkpoints of 12 bytes a weight for each run. With several rates
each has such a folder in DIR, lr-RATE. OMP_NUM_THREADS limits the threads.
"""

import argparse
import csv
import math
import os
import pathlib
import shlex
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # otherwise cuBLAS is not deterministic

import torch

import ufp4
import ufp4.torch
from pretraining import folder, model, runs, text

# --- Options --------------------------------------------------------------------------------------------------


def positive(word):
    value = int(word)
    if value < 1:
        raise ValueError(word)
    return value


def seed(word):
    value = int(word)
    if not 0 <= value < 2**31:
        raise ValueError(word)
    return value


def above_0(word):
    value = float(word)
    if not 0 < value < math.inf:
        raise ValueError(word)
    return value


def rates(words):
    return list(dict.fromkeys(above_0(word) for word in words.split(",")))


def cooldown(word):
    value = int(word)
    if not 1 <= value <= 33:  # behind the branch
        raise ValueError(word)
    return value


def add_model(parser):
    parser.add_argument("--size", choices=model.SIZES, default="10M", help="weights of the blocks (default: 10M)")
    parser.add_argument("--width", type=positive, help="in place of that of --size")
    parser.add_argument("--blocks", type=positive, help="likewise")
    parser.add_argument("--heads", type=positive, help="likewise (default with --width: of about 64 each)")
    parser.add_argument("--context", type=positive, default=256, help="tokens of a window (default: 256)")
    parser.add_argument(
        "--attention",
        choices=model.ATTENTION,
        default="fp32",
        help="what attention multiplies in (default: fp32); bf16 is faster where the machine multiplies BF16",
    )


def add_training(parser):
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--tokens", type=positive, default=2_000_000, help="that a run sees (default: 2000000)")
    length.add_argument("--tokens-per-weight", type=above_0, metavar="N", help="the same by the weights of the blocks")
    parser.add_argument("--batch", type=positive, default=8, help="windows of a step (default: 8)")
    parser.add_argument(
        "--lr",
        type=rates,
        metavar="RATE",
        help="the highest rate, above 0 (default: by the weights); several by commas are a sweep",
    )
    parser.add_argument(
        "--cooldown",
        type=cooldown,
        default=0,
        metavar="PERCENT",
        help="a constant rate that falls in the last 1 to 33 percent of the steps, in place of a cosine; with --resume "
        "--tokens may then be raised",
    )
    parser.add_argument(
        "--recipe",
        default="bf16,ufp4,e2m1",
        metavar="LIST",
        help="names and files NAME.json by commas, each with a suffix or none (default: bf16,ufp4,e2m1; bf16 is "
        "always trained)",
    )
    parser.add_argument("--seeds", type=positive, default=2, help="how many (default: 2)")
    parser.add_argument("--seed", type=seed, default=1, help="the first one (default: 1)")
    parser.add_argument("--branched", action="store_true", help="branched runs only")
    parser.add_argument("--whole", action="store_true", help="whole runs only")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "text",
        nargs="?",
        type=pathlib.Path,
        default=pathlib.Path("/usr/share/dictd/gcide.dict.dz"),
        help="any file, or a .gz or .dz (default: Debian's dict-gcide)",
    )
    parser.add_argument("-o", type=pathlib.Path, required=True, metavar="DIR", help="where everything goes")
    add_model(parser)
    add_training(parser)
    parser.add_argument(
        "--bpe",
        type=positive,
        default=0,
        metavar="N",
        help="N tokens by a BPE that is trained on the text (package tokenizers), in place of bytes",
    )
    parser.add_argument("--held", type=positive, default=65536, help="held-out tokens (default: 65536)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--watch",
        type=positive,
        metavar="N",
        help="records what rounding does in every Nth step, in DIR/rounding, which python -m ufp4.report draws",
    )
    parser.add_argument("--save", type=float, default=300, metavar="SECONDS", help="between checkpoints (default: 300)")
    parser.add_argument(
        "--resume", action="store_true", help="goes on with what is in DIR; seeds, recipes and kinds may be added"
    )
    return parser


# --- What they mean together ----------------------------------------------------------------------------------


def shape(chosen):
    """Sets width, heads and blocks."""
    width, heads, blocks, _ = model.SIZES[chosen.size]
    if chosen.width and not chosen.heads:
        heads = model.heads_of(chosen.width)
    chosen.width, chosen.blocks = chosen.width or width, chosen.blocks or blocks
    chosen.heads = chosen.heads or heads
    if chosen.width % (2 * chosen.heads):
        raise ValueError(f"--heads {chosen.heads}: each needs an even width, --width {chosen.width} over --heads")


def length(chosen):
    if chosen.tokens_per_weight:
        chosen.tokens = round(chosen.tokens_per_weight * chosen.weights)
    step = chosen.batch * chosen.context
    chosen.steps = chosen.tokens // step
    least = 2 * folder.TURNS
    if chosen.steps < least:
        raise ValueError(f"--tokens {chosen.tokens} are {chosen.steps} steps of {step}; at least {least} are needed")
    if chosen.held < text.STRETCHES * chosen.context:
        least = text.STRETCHES * chosen.context
        raise ValueError(
            f"--held {chosen.held} is less than {text.STRETCHES} windows of --context {chosen.context}: "
            f"{least} is the least"
        )


def recipes(chosen):
    """Returns the recipes by name, the base first, after trying each on a model without memory."""
    out = {}
    for word in dict.fromkeys([folder.BASE, *chosen.recipe.split(",")]):
        recipe = ufp4.recipe(word)
        if recipe.name in out:
            raise ValueError(f"--recipe: two are called {recipe.name}")
        with torch.device("meta"):
            made = model.GPT(256, chosen.context, chosen.width, chosen.heads, chosen.blocks)
        ufp4.torch.convert(made, recipe, skip="head", blocks=made.blocks)
        points, tokens = recipe.to_dict().get("rht_size", 16), chosen.batch * chosen.context
        if points > 16 and tokens % points:
            raise ValueError(
                f"recipe {recipe.name} transforms {points} points along {tokens} tokens, --batch times --context, "
                "which must be a multiple"
            )
        out[recipe.name] = recipe
    return out


def complete(chosen):
    """Derives settings from the options."""
    chosen.command = shlex.join(["pretrain.py", *sys.argv[1:]])
    shape(chosen)
    chosen.weights = model.weights_of(chosen.width, chosen.blocks)
    length(chosen)
    chosen.kinds = [kind for kind in folder.KINDS if getattr(chosen, kind)] or list(folder.KINDS)
    chosen.all_seeds = range(chosen.seed, chosen.seed + chosen.seeds)
    chosen.lr = chosen.lr or [model.rate_of(chosen.weights)]
    chosen.recipes = recipes(chosen)
    try:
        torch.empty(1, device=chosen.device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {chosen.device}: {str(error).splitlines()[0]}") from None


def of_each_rate(chosen):
    """Yields the settings of each rate; several rates have a folder each."""
    several = len(chosen.lr) > 1
    if (chosen.o / "runs").exists() if several else any(chosen.o.glob("lr-*")):
        there, wanted = ("one rate", "several") if several else ("several rates", "one")
        raise ValueError(f"{chosen.o}: the runs there are those of {there}; those of {wanted} need another DIR")
    for rate in chosen.lr:
        folder_ = chosen.o / f"lr-{rate:g}" if several else chosen.o
        yield argparse.Namespace(**vars(chosen) | {"o": folder_, "lr": rate})


def say(chosen, read):
    """Prints how long a run is, next to the model and the text."""
    size, tokens, have = chosen.weights, chosen.steps * chosen.batch * chosen.context, len(read.tokens)
    print(
        f"% {size} weights in blocks; a run has {chosen.steps} steps, {tokens} tokens, {tokens / size:.3g} a weight, "
        f"at rate {', '.join(f'{rate:g}' for rate in chosen.lr)}"
    )
    if tokens > have:
        print(f"% the text has {have} tokens to train on: a run sees each {tokens / have:.1f} times in the mean")


def draw(chosen, jobs):
    try:
        from ufp4 import report

        for job in jobs:
            report.draw(job.chosen.o)
    except ImportError as error:
        print(
            f"pretrain.py: {error}; pip install 'ufp4[report]', then python -m ufp4.report "
            f"{' '.join(str(job.chosen.o) for job in jobs)} draws the page",
            file=sys.stderr,
        )


def write_sweep(chosen, found):
    def write(path):
        with open(path, "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(("kind", "recipe", "lr", "seed", "held_loss"))
            for (kind, recipe), by_rate in found.items():
                for rate, held in by_rate.items():
                    out.writerows((kind, recipe, rate, *pair) for pair in zip(chosen.all_seeds, held))

    folder.replace(chosen.o / "sweep.csv", write)
    print(runs.sweep_text(found))


def main():
    parser = options()
    chosen = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # which checks for uninitialized memory, and costs time
    torch.set_float32_matmul_precision(
        "medium"
    )  # the recipe bf16 by faster GEMMs, also for the head: BF16 operands, FP32 sums
    try:
        complete(chosen)
        data = text.read(chosen.text)
        each = list(of_each_rate(chosen))
        locks = [folder.claim(one, data) for one in each]
        read = text.Text(data, chosen)
        jobs = [runs.Job(one, read) for one in each]
    except (OSError, ValueError, ImportError) as error:
        parser.error(str(error))
    say(chosen, read)
    runs.train(jobs)
    if len(jobs) > 1:
        write_sweep(chosen, runs.sweep(jobs))
    for lock in locks:
        lock.close()
    draw(chosen, jobs)


if __name__ == "__main__":
    main()
