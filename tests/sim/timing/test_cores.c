// SPDX-License-Identifier: Apache-2.0
// Tests that several timed cores on one memory skip cycles together without changing results.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"

#define CORES 4u
#define JOBS 2u
#define LIMIT 100000000000ull

// One core and its rings.
typedef struct {
  ufp4_timed_t *timed;
  twin_job_t ring[TWIN_RING];
  ufp4_completion_t done[TWIN_RING];
} core_t;

// The observed times and counters of one core.
typedef struct {
  uint64_t jobs[JOBS], counters[UFP4_COUNTER_COUNT], cycles, stepped;
} seen_t;

// The load of a run: the jobs of each core.
typedef struct {
  const char *configuration;
  unsigned cores, latency, bandwidth;
  twin_job_t jobs[CORES][JOBS];
} load_t;

static const uint64_t completions = TWIN_BASE + TWIN_RING * UFP4_DESCRIPTOR_BYTES;

static int read_memory(void *user, uint64_t address, void *data, uint32_t bytes) {
  memcpy(data, (const uint8_t *)((core_t *)user)->ring + (address - TWIN_BASE), bytes);
  return 0;
}

static int write_memory(void *user, uint64_t address, const void *data, uint32_t bytes) {
  memcpy((uint8_t *)((core_t *)user)->done + (address - completions), data, bytes);
  return 0;
}

static void must(int ok, const char *message) {
  if (ok) return;
  fprintf(stderr, "the timed model: %s\n", message);
  exit(1);
}

static void open_core(core_t *core, const load_t *load, ufp4_timed_bus_t *bus, int every_cycle) {
  char message[200] = "";
  const ufp4_timed_host_t host = {
      .user = core, .memory_read = read_memory, .memory_write = write_memory};
  const ufp4_timed_options_t options = {
      .configuration = load->configuration, .every_cycle = every_cycle, .bus = bus};
  core->timed = ufp4_timed_open(&options, &host, message, sizeof message);
  must(core->timed != NULL, message);
  ufp4_timed_register_write(core->timed, UFP4_REG_RING_BASE_LO, (uint32_t)TWIN_BASE);
  ufp4_timed_register_write(core->timed, UFP4_REG_RING_LOG2, TWIN_RING_LOG2);
  ufp4_timed_register_write(core->timed, UFP4_REG_COMPLETION_BASE_LO, (uint32_t)completions);
  ufp4_timed_register_write(core->timed, UFP4_REG_IRQ_MASK, 1);
}

static void look(core_t *core, seen_t *seen) {
  for (unsigned i = 0; i < JOBS; i++) seen->jobs[i] = core->done[i].cycles;
  ufp4_timed_register_write(core->timed, UFP4_REG_CONTROL, 1);
  for (uint32_t i = 0; i < UFP4_COUNTER_COUNT; i++) {
    uint32_t words[2] = {0, 0};
    for (uint32_t w = 0; w < 2; w++)
      ufp4_timed_register_read(core->timed, UFP4_REG_COUNTER_BASE + 8 * i + 4 * w, &words[w]);
    seen->counters[i] = (uint64_t)words[1] << 32 | words[0];
  }
  seen->cycles = ufp4_timed_cycles(core->timed);
  seen->stepped = ufp4_timed_stepped(core->timed);
}

static void run(const load_t *load, int every_cycle, seen_t seen[CORES]) {
  core_t *cores = calloc(CORES, sizeof *cores);
  ufp4_timed_bus_t *bus = ufp4_timed_bus_open(load->latency, load->bandwidth, NULL, 0);
  must(cores != NULL && bus != NULL, "no memory");
  for (unsigned i = 0; i < load->cores; i++) open_core(&cores[i], load, bus, every_cycle);
  for (unsigned i = 0; i < load->cores; i++) {
    memcpy(cores[i].ring, load->jobs[i], sizeof load->jobs[i]);
    cores[i].ring[JOBS - 1].header.flags |= 1;
    ufp4_timed_register_write(cores[i].timed, UFP4_REG_RING_TAIL, JOBS);
  }
  for (unsigned i = load->cores; i-- > 0;) {
    must(ufp4_timed_wait_interrupt(cores[i].timed, LIMIT) == UFP4_TIMED_OK,
         ufp4_timed_message(cores[i].timed));
    look(&cores[i], &seen[i]);
  }
  for (unsigned i = 0; i < load->cores; i++) ufp4_timed_close(cores[i].timed);
  ufp4_timed_bus_close(bus);
  free(cores);
}

