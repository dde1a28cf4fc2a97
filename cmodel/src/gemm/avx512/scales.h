// SPDX-License-Identifier: Apache-2.0
// E4M3 scales of a row's chunk of 32 blocks, relative to the smallest exponent among them, for the
// packings of the exact AVX-512 GEMMs. Only files that are compiled with AVX-512 may include this
// header.
#ifndef UFP4_GEMM_AVX512_SCALES_H
#define UFP4_GEMM_AVX512_SCALES_H

#include <immintrin.h>

#include "number/lanes.h"

// The scales of one row's chunk, a block per 16-bit lane.
typedef struct {
  __m512i significand, excess;  // 0 for blocks whose scale is zero or NaN
  __mmask32 zero;
  __mmask32 bit;  // bit 7 of each scale byte
  int base;
  int subnormal;  // some non-zero significand is under 8
  int nan;
} scales_t;

INLINE __mmask32 blocks_mask(int64_t blocks) {
  return blocks >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << blocks) - 1;
}

INLINE scales_t load_scales(const uint8_t *bytes, int64_t blocks) {
  const __m512i zero = _mm512_setzero_si512();
  const __m256i loaded = _mm256_maskz_loadu_epi8(blocks_mask(blocks), bytes);
  __m512i byte = _mm512_cvtepu8_epi16(loaded);
  byte = _mm512_and_si512(byte, _mm512_set1_epi16(0x7F));
  __mmask32 nan = _mm512_cmpeq_epi16_mask(byte, _mm512_set1_epi16(0x7F));
  byte = _mm512_mask_mov_epi16(byte, nan, zero);
  __m512i field = _mm512_srli_epi16(byte, 3);
  __mmask32 normal = _mm512_test_epi16_mask(field, field);
  __m512i low = _mm512_and_si512(byte, _mm512_set1_epi16(7));
  scales_t s = {.nan = nan != 0, .zero = _mm512_testn_epi16_mask(byte, byte)};
  s.bit = _mm256_movepi8_mask(loaded);
  s.significand = _mm512_or_si512(low, _mm512_maskz_set1_epi16(normal, 8));
  s.subnormal = (__mmask32)(~normal & ~s.zero) != 0;
  __m512i exponent = _mm512_maskz_sub_epi16(normal, field, _mm512_set1_epi16(1));
  // The smallest exponent of the non-zero scales; if there are none, any number will do.
  __m512i among = _mm512_mask_mov_epi16(exponent, s.zero, _mm512_set1_epi16(15));
  __m512i wide = _mm512_min_epi16(among, _mm512_srli_epi32(among, 16));
  s.base = _mm512_reduce_min_epi32(_mm512_and_si512(wide, _mm512_set1_epi32(0xFFFF)));
  s.excess = _mm512_maskz_sub_epi16(~s.zero, exponent, _mm512_set1_epi16((short)s.base));
  return s;
}

// The sum of squares of significand << excess, numbers under 2^18, rounded.
INLINE double scales_norm2(const scales_t *s) {
  const __m512i low = _mm512_set1_epi32(0xFFFF);
  __m512i even =
      _mm512_sllv_epi32(_mm512_and_si512(s->significand, low), _mm512_and_si512(s->excess, low));
  __m512i odd =
      _mm512_sllv_epi32(_mm512_srli_epi32(s->significand, 16), _mm512_srli_epi32(s->excess, 16));
  __m512 sum = _mm512_mul_ps(_mm512_cvtepi32_ps(even), _mm512_cvtepi32_ps(even));
  sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(odd), _mm512_cvtepi32_ps(odd), sum);
  return (double)_mm512_reduce_add_ps(sum);
}

// Returns a mask of the blocks 4g..4g+3 that exist.
INLINE __mmask8 four_of(int64_t blocks, int g) {
  return (__mmask8)(blocks >= 4 * g + 4 ? 15u : (1u << (blocks - 4 * g)) - 1);
}

// Multiplies bytes by a factor, the same for both bytes of a word; products fit a byte.
INLINE __m512i times(__m512i bytes, __m512i factor) {
  const __m512i low = _mm512_set1_epi16(0xFF);
  __m512i even = _mm512_mullo_epi16(_mm512_and_si512(bytes, low), factor);
  __m512i odd = _mm512_mullo_epi16(_mm512_andnot_si512(low, bytes), factor);
  return _mm512_mask_mov_epi8(odd, 0x5555555555555555, even);
}

// Repeats the words of blocks 4g..4g+3 over their 128-bit lanes.
INLINE __m512i spread(__m512i words, int g) {
  const __m512i lanes =
      _mm512_set_epi64(0x0003000300030003, 0x0003000300030003, 0x0002000200020002,
                       0x0002000200020002, 0x0001000100010001, 0x0001000100010001, 0, 0);
  return _mm512_permutexvar_epi16(_mm512_add_epi16(lanes, _mm512_set1_epi16((short)(4 * g))),
                                  words);
}

#endif
