// SPDX-License-Identifier: Apache-2.0
// QUANT and AMAX: a thread block reads 64 x 64 elements once and makes both copies of them. In
// panel-major memory the 16 blocks of a 16 x 16 tile are one unit of 128 bytes, written by 16
// neighbouring threads.
#ifndef UFP4_CUDA_QUANTIZE_CUH
#define UFP4_CUDA_QUANTIZE_CUH

#include "block_bf16.cuh"
#include "block_scales.cuh"
#include "jobs.cuh"

#define QUANTIZE_SIDE 64
#define QUANTIZE_THREADS 256
#define QUANTIZE_PITCH (QUANTIZE_SIDE + 1)

/** The work item of a thread: one block of one copy. */
typedef struct {
  const ufp4_cuda_copy_t *copy;
  int first, step;     ///< position of its elements in the tile's shared memory
  int64_t row, block;  ///< in the orientation of the copy
  int64_t blocks;      ///< ceil(cols / 16) there
  bool inside;         ///< the block exists
  bool stored;         ///< the block, or the zeros that pad its group, is written
} gpu_item_t;

/** The first row and column of a launch's thread blocks, multiples of 16. */
typedef struct {
  int64_t row, col;
} quantize_origin_t;

GPU int32_t exponent_of(const ufp4_cuda_exponent_t &exponent) {
  return exponent.slot != nullptr ? *exponent.slot : exponent.value;
}

// --- What a graph may draw anew: where it is not in device memory it is a parameter -------------

GPU uint64_t draw_seed(const ufp4_cuda_copy_t &copy) {
  return copy.drawn != nullptr ? copy.drawn->seed : copy.draw.seed;
}

GPU uint64_t draw_id(const ufp4_cuda_copy_t &copy) {
  return copy.drawn != nullptr ? copy.drawn->tensor_id : copy.draw.tensor_id;
}

GPU uint32_t draw_mask(const ufp4_cuda_copy_t &copy) {
  return copy.drawn != nullptr ? copy.drawn->mask : copy.draw.mask;
}

// --- A thread block's tile ----------------------------------------------------------------------

/** Loads the tile, with zeros beyond the tensor. Neighbouring threads load neighbouring
 * columns. */
template <bool BF16>
GPU void quantize_load(const ufp4_cuda_quantize_t &job, int64_t row, int64_t col, uint32_t *tile) {
  const int c = (int)threadIdx.x % QUANTIZE_SIDE;
#pragma unroll
  for (int i = 0; i < QUANTIZE_SIDE * QUANTIZE_SIDE / QUANTIZE_THREADS; i++) {
    const int r = i * (QUANTIZE_THREADS / QUANTIZE_SIDE) + (int)threadIdx.x / QUANTIZE_SIDE;
    uint32_t bits = 0;
    if (row + r < job.rows && col + c < job.cols) {
      const int64_t at = (row + r) * job.ld + col + c;
      bits = BF16 ? (uint32_t)((const uint16_t *)job.source)[at] << 16
                  : ((const uint32_t *)job.source)[at];
    }
    tile[r * QUANTIZE_PITCH + c] = bits;
  }
}

GPU gpu_item_t quantize_item(const ufp4_cuda_quantize_t &job, int axis, int index, int64_t row,
                             int64_t col) {
  const int tile = index / 16, lane = index % 16, side = QUANTIZE_SIDE / 16;
  // Neighbouring tiles are adjacent along the blocks of the copy.
  const int across = tile % side * 16, down = tile / side * 16;
  const int r = axis == UFP4_AXIS_ROW ? down + lane : across,
            c = axis == UFP4_AXIS_ROW ? across : down + lane;
  const int64_t rows = axis == UFP4_AXIS_ROW ? job.rows : job.cols,
                cols = axis == UFP4_AXIS_ROW ? job.cols : job.rows;
  gpu_item_t item;
  item.copy = &job.copies[axis];
  item.first = r * QUANTIZE_PITCH + c;
  item.step = axis == UFP4_AXIS_ROW ? 1 : QUANTIZE_PITCH;
  item.row = axis == UFP4_AXIS_ROW ? row + r : col + c;
  item.block = (axis == UFP4_AXIS_ROW ? col + c : row + r) / 16;
  item.blocks = (cols + 15) / 16;
  item.inside = item.row < rows && item.block < item.blocks;
  item.stored = item.copy->pads_groups
                    ? item.row < (rows + 15) / 16 * 16 && item.block < item.blocks
                    : item.inside;
  return item;
}

