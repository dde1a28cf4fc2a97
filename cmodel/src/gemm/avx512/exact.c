// SPDX-License-Identifier: Apache-2.0
// Products of the AVX-512 GEMM; exact.h says how.
#include "gemm/avx512/exact.h"

#include "number/lanes.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#include <immintrin.h>
#include <string.h>

#include "gemm/avx512/row.h"
#include "gemm/avx512/store.h"

#define DIGIT 11
#define FEW_ROWS 4  // rows whose wide sums fit the registers

// --- Which of them ------------------------------------------------------------------------------

static int scales_fit(const a_panel_t *a, const b_panel_t *b) {
  return (int64_t)a->scale_max * b->scale_max < INT64_C(1) << (15 + DIGIT);
}

// The sum's bound, squared; the margin covers the rounding of the norms.
static int sum_fits(double norm2_a, double norm2_b, int bits) {
  return norm2_a * norm2_b < 0x1p62 * (double)(INT64_C(1) << (2 * bits)) * 0.999;
}

// The pairs whose products of scales are under 2^15.
INLINE uint32_t narrow_pairs(const a_panel_t *a, const b_panel_t *b) {
  const __m512i largest =
      _mm512_mullo_epi32(_mm512_load_si512(a->pair_max), _mm512_load_si512(b->pair_max));
  return _mm512_cmplt_epu32_mask(largest, _mm512_set1_epi32(1 << 15));
}

// --- Tables -------------------------------------------------------------------------------------

static void prepare(const void *from, void *out) {
  const b_panel_t *b = from;
  table_t *table = out;
  // No product of scales at or above this bound comes from the table.
  if (!sum_fits(SMALLEST_MAX * SMALLEST_MAX, b->norm2, 0)) return;
  for (int p = 0; p < PAIRS; p++) {
    const __m512i scale =
        _mm512_sllv_epi16(_mm512_load_si512(b->significand[p]), _mm512_load_si512(b->shift[p]));
    __m512i entry = _mm512_slli_epi16(scale, 3);
    for (int s = 0; s < SIGNIFICANDS; s++) {
      _mm512_store_si512(table->entries[p][s], entry);
      entry = _mm512_add_epi16(entry, scale);
    }
  }
}

// --- Products -----------------------------------------------------------------------------------

INLINE __m512i broadcast8(const void *from) {
  int64_t value;
  memcpy(&value, from, sizeof value);
  return _mm512_set1_epi64(value);
}

INLINE __m512i broadcast4(const void *from) {
  int32_t value;
  memcpy(&value, from, sizeof value);
  return _mm512_set1_epi32(value);
}

// Computes the dots of one row and 16 columns for a pair of blocks.
INLINE void dots(const a_panel_t *a, int p, int r, const __m512i b[8], __m512i dot[2]) {
  dot[0] = dot[1] = broadcast8(a->pair[p].start[r]);
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    __m512i quads = broadcast8(a->pair[p].elements[r] + 8 * q);
    dot[0] = _mm512_dpbusd_epi32(dot[0], b[q], quads);
    dot[1] = _mm512_dpbusd_epi32(dot[1], b[4 + q], quads);
  }
}

// Packs the dots into words, so that both blocks of a column lie side by side.
INLINE __m512i packed_dots(const a_panel_t *a, int p, int r, const __m512i b[8]) {
  __m512i dot[2];
  dots(a, p, r, b, dot);
  return _mm512_packs_epi32(dot[0], dot[1]);
}

INLINE void load_pair(const b_panel_t *b, int p, __m512i out[8]) {
#pragma GCC unroll 8
  for (int q = 0; q < 8; q++) out[q] = _mm512_load_si512(b->elements[p][q]);
}

// The products of A's significand and B's scale.
INLINE __m512i looked_up(const a_panel_t *a, int p, int r, const table_t *table) {
  const char *entries = (const char *)table->entries[p];
  const __m512i even = _mm512_load_si512(entries + a->pair[p].entry[r][0]);
  return _mm512_mask_loadu_epi16(even, 0xAAAAAAAA, entries + a->pair[p].entry[r][1]);
}

