// SPDX-License-Identifier: Apache-2.0
// Fast QUANT and AMAX with E4M3 scales for each block (docs/ip/gpu-kernels.md): whole
// tiles of 32 x 64 elements arrive by asynchronous copies, and both copies are made from one tile.
// Blocks that block_quick.cuh does not handle use block.cuh, and partial tiles use quantize.cuh.
#ifndef UFP4_CUDA_QUANTIZE_QUICK_CUH
#define UFP4_CUDA_QUANTIZE_QUICK_CUH

#include "block_quick.cuh"
#include "quantize.cuh"

#define QUICK_ROWS 32
#define QUICK_COLS 64
#define QUICK_THREADS 128
#define QUICK_BLOCKS 8  // blocks per multiprocessor

/** The layout of the tile in shared memory: rows of 16-byte pieces, in which eight pieces of a
 * column, and 32 elements of a row, are in different banks. */
template <bool BF16>
struct quick_tile_t {
  enum {
    BYTES = BF16 ? 2 : 4,
    PITCH = QUICK_COLS + 16 / BYTES,
    ROW_PIECES = QUICK_COLS * BYTES / 16,
    PIECES = QUICK_ROWS * ROW_PIECES / QUICK_THREADS,
    WORDS = QUICK_ROWS * PITCH * BYTES / 4,
  };
};

/** A thread's block of a copy. */
typedef struct {
  unsigned r, b;       ///< row, and block along it, within the tile, in the copy's orientation
  int64_t row, block;  ///< row and block of the tile
  const void *first;   ///< in shared memory
} quick_place_t;

typedef struct {
  uint32_t codes[2], stored;
  unsigned flags;
} quick_block_t;

template <bool BF16>
GPU uint32_t quick_element(const void *first, int index) {
  return BF16 ? (uint32_t)((const uint16_t *)first)[index] << 16 : ((const uint32_t *)first)[index];
}

// --- The tile -----------------------------------------------------------------------------------

template <bool BF16>
GPU void quick_load(const ufp4_cuda_quantize_t &job, int64_t row, int64_t col, void *tile) {
  typedef quick_tile_t<BF16> shape;
  const unsigned piece = threadIdx.x % shape::ROW_PIECES, first = threadIdx.x / shape::ROW_PIECES;
  const char *from = (const char *)job.source + ((row + first) * job.ld + col) * shape::BYTES;
#pragma unroll
  for (int i = 0; i < shape::PIECES; i++) {
    const unsigned down = (unsigned)i * (QUICK_THREADS / shape::ROW_PIECES);
    gpu_copy_16((char *)tile + (first + down) * shape::PITCH * shape::BYTES + piece * 16,
                from + down * job.ld * shape::BYTES + piece * 16);
  }
  gpu_copy_commit();
}

/** A warp handles 16 rows of two blocks of the row copy, and 32 columns of the column copy. */
template <int AXIS, bool BF16>
GPU quick_place_t quick_place(int64_t row, int64_t col, const void *tile) {
  typedef quick_tile_t<BF16> shape;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  quick_place_t place;
  if (AXIS == UFP4_AXIS_ROW) {
    place.r = warp / 2 * 16 + lane % 16;
    place.b = warp % 2 * 2 + lane / 16;
    place.row = row;
    place.block = col / 16;
    place.first = (const char *)tile + (place.r * shape::PITCH + place.b * 16) * shape::BYTES;
  } else {
    place.r = warp % 2 * 32 + lane;
    place.b = warp / 2;
    place.row = col;
    place.block = row / 16;
    place.first = (const char *)tile + (place.b * 16 * shape::PITCH + place.r) * shape::BYTES;
  }
  return place;
}

template <int AXIS, bool BF16>
GPU void quick_read(const quick_place_t &place, float (&x)[16]) {
  uint32_t bits[16];
  if (AXIS == UFP4_AXIS_COL) {
#pragma unroll
    for (int i = 0; i < 16; i++)
      bits[i] = quick_element<BF16>(place.first, i * quick_tile_t<BF16>::PITCH);
  } else if (BF16) {
    uint32_t pairs[8];
#pragma unroll
    for (int i = 0; i < 2; i++) gpu_load_16((const char *)place.first + 16 * i, pairs + 4 * i);
#pragma unroll
    for (int i = 0; i < 16; i++) bits[i] = i % 2 ? pairs[i / 2] & 0xFFFF0000u : pairs[i / 2] << 16;
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) gpu_load_16((const char *)place.first + 16 * i, bits + 4 * i);
  }
