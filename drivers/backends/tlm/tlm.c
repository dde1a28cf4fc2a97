// SPDX-License-Identifier: Apache-2.0
// The timed model behind a port. Time, counters and timeline come from the timed model; data come
// from the golden model, or are not computed. Time is in cycles.
#include <stdlib.h>
#include <string.h>

#include "backends/timeline.h"
#include "base/threads.h"
#include "job/execute.h"
#include "port/core.h"
#include "ufp4_timed.h"

typedef struct {
  ufp4_timed_t *timed;
  ufp4_message_t *message;
  uint64_t memory_bytes;
  executor_t executor;    // its memory is the device's, or if there are no data, only the rings
  timeline_t *timeline;   // or NULL
  const char *host_fail;  // why the host's part of a job failed, or NULL
} tlm_t;

// --- The timed model's host ---------------------------------------------------------------------

// Returns the host's memory at an address, or NULL outside of it.
static uint8_t *memory_at(const tlm_t *tlm, uint64_t address, uint64_t bytes) {
  const uint64_t offset = address - UFP4_MEMORY_BASE, kept = tlm->executor.memory_bytes;
  return offset <= kept && bytes <= kept - offset ? tlm->executor.memory + offset : NULL;
}

static int host_fail(tlm_t *tlm, const char *why) {
  tlm->host_fail = why;
  return -1;
}

static int host_read(void *user, uint64_t address, void *data, uint32_t bytes) {
  tlm_t *tlm = user;
  const uint8_t *from = memory_at(tlm, address, bytes);
  if (from == NULL) return host_fail(tlm, "a descriptor lies outside of memory");
  memcpy(data, from, bytes);
  return 0;
}

static int host_write(void *user, uint64_t address, const void *data, uint32_t bytes) {
  tlm_t *tlm = user;
  uint8_t *to = memory_at(tlm, address, bytes);
  if (to == NULL) return host_fail(tlm, "a completion lies outside of memory");
  memcpy(to, data, bytes);
  return 0;
}

// The timed model has already checked that the slots of a job were written.
static int host_execute(void *user, const uint8_t descriptor[UFP4_DESCRIPTOR_BYTES],
                        uint16_t slots[UFP4_SLOTS], ufp4_completion_t *completion) {
  tlm_t *tlm = user;
  slots_t *own = &tlm->executor.slots;
  ufp4_descriptor_t job;
  memcpy(&job, descriptor, sizeof job);
  for (int i = 0; i < UFP4_SLOTS; i++) {
    own->exponent[i] = (int16_t)slots[i];
    own->written[i] = 1;
  }
  const ufp4_status_t status = executor_run(&tlm->executor, &job, completion);
  if (status != UFP4_OK) return host_fail(tlm, ufp4_status_string(status));
  for (int i = 0; i < UFP4_SLOTS; i++) slots[i] = (uint16_t)own->exponent[i];
  return 0;
}

// --- The port -----------------------------------------------------------------------------------

static ufp4_status_t status_of(ufp4_timed_status_t status) {
  return status == UFP4_TIMED_OK      ? UFP4_OK
         : status == UFP4_TIMED_LIMIT ? UFP4_ERROR_TIMEOUT
                                      : UFP4_ERROR_DEVICE;
}

static ufp4_status_t tlm_register_read(void *user, uint32_t offset, uint32_t *value) {
  const tlm_t *tlm = user;
  return status_of(ufp4_timed_register_read(tlm->timed, offset, value));
}

static ufp4_status_t tlm_register_write(void *user, uint32_t offset, uint32_t value) {
  const tlm_t *tlm = user;
  return status_of(ufp4_timed_register_write(tlm->timed, offset, value));
}

// Memory without data reads as zeros.
static ufp4_status_t tlm_memory_read(void *user, uint64_t address, void *data, uint64_t bytes) {
  const uint8_t *from = memory_at(user, address, bytes);
  if (from == NULL) {
    memset(data, 0, (size_t)bytes);
  } else {
    memcpy(data, from, (size_t)bytes);
  }
  return UFP4_OK;
}

