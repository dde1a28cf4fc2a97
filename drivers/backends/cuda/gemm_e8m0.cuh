// SPDX-License-Identifier: Apache-2.0
// Contract fp32 with E8M0 scales of any size: a product of signed bytes, 32 of k, is one block of
// scales. Each warp has 32 x 32 outputs and reads its operands directly from global memory. On GPUs
// with warpgroup products it computes the jobs whose scales do not fold into BF16.
#ifndef UFP4_CUDA_GEMM_E8M0_CUH
#define UFP4_CUDA_GEMM_E8M0_CUH

#include "result.cuh"

enum {
  E8M0_SIDE = 64,  // outputs per side of a thread block
  E8M0_THREADS = 32 * (E8M0_SIDE / 32) * (E8M0_SIDE / 32)
};

/** Returns acc + block, rounded once. A block is at most 13 bits times a power of two: exact as
 * FP32 if that is far from the range's ends. Otherwise it is converted to double; then either the
 * sum is exact as well, or one of the two is so small that it cannot change the rounding
 * (cmodel/src/gemm/fp32.c). */
GPU float e8m0_add(float sum, float a, float b, float dot) {
  const float scale = a * b;
  if (scale >= 0x1p-100f && scale <= 0x1p100f) return sum + scale * dot;
  return (float)((double)sum + (double)a * (double)b * (double)dot);
}

/** Loads four bytes of a row's block of 32, from @p index on. */
GPU uint32_t e8m0_word(const gpu_unpacked_t &in, int64_t row, int64_t block, int index) {
  return *(const uint32_t *)(in.elements + (row * in.padded_blocks + block) * 16 + index);
}

GPU float e8m0_weight(const gpu_unpacked_t &in, int64_t row, int64_t block) {
  return ((const float *)in.weights)[block * in.padded_rows + row];
}

/** Accumulates the block that begins with @p block. PTX ISA, "Matrix Fragments for mma.m16n8k32":
 * the operands are rows g + 8 (i % 2) of A and column g of B, bytes from 4 t on of half i / 2, with
 * lane = 4 g + t. */
GPU void e8m0_block(const gpu_gemm_t &g, int64_t row, int64_t col, int64_t block,
                    float (&sums)[2][4][4]) {
  const int group = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
  uint32_t a[2][4], b[4][2];
  float weights_a[2][2], weights_b[4][2];
#pragma unroll
  for (int i = 0; i < 8; i++) {
    a[i / 4][i % 4] =
        e8m0_word(g.a, row + i / 4 * 16 + i % 2 * 8 + group, block, i % 4 / 2 * 16 + 4 * t);
    b[i / 2][i % 2] = e8m0_word(g.b, col + i / 2 * 8 + group, block, i % 2 * 16 + 4 * t);
    weights_b[i / 2][i % 2] = e8m0_weight(g.b, col + i / 2 * 8 + 2 * t + i % 2, block);
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    weights_a[i / 2][i % 2] = e8m0_weight(g.a, row + 8 * i + group, block);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    int32_t dots[4] = {0, 0, 0, 0};
    gpu_mma_s8_wide(dots, a[i / 4], b[i % 4]);
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float &sum = sums[i / 4][i % 4][e];
      sum =
          e8m0_add(sum, weights_a[i / 4][e / 2], weights_b[i % 4][e % 2], (float)dots[e] * g.unit);
    }
  }
}

GPU_KERNEL void GPU_LAUNCH_BOUNDS(E8M0_THREADS) e8m0_kernel(GPU_PARAMETER gpu_gemm_t g) {
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  int64_t row, col;
  if (g.a.span != nullptr && spans_fold(g.a, g.b)) return;
  gemm_place(blockIdx.x, 8, (unsigned)((g.job.a.rows + E8M0_SIDE - 1) / E8M0_SIDE),
             (unsigned)((g.job.b.rows + E8M0_SIDE - 1) / E8M0_SIDE), &row, &col);
  row = row * E8M0_SIDE + warp / (E8M0_SIDE / 32) * 32;
  col = col * E8M0_SIDE + warp % (E8M0_SIDE / 32) * 32;
  float sums[2][4][4] = {};
  for (int64_t block = 0; block < g.a.padded_blocks; block += 2)
    e8m0_block(g, row, col, block, sums);
  const gemm_factors_t f = gemm_factors<float>(g.job);
  const uint32_t poisoned = gemm_poisoned_columns<1>(g, col);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const gemm_row_t at =
        gemm_row(g, f, (int)row + 8 * i + lane / 4, (int)col + lane % 4 * 2, poisoned);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const float *pair = &sums[i / 2][j][i % 2 * 2];
      // A sum under half of the smallest number would give -0; it must be +0.
      gemm_store_pair(g, f, at, j, pair[0] + 0.0f, pair[1] + 0.0f);
    }
  }
}

#endif
