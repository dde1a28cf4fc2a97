// SPDX-License-Identifier: Apache-2.0
// Products of the AVX-512 GEMM of uniform formats; folded.h says how.
#include "gemm/avx512/folded.h"

#include "number/lanes.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#include <string.h>

#include "gemm/avx512/row.h"
#include "gemm/avx512/store.h"

#define WIDE_ROWS 4  // rows whose two sums fit the registers

INLINE __m512i broadcast4(const void *from) {
  int32_t value;
  memcpy(&value, from, sizeof value);
  return _mm512_set1_epi32(value);
}

INLINE void load_block(const b_panel_t *b, int64_t k, __m512i out[2][4]) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) out[half][q] = _mm512_load_si512(b->elements[k][half][q]);
  }
}

// Computes the dots of one row and 32 columns for a block, and the shift of each.
INLINE void dots(const a_panel_t *a, const b_panel_t *b, int64_t k, int r, __m512i quads[2][4],
                 __m512i dot[2], __m512i excess[2]) {
  dot[0] = dot[1] = broadcast4(&a->block[k].start[r]);
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    const __m512i quad = broadcast4(a->block[k].elements[r] + 4 * q);
    dot[0] = _mm512_dpbusd_epi32(dot[0], quads[0][q], quad);
    dot[1] = _mm512_dpbusd_epi32(dot[1], quads[1][q], quad);
  }
  const __m512i excess_a = broadcast4(&a->block[k].excess[r]);
  excess[0] = _mm512_add_epi32(excess_a, _mm512_load_si512(b->excess[k]));
  excess[1] = _mm512_add_epi32(excess_a, _mm512_load_si512(b->excess[k] + 16));
}

static void multiply_narrow(const a_panel_t *a, const b_panel_t *b, int first, int64_t *sums) {
  __m512i sum[ROWS][2];
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) sum[r][0] = sum[r][1] = _mm512_setzero_si512();
  for (int64_t k = 0; k < a->blocks; k++) {
    __m512i quads[2][4], dot[2], excess[2];
    load_block(b, k, quads);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
      dots(a, b, k, r, quads, dot, excess);
      sum[r][0] = _mm512_add_epi32(sum[r][0], _mm512_sllv_epi32(dot[0], excess[0]));
      sum[r][1] = _mm512_add_epi32(sum[r][1], _mm512_sllv_epi32(dot[1], excess[1]));
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
      add_narrow(sum[r][half], a->base[r], b->base[half], first, sums + r * COLS + 16 * half);
    }
  }
}

// Handles shifted dots, which may have 46 bits. The sum modulo 2^32 is computed as above. The
// missing multiple of 2^32 follows from the sum of floor(dot * 2^(excess - 20)), which is under 32
// * 16 * 120^2 * 2^8 < 2^31 and differs from the exact value by 32 * 2^20 at most.
INLINE void add_twice(__m512i dot, __m512i excess, __m512i sum[2]) {
  const __m512i down = _mm512_sub_epi32(_mm512_set1_epi32(33), excess);
  sum[0] = _mm512_add_epi32(sum[0], _mm512_sllv_epi32(dot, excess));
  sum[1] = _mm512_add_epi32(sum[1], _mm512_srav_epi32(_mm512_slli_epi32(dot, 13), down));
}

INLINE __m512i whole_sums(__m512i low, __m512i high) {
  __m512i missing = _mm512_sub_epi64(_mm512_slli_epi64(high, 20), low);
  missing = _mm512_add_epi64(missing, _mm512_set1_epi64(INT64_C(1) << 31));
  return _mm512_add_epi64(low, _mm512_slli_epi64(_mm512_srai_epi64(missing, 32), 32));
}

INLINE void multiply_wide_rows(const a_panel_t *a, const b_panel_t *b, int r0, int first,
                               int64_t *sums) {
  __m512i sum[WIDE_ROWS][2][2];
#pragma GCC unroll 4
  for (int r = 0; r < WIDE_ROWS; r++) {
    sum[r][0][0] = sum[r][0][1] = sum[r][1][0] = sum[r][1][1] = _mm512_setzero_si512();
  }
  for (int64_t k = 0; k < a->blocks; k++) {
    __m512i quads[2][4], dot[2], excess[2];
    load_block(b, k, quads);
#pragma GCC unroll 4
    for (int r = 0; r < WIDE_ROWS; r++) {
      dots(a, b, k, r0 + r, quads, dot, excess);
      add_twice(dot[0], excess[0], sum[r][0]);
      add_twice(dot[1], excess[1], sum[r][1]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < WIDE_ROWS; r++) {
    for (int half = 0; half < 2; half++) {
      for (int odd = 0; odd < 2; odd++) {
        const __m512i whole =
            whole_sums(extended(sum[r][half][0], odd), extended(sum[r][half][1], odd));
        add_whole(whole, a->base[r0 + r], b->base[half][odd], first,
                  sums + (r0 + r) * COLS + 16 * half + 8 * odd);
      }
    }
  }
}

static void multiply(const void *a_panel, const void *b_panel, const void *table, int first,
                     void *sums) {
  const a_panel_t *a = a_panel;
  const b_panel_t *b = b_panel;
  (void)table;
  // The sum's bound, squared; the margin covers the rounding of the norms.
  if (a->norm2 * b->norm2 < 0x1p62 * 0.999) {
    multiply_narrow(a, b, first, sums);
  } else {
    for (int r = 0; r < ROWS; r += WIDE_ROWS) multiply_wide_rows(a, b, r, first, sums);
  }
}

static void store(const gemm_job_t *job, const gemm_tile_t *tile, const void *sums) {
  gemm_avx512_store(job, tile, COLS, sums);
}

GEMM_KERNEL(gemm_avx512_folded, int64_t, .store = store)

#else

GEMM_NO_KERNEL(gemm_avx512_folded)

#endif
