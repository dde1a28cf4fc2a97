// SPDX-License-Identifier: Apache-2.0
// The scale for a largest number, and the code of a number with a scale (numerics.md 2 and 4).
// Quotients are never formed: x / s is compared with a bound by comparing x with bound * s.
#include "code.h"

#define E4M3_MAX 0x7E  // 448
#define F32_ONE 0x3F800000u
#define F32_MAX 0x7F7FFFFFu
#define F32_NAN 0x7FC00000u

// --- Scales -------------------------------------------------------------------------------------

int reference_scale_block(reference_scale_t scale) {
  return scale == REFERENCE_SCALE_E8M0 ? 32 : 16;
}

int reference_scale_real(reference_scale_t scale, uint32_t bits, reference_real_t *out) {
  const int units = reference_e4m3_units((uint8_t)bits);
  switch (scale) {
    case REFERENCE_SCALE_E8M0:
      *out = (reference_real_t){0, 1, (int)bits - 127};
      return bits != 255;
    case REFERENCE_SCALE_FP32:
      *out = reference_f32_real(bits & 0x7FFFFFFF);
      return !reference_f32_is_nan(bits);
    default:
      *out = (reference_real_t){0, units < 0 ? 0 : (uint64_t)units, -9};
      return units >= 0;
  }
}

uint32_t reference_scale_nan(reference_scale_t scale) {
  switch (scale) {
    case REFERENCE_SCALE_E8M0:
      return 0xFF;
    case REFERENCE_SCALE_FP32:
      return F32_NAN;
    default:
      return 0x7F;
  }
}

int reference_compare_quotient(reference_elem_t elem, reference_real_t amax, int t, int units,
                               int exponent) {
  const uint64_t qmax = (uint64_t)reference_elem_magnitude(elem, 7);
  return reference_compare(amax.magnitude, amax.exponent + t, (uint64_t)units * qmax,
                           exponent - 9 - reference_elem_frac(elem));
}

reference_elem_t reference_full_elem(reference_elem_t elem) {
  return elem == REFERENCE_MIXED ? REFERENCE_HALVES : elem;
}

int reference_exponent_of(reference_elem_t elem, reference_real_t amax) {
  if (amax.magnitude == 0) return 0;
  int t = 1000;  // far above the exponents of FP32 data
  while (reference_compare_quotient(reference_full_elem(elem), amax, t,
                                    reference_e4m3_units(E4M3_MAX), 0) > 0)
    t--;
  return t;
}

uint8_t reference_e4m3_scale(reference_elem_t elem, reference_real_t amax, int t, int up) {
  uint8_t byte = up ? 1 : 0;
  for (; byte < E4M3_MAX; byte++) {
    if (up) {
      if (reference_compare_quotient(elem, amax, t, reference_e4m3_units(byte), 0) <= 0) break;
    } else {
      const int twice_middle =
          reference_e4m3_units(byte) + reference_e4m3_units((uint8_t)(byte + 1));
      const int c = reference_compare_quotient(elem, amax, t, twice_middle, -1);
      if (c < 0 || (c == 0 && byte % 2 == 0)) break;
    }
  }
  return byte == 0 ? 1 : byte;
}

/** Returns the E8M0 exponent, from -127 to 127. Up: the smallest k with amax <= qmax * 2^k. Down:
 * the largest k with 2^(k + emax) <= amax. */
static uint8_t e8m0_scale(reference_elem_t elem, reference_real_t amax, int up) {
  static const int emax[REFERENCE_ELEM_COUNT] = {
      [REFERENCE_E2M1] = 2, [REFERENCE_E1M2] = 0, [REFERENCE_INT4] = 2};
  const uint64_t qmax = (uint64_t)reference_elem_magnitude(elem, 7);
  int k = up ? -127 : 127;
  if (up) {
    while (k < 127 && reference_compare(amax.magnitude, amax.exponent, qmax,
                                        k - reference_elem_frac(elem)) > 0)
      k++;
  } else {
    while (k > -127 && reference_compare(1, k + emax[elem], amax.magnitude, amax.exponent) > 0) k--;
  }
  return (uint8_t)(k + 127);
}

/** Returns RN(amax / qmax), clamped to the smallest and the largest number. */
static uint32_t fp32_scale(reference_elem_t elem, reference_real_t amax) {
  const uint64_t qmax = (uint64_t)reference_elem_magnitude(elem, 7);
  const uint32_t s =
      reference_f32_quotient(0, amax.magnitude, amax.exponent + reference_elem_frac(elem), qmax);
  if (s == 0) return 1;
  return s > F32_MAX ? F32_MAX : s;
}

// --- NVIDIA's two levels, in float32 and in its order -------------------------------------------

