// SPDX-License-Identifier: Apache-2.0
// The golden model behind the descriptors of the core: what the core must do, without its cycles.
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

/** Gives an executor whose other fields are set its memory, all zero. UFP4_ERROR_MEMORY: the host
 * has no room for it. */
ufp4_status_t executor_open(executor_t *executor);
void executor_close(executor_t *executor);
/** Does one job, and fills in status and flags of its completion; of one with another status than
 * ok memory and slots are as before. UFP4_ERROR_MEMORY: the host is out of memory. */
ufp4_status_t executor_run(executor_t *executor, const ufp4_descriptor_t *descriptor,
                           ufp4_completion_t *done);

#endif
