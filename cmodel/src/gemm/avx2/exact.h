// SPDX-License-Identifier: Apache-2.0
// Exact GEMM for AVX2: the layout that its packing and its products share. A tile is 6 rows of A by
// 16 rows of B, in chunks of 32 blocks.
//
// A vector holds two elements each of two blocks and 8 columns of B: a dword belongs to one column.
// A's four elements are broadcast against it: eight vpmaddubsw, added in 16 bits, make the dots of
// two blocks, side by side in each column, and one vpmaddwd scales and adds the two. vpmaddubsw
// requires one unsigned operand, so B's quanta have OFFSET added; the dots start from the
// correction for it. (Intermediate sums of a dot may wrap.)
//
// As in gemm/avx512/exact.h scales are taken relative to the smallest exponent of the row's chunk.
// The excess of A's exponents goes first into A's elements. If nothing of it remains, products of
// scales come from a table: A's 8 normal significands times the panel's scales of B.
//
// All this holds while a product of scales stays under 2^15 and, by Cauchy-Schwarz, the sum stays
// under 2^31 (intermediate sums may wrap). Otherwise the whole dot is multiplied by A's scale in 32
// bits, then by B's in 64.
#ifndef UFP4_GEMM_AVX2_H
#define UFP4_GEMM_AVX2_H

#include "gemm/kernel.h"

#define ROWS 6
#define COLS 16
#define PAIRS 16
#define CHUNK (2 * PAIRS)
#define SIGNIFICANDS 8
#define TABLE_LINE (COLS * 4)  // bytes

// Two blocks of A's rows, in the order in which they are read.
typedef struct {
  int8_t elements[ROWS][2 * 16];  // two elements of each block in turn
  int16_t start[ROWS][2];         // initial values of the dots
  uint16_t scale[ROWS][2];        // significand << shift
  uint32_t entry[ROWS][2];        // byte offset in the table
} a_pair_t;

typedef struct {
  a_pair_t pair[PAIRS];
  int32_t base[ROWS];  // smallest exponent of each row
  int32_t pairs;
  int32_t scale_max;
  double
      norm2;  // the largest over the rows of the sum of squares of significand << (exponent - base)
  int32_t tabled;  // all scales are normal significands, or zero
  uint8_t padding[20];
} a_panel_t;

typedef struct {
  uint8_t elements[PAIRS][8][COLS][4];  // in the order of A's elements
  int32_t scale[CHUNK][COLS];
  int64_t base[COLS];
  int32_t scale_max;
  int32_t reserved;
  double norm2;
  uint8_t padding[48];
} b_panel_t;

// Entry s of a pair: (8 + s) times B's scales as words. It is used only if all are under 2^15.
typedef struct {
  uint16_t entries[PAIRS][SIGNIFICANDS][COLS][2];
} table_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0,
              "panels are whole cache lines");

/** Members of gemm_kernel_t. */
void gemm_avx2_pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *panel,
                      uint8_t *poisoned);
void gemm_avx2_pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *panel,
                      uint8_t *poisoned);

#endif
