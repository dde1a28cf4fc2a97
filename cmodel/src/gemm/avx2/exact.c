// SPDX-License-Identifier: Apache-2.0
// Products and results of the AVX2 GEMM; exact.h says how.
#include "gemm/avx2/exact.h"

#include "number/lanes.h"
#include "ufp4/format.h"

#ifdef __AVX2__
#include <string.h>

#include "gemm/avx2/row.h"
#include "gemm/store.h"

#define FEW_ROWS 3  // rows whose dots and sums fit the registers
#define VECTOR 32   // bytes

// Loads the scales of B's pair for 8 columns as words.
INLINE __m256i scale_words(const b_panel_t *b, int p, int c) {
  const __m256i *even = (const __m256i *)(b->scale[2 * p] + c),
                *odd = (const __m256i *)(b->scale[2 * p + 1] + c);
  return _mm256_or_si256(_mm256_load_si256(even), _mm256_slli_epi32(_mm256_load_si256(odd), 16));
}

static void prepare(const void *from, void *out) {
  const b_panel_t *b = from;
  table_t *table = out;
  for (int p = 0; p < PAIRS; p++) {
    for (int c = 0; c < COLS; c += 8) {
      const __m256i scale = scale_words(b, p, c);
      __m256i entry = _mm256_slli_epi16(scale, 3);
      for (int s = 0; s < SIGNIFICANDS; s++) {
        _mm256_store_si256((__m256i *)table->entries[p][s][c], entry);
        entry = _mm256_add_epi16(entry, scale);
      }
    }
  }
}

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
// written. Otherwise it adds in an order that needs more registers than there are, or loads v for
// each use.
INLINE void settle(__m256i *v) {
  __asm__("" : "+x"(*v));
}

// Computes the dots of FEW_ROWS rows and 16 columns for a pair of blocks.
INLINE void dots(const a_panel_t *a, const b_panel_t *b, int p, int r0, __m256i dot[FEW_ROWS][2]) {
#pragma GCC unroll 3
  for (int r = 0; r < FEW_ROWS; r++) dot[r][0] = dot[r][1] = broadcast4(a->pair[p].start[r0 + r]);
#pragma GCC unroll 8
  for (int q = 0; q < 8; q++) {
    __m256i b0 = load(b->elements[p][q][0]), b1 = load(b->elements[p][q][8]);
    settle(&b0);
    settle(&b1);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      __m256i quad = broadcast4(a->pair[p].elements[r0 + r] + 4 * q);
      dot[r][0] = _mm256_add_epi16(dot[r][0], _mm256_maddubs_epi16(b0, quad));
      dot[r][1] = _mm256_add_epi16(dot[r][1], _mm256_maddubs_epi16(b1, quad));
      settle(&dot[r][0]);
      settle(&dot[r][1]);
    }
  }
}

INLINE __m256i base_of(const a_panel_t *a, const b_panel_t *b, int r, int c) {
  return _mm256_add_epi64(_mm256_set1_epi64x(a->base[r]), load(b->base + c));
}

// Adds 4 sums, shifted by the exponents to which they are relative.
INLINE void add_four(const a_panel_t *a, const b_panel_t *b, int r, int c, __m256i sum, int first,
                     int64_t *sums) {
  __m256i *to = (__m256i *)(sums + r * COLS + c);
  sum = _mm256_sllv_epi64(sum, base_of(a, b, r, c));
  if (!first) sum = _mm256_add_epi64(sum, load(to));
  _mm256_store_si256(to, sum);
}

typedef enum { TABLED, MULTIPLIED } products_t;

// The products of the scales.
INLINE void scale_products(const a_panel_t *a, const b_panel_t *b, const table_t *table,
                           products_t how, int p, int r, __m256i scale[2]) {
  const char *entries = (const char *)table->entries[p];
  const char *even = entries + a->pair[p].entry[r][0], *odd = entries + a->pair[p].entry[r][1];
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    if (how == TABLED) {
      scale[half] = _mm256_blend_epi16(load(even + VECTOR * half), load(odd + VECTOR * half), 0xAA);
    } else {
      scale[half] =
          _mm256_mullo_epi16(broadcast4(a->pair[p].scale[r]), scale_words(b, p, 8 * half));
    }
  }
}

INLINE void narrow_rows(const a_panel_t *a, const b_panel_t *b, const table_t *table,
                        products_t how, int r0, int first, int64_t *sums) {
  __m256i sum[FEW_ROWS][2], dot[FEW_ROWS][2], scale[2];
#pragma GCC unroll 3
  for (int r = 0; r < FEW_ROWS; r++) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  for (int p = 0; p < a->pairs; p++) {
    dots(a, b, p, r0, dot);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      scale_products(a, b, table, how, p, r0 + r, scale);
      sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(dot[r][0], scale[0]));
      sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(dot[r][1], scale[1]));
    }
  }
  for (int r = 0; r < FEW_ROWS; r++) {
    for (int c = 0; c < COLS; c += 4) {
      __m256i eight = sum[r][c / 8];
      __m128i four = c % 8 ? _mm256_extracti128_si256(eight, 1) : _mm256_castsi256_si128(eight);
      add_four(a, b, r0 + r, c, _mm256_cvtepi32_epi64(four), first, sums);
    }
  }
}

