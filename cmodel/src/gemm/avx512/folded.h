// SPDX-License-Identifier: Apache-2.0
// Exact GEMM for AVX-512 VNNI of two uniform formats, E1M2 and INT4. A tile is 8 rows of A by 32
// rows of B, in chunks of 32 blocks.
//
// Elements carry the significands of their scales: 7 * 15 and 8 * 15 fit a byte. A vector holds one
// quad of k of 16 columns of B; A's quad is broadcast against it, so four vpdpbusd give the folded
// dots of a block by 16 columns. vpdpbusd requires one unsigned operand, so B's elements have
// FOLDED_OFFSET added; the dot starts from the correction for it, -FOLDED_OFFSET times the sum of
// A's block.
//
// Exponents of scales are taken relative to the smallest of the row's chunk; a dot is shifted by
// the sum of both excesses, and added. Shifts are used because all multiplications share two ports,
// which limit the speed. 32 bits suffice if, by Cauchy-Schwarz from the scales, a chunk's sum stays
// under 2^31 (intermediate sums may wrap). Otherwise it is summed twice: modulo 2^32, and without
// the lowest bits.
//
// Sums lie by row, then 16 columns: the even ones, then the odd ones, as 32-bit lanes become 64-bit
// ones cheaply.
#ifndef UFP4_GEMM_AVX512_FOLDED_H
#define UFP4_GEMM_AVX512_FOLDED_H

#include "gemm/kernel.h"

#define ROWS 8
#define COLS 32
#define CHUNK 32
#define FOLDED_OFFSET 128  // larger than any quanta times a significand

// A block of A's rows: whole cache lines, in the order in which they are read.
typedef struct {
  int8_t elements[ROWS][16];
  int32_t start[ROWS];   // initial values of the dots
  int32_t excess[ROWS];  // exponent - base
} a_block_t;

typedef struct {
  a_block_t block[CHUNK];
  int64_t base[ROWS];  // smallest exponent of each row
  double norm2;        // the largest over the rows of the sum of squares of significand << excess
  int64_t blocks;
  uint8_t padding[48];
} a_panel_t;

typedef struct {
  uint8_t elements[CHUNK][2][4][64];  // [half of the columns][quad]
  int32_t excess[CHUNK][COLS];
  int64_t base[2][2][8];  // [half][even or odd]
  double norm2;           // times the square of the largest dot
  uint8_t padding[56];
} b_panel_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0,
              "panels are whole cache lines");

/** Members of gemm_kernel_t. */
void gemm_avx512_folded_pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *panel,
                               uint8_t *poisoned);
void gemm_avx512_folded_pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *panel,
                               uint8_t *poisoned);

#endif
