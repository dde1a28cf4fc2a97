// SPDX-License-Identifier: Apache-2.0
// The contracts fp32 and nv, and exact with a tensor scale (numerics.md 5): every legal pair of formats on odd shapes,
// extremes, and what must be refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "legal.h"
#include "ufp4/format.h"

#define NAN_F32 0x7FC00000u
#define NAN_NV 0x7FFFFFFFu

/** K around every multiple of 16, 32 and 64. */
static const int shapes[][3] = {{1, 1, 1},   {2, 3, 15},   {3, 2, 16},  {5, 4, 17},  {4, 7, 31},   {9, 2, 32},
                                {3, 17, 33}, {17, 3, 48},  {6, 5, 63},  {5, 6, 64},  {7, 4, 65},   {2, 33, 79},
                                {4, 4, 81},  {33, 2, 130}, {3, 5, 257}, {8, 16, 96}, {16, 8, 112}, {2, 2, 1040}};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

typedef struct {
  legal_gemm_t what;
  ufp4_operand_t a, b;
  slow_operand_t slow_a, slow_b;
} pair_t;

static pair_t pair(check_random_t *random, int n, const int shape[3], fixture_scales_t scales) {
  pair_t p = {.what = legal_gemm_combination(n)};
  p.a = fixture_operand_scaled(random, p.what.a, p.what.scale, shape[0], shape[2], scales);
  p.b = fixture_operand_scaled(random, p.what.b, p.what.scale, shape[1], shape[2], scales);
  return p;
}

/** Tensor exponents or tensor scales, whichever the format has. */
static void set_level(pair_t *p, int t_a, int t_b) {
  if (p->what.scale == UFP4_SCALE_E4M3) p->a.exponent = t_a, p->b.exponent = t_b;
  if (p->what.scale != UFP4_SCALE_NVFP4) return;
  p->a.tensor_scale = ufp4_f32_value(slow_f32_round(0, 0x1555557, -24 - t_a));
  p->b.tensor_scale = ufp4_f32_value(slow_f32_round(0, 0x1ABCDEF, -24 - t_b));
}

static void pair_free(pair_t *p) {
  ufp4_operand_free(&p->a);
  ufp4_operand_free(&p->b);
}

static ufp4_gemm_t plain(const pair_t *p, ufp4_dtype_t dtype) {
  const ufp4_gemm_t how = {.contract = p->what.contract, .d_dtype = dtype, .alpha = 1};
  return how;
}

/** What the second model says of output (i, j). */
static uint32_t expected(const pair_t *p, const ufp4_gemm_t *how, int64_t i, int64_t j) {
  const uint32_t alpha = ufp4_f32_bits(how->alpha), c = how->c ? ufp4_f32_bits(how->c[i * how->c_ld + j]) : 0;
  const uint32_t *alpha_if = alpha != 0x3F800000 ? &alpha : NULL, *c_if = how->c ? &c : NULL;
  const slow_operand_t *a = &p->slow_a, *b = &p->slow_b;
  switch (how->contract) {
    case UFP4_CONTRACT_EXACT:
      return slow_gemm_round(a, b, slow_gemm_sum(a, i, b, j, 0), alpha_if, c_if);
    case UFP4_CONTRACT_NV:
      return slow_gemm_scale(a, b, SLOW_NV, slow_gemm_nv(a, i, b, j, c), alpha_if, NULL);
    default:
      return slow_gemm_scale(a, b, SLOW_FP32, slow_gemm_fp32(a, i, b, j), alpha_if, c_if);
  }
}

