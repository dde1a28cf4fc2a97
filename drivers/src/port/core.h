// SPDX-License-Identifier: Apache-2.0
// The core as a device over a port, which is common to the backends of class core.
#ifndef UFP4_CORE_H
#define UFP4_CORE_H

#include "backend.h"

/** max_cycles behind a serial port, whose ticks are microseconds: longer than any job there. */
#define CORE_JOB_US 900000000u

/** Returns UFP4_ERROR_ARGUMENT, with a message, if the port lacks a name or a function. */
ufp4_status_t core_check_port(const ufp4_port_t *port, ufp4_message_t *message);

/** Returns UFP4_ERROR_ARGUMENT, with a message, if the simulated memory of backend @p name is so
 * slow that the watchdog would stop the core. */
ufp4_status_t core_check_latency(const char *name, const ufp4_device_options_t *options,
                                 ufp4_message_t *message);

/** Returns UFP4_ERROR_ARGUMENT, with a message, if the simulated memory of backend @p name has an
 * unknown kind of banks. */
ufp4_status_t core_check_dram(const char *name, const ufp4_device_options_t *options,
                              ufp4_message_t *message);

/** Makes the state of a backend over @p port after checking that the core has this configuration,
 * or if it is NULL, a named one. @p fresh: the core has just left its reset; otherwise it is reset
 * here. On failure *state is NULL, and the port remains the caller's; core_close closes it. */
ufp4_status_t core_open(const ufp4_port_t *port, const ufp4_device_options_t *options,
                        const ufp4_configuration_t *configuration, int fresh,
                        ufp4_message_t *message, ufp4_backend_state_t **state);
/** Repeats the set-up of core_open after the reset, for a core that has lost its registers. */
ufp4_status_t core_set_up(ufp4_backend_state_t *state);
/** Returns the port's own data. */
void *core_port_user(const ufp4_backend_state_t *state);

/** Sets the message to the port's message about its last call, and returns @p status. */
ufp4_status_t core_fail(ufp4_backend_state_t *state, ufp4_status_t status);

/** The functions of ufp4_backend_t. */
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

/** All functions of the table except info and submit. */
#define CORE_FUNCTIONS                                                                     \
  .close = core_close, .memory_base = core_memory_base, .memory_write = core_memory_write, \
  .memory_read = core_memory_read, .take = core_take, .slot_read = core_slot_read,         \
  .counters = core_counters, .reset = core_reset

/** A caller's own port, which is opened by core_open. */
extern const ufp4_backend_t ufp4_backend_core;

#endif
