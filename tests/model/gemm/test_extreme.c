// SPDX-License-Identifier: Apache-2.0
// Tests corner cases of contracts fp32 and nv against results worked out by hand: zeros, overflow,
// NaN, order, alignment.
#include <stdlib.h>

#include "pair.h"
#include "ufp4/format.h"

#define NAN_F32 0x7FC00000u
#define NAN_NV 0x7FFFFFFFu

/** Creates an operand of one row with all codes and scales zero. */
static ufp4_operand_t blank(ufp4_elem_t elem, ufp4_scale_t scale, int cols) {
  ufp4_operand_t out;
  if (ufp4_operand_create_scaled(elem, scale, 1, cols, &out) != UFP4_OK) abort();
  return out;
}

/** Sets the first code and the scale of block i. */
static void set_block(ufp4_operand_t *operand, int64_t i, uint8_t code, uint32_t scale) {
  operand->codes[i * operand->block / 2] = code;
  fixture_set_scale(operand, i, scale);
}

/** Returns D of two one-row operands, checks it against the reference model, and frees them. */
static uint32_t product(ufp4_operand_t a, ufp4_operand_t b, ufp4_contract_t contract, float alpha) {
  const ufp4_gemm_t how = {
      .contract = contract, .d_dtype = UFP4_DTYPE_F32, .alpha = alpha, .kernel = fixture_kernel()};
  pair_t p = {.a = a, .b = b};
  uint32_t d = 0;
  pair_check(0, &p, &how);
  if (ufp4_gemm(&a, &b, &how, &d, 1) != UFP4_OK) abort();
  pair_free(&p);
  return d;
}

/** Multiplies two blocks of one product each: 1 * code with scales a and b. */
static uint32_t two_blocks(ufp4_scale_t scale, ufp4_contract_t contract, const uint8_t codes[2],
                           const uint32_t a[2], const uint32_t b[2]) {
  const int width = ufp4_scale_block(scale);
  ufp4_operand_t x = blank(UFP4_ELEM_E2M1, scale, 2 * width),
                 y = blank(UFP4_ELEM_E2M1, scale, 2 * width);
  for (int i = 0; i < 2; i++) {
    set_block(&x, i, codes[i], a[i]);
    set_block(&y, i, codes[i] == 0 ? 0 : 2, b[i]);
  }
  return product(x, y, contract, 1);
}

TEST(extremes_worked) {
  // E2M1 code 2 is 1, code 10 is -1. E8M0 byte 127 is 1.
  static const struct {
    ufp4_scale_t scale;
    ufp4_contract_t contract;
    uint8_t codes[2];
    uint32_t a[2], b[2], want;
  } table[] = {
      // 2^-127 squared is less than half of 2^-149, so the result is 0; -0 becomes +0 at the end.
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {10, 10}, {0, 0}, {0, 0}, 0x00000000},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {10, 10}, {0, 0}, {0, 0}, 0x00000000},
      // -2^-149 is representable.
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {10, 0}, {0, 0}, {105, 0}, 0x80000001},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {10, 0}, {0, 0}, {105, 0}, 0x80000001},
      // 2^-150 is a tie that fp32 rounds to even and nv truncates. Two of them make 2^-149, but
      // fp32 has rounded the first one by then.
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {2, 2}, {0, 0}, {104, 104}, 0x00000000},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {2, 2}, {0, 0}, {104, 104}, 0x00000001},
      // 2^254 overflows to Inf with fp32, and later products cannot bring it back; nv adds both
      // products before it rounds.
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {2, 10}, {254, 254}, {254, 254}, 0x7F800000},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {2, 10}, {254, 254}, {254, 254}, 0x00000000},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {10, 0}, {254, 0}, {254, 0}, 0xFF800000},
      // FP32 scales: Inf - Inf; Inf * 0; a product of scales that underflows before the dot product
      // could lift it.
      {UFP4_SCALE_FP32,
       UFP4_CONTRACT_FP32,
       {2, 10},
       {0x7F7FFFFF, 0x7F7FFFFF},
       {0x7F7FFFFF, 0x7F7FFFFF},
       NAN_F32},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_FP32, {0, 0}, {0x7F7FFFFF, 0}, {0x7F7FFFFF, 0}, NAN_F32},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_FP32, {7, 0}, {1, 0}, {0x3E800000, 0}, 0x00000000},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_FP32, {7, 0}, {3, 0}, {0x3F000000, 0}, 0x0000000C},
      // 0 times a NaN scale is NaN.
      {UFP4_SCALE_E4M3, UFP4_CONTRACT_FP32, {0, 2}, {0x7F, 0x38}, {0x38, 0x38}, NAN_F32},
      {UFP4_SCALE_E4M3, UFP4_CONTRACT_NV, {0, 2}, {0xFF, 0x38}, {0x38, 0x38}, NAN_NV},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {2, 0}, {127, 127}, {127, 0xFF}, NAN_F32},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {2, 0}, {127, 127}, {127, 0xFF}, NAN_NV},
      {UFP4_SCALE_FP32,
       UFP4_CONTRACT_FP32,
       {2, 0},
       {0x3F800000, 0xFFC00001},
       {0x3F800000, 0},
       NAN_F32},
  };
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    check_bits(
        i, two_blocks(table[i].scale, table[i].contract, table[i].codes, table[i].a, table[i].b),
        table[i].want, "scale %u, contract %u", table[i].scale, table[i].contract);
  }
}