#pragma unroll
  for (int i = 0; i < 16; i++) x[i] = __int_as_float((int32_t)bits[i]);
}

/** Loads its elements for block.cuh; @return the exponent of the transform, otherwise 0. */
GPU int quick_fetch(const ufp4_cuda_quantize_t &job, int axis, const void *first,
                    uint32_t bits[16]) {
  const bool bf16 = job.dtype == UFP4_DTYPE_BF16;
  const int pitch = bf16 ? (int)quick_tile_t<true>::PITCH : (int)quick_tile_t<false>::PITCH;
  const int step = axis == UFP4_AXIS_ROW ? 1 : pitch;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    bits[i] = bf16 ? quick_element<true>(first, i * step) : quick_element<false>(first, i * step);
  }
  return job.copies[axis].rht == UFP4_RHT_INTEGER ? hadamard(bits, draw_mask(job.copies[axis])) : 0;
}

// --- QUANT --------------------------------------------------------------------------------------

/** Quantizes a block as quantize.cuh does, for numbers. */
template <int ELEM, bool SR>
GPU_FUNCTION quick_block_t quick_slow(const ufp4_cuda_quantize_t &job, int axis, const void *first,
                                      int t, uint64_t group) {
  uint32_t bits[16], words[4] = {0, 0, 0, 0};
  const int exponent = quick_fetch(job, axis, first, bits);
  const bool rht = job.copies[axis].rht == UFP4_RHT_INTEGER;
  const gpu_span_t span = rht ? block_span<true>(bits, exponent) : block_span<false>(bits, 0);
  const gpu_scale_t scale = e4m3_scale(span, ELEM, job.scale_round == UFP4_SCALE_ROUND_UP, t);
  if (SR) random_words(draw_seed(job.copies[axis]), draw_id(job.copies[axis]), group, words);
  const uint64_t codes = rht ? e4m3_codes<ELEM, true, SR>(bits, exponent, scale, t, words)
                             : e4m3_codes<ELEM, false, SR>(bits, exponent, scale, t, words);
  const quick_block_t out = {{(uint32_t)codes, (uint32_t)(codes >> 32)},
                             scale.stored,
                             quantize_flags(axis, span, scale.saturated)};
  return out;
}

/** Quantizes without and with the transform; @return the scale. */
template <int ELEM, bool SR, int AXIS>
GPU quick_scale_t quick_encode_plain(const ufp4_cuda_quantize_t &job, const float (&x)[16],
                                     float amax, int t, uint64_t group, const quick_units_t &units,
                                     uint32_t (&codes)[2]) {
  const bool up = job.scale_round == UFP4_SCALE_ROUND_UP;
  const quick_scale_t scale = quick_scale<ELEM, false>(amax, 1.0f, up, t);
  if (!SR) {
    quick_codes_nearest<ELEM>(x, amax, scale, units.one, codes);
    return scale;
  }
  uint32_t bits[16], words[4];
  quick_random(draw_seed(job.copies[AXIS]), draw_id(job.copies[AXIS]), group, units, words);
#pragma unroll
  for (int i = 0; i < 16; i++) bits[i] = (uint32_t)__float_as_int(x[i]);
  if (up) {
    quick_codes_drawn<ELEM, false, false>(bits, scale, words, units.one, codes);
  } else {
    quick_codes_drawn<ELEM, false, true>(bits, scale, words, units.one, codes);
  }
  return scale;
}

template <int ELEM, bool SR, int AXIS>
GPU quick_scale_t quick_encode_rht(const ufp4_cuda_quantize_t &job, float (&x)[16], float amax,
                                   int t, uint64_t group, const quick_units_t &units,
                                   uint32_t (&codes)[2]) {
  const bool up = job.scale_round == UFP4_SCALE_ROUND_UP;
  const float unit = quick_unit(amax);
  uint32_t y[16];
  quick_hadamard(x, amax, draw_mask(job.copies[AXIS]), units, y);
  if (!SR) {
    float largest = 0.0f;
#pragma unroll
    for (int i = 0; i < 16; i++) {
      x[i] = quick_odd(y[i], units.one);
      largest = fmaxf(largest, fabsf(x[i]));
    }
    const quick_scale_t scale = quick_scale<ELEM, true>(largest, unit, up, t);
    quick_codes_nearest<ELEM>(x, largest, scale, units.one, codes);
    return scale;
  }
  const float largest = quick_odd(quick_largest<false>(y), units.one);
  const quick_scale_t scale = quick_scale<ELEM, true>(largest, unit, up, t);
  uint32_t words[4];
  quick_random(draw_seed(job.copies[AXIS]), draw_id(job.copies[AXIS]), group, units, words);
  if (up) {
    quick_codes_drawn<ELEM, true, false>(y, scale, words, units.one, codes);
  } else {
    quick_codes_drawn<ELEM, true, true>(y, scale, words, units.one, codes);
  }
  return scale;
}

