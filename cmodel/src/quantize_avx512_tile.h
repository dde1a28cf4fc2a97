// SPDX-License-Identifier: Apache-2.0
// The AVX-512 quantizer's tile: 16 blocks to scales and codes. It is included by one file, which calls it with constant
// kinds.
//
// Quotients are floats, x times the rounded reciprocal of the scale. What is rounded is s = 192 + |quotient| with the
// sign of x, plus the threshold's complement (255 - r + 1/2) / 256 for stochastic rounding: floats in [128, 256) are
// multiples of 2^-16, so the significand of s holds the code in its bits 16 to 18 and the fraction below. The quotient
// is off by less than 2^-18 before that one rounding. A float that is rounded cannot cross a multiple of 2^-16, so the
// code can be wrong only where the fraction of s says that s lies on the boundary itself. Such tiles are left to the
// portable code.
//
// Nearest, without a transform: ties are common in data of few bits. But a BF16 number whose quotient is not a tie is
// further than 2^-12 from one: the numerator of the difference is a multiple of 2^-5, the denominator at most 30
// times 4. So s is a tie where the quotient is one, and is rounded to even: a tile of BF16 numbers needs no second
// look. Others get one, with or without a transform: what is a tie exactly was rounded as one.
//
// E2M1: between neighbours a cell is 1, 2 or 4 quanta wide. min(q, q / 2 + 2, q / 4 + 4) has cells of width 1.
//
// After a transform the largest magnitude has up to 28 bits and its float 24. Where that decides how the scale is
// rounded, and where nearest rounding meets what seems a tie, a tile is made again, carefully: from the integers.
#ifndef UFP4_QUANTIZE_AVX512_TILE_H
#define UFP4_QUANTIZE_AVX512_TILE_H

#include "quantize_avx512_load.h"

// Biased exponents of a block's largest magnitude between which no step meets subnormal numbers or overflows.
#define EXPONENT_LOW 40
#define EXPONENT_HIGH 230
#define EXPONENT_UNIT 152  // of what a transform makes of numbers with that exponent the unit is 1

#define PLACE_ZERO 0           // a block of zeros
#define PLACE_LATER INT16_MAX  // of all blocks of a tile: left to the portable code

typedef struct {
  int rht, stochastic, e2m1, codes, careful;
} kind_t;

typedef struct {
  const ufp4_quantize_t *how;
  const source_t *source;
  random512_t random;
  uint32_t offset[TILE] __attribute__((aligned(64)));  // of the groups of a tile from its first
  uint32_t addend, even;                               // for rounding scales
  int32_t limit;                                       // the pattern of the largest ratio that does not saturate
  int int4;
} job_t;

// Ratios are FP32 patterns of amax / odd, truncated, their lowest bit sticky.
typedef struct {
  __m512i codes[2];  // elements 0 .. 7 and 8 .. 15 of each block
  __m256i places;    // of scales, as 8 * biased exponent + 3 bits of significand
  __m512i ratio;     // zero or less for a block of zeros
  int later;         // all of this is left to the portable code
  int again;         // or to the careful kind
} result_t;

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

// --- Scales ------------------------------------------------------------------------------------------

INLINE __m512 magnitude_of(__m512 x) {
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MAX)));
}

INLINE __m512 amax_of_floats(const __m512 x[16]) {
  __m512 some[4];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) some[i % 4] = i < 4 ? x[i] : _mm512_range_ps(some[i % 4], x[i], 11);
  return _mm512_range_ps(_mm512_range_ps(some[0], some[1], 11), _mm512_range_ps(some[2], some[3], 11), 11);
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
INLINE __m512i round_ratio(const job_t *job, __m512i ratio) {
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(ratio, 20), all_words(job->even));
  return _mm512_add_epi32(_mm512_add_epi32(ratio, all_words(job->addend)), odd);
}