/** Runs the golden GEMM into rows with a gap after each, and compares all, the gap included. */
static void check_gemm(int64_t index, pair_t *p, const ufp4_gemm_t *how) {
  const int64_t m = p->a.rows, n = p->b.rows, ld = n + 3;
  const size_t size = how->d_dtype == UFP4_DTYPE_BF16 ? 2 : 4;
  uint8_t *d = malloc((size_t)(m * ld) * size);
  char what[128];
  if (!d) abort();
  memset(d, 0xA5, (size_t)(m * ld) * size);
  p->slow_a = fixture_slow_operand(&p->a);
  p->slow_b = fixture_slow_operand(&p->b);
  snprintf(what, sizeof what, "case %lld: %lld x %lld x %lld, elems %u and %u, scale %u, contract %u, dtype %u",
           (long long)index, (long long)m, (long long)n, (long long)p->a.cols, p->a.elem, p->b.elem, p->a.scale,
           how->contract, how->d_dtype);
  check_bits(index, (uint64_t)ufp4_gemm(&p->a, &p->b, how, d, ld), UFP4_OK, "%s: status", what);
  for (int64_t at = 0; at < m * ld; at++) {
    uint32_t got = 0, want = size == 2 ? 0xA5A5 : 0xA5A5A5A5;
    const int64_t i = at / ld, j = at % ld;
    memcpy(&got, d + (size_t)at * size, size);
    if (j < n) want = size == 2 ? slow_gemm_bf16(expected(p, how, i, j)) : expected(p, how, i, j);
    check_bits(at, got, want, "%s: D[%lld][%lld]", what, (long long)i, (long long)j);
  }
  slow_operand_free(&p->slow_a);
  slow_operand_free(&p->slow_b);
  free(d);
}

/** Every legal combination with a contract on every shape. */
static void sweep(ufp4_contract_t contract, ufp4_dtype_t dtype, fixture_scales_t scales) {
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * SHAPES; i++) {
    const legal_gemm_t c = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&c) || c.contract != contract) continue;
    pair_t p = pair(&random, i % LEGAL_GEMM_COUNT, shapes[i / LEGAL_GEMM_COUNT], scales);
    set_level(&p, (int)check_below(&random, 40) - 20, (int)check_below(&random, 40) - 20);
    const ufp4_gemm_t how = plain(&p, dtype);
    check_gemm(i, &p, &how);
    pair_free(&p);
  }
}

TEST(exact_with_every_scale) {
  sweep(UFP4_CONTRACT_EXACT, UFP4_DTYPE_F32, FIXTURE_SCALES_ANY);
}
TEST(exact_with_nan_scales) {
  sweep(UFP4_CONTRACT_EXACT, UFP4_DTYPE_BF16, FIXTURE_SCALES_NAN);
}
TEST(fp32_with_every_scale) {
  sweep(UFP4_CONTRACT_FP32, UFP4_DTYPE_F32, FIXTURE_SCALES_ANY);
}
TEST(fp32_with_near_scales) {
  sweep(UFP4_CONTRACT_FP32, UFP4_DTYPE_F32, FIXTURE_SCALES_NEAR);
}
TEST(fp32_with_the_largest_scales) {
  sweep(UFP4_CONTRACT_FP32, UFP4_DTYPE_F32, FIXTURE_SCALES_MAX);
}
TEST(fp32_with_nan_scales) {
  sweep(UFP4_CONTRACT_FP32, UFP4_DTYPE_F32, FIXTURE_SCALES_NAN);
}
TEST(fp32_to_bf16) {
  sweep(UFP4_CONTRACT_FP32, UFP4_DTYPE_BF16, FIXTURE_SCALES_NEAR);
  sweep(UFP4_CONTRACT_FP32, UFP4_DTYPE_BF16, FIXTURE_SCALES_NAN);
}
TEST(nv_with_every_scale) {
  sweep(UFP4_CONTRACT_NV, UFP4_DTYPE_F32, FIXTURE_SCALES_ANY);
}
TEST(nv_with_near_scales) {
  sweep(UFP4_CONTRACT_NV, UFP4_DTYPE_F32, FIXTURE_SCALES_NEAR);
}
TEST(nv_with_the_largest_scales) {
  sweep(UFP4_CONTRACT_NV, UFP4_DTYPE_F32, FIXTURE_SCALES_MAX);
}
TEST(nv_with_nan_scales) {
  sweep(UFP4_CONTRACT_NV, UFP4_DTYPE_F32, FIXTURE_SCALES_NAN);
}
TEST(nv_to_bf16) {
  sweep(UFP4_CONTRACT_NV, UFP4_DTYPE_BF16, FIXTURE_SCALES_NEAR);
  sweep(UFP4_CONTRACT_NV, UFP4_DTYPE_BF16, FIXTURE_SCALES_NAN);
}

