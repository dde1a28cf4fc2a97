// SPDX-License-Identifier: Apache-2.0
// Implements check.h for fuzz targets: the first mismatch ends the program.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int check_bits(int64_t index, uint64_t got, uint64_t want, const char *operands, ...) {
  if (got == want) return 1;
  va_list list;
  va_start(list, operands);
  fprintf(stderr, "index %lld: ", (long long)index);
  vfprintf(stderr, operands, list);
  fprintf(stderr, ": got 0x%llx, want 0x%llx\n", (unsigned long long)got, (unsigned long long)want);
  va_end(list);
  abort();
}

int check_that(int64_t index, int ok, const char *operands, ...) {
  if (ok) return 1;
  va_list list;
  va_start(list, operands);
  fprintf(stderr, "index %lld: ", (long long)index);
  vfprintf(stderr, operands, list);
  fprintf(stderr, "\n");
  va_end(list);
  abort();
}

uint64_t check_next(check_random_t *random) {
  return random->state++;
}

uint32_t check_below(check_random_t *random, uint32_t bound) {
  return (uint32_t)(check_next(random) % bound);
}
