# SPDX-License-Identifier: Apache-2.0
"""Tests explore --hf with models whose blocks of two kinds alternate, against calculations by hand."""

import json
import pathlib

import stand
import hf_models
from stand import check, check_equal, rejects, slow

WORDS = ("--config", "large", "--serial", "--tokens", "512", "--clock-mhz", "1000")
QWEN = {
    "model_type": "qwen3_next",
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "num_experts": 512,
    "num_experts_per_tok": 10,
    "moe_intermediate_size": 512,
    "intermediate_size": 5120,
    "shared_expert_intermediate_size": 512,
    "full_attention_interval": 4,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
}
LLAMA = {
    "model_type": "llama4_text",
    "hidden_size": 5120,
    "num_hidden_layers": 48,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_local_experts": 128,
    "num_experts_per_tok": 1,
    "intermediate_size": 8192,
    "intermediate_size_mlp": 16384,
    "interleave_moe_layer_step": 2,
}


def hf(config, *words):
    return hf_models.hf(config, *WORDS, *words)


def layers(rows):
    """Returns for each layer of the forward pass its count, cin and cout."""
    return {r["layer"]: (int(r["count"]), int(r["k"]), int(r["n"])) for r in rows if r["pass"] == "fprop"}


def weights(rows):
    return sum(count * cin * cout for count, cin, cout in layers(rows).values())


def test_qwen3_next_has_the_weights_of_its_name():
    """The model has 80 billion weights, 0.62 billion of them in embeddings and head. Three of four blocks have delta
    nets."""
    rows = hf(QWEN)
    shapes = layers(rows)
    check_equal(shapes["qkv"], (12, 2048, (2 * 16 + 2 * 2) * 256), "q, its gate, k and v")
    check_equal(shapes["o"], (12, 4096, 2048), "o")
    check_equal(shapes["delta_in"], (36, 2048, 2 * 2048 + 2 * 4096 + 2 * 32), "q, k, v, gate and two numbers a head")
    check_equal(shapes["delta_out"], (36, 4096, 2048), "out")
    check_equal((shapes["gate_up"], shapes["shared_down"]), ((48 * 512, 2048, 1024), (48, 512, 2048)), "experts")
    check(79.0e9 < weights(rows) < 79.4e9, f"{weights(rows)} weights")
    check_equal([r["layer"] for r in rows if r["pass"] == "all"], ["block_delta", "block_full", "step"], "totals")
    few = layers(hf(QWEN, "--layers", "3"))
    check_equal(("qkv" in few, few["delta_in"][0]), (False, 3), "the first three have no attention")
    check_equal(layers(hf(QWEN | {"full_attention_interval": 1}))["qkv"][0], 48, "all have")


@slow
def test_llama_4_has_the_weights_of_its_name():
    """The model has 400 billion weights, 2.07 billion of them in embeddings and head, and 128 experts in every second
    block."""
    rows = hf(LLAMA)
    shapes = layers(rows)
    check_equal(shapes["qkv"], (48, 5120, 56 * 128), "qkv")
    check_equal(shapes["dense_gate_up"], (24, 5120, 2 * 16384), "dense")
    check_equal((shapes["gate_up"], shapes["shared_gate_up"]), ((24 * 128, 5120, 16384), (24, 5120, 16384)), "experts")
    check(398e9 < weights(rows) < 399e9, f"{weights(rows)} weights")
    scout = layers(hf(LLAMA | {"interleave_moe_layer_step": 1, "num_local_experts": 16}))
    check_equal(("dense_gate_up" in scout, scout["gate_up"][0]), (False, 48 * 16), "experts in all")
    dense = layers(hf(LLAMA, "--layers", "1"))
    check_equal(dense["gate_up"], (1, 5120, 2 * 16384), "the first block alone")


