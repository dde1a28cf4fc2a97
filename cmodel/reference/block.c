// SPDX-License-Identifier: Apache-2.0
// The 16 numbers of a block as inputs of the quantizer (numerics.md 3): plain, or transformed.
#include "reference.h"

/** (-1)^popcount(i & j). */
static int hadamard(int i, int j) {
  int sign = 1;
  for (int both = i & j; both != 0; both >>= 1) {
    if (both & 1) sign = -sign;
  }
  return sign;
}

/** Returns the significand aligned to the biased exponent @p largest, truncated, with its sign. */
static int64_t aligned(uint32_t bits, int largest) {
  const reference_real_t x = reference_f32_real(bits);
  const int shift =
      largest - (x.exponent + 150);  // exponent + 150 is the biased exponent, 1 for subnormals
  const int64_t v = shift > 63 ? 0 : (int64_t)(x.magnitude >> shift);
  return x.negative ? -v : v;
}

int reference_rht_block(const uint32_t bits[16], uint16_t mask, int32_t out[16]) {
  int largest = 1;
  for (int j = 0; j < 16; j++) {
    if (!reference_f32_is_finite(bits[j])) return 0;
    const int biased = reference_f32_real(bits[j]).exponent + 150;
    if (biased > largest) largest = biased;
  }
  for (int i = 0; i < 16; i++) {
    int64_t sum = 0;
    for (int j = 0; j < 16; j++) {
      const int sign = (mask >> j) % 2 == 1 ? -1 : 1;
      sum += hadamard(i, j) * sign * aligned(bits[j], largest);
    }
    out[i] = (int32_t)sum;
  }
  return largest;
}

/** Returns the exact sum of row @p j of the matrix times the block, divided by 4 (16 points) or 8,
 * rounded once. */
static uint32_t undo_row(const uint32_t *bits, int points, int j) {
  reference_sum_t sum = {0};
  int inf[2] = {0, 0};  // whether there is a term of +Inf, of -Inf
  for (int i = 0; i < points; i++) {
    const int negative = (int)(bits[i] >> 31) ^ (hadamard(i, j) < 0);
    if (reference_f32_is_nan(bits[i])) return 0x7FC00000u;
    if (!reference_f32_is_finite(bits[i])) {
      inf[negative] = 1;
      continue;
    }
    reference_real_t term = reference_f32_real(bits[i]);
    term.negative = negative;
    term.exponent -= points == 16 ? 2 : 3;
    reference_sum_add(&sum, term);
  }
  if (inf[0] && inf[1]) return 0x7FC00000u;
  if (inf[0] || inf[1]) return 0x7F800000u | (uint32_t)inf[1] << 31;
  return reference_sum_round(&sum, 0);
}

void reference_rht_undo(const uint32_t *bits, int points, uint64_t mask, uint32_t *out) {
  for (int j = 0; j < points; j++) {
    const uint32_t x = undo_row(bits, points, j);
    const int negate = (mask >> j) % 2 == 1 && !reference_f32_is_nan(x);
    out[j] = x ^ (negate ? 0x80000000u : 0);
  }
}

/** Computes NVIDIA's variant: BF16 inputs, exact sums, BF16 results; every zero is +0. @return 0
 * if a number is not finite. */
static int rht_bf16(const uint32_t bits[16], uint16_t mask, reference_real_t out[16]) {
  for (int i = 0; i < 16; i++) {
    reference_sum_t sum = {0};
    for (int j = 0; j < 16; j++) {
      const uint32_t rounded = (uint32_t)reference_bf16_cast(bits[j]) << 16;
      if (!reference_f32_is_finite(rounded)) return 0;
      reference_real_t term = reference_f32_real(rounded);
      term.negative ^= (hadamard(i, j) < 0) ^ (mask >> j & 1);
      term.exponent -= 2;  // H16 / 4
      reference_sum_add(&sum, term);
    }
    const uint32_t y = reference_sum_round(&sum, 16);
    if (!reference_f32_is_finite(y)) return 0;
    out[i] = reference_f32_real(y);
    if (out[i].magnitude == 0) out[i].negative = 0;
  }
  return 1;
}

static int rht_integer(const uint32_t bits[16], uint16_t mask, reference_real_t out[16]) {
  int32_t y[16];
  const int largest = reference_rht_block(bits, mask, y);
  if (largest == 0) return 0;
  for (int i = 0; i < 16; i++) {
    const int64_t magnitude = y[i] < 0 ? -(int64_t)y[i] : y[i];
    out[i] = (reference_real_t){y[i] < 0, (uint64_t)magnitude, largest - 152};
  }
  return 1;
}

static int plain(const uint32_t bits[16], reference_real_t out[16]) {
  for (int i = 0; i < 16; i++) {
    if (!reference_f32_is_finite(bits[i])) return 0;
    out[i] = reference_f32_real(bits[i]);
  }
  return 1;
}

reference_block_t reference_block_load(const uint32_t bits[16], const reference_quantize_t *how) {
  const uint16_t mask = (uint16_t)how->mask;
  reference_block_t block = {0};
  switch (how->rht) {
    case REFERENCE_RHT_INTEGER:
      block.poisoned = !rht_integer(bits, mask, block.x);
      break;
    case REFERENCE_RHT_BF16:
      block.poisoned = !rht_bf16(bits, mask, block.x);
      break;
    default:
      block.poisoned = !plain(bits, block.x);
  }
  return block;
}

/** Row @p i of the transform of 32 or 64 points, exactly: significands, aligned to the largest
 * exponent, lose 1 or 2 bits more than with 16 points; the sum is divided by 4 or 8. */
static reference_real_t point(const uint32_t *bits, int i, int largest,
                              const reference_quantize_t *how) {
  const int lost = how->points == 64 ? 2 : 1;
  int64_t sum = 0;
  for (int j = 0; j < how->points; j++) {
    const int64_t v = aligned(bits[j], largest + lost);
    sum += (hadamard(i, j) < 0) ^ (how->mask >> j & 1) ? -v : v;
  }
  const int divided = how->points == 64 ? 3 : 2;
  return (reference_real_t){sum < 0, (uint64_t)(sum < 0 ? -sum : sum),
                            largest - 150 + lost - divided};
}

reference_block_t reference_points_load(const uint32_t *bits, int part,
                                        const reference_quantize_t *how) {
  reference_block_t block = {0};
  int largest = 1;
  for (int j = 0; j < how->points; j++) {
    if (!reference_f32_is_finite(bits[j])) {
      block.poisoned = 1;
      return block;
    }
    const int biased = reference_f32_real(bits[j]).exponent + 150;
    if (biased > largest) largest = biased;
  }
  for (int i = 0; i < 16; i++) block.x[i] = point(bits, 16 * part + i, largest, how);
  return block;
}
