// SPDX-License-Identifier: Apache-2.0
// The timed model by itself, with descriptors but without data.
#ifndef UFP4_TEST_TIMING_ALONE_H
#define UFP4_TEST_TIMING_ALONE_H

#include "twin.h"

typedef struct {
  uint64_t cycles, counters[UFP4_COUNTER_COUNT];
  uint64_t stepped;  // stepped cycles
  double seconds;    // processor time
} alone_t;

/** Returns the processor time of this process in seconds. */
double alone_seconds(void);
/** Runs @p count jobs, at most TWIN_RING, submitted with one write of ring_tail. */
alone_t alone_run(const char *configuration, twin_memory_t memory, const twin_job_t *jobs,
                  unsigned count, int every_cycle);

#endif