// Runs a load with and without skipping and compares. @return the share of cycles that were stepped
// with skipping.
static double compare(unsigned index, const load_t *load) {
  seen_t want[CORES] = {0}, got[CORES] = {0};
  double stepped = 0, cycles = 0;
  run(load, 1, want);
  run(load, 0, got);
  for (unsigned i = 0; i < load->cores; i++) {
    check_bits(index, want[i].stepped + 8, want[i].cycles, "every cycle is stepped, but a reset's");
    check_bits(index, got[i].cycles, want[i].cycles, "cycles of core %u of %u", i, load->cores);
    for (unsigned j = 0; j < JOBS; j++)
      check_bits(index, got[i].jobs[j], want[i].jobs[j], "its job %u", j);
    for (unsigned c = 0; c < UFP4_COUNTER_COUNT; c++)
      check_bits(index, got[i].counters[c], want[i].counters[c], "its counter %u", c);
    stepped += (double)got[i].stepped;
    cycles += (double)got[i].cycles;
  }
  return stepped / cycles;
}

// --- Loads --------------------------------------------------------------------------------------

// Returns a number from half of @p most to all of it.
static uint32_t about(twin_t *twin, uint32_t most) {
  return most - check_below(&twin->random, most / 2 + 1);
}

// Draws a GEMM of at most so many macro-tiles per side and chunks of k.
static twin_job_t draw_gemm(twin_t *twin, uint32_t tiles, uint32_t chunks) {
  const ufp4_configuration_t *core = &twin->configuration;
  return timing_gemm(twin, about(twin, core->rows * core->tile_rows * tiles),
                     about(twin, core->cols * core->tile_cols * tiles),
                     about(twin, chunks * 16 * core->chunk));
}

// Draws separate jobs for each core; some overlap.
static void draw_jobs(twin_t *twin, load_t *load, uint32_t tiles, uint32_t chunks) {
  for (unsigned i = 0; i < load->cores; i++) {
    for (unsigned j = 0; j < JOBS; j++) {
      load->jobs[i][j] = draw_gemm(twin, tiles, chunks);
      if (twin->configuration.quant != 0 && check_below(&twin->random, 3) == 0) {
        load->jobs[i][j] =
            timing_quant(twin, 1 + check_below(&twin->random, 600),
                         1 + check_below(&twin->random, 300), (int)check_below(&twin->random, 2));
      }
      load->jobs[i][j].header.flags = check_below(&twin->random, 4) != 0 ? 2 : 0;
    }
  }
}

// Aligns operands and D so that all rows lie alike in their pages.
static void align_rows(ufp4_gemm_descriptor_t *gemm) {
  const uint32_t one = 16;
  for (gemm->a_stride_blocks = 8; gemm->a_stride_blocks * one < gemm->k;)
    gemm->a_stride_blocks *= 2;
  gemm->b_stride_blocks = gemm->a_stride_blocks;
  gemm->d_mode = gemm->d_dtype = 0;
  gemm->d_stride_bytes = 4096;
}

// Draws nearly equal parts of one GEMM, as explore makes them.
static void draw_parts(twin_t *twin, load_t *load, uint32_t tiles, uint32_t chunks) {
  const uint32_t m = twin->configuration.rows * twin->configuration.tile_rows;
  for (unsigned j = 0; j < JOBS; j++) {
    twin_job_t whole = draw_gemm(twin, tiles, chunks);
    align_rows(&whole.gemm);
    for (unsigned i = 0; i < load->cores; i++) {
      load->jobs[i][j] = whole;
      load->jobs[i][j].gemm.m = i % 2 ? whole.gemm.m : tiles * m;
      load->jobs[i][j].gemm.d_addr += (uint64_t)i * TWIN_PLACE_BYTES;
    }
  }
}

