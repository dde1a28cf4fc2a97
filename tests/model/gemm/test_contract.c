// SPDX-License-Identifier: Apache-2.0
// Tests contracts fp32 and nv, and exact with a tensor scale (numerics.md 5): every legal pair of
// formats on odd shapes against the reference model, and properties that need no reference model.
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "ufp4/format.h"

/** K is at and beside multiples of 16, 32 and 64. */
static const int shapes[][3] = {{1, 1, 1},   {2, 3, 15},   {3, 2, 16},  {5, 4, 17},   {4, 7, 31},
                                {9, 2, 32},  {3, 17, 33},  {17, 3, 48}, {6, 5, 63},   {5, 6, 64},
                                {7, 4, 65},  {2, 33, 79},  {4, 4, 81},  {33, 2, 130}, {3, 5, 257},
                                {8, 16, 96}, {16, 8, 112}, {2, 2, 1040}};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

/** Checks every legal combination with the contract on every shape. */
static void sweep(ufp4_contract_t contract, ufp4_dtype_t dtype, fixture_scales_t scales) {
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * SHAPES; i++) {
    const legal_gemm_t c = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&c) || c.contract != contract) continue;
    pair_t p = pair_random(&random, i % LEGAL_GEMM_COUNT, shapes[i / LEGAL_GEMM_COUNT], scales);
    pair_set_level(&p, (int)check_below(&random, 40) - 20, (int)check_below(&random, 40) - 20);
    const ufp4_gemm_t how = pair_plain(&p, dtype);
    pair_check(i, &p, &how);
    pair_free(&p);
  }
}

static void sweep_all(ufp4_contract_t contract) {
  for (int scales = 0; scales < FIXTURE_SCALES_COUNT; scales++) {
    sweep(contract, UFP4_DTYPE_F32, (fixture_scales_t)scales);
    sweep(contract, UFP4_DTYPE_BF16, (fixture_scales_t)scales);
  }
}

TEST(exact_with_every_scale) {
  sweep_all(UFP4_CONTRACT_EXACT);
}
TEST(fp32_with_every_scale) {
  sweep_all(UFP4_CONTRACT_FP32);
}
TEST(nv_with_every_scale) {
  sweep_all(UFP4_CONTRACT_NV);
}

SLOW_TEST(large_shapes) {
  static const int large[][3] = {{150, 130, 520}, {64, 300, 1000}, {203, 9, 2050}, {2, 3, 70000}};
  check_random_t random = check_random();
  for (int i = 0, n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c) || check_below(&random, 6)) continue;
    pair_t p =
        pair_random(&random, n, large[i % 4], i % 5 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
    ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    how.threads = i++ % 4;
    pair_check(n, &p, &how);
    pair_free(&p);
  }
}

TEST(levels_at_their_ends) {
  // Includes the extreme E4M3 exponents, and tensor scales whose product is Inf, 0 or subnormal.
  static const int exponents[][2] = {{32767, 32767}, {-32768, -32768}, {-32768, 32767}, {-64, -60},
                                     {80, 75},       {75, 65},         {-64, -64},      {-40, -40},
                                     {-121, -121},   {162, 162},       {70, 70},        {-60, -70}};
  static const uint32_t scales[][2] = {{0x7F7FFFFF, 0x40000000}, {1, 1},
                                       {0x00400000, 0x3F000000}, {0x7F7FFFFF, 1},
                                       {0x1F800001, 0x20000001}, {0x00800000, 0x3F7FFFFF}};
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * 12; i++) {
    const legal_gemm_t c = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&c)) continue;
    pair_t p = pair_random(&random, i % LEGAL_GEMM_COUNT, (const int[3]){5, 6, 70},
                           i % 2 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
    pair_set_level(&p, exponents[i / LEGAL_GEMM_COUNT][0], exponents[i / LEGAL_GEMM_COUNT][1]);
    if (c.scale == UFP4_SCALE_NVFP4) {
      p.a.tensor_scale = ufp4_f32_value(scales[i / LEGAL_GEMM_COUNT % 6][0]);
      p.b.tensor_scale = ufp4_f32_value(scales[i / LEGAL_GEMM_COUNT % 6][1]);
    }
    const ufp4_gemm_t f32 = pair_plain(&p, UFP4_DTYPE_F32), bf16 = pair_plain(&p, UFP4_DTYPE_BF16);
    pair_check(i, &p, &f32);
    pair_check(i, &p, &bf16);
    pair_free(&p);
  }
}

