// SPDX-License-Identifier: Apache-2.0
#include "twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/configuration.h"

#define COMPLETIONS (TWIN_BASE + TWIN_RING * UFP4_DESCRIPTOR_BYTES)
#define LIMIT 200000000ull
#define FLAG_INTERRUPT 1u
#define SNAPSHOT 1u

// Ends the program on a call that failed, because nothing is left to compare.
static void must(int ok, const char *what, const char *message) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, message);
  exit(1);
}

static void sim_must(twin_t *twin, ufp4_sim_status_t status) {
  must(status == UFP4_SIM_OK, "the core", ufp4_sim_message(twin->sim));
}

static void timed_must(twin_t *twin, ufp4_timed_status_t status) {
  must(status == UFP4_TIMED_OK, "the timed model", ufp4_timed_message(twin->timed));
}

static int read_memory(void *user, uint64_t address, void *data, uint32_t bytes) {
  twin_t *twin = user;
  const uint8_t *from = ufp4_sim_memory(twin->sim, address, bytes);
  if (from) memcpy(data, from, bytes);
  return from == NULL;
}

static int write_memory(void *user, uint64_t address, const void *data, uint32_t bytes) {
  twin_t *twin = user;
  memcpy(&twin->completions[(address - COMPLETIONS) / sizeof twin->completions[0]], data, bytes);
  return 0;
}

void twin_write(twin_t *twin, uint32_t offset, uint32_t value) {
  sim_must(twin, ufp4_sim_register_write(twin->sim, offset, value));
  timed_must(twin, ufp4_timed_register_write(twin->timed, offset, value));
}

static void same(twin_t *twin, uint64_t timed, uint64_t sim, const char *what, unsigned index) {
  if (timed == sim) return;
  if (twin->differences++ < 5) {
    printf("after %u jobs, %s %u: %llu in the timed model, %llu in the RTL\n", twin->jobs, what,
           index, (unsigned long long)timed, (unsigned long long)sim);
  }
}

void twin_same_register(twin_t *twin, uint32_t offset, const char *what, unsigned index) {
  uint32_t sim = 0, timed = 0;
  sim_must(twin, ufp4_sim_register_read(twin->sim, offset, &sim));
  timed_must(twin, ufp4_timed_register_read(twin->timed, offset, &timed));
  same(twin, timed, sim, what, index);
}

static void set_up(twin_t *twin) {
  twin_write(twin, UFP4_REG_RING_BASE_LO, (uint32_t)TWIN_BASE);
  twin_write(twin, UFP4_REG_RING_BASE_HI, (uint32_t)(TWIN_BASE >> 32));
  twin_write(twin, UFP4_REG_RING_LOG2, TWIN_RING_LOG2);
  twin_write(twin, UFP4_REG_COMPLETION_BASE_LO, (uint32_t)COMPLETIONS);
  twin_write(twin, UFP4_REG_COMPLETION_BASE_HI, (uint32_t)(COMPLETIONS >> 32));
  twin_write(twin, UFP4_REG_IRQ_MASK, 1);
  for (uint32_t offset = UFP4_REG_ID; offset < UFP4_REG_COUNTER_BASE; offset += 4) {
    twin_same_register(twin, offset, "register", offset);
  }
}

void twin_reset(twin_t *twin) {
  sim_must(twin, ufp4_sim_reset(twin->sim));
  timed_must(twin, ufp4_timed_reset(twin->timed));
  twin->tail = 0;
  set_up(twin);
}

void twin_cycles(twin_t *twin, uint64_t cycles) {
  sim_must(twin, ufp4_sim_run(twin->sim, cycles));
  timed_must(twin, ufp4_timed_run(twin->timed, cycles));
}

void twin_configure(twin_t *twin, const char *name) {
  ufp4_message_t why = {0};
  must(configuration_find(name, &twin->configuration, NULL, &why) == UFP4_OK, "twin", why.text);
}

// --- Time lines ---------------------------------------------------------------------------------

static int take_event(void *user, const ufp4_timeline_event_t *event) {
  twin_line_t *line = user;
  line->events = realloc(line->events, (line->count + 1) * sizeof *event);
  must(line->events != NULL, "a time line", "no host memory");
  line->events[line->count++] = *event;
  return line->count >= line->limit;
}

static void print_event(const char *name, const ufp4_timeline_event_t *event) {
  static const char *const tracks[] = UFP4_TRACK_NAMES, *const names[] = UFP4_AT_NAMES;
  printf("  %s: %s, %s, cycles %llu to %llu, job %u\n", name, tracks[event->track],
         names[event->at], (unsigned long long)event->begin, (unsigned long long)event->end,
         event->job);
}

void twin_same_lines(twin_t *twin) {
  const twin_line_t *timed = &twin->timed_line, *sim = &twin->sim_line;
  ufp4_sim_timeline_end(twin->sim);
  ufp4_timed_timeline_end(twin->timed);
  same(twin, timed->count, sim->count, "events of time line", 0);
  for (unsigned i = 0; i < timed->count && i < sim->count; i++) {
    const ufp4_timeline_event_t *a = &timed->events[i], *b = &sim->events[i];
    if (a->begin == b->begin && a->end == b->end && a->job == b->job && a->track == b->track &&
        a->at == b->at)
      continue;
    if (twin->differences++ >= 5) continue;
    printf("event %u:\n", i);
    print_event("timed model", a);
    print_event("RTL", b);
  }
}

