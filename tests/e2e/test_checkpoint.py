# SPDX-License-Identifier: Apache-2.0
"""Tests layers of other people's checkpoints, in tests/e2e/checkpoints: they decode as by the packages that made
them."""

import gzip
import json
import os
import pathlib
import shutil
import struct

import stand
from stand import check, check_equal, passes, rejects

FOLDER = pathlib.Path(__file__).resolve().parent / "checkpoints"
DOWN = "model.layers.0.mlp.down_proj"
OUT = "model.layers.0.self_attn.o_proj"


def use(name):
    """Copies a checkpoint into the test's folder."""
    shutil.copytree(FOLDER / name, name)
    return name


def change_json(path, change):
    value = json.loads(pathlib.Path(path).read_text())
    change(value)
    pathlib.Path(path).write_text(json.dumps(value))


def change_tensors(path, change):
    metadata, tensors = stand.read_safetensors(path)
    change(tensors)
    stand.write_safetensors(path, metadata, tensors)


def decoded(name):
    """Returns {layer: (dtype, decoded bit patterns, one after the other)}."""
    pathlib.Path("decoded.safetensors").write_bytes(
        gzip.decompress((FOLDER / name / "decoded.safetensors.gz").read_bytes())
    )
    _, tensors = stand.read_safetensors("decoded.safetensors")
    return {
        layer: (
            dtype,
            struct.unpack(f"<{len(data) // (4 if dtype == 'F32' else 2)}{'I' if dtype == 'F32' else 'H'}", data),
        )
        for layer, (dtype, _, data) in tensors.items()
    }


def bf16_bits(value):
    """Rounds a finite number to BF16, nearest, ties to even."""
    bits = stand.f32_bits(value)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def dequantized(place, note=""):
    """Returns all numbers of a layer, one after the other. The program must report ignored tensors, and nothing
    else."""
    result = passes("dequantize", place, "-o", "D.npy")
    check_equal(result.err.count("\n"), 1 if note else 0, f"lines of {result}")
    check(note in result.err, f"should say {note!r}: {result}")
    return [value for row in stand.read_npy("D.npy")[1] for value in row]


def check_layers(name, layers, note="", zero_signs=True):
    """Compares each layer with its package's decoding. `note` belongs to layers with a tensor scale for activations."""
    want = decoded(name)
    check_equal(sorted(want), sorted(layers), "layers")
    for layer in layers:
        dtype, bits = want[layer]
        got = dequantized(f"{FOLDER / name}:{layer}", note.replace("LAYER", layer) if layers[layer] else "")
        got = [stand.f32_bits(v) if dtype == "F32" else bf16_bits(v) for v in got]
        if not zero_signs:
            top = 1 << (31 if dtype == "F32" else 15)
            got, bits = [0 if b == top else b for b in got], [0 if b == top else b for b in bits]
        check_equal(len(got), len(bits), layer)
        for i, (g, w) in enumerate(zip(got, bits)):
            check(g == w, f"{name}, {layer}, element {i}: got 0x{g:x}, want 0x{w:x} ({dtype})")


def test_compressed_tensors_nvfp4_in_shards():
    check_layers(
        "compressed-tensors-nvfp4", {DOWN: True, OUT: True}, "ignored, for activations: LAYER.input_global_scale"
    )


def test_compressed_tensors_mxfp4():
    check_layers("compressed-tensors-mxfp4", {DOWN: False, OUT: False})


def test_modelopt_nvfp4():
    """ModelOpt's decoder gives every zero the sign +."""
    check_layers(
        "modelopt-nvfp4", {DOWN: True, OUT: True}, "ignored, for activations: LAYER.input_scale", zero_signs=False
    )


def test_modelopt_mxfp4():
    check_layers("modelopt-mxfp4", {DOWN: False, OUT: False})


def test_torchao_nvfp4_plain_and_swizzled():
    check_layers(
        "torchao-nvfp4",
        {DOWN: False, OUT: True, "model.layers.0.mlp.up_proj": False, "model.layers.0.mlp.gate_proj": False},
        "ignored, for activations: LAYER._weight_act_per_tensor_scale",
    )


