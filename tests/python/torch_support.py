# SPDX-License-Identifier: Apache-2.0
"""Functions that the tests of ufp4.torch share."""

import sys

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}; ./ufp4 test --full installs it from PyPI")
    sys.exit(0)

from support import gaussian

import ufp4.torch as ut
from stand import check


def tensors(tokens=40, cin=50, cout=35, dtype=torch.float32):
    x, w, dy = (torch.from_numpy(gaussian(*shape)).to(dtype) for shape in ((tokens, cin), (cout, cin), (tokens, cout)))
    return x.requires_grad_(), w.requires_grad_(), dy


def same(got, want, what):
    check(
        got.dtype == want.dtype
        and got.shape == want.shape
        and torch.equal(*(t.flatten().view(torch.uint8) for t in (got, want))),
        f"{what}: {got} and {want}",
    )


def step(x, w, dy, **options):
    x.grad = w.grad = None
    y = ut.linear(x, w, **options)
    y.backward(dy)
    return y.detach(), x.grad.clone(), w.grad.clone()