static float special_or_gaussian(check_random_t *random, int i) {
  static const uint32_t specials[] = {0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000,
                                      0xFFC12345, 0x00000001, 0x7F7FFFFF, 0x80000001, 0xFF7FFFFF};
  if (i % 5 == 0) return ufp4_f32_value(specials[check_below(random, 10)]);
  return ufp4_f32_value(fixture_number(random, i % 2 ? FIXTURE_GAUSSIAN : FIXTURE_WILD));
}

static const uint32_t alphas[] = {0x3F800000, 0x40000000, 0x3EAAAAAB, 0x00000000, 0x80000000,
                                  0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x00000001,
                                  0x7F7FFFFF, 0xBF800000, 0x1F800000, 0x3F7FFFFF};
#define ALPHAS 14

TEST(alpha_and_c) {
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * ALPHAS; i++) {
    const legal_gemm_t what = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&what)) continue;
    pair_t p = pair_random(&random, i % LEGAL_GEMM_COUNT, (const int[3]){6, 10, 70},
                           i % 7   ? FIXTURE_SCALES_NEAR
                           : i % 2 ? FIXTURE_SCALES_NAN
                                   : FIXTURE_SCALES_MAX);
    pair_set_level(&p, (int)check_below(&random, 200) - 100, (int)check_below(&random, 60) - 30);
    float c[6 * 12];
    for (int j = 0; j < 6 * 12; j++) c[j] = special_or_gaussian(&random, j);
    ufp4_gemm_t how = pair_plain(&p, check_below(&random, 2) ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
    how.alpha = ufp4_f32_value(alphas[i / LEGAL_GEMM_COUNT]);
    if (what.contract != UFP4_CONTRACT_NV && check_below(&random, 2)) how.c = c, how.c_ld = 12;
    pair_check(i, &p, &how);
    pair_free(&p);
  }
}

TEST(nv_starts_from_c) {
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * 12; i++) {
    const legal_gemm_t what = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&what) || what.contract != UFP4_CONTRACT_NV) continue;
    pair_t p = pair_random(&random, i % LEGAL_GEMM_COUNT,
                           (const int[3]){9, 10, 1 + 13 * (i / LEGAL_GEMM_COUNT)},
                           i % 3 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
    if (what.scale == UFP4_SCALE_E4M3) p.a.exponent = 9, p.b.exponent = -9;
    float c[9 * 12];
    for (int j = 0; j < 9 * 12; j++) c[j] = special_or_gaussian(&random, j);
    ufp4_gemm_t how = pair_plain(&p, i % 2 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
    how.c = c, how.c_ld = 12;
    pair_check(i, &p, &how);
    pair_free(&p);
  }
}

TEST(nv_near_cancellation) {
  // C is the negative of the product, up to a few last places, so that D shows the bits that
  // truncation leaves.
  check_random_t random = check_random();
  for (int i = 0; i < LEGAL_GEMM_COUNT * 20; i++) {
    const legal_gemm_t what = legal_gemm_combination(i % LEGAL_GEMM_COUNT);
    if (!legal_gemm(&what) || what.contract != UFP4_CONTRACT_NV) continue;
    pair_t p = pair_random(&random, i % LEGAL_GEMM_COUNT, (const int[3]){4, 4, 64 + i % 70},
                           i % 3 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
    float c[16], d[16];
    ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    if (ufp4_gemm(&p.a, &p.b, &how, d, 4) != UFP4_OK) abort();
    for (int j = 0; j < 16; j++)
      c[j] = ufp4_f32_value((ufp4_f32_bits(d[j]) ^ 0x80000000u) + check_below(&random, 5) - 2);
    how.c = c, how.c_ld = 4;
    pair_check(i, &p, &how);
    pair_free(&p);
  }
}

// --- Properties ---------------------------------------------------------------------------------

/** Computes the D of a pair in F32. */
static void run(const pair_t *p, int threads, uint32_t *d) {
  ufp4_gemm_t how = pair_plain(p, UFP4_DTYPE_F32);
  how.threads = threads;
  if (ufp4_gemm(&p->a, &p->b, &how, d, p->b.rows) != UFP4_OK) abort();
}

TEST(any_number_of_threads_gives_the_same_bits) {
  check_random_t random = check_random();
  static uint32_t one[83 * 57], many[83 * 57];
  for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c)) continue;
    pair_t p = pair_random(&random, n, (const int[3]){83, 57, 200}, FIXTURE_SCALES_NEAR);
    run(&p, 1, one);
    for (int threads = 0; threads < 40; threads += threads < 4 ? 1 : 11) {
      run(&p, threads, many);
      for (int j = 0; j < 83 * 57; j++)
        check_bits(j, many[j], one[j], "%d threads, combination %d", threads, n);
    }
    pair_free(&p);
  }
}