static void compare_on(const char *configuration, int runs, uint32_t tiles, uint32_t chunks) {
  twin_t twin = {.random = check_random()};
  double stepped = 0;
  twin_configure(&twin, configuration);
  for (unsigned i = 0; i < (unsigned)runs; i++) {
    const uint32_t bus = twin.configuration.bus_bytes;
    load_t load = {.configuration = configuration,
                   .cores = 1 + (i + 1) % CORES,
                   .latency = check_below(&twin.random, 200),
                   .bandwidth = 1 + check_below(&twin.random, 3 * bus)};
    if (i % 2) {
      draw_jobs(&twin, &load, tiles, chunks);
    } else {
      draw_parts(&twin, &load, tiles, chunks);
    }
    stepped += compare(i, &load);
  }
  printf("%s: %.0f %% of the cycles were stepped\n", configuration, 100 * stepped / runs);
}

TEST(skips_of_several_cores_change_nothing) {
  compare_on("small", 8, 10, 5);
}

SLOW_TEST(skips_of_several_cores_change_nothing_of_many) {
  compare_on("small", check_draws(6, 24), 8, 6);
  compare_on("tiny-quant", check_draws(2, 8), 8, 6);
  compare_on("default", check_draws(2, 8), 3, 4);
  compare_on("large", check_draws(1, 4), 2, 3);
}

// The chunks are so short that loops end within a stretch.
SLOW_TEST(skips_of_small_chunks_change_nothing) {
  compare_on("rows=8:cols=8:tile_rows=2:tile_cols=2:chunk=8:bus=64:quant=0", check_draws(2, 8), 20,
             12);
  compare_on("rows=16:cols=8:tile_rows=2:tile_cols=2:chunk=8:bus=128:quant=0", check_draws(2, 8),
             14, 12);
}

// Draws jobs for a narrow memory, on which writes of rows of D with several lengths queue, because
// the edge or pages cut macro-tiles. Some cores get the same jobs.
static void draw_edges(twin_t *twin, load_t *load) {
  const ufp4_configuration_t *core = &twin->configuration;
  const uint32_t tile_m = core->rows * core->tile_rows, tile_n = core->cols * core->tile_cols;
  for (unsigned i = 0; i < load->cores; i++) {
    for (unsigned j = 0; j < JOBS; j++) {
      const uint32_t n = check_below(&twin->random, 4) * tile_n;
      twin_job_t job = timing_gemm(twin, tile_m * (20 + check_below(&twin->random, 40)),
                                   n + 1 + check_below(&twin->random, tile_n),
                                   16 * core->chunk * (1 + check_below(&twin->random, 2)));
      align_rows(&job.gemm);
      job.gemm.d_stride_bytes = 2048u << check_below(&twin->random, 3);
      if (check_below(&twin->random, 3) == 0) job.gemm.d_addr += 128;
      load->jobs[i][j] = job;
    }
    if (i != 0 && check_below(&twin->random, 3))
      memcpy(load->jobs[i], load->jobs[0], sizeof load->jobs[i]);
  }
}

static void compare_edges(const char *configuration, int runs) {
  twin_t twin = {.random = check_random()};
  double stepped = 0;
  twin_configure(&twin, configuration);
  for (unsigned i = 0; i < (unsigned)runs; i++) {
    const uint32_t bus = twin.configuration.bus_bytes;
    load_t load = {.configuration = configuration,
                   .cores = 2 + i % (CORES - 1),
                   .latency = check_below(&twin.random, 40),
                   .bandwidth = bus / 4 + check_below(&twin.random, 2 * bus)};
    draw_edges(&twin, &load);
    stepped += compare(i, &load);
  }
  printf("%s: %.0f %% of the cycles were stepped\n", configuration, 100 * stepped / runs);
}

TEST(skips_know_how_long_a_write_is) {
  compare_edges("small", 6);
}

SLOW_TEST(skips_know_how_long_a_write_is_of_many) {
  compare_edges("small", check_draws(4, 40));
  compare_edges("tiny-quant", check_draws(4, 40));
}

// --- Other users of the memory ------------------------------------------------------------------

static void give(core_t *core, const twin_job_t *job, unsigned times) {
  for (unsigned i = 0; i < times; i++) core->ring[i] = *job;
  core->ring[times - 1].header.flags = 1;
  ufp4_timed_register_write(core->timed, UFP4_REG_RING_TAIL, times);
}

