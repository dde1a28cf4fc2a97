// SPDX-License-Identifier: Apache-2.0
// Operands in the format of NVIDIA's own narrow GEMMs, for comparison.
#ifndef UFP4_CUDA_NARROW_CUH
#define UFP4_CUDA_NARROW_CUH

#include "jobs.cuh"
#include "number.cuh"

#define NARROW_THREADS 256

/** Returns E4M3 of an element times 2^exponent, -4 to 4: it has at most three significant bits and
 * lies between 2^-6 and 128, so it is exact. */
GPU uint32_t fp8_of(int quanta, int exponent) {
  if (quanta == 0) return 0;
  const uint32_t magnitude = (uint32_t)abs(quanta);
  const int top = 31 - __clz((int)magnitude);
  return (quanta < 0 ? 0x80u : 0u) | (uint32_t)(top + exponent + 7) << 3 |
         (magnitude << 3 >> top & 7);
}

/** Returns where cuBLASLt reads the scale of row r, block b. Scales are in tiles of 128 rows by 4
 * blocks, 512 bytes each; in a tile rows r, r + 32, r + 64 and r + 96 are adjacent (cuBLAS
 * documentation, "1D block scaling factors layout"). */
GPU int64_t fp4_scale_place(int64_t row, int64_t block, int64_t blocks) {
  const int64_t tile = row / 128 * ((blocks + 3) / 4) + block / 4;
  return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}

/** Each thread converts one block of one row; elements are row-major. FP8: the scales, powers of
 * two from 2^-4 to 2^4, are multiplied into the elements. */
template <bool FP4>
GPU_KERNEL void GPU_LAUNCH_BOUNDS(NARROW_THREADS)
    narrow_kernel(gpu_operand_t in, int64_t blocks, void *elements, uint8_t *scales) {
  const int64_t index = (int64_t)blockIdx.x * NARROW_THREADS + threadIdx.x, row = index / blocks;
  const int64_t block = index % blocks;
  if (row >= in.rows) return;
  const int64_t at = row / 16 * in.place.group + block * in.place.block + row % 16 * in.place.row;
  const uint64_t codes = in.codes[at];
  const uint32_t stored = ((const uint8_t *)in.scales)[at], scale = stored & 0x7F;
  if (FP4) {
    ((uint64_t *)elements)[index] = codes;
    scales[fp4_scale_place(row, block, blocks)] = (uint8_t)scale;
  } else {
    const int exponent = (int)(scale >> 3) - 7 - elem_frac(in.elem);
    for (int i = 0; i < 4; i++) {
      const uint32_t quanta =
          elem_decode_any(in.elem, stored, (uint32_t)(codes >> (16 * i)) & 0xFFFFu);
      uint32_t word = 0;
      for (int j = 0; j < 4; j++)
        word |= fp8_of((int8_t)(quanta >> (8 * j) & 255), exponent) << (8 * j);
      ((uint32_t *)elements)[index * 4 + i] = word;
    }
  }
}

#endif
