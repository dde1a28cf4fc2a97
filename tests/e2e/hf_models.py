# SPDX-License-Identifier: Apache-2.0
"""Configurations of transformers' small models, and explorations of them."""

import json
import pathlib

from explorations import explored


def hf(config, *words):
    pathlib.Path("config.json").write_text(json.dumps(config))
    return explored("--hf", "config.json", *words)


def widths(config):
    rows = hf(config, "--config", "large", "--tokens", "32", "--serial")
    return {r["layer"]: (int(r["count"]), int(r["m"]), int(r["k"]), int(r["n"])) for r in rows if r["pass"] == "fprop"}


SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
HF = {"model_type": "llama", **SIZES}
LATENT = {"kv_lora_rank": 16, "q_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
EXPERTS = {"num_experts_per_tok": 1, "moe_intermediate_size": 16}
DEEP = (
    HF
    | EXPERTS
    | LATENT
    | {
        "model_type": "deepseek_v3",
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_hidden_layers": 5,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 0,
    }
)
QWEN = (
    HF
    | EXPERTS
    | {"model_type": "qwen2_moe", "num_experts": 4, "shared_expert_intermediate_size": 0, "num_hidden_layers": 6}
)
