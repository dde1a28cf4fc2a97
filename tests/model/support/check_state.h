// SPDX-License-Identifier: Apache-2.0
// What the comparisons of check.c and the two mains that run properties share.
#ifndef UFP4_TEST_CHECK_STATE_H
#define UFP4_TEST_CHECK_STATE_H

#include "check.h"

/** State of the property that is running; a test program is single-threaded. */
typedef struct {
  uint64_t seed;
  int seeded;
  uint64_t compared;
  uint64_t mismatches;
} check_state_t;
extern check_state_t check_now;

#endif
