// SPDX-License-Identifier: Apache-2.0
// The last step of the AVX2 GEMMs: stores a row of 16 rounded sums in D. Only files that are
// compiled with AVX2 may include this header.
#ifndef UFP4_GEMM_AVX2_ROW_H
#define UFP4_GEMM_AVX2_ROW_H

#include <immintrin.h>
#include <string.h>

#include "gemm/store.h"
#include "number/lanes.h"
#include "ufp4/format.h"

#define ROW_COLS 16

static inline int is_poisoned(const gemm_tile_t *tile, int tile_rows) {
  __m128i cols = _mm_loadu_si128((const __m128i *)tile->col_poisoned);
  int rows = 0;
  for (int r = 0; r < tile_rows; r++) rows |= tile->row_poisoned[r];
  return rows || !_mm_testz_si128(cols, cols);
}

static inline void store_row(const gemm_job_t *job, const gemm_tile_t *tile, int r,
                             float value[ROW_COLS]) {
  const ufp4_gemm_t *how = job->how;
  const int64_t i = tile->row + r, at = i * job->d_ld + tile->col;
  const float nan = ufp4_f32_value(UFP4_F32_NAN);
  // Each line is one operation, rounded once.
  if (job->scale != 1.0f) {
    for (int c = 0; c < ROW_COLS; c++) value[c] = value[c] * job->scale;
  }
  if (how->alpha != 1.0f) {
    for (int c = 0; c < ROW_COLS; c++) value[c] = value[c] * how->alpha;
  }
  if (how->c != NULL) {
    for (int c = 0; c < tile->cols; c++)
      value[c] = value[c] + how->c[i * how->c_ld + tile->col + c];
  }
  for (int c = 0; c < ROW_COLS; c++) value[c] = value[c] != value[c] ? nan : value[c];
  if (how->d_dtype == UFP4_DTYPE_F32) {
    memcpy((float *)job->d + at, value, (size_t)tile->cols * sizeof(float));
  } else {
    for (int c = 0; c < tile->cols; c++) ((uint16_t *)job->d)[at + c] = ufp4_bf16_cast(value[c]);
  }
}

// The fast case: FP32, only the sum, all columns.
static inline int is_plain(const gemm_job_t *job, const gemm_tile_t *tile) {
  return gemm_is_bare(job) && tile->cols == ROW_COLS;
}

INLINE void store_plain_row(const gemm_job_t *job, const gemm_tile_t *tile, int r, __m256 low,
                            __m256 high) {
  float *to = (float *)job->d + (tile->row + r) * job->d_ld + tile->col;
  if (job->stream) {
    _mm256_stream_ps(to, low);
    _mm256_stream_ps(to + 8, high);
  } else {
    _mm256_storeu_ps(to, low);
    _mm256_storeu_ps(to + 8, high);
  }
}

INLINE void store_halves(const gemm_job_t *job, const gemm_tile_t *tile, int r, int plain,
                         __m256 low, __m256 high) {
  float value[ROW_COLS];
  if (plain) {
    store_plain_row(job, tile, r, low, high);
    return;
  }
  _mm256_storeu_ps(value, low);
  _mm256_storeu_ps(value + 8, high);
  store_row(job, tile, r, value);
}

static inline void stream_finish(void) {
  _mm_sfence();
}

#endif
