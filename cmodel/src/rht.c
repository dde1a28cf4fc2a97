// SPDX-License-Identifier: Apache-2.0
#include "ufp4/rht.h"

#include "internal.h"
#include "ufp4/format.h"

INLINE lanes_t largest_exponent(const ulanes_t bits[BLOCK]) {
  lanes_t largest = exponent_lanes(bits[0]);
  for (unsigned i = 1; i < BLOCK; i++) largest = max_lanes(largest, exponent_lanes(bits[i]));
  return largest;
}

// Significands of element i, aligned to the block's largest exponent and truncated, with the sign that the mask leaves.
INLINE void align(ulanes_t bits, lanes_t largest, uint32_t flip, lanes_t *out) {
  lanes_t shift = min_lanes(largest - exponent_lanes(bits), all_lanes(31));
  lanes_t negative = (lanes_t)(bits ^ flip) >> 31;
  *out = ((significand_lanes(bits) >> shift) ^ negative) - negative;
}

INLINE void butterfly(lanes_t *a, lanes_t *b) {
  lanes_t sum = *a + *b;
  *b = *a - *b;
  *a = sum;
}

HOT void ufp4_rht_tile(const ulanes_t bits[BLOCK], uint16_t mask, lanes_t out[BLOCK], lanes_t *exponent) {
  lanes_t largest = largest_exponent(bits);
  for (unsigned i = 0; i < BLOCK; i++) align(bits[i], largest, (uint32_t)(mask >> i & 1) << 31, &out[i]);
  for (unsigned half = 1; half < BLOCK; half *= 2) {
    for (unsigned i = 0; i < BLOCK; i++) {
      if ((i & half) == 0) butterfly(&out[i], &out[i + half]);
    }
  }
  *exponent = largest & (largest != 255);
}

int ufp4_rht_block(const uint32_t bits[16], uint16_t mask, int32_t out[16]) {
  ulanes_t tile[BLOCK] = {{0}};
  lanes_t transformed[BLOCK];
  lanes_t exponent;
  for (unsigned i = 0; i < BLOCK; i++) tile[i][0] = bits[i];
  ufp4_rht_tile(tile, mask, transformed, &exponent);
  if (exponent[0] == 0) return 0;
  for (unsigned i = 0; i < BLOCK; i++) out[i] = transformed[i][0];
  return exponent[0];
}

// --- The BF16 variant --------------------------------------------------------------------------------

// A BF16 number is m * 2^(e - 134), m signed with 8 bits, e from 1 to 254. While the exponents of a block span no more
// than this, sums of 16 are exact in 64 bits.
#define NARROW_SPAN 48
#define LIMBS 9  // of 32 bits: 2^253 * 2^8 * 16 and a sign

typedef struct {
  int64_t m[BLOCK];
  int e[BLOCK];
  int low, high;  // exponents of the numbers that are not zero; low > high: there are none
} bf16_block_t;

static int bf16_unpack(const uint32_t bits[BLOCK], uint16_t mask, bf16_block_t *out) {
  out->low = 255;
  out->high = 0;
  for (unsigned i = 0; i < BLOCK; i++) {
    uint16_t rounded = ufp4_bf16_cast(ufp4_f32_value(bits[i]));
    int field = rounded >> 7 & 0xFF;
    if (field == 255) return 0;
    int64_t magnitude = (rounded & 0x7F) | (field != 0 ? 0x80 : 0);
    out->e[i] = field != 0 ? field : 1;
    out->m[i] = (rounded >> 15 ^ (mask >> i & 1)) != 0 ? -magnitude : magnitude;
    if (magnitude == 0) continue;
    out->low = out->e[i] < out->low ? out->e[i] : out->low;
    out->high = out->e[i] > out->high ? out->e[i] : out->high;
  }
  return 1;
}

// sum * 2^exponent to a BF16 pattern, nearest even, once. @return 0 where that is Inf.
static int bf16_from_scaled(int64_t sum, int exponent, uint16_t *out) {
  uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
  *out = 0;
  if (magnitude == 0) return 1;
  int top = 63 - __builtin_clzll(magnitude) + exponent;
  int binade = top < -126 ? -126 : top;
  int shift = binade - 7 - exponent;
  uint64_t kept = 0;
  if (shift <= 0) {
    kept = magnitude << -shift;
  } else if (shift < 64) {
    uint64_t rest = magnitude & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    kept = magnitude >> shift;
    kept += rest > half || (rest == half && (kept & 1));
  }
  // A carry out of the significand lands in the exponent field, as it should.
  uint64_t pattern = ((uint64_t)(binade + 126) << 7) + kept;
  if (top > 127 || pattern >= 0x7F80) return 0;
  if (pattern != 0) *out = (uint16_t)(pattern | (sum < 0 ? 0x8000u : 0));
  return 1;
}

