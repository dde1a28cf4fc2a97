# SPDX-License-Identifier: Apache-2.0
"""Compares Four Over Six by its authors' package with the golden model: witness_fouroversix.py PIPE.

The package's reference runs on any processor. It works in the type of its input, but its last step accepts only BF16.
Here its input is FP32 and that step gets the same values as BF16, which holds them all, so that everything before it is
FP32. Three differences remain: the package divides by the tensor scale where numerics.md multiplies by S, it divides by
each scale where numerics.md multiplies by e, and it keeps scales at 2^-6 or more. Tensors are therefore scaled so that
S is a power of two, blocks with a scale under 2^-6 are left out, and a block may differ if either choice of scale is a
near tie: if the errors differ by less than 1 part in 10^5, or a scale or a code is within 1 part in 10^5 of a boundary.
Exits 0, 1, or 77 without numpy, torch or the package.
"""

import sys

import pipe
from pipe import np

try:
    import torch
    from fouroversix.quantize import reference
except ModuleNotFoundError as error:
    print(f"skipped: {error}")
    sys.exit(77)

NEAR = 1e-5
E2M1 = np.array(pipe.MAGNITUDES["e2m1"])
E4M3 = pipe.E4M3[:0x7F]
MIDDLES = {"e2m1": (E2M1[1:] + E2M1[:-1]) / 2, "e4m3": (E4M3[1:] + E4M3[:-1]) / 2}

to_codes = reference.quantize_bf16_to_unpacked_fp4
reference.quantize_bf16_to_unpacked_fp4 = lambda x: to_codes(x.to(torch.bfloat16))
reference.to_blocked = lambda scales: scales  # leaves the rows of scales unchanged


def authors(x):
    """Returns codes, scale bytes and tensor scale of rows of blocks of 16, by the authors' package."""
    codes, scales, tensor = reference.quantize_to_fp4(torch.from_numpy(x))
    codes = codes.numpy()
    unpacked = np.stack([codes & 15, codes >> 4], axis=-1).reshape(x.shape)
    return unpacked, scales.view(torch.uint8).numpy(), tensor.numpy()[0]


def near_boundary(values, middles):
    """Returns whether any number along the last axis is close to a midpoint."""
    distance = np.abs(values[..., None] / middles - 1).min(axis=-1)
    return (distance < NEAR).any(axis=-1)


def near_ties(x):
    """Returns the blocks in which a rounding or the choice is too close to call, by float64 arithmetic; and the small
    blocks."""
    blocks = np.abs(x.astype(np.float64)).reshape(x.shape[0], -1, 16)
    peaks, doubtful, errors = blocks.max(axis=-1), np.zeros(blocks.shape[:2], bool), []
    for target in (6, 4):
        wanted = peaks / target
        scales = E4M3[np.searchsorted(MIDDLES["e4m3"], wanted)]
        small = wanted < 2.0**-6 * (1 + NEAR)
        doubtful |= near_boundary(wanted[..., None], MIDDLES["e4m3"]) | small
        quotients = blocks / np.where(small, 1, scales)[..., None]
        doubtful |= near_boundary(quotients, MIDDLES["e2m1"])
        values = E2M1[np.searchsorted(MIDDLES["e2m1"], quotients)]
        errors.append(((values * scales[..., None] - blocks) ** 2).sum(axis=-1))
    return doubtful | (np.abs(errors[0] - errors[1]) < NEAR * np.maximum(errors[0], errors[1]))


def tensors(seed):
    """Returns rows of whole blocks whose largest number is 1536."""
    for name, x in pipe.tensors(seed):
        if name not in ("gaussian", "outliers", "bf16", "sparse"):
            continue
        x = np.ascontiguousarray(x[:, : x.shape[1] // 16 * 16])
        if x.size and np.abs(x).max() > 0:
            x = (x * (np.float32(1500) / np.abs(x).max())).astype(np.float32)
            x.flat[np.abs(x).argmax()] = 1536
            yield name, x


def main(program):
    comparison, compared, blocks = pipe.Comparison(), 0, 0
    for seed in range(20):
        for name, x in tensors(seed):
            what = f"seed {seed}, {name} {x.shape}"
            got = pipe.quantize(program, x, "e2m1", "nvfp4", scale_round=3)
            codes, scales, tensor = authors(x)
            sure = ~near_ties(x)
            compared, blocks = compared + sure.sum(), blocks + sure.size
            # The package gives a block of zeros -0 and the smallest scale.
            zero = np.abs(x).reshape(*sure.shape, 16).max(axis=-1) == 0
            keep = sure & ~zero
            comparison.bits(f"{what}: tensor scale", got.tensor_scale.view(np.uint32), tensor.view(np.uint32))
            comparison.bits(f"{what}: scale", got.scales[keep], scales[keep])
            wanted = codes.reshape(*sure.shape, 16)[keep]
            given = got.codes.reshape(*sure.shape, 16)[keep]
            comparison.bits(f"{what}: code", np.where(given == 8, 0, given), np.where(wanted == 8, 0, wanted))
    print(f"{compared} of {blocks} blocks are no near ties")
    if compared < 0.9 * blocks:
        print("too few to say anything")
        return 1
    return comparison.finish("4/6 against fouroversix 0.1.0")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