SLOW_TEST(large_shapes) {
  static const int large[][3] = {{150, 130, 520}, {64, 300, 1000}, {203, 9, 2050}, {2, 3, 70000}};
  check_random_t random = check_random();
  for (int i = 0, n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c) || check_below(&random, 3)) continue;
    pair_t p = pair(&random, n, large[i % 4], i % 5 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
    ufp4_gemm_t how = plain(&p, UFP4_DTYPE_F32);
    how.threads = i++ % 4;
    check_gemm(n, &p, &how);
    pair_free(&p);
  }
}

TEST(levels_at_their_ends) {
  // Exponents of E4M3 as far as they go, and tensor scales whose product is Inf, 0 or subnormal.
  static const int exponents[][2] = {{32767, 32767}, {-32768, -32768}, {-32768, 32767}, {-64, -60}, {80, 75}, {75, 65}};
  static const uint32_t scales[][2] = {{0x7F7FFFFF, 0x40000000}, {1, 1},
                                       {0x00400000, 0x3F000000}, {0x7F7FFFFF, 1},
                                       {0x1F800001, 0x20000001}, {0x00800000, 0x3F7FFFFF}};
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * 6; i++) {
    const legal_gemm_t c = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&c)) continue;
    pair_t p =
        pair(&random, i % LEGAL_GEMM_COUNT, (const int[3]){5, 6, 70}, i % 2 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
    set_level(&p, exponents[i / LEGAL_GEMM_COUNT][0], exponents[i / LEGAL_GEMM_COUNT][1]);
    if (c.scale == UFP4_SCALE_NVFP4) {
      p.a.tensor_scale = ufp4_f32_value(scales[i / LEGAL_GEMM_COUNT][0]);
      p.b.tensor_scale = ufp4_f32_value(scales[i / LEGAL_GEMM_COUNT][1]);
    }
    const ufp4_gemm_t f32 = plain(&p, UFP4_DTYPE_F32), bf16 = plain(&p, UFP4_DTYPE_BF16);
    check_gemm(i, &p, &f32);
    check_gemm(i, &p, &bf16);
    pair_free(&p);
  }
}

static float special_or_gaussian(check_random_t *random, int i) {
  static const uint32_t specials[] = {0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000,
                                      0xFFC12345, 0x00000001, 0x7F7FFFFF, 0x80000001, 0xFF7FFFFF};
  if (i % 5 == 0) return ufp4_f32_value(specials[check_below(random, 10)]);
  return ufp4_f32_value(fixture_number(random, i % 2 ? FIXTURE_GAUSSIAN : FIXTURE_WILD));
}

static const uint32_t alphas[] = {0x3F800000, 0x40000000, 0x3EAAAAAB, 0x00000000, 0x80000000, 0x7F800000, 0xFF800000,
                                  0x7FC00000, 0xFFFFFFFF, 0x00000001, 0x7F7FFFFF, 0xBF800000, 0x1F800000, 0x3F7FFFFF};
#define ALPHAS 14

TEST(alpha_and_c) {
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * ALPHAS; i++) {
    const legal_gemm_t what = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&what)) continue;
    pair_t p = pair(&random, i % LEGAL_GEMM_COUNT, (const int[3]){6, 10, 70},
                    i % 7   ? FIXTURE_SCALES_NEAR
                    : i % 2 ? FIXTURE_SCALES_NAN
                            : FIXTURE_SCALES_MAX);
    set_level(&p, (int)check_below(&random, 200) - 100, (int)check_below(&random, 60) - 30);
    float c[6 * 12];
    for (int j = 0; j < 6 * 12; j++) c[j] = special_or_gaussian(&random, j);
    ufp4_gemm_t how = plain(&p, check_below(&random, 2) ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
    how.alpha = ufp4_f32_value(alphas[i / LEGAL_GEMM_COUNT]);
    if (what.contract != UFP4_CONTRACT_NV && check_below(&random, 2)) how.c = c, how.c_ld = 12;
    check_gemm(i, &p, &how);
    pair_free(&p);
  }
}

TEST(nv_starts_from_c) {
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * 12; i++) {
    const legal_gemm_t what = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&what) || what.contract != UFP4_CONTRACT_NV) continue;
    pair_t p = pair(&random, i % LEGAL_GEMM_COUNT, (const int[3]){9, 10, 1 + 13 * (i / LEGAL_GEMM_COUNT)},
                    i % 3 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
    if (what.scale == UFP4_SCALE_E4M3) p.a.exponent = 9, p.b.exponent = -9;
    float c[9 * 12];
    for (int j = 0; j < 9 * 12; j++) c[j] = special_or_gaussian(&random, j);
    ufp4_gemm_t how = plain(&p, i % 2 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
    how.c = c, how.c_ld = 12;
    check_gemm(i, &p, &how);
    pair_free(&p);
  }
}

