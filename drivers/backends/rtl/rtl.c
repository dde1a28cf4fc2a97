// SPDX-License-Identifier: Apache-2.0
// The simulated core as a device: the same registers, rings and interrupt that a board would have.
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "tensor/file.h"
#include "ufp4_sim.h"

// The rings lie in the reserved memory: descriptors first, then their completions.
#define RING_ADDRESS UFP4_MEMORY_BASE
#define COMPLETIONS_ADDRESS (RING_ADDRESS + UFP4_QUEUE_JOBS * UFP4_DESCRIPTOR_BYTES)
static_assert(UFP4_QUEUE_JOBS * (UFP4_DESCRIPTOR_BYTES + UFP4_COMPLETION_BYTES) <=
                  UFP4_MEMORY_RESERVED_BYTES,
              "the rings fit the reserved memory");

#define CONTROL_SNAPSHOT 1u
#define CONTROL_CLEAR 2u
#define CONTROL_RESET 4u
#define STATUS_RESETTING 8u
#define IRQ_DONE 1u
#define IRQ_ERROR 2u
#define IRQ_FATAL 4u
#define HEADER_FLAG_INTERRUPT 1u
#define SLOT_WRITTEN 0x10000u
// A job of the largest size on the smallest array takes longer than anybody waits; a hang is found
// long before this.
#define DEFAULT_MAX_CYCLES 100000000000ull
// Longer than any latency (UFP4_MEM_LATENCY_MAX); less than the simulator's own patience, so that
// it is the core that speaks.
#define WATCHDOG_CYCLES 500000u
// How often a reset is looked at, and for how long: it has to give up what is lost.
#define RESET_SLICE_CYCLES 16u
#define RESET_CYCLES (4u * WATCHDOG_CYCLES)
// How often a wait with a time limit looks at the clock.
#define SLICE_CYCLES 20000ull

struct ufp4_backend_state {
  ufp4_sim_t *sim;
  ufp4_message_t *message;
  ufp4_device_info_t info;
  uint64_t max_cycles;
  uint32_t submitted, taken;   // jobs, counted as the ring does
  char *trace, *trace_beside;  // where the waveforms go, links followed, and where they are until
                               // then; or NULL
};

typedef struct ufp4_backend_state state_t;

// --- Registers ----------------------------------------------------------------------------------

static ufp4_status_t check_sim(state_t *state, ufp4_sim_status_t status) {
  if (status == UFP4_SIM_OK) return UFP4_OK;
  ufp4_message_set(state->message, "rtl: %s", ufp4_sim_message(state->sim));
  return status == UFP4_SIM_LIMIT ? UFP4_ERROR_TIMEOUT : UFP4_ERROR_DEVICE;
}

static ufp4_status_t read_register(state_t *state, uint32_t offset, uint32_t *value) {
  return check_sim(state, ufp4_sim_register_read(state->sim, offset, value));
}

static ufp4_status_t write_register(state_t *state, uint32_t offset, uint32_t value) {
  return check_sim(state, ufp4_sim_register_write(state->sim, offset, value));
}

// --- Open ---------------------------------------------------------------------------------------

static ufp4_status_t refuse(state_t *state, const char *what, uint32_t got, uint32_t want) {
  ufp4_message_set(state->message, "rtl: the core's %s is 0x%x where this driver knows 0x%x", what,
                   got, want);
  return UFP4_ERROR_DEVICE;
}

static ufp4_status_t check_register(state_t *state, uint32_t offset, const char *what,
                                    uint32_t want) {
  uint32_t got = 0;
  ufp4_status_t status = read_register(state, offset, &got);
  if (status != UFP4_OK) return status;
  return got == want ? UFP4_OK : refuse(state, what, got, want);
}

// Fields quant and quant_log2 of config_array.
static uint32_t quant_fields(uint32_t quant) {
  uint32_t log2 = 0;
  while (quant >> log2 > 1) log2++;
  return (quant != 0) << 28 | log2 << 29;
}

