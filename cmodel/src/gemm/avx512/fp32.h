// SPDX-License-Identifier: Apache-2.0
// GEMM of the contract fp32 for AVX-512 VNNI: acc = RNE32(acc + block). A tile is 8 rows of A by 32
// rows of B, in chunks of 16 groups of 16 elements; its accumulators stay in registers for a chunk.
//
// A vector holds one quad of k of 16 columns of B; A's quad is broadcast against it, so four
// vpdpbusd give the dots of a group by 16 columns. vpdpbusd requires one unsigned operand, so B's
// quanta have OFFSET added; the dot starts from the correction for it. Then one fma adds the block:
// the dot is an integer under 2^13 and its factor a number of FP32, so the fma's rounding is the
// only one. The factor depends on the scale format:
//
// E4M3 and NVFP4: the product of two scales has 8 significant bits, so it fits BF16. A table holds
// 8..15 times the panel's 32 scales of B for each group; A's significand (any scale's, a
// subnormal's too, is one of these 8) chooses the line, and A's exponent is added to the exponents.
// E8M0: the sum of the exponents. Where that leaves the normal numbers of FP32 the tile's chunk is
// summed by way of doubles; what that keeps of the bits is what gemm/fp32.c says. FP32: RN(RN(sA *
// sB) * dot), two multiplications and an addition. The dot must be a value: its start carries 1.5 *
// 2^(23 - frac) as an FP32 pattern, so that what the dot makes of it is that number plus the value,
// and subtracting is exact.
#ifndef UFP4_GEMM_AVX512_FP32_H
#define UFP4_GEMM_AVX512_FP32_H

#include "gemm/kernel.h"

#define ROWS 8
#define COLS 32
#define CHUNK 16
#define OFFSET 16  // larger than any quanta
#define SIGNIFICANDS 8

typedef struct {
  int8_t elements[CHUNK][ROWS][16];
  int32_t start[ROWS][CHUNK];
  union {
    struct {
      uint32_t exponent[ROWS][CHUNK];  // E4M3: to be added to exponents of BF16 numbers, in both
                                       // halves; E8M0: the byte, in the place of FP32's exponent
      uint32_t line[ROWS][CHUNK];      // E4M3: byte offset in the table
    };
    float scale[ROWS][CHUNK];  // FP32
  };
  int32_t groups;
  int32_t scale_format;                // ufp4_scale_t
  int32_t exponent_min, exponent_max;  // E8M0: over the non-zero blocks
  float magic;                         // FP32: 1.5 * 2^(23 - frac)
  uint8_t padding[44];
} a_panel_t;

typedef struct {
  uint8_t elements[CHUNK][2][4][64];  // [half of the columns][quad]
  union {
    float scale[CHUNK][COLS];       // E4M3: times 2^-(12 + frac); FP32
    int32_t exponent[CHUNK][COLS];  // E8M0: less 127 and frac, where FP32 has it
  };
  int32_t exponent_min, exponent_max;
  int32_t groups, tabled;
  uint8_t padding[48];
} b_panel_t;

// Words as BF16 numbers: column c at 2c, column 16 + c at 2c + 1.
typedef struct {
  uint16_t lines[CHUNK][SIGNIFICANDS][COLS];
} table_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0,
              "panels are whole cache lines");

/** Members of gemm_kernel_t. */
void gemm_avx512_fp32_pack_a(const gemm_job_t *job, int64_t row, int64_t group, void *panel,
                             uint8_t *poisoned);
void gemm_avx512_fp32_pack_b(const gemm_job_t *job, int64_t row, int64_t group, void *panel,
                             uint8_t *poisoned);
void gemm_avx512_fp32_store(const gemm_job_t *job, const gemm_tile_t *tile, const void *sums);

#endif
