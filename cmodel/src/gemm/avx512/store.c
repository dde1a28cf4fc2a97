// SPDX-License-Identifier: Apache-2.0
// Results of the exact AVX-512 GEMMs: 64-bit sums to D.
#include "gemm/kernel.h"
#include "number/lanes.h"
#include "ufp4/format.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#include "gemm/avx512/row.h"
#include "gemm/avx512/store.h"
#include "gemm/store.h"

// 16 sums of a row of D in order, and the mask of those that are NaN.
typedef struct {
  __m512i sum[2];
  __mmask16 nan;
} row_sums_t;

INLINE void load_sums(const int64_t from[16], __m512i sum[2]) {
  const __m512i even = _mm512_load_si512(from), odd = _mm512_load_si512(from + 8);
  sum[0] = _mm512_permutex2var_epi64(even, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), odd);
  sum[1] = _mm512_permutex2var_epi64(even, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), odd);
}

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

// The conversion rounds once; the multiplication by 2^exponent is then exact.
INLINE __m512 rounded(__m512i sum0, __m512i sum1, __m512i order, __m512 unit) {
  const __m512 low = _mm512_castps256_ps512(_mm512_cvtepi64_ps(sum0));
  const __m512 high = _mm512_castps256_ps512(_mm512_cvtepi64_ps(sum1));
  return _mm512_mul_ps(_mm512_permutex2var_ps(low, order, high), unit);
}

INLINE void store_i64(int64_t *out, __mmask16 inside, const row_sums_t *row) {
  const __m512i nan = _mm512_set1_epi64(UFP4_I64_NAN);
  for (int half = 0; half < 2; half++) {
    __m512i sum = _mm512_mask_mov_epi64(row->sum[half], (__mmask8)(row->nan >> (8 * half)), nan);
    _mm512_mask_storeu_epi64(out + 8 * half, (__mmask8)(inside >> (8 * half)), sum);
  }
}

// Stores 16 columns with the sums @p sums. 2^exponent times any sum must be a normal number, or
// overflow to Inf as the contract requires.
static void store_columns(const gemm_job_t *job, const gemm_tile_t *tile, int first, int ld,
                          const int64_t *sums) {
  const ufp4_gemm_t *how = job->how;
  const __m512 unit = unit_of(job->exponent);
  const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  const __mmask16 inside =
      (__mmask16)((1u << (tile->cols - first < 16 ? tile->cols - first : 16)) - 1);
  const __m128i poisoned = _mm_loadu_si128((const __m128i *)(tile->col_poisoned + first));
  for (int r = 0; r < tile->rows; r++) {
    const int64_t i = tile->row + r, j = tile->col + first;
    row_sums_t row = {.nan =
                          tile->row_poisoned[r] ? 0xFFFF : _mm_test_epi8_mask(poisoned, poisoned)};
    load_sums(sums + r * ld, row.sum);
    if (how->accumulate != NULL)
      accumulate(how->accumulate + i * how->accumulate_ld + j, inside, &row);
    if (how->d_dtype == UFP4_DTYPE_I64) {
      store_i64((int64_t *)job->d + i * job->d_ld + j, inside, &row);
    } else {
      store_row(job, rounded(row.sum[0], row.sum[1], order, unit), row.nan, inside, i, j);
    }
  }
}

// The fast case: FP32, only the sum, a whole tile.
INLINE void store_plain(const gemm_job_t *job, const gemm_tile_t *tile, int cols,
                        const int64_t *sums) {
  const __m512 unit = unit_of(job->exponent);
  const __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  float *to = (float *)job->d + tile->row * job->d_ld + tile->col;
#pragma GCC unroll 8
  for (int r = 0; r < STORE_ROWS; r++, to += job->d_ld, sums += cols) {
    for (int c = 0; c < cols; c += 16) {
      const __m512 value =
          rounded(_mm512_load_si512(sums + c), _mm512_load_si512(sums + c + 8), order, unit);
      if (job->stream) {
        _mm512_stream_ps(to + c, value);
      } else {
        _mm512_storeu_ps(to + c, value);
      }
    }
  }
}

static int is_plain(const gemm_job_t *job, const gemm_tile_t *tile, int cols) {
  int poisoned = 0;
  for (int r = 0; r < STORE_ROWS; r++) poisoned |= tile->row_poisoned[r];
  for (int c = 0; c < cols; c++) poisoned |= tile->col_poisoned[c];
  return gemm_is_bare(job) && job->how->accumulate == NULL && tile->rows == STORE_ROWS &&
         tile->cols == cols && !poisoned;
}

static void store_any_exponent(const gemm_job_t *job, const gemm_tile_t *tile, int cols,
                               const int64_t *sums) {
  _Alignas(64) int64_t ordered[STORE_ROWS * 32];
  for (int at = 0; at < STORE_ROWS * cols; at += 16) {
    __m512i sum[2];
    load_sums(sums + at, sum);
    _mm512_store_si512(ordered + at, sum[0]);
    _mm512_store_si512(ordered + at + 8, sum[1]);
  }
  gemm_store_tile(job, tile, ordered, cols);
}

void gemm_avx512_store(const gemm_job_t *job, const gemm_tile_t *tile, int cols,
                       const int64_t *sums) {
  if (job->how->d_dtype != UFP4_DTYPE_I64 && (job->exponent < -126 || job->exponent > 127)) {
    store_any_exponent(job, tile, cols, sums);
  } else if (!is_plain(job, tile, cols)) {
    for (int c = 0; c < tile->cols; c += 16) store_columns(job, tile, c, cols, sums + c);
  } else if (cols == 16) {
    store_plain(job, tile, 16, sums);
  } else {
    store_plain(job, tile, 32, sums);
  }
}

#endif
