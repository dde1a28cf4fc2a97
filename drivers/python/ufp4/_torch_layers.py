# SPDX-License-Identifier: Apache-2.0
"""Layers of PyTorch based on the operators of _torch_operators."""

import math
import sys
from typing import Any

import torch

from . import _library as c
from . import _torch_operators as operators
from . import _torch_steps as steps
from ._recipe import Recipe, recipe as make_recipe

PLAIN = (torch.Tensor, torch.nn.Parameter)  # types that fake tensors do not have
# The number of active modes. There is no public function for it; if torch removes this one, operators are always
# called, which is slower.
_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)


def _check(tensor, what):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{what} must be a tensor, not {type(tensor).__name__}")
    distributed = sys.modules.get("torch.distributed.tensor")
    if distributed and isinstance(tensor, distributed.DTensor):
        raise ValueError(
            f"{what} is a DTensor of tensor parallelism, but ufp4 needs whole layers; "
            "use DistributedDataParallel or fully_shard"
        )
    if tensor.device.type not in ("cpu", "cuda", "meta"):
        raise ValueError(f"{what} is on {tensor.device}; it must be on the CPU or on a CUDA device")
    if tensor.layout != torch.strided or tensor.is_nested:
        raise ValueError(f"{what} is {'nested' if tensor.is_nested else tensor.layout}; it must be a dense tensor")
    if tensor.dtype not in operators.DTYPES:
        raise ValueError(f"{what} is of type {tensor.dtype}; it must be float32 or bfloat16")


def _check_all(x, weight, bias):
    _check(x, "x")
    _check(weight, "weight")
    if x.dim() < 1 or weight.dim() != 2 or x.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"x is {tuple(x.shape)}, weight is {tuple(weight.shape)}; the last sizes must be equal (weight [cout][cin])"
        )
    if bias is not None:
        _check(bias, "bias")
        if bias.shape != weight.shape[:1]:
            raise ValueError(f"bias is {tuple(bias.shape)}; it must be ({weight.shape[0]},)")
    if any(tensor.device != x.device for tensor in (weight, bias) if tensor is not None):
        raise ValueError(f"x is on {x.device}, but weight or bias is not; they must be on one device")


def _is_eager(x, weight):
    """Returns whether nothing observes operators: neither a compiler nor a mode such as FlopCounterMode."""
    plain = type(x) in PLAIN and type(weight) in PLAIN and x.device.type in ("cpu", "cuda")
    return plain and not torch.compiler.is_compiling() and not _modes()


def apply(x, weight, bias, ids, text):
    """ids: a tensor, or a tuple of integers."""
    _check_all(x, weight, bias)
    grad = torch.is_grad_enabled()
    flat = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    options = text, grad and x.requires_grad, grad and weight.requires_grad
    if _is_eager(x, weight):
        y = operators.Eager.apply(flat, weight, ids, *options)
    else:
        y = torch.ops.ufp4.linear_forward(
            flat, weight, ids if isinstance(ids, torch.Tensor) else torch.tensor(ids, device="cpu"), *options
        )[0]
    y = y.reshape(*x.shape[:-1], weight.shape[0])
    return y if bias is None else y + bias.to(y.dtype)


def ids_of(step, layer, seed):
    """Checks the limits 2^48, 2^12 and 2^63."""
    numbers = c.whole(step, 0, 2**48 - 1, "step"), c.whole(layer, 0, 4095, "layer"), c.whole(seed, 0, 2**63 - 1, "seed")
    return torch.tensor(numbers, device="cpu")


def _rank_of(rank):
    return c.whole(rank, 0, 2**16 - 1, "rank")


def linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    recipe: str | dict[str, Any] | Recipe = "ufp4",
    seed: int = 0,
    layer: int = 0,
    step: int = 0,
    rank: int = 0,
) -> torch.Tensor:
    """Y [..][cout] = X [..][cin] W^T + bias, of x's type; differentiable once, by x, weight [cout][cin] and bias.

    FPROP, DGRAD and WGRAD are computed as the recipe says; one that it does not quantize is PyTorch's own GEMM of
    operands rounded to BF16 (of the recipe fp32: not rounded). seed (below 2^63), layer (below 2^12), step (below 2^48)
    and rank (below 2^16; beside one that is not 0 steps are below 2^32) give the random bytes, and a recipe's signs.
    ValueError: another type, device, layout or shape, or a recipe that needs a whole model. RuntimeError: a second
    derivative is asked for.
    """
    ids = ids_of(step, layer, seed)
    if rank:
        ids = torch.cat([ids, torch.tensor([_rank_of(rank)], device="cpu")])
    return apply(x, weight, bias, ids, operators.text_of(recipe))


def _is_called(module, arguments):
    """A hook without effect: torch.nn.TransformerEncoderLayer in evaluation calls layers with hooks, but bypasses
    others and uses only their weights."""


