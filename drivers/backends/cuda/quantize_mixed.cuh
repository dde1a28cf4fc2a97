// SPDX-License-Identifier: Apache-2.0
// QUANT of elements mixed, with E4M3 and with NVFP4 scales (docs/reference/numerics.md, "The choice
// of a grid"): each block is quantized on both grids, and the one with the smaller error is kept.
// The thread blocks are those of quantize_scales.cuh. The uniform grid is that of E1M2, twice as
// large: E1M2 with a tensor exponent smaller by one has the same scales and codes.
#ifndef UFP4_CUDA_QUANTIZE_MIXED_CUH
#define UFP4_CUDA_QUANTIZE_MIXED_CUH

#include "quantize_scales.cuh"

#define MIXED_FRACTION 9   // fraction bits of the quotients that are compared
#define MIXED_MOST_LOG2 4  // larger quotients count as 16 quanta
#define MIXED_SECOND 0x80u

typedef struct {
  uint64_t codes;
  uint32_t stored;
  bool saturated;
} mixed_block_t;

/** Returns floor(magnitude * 2^up / significand), at most 2^13. */
GPU uint32_t mixed_quotient(uint32_t magnitude, int up, uint32_t significand) {
  const uint32_t most = significand << (MIXED_MOST_LOG2 + MIXED_FRACTION);
  const int left = min(max(up, 0), 31), right = min(max(-up, 0), 31);
  const uint32_t raised = magnitude > most >> left ? most : magnitude << left;
  return (up < 0 ? min(magnitude >> right, most) : raised) / significand;
}

/** Returns the distance to the nearest of a grid's magnitudes, in quanta times 2^9. */
template <int GRID>
GPU int mixed_distance(int quotient) {
  int least = quotient;
#pragma unroll
  for (int c = 0; c < 7; c++) {
    const int quanta = cell_low<GRID>(c) + cell_width<GRID>(c);
    least = min(least, abs(quotient - (quanta << MIXED_FRACTION)));
  }
  return least;
}

/** Returns the error of a block on one of the grids, in quanta of that grid. */
template <int GRID, bool RHT>
GPU int mixed_error(const uint32_t bits[16], int exponent, const gpu_scale_t &scale, int t) {
  const int up = t + UFP4_MIXED_FRAC + MIXED_FRACTION + 9 - scale.exponent;
  int error = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const uint32_t magnitude =
        RHT ? (uint32_t)abs((int32_t)bits[i]) : (uint32_t)f32_significand(bits[i]);
    const int own = RHT ? exponent - 152 : f32_exponent(bits[i]) - 150;
    const uint32_t quotient = mixed_quotient(magnitude, own + up, (uint32_t)scale.significand);
    error += mixed_distance<GRID>((int)quotient);
  }
  return error;
}

/** Returns the sum over the 16 rows of a tile, which are 16 neighbouring threads. */
GPU int mixed_of_tile(int error) {
#pragma unroll
  for (int by = 1; by < 16; by *= 2) error += __shfl_xor_sync(0xFFFFFFFFu, error, by);
  return error;
}

/** Returns whether the second grid has the smaller error times scale; the exponents of the scales
 * differ by at most one. For all threads of a warp. */
GPU bool mixed_takes_second(const ufp4_cuda_quantize_t &job, int first, int second,
                            const gpu_scale_t (&scale)[2]) {
  if (job.layout == UFP4_LAYOUT_2D) {
    first = mixed_of_tile(first);
    second = mixed_of_tile(second);
  }
  const int least = min(scale[0].exponent, scale[1].exponent);
  first = first * (int)scale[0].significand << (scale[0].exponent - least);
  second = second * (int)scale[1].significand << (scale[1].exponent - least);
  return scale[0].keep && second < first;
}

template <bool SR, bool RHT>
GPU mixed_block_t mixed_e4m3(const ufp4_cuda_quantize_t &job, const uint32_t bits[16], int exponent,
                             const gpu_span_t &span, int t, const uint32_t words[4]) {
  const bool up = job.scale_round == UFP4_SCALE_ROUND_UP;
  const gpu_scale_t scale[2] = {e4m3_scale(span, UFP4_ELEM_E2M1, up, t),
                                e4m3_scale(span, UFP4_ELEM_E1M2, up, t - 1)};
  const int first = mixed_error<UFP4_ELEM_E2M1, RHT>(bits, exponent, scale[0], t),
            second = mixed_error<UFP4_ELEM_E1M2, RHT>(bits, exponent, scale[1], t);
  mixed_block_t out;
  if (mixed_takes_second(job, first, second, scale)) {
    out.codes = e4m3_codes<UFP4_ELEM_E1M2, RHT, SR>(bits, exponent, scale[1], t - 1, words);
    out.stored = scale[1].stored | MIXED_SECOND;
    out.saturated = scale[1].saturated;
  } else {
    out.codes = e4m3_codes<UFP4_ELEM_E2M1, RHT, SR>(bits, exponent, scale[0], t, words);
    out.stored = scale[0].stored;
    out.saturated = scale[0].saturated;
  }
  return out;
}

