// SPDX-License-Identifier: Apache-2.0
// Loads the numbers of the vector quantizer's tiles: vector i holds element i of TILE blocks.
#ifndef UFP4_QUANTIZE_VECTOR_LOAD_H
#define UFP4_QUANTIZE_VECTOR_LOAD_H

#include "quantize/walk.h"

// How far ahead the source of row copies is prefetched. The tiles of a column copy read 16 streams,
// which the processor prefetches by itself; prefetch instructions would only occupy the buffers
// that its own loads need.
#define AHEAD_BYTES 8192

// The position of a tile. Row copies: TILE groups from `first` on, which is block `block` of row
// `row`. Column copies: block `block` of TILE rows.
typedef struct {
  int64_t first, row, block;
} spot_t;

// A buffer for numbers that do not lie in memory as 16 whole vectors, one step apart.
typedef struct {
  uint32_t bits[TILE * BLOCK] __attribute__((aligned(64)));
} copy_t;

static inline int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

// Copies blocks that may continue in other rows and may be cut short at the end of a row.
static inline void copy_blocks(const source_t *source, const spot_t *place, copy_t *copy) {
  int64_t row = place->row, block = place->block;
  for (int i = 0; i < TILE; i++) {
    for (int first = 0; first < BLOCK; first += TILE) {
      const int64_t at = block * BLOCK + first, count = clamp(source->cols - at, 0, TILE);
      const words_t some = load_first(source->in, count > 0 ? row * source->in->ld + at : 0, count);
      store_aligned(copy->bits + i * BLOCK + first, some);
    }
    if (++block < source->blocks) continue;
    block = 0;
    row++;
  }
}

// Copies columns that end within the block.
static inline void copy_columns(const source_t *source, const spot_t *place, copy_t *copy) {
  const ufp4_matrix_t *in = source->in;
  const int64_t left = source->cols - place->block * BLOCK,
                at = place->block * BLOCK * in->ld + place->row;
  for (int i = 0; i < BLOCK; i++) {
    store_aligned(copy->bits + i * TILE,
                  load_first(in, i < left ? at + i * in->ld : 0, i < left ? TILE : 0));
  }
}

// The place of a tile's 16 vectors in memory, and the number of elements between two of them.
typedef struct {
  ufp4_dtype_t dtype;
  int column;
  const void *data;
  int64_t step;
} vectors_t;

INLINE vectors_t vectors_of(const source_t *source, const spot_t *place, copy_t *copy) {
  const ufp4_matrix_t *in = source->in;
  const int column = source->axis == UFP4_AXIS_COL;
  vectors_t words = {in->dtype, column, in->data, column ? in->ld : BLOCK};
  int64_t at = place->row * in->ld + place->block * BLOCK;
  int within = source->cols % BLOCK == 0 &&
               (in->ld == source->cols || place->block + TILE <= source->blocks);
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
  return (vectors_t){UFP4_DTYPE_F32, words.column, copy->bits, words.column ? TILE : BLOCK};
}

// The offset of vector i from the first one. In row copies a vector is a block or a part of one; in
// column copies it is one element of all blocks.
INLINE int64_t vector_at(const vectors_t *words, int i) {
  return words->column ? i * words->step : i % TILE * words->step + i / TILE * TILE;
}

INLINE void load_words(const vectors_t *words, words_t v[BLOCK]) {
  if (words->dtype == UFP4_DTYPE_F32) {
    const float *from = words->data;
#pragma GCC unroll 16
    for (int i = 0; i < BLOCK; i++) {
      const float *at = from + vector_at(words, i);
      if (!words->column && i < TILE) _mm_prefetch((const char *)at + AHEAD_BYTES, _MM_HINT_T0);
      v[i] = load(at);
    }
  } else {
    const uint16_t *from = words->data;
#pragma GCC unroll 16
    for (int i = 0; i < BLOCK; i++) v[i] = load_bf16(from + vector_at(words, i));
  }
}

INLINE void load_tile(const source_t *source, const spot_t *place, words_t v[BLOCK]) {
  copy_t copy;
  const vectors_t words = vectors_of(source, place, &copy);
  if (words.column) {
    load_words(&words, v);
  } else {
    load_words(&words, v);
    transpose(v);
  }
}

#endif
