// SPDX-License-Identifier: Apache-2.0
// Contract exact on compute capability 9.0: digits (digits.cuh) multiplied by warpgroups over all
// of k. Thread blocks are persistent, one per multiprocessor: two warpgroups multiply, and one
// thread of a third loads.
#ifndef UFP4_CUDA_GEMM_EXACT_CUH
#define UFP4_CUDA_GEMM_EXACT_CUH

#include "digits.cuh"
#include "result.cuh"
#include "ring.cuh"

enum {
  EXACT_USERS = 2,
  EXACT_THREADS = WARPGROUP * (EXACT_USERS + 1),
  EXACT_SIDE = 128,    // rows and columns of a tile: a panel
  EXACT_OUTPUTS = 64,  // per thread
  EXACT_BAND = 16,
  EXACT_LEAST = 2,    // chunks in a part of k
  EXACT_JOINERS = 8,  // thread blocks that join the parts of a tile
  EXACT_SLICE_BYTES = EXACT_SIDE * 128,
  EXACT_STAGE_BYTES = 4 * EXACT_SLICE_BYTES,
  EXACT_STAGES = 3,
  // Of the 65,536 registers of a multiprocessor, 384 x 168 are redistributed between the
  // warpgroups.
  EXACT_USER_REGISTERS = 240,
  EXACT_LOADER_REGISTERS = 24
};
static_assert(EXACT_SIDE == GEMM_ROWS, "third digits are noted for panels");
static_assert(EXACT_USERS * EXACT_USER_REGISTERS + EXACT_LOADER_REGISTERS <= 3 * 168,
              "more registers than the launch has are waited for for ever");

typedef ring_t<EXACT_STAGES, EXACT_STAGE_BYTES> exact_ring_t;

/** Returns row and column of a tile, in tiles. @return false behind the last. */
GPU bool exact_tile(const gpu_gemm_t &g, unsigned tile, int64_t *row, int64_t *col) {
  const unsigned rows = (unsigned)(g.a.padded_rows / EXACT_SIDE),
                 cols = (unsigned)(g.b.padded_rows / EXACT_SIDE);
  if (tile >= rows * cols) return false;
  gemm_place(tile, EXACT_BAND, rows, cols, row, col);
  return true;
}

/** The part of a tile that a thread block computes: if there are few tiles, a tile has gridDim.y
 * blocks, each with a share of the chunks of k. The order of an exact sum does not matter, so the
 * bits do not change. */
GPU digits_walk_t exact_walk(const gpu_gemm_t &g, int64_t row, int64_t col, int chunks) {
  digits_walk_t walk = digits_walk(g.a, g.b, row, col, g.job.k);
  walk.first = (int)blockIdx.y * chunks;
  walk.chunks = min(walk.chunks, walk.first + chunks);
  return walk;
}

// --- Loading ------------------------------------------------------------------------------------

template <int PASS>
GPU void exact_load_pass(const CUtensorMap *a, const CUtensorMap *b, const gpu_gemm_t &g,
                         const digits_walk_t &walk, int row, int col, exact_ring_t *ring) {
  constexpr int OF_A = digits_count(PASS, 0), OF_B = digits_count(PASS, 1);
  const int rows_a = (int)g.a.padded_rows, rows_b = (int)g.b.padded_rows;
  for (int chunk = digits_next<PASS>(walk, walk.first); chunk < walk.chunks;
       chunk = digits_next<PASS>(walk, chunk + 1)) {
    ring_fill(*ring, (OF_A + OF_B) * EXACT_SLICE_BYTES);
#pragma unroll
    for (int i = 0; i < OF_A; i++) {
      gpu_copy_box(ring->address() + i * EXACT_SLICE_BYTES, a, chunk * 128,
                   (digits_first(PASS, 0) + i) * rows_a + row, ring->filled());
    }
#pragma unroll
    for (int j = 0; j < OF_B; j++) {
      gpu_copy_box(ring->address() + (OF_A + j) * EXACT_SLICE_BYTES, b, chunk * 128,
                   (digits_first(PASS, 1) + j) * rows_b + col, ring->filled());
    }
    ring->advance();
  }
}

