// SPDX-License-Identifier: Apache-2.0
// The AVX-512 quantizer's tile: 16 blocks to scales and codes. It is included by one file, which calls it with constant
// kinds.
//
// Quotients are floats, x times the rounded reciprocal of the scale. What is rounded is s = 192 + |quotient| with the
// sign of x, plus the threshold's complement (255 - r + 1/2) / 256 for stochastic rounding: floats in [128, 256) are
// multiples of 2^-16, so the significand of s holds the code in its bits 16 to 18 and the fraction below. The quotient
// is off by less than 2^-18 before that one rounding. A float that is rounded cannot cross a multiple of 2^-16, so the
// code can be wrong only where the fraction of s says that s lies on the boundary itself.
//
// What lies there is a tie often enough, in data of few bits, and then it was rounded as one. A tile gets a second
// look; if it has what is no tie, it is left to the portable code. Nearest, without a transform: a BF16 number whose
// quotient is not a tie is further than 2^-12 from one: the numerator of the difference is a multiple of 2^-5, the
// denominator at most 30 times 4. So s is a tie where the quotient is one: a tile of BF16 numbers needs no second look.
//
// E2M1: between neighbours a cell is 1, 2 or 4 quanta wide. min(q, q / 2 + 2, q / 4 + 4) has cells of width 1.
//
// The transform is made of floats first. With A the largest magnitude it gives, in integers:
// - the integers are truncated by less than 1 each, 15 of them, and A >= 2^23: A is no less than the root of the sum of
//   their squares. That is 15 * 2^-23 A;
// - the partial sums of a stage that one result is made of are at most sum |x| <= 4 A together, so three stages round
//   by 4 * 2^-24 A and the last one by 2^-24 A;
// - a quantum is A / 7.44 at least (E2M1: A / 12.75, where its cells are 1 wide).
// So s is off by less than 1.3 multiples of 2^-16 (E2M1: 2.3) before its own rounding: what is within WINDOW of a
// boundary, a sign that may be wrong, and a ratio within 2^-17 of where the scale changes make a tile be made again:
// carefully, from the integers.
#ifndef UFP4_QUANTIZE_AVX512_TILE_H
#define UFP4_QUANTIZE_AVX512_TILE_H

#include "quantize_avx512_load.h"

// Biased exponents of a block's largest magnitude between which no step meets subnormal numbers or overflows.
#define EXPONENT_LOW 40
#define EXPONENT_HIGH 230
#define EXPONENT_UNIT 152  // of what a transform makes of numbers with that exponent the unit is 1

#define WINDOW(e2m1) ((e2m1) ? 2 : 1)

#define PLACE_ZERO 0           // a block of zeros
#define PLACE_LATER INT16_MAX  // of all blocks of a tile: left to the portable code

typedef struct {
  int rht, stochastic, e2m1, codes, careful;
} kind_t;

// Whether the transform is made of floats.
INLINE int by_floats(kind_t kind) {
  return kind.rht && !kind.careful;
}

typedef struct {
  const ufp4_quantize_t *how;
  const source_t *source;
  random512_t random;
  uint32_t offset[TILE] __attribute__((aligned(64)));  // of the groups of a tile from its first
  uint32_t addend, even;                               // for rounding scales
  int32_t limit;                                       // the pattern of the largest ratio that does not saturate
  float turn[4][TILE];                                 // of each stage of the transform: signs of the second operands
  uint32_t turned;                                     // 0x88888888 where the first element is negated
  int int4;
} job_t;

// Ratios are FP32 patterns of amax / odd, truncated, their lowest bit sticky.
typedef struct {
  __m512i codes[2];  // elements 0 .. 7 and 8 .. 15 of each block
  __m256i places;    // of scales, as 8 * biased exponent + 3 bits of significand
  __m512i ratio;     // zero or less for a block of zeros
  int later;         // all of this is left to the portable code
  int again;         // or to the careful kind
  int beyond;        // or all but the ratio to the portable code
} result_t;

// A tile that was measured: floats that become codes.
typedef struct {
  __m512 x[16], reciprocal;
  __m512i v[16];        // the integers, where that is what x is made of and ties get a second look
  __m512i words[4];     // random, complemented
  __m512i ratio, unit;  // ratio + unit is that of the numbers in memory
  __m512i rounded;      // of ratio: scales
  __mmask16 some;       // blocks that are not zero
  __mmask16 doubt;      // codes of these may be wrong
  int later, again;     // as in result_t
} numbers512_t;

