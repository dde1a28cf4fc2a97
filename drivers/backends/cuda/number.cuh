// SPDX-License-Identifier: Apache-2.0
// Number formats of the kernels, equal to those of cmodel/src/number (docs/reference/numerics.md,
// 1, 2 and 4).
#ifndef UFP4_CUDA_NUMBER_CUH
#define UFP4_CUDA_NUMBER_CUH

#include "gpu.cuh"
#include "ufp4/gemm.h"
#include "ufp4/spec.h"

#define GPU_F32_INF 0x7F800000u
#define GPU_F32_NAN 0x7FC00000u
#define GPU_F32_NAN_NV 0x7FFFFFFFu  // of the contract nv
#define GPU_BF16_NAN 0x7FC0u

/** Splits FP32 bit patterns: biased exponent (1 for subnormals) and significand including the
 * hidden bit. */
GPU int f32_exponent(uint32_t bits) {
  int field = (int)(bits >> 23 & 0xFF);
  return field + (field == 0);
}

GPU int32_t f32_significand(uint32_t bits) {
  return (int32_t)((bits & 0x7FFFFFu) | ((bits & GPU_F32_INF) != 0 ? 0x800000u : 0u));
}

/** Returns 2^exponent, -126..127. */
GPU float f32_power(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}

/** Returns x * 2^by: exact if the result is normal, rounded if it is smaller, Inf if it is
 * larger. */
GPU float f32_scaled(float x, int by) {
  int bounded = by > 252 ? 252 : by < -252 ? -252 : by;
  int half = bounded / 2;
  return x * f32_power(half) * f32_power(bounded - half);
}

/** Converts sum * 2^exponent to FP32, with one rounding to nearest even, like
 * ufp4_f32_from_scaled. */
GPU uint32_t f32_from_scaled(int64_t sum, int exponent) {
  if (sum == 0) return 0;
  uint32_t sign = sum < 0 ? 0x80000000u : 0u;
  uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
  int bounded = exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent;
  int top = 63 - __clzll((long long)magnitude) + bounded;
  if (top > 127) return sign | GPU_F32_INF;
  int binade = top < -126 ? -126 : top;
  int shift = binade - 23 - bounded;
  uint64_t kept;
  if (shift <= 0) {
    kept = magnitude << -shift;
  } else if (shift > 64) {
    kept = 0;
  } else {
    uint64_t floor = shift == 64 ? 0 : magnitude >> shift;
    uint64_t rest = magnitude - (shift == 64 ? 0 : floor << shift),
             half = (uint64_t)1 << (shift - 1);
    kept = floor + (rest > half || (rest == half && (floor & 1)) ? 1 : 0);
  }
  return sign | (((uint32_t)(binade + 126) << 23) + (uint32_t)kept);
}

