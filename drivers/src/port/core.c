// SPDX-License-Identifier: Apache-2.0
// The driver of the core over any port: identification, waits and their limits, messages.
// ufp4_bare.h implements rings, reset and counters.
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dram.h"
#include "ufp4_bare.h"

#define FATAL_RING 8u
// A job of the largest size on the smallest array takes longer than anyone waits, and a hang is
// detected long before that.
#define DEFAULT_MAX_TICKS 100000000000ull
// The interval and the limit of polling for the end of a reset, which has to give up lost transfers
// first.
#define RESET_SLICE_TICKS 16u
#define RESET_TICKS (4u * UFP4_BARE_WATCHDOG_CYCLES)
// How often a wait with a time limit checks the host's clock.
#define SLICE_TICKS 20000ull

// The rings are in the reserved memory. The watchdog is longer than any latency but shorter than
// the simulator's own limit, so that the core reports the error.
static_assert(UFP4_BARE_RING_BYTES(UFP4_QUEUE_LOG2) <= UFP4_MEMORY_RESERVED_BYTES,
              "the rings fit the reserved memory");
static_assert(UFP4_BARE_WATCHDOG_CYCLES > 4 * UFP4_MEM_LATENCY_MAX, "no latency is a hang");

struct ufp4_backend_state {
  ufp4_port_t port;
  ufp4_bare_t bare;
  ufp4_message_t *message;
  ufp4_configuration_t configuration;
  uint32_t version;
  uint64_t max_ticks;  // limit until the next completion
};

typedef struct ufp4_backend_state state_t;

// --- The port -----------------------------------------------------------------------------------

ufp4_status_t core_check_port(const ufp4_port_t *port, ufp4_message_t *message) {
  const struct {
    const char *name;
    int there;
  } functions[] = {
      {"register_read", port->register_read != NULL},
      {"register_write", port->register_write != NULL},
      {"memory_read", port->memory_read != NULL},
      {"memory_write", port->memory_write != NULL},
      {"wait_interrupt", port->wait_interrupt != NULL},
      {"run", port->run != NULL},
      {"now", port->now != NULL},
  };
  if (port->name == NULL || port->name[0] == '\0') {
    ufp4_message_set(message, "port->name is NULL or empty");
    return UFP4_ERROR_ARGUMENT;
  }
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (functions[i].there) continue;
    ufp4_message_set(message, "%s: the port's function %s is NULL", port->name, functions[i].name);
    return UFP4_ERROR_ARGUMENT;
  }
  return UFP4_OK;
}

ufp4_status_t core_fail(state_t *state, ufp4_status_t status) {
  const ufp4_port_t *port = &state->port;
  const char *why = port->message != NULL ? port->message(port->user) : NULL;
  ufp4_message_set(state->message, "%s: %s", port->name,
                   why != NULL ? why : ufp4_status_string(status));
  return status;
}

static ufp4_status_t check(state_t *state, ufp4_status_t status) {
  return status == UFP4_OK ? UFP4_OK : core_fail(state, UFP4_ERROR_DEVICE);
}

static uint64_t ticks_now(const state_t *state) {
  return state->port.now(state->port.user);
}

ufp4_status_t core_memory_write(state_t *state, uint64_t address, const void *data,
                                uint64_t bytes) {
  return check(state, state->port.memory_write(state->port.user, address, data, bytes));
}

ufp4_status_t core_memory_read(state_t *state, uint64_t address, void *data, uint64_t bytes) {
  return check(state, state->port.memory_read(state->port.user, address, data, bytes));
}

// --- Open ---------------------------------------------------------------------------------------

// Fields quant and quant_log2 of config_array.
static uint32_t quant_fields(uint32_t quant) {
  uint32_t log2 = 0;
  while (quant >> log2 > 1) log2++;
  return (uint32_t)(quant != 0) << 28 | log2 << 29;
}

enum { CONFIGURATION_REGISTERS = 4 };

