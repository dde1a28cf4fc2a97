// SPDX-License-Identifier: Apache-2.0
// Tests the reference model against witnesses of its own: the host's FP32 arithmetic and numbers
// worked out by hand.
#include <math.h>
#include <string.h>

#include "fixture.h"

static float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t as_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return value != value ? 0x7FC00000u : bits;
}

/** Patterns of corner cases: zeros, ends of the ranges, Inf and NaN. */
static const uint32_t corners[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000,
    0x3F800000, 0xBF800000, 0x3F800001, 0x33800000, 0x33800001, 0x7F7FFFFF, 0xFF7FFFFF,
    0x7F000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x73000000};
#define CORNERS ((int)(sizeof corners / sizeof corners[0]))

static void check_pair(int64_t index, uint32_t a, uint32_t b) {
  check_bits(index, reference_f32_multiply(a, b), as_bits(as_float(a) * as_float(b)), "%08x * %08x",
             a, b);
  check_bits(index, reference_f32_add(a, b), as_bits(as_float(a) + as_float(b)), "%08x + %08x", a,
             b);
  check_bits(index, reference_f32_divide(a, b), as_bits(as_float(a) / as_float(b)), "%08x / %08x",
             a, b);
}

TEST(arithmetic_corners_match_host) {
  for (int i = 0; i < CORNERS * CORNERS; i++)
    check_pair(i, corners[i / CORNERS], corners[i % CORNERS]);
}

TEST(arithmetic_random_matches_host) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    const fixture_distribution_t distribution = i % 2 ? FIXTURE_WILD : FIXTURE_NEAR;
    const uint32_t a = fixture_number(&random, distribution);
    check_pair(i, a, fixture_number(&random, distribution));
    check_pair(i, a, (a ^ 0x80000000u) + check_below(&random, 5) - 2);
  }
}

TEST(rounding_matches_host_conversion) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    const uint64_t magnitude = check_next(&random) >> check_below(&random, 64);
    check_bits(i, reference_f32_round(0, magnitude, 0), as_bits((float)magnitude), "%llx",
               (unsigned long long)magnitude);
  }
}

TEST(compare_is_exact) {
  check_that(0, reference_compare(3, 1000, 3, 1000) == 0, "equal");
  check_that(1, reference_compare(3, 1000, 6, 999) == 0, "equal with different exponents");
  check_that(2, reference_compare(1, 100000, 3, -100000) > 0, "far apart");
  check_that(3, reference_compare(0, 100000, 1, -100000) < 0, "zero is less than anything else");
  check_that(4, reference_compare(0, 7, 0, -7) == 0, "zeros");
  check_that(5, reference_compare((1ull << 62) + 1, 0, 1, 62) > 0, "one in 2^62");
}

TEST(exponent_of_the_extremes) {
  const reference_real_t largest = reference_f32_real(0x7F7FFFFF),
                         smallest = reference_f32_real(0x00000001);
  // numerics.md gives the range for FP32 data: its -121 comes from E1M2 and the largest output of
  // the RHT (16 of the largest number, / 4).
  const reference_real_t transformed = {0, 4 * largest.magnitude, largest.exponent};
  check_bits(0, (uint64_t)(int64_t)reference_exponent_of(REFERENCE_E1M2, transformed),
             (uint64_t)-121, "largest, E1M2, RHT");
  check_bits(1, (uint64_t)reference_exponent_of(REFERENCE_INT4, smallest), 160, "2^-149, INT4");
  const reference_real_t quarter = {0, 1, -151};
  check_bits(2, (uint64_t)reference_exponent_of(REFERENCE_INT4, quarter), 162, "2^-151, INT4");
  const reference_real_t one = {0, 448 * 6, 0};
  check_bits(3, (uint64_t)reference_exponent_of(REFERENCE_E2M1, one), 0, "448 * 6, E2M1");
}

/** Returns a 20-bit integer times 2^-20 to 2^-5, so that a double holds sums exactly. */
static reference_real_t near_one(check_random_t *random) {
  const uint64_t r = check_next(random);
  return (reference_real_t){(int)(r & 1), r >> 44, -20 + (int)(r >> 1 & 15)};
}

