// SPDX-License-Identifier: Apache-2.0
// Results of the AVX-512 GEMM (gemm_avx512.h): sums to D.
#include "gemm_avx512.h"
#include "internal.h"
#include "ufp4/format.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__AVX512VNNI__)
#include <string.h>

#include "gemm_avx512_row.h"

// 16 sums of a row of D, and which of them are NaN.
typedef struct {
  __m512i sum[2];
  __mmask16 nan;
} row_sums_t;

INLINE void accumulate(const int64_t *from, __mmask16 inside, row_sums_t *row) {
  const __m512i nan = _mm512_set1_epi64(UFP4_I64_NAN);
  for (int half = 0; half < 2; half++) {
    __m512i earlier = _mm512_maskz_loadu_epi64((__mmask8)(inside >> (8 * half)), from + 8 * half);
    __mmask8 was_nan = _mm512_cmpeq_epi64_mask(earlier, nan);
    row->sum[half] = _mm512_add_epi64(row->sum[half], earlier);
    was_nan = (__mmask8)(was_nan | _mm512_cmpeq_epi64_mask(row->sum[half], nan));
    row->nan = (__mmask16)(row->nan | was_nan << (8 * half));
  }
}

// One rounding, the conversion's: times 2^exponent then is exact.
INLINE __m512 rounded(const row_sums_t *row, __m512 unit) {
  __m512i low = _mm512_castsi256_si512(_mm256_castps_si256(_mm512_cvtepi64_ps(row->sum[0])));
  __m256i high = _mm256_castps_si256(_mm512_cvtepi64_ps(row->sum[1]));
  return _mm512_mul_ps(_mm512_castsi512_ps(_mm512_inserti64x4(low, high, 1)), unit);
}

INLINE void store_i64(int64_t *to, __mmask16 inside, const row_sums_t *row) {
  const __m512i nan = _mm512_set1_epi64(UFP4_I64_NAN);
  for (int half = 0; half < 2; half++) {
    __m512i sum = _mm512_mask_mov_epi64(row->sum[half], (__mmask8)(row->nan >> (8 * half)), nan);
    _mm512_mask_storeu_epi64(to + 8 * half, (__mmask8)(inside >> (8 * half)), sum);
  }
}

// For exponents with which 2^exponent times any sum is a normal number, or Inf as it should.
static void store_rows(const gemm_job_t *job, const gemm_tile_t *tile, __mmask16 col_poisoned, const int64_t *sums) {
  const ufp4_gemm_t *how = job->how;
  const __m512 unit = unit_of(job->exponent);
  const __mmask16 inside = (__mmask16)((1u << tile->cols) - 1);
  for (int r = 0; r < tile->rows; r++) {
    const int64_t i = tile->row + r, j = tile->col;
    row_sums_t row = {.nan = tile->row_poisoned[r] ? 0xFFFF : col_poisoned};
    row.sum[0] = _mm512_load_si512(sums + r * COLS);
    row.sum[1] = _mm512_load_si512(sums + r * COLS + 8);
    if (how->accumulate != NULL) accumulate(how->accumulate + i * how->accumulate_ld + j, inside, &row);
    if (how->d_dtype == UFP4_DTYPE_I64) {
      store_i64((int64_t *)job->d + i * job->d_ld + j, inside, &row);
      continue;
    }
    store_row(job, rounded(&row, unit), row.nan, inside, i, j);
  }
}

// The usual case: FP32, nothing but the sum, a whole tile.
static void store_plain(const gemm_job_t *job, const gemm_tile_t *tile, const int64_t *sums) {
  const __m512 unit = unit_of(job->exponent);
  float *to = (float *)job->d + tile->row * job->d_ld + tile->col;
  const int64_t ld = job->d_ld;
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
    row_sums_t row = {.sum = {_mm512_load_si512(sums + r * COLS), _mm512_load_si512(sums + r * COLS + 8)}};
    if (job->stream) {
      _mm512_stream_ps(to + r * ld, rounded(&row, unit));
    } else {
      _mm512_storeu_ps(to + r * ld, rounded(&row, unit));
    }
  }
}

static int is_plain(const gemm_job_t *job, const gemm_tile_t *tile, __mmask16 col_poisoned) {
  uint64_t row_poisoned;
  memcpy(&row_poisoned, tile->row_poisoned, sizeof row_poisoned);
  return gemm_is_bare(job) && job->how->accumulate == NULL && tile->rows == ROWS && tile->cols == COLS &&
         row_poisoned == 0 && col_poisoned == 0;
}

void gemm_avx512_store(const gemm_job_t *job, const gemm_tile_t *tile, const void *from) {
  const int64_t *sums = from;
  if (job->how->d_dtype == UFP4_DTYPE_I64 || (job->exponent >= -126 && job->exponent <= 127)) {
    __m128i poisoned = _mm_loadu_si128((const __m128i *)tile->col_poisoned);
    __mmask16 col_poisoned = _mm_test_epi8_mask(poisoned, poisoned);
    if (is_plain(job, tile, col_poisoned)) {
      store_plain(job, tile, sums);
    } else {
      store_rows(job, tile, col_poisoned, sums);
    }
    return;
  }
  gemm_store_tile(job, tile, sums, COLS);
}

#endif
