// SPDX-License-Identifier: Apache-2.0
// QUANT with the scales and the transform that quantize_kernel does not support: E8M0, NVFP4, and
// the transform in BF16. The thread blocks are the same, and each thread has a block of 16.
#ifndef UFP4_CUDA_QUANTIZE_SCALES_CUH
#define UFP4_CUDA_QUANTIZE_SCALES_CUH

#include "quantize.cuh"

/** The errors of a thread block's blocks for both choices: a largest code of 6 or of 4, or the two
 * grids of mixed. */
typedef float nvfp4_errors_t[2][QUANTIZE_THREADS];

/** The value of a tensor's largest number after the multiplication by S. */
GPU float nvfp4_top(const ufp4_cuda_quantize_t &job) {
  if (job.elem == UFP4_ELEM_MIXED) return E4M3_MAX * 3.5f;
  return job.scale_round == UFP4_SCALE_ROUND_46 ? 1536.0f : E4M3_MAX * 6.0f;
}

/** Returns the sum over the 16 rows of this thread's tile, in their order. */
GPU float nvfp4_tile_error(const float errors[QUANTIZE_THREADS]) {
  float sum = 0.0f;
  for (int row = 0; row < 16; row++) sum = sum + errors[threadIdx.x / 16 * 16 + row];
  return sum;
}

/** Returns whether the second choice has the smaller error. For all threads of the thread
 * block. */
GPU bool nvfp4_takes_second(const ufp4_cuda_quantize_t &job, float first, float second,
                            nvfp4_errors_t &errors) {
  if (job.layout == UFP4_LAYOUT_2D) {
    errors[0][threadIdx.x] = first;
    errors[1][threadIdx.x] = second;
    __syncthreads();
    first = nvfp4_tile_error(errors[0]);
    second = nvfp4_tile_error(errors[1]);
    __syncthreads();
  }
  return second < first;
}

template <bool SR>
GPU uint64_t nvfp4_block(const ufp4_cuda_quantize_t &job, const ufp4_cuda_copy_t &copy,
                         const uint32_t bits[16], const gpu_span_t &span, const uint32_t words[4],
                         nvfp4_errors_t &errors, uint32_t *stored) {
  const bool four_six = job.scale_round == UFP4_SCALE_ROUND_46;
  const nvfp4_tensor_t tensor = nvfp4_tensor(exponent_of(copy.exponent), nvfp4_top(job));
  const nvfp4_scale_t six = nvfp4_scale(span, tensor, 1.0f / 6.0f);
  const uint64_t codes = nvfp4_codes<UFP4_ELEM_E2M1, SR>(bits, six, words);
  *stored = six.stored;
  if (!four_six) return codes;
  const nvfp4_scale_t four = nvfp4_scale(span, tensor, 1.0f / 4.0f);
  const uint64_t other = nvfp4_codes<UFP4_ELEM_E2M1, SR>(bits, four, words);
  if (!nvfp4_takes_second(job, nvfp4_error<UFP4_ELEM_E2M1>(bits, codes, six, tensor.encode),
                          nvfp4_error<UFP4_ELEM_E2M1>(bits, other, four, tensor.encode), errors))
    return codes;
  *stored = four.stored;
  return other;
}

template <int ELEM, bool SR>
GPU uint64_t scales_codes(const uint32_t bits[16], int exponent, const gpu_scale_t &scale, int t,
                          const uint32_t words[4]) {
  return exponent != 0 ? e4m3_codes<ELEM, true, SR>(bits, exponent, scale, t, words)
                       : e4m3_codes<ELEM, false, SR>(bits, exponent, scale, t, words);
}

/** Makes one copy of the tile; @return flags. */
template <int ELEM, bool SR>
GPU unsigned scales_copy(const ufp4_cuda_quantize_t &job, int axis, int64_t row, int64_t col,
                         const uint32_t *tile, nvfp4_errors_t &errors) {
  uint32_t bits[16], words[4] = {0, 0, 0, 0}, stored = 0;
  uint64_t codes = 0;
  bool saturated = false;
  const gpu_item_t item = quantize_item(job, axis, (int)threadIdx.x, row, col);
  const int exponent = quantize_fetch<true>(item, tile, bits);
  const gpu_span_t span = quantize_span(job, item, bits, exponent);
  if (SR) {
    random_words(draw_seed(*item.copy), draw_id(*item.copy),
                 (uint64_t)item.row * (uint64_t)item.blocks + (uint64_t)item.block, words);
  }
  if (job.scale == UFP4_SCALE_NVFP4) {
    if (ELEM == UFP4_ELEM_E2M1)
      codes = nvfp4_block<SR>(job, *item.copy, bits, span, words, errors, &stored);
  } else {
    const bool up = job.scale_round == UFP4_SCALE_ROUND_UP, e8m0 = job.scale == UFP4_SCALE_E8M0;
    const int t = e8m0 ? 0 : exponent_of(item.copy->exponent);
    const gpu_scale_t scale = e8m0 ? e8m0_scale(span, ELEM, up) : e4m3_scale(span, ELEM, up, t);
    codes = scales_codes<ELEM, SR>(bits, exponent, scale, t, words);
    stored = scale.stored;
    saturated = scale.saturated;
  }
  if (!item.stored) return 0;
  quantize_store(job, item, item.inside ? stored : 0u, item.inside ? codes : 0u);
  return item.inside ? quantize_flags(axis, span, saturated) : 0;
}

/** Writes Sd of each copy; only one thread does it. */
GPU void store_tensor_scales(const ufp4_cuda_quantize_t &job) {
  if (threadIdx.x >= 2 || blockIdx.x != 0 || blockIdx.y != 0) return;
  const ufp4_cuda_copy_t &copy = job.copies[threadIdx.x];
  if (!copy.enabled || copy.tensor_scale == nullptr) return;
  *copy.tensor_scale = nvfp4_tensor(exponent_of(copy.exponent), nvfp4_top(job)).decode;
}

template <int ELEM, bool SR, bool BF16>
GPU_KERNEL void GPU_LAUNCH_BOUNDS(QUANTIZE_THREADS)
    quantize_scales_kernel(ufp4_cuda_quantize_t job) {
  __shared__ uint32_t tile[QUANTIZE_SIDE * QUANTIZE_PITCH];
  __shared__ nvfp4_errors_t errors;
  const int64_t row = (int64_t)blockIdx.y * QUANTIZE_SIDE,
                col = (int64_t)blockIdx.x * QUANTIZE_SIDE;
  quantize_load<BF16>(job, row, col, tile);
  __syncthreads();
  unsigned flags = 0;
  for (int axis = 0; axis < 2; axis++) {
    if (job.copies[axis].enabled) flags |= scales_copy<ELEM, SR>(job, axis, row, col, tile, errors);
  }
  if (flags != 0) atomicOr(job.flags, flags);
  if (job.scale == UFP4_SCALE_NVFP4) store_tensor_scales(job);
}

#endif
