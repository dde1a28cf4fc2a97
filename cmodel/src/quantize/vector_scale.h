// SPDX-License-Identifier: Apache-2.0
// The variants of the vector quantizer's tile (vector_tile.h), its transform and its scales.
#ifndef UFP4_QUANTIZE_VECTOR_SCALE_H
#define UFP4_QUANTIZE_VECTOR_SCALE_H

#include "quantize/vector_load.h"
#include "quantize/vector_random.h"

// The range of biased exponents of a block's largest magnitude in which no step meets subnormal
// numbers or overflows.
#define EXPONENT_LOW 40
#define EXPONENT_HIGH 230
#define EXPONENT_UNIT 152  // if the largest exponent is this, the transform's unit is 1

#define PLACE_ZERO 0           // the place of a block of zeros
#define PLACE_LATER INT16_MAX  // of all blocks of a tile that is left to the portable code
#define PLACE_UNIFORM 0x1000   // set in the place of a block of mixed that uses the uniform grid

typedef struct {
  int rht, stochastic, e2m1, codes, careful;
  int mixed;  // elements mixed: e2m1 and careful are set, too
} kind_t;

// Returns whether the transform is computed in floats.
INLINE int by_floats(kind_t kind) {
  return kind.rht && !kind.careful;
}

typedef struct {
  const ufp4_quantize_t *how;
  const source_t *source;
  threefry_t random;
  uint32_t offset[TILE] __attribute__((aligned(64)));  // offsets of a tile's groups from its first
  uint32_t addend, even;                               // for rounding scales
  int32_t limit;         // pattern of the largest ratio that does not saturate
  float turn[4][BLOCK];  // by stage of the transform: signs of the second operands
  uint32_t turned;       // 0x88888888 if the first element is negated
  int int4;
} job_t;

// The result of a tile. Ratios are FP32 patterns of amax / odd, truncated, with a sticky lowest
// bit.
typedef struct {
  words_t codes[2];  // elements 0 .. 7 and 8 .. 15 of each block
  places_t places;   // places of scales: 8 * biased exponent + 3 bits of significand
  words_t ratio;     // at most zero for a block of zeros
  int later;         // the whole tile is left to the portable code
  int again;         // or to the careful variant
  int beyond;        // or to the portable code, except its ratio
} result_t;

// A measured tile: the floats that become codes.
typedef struct {
  floats_t x[16], reciprocal;
  words_t v[16];        // the integers of which x is made, if ties are checked again
  words_t words[4];     // random words, complemented
  words_t ratio, unit;  // ratio + unit is the ratio of the numbers in memory
  words_t rounded;      // ratio, rounded to a scale
  words_t third;        // mixed: the ratio of E2M1; ratio is that of the uniform grid
  words_t uniform;      // mixed: all ones where the uniform grid is chosen; rounded belongs to the
                        // chosen grid
  mask_t some;          // blocks that are not zero
  mask_t doubt;         // blocks whose codes may be wrong
  int later, again;     // as in result_t
} numbers_t;

// --- Transform ----------------------------------------------------------------------------------

// Converts x to integers aligned to the block's largest exponent field, for the transform. The
// multiplication is exact, or its result is under 1; the conversion truncates.
INLINE void transform(words_t v[16], words_t largest, uint16_t mask) {
  words_t factor[2];
  factor[0] = V(sub_epi32)(V(set1_epi32)((int)(277u << 23)), largest);
  factor[1] = BITS(xor)(factor[0], V(set1_epi32)(INT32_MIN));
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    floats_t scale = as_floats(factor[mask >> i & 1]);
    v[i] = V(cvttps_epi32)(V(mul_ps)(as_floats(v[i]), scale));
  }
#pragma GCC unroll 4
  for (int half = 1; half < 16; half *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
      if ((i & half) != 0) continue;
      words_t sum = V(add_epi32)(v[i], v[i | half]);
      v[i | half] = V(sub_epi32)(v[i], v[i | half]);
      v[i] = sum;
    }
  }
}

