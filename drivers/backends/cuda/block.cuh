// SPDX-License-Identifier: Apache-2.0
// The block quantizer (docs/reference/numerics.md, 3 and 4): each thread has the 16 elements of one
// block.
#ifndef UFP4_CUDA_BLOCK_CUH
#define UFP4_CUDA_BLOCK_CUH

#include "number.cuh"

/** The largest |x| of all elements that share a scale: amax * 2^exponent. */
typedef struct {
  int32_t amax;      ///< [2^27, 2^28), or 0
  int32_t exponent;  ///< INT32_MIN where amax is 0
  int poisoned;      ///< contains NaN or Inf; amax is then 0
} gpu_span_t;

/** Shifts a significand under 2^28 up to [2^27, 2^28). */
GPU gpu_span_t span_of(int32_t significand, int32_t exponent, bool poisoned) {
  gpu_span_t span = {0, INT32_MIN, poisoned};
  if (poisoned || significand == 0) return span;
  int shift = __clz(significand) - 4;
  span.amax = significand << shift;
  span.exponent = exponent - shift;
  return span;
}

GPU bool span_is_larger(const gpu_span_t &a, const gpu_span_t &b) {
  return a.exponent > b.exponent || (a.exponent == b.exponent && a.amax > b.amax);
}

// --- Transform ----------------------------------------------------------------------------------

/** Computes all sums and differences of 16 integers, in Sylvester order, in place. */
GPU void butterflies(uint32_t bits[16]) {
#pragma unroll
  for (int half = 1; half < 16; half *= 2) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      if (i & half) continue;
      uint32_t a = bits[i], b = bits[i | half];
      bits[i] = a + b;
      bits[i | half] = a - b;
    }
  }
}

/** Transforms FP32 patterns to integers in units of 2^(E - 152), in place; @return E, or 0 if there
 * is NaN or Inf. */
GPU int hadamard(uint32_t bits[16], uint32_t mask) {
  int largest = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) largest = max(largest, f32_exponent(bits[i]));
#pragma unroll
  for (int i = 0; i < 16; i++) {
    int shift = min(largest - f32_exponent(bits[i]), 31);
    int32_t negative = (int32_t)(bits[i] ^ mask << (31 - i)) >> 31;
    bits[i] = (uint32_t)(((f32_significand(bits[i]) >> shift) ^ negative) - negative);
  }
  butterflies(bits);
  return largest == 255 ? 0 : largest;
}

/** Returns the largest magnitude of FP32 patterns, or if @p exponent is over 0, of integers from
 * hadamard(). */
template <bool RHT>
GPU gpu_span_t block_span(const uint32_t bits[16], int exponent) {
  uint32_t amax = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    uint32_t magnitude = RHT ? (uint32_t)abs((int32_t)bits[i]) : bits[i] & 0x7FFFFFFFu;
    amax = max(amax, magnitude);
  }
  if (RHT) return span_of((int32_t)amax, exponent - 152, exponent == 0);
  return span_of(f32_significand(amax), f32_exponent(amax) - 150, amax >= GPU_F32_INF);
}

/** Returns the largest t with amax * 2^t <= 448 qmax. */
GPU int span_exponent(const gpu_span_t &span, int elem) {
  int limit = 7 * elem_qmax_odd(elem);  // 448 = 7 * 2^6
  int shift = __clz(limit) - 4;
  return 6 + elem_qmax_exponent(elem) - shift - span.exponent - (span.amax > limit << shift);
}

// --- Scales -------------------------------------------------------------------------------------

/** A scale in the encoder's format. */
typedef struct {
  uint32_t stored;    ///< the byte, or the FP32 pattern
  float significand;  ///< E4M3: value = significand * 2^(exponent - 9)
  int exponent;
  double value;    ///< FP32
  bool keep;       ///< false: all codes are 0
  bool saturated;  ///< the quotient exceeded 448
} gpu_scale_t;

/** Rounds amax * 2^t / qmax to E4M3 as cmodel/src/quantize/tile.c does: 13 bits of amax and a
 * sticky bit suffice. */
GPU gpu_scale_t e4m3_scale(const gpu_span_t &span, int elem, bool up, int t) {
  const int odd = elem_qmax_odd(elem);
  int32_t high = span.amax >> 15;
  int32_t quotient = odd == 3 ? high * 43691 >> 17 : high * 9363 >> 16;
  int sticky = !(quotient * odd == high && (span.amax & 0x7FFF) == 0);
  int top = odd == 3 ? 10 : 9;
  top += quotient >= 2 << top;
  gpu_scale_t out = {};
  out.keep = span.amax != 0;
  int exponent = (out.keep ? span.exponent : 0) + 15 + t - elem_qmax_exponent(elem);
  int binade = max(top + exponent, -6);
  int shift = min(binade - 3 - exponent, 20);
  int32_t kept = quotient >> shift, half = 1 << shift;
  int32_t rest = 2 * (quotient - (kept << shift)) + sticky;
  // A carry out of the significand correctly increments the exponent field; an exponent beyond the
  // field's saturates.
  int32_t down = min(binade + 6, 16) * 8 + kept;
  int32_t rounded = down + (up ? rest > 0 : rest > half - (kept & 1));
  int32_t byte = min(max(rounded, 1), 0x7E);
  out.saturated = out.keep && (down > 0x7E || (down == 0x7E && rest > 0));
  out.significand = (float)e4m3_significand((unsigned)byte);
  out.exponent = e4m3_exponent((unsigned)byte);
  out.stored = span.poisoned ? 0x7Fu : out.keep ? (uint32_t)byte : 0u;
  return out;
}

