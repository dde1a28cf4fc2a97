// SPDX-License-Identifier: Apache-2.0
// Steps of the AVX-512 quantizer on a tile of 16 blocks, one block per lane; quantize_avx512.c says how they fit
// together.
#ifndef UFP4_QUANTIZE_AVX512_H
#define UFP4_QUANTIZE_AVX512_H

#include <immintrin.h>

#include "internal.h"

#define TILE 16  // blocks

// --- Transpose ---------------------------------------------------------------------------------------

// Row i of a 16 x 16 matrix of words becomes column i.
INLINE void transpose(__m512i v[16]) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  // b[4g + j] has in its quarter c words 4c + j of rows 4g .. 4g + 3.
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    a[j] = _mm512_shuffle_i32x4(b[j], b[4 + j], 0x88);
    a[4 + j] = _mm512_shuffle_i32x4(b[j], b[4 + j], 0xDD);
    a[8 + j] = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0x88);
    a[12 + j] = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0xDD);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    v[j] = _mm512_shuffle_i32x4(a[j], a[8 + j], 0x88);
    v[8 + j] = _mm512_shuffle_i32x4(a[j], a[8 + j], 0xDD);
    v[4 + j] = _mm512_shuffle_i32x4(a[4 + j], a[12 + j], 0x88);
    v[12 + j] = _mm512_shuffle_i32x4(a[4 + j], a[12 + j], 0xDD);
  }
}

// --- Random words ------------------------------------------------------------------------------------

#define MIX(a, b, by)                                 \
  do {                                                \
    a = _mm512_add_epi32(a, b);                       \
    b = _mm512_xor_si512(_mm512_rol_epi32(b, by), a); \
  } while (0)
#define TWO_ROUNDS(r0, r1, r2, r3) \
  do {                             \
    MIX(x0, x1, r0);               \
    MIX(x2, x3, r1);               \
    MIX(x0, x3, r2);               \
    MIX(x2, x1, r3);               \
  } while (0)

// Threefry-4x32 with 12 rounds, of groups under 2^32 (random.c has the portable one). What of it no group changes:
typedef struct {
  uint32_t k0, k1, k4, sum, turned;  // key words, two of them added, the second one rotated
  uint32_t c2, c3, turned3;          // the third and fourth counter word after the first round; the latter rotated
} random512_t;

INLINE uint32_t rotate_word(uint32_t word, unsigned by) {
  return word << by | word >> (32 - by);
}

static inline random512_t random_of(uint64_t seed, uint64_t tensor_id) {
  const uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  const uint32_t low = (uint32_t)tensor_id, high = (uint32_t)(tensor_id >> 32);
  const uint32_t c2 = low + high, c3 = rotate_word(high, 26) ^ c2;
  return (random512_t){k0, k1, 0x1BD11BDAu ^ k0 ^ k1, k0 + k1, rotate_word(k1, 10), c2, c3, rotate_word(c3, 11)};
}

INLINE __m512i all_words(uint32_t word) {
  return _mm512_set1_epi32((int)word);
}

// Each word is complemented: what is wanted is 255 minus each byte.
INLINE void random_words(const random512_t *random, __m512i groups, __m512i words[4]) {
  __m512i x0 = _mm512_add_epi32(groups, all_words(random->sum));
  __m512i x1 = _mm512_xor_si512(x0, all_words(random->turned));
  x0 = _mm512_add_epi32(x0, all_words(random->c3));
  __m512i x3 = _mm512_xor_si512(x0, all_words(random->turned3));
  __m512i x2 = _mm512_add_epi32(x1, all_words(random->c2));
  x1 = _mm512_xor_si512(_mm512_rol_epi32(x1, 21), x2);
  TWO_ROUNDS(13, 27, 23, 5);
  x0 = _mm512_add_epi32(x0, all_words(random->k1));
  x3 = _mm512_add_epi32(x3, all_words(random->k4 + 1));
  TWO_ROUNDS(6, 20, 17, 11);
  TWO_ROUNDS(25, 10, 18, 20);
  x2 = _mm512_add_epi32(x2, all_words(random->k4));
  x3 = _mm512_add_epi32(x3, all_words(random->k0 + 2));
  TWO_ROUNDS(10, 26, 11, 21);
  TWO_ROUNDS(13, 27, 23, 5);
  // ~(x + k) = ~k - x
  words[0] = _mm512_xor_si512(x0, all_words(UINT32_MAX));
  words[1] = _mm512_sub_epi32(all_words(~random->k4), x1);
  words[2] = _mm512_sub_epi32(all_words(~random->k0), x2);
  words[3] = _mm512_sub_epi32(all_words(~(random->k1 + 3)), x3);
}

#endif
