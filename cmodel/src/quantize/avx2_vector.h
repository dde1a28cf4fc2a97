// SPDX-License-Identifier: Apache-2.0
// The vector operations of the quantizer (vector_walk.h) for AVX2 with FMA: a tile is 8 blocks, one
// block per lane. avx512_vector.h describes each operation.
#ifndef UFP4_QUANTIZE_AVX2_VECTOR_H
#define UFP4_QUANTIZE_AVX2_VECTOR_H

#include <immintrin.h>
#include <string.h>

#include "quantize/tile.h"

#define TILE 8  // blocks of a tile

typedef __m256i words_t;
typedef __m256 floats_t;
typedef __m256i mask_t;  // all ones or zero in each lane
typedef __m128i places_t;

#define V(op) _mm256_##op
#define BITS(op) _mm256_##op##_si256

INLINE words_t as_words(floats_t x) {
  return _mm256_castps_si256(x);
}

INLINE floats_t as_floats(words_t x) {
  return _mm256_castsi256_ps(x);
}

// --- Memory -------------------------------------------------------------------------------------

INLINE words_t load_aligned(const void *from) {
  return _mm256_load_si256((const __m256i *)from);
}

INLINE words_t load(const void *from) {
  return _mm256_loadu_si256((const __m256i *)from);
}

INLINE void store_aligned(void *target, words_t x) {
  _mm256_store_si256((__m256i *)target, x);
}

INLINE void store(void *target, words_t x) {
  _mm256_storeu_si256((__m256i *)target, x);
}

INLINE words_t load_bf16(const uint16_t *from) {
  return _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from)), 16);
}

INLINE words_t load_first(const ufp4_matrix_t *in, int64_t index, int64_t count) {
  if (in->dtype == UFP4_DTYPE_F32) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i some = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes);
    return _mm256_maskload_epi32((const int *)in->data + index, some);
  }
  uint16_t halves[TILE] = {0};
  for (int64_t i = 0; i < count; i++) halves[i] = ((const uint16_t *)in->data)[index + i];
  return load_bf16(halves);
}

// --- Bits ---------------------------------------------------------------------------------------

INLINE words_t chosen(words_t by, words_t a, words_t b) {
  return _mm256_or_si256(_mm256_and_si256(by, a), _mm256_andnot_si256(by, b));
}

INLINE words_t rotated(words_t x, int by) {
  return _mm256_or_si256(_mm256_slli_epi32(x, by), _mm256_srli_epi32(x, 32 - by));
}

INLINE words_t quad(int w3, int w2, int w1, int w0) {
  return _mm256_setr_epi32(w0, w1, w2, w3, w0, w1, w2, w3);
}

INLINE words_t shuffled_into(words_t x, unsigned pattern, words_t a, words_t order) {
  const unsigned bytes = (pattern & 1) * 0xFFu | (pattern >> 1 & 1) * 0xFF00u |
                         (pattern >> 2 & 1) * 0xFF0000u | (pattern >> 3 & 1) * 0xFF000000u;
  return _mm256_blendv_epi8(x, _mm256_shuffle_epi8(a, order), _mm256_set1_epi32((int)bytes));
}

INLINE words_t upper_halves_into(words_t lower, words_t upper) {
  return _mm256_blend_epi16(lower, upper, 0xAA);
}

INLINE words_t looked_up(const uint32_t table[8], words_t which) {
  return _mm256_permutevar8x32_epi32(_mm256_load_si256((const __m256i *)table), which);
}

// --- Masks --------------------------------------------------------------------------------------

INLINE mask_t none(void) {
  return _mm256_setzero_si256();
}

INLINE int any(mask_t mask) {
  return !_mm256_testz_si256(mask, mask);
}

INLINE words_t where(mask_t mask, words_t x) {
  return _mm256_and_si256(mask, x);
}

INLINE mask_t inverse(mask_t mask) {
  return _mm256_xor_si256(mask, _mm256_set1_epi32(-1));
}

INLINE mask_t equal(words_t a, words_t b) {
  return _mm256_cmpeq_epi32(a, b);
}

INLINE mask_t unequal(words_t a, words_t b) {
  return inverse(_mm256_cmpeq_epi32(a, b));
}

INLINE mask_t above(words_t a, words_t b) {
  return _mm256_cmpgt_epi32(a, b);
}

INLINE mask_t not_above_unsigned(words_t a, words_t b) {
  return _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), b);
}

INLINE mask_t above_unsigned(words_t a, words_t b) {
  return inverse(not_above_unsigned(a, b));
}

INLINE mask_t lacks(words_t x, words_t bits) {
  return _mm256_cmpeq_epi32(_mm256_and_si256(x, bits), _mm256_setzero_si256());
}

INLINE mask_t has(words_t x, words_t bits) {
  return inverse(lacks(x, bits));
}

INLINE mask_t floats_differ(floats_t a, floats_t b) {
  return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ));
}

INLINE mask_t floats_less(floats_t a, floats_t b) {
  return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

// --- Arithmetic ---------------------------------------------------------------------------------

INLINE floats_t truncated_float(floats_t x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

INLINE floats_t least_magnitude(floats_t a, floats_t b) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MAX));
  return _mm256_min_ps(_mm256_and_ps(a, magnitude), _mm256_and_ps(b, magnitude));
}