def test_torchao_mxfp4_by_its_names():
    check_layers("torchao-mxfp4", {DOWN: False, "model.layers.0.mlp.up_proj": False})


def test_gpt_oss_experts():
    experts = "model.layers.0.mlp.experts."
    check_layers("gpt-oss", {f"{experts}{name}:{i}": False for name in ("gate_up_proj", "down_proj") for i in (0, 2)})
    check_layers("gpt-oss-original", {f"block.0.mlp.mlp1_weight:{i}": False for i in (0, 2)})


def test_a_file_and_its_folder_are_the_same():
    use("torchao-nvfp4")
    want = dequantized(f"torchao-nvfp4:{DOWN}")
    check_equal(dequantized(f"torchao-nvfp4/model.safetensors:{DOWN}"), want, "of the file")
    os.chdir("torchao-nvfp4")
    check_equal(dequantized(f"model.safetensors:{DOWN}"), want, "of the file in this folder")
    check_equal(dequantized(f".:{DOWN}"), want, "of this folder")


def test_original_configuration_of_modelopt():
    """If config.json does not name the quantizer, hf_quant_config.json does."""
    use("modelopt-nvfp4")
    change_json("modelopt-nvfp4/config.json", lambda c: c.pop("quantization_config"))
    dequantized(f"modelopt-nvfp4:{DOWN}", "ignored")
    change_json("modelopt-nvfp4/hf_quant_config.json", lambda c: c["producer"].update(name="somebody"))
    rejects(
        2,
        "according to its configuration 'somebody' quantized it",
        "dequantize",
        f"modelopt-nvfp4:{DOWN}",
        "-o",
        "E.npy",
    )


def test_codes_of_type_f4():
    def pack(tensors):
        dtype, shape, data = tensors[f"{DOWN}._weight_qdata"]
        tensors[f"{DOWN}._weight_qdata"] = "F4", [shape[0], 2 * shape[1]], data

    want = dequantized(f"{FOLDER}/torchao-mxfp4:{DOWN}")
    use("torchao-mxfp4")
    change_tensors("torchao-mxfp4/model.safetensors", pack)
    check_equal(dequantized(f"torchao-mxfp4:{DOWN}"), want, "values")