/** Returns the largest span over threads whose numbers differ only in the bits from FIRST up to
 * END. */
template <int FIRST, int END>
GPU gpu_span_t span_of_threads(gpu_span_t span) {
#pragma unroll
  for (int by = FIRST; by < END; by *= 2) {
    gpu_span_t other;
    other.amax = __shfl_xor_sync(0xFFFFFFFFu, span.amax, by);
    other.exponent = __shfl_xor_sync(0xFFFFFFFFu, span.exponent, by);
    other.poisoned = __shfl_xor_sync(0xFFFFFFFFu, span.poisoned, by);
    if (span_is_larger(other, span)) {
      span.amax = other.amax;
      span.exponent = other.exponent;
    }
    span.poisoned |= other.poisoned;
  }
  if (span.poisoned) span.amax = 0;
  return span;
}

/** Loads the block's elements, transformed if the copy requires it, also in BF16 if ANY; @return
 * the exponent of the transform in integers, otherwise 0. */
template <bool ANY>
GPU int quantize_fetch(const gpu_item_t &item, const uint32_t *tile, uint32_t bits[16]) {
  const uint32_t mask = draw_mask(*item.copy);
#pragma unroll
  for (int i = 0; i < 16; i++) bits[i] = tile[item.first + i * item.step];
  if (ANY && item.copy->rht == UFP4_RHT_BF16) hadamard_bf16(bits, mask);
  return item.copy->rht == UFP4_RHT_INTEGER ? hadamard(bits, mask) : 0;
}

/** Returns the span of all elements that share the block's scale: the 16 rows of a tile are 16
 * neighbouring threads, and the two halves of a block of 32 are 16 threads apart. */

GPU gpu_span_t quantize_span(const ufp4_cuda_quantize_t &job, const gpu_item_t &item,
                             const uint32_t bits[16], int exponent) {
  const gpu_span_t span = item.copy->rht == UFP4_RHT_INTEGER ? block_span<true>(bits, exponent)
                                                             : block_span<false>(bits, exponent);
  if (job.scale == UFP4_SCALE_E8M0) return span_of_threads<16, 32>(span);
  return job.layout == UFP4_LAYOUT_2D ? span_of_threads<1, 16>(span) : span;
}

// --- AMAX ---------------------------------------------------------------------------------------

/** Collects for each copy the smallest exponent that any block requires, and whether there is NaN.
 * ANY: also NVFP4 and the transform in BF16. */
template <bool BF16, bool ANY>
GPU_KERNEL void GPU_LAUNCH_BOUNDS(QUANTIZE_THREADS)
    amax_kernel(ufp4_cuda_quantize_t job, quantize_origin_t origin) {
  __shared__ uint32_t tile[QUANTIZE_SIDE * QUANTIZE_PITCH];
  __shared__ int32_t smallest[2];
  const int64_t row = origin.row + (int64_t)blockIdx.y * QUANTIZE_SIDE,
                col = origin.col + (int64_t)blockIdx.x * QUANTIZE_SIDE;
  if (threadIdx.x < 2) smallest[threadIdx.x] = INT32_MAX;
  quantize_load<BF16>(job, row, col, tile);
  __syncthreads();
  bool poisoned = false;
  for (int axis = 0; axis < 2; axis++) {
    if (!job.copies[axis].enabled) continue;
    uint32_t bits[16];
    const gpu_item_t item = quantize_item(job, axis, (int)threadIdx.x, row, col);
    const int exponent = quantize_fetch<ANY>(item, tile, bits);
    const gpu_span_t span = quantize_span(job, item, bits, exponent);
    poisoned |= item.inside && span.poisoned;
    if (!item.inside || span.amax == 0) continue;
    atomicMin(&smallest[axis], ANY && job.scale == UFP4_SCALE_NVFP4
                                   ? nvfp4_asked(span)
                                   : span_exponent(span, job.elem));
  }
  if (poisoned) atomicOr(job.flags, (unsigned)UFP4_FLAG_NAN);
  __syncthreads();
  if (threadIdx.x >= 2 || !job.copies[threadIdx.x].enabled) return;
  // Most thread blocks do not change the word, so it is read first, to avoid a queue of atomic
  // operations.
  int32_t *largest = job.copies[threadIdx.x].largest;
  if (smallest[threadIdx.x] < *(volatile int32_t *)largest)
    atomicMin(largest, smallest[threadIdx.x]);
}

