// SPDX-License-Identifier: Apache-2.0
// Products and results of the AVX2 GEMM of the contract fp32; fp32.h says how.
#include "gemm/avx2/fp32.h"

#include "number/lanes.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <string.h>

#include "gemm/avx2/row.h"
#include "gemm/store.h"

#define FEW_ROWS 3  // rows whose half dots and accumulators fit the registers

// --- Products -----------------------------------------------------------------------------------

INLINE __m256i broadcast4(const void *from) {
  int32_t value;
  memcpy(&value, from, sizeof value);
  return _mm256_set1_epi32(value);
}

INLINE __m256i load(const void *from) {
  return _mm256_load_si256(from);
}

// Tells the compiler that v changes here, so that it keeps v in a register and adds in the order
// written.
INLINE void settle(__m256i *v) {
  __asm__("" : "+x"(*v));
}

INLINE void start_dots(const a_panel_t *a, int g, int r0, __m256i dot[FEW_ROWS][2]) {
#pragma GCC unroll 3
  for (int r = 0; r < FEW_ROWS; r++) dot[r][0] = dot[r][1] = broadcast4(a->group[g].start[r0 + r]);
}

// Adds the half dots of FEW_ROWS rows and 16 columns for a group to @p dot.
INLINE void add_half_dots(const a_panel_t *a, const b_panel_t *b, int g, int r0,
                          __m256i dot[FEW_ROWS][2]) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    __m256i b0 = load(b->elements[g][q][0]), b1 = load(b->elements[g][q][8]);
    settle(&b0);
    settle(&b1);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      __m256i quad = broadcast4(a->group[g].elements[r0 + r] + 4 * q);
      dot[r][0] = _mm256_add_epi16(dot[r][0], _mm256_maddubs_epi16(b0, quad));
      dot[r][1] = _mm256_add_epi16(dot[r][1], _mm256_maddubs_epi16(b1, quad));
      settle(&dot[r][0]);
      settle(&dot[r][1]);
    }
  }
}

INLINE __m256i whole(__m256i half_dots) {
  return _mm256_madd_epi16(half_dots, _mm256_set1_epi16(1));
}

INLINE void load_sums(int first, const float *sums, __m256 acc[FEW_ROWS][2]) {
#pragma GCC unroll 3
  for (int r = 0; r < FEW_ROWS; r++) {
    acc[r][0] = first ? _mm256_setzero_ps() : _mm256_load_ps(sums + r * COLS);
    acc[r][1] = first ? _mm256_setzero_ps() : _mm256_load_ps(sums + r * COLS + 8);
  }
}

INLINE void store_sums(__m256 acc[FEW_ROWS][2], float *sums) {
#pragma GCC unroll 3
  for (int r = 0; r < FEW_ROWS; r++) {
    _mm256_store_ps(sums + r * COLS, acc[r][0]);
    _mm256_store_ps(sums + r * COLS + 8, acc[r][1]);
  }
}

static void multiply_e4m3(const a_panel_t *a, const b_panel_t *b, int r0, int first, float *sums) {
  __m256 acc[FEW_ROWS][2];
  load_sums(first, sums, acc);
  for (int g = 0; g < a->groups; g++) {
    __m256i dot[FEW_ROWS][2];
    start_dots(a, g, r0, dot);
    add_half_dots(a, b, g, r0, dot);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      const __m256i scale = broadcast4(a->group[g].integer[r0 + r]);
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) {
        const __m256 scaled = _mm256_cvtepi32_ps(_mm256_madd_epi16(dot[r][half], scale));
        acc[r][half] =
            _mm256_fmadd_ps(scaled, _mm256_load_ps(b->scale[g] + 8 * half), acc[r][half]);
      }
    }
  }
  store_sums(acc, sums);
}

// The half dots of both groups of a block: under 2^14.
INLINE void block_half_dots(const a_panel_t *a, const b_panel_t *b, int g, int r0,
                            __m256i dot[FEW_ROWS][2]) {
  start_dots(a, g, r0, dot);
  add_half_dots(a, b, g, r0, dot);
  if (g + 1 < a->groups) add_half_dots(a, b, g + 1, r0, dot);
}

static void multiply_e8m0(const a_panel_t *a, const b_panel_t *b, int r0, int first, float *sums) {
  __m256 acc[FEW_ROWS][2];
  load_sums(first, sums, acc);
  for (int g = 0; g < a->groups; g += 2) {
    __m256i dot[FEW_ROWS][2];
    block_half_dots(a, b, g, r0, dot);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      const __m256i exponent = broadcast4(&a->group[g].exponent[r0 + r]);
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) {
        const __m256i factor = _mm256_add_epi32(exponent, load(b->exponent[g] + 8 * half));
        const __m256 value = _mm256_cvtepi32_ps(whole(dot[r][half]));
        acc[r][half] = _mm256_fmadd_ps(value, _mm256_castsi256_ps(factor), acc[r][half]);
      }
    }
  }
  store_sums(acc, sums);
}

