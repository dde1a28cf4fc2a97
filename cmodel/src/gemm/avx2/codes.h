// SPDX-License-Identifier: Apache-2.0
// Functions that the packings of the AVX2 GEMMs share: codes to bytes, and quads of k by column.
// Only files that are compiled with AVX2 may include this header.
#ifndef UFP4_GEMM_AVX2_CODES_H
#define UFP4_GEMM_AVX2_CODES_H

#include <immintrin.h>
#include <string.h>

#include "number/lanes.h"
#include "ufp4/format.h"

#define OFFSET 16  // larger than any quanta

// Makes the table of bytes by code.
INLINE __m128i quanta_table(ufp4_elem_t elem, int shift, int offset) {
  int8_t bytes[16];
  for (unsigned code = 0; code < 16; code++) {
    bytes[code] = (int8_t)(ufp4_elem_quanta(elem, code) * (1 << shift) + offset);
  }
  return _mm_loadu_si128((const __m128i *)bytes);
}

// Makes the tables of both grids of mixed, indexed by bit 7 of a block's scale byte; other elements
// have the same table twice.
INLINE void quanta_tables(ufp4_elem_t elem, int shift, int offset, __m128i of_bit[2]) {
  for (unsigned bit = 0; bit < 2; bit++)
    of_bit[bit] = quanta_table(ufp4_elem_grid(elem, (uint8_t)(bit << 7)), shift, offset);
}

// Decodes the codes of a block to 16 bytes.
INLINE __m128i decode(const uint8_t codes[CODE_BYTES], __m128i table) {
  __m128i bytes = _mm_loadl_epi64((const __m128i *)codes), low = _mm_set1_epi8(15);
  __m128i nibbles =
      _mm_unpacklo_epi8(_mm_and_si128(bytes, low), _mm_and_si128(_mm_srli_epi16(bytes, 4), low));
  return _mm_shuffle_epi8(table, nibbles);
}

// Decodes two blocks, one in each half. If the second does not exist, its codes are 0.
INLINE __m256i decode_two(const uint8_t *codes, int both, __m256i tables) {
  const __m128i bytes =
      both ? _mm_loadu_si128((const __m128i *)codes) : _mm_loadl_epi64((const __m128i *)codes);
  const __m256i words = _mm256_cvtepu8_epi16(bytes);
  const __m256i nibbles = _mm256_or_si256(words, _mm256_slli_epi16(words, 4));
  return _mm256_shuffle_epi8(tables, _mm256_and_si256(nibbles, _mm256_set1_epi8(15)));
}

// Minus the sums of the even words and of the odd words.
INLINE void put_minus_sums(__m128i words, int16_t out[2]) {
  words = _mm_add_epi16(words, _mm_srli_si128(words, 8));
  words = _mm_sub_epi16(_mm_setzero_si128(), _mm_add_epi16(words, _mm_srli_si128(words, 4)));
  int pair = _mm_cvtsi128_si32(words);
  memcpy(out, &pair, sizeof pair);
}

// -OFFSET times the sums of k % 4 in {0, 1} and {2, 3}.
INLINE void put_start(__m128i elements, int16_t start[2]) {
  put_minus_sums(_mm_maddubs_epi16(_mm_set1_epi8(OFFSET), elements), start);
}

// Stores the quads of 8 columns, from 16 bytes of each: quad q at to + q * step.
INLINE void store_quads(const __m128i bytes[8], uint8_t *out, size_t step) {
  __m256i v[4];
  for (int i = 0; i < 4; i++)
    v[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(bytes[i]), bytes[4 + i], 1);
  __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
  __m256i d = _mm256_unpacklo_epi32(v[2], v[3]), e = _mm256_unpackhi_epi32(v[2], v[3]);
  _mm256_store_si256((__m256i *)(void *)out, _mm256_unpacklo_epi64(a, d));
  _mm256_store_si256((__m256i *)(void *)(out + step), _mm256_unpackhi_epi64(a, d));
  _mm256_store_si256((__m256i *)(void *)(out + 2 * step), _mm256_unpacklo_epi64(b, e));
  _mm256_store_si256((__m256i *)(void *)(out + 3 * step), _mm256_unpackhi_epi64(b, e));
}

// 8 x 8 transpose of 32-bit numbers. Of two blocks of 8 columns each: quads of the first block,
// then of the second.
INLINE void transpose_dwords(__m256i v[8]) {
  __m256i t[8];
  for (int i = 0; i < 8; i += 4) {
    const __m256i a = _mm256_unpacklo_epi32(v[i], v[i + 1]),
                  b = _mm256_unpackhi_epi32(v[i], v[i + 1]);
    const __m256i c = _mm256_unpacklo_epi32(v[i + 2], v[i + 3]),
                  d = _mm256_unpackhi_epi32(v[i + 2], v[i + 3]);
    t[i] = _mm256_unpacklo_epi64(a, c);
    t[i + 1] = _mm256_unpackhi_epi64(a, c);
    t[i + 2] = _mm256_unpacklo_epi64(b, d);
    t[i + 3] = _mm256_unpackhi_epi64(b, d);
  }
  for (int q = 0; q < 4; q++) {
    v[q] = _mm256_permute2x128_si256(t[q], t[4 + q], 0x20);
    v[4 + q] = _mm256_permute2x128_si256(t[q], t[4 + q], 0x31);
  }
}

#endif