TEST(nv_alignment_worked) {
  // The sum is one product, 1 * 1 or -1 * 1, and C. Bits are cut 35 places below the largest
  // exponent, where a subnormal number or scale has the exponent of the smallest normal one.
  static const struct {
    ufp4_scale_t scale;
    uint8_t code;
    uint8_t a, b;
    uint32_t c, want;
  } table[] = {
      {UFP4_SCALE_E8M0, 10, 0, 93, 0x00000001, 0x00000000},    // 2^-149 - 2^-161, toward zero
      {UFP4_SCALE_E8M0, 10, 0, 92, 0x00000001, 0x00000001},    // 2^-162 is under the cut at 2^-161
      {UFP4_SCALE_E8M0, 2, 0, 93, 0x80000001, 0x00000000},     // never -0
      {UFP4_SCALE_E8M0, 2, 127, 127, 0xAE000000, 0x3F7FFFFF},  // 1 - 2^-35
      {UFP4_SCALE_E8M0, 2, 127, 127, 0xAD800000, 0x3F800000},  // 1 - 2^-36
      {UFP4_SCALE_E4M3, 2, 0x38, 0x38, 0xAE000000, 0x3F7FFFFF},
      {UFP4_SCALE_E4M3, 2, 0x38, 0x38, 0xAD800000, 0x3F800000},
      {UFP4_SCALE_E4M3, 2, 0x01, 0x01, 0xA8000000,
       0x367FFFFF},  // 2^-18 - 2^-47: both scales are subnormal
      {UFP4_SCALE_E4M3, 2, 0x01, 0x01, 0xA7800000,
       0x36800000},  // 2^-48 is under the cut at 2^(-6 - 6 - 35)
      {UFP4_SCALE_E4M3, 2, 0x08, 0x01, 0xA7800000,
       0x38000000},  // 2^-15; the smallest normal scale has exponent -6 too
      {UFP4_SCALE_E4M3, 0, 0x78, 0x78, 0x35800000, 0x00000000},  // a zero dot product aligns too:
                                                                 // 2^-20 is under the cut at 2^-19
      {UFP4_SCALE_E4M3, 0, 0x78, 0x78, 0x36000000, 0x36000000},
  };
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, table[i].scale, 16),
                   b = blank(UFP4_ELEM_E2M1, table[i].scale, 16);
    const float c = ufp4_f32_value(table[i].c);
    const ufp4_gemm_t how = {
        .contract = UFP4_CONTRACT_NV, .d_dtype = UFP4_DTYPE_F32, .alpha = 1, .c = &c, .c_ld = 1};
    set_block(&a, 0, table[i].code, table[i].a);
    set_block(&b, 0, 2, table[i].b);
    pair_t p = {.a = a, .b = b};
    uint32_t d = 0;
    pair_check(i, &p, &how);
    if (ufp4_gemm(&a, &b, &how, &d, 1) != UFP4_OK) abort();
    check_bits(i, d, table[i].want, "C %08x", table[i].c);
    pair_free(&p);
  }
}

TEST(fp32_rounds_in_increasing_k) {
  // In 2^24 + 1 + 1 each 1 is a tie to even and lost, while 1 + 1 + 2^24 keeps both.
  for (int big = 0; big < 3; big++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 48),
                   b = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 48);
    for (int i = 0; i < 3; i++) {
      const int large = i == big;
      set_block(&a, i, 2, large ? 0x78 : 0x38);
      set_block(&b, i, 2, large ? 0x78 : 0x08);
      if (!large) a.codes[8 * i] = 1, b.scales[i] = 0x01;  // 0.5 * 2^-9 = 2^-10
    }
    // 2^16 + 2^-10 + 2^-10: the terms are 26 places apart, so FP32 loses the small ones in any
    // order.
    const uint32_t want = reference_f32_round(0, 1, 16);
    check_bits(big, product(a, b, UFP4_CONTRACT_FP32, 1), want, "large block %d", big);
  }
  for (int big = 0; big < 3; big++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 48),
                   b = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 48);
    for (int i = 0; i < 3; i++) {
      set_block(&a, i, 2, i == big ? 0x78 : 0x38);
      set_block(&b, i, 2, i == big ? 0x78 : 0x02);  // 2^16 and 2^-8, half of the last place
    }
    const uint32_t want = reference_f32_round(0, 1, 16) + (big == 2 ? 1 : 0);
    check_bits(big, product(a, b, UFP4_CONTRACT_FP32, 1), want, "large block %d", big);
  }
}

TEST(nan_of_nv_survives_scaling) {
  static const uint32_t scalings[] = {0x40000000, 0x00000000, 0x7FC00000, 0xFF800000};
  for (int i = 0; i < 4; i++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, 16),
                   b = blank(UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, 16);
    a.scales[0] = 0x7F;
    a.tensor_scale = b.tensor_scale = 0.25f;
    check_bits(i, product(a, b, UFP4_CONTRACT_NV, ufp4_f32_value(scalings[i])), NAN_NV,
               "alpha %08x", scalings[i]);
  }
}

TEST(nan_made_after_nv_is_nv_s_too) {
  // The accumulator is a number; the NaN comes from alpha alone.
  static const uint32_t scalings[] = {0x7FC00000, 0xFFFFFFFF, 0x7F800000, 0xFF800000};
  for (int i = 0; i < 4; i++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 16),
                   b = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 16);
    check_bits(i, product(a, b, UFP4_CONTRACT_NV, ufp4_f32_value(scalings[i])), NAN_NV,
               "0 times %08x", scalings[i]);
  }
}
