// SPDX-License-Identifier: Apache-2.0
// The units of ufp4 vectors with contract fp32: one block of scales, from any accumulator to the
// next.
#include <string.h>

#include "ufp4.h"
#include "vectors.h"

// One operand of two blocks of scales: E4M3 16 elements each, E8M0 32.
typedef struct {
  ufp4_elem_t elem;
  uint8_t codes[64];  // one per byte
  uint8_t scales[2];
} pair_t;

// Returns the accumulator of contract fp32 after the first or both blocks.
static uint32_t accumulate(const pair_t pairs[2], ufp4_scale_t scale, int blocks) {
  uint8_t packed[2][32], scales[2][2];
  ufp4_operand_t operands[2];
  float d = 0;
  int cols = blocks * ufp4_scale_block(scale);
  for (int o = 0; o < 2; o++) {
    for (int i = 0; i < 32; i++)
      packed[o][i] = (uint8_t)(pairs[o].codes[2 * i] | pairs[o].codes[2 * i + 1] << 4);
    memcpy(scales[o], pairs[o].scales, sizeof scales[o]);
    operands[o] = (ufp4_operand_t){.elem = pairs[o].elem,
                                   .scale = scale,
                                   .rows = 1,
                                   .cols = cols,
                                   .blocks = cols / 16,
                                   .block = ufp4_scale_block(scale),
                                   .scale_blocks = blocks,
                                   .codes = packed[o],
                                   .scales = scales[o],
                                   .tensor_scale = 1};
  }
  ufp4_gemm_t how = {.contract = UFP4_CONTRACT_FP32, .alpha = 1};
  return ufp4_gemm(&operands[0], &operands[1], &how, &d, 1) == UFP4_OK ? ufp4_f32_bits(d)
                                                                       : UFP4_F32_NAN;
}

// The record is the second block; the first one only makes its accumulator.
static void put_pe_fp32(vectors_t *vectors, const pair_t pairs[2], ufp4_scale_t scale) {
  vectors_record_t record = {0};
  int block = ufp4_scale_block(scale);
  vectors_set(&record, 0, scale);
  for (int o = 0; o < 2; o++) {
    const uint8_t *codes = pairs[o].codes + block;
    vectors_set(&record, 1 + o, pairs[o].elem);
    for (int i = 0; i < block; i++)
      record.column[3 + o][i / 8] |= (uint32_t)codes[i] << 4 * (i % 8);
    vectors_set(&record, 5 + o, pairs[o].scales[1]);
  }
  vectors_set(&record, 7, accumulate(pairs, scale, 1));
  vectors_set(&record, 8, accumulate(pairs, scale, 2));
  vectors_put(vectors, &record);
}

// Combines accumulators and blocks of every size, with E8M0 scales over their whole range.
static void pe_fp32_sizes(vectors_t *vectors) {
  enum { SIZES = 16 };
  for (unsigned n = 0; n < 2 * SIZES * SIZES; n++) {
    pair_t pairs[2] = {{.elem = UFP4_ELEM_INT4}, {.elem = UFP4_ELEM_E2M1}};
    for (int o = 0; o < 2; o++) {
      memset(pairs[o].codes, o == 0 ? 5 : 7, sizeof pairs[o].codes);
      pairs[o].scales[0] = (uint8_t)(n % SIZES * 254 / (SIZES - 1));
      pairs[o].scales[1] = (uint8_t)(n / SIZES % SIZES * 254 / (SIZES - 1));
    }
    for (size_t i = 32; i < sizeof pairs[1].codes && n / SIZES / SIZES; i++) pairs[1].codes[i] ^= 8;
    put_pe_fp32(vectors, pairs, UFP4_SCALE_E8M0);
  }
}

// Makes 16 codes each with the dot product @p dot quanta: 0 to 12 * 144 + 100.
static void codes_of_dot(int dot, uint8_t a[16], uint8_t b[16]) {
  for (int i = 0; i < 16; i++) {
    int best = 0;
    a[i] = b[i] = 0;
    for (unsigned codes = 0; codes < 64; codes++) {
      const uint8_t x = (uint8_t)(codes / 8), y = (uint8_t)(codes % 8);
      const int product = ufp4_elem_quanta(UFP4_ELEM_E2M1, x) * ufp4_elem_quanta(UFP4_ELEM_E2M1, y);
      if (product <= best || product > dot) continue;
      best = product;
      a[i] = x;
      b[i] = y;
    }
    dot -= best;
  }
}