TEST(transposed_product_is_the_transpose) {
  check_random_t random = check_random();
  for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c)) continue;
    pair_t p = pair_random(&random, n, (const int[3]){13, 22, 150}, FIXTURE_SCALES_NAN);
    uint32_t d[13 * 22], e[22 * 13];
    run(&p, 1, d);
    const ufp4_operand_t a = p.a;
    p.a = p.b;
    p.b = a;
    run(&p, 1, e);
    for (int j = 0; j < 13 * 22; j++)
      check_bits(j, e[j % 22 * 13 + j / 22], d[j], "combination %d", n);
    pair_free(&p);
  }
}

TEST(one_block_is_the_same_with_fp32_as_exactly) {
  check_random_t random = check_random();
  for (int i = 0; i < 9 * 30; i++) {
    pair_t p = pair_random(&random, i % 9, (const int[3]){7, 8, 1 + i % 16}, FIXTURE_SCALES_ANY);
    uint32_t d[56], e[56];
    pair_set_level(&p, i % 300 - 150, 0);
    run(&p, 1, d);
    p.what.contract = UFP4_CONTRACT_FP32;
    run(&p, 1, e);
    for (int j = 0; j < 56; j++) check_bits(j, e[j], d[j], "elems %u and %u", p.what.a, p.what.b);
    pair_free(&p);
  }
}

TEST(small_integers_are_the_same_with_every_contract) {
  // The scales span one binade, so that no contract rounds or truncates.
  check_random_t random = check_random();
  for (int i = 0; i < 5 * 20; i++) {
    pair_t p =
        pair_random(&random, i % 5 == 2 ? 0 : i % 5, (const int[3]){7, 8, 300}, FIXTURE_SCALES_ANY);
    uint32_t d[3][56];
    for (int64_t j = 0; j < 7 * p.a.blocks; j++)
      p.a.scales[j] = (uint8_t)(0x38 + 8 * check_below(&random, 2));
    for (int64_t j = 0; j < 8 * p.b.blocks; j++)
      p.b.scales[j] = (uint8_t)(0x30 + 8 * check_below(&random, 2));
    for (int c = 0; c < 3; c++) {
      p.what.contract = (ufp4_contract_t)c;
      run(&p, 1, d[c]);
    }
    for (int j = 0; j < 56; j++)
      check_bits(j, d[1][j], d[0][j], "fp32"), check_bits(j, d[2][j], d[0][j], "nv");
    pair_free(&p);
  }
}

TEST(trailing_zero_blocks_change_nothing) {
  check_random_t random = check_random();
  for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c)) continue;
    pair_t p = pair_random(&random, n, (const int[3]){5, 6, 96}, FIXTURE_SCALES_NEAR);
    pair_t q = pair_random(&random, n, (const int[3]){5, 6, 160}, FIXTURE_SCALES_NEAR);
    ufp4_operand_t *const from[2] = {&p.a, &p.b}, *const to[2] = {&q.a, &q.b};
    uint32_t d[30], e[30];
    for (int s = 0; s < 2; s++) {
      memset(to[s]->codes, 0, (size_t)(to[s]->rows * to[s]->blocks * 8));
      for (int64_t i = 0; i < to[s]->rows * to[s]->scale_blocks; i++)
        fixture_set_scale(to[s], i, 0);
      for (int64_t r = 0; r < from[s]->rows; r++) {
        memcpy(to[s]->codes + r * to[s]->blocks * 8, from[s]->codes + r * from[s]->blocks * 8,
               (size_t)from[s]->blocks * 8);
        for (int64_t i = 0; i < from[s]->scale_blocks; i++)
          fixture_set_scale(to[s], r * to[s]->scale_blocks + i,
                            fixture_scale(from[s], r * from[s]->scale_blocks + i));
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
