// SPDX-License-Identifier: Apache-2.0
// Properties as cmocka's tests. tests/portable has the same without it.
#include "check_state.h"

// cmocka.h needs the headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
// clang-format on

typedef struct {
  const check_test_t *test;
  const char *program;
} run_t;

static void run(void **state) {
  const run_t *it = *state;
  check_now.compared = check_now.mismatches = 0;
  it->test->run();
  if (check_now.compared == 0) fail_msg("%s compared nothing", it->test->name);
  if (check_now.mismatches == 0) return;
  fail_msg("%llu of %llu comparisons differ; seed %llu; to see it again: %s %s %llu",
           (unsigned long long)check_now.mismatches, (unsigned long long)check_now.compared,
           (unsigned long long)check_now.seed, it->program, it->test->name,
           (unsigned long long)check_now.seed);
}

static int run_one(const check_test_t *test, const char *program) {
  run_t it = {test, program};
  const struct CMUnitTest unit = {test->name, run, NULL, NULL, &it};
  return _cmocka_run_group_tests(test->name, &unit, 1, NULL, NULL);
}

int check_main(int argc, char **argv, const check_test_t *tests, size_t count) {
  int failed = 0, found = 0;
  check_now.seed = check_seed_of(argc > 2 ? argv[2] : NULL);
  check_now.seeded = 1;
  for (size_t i = 0; i < count; i++) {
    if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
    found++;
    failed += run_one(&tests[i], argv[0]);
  }
  if (!found) fprintf(stderr, "%s: no property named %s\n", argv[0], argv[1]);
  return failed != 0 || !found;
}