// Computes the values of config_array, config_tile, config_memory and config_quant for this
// configuration.
static void expect(const ufp4_configuration_t *configuration,
                   uint32_t values[CONFIGURATION_REGISTERS]) {
  values[0] = configuration->rows | configuration->cols << 8 | configuration->lanes << 16 |
              configuration->contract << 24 | configuration->formats << 26 |
              quant_fields(configuration->quant);
  values[1] = configuration->rows * configuration->tile_rows |
              configuration->cols * configuration->tile_cols << 16;
  values[2] = configuration->bus_bytes | UFP4_ADDR_BITS << 8 | configuration->chunk << 16 |
              (uint32_t)UFP4_SLOTS << 24;
  values[3] = configuration->mixed;
}

static ufp4_status_t check_register(state_t *state, const char *what, uint32_t got, uint32_t want) {
  if (got == want) return UFP4_OK;
  ufp4_message_set(state->message, "%s: the core's %s is 0x%x; this driver knows only 0x%x",
                   state->port.name, what, got, want);
  return UFP4_ERROR_DEVICE;
}

// Returns the named configuration with these registers, or NULL.
static const ufp4_configuration_t *find_configuration(const uint32_t got[CONFIGURATION_REGISTERS]) {
  static const ufp4_configuration_t all[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    uint32_t registers[CONFIGURATION_REGISTERS];
    expect(&all[i], registers);
    if (memcmp(got, registers, sizeof registers) == 0) return &all[i];
  }
  return NULL;
}

static ufp4_status_t fail_configuration(state_t *state, const ufp4_configuration_t *want,
                                        const ufp4_configuration_t *found,
                                        const uint32_t got[CONFIGURATION_REGISTERS]) {
  char asked[UFP4_CONFIGURATION_NAME + 32] = "";
  if (want != NULL) snprintf(asked, sizeof asked, ", but %s was requested", want->name);
  if (found != NULL) {
    ufp4_message_set(state->message, "%s: the core is %s%s", state->port.name, found->name, asked);
  } else {
    ufp4_message_set(state->message,
                     "%s: no configuration has this core's registers: config_array 0x%x, "
                     "config_tile 0x%x, config_memory 0x%x, config_quant 0x%x%s",
                     state->port.name, got[0], got[1], got[2], got[3], asked);
  }
  return UFP4_ERROR_DEVICE;
}

// The core must have the requested configuration, or if none was requested, any named one.
static ufp4_status_t check_configuration(state_t *state, const ufp4_configuration_t *want,
                                         const uint32_t got[CONFIGURATION_REGISTERS]) {
  const ufp4_configuration_t *found = find_configuration(got);
  uint32_t registers[CONFIGURATION_REGISTERS];
  if (want == NULL) want = found;
  if (want != NULL) expect(want, registers);
  if (want == NULL || memcmp(got, registers, sizeof registers) != 0)
    return fail_configuration(state, want, found, got);
  state->configuration = *want;
  return UFP4_OK;
}

static ufp4_status_t check_identity(state_t *state, const ufp4_configuration_t *want) {
  ufp4_bare_identity_t is = {0};
  ufp4_status_t status = check(state, ufp4_bare_identify(&state->bare, &is));
  if (status == UFP4_OK) status = check_register(state, "id", is.id, UFP4_CORE_ID);
  if (status == UFP4_OK && !UFP4_BARE_KNOWS(is.version))
    status = check_register(state, "version", is.version, UFP4_BARE_VERSION);
  if (status != UFP4_OK) return status;
  state->version = is.version;
  const uint32_t got[CONFIGURATION_REGISTERS] = {is.config_array, is.config_tile, is.config_memory,
                                                 is.config_quant};
  return check_configuration(state, want, got);
}

ufp4_status_t core_set_up(state_t *state) {
  return check(state, ufp4_bare_set_up(&state->bare));
}

