// SPDX-License-Identifier: Apache-2.0
// Tests that the timed model has the RTL's cycles exactly, for each job, counter and list.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alone.h"
#include "base/configuration.h"
#include "jobs.h"

// How much to compare of a configuration.
typedef struct {
  const char *configuration;
  unsigned memories, jobs, lists;  // jobs and lists with each memory
  uint32_t limit;                  // limit of sizes
  int banks;                       // use memories with banks
  unsigned steps;                  // training steps with each memory
} amount_t;

static const twin_memory_t memories[] = {{100, 0, 0, NULL}, {0, 0, 0, NULL},   {20, 7, 0, NULL},
                                         {3, 0, 1, NULL},   {800, 0, 0, NULL}, {50, 3, 2, NULL},
                                         {1, 13, 0, NULL},  {7, 0, 3, NULL},   {200, 5, 0, NULL},
                                         {33, 33, 4, NULL}, {400, 9, 0, NULL}, {11, 0, 5, NULL}};
static const twin_memory_t banks[] = {
    {20, 0, 0, "lpddr5"}, {0, 0, 0, "hbm3"}, {1, 13, 7, "lpddr5"}, {100, 30, 2, "hbm3"}};

static void compare(amount_t amount) {
  unsigned total = 0, ran = 0, lists = 0;
  check_random_t seeds = check_random();
  for (unsigned i = 0; i < amount.memories; i++) {
    const twin_memory_t memory = amount.banks
                                     ? banks[i % (sizeof banks / sizeof banks[0])]
                                     : memories[i % (sizeof memories / sizeof memories[0])];
    twin_t *twin = twin_open(amount.configuration, memory, 0);
    twin->random.state = check_next(&seeds);
    for (unsigned j = 0; j < amount.jobs; j++) {
      twin_job_t job = timing_job(twin, amount.limit);
      twin_run(twin, &job, 1);
    }
    for (unsigned j = 0; j < amount.lists; j++) {
      twin_job_t jobs[16];
      twin_run(twin, jobs, timing_list(twin, amount.limit, jobs));
      lists++;
    }
    for (unsigned j = 0; j < amount.steps; j++) {
      twin_job_t jobs[16];
      twin_run(twin, jobs, timing_step(twin, amount.limit, jobs));
      lists++;
    }
    total += twin->jobs;
    ran += twin->ran;
    check_that(i, twin->differences == 0, "%u differences with memory %u", twin->differences, i);
    twin_close(twin);
  }
  printf("%s: %u jobs, of which %u ran on an engine, in %u lists\n", amount.configuration, total,
         ran, amount.memories * amount.jobs + lists);
}

SLOW_TEST(equals_small) {
  compare((amount_t){"small", 12, 10, 2, 70, 0, 0});
}

TEST(equals_small_fp32) {
  compare((amount_t){"small-fp32", 12, 6, 1, 70, 0, 0});
}

TEST(equals_small_nv) {
  compare((amount_t){"small-nv", 12, 6, 1, 70, 0, 0});
}

/** Each address matters, because it determines the bank and whether its row is open. */
TEST(equals_small_with_banks) {
  compare((amount_t){"small", 4, 10, 2, 70, 1, 0});
}

SLOW_TEST(equals_default_with_banks) {
  compare((amount_t){"default", 4, 12, 3, 300, 1, 0});
}

SLOW_TEST(equals_default) {
  compare((amount_t){"default", 12, 10, 2, 300, 0, 0});
}

// Several times the amount, for the configurations that every build simulates.
FULL_TEST(equals_all) {
  compare((amount_t){"small", 12, 80, 10, 100, 0, 0});
  compare((amount_t){"small-fp32", 12, 40, 5, 100, 0, 0});
  compare((amount_t){"small-nv", 12, 40, 5, 100, 0, 0});
  compare((amount_t){"default", 12, 80, 10, 400, 0, 0});
  compare((amount_t){"small", 4, 80, 10, 100, 1, 0});
  compare((amount_t){"default", 4, 40, 10, 400, 1, 0});
}

// The jobs have sizes at which most cycles are skipped.
FULL_TEST(equals_long_jobs) {
  compare((amount_t){"default", 12, 4, 0, 1200, 0, 0});
  compare((amount_t){"small", 12, 4, 0, 400, 0, 0});
}