GPU uint16_t bf16_from_f32(float value) {
  uint32_t bits = (uint32_t)__float_as_int(value);
  if ((bits & 0x7FFFFFFFu) > GPU_F32_INF) return GPU_BF16_NAN;
  return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

/** Decodes UE4M3: value = significand * 2^(exponent - 9). */
GPU int e4m3_significand(unsigned byte) {
  return (int)((byte & 7) | ((byte >> 3 & 15) != 0 ? 8 : 0));
}

GPU int e4m3_exponent(unsigned byte) {
  int field = (int)(byte >> 3 & 15);
  return field - (field != 0);
}

GPU bool e4m3_is_nan(unsigned byte) {
  return (byte & 0x7F) == 0x7F;
}

/** Returns the quanta of codes from..from + 3 as bytes of a word, from the table of spec.h. */
GPU constexpr uint32_t elem_table(int elem, int from) {
  constexpr int8_t quanta[UFP4_ELEM_COUNT][16] = UFP4_ELEM_QUANTA;
  uint32_t word = 0;
  for (int i = 0; i < 4; i++) word |= (uint32_t)(uint8_t)quanta[elem][from + i] << (8 * i);
  return word;
}

/** Returns the quanta of the four codes in the lower 16 bits, as bytes. */
template <int ELEM>
GPU uint32_t elem_decode(uint32_t codes) {
  constexpr uint32_t t0 = elem_table(ELEM, 0), t4 = elem_table(ELEM, 4);
  constexpr uint32_t t8 = elem_table(ELEM, 8), t12 = elem_table(ELEM, 12);
  uint32_t upper = codes >> 3;
  upper =
      ((upper & 1) | (upper << 4 & 0x100) | (upper << 8 & 0x10000) | (upper << 12 & 0x1000000)) *
      255u;
  uint32_t low = __byte_perm(t0, t4, codes & 0x7777), high = __byte_perm(t8, t12, codes & 0x7777);
  return (low & ~upper) | (high & upper);
}

/** Returns the element whose quanta a block of @p elem uses, by its scale byte, like
 * ufp4_elem_grid. */
GPU int elem_grid(int elem, uint32_t scale) {
  constexpr int grids[2] = UFP4_MIXED_GRIDS;
  return elem != UFP4_ELEM_MIXED ? elem : (scale & 0x80u) == 0 ? grids[0] : grids[1];
}

/** Returns the same for a format known only at run time, for a block with that scale. */
GPU uint32_t elem_decode_any(int elem, uint32_t scale, uint32_t codes) {
  const int grid = elem_grid(elem, scale);
  if (grid == UFP4_ELEM_E2M1) return elem_decode<UFP4_ELEM_E2M1>(codes);
  if (grid == UFP4_ELEM_E1M2) return elem_decode<UFP4_ELEM_E1M2>(codes);
  return elem_decode<UFP4_ELEM_INT4>(codes);
}

/** Returns the fraction bits; an indexed table would need a stack. */
GPU int elem_frac(int elem) {
  constexpr int8_t frac[UFP4_ELEM_COUNT] = UFP4_ELEM_FRAC;
  return elem == 0 ? frac[0] : elem == 1 ? frac[1] : elem == 2 ? frac[2] : UFP4_MIXED_FRAC;
}

/** qmax = odd * 2^exponent; for mixed, the one that determines the tensor exponent. */
GPU int elem_qmax_odd(int elem) {
  constexpr int8_t odd[UFP4_ELEM_COUNT] = UFP4_ELEM_QMAX_ODD;
  return elem == UFP4_ELEM_MIXED ? UFP4_MIXED_QMAX_ODD : odd[elem];
}

GPU int elem_qmax_exponent(int elem) {
  constexpr int8_t exponent[UFP4_ELEM_COUNT] = UFP4_ELEM_QMAX_EXPONENT;
  return elem == UFP4_ELEM_MIXED ? UFP4_MIXED_QMAX_EXPONENT : exponent[elem];
}

/** Threefry-4x32, 12 rounds, key (seed, @p use, 0), counter (group, tensor_id). Use 0 gives the
 * random bytes, use 1 the signs of a step. */
GPU void random_words(uint64_t seed, uint64_t tensor_id, uint64_t group, uint32_t x[4],
                      uint32_t use = 0) {
  const uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  const uint32_t keys[5] = {k0, k1, use, 0, 0x1BD11BDAu ^ k0 ^ k1 ^ use};
  constexpr int rotations[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                   {6, 20},  {17, 11}, {25, 10}, {18, 20}};
  const uint32_t counter[4] = {(uint32_t)group, (uint32_t)(group >> 32), (uint32_t)tensor_id,
                               (uint32_t)(tensor_id >> 32)};
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = counter[i] + keys[i];
#pragma unroll
  for (int r = 0; r < 12; r++) {
    uint32_t &b = x[r & 1 ? 3 : 1], &d = x[r & 1 ? 1 : 3];
    x[0] += b;
    b = __funnelshift_l(b, b, (unsigned)rotations[r & 7][0]) ^ x[0];
    x[2] += d;
    d = __funnelshift_l(d, d, (unsigned)rotations[r & 7][1]) ^ x[2];
    if ((r & 3) != 3) continue;
    const int injection = r / 4 + 1;
#pragma unroll
    for (int i = 0; i < 4; i++) x[i] += keys[(injection + i) % 5];
    x[3] += (uint32_t)injection;
  }
}

#endif
