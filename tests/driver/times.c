// SPDX-License-Identifier: Apache-2.0
#include "times.h"

#include <stdlib.h>

#include "layer.h"

static const int64_t shape[3] = {33, 47, 130};

ufp4_device_t *times_device(const char *backend, int memory, int timing_only) {
  static const unsigned latencies[TIMES_MEMORIES] = {100, 5, 37, 20, 0, 3},
                        bandwidths[TIMES_MEMORIES] = {0, 0, 5, 0, 9, 0};
  static const char *const drams[TIMES_MEMORIES] = {NULL, NULL, NULL, "lpddr5", "hbm3", "lpddr5"};
  ufp4_device_options_t options = stand_options();
  ufp4_device_t *device = NULL;
  ufp4_message_t why = {0};
  if (memory == 0) options.configuration = "default";
  options.mem_latency = latencies[memory];
  options.mem_bandwidth = bandwidths[memory];
  options.dram = drams[memory];
  if (memory >= TIMES_OF_A_NANOSECOND) options.cycle_fs = 1740000;
  options.timing_only = timing_only;
  options.message = &why;
  check_bits(memory, ufp4_device_open(backend, &options, &device), UFP4_OK, "open: %s", why.text);
  return device;
}

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

void check_times(int64_t index, const times_t *got, const times_t *want) {
  for (int i = 0; i < UFP4_PASS_COUNT; i++) {
    check_that(index, want->stats[i].cycles > 0, "no cycles");
    check_bits(index, got->stats[i].cycles, want->stats[i].cycles, "cycles of pass %d", i);
    check_bits(index, got->stats[i].quantize_cycles, want->stats[i].quantize_cycles,
               "quantize_cycles of pass %d", i);
    check_counters(index, got->stats[i].counters, want->stats[i].counters);
  }
  check_counters(index, got->counters, want->counters);
}

times_t times_of(const char *backend, int memory, int timing_only) {
  ufp4_device_t *device = times_device(backend, memory, timing_only);
  const times_t times = run_layer(device);
  ufp4_device_close(device);
  return times;
}
