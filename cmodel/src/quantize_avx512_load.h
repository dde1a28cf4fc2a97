// SPDX-License-Identifier: Apache-2.0
// What the AVX-512 quantizer's tiles are made of: element i of 16 blocks in vector i.
#ifndef UFP4_QUANTIZE_AVX512_LOAD_H
#define UFP4_QUANTIZE_AVX512_LOAD_H

#include "quantize_avx512.h"

// How far ahead memory is fetched: of one run, and of each of the 16 rows of a column copy's tile. The latter into the
// second cache only: where rows are a power of two apart, their lines share too few places in the first.
#define AHEAD_BYTES 8192
#define COLUMN_AHEAD_BYTES 512

// Row copies: 16 groups from `first` on, which is block `block` of row `row`. Column copies: block `block` of 16 rows.
typedef struct {
  int64_t first, row, block;
} place512_t;

INLINE __m512i load_some(const ufp4_matrix_t *in, int64_t at, __mmask16 some) {
  if (in->dtype == UFP4_DTYPE_F32) return _mm512_maskz_loadu_epi32(some, (const float *)in->data + at);
  __m256i halves = _mm256_maskz_loadu_epi16(some, (const uint16_t *)in->data + at);
  return _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
}

// 16 blocks one after the other in memory.
INLINE void load_run(const ufp4_matrix_t *in, int64_t at, __m512i v[TILE]) {
  if (in->dtype == UFP4_DTYPE_F32) {
    const char *from = (const char *)((const float *)in->data + at);
#pragma GCC unroll 16
    for (int i = 0; i < TILE; i++) {
      _mm_prefetch(from + 64 * i + AHEAD_BYTES, _MM_HINT_T0);
      v[i] = _mm512_loadu_si512(from + 64 * i);
    }
  } else {
    for (int i = 0; i < TILE; i++) v[i] = load_some(in, at + 16 * i, 0xFFFF);
  }
}

// 16 blocks that may run on into other rows and may be cut short at the end of one.
INLINE void load_blocks(const source_t *source, const place512_t *place, __m512i v[TILE]) {
  int64_t row = place->row, block = place->block;
  for (int i = 0; i < TILE; i++) {
    const int64_t left = source->cols - block * BLOCK;
    const __mmask16 some = left < BLOCK ? (__mmask16)((1 << left) - 1) : 0xFFFF;
    v[i] = load_some(source->in, row * source->in->ld + block * BLOCK, some);
    if (++block < source->blocks) continue;
    block = 0;
    row++;
  }
}

INLINE void load_columns(const source_t *source, const place512_t *place, __m512i v[TILE]) {
  const ufp4_matrix_t *in = source->in;
  const int64_t left = source->cols - place->block * BLOCK, at = place->block * BLOCK * in->ld + place->row;
  if (left >= BLOCK && in->dtype == UFP4_DTYPE_F32) {
    const float *from = (const float *)in->data + at;
#pragma GCC unroll 16
    for (int i = 0; i < TILE; i++) {
      _mm_prefetch((const char *)(from + i * in->ld) + COLUMN_AHEAD_BYTES, _MM_HINT_T1);
      v[i] = _mm512_loadu_si512(from + i * in->ld);
    }
  } else {
    for (int i = 0; i < TILE; i++) v[i] = load_some(in, i < left ? at + i * in->ld : 0, i < left ? 0xFFFF : 0);
  }
}

INLINE void load_tile(const source_t *source, const place512_t *place, __m512i v[TILE]) {
  const int64_t ld = source->in->ld;
  if (source->axis == UFP4_AXIS_COL) {
    load_columns(source, place, v);
  } else {
    const int within = source->cols % BLOCK == 0 && (ld == source->cols || place->block + TILE <= source->blocks);
    if (within) {
      load_run(source->in, place->row * ld + place->block * BLOCK, v);
    } else {
      load_blocks(source, place, v);
    }
    transpose(v);
  }
}

#endif
