// SPDX-License-Identifier: Apache-2.0
// The quantizer's tile: TILE blocks to scales and codes, one block per lane. It is called with
// constant kinds.
//
// Quotients are floats, x times the rounded reciprocal of the scale. What is rounded is s = 192 +
// |quotient| with the sign of x, plus the threshold's complement (255 - r + 1/2) / 256 for
// stochastic rounding: floats in [128, 256) are multiples of 2^-16, so the significand of s holds
// the code in its bits 16 to 18 and the fraction below. The quotient is off by less than 2^-18
// before that one rounding. A float that is rounded cannot cross a multiple of 2^-16, so the code
// can be wrong only where the fraction of s says that s lies on the boundary itself.
//
// In data of few bits a quotient there is often a tie, and then it was rounded as one. The tile
// gets a second look; if it has such a quotient that is no tie, it is left to the portable code.
// Nearest, without a transform: a BF16 number whose quotient is not a tie is further than 2^-12
// from one: the numerator of the difference is a multiple of 2^-5, the denominator at most 30 times
// 4. So s is a tie where the quotient is one: a tile of BF16 numbers needs no second look.
//
// E2M1: between neighbours a cell is 1, 2 or 4 quanta wide. min(q, q / 2 + 2, q / 4 + 4) has cells
// of width 1. After a transform by floats the pattern of max(q, q / 2 + 1) serves: from 1 to 2,
// which is q from 0 to 2, and in every binade above that, it passes two codes. Its code is in bits
// 22 to 24, 16 to 18 after a shift that truncates what is below.
//
// The transform is made of floats first. With A the largest magnitude it gives, in integers:
// - the integers are truncated by less than 1 each, 15 of them, and A >= 2^23: A is no less than
//   the root of the sum of their squares. That is 15 * 2^-23 A;
// - the partial sums of a stage that one result is made of are at most sum |x| <= 4 A together, so
//   three stages round by 4 * 2^-24 A and the last one by 2^-24 A;
// - a quantum is A / 7.44 at least (E2M1: A / 12.75, where its cells are 1 wide).
// So s is off by less than 1.3 multiples of 2^-16 (E2M1: 2.4) before its own rounding, to nearest
// (E2M1: down). What is within WINDOW of a boundary, a sign that may be wrong, and a ratio within
// 2^-17 of where the scale changes make a tile be made again: carefully, from the integers.
#ifndef UFP4_QUANTIZE_VECTOR_TILE_H
#define UFP4_QUANTIZE_VECTOR_TILE_H

#include "quantize/vector_mixed.h"
#include "quantize/vector_random.h"

#define WINDOW_BELOW(e2m1) ((e2m1) ? 3 : 1)
#define WINDOW_ABOVE(e2m1) ((e2m1) ? 2 : 1)

// --- Codes --------------------------------------------------------------------------------------

// In the lanes of @p uniform all cells are as wide as those from 0 on.
INLINE floats_t cell_of(kind_t kind, floats_t magnitude, floats_t reciprocal, words_t uniform) {
  floats_t from_2 = V(set1_ps)(2.0f), from_4 = V(set1_ps)(4.0f);
  if (kind.mixed) {
    const words_t far = BITS(and)(uniform, as_words(V(set1_ps)(0x1p20f)));
    from_2 = as_floats(V(max_epi32)(as_words(from_2), far));
    from_4 = as_floats(V(max_epi32)(as_words(from_4), far));
  }
  floats_t q = V(mul_ps)(magnitude, reciprocal);
  floats_t half = V(fmadd_ps)(q, V(set1_ps)(0.5f), from_2);
  floats_t quarter = V(fmadd_ps)(q, V(set1_ps)(0.25f), from_4);
  return V(min_ps)(q, V(min_ps)(half, quarter));
}

INLINE words_t with_sign(words_t magnitude, floats_t signs) {
  return chosen(V(set1_epi32)(INT32_MIN), as_words(signs), magnitude);
}

// Returns whether s is the shifted pattern of a float.
INLINE int by_pattern(kind_t kind) {
  return kind.e2m1 && by_floats(kind);
}

// Returns the pattern that is rounded to a code, with the sign of the quotient.
INLINE words_t pattern_of(floats_t q) {
  const words_t one = with_sign(as_words(V(set1_ps)(1.0f)), q);
  const words_t pattern =
      V(max_epu32)(as_words(q), as_words(V(fmadd_ps)(q, V(set1_ps)(0.5f), as_floats(one))));
  return V(srai_epi32)(pattern, 6);
}

// The rounding of s to a code. If s comes from floats, a possible tie is a doubt. Otherwise exact
// ties are rounded correctly: to even for nearest, and down for stochastic rounding, because all
// thresholds are one multiple of 2^-16 higher.
INLINE int to_even(kind_t kind) {
  return !kind.stochastic && !by_floats(kind);
}

