// SPDX-License-Identifier: Apache-2.0
// Exact GEMM for AVX-512 VNNI and any two formats: the layout that its packing and its products
// share. (For two uniform formats folded.h is faster.) A tile is 8 rows of A by 16 rows of B, in
// chunks of 32 blocks.
//
// A vector holds quads of k of 8 columns of B and two blocks: dword 2c belongs to column c's block
// 2p, dword 2c + 1 to its block 2p + 1. A's quads of the same two blocks are broadcast against it,
// so four vpdpbusd give the dots of two blocks by 8 columns. vpdpbusd requires one unsigned
// operand, so B's elements have an offset added; the dot starts from the correction for it, -offset
// times the sum of A's block.
//
// Scales are taken relative to the smallest exponent of the row's chunk. All multiplications share
// two ports, which limit the speed, so loads, shifts and additions do as much of the work as
// possible. Dots are packed to int16, which puts both blocks of a column side by side; one vpdpwssd
// scales, adds and accumulates 32 block products. The excess of A's exponents over the smallest
// goes first into A's elements, as far as a dot fits int16; the rest shifts the product of A's
// significand and B's scale, which comes from a table: A's 8 normal significands times the panel's
// scales of B.
//
// That product of scales is used as a whole in pairs of blocks where all products of the tile stay
// under 2^15: 9 multiplications. In other pairs it is split into two digits, each with its own sum:
// 11. If the chunk's sums stay under 2^31, arithmetic modulo 2^32 suffices; if they do not, but the
// sum of the digits above the lowest 11 bits does, all pairs have two digits: 32 * 24576 * 2^11 <
// 2^31. In all other cases dots are multiplied by A's scale, then by B's, and summed in 64 bits:
// 14. store.h has the order of the sums.
#ifndef UFP4_GEMM_AVX512_H
#define UFP4_GEMM_AVX512_H

#include "gemm/kernel.h"

#define ROWS 8
#define COLS 16
#define PAIRS 16
#define CHUNK (2 * PAIRS)
#define SIGNIFICANDS 8
#define SUBNORMAL (1 << 30)  // used as a largest scale that is too large for a table
#define SMALLEST_MAX 8       // the lower bound of A's largest scales
#define PAIR_MAX (1 << 15)   // used as a pair's largest scale that exceeds 15-bit products

// Two blocks of A's rows: whole cache lines, in the order in which they are read.
typedef struct {
  uint8_t elements[ROWS][32];  // quad 0 of both blocks, quad 1 of both, ..; signed
  int32_t start[ROWS][2];      // initial values of the dots
  uint16_t shift[ROWS][2];     // shift of A's part of the product of scales
  uint16_t entry[ROWS][2];     // byte offset in the table
} a_pair_t;

typedef struct {
  a_pair_t pair[PAIRS];
  uint16_t scale[PAIRS][ROWS][2];  // significand << shift
  int64_t base[ROWS];              // smallest exponent of each row
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
  int64_t base[2][8];              // of the even columns, then of the odd ones
  int32_t pair_max[PAIRS];         // like A's: the largest significand << shift
  double norm2;                    // times the square of the largest dot
  int32_t scale_max;
  uint8_t padding[52];
} b_panel_t;

// Entry s of a pair: (8 + s) times the 32 scales of B, significand << shift. It is used only if A's
// scales leave room for them.
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
