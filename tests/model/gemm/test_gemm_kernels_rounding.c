// SPDX-License-Identifier: Apache-2.0
// The contracts that round along K, fp32 and nv: every GEMM kernel gives the bits of the portable
// one. The kernel is that of UFP4_KERNEL (unset: the fastest); the portable one has the reference
// model as its witness (test_contract.c).
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "pair.h"
#include "ufp4/format.h"

// --- Jobs ---------------------------------------------------------------------------------------

/** A random legal combination with @p contract. */
static int combination(check_random_t *random, ufp4_contract_t contract) {
  for (;;) {
    const int n = (int)check_below(random, LEGAL_GEMM_COUNT);
    const legal_gemm_t c = legal_gemm_combination(n);
    if (c.contract == contract && legal_gemm(&c)) return n;
  }
}

/** Some blocks of 32 lose their codes; the quantizer gives such blocks the smallest scale, so now
 * and then they get it.
 */
static void clear_blocks(check_random_t *random, ufp4_operand_t *x) {
  for (int64_t i = 0; i < x->rows * x->scale_blocks; i++) {
    if (check_below(random, 8) != 0) continue;
    const int64_t row = i / x->scale_blocks, group = i % x->scale_blocks * (x->block / 16);
    const int64_t groups = group + x->block / 16 > x->blocks ? 1 : x->block / 16;
    // Codes of 0 and -0.
    const int code = x->elem != UFP4_ELEM_INT4 && check_below(random, 2) ? 0x88 : 0;
    memset(x->codes + (row * x->blocks + group) * 8, code, (size_t)groups * 8);
    if (check_below(random, 2)) fixture_set_scale(x, i, 0);
  }
}

static int64_t dimension(check_random_t *random, uint32_t usual, uint32_t rare) {
  return 1 + (int64_t)check_below(random, check_below(random, 4) == 0 ? rare : usual);
}

