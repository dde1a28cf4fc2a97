// SPDX-License-Identifier: Apache-2.0
// The core as a device, over a port: what the backends of the class core have in common.
#ifndef UFP4_CORE_H
#define UFP4_CORE_H

#include "backend.h"

/** max_cycles behind a serial port, whose ticks are microseconds: more than any job there takes. */
#define CORE_JOB_US 900000000u

/** UFP4_ERROR_ARGUMENT, with a message, if the port lacks a name or a function. */
ufp4_status_t core_check_port(const ufp4_port_t *port, ufp4_message_t *message);

/** UFP4_ERROR_ARGUMENT, with a message, if the simulated memory of backend @p name is one that the
 * watchdog would end. */
ufp4_status_t core_check_latency(const char *name, const ufp4_device_options_t *options,
                                 ufp4_message_t *message);

/** UFP4_ERROR_ARGUMENT, with a message, if the simulated memory of backend @p name has banks of a
 * kind that there is not. */
ufp4_status_t core_check_dram(const char *name, const ufp4_device_options_t *options,
                              ufp4_message_t *message);

/** Makes the state of a backend over @p port, once the core has said that it is of this
 * configuration, or where that is NULL, of a named one. @p fresh: it has just left its reset;
 * otherwise it is reset. On failure *state is NULL, and the port is still the caller's; core_close
 * closes it. */
ufp4_status_t core_open(const ufp4_port_t *port, const ufp4_device_options_t *options,
                        const ufp4_configuration_t *configuration, int fresh,
                        ufp4_message_t *message, ufp4_backend_state_t **state);
/** Does once more what core_open does after the reset, for a core that has lost its registers. */
ufp4_status_t core_set_up(ufp4_backend_state_t *state);
/** The port's own data. */
void *core_port_user(const ufp4_backend_state_t *state);

/** Says what the port says of its last call, and returns @p status. */
ufp4_status_t core_fail(ufp4_backend_state_t *state, ufp4_status_t status);

/** The functions of a backend, as ufp4_backend_t has them. */
void core_close(ufp4_backend_state_t *state);
ufp4_status_t core_info(ufp4_backend_state_t *state, ufp4_device_info_t *info);
uint64_t core_memory_base(const ufp4_backend_state_t *state);
ufp4_status_t core_memory_write(ufp4_backend_state_t *state, uint64_t address, const void *data,
                                uint64_t bytes);
ufp4_status_t core_memory_read(ufp4_backend_state_t *state, uint64_t address, void *data,
                               uint64_t bytes);
ufp4_status_t core_submit(ufp4_backend_state_t *state, const ufp4_descriptor_t *descriptor);
ufp4_status_t core_take(ufp4_backend_state_t *state, uint64_t timeout_us,
                        ufp4_completion_t *completion);
ufp4_status_t core_slot_read(ufp4_backend_state_t *state, unsigned slot, int *exponent);
ufp4_status_t core_counters(ufp4_backend_state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]);
ufp4_status_t core_reset(ufp4_backend_state_t *state);

/** All of them but info and submit. */
#define CORE_FUNCTIONS                                                                     \
  .close = core_close, .memory_base = core_memory_base, .memory_write = core_memory_write, \
  .memory_read = core_memory_read, .take = core_take, .slot_read = core_slot_read,         \
  .counters = core_counters, .reset = core_reset

/** A port of somebody's own; it is opened with core_open. */
extern const ufp4_backend_t ufp4_backend_core;

#endif
