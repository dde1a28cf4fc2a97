// SPDX-License-Identifier: Apache-2.0
// Contract exact by digits (digits.cuh) on the tensor cores of warps, for GPUs without warpgroup
// products. Tiles with too many products are left to gemm_kernel: both kernels are launched, and
// both call digits_pay().
#ifndef UFP4_CUDA_GEMM_DIGITS_CUH
#define UFP4_CUDA_GEMM_DIGITS_CUH

#include "digits.cuh"
#include "gemm.cuh"

enum {
  DIGITS_ROWS = 128,
  DIGITS_COLS = 64,
  DIGITS_ACROSS = 2,  // warps, each with 32 x 32 outputs
  DIGITS_THREADS = DIGITS_ROWS * DIGITS_COLS / 32,
  DIGITS_STEP = 64,  // elements of k in a stage: half a chunk
  DIGITS_PIECES = DIGITS_STEP / 16,
  DIGITS_STAGES = 4,
  DIGITS_A_BYTES = DIGITS_ROWS * DIGITS_STEP,  // of one digit
  DIGITS_B_BYTES = DIGITS_COLS * DIGITS_STEP,
  DIGITS_STAGE_BYTES = 2 * (DIGITS_A_BYTES + DIGITS_B_BYTES),
  DIGITS_SHARED_BYTES = DIGITS_STAGES * DIGITS_STAGE_BYTES
};

/** The sums of a thread: by weight, 16 rows, 8 columns, and position in a fragment. */
typedef int32_t digits_sums_t[3][2][4][4];

/** Advances to the next step. */
template <int PASS>
GPU int digits_step(const digits_walk_t &walk, int step) {
  return step % 2 == 0 ? step + 1 : 2 * digits_next<PASS>(walk, step / 2 + 1);
}

// --- Loading ------------------------------------------------------------------------------------

/** Copies slice @p slice of an operand, ROWS rows of a step. */
template <int ROWS>
GPU void digits_load_slice(const gpu_unpacked_t &in, int slice, int64_t row, int step,
                           unsigned char *target) {
#pragma unroll
  for (int i = 0; i < ROWS * DIGITS_PIECES / DIGITS_THREADS; i++) {
    const int index = i * DIGITS_THREADS + (int)threadIdx.x, r = index / DIGITS_PIECES,
              p = index % DIGITS_PIECES;
    gpu_copy_16(target + gemm_piece<DIGITS_PIECES>(r, p) * 16,
                in.elements + ((slice * in.padded_rows + row + r) * in.padded_blocks +
                               (int64_t)step * DIGITS_PIECES + p) *
                                  16);
  }
}

template <int PASS>
GPU void digits_load(const gpu_gemm_t &g, int64_t row, int64_t col, int step,
                     unsigned char *stage) {
  constexpr int OF_A = digits_count(PASS, 0), OF_B = digits_count(PASS, 1);
#pragma unroll
  for (int i = 0; i < OF_A; i++) {
    digits_load_slice<DIGITS_ROWS>(g.a, digits_first(PASS, 0) + i, row, step,
                                   stage + i * DIGITS_A_BYTES);
  }
#pragma unroll
  for (int j = 0; j < OF_B; j++) {
    digits_load_slice<DIGITS_COLS>(g.b, digits_first(PASS, 1) + j, col, step,
                                   stage + OF_A * DIGITS_A_BYTES + j * DIGITS_B_BYTES);
  }
}

// --- Multiplying --------------------------------------------------------------------------------

/** Loads the fragments of 32 rows and 32 of k; a matrix load has 16 rows. */
GPU void digits_rows(const unsigned char *slice, int row, int k, uint32_t (&a)[2][4]) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int piece = gemm_piece<DIGITS_PIECES>(row + 16 * i + lane % 16, 2 * k + lane / 16);
    gpu_ldmatrix_x4(a[i], slice + piece * 16);
  }
}

/** Loads the fragments of 32 columns and 32 of k. */
GPU void digits_columns(const unsigned char *slice, int col, int k, uint32_t (&b)[4][2]) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    uint32_t r[4];
    const int piece =
        gemm_piece<DIGITS_PIECES>(col + 16 * i + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2);
    gpu_ldmatrix_x4(r, slice + piece * 16);
    b[2 * i][0] = r[0], b[2 * i][1] = r[1], b[2 * i + 1][0] = r[2], b[2 * i + 1][1] = r[3];
  }
}

/** Accumulates a stage. */
template <int PASS>
GPU void digits_multiply(const unsigned char *stage, int row, int col, digits_sums_t &sums) {
  constexpr int OF_A = digits_count(PASS, 0), OF_B = digits_count(PASS, 1);
#pragma unroll
  for (int k = 0; k < DIGITS_STEP / 32; k++) {
    uint32_t b[OF_B][4][2];
#pragma unroll
    for (int j = 0; j < OF_B; j++)
      digits_columns(stage + OF_A * DIGITS_A_BYTES + j * DIGITS_B_BYTES, col, k, b[j]);
#pragma unroll
    for (int i = 0; i < OF_A; i++) {
      uint32_t a[2][4];
      digits_rows(stage + i * DIGITS_A_BYTES, row, k, a);
#pragma unroll
      for (int j = 0; j < OF_B; j++) {
#pragma unroll
        for (int part = 0; part < 8; part++)
          gpu_mma_s8_wide(sums[i + j][part / 4][part % 4], a[part / 4], b[j][part % 4]);
      }
    }
  }
}

