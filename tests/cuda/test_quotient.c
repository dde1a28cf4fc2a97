// SPDX-License-Identifier: Apache-2.0
// Tests the finite claims on which the quick quantizer (block_quick.cuh) rests, with its own
// functions: each significand of a scale with each threshold, and the two numbers beside that. Both
// quotients are monotone, which one test shows for every significand, so no other numbers matter;
// and powers of two change nothing.
#include <math.h>

#include "check.h"
#include "gpu.h"
#include "ufp4/spec.h"

#define SIGNIFICANDS 15  // of an E4M3 scale, 1 to 15
#define CELLS 7
#define BYTES 256

// The lower end of the cell between codes c and c + 1, in quanta.
static int low_of(int elem, int c) {
  static const int e2m1[CELLS] = {0, 1, 2, 3, 4, 6, 8};
  return elem == UFP4_ELEM_E2M1 ? e2m1[c] : c;
}
static int width_of(int elem, int c) {
  return elem == UFP4_ELEM_E2M1 ? (c < 4 ? 1 : c < 6 ? 2 : 4) : 1;
}

// The numbers at and beside threshold * s, which must be an FP32 number.
typedef struct {
  float below, at, above;
} around_t;

static around_t around(int64_t index, double threshold, int s) {
  const float at = (float)(threshold * s);
  check_that(index, (double)at == threshold * s, "%g * %d is no FP32 number", threshold, s);
  return (around_t){nextafterf(at, 0), at, nextafterf(at, INFINITY)};
}

typedef void (*visit_t)(int64_t index, int elem, int c, int byte, double threshold, int s,
                        int places);

// Visits each threshold of each element; byte is -1 for those of rounding to nearest.
static int64_t visit_thresholds(visit_t visit) {
  int64_t index = 0;
  for (int places = -1; places <= 1; places++) {
    for (int elem = 0; elem < UFP4_ELEM_COUNT; elem++) {
      for (int s = 1; s <= SIGNIFICANDS; s++) {
        for (int i = 0; i < CELLS * (BYTES + 1); i++) {
          const int c = i % CELLS, byte = i / CELLS - 1;
          const double part = byte < 0 ? 0.5 : (byte + 0.5) / BYTES;
          visit(index++, elem, c, byte, low_of(elem, c) + width_of(elem, c) * part, s, places);
        }
      }
    }
  }
  return index;
}

static void check_quotient(int64_t index, int elem, int c, int byte, double threshold, int s,
                           int places) {
  const emulated_quick_t *quick = quick_parts();
  const around_t x = around(index, threshold, s);
  const float d = (float)s, want = (float)threshold;
  check_that(index,
             quick->quotient(x.below, d, places) < want &&
                 quick->quotient(x.at, d, places) == want &&
                 quick->quotient(x.above, d, places) > want,
             "elem %d, cell %d, byte %d: %a / %d, reciprocal %d places off", elem, c, byte, x.at, s,
             places);
}

TEST(two_operations_are_on_the_side_of_the_quotient) {
  check_bits(0, (uint64_t)visit_thresholds(check_quotient), 3 * 3 * 15 * 7 * 257, "thresholds");
}

static int64_t wrong;
static void count_wrong(int64_t index, int elem, int c, int byte, double threshold, int s,
                        int places) {
  (void)elem;
  (void)c;
  (void)byte;
  const around_t x = around(index, threshold, s);
  const float reciprocal = nextafterf(1.0f / (float)s, places < 0 ? 0 : INFINITY);
  const float by = places == 0 ? 1.0f / (float)s : reciprocal, want = (float)threshold;
  const float q[3] = {x.below * by, x.at * by, x.above * by};
  wrong += !(q[0] < want && q[1] == want && q[2] > want);
}

// A single multiplication must fail the same check.
TEST(rejects_a_quotient_of_one_operation) {
  wrong = 0;
  const int64_t all = visit_thresholds(count_wrong);
  check_that(0, wrong > all / 4, "%lld of %lld thresholds wrong", (long long)wrong, (long long)all);
}

// Covers every significand of x and every odd one of a scale; the next binade starts where this one
// ends.
SLOW_TEST(two_operations_are_monotone) {
  const emulated_quick_t *quick = quick_parts();
  for (int places = -1; places <= 1; places++) {
    for (int s = 1; s <= SIGNIFICANDS; s += 2) {
      const float d = (float)s;
      float before = quick->quotient(1.0f, d, places);
      int64_t falls = 0;
      for (int i = 1; i <= 1 << 23; i++) {
        const float q = quick->quotient(1.0f + (float)i * 0x1p-23f, d, places);
        falls += q < before;
        before = q;
      }
      check_that(s, falls == 0, "%lld falls", (long long)falls);
      check_that(s, before == 2 * quick->quotient(1.0f, d, places), "at 2");
    }
  }
}

