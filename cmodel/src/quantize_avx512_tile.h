// SPDX-License-Identifier: Apache-2.0
// The AVX-512 quantizer's tile: 16 blocks to scales and codes. It is included by one file, which calls it with constant
// kinds.
//
// Quotients are floats, |x| times the rounded reciprocal of the scale. What is rounded is s = 192 + quotient, plus the
// threshold's complement (255 - r + 1/2) / 256 for stochastic rounding: floats in [128, 256) are multiples of 2^-16, so
// the significand of s holds the code in its bits 16 to 18 and the fraction below. The quotient is off by less than
// 2^-18 before that one rounding. A float that is rounded cannot cross a multiple of 2^-16, so the code can be wrong
// only where the fraction of s says that s lies on the boundary itself. Such tiles are left to the portable code.
//
// Nearest, without a transform: ties are common in data of few bits. But a BF16 number whose quotient is not a tie is
// further than 2^-12 from one: the numerator of the difference is a multiple of 2^-5, the denominator at most 30
// times 4. So s is a tie where the quotient is one, and the addition of 1.5 * 2^23 rounds it to even: a tile of BF16
// numbers needs no second look. Others get one, with or without a transform: what is a tie exactly was rounded as one.
//
// E2M1: between neighbours a cell is 1, 2 or 4 quanta wide. min(q, q / 2 + 2, q / 4 + 4) has cells of width 1.
#ifndef UFP4_QUANTIZE_AVX512_TILE_H
#define UFP4_QUANTIZE_AVX512_TILE_H

#include "quantize_avx512.h"

// Biased exponents of a block's largest magnitude between which no step meets subnormal numbers or overflows.
#define EXPONENT_LOW 40
#define EXPONENT_HIGH 230

#define PLACE_ZERO INT16_MIN   // a block of zeros
#define PLACE_LATER INT16_MAX  // of all blocks of a tile: left to the portable code

typedef struct {
  int rht, stochastic, e2m1, codes;
} kind_t;

typedef struct {
  const ufp4_quantize_t *how;
  const source_t *source;
  uint64_t offset[TILE] __attribute__((aligned(64)));  // of the groups of a tile from its first
  int up, int4;
} job_t;

typedef struct {
  __m512i codes[2];  // elements 0 .. 7 and 8 .. 15 of each block
  __m256i places;    // twice the place of the scale, and 1 more where what was rounded is above it
  __m512i top;       // as in scale512_t, the smallest number for a block of zeros
  int later;         // all of this is left to the portable code
} result_t;

INLINE __m512 pick_reciprocal(__m512i place, int e2m1, __m512i unit) {
  // The index has four bits that count, so all stands twice.
  static const float table[16] = {1.0f,         8.0f / 9.0f,  8.0f / 10.0f, 8.0f / 11.0f, 8.0f / 12.0f, 8.0f / 13.0f,
                                  8.0f / 14.0f, 8.0f / 15.0f, 1.0f,         8.0f / 9.0f,  8.0f / 10.0f, 8.0f / 11.0f,
                                  8.0f / 12.0f, 8.0f / 13.0f, 8.0f / 14.0f, 8.0f / 15.0f};
  __m512i reciprocal = _mm512_castps_si512(_mm512_permutexvar_ps(place, _mm512_loadu_ps(table)));
  __m512i binade = _mm512_sub_epi32(_mm512_srai_epi32(place, 3), unit);
  if (e2m1) binade = _mm512_sub_epi32(binade, _mm512_set1_epi32(2));
  return _mm512_castsi512_ps(_mm512_sub_epi32(reciprocal, _mm512_slli_epi32(binade, 23)));
}

// --- Transform ---------------------------------------------------------------------------------------

