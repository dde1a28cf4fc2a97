// SPDX-License-Identifier: Apache-2.0
// Contract fp32 with E4M3 and E8M0 scales on compute capability 9.0: the blocks of gemm_folded_t
// are products of a warpgroup, each exact because it starts from zero, and each is added in
// increasing k. With E8M0 a block is two products of 16, of which the second adds to the first.
// Thread blocks are persistent, one per multiprocessor: two or three warpgroups multiply, each
// adding a product while the next is under way, and one thread of another warpgroup loads.
#ifndef UFP4_CUDA_GEMM_FP32_CUH
#define UFP4_CUDA_GEMM_FP32_CUH

#include "result.cuh"
#include "ring.cuh"

enum {
  FP32_HALVES = 2,  // products side by side, of 64 columns each
  FP32_COLS = 64 * FP32_HALVES,
  FP32_K = 64,        // elements of k in a stage: 128 bytes
  FP32_UNROLLED = 2,  // stages before the products are drained
  FP32_BAND = 16
};

/** A tile of @p USERS multiplying warpgroups. The registers of the launch are redistributed
 * between the warpgroups. */
template <int USERS>
struct fp32_shape_t {
  enum {
    THREADS = WARPGROUP * (USERS + 1),
    ROWS = 64 * USERS,
    A_BYTES = ROWS * 128,
    STAGE_BYTES = A_BYTES + FP32_COLS * 128,
    STAGES = USERS == 3 ? 5 : 6,
    LAUNCH_REGISTERS = USERS == 3 ? 128 : 168,
    USER_REGISTERS = USERS == 3 ? 160 : 232,
    LOADER_REGISTERS = USERS == 3 ? 32 : 24
  };
  static_assert(USERS * USER_REGISTERS + LOADER_REGISTERS <= (USERS + 1) * LAUNCH_REGISTERS,
                "more registers than the launch has are waited for for ever");
  typedef ring_t<STAGES, STAGE_BYTES> ring;
};

/** Rounds up to whole groups of stages; beyond k the copy engine delivers zeros, and a block of
 * zeros adds +0. */
GPU int fp32_chunks(const gpu_gemm_t &g) {
  const int64_t step = FP32_K * FP32_UNROLLED;
  return (int)((g.job.k + step - 1) / step) * FP32_UNROLLED;
}

/** Returns the first row and column of a tile. @return false behind the last. */
template <int USERS>
GPU bool fp32_tile(const gpu_gemm_t &g, unsigned tile, int64_t *row, int64_t *col) {
  const unsigned height = fp32_shape_t<USERS>::ROWS;
  const unsigned rows = (unsigned)((g.job.a.rows + height - 1) / height),
                 cols = (unsigned)((g.job.b.rows + FP32_COLS - 1) / FP32_COLS);
  if (tile >= rows * cols) return false;
  gemm_place(tile, FP32_BAND, rows, cols, row, col);
  *row *= height;
  *col *= FP32_COLS;
  return true;
}

template <int USERS>
GPU void fp32_load(const CUtensorMap *a, const CUtensorMap *b, const gpu_gemm_t &g,
                   typename fp32_shape_t<USERS>::ring ring) {
  typedef fp32_shape_t<USERS> shape;
  const int chunks = fp32_chunks(g);
  int64_t row, col;
  for (unsigned tile = blockIdx.x; fp32_tile<USERS>(g, tile, &row, &col); tile += gridDim.x) {
    for (int chunk = 0; chunk < chunks; chunk++) {
      ring_fill(ring, shape::STAGE_BYTES);
      gpu_copy_box(ring.address(), a, chunk * FP32_K, (int)row, ring.filled());
      gpu_copy_box(ring.address() + shape::A_BYTES, b, chunk * FP32_K, (int)col, ring.filled());
      ring.advance();
    }
  }
}

/** Issues block @p index of a warpgroup in the stage at @p address as its own group: one block of
 * scales after another, each of @p LENGTH products in each half. */