// --- Transform ---------------------------------------------------------------------------------------

// x to integers aligned to the block's largest exponent field, through the transform. The multiplication is exact, or
// ends under 1; the conversion truncates.
INLINE void transform(__m512i v[16], __m512i largest, uint16_t mask) {
  __m512i factor[2];
  factor[0] = _mm512_sub_epi32(_mm512_set1_epi32((int)(277u << 23)), largest);
  factor[1] = _mm512_xor_si512(factor[0], _mm512_set1_epi32(INT32_MIN));
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    __m512 by = _mm512_castsi512_ps(factor[mask >> i & 1]);
    v[i] = _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(v[i]), by));
  }
#pragma GCC unroll 4
  for (int half = 1; half < 16; half *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
      if ((i & half) != 0) continue;
      __m512i sum = _mm512_add_epi32(v[i], v[i | half]);
      v[i | half] = _mm512_sub_epi32(v[i], v[i | half]);
      v[i] = sum;
    }
  }
}

// With signs of results left out: +-1 of the first operand of a stage goes to its result, that of the last stage to
// job->turned.
INLINE void transform_floats(const job_t *job, __m512 x[16]) {
#pragma GCC unroll 4
  for (int stage = 0; stage < 4; stage++) {
    const int half = 1 << stage;
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
      if ((i & half) != 0) continue;
      const __m512 turn = _mm512_set1_ps(job->turn[stage][i & -half]);
      __m512 sum = _mm512_fmadd_ps(x[i | half], turn, x[i]);
      x[i | half] = _mm512_fnmadd_ps(x[i | half], turn, x[i]);
      x[i] = sum;
    }
  }
}

static inline void turns_of(uint16_t mask, job_t *job) {
  for (int stage = 0; stage < 4; stage++) {
    for (int i = 0; i < TILE; i++) job->turn[stage][i] = ((mask >> i ^ mask >> (i ^ 1 << stage)) & 1) ? -1.0f : 1.0f;
  }
  job->turned = mask & 1 ? 0x88888888u : 0;
}

// --- Scales ------------------------------------------------------------------------------------------

INLINE __m512 magnitude_of(__m512 x) {
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MAX)));
}

// The smallest magnitude; NaN where all are.
INLINE __m512 least_of(const __m512 x[16]) {
  __m512 some[4];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) some[i % 4] = i < 4 ? x[i] : _mm512_range_ps(some[i % 4], x[i], 10);
  return _mm512_range_ps(_mm512_range_ps(some[0], some[1], 10), _mm512_range_ps(some[2], some[3], 10), 10);
}

// Truncated; @p sticky: the lanes where that changed it.
INLINE __m512 amax_of_integers(const __m512i v[16], __mmask16 *sticky) {
  __m512i amax = _mm512_abs_epi32(v[0]);
  for (int i = 1; i < 16; i++) amax = _mm512_max_epi32(amax, _mm512_abs_epi32(v[i]));
  __m512 kept = _mm512_cvt_roundepi32_ps(amax, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  *sticky = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(kept), amax);
  return kept;
}

// The remainder is exact.
INLINE __m512i ratio_of(__m512 amax, int odd, __mmask16 sticky) {
  const __m512 divisor = _mm512_set1_ps((float)odd);
  __m512 ratio = _mm512_div_round_ps(amax, divisor, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  __m512 rest = _mm512_fnmadd_ps(ratio, divisor, amax);
  sticky |= _mm512_cmp_ps_mask(rest, _mm512_setzero_ps(), _CMP_NEQ_UQ);
  __m512i bits = _mm512_castps_si512(ratio);
  return _mm512_mask_or_epi32(bits, sticky, bits, _mm512_set1_epi32(1));
}

// To 4 significant bits, in the upper 12 bits of each word: nearest even or up.
INLINE __m512i round_ratio(kind_t kind, const job_t *job, __m512i ratio) {
  if (by_floats(kind)) return _mm512_add_epi32(ratio, all_words(job->addend + 1));  // it is not between two
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(ratio, 20), all_words(job->even));
  return _mm512_add_epi32(_mm512_add_epi32(ratio, all_words(job->addend)), odd);
}