// Rounds once to double and once to FP32, which gives the same as a single rounding (gemm/fp32.c
// says why). The exponent is that of an FP32 number with unlimited range.
INLINE __m128 add_wide(__m128i dot, __m128i exponent, __m128 acc) {
  const __m256i biased =
      _mm256_add_epi64(_mm256_cvtepi32_epi64(exponent), _mm256_set1_epi64x(1023 - 127));
  const __m256d block =
      _mm256_mul_pd(_mm256_cvtepi32_pd(dot), _mm256_castsi256_pd(_mm256_slli_epi64(biased, 52)));
  return _mm256_cvtpd_ps(_mm256_add_pd(_mm256_cvtps_pd(acc), block));
}

INLINE __m256 add_block_wide(__m256i dot, __m256i exponent_a, __m256i exponent_b, __m256 acc) {
  const __m256i exponent =
      _mm256_add_epi32(_mm256_srli_epi32(exponent_a, 23), _mm256_srai_epi32(exponent_b, 23));
  const __m128 low = add_wide(_mm256_castsi256_si128(dot), _mm256_castsi256_si128(exponent),
                              _mm256_castps256_ps128(acc));
  const __m128 high =
      add_wide(_mm256_extracti128_si256(dot, 1), _mm256_extracti128_si256(exponent, 1),
               _mm256_extractf128_ps(acc, 1));
  return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

static void multiply_e8m0_wide(const a_panel_t *a, const b_panel_t *b, int r0, int first,
                               float *sums) {
  __m256 acc[FEW_ROWS][2];
  load_sums(first, sums, acc);
  for (int g = 0; g < a->groups; g += 2) {
    __m256i dot[FEW_ROWS][2];
    block_half_dots(a, b, g, r0, dot);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      const __m256i exponent = broadcast4(&a->group[g].exponent[r0 + r]);
      acc[r][0] = add_block_wide(whole(dot[r][0]), exponent, load(b->exponent[g]), acc[r][0]);
      acc[r][1] = add_block_wide(whole(dot[r][1]), exponent, load(b->exponent[g] + 8), acc[r][1]);
    }
  }
  store_sums(acc, sums);
}

static void multiply_fp32(const a_panel_t *a, const b_panel_t *b, int r0, int first, float *sums) {
  const __m256 unit = _mm256_set1_ps(a->unit);
  __m256 acc[FEW_ROWS][2];
  load_sums(first, sums, acc);
  for (int g = 0; g < a->groups; g++) {
    __m256i dot[FEW_ROWS][2];
    start_dots(a, g, r0, dot);
    add_half_dots(a, b, g, r0, dot);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      const __m256 scale = _mm256_set1_ps(a->group[g].scale[r0 + r]);
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) {
        const __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(whole(dot[r][half])), unit);
        const __m256 product = _mm256_mul_ps(scale, _mm256_load_ps(b->scale[g] + 8 * half));
        acc[r][half] = _mm256_add_ps(acc[r][half], _mm256_mul_ps(product, value));
      }
    }
  }
  store_sums(acc, sums);
}

static void multiply(const void *a_panel, const void *b_panel, const void *table, int first,
                     void *out) {
  const a_panel_t *a = a_panel;
  const b_panel_t *b = b_panel;
  (void)table;
  const int near =
      a->exponent_min + b->exponent_min >= 1 && a->exponent_max + b->exponent_max <= 254;
  for (int r = 0; r < ROWS; r += FEW_ROWS) {
    float *sums = (float *)out + r * COLS;
    if (a->scale_format == UFP4_SCALE_FP32) {
      multiply_fp32(a, b, r, first, sums);
    } else if (a->scale_format != UFP4_SCALE_E8M0) {
      multiply_e4m3(a, b, r, first, sums);
    } else if (near) {
      multiply_e8m0(a, b, r, first, sums);
    } else {
      multiply_e8m0_wide(a, b, r, first, sums);
    }
  }
}

// --- Results ------------------------------------------------------------------------------------

// Adding zero turns -0 (of a sum under the smallest number) into +0 and changes nothing else.
INLINE __m256 scaled_sum(const float *from, __m256 unit) {
  return _mm256_mul_ps(_mm256_add_ps(_mm256_load_ps(from), _mm256_setzero_ps()), unit);
}

static void store(const gemm_job_t *job, const gemm_tile_t *tile, const void *from) {
  const float *sums = from;
  const int exponent = -(job->a->exponent + job->b->exponent);
  if (exponent < -126 || exponent > 127 || is_poisoned(tile, ROWS)) {
    gemm_store_tile_f32(job, tile, sums, COLS);
    return;
  }
  // 2^-(tA + tB) is a normal number, so multiplying by it rounds once. FP32 scales can overflow to
  // NaN, which store_row handles.
  const __m256 unit = _mm256_castsi256_ps(_mm256_set1_epi32((127 + exponent) << 23));
  const int plain = is_plain(job, tile) && job->a->scale != UFP4_SCALE_FP32;
  for (int r = 0; r < tile->rows; r++) {
    const __m256 low = scaled_sum(sums + r * COLS, unit),
                 high = scaled_sum(sums + r * COLS + 8, unit);
    store_halves(job, tile, r, plain, low, high);
  }
}

GEMM_KERNEL(gemm_avx2_fp32, float, .store = store)

#else

GEMM_NO_KERNEL(gemm_avx2_fp32)

#endif