// Adds the scaled dots of 8 columns to the sums of the even columns and of the odd ones. 32 bits
// hold a dot times A's scale, because it is under 24576 * 15 * 2^11 < 2^30.
INLINE void add_wide(__m256i dot, __m256i scale_a, __m256i scale_b, __m256i sum[2]) {
  __m256i scaled = _mm256_mullo_epi32(dot, scale_a);
  sum[0] = _mm256_add_epi64(sum[0], _mm256_mul_epi32(scaled, scale_b));
  sum[1] = _mm256_add_epi64(
      sum[1], _mm256_mul_epi32(_mm256_srli_epi64(scaled, 32), _mm256_srli_epi64(scale_b, 32)));
}

INLINE void wide_rows(const a_panel_t *a, const b_panel_t *b, int r0, int first, int64_t *sums) {
  const __m256i low_word = _mm256_set1_epi32(0xFFFF);
  __m256i sum[FEW_ROWS][2][2], dot[FEW_ROWS][2];
  memset(sum, 0, sizeof sum);
  for (int p = 0; p < a->pairs; p++) {
    dots(a, b, p, r0, dot);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      const __m256i scales = broadcast4(a->pair[p].scale[r0 + r]);
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) {
        const __m256i even = _mm256_madd_epi16(dot[r][half], _mm256_set1_epi32(1));
        const __m256i odd = _mm256_srai_epi32(dot[r][half], 16);
        add_wide(even, _mm256_and_si256(scales, low_word), load(b->scale[2 * p] + 8 * half),
                 sum[r][half]);
        add_wide(odd, _mm256_srli_epi32(scales, 16), load(b->scale[2 * p + 1] + 8 * half),
                 sum[r][half]);
      }
    }
  }
  for (int r = 0; r < FEW_ROWS; r++) {
    for (int half = 0; half < 2; half++) {
      __m256i low = _mm256_unpacklo_epi64(sum[r][half][0], sum[r][half][1]);   // columns 0 1 4 5
      __m256i high = _mm256_unpackhi_epi64(sum[r][half][0], sum[r][half][1]);  // columns 2 3 6 7
      add_four(a, b, r0 + r, 8 * half, _mm256_permute2x128_si256(low, high, 0x20), first, sums);
      add_four(a, b, r0 + r, 8 * half + 4, _mm256_permute2x128_si256(low, high, 0x31), first, sums);
    }
  }
}

// The margin covers the rounding of the norms.
static int is_narrow(const a_panel_t *a, const b_panel_t *b) {
  return (int64_t)a->scale_max * b->scale_max < 1 << 15 && a->norm2 * b->norm2 < 0x1p62 * 0.999;
}

static void multiply(const void *a_panel, const void *b, const void *table, int first, void *sums) {
  const a_panel_t *a = a_panel;
  int narrow = is_narrow(a, b);
  for (int r = 0; r < ROWS; r += FEW_ROWS) {
    if (narrow && a->tabled) {
      narrow_rows(a, b, table, TABLED, r, first, sums);
    } else if (narrow) {
      narrow_rows(a, b, table, MULTIPLIED, r, first, sums);
    } else {
      wide_rows(a, b, r, first, sums);
    }
  }
}

// --- Results ------------------------------------------------------------------------------------

// Converts 8 sums for which are_small holds to FP32: they are exact as doubles, then rounded once,
// and the product with 2^exponent is exact.
INLINE __m256 rounded(const int64_t *sums, __m256 unit) {
  const __m256i magic = _mm256_set1_epi64x(0x4338000000000000);  // 1.5 * 2^52
  __m256d low = _mm256_castsi256_pd(_mm256_add_epi64(load(sums), magic));
  __m256d high = _mm256_castsi256_pd(_mm256_add_epi64(load(sums + 4), magic));
  __m128 four = _mm256_cvtpd_ps(_mm256_sub_pd(low, _mm256_castsi256_pd(magic)));
  __m128 next = _mm256_cvtpd_ps(_mm256_sub_pd(high, _mm256_castsi256_pd(magic)));
  return _mm256_mul_ps(_mm256_insertf128_ps(_mm256_castps128_ps256(four), next, 1), unit);
}

// Returns whether -2^51 <= sum < 2^51 for all sums of a tile.
static int are_small(const int64_t *sums) {
  const __m256i half = _mm256_set1_epi64x(INT64_C(1) << 51);
  __m256i bits = _mm256_setzero_si256();
  for (int i = 0; i < ROWS * COLS; i += 4)
    bits = _mm256_or_si256(bits, _mm256_add_epi64(load(sums + i), half));
  return _mm256_testz_si256(bits, _mm256_set1_epi64x((int64_t)0xFFF0000000000000));
}

static void store(const gemm_job_t *job, const gemm_tile_t *tile, const void *from) {
  const int64_t *sums = from;
  const ufp4_gemm_t *how = job->how;
  // normal: 2^exponent times any sum is a normal number, or overflows to Inf as the contract
  // requires.
  int normal = how->d_dtype != UFP4_DTYPE_I64 && job->exponent >= -126 && job->exponent <= 127;
  if (!normal || how->accumulate != NULL || is_poisoned(tile, ROWS) || !are_small(sums)) {
    gemm_store_tile(job, tile, sums, COLS);
    return;
  }
  const __m256 unit = _mm256_castsi256_ps(_mm256_set1_epi32((127 + job->exponent) << 23));
  const int plain = is_plain(job, tile);
  for (int r = 0; r < tile->rows; r++) {
    const __m256 low = rounded(sums + r * COLS, unit), high = rounded(sums + r * COLS + 8, unit);
    store_halves(job, tile, r, plain, low, high);
  }
}

GEMM_KERNEL(gemm_avx2, int64_t, .store = store, .table_bytes = sizeof(table_t), .prepare = prepare)

#else

GEMM_NO_KERNEL(gemm_avx2)

#endif
