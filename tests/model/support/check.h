// SPDX-License-Identifier: Apache-2.0
// The test runner: one property per ctest entry, bit-exact comparison, and failures that print how
// to repeat them.
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
 * ctest entry, SLOW_TEST with the label slow and FULL_TEST with the label full. */
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

/** The main of a test program: PROGRAM [property [seed]]. Without a property it runs all; an
 * unknown property is an error. Without a seed it uses UFP4_TEST_SEED, or 0. The linker adds a main
 * that only calls this function to a program that has none. */
int check_main(int argc, char **argv);

/** Compares bits. A mismatch fails the property and is printed with @p index and the operands (the
 * first few mismatches only). A property that compares nothing fails too. @return whether the bits
 * are equal. */
__attribute__((format(printf, 4, 5))) int check_bits(int64_t index, uint64_t got, uint64_t want,
                                                     const char *operands, ...);
/** Does the same for a condition. */
__attribute__((format(printf, 3, 4))) int check_that(int64_t index, int ok, const char *operands,
                                                     ...);

/** Returns the seed of a run: @p argument, or if that is NULL the environment's UFP4_TEST_SEED, or
 * 0. Ends the program if the text is not a number. */
uint64_t check_seed_of(const char *argument);

/** Returns how many cases a property draws: @p few, or @p all if UFP4_TEST_DRAWS is "all", as
 * ./ufp4 test --full sets it. */
int check_draws(int few, int all);

/** SplitMix64, seeded with the seed of the run. */
typedef struct {
  uint64_t state;
} check_random_t;
check_random_t check_random(void);
/** Returns the seed of one of up to a million streams, such that no two seeds of a run share a
 * stream. With seed 0 it is the stream's own number. */
uint64_t check_stream(uint64_t stream);
/** Returns the seed of a simulated memory's back-pressure in the same way, but keeps 0, which means
 * no back-pressure, and the low bits, which select its kind. */
uint64_t check_stall(uint64_t stall);
uint64_t check_next(check_random_t *random);
/** Returns a uniform number in [0, bound). */
uint32_t check_below(check_random_t *random, uint32_t bound);

#endif
