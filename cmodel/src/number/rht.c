// SPDX-License-Identifier: Apache-2.0
#include "ufp4/rht.h"

#include "number/lanes.h"
#include "ufp4/format.h"

INLINE lanes_t largest_exponent(const ulanes_t bits[BLOCK]) {
  lanes_t largest = exponent_lanes(bits[0]);
  for (unsigned i = 1; i < BLOCK; i++) largest = max_lanes(largest, exponent_lanes(bits[i]));
  return largest;
}

// Computes the significands of element i, aligned to the block's largest exponent and truncated,
// with the sign after the mask.
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

INLINE void butterflies(lanes_t v[BLOCK]) {
  for (unsigned half = 1; half < BLOCK; half *= 2) {
    for (unsigned i = 0; i < BLOCK; i++) {
      if ((i & half) == 0) butterfly(&v[i], &v[i | half]);
    }
  }
}

HOT void ufp4_rht_tile(const ulanes_t bits[BLOCK], uint16_t mask, lanes_t out[BLOCK],
                       lanes_t *exponent) {
  lanes_t largest = largest_exponent(bits);
  for (unsigned i = 0; i < BLOCK; i++)
    align(bits[i], largest, (uint32_t)(mask >> i & 1) << 31, &out[i]);
  butterflies(out);
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

// --- The BF16 variant ---------------------------------------------------------------------------

// A BF16 number is m * 2^(e - 134), m with 8 bits and a sign, e from 1 to 254. If the exponents of
// a block span at most this, sums of 16 are exact in 32 bits.
#define NARROW_SPAN 18
#define NO_LOW 255
#define BF16_INF 0x7F80

typedef struct {
  lanes_t m[BLOCK];  // with the sign after the mask
  lanes_t e[BLOCK];
  lanes_t low, high;  // exponents of the non-zero numbers
  lanes_t poisoned;
} bf16_tile_t;

INLINE void bf16_unpack(const ulanes_t bits[BLOCK], uint16_t mask, bf16_tile_t *out) {
  out->low = all_lanes(NO_LOW);
  out->high = out->poisoned = (lanes_t){0};
  for (unsigned i = 0; i < BLOCK; i++) {
    // A carry out of the significand correctly increments the exponent field; NaN and Inf already
    // have the largest exponent.
    lanes_t special = exponent_lanes(bits[i]) == 255;
    ulanes_t rounded = (bits[i] + 0x7FFF + (bits[i] >> 16 & 1)) & 0xFFFF0000u;
    lanes_t magnitude = significand_lanes(rounded) >> 16;
    lanes_t negative = (lanes_t)(rounded ^ (uint32_t)(mask >> i & 1) << 31) >> 31;
    lanes_t some = magnitude != 0;
    out->e[i] = exponent_lanes(rounded);
    out->m[i] = (magnitude ^ negative) - negative;
    out->poisoned |= special | (out->e[i] == 255);
    out->low = min_lanes(out->low, select_lanes(some, out->e[i], all_lanes(NO_LOW)));
    out->high = max_lanes(out->high, out->e[i] & some);
  }
}

// floor(log2(a)) of numbers under 2^31; 0 for 0.
INLINE void floor_log2(lanes_t a, lanes_t *out) {
  *out = (lanes_t){0};
  for (int step = 16; step >= 1; step /= 2) {
    lanes_t shift = (a >= all_lanes(1 << step)) & step;
    a >>= shift;
    *out += shift;
  }
}

// Rounds sum * 2^(low - 136) to BF16, nearest even, as FP32 bit patterns; overflow gives Inf.
INLINE void bf16_round(lanes_t sum, lanes_t low, ulanes_t *out) {
  lanes_t negative = sum >> 31, top;
  lanes_t magnitude = (sum ^ negative) - negative;
  floor_log2(magnitude, &top);
  // Eight bits are kept, or those down to the last place of subnormals, 2^-133.
  lanes_t shift = max_lanes(top - 7, 3 - low);
  lanes_t right = max_lanes(shift, all_lanes(0)), left = max_lanes(-shift, all_lanes(0));
  lanes_t kept = (magnitude >> right) << left;
  lanes_t rest = 2 * (magnitude - ((magnitude >> right) << right)), whole = all_lanes(1) << right;
  kept -= (rest > whole) | ((rest == whole) & -(kept & 1));
  // A carry out of the significand correctly increments the exponent field.
  lanes_t pattern = ((low + shift - 3) * 128 + kept) & (magnitude != 0);
  *out = (ulanes_t)(min_lanes(pattern, all_lanes(BF16_INF)) << 16) |
         ((ulanes_t)(negative & (pattern != 0)) << 31);
}

INLINE void bf16_transform(const bf16_tile_t *tile, ulanes_t out[BLOCK]) {
  lanes_t v[BLOCK];
  for (unsigned i = 0; i < BLOCK; i++) {
    lanes_t shift =
        min_lanes(max_lanes(tile->e[i] - tile->low, all_lanes(0)), all_lanes(NARROW_SPAN));
    v[i] = (lanes_t)((ulanes_t)tile->m[i] << (ulanes_t)shift);
  }
  butterflies(v);
  for (unsigned i = 0; i < BLOCK; i++) bf16_round(v[i], tile->low, &out[i]);
}

// --- and where the exponents of a block span more -----------------------------------------------

#define LIMBS 9  // of 32 bits: 2^253 * 2^8 * 16 and a sign

// Normalizes signed limbs to 32 bits each; @return the carry out of the last limb.
static int64_t propagate(int64_t limbs[LIMBS]) {
  int64_t carry = 0;
  for (unsigned i = 0; i < LIMBS; i++) {
    int64_t sum = limbs[i] + carry;
    limbs[i] = sum & UINT32_MAX;
    carry = (sum - limbs[i]) / ((int64_t)1 << 32);
  }
  return carry;
}

// Reduces a number in limbs to at most 28 of its upper bits, at least 24, the lowest of which is
// sticky. The number is the result times 2^exponent.
static int32_t leading(const int64_t limbs[LIMBS], int *exponent) {
  int i = LIMBS - 1;
  while (i > 1 && limbs[i] == 0) i--;
  uint64_t top = (uint64_t)limbs[i] << 32 | (uint64_t)limbs[i - 1];
  int64_t rest = 0;
  for (int j = 0; j < i - 1; j++) rest |= limbs[j];
  int shift = top >> 28 != 0 ? 36 - __builtin_clzll(top) : 0;
  rest |= (int64_t)(top & ((UINT64_C(1) << shift) - 1));
  *exponent = 32 * (i - 1) + shift;
  return (int32_t)(top >> shift) | (rest != 0);
}

// Computes sum `row` of lane `lane`, as sum * 2^(low - 136), reduced to few enough bits.
static int32_t wide_sum(const bf16_tile_t *tile, unsigned lane, unsigned row, int32_t *low) {
  int64_t limbs[LIMBS] = {0};
  for (unsigned i = 0; i < BLOCK; i++) {
    int64_t m = __builtin_popcount(row & i) & 1 ? -tile->m[i][lane] : tile->m[i][lane];
    int place = tile->e[i][lane] - 1;
    limbs[place / 32] += m * ((int64_t)1 << place % 32);
  }
  int negative = propagate(limbs) < 0;
  if (negative) {
    for (unsigned i = 0; i < LIMBS; i++) limbs[i] = UINT32_MAX - limbs[i];
    limbs[0]++;
    propagate(limbs);
  }
  int exponent;
  int32_t sum = leading(limbs, &exponent);
  *low = exponent + 1;
  return negative ? -sum : sum;
}

static void transform_wide(const bf16_tile_t *tile, unsigned lane, ulanes_t out[BLOCK]) {
  for (unsigned row = 0; row < BLOCK; row++) {
    lanes_t sum = {0}, low = all_lanes(1);
    ulanes_t rounded;
    int32_t exponent;
    sum[0] = wide_sum(tile, lane, row, &exponent);
    low[0] = exponent;
    bf16_round(sum, low, &rounded);
    out[row][lane] = rounded[0];
  }
}

HOT static void transform_bf16(const ulanes_t bits[BLOCK], uint16_t mask, bf16_tile_t *tile,
                               ulanes_t out[BLOCK]) {
  bf16_unpack(bits, mask, tile);
  bf16_transform(tile, out);
}

// --- and where they span less, as they most often do --------------------------------------------

// If the exponents of a block span at most this, each intermediate sum is an integer of at most 24
// bits times 2^(low - 134). It is exact as FP32, and so is a fourth of it, because low is at least
// 1. No sum of numbers under 2^(FLOAT_HIGH - 126) overflows.
#define FLOAT_SPAN 12
#define FLOAT_HIGH 248

typedef float flanes_t __attribute__((vector_size(4 * LANES)));

INLINE ulanes_t bf16_nearest(ulanes_t bits) {
  return (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
}

// Transforms in FP32, in place, with one rounding to BF16. @return 0 if a block of the tile does
// not allow it.
HOT static int transform_floats(ulanes_t bits[BLOCK], uint16_t mask) {
  flanes_t v[BLOCK];
  lanes_t low = all_lanes(NO_LOW << 23), high = {0};
  for (unsigned i = 0; i < BLOCK; i++) {
    const ulanes_t rounded = bf16_nearest(bits[i]);
    const lanes_t magnitude = (lanes_t)(rounded & 0x7FFFFFFFu);
    high = max_lanes(high, max_lanes(magnitude, (lanes_t)(bits[i] & 0x7FFFFFFFu)));
    low = min_lanes(low, magnitude | ((magnitude == 0) & (NO_LOW << 23)));
    v[i] = (flanes_t)(rounded ^ (uint32_t)(mask >> i & 1) << 31);
  }
  const lanes_t least = max_lanes(low >> 23, all_lanes(1)), most = high >> 23;
  const lanes_t not_here = (most > FLOAT_HIGH) | (most - least > FLOAT_SPAN);
  int64_t any = 0;
  for (unsigned l = 0; l < LANES; l++) any |= not_here[l];
  if (any) return 0;
  for (unsigned half = 1; half < BLOCK; half *= 2) {
    for (unsigned i = 0; i < BLOCK; i++) {
      if ((i & half) != 0) continue;
      const flanes_t sum = v[i] + v[i | half];
      v[i | half] = v[i] - v[i | half];
      v[i] = sum;
    }
  }
  for (unsigned i = 0; i < BLOCK; i++) {
    const ulanes_t rounded = bf16_nearest((ulanes_t)(v[i] * 0.25f));
    bits[i] = rounded & (ulanes_t)((rounded & 0x7FFFFFFFu) != 0);  // zero is +0
  }
  return 1;
}

static void transform_integers(ulanes_t bits[BLOCK], uint16_t mask) {
  bf16_tile_t tile;
  ulanes_t out[BLOCK];
  transform_bf16(bits, mask, &tile, out);
  lanes_t wide = tile.high - tile.low > NARROW_SPAN;
  for (unsigned l = 0; l < LANES; l++) {
    if (wide[l] && !tile.poisoned[l]) transform_wide(&tile, l, out);
  }
  lanes_t poisoned = tile.poisoned;
  for (unsigned i = 0; i < BLOCK; i++) poisoned |= exponent_lanes(out[i]) == 255;
  for (unsigned i = 0; i < BLOCK; i++) {
    bits[i] = (ulanes_t)select_lanes(poisoned, all_lanes((int32_t)UFP4_F32_NAN), (lanes_t)out[i]);
  }
}

void ufp4_rht_tile_bf16(ulanes_t bits[BLOCK], uint16_t mask) {
  if (!transform_floats(bits, mask)) transform_integers(bits, mask);
}

int ufp4_rht_block_bf16(const uint32_t bits[16], uint16_t mask, uint32_t out[16]) {
  ulanes_t tile[BLOCK] = {{0}};
  for (unsigned i = 0; i < BLOCK; i++) tile[i][0] = bits[i];
  ufp4_rht_tile_bf16(tile, mask);
  if (exponent_lanes(tile[0])[0] == 255) return 0;
  for (unsigned i = 0; i < BLOCK; i++) out[i] = tile[i][0];
  return 1;
}

// --- More points --------------------------------------------------------------------------------

static int biased_exponent(uint32_t bits) {
  const int field = (int)(bits >> 23 & 0xFF);
  return field + (field == 0);
}

int ufp4_rht_points(const uint32_t *bits, int points, uint64_t mask, int32_t *out) {
  int largest = 1;
  for (int i = 0; i < points; i++) {
    const int exponent = biased_exponent(bits[i]);
    largest = exponent > largest ? exponent : largest;
  }
  if (largest == 255) return 0;
  for (int i = 0; i < points; i++) {
    const int shift = largest - biased_exponent(bits[i]) + (points == 64 ? 2 : 1);
    const uint32_t hidden = (bits[i] & 0x7F800000u) != 0 ? 0x800000 : 0;
    const int32_t v = shift > 31 ? 0 : (int32_t)(((bits[i] & 0x7FFFFF) | hidden) >> shift);
    out[i] = (bits[i] >> 31 ^ (uint32_t)(mask >> i & 1)) & 1 ? -v : v;
  }
  for (int half = 1; half < points; half *= 2) {
    for (int i = 0; i < points; i++) {
      if ((i & half) != 0) continue;
      const int32_t sum = out[i] + out[i | half];
      out[i | half] = out[i] - out[i | half];
      out[i] = sum;
    }
  }
  return largest;
}

void ufp4_rht_undo(float block[16], uint16_t mask) {
  ufp4_rht_undo_points(block, BLOCK, mask);
}

// The matrix is its own transpose, and its square is the identity times the number of points.
void ufp4_rht_undo_points(float *block, int points, uint64_t mask) {
  double sums[64];
  for (int j = 0; j < points; j++) {
    sums[j] = 0;
    for (int i = 0; i < points; i++)
      sums[j] += __builtin_parity((unsigned)(i & j)) ? -(double)block[i] : (double)block[i];
  }
  for (int j = 0; j < points; j++) {
    // The payload and the sign of a NaN depend on the processor.
    const float value = (float)((mask >> j & 1 ? -sums[j] : sums[j]) / (points > 16 ? 8 : 4));
    block[j] = value != value ? ufp4_f32_value(UFP4_F32_NAN) : value;
  }
}
