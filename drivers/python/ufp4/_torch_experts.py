# SPDX-License-Identifier: Apache-2.0
"""Classes of modules, not of torch, whose products a layer takes over: Conv1D of transformers, and experts whose
weights are one parameter (E, out, in).

The forward of such experts is read: each linear(x, self.NAME[i]) in it becomes a call of the layer. A NAME that is used
otherwise stays.
"""

import ast
import functools
import inspect
import textwrap

import torch

from . import _torch_layers as layers


class Transposed(layers.Layer):
    """Conv1D of transformers, whose weight is [in][out]."""

    def forward(self, x):
        return layers.apply(x, self.weight.t(), self.bias, self._draw(), self._recipe)

    def __repr__(self):
        return f"{super().__repr__()[:-1]}, recipe={self._shown})"

    def __reduce_ex__(self, protocol):
        return _blank, (self._plain,), self.__dict__


class Experts(layers.Layer):
    """Expert e of E draws the random bytes of step E * ids[0] + e, with a layer number for each parameter."""

    _served: tuple  #: the names of the parameters
    _is_capturable = False

    @torch.compiler.disable
    def forward(self, *arguments, **options):
        self._drawn = self._draw()
        try:
            return self._read_forward(*arguments, **options)
        finally:
            del self._drawn

    def _expert(self, name, x, expert, bias=None):
        weights, (step, layer, seed, rank) = getattr(self, name), self._drawn
        count = weights.shape[0]
        ids = step * count + range(count)[int(expert)], layer + self._served.index(name), seed, rank
        return layers.apply(x, weights[expert], bias, ids, self._recipe)

    def __reduce_ex__(self, protocol):
        return _blank, (self._plain,), self.__dict__


def _blank(plain):
    kind = class_for(plain)
    return kind.__new__(kind)


@functools.cache
def class_for(plain):
    """Returns the class that a module of class @p plain gets; None: it stays as it is."""
    if plain is torch.nn.Linear:
        return layers.Linear
    if issubclass(plain, layers.Layer):
        return None
    names = {"_plain": plain, "__module__": plain.__module__}
    if plain.__name__ == "Conv1D" and plain.__module__ == "transformers.pytorch_utils":
        return type(plain.__name__, (Transposed, plain), names)
    forward, served = _read(plain)
    if not served:
        return None
    return type(
        plain.__name__, (Experts, plain), names | {"_read_forward": forward, "_served": served, "_taken": len(served)}
    )


def _read(plain):
    """Returns the forward of a class with its experts' products computed by the layer, and the names of their
    parameters."""
    forward = inspect.unwrap(plain.forward)
    if not inspect.isfunction(forward) or forward.__closure__:
        return None, ()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(forward)))
    except (OSError, TypeError, SyntaxError):
        return None, ()
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef) or not function.args.args or function.decorator_list:
        return None, ()
    served = _replace_products(function, function.args.args[0].arg, forward.__globals__)
    return _compiled(tree, function, forward), served


def _compiled(tree, function, forward):
    """Makes a function from the transformed source; its default arguments are taken from @p forward."""
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    function.returns = None
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [default and ast.Constant(None) for default in arguments.kw_defaults]
    made = {}
    exec(compile(ast.fix_missing_locations(tree), inspect.getsourcefile(forward), "exec"), forward.__globals__, made)
    made[function.name].__defaults__, made[function.name].__kwdefaults__ = forward.__defaults__, forward.__kwdefaults__
    return made[function.name]


def _replace_products(function, owner, names):
    """Replaces linear(x, owner.NAME[i]) by owner._expert("NAME", x, i). @return the names that are used in no other
    way, in order."""
    products = [(call, weight) for call in ast.walk(function) if (weight := _weight_of(call, owner, names)) is not None]
    inside = {weight.value for _, weight in products}
    others = {node.attr for node in ast.walk(function) if _is_own(node, owner) and node not in inside}
    if any(
        node.attr.startswith("__") and not node.attr.endswith("__")
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
    ):
        return ()  # inside the class they have another name
    served = [(call, weight) for call, weight in products if weight.value.attr not in others]
    for call, weight in served:
        call.func = ast.Attribute(ast.Name(owner, ast.Load()), "_expert", ast.Load())
        call.args = [ast.Constant(weight.value.attr), call.args[0], weight.slice, *call.args[2:]]
    in_order = sorted((weight for _, weight in served), key=lambda weight: (weight.lineno, weight.col_offset))
    return tuple(dict.fromkeys(weight.value.attr for weight in in_order))


def _weight_of(call, owner, names):
    """Returns owner.NAME[i] of a call linear(x, owner.NAME[i], ..); None: it is another call."""
    if (
        not isinstance(call, ast.Call)
        or len(call.args) < 2
        or not isinstance(call.args[1], ast.Subscript)
        or not _is_own(call.args[1].value, owner)
    ):
        return None
    if isinstance(call.args[1].slice, (ast.Slice, ast.Tuple)):
        return None
    words = ast.unparse(call.func).split(".")
    found = names.get(words[0])
    for word in words[1:]:
        found = getattr(found, word, None)
    return call.args[1] if found is torch.nn.functional.linear else None


def _is_own(node, owner):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner
