// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <stdarg.h>
#include <stdio.h>

#include "check_state.h"

#define PRINTED 8

check_state_t check_now;

static void record(int ok) {
  check_now.compared++;
  if (!ok) check_now.mismatches++;
}

int check_bits(int64_t index, uint64_t got, uint64_t want, const char *operands, ...) {
  record(got == want);
  if (got == want || check_now.mismatches > PRINTED) return got == want;
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
  if (ok || check_now.mismatches > PRINTED) return ok;
  va_list list;
  va_start(list, operands);
  fprintf(stderr, "  index %lld: ", (long long)index);
  vfprintf(stderr, operands, list);
  fprintf(stderr, "\n");
  va_end(list);
  return 0;
}

check_random_t check_random(void) {
  const check_random_t random = {check_now.seed};
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