// x to integers aligned to the block's largest exponent, through the transform. The multiplication is exact, or ends
// under 1; the conversion truncates.
INLINE void transform(__m512i v[16], __m512i largest, uint16_t mask) {
  __m512i factor[2];
  factor[0] = _mm512_slli_epi32(_mm512_sub_epi32(_mm512_set1_epi32(277), largest), 23);
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

// --- Codes -------------------------------------------------------------------------------------------

INLINE __m512 quotient_plus(__m512 magnitude, __m512 reciprocal, __m512 addend, int e2m1) {
  if (!e2m1) return _mm512_fmadd_ps(magnitude, reciprocal, addend);
  __m512 q = _mm512_mul_ps(magnitude, reciprocal);
  __m512 half = _mm512_fmadd_ps(q, _mm512_set1_ps(0.5f), _mm512_set1_ps(2.0f));
  __m512 quarter = _mm512_fmadd_ps(q, _mm512_set1_ps(0.25f), _mm512_set1_ps(4.0f));
  return _mm512_add_ps(_mm512_min_ps(q, _mm512_min_ps(half, quarter)), addend);
}

// Sign and code of an element in the upper four bits of each word, anything below. The lower half of a word of doubt
// becomes the smallest number: unsigned in stochastic rounding, signed in nearest.
INLINE __m512i element_code(kind_t kind, __m512i v, __m512 reciprocal, __m512i words, int byte, __m512i *doubt) {
  const __m512i base = _mm512_set1_epi32(kind.stochastic ? 0x43400080 : 0x43400000);
  __m512i magnitude = kind.rht ? _mm512_abs_epi32(v) : _mm512_and_si512(v, _mm512_set1_epi32(INT32_MAX));
  __m512 x = kind.rht ? _mm512_cvtepi32_ps(magnitude) : _mm512_castsi512_ps(magnitude);
  __m512i code;
  if (kind.stochastic) {
    const __m512i select = _mm512_add_epi32(_mm512_set4_epi32(0x0C00, 0x0800, 0x0400, 0), _mm512_set1_epi32(byte << 8));
    __m512i addend = _mm512_mask_shuffle_epi8(base, 0x2222222222222222, words, select);
    __m512 s = quotient_plus(x, reciprocal, _mm512_castsi512_ps(addend), kind.e2m1);
    s = _mm512_min_ps(s, _mm512_castsi512_ps(_mm512_set1_epi32(0x4347FFFF)));
    *doubt = _mm512_min_epu16(*doubt, _mm512_castps_si512(s));
    code = _mm512_slli_epi32(_mm512_castps_si512(s), 12);
  } else {
    __m512 s = quotient_plus(x, reciprocal, _mm512_castsi512_ps(base), kind.e2m1);
    *doubt = _mm512_min_epi16(*doubt, _mm512_castps_si512(s));
    code = _mm512_slli_epi32(_mm512_castps_si512(_mm512_add_ps(s, _mm512_set1_ps(12582912.0f))), 28);
  }
  return _mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MAX), code, v, 0xCA);
}

// Sign and magnitude to two's complement, of each 4 bits.
INLINE __m512i complement(__m512i codes) {
  const __m512i nibbles = _mm512_set1_epi8(15);
  const __m512i table = _mm512_set4_epi32(0x090A0B0C, 0x0D0E0F00, 0x07060504, 0x03020100);
  __m512i low = _mm512_shuffle_epi8(table, _mm512_and_si512(codes, nibbles));
  __m512i high = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi32(codes, 4), nibbles));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 4));
}

// @return the lanes whose codes are not certain.
INLINE __mmask16 encode(kind_t kind, const __m512i v[16], __m512 reciprocal, const __m512i words[4], __m512i out[2]) {
  const __m512i upper = _mm512_set1_epi32((int)0xF0000000);
  __m512i doubt = _mm512_set1_epi32(kind.stochastic ? -1 : 0);
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    __m512i packed = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      __m512i code = element_code(kind, v[8 * h + i], reciprocal, words[2 * h + i / 4], i % 4, &doubt);
      packed = _mm512_ternarylogic_epi32(upper, code, _mm512_srli_epi32(packed, 4), 0xCA);
    }
    out[h] = packed;
  }
  __m512i least = _mm512_slli_epi32(doubt, 16);
  return kind.stochastic ? _mm512_testn_epi32_mask(least, least)
                         : _mm512_cmpeq_epi32_mask(least, _mm512_set1_epi32(INT32_MIN));
}

// Nearest: the lanes where an element seems to be a tie and is not one exactly. A midpoint times the scale is exact.
INLINE __mmask16 not_ties(kind_t kind, const __m512i v[16], __m512 reciprocal, __m512i place, __m512i unit) {
  __m512i scale_bits = _mm512_sub_epi32(place, _mm512_slli_epi32(unit, 3));
  scale_bits = _mm512_slli_epi32(_mm512_add_epi32(scale_bits, _mm512_set1_epi32(8 * (kind.e2m1 ? 125 : 127))), 20);
  const __m512 scale = _mm512_castsi512_ps(scale_bits), start = _mm512_set1_ps(192.0f);
  __mmask16 wrong = 0;
  for (int i = 0; i < 16; i++) {
    __m512i magnitude = kind.rht ? _mm512_abs_epi32(v[i]) : _mm512_and_si512(v[i], _mm512_set1_epi32(INT32_MAX));
    __m512 x = kind.rht ? _mm512_cvtepi32_ps(magnitude) : _mm512_castsi512_ps(magnitude);
    __m512 s = quotient_plus(x, reciprocal, start, kind.e2m1), q = _mm512_sub_ps(s, start);
    __m512i fraction = _mm512_slli_epi32(_mm512_castps_si512(s), 16);
    __mmask16 seems = _mm512_cmpeq_epi32_mask(fraction, _mm512_set1_epi32(INT32_MIN));
    if (kind.e2m1) {
      __m512 twice = _mm512_fmsub_ps(q, _mm512_set1_ps(2.0f), _mm512_set1_ps(4.0f));
      __m512 four_times = _mm512_fmsub_ps(q, _mm512_set1_ps(4.0f), _mm512_set1_ps(16.0f));
      q = _mm512_max_ps(q, _mm512_max_ps(twice, four_times));
    }
    wrong |= _mm512_mask_cmp_ps_mask(seems, _mm512_mul_ps(q, scale), x, _CMP_NEQ_UQ);
    if (kind.rht) wrong |= _mm512_mask_cmpneq_epi32_mask(seems, _mm512_cvttps_epi32(x), magnitude);
  }
  return wrong;
}

