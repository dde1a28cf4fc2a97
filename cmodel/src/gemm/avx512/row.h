// SPDX-License-Identifier: Apache-2.0
// The last step of the AVX-512 GEMMs: stores a row of 16 rounded sums in D. Only files that are
// compiled with AVX-512 may include this header.
#ifndef UFP4_GEMM_AVX512_ROW_H
#define UFP4_GEMM_AVX512_ROW_H

#include <immintrin.h>

#include "gemm/kernel.h"
#include "number/lanes.h"
#include "ufp4/format.h"

// Returns 2^exponent, or an arbitrary number if that is not a normal one.
INLINE __m512 unit_of(int exponent) {
  return _mm512_castsi512_ps(_mm512_set1_epi32((int)((unsigned)(127 + exponent) << 23)));
}

INLINE __m256i to_bf16(__m512 value) {
  __m512i bits = _mm512_castps_si512(value);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  bits = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
}

// Stores D[i][j..j+15] where @p inside is set. Each line is one operation, rounded once; lanes of
// @p nan are NaN.
INLINE void store_row(const gemm_job_t *job, __m512 value, __mmask16 nan, __mmask16 inside,
                      int64_t i, int64_t j) {
  const ufp4_gemm_t *how = job->how;
  const int64_t at = i * job->d_ld + j;
  if (job->scale != 1.0f) value = _mm512_mul_ps(value, _mm512_set1_ps(job->scale));
  if (how->alpha != 1.0f) value = _mm512_mul_ps(value, _mm512_set1_ps(how->alpha));
  if (how->c != NULL)
    value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(inside, how->c + i * how->c_ld + j));
  nan = (__mmask16)(nan | _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q));
  value = _mm512_mask_mov_ps(value, nan, _mm512_castsi512_ps(_mm512_set1_epi32(UFP4_F32_NAN)));
  if (how->d_dtype == UFP4_DTYPE_F32) {
    _mm512_mask_storeu_ps((float *)job->d + at, inside, value);
  } else {
    _mm256_mask_storeu_epi16((uint16_t *)job->d + at, inside, to_bf16(value));
  }
}

static inline void stream_finish(void) {
  _mm_sfence();
}

#endif
