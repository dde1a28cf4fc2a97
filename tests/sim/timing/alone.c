// SPDX-License-Identifier: Apache-2.0
#include "alone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT 100000000000ull
#define FLAG_INTERRUPT 1u
#define SNAPSHOT 1u

static int read_memory(void *user, uint64_t address, void *data, uint32_t bytes) {
  memcpy(data, (const uint8_t *)user + (address - TWIN_BASE), bytes);
  return 0;
}

static int write_memory(void *user, uint64_t address, const void *data, uint32_t bytes) {
  (void)user, (void)address, (void)data, (void)bytes;
  return 0;
}

static void must(int ok, const char *message) {
  if (ok) return;
  fprintf(stderr, "the timed model: %s\n", message);
  exit(1);
}

double alone_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t counter(ufp4_timed_t *timed, uint32_t index) {
  uint32_t words[2] = {0, 0};
  for (uint32_t i = 0; i < 2; i++) {
    ufp4_timed_register_read(timed, UFP4_REG_COUNTER_BASE + 8 * index + 4 * i, &words[i]);
  }
  return (uint64_t)words[1] << 32 | words[0];
}

alone_t alone_run(const char *configuration, twin_memory_t memory, const twin_job_t *jobs,
                  unsigned count, int every_cycle) {
  twin_job_t ring[TWIN_RING];
  char message[200] = "";
  const ufp4_timed_host_t host = {
      .user = ring, .memory_read = read_memory, .memory_write = write_memory};
  const ufp4_timed_options_t options = {.configuration = configuration,
                                        .latency_cycles = memory.latency,
                                        .dram = memory.dram,
                                        .bandwidth_bytes = memory.bandwidth,
                                        .stall_seed = check_stall(memory.stall),
                                        .every_cycle = every_cycle};
  memcpy(ring, jobs, count * sizeof *jobs);
  ring[count - 1].header.flags |= FLAG_INTERRUPT;
  ufp4_timed_t *timed = ufp4_timed_open(&options, &host, message, sizeof message);
  must(timed != NULL, message);
  ufp4_timed_register_write(timed, UFP4_REG_RING_BASE_LO, (uint32_t)TWIN_BASE);
  ufp4_timed_register_write(timed, UFP4_REG_RING_LOG2, TWIN_RING_LOG2);
  ufp4_timed_register_write(timed, UFP4_REG_IRQ_MASK, 1);
  const double start = alone_seconds();
  ufp4_timed_register_write(timed, UFP4_REG_RING_TAIL, count);
  must(ufp4_timed_wait_interrupt(timed, LIMIT) == UFP4_TIMED_OK, ufp4_timed_message(timed));
  alone_t alone = {.seconds = alone_seconds() - start,
                   .cycles = ufp4_timed_cycles(timed),
                   .stepped = ufp4_timed_stepped(timed)};
  ufp4_timed_register_write(timed, UFP4_REG_CONTROL, SNAPSHOT);
  for (uint32_t i = 0; i < UFP4_COUNTER_COUNT; i++) alone.counters[i] = counter(timed, i);
  ufp4_timed_close(timed);
  return alone;
}
