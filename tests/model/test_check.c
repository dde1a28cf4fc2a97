// SPDX-License-Identifier: Apache-2.0
// The test runner itself: CMake expects the properties named rejects_ to fail, and so shows that
// tests can.
#include "check.h"

TEST(accepts_equal_bits) {
  check_bits(0, 5, 5, "five");
  check_that(1, 1, "true");
}

TEST(rejects_a_mismatch) {
  check_bits(0, 5, 5, "five");
  check_bits(1, 5, 6, "five is not six");
}

TEST(rejects_a_false_condition) {
  check_that(0, 0, "false");
}

TEST(rejects_a_property_that_compares_nothing) {}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(accepts_equal_bits),
      CHECK_TEST(rejects_a_mismatch),
      CHECK_TEST(rejects_a_false_condition),
      CHECK_TEST(rejects_a_property_that_compares_nothing),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
