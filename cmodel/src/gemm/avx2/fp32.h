// SPDX-License-Identifier: Apache-2.0
// GEMM of the contract fp32 for AVX2: acc = RNE32(acc + block). A tile is 6 rows of A by 16 rows of
// B, in chunks of 32 groups of 16 elements.
//
// A vector holds quads of k of 8 columns of B. A's quad is broadcast against it: vpmaddubsw and
// three 16-bit additions make two half dots of a group for each of the 8 columns. vpmaddubsw
// requires one unsigned operand, so B's quanta have OFFSET added; the half dots start from the
// correction for it. The scale format determines the rest:
//
// E4M3 and NVFP4: A's scale is an integer under 2^18 times 2^-9. Up to 3 bits of its shift go into
// A's elements, and with the rest, under 2^15, vpmaddwd multiplies the half dots while it adds
// them: an integer of 16 significant bits, under 2^30. With B's scale as its factor one fma adds
// the block: its rounding is the only one. E8M0: vpmaddwd only adds, and the factor is the sum of
// the exponents. Where that leaves the normal numbers of FP32 the tile's chunk is summed by way of
// doubles; what that keeps of the bits is what gemm/fp32.c says. FP32: RN(RN(sA * sB) * dot), two
// multiplications and an addition.
#ifndef UFP4_GEMM_AVX2_FP32_H
#define UFP4_GEMM_AVX2_FP32_H

#include "gemm/kernel.h"

#define ROWS 6
#define COLS 16
#define CHUNK 32

// A group of A's rows, in the order in which groups are read.
typedef struct {
  int8_t elements[ROWS][16];
  int16_t start[ROWS][2];  // initial values of the half dots; E8M0: of both groups, in the first
                           // one
  union {
    uint16_t integer[ROWS][2];  // E4M3: the same value twice
    uint32_t exponent[ROWS];    // E8M0: the byte, in the place of FP32's exponent
    float scale[ROWS];          // FP32
  };
  uint8_t padding[16];
} a_group_t;

typedef struct {
  a_group_t group[CHUNK];
  int32_t groups;
  int32_t scale_format;                // ufp4_scale_t
  int32_t exponent_min, exponent_max;  // E8M0: over the non-zero blocks
  float unit;                          // the unit of dots
  uint8_t padding[44];
} a_panel_t;

typedef struct {
  uint8_t elements[CHUNK][4][COLS][4];  // [group][quad][column]
  union {
    float scale[CHUNK][COLS];       // E4M3: times 2^-(9 + frac), A's unit; FP32
    int32_t exponent[CHUNK][COLS];  // E8M0: less 127 and frac, where FP32 has it; may be negative
  };
  int32_t exponent_min, exponent_max;
  uint8_t padding[56];
} b_panel_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0,
              "panels are whole cache lines");

/** Members of gemm_kernel_t. */
void gemm_avx2_fp32_pack_a(const gemm_job_t *job, int64_t row, int64_t group, void *panel,
                           uint8_t *poisoned);
void gemm_avx2_fp32_pack_b(const gemm_job_t *job, int64_t row, int64_t group, void *panel,
                           uint8_t *poisoned);

#endif
