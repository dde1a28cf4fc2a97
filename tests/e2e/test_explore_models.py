# SPDX-License-Identifier: Apache-2.0
"""Tests explore with the models that it knows and with transformers' configurations."""

import json
import os
import pathlib

import stand
from stand import check, check_equal, passes, rejects
from explorations import explored
from hf_models import DEEP, EXPERTS, HF, LATENT, QWEN, SIZES, hf, widths


def test_models_are_what_their_papers_say():
    # The parameters of a block's linear layers, in millions.
    for model, blocks, parameters in (
        ("llama-7b", 32, 202.4),
        ("llama-3-8b", 32, 218.1),
        ("llama-3-70b", 80, 855.6),
        ("mixtral-8x7b", 32, 1451.2),
        ("moe", 32, 1451.2),
        ("mamba-2", 64, 40.2),
        ("gpt2", 12, 7.1),
    ):
        rows = explored(model, "--config", "large", "--tokens", "16", "--serial")
        weights = sum(int(r["count"]) * int(r["n"]) * int(r["k"]) for r in rows if r["pass"] == "fprop")
        check_equal(round(weights / blocks / 1e6, 1), parameters, f"parameters of a block of {model}")


def weights(model_type, **sizes):
    """Returns cin and cout of each layer of a block."""
    return {
        name: sides[2:] for name, sides in widths({"model_type": model_type, "num_hidden_layers": 1, **sizes}).items()
    }


GPT = {"n_embd": 64, "n_layer": 1, "n_head": 4}


def test_a_configuration_of_transformers_is_read():
    check_equal(
        widths(HF),
        {"qkv": (2, 32, 64, 128), "o": (2, 32, 64, 64), "gate_up": (2, 32, 64, 192), "down": (2, 32, 96, 64)},
        "llama",
    )
    check_equal(
        widths({"text_config": HF | {"head_dim": 32}}),
        {"qkv": (2, 32, 64, 256), "o": (2, 32, 128, 64), "gate_up": (2, 32, 64, 192), "down": (2, 32, 96, 64)},
        "of several modes",
    )
    moe = widths(HF | EXPERTS | {"model_type": "qwen2_moe", "num_experts": 4, "shared_expert_intermediate_size": 40})
    check_equal(
        {name: moe[name] for name in ("gate_up", "down", "shared_gate_up", "shared_down")},
        {
            "gate_up": (8, 8, 64, 32),
            "down": (8, 8, 16, 64),
            "shared_gate_up": (2, 32, 64, 80),
            "shared_down": (2, 32, 40, 64),
        },
        "experts",
    )
    mla = widths(
        HF
        | EXPERTS
        | LATENT
        | {"model_type": "deepseek_v3", "n_routed_experts": 4, "n_shared_experts": 2, "first_k_dense_replace": 0}
    )
    check_equal(
        {name: mla[name][2:] for name in ("qkv_a", "q_b", "kv_b", "o", "gate_up", "shared_gate_up")},
        {
            "qkv_a": (64, 48),
            "q_b": (24, 64),
            "kv_b": (16, 64),
            "o": (32, 64),
            "gate_up": (64, 32),
            "shared_gate_up": (64, 64),
        },
        "latent attention",
    )
    bare = widths(DEEP | {"q_lora_rank": None, "n_shared_experts": None})
    check_equal(
        {name: bare[name][2:] for name in bare if name in ("qkv_a", "q_b", "kv_b", "shared_gate_up")},
        {"qkv_a": (64, 24 + 64), "kv_b": (16, 64)},
        "null: none",
    )
    mamba = widths(
        {
            "model_type": "mamba2",
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "state_size": 16,
            "expand": 2,
            "head_dim": 16,
            "n_groups": 1,
        }
    )
    check_equal(mamba, {"in_proj": (2, 32, 64, 128 + 128 + 32 + 8), "out_proj": (2, 32, 128, 64)}, "Mamba-2")


