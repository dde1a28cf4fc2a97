// SPDX-License-Identifier: Apache-2.0
// Host code of GEMM: the choice of kernels for a job, their workspace, and their launches.
#ifndef UFP4_CUDA_MULTIPLY_CUH
#define UFP4_CUDA_MULTIPLY_CUH

#include "prepare.cuh"
#include "ufp4/format.h"

namespace {

// --- Ways ---------------------------------------------------------------------------------------

/** The kernels that compute a job. */
typedef enum {
  GEMM_BLOCKS,  ///< gemm.cuh, exact
  GEMM_FOLDED,  ///< gemm.cuh, fp32 in BF16
  GEMM_SCALED,  ///< gemm.cuh, fp32 in bytes
  GEMM_E8M0,    ///< gemm_e8m0.cuh
  GEMM_DIGITS,  ///< exact by warps; tiles with too many digit products use blocks
  GEMM_FP32,    ///< by warpgroups, as the next two
  GEMM_PAIRS,   ///< fp32 with E8M0 scales; scales that do not fold into BF16 use gemm_e8m0.cuh
  GEMM_EXACT,
  GEMM_NV,  ///< gemm_nv.cuh
} gemm_way_t;

/** Uses large tiles if there are enough of them for all multiprocessors. */
bool wants_large(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  if (job->choice.tile != 0) return job->choice.tile >= 128;
  return divide_up(job->a.rows, 128) * divide_up(job->b.rows, 128) >=
         cuda->description.multiprocessors;
}

int64_t fp32_tiles(const ufp4_cuda_gemm_t *job, int users) {
  return divide_up(job->a.rows, 64 * users) * divide_up(job->b.rows, FP32_COLS);
}

/** Returns the number of multiplying warpgroups, two or three. The time of a tile is estimated as
 * proportional to its rows, plus a sixteenth with two warpgroups, because each column of B is then
 * read for fewer rows (a prototype's figure). Two are better if their tiles fill fewer, or fuller,
 * waves. */
int fp32_users(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  if (job->choice.tile != 0) return job->choice.tile == 192 ? 3 : 2;
  const int64_t multiprocessors = cuda->description.multiprocessors;
  const int64_t of_two = 2 * divide_up(fp32_tiles(job, 2), multiprocessors),
                of_three = 3 * divide_up(fp32_tiles(job, 3), multiprocessors);
  return 17 * of_two < 16 * of_three ? 2 : 3;
}

/** With fewer tiles, the other kernel's small tiles occupy more multiprocessors. */
bool fp32_wants_warpgroups(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  if (!cuda->has_warpgroups || job->choice.tile == 64) return false;
  return job->choice.tile >= 128 || 3 * fp32_tiles(job, 3) >= cuda->description.multiprocessors;
}

/** Returns whether byte products of warps are fast enough that four digit products replace one
 * product of blocks: by NVIDIA's figures this GPU has twice the rate of its consumer relatives. */
bool has_fast_bytes(const ufp4_cuda_t *cuda) {
  return cuda->description.major == 8 && cuda->description.minor == 0;
}

gemm_way_t gemm_way(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  if (job->contract == UFP4_CONTRACT_NV) return GEMM_NV;
  if (job->contract == UFP4_CONTRACT_EXACT) {
    if (cuda->has_warpgroups && job->choice.tile != 64) return GEMM_EXACT;
    return has_fast_bytes(cuda) && wants_large(cuda, job) ? GEMM_DIGITS : GEMM_BLOCKS;
  }
  if (job->scale == UFP4_SCALE_E8M0)
    return fp32_wants_warpgroups(cuda, job) ? GEMM_PAIRS : GEMM_E8M0;
  if (job->scale == UFP4_SCALE_FP32 || job->choice.product == UFP4_CUDA_PRODUCT_INT8)
    return GEMM_SCALED;
  return fp32_wants_warpgroups(cuda, job) ? GEMM_FP32 : GEMM_FOLDED;
}

// --- Workspace ----------------------------------------------------------------------------------

/** The memory that a block of a row takes when it is unpacked. */
typedef struct {
  int64_t chunk;  ///< k is padded to a multiple of this many blocks
  size_t unit_bytes, weight_bytes;
} unpacking_t;

template <typename CONTRACT>
unpacking_t unpacking_for() {
  const unpacking_t unpacking = {GEMM_CHUNK, CONTRACT::UNIT_BYTES, CONTRACT::HAS_WEIGHTS ? 4 : 0};
  return unpacking;
}

unpacking_t unpacking_of(gemm_way_t way) {
  // Includes bytes and weights behind the digits for tiles computed by blocks (bytes_behind).
  const unpacking_t both = {DIGITS_CHUNK, (DIGITS_SLICES + 1) * 16, 4},
                    digits = {DIGITS_CHUNK, DIGITS_SLICES * 16, 0};
  // BF16, followed by bytes with weights (bytes_behind).
  const unpacking_t folded = {GEMM_CHUNK, 32 + 16, 4};
  const unpacking_t codes = {NV_CHUNK, 8, 1};  // and scales, in their original format
  switch (way) {
    case GEMM_BLOCKS:
      return unpacking_for<gemm_exact_t>();
    case GEMM_SCALED:
    case GEMM_E8M0:
      return unpacking_for<gemm_scaled_t>();
    case GEMM_DIGITS:
      return both;
    case GEMM_EXACT:
      return digits;
    case GEMM_PAIRS:
      return folded;
    case GEMM_NV:
      return codes;
    default:
      return unpacking_for<gemm_folded_t>();
  }
}

bool has_digits(gemm_way_t way) {
  return way == GEMM_DIGITS || way == GEMM_EXACT;
}

/** Returns the bytes of the arrays per row and per panel, which are zeroed before unpacking. */
size_t rows_bytes(const gpu_unpacked_t &x, gemm_way_t way) {
  const size_t rows = (size_t)x.padded_rows, panels = rows / GEMM_ROWS;
  if (way == GEMM_PAIRS) return rows + 2 * sizeof *x.span;
  return rows + (has_digits(way) ? rows + panels + 1 + panels * (size_t)x.words : 0) * 4;
}

void lay_out_operand(int64_t in_rows, int64_t k, const unpacking_t &unpacking,
                     workspace_t *workspace, gpu_unpacked_t *out) {
  out->padded_rows = divide_up(in_rows, GEMM_ROWS) * GEMM_ROWS;
  out->padded_blocks = divide_up(divide_up(k, 16), unpacking.chunk) * unpacking.chunk;
  out->words = (int)divide_up(out->padded_blocks, 32 * DIGITS_CHUNK);
  const size_t units = (size_t)(out->padded_rows * out->padded_blocks);
  out->elements = (unsigned char *)take(workspace, units * unpacking.unit_bytes);
  out->weights = take(workspace, units * unpacking.weight_bytes);
}

void lay_out_rows(gemm_way_t way, workspace_t *workspace, gpu_unpacked_t *out) {
  out->poisoned = (uint8_t *)take(workspace, rows_bytes(*out, way));
  if (out->poisoned == nullptr) return;
  if (way == GEMM_PAIRS) out->span = (uint32_t *)(out->poisoned + out->padded_rows);
  if (!has_digits(way)) return;
  out->units = (int32_t *)(out->poisoned + out->padded_rows);
  out->wide = (uint32_t *)(out->units + out->padded_rows);
  out->thirds = out->wide + out->padded_rows / GEMM_ROWS + 1;
}

/** Returns the number of persistent thread blocks. */
dim3 staying_grid(const ufp4_cuda_t *cuda, int64_t tiles) {
  const int64_t most = cuda->description.multiprocessors;
  return dim3((unsigned)(tiles < most ? tiles : most));
}

int64_t exact_tiles(const ufp4_cuda_gemm_t *job) {
  return divide_up(job->a.rows, EXACT_SIDE) * divide_up(job->b.rows, EXACT_SIDE);
}

/** Returns how many chunks of k of a tile a thread block computes: all, or fewer if there are too
 * few tiles for all multiprocessors. */
int64_t exact_chunks(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  const int64_t all = divide_up(job->k, 16 * DIGITS_CHUNK),
                of_tile = cuda->description.multiprocessors / exact_tiles(job);
  const int64_t even = of_tile > 1 ? divide_up(all, of_tile) : all;
  return even < EXACT_LEAST ? (int64_t)EXACT_LEAST : even;
}

dim3 exact_grid(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  dim3 grid = staying_grid(cuda, exact_tiles(job));
  grid.y = (unsigned)divide_up(divide_up(job->k, 16 * DIGITS_CHUNK), exact_chunks(cuda, job));
  return grid;
}

/** Assigns each array of a job its part of the workspace. */
typedef struct {
  gpu_gemm_t g;
  int64_t *totals;  ///< of exact_kernel
  void *rows;       ///< the arrays per row, of both operands
  size_t rows_bytes;
} gemm_places_t;

gemm_places_t lay_out(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job, gemm_way_t way,
                      workspace_t *workspace) {
  const unpacking_t unpacking = unpacking_of(way);
  gemm_places_t p = {};
  p.g.job = *job;
  p.g.unit = 1.0f;
  for (int i = 0; i < ufp4_elem_frac(job->a.elem) + ufp4_elem_frac(job->b.elem); i++) p.g.unit /= 2;
  lay_out_operand(job->a.rows, job->k, unpacking, workspace, &p.g.a);
  lay_out_operand(job->b.rows, job->k, unpacking, workspace, &p.g.b);
  const size_t first = workspace->used;
  lay_out_rows(way, workspace, &p.g.a);
  lay_out_rows(way, workspace, &p.g.b);
  p.rows = p.g.a.poisoned;
  p.rows_bytes = workspace->used - first;
  if (way == GEMM_EXACT) {
    const dim3 grid = exact_grid(cuda, job);
    p.totals = (int64_t *)take(workspace, (size_t)grid.x * grid.y * EXACT_SIDE * EXACT_SIDE * 8);
  }
  return p;
}

// --- Unpacking ----------------------------------------------------------------------------------

/** Returns the grid of kernels whose thread blocks unpack 16 x 16 entries each. */
dim3 turned_grid(const gpu_unpacked_t &out) {
  return dim3(
      (unsigned)(divide_up(out.padded_blocks, UNPACK_SIDE) * out.padded_rows / UNPACK_SIDE));
}

/** Unpacks an operand to bytes. @p other: the other operand if there are digits or BF16 beside the
 * bytes; otherwise the same operand. */
template <bool INTEGER>
void unpack_bytes(const queue_t &queue, const ufp4_cuda_gemm_t &job, const gpu_operand_t &in,
                  const gpu_unpacked_t &out, const gpu_unpacked_t &other) {
  GPU_LAUNCH(queue.stream, (unpack_bytes_kernel<INTEGER>),
             dim3((unsigned)divide_up(out.padded_rows * out.padded_blocks, UNPACK_THREADS)),
             UNPACK_THREADS, 0, in, (int)job.scale, divide_up(job.k, 16), out, other);
}

template <int SCALE>
void unpack_bf16(const queue_t &queue, const ufp4_cuda_gemm_t &job, const gpu_operand_t &in,
                 const gpu_unpacked_t &out) {
  GPU_LAUNCH(queue.stream, (unpack_bf16_kernel<SCALE>), turned_grid(out), UNPACK_THREADS, 0, in,
             divide_up(job.k, 16), out);
}

void unpack_digits(const queue_t &queue, const ufp4_cuda_gemm_t &job, const gpu_operand_t &in,
                   const gpu_unpacked_t &out) {
  const int64_t blocks = divide_up(job.k, 16);
  GPU_LAUNCH(queue.stream, digits_units_kernel,
             dim3((unsigned)(out.padded_rows / (UNPACK_THREADS / 32))), UNPACK_THREADS, 0, in,
             blocks, out);
  GPU_LAUNCH(queue.stream, unpack_digits_kernel, turned_grid(out), UNPACK_THREADS, 0, in, blocks,
             out);
}

template <bool INTEGER>
void unpack_both_bytes(const queue_t &queue, const gpu_gemm_t &g) {
  unpack_bytes<INTEGER>(queue, g.job, g.job.a, g.a, g.a);
  unpack_bytes<INTEGER>(queue, g.job, g.job.b, g.b, g.b);
}
template <int SCALE>
void unpack_both_bf16(const queue_t &queue, const gpu_gemm_t &g) {
  unpack_bf16<SCALE>(queue, g.job, g.job.a, g.a);
  unpack_bf16<SCALE>(queue, g.job, g.job.b, g.b);
}
void unpack_both_digits(const queue_t &queue, const gpu_gemm_t &g) {
  unpack_digits(queue, g.job, g.job.a, g.a);
  unpack_digits(queue, g.job, g.job.b, g.b);
}

void unpack_nv(const queue_t &queue, const ufp4_cuda_gemm_t &job, const gpu_operand_t &in,
               const gpu_unpacked_t &out) {
  const int64_t steps = out.padded_rows * (out.padded_blocks / NV_STEP);
  GPU_LAUNCH(queue.stream, unpack_nv_kernel, dim3((unsigned)divide_up(steps, UNPACK_THREADS)),
             UNPACK_THREADS, 0, in, (int)job.scale, divide_up(job.k, 16), out);
}

/** Returns the same operand as bytes with weights, which follow @p block_bytes for each block. */
gpu_unpacked_t bytes_behind(const gpu_unpacked_t &in, int block_bytes) {
  gpu_unpacked_t bytes = in;
  bytes.elements += block_bytes * in.padded_rows * in.padded_blocks;
  return bytes;
}

// --- By warps -----------------------------------------------------------------------------------

template <typename CONTRACT, int TILE>
void launch_tiles(const queue_t &queue, const gpu_gemm_t &g) {
  typedef gemm_shape_t<CONTRACT, TILE> shape;
  const int64_t tiles = divide_up(g.job.a.rows, TILE) * divide_up(g.job.b.rows, TILE);
  GPU_LAUNCH(queue.stream, (gemm_kernel<CONTRACT, TILE>), dim3((unsigned)tiles),
             (unsigned)shape::THREADS, (size_t)shape::SHARED_BYTES, g);
}

template <typename CONTRACT>
void launch_gemm(const queue_t &queue, const gpu_gemm_t &g) {
  if (wants_large(queue.cuda, &g.job)) {
    launch_tiles<CONTRACT, 128>(queue, g);
  } else {
    launch_tiles<CONTRACT, 64>(queue, g);
  }
}

/** A block of E8M0 scales is as long as an INT8 product. */
void launch_e8m0(const queue_t &queue, const gpu_gemm_t &g) {
  const int64_t tiles = divide_up(g.job.a.rows, E8M0_SIDE) * divide_up(g.job.b.rows, E8M0_SIDE);
  GPU_LAUNCH(queue.stream, e8m0_kernel, dim3((unsigned)tiles), (unsigned)E8M0_THREADS, 0, g);
}

/** Runs contract exact by digits, and by blocks in tiles with too many digit products; the device
 * decides. */
void launch_digits(const queue_t &queue, gpu_gemm_t g) {
  const int64_t tiles = divide_up(g.job.a.rows, DIGITS_ROWS) * divide_up(g.job.b.rows, DIGITS_COLS);
  GPU_LAUNCH(queue.stream, digits_kernel, dim3((unsigned)tiles), DIGITS_THREADS,
             (size_t)DIGITS_SHARED_BYTES, g);
  g.a = bytes_behind(g.a, DIGITS_SLICES * 16);
  g.b = bytes_behind(g.b, DIGITS_SLICES * 16);
  unpack_bytes<true>(queue, g.job, g.job.a, g.a, g.b);
  unpack_bytes<true>(queue, g.job, g.job.b, g.b, g.a);
  launch_tiles<gemm_exact_t, 128>(queue, g);
}

template <int TILE>
void launch_nv_tiles(const queue_t &queue, const gpu_gemm_t &g) {
  typedef nv_shape_t<TILE> shape;
  const int64_t tiles = divide_up(g.job.a.rows, TILE) * divide_up(g.job.b.rows, TILE);
  GPU_LAUNCH(queue.stream, (nv_kernel<TILE>), dim3((unsigned)tiles), (unsigned)shape::THREADS,
             (size_t)shape::SHARED_BYTES, g);
}

void launch_nv(const queue_t &queue, const gpu_gemm_t &g) {
  unpack_nv(queue, g.job, g.job.a, g.a);
  unpack_nv(queue, g.job, g.job.b, g.b);
  if (wants_large(queue.cuda, &g.job)) {
    launch_nv_tiles<128>(queue, g);
  } else {
    launch_nv_tiles<64>(queue, g);
  }
}

// --- By warpgroups ------------------------------------------------------------------------------

/** Describes an operand to the copy engine: @p slices of [padded rows][k] elements, in boxes of
 * 128 bytes along k. */
ufp4_status_t describe_unpacked(const queue_t &queue, const gpu_unpacked_t &in, int64_t k,
                                int slices, CUtensorMapDataType type, unsigned box_rows,
                                CUtensorMap *out) {
  const unsigned bytes = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ? 2 : 1;
  const cuuint64_t sizes[2] = {(cuuint64_t)(divide_up(k, 16) * 16),
                               (cuuint64_t)(slices * in.padded_rows)},
                   pitches[1] = {(cuuint64_t)in.padded_blocks * 16 * bytes};
  const cuuint32_t box[2] = {128 / bytes, box_rows}, steps[2] = {1, 1};
  const CUresult error =
      queue.cuda->encode(out, type, 2, in.elements, sizes, pitches, box, steps,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error == CUDA_SUCCESS) return UFP4_OK;
  return fail(queue.message, UFP4_ERROR_DEVICE,
              "cuda: the GPU's copy engine does not accept a matrix of %lld x %lld",
              (long long)in.padded_rows, (long long)k);
}

template <int USERS, int LENGTH>
ufp4_status_t run_fp32_shape(const queue_t &queue, const gpu_gemm_t &g) {
  typedef fp32_shape_t<USERS> shape;
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  CUtensorMap a, b;
  ufp4_status_t status = describe_unpacked(queue, g.a, g.job.k, 1, type, shape::ROWS, &a);
  if (status == UFP4_OK) status = describe_unpacked(queue, g.b, g.job.k, 1, type, FP32_COLS, &b);
  if (status != UFP4_OK) return status;
  unpack_both_bf16<LENGTH == 2 ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3>(queue, g);
  GPU_LAUNCH(queue.stream, (fp32_kernel<USERS, LENGTH>),
             staying_grid(queue.cuda, fp32_tiles(&g.job, USERS)), (unsigned)shape::THREADS,
             (size_t)shape::ring::SHARED_BYTES, a, b, g);
  return UFP4_OK;
}

template <int LENGTH>
ufp4_status_t run_fp32(const queue_t &queue, const gpu_gemm_t &g) {
  return fp32_users(queue.cuda, &g.job) == 2 ? run_fp32_shape<2, LENGTH>(queue, g)
                                             : run_fp32_shape<3, LENGTH>(queue, g);
}

/** Runs E8M0 scales in BF16, or by bytes if some do not fold; the device decides. */
ufp4_status_t run_pairs(const queue_t &queue, gpu_gemm_t g) {
  const ufp4_status_t status = run_fp32<2>(queue, g);
  if (status != UFP4_OK) return status;
  g.a = bytes_behind(g.a, 32);
  g.b = bytes_behind(g.b, 32);
  unpack_bytes<false>(queue, g.job, g.job.a, g.a, g.b);
  unpack_bytes<false>(queue, g.job, g.job.b, g.b, g.a);
  launch_e8m0(queue, g);
  return UFP4_OK;
}

ufp4_status_t run_exact(const queue_t &queue, const gpu_gemm_t &g, int64_t *totals) {
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  CUtensorMap a, b;
  ufp4_status_t status =
      describe_unpacked(queue, g.a, g.job.k, DIGITS_SLICES, type, EXACT_SIDE, &a);
  if (status == UFP4_OK)
    status = describe_unpacked(queue, g.b, g.job.k, DIGITS_SLICES, type, EXACT_SIDE, &b);
  if (status != UFP4_OK) return status;
  unpack_both_digits(queue, g);
  const dim3 grid = exact_grid(queue.cuda, &g.job);
  GPU_LAUNCH(queue.stream, exact_kernel, grid, EXACT_THREADS, (size_t)exact_ring_t::SHARED_BYTES, a,
             b, g, totals, (int)exact_chunks(queue.cuda, &g.job));
  if (grid.y > 1) {
    GPU_LAUNCH(queue.stream, exact_join_kernel, dim3(grid.x, EXACT_JOINERS),
               WARPGROUP * EXACT_USERS, 0, g, totals, (int)grid.y);
  }
  return UFP4_OK;
}

// --- All ----------------------------------------------------------------------------------------

size_t multiply_workspace(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  workspace_t counted = {nullptr, 0};
  (void)lay_out(cuda, job, gemm_way(cuda, job), &counted);
  return workspace_bytes(counted);
}

ufp4_status_t multiply(const queue_t &queue, const ufp4_cuda_gemm_t *job, workspace_t workspace) {
  const gemm_way_t way = gemm_way(queue.cuda, job);
  const gemm_places_t p = lay_out(queue.cuda, job, way, &workspace);
  ufp4_status_t status =
      check(queue.message, cudaMemsetAsync(p.rows, 0, p.rows_bytes, queue.stream), "gemm");
  if (status != UFP4_OK) return status;
  switch (way) {
    case GEMM_BLOCKS:
      unpack_both_bytes<true>(queue, p.g);
      launch_gemm<gemm_exact_t>(queue, p.g);
      break;
    case GEMM_FOLDED:
      unpack_both_bf16<UFP4_SCALE_E4M3>(queue, p.g);
      launch_gemm<gemm_folded_t>(queue, p.g);
      break;
    case GEMM_SCALED:
      unpack_both_bytes<false>(queue, p.g);
      launch_gemm<gemm_scaled_t>(queue, p.g);
      break;
    case GEMM_E8M0:
      unpack_both_bytes<false>(queue, p.g);
      launch_e8m0(queue, p.g);
      break;
    case GEMM_DIGITS:
      unpack_both_digits(queue, p.g);
      launch_digits(queue, p.g);
      break;
    case GEMM_FP32:
      status = run_fp32<1>(queue, p.g);
      break;
    case GEMM_PAIRS:
      status = run_pairs(queue, p.g);
      break;
    case GEMM_EXACT:
      status = run_exact(queue, p.g, p.totals);
      break;
    case GEMM_NV:
      launch_nv(queue, p.g);
      break;
  }
  return status == UFP4_OK ? launched(queue, "gemm") : status;
}

}  // namespace

#endif