static ufp4_gemm_t options(check_random_t *random, const pair_t *p, const float *c) {
  ufp4_gemm_t how = pair_plain(p, check_below(random, 2) ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
  how.threads = (int)check_below(random, 5);
  if (how.contract == UFP4_CONTRACT_NV) return how;
  if (check_below(random, 3) == 0)
    how.alpha = check_below(random, 4) ? 0.3f : ufp4_f32_value(0x7F800000);
  if (check_below(random, 3) == 0) how.c = c;
  return how;
}

/** Everything drawn: shape, formats, scales, levels, alpha, C, type, threads. */
static void check_drawn(check_random_t *random, int64_t index, ufp4_contract_t contract) {
  const int shape[3] = {(int)dimension(random, 40, 150), (int)dimension(random, 40, 150),
                        (int)dimension(random, 300, contract == UFP4_CONTRACT_NV ? 1000 : 5000)};
  pair_t p = pair_random(random, combination(random, contract), shape,
                         (fixture_scales_t)check_below(random, FIXTURE_SCALES_COUNT));
  float *c = malloc((size_t)(p.a.rows * p.b.rows) * sizeof *c);
  if (!c) abort();
  for (int64_t i = 0; i < p.a.rows * p.b.rows; i++) {
    c[i] = ufp4_f32_value(
        fixture_number(random, check_below(random, 20) ? FIXTURE_GAUSSIAN : FIXTURE_SPECIAL));
  }
  if (check_below(random, 2)) clear_blocks(random, &p.a);
  if (check_below(random, 2)) clear_blocks(random, &p.b);
  const int far = check_below(random, 5) == 0 ? 250 : 20;
  pair_set_level(&p, (int)check_below(random, (uint32_t)far) - far / 2,
                 (int)check_below(random, 20) - 10);
  ufp4_gemm_t how = options(random, &p, c);
  how.c_ld = p.b.rows;
  kernels_check(index, &p.a, &p.b, &how);
  pair_free(&p);
  free(c);
}

TEST(any_fp32_job) {
  check_random_t random = check_random();
  for (int i = 0; i < 250; i++) check_drawn(&random, i, UFP4_CONTRACT_FP32);
}
TEST(any_nv_job) {
  check_random_t random = check_random();
  for (int i = 0; i < 40; i++) check_drawn(&random, i, UFP4_CONTRACT_NV);
}
SLOW_TEST(many_fp32_jobs) {
  check_random_t random = check_random();
  for (int i = 0; i < 2000; i++) check_drawn(&random, i, UFP4_CONTRACT_FP32);
}

// --- Ranges -------------------------------------------------------------------------------------

static ufp4_operand_t operand(check_random_t *random, ufp4_elem_t elem, ufp4_scale_t scale,
                              int64_t rows, int64_t cols) {
  return fixture_operand_scaled(random, elem, scale, rows, cols, FIXTURE_SCALES_NEAR);
}

/** Both ends of the range occur. */
static void fill_scales(check_random_t *random, int least, int most, ufp4_operand_t *x) {
  for (int64_t i = 0; i < x->rows * x->scale_blocks; i++) {
    const int drawn = least + (int)check_below(random, (uint32_t)(most - least) + 1);
    fixture_set_scale(x, i, (uint32_t)(i == 0 ? least : i == x->scale_blocks - 1 ? most : drawn));
  }
}

/** E8M0 exponents whose sums, as exponent fields of FP32 numbers, are from @p least to @p least + 2
 * * @p spread. */
static void check_e8m0(check_random_t *random, int64_t index, int least, int spread) {
  const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_FP32, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
  ufp4_operand_t a = operand(random, (ufp4_elem_t)(index % 3), UFP4_SCALE_E8M0, 9, 100);
  ufp4_operand_t b = operand(random, (ufp4_elem_t)(index / 3 % 3), UFP4_SCALE_E8M0, 35, 100);
  const int sum = least + 127 + ufp4_elem_frac(a.elem) + ufp4_elem_frac(b.elem), from = sum / 2;
  fill_scales(random, from, from + spread, &a);
  fill_scales(random, sum - from, sum - from + spread, &b);
  kernels_check(index, &a, &b, &how);
  clear_blocks(random, &a);
  kernels_check(index, &a, &b, &how);
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

/** On either side of each end; subnormal and infinite sums too. */
TEST(e8m0_exponents_at_the_ends) {
  check_random_t random = check_random();
  for (int i = 0; i < 9 * 40; i++) {
    const int spread = i / 9 % 2, low = i / 18 - 14, high = i / 18 + 236 + (i % 2 ? 6 : 0);
    check_e8m0(&random, i, low, spread);
    check_e8m0(&random, i, high, spread);
  }
}

static uint32_t scale_at_an_end(check_random_t *random) {
  static const uint32_t ends[] = {0,          1,          0x007FFFFF, 0x00800000,
                                  0x1F800001, 0x20000001, 0x5F800000, 0x7F7FFFFF};
  if (check_below(random, 4) == 0) return ends[check_below(random, 8)];
  return check_below(random, 0x7F800000);
}

/** FP32 scales whose product is subnormal, zero or infinite, and infinity times a dot of zero. */
TEST(fp32_scales_at_the_ends) {
  check_random_t random = check_random();
  const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_FP32, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
  for (int i = 0; i < 200; i++) {
    ufp4_operand_t a = operand(&random, (ufp4_elem_t)(i % 3), UFP4_SCALE_FP32, 10, 40);
    ufp4_operand_t b = operand(&random, (ufp4_elem_t)(i / 3 % 3), UFP4_SCALE_FP32, 40, 40);
    for (int64_t s = 0; s < a.rows * a.scale_blocks; s++)
      fixture_set_scale(&a, s, scale_at_an_end(&random));
    for (int64_t s = 0; s < b.rows * b.scale_blocks; s++)
      fixture_set_scale(&b, s, scale_at_an_end(&random));
    clear_blocks(&random, &a);
    kernels_check(i, &a, &b, &how);
    ufp4_operand_free(&a);
    ufp4_operand_free(&b);
  }
}

/** Every E4M3 scale of A with every one of B, zero, subnormals and NaN included. */
TEST(every_pair_of_e4m3_scales) {
  check_random_t random = check_random();
  ufp4_operand_t a = operand(&random, UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 128, 16);
  ufp4_operand_t b = operand(&random, UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 128, 16);
  for (uint32_t s = 0; s < 128; s++) fixture_set_scale(&a, s, s);
  for (uint32_t s = 0; s < 128; s++) fixture_set_scale(&b, s, s | 0x80 * (s % 2));
  for (int formats = 0; formats < 9; formats++) {
    const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_FP32, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
    a.elem = (ufp4_elem_t)(formats % 3);
    b.elem = (ufp4_elem_t)(formats / 3);
    kernels_check(formats, &a, &b, &how);
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(results_of_every_magnitude) {
  check_random_t random = check_random();
  ufp4_operand_t a = operand(&random, UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 9, 16);
  ufp4_operand_t b = operand(&random, UFP4_ELEM_E1M2, UFP4_SCALE_E4M3, 33, 16);
  for (int i = 0; i < 2 * 400; i++) {
    const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_FP32,
                             .d_dtype = i % 2 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16,
                             .alpha = 1};
    a.exponent = i / 2 - 200;
    kernels_check(i, &a, &b, &how);
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

// --- Shapes -------------------------------------------------------------------------------------

TEST(every_small_shape) {
  check_random_t random = check_random();
  for (int i = 0; i < 20 * 70; i++) {
    const int shape[3] = {1 + i % 20, 1 + i / 20, 1 + i * 7 % 600};
    pair_t p =
        pair_random(&random, combination(&random, UFP4_CONTRACT_FP32), shape, FIXTURE_SCALES_NEAR);
    const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    kernels_check(i, &p.a, &p.b, &how);
    pair_free(&p);
  }
}

// Large enough, and whole lines: written past the caches where the kernel can.
TEST(streamed_results) {
  check_random_t random = check_random();
  for (int i = 0; i < 6; i++) {
    const int shape[3] = {523, 1024 - 16 * (i / 3), 40};
    pair_t p = pair_random(&random, combination(&random, UFP4_CONTRACT_FP32), shape,
                           i % 2 ? FIXTURE_SCALES_NAN : FIXTURE_SCALES_NEAR);
    ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    how.threads = 1 + i % 2;
    kernels_check(3 * i, &p.a, &p.b, &how);
    pair_free(&p);
  }
}

// Beyond one macro-tile and one depth of K.
SLOW_TEST(large_operands) {
  static const int shapes[][3] = {
      {1100, 2100, 130}, {70, 80, 9000}, {1, 2077, 4200}, {1041, 3, 8200}, {2, 3, 200000}};
  check_random_t random = check_random();
  for (int i = 0; i < 5 * 3; i++) {
    pair_t p = pair_random(&random, combination(&random, UFP4_CONTRACT_FP32), shapes[i / 3],
                           FIXTURE_SCALES_NEAR);
    ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    how.threads = 2;
    kernels_check(i, &p.a, &p.b, &how);
    pair_free(&p);
  }
}
