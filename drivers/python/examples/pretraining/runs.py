# SPDX-License-Identifier: Apache-2.0
"""The runs of a training, which advance in turns, and the data of its page."""

import itertools
import json
import math
import platform
import time

import torch
from torch import nn

import ufp4
import ufp4.torch

from . import folder
from .folder import BASE, KINDS, TURNS
from .model import GPT, inner_of
from .text import STRETCHES, held_losses, loss_of

COLUMNS = ["step", "tokens", "seed", "recipe", "train_loss", "held_loss"]
WARM = 100  # steps of warm-up to a constant rate, the same for every length


def rate(plan, highest, step):
    """Returns the rate: a tenth of the steps of warm-up, then a cosine; or with a cooldown warm-up, constant, and 1 -
    sqrt decay."""
    if plan.constant is None:
        warm = max(1, plan.steps // 10)
        up, down = (step + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * (step - warm) / (plan.steps - warm))
        return highest * (up if step < warm else down)
    past = max(0, step - plan.constant) / (plan.steps - plan.constant)
    return highest * min(1, (step + 1) / WARM) * (1 - math.sqrt(past))


class Job:
    """What all runs of a folder share: settings, text, files."""

    def __init__(self, chosen, text):
        self.chosen, self.text, self.folder = chosen, text, chosen.o / "runs"
        self.plan = folder.Plan(chosen.steps, chosen.cooldown)
        self.done = folder.done(self.folder, self.plan)
        self.rows = {
            kind: folder.Rows(chosen.o / folder.FILES[kind], COLUMNS, lambda row, kind=kind: self._kept(kind, row))
            for kind in KINDS
        }
        columns = ["kind", "recipe", "seed", "step", *(f"loss{i}" for i in range(STRETCHES))]
        self.parts = folder.Rows(chosen.o / "held.csv", columns, lambda row: self._kept(row["kind"], row))
        self.held = {}  # by run and step: the losses of the stretches
        for row in self.parts.rows:
            self.held.setdefault((row["kind"], row["recipe"], int(row["seed"])), {})[int(row["step"])] = [
                float(row[name]) for name in columns[4:]
            ]

    def _kept(self, kind, row):
        return int(row["step"]) < self.done.get((kind, row["recipe"], int(row["seed"])), 0)

    # --- A run ---

    def _state(self, run):
        """Returns the last checkpoint of a run, or that of its base at the branch, or None."""
        for one in (run, ("branch", BASE, run[2]) if run[0] == "branched" else None):
            if one in self.done:
                return torch.load(folder.path_of(self.folder, one), map_location=self.chosen.device)
        return None

    def _begin(self, run):
        """Returns model, optimizer and the next step."""
        _, recipe, seed = run
        chosen, state = self.chosen, self._state(run)
        torch.manual_seed(seed)
        model = GPT(chosen.bpe or 256, chosen.context, chosen.width, chosen.heads, chosen.blocks, chosen.attention)
        model = ufp4.torch.convert(model, chosen.recipes[recipe], skip="head", seed=seed, blocks=model.blocks)
        model = model.to(chosen.device)
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
        """Returns the recorder of the run's rounding, or None."""
        if not self.chosen.watch or not self.chosen.recipes[run[1]].quantized:
            return None
        path = self.chosen.o / "rounding" / f"{folder.path_of(self.folder, run).stem}.jsonl"
        path.parent.mkdir(exist_ok=True)
        return ufp4.torch.Watch(model, self.chosen.watch, path)

    def _save(self, run, model, optimizer, step):
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        folder.replace(folder.path_of(self.folder, run), lambda path: torch.save(state, path))
        self.done[run] = step

    def _step(self, run, model, optimizer, step):
        """Runs a step. Returns the loss, and at the end of a turn that of each stretch of the held-out text."""
        loss = loss_of(model, self.text.batch(run[2], step, self.chosen.batch), self.chosen)
        for group in optimizer.param_groups:
            group["lr"] = rate(self.plan, self.chosen.lr, step)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item(), held_losses(model, self.text, self.chosen) if step + 1 in self.plan.ends else None

    def _record(self, run, step, loss, held):
        kind, recipe, seed = run
        mean = sum(held) / STRETCHES if held else ""
        tokens = (step + 1) * self.chosen.batch * self.chosen.context
        self.rows[kind].add(step=step, tokens=tokens, seed=seed, recipe=recipe, train_loss=loss, held_loss=mean)
        if held:
            losses = {f"loss{i}": part for i, part in enumerate(held)}
            self.parts.add(kind=kind, recipe=recipe, seed=seed, step=step, **losses)
            self.held.setdefault(run, {})[step] = held

    def advance(self, run, end):
        """Trains until a step, from the run's last checkpoint."""
        kind, recipe, seed = run
        if self.done.get(run, 0) >= end:
            return
        chosen, marks, (model, optimizer, first) = self.chosen, self.plan.marks(run), self._begin(run)
        watch = self._watch(run, model)
        begun = saved = time.monotonic()
        for step in range(first, end):
            loss, held = self._step(run, model, optimizer, step)
            self._record(run, step, loss, held)
            for mark in (mark for mark, at in marks.items() if at == step + 1):
                self._save((mark, recipe, seed), model, optimizer, step + 1)
            if step + 1 == end or time.monotonic() - saved > chosen.save:
                self._save(run, model, optimizer, step + 1)
                saved = time.monotonic()
        if watch:
            watch.close()
        speed = (end - first) * chosen.batch * chosen.context / (time.monotonic() - begun)
        print(f"  {kind:8} {recipe:12} {seed:4} {end:6} {sum(held) / STRETCHES:9.5f} {speed:8.0f}", flush=True)

    # --- All of them ---

    def runs(self, end):
        """Yields the runs that advance in the turn until this step: the base first, because others branch from it."""
        chosen = self.chosen
        for seed in chosen.all_seeds:
            yield "whole", BASE, seed
            for kind, recipe in itertools.product(chosen.kinds, chosen.recipes):
                if recipe != BASE and (kind == "whole" or end > self.plan.branch):
                    yield kind, recipe, seed

    def turn(self, number):
        """Trains a twelfth of all runs."""
        end = self.plan.ends[number]
        for run in self.runs(end):
            self.advance(run, end)
        self.write()

    def of_recipe(self, kind, recipe):
        """Returns the runs of a recipe; the base's are always whole."""
        return [("whole" if recipe == BASE else kind, recipe, seed) for seed in self.chosen.all_seeds]

    def _measured(self, kind):
        """Returns the page's data of a kind: the losses at the last step that all runs have."""
        runs = {recipe: self.of_recipe(kind, recipe) for recipe in self.chosen.recipes}
        common = set.intersection(*(set(self.held.get(run, ())) for run in sum(runs.values(), [])))
        if not common:
            return None
        last = max(common)
        parts = {recipe: [self.held[run][last] for run in those] for recipe, those in runs.items()}
        return {
            "first_step": self.plan.branch if kind == "branched" else 0,
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

    def _settings(self):
        chosen = self.chosen
        return {
            "version": ufp4.__version__,
            "d_model": chosen.width,
            "heads": chosen.heads,
            "layers": chosen.blocks,
            "ff": inner_of(chosen.width),
            "context": chosen.context,
            "batch": chosen.batch,
            "steps": chosen.steps,
            "lr": chosen.lr,
            "seeds": chosen.seeds,
            "seed": chosen.seed,
            "unit": "token" if chosen.bpe else "byte",
            "cooldown_percent": chosen.cooldown,
            "attention": chosen.attention,
            "text_tokens": len(self.text.tokens),
        }

    def write(self):
        """Writes train.json, from which ufp4.report draws the page."""
        chosen = self.chosen
        machine = (
            f"PyTorch {torch.__version__}, {chosen.device}, {torch.get_num_threads()} threads, {platform.machine()}"
        )
        document = {
            "program": "pretrain.py",
            "command": chosen.command,
            "text": str(chosen.text),
            "settings": self._settings(),
            "backend": "torch",
            "workers": 1,
            "machine": machine,
            "base": BASE,
            "held_tokens": self.text.held.numel() - len(self.text.held),
            "variants": [
                {"recipe": name, "quantized": recipe.quantized, "perturbation": 0, "paper_loss": None}
                for name, recipe in chosen.recipes.items()
            ],
        }
        found = {kind: self._measured(kind) for kind in chosen.kinds}
        document.update(found.get("whole") or {})
        if found.get("branched"):
            document["branched"] = found["branched"]
        folder.replace(chosen.o / "train.json", lambda path: path.write_text(json.dumps(document)))


# --- Of several rates -----------------------------------------------------------------------------------------


def train(jobs):
    print("% kind recipe seed steps held_loss tokens_per_second")
    for number in range(TURNS):
        for job in jobs:
            if len(jobs) > 1:
                print(f"% rate {job.chosen.lr:g}")
            job.turn(number)


def sweep(jobs):
    """Returns a table: by kind, recipe and rate the final held-out losses, [seed]."""
    found = {}
    for job in jobs:
        for kind, recipe in itertools.product(job.chosen.kinds, job.chosen.recipes):
            runs = job.of_recipe(kind, recipe)
            held = [sum(job.held[run][job.plan.steps - 1]) / STRETCHES for run in runs]
            found.setdefault((runs[0][0], recipe), {})[job.chosen.lr] = held
    return found


def sweep_text(found):
    """Returns the same as lines, with a note if the best rate is the lowest or highest."""
    lines, ends = ["% kind recipe rate held_loss, * the best"], []
    for (kind, recipe), by_rate in found.items():
        means = {rate: sum(held) / len(held) for rate, held in sorted(by_rate.items())}
        best = min(means, key=lambda rate: means[rate] if math.isfinite(means[rate]) else math.inf)
        lines += [
            f"  {kind:8} {recipe:12} {rate:8g} {mean:9.5f}{' *' * (rate == best)}" for rate, mean in means.items()
        ]
        if best in (min(means), max(means)):
            ends.append(f"{recipe} ({kind}) at {best:g}")
    if ends:
        lines.append(f"% best at an end of the sweep, beyond which a better rate may be: {', '.join(ends)}")
    return "\n".join(lines)
