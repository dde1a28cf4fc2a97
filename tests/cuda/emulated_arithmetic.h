// SPDX-License-Identifier: Apache-2.0
// Arithmetic instructions of the emulated GPU: directed roundings, conversions, and the
// instructions that gpu.cuh takes from the PTX ISA.
#ifndef UFP4_TESTS_CUDA_EMULATED_ARITHMETIC_H
#define UFP4_TESTS_CUDA_EMULATED_ARITHMETIC_H

#include "emulated.h"

namespace emulated {

/** Returns the next larger FP32 number, which is Inf after the largest. */
inline float above(float x) {
  return nextafterf(x, INFINITY);
}

/** Rounds a * b + c up to FP32. The product has 48 bits, so sum, the nearest double, and lost, its
 * error, are together exact unless bits lie under 2^-1022. */
inline float fma_up(float a, float b, float c) {
  const double product = (double)a * (double)b, sum = product + (double)c;
  const double back = sum - product, lost = (product - (sum - back)) + ((double)c - back);
  const float nearest = (float)sum;
  const double missing = sum - (double)nearest;
  if (weather.fault == EMULATED_FAULT_DIRECTED) return nearest;
  return missing > 0 || (missing == 0 && lost > 0) ? above(nearest) : nearest;
}

/** Converts a positive number to E4M3 by trying all bytes: nearest, ties to the even byte. */
inline uint32_t e4m3(float x) {
  uint32_t best = 0;
  for (uint32_t byte = 1; byte <= 0x7E; byte++) {
    const double from = (double)(byte & 7) + (byte >= 8 ? 8 : 0);
    const double value = ldexp(from, (byte >= 8 ? (int)(byte >> 3) - 1 : 0) - 9);
    const double before = (double)(best & 7) + (best >= 8 ? 8 : 0);
    const double below = ldexp(before, (best >= 8 ? (int)(best >> 3) - 1 : 0) - 9);
    const double middle = weather.fault == EMULATED_FAULT_E4M3 ? value : (value + below) / 2;
    if (x < middle || (x == middle && byte % 2 != 0)) return best;
    best = byte;
  }
  return best;
}

}  // namespace emulated

// --- gpu.cuh ------------------------------------------------------------------------------------

GPU float gpu_max_nan(float a, float b) {
  if (emulated::weather.fault == EMULATED_FAULT_NAN) return fmaxf(a, b);
  if (a != a || b != b) return __int_as_float(0x7FFFFFFF);
  return a > b ? a : b;
}
// Every NaN becomes 0x7FFF.
GPU uint32_t gpu_bf16_pair(float low, float high) {
  uint32_t both = 0;
  for (int i = 0; i < 2; i++) {
    const float x = i == 0 ? low : high;
    const uint32_t bits = (uint32_t)__float_as_int(x), odd = bits >> 16 & 1;
    both |= (x != x ? 0x7FFFu : (bits + 0x7FFFu + odd) >> 16) << (16 * i);
  }
  return both;
}
// The result is as inaccurate as PTX allows.
GPU float gpu_reciprocal(float x) {
  const int32_t bits = __float_as_int(1.0f / x);
  return __int_as_float(bits + emulated::weather.reciprocal_places);
}
GPU bool gpu_has_e4m3() {
  return emulated::capability() >= 89;
}
GPU uint32_t gpu_e4m3(float x) {
  if (!gpu_has_e4m3()) abort();
  return emulated::e4m3(x);
}
GPU uint32_t gpu_multiply_add(uint32_t x, uint32_t y, uint32_t z) {
  return x * y + z;
}
template <int MINUS_B, int MINUS_C>
GPU uint32_t gpu_add_3(uint32_t a, uint32_t b, uint32_t c) {
  return a + (MINUS_B ? 0 - b : b) + (MINUS_C ? 0 - c : c);
}
GPU uint32_t gpu_turned(uint32_t x, int by) {
  return x << by | x >> (32 - by);
}
GPU uint32_t gpu_permute(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t bytes = (uint64_t)y << 32 | x;
  uint32_t out = 0;
  for (int i = 0; i < 4; i++) {
    const uint32_t which = selector >> (4 * i), byte = (uint32_t)(bytes >> (8 * (which & 7)) & 255);
    const bool spread = which & 8 && emulated::weather.fault != EMULATED_FAULT_SIGNS;
    out |= (spread ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
  }
  return out;
}

// --- CUDA C++ -----------------------------------------------------------------------------------

GPU float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
GPU float __fmaf_ru(float a, float b, float c) {
  return emulated::fma_up(a, b, c);
}
GPU float __fmaf_rd(float a, float b, float c) {
  return -emulated::fma_up(-a, b, -c);
}
GPU float __fadd_ru(float a, float b) {
  return emulated::fma_up(a, 1.0f, b);
}
GPU float __fadd_rd(float a, float b) {
  return -emulated::fma_up(a, -1.0f, -b);
}
GPU float __int2float_ru(int32_t x) {
  const float nearest = (float)x;
  if (emulated::weather.fault == EMULATED_FAULT_DIRECTED) return nearest;
  return (double)nearest < (double)x ? emulated::above(nearest) : nearest;
}
GPU float __int2float_rd(int32_t x) {
  const float nearest = (float)x;
  return (double)nearest > (double)x ? nextafterf(nearest, -INFINITY) : nearest;
}
/** Returns the smaller number in each half. */
GPU uint32_t __vminu2(uint32_t a, uint32_t b) {
  return std::min(a >> 16, b >> 16) << 16 | std::min(a & 0xFFFF, b & 0xFFFF);
}
/** Rounds toward zero and saturates; NaN gives 0. */
GPU int32_t __float2int_rz(float x) {
  if (x != x) return 0;
  if (x >= 0x1p31f) return INT32_MAX;
  return x <= -0x1p31f ? INT32_MIN : (int32_t)x;
}

#endif