INLINE int ties_down(kind_t kind) {
  return kind.stochastic && !by_floats(kind);
}

// The addend of a quotient is 192, plus, for truncation, a threshold's complement and the window.
// The addend of a pattern maps the pattern of 1 to code 0.
INLINE words_t addend_of(kind_t kind, words_t words, int byte) {
  const int base = by_pattern(kind) ? 0x20000 : 0x43400000,
            window = by_floats(kind) ? WINDOW_BELOW(kind.e2m1) : 0;
  const int half = to_even(kind) ? 0 : kind.stochastic ? 0x80 - ties_down(kind) : 0x8000;
  const words_t addend = V(set1_epi32)(base + half + window);
  if (!kind.stochastic) return addend;
  const words_t select = V(add_epi32)(quad(0x0C00, 0x0800, 0x0400, 0), V(set1_epi32)(byte << 8));
  return shuffled_into(addend, 2, words, select);
}

// The lower half of s that a tie has, shifted up.
INLINE words_t tie_of(kind_t kind) {
  return all_words(ties_down(kind) ? 0xFFFF0000u : 0x80000000u);
}

// Computes s of an element. @p doubt collects the extreme of the lower halves, which shows a
// possible tie: the smallest, in signed order if ties go to even, or the largest if ties go down.
INLINE words_t element_code(kind_t kind, const numbers_t *numbers, int i, words_t *doubt) {
  const floats_t x = numbers->x[i], reciprocal = numbers->reciprocal;
  const words_t words = numbers->words[i / 4];
  const int byte = i % 4;
  words_t addend = addend_of(kind, words, byte);
  words_t s;
  if (by_pattern(kind)) {
    s = V(add_epi32)(pattern_of(V(mul_ps)(x, reciprocal)), addend);
  } else if (kind.e2m1) {
    s = as_words(
        V(add_ps)(cell_of(kind, magnitude_of(x), reciprocal, numbers->uniform), as_floats(addend)));
    s = with_sign(s, x);
  } else {
    s = as_words(V(fmadd_ps)(x, reciprocal, as_floats(with_sign(addend, x))));
  }
  if (ties_down(kind)) {
    *doubt = V(max_epu16)(*doubt, s);
    return s;
  }
  *doubt = to_even(kind) ? V(min_epi16)(*doubt, s) : V(min_epu16)(*doubt, s);
  if (!to_even(kind)) return s;
  return as_words(nearest_integer(as_floats(s)));
}

// Converts each 4 bits from sign and magnitude to two's complement.
INLINE words_t complement(words_t codes) {
  const words_t nibbles = V(set1_epi8)(15);
  const words_t table = quad(0x090A0B0C, 0x0D0E0F00, 0x07060504, 0x03020100);
  words_t low = V(shuffle_epi8)(table, BITS(and)(codes, nibbles));
  words_t high = V(shuffle_epi8)(table, BITS(and)(V(srli_epi32)(codes, 4), nibbles));
  return BITS(or)(low, V(slli_epi32)(high, 4));
}

// Gathers from four s the bytes with the codes, in the order 0, 2, 1, 3, and those with the signs.
INLINE void gather(kind_t kind, const words_t s[4], words_t *codes, words_t *signs) {
  const words_t halves = quad(0x0D0C0F0E, 0x09080B0A, 0x05040706, 0x01000302);
  const words_t bytes = quad(0x0E0F0C0D, 0x0A0B0809, 0x06070405, 0x02030001);
  words_t low = shuffled_into(s[1], 3, s[0], halves);
  words_t high = shuffled_into(s[3], 3, s[2], halves);
  *codes = shuffled_into(low, 0xA, high, bytes);
  *signs = shuffled_into(high, 5, low, bytes);
  // Only stochastic rounding can exceed 7.
  if (kind.stochastic) *codes = V(min_epu8)(*codes, V(set1_epi8)(by_pattern(kind) ? 7 : 0x47));
}

// Packs eight elements: each byte has a code of the first four in its lower half and of the others
// in its upper half.
INLINE words_t pack(kind_t kind, const job_t *job, const words_t s[8], mask_t some) {
  // Elements 0, 4, 2, 6 and 1, 5, 3, 7.
  const words_t even[4] = {s[0], s[4], s[2], s[6]}, odd[4] = {s[1], s[5], s[3], s[7]};
  const words_t lower = all_words(0x0F0F0F0F);
  words_t codes[2], signs[2];
  gather(kind, even, &codes[0], &signs[0]);
  gather(kind, odd, &codes[1], &signs[1]);
  words_t all = chosen(lower, codes[0], V(slli_epi32)(codes[1], 4));
  words_t sign = chosen(lower, V(srli_epi32)(signs[0], 4), signs[1]);
  all = chosen(all_words(0x88888888), sign, all);
  if (by_floats(kind)) all = BITS(xor)(all, all_words(job->turned));
  return where(some, all);
}