def same_product(layer, scale, block, codes, scales, rows, k, **more):
    """Multiplies a random tensor by a layer, and by a file of this program with the same codes and scales."""
    metadata = {"elem": "e2m1", "scale": scale, "block": str(block), "cols": str(k), **more}
    stand.write_safetensors(
        "W.safetensors",
        metadata,
        {"codes": ("U8", [rows, k // 2], codes), "scales": ("U8", [rows, k // block], scales)},
    )
    stand.write_npy("A.npy", stand.gaussian(3, k))
    passes("quantize", "A.npy", "-o", "A.safetensors", "--elem", "e2m1", "--scale", scale)
    passes("gemm", "A.safetensors", "W.safetensors", "-o", "want.npy")
    result = passes("gemm", "A.safetensors", layer, "-o", "got.npy")
    stand.same_bits(stand.read_npy("got.npy")[1], stand.read_npy("want.npy")[1], "D")
    return result


def test_gemm_multiplies_by_a_layer():
    _, tensors = stand.read_safetensors(FOLDER / "modelopt-nvfp4" / "model.safetensors")
    tensor_scale = struct.unpack("<f", tensors[f"{OUT}.weight_scale_2"][2])[0]
    result = same_product(
        f"{FOLDER}/modelopt-nvfp4:{OUT}",
        "nvfp4",
        16,
        tensors[f"{OUT}.weight"][2],
        tensors[f"{OUT}.weight_scale"][2],
        32,
        32,
        tensor_scale=f"{tensor_scale:.9g}",
    )
    check(
        f"ufp4 gemm: {FOLDER}/modelopt-nvfp4:{OUT}: ignored, for activations: {OUT}.input_scale" in result.err,
        result.err,
    )


def test_gemm_multiplies_by_an_expert():
    name = "model.layers.0.mlp.experts.gate_up_proj"
    _, tensors = stand.read_safetensors(FOLDER / "gpt-oss" / "model.safetensors")
    codes, scales = tensors[name + "_blocks"][2], tensors[name + "_scales"][2]
    same_product(f"{FOLDER}/gpt-oss:{name}:1", "e8m0", 32, codes[256:512], scales[16:32], 8, 64)


def refuse(words, place):
    rejects(2, words, "dequantize", place, "-o", "E.npy")


def test_rejects_layers_that_are_not_there():
    place = FOLDER / "compressed-tensors-nvfp4"
    refuse(
        "has no layer model.layers.0.mlp.down; the closest of its 7 layers in 4 bits is model.layers.0.mlp.down_proj",
        f"{place}:model.layers.0.mlp.down",
    )
    refuse("name a layer, as", place)
    refuse("it has 7 layers in 4 bits, such as model.layers.0.", f"{place}:")
    refuse("the closest of its 7 layers in 4 bits is model.layers.0.mlp.down_proj", f"{place}:{DOWN}.weight_packed")
    refuse("", f"{place}:{'x' * 5000}")


def test_rejects_layers_that_are_not_quantized():
    refuse(
        "layer lm_head is not quantized: the elements of lm_head.weight are BF16", f"{FOLDER}/modelopt-nvfp4:lm_head"
    )
    use("modelopt-nvfp4")

    def to_fp8(tensors):
        dtype, shape, data = tensors[f"{DOWN}.weight"]
        tensors[f"{DOWN}.weight"] = "F8_E4M3", shape, data

    change_tensors("modelopt-nvfp4/model.safetensors", to_fp8)
    refuse(f"the elements of {DOWN}.weight are F8_E4M3; U8 or F4 is needed", f"modelopt-nvfp4:{DOWN}")


def test_rejects_makers_that_are_unknown():
    use("gpt-oss")
    change_json("gpt-oss/config.json", lambda c: c["quantization_config"].update(quant_method="awq"))
    refuse(
        "according to its configuration 'awq' quantized it; only layers of compressed-tensors, modelopt, "
        "torchao and mxfp4",
        "gpt-oss:x",
    )
    change_json("gpt-oss/config.json", lambda c: c["quantization_config"].update(quant_method="torchao"))
    refuse("it has no 4-bit layer under the names of torchao", "gpt-oss:model.layers.0.mlp.experts.down_proj:0")
    pathlib.Path("gpt-oss/config.json").write_text("{,}")
    refuse("config.json: invalid JSON: line 1:", "gpt-oss:x")


def test_rejects_shards_that_are_missing():
    place = use("compressed-tensors-nvfp4")
    os.remove(f"{place}/model-00002-of-00003.safetensors")
    refuse(
        f"{place}/model-00002-of-00003.safetensors: the file is missing; model.safetensors.index.json says that it "
        f"holds {DOWN}.",
        f"{place}:{DOWN}",
    )
    dequantized(f"{place}:{OUT}", "ignored")
    change_json(f"{place}/model.safetensors.index.json", lambda c: c["weight_map"].update({f"{DOWN}.weight_packed": 7}))
    refuse("weight_map names no file for", f"{place}:{DOWN}")
    change_json(f"{place}/model.safetensors.index.json", lambda c: c.pop("weight_map"))
    refuse("the object weight_map is missing", f"{place}:{DOWN}")
    os.remove(f"{place}/model.safetensors.index.json")
    refuse("the folder holds neither model.safetensors nor model.safetensors.index.json", f"{place}:{DOWN}")


def refuse_changed(words, name, change, layer=DOWN):
    shutil.rmtree(name, ignore_errors=True)
    use(name)
    change_tensors(f"{name}/model.safetensors", change)
    refuse(words, f"{name}:{layer}")


def test_rejects_shapes_that_disagree():
    def shape(tensor, new):
        def change(tensors):
            dtype, _, data = tensors[tensor]
            tensors[tensor] = dtype, new, data

        return change

    refuse_changed(
        "32 x 64 codes do not match 64 x 2 scales; 32 x 4 scales are needed, or swizzled 32 x 16",
        "modelopt-nvfp4",
        shape(f"{DOWN}.weight_scale", [64, 2]),
    )
    refuse_changed("64 x 32 codes do not match 32 x 4 scales", "modelopt-nvfp4", shape(f"{DOWN}.weight", [64, 16]))
    refuse_changed(
        "codes of 1 dimensions do not match scales of 2 dimensions", "modelopt-nvfp4", shape(f"{DOWN}.weight", [1024])
    )
    refuse_changed(
        "codes of 2 dimensions do not match scales of 1 dimensions",
        "modelopt-nvfp4",
        shape(f"{DOWN}.weight_scale", [128]),
    )
    refuse_changed(
        "different numbers of experts",
        "gpt-oss-original",
        shape("block.0.mlp.mlp1_weight.blocks", [6, 4, 2, 16]),
        "block.0.mlp.mlp1_weight:0",
    )
    refuse_changed(
        "different numbers of blocks",
        "gpt-oss-original",
        shape("block.0.mlp.mlp1_weight.blocks", [3, 8, 16, 2]),
        "block.0.mlp.mlp1_weight:0",
    )


def test_rejects_experts_that_are_not_there():
    layer = f"{FOLDER}/gpt-oss:model.layers.0.mlp.experts.down_proj"
    for number in ("", ":3", ":99999999999999999999"):
        refuse("it has 3 experts; name one, as LAYER:0 to LAYER:2", layer + number)
    refuse("this layer has no experts", f"{FOLDER}/torchao-mxfp4:{DOWN}:0")


def test_rejects_scales_that_say_something_else():
    ct, mo = "compressed-tensors-mxfp4", "modelopt-nvfp4"
    refuse_changed(f"tensor {DOWN}.weight_scale_2 is missing", mo, lambda t: t.pop(f"{DOWN}.weight_scale_2"))
    for value in (0.0, -1.0, float("inf"), float("nan")):
        refuse_changed(
            "its tensor scale is not a finite number above 0",
            mo,
            lambda t: t.update({f"{DOWN}.weight_scale_2": ("F32", [], struct.pack("<f", value))}),
        )
    refuse_changed(
        "weight_scale_2 holds 2 numbers; 1 is needed",
        mo,
        lambda t: t.update({f"{DOWN}.weight_scale_2": ("F32", [2], bytes(8))}),
    )
    refuse_changed(
        "weight_scale_2 are F16; F32 is needed",
        mo,
        lambda t: t.update({f"{DOWN}.weight_scale_2": ("F16", [], bytes(2))}),
    )
    refuse_changed(
        "a scale is negative", mo, lambda t: t.update({f"{DOWN}.weight_scale": ("F8_E4M3", [32, 4], b"\xb8" * 128)})
    )
    refuse_changed(
        "it has a tensor scale, which E8M0 scales cannot have",
        ct,
        lambda t: t.update({f"{DOWN}.weight_global_scale": ("F32", [1], struct.pack("<f", 1))}),
    )
    refuse_changed(
        "its scales are F8_E4M3; U8 is needed",
        "gpt-oss-original",
        lambda t: t.update({"block.0.mlp.mlp1_weight.scales": ("F8_E4M3", [3, 8, 4], b"8" * 96)}),
        "block.0.mlp.mlp1_weight:0",
    )


def test_rejects_what_would_change_the_values():
    name = "compressed-tensors-mxfp4"
    use(name)
    change_tensors(
        f"{name}/model.safetensors", lambda t: t.update({f"{DOWN}.weight_zero_point": ("U8", [32, 2], bytes(64))})
    )
    refuse(f"it has {DOWN}.weight_zero_point, which changes the values and is not supported", f"{name}:{DOWN}")


def test_rejects_a_checkpoint_without_a_layer():
    refuse("of a checkpoint, name a layer as FILE:LAYER", FOLDER / "gpt-oss" / "model.safetensors")


if __name__ == "__main__":
    stand.main(globals())
