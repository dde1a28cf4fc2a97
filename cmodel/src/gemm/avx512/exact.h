// SPDX-License-Identifier: Apache-2.0
// Exact GEMM for AVX-512 VNNI of any two formats: what its packing and its products share. (Of two
// uniform ones folded.h is faster.) A tile is 8 rows of A by 16 rows of B, in chunks of 32 blocks.
//
// A vector holds quads of k of 8 columns of B, of two blocks each: dword 2c is column c's block 2p,
// dword 2c + 1 its block 2p + 1. A's quads of the same two blocks are broadcast against it, so four
// vpdpbusd give the dots of two blocks by 8 columns. vpdpbusd wants one side unsigned, so B's
// elements carry an offset; its correction, -offset times the sum of A's block, is where the dot
// starts. Scales are taken relative to the smallest exponent of the row's chunk.
//
// All multiplications share two pipes and little else is scarce; so what can be done by loads,
// shifts and additions is.
//
// Dots are packed to int16, which puts the two of a column side by side; one vpdpwssd scales, adds
// and accumulates 32 block products. What A's exponents exceed the smallest goes first into A's
// elements, as far as a dot stays in int16; the rest shifts the product of A's significand with B's
// scale, which comes from a table: A's 8 normal ones times the panel's of B. That product of scales
// is used whole in pairs of blocks where all those of the tile stay under 2^15: 9 multiplications.
// In other pairs it is cut into two digits, each with a sum of its own: 11. Where the chunk's sums
// stay under 2^31 that is all modulo 2^32; where they do not, but the sum of the digits above the
// lowest 11 bits does, all pairs have two digits: 32 * 24576 * 2^11 < 2^31.
//
// All else: dots are multiplied by A's scale, then by B's, and summed in 64 bits: 14. Sums lie as
// store.h says.
#ifndef UFP4_GEMM_AVX512_H
#define UFP4_GEMM_AVX512_H

#include "gemm/kernel.h"

#define ROWS 8
#define COLS 16
#define PAIRS 16
#define CHUNK (2 * PAIRS)
#define SIGNIFICANDS 8
#define SUBNORMAL (1 << 30)  // as a largest scale: too large for a table
#define SMALLEST_MAX 8       // of A's largest scales
#define PAIR_MAX (1 << 15)   // as the largest scale of a pair: too large for a product of 15 bits

// Two blocks of A's rows; whole cache lines, read in order.
typedef struct {
  uint8_t elements[ROWS][32];  // quad 0 of both blocks, quad 1 of both, ..; signed
  int32_t start[ROWS][2];      // where the dots start
  uint16_t shift[ROWS][2];     // of A's part in the product of scales
  uint16_t entry[ROWS][2];     // of the table, in bytes
} a_pair_t;

typedef struct {
  a_pair_t pair[PAIRS];
  uint16_t scale[PAIRS][ROWS][2];  // significand << shift
  int64_t base[ROWS];              // smallest exponent of a row
  int32_t pair_max[PAIRS];         // the largest significand << shift, SMALLEST_MAX or PAIR_MAX
  int32_t pairs;
  int32_t scale_max;  // the largest significand << shift, or SMALLEST_MAX
  double norm2;  // the largest over the rows of the sum of squares of significand << (exponent -
                 // base), or SMALLEST_MAX's
  uint8_t padding[48];
} a_panel_t;

typedef struct {
  uint8_t elements[PAIRS][8][64];  // quads 0..3 of columns 0 1 4 5 8 9 12 13, then of 2 3 6 7 10 11
                                   // 14 15; unsigned
  uint16_t significand[PAIRS][COLS][2];
  uint16_t shift[PAIRS][COLS][2];  // exponent - base
  int64_t base[2][8];              // of the even columns, of the odd ones
  int32_t pair_max[PAIRS];         // as A's, of significand << shift
  double norm2;                    // times the square of the largest dot
  int32_t scale_max;
  uint8_t padding[52];
} b_panel_t;

// Entry s of a pair: (8 + s) times the 32 scales of B, significand << shift. Used only where A's
// scales leave them room.
typedef struct {
  uint16_t entries[PAIRS][SIGNIFICANDS][2 * COLS];
} table_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0,
              "panels are whole cache lines");

/** Members of gemm_kernel_t. */
void gemm_avx512_pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *panel,
                        uint8_t *poisoned);
void gemm_avx512_pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *panel,
                        uint8_t *poisoned);

#endif
