// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_CYCLES 1000000u

static stand_t open_with(const ufp4_sim_options_t *options) {
  char message[256] = "";
  stand_t stand = {.sim = ufp4_sim_open(options, message, sizeof message)};
  if (stand.sim == NULL) {
    fprintf(stderr, "stand: %s\n", message);
    exit(1);
  }
  stand_rings(&stand, STAND_RING, STAND_COMPLETIONS);
  return stand;
}

stand_t stand_open(const char *configuration, unsigned latency, unsigned bandwidth,
                   uint64_t stall_seed) {
  const ufp4_sim_options_t options = {
      .configuration = configuration,
      .memory_base = STAND_MEMORY,
      .memory_bytes = STAND_MEMORY_BYTES,
      .latency_cycles = latency,
      .bandwidth_bytes = bandwidth,
      .stall_seed = check_stall(stall_seed),
  };
  return open_with(&options);
}

stand_t stand_open_everywhere(const char *configuration) {
  const ufp4_sim_options_t options = {
      .configuration = configuration, .memory_bytes = 1ull << UFP4_ADDR_BITS, .latency_cycles = 1};
  return open_with(&options);
}

void stand_close(stand_t *stand) {
  ufp4_sim_close(stand->sim);
}

static void must(stand_t *stand, ufp4_sim_status_t status) {
  if (status == UFP4_SIM_OK) return;
  fprintf(stderr, "stand: %s\n", ufp4_sim_message(stand->sim));
  exit(1);
}

uint32_t stand_read(stand_t *stand, uint32_t offset) {
  uint32_t value = 0;
  must(stand, ufp4_sim_register_read(stand->sim, offset, &value));
  return value;
}

void stand_write(stand_t *stand, uint32_t offset, uint32_t value) {
  must(stand, ufp4_sim_register_write(stand->sim, offset, value));
}

void stand_write_bytes(stand_t *stand, uint32_t offset, uint32_t value, unsigned strobes) {
  must(stand, ufp4_sim_register_write_bytes(stand->sim, offset, value, strobes));
}

void stand_rings(stand_t *stand, uint64_t ring, uint64_t completions) {
  stand->ring = ring;
  stand->completions = completions;
  stand_write(stand, UFP4_REG_RING_BASE_LO, (uint32_t)ring);
  stand_write(stand, UFP4_REG_RING_BASE_HI, (uint32_t)(ring >> 32));
  stand_write(stand, UFP4_REG_RING_LOG2, STAND_RING_LOG2);
  stand_write(stand, UFP4_REG_COMPLETION_BASE_LO, (uint32_t)completions);
  stand_write(stand, UFP4_REG_COMPLETION_BASE_HI, (uint32_t)(completions >> 32));
  stand_write(stand, UFP4_REG_IRQ_MASK, 3);
}

void stand_put(stand_t *stand, const ufp4_descriptor_t *descriptor) {
  const uint64_t place = stand->ring + stand->tail % (1u << STAND_RING_LOG2) * sizeof *descriptor;
  void *memory = ufp4_sim_memory(stand->sim, place, sizeof *descriptor);
  if (memory != NULL) memcpy(memory, descriptor, sizeof *descriptor);
  stand->tail++;
}

void stand_start(stand_t *stand) {
  stand_write(stand, UFP4_REG_RING_TAIL, stand->tail);
}

void stand_submit(stand_t *stand, const ufp4_descriptor_t *descriptor) {
  stand_put(stand, descriptor);
  stand_start(stand);
}

int stand_drain(stand_t *stand) {
  for (unsigned cycles = 0; cycles < DRAIN_CYCLES; cycles += 50) {
    if (stand_read(stand, UFP4_REG_RING_HEAD) == stand->tail) return 1;
    must(stand, ufp4_sim_run(stand->sim, 50));
  }
  return 0;
}

ufp4_completion_t stand_completion(stand_t *stand, uint32_t index) {
  const uint64_t place =
      stand->completions + index % (1u << STAND_RING_LOG2) * sizeof(ufp4_completion_t);
  ufp4_completion_t completion;
  memcpy(&completion, ufp4_sim_memory(stand->sim, place, sizeof completion), sizeof completion);
  return completion;
}

ufp4_completion_t stand_job(stand_t *stand, const ufp4_descriptor_t *descriptor) {
  stand_submit(stand, descriptor);
  check_that(stand->tail, stand_drain(stand), "the job has not ended");
  return stand_completion(stand, stand->tail - 1);
}

void stand_counters(stand_t *stand, uint64_t counters[UFP4_COUNTER_COUNT]) {
  stand_write(stand, UFP4_REG_CONTROL, 1);
  for (unsigned i = 0; i < UFP4_COUNTER_COUNT; i++) {
    const uint64_t low = stand_read(stand, UFP4_REG_COUNTER_BASE + 8 * i);
    counters[i] = low | (uint64_t)stand_read(stand, UFP4_REG_COUNTER_BASE + 8 * i + 4) << 32;
  }
}

void stand_check_sum(int64_t index, const uint64_t counters[UFP4_COUNTER_COUNT]) {
  uint64_t sum = 0;
  for (int i = UFP4_COUNTER_ARRAY_BUSY; i <= UFP4_COUNTER_IDLE; i++) sum += counters[i];
  check_bits(index, sum, counters[UFP4_COUNTER_CYCLES], "sum of the cycle classes");
}

ufp4_descriptor_t stand_fence(uint32_t job) {
  return (ufp4_descriptor_t){.header = {.opcode = UFP4_OPCODE_FENCE, .flags = 1, .job = job}};
}
