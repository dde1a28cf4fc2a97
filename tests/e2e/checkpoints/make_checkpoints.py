# SPDX-License-Identifier: Apache-2.0
"""Small checkpoints of each layout that ufp4 reads, made by the packages that define them, and what those decode.

make_checkpoints.py FOLDER writes them into FOLDER, one folder each (README.md beside this file says how each is made).
make_checkpoints.py --check FOLDER makes them anew and compares; it exits with 77, and says why, without the packages or
with others than the committed files were made with.

A folder holds a checkpoint and decoded.safetensors.gz: of some layers the weight [out][in] that the package decodes, as
F32 where every step of the package is exact, else as the BF16 that it rounds to.
"""

import gzip
import json
import pathlib
import random
import shutil
import struct
import sys
import tempfile

PACKAGES = {
    "torch": "2.15.0",
    "safetensors": "0.8.0",
    "transformers": "5.24.0",
    "compressed-tensors": "0.20.0",
    "nvidia-modelopt": "0.47.0",
    "torchao": "0.18.0",
}
# 448 * 6 / 2^13: with this largest number a weight's tensor scale is a power of two, so that decoding rounds nothing.
EXACT = 0.328125
LAYER = "model.layers.0."
EXACT_LAYER, OTHER_LAYER = LAYER + "mlp.down_proj", LAYER + "self_attn.o_proj"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def import_packages():
    """Imports the packages, or exits with 77 if their versions are not those of PACKAGES."""
    from importlib import metadata

    for name, version in PACKAGES.items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            skip(f"needs {name} {version} from PyPI")
        if found.split("+")[0] != version:
            skip(f"needs {name} {version}, found {found}")
    global torch, save_file
    import torch
    from safetensors.torch import save_file


