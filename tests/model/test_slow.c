// SPDX-License-Identifier: Apache-2.0
// The second model against witnesses of its own: the host's FP32 arithmetic and numbers worked out by hand.
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

/** Patterns where arithmetic goes wrong: zeros, ends of the ranges, Inf and NaN. */
static const uint32_t corners[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000,
                                   0x3F800000, 0xBF800000, 0x3F800001, 0x33800000, 0x33800001, 0x7F7FFFFF, 0xFF7FFFFF,
                                   0x7F000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x73000000};
#define CORNERS ((int)(sizeof corners / sizeof corners[0]))

static void check_pair(int64_t index, uint32_t a, uint32_t b) {
  check_bits(index, slow_f32_multiply(a, b), as_bits(as_float(a) * as_float(b)), "%08x * %08x", a, b);
  check_bits(index, slow_f32_add(a, b), as_bits(as_float(a) + as_float(b)), "%08x + %08x", a, b);
}

TEST(arithmetic_corners_match_host) {
  for (int i = 0; i < CORNERS * CORNERS; i++) check_pair(i, corners[i / CORNERS], corners[i % CORNERS]);
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
    check_bits(i, slow_f32_round(0, magnitude, 0), as_bits((float)magnitude), "%llx", (unsigned long long)magnitude);
  }
}

TEST(compare_is_exact) {
  check_that(0, slow_compare(3, 1000, 3, 1000) == 0, "equal");
  check_that(1, slow_compare(3, 1000, 6, 999) == 0, "equal with different exponents");
  check_that(2, slow_compare(1, 100000, 3, -100000) > 0, "far apart");
  check_that(3, slow_compare(0, 100000, 1, -100000) < 0, "zero is less than anything else");
  check_that(4, slow_compare(0, 7, 0, -7) == 0, "zeros");
  check_that(5, slow_compare(((slow_u128_t)1 << 100) + 1, 0, 1, 100) > 0, "one in 2^100");
}

TEST(exponent_of_the_extremes) {
  const slow_real_t largest = slow_f32_real(0x7F7FFFFF), smallest = slow_f32_real(0x00000001);
  // The range that numerics.md gives for FP32 data: -121 from the largest RHT output (16 of the largest, / 4), E1M2.
  const slow_real_t transformed = {0, 4 * largest.magnitude, largest.exponent};
  check_bits(0, (uint64_t)(int64_t)slow_exponent_of(SLOW_E1M2, transformed), (uint64_t)-121, "largest, E1M2, RHT");
  check_bits(1, (uint64_t)slow_exponent_of(SLOW_INT4, smallest), 160, "2^-149, INT4");
  const slow_real_t quarter = {0, 1, -151};
  check_bits(2, (uint64_t)slow_exponent_of(SLOW_INT4, quarter), 162, "2^-151, INT4");
  const slow_real_t one = {0, 448 * 6, 0};
  check_bits(3, (uint64_t)slow_exponent_of(SLOW_E2M1, one), 0, "448 * 6, E2M1");
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(arithmetic_corners_match_host),    CHECK_TEST(arithmetic_random_matches_host),
      CHECK_TEST(rounding_matches_host_conversion), CHECK_TEST(compare_is_exact),
      CHECK_TEST(exponent_of_the_extremes),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
