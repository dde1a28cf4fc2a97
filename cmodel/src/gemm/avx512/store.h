// SPDX-License-Identifier: Apache-2.0
// The 64-bit sums of the exact AVX-512 GEMMs: adding chunks to them, and storing a tile. A tile's
// sums are stored by row, then by 16 columns, the 8 even ones before the 8 odd ones, because 32-bit
// lanes are cheaply extended to 64 bits in this order. Only files that are compiled with AVX-512
// may include this header.
#ifndef UFP4_GEMM_AVX512_STORE_H
#define UFP4_GEMM_AVX512_STORE_H

#include <immintrin.h>

#include "gemm/kernel.h"
#include "number/lanes.h"

#define STORE_ROWS 8  // rows of a tile

// Adds 8 sums, shifted by the exponents to which they are relative.
INLINE void add_whole(__m512i sum, int64_t base_a, const int64_t base_b[8], int first,
                      int64_t *out) {
  const __m512i base = _mm512_add_epi64(_mm512_set1_epi64(base_a), _mm512_load_si512(base_b));
  sum = _mm512_sllv_epi64(sum, base);
  if (!first) sum = _mm512_add_epi64(sum, _mm512_load_si512(out));
  _mm512_store_si512(out, sum);
}

// Adds the 32-bit sums of 16 columns, each of which is moved to the top of 64 bits and then shifted
// down to the position of its exponent.
INLINE void add_narrow(__m512i sum, int64_t base_a, const int64_t base_b[2][8], int first,
                       int64_t *out) {
  const __m512i room = _mm512_set1_epi64(32 - base_a),
                top = _mm512_set1_epi64(~INT64_C(0xFFFFFFFF));
#pragma GCC unroll 2
  for (int odd = 0; odd < 2; odd++) {
    __m512i raised = odd ? _mm512_and_si512(sum, top) : _mm512_slli_epi64(sum, 32);
    raised = _mm512_srav_epi64(raised, _mm512_sub_epi64(room, _mm512_load_si512(base_b[odd])));
    if (!first) raised = _mm512_add_epi64(raised, _mm512_load_si512(out + 8 * odd));
    _mm512_store_si512(out + 8 * odd, raised);
  }
}

// The even or the odd ones of 16 numbers.
INLINE __m512i extended(__m512i sum, int odd) {
  return _mm512_srai_epi64(odd ? sum : _mm512_slli_epi64(sum, 32), 32);
}

/** Member of gemm_kernel_t, for tiles of STORE_ROWS by @p cols, 16 or 32. */
void gemm_avx512_store(const gemm_job_t *job, const gemm_tile_t *tile, int cols,
                       const int64_t *sums);

#endif
