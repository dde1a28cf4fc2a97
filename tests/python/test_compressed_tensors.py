# SPDX-License-Identifier: Apache-2.0
"""Tests that compressed-tensors' NVFP4 has the same scales and codes (docs/howto/python.md)."""

import sys
import warnings

warnings.simplefilter("ignore")
try:
    import torch
    from compressed_tensors.quantization import QuantizationArgs, utils
    from compressed_tensors.quantization.lifecycle.forward import fake_quantize
except ImportError as error:
    print(f"skipped: {error}; ./ufp4 test --full installs it from PyPI")
    sys.exit(0)

from support import gaussian, np, same

import stand
import ufp4
from stand import check

NVFP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "symmetric": True, "group_size": 16}


def test_nvfp4_is_compressed_tensors():
    """It divides by scales where ufp4 multiplies, so a value may round differently; codes are at least 1/6 apart."""
    for seed in range(4):
        x = gaussian(512, 512, seed=seed)
        tensor = torch.from_numpy(x)
        blocks, settings = tensor.reshape(512, -1, 16), QuantizationArgs(**NVFP4)
        per_tensor = utils.generate_gparam(tensor.min(), tensor.max())
        scales, zeros = utils.calculate_qparams(blocks.amin(-1), blocks.amax(-1), settings, global_scale=per_tensor)
        q = ufp4.quantize(x, elem="e2m1", scale="nvfp4")
        same(q.scales, scales.to(torch.float8_e4m3fn).view(torch.uint8).numpy(), "scales")
        got, want = fake_quantize(tensor, scales, zeros, settings, global_scale=per_tensor).numpy(), q.dequantize()
        different = np.abs(got - want) > np.abs(want) * 2**-21
        check(np.count_nonzero(different) <= 4, f"{np.argwhere(different)}")  # within FP32 rounding of a boundary


if __name__ == "__main__":
    stand.main(globals())