TEST(sums_match_host_doubles) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    reference_sum_t sum = {0};
    double want = 0;
    for (int n = 0; n < 1 + i % 16; n++) {
      const reference_real_t x = near_one(&random);
      reference_sum_add(&sum, x);
      want += ldexp((double)x.magnitude, x.exponent) * (x.negative ? -1 : 1);
    }
    check_bits(i, reference_sum_round(&sum, 0), as_bits((float)want), "FP32 of %a", want);
    if ((double)(float)want != want) continue;  // rounding to BF16 by way of FP32 would round twice
    check_bits(i, reference_sum_round(&sum, 16),
               (uint32_t)reference_bf16_cast(as_bits((float)want)) << 16, "BF16 of %a", want);
  }
}

TEST(sums_of_far_numbers_round_once) {
  // 1 + 2^-24 is a tie, which any other term decides, however small.
  const reference_real_t one = {0, 1, 0}, half = {0, 1, -24}, more = {0, 1, -258},
                         less = {1, 1, -258};
  reference_sum_t tie = {0};
  reference_sum_add(&tie, one);
  reference_sum_add(&tie, half);
  reference_sum_t above = tie, below = tie;
  reference_sum_add(&above, more);
  reference_sum_add(&below, less);
  check_bits(0, reference_sum_round(&tie, 0), 0x3F800000, "tie to even");
  check_bits(1, reference_sum_round(&above, 0), 0x3F800001, "just above");
  check_bits(2, reference_sum_round(&below, 0), 0x3F800000, "just below");
  check_bits(3, reference_f32_add_real(0, (reference_real_t){1, 1, -258}), 0x80000000,
             "a negative number under the smallest");
  check_bits(4, reference_f32_add_real(0, (reference_real_t){0, 144, 254}), 0x7F800000,
             "a number over the largest");
  check_bits(5, reference_f32_add_real(0xFF800000, (reference_real_t){0, 144, 254}), 0xFF800000,
             "Inf stays");
}

/** Transforms in doubles, which is exact if the inputs are within a few binades. */
static uint32_t rht_in_doubles(const uint32_t bits[16], uint16_t mask, int i) {
  double sum = 0;
  for (int j = 0; j < 16; j++) {
    const double x = (double)as_float((uint32_t)reference_bf16_cast(bits[j]) << 16);
    sum += __builtin_parity((unsigned)(i & j)) ^ (mask >> j & 1) ? -x : x;
  }
  const reference_real_t exact = {sum < 0, (uint64_t)fabs(ldexp(sum, 40)), -42};
  reference_sum_t one = {0};
  reference_sum_add(&one, exact);
  return reference_sum_round(&one, 16);
}

TEST(bf16_transform_matches_doubles) {
  check_random_t random = check_random();
  for (int i = 0; i < 300; i++) {
    const reference_quantize_t how = {.rht = REFERENCE_RHT_BF16,
                                      .mask = (uint16_t)check_next(&random)};
    uint32_t bits[16];
    fixture_numbers(&random, i % 2 ? FIXTURE_INTEGERS : FIXTURE_TIES, bits, 16);
    const reference_block_t block = reference_block_load(bits, &how);
    for (int j = 0; j < 16; j++) {
      const reference_real_t x = block.x[j];
      check_bits(i, reference_f32_round(x.negative, x.magnitude, x.exponent),
                 rht_in_doubles(bits, (uint16_t)how.mask, j), "y[%d]", j);
    }
  }
}

TEST(bf16_transform_poisons_on_inf) {
  // 0x7F7FFFFF rounds to Inf as BF16; sixteen times 2^126 sum to 2^130, which over 4 is 2^128.
  static const struct {
    uint32_t bits;
    int count, poisoned;
  } table[] = {{0x7F7FFFFF, 1, 1},
               {0x7F7F7FFF, 1, 0},
               {0x7E800000, 15, 0},
               {0x7E800000, 16, 1},
               {0x7F800000, 1, 1}};
  for (int i = 0; i < 5; i++) {
    const reference_quantize_t how = {.rht = REFERENCE_RHT_BF16};
    uint32_t bits[16] = {0};
    for (int j = 0; j < table[i].count; j++) bits[j] = table[i].bits;
    const reference_block_t block = reference_block_load(bits, &how);
    check_bits(i, (uint64_t)block.poisoned, (uint64_t)table[i].poisoned, "%d of %08x",
               table[i].count, table[i].bits);
  }
}

/** Computes NVIDIA's formula in the host's float arithmetic: the scale byte, and the tensor's
 * decode scale. */