/** The blocks of a copy whose stride in each direction fits 26 bits (quick_takes). */
GPU void quick_store(const ufp4_cuda_copy_t &copy, const quick_place_t &place,
                     const quick_block_t &block) {
  const unsigned inside = place.r / 16 * (unsigned)copy.place.group +
                          place.b * (unsigned)copy.place.block +
                          place.r % 16 * (unsigned)copy.place.row;
  const int64_t at = place.row / 16 * copy.place.group + place.block * copy.place.block + inside;
  copy.codes[at] = (uint64_t)block.codes[1] << 32 | block.codes[0];
  ((uint8_t *)copy.scales)[at] = (uint8_t)block.stored;
}

/** Makes one copy of the tile; @return flags. */
template <int ELEM, bool SR, int AXIS, bool BF16>
GPU unsigned quick_copy(const ufp4_cuda_quantize_t &job, int64_t row, int64_t col, const void *tile,
                        int t, const quick_units_t &units) {
  const ufp4_cuda_copy_t &copy = job.copies[AXIS];
  const quick_place_t place = quick_place<AXIS, BF16>(row, col, tile);
  const uint32_t blocks = (uint32_t)((AXIS == UFP4_AXIS_ROW ? job.cols : job.rows) + 15) / 16;
  const uint64_t group =
      (uint64_t)(uint32_t)(place.row + place.r) * blocks + (uint32_t)(place.block + place.b);
  const bool rht = copy.rht == UFP4_RHT_INTEGER;
  float x[16];
  quick_read<AXIS, BF16>(place, x);
  const float amax = quick_amax(x);
  quick_block_t out = {};
  const quick_scale_t scale =
      rht ? quick_encode_rht<ELEM, SR, AXIS>(job, x, amax, t, group, units, out.codes)
          : quick_encode_plain<ELEM, SR, AXIS>(job, x, amax, t, group, units, out.codes);
  out.stored = scale.byte;
  if (!quick_has(quick_range(rht, t), amax) || scale.saturated) {
    if (amax == 0.0f) {
      out = quick_block_t();
    } else if (!(amax < __int_as_float((int32_t)GPU_F32_INF))) {
      out = quick_block_t();
      out.stored = 0x7F;
      out.flags = UFP4_FLAG_NAN;
    } else {
      out = quick_slow<ELEM, SR>(job, AXIS, place.first, t, group);
    }
  }
  quick_store(copy, place, out);
  return out.flags;
}

template <int ELEM, bool SR, bool BF16>
GPU_KERNEL void GPU_LAUNCH_BOUNDS_BLOCKS(QUICK_THREADS, QUICK_BLOCKS)
    quick_kernel(GPU_PARAMETER ufp4_cuda_quantize_t job, GPU_PARAMETER quick_units_t units) {
  __shared__ __align__(16) uint32_t tile[quick_tile_t<BF16>::WORDS];
  const int64_t row = (int64_t)blockIdx.y * QUICK_ROWS, col = (int64_t)blockIdx.x * QUICK_COLS;
  quick_load<BF16>(job, row, col, tile);
  const int t[2] = {exponent_of(job.copies[0].exponent), exponent_of(job.copies[1].exponent)};
  gpu_copy_wait<0>();
  __syncthreads();
  unsigned flags = 0;
  if (job.copies[0].enabled)
    flags |= quick_copy<ELEM, SR, UFP4_AXIS_ROW, BF16>(job, row, col, tile, t[0], units);
  if (job.copies[1].enabled)
    flags |= quick_copy<ELEM, SR, UFP4_AXIS_COL, BF16>(job, row, col, tile, t[1], units);
  if (flags != 0) atomicOr(job.flags, flags);
}

// --- AMAX ---------------------------------------------------------------------------------------