TEST(nv_near_cancellation) {
  // C is the negative of the product, up to a few last places: what the truncated bits leave shows.
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * 20; i++) {
    const legal_gemm_t what = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&what) || what.contract != UFP4_CONTRACT_NV) continue;
    pair_t p = pair(&random, i % LEGAL_GEMM_COUNT, (const int[3]){4, 4, 64 + i % 70},
                    i % 3 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
    float c[16], d[16];
    ufp4_gemm_t how = plain(&p, UFP4_DTYPE_F32);
    if (ufp4_gemm(&p.a, &p.b, &how, d, 4) != UFP4_OK) abort();
    for (int j = 0; j < 16; j++)
      c[j] = ufp4_f32_value((ufp4_f32_bits(d[j]) ^ 0x80000000u) + check_below(&random, 5) - 2);
    how.c = c, how.c_ld = 4;
    check_gemm(i, &p, &how);
    pair_free(&p);
  }
}

// --- Extremes by hand ------------------------------------------------------------------------------------

/** An operand of one row with all codes and scales zero. */
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

/** D of two operands of one row, by the second model too; frees them. */
static uint32_t product(ufp4_operand_t a, ufp4_operand_t b, ufp4_contract_t contract, float alpha) {
  const ufp4_gemm_t how = {.contract = contract, .d_dtype = UFP4_DTYPE_F32, .alpha = alpha};
  pair_t p = {.a = a, .b = b};
  uint32_t d = 0;
  check_gemm(0, &p, &how);
  if (ufp4_gemm(&a, &b, &how, &d, 1) != UFP4_OK) abort();
  pair_free(&p);
  return d;
}

/** Two blocks of one product each: 1 * code with scales a and b. */
static uint32_t two_blocks(ufp4_scale_t scale, ufp4_contract_t contract, const uint8_t codes[2], const uint32_t a[2],
                           const uint32_t b[2]) {
  const int width = ufp4_scale_block(scale);
  ufp4_operand_t x = blank(UFP4_ELEM_E2M1, scale, 2 * width), y = blank(UFP4_ELEM_E2M1, scale, 2 * width);
  for (int i = 0; i < 2; i++) {
    set_block(&x, i, codes[i], a[i]);
    set_block(&y, i, codes[i] == 0 ? 0 : 2, b[i]);
  }
  return product(x, y, contract, 1);
}

TEST(extremes_worked) {
  // E2M1 code 2 is 1, 10 is -1. E8M0 byte 127 is 1.
  static const struct {
    ufp4_scale_t scale;
    ufp4_contract_t contract;
    uint8_t codes[2];
    uint32_t a[2], b[2], want;
  } table[] = {
      // 2^-127 squared is under half of 2^-149: 0, and -0 becomes +0 at the end.
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {10, 10}, {0, 0}, {0, 0}, 0x00000000},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {10, 10}, {0, 0}, {0, 0}, 0x00000000},
      // -2^-149 stays.
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {10, 0}, {0, 0}, {105, 0}, 0x80000001},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {10, 0}, {0, 0}, {105, 0}, 0x80000001},
      // 2^-150 is a tie, to even; nv truncates. With more beside it fp32 has rounded already.
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {2, 2}, {0, 0}, {104, 104}, 0x00000000},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {2, 2}, {0, 0}, {104, 104}, 0x00000001},
      // 2^254: Inf, and what follows does not bring it back.
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {2, 10}, {254, 254}, {254, 254}, 0x7F800000},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {2, 10}, {254, 254}, {254, 254}, 0x00000000},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {10, 0}, {254, 0}, {254, 0}, 0xFF800000},
      // FP32 scales: Inf - Inf; Inf * 0; a scale product that underflows before the dot could lift it.
      {UFP4_SCALE_FP32, UFP4_CONTRACT_FP32, {2, 10}, {0x7F7FFFFF, 0x7F7FFFFF}, {0x7F7FFFFF, 0x7F7FFFFF}, NAN_F32},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_FP32, {0, 0}, {0x7F7FFFFF, 0}, {0x7F7FFFFF, 0}, NAN_F32},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_FP32, {7, 0}, {1, 0}, {0x3E800000, 0}, 0x00000000},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_FP32, {7, 0}, {3, 0}, {0x3F000000, 0}, 0x0000000C},
      // 0 times a NaN scale.
      {UFP4_SCALE_E4M3, UFP4_CONTRACT_FP32, {0, 2}, {0x7F, 0x38}, {0x38, 0x38}, NAN_F32},
      {UFP4_SCALE_E4M3, UFP4_CONTRACT_NV, {0, 2}, {0xFF, 0x38}, {0x38, 0x38}, NAN_NV},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_FP32, {2, 0}, {127, 127}, {127, 0xFF}, NAN_F32},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, {2, 0}, {127, 127}, {127, 0xFF}, NAN_NV},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_FP32, {2, 0}, {0x3F800000, 0xFFC00001}, {0x3F800000, 0}, NAN_F32},
  };
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    check_bits(i, two_blocks(table[i].scale, table[i].contract, table[i].codes, table[i].a, table[i].b), table[i].want,
               "scale %u, contract %u", table[i].scale, table[i].contract);
  }
}

