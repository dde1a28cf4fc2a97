// SPDX-License-Identifier: Apache-2.0
// Exact comparison, and FP32 rounding by search: the result is the pattern with the nearest value.
#include "reference.h"

#define F32_NAN 0x7FC00000u
#define F32_INF 0x7F800000u
#define F32_SIGN 0x80000000u

/** Bits of a number that is not zero. */
static int width(uint64_t a) {
  return 64 - __builtin_clzll(a);
}

int reference_compare(uint64_t a, int p, uint64_t b, int q) {
  if (a == 0 || b == 0) return (a != 0) - (b != 0);
  const int top_a = width(a) + p, top_b = width(b) + q;
  if (top_a != top_b) return top_a > top_b ? 1 : -1;
  // If both have the same leading bit, shifting it to the top of the word allows a plain
  // comparison.
  a <<= 64 - width(a);
  b <<= 64 - width(b);
  return (a > b) - (a < b);
}

int reference_real_compare(reference_real_t x, reference_real_t y) {
  return reference_compare(x.magnitude, x.exponent, y.magnitude, y.exponent);
}

int reference_f32_is_finite(uint32_t bits) {
  return (bits & F32_INF) != F32_INF;
}

int reference_f32_is_nan(uint32_t bits) {
  return (bits & ~F32_SIGN) > F32_INF;
}

reference_real_t reference_f32_real(uint32_t bits) {
  const uint32_t field = (bits >> 23) & 255, fraction = bits & 0x7FFFFF;
  const reference_real_t subnormal = {bits >> 31 != 0, fraction, -149};
  const reference_real_t normal = {bits >> 31 != 0, 0x800000u + fraction, (int)field - 150};
  return field == 0 ? subnormal : normal;
}

uint32_t reference_f32_quotient(int negative, uint64_t numerator, int exponent,
                                uint64_t denominator) {
  // Finds `below`, the largest finite pattern that is not above the number; the pattern of Inf
  // stands for 2^128 as `above`.
  uint32_t below = 0, above = F32_INF;
  while (above - below > 1) {
    const uint32_t middle = below + (above - below) / 2;
    const reference_real_t x = reference_f32_real(middle);
    if (reference_compare(x.magnitude * denominator, x.exponent, numerator, exponent) <= 0) {
      below = middle;
    } else {
      above = middle;
    }
  }
  const reference_real_t x = reference_f32_real(below);
  const int past_half =
      reference_compare(numerator, exponent, (2 * x.magnitude + 1) * denominator, x.exponent - 1);
  const uint32_t nearest = past_half > 0 || (past_half == 0 && below % 2 == 1) ? above : below;
  return nearest | (negative ? F32_SIGN : 0);
}

uint32_t reference_f32_round(int negative, uint64_t magnitude, int exponent) {
  return reference_f32_quotient(negative, magnitude, exponent, 1);
}

uint32_t reference_f32_multiply(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & F32_SIGN;
  if (reference_f32_is_nan(a) || reference_f32_is_nan(b)) return F32_NAN;
  if (!reference_f32_is_finite(a) || !reference_f32_is_finite(b)) {
    const int zero = (a & ~F32_SIGN) == 0 || (b & ~F32_SIGN) == 0;
    return zero ? F32_NAN : F32_INF | sign;
  }
  const reference_real_t x = reference_f32_real(a), y = reference_f32_real(b);
  return reference_f32_round(sign != 0, x.magnitude * y.magnitude, x.exponent + y.exponent);
}

uint32_t reference_f32_divide(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & F32_SIGN;
  const int zero_a = (a & ~F32_SIGN) == 0, zero_b = (b & ~F32_SIGN) == 0;
  if (reference_f32_is_nan(a) || reference_f32_is_nan(b) || (zero_a && zero_b)) return F32_NAN;
  if (!reference_f32_is_finite(a)) return reference_f32_is_finite(b) ? F32_INF | sign : F32_NAN;
  if (!reference_f32_is_finite(b)) return sign;
  if (zero_b) return F32_INF | sign;
  const reference_real_t x = reference_f32_real(a), y = reference_f32_real(b);
  return reference_f32_quotient(sign != 0, x.magnitude, x.exponent - y.exponent, y.magnitude);
}

