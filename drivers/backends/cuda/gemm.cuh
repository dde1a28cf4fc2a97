// SPDX-License-Identifier: Apache-2.0
// GEMM of unpacked operands (unpack.cuh) on the tensor cores of warps. Thread blocks of TILE x TILE
// outputs stream the operands through shared memory, 64 elements of k at a time, several stages
// ahead. For each block of 16 one tensor core product starts from zero, so its sum is exact; the
// contract then accumulates it in increasing k. Therefore neither the tile nor the order of thread
// blocks changes the bits.
#ifndef UFP4_CUDA_GEMM_CUH
#define UFP4_CUDA_GEMM_CUH

#include "digits.cuh"
#include "result.cuh"

// --- Contracts ----------------------------------------------------------------------------------

/** Contract exact: dot (2304 at most) times A's scale in units of 2^-9 is under 2^30, and is added
 * to 64 bits after the multiplication by B's. */
struct gemm_exact_t {
  typedef int32_t product_t;
  typedef int32_t weight_t;
  typedef int64_t sum_t;
  enum { UNIT_BYTES = 16, HAS_WEIGHTS = 1, INTEGER = 1, BLOCKS = 0 };
  static GPU sum_t add(sum_t sum, product_t dot, weight_t a, weight_t b, float) {
    return sum + (int64_t)(dot * a) * (int64_t)b;
  }
};

/** Contract fp32 with E4M3 scales folded into BF16 elements: the product is the exact block
 * (docs/ip/gpu-kernels.md), and the addition rounds once. */
struct gemm_folded_t {
  typedef float product_t;
  typedef float weight_t;
  typedef float sum_t;
  enum { UNIT_BYTES = 32, HAS_WEIGHTS = 0, INTEGER = 0, BLOCKS = 2 };  // 128 registers
  static GPU sum_t add(sum_t sum, product_t block, weight_t, weight_t, float) {
    return sum + block;
  }
};

/** Contract fp32 with any scales: RN(RN(sA sB) dot), where only FP32 scales round; the addition
 * then rounds once. */
struct gemm_scaled_t {
  typedef int32_t product_t;
  typedef float weight_t;
  typedef float sum_t;
  enum { UNIT_BYTES = 16, HAS_WEIGHTS = 1, INTEGER = 0, BLOCKS = 0 };
  static GPU sum_t add(sum_t sum, product_t dot, weight_t a, weight_t b, float unit) {
    return sum + a * b * ((float)dot * unit);
  }
};

// --- Shared memory ------------------------------------------------------------------------------

/** The tile shapes: a warp has MI x NI products of 16 x 8 outputs. */
template <typename CONTRACT, int TILE>
struct gemm_shape_t {
  enum {
    WARPS_DOWN = 2,
    WARPS_ACROSS = TILE / 32,
    THREADS = 32 * WARPS_DOWN * WARPS_ACROSS,
    BLOCKS = TILE == 128 ? CONTRACT::BLOCKS : 0,  // minimum per multiprocessor; 0: any
    MI = TILE / WARPS_DOWN / 16,
    NI = 4,
    STAGES = 3,
    PIECES = GEMM_CHUNK * CONTRACT::UNIT_BYTES / 16,  // pieces of 16 bytes in a row of a stage
    SIDE_BYTES = TILE * PIECES * 16,
    WEIGHT_BYTES = CONTRACT::HAS_WEIGHTS ? GEMM_CHUNK * TILE * 4 : 0,
    STAGE_BYTES = 2 * (SIDE_BYTES + WEIGHT_BYTES),
    SHARED_BYTES = STAGES * STAGE_BYTES
  };
};

/** Returns the position of piece p of a row. It is rotated by the row, so that the eight rows of a
 * matrix load are in different banks. */
template <int PIECES>
GPU int gemm_piece(int row, int p) {
  return row * PIECES + (PIECES == 4 ? p ^ (row >> 1 & 3) : p ^ (row & 7));
}

/** Copies one operand's part of a stage: elements, and the weights behind those of both
 * operands. */
