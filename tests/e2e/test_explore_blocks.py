# SPDX-License-Identifier: Apache-2.0
"""Tests explore with models that have two kinds of blocks, and with experts that see few tokens or none."""

import pathlib

import stand
from stand import check, check_equal, passes
from explorations import explored
from hf_models import DEEP, EXPERTS, HF, QWEN, hf, widths


SUMS = ["cycles", "stall_drain", "read_bytes", "bus_write_bytes", "macs", "quant_blocks"]


def step_of(config, *words):
    rows = hf(config, "--config", "small", "--tokens", "40", "--serial", "--host-bytes", "--clock-mhz", "1000", *words)
    totals = {r["layer"]: r for r in rows if r["pass"] == "all"}
    for name in SUMS:
        jobs = sum(int(r["count"]) * int(r[name] or 0) for r in rows if r["pass"] not in ("all", "forward", "backward"))
        check_equal(int(totals["step"][name]), jobs, f"{name} of all jobs")
    return totals, [r for r in rows if r["pass"] == "forward"]


def check_kinds(config, alike, dense, experts):
    """Compares a model of both kinds with models of one kind: alike[0] makes no block dense, alike[1] every block."""
    (both, host), (of_dense, _), (of_experts, _) = (
        step_of(config),
        step_of(config | alike[1], "--layers", "1"),
        step_of(config | alike[0], "--layers", "1"),
    )
    check_equal([int(both[name]["count"]) for name in ("block_dense", "block_experts")], [dense, experts], "blocks")
    d, e = of_dense["step"], of_experts["step"]
    for name in SUMS:
        check_equal(
            [int(both[kind][name]) for kind in ("block_dense", "block_experts")],
            [int(d[name]), int(e[name])],
            f"{name} of a block",
        )
        check_equal(int(both["step"][name]), dense * int(d[name]) + experts * int(e[name]), f"{name} of the step")
    for name in ("weight_bytes", "copy_bytes", "activation_bytes", "gradient_bytes", "optimizer_bytes"):
        check_equal(int(both["step"][name]), dense * int(d[name]) + experts * int(e[name]), name)
    # By hand: the most bytes are live in the backward pass of the first or last block of a kind; the dense blocks come
    # first.
    always, kept, gradients, live = (
        [sum(int(r[name]) for name in names) for r in (d, e)]
        for names in (
            ("weight_bytes", "optimizer_bytes"),
            ("copy_bytes", "activation_bytes"),
            ("gradient_bytes",),
            ("live_bytes",),
        )
    )
    want = max(
        live[0] - always[0] + max(kept[0], gradients[0]) * (dense - 1) + gradients[1] * experts,
        live[1] - always[1] + max(kept[1], gradients[1]) * (experts - 1) + kept[0] * dense,
    )
    check_equal(int(both["step"]["live_bytes"]), dense * always[0] + experts * always[1] + want, "live_bytes")
    return {r["layer"]: int(r["count"]) for r in host}


def test_kinds_of_blocks_are_counted_each():
    first = [{"first_k_dense_replace": n} for n in (0, 5)]
    host = check_kinds(DEEP | {"first_k_dense_replace": 2}, first, 2, 3)
    check_equal(
        [host[name] for name in ("norm1", "dense_act", "router", "act", "shared_act")], [5, 2, 3, 12, 3], "the host's"
    )
    check_kinds(
        DEEP | {"first_k_dense_replace": 1, "moe_layer_freq": 2},
        [{"first_k_dense_replace": 0, "moe_layer_freq": 1}, {"first_k_dense_replace": 5}],
        3,
        2,
    )
    step = [{"decoder_sparse_step": 1, "mlp_only_layers": []}, {"decoder_sparse_step": 7, "mlp_only_layers": None}]
    check_kinds(QWEN | {"decoder_sparse_step": 2}, step, 3, 3)
    check_kinds(QWEN | {"decoder_sparse_step": 3, "mlp_only_layers": [0, 2, 9]}, step, 5, 1)
    check_kinds(QWEN | {"mlp_only_layers": [5]}, step, 1, 5)
    for layers, counts in ((1, {"block"}), (2, {"block"}), (3, {"block_dense", "block_experts"})):
        totals, _ = step_of(DEEP | {"first_k_dense_replace": 2}, "--layers", str(layers))
        check_equal(set(totals) - {"step"}, counts, f"the first {layers} blocks")
    check_equal(widths(DEEP | {"first_k_dense_replace": 5})["gate_up"], (5, 32, 64, 192), "none with experts")


