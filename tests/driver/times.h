// SPDX-License-Identifier: Apache-2.0
// The cycles that a linear layer takes on a core with one of several memories, to compare backends.
#ifndef UFP4_DRIVER_TIMES_H
#define UFP4_DRIVER_TIMES_H

#include "stand.h"

enum { TIMES_MEMORIES = 6, TIMES_OF_A_NANOSECOND = 5 };

/** The statistics of each pass, and all counters. */
typedef struct {
  ufp4_gemm_stats_t stats[UFP4_PASS_COUNT];
  uint64_t counters[UFP4_COUNTER_COUNT];
  int blank;  // every output is zero
} times_t;

/** Opens a device with configuration and memory number @p memory; a cycle takes a nanosecond except
 * with the last memory. */
ufp4_device_t *times_device(const char *backend, int memory, int timing_only);
/** Runs all passes on such a device. */
times_t times_of(const char *backend, int memory, int timing_only);
void check_times(int64_t index, const times_t *got, const times_t *want);

#endif