template <int USERS, int LENGTH>
GPU void fp32_multiply(float (&product)[32], uint32_t address, int warpgroup, int index) {
  const uint64_t at = (uint64_t)(2 * LENGTH * (index / FP32_HALVES));
  const uint64_t a = at + gpu_wgmma_operand(address + (uint32_t)warpgroup * 64 * 128),
                 b = at + gpu_wgmma_operand(address + fp32_shape_t<USERS>::A_BYTES +
                                            index % FP32_HALVES * 64 * 128);
  gpu_wgmma_begin();
  gpu_wgmma_bf16<false>(product, a, b);
  if (LENGTH == 2) gpu_wgmma_bf16<true>(product, a + 2, b + 2);
  gpu_wgmma_commit();
}

/** Accumulates the stages of a tile. No product is under way at the loop's back edge, because
 * ptxas would otherwise make each one wait for the previous one. */
template <int USERS, int LENGTH>
GPU void fp32_sums(typename fp32_shape_t<USERS>::ring *ring, int warpgroup, int chunks,
                   float (&sums)[FP32_HALVES][32]) {
  const int blocks = 4 / LENGTH * FP32_HALVES;  // blocks of a warpgroup in a stage
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
    fp32_multiply<USERS, LENGTH>(products[0], address[0], warpgroup, 0);
#pragma unroll
    for (int i = 0; i < FP32_UNROLLED * blocks; i++) {
      const int next = i + 1;
      if (next < FP32_UNROLLED * blocks) {
        fp32_multiply<USERS, LENGTH>(products[next % 2], address[next / blocks], warpgroup,
                                     next % blocks);
        gpu_wgmma_wait<1>();
      } else {
        gpu_wgmma_wait<0>();
      }
      gpu_keep(products[i % 2]);
      if (next % blocks == 0) ring_release(freed[i / blocks]);
#pragma unroll
      for (int e = 0; e < 32; e++) sums[i % FP32_HALVES][e] += products[i % 2][e];
      gpu_keep(sums[i % FP32_HALVES]);
    }
  }
}

template <int USERS, int LENGTH>
GPU void fp32_use(const gpu_gemm_t &g, typename fp32_shape_t<USERS>::ring ring) {
  // This value is uniform; otherwise the operand addresses would go through vector registers for
  // every product.
  const int warpgroup = gpu_uniform((int)threadIdx.x / WARPGROUP);
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % WARPGROUP / 32;
  const int chunks = fp32_chunks(g);
  int64_t row, col;
  for (unsigned tile = blockIdx.x; fp32_tile<USERS>(g, tile, &row, &col); tile += gridDim.x) {
    float sums[FP32_HALVES][32];
#pragma unroll
    for (int i = 0; i < FP32_HALVES * 32; i++) sums[i / 32][i % 32] = 0.0f;
    fp32_sums<USERS, LENGTH>(&ring, warpgroup, chunks, sums);
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

/** Multiplies tiles; if operands with E8M0 scales do not fold, e8m0_kernel computes them instead.
 * @p LENGTH: 1 with E4M3 scales, 2 with E8M0. */
template <int USERS, int LENGTH>
GPU_KERNEL void GPU_LAUNCH_BOUNDS_BLOCKS(fp32_shape_t<USERS>::THREADS, 1)
    fp32_kernel(GPU_PARAMETER CUtensorMap a, GPU_PARAMETER CUtensorMap b,
                GPU_PARAMETER gpu_gemm_t g) {
#if GPU_HAS_WARPGROUPS
  typedef fp32_shape_t<USERS> shape;
  if (LENGTH == 2 && !spans_fold(g.a, g.b)) return;
  const typename shape::ring ring = ring_start<shape::STAGES, shape::STAGE_BYTES>(USERS);
  if (threadIdx.x >= USERS * WARPGROUP) {
    gpu_registers_down<shape::LOADER_REGISTERS>();
    if (threadIdx.x == USERS * WARPGROUP) fp32_load<USERS>(&a, &b, g, ring);
  } else {
    gpu_registers_up<shape::USER_REGISTERS>();
    fp32_use<USERS, LENGTH>(g, ring);
  }
#endif
}

#endif
