// SPDX-License-Identifier: Apache-2.0
// The test runner: one property per ctest entry, bit-exact comparison, and failures that say how to
// see them again.
#ifndef UFP4_CHECK_H
#define UFP4_CHECK_H

#include <stddef.h>
#include <stdint.h>

typedef struct check_test {
  const char *name;
  void (*run)(void);
  struct check_test *next;
} check_test_t;

/** Defines a property, which registers itself before main. CMake finds these lines and makes each a
 * ctest entry; SLOW_TEST has the label slow, FULL_TEST full. */
#define TEST(property)                                                       \
  static void property(void);                                                \
  __attribute__((constructor)) static void check_register_##property(void) { \
    static check_test_t test = {#property, property, NULL};                  \
    check_register(&test);                                                   \
  }                                                                          \
  static void property(void)
#define SLOW_TEST(property) TEST(property)
#define FULL_TEST(property) TEST(property)
void check_register(check_test_t *test);

/** main of a test program: PROGRAM [property [seed]]. Without a property all are run; an unknown
 * one is an error. Without a seed it is UFP4_TEST_SEED, or 0. A program that has no main gets one
 * that does this alone. */
int check_main(int argc, char **argv);

/** Compares bits; a mismatch is printed with @p index and the operands (the first few only) and
 * fails the property. A property that has compared nothing fails too. @return whether they are
 * equal. */
__attribute__((format(printf, 4, 5))) int check_bits(int64_t index, uint64_t got, uint64_t want,
                                                     const char *operands, ...);
/** Does the same for a condition. */
__attribute__((format(printf, 3, 4))) int check_that(int64_t index, int ok, const char *operands,
                                                     ...);

/** The seed of a run: @p argument, or if that is NULL the environment's UFP4_TEST_SEED, or 0. Ends
 * the program where it is no number. */
uint64_t check_seed_of(const char *argument);

/** How many a property draws: @p few, or @p all where UFP4_TEST_DRAWS is "all", as ./ufp4 test
 * --full sets it. */
int check_draws(int few, int all);

/** SplitMix64, seeded with the seed of the run. */
typedef struct {
  uint64_t state;
} check_random_t;
check_random_t check_random(void);
/** The seed of one of several streams, up to a million of which no two seeds share one; the
 * stream's own number with seed 0. */
uint64_t check_stream(uint64_t stream);
/** The seed of the back-pressure of a simulated memory in the same way: 0, which is none, stays,
 * and so do the low bits, which choose among its kinds. */
uint64_t check_stall(uint64_t stall);
uint64_t check_next(check_random_t *random);
/** Uniform in [0, bound). */
uint32_t check_below(check_random_t *random, uint32_t bound);

#endif