static uint8_t nvfp4_host_scale(float amax, float amax_b, float *decode) {
  float encode = amax == 0 ? 1 : fminf(2688.0f / amax, 0x1.fffffep127f);
  if (encode == 0) encode = 1;
  *decode = 1.0f / encode;
  return reference_e4m3_cast(as_bits(fminf(amax_b * (encode * (1.0f / 6.0f)), 448.0f)));
}

static uint8_t nvfp4_host_code(float x, uint8_t scale, float decode) {
  const float e = fminf(1.0f / (as_float(reference_e4m3_value(scale)) * decode), 0x1.fffffep127f);
  return reference_elem_cast(REFERENCE_E2M1, as_bits(fmaxf(fminf(x * e, 6.0f), -6.0f)));
}

static float amax_of(const uint32_t *bits, int count) {
  float amax = 0;
  for (int i = 0; i < count; i++) amax = fmaxf(amax, fabsf(as_float(bits[i])));
  return amax;
}

TEST(nvfp4_matches_host_floats) {
  check_random_t random = check_random();
  for (int i = 0; i < 400; i++) {
    const reference_quantize_t how = {.elem = REFERENCE_E2M1, .scale = REFERENCE_SCALE_NVFP4};
    uint32_t bits[64];
    float decode;
    fixture_numbers(&random, (fixture_distribution_t)(i % FIXTURE_SPECIAL), bits, 64);
    const float amax = amax_of(bits, 64);
    reference_operand_t got = reference_quantize(bits, 4, 16, &how, 0);
    for (int j = 0; j < 64; j++) {
      const float amax_b = amax_of(bits + j / 16 * 16, 16);
      const uint8_t scale = nvfp4_host_scale(amax, amax_b, &decode);
      const uint8_t code = amax_b == 0 ? 0 : nvfp4_host_code(as_float(bits[j]), scale, decode);
      check_bits(i, got.scales[j / 16], scale, "scale, amax %a, of block %a", (double)amax,
                 (double)amax_b);
      check_bits(i, got.codes[j], code, "code of %08x, amax %a, scale %02x", bits[j], (double)amax,
                 scale);
    }
    check_bits(i, got.tensor_scale, as_bits(decode), "Sd");
    reference_operand_free(&got);
  }
}

TEST(fp32_scale_matches_host_division) {
  static const float qmax[3] = {6.0f, 1.75f, 7.0f};
  check_random_t random = check_random();
  for (int i = 0; i < 3000; i++) {
    const reference_quantize_t how = {.elem = (reference_elem_t)(i % 3),
                                      .scale = REFERENCE_SCALE_FP32};
    const uint32_t bits[16] = {fixture_number(&random, i % 2 ? FIXTURE_WILD : FIXTURE_SUBNORMAL)};
    const uint8_t unused[16] = {0};
    uint8_t codes[16];
    uint32_t scale;
    reference_quantize_block(bits, &how, 0, unused, codes, &scale);
    uint32_t want = as_bits(fminf(fabsf(as_float(bits[0])) / qmax[how.elem], 0x1.fffffep127f));
    if (want == 0 && bits[0] << 1 != 0) want = 1;
    check_bits(i, scale, want, "elem %d, %08x", i % 3, bits[0]);
  }
}

TEST(e8m0_scale_worked) {
  // Each row has amax and the exponents of E2M1, E1M2 and INT4: down is floor(log2 amax) - 2, 0, 2;
  // up is the smallest k with amax <= qmax * 2^k.
  static const struct {
    float amax;
    int down[3], up[3];
  } table[] = {{1, {-2, 0, -2}, {-2, 0, -2}},
               {6, {0, 2, 0}, {0, 2, 0}},
               {6.5f, {0, 2, 0}, {1, 2, 0}},
               {7, {0, 2, 0}, {1, 2, 0}},
               {7.5f, {0, 2, 0}, {1, 3, 1}},
               {8, {1, 3, 1}, {1, 3, 1}},
               {0x1p-149f, {-127, -127, -127}, {-127, -127, -127}},
               {0x1p-125f, {-127, -125, -127}, {-127, -125, -127}},
               {0x1.fffffep127f, {125, 127, 125}, {126, 127, 126}}};
  for (int i = 0; i < 9 * 6; i++) {
    const reference_quantize_t how = {
        .elem = (reference_elem_t)(i % 3),
        .scale = REFERENCE_SCALE_E8M0,
        .scale_round = i / 3 % 2 ? REFERENCE_SCALE_UP : REFERENCE_SCALE_DOWN};
    const uint32_t bits[1] = {as_bits(table[i / 6].amax)};
    reference_operand_t got = reference_quantize(bits, 1, 1, &how, 0);
    const int want = (i / 3 % 2 ? table[i / 6].up : table[i / 6].down)[i % 3];
    check_bits(i, got.scales[0], (uint64_t)(want + 127), "amax %a", (double)table[i / 6].amax);
    reference_operand_free(&got);
  }
}

