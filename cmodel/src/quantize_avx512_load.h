// SPDX-License-Identifier: Apache-2.0
// What the AVX-512 quantizer's tiles are made of: element i of 16 blocks in vector i.
#ifndef UFP4_QUANTIZE_AVX512_LOAD_H
#define UFP4_QUANTIZE_AVX512_LOAD_H

#include "quantize_avx512.h"

// How far ahead the memory of row copies is fetched. The 16 rows of a column copy's tiles are left to the processor,
// which follows that many; lines fetched by program take the places where its own loads wait.
#define AHEAD_BYTES 8192

// Row copies: 16 groups from `first` on, which is block `block` of row `row`. Column copies: block `block` of 16 rows.
typedef struct {
  int64_t first, row, block;
} place512_t;

INLINE __m512i load_some(const ufp4_matrix_t *in, int64_t at, __mmask16 some) {
  if (in->dtype == UFP4_DTYPE_F32) return _mm512_maskz_loadu_epi32(some, (const float *)in->data + at);
  __m256i halves = _mm256_maskz_loadu_epi16(some, (const uint16_t *)in->data + at);
  return _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
}

// What is not 16 whole vectors in memory, one step after the other, is copied to where it is.
typedef struct {
  uint32_t bits[TILE][BLOCK] __attribute__((aligned(64)));
} copy512_t;

// 16 blocks that may run on into other rows and may be cut short at the end of one.
static inline void copy_blocks(const source_t *source, const place512_t *place, copy512_t *to) {
  int64_t row = place->row, block = place->block;
  for (int i = 0; i < TILE; i++) {
    const int64_t left = source->cols - block * BLOCK;
    const __mmask16 some = (__mmask16)(left < BLOCK ? (1 << left) - 1 : 0xFFFF);
    _mm512_store_si512(to->bits[i], load_some(source->in, row * source->in->ld + block * BLOCK, some));
    if (++block < source->blocks) continue;
    block = 0;
    row++;
  }
}

// Columns that end within the block.
static inline void copy_columns(const source_t *source, const place512_t *place, copy512_t *to) {
  const ufp4_matrix_t *in = source->in;
  const int64_t left = source->cols - place->block * BLOCK, at = place->block * BLOCK * in->ld + place->row;
  for (int i = 0; i < TILE; i++) {
    _mm512_store_si512(to->bits[i], load_some(in, i < left ? at + i * in->ld : 0, i < left ? 0xFFFF : 0));
  }
}

// Where a tile's 16 vectors are, and how many elements lie between them.
typedef struct {
  ufp4_dtype_t dtype;
  int column;
  const void *data;
  int64_t step;
} words512_t;

INLINE words512_t words_of(const source_t *source, const place512_t *place, copy512_t *copy) {
  const ufp4_matrix_t *in = source->in;
  const int column = source->axis == UFP4_AXIS_COL;
  words512_t words = {in->dtype, column, in->data, column ? in->ld : BLOCK};
  int64_t at = place->row * in->ld + place->block * BLOCK;
  int within = source->cols % BLOCK == 0 && (in->ld == source->cols || place->block + TILE <= source->blocks);
  if (words.column) {
    at = place->block * BLOCK * in->ld + place->row;
    within = (place->block + 1) * BLOCK <= source->cols;
  }
  if (within) {
    words.data = in->dtype == UFP4_DTYPE_F32 ? (const void *)((const float *)in->data + at)
                                             : (const void *)((const uint16_t *)in->data + at);
    return words;
  }
  if (words.column) {
    copy_columns(source, place, copy);
  } else {
    copy_blocks(source, place, copy);
  }
  return (words512_t){UFP4_DTYPE_F32, words.column, copy->bits, BLOCK};
}

// Of row copies a vector is a block, of column copies it is an element of all blocks.
INLINE void load_words(const words512_t *words, __m512i v[TILE]) {
  if (words->dtype == UFP4_DTYPE_F32) {
    const float *from = words->data;
#pragma GCC unroll 16
    for (int i = 0; i < TILE; i++, from += words->step) {
      if (!words->column) _mm_prefetch((const char *)from + AHEAD_BYTES, _MM_HINT_T0);
      v[i] = _mm512_loadu_si512(from);
    }
  } else {
    const uint16_t *from = words->data;
#pragma GCC unroll 16
    for (int i = 0; i < TILE; i++, from += words->step) {
      v[i] = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from)), 16);
    }
  }
}

INLINE void load_tile(const source_t *source, const place512_t *place, __m512i v[TILE]) {
  copy512_t copy;
  const words512_t words = words_of(source, place, &copy);
  if (words.column) {
    load_words(&words, v);
  } else {
    load_words(&words, v);
    transpose(v);
  }
}

#endif