// Of 1 / the significand, with what makes the exponent come out right when a scale's pattern is subtracted.
INLINE __m512 reciprocal_of(__m512i rounded, int e2m1) {
#define ENTRY(m, bits) (bits) + (127u << 23) + ((m) << 20)
#define ENTRIES                                                                                   \
  ENTRY(0u, 0x3F800000u), ENTRY(1u, 0x3F638E39u), ENTRY(2u, 0x3F4CCCCDu), ENTRY(3u, 0x3F3A2E8Cu), \
      ENTRY(4u, 0x3F2AAAABu), ENTRY(5u, 0x3F1D89D9u), ENTRY(6u, 0x3F124925u), ENTRY(7u, 0x3F088889u)
  static const uint32_t table[16] __attribute__((aligned(64))) = {ENTRIES, ENTRIES};
  __m512i entries = _mm512_load_si512(table);
  if (e2m1) entries = _mm512_add_epi32(entries, _mm512_set1_epi32(2 << 23));
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

// s of an element. The lower half of a word of doubt becomes the smallest number: unsigned in stochastic rounding,
// signed in nearest.
INLINE __m512i element_code(kind_t kind, __m512 x, __m512 reciprocal, __m512i words, int byte, __m512i *doubt) {
  __m512i addend = _mm512_set1_epi32(kind.stochastic ? 0x43400080 : 0x43400000);
  if (kind.stochastic) {
    const __m512i select = _mm512_add_epi32(_mm512_set4_epi32(0x0C00, 0x0800, 0x0400, 0), _mm512_set1_epi32(byte << 8));
    addend = _mm512_mask_shuffle_epi8(addend, 0x2222222222222222, words, select);
  }
  __m512i s;
  if (kind.e2m1) {
    s = _mm512_castps_si512(_mm512_add_ps(cell_of(magnitude_of(x), reciprocal), _mm512_castsi512_ps(addend)));
    s = with_sign(s, x);
  } else {
    s = _mm512_castps_si512(_mm512_fmadd_ps(x, reciprocal, _mm512_castsi512_ps(with_sign(addend, x))));
  }
  *doubt = kind.stochastic ? _mm512_min_epu16(*doubt, s) : _mm512_min_epi16(*doubt, s);
  if (kind.stochastic) return s;
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
INLINE __m512i pack(kind_t kind, const __m512i s[8], __mmask16 some) {
  // Elements 0, 4, 2, 6 and 1, 5, 3, 7.
  const __m512i even[4] = {s[0], s[4], s[2], s[6]}, odd[4] = {s[1], s[5], s[3], s[7]};
  const __m512i lower = all_words(0x0F0F0F0F);
  __m512i codes[2], signs[2];
  gather(kind, even, &codes[0], &signs[0]);
  gather(kind, odd, &codes[1], &signs[1]);
  __m512i all = _mm512_ternarylogic_epi32(lower, codes[0], _mm512_slli_epi32(codes[1], 4), 0xCA);
  __m512i sign = _mm512_ternarylogic_epi32(lower, _mm512_srli_epi32(signs[0], 4), signs[1], 0xCA);
  return _mm512_maskz_ternarylogic_epi32(some, all_words(0x88888888), sign, all, 0xCA);
}

// @return the lanes whose codes are not certain.
INLINE __mmask16 encode(kind_t kind, const __m512 x[16], __m512 reciprocal, const __m512i words[4], __mmask16 some,
                        __m512i out[2]) {
  __m512i doubt = _mm512_set1_epi32(kind.stochastic ? -1 : 0);
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    __m512i s[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      s[i] = element_code(kind, x[8 * h + i], reciprocal, words[2 * h + i / 4], i % 4, &doubt);
    }
    out[h] = pack(kind, s, some);
  }
  __m512i least = _mm512_slli_epi32(doubt, 16);
  return some & (kind.stochastic ? _mm512_testn_epi32_mask(least, least)
                                 : _mm512_cmpeq_epi32_mask(least, _mm512_set1_epi32(INT32_MIN)));
}

// --- Second looks ------------------------------------------------------------------------------------

// Nearest: the lanes where an element seems to be a tie and is not one exactly. A midpoint times the scale is exact.
INLINE __mmask16 not_ties(kind_t kind, const __m512i v[16], const __m512 x[16], __m512 reciprocal, __m512i rounded) {
  __m512i scale_bits = _mm512_and_si512(rounded, all_words(0xFFF00000u));
  if (kind.e2m1) scale_bits = _mm512_sub_epi32(scale_bits, _mm512_set1_epi32(2 << 23));
  const __m512 scale = _mm512_castsi512_ps(scale_bits), start = _mm512_set1_ps(192.0f);
  __mmask16 wrong = 0;
  for (int i = 0; i < 16; i++) {
    const __m512 magnitude = magnitude_of(x[i]);
    __m512 s = kind.e2m1 ? _mm512_add_ps(cell_of(magnitude, reciprocal), start)
                         : _mm512_fmadd_ps(magnitude, reciprocal, start);
    __m512 q = _mm512_sub_ps(s, start);
    __m512i fraction = _mm512_slli_epi32(_mm512_castps_si512(s), 16);
    __mmask16 seems = _mm512_cmpeq_epi32_mask(fraction, _mm512_set1_epi32(INT32_MIN));
    if (kind.e2m1) {
      __m512 twice = _mm512_fmsub_ps(q, _mm512_set1_ps(2.0f), _mm512_set1_ps(4.0f));
      __m512 four_times = _mm512_fmsub_ps(q, _mm512_set1_ps(4.0f), _mm512_set1_ps(16.0f));
      q = _mm512_max_ps(q, _mm512_max_ps(twice, four_times));
    }
    wrong |= _mm512_mask_cmp_ps_mask(seems, _mm512_mul_ps(q, scale), magnitude, _CMP_NEQ_UQ);
    if (kind.rht) wrong |= _mm512_mask_cmpneq_epi32_mask(seems, _mm512_cvttps_epi32(x[i]), v[i]);
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

// Blocks that meet subnormals, overflow, Inf or NaN.
INLINE int extreme(__m512i amax) {
  const __m512i low = _mm512_set1_epi32(EXPONENT_LOW << 23);
  const __m512i range = _mm512_set1_epi32((EXPONENT_HIGH - EXPONENT_LOW) << 23);
  return (_mm512_cmpgt_epu32_mask(_mm512_sub_epi32(amax, low), range) & _mm512_test_epi32_mask(amax, amax)) != 0;
}

INLINE void quantize_tile(kind_t kind, const job_t *job, const place512_t *place, result_t *out) {
  const int odd = kind.e2m1 ? 3 : 7;
  __m512i v[16], words[4] = {_mm512_setzero_si512()}, unit = _mm512_setzero_si512(), bits = unit;
  __m512 x[16], amax;
  __mmask16 sticky = 0;
  load_tile(job->source, place, v);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    bits = _mm512_max_epi32(bits, _mm512_and_si512(v[i], _mm512_set1_epi32(INT32_MAX)));
  }
  out->again = 0;
  out->later = extreme(bits);
  if (out->later) return;
  if (kind.rht) {
    __m512i largest = _mm512_and_si512(bits, _mm512_set1_epi32(0x7F800000));
    largest = _mm512_max_epi32(largest, _mm512_set1_epi32(EXPONENT_LOW << 23));
    unit = _mm512_sub_epi32(largest, all_words((uint32_t)EXPONENT_UNIT << 23));
    transform(v, largest, job->how->rht_mask);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) x[i] = kind.rht ? _mm512_cvtepi32_ps(v[i]) : _mm512_castsi512_ps(v[i]);
  if (!kind.rht) {
    amax = _mm512_castsi512_ps(bits);
  } else if (kind.careful) {
    amax = amax_of_integers(v, &sticky);
  } else {
    amax = amax_of_floats(x);
  }
  __m512i ratio = ratio_of(amax, odd, sticky);
  if (kind.rht && !kind.careful) {
    // Between neighbouring scales, or at one, as far as can be seen.
    __mmask16 edge = _mm512_testn_epi32_mask(ratio, _mm512_set1_epi32(0x7FFFF));
    edge = _mm512_mask_cmp_ps_mask(edge, amax, _mm512_set1_ps(1 << 24), _CMP_GE_OQ);
    out->again = edge != 0;
    if (out->again) return;
  }
  out->ratio = _mm512_add_epi32(ratio, unit);
  if (!kind.codes) return;
  const __mmask16 some = _mm512_test_epi32_mask(ratio, ratio);
  __m512i rounded = round_ratio(job, ratio);
  __m512 reciprocal = reciprocal_of(rounded, kind.e2m1);
  out->places = _mm512_maskz_cvtepi32_epi16(some, _mm512_srli_epi32(_mm512_add_epi32(rounded, unit), 20));
  if (kind.stochastic) {
    __m512i groups = _mm512_add_epi32(all_words((uint32_t)place->first), _mm512_load_si512(job->offset));
    random_words(&job->random, groups, words);
  }
  __mmask16 doubt = encode(kind, x, reciprocal, words, some, out->codes);
  if (!kind.stochastic && doubt != 0) {
    if (!kind.rht && coarse(job, place)) {
      doubt = 0;
    } else if (kind.careful) {
      doubt &= not_ties(kind, v, x, reciprocal, rounded);
    } else {
      out->again = 1;
      return;
    }
  }
  doubt |= _mm512_cmpgt_epi32_mask(out->ratio, _mm512_set1_epi32(job->limit));
  if (doubt != 0) out->places = _mm256_set1_epi16(PLACE_LATER);
  if (!job->int4) return;
  for (int h = 0; h < 2; h++) out->codes[h] = complement(out->codes[h]);
}

#endif
