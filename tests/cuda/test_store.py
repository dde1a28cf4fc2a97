# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of sm_90a that a warp executes between two stores of two outputs, in FP32 and in BF16, and
the loads among them, because nothing hides the time that a GEMM spends on its sums.
test_store.py ROOT NVCC CUOBJDUMP"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT, NVCC, CUOBJDUMP = sys.argv[1:]
SOURCE = """
#include "drivers/backends/cuda/gemm_e8m0.cuh"
#include "drivers/backends/cuda/gemm_exact.cuh"
#include "drivers/backends/cuda/gemm_fp32.cuh"
#include "drivers/backends/cuda/gemm.cuh"
#define KERNEL template __global__ void
#define BOTH const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b
KERNEL gemm_kernel<gemm_folded_t, 128>(const __grid_constant__ gpu_gemm_t g);
KERNEL fp32_kernel<3, 1>(BOTH, const __grid_constant__ gpu_gemm_t g);
KERNEL fp32_kernel<2, 1>(BOTH, const __grid_constant__ gpu_gemm_t g);
KERNEL fp32_kernel<3, 2>(BOTH, const __grid_constant__ gpu_gemm_t g);
KERNEL fp32_kernel<2, 2>(BOTH, const __grid_constant__ gpu_gemm_t g);
"""
# The most instructions, and loads, that each kernel may execute between two markers (STG.E.64: two FP32, F2FP: two
# BF16) in the median pair. Contract exact loads the units of two columns; its passes with third digits have STG.E.64 of
# their own.
PAIRS = {
    "fp32_kernelILi2ELi1": {"STG.E.64": (36, 0), "F2FP": (40, 0)},
    "fp32_kernelILi2ELi2": {"STG.E.64": (36, 0), "F2FP": (40, 0)},
    "fp32_kernelILi3ELi1": {"STG.E.64": (36, 0), "F2FP": (40, 0)},
    "fp32_kernelILi3ELi2": {"STG.E.64": (36, 0), "F2FP": (40, 0)},
    "exact_kernel": {"F2FP": (68, 1)},
    "gemm_kernelI13gemm_folded_t": {"STG.E.64": (36, 0), "F2FP": (40, 0)},
    "e8m0_kernel": {"STG.E.64": (38, 0), "F2FP": (42, 0)},
}


def kernels():
    """Returns {name: [(address, text of the instruction)]}."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = pathlib.Path(folder, "stores.cu"), pathlib.Path(folder, "stores.cubin")
        source.write_text(SOURCE)
        flags = ["-std=c++17", "-O3", "-fmad=false", "-cubin", "-gencode", "arch=compute_90a,code=sm_90a"]
        includes = [f"-I{ROOT}", f"-I{ROOT}/cmodel/include", f"-I{ROOT}/drivers/backends/cuda/include"]
        subprocess.run([NVCC, *flags, *includes, "-o", cubin, source], check=True)
        text = subprocess.run([CUOBJDUMP, "-sass", cubin], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        if name := re.search(r"Function : (\S+)", line):
            found[name[1]] = code = []
        elif one := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?);", line):
            code.append((int(one[1], 16), one[2].strip()))
    return found


def opcode(text):
    return re.sub(r"^@!?U?P\w+ ", "", text).split()[0]


def successors(code):
    """Yields for each instruction the numbers of those that may follow it in a thread."""
    at = {address: n for n, (address, _) in enumerate(code)}
    for n, (_, text) in enumerate(code):
        name = opcode(text)
        target = [at[int(m, 16)] for m in re.findall(r"\b0x([0-9a-f]+)$", text)] if name.startswith("BRA") else []
        ends = name.startswith(("EXIT", "RET", "BRA")) and not text.startswith("@") and " P" not in text
        yield target + ([] if ends or n + 1 == len(code) else [n + 1])


def pairs(code, marker):
    """Yields for each instruction with this name the number of instructions to the nearest other one, and of loads
    among them."""
    after = list(successors(code))
    marked = {n for n, (_, text) in enumerate(code) if opcode(text).startswith(marker)}
    for first in marked:
        seen, ways = {first}, collections.deque([(first, 0, 0)])
        while ways:
            n, length, loads = ways.popleft()
            if n in marked and n != first:
                yield length, loads
                break
            for following in after[n]:
                if following not in seen:
                    seen.add(following)
                    load = opcode(code[following][1]).startswith(("LDG", "LD."))
                    ways.append((following, length + 1, loads + load))


def main():
    failed = False
    found = kernels()
    for kernel, outputs in PAIRS.items():
        (code,) = (code for name, code in found.items() if kernel in name)
        for store, (most, most_loads) in outputs.items():
            seen = sorted(pairs(code, store))
            assert len(seen) > 8, f"{kernel}: {len(seen)} pairs {store}"
            length, loads = seen[len(seen) // 2]
            print(
                f"{kernel} {store}: {len(seen)} pairs, {length} instructions (at most {most}), "
                f"{loads} loads ({most_loads})"
            )
            failed |= length > most or loads > most_loads
    return failed


if __name__ == "__main__":
    sys.exit(main())
