// SPDX-License-Identifier: Apache-2.0
// The golden model as a device: each job is executed when it is submitted.
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "job/execute.h"
#include "port/backend.h"

struct ufp4_backend_state {
  executor_t executor;
  ufp4_message_t *message;
  ufp4_completion_t done[UFP4_QUEUE_JOBS];  // completion of job i at i mod UFP4_QUEUE_JOBS, until
                                            // taken
  uint64_t submitted, taken;
};

typedef struct ufp4_backend_state state_t;

static void model_close(state_t *state) {
  executor_close(&state->executor);
  free(state);
}

static ufp4_status_t model_open(const ufp4_device_options_t *options,
                                const ufp4_configuration_t *configuration, ufp4_message_t *message,
                                state_t **out) {
  *out = NULL;
  state_t *state = calloc(1, sizeof *state);
  if (state != NULL) {
    state->executor = (executor_t){.configuration = *configuration,
                                   .memory_base = UFP4_MEMORY_BASE,
                                   .memory_bytes = options->memory_bytes,
                                   .threads = threads_asked(options->threads),
                                   .kernel = options->kernel};
  }
  if (state == NULL || executor_open(&state->executor) != UFP4_OK) {
    free(state);
    ufp4_message_set(message, "model: the host cannot allocate %llu bytes for the device memory",
                     (unsigned long long)options->memory_bytes);
    return UFP4_ERROR_MEMORY;
  }
  state->message = message;
  *out = state;
  return UFP4_OK;
}

static ufp4_status_t model_info(state_t *state, ufp4_device_info_t *info) {
  info->configuration = state->executor.configuration;
  info->version = UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
  info->has_cycles = 0;
  return UFP4_OK;
}

static uint8_t *memory_at(const state_t *state, uint64_t address) {
  return state->executor.memory + (address - UFP4_MEMORY_BASE);
}

static ufp4_status_t model_memory_write(state_t *state, uint64_t address, const void *data,
                                        uint64_t bytes) {
  memcpy(memory_at(state, address), data, (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t model_memory_read(state_t *state, uint64_t address, void *data,
                                       uint64_t bytes) {
  memcpy(data, memory_at(state, address), (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t model_submit(state_t *state, const ufp4_descriptor_t *descriptor) {
  ufp4_completion_t done = {.job = descriptor->header.job};
  ufp4_status_t status = executor_run(&state->executor, descriptor, &done);
  if (status != UFP4_OK) {
    ufp4_message_set(state->message, "model: job %u: %s", done.job, ufp4_status_string(status));
    return status;
  }
  state->done[++state->submitted % UFP4_QUEUE_JOBS] = done;
  return UFP4_OK;
}

static ufp4_status_t model_take(state_t *state, uint64_t timeout_us,
                                ufp4_completion_t *completion) {
  (void)timeout_us;
  *completion = state->done[++state->taken % UFP4_QUEUE_JOBS];
  return UFP4_OK;
}

static ufp4_status_t model_slot_read(state_t *state, unsigned slot, int *exponent) {
  if (!state->executor.slots.written[slot]) {
    ufp4_message_set(state->message, "slot %u was never written", slot);
    return UFP4_ERROR_ARGUMENT;
  }
  *exponent = state->executor.slots.exponent[slot];
  return UFP4_OK;
}

static ufp4_status_t model_counters(state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]) {
  (void)state;
  memset(counters, 0, UFP4_COUNTER_COUNT * sizeof counters[0]);
  return UFP4_OK;
}

// --- Whole operands -----------------------------------------------------------------------------

static ufp4_status_t note(state_t *state, ufp4_status_t status, const char *what) {
  if (status != UFP4_OK)
    ufp4_message_set(state->message, "%s: %s", what, ufp4_status_string(status));
  return status;
}

static ufp4_status_t model_quantize(state_t *state, const ufp4_matrix_t *in,
                                    const ufp4_quantize_t *how, ufp4_operand_t *out) {
  return note(state, ufp4_quantize(in, how, out), "quantize");
}

static ufp4_status_t model_gemm(state_t *state, const ufp4_operand_t *a, const ufp4_operand_t *b,
                                const ufp4_gemm_t *how, void *d, int64_t d_ld) {
  return note(state, ufp4_gemm(a, b, how, d, d_ld), "gemm");
}

static ufp4_status_t model_reset(state_t *state) {
  state->taken = state->submitted;
  memset(&state->executor.slots, 0, sizeof state->executor.slots);
  return UFP4_OK;
}

const ufp4_backend_t ufp4_backend_model = {
    .name = "model",
    .open = model_open,
    .close = model_close,
    .info = model_info,
    .memory_write = model_memory_write,
    .memory_read = model_memory_read,
    .submit = model_submit,
    .take = model_take,
    .slot_read = model_slot_read,
    .counters = model_counters,
    .reset = model_reset,
    .in_host_memory = 1,
    .quantize = model_quantize,
    .gemm = model_gemm,
};
