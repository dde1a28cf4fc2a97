#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small language model of PyTorch on a text in FP32, E2M1 and ufp4, and draws the losses.

usage: language_model.py [TEXT] [--steps 150] [-o losses.svg]
TEXT: any file, or a .gz or .dz; by default that of Debian's dict-gcide. Well under a minute on one core.
"""

import argparse
import gzip
import pathlib

import torch
from torch import nn

import ufp4.torch

WIDTH, HEADS, BLOCKS, CONTEXT, BATCH = 64, 4, 2, 64, 8
RECIPES = {"fp32": "#222222", "e2m1": "#d95f02", "ufp4": "#1b9e77"}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        heads = [part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)]
        attended = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.proj(attended.transpose(1, 2).flatten(2))
        return x + self.fc2(nn.functional.gelu(self.fc1(self.norm2(x))))


class Model(nn.Module):
    """A Transformer that predicts the next byte."""

    def __init__(self):
        super().__init__()
        self.bytes, self.places = nn.Embedding(256, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256)

    def forward(self, text):
        x = self.bytes(text) + self.places(torch.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def read(path):
    opened = gzip.open(path) if path.suffix in (".gz", ".dz") else open(path, "rb")
    with opened as file:
        return torch.frombuffer(bytearray(file.read(1 << 20)), dtype=torch.uint8).long()


def train(text, recipe, steps):
    """Returns the loss of every step, from the same weights and the same text for every recipe."""
    torch.manual_seed(1)
    model = Model()
    if recipe != "fp32":
        ufp4.torch.convert(model, recipe, skip="head")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(steps):
        starts = torch.randint(len(text) - CONTEXT - 1, (BATCH,))
        batch = torch.stack([text[start : start + CONTEXT + 1] for start in starts])
        loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def smooth(losses, factor=0.9):
    out, value = [], losses[0]
    for loss in losses:
        value = factor * value + (1 - factor) * loss
        out.append(value)
    return out


def draw(curves, path):
    """Draws the losses as SVG."""
    high, low = max(map(max, curves.values())), min(map(min, curves.values()))
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 400" font-family="sans-serif" font-size="13">',
        '<rect width="640" height="400" fill="white"/><path d="M60 20V350H620" fill="none" stroke="#888"/>',
        f'<text x="8" y="30">{high:.2f}</text><text x="8" y="350">{low:.2f}</text>',
        (
            f'<text x="340" y="385" text-anchor="middle">steps, 1 to {len(next(iter(curves.values())))}; loss, '
            "smoothed</text>"
        ),
    ]
    for row, (name, losses) in enumerate(curves.items()):
        points = " ".join(
            f"{60 + 560 * i / max(1, len(losses) - 1):.1f},{350 - 330 * (loss - low) / (high - low or 1):.1f}"
            for i, loss in enumerate(losses)
        )
        out.append(f'<polyline points="{points}" fill="none" stroke="{RECIPES[name]}" stroke-width="1.5"/>')
        out.append(f'<text x="540" y="{40 + 18 * row}" fill="{RECIPES[name]}">{name} {losses[-1]:.3f}</text>')
    pathlib.Path(path).write_text("\n".join(out + ["</svg>", ""]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", type=pathlib.Path, default=pathlib.Path("/usr/share/dictd/gcide.dict.dz"))
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("-o", default="losses.svg")
    chosen = parser.parse_args()
    try:
        text = read(chosen.text)
    except OSError as error:
        parser.error(f"{error}; name a text")
    if len(text) < CONTEXT + 2 or chosen.steps < 1:
        parser.error(
            f"{chosen.text} has {len(text)} bytes, and {chosen.steps} steps; at least {CONTEXT + 2} and 1 are needed"
        )
    torch.set_num_threads(1)  # at this size several only wait for each other
    curves = {recipe: smooth(train(text, recipe, chosen.steps)) for recipe in RECIPES}
    print("% recipe loss")
    for recipe, losses in curves.items():
        print(f"  {recipe} {losses[-1]:.3f}")
    draw(curves, chosen.o)


if __name__ == "__main__":
    main()
