# SPDX-License-Identifier: Apache-2.0
"""Converts the layers of whole models, and back."""

import dataclasses
import fnmatch
import re
import warnings
from collections.abc import Iterable
from ctypes import byref
from typing import Any

import torch

from . import _library as c
from . import _recipe
from . import _torch_experts as kinds
from . import _torch_layers as layers
from . import _torch_operators as operators
from ._recipe import Recipe, recipe as make_recipe

ENOUGH = 0.9  # share of the weights below which convert warns
NAMED = 4  # weights in a warning
NO_PRODUCT = (torch.nn.Embedding, torch.nn.EmbeddingBag, torch.nn.LayerNorm, torch.nn.RMSNorm)


@dataclasses.dataclass(frozen=True)
class Coverage:
    """The result of :func:`coverage`; as text it is a table."""

    share: float  #: of the weights of matrix products, those that are converted: 0 to 1
    converted: dict[str, str]  #: the names of parameters, and their recipes
    others: dict[str, int]  #: the names of the parameters that are not, and their sizes
    uncalled: tuple[str, ...] = ()  #: of converted, those whose layer has had no call in training, while others have
    anew: tuple[str, ...] = ()  #: of others, those of layers that were made after convert, which would take them

    def __str__(self) -> str:
        lines = [f"{self.share:.1%} of the weights of matrix products are converted"]
        for name, recipe in self.converted.items():
            more = ", but its layer was never called in training, as others were" if name in self.uncalled else ""
            lines.append(f"  {name} {recipe}{more}")
        for name, size in self.others.items():
            more = ", of a layer made after convert; another convert takes it" if name in self.anew else ""
            lines.append(f"  {name} not: {size} weights{more}")
        return "\n".join(lines)


def coverage(model: torch.nn.Module) -> Coverage:
    """Which weights of matrix products are converted, with which recipe, and what share of all they are.

    Weights of products are parameters of two or more dimensions, but those of embeddings and norms. One with several
    names counts once. A layer that was never called in training while others were is one whose weight the model takes
    past it, as fused losses take the head's: that product is not quantized.
    """
    _check_model(model)
    return _coverage(model, set())


def _coverage(model, skipped):
    """The coverage without the skipped layers."""
    sizes, converted, others = {True: 0, False: 0}, {}, {}
    uncalled, anew, fresh = [], [], _made_since(model)
    for parameter, (name, module, own) in _weights(model).items():
        if module in skipped:
            continue
        served = isinstance(module, layers.Layer) and own in getattr(module, "_served", (own,))
        sizes[served] += parameter.numel()
        if served:
            converted[name] = module._shown
            module._take_ids()
            uncalled += [name] * (int(module.ids[0]) == 0)
        else:
            others[name] = parameter.numel()
            anew += [name] * (module in fresh)
    total = sum(sizes.values())
    called = len(uncalled) < len(converted)
    return Coverage(
        sizes[True] / total if total else 1.0, converted, others, tuple(uncalled) if called else (), tuple(anew)
    )


def _made_since(model):
    """Returns layers that convert would take and that were added to the model since."""
    roots = [module for module in model.modules() if "_ufp4_converted" in module.__dict__]
    inside = {module for root in roots for module in root.modules()}
    return {
        module
        for module in inside
        if not isinstance(module, layers.Layer) and "_ufp4_skipped" not in module.__dict__ and _target(module)
    }


def _weights(model):
    """Returns the parameters of matrix products; one that several modules share belongs to the layer among them."""
    out = {}
    for path, module in model.named_modules():
        for own, parameter in _own(module).items() if not isinstance(module, NO_PRODUCT) else ():
            if parameter.dim() > 1 and (parameter not in out or isinstance(module, layers.Layer)):
                out[parameter] = f"{path}.{own}" if path else own, module, own
    return out


