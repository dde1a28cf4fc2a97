// SPDX-License-Identifier: Apache-2.0
// Scales and codes of a block with E8M0 and NVFP4 scales (docs/reference/numerics.md, 2 and 4).
// E8M0 blocks are encoded like those of E4M3; with NVFP4 everything is FP32, and each operation is
// rounded once.
#ifndef UFP4_CUDA_BLOCK_SCALES_CUH
#define UFP4_CUDA_BLOCK_SCALES_CUH

#include "block.cuh"

#define GPU_F32_MAX 0x7F7FFFFF
#define E4M3_MAX 448.0f

GPU float f32_at_most(float value, float most) {
  return value < most ? value : most;
}

// --- E8M0 ---------------------------------------------------------------------------------------

/** Down: floor(log2 amax) - floor(log2 qmax); up: the smallest k with amax <= qmax * 2^k. */
GPU gpu_scale_t e8m0_scale(const gpu_span_t &span, int elem, bool up) {
  const int32_t odd = elem_qmax_odd(elem);
  const int shift = __clz(odd) - 4;  // brings it to [2^27, 2^28), as amax is
  gpu_scale_t out = {};
  out.keep = span.amax != 0;
  int k = (out.keep ? span.exponent : 0) + shift - elem_qmax_exponent(elem);
  k += up && span.amax > odd << shift;
  k = min(max(k, -127), 127);
  out.significand = 1;
  out.exponent = k + 9;
  out.stored = span.poisoned ? 0xFFu : out.keep ? (uint32_t)(k + 127) : 0u;
  return out;
}

// --- NVFP4 --------------------------------------------------------------------------------------

/** The scales of a tensor: S, and its inverse Sd. */
typedef struct {
  float encode, decode;
} nvfp4_tensor_t;

/** The scale of a block, and the factor of its numbers. */
typedef struct {
  uint32_t stored;
  float value, factor;
  bool keep;  ///< false: all codes are 0
} nvfp4_scale_t;

/** A block's request for the tensor scale: a number that decreases with the magnitude, as
 * exponents do. */
GPU int32_t nvfp4_asked(const gpu_span_t &span) {
  return -(int32_t)f32_from_scaled(span.amax, span.exponent);
}

/** Returns the tensor scale. @p asked: the smallest request of a tensor, 0 if there is none. @p
 * top: the value to which the largest number is mapped. */
GPU nvfp4_tensor_t nvfp4_tensor(int32_t asked, float top) {
  nvfp4_tensor_t out = {1.0f, 1.0f};
  if (asked == 0) return out;
  const float amax = __int_as_float(-asked);
  out.encode = f32_at_most(top / amax, __int_as_float(GPU_F32_MAX));
  out.decode = 1.0f / out.encode;
  return out;
}

/** Rounds a number from 0 to 448 to E4M3, to nearest, ties to even. */
GPU uint32_t e4m3_nearest(float x) {
  const int32_t bits = __float_as_int(x);
  // Adding 2^14 leaves multiples of 2^-9.
  if (x < 0x1p-6f) return (uint32_t)(__float_as_int(x + 0x1p14f) - __float_as_int(0x1p14f));
  // A carry out of the significand correctly increments the exponent field.
  return (uint32_t)(((bits + 0x7FFFF + (bits >> 20 & 1)) >> 20) - (120 << 3));
}

/** Returns the scale of a block. @p share: the reciprocal of the code for the largest magnitude. */
GPU nvfp4_scale_t nvfp4_scale(const gpu_span_t &span, const nvfp4_tensor_t &tensor, float share) {
  nvfp4_scale_t out = {span.poisoned ? 0x7Fu : 0u, 0.0f, 0.0f, span.amax != 0};
  if (!out.keep) return out;
  const float amax = __int_as_float((int)f32_from_scaled(span.amax, span.exponent));
  out.stored = e4m3_nearest(f32_at_most(amax * (tensor.encode * share), E4M3_MAX));
  out.value = (float)e4m3_significand(out.stored) * f32_power(e4m3_exponent(out.stored) - 9);
  out.factor = f32_at_most(1.0f / (out.value * tensor.decode), __int_as_float(GPU_F32_MAX));
  return out;
}

/** Makes the codes of a block in E2M1, or on the uniform grid of mixed, which has the same
 * unit. */
template <int GRID, bool SR>
GPU uint64_t nvfp4_codes(const uint32_t bits[16], const nvfp4_scale_t &scale,
                         const uint32_t words[4]) {
  if (!scale.keep) return 0;
  uint64_t codes = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const float quanta = fabsf(__int_as_float((int)bits[i]) * scale.factor) * 2.0f;
    const float draw = SR ? draw_of(words, i) : 0.0f;
    const unsigned code = magnitude_code<GRID, SR, float>(quanta, 1.0f, draw);
    codes |= (uint64_t)signed_code(GRID, code, (int32_t)bits[i] < 0) << (4 * i);
  }
  return codes;
}

/** Returns the squared error of the codes, added in the order of the elements, in the unit of the
 * scales. */
template <int GRID>
GPU float nvfp4_error(const uint32_t bits[16], uint64_t codes, const nvfp4_scale_t &scale,
                      float encode) {
  float error = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const uint32_t quanta = elem_decode<GRID>((uint32_t)(codes >> (16 * (i / 4))) & 0xFFFFu);
    const float value = (float)(int8_t)(quanta >> (8 * (i % 4)) & 255) * 0.5f;
    const float off = value * scale.value - __int_as_float((int)bits[i]) * encode;
    error = error + off * off;
  }
  return error;
}

#endif
