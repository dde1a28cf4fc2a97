// SPDX-License-Identifier: Apache-2.0
// The core as a SystemC module behind a port, in its own process: Ufp4CoreRtl for the backend
// systemc, Ufp4CoreTimed for systemc:timed. Time is in cycles.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/check.h"
#include "port/core.h"
#include "process.h"

enum { NANOSECOND = 1000000 };  // in femtoseconds

typedef struct {
  process_t process;
  ufp4_message_t *message;
  ufp4_configuration_t configuration;
  systemc_reply_t reply;  // the last reply
} systemc_t;

// --- The port -----------------------------------------------------------------------------------

static ufp4_status_t call(systemc_t *systemc, systemc_request_t request) {
  return process_call(&systemc->process, &request, &systemc->reply);
}

static ufp4_status_t systemc_register_read(void *user, uint32_t offset, uint32_t *value) {
  systemc_t *systemc = user;
  const ufp4_status_t status =
      call(systemc, (systemc_request_t){.call = SYSTEMC_REGISTER_READ, .offset = offset});
  *value = systemc->reply.value;
  return status;
}

static ufp4_status_t systemc_register_write(void *user, uint32_t offset, uint32_t value) {
  return call(user, (systemc_request_t){SYSTEMC_REGISTER_WRITE, offset, value});
}

static uint8_t *memory_at(void *user, uint64_t address) {
  const systemc_t *systemc = user;
  return systemc->process.memory + (address - UFP4_MEMORY_BASE);
}

static ufp4_status_t systemc_memory_read(void *user, uint64_t address, void *data, uint64_t bytes) {
  memcpy(data, memory_at(user, address), (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t systemc_memory_write(void *user, uint64_t address, const void *data,
                                          uint64_t bytes) {
  memcpy(memory_at(user, address), data, (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t systemc_wait_interrupt(void *user, uint64_t limit) {
  return call(user, (systemc_request_t){.call = SYSTEMC_WAIT_INTERRUPT, .value = limit});
}

static ufp4_status_t systemc_run(void *user, uint64_t ticks) {
  return call(user, (systemc_request_t){.call = SYSTEMC_RUN, .value = ticks});
}

static uint64_t systemc_now(void *user) {
  const systemc_t *systemc = user;
  return systemc->reply.now;
}

static const char *systemc_message(void *user) {
  const systemc_t *systemc = user;
  return systemc->reply.message;
}

static void systemc_close(void *user) {
  systemc_t *systemc = user;
  process_end(&systemc->process);
  free(systemc);
}

// --- Open ---------------------------------------------------------------------------------------

static ufp4_status_t check_options(const char *name, const ufp4_device_options_t *options,
                                   ufp4_message_t *message) {
  const char *missing = NULL;
  if (options->stall_seed != 0) missing = "random back-pressure (a stall seed); rtl and tlm do";
  if (options->timeline_path != NULL) missing = "timelines (timeline_path); rtl and tlm do";
  if (options->cycle_fs != 0 && options->cycle_fs != NANOSECOND)
    missing = "cycles other than a nanosecond (cycle_fs); rtl and tlm do";
  if (options->trace_path != NULL) missing = "waveforms (trace_path); rtl does";
  if (missing != NULL) {
    ufp4_message_set(message, "%s does not support %s", name, missing);
    return UFP4_ERROR_ARGUMENT;
  }
  const ufp4_status_t status = core_check_latency(name, options, message);
  return status == UFP4_OK ? core_check_dram(name, options, message) : status;
}

static ufp4_status_t start(systemc_t *systemc, int timed, const ufp4_device_options_t *options) {
  systemc_open_t open = {
      .version = UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH,
      .timed = (uint32_t)timed,
      .memory_base = UFP4_MEMORY_BASE,
      .memory_bytes = options->memory_bytes,
      .latency = options->mem_latency,
      .bandwidth = options->mem_bandwidth,
  };
  snprintf(open.configuration, sizeof open.configuration, "%s", systemc->configuration.name);
  if (options->dram != NULL) snprintf(open.dram, sizeof open.dram, "%s", options->dram);
  return process_start(&systemc->process, &open, systemc->message);
}

static ufp4_status_t open_device(const char *name, int timed, const ufp4_device_options_t *options,
                                 const ufp4_configuration_t *configuration, ufp4_message_t *message,
                                 ufp4_backend_state_t **state) {
  *state = NULL;
  ufp4_status_t status = check_options(name, options, message);
  systemc_t *systemc = status == UFP4_OK ? calloc(1, sizeof *systemc) : NULL;
  if (systemc == NULL) return status == UFP4_OK ? UFP4_ERROR_MEMORY : status;
  systemc->process.socket = -1;
  systemc->message = message;
  systemc->configuration = *configuration;
  const ufp4_port_t port = {
      .name = name,
      .memory_base = UFP4_MEMORY_BASE,
      .memory_bytes = options->memory_bytes,
      .user = systemc,
      .register_read = systemc_register_read,
      .register_write = systemc_register_write,
      .memory_read = systemc_memory_read,
      .memory_write = systemc_memory_write,
      .wait_interrupt = systemc_wait_interrupt,
      .run = systemc_run,
      .now = systemc_now,
      .message = systemc_message,
      .close = systemc_close,
  };
  status = start(systemc, timed, options);
  if (status == UFP4_OK) status = core_open(&port, options, configuration, 1, message, state);
  if (status != UFP4_OK) systemc_close(systemc);
  return status;
}

static ufp4_status_t open_rtl(const ufp4_device_options_t *options,
                              const ufp4_configuration_t *configuration, ufp4_message_t *message,
                              ufp4_backend_state_t **state) {
  return open_device("systemc", 0, options, configuration, message, state);
}

static ufp4_status_t open_timed(const ufp4_device_options_t *options,
                                const ufp4_configuration_t *configuration, ufp4_message_t *message,
                                ufp4_backend_state_t **state) {
  return open_device("systemc:timed", 1, options, configuration, message, state);
}

// Refuses jobs with regions outside of memory, as the backend tlm does.
static ufp4_status_t submit_timed(ufp4_backend_state_t *state,
                                  const ufp4_descriptor_t *descriptor) {
  const systemc_t *systemc = core_port_user(state);
  const region_t memory = {UFP4_MEMORY_BASE, systemc->process.memory_bytes};
  const ufp4_status_t status =
      check_inside("systemc:timed", descriptor, &systemc->configuration, memory, systemc->message);
  return status == UFP4_OK ? core_submit(state, descriptor) : status;
}

const ufp4_backend_t ufp4_backend_systemc = {
    .name = "systemc", .open = open_rtl, .info = core_info, .submit = core_submit, CORE_FUNCTIONS};
const ufp4_backend_t ufp4_backend_systemc_timed = {.name = "systemc:timed",
                                                   .open = open_timed,
                                                   .info = core_info,
                                                   .submit = submit_timed,
                                                   CORE_FUNCTIONS};