def test_families_have_the_sizes_of_their_papers():
    """Compares Falcon 7B and 40B, and StarCoder's smallest model, with their weights by hand."""
    small = {"hidden_size": 4544, "num_attention_heads": 71}
    want = {"qkv": (4544, 4672), "proj": (4544, 4544), "fc1": (4544, 18176), "fc2": (18176, 4544)}
    check_equal(weights("falcon", **small, multi_query=True), want, "falcon 7B")
    check_equal(weights("falcon", **small), want, "one head of k and v where nothing is said")
    check_equal(weights("falcon", **small, multi_query=False)["qkv"], (4544, 3 * 4544), "as many heads of k and v")
    large = weights(
        "falcon",
        hidden_size=8192,
        num_attention_heads=128,
        num_kv_heads=8,
        new_decoder_architecture=True,
        multi_query=True,
    )
    check_equal((large["qkv"], large["fc1"]), ((8192, 9216), (8192, 32768)), "falcon 40B")
    coder = {"n_embd": 2048, "n_layer": 1, "n_head": 16, "n_inner": 8192}
    check_equal(
        weights("gpt_bigcode", **coder, multi_query=True),
        {"qkv": (2048, 2304), "proj": (2048, 2048), "fc1": (2048, 8192), "fc2": (8192, 2048)},
        "gpt_bigcode",
    )
    check_equal(weights("gpt_bigcode", **coder, multi_query=False)["qkv"], (2048, 6144), "without")


def test_families_have_a_gate_or_none():
    sizes = {**SIZES, "head_dim": 16}
    gated = {"qkv": (64, 128), "o": (64, 64), "gate_up": (64, 192), "down": (96, 64)}
    for family in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text"):
        check_equal(weights(family, **sizes), gated, family)
    check_equal(weights("mixtral", **sizes, num_local_experts=4, num_experts_per_tok=2), gated, "mixtral")
    check_equal(weights("qwen3_moe", **sizes, **EXPERTS, num_experts=4)["gate_up"], (64, 32), "qwen3_moe")
    check(
        "shared_gate_up"
        not in weights("qwen3_moe", **sizes, **EXPERTS, num_experts=4, shared_expert_intermediate_size=40),
        "qwen3_moe has no shared expert",
    )
    plain = {"qkv": (64, 192), "proj": (64, 64), "fc1": (64, 96), "fc2": (96, 64)}
    for family in ("gpt_neox", "bert"):
        check_equal(weights(family, **{**sizes, "head_dim": 32}), plain, family)
    check_equal(weights("opt", **SIZES, ffn_dim=96), plain, "opt")
    for family in ("phi", "starcoder2"):
        check_equal(weights(family, **SIZES), plain | {"qkv": (64, 128)}, family)
    for family in ("gpt2", "gptj"):
        check_equal(weights(family, **GPT, n_inner=96), plain, family)
        check_equal(weights(family, **GPT, n_inner=None)["fc1"], (64, 256), f"{family}: four times its width")
    check_equal(weights("bloom", hidden_size=64, n_head=4), plain | {"fc1": (64, 256), "fc2": (256, 64)}, "bloom")


def test_the_page_lists_every_family():
    root = pathlib.Path(__file__).parents[2]
    page, source = (
        (root / name).read_text() for name in ("docs/reference/models.md", "drivers/tools/explore/model/hf.c")
    )
    table = page.split("| `model_type` |")[1].split("\n\n")[0].splitlines()[2:]
    listed = [name.strip(" `") for line in table for name in line.split("|")[1].split(",")]
    known = [line.split('"')[1] for line in source.split("families[] = {\n")[1].split("};")[0].splitlines()]
    check_equal(sorted(listed), sorted(known), "families")


