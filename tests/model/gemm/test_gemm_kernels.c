// SPDX-License-Identifier: Apache-2.0
// Checks that every GEMM kernel gives the bits of the portable one. UFP4_KERNEL selects the kernel
// (unset: the fastest). The reference model checks the portable kernel (test_gemm.c) and, in the
// runs that CMakeLists.txt adds, all others.
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "pair.h"
#include "ufp4/format.h"

// --- Operands -----------------------------------------------------------------------------------

/** The path of a tile depends on its scales; each of these kinds exercises another mix of paths. */
typedef enum {
  SCALES_NEAR,       ///< two binades
  SCALES_SPREAD,     ///< seven binades, some zero
  SCALES_OUTLIERS,   ///< two binades, one in 32 sixteen times larger
  SCALES_ANY,        ///< every byte but NaN, sign bit included
  SCALES_SUBNORMAL,  ///< the smallest scales, zero included
  SCALES_POWERS,     ///< significands 8 only, all exponents
  SCALES_LARGEST,    ///< 448, codes of the largest magnitude
  SCALES_NAN,        ///< any, a few NaN
  SCALES_ZERO,       ///< all zero
  SCALES_COUNT
} scales_t;

static uint8_t one_scale(check_random_t *random, scales_t scales) {
  switch (scales) {
    case SCALES_NEAR:
      return (uint8_t)(0x60 + check_below(random, 16));
    case SCALES_SPREAD:
      return check_below(random, 4) == 0 ? 0 : (uint8_t)(0x40 + check_below(random, 56));
    case SCALES_OUTLIERS:
      return (uint8_t)(0x50 + check_below(random, 16) + (check_below(random, 32) == 0 ? 32 : 0));
    case SCALES_SUBNORMAL:
      return (uint8_t)check_below(random, 9);
    case SCALES_POWERS:
      return (uint8_t)(8 * check_below(random, 16));
    case SCALES_LARGEST:
      return 0x7E;
    case SCALES_NAN:
      return check_below(random, 200) == 0 ? 0x7F : (uint8_t)check_below(random, 0x7F);
    case SCALES_ZERO:
      return 0;
    default:
      return (uint8_t)(check_below(random, 0x7F) | check_below(random, 2) << 7);
  }
}

static void fill_codes(check_random_t *random, int largest, ufp4_operand_t *out) {
  const uint8_t code = out->elem == UFP4_ELEM_INT4 ? 0x88 : 0x77;
  for (int64_t i = 0; i < out->rows * out->blocks * 8; i++)
    out->codes[i] = largest ? code : (uint8_t)check_next(random);
}

static ufp4_operand_t operand(check_random_t *random, int64_t rows, int64_t cols, scales_t scales) {
  ufp4_operand_t out;
  if (ufp4_operand_create((ufp4_elem_t)check_below(random, UFP4_ELEM_COUNT), rows, cols, &out) !=
      UFP4_OK)
    abort();
  fill_codes(random, scales == SCALES_LARGEST, &out);
  for (int64_t i = 0; i < rows * out.blocks; i++) out.scales[i] = one_scale(random, scales);
  return out;
}

// --- Jobs ---------------------------------------------------------------------------------------

static ufp4_gemm_t plain(ufp4_dtype_t dtype) {
  return (ufp4_gemm_t){.contract = UFP4_CONTRACT_EXACT, .d_dtype = dtype, .alpha = 1};
}

static int64_t dimension(check_random_t *random, uint32_t usual, uint32_t rare) {
  return 1 + (int64_t)check_below(random, check_below(random, 4) == 0 ? rare : usual);
}