@slow
def test_kinds_that_alternate_are_shared_evenly():
    """Each stage has the same number of blocks with experts, which it would not if the blocks of one kind came
    first."""
    words = ("--link", "100,1", "--micro-batches", "2", "--chips")
    config = LLAMA | {"num_hidden_layers": 8, "num_local_experts": 4}
    one, two, four = (hf(config, *words, chips)[-1] for chips in ("1x1x1", "1x1x2", "1x1x4"))
    whole = int(one["chip_weight_bytes"])
    check_equal(whole, 2 * weights(hf(config)), "BF16 of all")
    check_equal([int(r["chip_weight_bytes"]) for r in (two, four)], [whole // 2, whole // 4], "weights of a chip")
    for part, r in ((2, two), (4, four)):
        check(abs(part * float(r["compute_ms"]) / float(one["compute_ms"]) - 1) < 1e-3, f"{part} stages")


@slow
def test_two_blocks_that_alternate_are_one_of_each_kind_behind_the_other():
    glm = LLAMA | {"model_type": "glm4_moe", "n_shared_experts": 1, "first_k_dense_replace": 1}
    glm |= {"intermediate_size": 16384, "moe_intermediate_size": 8192}
    words, shared = ("--link", "100,1", "--chips", "2x1x2"), {"num_hidden_layers": 2, "num_local_experts": 4}
    one, other = (hf(config | shared, *words)[-1] for config in (LLAMA, glm))
    for name in ("cycles", "live_bytes", "chip_bytes", "chips_ms", "reduce_exposed_ms"):
        check_equal(one[name], other[name], name)


@slow
def test_replicas_hide_what_alternating_blocks_hide():
    config = LLAMA | {"num_hidden_layers": 4, "num_local_experts": 4}
    step = hf(config, "--link", "1,1", "--chips", "4x1x1")[-1]
    cycles = {r["layer"]: float(r["cycles"]) / 1e6 for r in hf(config) if r["pass"] == "all"}
    sizes = {"block_dense": 5120 * 56 * 128 + 40 * 128 * 5120 + 3 * 5120 * 16384, "block_experts": 0}
    sizes["block_experts"] = 5120 * 56 * 128 + 40 * 128 * 5120 + 5 * 3 * 5120 * 8192
    left = 0
    for kind in ("block_experts", "block_dense") * 2:
        ring = 3 * (4 * sizes[kind] / 4 / 1e6 + 1e-3)
        left = max(0, left - cycles[kind] * 2 / 3) + 2 * ring
    check(abs(float(step["reduce_exposed_ms"]) / left - 1) < 1e-4, f"{step['reduce_exposed_ms']}, by hand {left}")


@slow
def test_kinds_that_do_not_alternate_so_are_refused():
    for config, message in (
        (QWEN | {"layer_types": ["full_attention", "linear_attention"]}, "layer_types: entry 0 does not match"),
        (QWEN | {"decoder_sparse_step": 2}, "its blocks are of more than two kinds"),
        (QWEN | {"linear_num_value_heads": 24}, "linear_num_value_heads is not a multiple of linear_num_key_heads"),
        (LLAMA | {"moe_layers": [0, 2]}, "moe_layers does not match interleave_moe_layer_step"),
    ):
        pathlib.Path("config.json").write_text(json.dumps(config))
        rejects(2, message, "explore", "--hf", "config.json", "-o", "out", *WORDS)
    pathlib.Path("config.json").write_text(json.dumps(LLAMA))
    rejects(
        2,
        "--layers 49: a model with two kinds of blocks can have at most its own 48",
        "explore",
        "--hf",
        "config.json",
        "-o",
        "no",
        "--layers",
        "49",
    )
    listed = LLAMA | {"moe_layers": list(range(1, 48, 2)), "layer_types": ["chunked_attention", "full_attention"] * 24}
    check_equal(layers(hf(listed)), layers(hf(LLAMA)), "said twice")
    types = (["linear_attention"] * 3 + ["full_attention"]) * 12
    check_equal(layers(hf(QWEN | {"layer_types": types})), layers(hf(QWEN)), "said twice")


if __name__ == "__main__":
    stand.main(globals())