/** Returns RN(amax / qmax), clamped to 2^-149..FLT_MAX: the quotient has 30 bits more than the 28
 * of amax, and a sticky bit. */
GPU gpu_scale_t fp32_scale(const gpu_span_t &span, int elem) {
  gpu_scale_t out = {};
  out.keep = span.amax != 0;
  out.stored = span.poisoned ? GPU_F32_NAN : 0u;
  if (!out.keep) return out;
  const int64_t odd = elem_qmax_odd(elem), dividend = (int64_t)span.amax << 30;
  int64_t quotient = dividend / odd;
  int64_t rounded = quotient * 2 | (dividend - quotient * odd != 0);
  uint32_t bits = f32_from_scaled(rounded, span.exponent - 31 - elem_qmax_exponent(elem));
  out.stored = bits == 0 ? 1u : bits >= GPU_F32_INF ? 0x7F7FFFFFu : bits;
  out.value = (double)__int_as_float((int)out.stored);
  return out;
}

// --- Codes --------------------------------------------------------------------------------------

/** The cell between codes c and c + 1: its beginning and its width in quanta. */
template <int ELEM>
GPU constexpr int cell_low(int c) {
  return ELEM == UFP4_ELEM_E2M1 ? (c < 4 ? c : c < 6 ? 2 * c - 4 : 8) : c;
}
template <int ELEM>
GPU constexpr int cell_width(int c) {
  return ELEM == UFP4_ELEM_E2M1 ? (c < 4 ? 1 : c < 6 ? 2 : 4) : 1;
}

/** Returns the code of a magnitude. All operations are exact, so any floating-point type that
 * holds the numbers gives the same code. @p unit is the scale, @p draw the part of it that the
 * random byte selects. */
template <int ELEM, bool SR, typename REAL>
GPU unsigned magnitude_code(REAL magnitude, REAL unit, REAL draw) {
  unsigned code = 0;
#pragma unroll
  for (int c = 0; c < 7; c++) {
    const REAL low = (REAL)cell_low<ELEM>(c), width = (REAL)cell_width<ELEM>(c);
    if (SR) {
      code += magnitude > unit * low + draw * width;
    } else {
      const REAL middle = unit * (low + width / 2);
      // Ties go to the even code.
      code += c & 1 ? magnitude >= middle : magnitude > middle;
    }
  }
  return code;
}

/** Converts an integer under 2^28 to a float that compares like the integer with any number of at
 * most 17 significant bits: it is rounded to odd, so bits beyond the 24th are neither lost nor
 * turned into a tie. */
GPU float f32_odd(uint32_t magnitude) {
  uint32_t odd = (magnitude & ~15u) | (((magnitude & 15u) + 15u) & 16u);
  return (float)(int32_t)(magnitude < (1u << 24) ? magnitude : odd);
}

GPU unsigned signed_code(int elem, unsigned code, bool negative) {
  if (elem == UFP4_ELEM_INT4) return negative ? (0u - code) & 15u : code;
  return code | (negative ? 8u : 0u);
}

/** Returns (byte + 1/2) / 256 for the byte of element i. */
GPU float draw_of(const uint32_t words[4], int i) {
  return ((float)(int)(words[i / 4] >> (8 * (i % 4)) & 255u) + 0.5f) * (1.0f / 256.0f);
}

/** Encodes 16 codes with an E4M3 scale. Magnitudes are shifted to the unit in which a quantum is
 * the scale's significand; the shift is exact, or the result is beyond all thresholds, which have
 * at most 17 bits (15 x 12 x 512). */
template <int ELEM, bool RHT, bool SR>
GPU uint64_t e4m3_codes(const uint32_t bits[16], int exponent, const gpu_scale_t &scale, int t,
                        const uint32_t words[4]) {
  if (!scale.keep) return 0;
  const int up = t + elem_frac(ELEM) + 9 - scale.exponent;
  uint64_t codes = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const int32_t x = (int32_t)bits[i];
    const float magnitude = RHT ? f32_scaled(f32_odd((uint32_t)abs(x)), exponent - 152 + up)
                                : f32_scaled(fabsf(__int_as_float(x)), up);
    const float draw = SR ? scale.significand * draw_of(words, i) : 0.0f;
    const unsigned code = magnitude_code<ELEM, SR, float>(magnitude, scale.significand, draw);
    codes |= (uint64_t)signed_code(ELEM, code, x < 0) << (4 * i);
  }
  return codes;
}

/** Encodes 16 codes with an FP32 scale. Products of 24 and 13 bits, and all numbers, are exact in
 * double. */
template <int ELEM, bool RHT, bool SR>
GPU uint64_t fp32_codes(const uint32_t bits[16], int exponent, const gpu_scale_t &scale,
                        const uint32_t words[4]) {
  if (!scale.keep) return 0;
  const double quantum = scale.value / (double)(1 << elem_frac(ELEM));
  const double unit = RHT ? ldexp(1.0, exponent - 152) : 1.0;
  uint64_t codes = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const int32_t x = (int32_t)bits[i];
    const double magnitude = RHT ? (double)abs(x) * unit : (double)fabsf(__int_as_float(x));
    const double draw = SR ? quantum * (double)draw_of(words, i) : 0.0;
    const unsigned code = magnitude_code<ELEM, SR, double>(magnitude, quantum, draw);
    codes |= (uint64_t)signed_code(ELEM, code, x < 0) << (4 * i);
  }
  return codes;
}

#endif