GPU void exact_load(const CUtensorMap *a, const CUtensorMap *b, const gpu_gemm_t &g, int chunks,
                    exact_ring_t ring) {
  int64_t row, col;
  for (unsigned tile = blockIdx.x; exact_tile(g, tile, &row, &col); tile += gridDim.x) {
    const digits_walk_t walk = exact_walk(g, row, col, chunks);
    const int r = (int)row * EXACT_SIDE, c = (int)col * EXACT_SIDE;
    exact_load_pass<0>(a, b, g, walk, r, c, &ring);
    exact_load_pass<1>(a, b, g, walk, r, c, &ring);
    exact_load_pass<2>(a, b, g, walk, r, c, &ring);
    exact_load_pass<3>(a, b, g, walk, r, c, &ring);
  }
}

// --- Multiplying --------------------------------------------------------------------------------

/** Multiplies chunks of a pass from *chunk on, until the sums could overflow; sums[i + j] collects
 * the products of digit i of A and digit j of B. */
template <int PASS>
GPU void exact_sums(exact_ring_t *ring, const digits_walk_t &walk, int warpgroup, int *chunk,
                    int32_t (&sums)[3][EXACT_OUTPUTS]) {
  constexpr int OF_A = digits_count(PASS, 0), OF_B = digits_count(PASS, 1);
#pragma unroll
  for (int i = 0; i < 3 * EXACT_OUTPUTS; i++) sums[i / EXACT_OUTPUTS][i % EXACT_OUTPUTS] = 0;
  uint32_t freed = 0;
  for (int n = 0; n < DIGITS_FOLD && *chunk < walk.chunks; n++) {
    gpu_barrier_wait(ring->filled(), ring->parity);
    const uint32_t of_a = ring->address() + (uint32_t)warpgroup * 64 * 128,
                   of_b = ring->address() + OF_A * EXACT_SLICE_BYTES;
    gpu_wgmma_begin();
#pragma unroll
    for (int step = 0; step < 4; step++) {
#pragma unroll
      for (int i = 0; i < OF_A; i++) {
#pragma unroll
        for (int j = 0; j < OF_B; j++) {
          gpu_wgmma_s8(sums[i + j], gpu_wgmma_operand(of_a + i * EXACT_SLICE_BYTES) + 2 * step,
                       gpu_wgmma_operand(of_b + j * EXACT_SLICE_BYTES) + 2 * step);
        }
      }
    }
    gpu_wgmma_commit();
    // The previous stage has been read; the present one is being read.
    gpu_wgmma_wait<1>();
    if (n > 0) ring_release(freed);
    freed = ring->freed();
    ring->advance();
    *chunk = digits_next<PASS>(walk, *chunk + 1);
  }
  gpu_wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < 3; i++) gpu_keep(sums[i]);
  ring_release(freed);
}

/** The position of output i of a thread, and its total while passes are added. */
typedef struct {
  int row, col;
  int64_t *total;  ///< total of output 0; that of output i is 128 EXACT_USERS i further
} exact_thread_t;

GPU int exact_row(const exact_thread_t &thread, int i) {
  return thread.row + i % 4 / 2 * 8;
}
GPU int exact_col(const exact_thread_t &thread, int i) {
  return thread.col + i / 4 * 8 + i % 2;
}
GPU int64_t *exact_total(const exact_thread_t &thread, int i) {
  return thread.total + i * (WARPGROUP * EXACT_USERS);
}

GPU uint32_t exact_poisoned(const gpu_gemm_t &g, const exact_thread_t &thread) {
  return gemm_poisoned_columns<EXACT_SIDE / 32>(g, thread.col / EXACT_SIDE * EXACT_SIDE);
}

