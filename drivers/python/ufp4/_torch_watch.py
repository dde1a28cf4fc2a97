# SPDX-License-Identifier: Apache-2.0
"""Records the effect of rounding on the operands of layers during training."""

import json
import os
from typing import Any

import torch

from . import _library as c
from . import _torch_experts as kinds
from . import _torch_layers as layers
from . import _torch_measure as measure
from ._recipe import ROLES


def _nothing(*_):
    """The hook of a layer that was copied or pickled together with the hook of a Watch."""


def _give_nothing():
    return _nothing


class _Before:
    """A hook before a layer's calls, which receives the copies that they make."""

    def __init__(self, watch, name):
        self.watch, self.name = watch, name

    def __reduce__(self):
        return _give_nothing, ()

    def __call__(self, module, arguments):
        if torch.compiler.is_compiling():
            return
        measure.current.call = self if module.training else None

    def add(self, made, tensor, step, hows, copies, place):
        if step % self.watch.every == 0 and not place.is_captured():
            for how, copy in zip(hows, copies):
                self.watch._add(self.name, step, made, tensor, how, copy, place)


class _After(_Before):
    def __call__(self, module, arguments, output):
        if torch.compiler.is_compiling():
            return
        measure.current.call = None


class Watch:
    """Records what rounding does to each operand of each quantized pass of a model's layers, in every so many of their
    steps.

    records: dicts, one for each quantized copy of a step, with these keys:

    step, layer, pass, operand: the calls of the layer in training mode before this one, its name, "fprop", "dgrad"
    or "wgrad", and "x", "w" or "dy"; sqnr_db: 10 log10(\\|A\\|^2 / \\|Q - A\\|^2), where A is what was quantized
    and Q what the copy stands for, a transform undone; kept: <Q, A> / \\|A\\|^2; bucket_ratio: exp(entropy of the
    codes' values) / 15, None of elements mixed; zeros: the share of codes that are 0; saturated: the share of scales
    that are the largest of their type; tensor_exponent: t of E4M3 scales, 0 with others; tensor_scale: Sd of NVFP4,
    1 with others. What is no number is None, as the SQNR of a copy without error. Blocks that hold NaN or Inf are
    left out.

    every: of the steps, from 0 on. path: a file to which each record is added at once, as a line of JSON. As text
    it is the table of each layer's last record. A layer in evaluation, one inside of a compiled graph, and experts
    record nothing. Beside a recorded step nothing is computed, and after close(), or the end of `with`, the model
    is as it was. ValueError: no layer is a converted one.
    """

    def __init__(self, model: torch.nn.Module, every: int = 100, path: str | os.PathLike | None = None) -> None:
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"model must be a torch.nn.Module, not {type(model).__name__}")
        self.every = c.whole(every, 1, 2**48 - 1, "every")
        self.records: list[dict[str, Any]] = []
        self._seen, self._hooks = set(), []
        found = {
            name: layer
            for name, layer in model.named_modules()
            if isinstance(layer, layers.Layer) and not isinstance(layer, kinds.Experts)
        }
        if not found:
            raise ValueError("the model has no linear layer of ufp4; ufp4.torch.convert makes them")
        self._file = None if path is None else open(path, "a", encoding="utf-8", buffering=1)
        for name, layer in found.items():
            self._hooks += [
                layer.register_forward_pre_hook(_Before(self, name)),
                layer.register_forward_hook(_After(self, name), always_call=True),
            ]

    def _add(self, name, step, made, tensor, how, copy, place):
        role = how.tensor_id >> 1 & 7
        key = step, name, measure.PASS_OF[role, how.axis], ROLES[role]
        if key in self._seen:  # a checkpoint repeats calls
            return
        self._seen.add(key)
        record = dict(zip(("step", "layer", "pass", "operand"), key))
        record |= measure.figures(made, tensor, how, copy, place)
        self.records.append(record)
        if self._file:
            self._file.write(json.dumps(record) + "\n")

    def close(self) -> None:
        """Stops recording."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self._file:
            self._file.close()
            self._file = None

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __str__(self) -> str:
        from .report import _rounding

        return _rounding.table(self.records)
