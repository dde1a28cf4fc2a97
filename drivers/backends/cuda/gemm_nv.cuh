// SPDX-License-Identifier: Apache-2.0
// Contract nv: E2M1 with an E4M3 scale per 16, summed as the tensor cores of compute capability
// 12.x do. An instruction is one step of the contract, 64 of k, from one accumulator value to the
// next (docs/reference/numerics.md, contract nv). Each output is a chain of steps in increasing k,
// so neither the tile nor the order of thread blocks changes the bits.
//
// A published model claims that the instruction rounds as the contract says; no GPU has confirmed
// this here. The emulated GPU computes it by the golden model, so tests check fragments, positions
// of scales, padding and the order of k, but not the arithmetic. A record of such a GPU would.
#ifndef UFP4_CUDA_GEMM_NV_CUH
#define UFP4_CUDA_GEMM_NV_CUH

#include "blackwell.cuh"
#include "gemm.cuh"

#define NV_STEP 4                      // blocks of 16 per step
#define NV_STEPS 2                     // steps per stage: 64 bytes of a row
#define NV_CHUNK (NV_STEP * NV_STEPS)  // k is padded to this; a step of zeros has no effect

// --- Operands -----------------------------------------------------------------------------------

/** Unpacks codes to [padded rows][padded blocks][8 bytes], and the scales of a step to a word,
 * [padded blocks / 4][padded rows]. Each thread handles one step of one row; the steps of 16 rows
 * are adjacent, as in panels. */
GPU_KERNEL void GPU_LAUNCH_BOUNDS(UNPACK_THREADS)
    unpack_nv_kernel(gpu_operand_t in, int scale, int64_t blocks, gpu_unpacked_t out) {
  const int64_t index = (int64_t)blockIdx.x * UNPACK_THREADS + threadIdx.x;
  const int64_t row = index % out.padded_rows, step = index / out.padded_rows;
  if (step >= out.padded_blocks / NV_STEP) return;
  uint32_t codes[2][4], scales = 0;
#pragma unroll
  for (int i = 0; i < NV_STEP; i++) {
    const entry_t entry = entry_read(in, scale, blocks, row, step * NV_STEP + i, out.poisoned);
    codes[i / 2][i % 2 * 2] = (uint32_t)entry.codes;
    codes[i / 2][i % 2 * 2 + 1] = (uint32_t)(entry.codes >> 32);
    scales |= (entry.scale & 0x7F) << (8 * i);  // bit 7 of E4M3 is not a sign here
  }
  unsigned char *to = out.elements + (row * out.padded_blocks + step * NV_STEP) * 8;
  gpu_store_16(to, codes[0]);
  gpu_store_16(to + 16, codes[1]);
  ((uint32_t *)out.weights)[index] = scales;
}

// --- Shared memory ------------------------------------------------------------------------------

/** The tile shapes: a warp has MI x NI products of 16 x 8 outputs. */
template <int TILE>
struct nv_shape_t {
  enum {
    WARPS_DOWN = 2,
    WARPS_ACROSS = TILE / 32,
    THREADS = 32 * WARPS_DOWN * WARPS_ACROSS,
    MI = TILE / WARPS_DOWN / 16,
    NI = 4,
    STAGES = 3,
    PIECES = NV_CHUNK / 2,  // pieces of 16 bytes in a row of a stage
    SIDE_BYTES = TILE * PIECES * 16,
    SCALE_BYTES = NV_STEPS * TILE * 4,
    STAGE_BYTES = 2 * (SIDE_BYTES + SCALE_BYTES),
    SHARED_BYTES = STAGES * STAGE_BYTES
  };
};

/** Copies one operand's part of a stage: codes, and the scales behind those of both operands. */
template <int TILE>
GPU void nv_load_side(const gpu_unpacked_t &in, int64_t row, int64_t chunk, unsigned char *elements,
                      unsigned char *scales) {
  typedef nv_shape_t<TILE> shape;
#pragma unroll
  for (int i = 0; i < TILE * shape::PIECES / shape::THREADS; i++) {
    const int index = i * shape::THREADS + (int)threadIdx.x, r = index / shape::PIECES,
              p = index % shape::PIECES;
    gpu_copy_16(elements + gemm_piece<shape::PIECES>(r, p) * 16,
                in.elements + ((row + r) * in.padded_blocks + chunk * NV_CHUNK) * 8 + p * 16);
  }
  // One copy takes the scales of four rows.
  const int index = (int)threadIdx.x;
  if (index < NV_STEPS * TILE / 4) {
    const int s = index / (TILE / 4), r = index % (TILE / 4) * 4;
    gpu_copy_16(scales + (s * TILE + r) * 4,
                (const uint32_t *)in.weights + (chunk * NV_STEPS + s) * in.padded_rows + row + r);
  }
}

template <int TILE>
GPU void nv_load(const gpu_gemm_t &g, int64_t row, int64_t col, int64_t chunk,
                 unsigned char *stage) {
  typedef nv_shape_t<TILE> shape;
  unsigned char *scales = stage + 2 * shape::SIDE_BYTES;
  nv_load_side<TILE>(g.a, row, chunk, stage, scales);
  nv_load_side<TILE>(g.b, col, chunk, stage + shape::SIDE_BYTES, scales + shape::SCALE_BYTES);
}

// --- Products -----------------------------------------------------------------------------------