template <typename CONTRACT, int TILE>
GPU void gemm_load_side(const gpu_unpacked_t &in, int64_t row, int64_t block,
                        unsigned char *elements, unsigned char *weights) {
  typedef gemm_shape_t<CONTRACT, TILE> shape;
#pragma unroll
  for (int i = 0; i < TILE * shape::PIECES / shape::THREADS; i++) {
    const int index = i * shape::THREADS + (int)threadIdx.x, r = index / shape::PIECES,
              p = index % shape::PIECES;
    gpu_copy_16(
        elements + gemm_piece<shape::PIECES>(r, p) * 16,
        in.elements + ((row + r) * in.padded_blocks + block) * CONTRACT::UNIT_BYTES + p * 16);
  }
  if (!CONTRACT::HAS_WEIGHTS) return;
  // One copy takes four weights.
  const int index = (int)threadIdx.x;
  if (index < GEMM_CHUNK * TILE / 4) {
    const int b = index / (TILE / 4), r = index % (TILE / 4) * 4;
    gpu_copy_16(weights + (b * TILE + r) * 4,
                (const int32_t *)in.weights + (block + b) * in.padded_rows + row + r);
  }
}

template <typename CONTRACT, int TILE>
GPU void gemm_load(const gpu_gemm_t &g, int64_t row, int64_t col, int64_t chunk,
                   unsigned char *stage) {
  typedef gemm_shape_t<CONTRACT, TILE> shape;
  unsigned char *weights = stage + 2 * shape::SIDE_BYTES;
  gemm_load_side<CONTRACT, TILE>(g.a, row, chunk * GEMM_CHUNK, stage, weights);
  gemm_load_side<CONTRACT, TILE>(g.b, col, chunk * GEMM_CHUNK, stage + shape::SIDE_BYTES,
                                 weights + shape::WEIGHT_BYTES);
}

// --- Products -----------------------------------------------------------------------------------

/** Loads the fragments of block k of a stage. INT8: a block of a row is one row of a matrix load,
 * so one load has 32 rows. */
template <int MI>
GPU void gemm_fragments(const unsigned char *side, int row, int k, uint32_t (&a)[MI][2],
                        const gemm_exact_t *) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < MI / 2; i++) {
    uint32_t r[4];
    gpu_ldmatrix_x4(r, side + gemm_piece<4>(row + 32 * i + lane, k) * 16);
    a[2 * i][0] = r[0], a[2 * i][1] = r[1], a[2 * i + 1][0] = r[2], a[2 * i + 1][1] = r[3];
  }
}

GPU void gemm_columns(const unsigned char *side, int col, int k, uint32_t (&b)[4][1]) {
  uint32_t r[4];
  gpu_ldmatrix_x4(r, side + gemm_piece<4>(col + (int)threadIdx.x % 32, k) * 16);
#pragma unroll
  for (int i = 0; i < 4; i++) b[i][0] = r[i];
}

/** BF16: a block is two rows of matrix loads, so one load has 16 rows. */
template <int MI>
GPU void gemm_fragments(const unsigned char *side, int row, int k, uint32_t (&a)[MI][4],
                        const gemm_folded_t *) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < MI; i++) {
    gpu_ldmatrix_x4(a[i], side + gemm_piece<8>(row + 16 * i + lane % 16, 2 * k + lane / 16) * 16);
  }
}

GPU void gemm_columns(const unsigned char *side, int col, int k, uint32_t (&b)[4][2]) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    uint32_t r[4];
    gpu_ldmatrix_x4(
        r,
        side + gemm_piece<8>(col + 16 * i + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2) * 16);
    b[2 * i][0] = r[0], b[2 * i][1] = r[1], b[2 * i + 1][0] = r[2], b[2 * i + 1][1] = r[3];
  }
}

GPU void gemm_multiply(int32_t d[4], const uint32_t (&a)[2], const uint32_t (&b)[1]) {
  gpu_mma_s8(d, a, b[0]);
}

