// SPDX-License-Identifier: Apache-2.0
// Results of the AVX-512 GEMM of the contract fp32 (fp32.h): accumulators to D.
#include "gemm/avx512/fp32.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#include "gemm/avx512/row.h"
#include "gemm/store.h"

// Adding zero turns -0 (of a sum under the smallest number) into +0 and changes nothing else.
INLINE __m512 load_sum(const float *from) {
  return _mm512_add_ps(_mm512_load_ps(from), _mm512_setzero_ps());
}

INLINE __mmask16 poisoned_columns(const uint8_t *poisoned) {
  const __m128i bytes = _mm_loadu_si128((const __m128i *)poisoned);
  return _mm_test_epi8_mask(bytes, bytes);
}

// 2^-(tA + tB) is a normal number, so multiplying by it rounds once.
static void store_half(const gemm_job_t *job, const gemm_tile_t *tile, int half, __m512 unit,
                       const float *sums) {
  const __mmask16 nan = poisoned_columns(tile->col_poisoned + 16 * half);
  const int cols = tile->cols - 16 * half < 16 ? tile->cols - 16 * half : 16;
  const __mmask16 inside = (__mmask16)((1u << cols) - 1);
  for (int r = 0; r < tile->rows; r++) {
    const __m512 value = _mm512_mul_ps(load_sum(sums + r * COLS + 16 * half), unit);
    const __mmask16 row_nan = (__mmask16)(tile->row_poisoned[r] ? 0xFFFFu : nan);
    store_row(job, value, row_nan, inside, tile->row + r, tile->col + 16 * half);
  }
}

// The fast case: FP32, only the sum, a whole tile.
static void store_plain(const gemm_job_t *job, const gemm_tile_t *tile, __m512 unit,
                        const float *sums) {
  float *to = (float *)job->d + tile->row * job->d_ld + tile->col;
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++, to += job->d_ld) {
    for (int half = 0; half < 2; half++) {
      const __m512 value = _mm512_mul_ps(load_sum(sums + r * COLS + 16 * half), unit);
      if (job->stream) {
        _mm512_stream_ps(to + 16 * half, value);
      } else {
        _mm512_storeu_ps(to + 16 * half, value);
      }
    }
  }
}

// FP32 scales can overflow to NaN, which store_row handles.
static int is_plain(const gemm_job_t *job, const gemm_tile_t *tile) {
  int poisoned = poisoned_columns(tile->col_poisoned) | poisoned_columns(tile->col_poisoned + 16);
  for (int r = 0; r < ROWS; r++) poisoned |= tile->row_poisoned[r];
  return gemm_is_bare(job) && job->a->scale != UFP4_SCALE_FP32 && tile->rows == ROWS &&
         tile->cols == COLS && !poisoned;
}

void gemm_avx512_fp32_store(const gemm_job_t *job, const gemm_tile_t *tile, const void *from) {
  const float *sums = from;
  const int exponent = -(job->a->exponent + job->b->exponent);
  if (exponent >= -126 && exponent <= 127) {
    if (is_plain(job, tile)) {
      store_plain(job, tile, unit_of(exponent), sums);
      return;
    }
    for (int half = 0; 16 * half < tile->cols; half++)
      store_half(job, tile, half, unit_of(exponent), sums);
    return;
  }
  gemm_store_tile_f32(job, tile, sums, COLS);
}

#endif