/** Runs steps of a pass from *step on, until the sums could overflow. */
template <int PASS>
GPU void digits_stream(const gpu_gemm_t &g, const digits_walk_t &walk, int64_t tile_row,
                       int64_t tile_col, int row, int col, int *step, digits_sums_t &sums) {
  unsigned char *shared = gpu_shared();
  const int end = 2 * walk.chunks;
  int ahead = *step, loaded = 0;
  for (; loaded < DIGITS_STAGES - 1; loaded++) {
    if (ahead < end) {
      digits_load<PASS>(g, tile_row, tile_col, ahead, shared + loaded * DIGITS_STAGE_BYTES);
      ahead = digits_step<PASS>(walk, ahead);
    }
    gpu_copy_commit();
  }
  for (int n = 0; n < 2 * DIGITS_FOLD && *step < end; n++, loaded++) {
    // All threads now have this step, and none still reads the stage that is filled next.
    gpu_copy_wait<DIGITS_STAGES - 2>();
    __syncthreads();
    if (ahead < end && loaded < 2 * DIGITS_FOLD) {
      digits_load<PASS>(g, tile_row, tile_col, ahead,
                        shared + loaded % DIGITS_STAGES * DIGITS_STAGE_BYTES);
      ahead = digits_step<PASS>(walk, ahead);
    }
    gpu_copy_commit();
    digits_multiply<PASS>(shared + n % DIGITS_STAGES * DIGITS_STAGE_BYTES, row, col, sums);
    *step = digits_step<PASS>(walk, *step);
  }
  // The next call fills the first stages again.
  gpu_copy_wait<0>();
  __syncthreads();
}

/** Returns row and column of output e of fragment i, j of a thread, relative to the warp's
 * first. */
GPU int digits_row(int i, int e) {
  return 16 * i + (int)threadIdx.x % 32 / 4 + e / 2 * 8;
}
GPU int digits_col(int j, int e) {
  return 8 * j + (int)threadIdx.x % 4 * 2 + e % 2;
}

template <int PASS>
GPU void digits_add_pass(const gpu_gemm_t &g, const digits_walk_t &walk, int64_t tile_row,
                         int64_t tile_col, int row, int col, int64_t (&totals)[2][4][4]) {
  for (int step = 2 * digits_next<PASS>(walk, 0); step < 2 * walk.chunks;) {
    digits_sums_t sums = {};
    digits_stream<PASS>(g, walk, tile_row, tile_col, row, col, &step, sums);
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
          const int64_t value =
              digits_value<PASS>(sums[0][i][j][e], sums[1][i][j][e], sums[2][i][j][e],
                                 g.a.units[tile_row + row + digits_row(i, e)],
                                 g.b.units[tile_col + col + digits_col(j, e)]);
          totals[i][j][e] = (int64_t)((uint64_t)totals[i][j][e] + (uint64_t)value);
        }
      }
    }
  }
}

GPU_KERNEL void GPU_LAUNCH_BOUNDS(DIGITS_THREADS) digits_kernel(GPU_PARAMETER gpu_gemm_t g) {
  const int warp = (int)threadIdx.x / 32, row = warp / DIGITS_ACROSS * 32,
            col = warp % DIGITS_ACROSS * 32;
  int64_t tile_row, tile_col;
  gemm_place(blockIdx.x, 8, (unsigned)((g.job.a.rows + DIGITS_ROWS - 1) / DIGITS_ROWS),
             (unsigned)((g.job.b.rows + DIGITS_COLS - 1) / DIGITS_COLS), &tile_row, &tile_col);
  tile_row *= DIGITS_ROWS;
  tile_col *= DIGITS_COLS;
  const digits_walk_t walk =
      digits_walk(g.a, g.b, tile_row / GEMM_ROWS, tile_col / GEMM_ROWS, g.job.k);
  if (!digits_pay(walk)) return;
  int64_t totals[2][4][4] = {};
  digits_add_pass<0>(g, walk, tile_row, tile_col, row, col, totals);
  digits_add_pass<1>(g, walk, tile_row, tile_col, row, col, totals);
  digits_add_pass<2>(g, walk, tile_row, tile_col, row, col, totals);
  digits_add_pass<3>(g, walk, tile_row, tile_col, row, col, totals);
  const gemm_factors_t f = gemm_factors<int64_t>(g.job);
  const uint32_t poisoned = gemm_poisoned_columns<1>(g, tile_col + col);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const gemm_row_t at = gemm_row(g, f, (int)tile_row + row + digits_row(i / 2, i % 2 * 2),
                                   (int)tile_col + col + digits_col(0, 0), poisoned);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      gemm_store_pair(g, f, at, j, totals[i / 2][j][i % 2 * 2], totals[i / 2][j][i % 2 * 2 + 1]);
    }
  }
}

#endif