/** With the transform the largest magnitudes of blocks are compared by this number: the FP32
 * pattern of largest, an integer under 2^28, rounded to odd, plus its exponent + 152. */
GPU uint32_t quick_rht_size(int32_t largest, int exponent) {
  return (uint32_t)__float_as_int(f32_odd((uint32_t)largest)) + ((uint32_t)exponent << 23);
}

GPU_FUNCTION uint32_t quick_slow_size(const ufp4_cuda_quantize_t &job, int axis,
                                      const void *first) {
  uint32_t y[16];
  const int exponent = quick_fetch(job, axis, first, y);
  const gpu_span_t span = block_span<true>(y, exponent);
  return quick_rht_size(span.amax, span.exponent + 152);
}

/** Returns the number by which the largest magnitudes of blocks are compared. Without the
 * transform it is the FP32 pattern. It is 0 for a block of zeros, NaN or Inf. */
template <int AXIS, bool BF16>
GPU uint32_t quick_size(const ufp4_cuda_quantize_t &job, const void *tile,
                        const quick_units_t &units, bool *poisoned) {
  const quick_place_t place = quick_place<AXIS, BF16>(0, 0, tile);
  float x[16];
  quick_read<AXIS, BF16>(place, x);
  const float amax = quick_amax(x);
  const uint32_t bits = (uint32_t)__float_as_int(amax);
  const bool rht = job.copies[AXIS].rht == UFP4_RHT_INTEGER;
  if (!quick_has(quick_range(rht, 0), amax)) {
    *poisoned |= bits >= GPU_F32_INF;
    if (bits >= GPU_F32_INF || bits == 0) return 0;
    return quick_slow_size(job, AXIS, place.first);
  }
  if (!rht) return bits;
  uint32_t y[16];
  quick_hadamard(x, amax, draw_mask(job.copies[AXIS]), units, y);
  return quick_rht_size((int32_t)quick_largest<true>(y), (int)(bits >> 23));
}

GPU int quick_exponent(bool rht, uint32_t size, int elem) {
  const uint32_t bits = rht ? (size & 0x7FFFFFu) | 0x800000u : size;
  const gpu_span_t span = rht ? span_of((int32_t)bits, (int)(size >> 23) - 302, false)
                              : span_of(f32_significand(bits), f32_exponent(bits) - 150, false);
  return span_exponent(span, elem);
}

/** Does what amax_kernel does, but a thread block derives the exponent only of its largest block,
 * because a larger block has a smaller exponent. */
template <bool BF16>
GPU_KERNEL void GPU_LAUNCH_BOUNDS_BLOCKS(QUICK_THREADS, QUICK_BLOCKS)
    quick_amax_kernel(GPU_PARAMETER ufp4_cuda_quantize_t job, GPU_PARAMETER quick_units_t units) {
  __shared__ __align__(16) uint32_t tile[quick_tile_t<BF16>::WORDS];
  __shared__ uint32_t sizes[2][QUICK_THREADS / 32];
  quick_load<BF16>(job, (int64_t)blockIdx.y * QUICK_ROWS, (int64_t)blockIdx.x * QUICK_COLS, tile);
  gpu_copy_wait<0>();
  __syncthreads();
  bool poisoned = false;
  uint32_t size[2] = {0, 0};
  if (job.copies[0].enabled) size[0] = quick_size<UFP4_AXIS_ROW, BF16>(job, tile, units, &poisoned);
  if (job.copies[1].enabled) size[1] = quick_size<UFP4_AXIS_COL, BF16>(job, tile, units, &poisoned);
#pragma unroll
  for (int axis = 0; axis < 2; axis++) {
    size[axis] = gpu_warp_max(size[axis]);
    if (threadIdx.x % 32 == 0) sizes[axis][threadIdx.x / 32] = size[axis];
  }
  if (poisoned) atomicOr(job.flags, (unsigned)UFP4_FLAG_NAN);
  __syncthreads();
  if (threadIdx.x >= 2) return;
  const ufp4_cuda_copy_t &copy = job.copies[threadIdx.x];
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < QUICK_THREADS / 32; i++) largest = max(largest, sizes[threadIdx.x][i]);
  if (!copy.enabled || largest == 0) return;
  const int exponent = quick_exponent(copy.rht == UFP4_RHT_INTEGER, largest, job.elem);
  // Most thread blocks do not change the word.
  if (exponent < *(volatile int32_t *)copy.largest) atomicMin(copy.largest, exponent);
}

#endif