// Stops a core amid its job.
static void hang(core_t *core, const twin_job_t *job) {
  ufp4_timed_register_write(core->timed, UFP4_REG_WATCHDOG, 2000);
  give(core, job, 2);
  ufp4_timed_run(core->timed, 10000);
  ufp4_timed_register_write(core->timed, UFP4_REG_RING_TAIL, TWIN_RING + 1);
}

static twin_job_t long_job(const load_t *load) {
  twin_t twin = {.random = check_random()};
  twin_configure(&twin, load->configuration);
  twin_job_t job = timing_gemm(&twin, 2048, 2048, 1024);
  align_rows(&job.gemm);
  job.gemm.d_stride_bytes = 8192;
  return job;
}

// The model notices that one core hangs although the cycles of the other, which works, are skipped.
TEST(skips_of_one_leave_a_core_that_hangs) {
  const load_t load = {.configuration = "small", .cores = 2, .latency = 100, .bandwidth = 16};
  const twin_job_t job = long_job(&load);
  for (unsigned hangs = 0; hangs < 2; hangs++) {
    core_t *cores = calloc(2, sizeof *cores);
    ufp4_timed_bus_t *bus = ufp4_timed_bus_open(load.latency, load.bandwidth, NULL, 0);
    must(cores != NULL && bus != NULL, "no memory");
    for (unsigned i = 0; i < 2; i++) open_core(&cores[i], &load, bus, 0);
    give(&cores[1 - hangs], &job, 1);
    hang(&cores[hangs], &job);
    const ufp4_timed_status_t status = ufp4_timed_wait_interrupt(cores[hangs].timed, LIMIT);
    const uint64_t cycles = ufp4_timed_cycles(cores[hangs].timed);
    check_bits(hangs, status, UFP4_TIMED_FAILED, "core %u hangs", hangs);
    check_that(hangs, cycles > 1000000 && cycles < 1100000, "that is seen after %.0f cycles",
               (double)cycles);
    const double stepped = (double)ufp4_timed_stepped(cores[hangs].timed) / (double)cycles;
    check_that(hangs, stepped < 0.3, "%.0f %% of the cycles are stepped", 100 * stepped);
    for (unsigned i = 0; i < 2; i++) ufp4_timed_close(cores[i].timed);
    ufp4_timed_bus_close(bus);
    free(cores);
  }
}

// A core that steps every cycle prevents the skips of others only while it is open.
TEST(a_stepped_core_that_leaves_stops_no_skips) {
  const load_t load = {.configuration = "small", .cores = 1, .latency = 100, .bandwidth = 16};
  const twin_job_t job = long_job(&load);
  core_t *cores = calloc(2, sizeof *cores);
  ufp4_timed_bus_t *bus = ufp4_timed_bus_open(load.latency, load.bandwidth, NULL, 0);
  must(cores != NULL && bus != NULL, "no memory");
  for (unsigned i = 0; i < 2; i++) open_core(&cores[i], &load, bus, i == 1);
  give(&cores[0], &job, 1);
  ufp4_timed_run(cores[0].timed, 100000);
  const uint64_t together = ufp4_timed_cycles(cores[0].timed);
  check_bits(0, ufp4_timed_stepped(cores[0].timed) + 8, together, "all are stepped with it");
  ufp4_timed_close(cores[1].timed);
  ufp4_timed_run(cores[0].timed, 400000);
  const uint64_t stepped = ufp4_timed_stepped(cores[0].timed) + 8 - together;
  check_that(0, stepped < 120000, "%.0f cycles are stepped without it", (double)stepped);
  ufp4_timed_close(cores[0].timed);
  ufp4_timed_bus_close(bus);
  free(cores);
}

// Cores with equal parts reach the same joint state again and again.
TEST(joint_states_come_again) {
  twin_t twin = {.random = check_random()};
  twin_configure(&twin, "small");
  for (unsigned cores = 2; cores <= CORES; cores++) {
    load_t load = {.configuration = "small", .cores = cores, .latency = 100, .bandwidth = 16};
    twin_job_t job = timing_gemm(&twin, 192, 320, 1024);
    align_rows(&job.gemm);
    for (unsigned i = 0; i < cores; i++) {
      for (unsigned j = 0; j < JOBS; j++) load.jobs[i][j] = job;
    }
    const double stepped = compare(cores, &load);
    check_that(cores, stepped < 0.3, "%.1f %% of the cycles of %u cores are stepped", 100 * stepped,
               cores);
  }
}
