# SPDX-License-Identifier: Apache-2.0
"""explore: the models that it knows, those of transformers' configurations, and their experts."""

import csv
import json
import os
import pathlib

import bench
from bench import check, check_equal, passes, rejects


def explore(*words):
    """The rows of explore.csv of a run that must succeed."""
    passes("explore", *words, "-o", "out")
    with open("out/explore.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_models_are_what_their_papers_say():
    # Parameters of a block's linear layers, in millions.
    for model, blocks, parameters in (
        ("llama-7b", 32, 202.4),
        ("llama-3-8b", 32, 218.1),
        ("llama-3-70b", 80, 855.6),
        ("mixtral-8x7b", 32, 1451.2),
        ("moe", 32, 1451.2),
        ("mamba-2", 64, 40.2),
        ("gpt2", 12, 7.1),
    ):
        rows = explore(model, "--config", "large", "--tokens", "16", "--serial")
        weights = sum(int(r["count"]) * int(r["n"]) * int(r["k"]) for r in rows if r["pass"] == "fprop")
        check_equal(round(weights / blocks / 1e6, 1), parameters, f"parameters of a block of {model}")


def hf(config, *words):
    pathlib.Path("config.json").write_text(json.dumps(config))
    return explore("--hf", "config.json", *words)


def widths(config):
    rows = hf(config, "--config", "large", "--tokens", "32", "--serial")
    return {r["layer"]: (int(r["count"]), int(r["m"]), int(r["k"]), int(r["n"])) for r in rows if r["pass"] == "fprop"}


def weights(model_type, **sizes):
    """cin and cout of each layer of a block."""
    return {
        name: sides[2:] for name, sides in widths({"model_type": model_type, "num_hidden_layers": 1, **sizes}).items()
    }


SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
HF = {"model_type": "llama", **SIZES}
GPT = {"n_embd": 64, "n_layer": 1, "n_head": 4}
LATENT = {"kv_lora_rank": 16, "q_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
EXPERTS = {"num_experts_per_tok": 1, "moe_intermediate_size": 16}


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
    """Falcon 7B and 40B, and StarCoder's smallest, by hand from their weights."""
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
    page, source = ((root / name).read_text() for name in ("docs/howto/explore.md", "drivers/tools/explore/hf.c"))
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
    rejects(2, "/dev/zero: 16 MiB or more, which no", "explore", "--hf", "/dev/zero", "-o", "out")
    pathlib.Path("config.json").write_text(json.dumps(HF)[:-1] + ', "hidden_size": 32}')
    rejects(2, "duplicate object key", "explore", "--hf", "config.json", "-o", "out")
    rejects(2, "--mem-latency: '0' is no whole number from 1 to", "explore", "gpt2", "-o", "out", "--mem-latency", "0")


def test_configurations_of_no_model_are_refused():
    unknown = "config.json: model_type {}: its sizes are of no model that is known"
    others = ("mamba", "nemotron", "vit", "cohere", "jamba", "llam", "llamas")
    for text, message in (
        ("{", "config.json: "),
        ("[]", "config.json: no configuration of a model"),
        ("{}", "config.json: there is no model_type in it"),
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
            "multi_query: neither true nor false",
        ),
    ):
        pathlib.Path("config.json").write_text(text)
        rejects(2, message, "explore", "--hf", "config.json", "-o", "out")
    rejects(2, "SHAPES or --hf config.json is needed", "explore", "-o", "out")


def test_rejects_configurations_whose_blocks_differ():
    moe = HF | {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
    differs = "config.json: {}: its blocks differ from each other"
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


# What deepseek-ai/DeepSeek-V3 publishes as its config.json; sizes as in arXiv 2412.19437, 4.2.
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
    """671 billion, of which a token sees 37: with head and router, and without norms; embeddings are looked up."""
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
SUMS = ["cycles", "stall_drain", "read_bytes", "bus_write_bytes", "macs", "quant_blocks"]


def step_of(config, *words):
    rows = hf(config, "--config", "small", "--tokens", "40", "--serial", "--host-bytes", "--clock-mhz", "1000", *words)
    totals = {r["layer"]: r for r in rows if r["pass"] == "all"}
    for name in SUMS:
        jobs = sum(int(r["count"]) * int(r[name] or 0) for r in rows if r["pass"] not in ("all", "forward", "backward"))
        check_equal(int(totals["step"][name]), jobs, f"{name} of all jobs")
    return totals, [r for r in rows if r["pass"] == "forward"]


def check_kinds(config, alike, dense, experts):
    """A model of both kinds against two of one each: with these fields no block, and each one, is dense."""
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
    # By hand: in the backward pass of the first or last block of a kind, the dense ones first.
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
    """What the page tells to do where blocks differ in another way."""
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
        got, want = explore("kinds.csv", *words)[-1], hf(DEEP | {"first_k_dense_replace": 2}, *words)[-1]
        for name in (*SUMS, "weight_bytes", "copy_bytes", "activation_bytes", "gradient_bytes", "optimizer_bytes"):
            check_equal(got[name], want[name], f"{name}, {tokens} tokens")


def test_kinds_of_blocks_side_by_side_are_one_list():
    """Two blocks of each kind are a list that is run: a file that names all of its layers takes the same cycles.
    More are extrapolated."""

    def file(dense, experts):
        lines = ["name,cin,cout,count,tokens"]
        for i in range(dense + experts):
            lines += [f"qkv_a{i},64,48,1,", f"q_b{i},24,64,1,", f"kv_b{i},16,64,1,", f"o{i},32,64,1,"]
            inner = (("", 96, 1, ""),) if i < dense else (("", 16, 4, "2/4"), ("s", 16, 1, ""))
            for name, width, count, tokens in inner:
                lines += [f"{name}up{i},64,{2 * width},{count},{tokens}", f"{name}down{i},{width},64,{count},{tokens}"]
        pathlib.Path("all.csv").write_text("\n".join(lines) + "\n")
        return explore("all.csv", *words)[-1]

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


def refuses_config(config, message, *words):
    pathlib.Path("config.json").write_text(json.dumps(config))
    rejects(
        2, f"ufp4 explore: config.json: {message}\n", "explore", "--hf", "config.json", "-o", "out", "--serial", *words
    )


def test_rejects_sizes_that_are_left_out():
    """Whose default in transformers is not what one would guess."""
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
            refuses_config(family | {name: value}, f"{name}: no number that this command takes")
    for value in (2, ["0"], {}):
        refuses_config(QWEN | {"mlp_only_layers": value}, "mlp_only_layers: no list of whole numbers")
    refuses_config(QWEN | {"mlp_only_layers": 2, "decoder_sparse_step": 9}, "mlp_only_layers: no list of whole numbers")


def test_rejects_sizes_that_do_not_go_together():
    mixtral = HF | {"model_type": "mixtral", "num_local_experts": 8}
    for config, message in (
        (mixtral | {"num_experts_per_tok": 9}, "num_experts_per_tok: not from 1 to num_local_experts"),
        (mixtral | {"num_experts_per_tok": 0}, "num_experts_per_tok: not from 1 to num_local_experts"),
        (QWEN | {"num_experts_per_tok": 5}, "num_experts_per_tok: not from 1 to num_experts"),
        (HF | {"num_key_value_heads": 3}, "num_attention_heads: no multiple of num_key_value_heads"),
        (HF | {"hidden_size": 250}, "hidden_size: no multiple of num_attention_heads"),
        ({"model_type": "gpt2", **GPT, "n_embd": 250}, "n_embd: no multiple of n_head"),
        (
            {
                "model_type": "falcon",
                "hidden_size": 64,
                "num_hidden_layers": 1,
                "num_attention_heads": 4,
                "multi_query": False,
                "num_kv_heads": 3,
            },
            "num_attention_heads: no multiple of num_kv_heads",
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
            "hidden_size times expand: no multiple of head_dim",
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
            config, f"--layers 9: it has blocks of two kinds, {own} in all by num_hidden_layers", "--layers", "9"
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


def ring(n, size, speed):
    return (n - 1) * (size / n / speed + 0.002)


def stage_times(totals, weights, dense, experts, pipeline, speed):
    """Milliseconds of a step whose stages have so many blocks of each kind:
    4 replicas, 2 chips a layer, 2 us, speed in bytes a ms."""
    forward = 2 * 2 * ring(2, 2 * 40 * 64, speed)  # what o and down give, scattered and gathered
    back = sum(2 * ring(2, 2 * 40 * cin, speed) for cin in (24, 16, 64))  # of q_b, kv_b, gate_up
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
    }  # dense blocks and ones with experts
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
        weights = {"dense": (3 * 64 * width, 0), "experts": (3 * 64 * 16, 3 * 64 * 16 * experts)}  # and of experts
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
    # What the shared expert gives is scattered, also where the others' sums have been.
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
    """Of 64 MACs a cycle, to the digit that is written."""
    want = 100 * macs / 64 / int(row["cycles"])
    check(
        abs(float(row["util_percent"]) - want) < 0.0501,
        f"{row['layer']}, {row['tokens']} tokens: {row['util_percent']} against {want}",
    )


def test_idle_experts_do_nothing():
    """4 of 12 experts a token: 1 token has 4 active ones with a row each, 2 have 8, 4 have 12 with two rows,
    of which a third is none."""
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
        rows = explore("s.csv", "--config", "small", "--tokens", str(tokens), "--serial")
        check_equal(
            {r["layer"]: (int(r["count"]), int(r["m"])) for r in rows if r["pass"] == "fprop"}, want, f"{tokens} tokens"
        )


if __name__ == "__main__":
    bench.main(globals())