/** Writes AMAX's result to @p slot as an exponent: 0 if no block required one. */
GPU_KERNEL void settle_kernel(const int32_t *largest, int32_t *slot) {
  if (threadIdx.x == 0) *slot = *largest == INT32_MAX ? 0 : *largest;
}

// --- QUANT --------------------------------------------------------------------------------------

template <int ELEM, bool SR, bool RHT>
GPU uint64_t quantize_codes(const ufp4_cuda_quantize_t &job, const gpu_item_t &item,
                            const uint32_t bits[16], int exponent, int t,
                            const gpu_scale_t &scale) {
  uint32_t words[4] = {0, 0, 0, 0};
  if (SR) {
    random_words(draw_seed(*item.copy), draw_id(*item.copy),
                 (uint64_t)item.row * (uint64_t)item.blocks + (uint64_t)item.block, words);
  }
  if (job.scale == UFP4_SCALE_FP32) return fp32_codes<ELEM, RHT, SR>(bits, exponent, scale, words);
  return e4m3_codes<ELEM, RHT, SR>(bits, exponent, scale, t, words);
}

GPU void quantize_store(const ufp4_cuda_quantize_t &job, const gpu_item_t &item, uint32_t scale,
                        uint64_t codes) {
  const ufp4_cuda_place_t &place = item.copy->place;
  const int64_t at =
      item.row / 16 * place.group + item.block * place.block + item.row % 16 * place.row;
  item.copy->codes[at] = codes;
  if (job.scale == UFP4_SCALE_FP32) {
    ((uint32_t *)item.copy->scales)[at] = scale;
  } else {
    ((uint8_t *)item.copy->scales)[at] = (uint8_t)scale;
  }
}

GPU unsigned quantize_flags(int axis, const gpu_span_t &span, bool saturated) {
  const unsigned of_axis =
      axis == UFP4_AXIS_ROW ? UFP4_FLAG_ROW_SATURATED : UFP4_FLAG_COL_SATURATED;
  return (span.poisoned ? UFP4_FLAG_NAN : 0u) | (saturated ? of_axis : 0u);
}

/** Makes one copy of the tile; @return flags. */
template <int ELEM, bool SR>
GPU unsigned quantize_copy(const ufp4_cuda_quantize_t &job, int axis, int64_t row, int64_t col,
                           const uint32_t *tile) {
  uint32_t bits[16];
  const gpu_item_t item = quantize_item(job, axis, (int)threadIdx.x, row, col);
  const int exponent = quantize_fetch<false>(item, tile, bits);
  const gpu_span_t span = quantize_span(job, item, bits, exponent);
  const int t = job.scale == UFP4_SCALE_E4M3 ? exponent_of(item.copy->exponent) : 0;
  const gpu_scale_t scale = job.scale == UFP4_SCALE_FP32
                                ? fp32_scale(span, ELEM)
                                : e4m3_scale(span, ELEM, job.scale_round == UFP4_SCALE_ROUND_UP, t);
  if (!item.stored) return 0;
  const uint64_t codes = item.copy->rht == UFP4_RHT_INTEGER
                             ? quantize_codes<ELEM, SR, true>(job, item, bits, exponent, t, scale)
                             : quantize_codes<ELEM, SR, false>(job, item, bits, exponent, t, scale);
  // A tile of layout 2d has one scale; padding rows have none.
  quantize_store(job, item, item.inside ? scale.stored : 0u, item.inside ? codes : 0u);
  return item.inside ? quantize_flags(axis, span, scale.saturated) : 0;
}

template <int ELEM, bool SR, bool BF16>
GPU_KERNEL void GPU_LAUNCH_BOUNDS(QUANTIZE_THREADS)
    quantize_kernel(ufp4_cuda_quantize_t job, quantize_origin_t origin) {
  __shared__ uint32_t tile[QUANTIZE_SIDE * QUANTIZE_PITCH];
  const int64_t row = origin.row + (int64_t)blockIdx.y * QUANTIZE_SIDE,
                col = origin.col + (int64_t)blockIdx.x * QUANTIZE_SIDE;
  quantize_load<BF16>(job, row, col, tile);
  __syncthreads();
  unsigned flags = 0;
  for (int axis = 0; axis < 2; axis++) {
    if (job.copies[axis].enabled) flags |= quantize_copy<ELEM, SR>(job, axis, row, col, tile);
  }
  if (flags != 0) atomicOr(job.flags, flags);
}

#endif
