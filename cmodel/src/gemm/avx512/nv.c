// SPDX-License-Identifier: Apache-2.0
// Contract nv for AVX-512: the arithmetic of gemm/nv.c, 16 columns at a time. A term is aligned by
// one shift, because (magnitude << all of its fraction bits) >> (largest - exponent) truncates in
// the same way. Converting and scaling the sum both round toward zero (the latter if FP32 is
// subnormal), which gives the same as one rounding toward zero.
#include "gemm/micro.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include <immintrin.h>

#define STEP_GROUPS 4
#define FRACTION_BITS 35
#define TOWARD_ZERO (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)

// The terms of 16 columns: (-1)^negative * magnitude * 2^(exponent - fraction).
typedef struct {
  __m512i magnitude, exponent;
  __mmask16 negative;
} terms_t;

static inline terms_t accumulator_terms(__m512 sums) {
  const __m512i bits = _mm512_castps_si512(sums), fraction = _mm512_set1_epi32(0x7FFFFF);
  const __m512i field = _mm512_and_si512(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(0xFF));
  const __mmask16 normal = _mm512_test_epi32_mask(field, field);
  terms_t terms = {.negative = _mm512_movepi32_mask(bits)};
  terms.magnitude = _mm512_and_si512(bits, fraction);
  terms.magnitude =
      _mm512_mask_or_epi32(terms.magnitude, normal, terms.magnitude, _mm512_set1_epi32(0x800000));
  terms.exponent =
      _mm512_mask_sub_epi32(_mm512_set1_epi32(-126), normal, field, _mm512_set1_epi32(127));
  return terms;
}

// sum[half] += the terms in units of 2^(largest - FRACTION_BITS); fraction is the number of these
// bits that a magnitude lacks.
static inline void add_aligned(const terms_t *terms, __m512i largest, unsigned fraction,
                               __m512i sum[2]) {
  const __m512i down = _mm512_sub_epi32(largest, terms->exponent);
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    const __m256i magnitude = half ? _mm512_extracti64x4_epi64(terms->magnitude, 1)
                                   : _mm512_castsi512_si256(terms->magnitude);
    const __m256i shift = half ? _mm512_extracti64x4_epi64(down, 1) : _mm512_castsi512_si256(down);
    const __mmask8 negative = (__mmask8)(terms->negative >> (8 * half));
    const __m512i whole = _mm512_slli_epi64(_mm512_cvtepu32_epi64(magnitude), fraction);
    const __m512i aligned = _mm512_srlv_epi64(whole, _mm512_cvtepu32_epi64(shift));
    const __m512i added = _mm512_add_epi64(sum[half], aligned);
    sum[half] = _mm512_mask_sub_epi64(added, negative, sum[half], aligned);
  }
}

// Rounds sum * 2^(largest - FRACTION_BITS) toward zero; 2^128 and above gives Inf. A zero may be
// -0, because its sign is not used later.
static inline __m512 toward_zero(const __m512i sum[2], __m512i largest) {
  const __m256 low = _mm512_cvt_roundepi64_ps(sum[0], TOWARD_ZERO);
  const __m256 high = _mm512_cvt_roundepi64_ps(sum[1], TOWARD_ZERO);
  const __m512 value = _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
  const __m512 exponent =
      _mm512_cvtepi32_ps(_mm512_sub_epi32(largest, _mm512_set1_epi32(FRACTION_BITS)));
  const __m512 scaled = _mm512_scalef_round_ps(value, exponent, TOWARD_ZERO);
  const __m512 top = _mm512_add_ps(_mm512_getexp_ps(value), exponent);
  const __mmask16 over = _mm512_cmp_ps_mask(top, _mm512_set1_ps(127), _CMP_GT_OQ);
  const __m512 infinity = _mm512_castsi512_ps(_mm512_set1_epi32(0x7F800000));
  const __m512 sign = _mm512_and_ps(value, _mm512_set1_ps(-0.0f));
  return _mm512_mask_or_ps(scaled, over, infinity, sign);
}

typedef struct {
  const unpacked_t *a, *b;
  int64_t row, col;
  int frac;
} place_of_t;

static inline terms_t group_terms(const place_of_t *p, int64_t g, int r, const dots_t *dots) {
  const int64_t blocks = p->a->groups / p->a->block_groups, k = g / p->a->block_groups;
  const int64_t at_a = p->row * blocks + k * MICRO_ROWS + r,
                at_b = p->col * blocks + k * MICRO_COLS;
  const __m512i dot = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)dots));
  const __m512i scale = _mm512_mullo_epi32(_mm512_loadu_si512(p->b->significands + at_b),
                                           _mm512_set1_epi32(p->a->significands[at_a]));
  const __m512i product = _mm512_mullo_epi32(dot, scale);
  return (terms_t){.magnitude = _mm512_abs_epi32(product),
                   .negative = _mm512_movepi32_mask(product),
                   .exponent = _mm512_add_epi32(_mm512_loadu_si512(p->b->exponents + at_b),
                                                _mm512_set1_epi32(p->a->exponents[at_a]))};
}

static void row_step(const place_of_t *p, int64_t first, int count, int r,
                     dots_t dots[STEP_GROUPS][MICRO_ROWS], float sums[MICRO_COLS]) {
  const __m512i exponents = _mm512_set1_epi32(0x7F800000);
  const __m512 before = _mm512_loadu_ps(sums);
  const terms_t start = accumulator_terms(before);
  terms_t groups[STEP_GROUPS];
  __m512i largest = start.exponent, sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (int g = 0; g < count; g++) {
    groups[g] = group_terms(p, first + g, r, &dots[g][r]);
    largest = _mm512_max_epi32(largest, groups[g].exponent);
  }
  add_aligned(&start, largest, FRACTION_BITS - 23, sum);
  for (int g = 0; g < count; g++)
    add_aligned(&groups[g], largest, (unsigned)(FRACTION_BITS - 6 - p->frac), sum);
  // Inf and NaN are kept.
  const __m512i field = _mm512_and_si512(_mm512_castps_si512(before), exponents);
  const __mmask16 finite = _mm512_cmpneq_epi32_mask(field, exponents);
  _mm512_storeu_ps(sums, _mm512_mask_mov_ps(before, finite, toward_zero(sum, largest)));
}

void gemm_avx512_nv_micro(const unpacked_t *a, int64_t row, const unpacked_t *b, int64_t col,
                          int frac, float sums[MICRO_ROWS][MICRO_COLS]) {
  const place_of_t place = {a, b, row, col, frac};
  for (int64_t first = 0; first < a->groups; first += STEP_GROUPS) {
    const int count = a->groups - first < STEP_GROUPS ? (int)(a->groups - first) : STEP_GROUPS;
    const int16_t *qa = a->quanta + (row * a->groups + first * MICRO_ROWS) * BLOCK;
    const int16_t *qb = b->quanta + (col * b->groups + first * MICRO_COLS) * BLOCK;
    dots_t dots[STEP_GROUPS][MICRO_ROWS];
    for (int g = 0; g < count; g++) {
      micro_dots(qa + g * BLOCK * MICRO_ROWS, qb + g * BLOCK * MICRO_COLS, BLOCK, dots[g]);
    }
    for (int r = 0; r < MICRO_ROWS; r++) row_step(&place, first, count, r, dots, sums[r]);
  }
}

#else

void gemm_avx512_nv_micro(const unpacked_t *a, int64_t row, const unpacked_t *b, int64_t col,
                          int frac, float sums[MICRO_ROWS][MICRO_COLS]) {
  gemm_nv_micro(a, row, b, col, frac, sums);
}

#endif
