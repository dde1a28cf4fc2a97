// SPDX-License-Identifier: Apache-2.0
// Products of the AVX-512 GEMM of the contract fp32; fp32.h says how.
#include "gemm/avx512/fp32.h"

#include "number/lanes.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#include <immintrin.h>
#include <stddef.h>
#include <string.h>

#include "gemm/avx512/row.h"

#define HIGH_WORDS 0xAAAAAAAAu

// --- Tables -------------------------------------------------------------------------------------

static void prepare(const void *from, void *out) {
  const b_panel_t *b = from;
  table_t *table = out;
  if (!b->tabled) return;
  for (int g = 0; g < b->groups; g++) {
    const __m512 left = _mm512_load_ps(b->scale[g]), right = _mm512_load_ps(b->scale[g] + 16);
    for (int s = 0; s < SIGNIFICANDS; s++) {
      const __m512 significand = _mm512_set1_ps((float)(8 + s));
      const __m512i low =
          _mm512_srli_epi32(_mm512_castps_si512(_mm512_mul_ps(left, significand)), 16);
      const __m512i high = _mm512_castps_si512(_mm512_mul_ps(right, significand));
      _mm512_store_si512(table->lines[g][s], _mm512_mask_mov_epi16(low, HIGH_WORDS, high));
    }
  }
}

// --- Products -----------------------------------------------------------------------------------

INLINE __m512i broadcast4(const void *from) {
  int32_t value;
  memcpy(&value, from, sizeof value);
  return _mm512_set1_epi32(value);
}

INLINE void load_group(const b_panel_t *b, int g, __m512i out[2][4]) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) out[half][q] = _mm512_load_si512(b->elements[g][half][q]);
  }
}

// Adds the dots of one row and 32 columns for a group to @p dot.
INLINE void add_dots(const a_panel_t *a, int g, int r, __m512i b[2][4], __m512i dot[2]) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    const __m512i quad = broadcast4(a->elements[g][r] + 4 * q);
    dot[0] = _mm512_dpbusd_epi32(dot[0], b[0][q], quad);
    dot[1] = _mm512_dpbusd_epi32(dot[1], b[1][q], quad);
  }
}

INLINE void load_sums(int first, const float *sums, __m512 acc[ROWS][2]) {
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
    acc[r][0] = first ? _mm512_setzero_ps() : _mm512_load_ps(sums + r * COLS);
    acc[r][1] = first ? _mm512_setzero_ps() : _mm512_load_ps(sums + r * COLS + 16);
  }
}

INLINE void store_sums(__m512 acc[ROWS][2], float *sums) {
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
    _mm512_store_ps(sums + r * COLS, acc[r][0]);
    _mm512_store_ps(sums + r * COLS + 16, acc[r][1]);
  }
}

// Prefetches a share of the next panel of A and of the next sums, which lie behind these. (After
// the last panel this is harmless.)
INLINE void fetch_next(const a_panel_t *a, int g, const float *sums) {
  const size_t share = sizeof *a / CHUNK;
  const char *next = (const char *)(a + 1) + (size_t)g * share;
#pragma GCC unroll 4
  for (size_t at = 0; at < share; at += 64) __builtin_prefetch(next + at);
  __builtin_prefetch(sums + ROWS * COLS + 16 * g, 1);
}

static void multiply_e4m3(const a_panel_t *a, const b_panel_t *b, const table_t *table, int first,
                          float *sums) {
  __m512 acc[ROWS][2];
  load_sums(first, sums, acc);
  for (int g = 0; g < a->groups; g++) {
    const char *lines = (const char *)table->lines[g];
    __m512i quads[2][4], dot[2];
    fetch_next(a, g, sums);
    load_group(b, g, quads);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
      dot[0] = dot[1] = broadcast4(&a->start[r][g]);
      add_dots(a, g, r, quads, dot);
      __m512i scale = _mm512_load_si512(lines + a->line[r][g]);
      scale = _mm512_add_epi32(scale, broadcast4(&a->exponent[r][g]));
      const __m512 left = _mm512_castsi512_ps(_mm512_slli_epi32(scale, 16));
      const __m512 right = _mm512_castsi512_ps(_mm512_maskz_mov_epi16(HIGH_WORDS, scale));
      acc[r][0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[0]), left, acc[r][0]);
      acc[r][1] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[1]), right, acc[r][1]);
    }
  }
  store_sums(acc, sums);
}