TEST(nv_alignment_worked) {
  // One product, 1 * 1 or -1 * 1, and C; the cut is 35 places under the largest exponent, that of a subnormal number or
  // scale being the one of the smallest normal.
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
      {UFP4_SCALE_E4M3, 2, 0x01, 0x01, 0xA8000000, 0x367FFFFF},  // 2^-18 - 2^-47: both scales subnormal
      {UFP4_SCALE_E4M3, 2, 0x01, 0x01, 0xA7800000, 0x36800000},  // 2^-48 is under the cut at 2^(-6 - 6 - 35)
      {UFP4_SCALE_E4M3, 2, 0x08, 0x01, 0xA7800000, 0x38000000},  // 2^-15, and the smallest normal scale has -6 too
      {UFP4_SCALE_E4M3, 0, 0x78, 0x78, 0x35800000, 0x00000000},  // a zero dot aligns too: 2^-20 is under the cut at
                                                                 // 2^-19
      {UFP4_SCALE_E4M3, 0, 0x78, 0x78, 0x36000000, 0x36000000},
  };
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, table[i].scale, 16), b = blank(UFP4_ELEM_E2M1, table[i].scale, 16);
    const float c = ufp4_f32_value(table[i].c);
    const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_NV, .d_dtype = UFP4_DTYPE_F32, .alpha = 1, .c = &c, .c_ld = 1};
    set_block(&a, 0, table[i].code, table[i].a);
    set_block(&b, 0, 2, table[i].b);
    pair_t p = {.a = a, .b = b};
    uint32_t d = 0;
    check_gemm(i, &p, &how);
    if (ufp4_gemm(&a, &b, &how, &d, 1) != UFP4_OK) abort();
    check_bits(i, d, table[i].want, "C %08x", table[i].c);
    pair_free(&p);
  }
}

TEST(fp32_rounds_in_increasing_k) {
  // 2^24 + 1 + 1: each 1 is a tie to even and lost; 1 + 1 + 2^24 keeps both.
  for (int big = 0; big < 3; big++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 48), b = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 48);
    for (int i = 0; i < 3; i++) {
      const int large = i == big;
      set_block(&a, i, 2, large ? 0x78 : 0x38);
      set_block(&b, i, 2, large ? 0x78 : 0x08);
      if (!large) a.codes[8 * i] = 1, b.scales[i] = 0x01;  // 0.5 * 2^-9 = 2^-10
    }
    // 2^16 + 2^-10 + 2^-10: 26 places apart, so the small ones are lost after the large one, and kept by none.
    const uint32_t want = slow_f32_round(0, 1, 16);
    check_bits(big, product(a, b, UFP4_CONTRACT_FP32, 1), want, "large block %d", big);
  }
  for (int big = 0; big < 3; big++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 48), b = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 48);
    for (int i = 0; i < 3; i++) {
      set_block(&a, i, 2, i == big ? 0x78 : 0x38);
      set_block(&b, i, 2, i == big ? 0x78 : 0x02);  // 2^16 and 2^-8, half of the last place
    }
    const uint32_t want = slow_f32_round(0, 1, 16) + (big == 2 ? 1 : 0);
    check_bits(big, product(a, b, UFP4_CONTRACT_FP32, 1), want, "large block %d", big);
  }
}

