// SPDX-License-Identifier: Apache-2.0
// The backend tlm: the cycles of rtl, with the golden model's data or without any.
#include <stdlib.h>
#include <string.h>

#include "layer.h"

enum { MEMORIES = 3 };
static const int64_t shape[3] = {33, 47, 130};

// Configuration and memory, by number.
static ufp4_device_t *open_device(const char *backend, int memory, int timing_only) {
  static const unsigned latencies[MEMORIES] = {100, 5, 37}, bandwidths[MEMORIES] = {0, 0, 5};
  ufp4_device_options_t options = bench_options();
  ufp4_device_t *device = NULL;
  ufp4_message_t why = {0};
  if (memory == 0) options.configuration = "default";
  options.mem_latency = latencies[memory];
  options.mem_bandwidth = bandwidths[memory];
  options.timing_only = timing_only;
  options.message = &why;
  check_bits(memory, ufp4_device_open(backend, &options, &device), UFP4_OK, "open: %s", why.text);
  return device;
}

// The statistics of each pass, and all counters.
typedef struct {
  ufp4_gemm_stats_t stats[UFP4_PASS_COUNT];
  uint64_t counters[UFP4_COUNTER_COUNT];
  int blank;  // every output is zero
} times_t;

static times_t run_layer(ufp4_device_t *device) {
  check_random_t random = check_random();
  tensors_t tensors = make_tensors(&random, shape);
  ufp4_linear_t *linear = make_linear(device, shape, "ufp4", 5, UFP4_PASSES_ALL);
  times_t times = {.blank = 1};
  float *d[UFP4_PASS_COUNT];
  for (int i = 0; i < UFP4_PASS_COUNT; i++) d[i] = new_output(shape, (ufp4_pass_t)i);
  const ufp4_matrix_t *v = tensors.views;
  ufp4_gemm_stats_t *stats = times.stats;
  check_bits(0, ufp4_linear_fprop(linear, &v[0], &v[1], 3, d[0], &stats[0]), UFP4_OK, "fprop");
  check_bits(1, ufp4_linear_dgrad(linear, &v[2], 3, d[1], &stats[1]), UFP4_OK, "dgrad");
  check_bits(2, ufp4_linear_wgrad(linear, d[2], &stats[2]), UFP4_OK, "wgrad");
  check_bits(3, ufp4_device_counters(device, times.counters), UFP4_OK, "counters");
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    for (int64_t i = 0; i < stats[pass].m * stats[pass].n; i++) times.blank &= d[pass][i] == 0;
    free(d[pass]);
  }
  ufp4_linear_free(linear);
  free_tensors(&tensors);
  return times;
}

static void check_counters(int64_t index, const uint64_t *got, const uint64_t *want) {
  static const char *const names[] = UFP4_COUNTER_NAMES;
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) check_bits(index, got[i], want[i], "%s", names[i]);
}

static void check_times(int64_t index, const times_t *got, const times_t *want) {
  for (int i = 0; i < UFP4_PASS_COUNT; i++) {
    check_that(index, want->stats[i].cycles > 0, "no cycles");
    check_bits(index, got->stats[i].cycles, want->stats[i].cycles, "cycles of pass %d", i);
    check_bits(index, got->stats[i].quantize_cycles, want->stats[i].quantize_cycles,
               "quantize_cycles of pass %d", i);
    check_counters(index, got->stats[i].counters, want->stats[i].counters);
  }
  check_counters(index, got->counters, want->counters);
}

static times_t times_of(const char *backend, int memory, int timing_only) {
  ufp4_device_t *device = open_device(backend, memory, timing_only);
  const times_t times = run_layer(device);
  ufp4_device_close(device);
  return times;
}

TEST(cycles_and_counters_are_the_cores_on_rtl) {
  for (int i = 0; i < MEMORIES; i++) {
    const times_t got = times_of("tlm", i, 0), want = times_of("rtl", i, 0);
    check_times(i, &got, &want);
  }
}

TEST(timing_only_takes_the_same_time_and_computes_nothing) {
  for (int i = 0; i < MEMORIES; i++) {
    const times_t got = times_of("tlm", i, 1), want = times_of("tlm", i, 0);
    check_times(i, &got, &want);
    check_that(i, got.blank, "there are data");
    check_that(i, !want.blank, "there are no data");
  }
}

/** Where a burst outside of memory would tell the time: refused, and the device serves on. */
TEST(rejects_jobs_outside_of_memory) {
  for (int i = 0; i < 2; i++) {
    ufp4_device_t *device = open_device("tlm", 1, i);
    bench_jobs_t jobs = bench_jobs(device);
    const uint64_t outside = jobs.gemm.gemm.d_addr + (16u << 20);
    ufp4_descriptor_t bad[] = {jobs.amax, jobs.quant, jobs.quant, jobs.gemm, jobs.gemm};
    bad[0].quant.src_addr = outside;
    bad[1].quant.src_addr = outside;
    bad[2].quant.col_scales_addr = outside;
    bad[3].gemm.a_codes_addr = outside;
    bad[4].gemm.d_addr = outside;
    for (int job = 0; job < 5; job++) {
      check_bits(job, ufp4_submit(device, &bad[job], NULL), UFP4_ERROR_UNSUPPORTED, "submit");
      check_that(job, strstr(ufp4_device_message(device), "the backend rtl has") != NULL,
                 "message '%s'", ufp4_device_message(device));
    }
    ufp4_completion_t done = {0};
    bad[0].quant.rows = 0;
    check_bits(5, bench_run(device, &bad[0], &done), UFP4_ERROR_JOB, "a job that is refused");
    check_bits(5, done.status, UFP4_CORE_STATUS_BAD_SIZE, "its status");
    check_bits(6, bench_run(device, &jobs.amax, &done), UFP4_OK, "a good job: %s",
               ufp4_device_message(device));
    ufp4_device_close(device);
  }
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(cycles_and_counters_are_the_cores_on_rtl),
      CHECK_TEST(timing_only_takes_the_same_time_and_computes_nothing),
      CHECK_TEST(rejects_jobs_outside_of_memory),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
