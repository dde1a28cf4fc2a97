# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch.Watch: its figures against numpy, when it records, and that it has no other effect."""

import copy
import io
import json
import sys

from support import np, raises
from torch_support import same, tensors, torch

import stand
import ufp4
import ufp4.torch as ut
from stand import check, check_equal
from ufp4 import report

GRIDS = {"e2m1": (0, 0.5, 1, 1.5, 2, 3, 4, 6), "e1m2": (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75)}
COPIES = [
    ("fprop", "x", 0, 0),
    ("wgrad", "x", 0, 1),
    ("fprop", "w", 1, 0),
    ("dgrad", "w", 1, 1),
    ("dgrad", "dy", 2, 0),
    ("wgrad", "dy", 2, 1),
]  # pass, operand, role, axis
HADAMARD = np.array([[(-1.0) ** (i & j).bit_count() for j in range(16)] for i in range(16)])


def trained(recipe, steps=1, sizes=(48, 64, 32), **options):
    """Returns a watched layer after some steps, and its tensors."""
    x, w, dy = tensors(*sizes)
    layer = ut.Linear(sizes[1], sizes[2], bias=False, recipe=recipe, layer=3, seed=7)
    layer.weight = torch.nn.Parameter(w.detach().clone())
    watch = ut.Watch(layer, **options)
    for _ in range(steps):
        layer(x).backward(dy)
    return watch, layer, dict(x=x.detach().numpy(), w=w.detach().numpy(), dy=dy.numpy())


def values_of(q):
    """Returns the values of a copy, computed in numpy: grids, scales, and the transform undone."""
    signs = np.where(q.codes & 8, -1.0, 1.0)
    scales = q.float_scales.astype(np.float64) * 2.0**-q.tensor_exponent * q.tensor_scale
    scales = np.repeat(scales, q.block, axis=1)[:, : q.codes.shape[1]]
    if q.elem == "mixed":
        both = [np.array(GRIDS["e2m1"])[q.codes & 7], 2 * np.array(GRIDS["e1m2"])[q.codes & 7]]
        values = signs * np.where(np.signbit(scales), both[1], both[0]) * abs(scales)
    else:
        values = signs * np.array(GRIDS[q.elem])[q.codes & 7] * scales
    if q.rht == "off":
        return values
    mask = np.array([-1.0 if q.rht_mask >> i & 1 else 1.0 for i in range(16)])
    blocks = values.reshape(values.shape[0], -1, 16) @ HADAMARD / 4 * mask
    return blocks.reshape(values.shape)[:, : q.shape[1]]


def figures_of(tensor, q):
    a, values = tensor.astype(np.float64), values_of(q)
    counts = np.unique(np.where(q.codes == 8, 0, q.codes), return_counts=True)
    shares = counts[1] / q.codes.size
    return {
        "sqnr_db": 10 * np.log10((a * a).sum() / ((values - a) ** 2).sum()),
        "kept": (values * a).sum() / (a * a).sum(),
        "bucket_ratio": None if q.elem == "mixed" else np.exp(-(shares * np.log(shares)).sum()) / 15,
        "zeros": shares[0] if counts[0][0] == 0 else 0,
        "saturated": np.mean(q.float_scales.astype(np.float64) == 448) if q.scale in ("e4m3", "nvfp4") else 0,
        "tensor_exponent": q.tensor_exponent,
        "tensor_scale": q.tensor_scale,
    }


def test_figures_are_those_of_numpy():
    fp32 = {"name": "fp32-scales", "elem": "e1m2", "scale": "fp32", "rht": "none", "round": {"dy": "sr"}}
    wide = {"name": "wide", "elem": "e1m2", "block": 32, "rht": "integer", "round": {"dy": "sr"}}
    for recipe, sizes in (
        ("ufp4", (48, 64, 32)),
        ("ufp4", (40, 50, 35)),
        ("ufp4-mixed", (48, 64, 32)),
        ("e2m1", (40, 50, 35)),
        ("nvfp4/rht=wgrad", (48, 64, 32)),
        ("mxfp4", (64, 32, 96)),
        (fp32, (64, 32, 96)),
        (wide, (64, 32, 96)),
    ):
        watch, layer, given = trained(recipe, 2, sizes)
        check_equal(
            [tuple(record[key] for key in ("step", "layer", "pass", "operand")) for record in watch.records],
            [(0, "", pass_, operand) for pass_, operand, _, _ in COPIES],
            "records of step 0, not of step 1",
        )
        for record, (pass_, operand, role, axis) in zip(watch.records, COPIES):
            how = dict(recipe=recipe, role=operand, pass_=pass_, seed=7, tensor_id=3 << 4 | role << 1 | axis)
            q, bias = ufp4.quantize(given[operand], **how), ufp4.bias(given[operand], **how)
            want = figures_of(given[operand].T if axis else given[operand], q)
            what = f"{recipe} {sizes} {pass_} {operand}"
            check_equal(list(record)[4:], list(want), what)
            if q.elem == "mixed":
                check_equal(
                    (record["bucket_ratio"], np.isnan(bias.bucket_ratio)), (None, True), f"{what}: bucket ratio"
                )
            for name, value in want.items():
                if value is None:
                    continue
                check(abs(record[name] - value) <= 1e-5 * abs(value), f"{what}: {name} {record[name]}, {value}")
            by_bias = {"zeros": bias.share[7]} | ({} if q.elem == "mixed" else {"bucket_ratio": bias.bucket_ratio})
            if sizes[0] != 40 and q.rht != "bf16":  # bias counts the padding, and its signal is the rounded transform
                by_bias |= {"kept": bias.kept, "sqnr_db": bias.sqnr_db}
            for name, value in by_bias.items():
                check(abs(record[name] - value) <= 1e-5 * value, f"{what}: {name} {record[name]}, {value} of bias")


