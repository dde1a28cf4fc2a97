// SPDX-License-Identifier: Apache-2.0
// Functions that the packings of the AVX-512 GEMMs share: codes to bytes, and transposes. Only
// files that are compiled with AVX-512 may include this header.
#ifndef UFP4_GEMM_AVX512_CODES_H
#define UFP4_GEMM_AVX512_CODES_H

#include <immintrin.h>

#include "number/lanes.h"
#include "ufp4/format.h"

INLINE __m512i quanta_table(ufp4_elem_t elem, int offset) {
  int8_t bytes[16];
  for (unsigned code = 0; code < 16; code++)
    bytes[code] = (int8_t)(ufp4_elem_quanta(elem, code) + offset);
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)bytes));
}

// The tables of quanta by bit 7 of a block's scale byte, which selects the grid of elements mixed.
typedef struct {
  __m512i of_bit[2];
} quanta_tables_t;

INLINE quanta_tables_t quanta_tables(ufp4_elem_t elem, int offset) {
  return (quanta_tables_t){{quanta_table(ufp4_elem_grid(elem, 0), offset),
                            quanta_table(ufp4_elem_grid(elem, 0x80), offset)}};
}

// Selects the table of each of 4 blocks by its bit.
INLINE __m512i table_of(const quanta_tables_t *tables, unsigned bits) {
  static const uint8_t halves[16] = {0x00, 0x03, 0x0C, 0x0F, 0x30, 0x33, 0x3C, 0x3F,
                                     0xC0, 0xC3, 0xCC, 0xCF, 0xF0, 0xF3, 0xFC, 0xFF};
  return _mm512_mask_blend_epi64((__mmask8)halves[bits & 15], tables->of_bit[0], tables->of_bit[1]);
}

// Decodes 64 quanta of 4 blocks, one block per 128-bit lane. Blocks that @p wanted does not select
// are not read and have code 0.
INLINE __m512i load_quanta(const uint8_t *codes, __mmask8 wanted, __m512i table) {
  __m512i words = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi64(wanted, codes));
  words =
      _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16(words, 4)), _mm512_set1_epi8(15));
  return _mm512_shuffle_epi8(table, words);
}

// -offset times the sums of the four blocks.
INLINE __m128i starts(__m512i quanta, int offset) {
  const __m512i zero = _mm512_setzero_si512();
  __m512i sum = _mm512_dpbusd_epi32(zero, _mm512_set1_epi8((char)offset), quanta);
  sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_BADC));
  sum = _mm512_sub_epi32(zero, _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_CDAB)));
  const __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castsi512_si128(_mm512_permutexvar_epi32(lanes, sum));
}

// 16 x 16 transpose of 32-bit numbers: within 128-bit lanes, then of the lanes.
INLINE void transpose_dwords(__m512i v[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 4) {
    __m512i a = _mm512_unpacklo_epi32(v[i], v[i + 1]), b = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    __m512i c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]),
            d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
    t[i] = _mm512_unpacklo_epi64(a, c);
    t[i + 1] = _mm512_unpackhi_epi64(a, c);
    t[i + 2] = _mm512_unpacklo_epi64(b, d);
    t[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
  // Lane l of t[i + j] holds number 4l + j of vectors i..i+3.
  for (int j = 0; j < 4; j++) {
    __m512i a = _mm512_shuffle_i64x2(t[j], t[4 + j], 0x88),
            b = _mm512_shuffle_i64x2(t[j], t[4 + j], 0xDD);
    __m512i c = _mm512_shuffle_i64x2(t[8 + j], t[12 + j], 0x88),
            d = _mm512_shuffle_i64x2(t[8 + j], t[12 + j], 0xDD);
    v[j] = _mm512_shuffle_i64x2(a, c, 0x88);
    v[4 + j] = _mm512_shuffle_i64x2(b, d, 0x88);
    v[8 + j] = _mm512_shuffle_i64x2(a, c, 0xDD);
    v[12 + j] = _mm512_shuffle_i64x2(b, d, 0xDD);
  }
}

#endif
