# SPDX-License-Identifier: Apache-2.0
"""The text: training tokens, held-out tokens, and the loss on them."""

import gzip
import os
import re

import torch
from torch import nn

CHUNK, PERIOD, STRETCHES = 65536, 40, 32  # of text: every 40th chunk is held out; parts of the held-out text


def read(path):
    """Returns the text as bytes, with each run of white space replaced by one space."""
    with gzip.open(path) if path.suffix in (".gz", ".dz") else open(path, "rb") as file:
        data = file.read()
    if b"\0" in data[:CHUNK]:
        raise ValueError(f"{path} has zero bytes, as UTF-16 has: no text by bytes; iconv -t utf-8 makes one")
    return re.sub(rb"\s+", b" ", data)


def encoder(chosen, chunks):
    """Converts chunks to tokens: bytes, or a BPE that was trained on them and is kept."""
    if not chosen.bpe:
        return lambda chunk: torch.frombuffer(bytearray(chunk), dtype=torch.uint8)
    from tokenizers import ByteLevelBPETokenizer, Tokenizer

    path = chosen.o / "tokenizer.json"
    if not path.exists():
        made = ByteLevelBPETokenizer()
        made.train_from_iterator(
            (chunk.decode(errors="replace") for chunk in chunks), vocab_size=chosen.bpe, show_progress=False
        )
        made.save(str(path) + ".new")
        os.replace(str(path) + ".new", path)
    kept = Tokenizer.from_file(str(path))
    return lambda chunk: torch.tensor(kept.encode(chunk.decode(errors="replace")).ids, dtype=torch.int32)


class Text:
    """Training tokens, and the held-out windows, which are the same for all runs."""

    def __init__(self, data, chosen):
        size = min(CHUNK, len(data) // PERIOD)
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        held = chunks[PERIOD - 1 :: PERIOD]
        del chunks[PERIOD - 1 :: PERIOD]
        encode, window = encoder(chosen, chunks), chosen.context + 1
        self.tokens, rest = (torch.cat([encode(chunk) for chunk in part]) for part in (chunks, held))
        count = min(chosen.held // chosen.context, len(rest) // window) // STRETCHES * STRETCHES
        if not count or len(self.tokens) <= window:
            raise ValueError(
                f"the text has {len(self.tokens)} tokens and {len(rest)} held out, "
                f"too few of them for windows of {window}"
            )
        places = torch.arange(count) * (len(rest) - window) // max(1, count - 1)
        self.held = rest[places[:, None] + torch.arange(window)]
        self.window = torch.arange(window)

    def batch(self, seed, step, size):
        """Draws a batch that depends only on seed and step."""
        draw = torch.Generator().manual_seed(seed << 32 | step)
        return self.tokens[
            torch.randint(len(self.tokens) - len(self.window) + 1, (size, 1), generator=draw) + self.window
        ]


def loss_of(model, windows, chosen, reduction="mean"):
    windows = windows.to(chosen.device, torch.int64)
    return nn.functional.cross_entropy(
        model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten(), reduction=reduction
    )


@torch.no_grad()
def held_losses(model, text, chosen):
    """Returns the mean loss of each stretch of the held-out text."""
    model.eval()
    losses = [
        loss_of(model, part, chosen, "none").unflatten(0, (len(part), -1)).mean(1)
        for part in text.held.split(chosen.batch)
    ]
    model.train()
    return torch.cat(losses).unflatten(0, (STRETCHES, -1)).double().mean(1).tolist()
