// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: the cores of a case, and jobs that run on them concurrently.
#ifndef UFP4_CLI_EXPLORE_CORES_H
#define UFP4_CLI_EXPLORE_CORES_H

#include "explore/results/rows.h"

/** Opens a timed model for a case, without data; @p bus: shared by several, or NULL. @return
 * CLI_GO_ON or the exit status. */
int explore_open(const explore_plan_t *plan, const explore_case_t *of, uint64_t memory_bytes,
                 ufp4_bus_t *bus, ufp4_device_t **device);

/** Reads the core's counters, followed by the bits read and written in its memories. */
ufp4_status_t explore_counters(ufp4_device_t *device, uint64_t counters[EXPLORE_COUNTERS]);

/** The cores of a case. */
typedef struct {
  ufp4_bus_t *bus;  ///< NULL: there is one core
  ufp4_device_t *devices[EXPLORE_MAX_CORES];
  int count;
} explore_cores_t;

/** Opens the cores of a case. They must be closed whatever this returns. */
int explore_cores_open(const explore_plan_t *plan, const explore_case_t *of, uint64_t memory_bytes,
                       explore_cores_t *cores);
int explore_cores_close(explore_cores_t *cores);
/** Returns why the last failed call failed. */
const char *explore_cores_message(const explore_cores_t *cores);
/** Splits a GEMM into parts of about the same size, one per core, by rows or by columns of D.
 * @return their number */
int explore_split_gemm(const ufp4_descriptor_t *whole, explore_split_t split, int cores,
                       ufp4_descriptor_t parts[EXPLORE_MAX_CORES]);
/** Runs jobs concurrently, one on each of the first @p count cores. Their rows, which may be the
 * same one, get the longest job's cycles and the sums of all counters. */
ufp4_status_t explore_measure(const explore_cores_t *cores, const ufp4_descriptor_t *jobs,
                              int count, explore_row_t *const rows[]);

#endif