// Of 1 / the significand, with what makes the exponent come out right when a scale's pattern is subtracted.
INLINE __m512 reciprocal_of(kind_t kind, __m512i rounded) {
#define ENTRY(m, bits) (bits) + (127u << 23) + ((m) << 20)
#define ENTRIES                                                                                   \
  ENTRY(0u, 0x3F800000u), ENTRY(1u, 0x3F638E39u), ENTRY(2u, 0x3F4CCCCDu), ENTRY(3u, 0x3F3A2E8Cu), \
      ENTRY(4u, 0x3F2AAAABu), ENTRY(5u, 0x3F1D89D9u), ENTRY(6u, 0x3F124925u), ENTRY(7u, 0x3F088889u)
  static const uint32_t table[16] __attribute__((aligned(64))) = {ENTRIES, ENTRIES};
  __m512i entries = _mm512_load_si512(table);
  // The quanta of E2M1 are quarters; the floats of a transform lack its division by 4.
  const int shift = (kind.e2m1 ? 2 : 0) - (by_floats(kind) ? 2 : 0);
  entries = _mm512_add_epi32(entries, _mm512_set1_epi32(shift * (1 << 23)));
  __m512i entry = _mm512_permutexvar_epi32(_mm512_srli_epi32(rounded, 20), entries);
  return _mm512_castsi512_ps(_mm512_sub_epi32(entry, _mm512_and_si512(rounded, all_words(0xFFF00000u))));
}

// --- Codes -------------------------------------------------------------------------------------------

INLINE __m512 cell_of(__m512 magnitude, __m512 reciprocal) {
  __m512 q = _mm512_mul_ps(magnitude, reciprocal);
  __m512 half = _mm512_fmadd_ps(q, _mm512_set1_ps(0.5f), _mm512_set1_ps(2.0f));
  __m512 quarter = _mm512_fmadd_ps(q, _mm512_set1_ps(0.25f), _mm512_set1_ps(4.0f));
  return _mm512_min_ps(q, _mm512_min_ps(half, quarter));
}

INLINE __m512i with_sign(__m512i magnitude, __m512 of) {
  return _mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(of), magnitude, 0xCA);
}

INLINE int window_of(kind_t kind) {
  return by_floats(kind) ? WINDOW(kind.e2m1) : 0;
}

// How s is rounded to a code. Made of floats, what may be a tie is a doubt. Else exact ties are rounded as they should:
// nearest ones to even, stochastic ones down, as all thresholds are one multiple of 2^-16 higher.
INLINE int to_even(kind_t kind) {
  return !kind.stochastic && !by_floats(kind);
}

INLINE int ties_down(kind_t kind) {
  return kind.stochastic && !by_floats(kind);
}

// What is added to a quotient: 192, and for truncation a threshold's complement, and the window.
INLINE __m512i addend_of(kind_t kind, __m512i words, int byte) {
  const int constant = to_even(kind) ? 0x43400000 : kind.stochastic ? 0x43400080 - ties_down(kind) : 0x43408000;
  const __m512i addend = _mm512_set1_epi32(constant + window_of(kind));
  if (!kind.stochastic) return addend;
  const __m512i select = _mm512_add_epi32(_mm512_set4_epi32(0x0C00, 0x0800, 0x0400, 0), _mm512_set1_epi32(byte << 8));
  return _mm512_mask_shuffle_epi8(addend, 0x2222222222222222, words, select);
}

// The lower half of s, shifted up, that a tie has.
INLINE __m512i tie_of(kind_t kind) {
  return all_words(ties_down(kind) ? 0xFFFF0000u : 0x80000000u);
}

// s of an element. Of what is in doubt the lower half is the smallest there can be, or in the window above that: signed
// where ties are made even. Where they go down it is the largest.
INLINE __m512i element_code(kind_t kind, __m512 x, __m512 reciprocal, __m512i words, int byte, __m512i *doubt) {
  __m512i addend = addend_of(kind, words, byte);
  __m512i s;
  if (kind.e2m1) {
    s = _mm512_castps_si512(_mm512_add_ps(cell_of(magnitude_of(x), reciprocal), _mm512_castsi512_ps(addend)));
    s = with_sign(s, x);
  } else {
    s = _mm512_castps_si512(_mm512_fmadd_ps(x, reciprocal, _mm512_castsi512_ps(with_sign(addend, x))));
  }
  if (ties_down(kind)) {
    *doubt = _mm512_max_epu16(*doubt, s);
    return s;
  }
  *doubt = to_even(kind) ? _mm512_min_epi16(*doubt, s) : _mm512_min_epu16(*doubt, s);
  if (!to_even(kind)) return s;
  return _mm512_castps_si512(_mm512_roundscale_ps(_mm512_castsi512_ps(s), _MM_FROUND_TO_NEAREST_INT));
}