// The core must be the one that this driver was generated with.
static ufp4_status_t check_identity(state_t *state, const ufp4_configuration_t *want) {
  const uint32_t version = UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
  const uint32_t array = want->rows | want->cols << 8 | want->lanes << 16 | want->contract << 24 |
                         want->formats << 26 | quant_fields(want->quant);
  const uint32_t tile = want->rows * want->tile_rows | want->cols * want->tile_cols << 16;
  const uint32_t memory =
      want->bus_bytes | UFP4_ADDR_BITS << 8 | want->chunk << 16 | (uint32_t)UFP4_SLOTS << 24;
  ufp4_status_t status = check_register(state, UFP4_REG_ID, "id", UFP4_CORE_ID);
  if (status == UFP4_OK) status = check_register(state, UFP4_REG_VERSION, "version", version);
  if (status == UFP4_OK)
    status = check_register(state, UFP4_REG_CONFIG_ARRAY, "array configuration", array);
  if (status == UFP4_OK)
    status = check_register(state, UFP4_REG_CONFIG_TILE, "tile configuration", tile);
  if (status == UFP4_OK)
    status = check_register(state, UFP4_REG_CONFIG_MEMORY, "memory configuration", memory);
  if (status != UFP4_OK) return status;
  state->info.configuration = *want;
  state->info.version = version;
  state->info.has_cycles = 1;
  return UFP4_OK;
}

static ufp4_status_t set_up(state_t *state) {
  const struct {
    uint32_t offset, value;
  } writes[] = {
      {UFP4_REG_RING_BASE_LO, (uint32_t)RING_ADDRESS},
      {UFP4_REG_RING_BASE_HI, (uint32_t)(RING_ADDRESS >> 32)},
      {UFP4_REG_RING_LOG2, UFP4_QUEUE_LOG2},
      {UFP4_REG_COMPLETION_BASE_LO, (uint32_t)COMPLETIONS_ADDRESS},
      {UFP4_REG_COMPLETION_BASE_HI, (uint32_t)(COMPLETIONS_ADDRESS >> 32)},
      {UFP4_REG_IRQ_MASK, IRQ_DONE | IRQ_ERROR | IRQ_FATAL},
      {UFP4_REG_WATCHDOG, WATCHDOG_CYCLES},
      {UFP4_REG_CONTROL, CONTROL_CLEAR},
  };
  ufp4_status_t status = UFP4_OK;
  for (size_t i = 0; i < sizeof writes / sizeof writes[0] && status == UFP4_OK; i++) {
    status = write_register(state, writes[i].offset, writes[i].value);
  }
  return status;
}

static ufp4_status_t end_trace(state_t *state) {
  if (ufp4_sim_trace_end(state->sim) != UFP4_SIM_OK) {
    ufp4_message_set(state->message, "%s: %s", state->trace, ufp4_sim_message(state->sim));
    return UFP4_ERROR_STORAGE;
  }
  // Of a core that has had no job there is nothing to see; what was there before stays.
  if (state->submitted == 0) {
    unlink(state->trace_beside);
    return UFP4_OK;
  }
  if (rename(state->trace_beside, state->trace) == 0) return UFP4_OK;
  unlink(state->trace_beside);
  return file_fail(state->trace, "write", state->message);
}

static ufp4_status_t rtl_trace_end(state_t *state) {
  if (state->trace == NULL) return UFP4_OK;
  ufp4_status_t status = end_trace(state);
  free(state->trace);
  free(state->trace_beside);
  state->trace = state->trace_beside = NULL;
  return status;
}

static void rtl_close(state_t *state) {
  if (state->sim != NULL) (void)rtl_trace_end(state);
  ufp4_sim_close(state->sim);
  free(state->trace);
  free(state->trace_beside);
  free(state);
}

// The waveforms get their name when they are whole; the writer adds .hier to what they are called
// until then.
static ufp4_status_t name_trace(state_t *state, const char *path) {
  if (path == NULL) return UFP4_OK;
  ufp4_status_t status = file_target(path, &state->trace, state->message);
  if (status != UFP4_OK) return status;
  state->trace_beside = file_beside(state->trace);
  return state->trace_beside != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
}