// Signs of results are deferred: the sign of a stage's first operand moves to its result, and that
// of the last stage to job->turned.
INLINE void transform_floats(const job_t *job, floats_t x[16]) {
#pragma GCC unroll 4
  for (int stage = 0; stage < 4; stage++) {
    const int half = 1 << stage;
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
      if ((i & half) != 0) continue;
      const floats_t turn = V(set1_ps)(job->turn[stage][i & -half]);
      floats_t sum = V(fmadd_ps)(x[i | half], turn, x[i]);
      x[i | half] = V(fnmadd_ps)(x[i | half], turn, x[i]);
      x[i] = sum;
    }
  }
}

static inline void turns_of(uint16_t mask, job_t *job) {
  for (int stage = 0; stage < 4; stage++) {
    for (int i = 0; i < BLOCK; i++)
      job->turn[stage][i] = ((mask >> i ^ mask >> (i ^ 1 << stage)) & 1) ? -1.0f : 1.0f;
  }
  job->turned = mask & 1 ? 0x88888888u : 0;
}

// --- Scales -------------------------------------------------------------------------------------

INLINE floats_t magnitude_of(floats_t x) {
  return as_floats(BITS(and)(as_words(x), V(set1_epi32)(INT32_MAX)));
}

// Returns the smallest magnitude; NaN if all are NaN.
INLINE floats_t least_of(const floats_t x[16]) {
  floats_t some[4];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) some[i % 4] = i < 4 ? x[i] : least_magnitude(some[i % 4], x[i]);
  return least_magnitude(least_magnitude(some[0], some[1]), least_magnitude(some[2], some[3]));
}

// Truncates; @p sticky: the lanes that this changed.
INLINE floats_t amax_of_integers(const words_t v[16], mask_t *sticky) {
  words_t amax = V(abs_epi32)(v[0]);
  for (int i = 1; i < 16; i++) amax = V(max_epi32)(amax, V(abs_epi32)(v[i]));
  floats_t kept = float_below(amax);
  *sticky = unequal(V(cvttps_epi32)(kept), amax);
  return kept;
}

// The remainder is exact.
INLINE words_t ratio_of(floats_t amax, int odd, mask_t sticky) {
  const floats_t divisor = V(set1_ps)((float)odd);
  floats_t ratio = quotient_below(amax, divisor);
  floats_t rest = V(fnmadd_ps)(ratio, divisor, amax);
  sticky |= floats_differ(rest, V(setzero_ps)());
  return BITS(or)(as_words(ratio), where(sticky, V(set1_epi32)(1)));
}

// Rounds to 4 significant bits, in the upper 12 bits of each word: nearest even or up.
INLINE words_t round_ratio(kind_t kind, const job_t *job, words_t ratio) {
  if (by_floats(kind))
    return V(add_epi32)(ratio, all_words(job->addend + 1));  // not between two scales
  words_t odd = BITS(and)(V(srli_epi32)(ratio, 20), all_words(job->even));
  return V(add_epi32)(V(add_epi32)(ratio, all_words(job->addend)), odd);
}

// Returns the pattern of 1 / the significand, plus an addend from which subtracting a scale's
// pattern gives the right exponent.
INLINE floats_t reciprocal_of(kind_t kind, words_t rounded) {
#define ENTRY(m, bits) (bits) + (127u << 23) + ((m) << 20)
#define ENTRIES                                                                                   \
  ENTRY(0u, 0x3F800000u), ENTRY(1u, 0x3F638E39u), ENTRY(2u, 0x3F4CCCCDu), ENTRY(3u, 0x3F3A2E8Cu), \
      ENTRY(4u, 0x3F2AAAABu), ENTRY(5u, 0x3F1D89D9u), ENTRY(6u, 0x3F124925u),                     \
      ENTRY(7u, 0x3F088889u)
  static const uint32_t table[8] __attribute__((aligned(32))) = {ENTRIES};
  // The quanta of E2M1 are quarters here; a transform in floats lacks its division by 4.
  const int shift = (kind.e2m1 ? 2 : 0) - (by_floats(kind) ? 2 : 0);
  const words_t entry =
      V(add_epi32)(looked_up(table, V(srli_epi32)(rounded, 20)), V(set1_epi32)(shift * (1 << 23)));
  return as_floats(V(sub_epi32)(entry, BITS(and)(rounded, all_words(0xFFF00000u))));
}

#endif
