// SPDX-License-Identifier: Apache-2.0
// Executes descriptors on the golden model: the core's results without its cycles.
#ifndef UFP4_JOB_EXECUTE_H
#define UFP4_JOB_EXECUTE_H

#include "check.h"

/** A core of this configuration with device memory. */
typedef struct {
  ufp4_configuration_t configuration;
  uint8_t *memory;
  uint64_t memory_base, memory_bytes;
  int threads;
  ufp4_kernel_t kernel;
  slots_t slots;
} executor_t;

/** Allocates the memory, all zero, of an executor whose other fields are set. UFP4_ERROR_MEMORY:
 * the host's memory is exhausted. */
ufp4_status_t executor_open(executor_t *executor);
void executor_close(executor_t *executor);
/** Executes one job and fills in status and flags of its completion. Unless the status is ok,
 * memory and slots are unchanged. UFP4_ERROR_MEMORY: the host's memory is exhausted. */
ufp4_status_t executor_run(executor_t *executor, const ufp4_descriptor_t *descriptor,
                           ufp4_completion_t *done);

#endif
