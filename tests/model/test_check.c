// SPDX-License-Identifier: Apache-2.0
// Tests the test runner itself. CMake expects the properties named rejects_ to fail, which shows
// that tests can fail.
#include "check.h"

TEST(accepts_equal_bits) {
  check_bits(0, 5, 5, "five");
  check_that(1, 1, "true");
}

TEST(streams_begin_at_the_seed) {
  const uint64_t seed = check_random().state, million = 1000000;
  check_bits(1, check_stream(3) - check_stream(0), 3, "stream 3");
  check_that(1, seed == 0 ? check_stream(million) == million : check_stream(0) > million * seed,
             "a million streams of each seed");
  check_bits(2, check_stall(0), 0, "no back-pressure stays none");
  check_bits(3, check_stall(13) & 0xFF, 13, "the kind of back-pressure stays");
  check_bits(4, check_stall(13) == 13, seed == 0, "the seed changes back-pressure");
}

TEST(rejects_a_mismatch) {
  check_bits(0, 5, 5, "five");
  check_bits(1, 5, 6, "five is not six");
}

TEST(rejects_a_false_condition) {
  check_that(0, 0, "false");
}

TEST(rejects_a_property_that_compares_nothing) {}
