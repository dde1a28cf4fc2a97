// SPDX-License-Identifier: Apache-2.0
// Contract fp32 with E4M3 scales on compute capability 9.0: the blocks of gemm_folded_t as products
// of a warpgroup, each from zero and so exact, and one addition for each in increasing k. Blocks of
// threads stay, one a multiprocessor: three warpgroups multiply, of which each adds a product while
// the next is under way, and one thread of a fourth loads.
#ifndef UFP4_CUDA_GEMM_FP32_CUH
#define UFP4_CUDA_GEMM_FP32_CUH

#include "result.cuh"
#include "ring.cuh"

enum {
  FP32_USERS = 3,
  FP32_THREADS = WARPGROUP * (FP32_USERS + 1),
  FP32_ROWS = 64 * FP32_USERS,
  FP32_HALVES = 2,  // products side by side, of 64 columns each
  FP32_COLS = 64 * FP32_HALVES,
  FP32_K = 64,                      // elements of k in a stage: 128 bytes
  FP32_PRODUCTS = 4 * FP32_HALVES,  // of a warpgroup, in a stage
  FP32_UNROLLED = 2,                // stages until the products are drained
  FP32_BAND = 16,
  FP32_A_BYTES = FP32_ROWS * 128,
  FP32_STAGE_BYTES = FP32_A_BYTES + FP32_COLS * 128,
  FP32_STAGES = 5,
  // Of the 65,536 registers of a multiprocessor, 512 x 128 are shared out anew.
  FP32_USER_REGISTERS = 160,
  FP32_LOADER_REGISTERS = 32
};
static_assert(FP32_USERS * FP32_USER_REGISTERS + FP32_LOADER_REGISTERS <= (FP32_USERS + 1) * 128,
              "more registers than the launch has are waited for for ever");

typedef ring_t<FP32_STAGES, FP32_STAGE_BYTES> fp32_ring_t;

/** Whole groups of stages; beyond k the copy engine gives zeros, and a block of zeros adds +0. */
GPU int fp32_chunks(const gpu_gemm_t &g) {
  const int64_t step = FP32_K * FP32_UNROLLED;
  return (int)((g.job.k + step - 1) / step) * FP32_UNROLLED;
}

/** First row and column of a tile. @return false behind the last. */
GPU bool fp32_tile(const gpu_gemm_t &g, unsigned tile, int64_t *row, int64_t *col) {
  const unsigned rows = (unsigned)((g.job.a.rows + FP32_ROWS - 1) / FP32_ROWS),
                 cols = (unsigned)((g.job.b.rows + FP32_COLS - 1) / FP32_COLS);
  if (tile >= rows * cols) return false;
  gemm_place(tile, FP32_BAND, rows, cols, row, col);
  *row *= FP32_ROWS;
  *col *= FP32_COLS;
  return true;
}

GPU void fp32_load(const CUtensorMap *a, const CUtensorMap *b, const gpu_gemm_t &g,
                   fp32_ring_t ring) {
  const int chunks = fp32_chunks(g);
  int64_t row, col;
  for (unsigned tile = blockIdx.x; fp32_tile(g, tile, &row, &col); tile += gridDim.x) {
    for (int chunk = 0; chunk < chunks; chunk++) {
      ring_fill(ring, FP32_STAGE_BYTES);
      gpu_copy_box(ring.address(), a, chunk * FP32_K, (int)row, ring.filled());
      gpu_copy_box(ring.address() + FP32_A_BYTES, b, chunk * FP32_K, (int)col, ring.filled());
      ring.advance();
    }
  }
}

/** Product @p index of a warpgroup in the stage at @p address, its own group: 16 of k after
 * another, in each the halves. */
GPU void fp32_multiply(float (&product)[32], uint32_t address, int warpgroup, int index) {
  const uint64_t a = gpu_wgmma_operand(address + (uint32_t)warpgroup * 64 * 128),
                 b = gpu_wgmma_operand(address + FP32_A_BYTES + index % FP32_HALVES * 64 * 128);
  gpu_wgmma_begin();
  gpu_wgmma_bf16(product, a + 2 * (index / FP32_HALVES), b + 2 * (index / FP32_HALVES));
  gpu_wgmma_commit();
}

