// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/configuration.h"
#include "base/names.h"
#include "base/threads.h"
#include "port/core.h"

static const ufp4_backend_t *const backends[] = {
    &ufp4_backend_model,   &ufp4_backend_cuda,          &ufp4_backend_fpga, &ufp4_backend_mmio,
#ifdef UFP4_HAVE_RTL
    &ufp4_backend_rtl,
#endif
#ifdef UFP4_HAVE_TLM
    &ufp4_backend_tlm,
#endif
    &ufp4_backend_systemc, &ufp4_backend_systemc_timed,
};

#ifndef UFP4_HAVE_TLM
ufp4_bus_t *ufp4_bus_open(unsigned latency, unsigned bandwidth, const char *dram,
                          uint64_t cycle_fs) {
  (void)latency, (void)bandwidth, (void)dram, (void)cycle_fs;
  return NULL;
}

void ufp4_bus_close(ufp4_bus_t *bus) {
  (void)bus;
}
#endif

ufp4_device_options_t ufp4_device_options_default(void) {
  return (ufp4_device_options_t){
      .configuration = "default",
      .memory_bytes = 1ull << 30,
      .mem_latency = 100,
  };
}

// The name of a backend with a location has it behind a colon.
static const ufp4_backend_t *find_backend(const char *name) {
  const size_t length = strcspn(name, ":");
  for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
    const char *own = backends[i]->name;
    if (strcmp(name, own) == 0) return backends[i];
    if (backends[i]->open_at != NULL && strlen(own) == length && strncmp(name, own, length) == 0)
      return backends[i];
  }
  return NULL;
}

static ufp4_status_t refuse_backend(const char *name, ufp4_message_t *message) {
  size_t length = strcspn(name, ":");
  for (size_t i = 0; i < UFP4_BACKEND_COUNT; i++) {
    if (strlen(backend_names[i]) != length || strncmp(name, backend_names[i], length) != 0 ||
        find_backend(backend_names[i]) != NULL)
      continue;
    ufp4_message_set(message, "backend %s is not in this build", name);
    return UFP4_ERROR_UNSUPPORTED;
  }
  ufp4_message_set(message,
                   "no backend is called '%s'; there are model, rtl, tlm, systemc, systemc:timed, "
                   "cuda, fpga:PORT and mmio:DEVICE",
                   name);
  return UFP4_ERROR_ARGUMENT;
}

// A core that already exists (is_found) needs no configuration in the options.
static ufp4_status_t check_options(const ufp4_device_options_t *options, int is_found,
                                   ufp4_message_t *message) {
  const char *name = options->configuration;
  ufp4_configuration_t core;
  if (name == NULL && !is_found) {
    ufp4_message_set(message, "options->configuration is NULL; name one, such as \"default\"");
    return UFP4_ERROR_ARGUMENT;
  }
  if (name != NULL && configuration_find(name, &core, NULL, message) != UFP4_OK)
    return UFP4_ERROR_ARGUMENT;
  if (options->threads > INT_MAX) {
    ufp4_message_set(message, "threads is %u; it must be at most %d", options->threads, INT_MAX);
    return UFP4_ERROR_ARGUMENT;
  }
  if (ufp4_kernel_name(options->kernel) == NULL) {
    ufp4_message_set(message, "kernel is %d; it must be from 0 to %d", (int)options->kernel,
                     UFP4_KERNEL_COUNT - 1);
    return UFP4_ERROR_ARGUMENT;
  }
  if (!ufp4_kernel_available(options->kernel)) {
    ufp4_message_set(message, "this processor does not have the kernel %s",
                     ufp4_kernel_name(options->kernel));
    return UFP4_ERROR_UNSUPPORTED;
  }
  return UFP4_OK;
}

static ufp4_status_t open_backend(ufp4_device_t *device, const char *name, const ufp4_port_t *port,
                                  const ufp4_device_options_t *options) {
  const ufp4_backend_t *backend = device->backend;
  ufp4_configuration_t *configuration = NULL;
  ufp4_message_t *message = &device->message;
  if (options->configuration != NULL) {
    configuration = &device->asked;
    const ufp4_status_t status =
        configuration_find(options->configuration, configuration, NULL, message);
    if (status != UFP4_OK) return status;
  }
  if (port != NULL) return core_open(port, options, configuration, 0, message, &device->state);
  if (backend->open_at != NULL)
    return backend->open_at(name, options, configuration, message, &device->state);
  return backend->open(options, configuration, message, &device->state);
}