// --- Tile --------------------------------------------------------------------------------------------

// The largest magnitude of each block, as significand * 2^(exponent - 23).
typedef struct {
  __m512i significand, exponent;
  __mmask16 some, sticky;
} amax512_t;

INLINE void amax_of_integers(const __m512i v[16], amax512_t *out) {
  __m512i amax = _mm512_abs_epi32(v[0]);
#pragma GCC unroll 16
  for (int i = 1; i < 16; i++) amax = _mm512_max_epi32(amax, _mm512_abs_epi32(v[i]));
  __m512i bits = _mm512_castps_si512(_mm512_cvt_roundepi32_ps(amax, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
  out->some = _mm512_test_epi32_mask(amax, amax);
  out->sticky = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(_mm512_castsi512_ps(bits)), amax);
  out->exponent = _mm512_sub_epi32(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(127));
  out->significand = _mm512_ternarylogic_epi32(bits, _mm512_set1_epi32(0x7FFFFF), _mm512_set1_epi32(0x800000), 0xEA);
}

INLINE void amax_of_floats(__m512i amax, amax512_t *out) {
  out->some = _mm512_test_epi32_mask(amax, amax);
  out->sticky = 0;
  out->exponent = _mm512_sub_epi32(_mm512_srli_epi32(amax, 23), _mm512_set1_epi32(127));
  out->significand = _mm512_ternarylogic_epi32(amax, _mm512_set1_epi32(0x7FFFFF), _mm512_set1_epi32(0x800000), 0xEA);
}

// Blocks that meet subnormals, overflow, Inf or NaN.
INLINE int extreme(__m512i amax) {
  const __m512i low = _mm512_set1_epi32(EXPONENT_LOW << 23);
  const __m512i range = _mm512_set1_epi32((EXPONENT_HIGH - EXPONENT_LOW) << 23);
  return (_mm512_cmpgt_epu32_mask(_mm512_sub_epi32(amax, low), range) & _mm512_test_epi32_mask(amax, amax)) != 0;
}

// v: FP32 patterns; @p first: the first group.
INLINE void quantize_lanes(kind_t kind, const job_t *job, __m512i v[16], uint64_t first, result_t *out) {
  __m512i bits = _mm512_setzero_si512(), any = bits, unit = bits, words[4] = {bits, bits, bits, bits};
  const __m512i magnitude = _mm512_set1_epi32(INT32_MAX);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    bits = _mm512_max_epi32(bits, _mm512_and_si512(v[i], magnitude));
    if (!kind.rht && !kind.stochastic) any = _mm512_or_si512(any, v[i]);
  }
  out->later = extreme(bits);
  if (out->later) return;
  amax512_t amax;
  if (kind.rht) {
    __m512i largest = _mm512_max_epi32(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(EXPONENT_LOW));
    transform(v, largest, job->how->rht_mask);
    amax_of_integers(v, &amax);
    unit = _mm512_sub_epi32(largest, _mm512_set1_epi32(152));
    amax.exponent = _mm512_add_epi32(amax.exponent, unit);
  } else {
    amax_of_floats(bits, &amax);
  }
  scale512_t scale;
  scale_of(amax.significand, amax.exponent, amax.sticky, kind.e2m1 ? 3 : 7, job->up, &scale);
  out->top = _mm512_mask_mov_epi32(_mm512_set1_epi32(INT32_MIN), amax.some, scale.top);
  if (!kind.codes) return;
  __m512i twice = _mm512_slli_epi32(scale.place, 1);
  twice = _mm512_mask_add_epi32(twice, scale.below, twice, _mm512_set1_epi32(1));
  out->places = _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(_mm512_set1_epi32(PLACE_ZERO), amax.some, twice));
  if (kind.stochastic) random_words(job->how, first, job->offset, words);
  __m512 reciprocal = pick_reciprocal(scale.place, kind.e2m1, unit);
  __mmask16 doubt = encode(kind, v, reciprocal, words, out->codes) & amax.some;
  if (!kind.rht && !kind.stochastic) doubt &= _mm512_test_epi32_mask(any, _mm512_set1_epi32(0xFFFF));
  if (!kind.stochastic && doubt != 0) doubt &= not_ties(kind, v, reciprocal, scale.place, unit);
  if (doubt != 0) out->places = _mm256_set1_epi16(PLACE_LATER);
  for (int h = 0; h < 2; h++) {
    if (job->int4) out->codes[h] = complement(out->codes[h]);
    out->codes[h] = _mm512_maskz_mov_epi32(amax.some, out->codes[h]);
  }
}

#endif
