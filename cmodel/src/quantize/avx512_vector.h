// SPDX-License-Identifier: Apache-2.0
// The vector operations of the quantizer (vector_walk.h) for AVX-512: a tile is 16 blocks, one
// block per lane.
#ifndef UFP4_QUANTIZE_AVX512_VECTOR_H
#define UFP4_QUANTIZE_AVX512_VECTOR_H

#include <immintrin.h>

#include "quantize/tile.h"

#define TILE 16  // blocks of a tile

typedef __m512i words_t;
typedef __m512 floats_t;
typedef __mmask16 mask_t;
typedef __m256i places_t;  // a 16-bit number per block

// Intrinsics that have the same name in both instruction sets.
#define V(op) _mm512_##op
#define BITS(op) _mm512_##op##_si512

INLINE words_t as_words(floats_t x) {
  return _mm512_castps_si512(x);
}

INLINE floats_t as_floats(words_t x) {
  return _mm512_castsi512_ps(x);
}

// --- Memory -------------------------------------------------------------------------------------

INLINE words_t load_aligned(const void *from) {
  return _mm512_load_si512(from);
}

INLINE words_t load(const void *from) {
  return _mm512_loadu_si512(from);
}

INLINE void store_aligned(void *target, words_t x) {
  _mm512_store_si512(target, x);
}

INLINE void store(void *target, words_t x) {
  _mm512_storeu_si512(target, x);
}

INLINE words_t load_bf16(const uint16_t *from) {
  return _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from)), 16);
}

// Loads the first @p count elements, up to TILE; those beyond are not read, and are zero.
INLINE words_t load_first(const ufp4_matrix_t *in, int64_t index, int64_t count) {
  const mask_t some = (mask_t)((1 << count) - 1);
  if (in->dtype == UFP4_DTYPE_F32)
    return _mm512_maskz_loadu_epi32(some, (const float *)in->data + index);
  const __m256i halves = _mm256_maskz_loadu_epi16(some, (const uint16_t *)in->data + index);
  return _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
}

// --- Bits ---------------------------------------------------------------------------------------

// Selects each bit from @p a where @p by has a one, otherwise from @p b.
INLINE words_t chosen(words_t by, words_t a, words_t b) {
  return _mm512_ternarylogic_epi32(by, a, b, 0xCA);
}

#define rotated(x, by) _mm512_rol_epi32(x, by)

// Repeats these 128 bits.
INLINE words_t quad(int w3, int w2, int w1, int w0) {
  return _mm512_set4_epi32(w3, w2, w1, w0);
}

// Replaces bytes of x by shuffled bytes of a where @p pattern says so: its 4 bits are the bytes of
// each word.
INLINE words_t shuffled_into(words_t x, unsigned pattern, words_t a, words_t order) {
  return _mm512_mask_shuffle_epi8(x, pattern * UINT64_C(0x1111111111111111), a, order);
}

// Takes the lower half of each word of @p lower and the upper half of each word of @p upper.
INLINE words_t upper_halves_into(words_t lower, words_t upper) {
  return _mm512_mask_blend_epi16(0xAAAAAAAA, lower, upper);
}

// Looks up, for each lane, one of the 8 words at @p table by the lane's lowest three bits.
INLINE words_t looked_up(const uint32_t table[8], words_t which) {
  return _mm512_permutexvar_epi32(
      which, _mm512_broadcast_i32x8(_mm256_load_si256((const __m256i *)table)));
}

// --- Masks --------------------------------------------------------------------------------------

INLINE mask_t none(void) {
  return 0;
}

INLINE int any(mask_t mask) {
  return mask != 0;
}

INLINE words_t where(mask_t mask, words_t x) {
  return _mm512_maskz_mov_epi32(mask, x);
}

INLINE mask_t equal(words_t a, words_t b) {
  return _mm512_cmpeq_epi32_mask(a, b);
}

INLINE mask_t unequal(words_t a, words_t b) {
  return _mm512_cmpneq_epi32_mask(a, b);
}

INLINE mask_t above(words_t a, words_t b) {
  return _mm512_cmpgt_epi32_mask(a, b);
}

INLINE mask_t above_unsigned(words_t a, words_t b) {
  return _mm512_cmpgt_epu32_mask(a, b);
}

INLINE mask_t not_above_unsigned(words_t a, words_t b) {
  return _mm512_cmple_epu32_mask(a, b);
}

// The lanes in which some bit of @p bits is set, and those in which none is.
INLINE mask_t has(words_t x, words_t bits) {
  return _mm512_test_epi32_mask(x, bits);
}

INLINE mask_t lacks(words_t x, words_t bits) {
  return _mm512_testn_epi32_mask(x, bits);
}

INLINE mask_t floats_differ(floats_t a, floats_t b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}