// Computes the codes of a tile. @return the lanes whose codes are uncertain.
INLINE mask_t encode(kind_t kind, const job_t *job, const numbers_t *numbers, words_t out[2]) {
  words_t doubt = V(set1_epi32)(by_floats(kind) ? -1 : 0);
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    words_t s[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      s[i] = element_code(kind, numbers, 8 * h + i, &doubt);
    }
    out[h] = pack(kind, job, s, numbers->some);
  }
  words_t most = V(slli_epi32)(doubt, 16);
  if (!by_floats(kind)) return numbers->some & equal(most, tie_of(kind));
  return numbers->some &
         not_above_unsigned(
             most, V(set1_epi32)((WINDOW_BELOW(kind.e2m1) + WINDOW_ABOVE(kind.e2m1)) << 16));
}

// --- Second looks -------------------------------------------------------------------------------

// Returns the lanes in which an element seems to be a tie but is not exactly one. A tie times the
// scale is exact.
INLINE mask_t not_ties(kind_t kind, const numbers_t *numbers) {
  words_t scale_bits = BITS(and)(numbers->rounded, all_words(0xFFF00000u)),
          quarter = BITS(setzero)();
  if (kind.e2m1) quarter = V(set1_epi32)(2 << 23);
  if (kind.mixed) quarter = BITS(andnot)(numbers->uniform, quarter);
  scale_bits = V(sub_epi32)(scale_bits, quarter);
  const floats_t scale = as_floats(scale_bits);
  mask_t wrong = none();
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    const floats_t x = numbers->x[i], magnitude = magnitude_of(x);
    const floats_t start = as_floats(addend_of(kind, numbers->words[i / 4], i % 4));
    floats_t s =
        kind.e2m1
            ? V(add_ps)(cell_of(kind, magnitude, numbers->reciprocal, numbers->uniform), start)
            : V(fmadd_ps)(magnitude, numbers->reciprocal, start);
    mask_t seems = equal(V(slli_epi32)(as_words(s), 16), tie_of(kind));
    floats_t q = V(sub_ps)(s, start);
    if (kind.e2m1) {
      floats_t twice = V(fmsub_ps)(q, V(set1_ps)(2.0f), V(set1_ps)(4.0f));
      floats_t four_times = V(fmsub_ps)(q, V(set1_ps)(4.0f), V(set1_ps)(16.0f));
      twice = V(max_ps)(twice, four_times);
      if (kind.mixed) twice = as_floats(BITS(andnot)(numbers->uniform, as_words(twice)));
      q = V(max_ps)(q, twice);
    }
    wrong |= seems & floats_differ(V(mul_ps)(q, scale), magnitude);
    if (kind.rht) wrong |= seems & unequal(V(cvttps_epi32)(x), numbers->v[i]);
  }
  return wrong;
}

// Returns whether all numbers of a tile are representable in BF16.
INLINE int coarse(const job_t *job, const spot_t *place) {
  copy_t copy;
  words_t v[BLOCK];
  if (job->source->in->dtype == UFP4_DTYPE_BF16) return 1;
  const vectors_t words = vectors_of(job->source, place, &copy);
  load_words(&words, v);
  for (int i = 1; i < BLOCK; i++) v[0] = BITS(or)(v[0], v[i]);
  return !any(has(v[0], V(set1_epi32)(0xFFFF)));
}

// --- Tile ---------------------------------------------------------------------------------------

// Returns whether the tile has blocks with subnormals, overflow, Inf or NaN, from the biased
// exponents and the patterns of the largest magnitudes.
INLINE int extreme(words_t amax, int lowest) {
  const words_t low = V(set1_epi32)(lowest << 23);
  const words_t range = V(set1_epi32)((EXPONENT_HIGH - lowest) << 23);
  return any(above_unsigned(V(sub_epi32)(amax, low), range) & has(amax, amax));
}

INLINE words_t largest_pattern(const words_t v[16]) {
  words_t largest = BITS(setzero)();
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    largest = V(max_epi32)(largest, BITS(and)(v[i], V(set1_epi32)(INT32_MAX)));
  }
  return largest;
}

INLINE void take_plain(kind_t kind, words_t v[16], numbers_t *out) {
  words_t amax = largest_pattern(v);
  out->later = extreme(amax, EXPONENT_LOW);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) out->x[i] = as_floats(v[i]);
  out->unit = BITS(setzero)();
  out->ratio = ratio_of(as_floats(amax), kind.e2m1 && !kind.mixed ? 3 : 7, none());
  if (kind.mixed) out->third = ratio_of(as_floats(amax), 3, none());
}