static int transform_narrow(const bf16_block_t *in, uint16_t out[BLOCK]) {
  int64_t v[BLOCK];
  for (unsigned i = 0; i < BLOCK; i++) v[i] = in->m[i] == 0 ? 0 : in->m[i] * ((int64_t)1 << (in->e[i] - in->low));
  for (unsigned half = 1; half < BLOCK; half *= 2) {
    for (unsigned i = 0; i < BLOCK; i++) {
      if ((i & half) != 0) continue;
      int64_t sum = v[i] + v[i + half];
      v[i + half] = v[i] - v[i + half];
      v[i] = sum;
    }
  }
  int finite = 1;
  for (unsigned i = 0; i < BLOCK; i++) finite &= bf16_from_scaled(v[i], in->low - 136, &out[i]);
  return finite;
}

// Limbs of any sign to limbs of 32 bits; @return the carry out of the last.
static int64_t propagate(int64_t limbs[LIMBS]) {
  int64_t carry = 0;
  for (unsigned i = 0; i < LIMBS; i++) {
    int64_t sum = limbs[i] + carry;
    limbs[i] = sum & UINT32_MAX;
    carry = (sum - limbs[i]) / ((int64_t)1 << 32);
  }
  return carry;
}

// The upper 62 bits of a number in limbs; its lowest bit is sticky. A number of 62 bits or fewer is kept as it is.
static int64_t leading(const int64_t limbs[LIMBS], int *exponent) {
  int i = LIMBS - 1;
  while (i > 1 && limbs[i] == 0) i--;
  uint64_t top = (uint64_t)limbs[i] << 32 | (uint64_t)limbs[i - 1];
  int64_t rest = 0;
  for (int j = 0; j < i - 1; j++) rest |= limbs[j];
  *exponent = 0;
  if (i == 1 && top >> 62 == 0) return (int64_t)top;
  *exponent = 32 * (i - 1) + 2;
  return (int64_t)(top >> 2 | ((top & 3) != 0 || rest != 0));
}

static int transform_wide(const bf16_block_t *in, unsigned row, uint16_t *out) {
  int64_t limbs[LIMBS] = {0};
  for (unsigned i = 0; i < BLOCK; i++) {
    int64_t m = __builtin_popcount(row & i) & 1 ? -in->m[i] : in->m[i];
    int64_t shifted = m * ((int64_t)1 << (in->e[i] - 1) % 32);
    limbs[(in->e[i] - 1) / 32] += shifted;
  }
  int negative = propagate(limbs) < 0;
  if (negative) {
    for (unsigned i = 0; i < LIMBS; i++) limbs[i] = i == 0 ? UINT32_MAX - limbs[i] + 1 : UINT32_MAX - limbs[i];
    propagate(limbs);
  }
  int exponent;
  int64_t sum = leading(limbs, &exponent);
  return bf16_from_scaled(negative ? -sum : sum, exponent + 1 - 136, out);
}

int ufp4_rht_block_bf16(const uint32_t bits[16], uint16_t mask, uint32_t out[16]) {
  bf16_block_t block;
  uint16_t results[BLOCK];
  if (!bf16_unpack(bits, mask, &block)) return 0;
  int finite = 1;
  if (block.high - block.low <= NARROW_SPAN) {
    finite = transform_narrow(&block, results);
  } else {
    for (unsigned i = 0; i < BLOCK; i++) finite &= transform_wide(&block, i, &results[i]);
  }
  for (unsigned i = 0; i < BLOCK && finite; i++) out[i] = (uint32_t)results[i] << 16;
  return finite;
}

void ufp4_rht_tile_bf16(ulanes_t bits[BLOCK], uint16_t mask) {
  for (unsigned l = 0; l < LANES; l++) {
    uint32_t block[BLOCK];
    for (unsigned i = 0; i < BLOCK; i++) block[i] = bits[i][l];
    int finite = ufp4_rht_block_bf16(block, mask, block);
    for (unsigned i = 0; i < BLOCK; i++) bits[i][l] = finite ? block[i] : UFP4_F32_NAN;
  }
}