static void check_code(int64_t index, int elem, int c, int byte, double threshold, int s,
                       int places) {
  const emulated_quick_t *quick = quick_parts();
  const around_t x = around(index, threshold, s);
  const float in[3] = {x.below, x.at, x.above};
  // Ties go to the even code; a drawn threshold is rounded up only above it.
  const int at = byte < 0 ? c + c % 2 : c, want[3] = {c, at, c + 1};
  for (int i = 0; i < 3; i++) {
    const unsigned got = byte < 0 ? quick->nearest(elem, in[i], (float)s, places)
                                  : quick->drawn(elem, in[i], (float)s, places, (unsigned)byte);
    check_bits(index, got, (uint64_t)want[i], "elem %d, byte %d: %a / %d, reciprocal %d places off",
               elem, byte, in[i], s, places);
  }
}

TEST(codes_turn_at_their_thresholds) {
  visit_thresholds(check_code);
}

static double e4m3_value(int byte) {
  return ldexp(byte % 8 + (byte < 8 ? 0 : 8), (byte < 8 ? 0 : byte / 8 - 1) - 9);
}

static void check_scale(int elem, double threshold, int up, const int want[3]) {
  const emulated_quick_t *quick = quick_parts();
  const around_t x = around(want[0], threshold, elem == UFP4_ELEM_E2M1 ? 3 : 7);
  const float in[3] = {x.below, x.at, x.above};
  for (int i = 0; i < 3; i++) {
    check_bits(want[0], (uint64_t)quick->scale(elem, in[i], up), (uint64_t)want[i],
               "elem %d, %a, up %d", elem, in[i], up);
  }
}

// Covers every E4M3 number and every midpoint, with and without the instruction.
TEST(scales_turn_at_their_thresholds) {
  for (int capability = 80; capability <= 90; capability += 10) {
    const emulated_weather_t weather = {.capability = capability};
    set_weather(&weather);
    for (int elem = 0; elem < 2; elem++) {
      for (int byte = 0; byte < 0x7E; byte++) {
        const double low = e4m3_value(byte), high = e4m3_value(byte + 1);
        check_scale(elem, (low + high) / 2, 0, (int[]){byte, byte + byte % 2, byte + 1});
        if (byte > 0) check_scale(elem, low, 1, (int[]){byte, byte, byte + 1});
      }
      for (int up = 0; up < 2; up++) check_scale(elem, 448, up, (int[]){0x7E, 0x7E, -1});
    }
  }
}

// --- The transform ------------------------------------------------------------------------------

static void check_odd(int32_t y) {
  const int32_t low = (y >= 0 ? y / 32 : -((31 - y) / 32)) * 32;
  const double f = (double)quick_parts()->odd(y);
  check_that(y, f >= low && f < low + 32 && (f == low) == (y == low), "%d becomes %.1f", y, f);
}

// Covers numbers around each power of two, at the ends, and anywhere.
TEST(odd_rounding_stays_between_multiples_of_32) {
  check_random_t random = check_random();
  for (int binade = 0; binade <= 28; binade++) {
    for (int i = -200; i <= 200; i++) {
      const int32_t y = (1 << binade) + i;
      if (y <= (1 << 28) - 16) check_odd(y);
      if (y <= (1 << 28) - 16) check_odd(-y);
    }
  }
  for (int i = 0; i < 1000000; i++)
    check_odd((int32_t)check_below(&random, (1u << 29) - 31) - ((1 << 28) - 16));
}

// amax * 2^k / qmax is rounded to a scale s; in the unit of the integers a quantum is s * 2^(-k -
// frac). The transform makes the sum of 16 squares 16 times as large, so amax is at least the
// largest input, 2^23 or more; it is under 2^28. Thresholds are halves of a quantum for nearest and
// 512ths for draws. All s but saturated ones are checked.
TEST(thresholds_after_the_transform_are_multiples_of_32) {
  static const double qmax[UFP4_ELEM_COUNT] = {6, 1.75, 7};
  static const int frac[UFP4_ELEM_COUNT] = UFP4_ELEM_FRAC;
  int64_t reached = 0;
  for (int elem = 0; elem < UFP4_ELEM_COUNT; elem++) {
    for (int k = -60; k <= 20; k++) {
      for (int byte = 1; byte <= 0x7E; byte++) {
        // The largest quotient that either rounding gives this scale.
        const double most = byte < 0x7E ? (e4m3_value(byte) + e4m3_value(byte + 1)) / 2 : 448;
        if (ldexp(most * qmax[elem], -k) < 0x1p23) continue;
        const double part = ldexp(e4m3_value(byte), -k - frac[elem]) / 512 / 32;
        check_that(byte, part == floor(part), "elem %d, k %d, scale %02x", elem, k, byte);
        reached++;
      }
    }
  }
  check_that(0, reached > 1000, "%lld scales", (long long)reached);
}