INLINE void take_integers(kind_t kind, const job_t *job, words_t v[16], numbers_t *out) {
  words_t largest = largest_pattern(v);
  out->later = extreme(largest, EXPONENT_LOW);
  largest = BITS(and)(largest, V(set1_epi32)(0x7F800000));
  largest = V(max_epi32)(largest, V(set1_epi32)(EXPONENT_LOW << 23));
  out->unit = V(sub_epi32)(largest, all_words((uint32_t)EXPONENT_UNIT << 23));
  transform(v, largest, (uint16_t)job->how->rht_mask);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    if (kind.codes) out->v[i] = v[i];
  }
  mask_t sticky;
  floats_t amax = amax_of_integers(v, &sticky);
  out->ratio = ratio_of(amax, kind.e2m1 && !kind.mixed ? 3 : 7, sticky);
  if (kind.mixed) out->third = ratio_of(amax, 3, sticky);
}

// Returns the lanes where a sign may be wrong.
INLINE mask_t near_zero(kind_t kind, floats_t least, floats_t reciprocal, mask_t some) {
  return some &
         floats_less(V(mul_ps)(least, reciprocal), V(set1_ps)(kind.e2m1 ? 0x1p-14f : 0x1p-15f));
}

INLINE void take_floats(kind_t kind, const job_t *job, const words_t v[16], numbers_t *out) {
  floats_t x[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) x[i] = as_floats(v[i]);
  transform_floats(job, x);
  // The largest magnitude is taken from the patterns, because a float maximum would ignore the NaNs
  // that infinities of both signs give.
  words_t patterns[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) patterns[i] = as_words(x[i]);
  floats_t amax = as_floats(largest_pattern(patterns));
  // The largest number is smaller than the largest result by a factor of at most 16.
  out->later = extreme(as_words(amax), EXPONENT_LOW + 4);
  out->unit = BITS(setzero)();
  out->ratio = as_words(V(mul_ps)(amax, V(set1_ps)(kind.e2m1 ? 0.25f / 3.0f : 0.25f / 7.0f)));
  // Scales change at some or all multiples of 2^19 in the pattern.
  words_t window = V(add_epi32)(out->ratio, V(set1_epi32)(64));
  mask_t some = has(out->ratio, out->ratio);
  out->doubt = some & lacks(window, V(set1_epi32)(0x7FF80));
  if (!kind.codes) return;
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) out->x[i] = x[i];
  floats_t least = least_of(x),
           reciprocal = reciprocal_of(kind, round_ratio(kind, job, out->ratio));
  if (!job->int4) out->doubt |= near_zero(kind, least, reciprocal, some);
}

// Measures everything that is needed before codes can be made.
INLINE void measure_tile(kind_t kind, const job_t *job, const spot_t *place, numbers_t *out) {
  words_t v[16];
  load_tile(job->source, place, v);
  out->doubt = none();
  if (!kind.rht) {
    take_plain(kind, v, out);
  } else if (kind.careful) {
    take_integers(kind, job, v, out);
  } else {
    take_floats(kind, job, v, out);
  }
  out->again = any(out->doubt);
  if (!kind.codes) return;
  out->some = has(out->ratio, out->ratio);
  if (kind.mixed) {
    choose_grids(kind, job, out);
  } else {
    out->rounded = round_ratio(kind, job, out->ratio);
    out->reciprocal = reciprocal_of(kind, out->rounded);
  }
  if (kind.rht && kind.careful) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) out->x[i] = V(cvtepi32_ps)(out->v[i]);
  }
  if (!kind.stochastic) return;
  random_words(&job->random,
               V(add_epi32)(all_words((uint32_t)place->first), load_aligned(job->offset)),
               out->words);
}

INLINE void quantize_tile(kind_t kind, const job_t *job, const spot_t *place, result_t *out) {
  numbers_t numbers;
  measure_tile(kind, job, place, &numbers);
  out->later = numbers.later;
  out->again = numbers.again;
  out->beyond = 0;
  out->ratio = V(add_epi32)(numbers.ratio, numbers.unit);
  if (!kind.codes) return;
  words_t bits = V(srli_epi32)(V(add_epi32)(numbers.rounded, numbers.unit), 20);
  if (kind.mixed) bits = mixed_places(bits, numbers.uniform);
  out->places = places_of(numbers.some, bits);
  mask_t doubt = encode(kind, job, &numbers, out->codes);
  if (!kind.stochastic && !kind.rht && any(doubt) && coarse(job, place)) doubt = none();
  if (kind.careful && any(doubt)) doubt &= not_ties(kind, &numbers);
  mask_t over = above(out->ratio, all_words((uint32_t)job->limit));
  if (!kind.careful) {
    out->again |= any(doubt);
  } else {
    over |= doubt;
  }
  out->beyond = any(over);
  if (!job->int4) return;
  for (int h = 0; h < 2; h++) out->codes[h] = complement(out->codes[h]);
}

#endif