template <int PASS>
GPU int64_t exact_value(const int32_t (&sums)[3][EXACT_OUTPUTS], int i, int32_t unit_a,
                        int32_t unit_b) {
  return digits_value<PASS>(sums[0][i], sums[1][i], sums[2][i], unit_a, unit_b);
}

/** Adds a pass to the totals. @p first: the totals are not set yet. */
template <int PASS>
GPU void exact_add_pass(const gpu_gemm_t &g, exact_ring_t *ring, const digits_walk_t &walk,
                        const exact_thread_t &thread, int warpgroup, bool first) {
  int32_t sums[3][EXACT_OUTPUTS];
  for (int chunk = digits_next<PASS>(walk, walk.first); chunk < walk.chunks; first = false) {
    exact_sums<PASS>(ring, walk, warpgroup, &chunk, sums);
#pragma unroll
    for (int i = 0; i < EXACT_OUTPUTS; i++) {
      const uint64_t value = (uint64_t)exact_value<PASS>(sums, i, g.a.units[exact_row(thread, i)],
                                                         g.b.units[exact_col(thread, i)]);
      *exact_total(thread, i) = (int64_t)((first ? 0 : (uint64_t)*exact_total(thread, i)) + value);
    }
  }
}

/** Stores a tile of one pass whose sums fit, directly from registers. */
GPU void exact_store_sums(const gpu_gemm_t &g, exact_ring_t *ring, const digits_walk_t &walk,
                          const exact_thread_t &thread, int warpgroup) {
  int32_t sums[3][EXACT_OUTPUTS];
  int chunk = 0;
  exact_sums<0>(ring, walk, warpgroup, &chunk, sums);
  const gemm_factors_t f = gemm_factors<int64_t>(g.job);
  const uint32_t poisoned = exact_poisoned(g, thread);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const gemm_row_t at = gemm_row(g, f, exact_row(thread, 2 * half), thread.col, poisoned);
    const int32_t unit_a = g.a.units[exact_row(thread, 2 * half)];
#pragma unroll
    for (int i = 2 * half; i < EXACT_OUTPUTS; i += 4) {
      int32_t units_b[2];
      gpu_read_8(g.b.units + exact_col(thread, i), units_b);
      gemm_store_pair(g, f, at, i / 4, exact_value<0>(sums, i, unit_a, units_b[0]),
                      exact_value<0>(sums, i + 1, unit_a, units_b[1]));
    }
  }
}

GPU void exact_store_totals(const gpu_gemm_t &g, const exact_thread_t &thread) {
  const gemm_factors_t f = gemm_factors<int64_t>(g.job);
  const uint32_t poisoned = exact_poisoned(g, thread);
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const gemm_row_t at = gemm_row(g, f, exact_row(thread, 2 * half), thread.col, poisoned);
#pragma unroll 1
    for (int i = 2 * half; i < EXACT_OUTPUTS; i += 4)
      gemm_store_pair(g, f, at, i / 4, *exact_total(thread, i), *exact_total(thread, i + 1));
  }
}

/** Returns the place of this thread's outputs. @p totals: the totals of the tile. */
GPU exact_thread_t exact_thread(int64_t row, int64_t col, int warpgroup, int64_t *totals) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % WARPGROUP / 32;
  const exact_thread_t at = {(int)row * EXACT_SIDE + 64 * warpgroup + 16 * warp + lane / 4,
                             (int)col * EXACT_SIDE + lane % 4 * 2, totals + threadIdx.x};
  return at;
}