def convert(
    model: torch.nn.Module,
    recipe: str | dict[str, Any] | Recipe = "ufp4",
    *,
    skip: str | Iterable[str] = (),
    seed: int | None = None,
    blocks: Iterable[torch.nn.Module] | None = None,
    rank: int | None = None,
) -> torch.nn.Module:
    """Makes the layers of @p model compute by a recipe, in place, with their parameters and hooks, and gives the model.

    Layers are torch.nn.Linear, which becomes :class:`Linear`; Conv1D of transformers; and modules with parameters (E,
    out, in) whose forward has these in linear(x, self.NAME[i]) alone, such as experts of transformers. Subclasses of
    torch.nn.Linear stay. Layers are numbered as named_modules orders them, those that are skipped too; experts take a
    number for each parameter. skip: names of layers, or patterns such as "head*", that stay as they are. blocks: the
    model's blocks in their order, such as model.layers, for recipes with bf16_layers: first and last count them; names
    (qkv, ..) are the last words of layers' names; layers outside of all blocks are quantized. A layer that is converted
    already takes the recipe and keeps its step, and its seed and rank where none is given; new ones have seed 0 and the
    rank of the process. Warns where less than 90 % of the weights of matrix products that are not skipped are then
    converted. ValueError: a word of skip that is no layer's, over 4096 layers, bf16_layers that do not fit, or a layer
    whose widths the recipe's transform does not divide; of a layer in evaluation, as after eval(), only the inputs
    matter.
    """
    _check_model(model)
    names = {}  # a layer may have several
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, layers.Layer) or _target(module):
            names.setdefault(module, []).append(name)
    skipped = _skipped(names, [skip] if isinstance(skip, str) else list(skip))
    texts = _texts(make_recipe(recipe), names, model, blocks)
    for layer, many in names.items():
        if layer not in skipped:
            _check_widths(layer, many[0], operators.parsed(texts[layer]))
    rank = None if rank is None else c.whole(rank, 0, 2**16 - 1, "rank")
    for layer, ids in zip(names, _all_ids(names, seed)):
        if layer not in skipped:
            _convert_one(layer, texts[layer], _shown(recipe, texts[layer]), ids, seed, rank)
    for layer in skipped:
        layer.__dict__["_ufp4_skipped"] = True
    model.__dict__["_ufp4_converted"] = True
    for module in model.modules():
        if isinstance(module, torch.nn.TransformerEncoder):
            module.__dict__.setdefault("_ufp4_nested", module.use_nested_tensor)
            module.use_nested_tensor = False  # which its layers would be given in evaluation
    _warn(_coverage(model, skipped))
    return model


def unconvert(model: torch.nn.Module) -> torch.nn.Module:
    """Undoes :func:`convert`, in place, and gives the model: its classes, forward, hooks and state dict are torch's,
    its parameters those that it has. ValueError: a layer's class was changed since, as by fully_shard."""
    _check_model(model)
    converted = [(name, module) for name, module in model.named_modules() if isinstance(module, layers.Layer)]
    for name, layer in converted:
        if type(layer) is not kinds.class_for(layer._plain):
            raise ValueError(f"{name or 'the model'} is of class {type(layer).__name__}, which convert did not make")
    for _, layer in converted:
        layer._end()
    for module in model.modules():
        for mark in ("_ufp4_converted", "_ufp4_skipped"):
            module.__dict__.pop(mark, None)
        if "_ufp4_nested" in module.__dict__:
            module.use_nested_tensor = module.__dict__.pop("_ufp4_nested")
    return model


def _check_model(model):
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, not {type(model).__name__}")


def _own(module):
    """Returns the parameters of a module itself."""
    none = torch.nn.UninitializedParameter
    own = module.named_parameters(recurse=False, remove_duplicate=False)
    return {name: parameter for name, parameter in own if not isinstance(parameter, none)}


def _target(module):
    """Returns the class that a module gets, or None."""
    own, kind = _own(module), type(module)
    if (
        kind is not torch.nn.Linear
        and kind.__name__ != "Conv1D"
        and not any(parameter.dim() == 3 for parameter in own.values())
    ):
        return None
    made = kinds.class_for(kind)
    served = getattr(made, "_served", ())
    return made if all(name in own and own[name].dim() == 3 for name in served) else None


def _all_ids(names, seed):
    out, number = [], 0
    for layer in names:
        out.append(layers.ids_of(0, number, seed or 0))
        number += layer._taken if isinstance(layer, layers.Layer) else _target(layer)._taken
    layers.ids_of(0, max(number - 1, 0), 0)
    return out


