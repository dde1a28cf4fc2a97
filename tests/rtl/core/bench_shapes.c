// SPDX-License-Identifier: Apache-2.0
// GEMMs of odd shapes, with sides from 1 to twice the macro-tile, on the simulated core and on the
// golden model: none hangs, all results are equal. Prints cycles and utilization of each, beside
// the bound of its shape: the array's steps, the beats read and the beats written, whichever are
// most.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ufp4.h"

enum {
  MAX_SIDE = 256,
  SIDES = 13,
  OPERAND_BYTES = MAX_SIDE * MAX_SIDE / 2,
  D_BYTES = MAX_SIDE * MAX_SIDE * 4
};
enum { MEMORY_BYTES = 1 << 20, MAX_CYCLES = 2000000 };

typedef struct {
  ufp4_device_t *device[2];  // rtl, model
  ufp4_configuration_t configuration;
  uint64_t codes[2], scales[2], d;
  uint64_t shapes, different;
  double lowest;  // utilization over its bound
  uint32_t lowest_shape[3];
} sweep_t;

static void must(ufp4_device_t *device, ufp4_status_t status) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "shapes: %s\n", ufp4_device_message(device));
  exit(3);
}

static sweep_t open_sweep(const char *configuration, unsigned latency) {
  static const char *const backends[2] = {"rtl", "model"};
  sweep_t sweep = {.lowest = 2};
  for (int i = 0; i < 2; i++) {
    ufp4_device_options_t options = ufp4_device_options_default();
    ufp4_message_t message = {""};
    ufp4_device_info_t info;
    options.configuration = configuration;
    options.memory_bytes = MEMORY_BYTES;
    options.mem_latency = latency;
    options.max_cycles = MAX_CYCLES;
    options.message = &message;
    if (ufp4_device_open(backends[i], &options, &sweep.device[i]) != UFP4_OK) {
      fprintf(stderr, "shapes: %s\n", message.text);
      exit(3);
    }
    for (int side = 0; side < 2; side++) {
      must(sweep.device[i], ufp4_buffer_alloc(sweep.device[i], OPERAND_BYTES, &sweep.codes[side]));
      must(sweep.device[i], ufp4_buffer_alloc(sweep.device[i], OPERAND_BYTES, &sweep.scales[side]));
    }
    must(sweep.device[i], ufp4_buffer_alloc(sweep.device[i], D_BYTES, &sweep.d));
    must(sweep.device[i], ufp4_device_info(sweep.device[i], &info));
    sweep.configuration = info.configuration;
  }
  return sweep;
}

// Any codes, and scales about 1.
static void fill(sweep_t *sweep) {
  check_random_t random = check_random();
  static uint8_t codes[OPERAND_BYTES], scales[OPERAND_BYTES];
  for (int side = 0; side < 2; side++) {
    for (int i = 0; i < OPERAND_BYTES; i++) codes[i] = (uint8_t)check_next(&random);
    for (int i = 0; i < OPERAND_BYTES; i++) scales[i] = (uint8_t)(0x30 + check_below(&random, 16));
    for (int i = 0; i < 2; i++) {
      must(sweep->device[i],
           ufp4_buffer_write(sweep->device[i], sweep->codes[side], codes, sizeof codes));
      must(sweep->device[i],
           ufp4_buffer_write(sweep->device[i], sweep->scales[side], scales, sizeof scales));
    }
  }
}

static uint64_t ceil_div(uint64_t n, uint64_t by) {
  return (n + by - 1) / by;
}

static uint64_t least_cycles(const ufp4_configuration_t *c, uint32_t m, uint32_t n, uint32_t k) {
  const uint64_t blocks = ceil_div(k, 16), tiles_m = ceil_div(m, c->rows * c->tile_rows);
  const uint64_t tiles_n = ceil_div(n, c->cols * c->tile_cols);
  const uint64_t groups = ceil_div(m, 16) * tiles_n + ceil_div(n, 16) * tiles_m;
  const uint64_t steps = ceil_div(m, c->rows) * ceil_div(n, c->cols) * blocks * (16 / c->lanes);
  const uint64_t reads = groups * blocks * 144 / c->bus_bytes,
                 writes = m * ceil_div(4ull * n, c->bus_bytes);
  const uint64_t transfers = reads > writes ? reads : writes;
  return steps > transfers ? steps : transfers;
}