/** Draws shape, formats, scales, exponents, alpha, C, sums from outside, type and threads. */
static void check_drawn(check_random_t *random, int64_t index) {
  const int64_t m = dimension(random, 40, 200), n = dimension(random, 40, 200),
                k = dimension(random, 300, 5000);
  ufp4_operand_t a = operand(random, m, k, (scales_t)check_below(random, SCALES_COUNT));
  ufp4_operand_t b = operand(random, n, k, (scales_t)check_below(random, SCALES_COUNT));
  float *c = malloc((size_t)(m * n) * sizeof *c);
  int64_t *earlier = malloc((size_t)(m * n) * sizeof *earlier);
  if (!c || !earlier) abort();
  for (int64_t i = 0; i < m * n; i++) {
    c[i] = ufp4_f32_value(
        fixture_number(random, check_below(random, 20) ? FIXTURE_GAUSSIAN : FIXTURE_SPECIAL));
    earlier[i] = check_below(random, 100) ? (int64_t)check_next(random) >> 20 : UFP4_I64_NAN;
  }
  ufp4_gemm_t how = plain((ufp4_dtype_t)check_below(random, UFP4_DTYPE_COUNT));
  how.threads = (int)check_below(random, 5);
  a.exponent = (int)check_below(random, 21) - 10;
  if (check_below(random, 5) == 0) b.exponent = (int)check_below(random, 400) - 200;
  if (check_below(random, 3) == 0) how.accumulate = earlier;
  how.accumulate_ld = how.c_ld = n;
  if (how.d_dtype != UFP4_DTYPE_I64 && check_below(random, 3) == 0) how.alpha = 0.3f;
  if (how.d_dtype != UFP4_DTYPE_I64 && check_below(random, 3) == 0) how.c = c;
  kernels_check(index, &a, &b, &how);
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
  free(c);
  free(earlier);
}

// --- Properties ---------------------------------------------------------------------------------

TEST(any_job) {
  check_random_t random = check_random();
  for (int i = 0; i < 300; i++) check_drawn(&random, i);
}
SLOW_TEST(many_jobs) {
  check_random_t random = check_random();
  check_next(&random);
  for (int i = 0; i < 6000; i++) check_drawn(&random, i);
}

TEST(every_pair_of_scale_mixes) {
  check_random_t random = check_random();
  for (int i = 0; i < SCALES_COUNT * SCALES_COUNT; i++) {
    ufp4_operand_t a = operand(&random, 19, 1100, (scales_t)(i / SCALES_COUNT));
    ufp4_operand_t b = operand(&random, 35, 1100, (scales_t)(i % SCALES_COUNT));
    const ufp4_gemm_t how = plain(UFP4_DTYPE_I64);
    kernels_check(i, &a, &b, &how);
    ufp4_operand_free(&a);
    ufp4_operand_free(&b);
  }
}

/** Sets one block of each row to scale byte @p low and all others to @p high, so that their ratio
 * to it is as large as possible. */
static void set_scales(ufp4_operand_t *x, uint8_t high, uint8_t low) {
  for (int64_t i = 0; i < x->rows * x->blocks; i++)
    x->scales[i] = i % x->blocks == x->blocks / 2 ? low : high;
}