def write_decoded(folder, layers):
    """Writes layers {name: (weight as the package decodes it, whether every step was exact)}."""
    tensors = {name: weight.float() if exact else weight.to(torch.bfloat16) for name, (weight, exact) in layers.items()}
    path = folder / "decoded.safetensors"
    save_file({name: t.contiguous() for name, t in tensors.items()}, path, metadata=PACKAGES)
    (folder / "decoded.safetensors.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()


def gaussian(rows, cols, seed, largest=None):
    """Returns BF16 weights [rows][cols]; their largest number is `largest`, if given."""
    generator = random.Random(f"{rows} {cols} {seed}")
    weight = torch.tensor([[generator.gauss(0, 0.08) for _ in range(cols)] for _ in range(rows)], dtype=torch.bfloat16)
    if largest is not None:
        weight = weight.clamp(-0.3, 0.3)
        weight[rows // 2, 3] = largest
    return weight


def tiny_llama():
    """Returns a model with one block, whose down_proj has the largest number EXACT."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=16,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=32,
        tie_word_embeddings=False,
        architectures=["LlamaForCausalLM"],
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    with torch.no_grad():
        for seed, (name, parameter) in enumerate(sorted(model.named_parameters())):
            if parameter.dim() == 2:
                parameter.copy_(gaussian(*parameter.shape, seed, EXACT if "down_proj" in name else None))
    return model


def module_of(model, layer):
    return dict(model.named_modules())[layer]


# --- compressed-tensors ---------------------------------------------------------------------------------------


def set_parameters(module):
    """Sets the scales of a weight by the formulas of compressed-tensors."""
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

    args = module.quantization_scheme.weights
    weight = module.weight.detach()
    low, high = weight.float().aminmax()
    if hasattr(module, "weight_global_scale"):
        module.weight_global_scale.data.copy_(generate_gparam(low, high))
    groups = weight.float().reshape(weight.shape[0], -1, args.group_size)
    scale, _ = calculate_qparams(
        groups.amin(-1), groups.amax(-1), args, global_scale=getattr(module, "weight_global_scale", None)
    )
    module.weight_scale.data.copy_(scale)
    if hasattr(module, "input_global_scale"):
        module.input_global_scale.data.fill_(100.0)


def make_compressed_tensors(folder, preset, shard):
    from compressed_tensors.compressors import BaseCompressor, ModelCompressor
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config, preset_name_to_scheme

    model = tiny_llama()
    scheme = preset_name_to_scheme(preset, ["Linear"])
    apply_quantization_config(model, QuantizationConfig(config_groups={"group_0": scheme}, ignore=["lm_head"]))
    for module in model.modules():
        if getattr(module, "quantization_scheme", None) is not None and hasattr(module, "weight_scale"):
            set_parameters(module)
    compressor = ModelCompressor.from_pretrained_model(model)
    compressor.compress_model(model)
    model.save_pretrained(folder, max_shard_size=shard)
    compressor.update_config(folder)
    decoded = {}
    for layer in (EXACT_LAYER, OTHER_LAYER):
        module = module_of(model, layer)
        name = json.loads((folder / "config.json").read_text())["quantization_config"]["format"]
        state = {key: value.detach() for key, value in module.state_dict().items()}
        weight = BaseCompressor.get_value_from_registry(name).decompress(state, module.quantization_scheme)["weight"]
        decoded[layer] = weight, layer == EXACT_LAYER or preset.startswith("MXFP4")
    write_decoded(folder, decoded)


# --- ModelOpt -------------------------------------------------------------------------------------------------


def decode_modelopt(weight, scale, scale_2, exact):
    from modelopt.torch.quantization.qtensor import MXFP4QTensor, NVFP4QTensor

    dtype = torch.float32 if exact else torch.bfloat16
    shape = (weight.shape[0], 2 * weight.shape[1])
    if scale_2 is None:
        return MXFP4QTensor(shape, dtype, weight).dequantize(scale=scale, block_sizes={-1: 32})
    return NVFP4QTensor(shape, dtype, weight).dequantize(scale=scale, double_scale=scale_2, block_sizes={-1: 16})


def make_modelopt(folder, configuration):
    import modelopt.torch.quantization as mtq
    from modelopt.torch.export import export_hf_checkpoint
    from safetensors.torch import load_file

    model = mtq.quantize(tiny_llama(), getattr(mtq, configuration), lambda m: m(torch.arange(16).reshape(1, 16)))
    export_hf_checkpoint(model, export_dir=folder)
    tensors = load_file(folder / "model.safetensors")
    decoded = {}
    for layer in (EXACT_LAYER, OTHER_LAYER):
        scale_2 = tensors.get(layer + ".weight_scale_2")
        exact = layer == EXACT_LAYER or scale_2 is None
        decoded[layer] = (
            decode_modelopt(tensors[layer + ".weight"], tensors[layer + ".weight_scale"], scale_2, exact),
            exact,
        )
    write_decoded(folder, decoded)


# --- torchao ----------------------------------------------------------------------------------------------------


def save_torchao(folder, weights):
    """weights: {layer: (quantized weight, whether every step of its decoding is exact)}"""
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

    state = {layer + ".weight": weight for layer, (weight, _) in weights.items()}
    state["lm_head.weight"] = gaussian(4, 16, 0)
    tensors, metadata = flatten_tensor_state_dict(state)
    save_file(tensors, folder / "model.safetensors", metadata=metadata)
    write_decoded(
        folder,
        {
            layer: (weight.dequantize(torch.float32 if exact else torch.bfloat16), exact)
            for layer, (weight, exact) in weights.items()
        },
    )


def large_blocks(rows, cols, block):
    """Returns a weight of many rows whose blocks hold one number each, so that only the swizzled scales differ."""
    generator = random.Random(5)
    numbers = [
        [generator.gauss(0, 1) * 2.0 ** generator.randrange(-3, 4) for _ in range(cols // block)] for _ in range(rows)
    ]
    return torch.tensor(numbers, dtype=torch.bfloat16).repeat_interleave(block, dim=1)


def make_torchao_nvfp4(folder):
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale

    def quantized(weight, **how):
        return NVFP4Tensor.to_nvfp4(weight, per_tensor_scale=per_tensor_amax_to_scale(weight.abs().max()), **how)

    swizzled = large_blocks(132, 80, 16)
    save_torchao(
        folder,
        {
            EXACT_LAYER: (quantized(gaussian(32, 64, 1, EXACT)), True),
            OTHER_LAYER: (quantized(gaussian(32, 32, 2), act_per_tensor_scale=torch.tensor(0.01)), False),
            LAYER + "mlp.up_proj": (quantized(swizzled, is_swizzled_scales=True), False),
            LAYER + "mlp.gate_proj": (NVFP4Tensor.to_nvfp4(gaussian(16, 32, 3), is_swizzled_scales=True), True),
        },
    )
    (folder / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "torchao"}}) + "\n")


def make_torchao_mxfp4(folder):
    from torchao.prototype.mx_formats.mx_tensor import MXTensor

    def quantized(weight, **how):
        return MXTensor.to_mx(weight, torch.float4_e2m1fn_x2, 32, **how)

    save_torchao(
        folder,
        {
            EXACT_LAYER: (quantized(gaussian(32, 64, 1)), True),
            LAYER + "mlp.up_proj": (quantized(large_blocks(132, 160, 32), is_swizzled_scales=True), True),
        },
    )


# --- gpt-oss ------------------------------------------------------------------------------------------------------


def mxfp4_experts(experts, rows, cols, seed):
    """Returns (blocks [experts][rows][groups][16], scales [experts][rows][groups]) of random weights, quantized by
    ModelOpt."""
    from modelopt.torch.quantization.qtensor import MXFP4QTensor

    weight = gaussian(experts * rows, cols, seed)
    packed, scale = MXFP4QTensor.quantize(weight, 32)
    groups = cols // 32
    return (
        packed._quantized_data.reshape(experts, rows, groups, 16).contiguous(),
        scale.reshape(experts, rows, groups).contiguous(),
    )


def make_gpt_oss(folder, prefix, names, ending, config):
    """Makes a checkpoint by hand after transformers' integrations/mxfp4.py, which also decodes it."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    tensors, decoded = {}, {}
    for seed, (name, rows, cols) in enumerate(names):
        blocks, scales = mxfp4_experts(3, rows, cols, seed)
        tensors[f"{prefix}{name}{ending}blocks"], tensors[f"{prefix}{name}{ending}scales"] = blocks, scales
        weights = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32).transpose(1, 2)
        decoded |= {f"{prefix}{name}:{expert}": (weights[expert], True) for expert in (0, 2)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config) + "\n")
    write_decoded(folder, decoded)


