// SPDX-License-Identifier: Apache-2.0
// The simulated core behind a port, with waveforms and timeline. Time is in cycles.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/timeline.h"
#include "base/file.h"
#include "port/core.h"
#include "ufp4_sim.h"

typedef struct {
  ufp4_sim_t *sim;
  ufp4_message_t *message;
  int rung;                    // it has been given a job
  char *trace, *trace_beside;  // target of the waveforms with links followed, and their temporary
                               // file; or NULL
  timeline_t *timeline;        // or NULL
} rtl_t;

// --- The port -----------------------------------------------------------------------------------

static ufp4_status_t status_of(ufp4_sim_status_t status) {
  return status == UFP4_SIM_OK      ? UFP4_OK
         : status == UFP4_SIM_LIMIT ? UFP4_ERROR_TIMEOUT
                                    : UFP4_ERROR_DEVICE;
}

static ufp4_status_t rtl_register_read(void *user, uint32_t offset, uint32_t *value) {
  const rtl_t *rtl = user;
  return status_of(ufp4_sim_register_read(rtl->sim, offset, value));
}

static ufp4_status_t rtl_register_write(void *user, uint32_t offset, uint32_t value) {
  rtl_t *rtl = user;
  if (offset == UFP4_REG_RING_TAIL) rtl->rung = 1;
  return status_of(ufp4_sim_register_write(rtl->sim, offset, value));
}

