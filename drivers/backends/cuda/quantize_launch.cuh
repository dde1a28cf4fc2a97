// SPDX-License-Identifier: Apache-2.0
// The choice of kernels for a QUANT or AMAX job, and their launches.
#ifndef UFP4_CUDA_QUANTIZE_LAUNCH_CUH
#define UFP4_CUDA_QUANTIZE_LAUNCH_CUH

#include "library.cuh"
#include "quantize_mixed.cuh"
#include "quantize_quick.cuh"

namespace {

/** The part of a tensor that a launch of quantize.cuh's kernels covers. */
typedef struct {
  quantize_origin_t origin;
  dim3 grid;
} quantize_part_t;

dim3 quantize_grid(int64_t rows, int64_t cols) {
  return dim3((unsigned)divide_up(cols, QUANTIZE_SIDE), (unsigned)divide_up(rows, QUANTIZE_SIDE));
}

/** Returns whether the job has a scale format or a transform that only quantize_scales.cuh
 * supports. */
bool wants_scales_kernel(const ufp4_cuda_quantize_t &job) {
  for (const ufp4_cuda_copy_t &copy : job.copies) {
    if (copy.enabled && copy.rht == UFP4_RHT_BF16) return true;
  }
  return job.scale == UFP4_SCALE_NVFP4 || job.scale == UFP4_SCALE_E8M0;
}

/** Asynchronous copies need 16-byte alignment, and indices inside a tile have 32 bits. */
bool quick_takes(const ufp4_cuda_quantize_t &job) {
  const int64_t bytes = job.dtype == UFP4_DTYPE_BF16 ? 2 : 4;
  for (const ufp4_cuda_copy_t &copy : job.copies) {
    const ufp4_cuda_place_t &place = copy.place;
    if (copy.enabled && (place.group | place.block | place.row) >> 26 != 0) return false;
  }
  return job.scale == UFP4_SCALE_E4M3 && job.layout == UFP4_LAYOUT_1D &&
         (uintptr_t)job.source % 16 == 0 && job.ld * bytes % 16 == 0;
}

/** Splits a job into whole tiles and the rest: columns to the right of them, and rows below. */
typedef struct {
  dim3 tiles;
  quantize_part_t rest[2];
  int rests;
} quick_parts_t;

quick_parts_t quick_parts(const ufp4_cuda_quantize_t &job) {
  int64_t rows = job.rows / QUICK_ROWS * QUICK_ROWS, cols = job.cols / QUICK_COLS * QUICK_COLS;
  if (!quick_takes(job) || rows == 0) cols = 0;
  quick_parts_t parts = {};
  parts.tiles = dim3((unsigned)(cols / QUICK_COLS), (unsigned)(rows / QUICK_ROWS));
  if (cols < job.cols)
    parts.rest[parts.rests++] = {{0, cols}, quantize_grid(job.rows, job.cols - cols)};
  if (rows < job.rows && cols > 0)
    parts.rest[parts.rests++] = {{rows, 0}, quantize_grid(job.rows - rows, cols)};
  return parts;
}

const quick_units_t quick_units = {1, 0xFFFFFFFFu};

template <bool BF16>
void launch_quick_amax(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  const quick_parts_t parts = quick_parts(job);
  if (parts.tiles.x > 0)
    GPU_LAUNCH(queue.stream, (quick_amax_kernel<BF16>), parts.tiles, QUICK_THREADS, 0, job,
               quick_units);
  for (int i = 0; i < parts.rests; i++)
    GPU_LAUNCH(queue.stream, (amax_kernel<BF16, false>), parts.rest[i].grid, QUANTIZE_THREADS, 0,
               job, parts.rest[i].origin);
}

template <int ELEM, bool SR, bool BF16>
void launch_quick(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  const quick_parts_t parts = quick_parts(job);
  if (parts.tiles.x > 0)
    GPU_LAUNCH(queue.stream, (quick_kernel<ELEM, SR, BF16>), parts.tiles, QUICK_THREADS, 0, job,
               quick_units);
  for (int i = 0; i < parts.rests; i++)
    GPU_LAUNCH(queue.stream, (quantize_kernel<ELEM, SR, BF16>), parts.rest[i].grid,
               QUANTIZE_THREADS, 0, job, parts.rest[i].origin);
}

}  // namespace

#endif