class Layer(torch.nn.Module):
    """Members of layers beyond torch's class: a recipe, and ids, which the state dict contains although it is not a
    buffer. Changes of type or device therefore do not affect it, and DistributedDataParallel does not synchronize it
    between ranks."""

    _plain: type  #: the torch class that unconvert gives back
    _is_capturable = True
    _taken = 1  #: of numbers that it takes
    _drawn_on_gpu = None  #: what it draws by, where it is capturable (steps.drawn)

    def _begin(self, text, shown, ids, rank=None):
        self.ids, self.rank = ids, rank
        self._set_recipe(text, shown)
        self._hook = self.register_forward_pre_hook(_is_called)

    def _set_recipe(self, text, shown):
        self._recipe, self._shown = text, shown

    def _end(self):
        """Restores the torch class."""
        self._hook.remove()
        self._set_capturable(False)
        for name in ("ids", "rank", "_recipe", "_shown", "_hook"):
            del self.__dict__[name]
        self.__class__ = self._plain

    @property
    def recipe(self) -> Recipe:
        return operators.parsed(self._recipe)

    def _draw(self):
        """Returns the numbers of this call, from which the random bytes are made; in training mode the call counts as a
        step."""
        if self._drawn_on_gpu is not None:
            return self._draw_on_gpu()
        rank = -1 if self.rank is None else self.rank
        if torch.compiler.is_compiling():
            drawn = steps.number() if self.training else self.ids
            return torch.ops.ufp4.draw(self.ids, drawn, rank, self.training)
        numbers, following = steps.draw(self.ids, rank, self.training, torch.is_grad_enabled())
        self.ids[0] = following
        return numbers

    def _draw_on_gpu(self):
        if torch.compiler.is_compiling():
            numbers = torch.ops.ufp4.numbers_on_gpu(self._drawn_on_gpu)
        else:
            if self._drawn_on_gpu.device != self.weight.device:
                raise RuntimeError("the layer was moved after it was made capturable; call capturable(model) again")
            numbers = steps.numbers_on_gpu(self._drawn_on_gpu)
        if self.training:
            steps.advance(self._drawn_on_gpu)
        return numbers

    def _take_ids(self):
        """Sets ids to the number of steps so far, if the GPU counts them."""
        if self._drawn_on_gpu is not None:
            self.ids[0] = steps.of_drawn(self._drawn_on_gpu)[0]

    def _give_ids(self):
        """Copies ids to where the GPU counts steps, in place, because graphs contain the address."""
        if self._drawn_on_gpu is not None:
            self._drawn_on_gpu.copy_(steps.drawn(self.ids, self.rank, self._drawn_on_gpu.device))

    def _set_capturable(self, value):
        self._take_ids()
        self.__dict__.pop("_drawn_on_gpu", None)
        if value:
            self._drawn_on_gpu = steps.drawn(self.ids, self.rank, self.weight.device)
            torch._dynamo.mark_static_address(self._drawn_on_gpu)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        self._take_ids()
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "ids"] = self.ids

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        rest = {key: value for key, value in state_dict.items() if key != prefix + "ids"}
        super()._load_from_state_dict(rest, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        given = state_dict.get(prefix + "ids")
        if given is None:
            missing_keys.append(prefix + "ids")
        elif given.shape != self.ids.shape:
            error_msgs.append(f"{prefix}ids is {tuple(given.shape)}; it has step, layer and seed")
        else:
            self.ids.copy_(given)
            self._give_ids()

    def extra_repr(self) -> str:
        rest = super().extra_repr()
        return f"{rest}{', ' if rest else ''}recipe={self._shown}"


class Linear(Layer, torch.nn.Linear):
    """torch.nn.Linear by :func:`linear`.

    ids holds [step, layer, seed]: the step counts the calls in training mode, and the state dict has all three, so that
    a run that is resumed has the same bits. rank: that of the random bytes of X and dY; None is the process's in
    torch.distributed, or 0. Other arguments as those of :func:`linear` and of torch.nn.Linear.
    """

    _plain = torch.nn.Linear

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        recipe: str | dict[str, Any] | Recipe = "ufp4",
        layer: int = 0,
        seed: int = 0,
        rank: int | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self._begin(
            operators.text_of(recipe), shown(recipe), ids_of(0, layer, seed), None if rank is None else _rank_of(rank)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return apply(x, self.weight, self.bias, self._draw(), self._recipe)


def capturable(model: torch.nn.Module, value: bool = True) -> None:
    """Lets a training step of the model's layers be captured in a CUDA graph, each replay of which is a step of its
    own; torch.compile's reduce-overhead then has no tensor of the CPU in them.

    The random numbers and the count of steps are kept on the layer's GPU from now on, `ids` has them again in a state
    dict, or after value=False. Checkpoints are refused. ValueError: a layer that is on no GPU, and experts, which the
    host calls one by one.
    """
    found = [module for module in model.modules() if isinstance(module, Layer)]
    for layer in found:
        if value and not layer._is_capturable:
            raise ValueError(
                f"{type(layer).__name__} calls its experts from the host, which a CUDA graph cannot capture"
            )
        if value and not operators.gpu.takes(layer.weight):
            raise ValueError(
                f"a layer is on {layer.weight.device}, but CUDA graphs need a GPU: move the model there first"
            )
    for layer in found:
        layer._set_capturable(value)


def shown(recipe):
    """Returns a recipe as its user wrote it, for printing a layer."""
    return recipe if isinstance(recipe, str) else make_recipe(recipe).name