static int is_different(sweep_t *sweep) {
  static uint8_t d[2][D_BYTES];
  for (int i = 0; i < 2; i++)
    must(sweep->device[i], ufp4_buffer_read(sweep->device[i], sweep->d, d[i], D_BYTES));
  return memcmp(d[0], d[1], D_BYTES) != 0;
}

static void run_shape(sweep_t *sweep, uint32_t m, uint32_t n, uint32_t k) {
  const ufp4_descriptor_t job = {.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                          .m = m,
                                          .n = n,
                                          .k = k,
                                          .a_elem = UFP4_ELEM_E1M2,
                                          .b_elem = UFP4_ELEM_E2M1,
                                          .a_codes_addr = sweep->codes[0],
                                          .a_scales_addr = sweep->scales[0],
                                          .b_codes_addr = sweep->codes[1],
                                          .b_scales_addr = sweep->scales[1],
                                          .d_addr = sweep->d,
                                          .a_stride_blocks = MAX_SIDE / 16,
                                          .b_stride_blocks = MAX_SIDE / 16,
                                          .d_stride_bytes = MAX_SIDE * 4}};
  ufp4_completion_t done[2];
  for (int i = 0; i < 2; i++) {
    uint32_t number;
    must(sweep->device[i], ufp4_submit(sweep->device[i], &job, &number));
    must(sweep->device[i], ufp4_wait(sweep->device[i], number, 0, &done[i]));
  }
  const ufp4_configuration_t *c = &sweep->configuration;
  const double ideal = (double)m * n * k / ((double)c->lanes * c->rows * c->cols);
  const double least = (double)least_cycles(c, m, n, k);
  const double cycles = (double)done[0].cycles;
  const int different = is_different(sweep);
  sweep->shapes++;
  sweep->different += (uint64_t)different;
  if (least / cycles < sweep->lowest) {
    sweep->lowest = least / cycles;
    memcpy(sweep->lowest_shape, (uint32_t[3]){m, n, k}, sizeof sweep->lowest_shape);
  }
  printf("  %5u %5u %5u %8.0f %6.2f %6.2f  %s\n", m, n, k, cycles, 100 * ideal / cycles,
         100 * ideal / least, different ? "DIFFERENT" : "equal");
}

int main(int argc, char **argv) {
  const char *configuration = "default";
  unsigned every = 1, latency = 100;
  int unknown = argc % 2 == 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--config") == 0) {
      configuration = argv[i + 1];
    } else if (strcmp(argv[i], "--every") == 0) {
      every = (unsigned)strtoul(argv[i + 1], NULL, 0);
    } else if (strcmp(argv[i], "--mem-latency") == 0) {
      latency = (unsigned)strtoul(argv[i + 1], NULL, 0);
    } else {
      unknown = 1;
    }
  }
  if (unknown || every == 0) {
    fprintf(stderr,
            "usage: bench_shapes [--config NAME] [--every N (th shape)] [--mem-latency N]\n");
    return 2;
  }
  sweep_t sweep = open_sweep(configuration, latency);
  const uint32_t tile = sweep.configuration.rows * sweep.configuration.tile_rows;
  const uint32_t sides[SIDES] = {
      1,        2,    tile / 8, tile / 8 + 1,    tile / 2 - 1, tile / 2, tile - tile / 4,
      tile - 1, tile, tile + 1, tile + tile / 2, 2 * tile - 1, 2 * tile};
  fill(&sweep);
  printf("%% m n k cycles util_percent bound_percent verdict\n");
  for (unsigned i = 0; i < SIDES * SIDES * SIDES; i += every) {
    run_shape(&sweep, sides[i / SIDES / SIDES], sides[i / SIDES % SIDES], sides[i % SIDES]);
  }
  printf("%llu shapes, %llu different; least of its bound: %.1f %% at %u x %u x %u\n",
         (unsigned long long)sweep.shapes, (unsigned long long)sweep.different, 100 * sweep.lowest,
         sweep.lowest_shape[0], sweep.lowest_shape[1], sweep.lowest_shape[2]);
  for (int i = 0; i < 2; i++) ufp4_device_close(sweep.device[i]);
  return sweep.different != 0;
}