TEST(nan_of_nv_survives_scaling) {
  static const uint32_t scalings[] = {0x40000000, 0x00000000, 0x7FC00000, 0xFF800000};
  for (int i = 0; i < 4; i++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, 16), b = blank(UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, 16);
    a.scales[0] = 0x7F;
    a.tensor_scale = b.tensor_scale = 0.25f;
    check_bits(i, product(a, b, UFP4_CONTRACT_NV, ufp4_f32_value(scalings[i])), NAN_NV, "alpha %08x", scalings[i]);
  }
}

TEST(nan_made_after_nv_is_nv_s_too) {
  // The accumulator is a number; only alpha makes the NaN.
  static const uint32_t scalings[] = {0x7FC00000, 0xFFFFFFFF, 0x7F800000, 0xFF800000};
  for (int i = 0; i < 4; i++) {
    ufp4_operand_t a = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 16), b = blank(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 16);
    check_bits(i, product(a, b, UFP4_CONTRACT_NV, ufp4_f32_value(scalings[i])), NAN_NV, "0 times %08x", scalings[i]);
  }
}

// --- Properties ------------------------------------------------------------------------------------------

/** D of a pair as it is, F32. */
static void run(const pair_t *p, int threads, uint32_t *d) {
  ufp4_gemm_t how = plain(p, UFP4_DTYPE_F32);
  how.threads = threads;
  if (ufp4_gemm(&p->a, &p->b, &how, d, p->b.rows) != UFP4_OK) abort();
}

TEST(any_number_of_threads_gives_the_same_bits) {
  check_random_t random = check_random();
  static uint32_t one[83 * 57], many[83 * 57];
  for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c)) continue;
    pair_t p = pair(&random, n, (const int[3]){83, 57, 200}, FIXTURE_SCALES_NEAR);
    run(&p, 1, one);
    for (int threads = 0; threads < 40; threads += threads < 4 ? 1 : 11) {
      run(&p, threads, many);
      for (int j = 0; j < 83 * 57; j++) check_bits(j, many[j], one[j], "%d threads, combination %d", threads, n);
    }
    pair_free(&p);
  }
}

TEST(transposed_product_is_the_transpose) {
  check_random_t random = check_random();
  for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c)) continue;
    pair_t p = pair(&random, n, (const int[3]){13, 22, 150}, FIXTURE_SCALES_NAN);
    uint32_t d[13 * 22], e[22 * 13];
    run(&p, 1, d);
    const ufp4_operand_t a = p.a;
    p.a = p.b;
    p.b = a;
    run(&p, 1, e);
    for (int j = 0; j < 13 * 22; j++) check_bits(j, e[j % 22 * 13 + j / 22], d[j], "combination %d", n);
    pair_free(&p);
  }
}

TEST(one_block_is_the_same_with_fp32_as_exactly) {
  check_random_t random = check_random();
  for (int i = 0; i < 9 * 30; i++) {
    pair_t p = pair(&random, i % 9, (const int[3]){7, 8, 1 + i % 16}, FIXTURE_SCALES_ANY);
    uint32_t d[56], e[56];
    set_level(&p, i % 300 - 150, 0);
    run(&p, 1, d);
    p.what.contract = UFP4_CONTRACT_FP32;
    run(&p, 1, e);
    for (int j = 0; j < 56; j++) check_bits(j, e[j], d[j], "elems %u and %u", p.what.a, p.what.b);
    pair_free(&p);
  }
}

TEST(small_integers_are_the_same_with_every_contract) {
  // Scales of one binade: nothing is rounded or truncated anywhere.
  check_random_t random = check_random();
  for (int i = 0; i < 5 * 20; i++) {
    pair_t p = pair(&random, i % 5 == 2 ? 0 : i % 5, (const int[3]){7, 8, 300}, FIXTURE_SCALES_ANY);
    uint32_t d[3][56];
    for (int64_t j = 0; j < 7 * p.a.blocks; j++) p.a.scales[j] = (uint8_t)(0x38 + 8 * check_below(&random, 2));
    for (int64_t j = 0; j < 8 * p.b.blocks; j++) p.b.scales[j] = (uint8_t)(0x30 + 8 * check_below(&random, 2));
    for (int c = 0; c < 3; c++) {
      p.what.contract = (ufp4_contract_t)c;
      run(&p, 1, d[c]);
    }
    for (int j = 0; j < 56; j++) check_bits(j, d[1][j], d[0][j], "fp32"), check_bits(j, d[2][j], d[0][j], "nv");
    pair_free(&p);
  }
}

