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
#define FOUR_ROUNDS(r0, r1, r2, r3, r4, r5, r6, r7) \
  do {                                              \
    MIX(x0, x1, r0);                                \
    MIX(x2, x3, r1);                                \
    MIX(x0, x3, r2);                                \
    MIX(x2, x1, r3);                                \
    MIX(x0, x1, r4);                                \
    MIX(x2, x3, r5);                                \
    MIX(x0, x3, r6);                                \
    MIX(x2, x1, r7);                                \
  } while (0)
#define INJECT(k0, k1, k2, k3)                               \
  do {                                                       \
    x0 = _mm512_add_epi32(x0, _mm512_set1_epi32((int)(k0))); \
    x1 = _mm512_add_epi32(x1, _mm512_set1_epi32((int)(k1))); \
    x2 = _mm512_add_epi32(x2, _mm512_set1_epi32((int)(k2))); \
    x3 = _mm512_add_epi32(x3, _mm512_set1_epi32((int)(k3))); \
  } while (0)

// Threefry-4x32 with 12 rounds, for groups first + offset (random.c has the portable one). Each word is complemented:
// what is wanted is 255 minus each byte.
INLINE void random_words(const ufp4_quantize_t *how, uint64_t first, const uint64_t offset[TILE], __m512i words[4]) {
  const uint32_t k0 = (uint32_t)how->seed, k1 = (uint32_t)(how->seed >> 32), k4 = 0x1BD11BDAu ^ k0 ^ k1;
  const __m512i base = _mm512_set1_epi64((long long)first);
  const __m512i low = _mm512_add_epi64(base, _mm512_load_si512(offset));
  const __m512i high = _mm512_add_epi64(base, _mm512_load_si512(offset + 8));
  __m512i x0 = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)), _mm512_cvtepi64_epi32(high), 1);
  __m512i x1 = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(_mm512_srli_epi64(low, 32))),
                                  _mm512_cvtepi64_epi32(_mm512_srli_epi64(high, 32)), 1);
  __m512i x2 = _mm512_set1_epi32((int)(uint32_t)how->tensor_id);
  __m512i x3 = _mm512_set1_epi32((int)(uint32_t)(how->tensor_id >> 32));
  x0 = _mm512_add_epi32(x0, _mm512_set1_epi32((int)k0));
  x1 = _mm512_add_epi32(x1, _mm512_set1_epi32((int)k1));
  FOUR_ROUNDS(10, 26, 11, 21, 13, 27, 23, 5);
  INJECT(k1, 0, 0, k4 + 1);
  FOUR_ROUNDS(6, 20, 17, 11, 25, 10, 18, 20);
  INJECT(0, 0, k4, k0 + 2);
  FOUR_ROUNDS(10, 26, 11, 21, 13, 27, 23, 5);
  INJECT(0, k4, k0, k1 + 3);
  const __m512i ones = _mm512_set1_epi32(-1);
  words[0] = _mm512_xor_si512(x0, ones);
  words[1] = _mm512_xor_si512(x1, ones);
  words[2] = _mm512_xor_si512(x2, ones);
  words[3] = _mm512_xor_si512(x3, ones);
}

// --- Scale -------------------------------------------------------------------------------------------

typedef struct {
  __m512i place;    // amax / odd rounded to 1.mmm x 2^b, as 8 b + mmm
  __mmask16 below;  // what was rounded is more than that
  __m512i top;      // floor(log2(amax)), and one more where amax * 2^-that > 7 odd * 2^-(its log2)
} scale512_t;

// amax = significand * 2^(exponent - 23), significand in [2^23, 2^24), and a little more where sticky. As tile.c does.
INLINE void scale_of(__m512i significand, __m512i exponent, __mmask16 sticky, int odd, int up, scale512_t *out) {
  const __m512i one = _mm512_set1_epi32(1);
  __m512i high = _mm512_srli_epi32(significand, 11);
  __m512i quotient = odd == 3 ? _mm512_srli_epi32(_mm512_mullo_epi32(high, _mm512_set1_epi32(43691)), 17)
                              : _mm512_srli_epi32(_mm512_mullo_epi32(high, _mm512_set1_epi32(9363)), 16);
  __mmask16 rest = sticky | _mm512_test_epi32_mask(significand, _mm512_set1_epi32(0x7FF)) |
                   _mm512_cmpneq_epi32_mask(_mm512_mullo_epi32(quotient, _mm512_set1_epi32(odd)), high);
  const int least = odd == 3 ? 10 : 9;
  __mmask16 larger = _mm512_cmpge_epi32_mask(quotient, _mm512_set1_epi32(2 << least));
  __m512i shift = _mm512_mask_add_epi32(_mm512_set1_epi32(least - 3), larger, _mm512_set1_epi32(least - 3), one);
  __m512i kept = _mm512_srlv_epi32(quotient, shift);
  __m512i left = _mm512_slli_epi32(_mm512_sub_epi32(quotient, _mm512_sllv_epi32(kept, shift)), 1);
  left = _mm512_mask_add_epi32(left, rest, left, one);
  __m512i half = _mm512_sub_epi32(_mm512_sllv_epi32(one, shift), _mm512_and_si512(kept, one));
  __mmask16 inexact = _mm512_test_epi32_mask(left, left);
  __mmask16 raise = up ? inexact : _mm512_cmpgt_epi32_mask(left, half);
  __m512i binade = _mm512_add_epi32(_mm512_add_epi32(exponent, shift), _mm512_set1_epi32(3 - 12));
  __m512i place = _mm512_add_epi32(_mm512_slli_epi32(binade, 3), _mm512_sub_epi32(kept, _mm512_set1_epi32(8)));
  out->place = _mm512_mask_add_epi32(place, raise, place, one);
  out->below = (__mmask16)(inexact & ~raise);
  const __m512i limit = _mm512_set1_epi32(odd == 3 ? 21 << 19 : 49 << 18);
  __mmask16 over = _mm512_cmpgt_epi32_mask(significand, limit) | (sticky & _mm512_cmpeq_epi32_mask(significand, limit));
  out->top = _mm512_mask_add_epi32(exponent, over, exponent, one);
}

#endif