static ufp4_status_t rtl_memory_read(void *user, uint64_t address, void *data, uint64_t bytes) {
  const rtl_t *rtl = user;
  memcpy(data, ufp4_sim_memory(rtl->sim, address, bytes), (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t rtl_memory_write(void *user, uint64_t address, const void *data,
                                      uint64_t bytes) {
  const rtl_t *rtl = user;
  memcpy(ufp4_sim_memory(rtl->sim, address, bytes), data, (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t rtl_wait_interrupt(void *user, uint64_t limit) {
  const rtl_t *rtl = user;
  return status_of(ufp4_sim_wait_interrupt(rtl->sim, limit));
}

static ufp4_status_t rtl_run(void *user, uint64_t ticks) {
  const rtl_t *rtl = user;
  return status_of(ufp4_sim_run(rtl->sim, ticks));
}

static uint64_t rtl_now(void *user) {
  const rtl_t *rtl = user;
  return ufp4_sim_cycles(rtl->sim);
}

static const char *rtl_message(void *user) {
  const rtl_t *rtl = user;
  return ufp4_sim_message(rtl->sim);
}

// --- Waveforms ----------------------------------------------------------------------------------

static ufp4_status_t write_trace(rtl_t *rtl) {
  if (ufp4_sim_trace_end(rtl->sim) != UFP4_SIM_OK) {
    ufp4_message_set(rtl->message, "%s: %s", rtl->trace, ufp4_sim_message(rtl->sim));
    return UFP4_ERROR_STORAGE;
  }
  // Waveforms of a core that has had no job are worthless, so an existing file is kept.
  if (!rtl->rung) {
    unlink(rtl->trace_beside);
    return UFP4_OK;
  }
  if (rename(rtl->trace_beside, rtl->trace) == 0) return UFP4_OK;
  unlink(rtl->trace_beside);
  return file_fail(rtl->trace, "write", rtl->message);
}

static ufp4_status_t end_trace(rtl_t *rtl) {
  if (rtl->trace == NULL) return UFP4_OK;
  ufp4_status_t status = write_trace(rtl);
  free(rtl->trace);
  free(rtl->trace_beside);
  rtl->trace = rtl->trace_beside = NULL;
  return status;
}

static ufp4_status_t end_timeline(rtl_t *rtl) {
  if (rtl->timeline == NULL) return UFP4_OK;
  ufp4_sim_timeline_end(rtl->sim);
  const ufp4_status_t status = timeline_write(rtl->timeline);
  timeline_free(rtl->timeline);
  rtl->timeline = NULL;
  return status;
}

static ufp4_status_t rtl_trace_end(ufp4_backend_state_t *state) {
  rtl_t *rtl = core_port_user(state);
  const ufp4_status_t status = end_timeline(rtl), trace = end_trace(rtl);
  return status != UFP4_OK ? status : trace;
}

// The waveforms get their name when they are complete; the writer adds .hier to the temporary name.
static ufp4_status_t name_trace(rtl_t *rtl, const char *path) {
  if (path == NULL) return UFP4_OK;
  ufp4_status_t status = file_target(path, &rtl->trace, rtl->message);
  if (status != UFP4_OK) return status;
  rtl->trace_beside = file_beside(rtl->trace);
  return rtl->trace_beside != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
}

// --- Open ---------------------------------------------------------------------------------------

static void rtl_close(void *user) {
  rtl_t *rtl = user;
  if (rtl->sim != NULL) (void)end_timeline(rtl);
  if (rtl->sim != NULL) (void)end_trace(rtl);
  ufp4_sim_close(rtl->sim);
  timeline_free(rtl->timeline);
  free(rtl->trace);
  free(rtl->trace_beside);
  free(rtl);
}

static ufp4_status_t open_sim(rtl_t *rtl, const ufp4_device_options_t *options,
                              const ufp4_configuration_t *configuration) {
  const ufp4_sim_options_t sim = {
      .configuration = configuration->name,
      .memory_base = UFP4_MEMORY_BASE,
      .memory_bytes = options->memory_bytes,
      .latency_cycles = options->mem_latency,
      .bandwidth_bytes = options->mem_bandwidth,
      .stall_seed = options->stall_seed,
      .trace_path = rtl->trace_beside,
      .dram = options->dram,
      .cycle_fs = options->cycle_fs,
      .timeline = timeline_sink(rtl->timeline),
  };
  char text[1024] = "";
  ufp4_status_t status = core_check_latency("rtl", options, rtl->message);
  if (status == UFP4_OK) status = core_check_dram("rtl", options, rtl->message);
  if (status != UFP4_OK) return status;
  if (!ufp4_sim_has(configuration->name)) {
    ufp4_message_set(rtl->message,
                     "rtl: this build does not simulate the configuration %s; configure it with "
                     "-DUFP4_SIMULATE=%s "
                     "(./ufp4 in the checkout does, when --config names it)",
                     configuration->name, configuration->name);
    return UFP4_ERROR_UNSUPPORTED;
  }
  rtl->sim = ufp4_sim_open(&sim, text, sizeof text);
  if (rtl->sim != NULL) return UFP4_OK;
  ufp4_message_set(rtl->message, "rtl: %s", text);
  return UFP4_ERROR_DEVICE;
}

static ufp4_status_t rtl_open(const ufp4_device_options_t *options,
                              const ufp4_configuration_t *configuration, ufp4_message_t *message,
                              ufp4_backend_state_t **state) {
  rtl_t *rtl = calloc(1, sizeof *rtl);
  *state = NULL;
  if (rtl == NULL) return UFP4_ERROR_MEMORY;
  rtl->message = message;
  const ufp4_port_t port = {
      .name = "rtl",
      .memory_base = UFP4_MEMORY_BASE,
      .memory_bytes = options->memory_bytes,
      .user = rtl,
      .register_read = rtl_register_read,
      .register_write = rtl_register_write,
      .memory_read = rtl_memory_read,
      .memory_write = rtl_memory_write,
      .wait_interrupt = rtl_wait_interrupt,
      .run = rtl_run,
      .now = rtl_now,
      .message = rtl_message,
      .close = rtl_close,
  };
  ufp4_status_t status = name_trace(rtl, options->trace_path);
  if (status == UFP4_OK)
    status = timeline_open(options->timeline_path, configuration->name, message, &rtl->timeline);
  if (status == UFP4_OK) status = open_sim(rtl, options, configuration);
  if (status == UFP4_OK) status = core_open(&port, options, configuration, 1, message, state);
  if (status != UFP4_OK) rtl_close(rtl);
  return status;
}

const ufp4_backend_t ufp4_backend_rtl = {.name = "rtl",
                                         .open = rtl_open,
                                         .trace_end = rtl_trace_end,
                                         .info = core_info,
                                         .submit = core_submit,
                                         CORE_FUNCTIONS};