def test_more_families_and_what_they_leave_out():
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
    gated = {"qkv": (64, 128), "o": (64, 64), "gate_up": (64, 192), "down": (96, 64)}
    check_equal(weights("phi3", **sizes), gated, "phi3")
    sliding = {"layer_types": ["sliding_attention"], "num_local_experts": 4, "num_experts_per_tok": 2}
    wide = gated | {"qkv": (64, 256), "o": (128, 64)}
    check_equal(weights("gpt_oss", **sizes, **sliding, head_dim=32), wide, "gpt_oss")
    glm = {**sizes, **EXPERTS, "n_routed_experts": 4, "n_shared_experts": 2, "head_dim": 32, "num_hidden_layers": 2}
    glm |= {"model_type": "glm4_moe", "first_k_dense_replace": 1}
    found = {name: sides[2:] for name, sides in widths(glm).items()}
    both = wide | {"dense_gate_up": (64, 192), "dense_down": (96, 64), "gate_up": (64, 32), "down": (16, 64)}
    check_equal(found, both | {"shared_gate_up": (64, 64), "shared_down": (32, 64)}, "glm4_moe")
    pathlib.Path("config.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(HF | {"num_nextn_predict_layers": 1}).encode())
    done = passes("explore", "--hf", "config.json", "--config", "large", "--tokens", "32", "--serial", "-o", "out")
    check("num_nextn_predict_layers: 1 blocks are not counted" in done.err, done.err)
    for mark in (b"\xef\xbb\xbf", b""):
        end, pipe = os.pipe()
        os.write(pipe, mark + json.dumps(HF).encode())
        os.close(pipe)
        passes(
            "explore", "--hf", "/dev/stdin", "--config", "large", "--tokens", "32", "--serial", "-o", "out", stdin=end
        )
        os.close(end)
    rejects(2, "ufp4 explore: .: it cannot be read\n", "explore", "--hf", ".", "-o", "out")
    rejects(2, "/dev/zero: it has 16 MiB or more", "explore", "--hf", "/dev/zero", "-o", "out")
    pathlib.Path("config.json").write_text(json.dumps(HF)[:-1] + ', "hidden_size": 32}')
    rejects(2, "duplicate object key", "explore", "--hf", "config.json", "-o", "out")
    rejects(
        2, "--mem-latency: '0' is not a whole number from 1 to", "explore", "gpt2", "-o", "out", "--mem-latency", "0"
    )


def test_configurations_of_no_model_are_refused():
    unknown = "config.json: model_type {} is not supported"
    others = ("mamba", "nemotron", "vit", "cohere", "jamba", "llam", "llamas")
    for text, message in (
        ("{", "config.json: "),
        ("[]", "config.json: it is not the configuration of a model"),
        ("{}", "config.json: model_type is missing"),
        *((json.dumps(HF | {"model_type": name, "state_size": 16}), unknown.format(name)) for name in others),
        (
            json.dumps(
                {
                    "model_type": "falcon",
                    "hidden_size": 64,
                    "num_hidden_layers": 1,
                    "num_attention_heads": 4,
                    "multi_query": 1,
                }
            ),
            "multi_query is not true or false",
        ),
    ):
        pathlib.Path("config.json").write_text(text)
        rejects(2, message, "explore", "--hf", "config.json", "-o", "out")
    rejects(2, "SHAPES or --hf config.json is needed", "explore", "-o", "out")


def test_rejects_configurations_whose_blocks_differ():
    moe = HF | {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
    differs = "config.json: {}: this model's blocks differ from each other"
    for name, different, alike in (
        ("first_k_dense_replace", 3, 0),
        ("decoder_sparse_step", 2, 1),
        ("mlp_only_layers", [0], []),
        ("moe_layer_freq", [0, 1], 1),
        ("moe_layer_freq", 2.0, 1.0),
        ("hybrid_override_pattern", "M-*", ""),
        ("block_configs", [{}], None),
        ("block_configs", {"0": 1}, []),
        ("attn_layer_period", 8, 1),
        ("layer_types", ["full_attention", "linear_attention"], ["full_attention", "sliding_attention"]),
        ("layer_types", ["mamba"], None),
        ("layer_types", [1], []),
    ):
        pathlib.Path("config.json").write_text(json.dumps(moe | {name: different}))
        rejects(2, differs.format(name), "explore", "--hf", "config.json", "-o", "out")
        check_equal(len(hf(moe | {name: alike}, "--config", "large", "--tokens", "16", "--serial")) > 0, True, name)


# deepseek-ai/DeepSeek-V3 publishes this config.json; the sizes are those of arXiv 2412.19437, 4.2.
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 129280,
}


def test_deepseek_v3_has_the_weights_of_its_paper():
    """The model has 671 billion weights: embeddings, head, routers and linear layers, without norms. A token uses 37
    billion of them, none of the embeddings, which are looked up."""
    rows = hf(DEEPSEEK_V3, "--config", "large", "--tokens", "32", "--serial")
    layers = {r["layer"]: r for r in rows if r["pass"] == "fprop"}
    attention = 7168 * (1536 + 512 + 64) + 1536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 * 7168
    dense, expert = 3 * 7168 * 18432, 3 * 7168 * 2048
    linear = 61 * attention + 3 * dense + 58 * 257 * expert
    check_equal(int(rows[-1]["weight_bytes"]), 2 * linear, "weights by hand")
    embeddings = 129280 * 7168
    others = embeddings + 58 * 256 * 7168
    check_equal(round((linear + others + embeddings) / 1e9), 671, "as published")
    check_equal(round((61 * attention + 3 * dense + 58 * 9 * expert + others) / 1e9), 37, "of a token, as published")
    check_equal(
        {name: int(r["count"]) for name, r in layers.items()},
        {
            "qkv_a": 61,
            "q_b": 61,
            "kv_b": 61,
            "o": 61,
            "dense_gate_up": 3,
            "dense_down": 3,
            "gate_up": 58 * 256,
            "down": 58 * 256,
            "shared_gate_up": 58,
            "shared_down": 58,
        },
        "jobs",
    )
    check_equal(
        {r["layer"]: int(r["count"]) for r in rows if r["pass"] == "all"},
        {"block_dense": 3, "block_experts": 58, "step": 1},
        "totals",
    )
    check_equal(int(rows[-1]["macs"]), 3 * 32 * (61 * attention + 3 * dense + 58 * 9 * expert), "MACs")


def refuses_config(config, message, *words):
    pathlib.Path("config.json").write_text(json.dumps(config))
    rejects(
        2, f"ufp4 explore: config.json: {message}\n", "explore", "--hf", "config.json", "-o", "out", "--serial", *words
    )


def test_rejects_sizes_that_are_left_out():
    """Their defaults in transformers are not what one would expect."""
    deep, qwen = (
        (
            "q_lora_rank",
            "kv_lora_rank",
            "v_head_dim",
            "first_k_dense_replace",
            "n_shared_experts",
            "num_experts_per_tok",
        ),
        ("shared_expert_intermediate_size", "moe_intermediate_size"),
    )
    for family, names in (
        (DEEP, deep),
        (DEEP | {"model_type": "deepseek_v2"}, deep),
        (QWEN, qwen),
        (HF, ("intermediate_size",)),
        (HF | {"model_type": "qwen3", "head_dim": 16}, ("head_dim",)),
    ):
        for name in names:
            refuses_config({key: family[key] for key in family if key != name}, f"{name} is missing or null")
            if name not in ("q_lora_rank", "n_shared_experts"):
                refuses_config(family | {name: None}, f"{name} is missing or null")
    refuses_config(QWEN | {"mlp_only_layers": [1], "intermediate_size": None}, "intermediate_size is missing or null")
    refuses_config({"model_type": "gpt2", "n_layer": 1, "n_head": 4}, "hidden_size/n_embd/n_embed is missing or null")


def test_rejects_numbers_that_are_none():
    may_be_none = ("first_k_dense_replace", "q_lora_rank", "n_shared_experts", "shared_expert_intermediate_size")
    for family, name, values in (
        (DEEP, "first_k_dense_replace", (-1, 1.5, "1", True)),
        (DEEP, "moe_layer_freq", (0, [0, 1])),
        (DEEP, "q_lora_rank", ("24", 2.5)),
        (DEEP, "v_head_dim", (0,)),
        (DEEP, "n_shared_experts", (-1,)),
        (QWEN, "decoder_sparse_step", (0, 1.5)),
        (QWEN, "shared_expert_intermediate_size", ([],)),
        (QWEN | {"mlp_only_layers": [1]}, "intermediate_size", (0,)),
        (HF, "num_hidden_layers", (0, "2")),
        (HF, "hidden_size", (0, 10**12, "wide")),
        (HF, "num_key_value_heads", (0,)),
        (HF, "head_dim", (0, {})),
        (HF | {"model_type": "mixtral", "num_experts_per_tok": 1}, "num_local_experts", (0, -4)),
    ):
        for value in values:
            least = 0 if name in may_be_none else 1
            refuses_config(family | {name: value}, f"{name} is not a whole number from {least} to 1048576")
    for value in ("full_attention", 4, {}):
        refuses_config(HF | {"layer_types": value}, "layer_types is not a list")
    for value in (2, ["0"], {}):
        refuses_config(QWEN | {"mlp_only_layers": value}, "mlp_only_layers is not a list of whole numbers")
    refuses_config(
        QWEN | {"mlp_only_layers": 2, "decoder_sparse_step": 9}, "mlp_only_layers is not a list of whole numbers"
    )


def test_rejects_sizes_that_do_not_go_together():
    mixtral = HF | {"model_type": "mixtral", "num_local_experts": 8}
    for config, message in (
        (mixtral | {"num_experts_per_tok": 9}, "num_experts_per_tok is not from 1 to num_local_experts"),
        (mixtral | {"num_experts_per_tok": 0}, "num_experts_per_tok is not from 1 to num_local_experts"),
        (QWEN | {"num_experts_per_tok": 5}, "num_experts_per_tok is not from 1 to num_experts"),
        (HF | {"num_key_value_heads": 3}, "num_attention_heads is not a multiple of num_key_value_heads"),
        (HF | {"hidden_size": 250}, "hidden_size is not a multiple of num_attention_heads"),
        ({"model_type": "gpt2", **GPT, "n_embd": 250}, "n_embd is not a multiple of n_head"),
        (
            {
                "model_type": "falcon",
                "hidden_size": 64,
                "num_hidden_layers": 1,
                "num_attention_heads": 4,
                "multi_query": False,
                "num_kv_heads": 3,
            },
            "num_attention_heads is not a multiple of num_kv_heads",
        ),
        (
            {
                "model_type": "mamba2",
                "hidden_size": 50,
                "num_hidden_layers": 1,
                "state_size": 16,
                "n_groups": 1,
                "head_dim": 64,
            },
            "hidden_size times expand is not a multiple of head_dim",
        ),
    ):
        refuses_config(config, message)


def test_rejects_more_blocks_than_a_model_of_two_kinds_has():
    for config, own in (
        (DEEP | {"first_k_dense_replace": 2}, 5),
        (DEEP | {"first_k_dense_replace": 5}, 5),
        (QWEN | {"decoder_sparse_step": 2}, 6),
    ):
        refuses_config(
            config,
            f"--layers 9: a model with two kinds of blocks can have at most its own {own} (num_hidden_layers)",
            "--layers",
            "9",
        )
    for config in (DEEP, HF):
        check_equal(
            {
                r["count"]
                for r in hf(config, "--layers", "9", "--config", "small", "--tokens", "16", "--serial")
                if r["layer"] == "block"
            },
            {"9"},
            "blocks that are alike",
        )


if __name__ == "__main__":
    stand.main(globals())