// Sign and magnitude to two's complement, of each 4 bits.
INLINE __m512i complement(__m512i codes) {
  const __m512i nibbles = _mm512_set1_epi8(15);
  const __m512i table = _mm512_set4_epi32(0x090A0B0C, 0x0D0E0F00, 0x07060504, 0x03020100);
  __m512i low = _mm512_shuffle_epi8(table, _mm512_and_si512(codes, nibbles));
  __m512i high = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi32(codes, 4), nibbles));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 4));
}

// Of four s the bytes that hold the codes, in the order 0, 2, 1, 3, and those that hold the signs.
INLINE void gather(kind_t kind, const __m512i s[4], __m512i *codes, __m512i *signs) {
  const __m512i halves = _mm512_set4_epi32(0x0D0C0F0E, 0x09080B0A, 0x05040706, 0x01000302);
  const __m512i bytes = _mm512_set4_epi32(0x0E0F0C0D, 0x0A0B0809, 0x06070405, 0x02030001);
  __m512i low = _mm512_mask_shuffle_epi8(s[1], 0x3333333333333333, s[0], halves);
  __m512i high = _mm512_mask_shuffle_epi8(s[3], 0x3333333333333333, s[2], halves);
  *codes = _mm512_mask_shuffle_epi8(low, 0xAAAAAAAAAAAAAAAA, high, bytes);
  *signs = _mm512_mask_shuffle_epi8(high, 0x5555555555555555, low, bytes);
  // Only stochastic rounding goes over 7.
  if (kind.stochastic) *codes = _mm512_min_epu8(*codes, _mm512_set1_epi8(0x47));
}

// Eight elements. In each byte: codes of the first four in the lower half, of the others in the upper.
INLINE __m512i pack(kind_t kind, const job_t *job, const __m512i s[8], __mmask16 some) {
  // Elements 0, 4, 2, 6 and 1, 5, 3, 7.
  const __m512i even[4] = {s[0], s[4], s[2], s[6]}, odd[4] = {s[1], s[5], s[3], s[7]};
  const __m512i lower = all_words(0x0F0F0F0F);
  __m512i codes[2], signs[2];
  gather(kind, even, &codes[0], &signs[0]);
  gather(kind, odd, &codes[1], &signs[1]);
  __m512i all = _mm512_ternarylogic_epi32(lower, codes[0], _mm512_slli_epi32(codes[1], 4), 0xCA);
  __m512i sign = _mm512_ternarylogic_epi32(lower, _mm512_srli_epi32(signs[0], 4), signs[1], 0xCA);
  if (!by_floats(kind)) return _mm512_maskz_ternarylogic_epi32(some, all_words(0x88888888), sign, all, 0xCA);
  all = _mm512_ternarylogic_epi32(all_words(0x88888888), sign, all, 0xCA);
  return _mm512_maskz_xor_epi32(some, all, all_words(job->turned));
}

// @return the lanes whose codes are not certain.
INLINE __mmask16 encode(kind_t kind, const job_t *job, const numbers512_t *numbers, __m512i out[2]) {
  __m512i doubt = _mm512_set1_epi32(by_floats(kind) ? -1 : 0);
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    __m512i s[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      s[i] =
          element_code(kind, numbers->x[8 * h + i], numbers->reciprocal, numbers->words[2 * h + i / 4], i % 4, &doubt);
    }
    out[h] = pack(kind, job, s, numbers->some);
  }
  __m512i most = _mm512_slli_epi32(doubt, 16);
  if (!by_floats(kind)) return _mm512_mask_cmpeq_epi32_mask(numbers->some, most, tie_of(kind));
  return _mm512_mask_cmple_epu32_mask(numbers->some, most, _mm512_set1_epi32(2 * window_of(kind) << 16));
}

// --- Second looks ------------------------------------------------------------------------------------