static ufp4_status_t tlm_memory_write(void *user, uint64_t address, const void *data,
                                      uint64_t bytes) {
  uint8_t *to = memory_at(user, address, bytes);
  if (to != NULL) memcpy(to, data, (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t tlm_wait_interrupt(void *user, uint64_t limit) {
  const tlm_t *tlm = user;
  return status_of(ufp4_timed_wait_interrupt(tlm->timed, limit));
}

static ufp4_status_t tlm_run(void *user, uint64_t ticks) {
  const tlm_t *tlm = user;
  return status_of(ufp4_timed_run(tlm->timed, ticks));
}

static uint64_t tlm_now(void *user) {
  const tlm_t *tlm = user;
  return ufp4_timed_cycles(tlm->timed);
}

static const char *tlm_message(void *user) {
  const tlm_t *tlm = user;
  return tlm->host_fail != NULL ? tlm->host_fail : ufp4_timed_message(tlm->timed);
}

static ufp4_status_t end_timeline(tlm_t *tlm) {
  if (tlm->timeline == NULL) return UFP4_OK;
  ufp4_timed_timeline_end(tlm->timed);
  const ufp4_status_t status = timeline_write(tlm->timeline);
  timeline_free(tlm->timeline);
  tlm->timeline = NULL;
  return status;
}

static ufp4_status_t tlm_trace_end(ufp4_backend_state_t *state) {
  return end_timeline(core_port_user(state));
}

static void tlm_close(void *user) {
  tlm_t *tlm = user;
  if (tlm->timed != NULL) (void)end_timeline(tlm);
  ufp4_timed_close(tlm->timed);
  timeline_free(tlm->timeline);
  executor_close(&tlm->executor);
  free(tlm);
}

// --- A memory of several ------------------------------------------------------------------------

ufp4_bus_t *ufp4_bus_open(unsigned latency, unsigned bandwidth, const char *dram,
                          uint64_t cycle_fs) {
  return (ufp4_bus_t *)ufp4_timed_bus_open(latency, bandwidth, dram, cycle_fs);
}

void ufp4_bus_close(ufp4_bus_t *bus) {
  ufp4_timed_bus_close((ufp4_timed_bus_t *)bus);
}

// --- Open ---------------------------------------------------------------------------------------

static ufp4_status_t open_executor(tlm_t *tlm, const ufp4_device_options_t *options,
                                   const ufp4_configuration_t *configuration) {
  const uint64_t bytes = options->timing_only ? UFP4_MEMORY_RESERVED_BYTES : options->memory_bytes;
  tlm->executor = (executor_t){.configuration = *configuration,
                               .memory_base = UFP4_MEMORY_BASE,
                               .memory_bytes = bytes,
                               .threads = threads_asked(options->threads),
                               .kernel = options->kernel};
  const ufp4_status_t status = executor_open(&tlm->executor);
  if (status == UFP4_OK) return status;
  ufp4_message_set(tlm->message, "tlm: the host cannot allocate %llu bytes for the device memory",
                   (unsigned long long)bytes);
  return status;
}

static ufp4_status_t open_timed(tlm_t *tlm, const ufp4_device_options_t *options,
                                const ufp4_configuration_t *configuration) {
  ufp4_timed_bus_t *bus = options->timing_only ? (ufp4_timed_bus_t *)options->bus : NULL;
  const ufp4_timed_options_t timed = {.configuration = configuration->name,
                                      .latency_cycles = options->mem_latency,
                                      .bandwidth_bytes = options->mem_bandwidth,
                                      .stall_seed = options->stall_seed,
                                      .dram = options->dram,
                                      .cycle_fs = options->cycle_fs,
                                      .bus = bus,
                                      .timeline = timeline_sink(tlm->timeline)};
  const ufp4_timed_host_t host = {.user = tlm,
                                  .memory_read = host_read,
                                  .memory_write = host_write,
                                  .execute = options->timing_only ? NULL : host_execute};
  char text[1024] = "";
  ufp4_status_t status = core_check_latency("tlm", options, tlm->message);
  if (status == UFP4_OK) status = core_check_dram("tlm", options, tlm->message);
  if (status != UFP4_OK) return status;
  tlm->timed = ufp4_timed_open(&timed, &host, text, sizeof text);
  if (tlm->timed != NULL) return UFP4_OK;
  ufp4_message_set(tlm->message, "tlm: %s", text);
  return UFP4_ERROR_UNSUPPORTED;
}

static ufp4_status_t tlm_open(const ufp4_device_options_t *options,
                              const ufp4_configuration_t *configuration, ufp4_message_t *message,
                              ufp4_backend_state_t **state) {
  *state = NULL;
  tlm_t *tlm = calloc(1, sizeof *tlm);
  if (tlm == NULL) return UFP4_ERROR_MEMORY;
  tlm->message = message;
  tlm->memory_bytes = options->memory_bytes;
  const ufp4_port_t port = {
      .name = "tlm",
      .memory_base = UFP4_MEMORY_BASE,
      .memory_bytes = options->memory_bytes,
      .user = tlm,
      .register_read = tlm_register_read,
      .register_write = tlm_register_write,
      .memory_read = tlm_memory_read,
      .memory_write = tlm_memory_write,
      .wait_interrupt = tlm_wait_interrupt,
      .run = tlm_run,
      .now = tlm_now,
      .message = tlm_message,
      .close = tlm_close,
  };
  ufp4_status_t status = open_executor(tlm, options, configuration);
  if (status == UFP4_OK)
    status = timeline_open(options->timeline_path, configuration->name, message, &tlm->timeline);
  if (status == UFP4_OK) status = open_timed(tlm, options, configuration);
  if (status == UFP4_OK) status = core_open(&port, options, configuration, 1, message, state);
  if (status != UFP4_OK) tlm_close(tlm);
  return status;
}

// --- Jobs ---------------------------------------------------------------------------------------

// The timed model does not know when a burst outside of memory would return with an error.
static ufp4_status_t tlm_submit(ufp4_backend_state_t *state, const ufp4_descriptor_t *descriptor) {
  const tlm_t *tlm = core_port_user(state);
  const region_t memory = {UFP4_MEMORY_BASE, tlm->memory_bytes};
  const ufp4_status_t status =
      check_inside("tlm", descriptor, &tlm->executor.configuration, memory, tlm->message);
  return status == UFP4_OK ? core_submit(state, descriptor) : status;
}

static void tlm_accesses(const ufp4_backend_state_t *state, uint64_t reads[UFP4_SRAM_COUNT],
                         uint64_t writes[UFP4_SRAM_COUNT]) {
  const tlm_t *tlm = core_port_user(state);
  ufp4_timed_accesses(tlm->timed, reads, writes);
}

const ufp4_backend_t ufp4_backend_tlm = {.name = "tlm",
                                         .accesses = tlm_accesses,
                                         .open = tlm_open,
                                         .info = core_info,
                                         .trace_end = tlm_trace_end,
                                         .submit = tlm_submit,
                                         CORE_FUNCTIONS};