/** The stages of a tile into the sums. No product is under way over the back edge: ptxas would let
 * each wait for the one before. */
GPU void fp32_sums(fp32_ring_t *ring, int warpgroup, int chunks, float (&sums)[FP32_HALVES][32]) {
  float products[2][32];
  for (int chunk = 0; chunk < chunks; chunk += FP32_UNROLLED) {
    uint32_t address[FP32_UNROLLED], freed[FP32_UNROLLED];
#pragma unroll
    for (int u = 0; u < FP32_UNROLLED; u++) {
      gpu_barrier_wait(ring->filled(), ring->parity);
      address[u] = ring->address();
      freed[u] = ring->freed();
      ring->advance();
    }
    fp32_multiply(products[0], address[0], warpgroup, 0);
#pragma unroll
    for (int i = 0; i < FP32_UNROLLED * FP32_PRODUCTS; i++) {
      const int next = i + 1;
      if (next < FP32_UNROLLED * FP32_PRODUCTS) {
        fp32_multiply(products[next % 2], address[next / FP32_PRODUCTS], warpgroup,
                      next % FP32_PRODUCTS);
        gpu_wgmma_wait<1>();
      } else {
        gpu_wgmma_wait<0>();
      }
      gpu_keep(products[i % 2]);
      if (next % FP32_PRODUCTS == 0) ring_release(freed[i / FP32_PRODUCTS]);
#pragma unroll
      for (int e = 0; e < 32; e++) sums[i % FP32_HALVES][e] += products[i % 2][e];
      gpu_keep(sums[i % FP32_HALVES]);
    }
  }
}

GPU void fp32_use(const gpu_gemm_t &g, fp32_ring_t ring) {
  // Uniform, or the operands' places would go through vector registers at every product.
  const int warpgroup = gpu_uniform((int)threadIdx.x / WARPGROUP);
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % WARPGROUP / 32;
  const int chunks = fp32_chunks(g);
  int64_t row, col;
  for (unsigned tile = blockIdx.x; fp32_tile(g, tile, &row, &col); tile += gridDim.x) {
    float sums[FP32_HALVES][32];
#pragma unroll
    for (int i = 0; i < FP32_HALVES * 32; i++) sums[i / 32][i % 32] = 0.0f;
    fp32_sums(&ring, warpgroup, chunks, sums);
    const gemm_factors_t f = gemm_factors<float>(g.job);
    const uint32_t poisoned = gemm_poisoned_columns<FP32_COLS / 32>(g, col);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const gemm_row_t at =
          gemm_row(g, f, (int)row + 64 * warpgroup + 16 * warp + lane / 4 + 8 * half,
                   (int)col + lane % 4 * 2, poisoned);
#pragma unroll
      for (int p = 0; p < FP32_COLS / 8; p++) {
        const float *pair = &sums[p / 8][p % 8 * 4 + 2 * half];
        gemm_store_pair(g, f, at, p, pair[0], pair[1]);
      }
    }
  }
}

GPU_KERNEL void GPU_LAUNCH_BOUNDS_BLOCKS(FP32_THREADS, 1)
    fp32_kernel(GPU_PARAMETER CUtensorMap a, GPU_PARAMETER CUtensorMap b,
                GPU_PARAMETER gpu_gemm_t g) {
#if GPU_HAS_WARPGROUPS
  const fp32_ring_t ring = ring_start<FP32_STAGES, FP32_STAGE_BYTES>(FP32_USERS);
  if (threadIdx.x >= FP32_USERS * WARPGROUP) {
    gpu_registers_down<FP32_LOADER_REGISTERS>();
    if (threadIdx.x == FP32_USERS * WARPGROUP) fp32_load(&a, &b, g, ring);
  } else {
    gpu_registers_up<FP32_USER_REGISTERS>();
    fp32_use(g, ring);
  }
#endif
}

#endif