// The lanes where an element seems to be a tie and is not one exactly. A tie times the scale is exact.
INLINE __mmask16 not_ties(kind_t kind, const numbers512_t *numbers) {
  __m512i scale_bits = _mm512_and_si512(numbers->rounded, all_words(0xFFF00000u));
  if (kind.e2m1) scale_bits = _mm512_sub_epi32(scale_bits, _mm512_set1_epi32(2 << 23));
  const __m512 scale = _mm512_castsi512_ps(scale_bits);
  __mmask16 wrong = 0;
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    const __m512 x = numbers->x[i], magnitude = magnitude_of(x);
    const __m512 start = _mm512_castsi512_ps(addend_of(kind, numbers->words[i / 4], i % 4));
    __m512 s = kind.e2m1 ? _mm512_add_ps(cell_of(magnitude, numbers->reciprocal), start)
                         : _mm512_fmadd_ps(magnitude, numbers->reciprocal, start);
    __mmask16 seems = _mm512_cmpeq_epi32_mask(_mm512_slli_epi32(_mm512_castps_si512(s), 16), tie_of(kind));
    __m512 q = _mm512_sub_ps(s, start);
    if (kind.e2m1) {
      __m512 twice = _mm512_fmsub_ps(q, _mm512_set1_ps(2.0f), _mm512_set1_ps(4.0f));
      __m512 four_times = _mm512_fmsub_ps(q, _mm512_set1_ps(4.0f), _mm512_set1_ps(16.0f));
      q = _mm512_max_ps(q, _mm512_max_ps(twice, four_times));
    }
    wrong |= _mm512_mask_cmp_ps_mask(seems, _mm512_mul_ps(q, scale), magnitude, _CMP_NEQ_UQ);
    if (kind.rht) wrong |= _mm512_mask_cmpneq_epi32_mask(seems, _mm512_cvttps_epi32(x), numbers->v[i]);
  }
  return wrong;
}

// Whether all numbers of a tile are BF16 numbers.
INLINE int coarse(const job_t *job, const place512_t *place) {
  copy512_t copy;
  __m512i v[TILE];
  if (job->source->in->dtype == UFP4_DTYPE_BF16) return 1;
  const words512_t words = words_of(job->source, place, &copy);
  load_words(&words, v);
  for (int i = 1; i < TILE; i++) v[0] = _mm512_or_si512(v[0], v[i]);
  return _mm512_test_epi32_mask(v[0], _mm512_set1_epi32(0xFFFF)) == 0;
}

// --- Tile --------------------------------------------------------------------------------------------

// Biased exponents, patterns of the largest magnitudes: of blocks that meet subnormals, overflow, Inf or NaN.
INLINE int extreme(__m512i amax, int lowest) {
  const __m512i low = _mm512_set1_epi32(lowest << 23);
  const __m512i range = _mm512_set1_epi32((EXPONENT_HIGH - lowest) << 23);
  return (_mm512_cmpgt_epu32_mask(_mm512_sub_epi32(amax, low), range) & _mm512_test_epi32_mask(amax, amax)) != 0;
}

INLINE __m512i largest_pattern(const __m512i v[16]) {
  __m512i largest = _mm512_setzero_si512();
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    largest = _mm512_max_epi32(largest, _mm512_and_si512(v[i], _mm512_set1_epi32(INT32_MAX)));
  }
  return largest;
}

INLINE void take_plain(kind_t kind, __m512i v[16], numbers512_t *out) {
  __m512i amax = largest_pattern(v);
  out->later = extreme(amax, EXPONENT_LOW);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) out->x[i] = _mm512_castsi512_ps(v[i]);
  out->unit = _mm512_setzero_si512();
  out->ratio = ratio_of(_mm512_castsi512_ps(amax), kind.e2m1 ? 3 : 7, 0);
}

INLINE void take_integers(kind_t kind, const job_t *job, __m512i v[16], numbers512_t *out) {
  __m512i largest = largest_pattern(v);
  out->later = extreme(largest, EXPONENT_LOW);
  largest = _mm512_and_si512(largest, _mm512_set1_epi32(0x7F800000));
  largest = _mm512_max_epi32(largest, _mm512_set1_epi32(EXPONENT_LOW << 23));
  out->unit = _mm512_sub_epi32(largest, all_words((uint32_t)EXPONENT_UNIT << 23));
  transform(v, largest, job->how->rht_mask);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    if (kind.codes) out->v[i] = v[i];
    out->x[i] = _mm512_cvtepi32_ps(v[i]);
  }
  __mmask16 sticky;
  __m512 amax = amax_of_integers(v, &sticky);
  out->ratio = ratio_of(amax, kind.e2m1 ? 3 : 7, sticky);
}