// The products of normal significands.
INLINE __m512i multiplied(const a_panel_t *a, const b_panel_t *b, int p, int r) {
  const __m512i entry = broadcast4(a->pair[p].entry[r]);
  const __m512i significand = _mm512_add_epi16(_mm512_srli_epi16(entry, 6), _mm512_set1_epi16(8));
  return _mm512_mullo_epi16(significand, _mm512_load_si512(b->significand[p]));
}

INLINE __m512i joined(__m512i low, __m512i high, int odd) {
  return _mm512_add_epi64(extended(low, odd), _mm512_slli_epi64(extended(high, odd), DIGIT));
}

INLINE void add_one_digit(const a_panel_t *a, const b_panel_t *b, const table_t *table, int p,
                          __m512i sum[ROWS]) {
  __m512i quads[8];
  load_pair(b, p, quads);
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
    const __m512i scale =
        _mm512_sllv_epi16(looked_up(a, p, r, table), broadcast4(a->pair[p].shift[r]));
    sum[r] = _mm512_dpwssd_epi32(sum[r], packed_dots(a, p, r, quads), scale);
  }
}

// Handles products of scales under 2^26. If the shift exceeds 11, both significands are at least 8,
// so the shift is at most 19, and the bits above the lowest DIGIT come from a right shift of
// product << 8, which still fits a word.
INLINE void add_two_digits(const a_panel_t *a, const b_panel_t *b, int p, __m512i low_sum[ROWS],
                           __m512i high_sum[ROWS]) {
  const __m512i low_bits = _mm512_set1_epi16((1 << DIGIT) - 1), top = _mm512_set1_epi16(8 + DIGIT);
  __m512i quads[8];
  load_pair(b, p, quads);
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
    __m512i product = multiplied(a, b, p, r), dot = packed_dots(a, p, r, quads);
    __m512i shift =
        _mm512_add_epi16(_mm512_load_si512(b->shift[p]), broadcast4(a->pair[p].shift[r]));
    __m512i low = _mm512_and_si512(_mm512_sllv_epi16(product, shift), low_bits);
    __m512i high = _mm512_srlv_epi16(_mm512_slli_epi16(product, 8), _mm512_sub_epi16(top, shift));
    low_sum[r] = _mm512_dpwssd_epi32(low_sum[r], dot, low);
    high_sum[r] = _mm512_dpwssd_epi32(high_sum[r], dot, high);
  }
}

INLINE void clear(__m512i sum[ROWS]) {
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) sum[r] = _mm512_setzero_si512();
}

INLINE void add_sums(const a_panel_t *a, const b_panel_t *b, const __m512i sum[ROWS], int first,
                     int64_t *sums) {
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) add_narrow(sum[r], a->base[r], b->base, first, sums + r * COLS);
}

static void multiply_one_digit(const a_panel_t *a, const b_panel_t *b, const table_t *table,
                               int first, int64_t *sums) {
  __m512i sum[ROWS];
  clear(sum);
  for (int p = 0; p < a->pairs; p++) add_one_digit(a, b, table, p, sum);
  add_sums(a, b, sum, first, sums);
}

// Uses one digit in the pairs of @p narrow and two in the others. Sums modulo 2^32 suffice, because
// the whole sums fit 32 bits.
static void multiply_mixed(const a_panel_t *a, const b_panel_t *b, const table_t *table,
                           uint32_t narrow, int first, int64_t *sums) {
  const uint32_t all = (1u << a->pairs) - 1;
  __m512i sum[ROWS], high[ROWS];
  clear(sum);
  clear(high);
  for (uint32_t left = ~narrow & all; left != 0; left &= left - 1) {
    add_two_digits(a, b, __builtin_ctz(left), sum, high);
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++)
    sum[r] = _mm512_add_epi32(sum[r], _mm512_slli_epi32(high[r], DIGIT));
  for (uint32_t left = narrow & all; left != 0; left &= left - 1) {
    add_one_digit(a, b, table, __builtin_ctz(left), sum);
  }
  add_sums(a, b, sum, first, sums);
}

static void multiply_two_digits(const a_panel_t *a, const b_panel_t *b, int first, int64_t *sums) {
  __m512i low[ROWS], high[ROWS];
  clear(low);
  clear(high);
  for (int p = 0; p < a->pairs; p++) add_two_digits(a, b, p, low, high);
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
    for (int odd = 0; odd < 2; odd++) {
      add_whole(joined(low[r], high[r], odd), a->base[r], b->base[odd], first,
                sums + r * COLS + 8 * odd);
    }
  }
}