/** Accumulates step @p s of a stage. A step of a row is two pieces of a matrix load, which gives
 * lane 4 g + t the codes 8 t to 8 t + 7, as fragments require. */
template <int TILE, int MI, int NI>
GPU void nv_step(const unsigned char *stage, int row, int col, int s, float (&sums)[MI][NI][4]) {
  typedef nv_shape_t<TILE> shape;
  const int lane = (int)threadIdx.x % 32;
  const unsigned char *columns = stage + shape::SIDE_BYTES;
  const uint32_t *of_a = (const uint32_t *)(const void *)(stage + 2 * shape::SIDE_BYTES) +
                         s * TILE + row + lane % 2 * 8 + lane / 4,
                 *of_b = (const uint32_t *)(const void *)(stage + 2 * shape::SIDE_BYTES +
                                                          shape::SCALE_BYTES) +
                         s * TILE + col + lane / 4;
  uint32_t a[MI][4], b[NI][2];
#pragma unroll
  for (int i = 0; i < MI; i++) {
    gpu_ldmatrix_x4(
        a[i], stage + gemm_piece<shape::PIECES>(row + 16 * i + lane % 16, 2 * s + lane / 16) * 16);
  }
#pragma unroll
  for (int j = 0; j < NI; j += 2) {
    uint32_t r[4];
    gpu_ldmatrix_x4(r, columns + gemm_piece<shape::PIECES>(col + 8 * j + lane / 16 * 8 + lane % 8,
                                                           2 * s + lane / 8 % 2) *
                                     16);
    b[j][0] = r[0], b[j][1] = r[1], b[j + 1][0] = r[2], b[j + 1][1] = r[3];
  }
#pragma unroll
  for (int i = 0; i < MI; i++) {
#pragma unroll
    for (int j = 0; j < NI; j++) gpu_mma_nvfp4(sums[i][j], a[i], b[j], of_a[16 * i], of_b[8 * j]);
  }
}

/** The accumulation starts with C. */
GPU float nv_start(const ufp4_cuda_gemm_t &job, int64_t i, int64_t j) {
  return job.c != nullptr && i < job.a.rows && j < job.b.rows ? job.c[i * job.c_ld + j] : 0.0f;
}

template <int TILE>
GPU_KERNEL void GPU_LAUNCH_BOUNDS(nv_shape_t<TILE>::THREADS) nv_kernel(GPU_PARAMETER gpu_gemm_t g) {
#if GPU_HAS_BLOCK_SCALES
  typedef nv_shape_t<TILE> shape;
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int row = warp / shape::WARPS_ACROSS * (16 * shape::MI),
            col = warp % shape::WARPS_ACROSS * (8 * shape::NI);
  unsigned char *shared = gpu_shared();
  int64_t tile_row, tile_col;
  gemm_place(blockIdx.x, 8, (unsigned)((g.job.a.rows + TILE - 1) / TILE),
             (unsigned)((g.job.b.rows + TILE - 1) / TILE), &tile_row, &tile_col);
  tile_row *= TILE;
  tile_col *= TILE;
  const int64_t chunks = g.a.padded_blocks / NV_CHUNK;
  for (int s = 0; s < shape::STAGES - 1; s++) {
    if (s < chunks) nv_load<TILE>(g, tile_row, tile_col, s, shared + s * shape::STAGE_BYTES);
    gpu_copy_commit();
  }
  // Element e of a product's fragment is in row lane / 4, + 8 for e >= 2, and column lane % 4 * 2 +
  // e % 2.
  const int64_t first_row = tile_row + row + lane / 4, first_col = tile_col + col + lane % 4 * 2;
  float sums[shape::MI][shape::NI][4];
#pragma unroll
  for (int i = 0; i < shape::MI * shape::NI * 4; i++) {
    const int mi = i / 4 / shape::NI, ni = i / 4 % shape::NI, e = i % 4;
    sums[mi][ni][e] = nv_start(g.job, first_row + 16 * mi + e / 2 * 8, first_col + 8 * ni + e % 2);
  }
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    // All threads now have this chunk, and none still reads the stage that is filled next.
    gpu_copy_wait<shape::STAGES - 2>();
    __syncthreads();
    const int64_t next = chunk + shape::STAGES - 1;
    if (next < chunks)
      nv_load<TILE>(g, tile_row, tile_col, next,
                    shared + next % shape::STAGES * shape::STAGE_BYTES);
    gpu_copy_commit();
    const unsigned char *stage = shared + chunk % shape::STAGES * shape::STAGE_BYTES;
#pragma unroll
    for (int s = 0; s < NV_STEPS; s++)
      nv_step<TILE, shape::MI, shape::NI>(stage, row, col, s, sums);
  }
  const gemm_factors_t f = gemm_factors<nv_sum_t>(g.job);
  const uint32_t poisoned = gemm_poisoned_columns<shape::NI / 4>(g, tile_col + col);
#pragma unroll
  for (int i = 0; i < 2 * shape::MI; i++) {
    const gemm_row_t at = gemm_row(g, f, (int)first_row + 8 * i, (int)first_col, poisoned);
#pragma unroll
    for (int j = 0; j < shape::NI; j++) {
      const nv_sum_t pair[2] = {{sums[i / 2][j][i % 2 * 2]}, {sums[i / 2][j][i % 2 * 2 + 1]}};
      gemm_store_pair(g, f, at, j, pair[0], pair[1]);
    }
  }
#endif
}

#endif