TEST(trailing_zero_blocks_change_nothing) {
  check_random_t random = check_random();
  for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c)) continue;
    pair_t p = pair(&random, n, (const int[3]){5, 6, 96}, FIXTURE_SCALES_NEAR);
    pair_t q = pair(&random, n, (const int[3]){5, 6, 160}, FIXTURE_SCALES_NEAR);
    ufp4_operand_t *const from[2] = {&p.a, &p.b}, *const to[2] = {&q.a, &q.b};
    uint32_t d[30], e[30];
    for (int s = 0; s < 2; s++) {
      memset(to[s]->codes, 0, (size_t)(to[s]->rows * to[s]->blocks * 8));
      for (int64_t i = 0; i < to[s]->rows * to[s]->scale_blocks; i++) fixture_set_scale(to[s], i, 0);
      for (int64_t r = 0; r < from[s]->rows; r++) {
        memcpy(to[s]->codes + r * to[s]->blocks * 8, from[s]->codes + r * from[s]->blocks * 8,
               (size_t)from[s]->blocks * 8);
        for (int64_t i = 0; i < from[s]->scale_blocks; i++)
          fixture_set_scale(to[s], r * to[s]->scale_blocks + i, fixture_scale(from[s], r * from[s]->scale_blocks + i));
      }
    }
    run(&p, 1, d);
    run(&q, 1, e);
    for (int j = 0; j < 30; j++) check_bits(j, e[j], d[j], "combination %d", n);
    pair_free(&p);
    pair_free(&q);
  }
}

TEST(default_contract_is_exact_where_the_scale_allows) {
  static const ufp4_contract_t want[] = {[UFP4_SCALE_E4M3] = UFP4_CONTRACT_EXACT,
                                         [UFP4_SCALE_NVFP4] = UFP4_CONTRACT_EXACT,
                                         [UFP4_SCALE_E8M0] = UFP4_CONTRACT_FP32,
                                         [UFP4_SCALE_FP32] = UFP4_CONTRACT_FP32};
  for (int i = 0; i < UFP4_SCALE_COUNT; i++) {
    check_bits(i, ufp4_gemm_default_contract((ufp4_scale_t)i), want[i], "scale %d", i);
  }
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(exact_with_every_scale),
      CHECK_TEST(exact_with_nan_scales),
      CHECK_TEST(fp32_with_every_scale),
      CHECK_TEST(fp32_with_near_scales),
      CHECK_TEST(fp32_with_the_largest_scales),
      CHECK_TEST(fp32_with_nan_scales),
      CHECK_TEST(fp32_to_bf16),
      CHECK_TEST(nv_with_every_scale),
      CHECK_TEST(nv_with_near_scales),
      CHECK_TEST(nv_with_the_largest_scales),
      CHECK_TEST(nv_with_nan_scales),
      CHECK_TEST(nv_to_bf16),
      CHECK_TEST(large_shapes),
      CHECK_TEST(levels_at_their_ends),
      CHECK_TEST(alpha_and_c),
      CHECK_TEST(nv_starts_from_c),
      CHECK_TEST(nv_near_cancellation),
      CHECK_TEST(extremes_worked),
      CHECK_TEST(nv_alignment_worked),
      CHECK_TEST(fp32_rounds_in_increasing_k),
      CHECK_TEST(nan_of_nv_survives_scaling),
      CHECK_TEST(nan_made_after_nv_is_nv_s_too),
      CHECK_TEST(any_number_of_threads_gives_the_same_bits),
      CHECK_TEST(transposed_product_is_the_transpose),
      CHECK_TEST(one_block_is_the_same_with_fp32_as_exactly),
      CHECK_TEST(small_integers_are_the_same_with_every_contract),
      CHECK_TEST(trailing_zero_blocks_change_nothing),
      CHECK_TEST(default_contract_is_exact_where_the_scale_allows),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
