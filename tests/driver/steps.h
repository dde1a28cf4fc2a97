// SPDX-License-Identifier: Apache-2.0
// A schedule on a device with its tensors, for the tests.
#ifndef UFP4_DRIVER_STEPS_H
#define UFP4_DRIVER_STEPS_H

#include "stand.h"
#include "ufp4_schedule.h"

enum { STEPS_LAYERS = 40 };

typedef struct {
  const char *configuration, *recipe;
  ufp4_dtype_t source;
  int layers, batches, steps, kept;
  uint64_t stall_seed;
} steps_case_t;

typedef struct {
  ufp4_device_t *device;
  ufp4_schedule_layer_t layers[STEPS_LAYERS];
  ufp4_schedule_plan_t plan;
  ufp4_schedule_buffers_t buffers[STEPS_LAYERS];
  ufp4_schedule_t schedule;
} steps_t;

ufp4_device_t *steps_device(const char *backend, const steps_case_t *steps_case);
/** Makes a list for layers of odd shapes and fills its tensors, but does not run it. */
steps_t *steps_start(const char *backend, const steps_case_t *steps_case);
void steps_go(steps_t *run);
void steps_end(steps_t *run);
/** Returns the bytes of an element of the source tensors. */
size_t steps_element_bytes(const steps_t *run);
/** Reads a tensor with elements of @p bytes as FP32 [rows][cols]; the caller frees it. */
float *steps_read(const steps_t *run, uint64_t address, int64_t rows, int64_t cols, size_t bytes);

#endif