def _check_widths(layer, name, made):
    """Checks the widths of FPROP, along the inputs, and in training of DGRAD, along the outputs; the tokens of WGRAD
    are not known yet."""
    kind = type(layer) if isinstance(layer, layers.Layer) else _target(layer)
    served = getattr(kind, "_served", ("weight",)) if made._struct.rht_size > 16 else ()
    for parameter in (parameter for own, parameter in _own(layer).items() if own in served):
        cin, cout = parameter.shape[-2:] if issubclass(kind, kinds.Transposed) else parameter.shape[:-3:-1]
        for i, (size, what) in enumerate(((cin, "inputs"), (cout, "outputs"))[: 1 + layer.training]):
            if made._struct.rht[i] and made.quantizes(_recipe.PASSES[i]):
                operators.check_points(made, size, what, name or "the model")


def _convert_one(layer, text, shown, ids, seed, rank):
    if not isinstance(layer, layers.Layer):
        layer.__class__ = _target(layer)
        layer._begin(text, shown, ids, rank)
        return
    layer._set_recipe(text, shown)
    layer._take_ids()
    layer.ids[1] = ids[1]
    if seed is not None:
        layer.ids[2] = seed
    if rank is not None:
        layer.rank = rank
    layer._give_ids()


def _shown(recipe, text):
    """Returns what a layer prints."""
    made, own = make_recipe(recipe), operators.parsed(text)
    of_model = layers.shown(recipe)
    return f"{own.name} of {of_model}" if made.quantized and not own.quantized else of_model


def _warn(covered):
    if covered.share >= ENOUGH:
        return
    largest = sorted(covered.others, key=covered.others.get, reverse=True)
    more = f" and {len(largest) - NAMED} more" if len(largest) > NAMED else ""
    warnings.warn(
        f"{covered.share:.1%} of the weights of matrix products are converted; not: {', '.join(largest[:NAMED])}{more}",
        stacklevel=3,
    )


def _skipped(names, patterns):
    known = [name for many in names.values() for name in many]
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            raise ValueError(f"skip: no layer is called {pattern!r}; there are {', '.join(known) or 'none'}")
    return {
        layer
        for layer, many in names.items()
        if any(fnmatch.fnmatchcase(name, pattern) for name in many for pattern in patterns)
    }


def _texts(made, names, model, blocks):
    """Returns the recipe of each layer as text."""
    if not operators.has_bf16_layers(made):
        return dict.fromkeys(names, operators.text_of(made))
    if blocks is None:
        raise ValueError(
            f"recipe {made.name}: bf16_layers needs the argument blocks: the model's blocks in order, such as "
            "model.layers"
        )
    blocks, inside = list(blocks), set(model.modules())
    if not blocks or not all(block in inside for block in blocks):
        raise ValueError("blocks must be modules of the model, in the model's order")
    block_of = {layer: i for i, block in reversed([*enumerate(blocks)]) for layer in block.modules()}
    words = {layer: many[0].rpartition(".")[2] for layer, many in names.items() if layer in block_of}
    for i, word in enumerate(_recipe.MATRICES):
        if made._struct.bf16_layers.matrices >> i & 1 and word not in words.values():
            raise ValueError(f"recipe {made.name}: bf16_layers names {word}; no linear layer of a block has this name")
    return {layer: _text_of_layer(made, block_of.get(layer), words.get(layer), len(blocks)) for layer in names}


def _text_of_layer(made, block, word, blocks):
    """Returns the recipe of a layer by its block, None if outside of all, and the last word of its name."""
    whole, count = c.Recipe.from_buffer_copy(made._struct), len(_recipe.MATRICES)
    whole.name = re.sub("[/=]", "-", made.name).encode()[:25].decode(errors="ignore").encode() + b".layer"
    if block is None:
        whole.bf16_layers = c.Bf16Layers()
    if word not in _recipe.MATRICES:
        whole.bf16_layers.matrices, word = 0, _recipe.MATRICES[0]
    layer = (block or 0) * count + _recipe.MATRICES.index(word)
    own = Recipe(c.lib.recipe_of_layer(byref(whole), layer, blocks))
    return operators.text_of(own if own.quantized else "bf16")