static ufp4_status_t open_state(ufp4_device_t *device, const char *name, const ufp4_port_t *port,
                                const ufp4_device_options_t *options) {
  const ufp4_backend_t *backend = device->backend;
  ufp4_status_t status = open_backend(device, name, port, options);
  if (status != UFP4_OK) return status;
  device->info.backend = backend->name;
  device->info.memory_bytes = options->memory_bytes;
  status = backend->info(device->state, &device->info);
  device->memory_base =
      backend->memory_base != NULL ? backend->memory_base(device->state) : UFP4_MEMORY_BASE;
  device->kernel = options->kernel;
  device->threads = threads_asked(options->threads);
  return status;
}

// Opens a device by its name, or over @p port.
static ufp4_status_t open_device(const ufp4_backend_t *backend, const char *name,
                                 const ufp4_port_t *port, const ufp4_device_options_t *options,
                                 ufp4_device_t **device) {
  ufp4_device_t *made = calloc(1, sizeof *made);
  if (made == NULL) return UFP4_ERROR_MEMORY;
  made->backend = backend;
  ufp4_status_t status = open_state(made, name, port, options);
  if (status != UFP4_OK) {
    if (options->message != NULL) *options->message = made->message;
    ufp4_device_close(made);
    return status;
  }
  *device = made;
  return UFP4_OK;
}

ufp4_status_t ufp4_device_open(const char *backend, const ufp4_device_options_t *options,
                               ufp4_device_t **device) {
  if (device == NULL) return UFP4_ERROR_ARGUMENT;
  *device = NULL;
  if (backend == NULL || options == NULL) return UFP4_ERROR_ARGUMENT;
  const ufp4_backend_t *found = find_backend(backend);
  if (found == NULL) return refuse_backend(backend, options->message);
  const int is_elsewhere = found->open_at != NULL;
  ufp4_status_t status = check_options(options, is_elsewhere, options->message);
  if (status == UFP4_OK && !is_elsewhere)
    status = backend_check_memory(UFP4_MEMORY_BASE, options->memory_bytes, options->message);
  return status == UFP4_OK ? open_device(found, backend, NULL, options, device) : status;
}

ufp4_status_t ufp4_device_open_port(const ufp4_port_t *port, const ufp4_device_options_t *options,
                                    ufp4_device_t **device) {
  if (device == NULL) return UFP4_ERROR_ARGUMENT;
  *device = NULL;
  if (port == NULL || options == NULL) return UFP4_ERROR_ARGUMENT;
  ufp4_status_t status = check_options(options, 1, options->message);
  if (status == UFP4_OK) status = core_check_port(port, options->message);
  if (status == UFP4_OK)
    status = backend_check_memory(port->memory_base, port->memory_bytes, options->message);
  return status == UFP4_OK ? open_device(&ufp4_backend_core, NULL, port, options, device) : status;
}

void ufp4_device_close(ufp4_device_t *device) {
  if (device == NULL) return;
  if (device->state != NULL) device->backend->close(device->state);
  free(device->buffers);
  free(device);
}

ufp4_status_t ufp4_device_trace_end(ufp4_device_t *device) {
  if (device == NULL) return UFP4_ERROR_ARGUMENT;
  device->message.text[0] = '\0';
  return device->backend->trace_end != NULL ? device->backend->trace_end(device->state) : UFP4_OK;
}

ufp4_status_t ufp4_device_info(ufp4_device_t *device, ufp4_device_info_t *info) {
  if (device == NULL || info == NULL) return UFP4_ERROR_ARGUMENT;
  *info = device->info;
  return UFP4_OK;
}

const char *ufp4_device_message(const ufp4_device_t *device) {
  return device == NULL ? "" : device->message.text;
}

ufp4_status_t ufp4_device_counters(ufp4_device_t *device, uint64_t counters[UFP4_COUNTER_COUNT]) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (counters == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_device_counters: counters is NULL");
  return device_note(device, device->backend->counters(device->state, counters));
}

ufp4_status_t ufp4_device_accesses(ufp4_device_t *device, uint64_t reads[UFP4_SRAM_COUNT],
                                   uint64_t writes[UFP4_SRAM_COUNT]) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (reads == NULL || writes == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "ufp4_device_accesses: reads or writes is NULL");
  if (device->backend->accesses == NULL)
    return device_fail(device, UFP4_ERROR_UNSUPPORTED,
                       "ufp4_device_accesses: only backend tlm counts accesses");
  device->backend->accesses(device->state, reads, writes);
  return UFP4_OK;
}

ufp4_status_t device_note(ufp4_device_t *device, ufp4_status_t status) {
  if (status == UFP4_ERROR_DEVICE) device->failed = 1;
  return status;
}

ufp4_status_t device_fail(ufp4_device_t *device, ufp4_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(device->message.text, sizeof device->message.text, format, arguments);
  va_end(arguments);
  return status;
}

ufp4_status_t device_check(ufp4_device_t *device) {
  if (device == NULL) return UFP4_ERROR_ARGUMENT;
  return device->failed ? UFP4_ERROR_DEVICE : UFP4_OK;
}
