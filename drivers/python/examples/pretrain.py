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
parts), train.json and report.html, and runs/ with checkpoints of 12 bytes a weight for each run. OMP_NUM_THREADS limits
the threads.
"""

import argparse
import csv
import fcntl
import gzip
import hashlib
import itertools
import json
import math
import os
import pathlib
import platform
import re
import shlex
import sys
import time
import urllib.parse

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else cuBLAS is not deterministic

import torch
from torch import nn

import ufp4
import ufp4.torch

SIZES = {
    "0.5M": (144, 3, 2, 3e-3),
    "10M": (384, 6, 6, 1e-3),
    "30M": (512, 8, 10, 8e-4),
    "124M": (832, 13, 15, 6e-4),
}  # width, heads, blocks, rate
BASE, KINDS = "bf16", ("branched", "whole")
TURNS, BRANCH = 12, 8  # turns of a run, and those before the branch
CHUNK, PERIOD, STRETCHES = 65536, 40, 32  # of text: every 40th chunk is held out; parts of the held-out text
COLUMNS = ["step", "tokens", "seed", "recipe", "train_loss", "held_loss"]
FILES = {"whole": "losses.csv", "branched": "branched.csv"}


# --- The model: that of `ufp4 train` -----------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.fc1, self.fc2 = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x, turn):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        attended = nn.functional.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
        x = x + self.proj(attended.transpose(1, 2).flatten(2))
        gate, value = self.fc1(self.norm2(x)).chunk(2, dim=-1)
        return x + self.fc2(nn.functional.silu(gate) * value)


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, heads, blocks):
        super().__init__()
        inner = -(-8 * width // 3 // 16) * 16
        self.embedding, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
        self.blocks = nn.ModuleList(Block(width, heads, inner) for _ in range(blocks))
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


# --- The text -------------------------------------------------------------------------------------------------


def read(path):
    """The text as bytes, runs of white space as one space."""
    with gzip.open(path) if path.suffix in (".gz", ".dz") else open(path, "rb") as file:
        data = file.read()
    if b"\0" in data[:CHUNK]:
        raise ValueError(f"{path} has zero bytes, as UTF-16 has: no text by bytes; iconv -t utf-8 makes one")
    return re.sub(rb"\s+", b" ", data)


def encoder(chosen, chunks):
    """Chunks to tokens: bytes, or a BPE that was trained on them and is kept."""
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
    """Tokens to train on, and the windows that are held out, the same for all runs."""

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
        """Drawn by seed and step alone."""
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
    """The mean of each stretch of the held-out text."""
    model.eval()
    losses = [
        loss_of(model, part, chosen, "none").unflatten(0, (len(part), -1)).mean(1)
        for part in text.held.split(chosen.batch)
    ]
    model.train()
    return torch.cat(losses).unflatten(0, (STRETCHES, -1)).double().mean(1).tolist()


# --- Files ----------------------------------------------------------------------------------------------------


def replace(path, write):
    """As a whole or not at all, whenever this is killed."""
    fresh = path.with_name(path.name + ".new")
    write(fresh)
    os.replace(fresh, path)


class Rows:
    """A CSV that grows; of what a run wrote after its last checkpoint nothing stays."""

    def __init__(self, path, columns, kept):
        lines = []
        if path.exists():
            with open(path, newline="") as file:
                lines = [row for row in csv.DictReader(file) if None not in row.values() and kept(row)]
        self.path, self.columns, self.rows = path, columns, lines
        replace(path, self._begin)
        self.file = open(path, "a", newline="")

    def _begin(self, path):
        with open(path, "w", newline="") as file:
            out = csv.DictWriter(file, self.columns, lineterminator="\n")
            out.writeheader()
            out.writerows(self.rows)

    def add(self, **row):
        csv.DictWriter(self.file, self.columns, lineterminator="\n").writerow(row)
        self.file.flush()


class Job:
    """What all runs share: settings, text, files."""

    def __init__(self, chosen, text):
        self.chosen, self.text, self.folder = chosen, text, chosen.o / "runs"
        self.ends = [chosen.steps * turn // TURNS for turn in range(1, TURNS + 1)]
        self.branch = self.ends[BRANCH - 1]
        self.done = {
            self.name(path): torch.load(path, map_location="cpu", mmap=True)["step"]
            for path in self.folder.glob("*.pt")
        }
        self.rows = {
            kind: Rows(chosen.o / FILES[kind], COLUMNS, lambda row, kind=kind: self._kept(kind, row)) for kind in KINDS
        }
        columns = ["kind", "recipe", "seed", "step", *(f"loss{i}" for i in range(STRETCHES))]
        self.parts = Rows(chosen.o / "held.csv", columns, lambda row: self._kept(row["kind"], row))
        self.held = {}  # by run and step: the losses of the stretches
        for row in self.parts.rows:
            self.held.setdefault((row["kind"], row["recipe"], int(row["seed"])), {})[int(row["step"])] = [
                float(row[name]) for name in columns[4:]
            ]

    def _kept(self, kind, row):
        return int(row["step"]) < self.done.get((kind, row["recipe"], int(row["seed"])), 0)

    def path(self, run):
        kind, recipe, seed = run
        return self.folder / f"{kind},{urllib.parse.quote(recipe, safe='')},{seed}.pt"

    @staticmethod
    def name(path):
        kind, recipe, seed = path.stem.split(",")
        return kind, urllib.parse.unquote(recipe), int(seed)

    # --- A run ---

    def _state(self, run):
        """The last checkpoint of a run; that of its base where it branches; or nothing."""
        for path in (self.path(run), self.path(("branch", BASE, run[2])) if run[0] == "branched" else None):
            if path and path.exists():
                return torch.load(path, map_location=self.chosen.device)
        return None

    def _begin(self, run):
        """Model, optimizer and the next step."""
        _, recipe, seed = run
        chosen, state = self.chosen, self._state(run)
        torch.manual_seed(seed)
        model = GPT(chosen.bpe or 256, chosen.context, *SIZES[chosen.size][:3])
        model = ufp4.torch.convert(model, recipe, skip="head", seed=seed, blocks=model.blocks).to(chosen.device)
        groups = [
            {"params": [p for p in model.parameters() if (p.dim() > 1) == matrix], "weight_decay": 0.1 * matrix}
            for matrix in (True, False)
        ]
        optimizer = torch.optim.AdamW(groups, lr=chosen.lr, betas=(0.9, 0.95), fused=True)
        if state:
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
        return model, optimizer, state["step"] if state else 0

    def _watch(self, run, model):
        """What records the run's rounding, or None."""
        if not self.chosen.watch or not self.chosen.quantized[run[1]]:
            return None
        path = self.chosen.o / "rounding" / f"{self.path(run).stem}.jsonl"
        path.parent.mkdir(exist_ok=True)
        return ufp4.torch.Watch(model, self.chosen.watch, path)

    def _save(self, run, model, optimizer, step):
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        replace(self.path(run), lambda path: torch.save(state, path))
        self.done[run] = step

    def _rate(self, step):
        steps = self.chosen.steps
        warm = max(1, steps // 10)
        return self.chosen.lr * (
            (step + 1) / warm if step < warm else 0.5 + 0.5 * math.cos(math.pi * (step - warm) / (steps - warm))
        )

    def _step(self, run, model, optimizer, step):
        """The loss, and of a turn's last step that of each stretch of the held-out text."""
        loss = loss_of(model, self.text.batch(run[2], step, self.chosen.batch), self.chosen)
        for group in optimizer.param_groups:
            group["lr"] = self._rate(step)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item(), held_losses(model, self.text, self.chosen) if step + 1 in self.ends else None

    def advance(self, run, end):
        """Trains until a step, from the run's last checkpoint."""
        kind, recipe, seed = run
        if self.done.get(run, 0) >= end:
            return
        chosen, (model, optimizer, first) = self.chosen, self._begin(run)
        watch = self._watch(run, model)
        begun = saved = time.monotonic()
        for step in range(first, end):
            loss, held = self._step(run, model, optimizer, step)
            mean = sum(held) / STRETCHES if held else ""
            self.rows[kind].add(
                step=step,
                tokens=(step + 1) * chosen.batch * chosen.context,
                seed=seed,
                recipe=recipe,
                train_loss=loss,
                held_loss=mean,
            )
            if held:
                self.parts.add(
                    kind=kind, recipe=recipe, seed=seed, step=step, **{f"loss{i}": part for i, part in enumerate(held)}
                )
                self.held.setdefault(run, {})[step] = held
            if step + 1 == end or time.monotonic() - saved > chosen.save:
                if kind == "whole" and recipe == BASE and step + 1 == self.branch:
                    self._save(("branch", BASE, seed), model, optimizer, step + 1)
                self._save(run, model, optimizer, step + 1)
                saved = time.monotonic()
        if watch:
            watch.close()
        speed = (end - first) * chosen.batch * chosen.context / (time.monotonic() - begun)
        print(f"  {kind:8} {recipe:12} {seed:4} {end:6} {mean:9.5f} {speed:8.0f}", flush=True)

    # --- All of them ---

    def runs(self, end):
        """Those that advance in the turn until this step: the base first, from which others branch."""
        chosen = self.chosen
        for seed in chosen.all_seeds:
            yield "whole", BASE, seed
            for kind, recipe in itertools.product(chosen.kinds, chosen.recipe):
                if recipe != BASE and (kind == "whole" or end > self.branch):
                    yield kind, recipe, seed

    def train(self):
        print("% kind recipe seed steps held_loss tokens_per_second")
        for end in self.ends:
            for run in self.runs(end):
                self.advance(run, end)
            self.write()

    def _measured(self, kind):
        """What the page has of a kind: the losses at the last step that all runs have."""
        runs = {
            recipe: [("whole" if recipe == BASE else kind, recipe, seed) for seed in self.chosen.all_seeds]
            for recipe in self.chosen.recipe
        }
        common = set.intersection(*(set(self.held.get(run, ())) for run in sum(runs.values(), [])))
        if not common:
            return None
        last = max(common)
        parts = {recipe: [self.held[run][last] for run in those] for recipe, those in runs.items()}
        return {
            "first_step": self.branch if kind == "branched" else 0,
            "last_step": last,
            "recipes": [
                {
                    "recipe": recipe,
                    "seeds": len(held),
                    "held_losses": [sum(one) / STRETCHES for one in held],
                    "stretches": held,
                    "tokens_per_second": None,
                    "cycles_per_step": None,
                }
                for recipe, held in parts.items()
            ],
        }

    def write(self):
        """train.json, from which ufp4.report draws the page."""
        chosen = self.chosen
        width, heads, blocks, _ = SIZES[chosen.size]
        settings = {
            "version": ufp4.__version__,
            "d_model": width,
            "heads": heads,
            "layers": blocks,
            "ff": -(-8 * width // 3 // 16) * 16,
            "context": chosen.context,
            "batch": chosen.batch,
            "steps": chosen.steps,
            "lr": chosen.lr,
            "seeds": chosen.seeds,
            "seed": chosen.seed,
            "unit": "token" if chosen.bpe else "byte",
        }
        machine = (
            f"PyTorch {torch.__version__}, {chosen.device}, {torch.get_num_threads()} threads, {platform.machine()}"
        )
        document = {
            "program": "pretrain.py",
            "command": chosen.command,
            "text": str(chosen.text),
            "settings": settings,
            "backend": "torch",
            "workers": 1,
            "machine": machine,
            "base": BASE,
            "held_tokens": self.text.held.numel() - len(self.text.held),
            "variants": [
                {"recipe": recipe, "quantized": chosen.quantized[recipe], "perturbation": 0, "paper_loss": None}
                for recipe in chosen.recipe
            ],
        }
        found = {kind: self._measured(kind) for kind in chosen.kinds}
        document.update(found.get("whole") or {})
        if found.get("branched"):
            document["branched"] = found["branched"]
        replace(chosen.o / "train.json", lambda path: path.write_text(json.dumps(document)))


# --- The command ----------------------------------------------------------------------------------------------


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def seed(text):
    value = int(text)
    if not 0 <= value < 2**31:
        raise ValueError(text)
    return value


def rate(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError(text)
    return value


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "text",
        nargs="?",
        type=pathlib.Path,
        default=pathlib.Path("/usr/share/dictd/gcide.dict.dz"),
        help="any file, or a .gz or .dz (default: Debian's dict-gcide)",
    )
    parser.add_argument("-o", type=pathlib.Path, required=True, metavar="DIR", help="where everything goes")
    parser.add_argument("--size", choices=SIZES, default="10M", help="weights of the blocks (default: 10M)")
    parser.add_argument("--tokens", type=positive, default=2_000_000, help="that a run sees (default: 2000000)")
    parser.add_argument(
        "--recipe",
        default="bf16,ufp4,e2m1",
        metavar="LIST",
        help="by commas (default: bf16,ufp4,e2m1; bf16 is always trained)",
    )
    parser.add_argument("--seeds", type=positive, default=2, help="how many (default: 2)")
    parser.add_argument("--seed", type=seed, default=1, help="the first one (default: 1)")
    parser.add_argument("--branched", action="store_true", help="branched runs only")
    parser.add_argument("--whole", action="store_true", help="whole runs only")
    parser.add_argument(
        "--bpe",
        type=positive,
        default=0,
        metavar="N",
        help="N tokens by a BPE that is trained on the text (package tokenizers), in place of bytes",
    )
    parser.add_argument("--context", type=positive, default=256, help="tokens of a window (default: 256)")
    parser.add_argument("--batch", type=positive, default=8, help="windows of a step (default: 8)")
    parser.add_argument("--lr", type=rate, help="the highest rate, above 0 (default: by size)")
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
    chosen = parser.parse_args()
    chosen.command = shlex.join(["pretrain.py", *sys.argv[1:]])
    chosen.recipe = list(dict.fromkeys([BASE, *chosen.recipe.split(",")]))
    chosen.kinds = [kind for kind in KINDS if getattr(chosen, kind)] or list(KINDS)
    chosen.all_seeds = range(chosen.seed, chosen.seed + chosen.seeds)
    chosen.steps = chosen.tokens // (chosen.batch * chosen.context)
    chosen.lr = chosen.lr or SIZES[chosen.size][3]
    try:
        chosen.quantized = {recipe: ufp4.recipe(recipe).quantized for recipe in chosen.recipe}
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if chosen.held < STRETCHES * chosen.context:
        least = STRETCHES * chosen.context
        parser.error(
            f"--held {chosen.held} is less than {STRETCHES} windows of --context {chosen.context}: {least} is the least"
        )
    try:
        torch.empty(1, device=chosen.device)
    except (RuntimeError, AssertionError) as error:
        parser.error(f"--device {chosen.device}: {str(error).splitlines()[0]}")
    if chosen.steps < 2 * TURNS:
        parser.error(
            f"--tokens {chosen.tokens} are {chosen.steps} steps of {chosen.batch * chosen.context}; "
            f"at least {2 * TURNS} are needed"
        )
    return parser, chosen


def claim(parser, chosen, data):
    """DIR for this process alone, and for runs of these settings alone."""
    (chosen.o / "runs").mkdir(parents=True, exist_ok=True)
    lock = open(chosen.o / "runs" / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        parser.error(f"{chosen.o}: another process trains there")
    settings = {name: getattr(chosen, name) for name in ("size", "steps", "bpe", "context", "batch", "lr", "held")}
    settings["text"] = hashlib.sha256(data).hexdigest()
    path = chosen.o / "runs" / "settings.json"
    if path.exists():
        before = json.loads(path.read_text())
        other = [name for name in settings if settings[name] != before[name]]
        if other:
            parser.error(f"{chosen.o}: the runs there have another {', '.join(other)}")
        if not chosen.resume:
            parser.error(f"{chosen.o}: there are runs; --resume goes on with them")
    replace(path, lambda fresh: fresh.write_text(json.dumps(settings)))
    return lock


def main():
    parser, chosen = arguments()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # which checks, and costs time
    torch.set_float32_matmul_precision(
        "medium"
    )  # operands in BF16, sums in FP32: what the recipe bf16 is, faster; the head too
    try:
        data = read(chosen.text)
        lock = claim(parser, chosen, data)
        job = Job(chosen, Text(data, chosen))
    except (OSError, ValueError, ImportError) as error:
        parser.error(str(error))
    job.train()
    lock.close()
    try:
        from ufp4 import report

        report.draw(chosen.o)
    except ImportError as error:
        print(
            f"pretrain.py: {error}; pip install 'ufp4[report]', then python -m ufp4.report {chosen.o} draws the page",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
