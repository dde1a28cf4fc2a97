# SPDX-License-Identifier: Apache-2.0
"""The model, which is that of `ufp4 train`, with its sizes and learning rates."""

import math

import torch
from torch import nn

SIZES = {
    "0.5M": (144, 3, 2, 3e-3),
    "10M": (384, 6, 6, 1e-3),
    "30M": (512, 8, 10, 8e-4),
    "124M": (832, 13, 15, 6e-4),
}  # width, heads, blocks, rate
HEAD = 64  # the preferred width of a head
ATTENTION = {"fp32": torch.float32, "bf16": torch.bfloat16}


def inner_of(width):
    """Returns the width of the feed-forward part."""
    return -(-8 * width // 3 // 16) * 16


def weights_of(width, blocks):
    """Counts the weights of the blocks, without embedding, head and norms."""
    return blocks * (4 * width * width + 3 * width * inner_of(width))


def heads_of(width):
    """Returns the number of heads whose even width is nearest to 64."""
    fitting = [heads for heads in range(1, width // 2 + 1) if width % (2 * heads) == 0]
    return min(fitting, key=lambda heads: abs(width // heads - HEAD), default=1)


def rate_of(weights):
    """The highest rate for so many weights: on a line through the sizes' rates, both in logarithms, to two digits.

    Those from 10M on are within a tenth of 0.003239 - 0.0001395 ln(weights), a rule that was fitted up to 1.5 billion
    weights (Kaplan et al., arXiv 2001.08361, D.6). That of 0.5M is twice the rule's: it is the rate of `ufp4 train`,
    whose trainings are as short.
    """
    points = [(math.log(weights_of(width, blocks)), math.log(rate)) for width, _, blocks, rate in SIZES.values()]
    at = min(max(math.log(weights), points[0][0]), points[-1][0])
    (x0, y0), (x1, y1) = next(pair for pair in zip(points, points[1:]) if at <= pair[1][0])
    return float(f"{math.exp(y0 + (y1 - y0) * (at - x0) / (x1 - x0)):.1e}")


class Block(nn.Module):
    def __init__(self, width, heads, attention):
        super().__init__()
        self.heads, self.attention, inner = heads, ATTENTION[attention], inner_of(width)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.fc1, self.fc2 = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x, turn):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        q, k, v = (part.to(self.attention) for part in (turn(q), turn(k), v))
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).to(x.dtype)
        x = x + self.proj(attended.transpose(1, 2).flatten(2))
        gate, value = self.fc1(self.norm2(x)).chunk(2, dim=-1)
        return x + self.fc2(nn.functional.silu(gate) * value)


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, heads, blocks, attention="fp32"):
        super().__init__()
        self.embedding, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
        self.blocks = nn.ModuleList(Block(width, heads, attention) for _ in range(blocks))
        self.norm = nn.RMSNorm(width)
        half = width // heads // 2
        angles = torch.outer(torch.arange(context), 10000 ** (-torch.arange(half) / half))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                nn.init.normal_(
                    weight, std=0.02 / math.sqrt(2 * blocks) if name.endswith(("proj.weight", "fc2.weight")) else 0.02
                )

    def forward(self, tokens):
        def turn(x):  # rotary positions
            a, b = x.chunk(2, dim=-1)
            return torch.cat((a * self.cos - b * self.sin, a * self.sin + b * self.cos), dim=-1)

        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, turn)
        return self.head(self.norm(x))