INLINE floats_t nearest_integer(floats_t x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// Returns the next smaller float where @p too_large is all ones.
INLINE floats_t lowered(floats_t x, words_t too_large) {
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), too_large));
}

INLINE floats_t float_below(words_t x) {
  const floats_t nearest = _mm256_cvtepi32_ps(x);
  return lowered(nearest, _mm256_cmpgt_epi32(_mm256_cvttps_epi32(nearest), x));
}

INLINE floats_t quotient_below(floats_t a, floats_t b) {
  const floats_t nearest = _mm256_div_ps(a, b);
  return lowered(nearest, floats_less(_mm256_fnmadd_ps(nearest, b, a), _mm256_setzero_ps()));
}

INLINE int largest_lane(words_t x) {
  int lanes[TILE];
  store(lanes, x);
  for (int i = 1; i < TILE; i++) lanes[0] = lanes[i] > lanes[0] ? lanes[i] : lanes[0];
  return lanes[0];
}

// --- Places of scales ---------------------------------------------------------------------------

INLINE places_t all_places(int16_t x) {
  return _mm_set1_epi16(x);
}

INLINE places_t load_places(const int16_t *from) {
  return _mm_loadu_si128((const __m128i *)from);
}

INLINE void store_places(int16_t *target, places_t x) {
  _mm_storeu_si128((__m128i *)target, x);
}

INLINE places_t places_of(mask_t mask, words_t x) {
  const __m256i some = _mm256_and_si256(mask, x);
  return _mm_packus_epi32(_mm256_castsi256_si128(some), _mm256_extracti128_si256(some, 1));
}

INLINE int bytes_of_places(places_t places, int16_t shift, int low, int high,
                           uint8_t target[TILE]) {
  const __m128i zero = _mm_cmpeq_epi16(places, _mm_setzero_si128());
  const __m128i byte = _mm_andnot_si128(zero, _mm_adds_epi16(places, _mm_set1_epi16(shift)));
  _mm_storel_epi64((__m128i *)target, _mm_packus_epi16(byte, byte));
  const __m128i room = _mm_set1_epi16((short)(high - low)),
                over = _mm_sub_epi16(byte, _mm_set1_epi16((short)low));
  const __m128i within = _mm_cmpeq_epi16(_mm_max_epu16(over, room), room);
  return _mm_movemask_epi8(_mm_or_si128(zero, within)) != 0xFFFF;
}

// --- Transposes ---------------------------------------------------------------------------------

// Transposes 8 x 8 words.
INLINE void transpose_half(words_t v[8]) {
  words_t a[8], b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
    a[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm256_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm256_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm256_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    v[j] = _mm256_permute2x128_si256(b[j], b[4 + j], 0x20);
    v[4 + j] = _mm256_permute2x128_si256(b[j], b[4 + j], 0x31);
  }
}

// Vectors i and 8 + i, the halves of block i, become elements i and 8 + i of all blocks.
INLINE void transpose(words_t v[BLOCK]) {
  transpose_half(v);
  transpose_half(v + 8);
}

INLINE void interleave(const words_t codes[2], words_t blocks[2]) {
  const words_t even = _mm256_unpacklo_epi32(codes[0], codes[1]),
                odd = _mm256_unpackhi_epi32(codes[0], codes[1]);
  blocks[0] = _mm256_permute2x128_si256(even, odd, 0x20);
  blocks[1] = _mm256_permute2x128_si256(even, odd, 0x31);
}

INLINE void store_line(const words_t line[2], int count, int stream, uint8_t *target) {
  if (stream) {
    _mm256_stream_si256((__m256i *)target, line[0]);
    _mm256_stream_si256((__m256i *)(target + sizeof *line), line[1]);
  } else if (count == 8) {
    store(target, line[0]);
    store(target + sizeof *line, line[1]);
  } else {
    memcpy(target, line, (size_t)count * CODE_BYTES);
  }
}

INLINE void store_lines(const words_t codes[8][2], int count, int stream, uint8_t *target,
                        int64_t step) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    words_t v[8], lines[4][2];
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) {
      v[k] = half ? _mm256_unpackhi_epi32(codes[k][0], codes[k][1])
                  : _mm256_unpacklo_epi32(codes[k][0], codes[k][1]);
    }
    // Blocks 0, 1, 4 and 5 of the tiles, or 2, 3, 6 and 7.
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
      const words_t a = _mm256_unpacklo_epi64(v[4 * k], v[4 * k + 1]);
      const words_t b = _mm256_unpackhi_epi64(v[4 * k], v[4 * k + 1]);
      const words_t c = _mm256_unpacklo_epi64(v[4 * k + 2], v[4 * k + 3]);
      const words_t d = _mm256_unpackhi_epi64(v[4 * k + 2], v[4 * k + 3]);
      lines[0][k] = _mm256_permute2x128_si256(a, c, 0x20);
      lines[1][k] = _mm256_permute2x128_si256(b, d, 0x20);
      lines[2][k] = _mm256_permute2x128_si256(a, c, 0x31);
      lines[3][k] = _mm256_permute2x128_si256(b, d, 0x31);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
      store_line(lines[i], count, stream, target + (4 * (i / 2) + 2 * half + i % 2) * step);
  }
}

#endif
