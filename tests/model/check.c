// SPDX-License-Identifier: Apache-2.0
#include "check.h"

// cmocka.h needs the headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
// clang-format on

#define PRINTED 8

// State of the property that is running; a test program is single-threaded.
static struct {
  uint64_t seed;
  uint64_t compared;
  uint64_t mismatches;
} now;

static void record(int ok) {
  now.compared++;
  if (!ok) now.mismatches++;
}

int check_bits(int64_t index, uint64_t got, uint64_t want, const char *operands, ...) {
  record(got == want);
  if (got == want || now.mismatches > PRINTED) return got == want;
  va_list list;
  va_start(list, operands);
  fprintf(stderr, "  index %lld: ", (long long)index);
  vfprintf(stderr, operands, list);
  fprintf(stderr, ": got 0x%llx, want 0x%llx\n", (unsigned long long)got, (unsigned long long)want);
  va_end(list);
  return 0;
}

int check_that(int64_t index, int ok, const char *operands, ...) {
  record(ok);
  if (ok || now.mismatches > PRINTED) return ok;
  va_list list;
  va_start(list, operands);
  fprintf(stderr, "  index %lld: ", (long long)index);
  vfprintf(stderr, operands, list);
  fprintf(stderr, "\n");
  va_end(list);
  return 0;
}

check_random_t check_random(void) {
  const check_random_t random = {now.seed};
  return random;
}

uint64_t check_next(check_random_t *random) {
  uint64_t z = random->state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint32_t check_below(check_random_t *random, uint32_t bound) {
  return (uint32_t)(((check_next(random) >> 32) * bound) >> 32);
}

typedef struct {
  const check_test_t *test;
  const char *program;
} run_t;

static void run(void **state) {
  const run_t *it = *state;
  now.compared = now.mismatches = 0;
  it->test->run();
  if (now.compared == 0) fail_msg("%s compared nothing", it->test->name);
  if (now.mismatches == 0) return;
  fail_msg("%llu of %llu comparisons differ; seed %llu; to see it again: %s %s %llu",
           (unsigned long long)now.mismatches, (unsigned long long)now.compared, (unsigned long long)now.seed,
           it->program, it->test->name, (unsigned long long)now.seed);
}

static int run_one(const check_test_t *test, const char *program) {
  run_t it = {test, program};
  const struct CMUnitTest unit = {test->name, run, NULL, NULL, &it};
  return _cmocka_run_group_tests(test->name, &unit, 1, NULL, NULL);
}

int check_main(int argc, char **argv, const check_test_t *tests, size_t count) {
  int failed = 0, found = 0;
  now.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
  for (size_t i = 0; i < count; i++) {
    if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
    found++;
    failed += run_one(&tests[i], argv[0]);
  }
  if (!found) fprintf(stderr, "%s: no property named %s\n", argv[0], argv[1]);
  return failed != 0 || !found;
}