// Rounds once to double and once to FP32, which gives the same as a single rounding (gemm/fp32.c
// says why). The exponent is that of an FP32 number with unlimited range.
INLINE __m256 add_wide(__m256i dot, __m256i exponent, __m256 acc) {
  const __m512i bits = _mm512_slli_epi64(
      _mm512_add_epi64(_mm512_cvtepi32_epi64(exponent), _mm512_set1_epi64(1023 - 127)), 52);
  const __m512d block = _mm512_mul_pd(_mm512_cvtepi32_pd(dot), _mm512_castsi512_pd(bits));
  return _mm512_cvtpd_ps(_mm512_add_pd(_mm512_cvtps_pd(acc), block));
}

INLINE __m512 add_e8m0(__m512i dot, __m512i exponent_a, __m512i exponent_b, int wide, __m512 acc) {
  if (!wide) {
    const __m512i factor = _mm512_add_epi32(exponent_a, exponent_b);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_castsi512_ps(factor), acc);
  }
  const __m512i exponent =
      _mm512_add_epi32(_mm512_srli_epi32(exponent_a, 23), _mm512_srai_epi32(exponent_b, 23));
  const __m256 low = add_wide(_mm512_castsi512_si256(dot), _mm512_castsi512_si256(exponent),
                              _mm512_castps512_ps256(acc));
  const __m256 high =
      add_wide(_mm512_extracti64x4_epi64(dot, 1), _mm512_extracti64x4_epi64(exponent, 1),
               _mm512_extractf32x8_ps(acc, 1));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

INLINE void multiply_e8m0(const a_panel_t *a, const b_panel_t *b, int wide, int first,
                          float *sums) {
  __m512 acc[ROWS][2];
  load_sums(first, sums, acc);
  for (int g = 0; g < a->groups; g += 2) {
    fetch_next(a, g, sums);
    fetch_next(a, g + 1, sums);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
      __m512i quads[2][4], dot[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
      for (int i = 0; i < 2; i++) {
        load_group(b, g + i, quads);
        const __m512i start = broadcast4(&a->start[r][g + i]);
        dot[0] = _mm512_add_epi32(dot[0], start);
        dot[1] = _mm512_add_epi32(dot[1], start);
        add_dots(a, g + i, r, quads, dot);
      }
      const __m512i exponent = broadcast4(&a->exponent[r][g]);
      acc[r][0] = add_e8m0(dot[0], exponent, _mm512_load_si512(b->exponent[g]), wide, acc[r][0]);
      acc[r][1] =
          add_e8m0(dot[1], exponent, _mm512_load_si512(b->exponent[g] + 16), wide, acc[r][1]);
    }
  }
  store_sums(acc, sums);
}

static void multiply_e8m0_near(const a_panel_t *a, const b_panel_t *b, int first, float *sums) {
  multiply_e8m0(a, b, 0, first, sums);
}

static void multiply_e8m0_wide(const a_panel_t *a, const b_panel_t *b, int first, float *sums) {
  multiply_e8m0(a, b, 1, first, sums);
}

static void multiply_fp32(const a_panel_t *a, const b_panel_t *b, int first, float *sums) {
  const __m512 magic = _mm512_set1_ps(a->magic);
  __m512 acc[ROWS][2];
  load_sums(first, sums, acc);
  for (int g = 0; g < a->groups; g++) {
    __m512i quads[2][4], dot[2];
    fetch_next(a, g, sums);
    load_group(b, g, quads);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
      dot[0] = dot[1] = broadcast4(&a->start[r][g]);
      add_dots(a, g, r, quads, dot);
      const __m512 scale = _mm512_set1_ps(a->scale[r][g]);
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) {
        const __m512 value = _mm512_sub_ps(_mm512_castsi512_ps(dot[half]), magic);
        const __m512 product = _mm512_mul_ps(scale, _mm512_load_ps(b->scale[g] + 16 * half));
        acc[r][half] = _mm512_add_ps(acc[r][half], _mm512_mul_ps(product, value));
      }
    }
  }
  store_sums(acc, sums);
}

static void multiply(const void *a_panel, const void *b_panel, const void *table, int first,
                     void *sums) {
  const a_panel_t *a = a_panel;
  const b_panel_t *b = b_panel;
  if (a->scale_format == UFP4_SCALE_FP32) {
    multiply_fp32(a, b, first, sums);
  } else if (a->scale_format != UFP4_SCALE_E8M0) {
    multiply_e4m3(a, b, table, first, sums);
  } else if (a->exponent_min + b->exponent_min >= 1 && a->exponent_max + b->exponent_max <= 254) {
    multiply_e8m0_near(a, b, first, sums);
  } else {
    multiply_e8m0_wide(a, b, first, sums);
  }
}

GEMM_KERNEL(gemm_avx512_fp32, float, .store = gemm_avx512_fp32_store,
            .table_bytes = sizeof(table_t), .prepare = prepare)

#else

GEMM_NO_KERNEL(gemm_avx512_fp32)

#endif
