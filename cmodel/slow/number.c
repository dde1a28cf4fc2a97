// SPDX-License-Identifier: Apache-2.0
// Exact comparison, and FP32 rounding by search: the result is the pattern whose number is nearest.
#include "slow.h"

#define F32_NAN 0x7FC00000u
#define F32_INF 0x7F800000u
#define F32_SIGN 0x80000000u

static int width(slow_u128_t a) {
  const uint64_t high = (uint64_t)(a >> 64), low = (uint64_t)a;
  if (high != 0) return 128 - __builtin_clzll(high);
  return low != 0 ? 64 - __builtin_clzll(low) : 0;
}

int slow_compare(slow_u128_t a, int p, slow_u128_t b, int q) {
  if (a == 0 || b == 0) return (a != 0) - (b != 0);
  const int top_a = width(a) + p, top_b = width(b) + q;
  if (top_a != top_b) return top_a > top_b ? 1 : -1;
  // Same leading bit: with both moved to the top of the word, plain order decides.
  a <<= 128 - width(a);
  b <<= 128 - width(b);
  return (a > b) - (a < b);
}

int slow_real_compare(slow_real_t x, slow_real_t y) {
  return slow_compare(x.magnitude, x.exponent, y.magnitude, y.exponent);
}

int slow_f32_is_finite(uint32_t bits) {
  return (bits & F32_INF) != F32_INF;
}

int slow_f32_is_nan(uint32_t bits) {
  return (bits & ~F32_SIGN) > F32_INF;
}

slow_real_t slow_f32_real(uint32_t bits) {
  const uint32_t field = (bits >> 23) & 255, fraction = bits & 0x7FFFFF;
  const slow_real_t subnormal = {bits >> 31 != 0, fraction, -149};
  const slow_real_t normal = {bits >> 31 != 0, 0x800000u + fraction, (int)field - 150};
  return field == 0 ? subnormal : normal;
}

uint32_t slow_f32_round(int negative, slow_u128_t magnitude, int exponent) {
  // The largest finite pattern that is not above the number; `above` stands for 2^128 when it is the pattern of Inf.
  uint32_t below = 0, above = F32_INF;
  while (above - below > 1) {
    const uint32_t middle = below + (above - below) / 2;
    const slow_real_t x = slow_f32_real(middle);
    if (slow_compare(x.magnitude, x.exponent, magnitude, exponent) <= 0) {
      below = middle;
    } else {
      above = middle;
    }
  }
  const slow_real_t x = slow_f32_real(below);
  const int past_half = slow_compare(magnitude, exponent, 2 * x.magnitude + 1, x.exponent - 1);
  const uint32_t nearest = past_half > 0 || (past_half == 0 && below % 2 == 1) ? above : below;
  return nearest | (negative ? F32_SIGN : 0);
}

uint32_t slow_f32_multiply(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & F32_SIGN;
  if (slow_f32_is_nan(a) || slow_f32_is_nan(b)) return F32_NAN;
  if (!slow_f32_is_finite(a) || !slow_f32_is_finite(b)) {
    const int zero = (a & ~F32_SIGN) == 0 || (b & ~F32_SIGN) == 0;
    return zero ? F32_NAN : F32_INF | sign;
  }
  const slow_real_t x = slow_f32_real(a), y = slow_f32_real(b);
  return slow_f32_round(sign != 0, (slow_u128_t)x.magnitude * y.magnitude, x.exponent + y.exponent);
}

// FP32 numbers and the halfway points between them are integers in units of 2^-150; their sums are under 2^280.
#define BIG_WORDS 10
typedef struct {
  uint32_t word[BIG_WORDS];
} big_t;

static big_t big_from(uint64_t magnitude, int exponent) {
  big_t out = {{0}};
  for (int bit = 0; bit < 64; bit++) {
    const int place = exponent + 150 + bit;
    if ((magnitude >> bit) & 1) out.word[place / 32] |= 1u << (place % 32);
  }
  return out;
}

static big_t big_from_f32(uint32_t bits) {
  const slow_real_t x = slow_f32_real(bits);
  return big_from(x.magnitude, x.exponent);
}

static int big_compare(const big_t *a, const big_t *b) {
  for (int i = BIG_WORDS - 1; i >= 0; i--) {
    if (a->word[i] != b->word[i]) return a->word[i] > b->word[i] ? 1 : -1;
  }
  return 0;
}

/** a + b, or a - b where a >= b. */
static big_t big_combine(const big_t *a, const big_t *b, int subtract) {
  big_t out;
  int64_t carry = 0;
  for (int i = 0; i < BIG_WORDS; i++) {
    const int64_t digit = (int64_t)a->word[i] + (subtract ? -(int64_t)b->word[i] : (int64_t)b->word[i]) + carry;
    out.word[i] = (uint32_t)(digit & 0xFFFFFFFF);
    carry = digit >> 32;
  }
  return out;
}

static uint32_t big_round(const big_t *value, uint32_t sign) {
  uint32_t below = 0, above = F32_INF;
  while (above - below > 1) {
    const uint32_t middle = below + (above - below) / 2;
    const big_t x = big_from_f32(middle);
    if (big_compare(&x, value) <= 0) {
      below = middle;
    } else {
      above = middle;
    }
  }
  const slow_real_t x = slow_f32_real(below);
  const big_t half = big_from(2 * x.magnitude + 1, x.exponent - 1);
  const int past_half = big_compare(value, &half);
  return (past_half > 0 || (past_half == 0 && below % 2 == 1) ? above : below) | sign;
}

uint32_t slow_f32_add(uint32_t a, uint32_t b) {
  if (slow_f32_is_nan(a) || slow_f32_is_nan(b)) return F32_NAN;
  if (!slow_f32_is_finite(a) && !slow_f32_is_finite(b)) return a == b ? a : F32_NAN;
  if (!slow_f32_is_finite(a)) return a;
  if (!slow_f32_is_finite(b)) return b;
  const big_t x = big_from_f32(a), y = big_from_f32(b);
  const int order = big_compare(&x, &y), opposite = ((a ^ b) & F32_SIGN) != 0;
  if (order == 0 && opposite) return 0;  // cancels, or zeros of either sign: +0
  const big_t value = order >= 0 ? big_combine(&x, &y, opposite) : big_combine(&y, &x, opposite);
  return big_round(&value, (order >= 0 ? a : b) & F32_SIGN);
}