// --- Both ---------------------------------------------------------------------------------------

static twin_t *open_both(const char *configuration, twin_memory_t memory, unsigned wrong,
                         unsigned events, const char *trace) {
  char message[200] = "no host memory";
  twin_t *twin = calloc(1, sizeof *twin);
  must(twin != NULL, "twin_open", message);
  twin->sim_line.limit = twin->timed_line.limit = events;
  const ufp4_timeline_sink_t sim_sink = {&twin->sim_line, take_event};
  const ufp4_timeline_sink_t timed_sink = {&twin->timed_line, take_event};
  const ufp4_sim_options_t sim = {.configuration = configuration,
                                  .memory_base = TWIN_BASE,
                                  .memory_bytes = TWIN_PLACE_BYTES * (TWIN_PLACES + 1),
                                  .latency_cycles = memory.latency,
                                  .bandwidth_bytes = memory.bandwidth,
                                  .stall_seed = check_stall(memory.stall),
                                  .dram = memory.dram,
                                  .trace_path = trace,
                                  .timeline = events != 0 ? &sim_sink : NULL};
  const ufp4_timed_options_t timed = {.configuration = configuration,
                                      .latency_cycles = memory.latency + wrong,
                                      .bandwidth_bytes = memory.bandwidth,
                                      .stall_seed = check_stall(memory.stall),
                                      .dram = memory.dram,
                                      .timeline = events != 0 ? &timed_sink : NULL};
  const ufp4_timed_host_t host = {
      .user = twin, .memory_read = read_memory, .memory_write = write_memory};
  twin->sim = ufp4_sim_open(&sim, message, sizeof message);
  must(twin->sim != NULL, "the core", message);
  twin->timed = ufp4_timed_open(&timed, &host, message, sizeof message);
  must(twin->timed != NULL, "the timed model", message);
  twin->random = check_random();
  twin_configure(twin, configuration);
  set_up(twin);
  return twin;
}

twin_t *twin_open(const char *configuration, twin_memory_t memory, unsigned wrong) {
  return open_both(configuration, memory, wrong, 0, NULL);
}

twin_t *twin_open_lined(const char *configuration, twin_memory_t memory, unsigned events) {
  return open_both(configuration, memory, 0, events, NULL);
}

twin_t *twin_open_traced(const char *configuration, twin_memory_t memory, const char *path) {
  return open_both(configuration, memory, 0, 0, path);
}

void twin_close(twin_t *twin) {
  ufp4_sim_close(twin->sim);
  ufp4_timed_close(twin->timed);
  free(twin->sim_line.events);
  free(twin->timed_line.events);
  free(twin);
}

static void compare(twin_t *twin, const twin_job_t *jobs, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    const uint32_t at = (twin->tail - count + i) % TWIN_RING;
    const ufp4_completion_t *timed = &twin->completions[at];
    ufp4_completion_t sim;
    memcpy(&sim, ufp4_sim_memory(twin->sim, COMPLETIONS + at * sizeof sim, sizeof sim), sizeof sim);
    same(twin, timed->job, sim.job, "job number of job", i);
    same(twin, timed->status, sim.status, "status of job", i);
    same(twin, timed->cycles, sim.cycles, "cycles of opcode", jobs[i].header.opcode);
    twin->jobs++;
    twin->ran += sim.cycles != 0;
  }
  same(twin, ufp4_timed_cycles(twin->timed), ufp4_sim_cycles(twin->sim), "cycles of a list of",
       count);
  twin_write(twin, UFP4_REG_CONTROL, SNAPSHOT);
  for (uint32_t i = 0; i < 2 * UFP4_COUNTER_COUNT; i++) {
    twin_same_register(twin, UFP4_REG_COUNTER_BASE + 4 * i, "word of the counters", i);
  }
}

void twin_give(twin_t *twin, twin_job_t *jobs, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    jobs[i].header.job = twin->tail + i;
    if (i == count - 1) jobs[i].header.flags |= FLAG_INTERRUPT;
    const uint64_t address =
        TWIN_BASE + (twin->tail + i) % TWIN_RING * (uint64_t)UFP4_DESCRIPTOR_BYTES;
    memcpy(ufp4_sim_memory(twin->sim, address, sizeof jobs[i]), &jobs[i], sizeof jobs[i]);
  }
  twin->tail += count;
  twin_write(twin, UFP4_REG_RING_TAIL, twin->tail);
}

void twin_finish(twin_t *twin, const twin_job_t *jobs, unsigned count) {
  sim_must(twin, ufp4_sim_wait_interrupt(twin->sim, LIMIT));
  timed_must(twin, ufp4_timed_wait_interrupt(twin->timed, LIMIT));
  twin_write(twin, UFP4_REG_IRQ_STATUS, 7);
  compare(twin, jobs, count);
}

void twin_run(twin_t *twin, twin_job_t *jobs, unsigned count) {
  twin_give(twin, jobs, count);
  twin_finish(twin, jobs, count);
}