template <bool SR>
GPU mixed_block_t mixed_nvfp4(const ufp4_cuda_quantize_t &job, const ufp4_cuda_copy_t &copy,
                              const uint32_t bits[16], const gpu_span_t &span,
                              const uint32_t words[4], nvfp4_errors_t &errors) {
  const nvfp4_tensor_t tensor = nvfp4_tensor(exponent_of(copy.exponent), nvfp4_top(job));
  const nvfp4_scale_t first = nvfp4_scale(span, tensor, 1.0f / 6.0f),
                      second = nvfp4_scale(span, tensor, 1.0f / 3.5f);
  mixed_block_t out = {nvfp4_codes<UFP4_ELEM_E2M1, false>(bits, first, words), first.stored, false};
  const uint64_t other = nvfp4_codes<UFP4_ELEM_E1M2, false>(bits, second, words);
  if (nvfp4_takes_second(job, nvfp4_error<UFP4_ELEM_E2M1>(bits, out.codes, first, tensor.encode),
                         nvfp4_error<UFP4_ELEM_E1M2>(bits, other, second, tensor.encode), errors)) {
    out.codes = SR ? nvfp4_codes<UFP4_ELEM_E1M2, SR>(bits, second, words) : other;
    out.stored = second.stored | MIXED_SECOND;
  } else if (SR) {
    out.codes = nvfp4_codes<UFP4_ELEM_E2M1, SR>(bits, first, words);
  }
  return out;
}

/** Makes one copy of the tile; @return flags. */
template <bool SR>
GPU unsigned mixed_copy(const ufp4_cuda_quantize_t &job, int axis, int64_t row, int64_t col,
                        const uint32_t *tile, nvfp4_errors_t &errors) {
  uint32_t bits[16], words[4] = {0, 0, 0, 0};
  const gpu_item_t item = quantize_item(job, axis, (int)threadIdx.x, row, col);
  const int exponent = quantize_fetch<true>(item, tile, bits);
  const gpu_span_t span = quantize_span(job, item, bits, exponent);
  mixed_block_t block;
  if (SR) {
    random_words(draw_seed(*item.copy), draw_id(*item.copy),
                 (uint64_t)item.row * (uint64_t)item.blocks + (uint64_t)item.block, words);
  }
  if (job.scale == UFP4_SCALE_NVFP4) {
    block = mixed_nvfp4<SR>(job, *item.copy, bits, span, words, errors);
  } else {
    const int t = exponent_of(item.copy->exponent);
    block = item.copy->rht == UFP4_RHT_INTEGER
                ? mixed_e4m3<SR, true>(job, bits, exponent, span, t, words)
                : mixed_e4m3<SR, false>(job, bits, exponent, span, t, words);
  }
  if (!item.stored) return 0;
  quantize_store(job, item, item.inside ? block.stored : 0u, item.inside ? block.codes : 0u);
  return item.inside ? quantize_flags(axis, span, block.saturated) : 0;
}

template <bool SR, bool BF16>
GPU_KERNEL void GPU_LAUNCH_BOUNDS(QUANTIZE_THREADS)
    quantize_mixed_kernel(ufp4_cuda_quantize_t job) {
  __shared__ uint32_t tile[QUANTIZE_SIDE * QUANTIZE_PITCH];
  __shared__ nvfp4_errors_t errors;
  const int64_t row = (int64_t)blockIdx.y * QUANTIZE_SIDE,
                col = (int64_t)blockIdx.x * QUANTIZE_SIDE;
  quantize_load<BF16>(job, row, col, tile);
  __syncthreads();
  unsigned flags = 0;
  for (int axis = 0; axis < 2; axis++) {
    if (job.copies[axis].enabled) flags |= mixed_copy<SR>(job, axis, row, col, tile, errors);
  }
  if (flags != 0) atomicOr(job.flags, flags);
  if (job.scale == UFP4_SCALE_NVFP4) store_tensor_scales(job);
}

#endif