// The fast paths are limited to products of scales up to 2^15 and 2^26 and to sums up to 2^31 and
// 2^42. Each pair of ranges, the significands 8 and 15, and codes whose products all add up reach
// these limits from both sides.
static void check_ranges(int largest, int formats) {
  static const uint8_t significands[][2] = {{0, 0}, {7, 0}, {0, 7}, {7, 7}};
  check_random_t random = check_random();
  ufp4_operand_t a = operand(&random, 9, 512, SCALES_NEAR),
                 b = operand(&random, 18, 512, SCALES_NEAR);
  a.elem = (ufp4_elem_t)(formats % 3);
  b.elem = (ufp4_elem_t)(formats / 3);
  fill_codes(&random, largest, &a);
  fill_codes(&random, largest, &b);
  const ufp4_gemm_t how = plain(UFP4_DTYPE_I64);
  for (int i = 0; i < 15 * 15 * 4; i++) {
    const uint8_t *significand = significands[i % 4];
    int high_a = 8 * (1 + i / 4 % 15) + significand[0], high_b = 8 * (1 + i / 60) + significand[1];
    set_scales(&a, (uint8_t)(high_a < 0x7F ? high_a : 0x7E), (uint8_t)(8 + significand[1]));
    set_scales(&b, (uint8_t)(high_b < 0x7F ? high_b : 0x7E), (uint8_t)(i % 3 ? 8 : 1));
    kernels_check(i, &a, &b, &how);
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(limits_with_largest_codes) {
  for (int formats = 0; formats < 9; formats++) check_ranges(1, formats);
}
TEST(limits_with_random_codes) {
  for (int formats = 0; formats < 9; formats++) check_ranges(0, formats);
}

/** Sets one pair of blocks to @p byte and every other scale to the smallest normal one. */
static void set_pair(ufp4_operand_t *x, int byte) {
  for (int64_t i = 0; i < x->rows * x->blocks; i++) {
    x->scales[i] = (uint8_t)(i % x->blocks / 2 != 2 ? 8 : byte < 0x7F ? byte : 0x7E);
  }
}

// One pair of blocks alone exceeds the limit of 2^15, so it is multiplied on another path than the
// others.
TEST(limits_of_one_pair_of_blocks) {
  check_random_t random = check_random();
  ufp4_operand_t a = operand(&random, 9, 512, SCALES_NEAR),
                 b = operand(&random, 18, 512, SCALES_NEAR);
  const ufp4_gemm_t how = plain(UFP4_DTYPE_I64);
  for (int i = 0; i < 2 * 15 * 15 * 4; i++) {
    const int codes = i / 900, exponent_a = 1 + i / 60 % 15, exponent_b = 1 + i / 4 % 15;
    a.elem = (ufp4_elem_t)(i % 7 % 3);
    b.elem = (ufp4_elem_t)(i % 5 % 3);
    fill_codes(&random, codes, &a);
    fill_codes(&random, codes, &b);
    set_pair(&a, 8 * exponent_a + (i & 1) * 7);
    set_pair(&b, 8 * exponent_b + (i >> 1 & 1) * 7);
    kernels_check(i, &a, &b, &how);
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

/** Fills row j of b with the largest codes up to a block of its own; the second half of the rows is
 * negative. */
static void largest_rows(check_random_t *random, ufp4_operand_t *b) {
  fill_codes(random, 1, b);
  for (int64_t j = 0; j < b->rows; j++) {
    const int64_t half = b->rows / 2, used = 1 + j % half * b->blocks / half;
    memset(b->scales + j * b->blocks + used, 0, (size_t)(b->blocks - used));
    if (j >= half)
      memset(b->codes + j * b->blocks * 8, b->elem == UFP4_ELEM_INT4 ? 0x77 : 0xFF,
             (size_t)b->blocks * 8);
  }
}

TEST(largest_sums) {
  check_random_t random = check_random();
  ufp4_operand_t a = operand(&random, 9, 6000, SCALES_LARGEST),
                 b = operand(&random, 144, 6000, SCALES_LARGEST);
  for (int i = 0; i < UFP4_DTYPE_COUNT * UFP4_ELEM_COUNT; i++) {
    a.elem = b.elem = (ufp4_elem_t)(i % UFP4_ELEM_COUNT);
    fill_codes(&random, 1, &a);
    largest_rows(&random, &b);
    const ufp4_gemm_t how = plain((ufp4_dtype_t)(i / UFP4_ELEM_COUNT));
    kernels_check(i, &a, &b, &how);
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(results_of_every_magnitude) {
  check_random_t random = check_random();
  ufp4_operand_t a = operand(&random, 9, 16, SCALES_NEAR),
                 b = operand(&random, 33, 16, SCALES_SUBNORMAL);
  for (int i = 0; i < 4 * 400; i++) {
    a.exponent = i / 4 - 200;
    ufp4_gemm_t how = plain(i % 2 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
    if (i / 2 % 2) how.contract = UFP4_CONTRACT_FP32;
    kernels_check(i, &a, &b, &how);
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(sums_that_wrap_to_nan) {
  check_random_t random = check_random();
  ufp4_operand_t a = operand(&random, 8, 64, SCALES_NEAR),
                 b = operand(&random, 32, 64, SCALES_NEAR);
  int64_t earlier[8 * 32];
  ufp4_gemm_t how = plain(UFP4_DTYPE_I64);
  how.kernel = UFP4_KERNEL_PORTABLE;
  check_bits(0, ufp4_gemm(&a, &b, &how, earlier, 32), UFP4_OK, "status");
  for (int i = 0; i < 8 * 32; i += 3)
    earlier[i] = (int64_t)((uint64_t)INT64_MIN - (uint64_t)earlier[i]);
  how.accumulate = earlier;
  how.accumulate_ld = 32;
  for (int i = 0; i < UFP4_DTYPE_COUNT; i++) {
    how.d_dtype = (ufp4_dtype_t)i;
    kernels_check(i, &a, &b, &how);
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(every_small_shape) {
  check_random_t random = check_random();
  const ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
  for (int i = 0; i < 20 * 36; i++) {
    ufp4_operand_t a = operand(&random, 1 + i % 20, 1 + i % 97, SCALES_NEAR);
    ufp4_operand_t b = operand(&random, 1 + i / 20, 1 + i % 97, SCALES_NEAR);
    kernels_check(i, &a, &b, &how);
    ufp4_operand_free(&a);
    ufp4_operand_free(&b);
  }
}

SLOW_TEST(longest_k) {
  check_random_t random = check_random();
  for (int i = 0; i < SCALES_COUNT; i++) {
    ufp4_operand_t a = operand(&random, 2, UFP4_MAX_DIM, (scales_t)i),
                   b = operand(&random, 3, UFP4_MAX_DIM, (scales_t)i);
    const ufp4_gemm_t how = plain(UFP4_DTYPE_I64);
    kernels_check(i, &a, &b, &how);
    ufp4_operand_free(&a);
    ufp4_operand_free(&b);
  }
}

TEST(rejects_a_kernel_that_does_not_exist) {
  check_random_t random = check_random();
  ufp4_operand_t a = operand(&random, 2, 16, SCALES_NEAR);
  ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
  uint32_t d[4] = {1, 2, 3, 4};
  how.kernel = UFP4_KERNEL_COUNT;
  check_bits(0, ufp4_gemm(&a, &a, &how, d, 2), UFP4_ERROR_ARGUMENT, "status");
  for (uint32_t i = 0; i < 4; i++) check_bits(i, d[i], i + 1, "D is untouched");
  ufp4_operand_free(&a);
}

TEST(every_kernel_has_a_name) {
  ufp4_kernel_t kernel;
  for (int i = 0; i < UFP4_KERNEL_COUNT; i++) {
    check_bits(i, ufp4_kernel_named(ufp4_kernel_name((ufp4_kernel_t)i), &kernel), UFP4_OK,
               "status");
    check_bits(i, kernel, (uint64_t)i, "kernel");
  }
  check_that(0, ufp4_kernel_name(UFP4_KERNEL_COUNT) == NULL, "name of no kernel");
}
TEST(rejects_unknown_kernel_names) {
  static const char *const names[] = {"", "avx", "avx513", "AVX2", "avx2 "};
  for (int i = 0; i < 5; i++) {
    ufp4_kernel_t kernel = UFP4_KERNEL_AVX2;
    check_bits(i, ufp4_kernel_named(names[i], &kernel), UFP4_ERROR_ARGUMENT, "status of '%s'",
               names[i]);
    check_bits(i, kernel, UFP4_KERNEL_AVX2, "kernel is untouched");
  }
}

// --- Contracts that round along K: jobs ---------------------------------------------------------

/** Draws a legal combination with @p contract. */
static int combination(check_random_t *random, ufp4_contract_t contract) {
  for (;;) {
    const int n = (int)check_below(random, LEGAL_GEMM_COUNT);
    const legal_gemm_t c = legal_gemm_combination(n);
    if (c.contract == contract && legal_gemm(&c)) return n;
  }
}

/** Zeroes the codes of some scale blocks, and the scale of half of these. The quantizer gives a
 * zero block the smallest scale. */
static void clear_blocks(check_random_t *random, ufp4_operand_t *x) {
  for (int64_t i = 0; i < x->rows * x->scale_blocks; i++) {
    if (check_below(random, 8) != 0) continue;
    const int64_t row = i / x->scale_blocks, group = i % x->scale_blocks * (x->block / 16);
    const int64_t groups = group + x->block / 16 > x->blocks ? 1 : x->block / 16;
    // Zeros of both signs.
    const int code = x->elem != UFP4_ELEM_INT4 && check_below(random, 2) ? 0x88 : 0;
    memset(x->codes + (row * x->blocks + group) * 8, code, (size_t)groups * 8);
    if (check_below(random, 2)) fixture_set_scale(x, i, 0);
  }
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

/** Draws shape, formats, scales, levels, alpha, C, type and threads. */
static void check_rounding_drawn(check_random_t *random, int64_t index, ufp4_contract_t contract) {
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
  for (int i = 0; i < 250; i++) check_rounding_drawn(&random, i, UFP4_CONTRACT_FP32);
}
TEST(any_nv_job) {
  check_random_t random = check_random();
  for (int i = 0; i < 40; i++) check_rounding_drawn(&random, i, UFP4_CONTRACT_NV);
}
SLOW_TEST(many_fp32_jobs) {
  check_random_t random = check_random();
  for (int i = 0; i < 2000; i++) check_rounding_drawn(&random, i, UFP4_CONTRACT_FP32);
}

// --- The same: ranges ---------------------------------------------------------------------------

static ufp4_operand_t near_operand(check_random_t *random, ufp4_elem_t elem, ufp4_scale_t scale,
                                   int64_t rows, int64_t cols) {
  return fixture_operand_scaled(random, elem, scale, rows, cols, FIXTURE_SCALES_NEAR);
}

/** Draws scales from @p least to @p most; the first row has both ends. */
static void fill_scales(check_random_t *random, int least, int most, ufp4_operand_t *x) {
  for (int64_t i = 0; i < x->rows * x->scale_blocks; i++) {
    const int drawn = least + (int)check_below(random, (uint32_t)(most - least) + 1);
    fixture_set_scale(x, i, (uint32_t)(i == 0 ? least : i == x->scale_blocks - 1 ? most : drawn));
  }
}

/** Draws E8M0 exponents whose sums, as exponent fields of FP32 numbers, lie between @p least and @p
 * least + 2 * @p spread. */
static void check_e8m0(check_random_t *random, int64_t index, int least, int spread) {
  const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_FP32, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
  ufp4_operand_t a = near_operand(random, (ufp4_elem_t)(index % 3), UFP4_SCALE_E8M0, 9, 100);
  ufp4_operand_t b = near_operand(random, (ufp4_elem_t)(index / 3 % 3), UFP4_SCALE_E8M0, 35, 100);
  const int sum = least + 127 + ufp4_elem_frac(a.elem) + ufp4_elem_frac(b.elem), from = sum / 2;
  fill_scales(random, from, from + spread, &a);
  fill_scales(random, sum - from, sum - from + spread, &b);
  kernels_check(index, &a, &b, &how);
  clear_blocks(random, &a);
  kernels_check(index, &a, &b, &how);
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

/** The exponents lie on either side of each end; subnormal and infinite sums occur. */
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

/** The products of FP32 scales are subnormal, zero or infinite; some multiply infinity by a zero
 * dot product. */
TEST(fp32_scales_at_the_ends) {
  check_random_t random = check_random();
  const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_FP32, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
  for (int i = 0; i < 200; i++) {
    ufp4_operand_t a = near_operand(&random, (ufp4_elem_t)(i % 3), UFP4_SCALE_FP32, 10, 40);
    ufp4_operand_t b = near_operand(&random, (ufp4_elem_t)(i / 3 % 3), UFP4_SCALE_FP32, 40, 40);
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

/** Multiplies every E4M3 scale of A by every one of B, zero, subnormals and NaN included. */
TEST(every_pair_of_e4m3_scales) {
  check_random_t random = check_random();
  ufp4_operand_t a = near_operand(&random, UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 128, 16);
  ufp4_operand_t b = near_operand(&random, UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, 128, 16);
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

// --- The same: shapes ---------------------------------------------------------------------------

/** The shapes exceed the bounds that gemm/blocked.c ships with, so that there are several columns
 * of macro-tiles and streamed results, or several rows and depths. */
SLOW_TEST(beyond_the_bounds) {
  static const int shapes[][3] = {{1100, 2128, 130}, {1100, 32, 4200}};
  check_random_t random = check_random();
  for (int i = 0; i < 8; i++) {
    const int n = combination(&random, i % 2 ? UFP4_CONTRACT_FP32 : UFP4_CONTRACT_EXACT);
    pair_t p = pair_random(&random, n, shapes[i / 2 % 2], FIXTURE_SCALES_NEAR);
    ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    how.threads = 1 + i / 4;
    kernels_check(3 * i, &p.a, &p.b, &how);  // rows of D without a gap
    pair_free(&p);
  }
}

TEST(every_small_shape_of_fp32) {
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