def makers():
    """Returns {name of a folder: function that makes its contents}."""
    return {
        "compressed-tensors-nvfp4": lambda f: make_compressed_tensors(f, "NVFP4", "4KB"),
        "compressed-tensors-mxfp4": lambda f: make_compressed_tensors(f, "MXFP4A16", "1GB"),
        "modelopt-nvfp4": lambda f: make_modelopt(f, "NVFP4_DEFAULT_CFG"),
        "modelopt-mxfp4": lambda f: make_modelopt(f, "MXFP4_DEFAULT_CFG"),
        "torchao-nvfp4": make_torchao_nvfp4,
        "torchao-mxfp4": make_torchao_mxfp4,
        "gpt-oss": lambda f: make_gpt_oss(
            f,
            LAYER + "mlp.experts.",
            [("gate_up_proj", 8, 64), ("down_proj", 16, 32)],
            "_",
            {"model_type": "gpt_oss", "quantization_config": {"quant_method": "mxfp4"}},
        ),
        "gpt-oss-original": lambda f: make_gpt_oss(
            f, "block.0.mlp.", [("mlp1_weight", 8, 64)], ".", {"num_experts": 3}
        ),
    }


# --- Files ----------------------------------------------------------------------------------------------------------


def contents(path):
    """Returns what must be equal in a file; the order of the keys in a JSON object may differ."""
    data = path.read_bytes()
    if path.name.endswith(".gz"):
        data = gzip.decompress(data)
    if ".safetensors" in path.name and path.suffix != ".json":
        length = struct.unpack_from("<Q", data)[0]
        return json.loads(data[8 : 8 + length]), data[8 + length :]
    return json.loads(data)


def write(folder):
    for name, make in makers().items():
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        make(place)
        (place / "generation_config.json").unlink(missing_ok=True)
        for path in place.iterdir():
            path.chmod(0o644)


def check(folder):
    with tempfile.TemporaryDirectory() as fresh:
        fresh = pathlib.Path(fresh)
        write(fresh)
        made = sorted(p.relative_to(fresh) for p in fresh.rglob("*") if p.is_file())
        kept = sorted(p.relative_to(folder) for p in folder.glob("*/*") if p.is_file())
        if made != kept:
            sys.exit(f"files {[str(p) for p in kept]}, made anew {[str(p) for p in made]}")
        for path in made:
            if contents(fresh / path) != contents(folder / path):
                sys.exit(f"{path} differs from what is made anew")
    print(f"{len(made)} files as they are made anew")


if __name__ == "__main__":
    import_packages()
    if sys.argv[1] == "--check":
        check(pathlib.Path(sys.argv[2]))
    else:
        write(pathlib.Path(sys.argv[1]))
