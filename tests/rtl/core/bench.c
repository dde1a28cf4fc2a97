// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_CYCLES 1000000u

static bench_t open_with(const ufp4_sim_options_t *options) {
  char message[256] = "";
  bench_t bench = {.sim = ufp4_sim_open(options, message, sizeof message)};
  if (bench.sim == NULL) {
    fprintf(stderr, "bench: %s\n", message);
    exit(1);
  }
  bench_rings(&bench, BENCH_RING, BENCH_COMPLETIONS);
  return bench;
}

bench_t bench_open(const char *configuration, unsigned latency, unsigned bandwidth,
                   uint64_t stall_seed) {
  const ufp4_sim_options_t options = {
      .configuration = configuration,
      .memory_base = BENCH_MEMORY,
      .memory_bytes = BENCH_MEMORY_BYTES,
      .latency_cycles = latency,
      .bandwidth_bytes = bandwidth,
      .stall_seed = check_stall(stall_seed),
  };
  return open_with(&options);
}

bench_t bench_open_everywhere(const char *configuration) {
  const ufp4_sim_options_t options = {
      .configuration = configuration, .memory_bytes = 1ull << UFP4_ADDR_BITS, .latency_cycles = 1};
  return open_with(&options);
}

void bench_close(bench_t *bench) {
  ufp4_sim_close(bench->sim);
}

static void must(bench_t *bench, ufp4_sim_status_t status) {
  if (status == UFP4_SIM_OK) return;
  fprintf(stderr, "bench: %s\n", ufp4_sim_message(bench->sim));
  exit(1);
}

uint32_t bench_read(bench_t *bench, uint32_t offset) {
  uint32_t value = 0;
  must(bench, ufp4_sim_register_read(bench->sim, offset, &value));
  return value;
}

void bench_write(bench_t *bench, uint32_t offset, uint32_t value) {
  must(bench, ufp4_sim_register_write(bench->sim, offset, value));
}

void bench_write_bytes(bench_t *bench, uint32_t offset, uint32_t value, unsigned strobes) {
  must(bench, ufp4_sim_register_write_bytes(bench->sim, offset, value, strobes));
}

void bench_rings(bench_t *bench, uint64_t ring, uint64_t completions) {
  bench->ring = ring;
  bench->completions = completions;
  bench_write(bench, UFP4_REG_RING_BASE_LO, (uint32_t)ring);
  bench_write(bench, UFP4_REG_RING_BASE_HI, (uint32_t)(ring >> 32));
  bench_write(bench, UFP4_REG_RING_LOG2, BENCH_RING_LOG2);
  bench_write(bench, UFP4_REG_COMPLETION_BASE_LO, (uint32_t)completions);
  bench_write(bench, UFP4_REG_COMPLETION_BASE_HI, (uint32_t)(completions >> 32));
  bench_write(bench, UFP4_REG_IRQ_MASK, 3);
}

void bench_put(bench_t *bench, const ufp4_descriptor_t *descriptor) {
  const uint64_t place = bench->ring + bench->tail % (1u << BENCH_RING_LOG2) * sizeof *descriptor;
  void *memory = ufp4_sim_memory(bench->sim, place, sizeof *descriptor);
  if (memory != NULL) memcpy(memory, descriptor, sizeof *descriptor);
  bench->tail++;
}

void bench_start(bench_t *bench) {
  bench_write(bench, UFP4_REG_RING_TAIL, bench->tail);
}

void bench_submit(bench_t *bench, const ufp4_descriptor_t *descriptor) {
  bench_put(bench, descriptor);
  bench_start(bench);
}

int bench_drain(bench_t *bench) {
  for (unsigned cycles = 0; cycles < DRAIN_CYCLES; cycles += 50) {
    if (bench_read(bench, UFP4_REG_RING_HEAD) == bench->tail) return 1;
    must(bench, ufp4_sim_run(bench->sim, 50));
  }
  return 0;
}

ufp4_completion_t bench_completion(bench_t *bench, uint32_t index) {
  const uint64_t place =
      bench->completions + index % (1u << BENCH_RING_LOG2) * sizeof(ufp4_completion_t);
  ufp4_completion_t completion;
  memcpy(&completion, ufp4_sim_memory(bench->sim, place, sizeof completion), sizeof completion);
  return completion;
}

ufp4_completion_t bench_job(bench_t *bench, const ufp4_descriptor_t *descriptor) {
  bench_submit(bench, descriptor);
  check_that(bench->tail, bench_drain(bench), "the job has not ended");
  return bench_completion(bench, bench->tail - 1);
}

void bench_counters(bench_t *bench, uint64_t counters[UFP4_COUNTER_COUNT]) {
  bench_write(bench, UFP4_REG_CONTROL, 1);
  for (unsigned i = 0; i < UFP4_COUNTER_COUNT; i++) {
    const uint64_t low = bench_read(bench, UFP4_REG_COUNTER_BASE + 8 * i);
    counters[i] = low | (uint64_t)bench_read(bench, UFP4_REG_COUNTER_BASE + 8 * i + 4) << 32;
  }
}

void bench_check_sum(int64_t index, const uint64_t counters[UFP4_COUNTER_COUNT]) {
  uint64_t sum = 0;
  for (int i = UFP4_COUNTER_ARRAY_BUSY; i <= UFP4_COUNTER_IDLE; i++) sum += counters[i];
  check_bits(index, sum, counters[UFP4_COUNTER_CYCLES], "sum of the cycle classes");
}

ufp4_descriptor_t bench_fence(uint32_t job) {
  return (ufp4_descriptor_t){.header = {.opcode = UFP4_OPCODE_FENCE, .flags = 1, .job = job}};
}
