// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINTED 8
#define STALL_KINDS_BITS 8
#define SEEDS_APART 1000003u

// State of the running property; a test program is single-threaded.
static struct {
  uint64_t seed;
  int seeded;
  uint64_t compared;
  uint64_t mismatches;
} now;
static check_test_t *tests;

void check_register(check_test_t *test) {
  check_test_t **end = &tests;
  while (*end != NULL) end = &(*end)->next;
  *end = test;
}

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

uint64_t check_seed_of(const char *argument) {
  const char *text = argument != NULL ? argument : getenv("UFP4_TEST_SEED");
  char *end = NULL;
  if (text == NULL || *text == '\0') return 0;
  errno = 0;
  const uint64_t seed = strtoull(text, &end, 0);
  if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0) return seed;
  fprintf(stderr, "the seed '%s' is not a number from 0 to 2^64 - 1\n", text);
  exit(2);
}

static int draws_all(void) {
  const char *text = getenv("UFP4_TEST_DRAWS");
  return text != NULL && strcmp(text, "all") == 0;
}

int check_draws(int few, int all) {
  return draws_all() ? all : few;
}

static int run(const check_test_t *test, const char *program) {
  now.compared = now.mismatches = 0;
  test->run();
  if (now.compared == 0) fprintf(stderr, "%s compared nothing\n", test->name);
  if (now.mismatches != 0) {
    fprintf(stderr,
            "%s: %llu of %llu comparisons differ; seed %llu; to see it again: %s%s %s %llu\n",
            test->name, (unsigned long long)now.mismatches, (unsigned long long)now.compared,
            (unsigned long long)now.seed, draws_all() ? "UFP4_TEST_DRAWS=all " : "", program,
            test->name, (unsigned long long)now.seed);
  }
  const int good = now.compared != 0 && now.mismatches == 0;
  printf("%s: %s\n", test->name, good ? "ok" : "FAILED");
  return good;
}

int check_main(int argc, char **argv) {
  int good = 1, found = 0;
  now.seed = check_seed_of(argc > 2 ? argv[2] : NULL);
  now.seeded = 1;
  for (const check_test_t *test = tests; test != NULL; test = test->next) {
    if (argc > 1 && strcmp(argv[1], test->name) != 0) continue;
    found++;
    good &= run(test, argv[0]);
  }
  if (!found) fprintf(stderr, "%s: no property named %s\n", argv[0], argc > 1 ? argv[1] : "at all");
  return good && found ? 0 : 1;
}

// Programs without check_main get a seed here.
static uint64_t seed(void) {
  if (!now.seeded) now.seed = check_seed_of(NULL);
  now.seeded = 1;
  return now.seed;
}

check_random_t check_random(void) {
  const check_random_t random = {seed()};
  return random;
}

uint64_t check_stream(uint64_t stream) {
  return seed() * SEEDS_APART + stream;
}

uint64_t check_stall(uint64_t stall) {
  return stall == 0 ? 0 : stall + (seed() << STALL_KINDS_BITS);
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
