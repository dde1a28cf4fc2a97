// SPDX-License-Identifier: Apache-2.0
// Tests that the RTL and the timed model give the same time line, event by event, and that it
// agrees with the counters.
#include <stdio.h>
#include <stdlib.h>

#include "jobs.h"

enum { EVENTS = 1u << 20 };

static const twin_memory_t memories[] = {{100, 0, 0, NULL}, {0, 0, 0, NULL},     {20, 7, 0, NULL},
                                         {3, 0, 1, NULL},   {50, 3, 2, NULL},    {1, 13, 0, NULL},
                                         {33, 33, 4, NULL}, {30, 0, 0, "lpddr5"}};

// Returns the cycles of a time line that a counter also counts.
static uint64_t cycles_at(const twin_line_t *line, ufp4_track_t track, ufp4_at_t what) {
  uint64_t cycles = 0;
  for (unsigned i = 0; i < line->count; i++) {
    const ufp4_timeline_event_t *event = &line->events[i];
    if (event->track == track && event->at == what) cycles += event->end - event->begin;
  }
  return cycles;
}

static void has_the_counters(twin_t *twin) {
  static const struct {
    ufp4_at_t at;
    unsigned counter;
  } same[] = {{UFP4_AT_BUSY, UFP4_COUNTER_ARRAY_BUSY},
              {UFP4_AT_STALL_OPERAND, UFP4_COUNTER_STALL_OPERAND},
              {UFP4_AT_STALL_PANEL, UFP4_COUNTER_STALL_PANEL},
              {UFP4_AT_STALL_ACCUMULATOR, UFP4_COUNTER_STALL_ACCUMULATOR},
              {UFP4_AT_STALL_DRAIN, UFP4_COUNTER_STALL_DRAIN}};
  for (int i = 0; i < (int)(sizeof same / sizeof same[0]); i++) {
    uint32_t counted = 0;
    (void)ufp4_timed_register_read(twin->timed, UFP4_REG_COUNTER_BASE + 8 * same[i].counter,
                                   &counted);
    check_bits(i, cycles_at(&twin->timed_line, UFP4_TRACK_ARRAY, same[i].at), counted,
               "cycles of counter %u", same[i].counter);
  }
}

// Checks that the events of a track do not overlap, and that equal events are not adjacent.
static void is_in_order(const twin_line_t *line) {
  for (unsigned track = 0; track < UFP4_TRACK_COUNT; track++) {
    const ufp4_timeline_event_t *last = NULL;
    for (unsigned i = 0; i < line->count; i++) {
      const ufp4_timeline_event_t *event = &line->events[i];
      if (event->track != track) continue;
      check_that(i, event->begin < event->end && (last == NULL || last->end <= event->begin),
                 "event %u of track %u overlaps", i, track);
      check_that(i,
                 last == NULL || last->end < event->begin || last->at != event->at ||
                     last->job != event->job,
                 "event %u of track %u goes on with the one before", i, track);
      last = event;
    }
  }
}

static void compare(const char *configuration, unsigned lists, uint32_t limit) {
  unsigned events = 0, jobs = 0;
  check_random_t seeds = check_random();
  for (unsigned i = 0; i < sizeof memories / sizeof memories[0]; i++) {
    twin_t *twin = twin_open_lined(configuration, memories[i], EVENTS);
    twin->random.state = check_next(&seeds);
    for (unsigned j = 0; j < lists; j++) {
      twin_job_t list[16];
      twin_run(twin, list, timing_list(twin, limit, list));
    }
    has_the_counters(twin);
    twin_same_lines(twin);
    is_in_order(&twin->timed_line);
    check_that(i, twin->differences == 0, "%u differences with memory %u", twin->differences, i);
    events += twin->timed_line.count;
    jobs += twin->jobs;
    twin_close(twin);
  }
  printf("%s: %u events of %u jobs\n", configuration, events, jobs);
}

TEST(equals_small) {
  compare("small", 2, 60);
}

TEST(equals_small_fp32) {
  compare("small-fp32", 1, 60);
}

TEST(equals_small_nv) {
  compare("small-nv", 1, 60);
}

SLOW_TEST(equals_default) {
  compare("default", 2, 250);
}

FULL_TEST(equals_all) {
  compare("small", 12, 100);
  compare("small-fp32", 8, 100);
  compare("small-nv", 8, 100);
  compare("default", 8, 400);
}

// This compares a configuration that not every build simulates (CMakeLists.txt names it).
FULL_TEST(equals_configuration) {
  const char *configuration = getenv("UFP4_TEST_CONFIGURATION");
  compare(configuration != NULL ? configuration : "small", 2, 80);
}

// A sink that is full still gets the events under way.
TEST(ends_where_the_sink_does) {
  twin_t *twin = twin_open_lined("small", memories[0], 100);
  twin_job_t job = timing_gemm(twin, 60, 60, 60);
  twin_run(twin, &job, 1);
  twin_same_lines(twin);
  check_that(0, twin->timed_line.count >= 100 && twin->timed_line.count < 100 + UFP4_TRACK_COUNT,
             "%u events", twin->timed_line.count);
  check_that(1, twin->differences == 0, "%u differences", twin->differences);
  twin_close(twin);
}

TEST(ends_what_a_reset_ends) {
  unsigned ended = 0;
  twin_t *twin = twin_open_lined("small", memories[0], EVENTS);
  twin_job_t job = timing_gemm(twin, 60, 60, 60);
  twin_give(twin, &job, 1);
  twin_cycles(twin, 1500);
  const uint64_t at = ufp4_timed_cycles(twin->timed);
  twin_reset(twin);
  twin_run(twin, &job, 1);
  twin_same_lines(twin);
  for (unsigned i = 0; i < twin->timed_line.count; i++) {
    const ufp4_timeline_event_t *event = &twin->timed_line.events[i];
    check_that(i, event->begin >= at || event->end <= at, "event %u goes on through the reset", i);
    ended += event->end == at;
  }
  check_that(0, ended > 0, "nothing was under way");
  check_that(1, twin->differences == 0, "%u differences", twin->differences);
  twin_close(twin);
}
