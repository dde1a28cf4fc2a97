// SPDX-License-Identifier: Apache-2.0
// main of a test program (check.h) where there is no cmocka.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_state.h"

static int run(const check_test_t *test) {
  check_now.compared = check_now.mismatches = 0;
  test->run();
  int good = check_now.compared != 0 && check_now.mismatches == 0;
  printf("%s: %llu compared, %llu differ, seed %llu%s\n", test->name,
         (unsigned long long)check_now.compared, (unsigned long long)check_now.mismatches,
         (unsigned long long)check_now.seed, good ? "" : ": FAILED");
  return good;
}

int check_main(int argc, char **argv, const check_test_t *tests, size_t count) {
  int good = 1, found = 0;
  check_now.seed = check_seed_of(argc > 2 ? argv[2] : NULL);
  check_now.seeded = 1;
  for (size_t i = 0; i < count; i++) {
    if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
    found++;
    good &= run(&tests[i]);
  }
  if (!found) fprintf(stderr, "%s: no property named %s\n", argv[0], argv[1]);
  return good && found ? 0 : 1;
}