INLINE mask_t floats_less(floats_t a, floats_t b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

// --- Arithmetic ---------------------------------------------------------------------------------

INLINE floats_t truncated_float(floats_t x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

INLINE floats_t least_magnitude(floats_t a, floats_t b) {
  return _mm512_range_ps(a, b, 10);
}

INLINE floats_t nearest_integer(floats_t x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT);
}

// Round non-negative numbers toward zero.
INLINE floats_t float_below(words_t x) {
  return _mm512_cvt_roundepi32_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

INLINE floats_t quotient_below(floats_t a, floats_t b) {
  return _mm512_div_round_ps(a, b, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

INLINE int largest_lane(words_t x) {
  return _mm512_reduce_max_epi32(x);
}

// --- Places of scales ---------------------------------------------------------------------------

INLINE places_t all_places(int16_t x) {
  return _mm256_set1_epi16(x);
}

INLINE places_t load_places(const int16_t *from) {
  return _mm256_loadu_si256((const __m256i *)from);
}

INLINE void store_places(int16_t *target, places_t x) {
  _mm256_storeu_si256((__m256i *)target, x);
}

// Converts words under 2^15 to places; zero outside the mask.
INLINE places_t places_of(mask_t mask, words_t x) {
  return _mm512_maskz_cvtepi32_epi16(mask, x);
}

// Adds @p shift to places that are not zero, and converts them to bytes. @return whether one is
// outside low .. high.
INLINE int bytes_of_places(places_t places, int16_t shift, int low, int high,
                           uint8_t target[TILE]) {
  const mask_t some = _mm256_test_epi16_mask(places, places);
  const __m256i byte = _mm256_maskz_adds_epi16(some, places, _mm256_set1_epi16(shift));
  _mm_storeu_si128((__m128i *)target, _mm256_cvtepi16_epi8(byte));
  const __m256i over = _mm256_sub_epi16(byte, _mm256_set1_epi16((short)low));
  return _mm256_mask_cmpgt_epu16_mask(some, over, _mm256_set1_epi16((short)(high - low))) != 0;
}

// --- Transposes ---------------------------------------------------------------------------------

// Vector i, block i's elements, becomes element i of all blocks.
INLINE void transpose(words_t v[BLOCK]) {
  words_t a[16], b[16];
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
  // b[4g + j] holds in its quarter c the words 4c + j of rows 4g .. 4g + 3.
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

// Stores the codes of elements 0 to 7 and 8 to 15 of each block as blocks, in order.
INLINE void interleave(const words_t codes[2], words_t blocks[2]) {
  const words_t low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const words_t even = _mm512_unpacklo_epi32(codes[0], codes[1]),
                odd = _mm512_unpackhi_epi32(codes[0], codes[1]);
  blocks[0] = _mm512_permutex2var_epi64(even, low, odd);
  blocks[1] = _mm512_permutex2var_epi64(even, high, odd);
}

// Transposes words of 8 bytes, 8 x 8.
INLINE void transpose8(words_t v[8]) {
  words_t a[8], b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]);
  }
#pragma GCC unroll 2
  for (int j = 0; j < 2; j++) {
    b[j] = _mm512_shuffle_i64x2(a[j], a[2 + j], 0x88);
    b[2 + j] = _mm512_shuffle_i64x2(a[j], a[2 + j], 0xDD);
    b[4 + j] = _mm512_shuffle_i64x2(a[4 + j], a[6 + j], 0x88);
    b[6 + j] = _mm512_shuffle_i64x2(a[4 + j], a[6 + j], 0xDD);
  }
#pragma GCC unroll 2
  for (int j = 0; j < 2; j++) {
    v[j] = _mm512_shuffle_i64x2(b[j], b[4 + j], 0x88);
    v[4 + j] = _mm512_shuffle_i64x2(b[j], b[4 + j], 0xDD);
    v[2 + j] = _mm512_shuffle_i64x2(b[2 + j], b[6 + j], 0x88);
    v[6 + j] = _mm512_shuffle_i64x2(b[2 + j], b[6 + j], 0xDD);
  }
}

// Stores the codes of 8 tiles along k in interleave's order: the first @p count of block i at @p
// target + i * step bytes; if @p stream, whole lines past the caches.
INLINE void store_lines(const words_t codes[8][2], int count, int stream, uint8_t *target,
                        int64_t step) {
  const __mmask8 some = (__mmask8)((1 << count) - 1);
  for (int half = 0; half < 2; half++) {
    words_t v[8];
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) {
      v[k] = half ? _mm512_unpackhi_epi32(codes[k][0], codes[k][1])
                  : _mm512_unpacklo_epi32(codes[k][0], codes[k][1]);
    }
    transpose8(v);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      uint8_t *line = target + (4 * (i / 2) + 2 * half + i % 2) * step;
      if (stream) {
        _mm512_stream_si512((void *)line, v[i]);
      } else {
        _mm512_mask_storeu_epi64(line, some, v[i]);
      }
    }
  }
}

#endif