def test_saturated_scales_and_what_is_no_number():
    x = torch.ones(16, 64)
    x[:, :16], x[:, 16:32], x[0, 32] = 0, 3.0, torch.inf  # block 2 of row 0 has no scale
    layer = ut.Linear(64, 16, bias=False, recipe="nvfp4")
    with torch.no_grad():
        layer.weight.zero_()
    with ut.Watch(layer) as watch, torch.no_grad():
        layer(x)
    of_x, of_w = watch.records
    check_equal((of_x["operand"], of_x["saturated"], of_x["zeros"]), ("x", 16 / 63, 16 / 63), "blocks of x")
    check(of_x["sqnr_db"] > 30, f"{of_x}: without the block that has Inf")
    check_equal(
        [of_w[name] for name in ("sqnr_db", "kept", "zeros", "saturated")],
        [None, None, 1.0, 0.0],
        "zeros have no signal",
    )


def test_steps_files_and_the_table():
    watch, layer, _ = trained("ufp4", 5, every=2, path="run.jsonl")
    check_equal(sorted({record["step"] for record in watch.records}), [0, 2, 4], "steps")
    layer.eval()(torch.ones(2, 64))
    watch.close()
    check_equal(len(watch.records), 18, "evaluation records nothing")
    check_equal([json.loads(line) for line in open("run.jsonl")], watch.records, "the file")
    check_equal(report.read_rounding("run.jsonl"), watch.records, "as report reads it")
    lines = str(watch).splitlines()
    check(len(lines) == 7 and lines[0].startswith("% layer") and all(" 4 " in line for line in lines[1:]), str(watch))
    last = watch.records[-6]
    check(lines[1].split()[:5] == ["fprop", "x", "4", f"{last['sqnr_db']:.2f}", f"{last['kept']:.4f}"], lines[1])
    raises(ValueError, "no linear layer of ufp4", ut.Watch, torch.nn.Linear(2, 2))
    raises(ValueError, "every 0 is out of range", ut.Watch, layer, 0)


def test_the_bits_of_training_stay():
    plain, seen = (ut.convert(torch.nn.Sequential(torch.nn.Linear(32, 32)), seed=2) for _ in range(2))
    seen.load_state_dict(plain.state_dict())
    x, dy = torch.randn(16, 32), torch.randn(16, 32)
    with ut.Watch(seen, every=1) as watch:
        for model in (plain, seen):
            model(x).backward(dy)
    same(seen[0].weight.grad, plain[0].weight.grad, "dW")
    check_equal({record["layer"] for record in watch.records}, {"0"}, "names")


def test_a_checkpoint_records_once():
    from torch.utils.checkpoint import checkpoint

    for reentrant in (False, True):
        layer = ut.Linear(32, 32)
        with ut.Watch(layer, every=1) as watch:
            for _ in range(2):
                checkpoint(layer, torch.ones(16, 32, requires_grad=True), use_reentrant=reentrant).sum().backward()
        places = [(record["step"], record["pass"], record["operand"]) for record in watch.records]
        check(len(places) == len(set(places)) == 12, f"reentrant {reentrant}: {places}")


def calls_in(function):
    """Returns the names of the functions that are called, and their number."""
    found = []
    sys.setprofile(lambda frame, event, _: found.append(frame.f_code) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


def test_nothing_is_done_beside():
    """None of its code runs if nobody watches or after close(); nothing is decoded in steps that it skips."""
    layer, x = ut.Linear(32, 32), torch.ones(16, 32)
    step = lambda: layer(x).sum().backward()  # noqa: E731
    step()
    before = calls_in(step)
    with ut.Watch(layer, every=1000) as watch:
        between = calls_in(step)
    after = calls_in(step)
    check_equal(len(watch.records), 0, "records of step 2")
    own = [code for code in before + after if code.co_filename.endswith(("/_torch_measure.py", "/_torch_watch.py"))]
    check_equal(own, [], "calls")
    check_equal([code.co_name for code in after], [code.co_name for code in before], "after close()")
    check("figures" not in [code.co_name for code in between], "figures between recorded steps")
    check(len(layer._forward_pre_hooks) == 1 and not layer._forward_hooks, "hooks after close()")


def test_a_copy_of_a_watched_model_records_nothing():
    layer = ut.Linear(32, 32)
    with ut.Watch(layer, every=1) as watch:
        twin, kept = copy.deepcopy(layer), io.BytesIO()
        torch.save(layer, kept)
        kept.seek(0)
        for one in (twin, torch.load(kept, weights_only=False)):
            one(torch.ones(16, 32)).sum().backward()
        check_equal(len(watch.records), 0, "of copies")
        layer(torch.ones(16, 32))
        check_equal(len(watch.records), 3, "of the layer, whose x needs no gradient")


def test_a_failed_call_leaves_nothing_behind():
    layer = ut.Linear(32, 32)
    with ut.Watch(layer, every=1) as watch:
        raises(ValueError, "the last sizes must be equal", layer, torch.ones(2, 3))
        ut.linear(torch.ones(16, 32), torch.ones(16, 32))
        check_equal(watch.records, [], "of a call past the layer")


def test_compiled_graphs_record_nothing():
    layer = ut.Linear(32, 32)
    with ut.Watch(layer, every=1) as watch:
        torch.compile(lambda x: layer(x) * 2, backend="aot_eager")(torch.ones(16, 32)).sum().backward()
        check_equal((watch.records, int(layer.ids[0])), ([], 1), "of a compiled call, which is a step")


if __name__ == "__main__":
    stand.main(globals())