// --- Exact sums: integers in units of 2^REFERENCE_SUM_UNIT --------------------------------------

/** Adds @p term in units of word @p i. */
static void big_add_at(reference_big_t *big, int i, uint64_t term) {
  for (uint64_t carry = 0; i < REFERENCE_BIG_WORDS && (term | carry) != 0; i++) {
    carry += (uint64_t)big->word[i] + (uint32_t)term;
    big->word[i] = (uint32_t)carry;
    carry >>= 32;
    term >>= 32;
  }
}

static void big_add(reference_big_t *big, reference_real_t x) {
  if (x.magnitude == 0) return;
  const int place = x.exponent - REFERENCE_SUM_UNIT;
  const uint64_t low = x.magnitude & 0xFFFFFFFF, high = x.magnitude >> 32;
  big_add_at(big, place / 32, low << place % 32);
  big_add_at(big, place / 32 + 1, high << place % 32);
}

static int big_compare(const reference_big_t *a, const reference_big_t *b) {
  for (int i = REFERENCE_BIG_WORDS - 1; i >= 0; i--) {
    if (a->word[i] != b->word[i]) return a->word[i] > b->word[i] ? 1 : -1;
  }
  return 0;
}

/** Compares the difference of a sum's parts, of which @p larger is the greater, with magnitude *
 * 2^exponent. */
static int difference_compare(const reference_big_t *larger, const reference_big_t *smaller,
                              uint64_t magnitude, int exponent) {
  const reference_real_t x = {0, magnitude, exponent};
  reference_big_t right = *smaller;
  big_add(&right, x);
  return big_compare(larger, &right);
}

void reference_sum_add(reference_sum_t *sum, reference_real_t x) {
  big_add(&sum->part[x.negative], x);
}

uint32_t reference_sum_round(const reference_sum_t *sum, int drop) {
  const int order = big_compare(&sum->part[0], &sum->part[1]);
  const reference_big_t *larger = &sum->part[order < 0], *smaller = &sum->part[order >= 0];
  uint32_t below = 0, above = F32_INF >> drop;
  if (order == 0) return 0;
  while (above - below > 1) {
    const uint32_t middle = below + (above - below) / 2;
    const reference_real_t x = reference_f32_real(middle << drop);
    if (difference_compare(larger, smaller, x.magnitude, x.exponent) >= 0) {
      below = middle;
    } else {
      above = middle;
    }
  }
  // The magnitude of the next pattern is larger by 2^drop in the same units.
  const reference_real_t x = reference_f32_real(below << drop);
  const int past_half =
      difference_compare(larger, smaller, 2 * x.magnitude + (1ull << drop), x.exponent - 1);
  const uint32_t nearest = past_half > 0 || (past_half == 0 && below % 2 == 1) ? above : below;
  return nearest << drop | (order < 0 ? F32_SIGN : 0);
}

uint32_t reference_f32_add_real(uint32_t a, reference_real_t x) {
  reference_sum_t sum = {0};
  if (reference_f32_is_nan(a)) return F32_NAN;
  if (!reference_f32_is_finite(a)) return a;
  if (a == F32_SIGN && x.negative && x.magnitude == 0)
    return F32_SIGN;  // -0 and -0; other zero sums are +0
  reference_sum_add(&sum, reference_f32_real(a));
  reference_sum_add(&sum, x);
  return reference_sum_round(&sum, 0);
}

uint32_t reference_f32_add(uint32_t a, uint32_t b) {
  if (reference_f32_is_nan(a) || reference_f32_is_nan(b)) return F32_NAN;
  if (!reference_f32_is_finite(a) && !reference_f32_is_finite(b)) return a == b ? a : F32_NAN;
  if (!reference_f32_is_finite(b)) return b;
  return reference_f32_add_real(a, reference_f32_real(b));
}