// This compares a configuration that not every build simulates, or sizes for which the RTL is too
// slow (CMakeLists.txt names them).
FULL_TEST(equals_configuration) {
  const char *configuration = getenv("UFP4_TEST_CONFIGURATION"), *size = getenv("UFP4_TEST_SIZE");
  if (configuration == NULL) configuration = "small";
  uint32_t limit = strcmp(configuration, "large") == 0 ? 300 : 80;
  if (size != NULL) limit = (uint32_t)atoi(size);
  compare((amount_t){configuration, 12, 20, 4, limit, 0, 0});
  compare((amount_t){configuration, 4, 10, 2, limit, 1, 0});
}

// This compares a configuration that is made of parameters (sizes.py builds its RTL).
FULL_TEST(equals_made_configuration) {
  const char *configuration = getenv("UFP4_TEST_CONFIGURATION");
  if (configuration == NULL) configuration = "small";
  compare((amount_t){configuration, 8, 4, 1, 90, 0, 1});
  compare((amount_t){configuration, 2, 4, 1, 60, 1, 1});
}

// Checks that skipping changes nothing, for at most so many macro-tiles per side and chunks of k,
// on any memory.
static void skips_change_nothing_within(const char *configuration, unsigned runs, uint32_t tiles,
                                        uint32_t chunks) {
  twin_t twin = {.random = check_random()};
  twin_configure(&twin, configuration);
  for (unsigned i = 0; i < runs; i++) {
    twin_job_t jobs[3];
    const twin_memory_t memory = {check_below(&twin.random, 300), check_below(&twin.random, 70), 0,
                                  NULL};
    const uint32_t side = twin.configuration.rows * twin.configuration.tile_rows;
    for (unsigned j = 0; j < 3; j++) {
      const uint32_t k = 1 + check_below(&twin.random, chunks * 16 * twin.configuration.chunk);
      jobs[j] = timing_gemm(&twin, 1 + check_below(&twin.random, tiles * side),
                            1 + check_below(&twin.random, tiles * side), k);
    }
    if (twin.configuration.quant != 0) {
      jobs[1] = timing_quant(&twin, 1 + check_below(&twin.random, 2000),
                             1 + check_below(&twin.random, 700), (int)check_below(&twin.random, 2));
    }
    for (unsigned j = 0; j < 3; j++) {
      jobs[j].header.flags = check_below(&twin.random, 4) != 0 ? 2 : 0;
    }
    if (jobs[1].header.opcode == UFP4_OPCODE_QUANT)
      jobs[2].header.panels = (uint8_t)check_below(&twin.random, 2);
    const alone_t want = alone_run(configuration, memory, jobs, 3, 1);
    const alone_t got = alone_run(configuration, memory, jobs, 3, 0);
    check_bits(i, got.cycles, want.cycles, "cycles of three jobs on %s", configuration);
    for (unsigned c = 0; c < UFP4_COUNTER_COUNT; c++)
      check_bits(i, got.counters[c], want.counters[c], "counter %u on %s", c, configuration);
  }
}

static void skips_change_nothing_of(const char *configuration, unsigned runs) {
  skips_change_nothing_within(configuration, runs, 12, 15);
}

SLOW_TEST(skips_change_nothing) {
  skips_change_nothing_of("small", (unsigned)check_draws(4, 12));
  skips_change_nothing_of("tiny-quant", (unsigned)check_draws(2, 4));
  for (int i = 0; i < 3; i++) {
    static const char *const large[] = {"default", "default-nv", "large"};
    skips_change_nothing_of(large[i], (unsigned)check_draws(1, 3));
  }
}

// Draws a legal configuration of any size.
static void draw_configuration(check_random_t *random, char name[UFP4_CONFIGURATION_NAME]) {
  static const char *const contracts[] = UFP4_CONTRACT_NAMES, *const targets[] = UFP4_TARGET_NAMES;
  static const uint32_t quants[] = {0, 2, 16, 64};
  ufp4_configuration_t made;
  char text[160];
  do {
    const uint32_t rows = 1 + check_below(random, 32), cols = 1 + check_below(random, 32);
    snprintf(text, sizeof text,
             "rows=%u:cols=%u:tile_rows=%u:tile_cols=%u:chunk=%u:bus=%u:quant=%u:lanes=%u:"
             "contract=%s:target=%s:mixed=%u",
             rows, cols, 2 + check_below(random, 15), 2 + check_below(random, 15),
             8u << check_below(random, 5), 8u << check_below(random, 5),
             quants[check_below(random, 4)], 4u << check_below(random, 3),
             contracts[check_below(random, 3)], targets[check_below(random, 3)],
             check_below(random, 4) == 0);
  } while (configuration_find(text, &made, NULL, NULL) != UFP4_OK);
  snprintf(name, UFP4_CONFIGURATION_NAME, "%s", made.name);
}

