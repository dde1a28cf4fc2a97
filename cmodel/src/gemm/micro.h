// SPDX-License-Identifier: Apache-2.0
// The contracts that round along K: both operands are unpacked and D is divided into small tiles.
// Each output is one accumulator that adds its blocks in increasing k (rounding.c has the loops),
// so neither the tiles nor the threads change the bits.
#ifndef UFP4_GEMM_MICRO_H
#define UFP4_GEMM_MICRO_H

#include "gemm/kernel.h"
#include "number/lanes.h"

#define MICRO_ROWS 4  // the dot products of 4 x 16 outputs stay in vector registers
#define MICRO_COLS 16

/** Panels of `width` rows. A panel has quanta [16][width] for each group of 16, and [width] of
 * everything else for each block. Rows that pad the last panel, and groups that pad the last block,
 * are zero. */
typedef struct {
  int64_t rows, width;
  int64_t groups;        ///< groups of 16; a multiple of block_groups
  int64_t block_groups;  ///< groups that share a scale
  int16_t *quanta;
  float *scales;          ///< 0 for NaN
  int32_t *significands;  ///< scales in eighths: 8..15 if they are normal numbers
  int32_t *exponents;     ///< scale = significand / 8 * 2^exponent; a scale of zero has -126
  uint8_t *poisoned;      ///< [rows]: some scale of the row is NaN
} unpacked_t;

/** Adds all blocks along K to the accumulators of the panels from row @p row of A and @p col of B
 * on. */
typedef void (*gemm_micro_t)(const unpacked_t *a, int64_t row, const unpacked_t *b, int64_t col,
                             int frac, float sums[MICRO_ROWS][MICRO_COLS]);

gemm_micro_t gemm_fp32_micro(ufp4_scale_t scale);
void gemm_nv_micro(const unpacked_t *a, int64_t row, const unpacked_t *b, int64_t col, int frac,
                   float sums[MICRO_ROWS][MICRO_COLS]);
void gemm_avx512_nv_micro(const unpacked_t *a, int64_t row, const unpacked_t *b, int64_t col,
                          int frac, float sums[MICRO_ROWS][MICRO_COLS]);

typedef int16_t dots_t __attribute__((vector_size(2 * MICRO_COLS)));

/** Dot products over @p count elements; 32 of them are at most 4608. */
INLINE void micro_dots(const int16_t *a, const int16_t *b, int64_t count, dots_t dots[MICRO_ROWS]) {
  for (unsigned r = 0; r < MICRO_ROWS; r++) dots[r] = (dots_t){0};
  for (int64_t k = 0; k < count; k++) {
    dots_t column;
    __builtin_memcpy(&column, b + k * MICRO_COLS, sizeof column);
    for (unsigned r = 0; r < MICRO_ROWS; r++) dots[r] += a[k * MICRO_ROWS + r] * column;
  }
}

#endif