/** Returns the smaller of two patterns that are neither NaN nor negative. */
static uint32_t smaller(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static uint32_t f32_of(reference_real_t x) {
  return reference_f32_round(x.negative, x.magnitude, x.exponent);
}

reference_level_t reference_nvfp4_level(reference_real_t amax, int full) {
  const uint32_t top = reference_f32_round(0, (uint64_t)full, 0);
  reference_level_t level = {0, F32_ONE, F32_ONE};
  if (amax.magnitude != 0) level.encode = smaller(reference_f32_divide(top, f32_of(amax)), F32_MAX);
  if (level.encode == 0) level.encode = F32_ONE;
  level.decode = reference_f32_divide(F32_ONE, level.encode);
  return level;
}

uint8_t reference_nvfp4_scale(reference_real_t amax, const reference_level_t *level, int target) {
  const uint32_t share = reference_f32_quotient(0, 4, 0, (uint64_t)target);
  const uint32_t f448 = reference_f32_round(0, 448, 0);
  const uint32_t wanted =
      reference_f32_multiply(f32_of(amax), reference_f32_multiply(level->encode, share));
  return reference_e4m3_cast(smaller(wanted, f448));
}

int reference_quarters(reference_elem_t elem) {
  return reference_elem_magnitude(elem, 7) * 4 >> reference_elem_frac(elem);
}

/** Returns clamp(x * e, +-qmax) without its sign. */
static reference_real_t nvfp4_product(reference_elem_t elem, reference_real_t x, uint8_t scale,
                                      const reference_level_t *level) {
  const uint32_t qmax = reference_f32_round(0, (uint64_t)reference_quarters(elem), -2);
  const uint32_t divisor = reference_f32_multiply(reference_e4m3_value(scale), level->decode);
  const uint32_t e = smaller(reference_f32_divide(F32_ONE, divisor), F32_MAX);
  x.negative = 0;
  return reference_f32_real(smaller(reference_f32_multiply(f32_of(x), e), qmax));
}

// --- Codes --------------------------------------------------------------------------------------

/** Compares |x| / s in quanta with bound * 2^-bound_frac. */
static int compare_code(reference_elem_t elem, reference_real_t x, reference_real_t s, int bound,
                        int bound_frac) {
  const uint64_t right = (uint64_t)bound * s.magnitude;
  return reference_compare(x.magnitude, x.exponent + reference_elem_frac(elem), right,
                           s.exponent - bound_frac);
}

int reference_nearest_magnitude(reference_elem_t elem, reference_real_t x, reference_real_t s) {
  int k = 0;
  for (; k < 7; k++) {
    const int c = compare_code(
        elem, x, s, reference_elem_magnitude(elem, k) + reference_elem_magnitude(elem, k + 1), 1);
    if (c < 0 || (c == 0 && k % 2 == 0)) break;
  }
  return k;
}

/** Rounds a quotient in the cell from magnitude k to k + 1: up iff it exceeds low + size * (2 r +
 * 1) / 512. */
static int stochastic_magnitude(reference_elem_t elem, reference_real_t x, reference_real_t s,
                                uint8_t r) {
  int k = 0;
  while (k < 7 && compare_code(elem, x, s, reference_elem_magnitude(elem, k + 1), 0) >= 0) k++;
  if (k == 7) return 7;
  const int low = reference_elem_magnitude(elem, k),
            size = reference_elem_magnitude(elem, k + 1) - low;
  return compare_code(elem, x, s, 512 * low + size * (2 * r + 1), 9) > 0 ? k + 1 : k;
}

uint8_t reference_code_of(reference_real_t x, uint32_t scale, const reference_quantize_t *how,
                          const reference_level_t *level, uint8_t r) {
  reference_real_t dividend = x, divisor = {0, 1, 0};
  if (how->scale == REFERENCE_SCALE_NVFP4) {
    dividend = nvfp4_product(how->elem, x, (uint8_t)scale, level);
  } else {
    reference_scale_real(how->scale, scale, &divisor);
    dividend.exponent += level->t;
  }
  const int k = how->stochastic ? stochastic_magnitude(how->elem, dividend, divisor, r)
                                : reference_nearest_magnitude(how->elem, dividend, divisor);
  return reference_elem_encode(how->elem, x.negative, k);
}

uint32_t reference_scale_of(reference_real_t amax, const reference_quantize_t *how,
                            const reference_level_t *level) {
  switch (how->scale) {
    case REFERENCE_SCALE_NVFP4:
      return reference_nvfp4_scale(amax, level, reference_quarters(how->elem));
    case REFERENCE_SCALE_E8M0:
      return e8m0_scale(how->elem, amax, how->scale_round == REFERENCE_SCALE_UP);
    case REFERENCE_SCALE_FP32:
      return fp32_scale(how->elem, amax);
    default:
      return reference_e4m3_scale(how->elem, amax, level->t,
                                  how->scale_round == REFERENCE_SCALE_UP);
  }
}

// --- The error by which a tile with two levels chooses ------------------------------------------

uint32_t reference_add_square(uint32_t e, reference_elem_t grid, reference_real_t x, uint8_t code,
                              uint8_t scale, const reference_level_t *level) {
  const uint32_t value =
      reference_f32_multiply(reference_elem_value(grid, code), reference_e4m3_value(scale));
  const uint32_t wanted = reference_f32_multiply(f32_of(x), level->encode);
  const uint32_t off = reference_f32_add(value, wanted ^ 0x80000000u);
  return reference_f32_add(e, reference_f32_multiply(off, off));
}
