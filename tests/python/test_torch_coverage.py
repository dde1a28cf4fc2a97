# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch.coverage: which layers of a model are converted, which are not, and which are never called."""

import copy

from support import raises
from torch_support import torch

import stand
import ufp4.torch as ut
from stand import check, check_equal


def test_coverage_tells_what_was_converted():
    nn = torch.nn
    model = nn.ModuleDict(
        {
            "words": nn.Embedding(100, 16),
            "a": nn.Linear(16, 16),
            "b": nn.Bilinear(2, 3, 4),
            "norm": nn.LayerNorm([4, 4]),
        }
    )
    check_equal((ut.coverage(model).share, ut.coverage(model).others), (0, {"a.weight": 256, "b.weight": 24}), "before")
    ut.convert(model, "e2m1")
    covered = ut.coverage(model)
    check_equal(
        (covered.share, covered.converted, covered.others), (256 / 280, {"a.weight": "e2m1"}, {"b.weight": 24}), "after"
    )
    check_equal(
        str(covered),
        "91.4% of the weights of matrix products are converted\n  a.weight e2m1\n  b.weight not: 24 weights",
        "text",
    )
    tied = nn.ModuleDict({"words": nn.Embedding(10, 16), "head": nn.Linear(16, 10)})
    tied["head"].weight = tied["words"].weight
    check_equal(ut.coverage(ut.convert(tied)).converted, {"head.weight": "ufp4"}, "a weight with two names")
    check_equal(ut.coverage(ut.convert(nn.Sequential(nn.LazyLinear(3), nn.ReLU()))).share, 1, "nothing to convert")
    raises(TypeError, "model must be a torch.nn.Module, not int", ut.coverage, 3)


class FusedLoss(torch.nn.Module):
    """A model whose loss takes the head's weight past the layer, as fused losses do."""

    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(16, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return self.body(x) @ self.head.weight.T


def test_coverage_names_layers_that_were_never_called():
    model = ut.convert(FusedLoss())
    check_equal(ut.coverage(model).uncalled, (), "before the first call none is called")
    model.eval()(torch.ones(16, 16))
    check_equal(ut.coverage(model).uncalled, (), "evaluation does not count")
    model.train()(torch.ones(16, 16))
    covered = ut.coverage(model)
    check_equal(covered.uncalled, ("head.weight",), "names")
    line = "  head.weight ufp4, but its layer was never called in training, as others were"
    check(str(covered).splitlines()[-1] == line and covered.share == 1, str(covered))
    other = ut.convert(FusedLoss())
    other.load_state_dict(model.state_dict())
    check_equal(ut.coverage(other).uncalled, ("head.weight",), "of a resumed model")
    model.head(torch.ones(16, 16))
    check_equal(ut.coverage(model).uncalled, (), "once it is called")


def test_coverage_names_layers_made_after_convert():
    model = ut.convert(FusedLoss(), skip="head")
    check_equal(ut.coverage(model).anew, (), "what was skipped is known")
    model.head = torch.nn.Linear(16, 12)
    for one in (model, copy.deepcopy(model), torch.nn.Sequential(model)):
        covered = ut.coverage(one)
        check_equal(len(covered.anew), 1, "a head that was made anew, also of a copy, or inside of another model")
    line = "  head.weight not: 192 weights, of a layer made after convert; another convert takes it"
    check_equal(str(ut.coverage(model)).splitlines()[-1], line, "text")
    ut.convert(model)
    check_equal((ut.coverage(model).anew, ut.coverage(model).share), ((), 1), "after another convert")
    part = torch.nn.Sequential(ut.convert(torch.nn.Sequential(torch.nn.Linear(4, 4))), torch.nn.Linear(4, 4))
    check_equal(ut.coverage(part).anew, (), "what convert was not given")
    plain = ut.unconvert(ut.convert(FusedLoss(), skip="head"))
    check(not any("ufp4" in name for module in plain.modules() for name in vars(module)), "unconvert leaves no marks")


def test_coverage_counts_layers_of_width_1():
    nn = torch.nn
    model = nn.ModuleDict({"body": nn.Linear(64, 64), "value": nn.Linear(4096, 1)})
    covered = ut.coverage(ut.convert(model, "ufp4", skip="body"))
    check_equal(
        (covered.share, covered.converted, covered.others),
        (0.5, {"value.weight": "ufp4"}, {"body.weight": 4096}),
        "one output",
    )
    covered = ut.coverage(ut.convert(nn.Sequential(nn.Linear(1, 37), nn.Linear(37, 1))))
    check_equal(covered.converted, {"0.weight": "ufp4", "1.weight": "ufp4"}, "one input")


if __name__ == "__main__":
    stand.main(globals())