ufp4_status_t core_check_latency(const char *name, const ufp4_device_options_t *options,
                                 ufp4_message_t *message) {
  if (options->mem_latency <= UFP4_MEM_LATENCY_MAX) return UFP4_OK;
  ufp4_message_set(message, "%s: the memory latency is %u cycles; it must be at most %u", name,
                   options->mem_latency, UFP4_MEM_LATENCY_MAX);
  return UFP4_ERROR_ARGUMENT;
}

ufp4_status_t core_check_dram(const char *name, const ufp4_device_options_t *options,
                              ufp4_message_t *message) {
  if (options->cycle_fs > UFP4_CYCLE_FS_MAX) {
    ufp4_message_set(message, "%s: cycle_fs is %llu; it must be at most %u", name,
                     (unsigned long long)options->cycle_fs, UFP4_CYCLE_FS_MAX);
    return UFP4_ERROR_ARGUMENT;
  }
  if (options->dram == NULL || ufp4_find_dram(options->dram).channels != 0) return UFP4_OK;
  ufp4_message_set(message, "%s: no memory is called '%s'; there are " UFP4_DRAM_WORDS, name,
                   options->dram);
  return UFP4_ERROR_ARGUMENT;
}

ufp4_status_t core_open(const ufp4_port_t *port, const ufp4_device_options_t *options,
                        const ufp4_configuration_t *configuration, int fresh,
                        ufp4_message_t *message, state_t **out) {
  *out = NULL;
  state_t *state = calloc(1, sizeof *state);
  if (state == NULL) return UFP4_ERROR_MEMORY;
  state->port = *port;
  state->bare = (ufp4_bare_t){
      .io = {port->user, port->register_read, port->register_write, port->memory_read,
             port->memory_write},
      .ring = port->memory_base,
      .ring_log2 = UFP4_QUEUE_LOG2,
  };
  state->message = message;
  state->max_ticks = options->max_cycles != 0 ? options->max_cycles : DEFAULT_MAX_TICKS;
  ufp4_status_t status = check_identity(state, configuration);
  if (status == UFP4_OK && !fresh) status = core_reset(state);
  if (status == UFP4_OK) status = core_set_up(state);
  if (status != UFP4_OK) {
    free(state);
    return status;
  }
  *out = state;
  return UFP4_OK;
}

void core_close(state_t *state) {
  if (state->port.close != NULL) state->port.close(state->port.user);
  free(state);
}

void *core_port_user(const state_t *state) {
  return state->port.user;
}

uint64_t core_memory_base(const state_t *state) {
  return state->port.memory_base;
}

ufp4_status_t core_info(state_t *state, ufp4_device_info_t *info) {
  info->configuration = state->configuration;
  info->version = state->version;
  info->has_cycles = 1;
  info->backend = state->port.name;
  info->memory_bytes = state->port.memory_bytes;
  return UFP4_OK;
}

// --- Jobs ---------------------------------------------------------------------------------------

ufp4_status_t core_submit(state_t *state, const ufp4_descriptor_t *descriptor) {
  return check(state, ufp4_bare_submit(&state->bare, descriptor));
}

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

// A wait for the next completion: its start in the port's time and in the host's.
typedef struct {
  uint64_t ticks, us, timeout_us;
  int waited;
} wait_t;

static ufp4_status_t time_is_up(state_t *state, uint64_t time, const char *unit) {
  ufp4_message_set(state->message, "%s: no completion within %llu %s", state->port.name,
                   (unsigned long long)time, unit);
  return UFP4_ERROR_TIMEOUT;
}