// Extends B's scales to 32 bits in the order of the dots, for even and odd blocks, each in the low
// half of a 64-bit lane, which vpmuldq reads.
INLINE void wide_scales(const b_panel_t *b, int p, __m512i even[2], __m512i odd[2]) {
  const __m512i zero = _mm512_setzero_si512(), significand = _mm512_load_si512(b->significand[p]);
  const __m512i shift = _mm512_load_si512(b->shift[p]);
  even[0] = _mm512_sllv_epi32(_mm512_unpacklo_epi16(significand, zero),
                              _mm512_unpacklo_epi16(shift, zero));
  even[1] = _mm512_sllv_epi32(_mm512_unpackhi_epi16(significand, zero),
                              _mm512_unpackhi_epi16(shift, zero));
  odd[0] = _mm512_srli_epi64(even[0], 32);
  odd[1] = _mm512_srli_epi64(even[1], 32);
}

// The dot times A's scale is under 24576 * 15 * 2^11 < 2^30; times B's, under 2^48.
INLINE void add_wide(const __m512i dot[2], __m512i scale, const __m512i even[2],
                     const __m512i odd[2], __m512i sum[2]) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    __m512i scaled = _mm512_mullo_epi32(dot[half], scale);
    sum[half] = _mm512_add_epi64(sum[half], _mm512_mul_epi32(scaled, even[half]));
    sum[half] =
        _mm512_add_epi64(sum[half], _mm512_mul_epi32(_mm512_srli_epi64(scaled, 32), odd[half]));
  }
}

INLINE void multiply_few_rows(const a_panel_t *a, const b_panel_t *b, int r0, int first,
                              int64_t *sums) {
  __m512i sum[FEW_ROWS][2];
#pragma GCC unroll 4
  for (int r = 0; r < FEW_ROWS; r++) sum[r][0] = sum[r][1] = _mm512_setzero_si512();
  for (int p = 0; p < a->pairs; p++) {
    __m512i quads[8], even[2], odd[2], dot[2];
    load_pair(b, p, quads);
    wide_scales(b, p, even, odd);
#pragma GCC unroll 4
    for (int r = 0; r < FEW_ROWS; r++) {
      dots(a, p, r0 + r, quads, dot);
      __m512i scale =
          _mm512_unpacklo_epi16(broadcast4(a->scale[p][r0 + r]), _mm512_setzero_si512());
      add_wide(dot, scale, even, odd, sum[r]);
    }
  }
  for (int r = 0; r < FEW_ROWS; r++) {
    int64_t *to = sums + (r0 + r) * COLS;
    add_whole(_mm512_unpacklo_epi64(sum[r][0], sum[r][1]), a->base[r0 + r], b->base[0], first, to);
    add_whole(_mm512_unpackhi_epi64(sum[r][0], sum[r][1]), a->base[r0 + r], b->base[1], first,
              to + 8);
  }
}

static void multiply_wide(const a_panel_t *a, const b_panel_t *b, int first, int64_t *sums) {
  for (int r = 0; r < ROWS; r += FEW_ROWS) multiply_few_rows(a, b, r, first, sums);
}

static void multiply(const void *a_panel, const void *b_panel, const void *table, int first,
                     void *sums) {
  const a_panel_t *a = a_panel;
  const b_panel_t *b = b_panel;
  if (!scales_fit(a, b) || !sum_fits(a->norm2, b->norm2, DIGIT)) {
    multiply_wide(a, b, first, sums);
  } else if (!sum_fits(a->norm2, b->norm2, 0)) {
    multiply_two_digits(a, b, first, sums);
  } else {
    const uint32_t narrow = narrow_pairs(a, b);
    if (narrow == (1u << PAIRS) - 1) {
      multiply_one_digit(a, b, table, first, sums);
    } else {
      multiply_mixed(a, b, table, narrow, first, sums);
    }
  }
}

static void store(const gemm_job_t *job, const gemm_tile_t *tile, const void *sums) {
  gemm_avx512_store(job, tile, COLS, sums);
}

GEMM_KERNEL(gemm_avx512, int64_t, .store = store, .table_bytes = sizeof(table_t),
            .prepare = prepare)

#else

GEMM_NO_KERNEL(gemm_avx512)

#endif