GPU void gemm_multiply(float d[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  gpu_mma_bf16(d, a, b);
}

/** Both INT8 contracts load in the same way. */
GPU const gemm_exact_t *gemm_loader(const gemm_exact_t *contract) {
  return contract;
}
GPU const gemm_exact_t *gemm_loader(const gemm_scaled_t *) {
  return nullptr;
}
GPU const gemm_folded_t *gemm_loader(const gemm_folded_t *contract) {
  return contract;
}

/** Accumulates block k of a stage. Element e of a product's fragment is in row lane / 4, + 8 for e
 * >= 2, and column lane % 4 * 2 + e % 2. */
template <typename CONTRACT, int TILE, int MI, int NI>
GPU void gemm_block(const unsigned char *stage, int row, int col, int k, float unit,
                    typename CONTRACT::sum_t (&sums)[MI][NI][4]) {
  typedef gemm_shape_t<CONTRACT, TILE> shape;
  typedef typename CONTRACT::weight_t weight_t;
  const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
  uint32_t a[MI][CONTRACT::UNIT_BYTES / 8], b[NI][CONTRACT::UNIT_BYTES / 16];
  weight_t wa[MI][2] = {}, wb[NI][2] = {};
  gemm_fragments<MI>(stage, row, k, a, gemm_loader((const CONTRACT *)nullptr));
  gemm_columns(stage + shape::SIDE_BYTES, col, k, b);
  if (CONTRACT::HAS_WEIGHTS) {
    const weight_t *of_a = (const weight_t *)(stage + 2 * shape::SIDE_BYTES) + k * TILE + row;
    const weight_t *of_b =
        (const weight_t *)(stage + 2 * shape::SIDE_BYTES + shape::WEIGHT_BYTES) + k * TILE + col;
#pragma unroll
    for (int i = 0; i < 2 * MI; i++) wa[i / 2][i % 2] = of_a[8 * i + g];
#pragma unroll
    for (int j = 0; j < 2 * NI; j++) wb[j / 2][j % 2] = of_b[8 * (j / 2) + 2 * t + j % 2];
  }
#pragma unroll
  for (int i = 0; i < MI; i++) {
#pragma unroll
    for (int j = 0; j < NI; j++) {
      typename CONTRACT::product_t d[4];
      gemm_multiply(d, a[i], b[j]);
#pragma unroll
      for (int e = 0; e < 4; e++)
        sums[i][j][e] = CONTRACT::add(sums[i][j][e], d[e], wa[i][e / 2], wb[j][e % 2], unit);
    }
  }
}

template <typename CONTRACT, int TILE>
GPU_KERNEL void GPU_LAUNCH_BOUNDS_BLOCKS((gemm_shape_t<CONTRACT, TILE>::THREADS),
                                         (gemm_shape_t<CONTRACT, TILE>::BLOCKS))
    gemm_kernel(GPU_PARAMETER gpu_gemm_t g) {
  typedef gemm_shape_t<CONTRACT, TILE> shape;
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int row = warp / shape::WARPS_ACROSS * (16 * shape::MI),
            col = warp % shape::WARPS_ACROSS * (8 * shape::NI);
  unsigned char *shared = gpu_shared();
  int64_t tile_row, tile_col;
  gemm_place(blockIdx.x, 8, (unsigned)((g.job.a.rows + TILE - 1) / TILE),
             (unsigned)((g.job.b.rows + TILE - 1) / TILE), &tile_row, &tile_col);
  tile_row *= TILE;
  tile_col *= TILE;
  // digits_kernel, if present, computes the tile.
  if (CONTRACT::INTEGER && g.a.wide != nullptr &&
      digits_pay(digits_walk(g.a, g.b, tile_row / GEMM_ROWS, tile_col / GEMM_ROWS, g.job.k)))
    return;
  typename CONTRACT::sum_t sums[shape::MI][shape::NI][4] = {};
  const int64_t chunks = g.a.padded_blocks / GEMM_CHUNK;
  for (int s = 0; s < shape::STAGES - 1; s++) {
    if (s < chunks)
      gemm_load<CONTRACT, TILE>(g, tile_row, tile_col, s, shared + s * shape::STAGE_BYTES);
    gpu_copy_commit();
  }
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    // All threads now have this chunk, and none still reads the stage that is filled next.
    gpu_copy_wait<shape::STAGES - 2>();
    __syncthreads();
    const int64_t next = chunk + shape::STAGES - 1;
    if (next < chunks) {
      gemm_load<CONTRACT, TILE>(g, tile_row, tile_col, next,
                                shared + next % shape::STAGES * shape::STAGE_BYTES);
    }
    gpu_copy_commit();
    const unsigned char *stage = shared + chunk % shape::STAGES * shape::STAGE_BYTES;
#pragma unroll
    for (int k = 0; k < GEMM_CHUNK; k++) {
      gemm_block<CONTRACT, TILE, shape::MI, shape::NI>(stage, row, col, k, g.unit, sums);
    }
  }
  const gemm_factors_t f = gemm_factors<typename CONTRACT::sum_t>(g.job);
  const uint32_t poisoned = gemm_poisoned_columns<shape::NI / 4>(g, tile_col + col);
#pragma unroll
  for (int i = 0; i < 2 * shape::MI; i++) {
    const gemm_row_t at = gemm_row(g, f, (int)tile_row + row + 8 * i + lane / 4,
                                   (int)tile_col + col + lane % 4 * 2, poisoned);
#pragma unroll
    for (int j = 0; j < shape::NI; j++) {
      gemm_store_pair(g, f, at, j, sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
    }
  }
}

#endif
