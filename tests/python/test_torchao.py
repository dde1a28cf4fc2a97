# SPDX-License-Identifier: Apache-2.0
"""Tests that torchao's MXFP4 and NVFP4 give the same scales and codes where their definitions agree;
docs/howto/python.md lists the settings."""

import sys
import warnings

warnings.simplefilter("ignore")
try:
    import torch
    from torchao.prototype.mx_formats import kernels, mx_tensor, nvfp4_tensor
except ImportError as error:
    print(f"skipped: {error}; ./ufp4 test --full installs it from PyPI")
    sys.exit(0)

from support import gaussian, np, same

import stand
import ufp4
from stand import check

MODES = {"down": mx_tensor.ScaleCalculationMode.FLOOR, "up": mx_tensor.ScaleCalculationMode.RCEIL}


def one_a_byte(packed):
    """Returns codes one per byte; the first is in the high nibble, or where torchao's version puts it."""
    return kernels.unpack_uint4(packed.view(torch.uint8)).numpy()


def test_mxfp4_is_torchaos():
    x = gaussian(256, 512) * np.exp2(np.arange(256, dtype=np.float32) / 3 - 40)[:, None]
    for round_, mode in MODES.items():
        for dtype in (torch.float32, torch.bfloat16):
            tensor = torch.from_numpy(x).to(dtype)
            scales, codes = mx_tensor.to_mx(tensor, torch.float4_e2m1fn_x2, 32, mode)
            q = ufp4.quantize(tensor.float().numpy(), elem="e2m1", scale="e8m0", scale_round=round_)
            same(q.scales, scales.view(torch.uint8).numpy(), f"{mode} scales")
            same(q.codes, one_a_byte(codes), f"{mode} codes")


def test_nvfp4_is_torchaos():
    """torchao divides where ufp4, like NVIDIA's kernels, multiplies by reciprocals. The tensor scale may differ in its
    last bit, and a number within 2^-21 of a boundary between two codes may get the other code, which happens to at most
    one in 2^20."""
    for seed in range(4):
        x = gaussian(512, 512, seed=seed)
        tensor = torch.from_numpy(x)
        tensor_scale = nvfp4_tensor.per_tensor_amax_to_scale(tensor.abs().max())
        scales, codes = nvfp4_tensor.nvfp4_quantize(tensor, 16, tensor_scale)
        q = ufp4.quantize(x, elem="e2m1", scale="nvfp4")
        check(abs(q.tensor_scale / tensor_scale.item() - 1) < 2**-22, f"{q.tensor_scale} and {tensor_scale.item()}")
        same(q.scales, scales.view(torch.uint8).numpy(), "scales")
        steps = np.abs((q.codes & 7).astype(int) - (one_a_byte(codes) & 7))
        check(
            np.count_nonzero(steps) <= 4 and steps.max() <= 1 and np.array_equal(q.codes >> 3, one_a_byte(codes) >> 3),
            f"{np.argwhere(steps)}",
        )


if __name__ == "__main__":
    stand.main(globals())