static ufp4_status_t open_sim(state_t *state, const ufp4_device_options_t *options) {
  const ufp4_sim_options_t sim = {
      .configuration = options->configuration,
      .memory_base = UFP4_MEMORY_BASE,
      .memory_bytes = options->memory_bytes,
      .latency_cycles = options->mem_latency,
      .bandwidth_bytes = options->mem_bandwidth,
      .stall_seed = options->stall_seed,
      .trace_path = state->trace_beside,
  };
  char text[1024] = "";
  if (options->mem_latency > UFP4_MEM_LATENCY_MAX) {
    ufp4_message_set(state->message, "rtl: a memory latency of %u cycles; at most %u",
                     options->mem_latency, UFP4_MEM_LATENCY_MAX);
    return UFP4_ERROR_ARGUMENT;
  }
  if (!ufp4_sim_has(options->configuration)) {
    ufp4_message_set(state->message,
                     "rtl: this build does not simulate the configuration %s; configure it with "
                     "-DUFP4_SIMULATE=%s "
                     "(./ufp4 in the checkout does, when --config names it)",
                     options->configuration, options->configuration);
    return UFP4_ERROR_UNSUPPORTED;
  }
  state->sim = ufp4_sim_open(&sim, text, sizeof text);
  if (state->sim != NULL) return UFP4_OK;
  ufp4_message_set(state->message, "rtl: %s", text);
  return UFP4_ERROR_DEVICE;
}

static ufp4_status_t rtl_open(const ufp4_device_options_t *options,
                              const ufp4_configuration_t *configuration, ufp4_message_t *message,
                              state_t **out) {
  *out = NULL;
  state_t *state = calloc(1, sizeof *state);
  if (state == NULL) return UFP4_ERROR_MEMORY;
  state->message = message;
  state->max_cycles = options->max_cycles != 0 ? options->max_cycles : DEFAULT_MAX_CYCLES;
  ufp4_status_t status = name_trace(state, options->trace_path);
  if (status == UFP4_OK) status = open_sim(state, options);
  if (status == UFP4_OK) status = check_identity(state, configuration);
  if (status == UFP4_OK) status = set_up(state);
  if (status != UFP4_OK) {
    rtl_close(state);
    return status;
  }
  *out = state;
  return UFP4_OK;
}

static ufp4_status_t rtl_info(state_t *state, ufp4_device_info_t *info) {
  info->configuration = state->info.configuration;
  info->version = state->info.version;
  info->has_cycles = state->info.has_cycles;
  return UFP4_OK;
}

// --- Memory -------------------------------------------------------------------------------------

