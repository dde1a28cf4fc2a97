// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_INTEGER_H
#define UFP4_INTEGER_H

#include <stdint.h>

static inline int64_t min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static inline int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

#endif