SLOW_TEST(skips_change_nothing_of_any_size) {
  check_random_t random = check_random();
  for (unsigned i = 0; i < 12; i++) {
    char name[UFP4_CONFIGURATION_NAME];
    draw_configuration(&random, name);
    skips_change_nothing_within(name, 2, 3, 6);
  }
}

FULL_TEST(skips_change_nothing_of_many_sizes) {
  check_random_t random = {check_stream(7)};
  for (unsigned i = 0; i < 200; i++) {
    char name[UFP4_CONFIGURATION_NAME];
    draw_configuration(&random, name);
    skips_change_nothing_within(name, 2, 4, 8);
  }
}

FULL_TEST(skips_change_nothing_in_many) {
  static const ufp4_configuration_t configurations[] = UFP4_CONFIGURATIONS;
  for (unsigned i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    skips_change_nothing_of(configurations[i].name, configurations[i].rows > 2 ? 10 : 40);
  }
}

// Rows whose length is not a power of two each lie differently in their pages, and most of their
// cycles must still be skipped, because stepped cycles take time.
TEST(odd_sizes_skip_as_many_cycles) {
  static const uint32_t sizes[][3] = {
      {768, 2304, 1025}, {1025, 768, 2305}, {2305, 769, 1025}, {2304, 768, 1031}};
  const twin_memory_t memory = {.latency = 100};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const uint32_t *size = sizes[i];
    ufp4_gemm_descriptor_t gemm = {
        .opcode = UFP4_OPCODE_GEMM, .m = size[0], .n = size[1], .k = size[2]};
    gemm.a_codes_addr = TWIN_BASE + (1ull << 30);
    gemm.a_scales_addr = gemm.a_codes_addr + (1ull << 30);
    gemm.b_codes_addr = gemm.a_scales_addr + (1ull << 30);
    gemm.b_scales_addr = gemm.b_codes_addr + (1ull << 30);
    gemm.d_addr = gemm.b_scales_addr + (1ull << 30);
    gemm.a_stride_blocks = gemm.b_stride_blocks = (gemm.k + 127) / 128 * 8;
    gemm.d_stride_bytes = (4 * gemm.n + 127) / 128 * 128;
    const alone_t alone = alone_run("small", memory, &(twin_job_t){.gemm = gemm}, 1, 0);
    check_that(i, alone.stepped < alone.cycles / 50, "%u x %u x %u: %llu of %llu cycles stepped",
               size[0], size[1], size[2], (unsigned long long)alone.stepped,
               (unsigned long long)alone.cycles);
  }
}

// Units that are not in use, such as the narrow QUANT of a wide one or the slots of an epilogue, do
// not prevent skips. Strips repeat at once, and so do the chunks of a GEMM on a slow memory.
TEST(slow_memories_skip_cycles) {
  const uint64_t gib = 1ull << 30;
  const twin_job_t jobs[2] = {{.quant = {.opcode = UFP4_OPCODE_AMAX,
                                         .rows = 1024,
                                         .cols = 768,
                                         .src_dtype = UFP4_DTYPE_BF16,
                                         .src_addr = TWIN_BASE + gib,
                                         .src_stride_bytes = 1536,
                                         .row_mode = UFP4_MODE_ENABLE}},
                              {.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                        .m = 1024,
                                        .n = 1024,
                                        .k = 1024,
                                        .a_codes_addr = TWIN_BASE + gib,
                                        .a_scales_addr = TWIN_BASE + 2 * gib,
                                        .b_codes_addr = TWIN_BASE + 3 * gib,
                                        .b_scales_addr = TWIN_BASE + 4 * gib,
                                        .a_stride_blocks = 64,
                                        .b_stride_blocks = 64,
                                        .d_addr = TWIN_BASE + 5 * gib,
                                        .d_stride_bytes = 4096}}};
  const twin_memory_t memory = {.latency = 100, .bandwidth = 3};
  for (unsigned i = 0; i < 2; i++) {
    const alone_t alone = alone_run("default", memory, &jobs[i], 1, 0);
    const double stepped = 100 * (double)alone.stepped / (double)alone.cycles;
    check_that(i, stepped < 35, "%.0f %% of %llu cycles are stepped", stepped,
               (unsigned long long)alone.cycles);
  }
}

// A constant that is off by one must be noticed.
TEST(sees_a_wrong_latency) {
  twin_t *twin = twin_open("small", memories[0], 1);
  twin_job_t job = timing_gemm(twin, 40, 40, 40);
  printf("differences are expected:\n");
  twin_run(twin, &job, 1);
  check_that(0, twin->differences != 0, "the latency is wrong, and nothing differs");
  twin_close(twin);
}