static ufp4_status_t rtl_memory_write(state_t *state, uint64_t address, const void *data,
                                      uint64_t bytes) {
  memcpy(ufp4_sim_memory(state->sim, address, bytes), data, (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t rtl_memory_read(state_t *state, uint64_t address, void *data, uint64_t bytes) {
  memcpy(data, ufp4_sim_memory(state->sim, address, bytes), (size_t)bytes);
  return UFP4_OK;
}

// --- Jobs ---------------------------------------------------------------------------------------

// Every job raises the interrupt, so that a wait runs the simulator without looking in between.
static ufp4_status_t rtl_submit(state_t *state, const ufp4_descriptor_t *descriptor) {
  const uint64_t place = RING_ADDRESS + state->submitted % UFP4_QUEUE_JOBS * UFP4_DESCRIPTOR_BYTES;
  ufp4_descriptor_t flagged = *descriptor;
  flagged.header.flags |= HEADER_FLAG_INTERRUPT;
  memcpy(ufp4_sim_memory(state->sim, place, sizeof flagged), &flagged, sizeof flagged);
  ufp4_status_t status = write_register(state, UFP4_REG_RING_TAIL, state->submitted + 1);
  if (status == UFP4_OK) state->submitted++;
  return status;
}

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

// Runs until the interrupt, in slices where a time limit asks for a look at the clock.
static ufp4_status_t wait_interrupt(state_t *state, uint64_t timeout_us) {
  if (timeout_us == 0)
    return check_sim(state, ufp4_sim_wait_interrupt(state->sim, state->max_cycles));
  const uint64_t start = now_us();
  for (uint64_t left = state->max_cycles; left > 0;) {
    const uint64_t slice = left < SLICE_CYCLES ? left : SLICE_CYCLES;
    const ufp4_sim_status_t status = ufp4_sim_wait_interrupt(state->sim, slice);
    if (status != UFP4_SIM_LIMIT) return check_sim(state, status);
    if (now_us() - start >= timeout_us) {
      ufp4_message_set(state->message, "rtl: no completion within %llu us",
                       (unsigned long long)timeout_us);
      return UFP4_ERROR_TIMEOUT;
    }
    left -= slice;
  }
  return check_sim(state, UFP4_SIM_LIMIT);
}

static ufp4_status_t check_fatal(state_t *state) {
  uint32_t fatal = 0;
  ufp4_status_t status = read_register(state, UFP4_REG_FATAL, &fatal);
  if (status != UFP4_OK || fatal == 0) return status;
  ufp4_message_set(state->message, "rtl: the core's watchdog has stopped it (fatal 0x%x)", fatal);
  return UFP4_ERROR_DEVICE;
}

// The interrupt is cleared before the head is read, so a job that ends in between raises it again.
static ufp4_status_t wait_head(state_t *state, uint64_t timeout_us) {
  for (;;) {
    uint32_t head = 0;
    ufp4_status_t status = write_register(state, UFP4_REG_IRQ_STATUS, IRQ_DONE | IRQ_ERROR);
    if (status == UFP4_OK) status = read_register(state, UFP4_REG_RING_HEAD, &head);
    if (status == UFP4_OK && head != state->taken) return UFP4_OK;
    if (status == UFP4_OK) status = check_fatal(state);
    if (status == UFP4_OK) status = wait_interrupt(state, timeout_us);
    if (status != UFP4_OK) return status;
  }
}

static ufp4_status_t rtl_take(state_t *state, uint64_t timeout_us, ufp4_completion_t *completion) {
  ufp4_status_t status = wait_head(state, timeout_us);
  if (status != UFP4_OK) return status;
  const uint64_t place =
      COMPLETIONS_ADDRESS + state->taken % UFP4_QUEUE_JOBS * UFP4_COMPLETION_BYTES;
  memcpy(completion, ufp4_sim_memory(state->sim, place, sizeof *completion), sizeof *completion);
  state->taken++;
  return UFP4_OK;
}

// --- Slots and counters -------------------------------------------------------------------------

static ufp4_status_t rtl_slot_read(state_t *state, unsigned slot, int *exponent) {
  uint32_t value = 0;
  ufp4_status_t status = read_register(state, UFP4_REG_SLOT_BASE + 4 * slot, &value);
  if (status != UFP4_OK) return status;
  if (!(value & SLOT_WRITTEN)) {
    ufp4_message_set(state->message, "slot %u was never written", slot);
    return UFP4_ERROR_ARGUMENT;
  }
  *exponent = (int16_t)(value & 0xFFFFu);
  return UFP4_OK;
}

static ufp4_status_t rtl_counters(state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]) {
  ufp4_status_t status = write_register(state, UFP4_REG_CONTROL, CONTROL_SNAPSHOT);
  for (uint32_t i = 0; i < UFP4_COUNTER_COUNT && status == UFP4_OK; i++) {
    uint32_t low = 0, high = 0;
    status = read_register(state, UFP4_REG_COUNTER_BASE + 8 * i, &low);
    if (status == UFP4_OK) status = read_register(state, UFP4_REG_COUNTER_BASE + 8 * i + 4, &high);
    counters[i] = (uint64_t)high << 32 | low;
  }
  return status;
}

static ufp4_status_t rtl_reset(state_t *state) {
  uint32_t value = STATUS_RESETTING;
  ufp4_status_t status = write_register(state, UFP4_REG_CONTROL, CONTROL_RESET);
  for (uint64_t waited = 0; status == UFP4_OK && (value & STATUS_RESETTING);
       waited += RESET_SLICE_CYCLES) {
    if (waited >= RESET_CYCLES) {
      ufp4_message_set(state->message, "rtl: the bus does not let the core end its reset");
      return UFP4_ERROR_DEVICE;
    }
    status = check_sim(state, ufp4_sim_run(state->sim, RESET_SLICE_CYCLES));
    if (status == UFP4_OK) status = read_register(state, UFP4_REG_STATUS, &value);
  }
  state->submitted = state->taken = 0;
  return status;
}

const ufp4_backend_t ufp4_backend_rtl = {
    .name = "rtl",
    .open = rtl_open,
    .close = rtl_close,
    .trace_end = rtl_trace_end,
    .info = rtl_info,
    .memory_write = rtl_memory_write,
    .memory_read = rtl_memory_read,
    .submit = rtl_submit,
    .take = rtl_take,
    .slot_read = rtl_slot_read,
    .counters = rtl_counters,
    .reset = rtl_reset,
};