/** Creates an operand of one row, @p cols wide: E2M1 with all codes @p code and E4M3 scale bytes
 * 0x38 (1). */
static reference_operand_t ones(int cols, uint8_t code) {
  reference_operand_t out = reference_operand_create(REFERENCE_E2M1, REFERENCE_SCALE_E4M3, 1, cols);
  for (int64_t i = 0; i < 16 * out.groups; i++) out.codes[i] = code;
  for (int64_t i = 0; i < out.scale_blocks; i++) out.scales[i] = 0x38;
  return out;
}

TEST(nv_truncates_and_fp32_rounds) {
  reference_operand_t a = ones(128, 2), b = ones(128, 2);  // 1 * 1, 16 a group
  a.scales[0] = b.scales[0] = 0x78 | 0x80;  // 256 * 256 * 16 = 2^20; the sign bit is ignored
  check_bits(0, reference_gemm_nv(&a, 0, &b, 0, 0), reference_f32_round(0, (1 << 20) + 7 * 16, 0),
             "nothing lost");
  check_bits(1, reference_gemm_fp32(&a, 0, &b, 0), reference_f32_round(0, (1 << 20) + 7 * 16, 0),
             "nothing lost");
  // From 2^30 on the last place is 128, so that of 4096 + 48 the 48 is lost, and later the 64;
  // under 2^30 the last place is 64.
  const uint32_t start = reference_f32_round(0, 1, 30);
  reference_operand_t c = ones(128, 2);
  check_bits(2, reference_gemm_nv(&c, 0, &b, 0, start), reference_f32_round(0, (1 << 30) + 4096, 0),
             "from 2^30");
  const uint32_t below = reference_f32_round(1, 1, 30);
  check_bits(3, reference_gemm_nv(&c, 0, &b, 0, below),
             reference_f32_round(1, (1 << 30) - 4096 - 128, 0), "from -2^30, toward zero");
  check_bits(4, reference_gemm_nv(&c, 0, &b, 0, 0x7FC00001), 0x7FFFFFFF, "NaN of nv");
  check_bits(5, reference_gemm_nv(&c, 0, &b, 0, 0x80000000), reference_gemm_nv(&c, 0, &b, 0, 0),
             "-0 as a start");
  reference_operand_free(&a);
  reference_operand_free(&b);
  reference_operand_free(&c);
}

TEST(nv_drops_what_is_35_places_below) {
  // Group exponents 8 + 8 and -6 - 6 are 28 apart, so the unit is 2^-19: one smallest product of
  // 2^-20 is lost, two of them make one unit.
  for (int n = 0; n < 3; n++) {
    reference_operand_t a = ones(64, 0), b = ones(64, 1);
    a.codes[0] = 1;                    // 0.5 * 0.5 * 448 * 448
    a.scales[0] = b.scales[0] = 0x7E;  // exponent 8
    for (int i = 0; i < n; i++) a.codes[16 + i] = 1;
    a.scales[1] = b.scales[1] = 1;  // 2^-9: 2^-20 a product
    reference_operand_t c = ones(64, 0);
    const reference_real_t lost = {0, 448 * 448 / 4, 0};
    check_bits(n, reference_gemm_nv(&a, 0, &b, 0, 0), reference_f32_round(0, lost.magnitude, 0),
               "%d small products", n);
    const uint32_t cancel = reference_f32_round(1, lost.magnitude, 0);
    check_bits(n, reference_gemm_nv(&a, 0, &b, 0, cancel),
               n < 2 ? 0 : reference_f32_round(0, 1, -19), "%d left", n);
    reference_operand_free(&a);
    reference_operand_free(&b);
    reference_operand_free(&c);
  }
}
