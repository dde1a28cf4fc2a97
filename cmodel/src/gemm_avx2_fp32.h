// SPDX-License-Identifier: Apache-2.0
// GEMM of the contract fp32 for AVX2: acc = RNE32(acc + block). A tile is 6 rows of A by 16 rows of B, in chunks of 16
// groups of 16 elements.
//
// Half dots are made as in gemm_avx2.c, and vpmaddwd with ones adds the two. Then one fma adds the block: the dot is an
// integer under 2^13 and its factor a number of FP32, so the fma's is the one rounding. The factor by the format of the
// scales is what gemm_avx512_fp32.h says, but the table of E4M3 holds FP32 numbers.
#ifndef UFP4_GEMM_AVX2_FP32_H
#define UFP4_GEMM_AVX2_FP32_H

#include "gemm_kernel.h"

#define ROWS 6
#define COLS 16
#define CHUNK 16
#define SIGNIFICANDS 8

typedef struct {
  int8_t elements[CHUNK][ROWS][16];
  int16_t start[ROWS][CHUNK][2];  // where the half dots start; E8M0: of both groups, in the first's place
  union {
    struct {
      uint32_t exponent[ROWS][CHUNK];  // of FP32 numbers, not biased
      uint32_t line[ROWS][CHUNK];      // E4M3: of the table, in bytes
    };
    float scale[ROWS][CHUNK];  // FP32
  };
  int32_t groups;
  int32_t scale_format;                // ufp4_scale_t
  int32_t exponent_min, exponent_max;  // E8M0: over the blocks that are not zero
  float unit;                          // of dots
  uint8_t padding[44];
} a_panel_t;

typedef struct {
  uint8_t elements[CHUNK][4][COLS][4];  // by quad, column
  union {
    float scale[CHUNK][COLS];       // E4M3: times 2^-(12 + frac); FP32
    int32_t exponent[CHUNK][COLS];  // E8M0: less 127 and frac, where FP32 has it
  };
  int32_t exponent_min, exponent_max;
  int32_t groups, tabled;
  uint8_t padding[48];
} b_panel_t;

typedef struct {
  float lines[CHUNK][SIGNIFICANDS][COLS];
} table_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0, "panels are whole cache lines");

/** Members of gemm_kernel_t. */
void gemm_avx2_fp32_pack_a(const gemm_job_t *job, int64_t row, int64_t group, void *panel, uint8_t *poisoned);
void gemm_avx2_fp32_pack_b(const gemm_job_t *job, int64_t row, int64_t group, void *panel, uint8_t *poisoned);

#endif