// Lanes where a sign may be wrong.
INLINE __mmask16 near_zero(kind_t kind, __m512 least, __m512 reciprocal, __mmask16 some) {
  return _mm512_mask_cmp_ps_mask(some, _mm512_mul_ps(least, reciprocal),
                                 _mm512_set1_ps(kind.e2m1 ? 0x1p-14f : 0x1p-15f), _CMP_LT_OQ);
}

INLINE void take_floats(kind_t kind, const job_t *job, const __m512i v[16], numbers512_t *out) {
  __m512 x[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) x[i] = _mm512_castsi512_ps(v[i]);
  transform_floats(job, x);
  // As patterns: a largest float would pass over the NaNs that infinities of both signs leave.
  __m512i patterns[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) patterns[i] = _mm512_castps_si512(x[i]);
  __m512 amax = _mm512_castsi512_ps(largest_pattern(patterns));
  // The largest number is 16 times smaller at most.
  out->later = extreme(_mm512_castps_si512(amax), EXPONENT_LOW + 4);
  out->unit = _mm512_setzero_si512();
  out->ratio = _mm512_castps_si512(_mm512_mul_ps(amax, _mm512_set1_ps(kind.e2m1 ? 0.25f / 3.0f : 0.25f / 7.0f)));
  // Scales change at multiples of 2^19 in the pattern, or at some of them.
  __m512i above = _mm512_add_epi32(out->ratio, _mm512_set1_epi32(64));
  __mmask16 some = _mm512_test_epi32_mask(out->ratio, out->ratio);
  out->doubt = _mm512_mask_testn_epi32_mask(some, above, _mm512_set1_epi32(0x7FF80));
  if (!kind.codes) return;
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) out->x[i] = x[i];
  __m512 least = least_of(x), reciprocal = reciprocal_of(kind, round_ratio(kind, job, out->ratio));
  if (!job->int4) out->doubt |= near_zero(kind, least, reciprocal, some);
}

// All that must be known before codes can be made.
INLINE void measure_tile(kind_t kind, const job_t *job, const place512_t *place, numbers512_t *out) {
  __m512i v[16];
  load_tile(job->source, place, v);
  out->doubt = 0;
  if (!kind.rht) {
    take_plain(kind, v, out);
  } else if (kind.careful) {
    take_integers(kind, job, v, out);
  } else {
    take_floats(kind, job, v, out);
  }
  out->again = out->doubt != 0;
  if (!kind.codes) return;
  out->some = _mm512_test_epi32_mask(out->ratio, out->ratio);
  out->rounded = round_ratio(kind, job, out->ratio);
  out->reciprocal = reciprocal_of(kind, out->rounded);
  if (!kind.stochastic) return;
  random_words(&job->random, _mm512_add_epi32(all_words((uint32_t)place->first), _mm512_load_si512(job->offset)),
               out->words);
}

INLINE void quantize_tile(kind_t kind, const job_t *job, const place512_t *place, result_t *out) {
  numbers512_t numbers;
  measure_tile(kind, job, place, &numbers);
  out->later = numbers.later;
  out->again = numbers.again;
  out->beyond = 0;
  out->ratio = _mm512_add_epi32(numbers.ratio, numbers.unit);
  if (!kind.codes) return;
  __m512i bits = _mm512_srli_epi32(_mm512_add_epi32(numbers.rounded, numbers.unit), 20);
  out->places = _mm512_maskz_cvtepi32_epi16(numbers.some, bits);
  __mmask16 doubt = encode(kind, job, &numbers, out->codes);
  if (!kind.stochastic && !kind.rht && doubt != 0 && coarse(job, place)) doubt = 0;
  if (kind.careful && doubt != 0) doubt &= not_ties(kind, &numbers);
  __mmask16 over = _mm512_cmpgt_epi32_mask(out->ratio, all_words((uint32_t)job->limit));
  if (!kind.careful) {
    out->again |= doubt;
  } else {
    over |= doubt;
  }
  out->beyond = over;
  if (!job->int4) return;
  for (int h = 0; h < 2; h++) out->codes[h] = complement(out->codes[h]);
}

#endif