GPU void exact_use(const gpu_gemm_t &g, int64_t *totals, int chunks, exact_ring_t ring) {
  const int warpgroup = gpu_uniform((int)threadIdx.x / WARPGROUP);
  totals += (int64_t)(blockIdx.y * gridDim.x + blockIdx.x) * EXACT_SIDE * EXACT_SIDE;
  int64_t row, col;
  for (unsigned tile = blockIdx.x; exact_tile(g, tile, &row, &col); tile += gridDim.x) {
    const digits_walk_t walk = exact_walk(g, row, col, chunks);
    const exact_thread_t at = exact_thread(row, col, warpgroup, totals);
    if (gridDim.y == 1 && walk.chunks <= DIGITS_FOLD && digits_next<1>(walk, 0) == walk.chunks &&
        digits_next<2>(walk, 0) == walk.chunks) {
      exact_store_sums(g, &ring, walk, at, warpgroup);
      continue;
    }
    exact_add_pass<0>(g, &ring, walk, at, warpgroup, true);
    exact_add_pass<1>(g, &ring, walk, at, warpgroup, false);
    exact_add_pass<2>(g, &ring, walk, at, warpgroup, false);
    exact_add_pass<3>(g, &ring, walk, at, warpgroup, false);
    if (gridDim.y == 1) exact_store_totals(g, at);
  }
}

/** Multiplies tiles; if a tile has several thread blocks, exact_join_kernel finishes it. @p totals:
 * EXACT_SIDE^2 per thread block. @p chunks: chunks of k per thread block. */
GPU_KERNEL void GPU_LAUNCH_BOUNDS_BLOCKS(EXACT_THREADS, 1)
    exact_kernel(GPU_PARAMETER CUtensorMap a, GPU_PARAMETER CUtensorMap b,
                 GPU_PARAMETER gpu_gemm_t g, int64_t *totals, int chunks) {
#if GPU_HAS_WARPGROUPS
  const exact_ring_t ring = ring_start<EXACT_STAGES, EXACT_STAGE_BYTES>(EXACT_USERS);
  if (threadIdx.x >= EXACT_USERS * WARPGROUP) {
    gpu_registers_down<EXACT_LOADER_REGISTERS>();
    if (threadIdx.x == EXACT_USERS * WARPGROUP) exact_load(&a, &b, g, chunks, ring);
  } else {
    gpu_registers_up<EXACT_USER_REGISTERS>();
    exact_use(g, totals, chunks, ring);
  }
#endif
}

/** Adds the parts of an output's sum. */
GPU int64_t exact_joined(const exact_thread_t &thread, int i, int parts, int64_t tiles) {
  uint64_t sum = 0;
#pragma unroll 4
  for (int part = 0; part < parts; part++)
    sum += (uint64_t)exact_total(thread, i)[part * tiles * EXACT_SIDE * EXACT_SIDE];
  return (int64_t)sum;
}

/** Thread blocks like the multiplying ones of exact_kernel, EXACT_JOINERS per tile. */
GPU_KERNEL void GPU_LAUNCH_BOUNDS(WARPGROUP *EXACT_USERS)
    exact_join_kernel(GPU_PARAMETER gpu_gemm_t g, int64_t *totals, int parts) {
  int64_t row, col;
  if (!exact_tile(g, blockIdx.x, &row, &col)) return;
  const exact_thread_t at = exact_thread(row, col, (int)threadIdx.x / WARPGROUP,
                                         totals + (int64_t)blockIdx.x * EXACT_SIDE * EXACT_SIDE);
  const gemm_factors_t f = gemm_factors<int64_t>(g.job);
  const uint32_t poisoned = exact_poisoned(g, at);
  const int first = (int)blockIdx.y * (EXACT_OUTPUTS / EXACT_JOINERS);
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const gemm_row_t to = gemm_row(g, f, exact_row(at, 2 * half), at.col, poisoned);
#pragma unroll 1
    for (int i = first + 2 * half; i < first + EXACT_OUTPUTS / EXACT_JOINERS; i += 4)
      gemm_store_pair(g, f, to, i / 4, exact_joined(at, i, parts, gridDim.x),
                      exact_joined(at, i + 1, parts, gridDim.x));
  }
}

#endif