// Waits for the interrupt, in slices if a time limit requires checks of the host's clock. The limit
// applies to the whole wait, including interrupts without a completion.
static ufp4_status_t wait_interrupt(state_t *state, wait_t *wait) {
  const ufp4_port_t *port = &state->port;
  for (;; wait->waited = 1) {
    const uint64_t spent = ticks_now(state) - wait->ticks;
    if (wait->waited && wait->timeout_us != 0 && now_us() - wait->us >= wait->timeout_us)
      return time_is_up(state, wait->timeout_us, "us");
    if (spent >= state->max_ticks) return time_is_up(state, state->max_ticks, "ticks");
    const uint64_t left = state->max_ticks - spent;
    const uint64_t slice = wait->timeout_us != 0 && left > SLICE_TICKS ? SLICE_TICKS : left;
    const ufp4_status_t status = port->wait_interrupt(port->user, slice);
    if (status == UFP4_ERROR_TIMEOUT && slice < left) continue;
    wait->waited = 1;
    return status == UFP4_ERROR_TIMEOUT ? core_fail(state, status) : check(state, status);
  }
}

// If the head is ahead of the tail, another program has reset the core, or the core is gone; the
// completions in memory are then old ones.
static ufp4_status_t check_head(state_t *state, uint32_t ended) {
  const ufp4_bare_t *bare = &state->bare;
  if (ended <= bare->submitted - bare->taken) return UFP4_OK;
  ufp4_message_set(state->message,
                   "%s: the core's ring_head is %u, but must be from %u to %u: another program "
                   "uses the core, or the core was reset or is gone",
                   state->port.name, bare->taken + ended, bare->taken, bare->submitted);
  return UFP4_ERROR_DEVICE;
}

static ufp4_status_t look(state_t *state, uint32_t *ended) {
  uint32_t fatal = 0;
  ufp4_status_t status = check(state, ufp4_bare_poll(&state->bare, ended, &fatal));
  if (status == UFP4_OK) status = check_head(state, *ended);
  if (status != UFP4_OK || fatal == 0) return status;
  ufp4_message_set(
      state->message, "%s: %s has stopped the core (fatal 0x%x)", state->port.name,
      fatal & FATAL_RING ? "a bad ring_tail (too many jobs, or moved back)" : "its watchdog",
      fatal);
  return UFP4_ERROR_DEVICE;
}

ufp4_status_t core_take(state_t *state, uint64_t timeout_us, ufp4_completion_t *completion) {
  uint32_t ended = 0;
  ufp4_status_t status = look(state, &ended);
  wait_t wait = {.ticks = ticks_now(state), .us = now_us(), .timeout_us = timeout_us};
  while (status == UFP4_OK && ended == 0) {
    status = wait_interrupt(state, &wait);
    if (status == UFP4_OK) status = look(state, &ended);
  }
  if (status != UFP4_OK) return status;
  return check(state, ufp4_bare_take(&state->bare, completion));
}

// --- Slots, counters, reset ---------------------------------------------------------------------

ufp4_status_t core_slot_read(state_t *state, unsigned slot, int *exponent) {
  const ufp4_status_t status = ufp4_bare_slot_read(&state->bare, slot, exponent);
  if (status != UFP4_ERROR_ARGUMENT) return check(state, status);
  ufp4_message_set(state->message, "slot %u was never written", slot);
  return status;
}

ufp4_status_t core_counters(state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]) {
  return check(state, ufp4_bare_counters(&state->bare, counters));
}

ufp4_status_t core_reset(state_t *state) {
  int resetting = 1;
  ufp4_status_t status = check(state, ufp4_bare_reset(&state->bare));
  const uint64_t began = ticks_now(state);
  while (status == UFP4_OK && resetting) {
    if (ticks_now(state) - began >= RESET_TICKS) {
      ufp4_message_set(
          state->message,
          "%s: the core's reset does not end, because the bus has not completed its transfers",
          state->port.name);
      return UFP4_ERROR_DEVICE;
    }
    status = check(state, state->port.run(state->port.user, RESET_SLICE_TICKS));
    if (status == UFP4_OK) status = check(state, ufp4_bare_resetting(&state->bare, &resetting));
  }
  return status;
}

const ufp4_backend_t ufp4_backend_core = {
    .name = "core", .info = core_info, .submit = core_submit, CORE_FUNCTIONS};