// Blocks that cancel except for up to 18 of their lowest bits, in every binade of the scales: the
// difference of the dot products left + 195 u and left + 196 u times scales with the significands
// 14 * 14 and 15 * 13 remains.
static void pe_fp32_cancellations(vectors_t *vectors) {
  for (int n = 0; n < 2 * 9 * 7 * 14; n++) {
    const int u = 1 + n / 2 % 9, left = 1 << n / 18 % 7, exponent = 1 + n / 126;
    const int dots[2] = {left + 195 * u, left + 196 * u};
    static const uint8_t significands[2][2] = {{6, 6}, {7, 5}};
    pair_t pairs[2] = {{.elem = UFP4_ELEM_E2M1}, {.elem = UFP4_ELEM_E2M1}};
    for (int block = 0; block < 2; block++) {
      const int which = n % 2 ^ block;  // the larger block comes first or second
      codes_of_dot(dots[which], pairs[0].codes + 16 * block, pairs[1].codes + 16 * block);
      for (int o = 0; o < 2; o++)
        pairs[o].scales[block] = (uint8_t)(8 * exponent | significands[which][o]);
    }
    for (int i = 16; i < 32; i++) pairs[0].codes[i] ^= 8;
    put_pe_fp32(vectors, pairs, UFP4_SCALE_E4M3);
  }
}

// Equal blocks that cancel, halve a unit in the last place, or meet a much larger or smaller
// accumulator, at every distance of the scales, including the ends of their range.
static void pe_fp32_boundary(vectors_t *vectors) {
  pe_fp32_sizes(vectors);
  pe_fp32_cancellations(vectors);
  for (unsigned n = 0; n < 2 * UFP4_ELEM_COUNT * UFP4_ELEM_COUNT * 64; n++) {
    ufp4_scale_t scale = n % 2 ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3;
    pair_t pairs[2] = {{.elem = (ufp4_elem_t)(n / 2 % 3)}, {.elem = (ufp4_elem_t)(n / 6 % 3)}};
    unsigned distance = n / 18;
    for (int o = 0; o < 2; o++) {
      memset(pairs[o].codes, o == 0 ? 7 : (int)(1 + distance % 7), sizeof pairs[o].codes);
      pairs[o].scales[0] =
          scale == UFP4_SCALE_E4M3 ? (uint8_t)(2 * distance) : (uint8_t)(4 * distance);
      pairs[o].scales[1] = scale == UFP4_SCALE_E4M3
                               ? (uint8_t)(n % 3 ? 2 * distance : 126 - 2 * distance)
                               : (uint8_t)(4 * distance + (o == 0 ? n % 7 * 5 : 0) % 3);
    }
    for (size_t i = 32; i < sizeof pairs[0].codes && n % 4 == 1; i++) pairs[0].codes[i] ^= 8;
    for (size_t i = 16; i < 32 && n % 4 == 0; i++) pairs[0].codes[i] ^= 8;
    put_pe_fp32(vectors, pairs, scale);
  }
}

// Makes the second block the negative of the first, except for one code.
static void cancel(vectors_t *vectors, pair_t pairs[2], int block) {
  pairs[0].elem = vectors_below(vectors, 2) ? UFP4_ELEM_E2M1 : UFP4_ELEM_E1M2;
  for (int o = 0; o < 2; o++) {
    uint8_t *codes = pairs[o].codes;
    for (int i = (int)sizeof pairs[o].codes - 1; i >= block; i--)
      codes[i] = codes[i - block] ^ (o == 0 ? 8 : 0);
    pairs[o].scales[1] = pairs[o].scales[0];
  }
  pairs[0].codes[block + (int)vectors_below(vectors, (uint32_t)block)] =
      (uint8_t)vectors_below(vectors, 16);
}

static void pe_fp32_draw(vectors_t *vectors) {
  ufp4_scale_t scale = vectors_below(vectors, 2) ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3;
  pair_t pairs[2];
  uint32_t base = vectors_below(vectors, 255 - 16);
  for (int o = 0; o < 2; o++) {
    pairs[o].elem = vectors_draw_elem(vectors);
    for (int i = 0; i < 4; i++) vectors_draw_codes(vectors, pairs[o].codes + 16 * i);
    for (int i = 0; i < 2; i++) {
      pairs[o].scales[i] = (uint8_t)(scale == UFP4_SCALE_E4M3 ? vectors_below(vectors, 127)
                                                              : base + vectors_below(vectors, 16));
    }
  }
  if (vectors_below(vectors, 4) == 0) cancel(vectors, pairs, ufp4_scale_block(scale));
  put_pe_fp32(vectors, pairs, scale);
}

const vectors_unit_t vectors_fp32[] = {
    {"pe_fp32",
     "one block of scales of the contract fp32 (ufp4_gemm; numerics.md 5)",
     {{"scale", 8, "format of the scales: 0 E4M3, 2 E8M0"},
      {"a_elem", 8, VECTORS_ELEM},
      {"b_elem", 8, "the same of B"},
      {"a_codes", 128, "codes of A: with E4M3 16, with E8M0 32"},
      {"b_codes", 128, "the same of B"},
      {"a_scale", 8, "of A, not NaN"},
      {"b_scale", 8, "of B, not NaN"},
      {"acc_in", 32, "FP32 accumulator before"},
      {"acc", 32,
       "result: acc_in + dot x scaleA x scaleB, rounded once to nearest even; a zero is +0"}},
     pe_fp32_boundary,
     pe_fp32_draw},
};
const size_t vectors_fp32_count = sizeof vectors_fp32 / sizeof vectors_fp32[0];