def test_a_file_with_repeats_has_kinds_of_blocks():
    """The page recommends this file for blocks that differ in another way."""
    lines = [
        f"{name},{cin},{cout},1,,5"
        for name, cin, cout in (("qkv_a", 64, 48), ("q_b", 24, 64), ("kv_b", 16, 64), ("o", 32, 64))
    ]
    lines += [
        "dense_up,64,192,1,,2",
        "dense_down,96,64,1,,2",
        "up,64,32,4,2/4,3",
        "down,16,64,4,2/4,3",
        "shared_up,64,32,1,,3",
        "shared_down,16,64,1,,3",
    ]
    pathlib.Path("kinds.csv").write_text("\n".join(["name,cin,cout,count,tokens,repeat", *lines, ""]))
    for tokens in ("1", "40"):
        words = ("--config", "small", "--tokens", tokens, "--serial")
        got, want = explored("kinds.csv", *words)[-1], hf(DEEP | {"first_k_dense_replace": 2}, *words)[-1]
        for name in (*SUMS, "weight_bytes", "copy_bytes", "activation_bytes", "gradient_bytes", "optimizer_bytes"):
            check_equal(got[name], want[name], f"{name}, {tokens} tokens")


def test_kinds_of_blocks_side_by_side_are_one_list():
    """Two blocks of each kind run as one list, so a file that names all layers takes the same cycles. More blocks are
    extrapolated."""

    def file(dense, experts):
        lines = ["name,cin,cout,count,tokens"]
        for i in range(dense + experts):
            lines += [f"qkv_a{i},64,48,1,", f"q_b{i},24,64,1,", f"kv_b{i},16,64,1,", f"o{i},32,64,1,"]
            inner = (("", 96, 1, ""),) if i < dense else (("", 16, 4, "2/4"), ("s", 16, 1, ""))
            for name, width, count, tokens in inner:
                lines += [f"{name}up{i},64,{2 * width},{count},{tokens}", f"{name}down{i},{width},64,{count},{tokens}"]
        pathlib.Path("all.csv").write_text("\n".join(lines) + "\n")
        return explored("all.csv", *words)[-1]

    for words in (
        ["--config", "small", "--tokens", "80", "--batches", "1"],
        ["--config", "default", "--tokens", "64", "--batches", "2"],
    ):
        for dense, experts in ((1, 1), (2, 2), (3, 4)):
            rows = hf(DEEP | {"first_k_dense_replace": dense, "num_hidden_layers": dense + experts}, *words)
            step, blocks = rows[-1], {r["layer"]: r for r in rows if r["pass"] == "all"}
            want = file(dense, experts)
            check_equal(
                [step[name] for name in ("macs", "read_bytes", "write_bytes", "quant_blocks")],
                [want[name] for name in ("macs", "read_bytes", "write_bytes", "quant_blocks")],
                "sums",
            )
            part = abs(int(step["cycles"]) / int(want["cycles"]) - 1)
            check(
                part < (0.01 if dense > 2 else 1e-9),
                f"{words}, {dense} and {experts} blocks: {step['cycles']} cycles, {want['cycles']} of the whole list",
            )
            check_equal(
                [int(blocks[name]["count"]) for name in ("block_dense", "block_experts")], [dense, experts], "blocks"
            )


def ring(n, size, speed):
    return (n - 1) * (size / n / speed + 0.002)


def stage_times(totals, weights, dense, experts, pipeline, speed):
    """Returns the milliseconds of a step whose stages have so many blocks of each kind, with 4 replicas, 2 chips per
    layer, 2 us per message and `speed` in bytes per ms."""
    forward = 2 * 2 * ring(2, 2 * 40 * 64, speed)  # outputs of o and down, scattered and gathered
    back = sum(2 * ring(2, 2 * 40 * cin, speed) for cin in (24, 16, 64))  # dX of q_b, kv_b, gate_up
    attention = 64 * 48 + (24 * 64 + 16 * 64 + 32 * 64) / 2
    late = compute = gather = reduce = 0
    for kind, count in (("experts", experts), ("dense", dense)):
        each = int(totals[f"block_{kind}"]["cycles"]) / 1e6
        shared, own = weights[kind]
        one = 2 * ring(4, 4 * (attention + shared / 2), speed) + (2 * ring(4, 4 * own / 2, speed) if own else 0)
        for _ in range(count):
            late = max(0, late - 2 / 3 * each - back) + one
        compute, gather, reduce = compute + count * each, gather + count * (forward + back), reduce + count * one
    send = 0 if pipeline == 1 else 2 * (2 * 40 * 64 / speed + 0.002)
    parts = compute, gather, send, (pipeline - 1) * (compute + gather + send), reduce, late
    return *parts, sum(parts) - reduce


def test_blocks_of_two_kinds_share_stages():
    names = ["compute_ms", "gather_ms", "send_ms", "bubble_ms", "reduce_ms", "reduce_exposed_ms", "chips_ms"]
    stages = {
        1: [(2, 3)],
        2: [(2, 0), (0, 3)],
        3: [(1, 0), (1, 1), (0, 2)],
        5: [(1, 0), (0, 1)],
    }  # dense blocks, and blocks with experts
    longest = set()
    for width, of_token, experts in (
        (96, 2, 4),
        (960, 1, 400),
    ):  # the second ones' blocks with experts take less time, and have more weights
        config = DEEP | {
            "first_k_dense_replace": 2,
            "intermediate_size": width,
            "n_routed_experts": experts,
            "num_experts_per_tok": of_token,
        }
        # The second number of each pair is the weights of experts.
        weights = {"dense": (3 * 64 * width, 0), "experts": (3 * 64 * 16, 3 * 64 * 16 * experts)}
        for pipeline, kinds in stages.items():
            for gbps in (0.05, 1, 100):
                totals, _ = step_of(config, "--chips", f"4x2x{pipeline}", "--link", f"{gbps},2")
                every = [stage_times(totals, weights, *kind, pipeline, gbps * 1e6) for kind in kinds]
                slowest = max(every, key=lambda one: one[-1])
                longest.add((every.index(slowest), every.index(max(every, key=lambda one: one[0]))))
                for name, want in zip(names, slowest, strict=True):
                    check(
                        abs(float(totals["step"][name]) - want) < 6e-5,
                        f"{width}, {pipeline} stages, {gbps} GB/s: {name} is {totals['step'][name]}, by hand {want}",
                    )
    check(
        any(step != compute for step, compute in longest),
        f"the slowest stages, and those that compute longest, are {longest}",
    )
    # The shared expert's output is scattered, even though the sums of the others have been.
    gathers = [step_of(DEEP, "--chips", f"4x2x1x{n}", "--link", "1,2")[0]["step"]["gather_ms"] for n in (1, 2)]
    check_equal(gathers[1], gathers[0], "gathered between chips that share layers")
    passes(
        "explore",
        "--hf",
        "config.json",
        "--layers",
        "4",
        "--config",
        "small",
        "--tokens",
        "40",
        "--chips",
        "1x1x4",
        "--link",
        "1,1",
        "-o",
        "out",
    )


MOE = (
    HF
    | EXPERTS
    | {
        "model_type": "qwen2_moe",
        "num_experts": 12,
        "shared_expert_intermediate_size": 0,
        "num_experts_per_tok": 4,
        "num_hidden_layers": 3,
    }
)


def check_util(row, macs):
    """Checks the utilization of 64 MACs per cycle to the printed digit."""
    want = 100 * macs / 64 / int(row["cycles"])
    check(
        abs(float(row["util_percent"]) - want) < 0.0501,
        f"{row['layer']}, {row['tokens']} tokens: {row['util_percent']} against {want}",
    )


def test_idle_experts_do_nothing():
    """A token has 4 of 12 experts: 1 token activates 4 with a row each, 2 activate 8, and 4 tokens activate 12 with two
    rows each, a third of which are padding."""
    for tokens, active, rows_of_one, real in (
        (1, 4, 1, 4),
        (2, 8, 1, 8),
        (3, 12, 1, 12),
        (4, 12, 2, 16),
        (6, 12, 2, 24),
    ):
        for options in (["--serial"], ["--batches", "1"]):
            rows = hf(MOE, "--config", "small", "--tokens", str(tokens), *options)
            experts = {r["pass"]: r for r in rows if r["layer"] == "gate_up" and not r["tensor"]}
            one = experts["fprop"]
            check_equal(
                (int(one["count"]), int(one["m"])), (3 * active, rows_of_one), f"{tokens} tokens: experts, rows"
            )
            check_util(one, real / active * 64 * 32)
            step = next(r for r in rows if r["layer"] == "step" and r["pass"] == "all")
            dense = 64 * 128 + 64 * 64
            all_macs = 3 * 3 * (tokens * dense + real * (64 * 32 + 16 * 64))
            check_util(step, all_macs)
            check_equal(int(step["weight_bytes"]), 3 * 2 * (dense + 12 * (64 * 32 + 16 * 64)), "weights of all experts")
            if options == ["--serial"]:
                check_equal(
                    sum(int(r["cycles"]) * int(r["count"]) for r in rows if r["pass"] != "all"),
                    int(step["cycles"]),
                    "cycles",
                )


def test_lines_of_a_file_share_their_tokens():
    pathlib.Path("s.csv").write_text(
        "name,cin,cout,count,kind,tokens,repeat\nfew,64,32,4,linear,2/8,2\none,64,32,1,linear,2/8,\nall,64,32,3,,,\n"
    )
    for tokens, want in (
        (1, {"few": (2, 1), "one": (1, 1), "all": (3, 1)}),
        (3, {"few": (6, 1), "one": (1, 1), "all": (3, 3)}),
        (6, {"few": (8, 2), "one": (1, 2), "all": (3, 6)}),
    ):
        rows = explored("s.csv", "--config", "small", "--tokens", str(tokens), "--serial")
        check_equal(
            {r["layer"]: (int(r["count"]), int(r["m"])) for r in rows if r["pass"] == "fprop"}, want, f"{tokens} tokens"
        )


if __name__ == "__main__":
    stand.main(globals())
