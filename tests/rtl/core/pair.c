// SPDX-License-Identifier: Apache-2.0
// The simulated core and the golden model, given the same jobs.
#include "pair.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/backend.h"
#include "stand.h"

#define PLACE_BYTES (512ull << 10)
#define MEMORY_BYTES (16ull << 20)
// The sizes for tensors with a long side.
#define LONG_PLACE_BYTES (5ull << 20)
#define LONG_MEMORY_BYTES (128ull << 20)

void pair_must(ufp4_device_t *device, ufp4_status_t status) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "jobs: %s\n", ufp4_device_message(device));
  exit(1);
}

// @p pair: the deviations from the default.
static pair_t open_with(const setting_t *setting, uint64_t seed, pair_t pair,
                        const uint64_t memory_bytes[2]) {
  static const char *const backends[2] = {"rtl", "model"};
  pair.random = check_random();
  pair.setting = setting;
  pair.bytes = (D + (PLACES - D) * pair.d_places) * pair.place_bytes;
  pair.random.state += seed;
  pair.garbage.state = ~pair.random.state;
  for (int i = 0; i < 2; i++) {
    ufp4_device_options_t options = ufp4_device_options_default();
    ufp4_message_t message = {""};
    options.configuration = setting->configuration;
    options.memory_bytes = memory_bytes[i];
    options.mem_latency = setting->latency;
    options.mem_bandwidth = setting->bandwidth;
    options.stall_seed = check_stall(setting->stall_seed);
    options.message = &message;
    if (ufp4_device_open(backends[i], &options, &pair.device[i]) != UFP4_OK) {
      fprintf(stderr, "jobs: %s\n", message.text);
      exit(1);
    }
    pair_must(pair.device[i], ufp4_buffer_alloc(pair.device[i], pair.bytes, &pair.address));
    ufp4_device_info_t info;
    pair_must(pair.device[i], ufp4_device_info(pair.device[i], &info));
    pair.contract = info.configuration.contract;
    pair.mixed = info.configuration.mixed;
    pair.memory[i] = malloc(pair.bytes);
  }
  return pair;
}

pair_t pair_open(const setting_t *setting, uint64_t seed, uint64_t d_places) {
  const uint64_t memory_bytes[2] = {MEMORY_BYTES, MEMORY_BYTES};
  return open_with(setting, seed, (pair_t){.place_bytes = PLACE_BYTES, .d_places = d_places},
                   memory_bytes);
}

pair_t pair_open_long(const setting_t *setting, uint64_t seed) {
  const uint64_t memory_bytes[2] = {LONG_MEMORY_BYTES, LONG_MEMORY_BYTES};
  return open_with(setting, seed, (pair_t){.place_bytes = LONG_PLACE_BYTES, .d_places = 1},
                   memory_bytes);
}

pair_t pair_open_far(const setting_t *setting, uint64_t seed) {
  const uint64_t memory_bytes[2] = {(1ull << UFP4_ADDR_BITS) - UFP4_MEMORY_BASE, MEMORY_BYTES};
  return open_with(setting, seed, (pair_t){.place_bytes = PLACE_BYTES, .d_places = 1},
                   memory_bytes);
}

void pair_close(pair_t *pair) {
  for (int i = 0; i < 2; i++) {
    ufp4_device_close(pair->device[i]);
    free(pair->memory[i]);
  }
}

void pair_write(pair_t *pair, uint64_t address, const void *data, uint64_t bytes) {
  for (int i = 0; i < 2; i++)
    pair_must(pair->device[i], ufp4_buffer_write(pair->device[i], address, data, bytes));
}

// Garbage everywhere, so that a read or a write in the wrong place shows.
void pair_scramble(pair_t *pair) {
  uint64_t *words = (uint64_t *)pair->memory[0];
  for (uint64_t i = 0; i < pair->bytes / sizeof *words; i++) words[i] = check_next(&pair->random);
  pair_write(pair, pair->address, words, pair->bytes);
}

void pair_compare(pair_t *pair, const char *what) {
  for (int i = 0; i < 2; i++) {
    pair_must(pair->device[i],
              ufp4_buffer_read(pair->device[i], pair->address, pair->memory[i], pair->bytes));
  }
  if (memcmp(pair->memory[0], pair->memory[1], pair->bytes) == 0) return;
  const uint64_t *got = (const uint64_t *)pair->memory[0],
                 *want = (const uint64_t *)pair->memory[1];
  for (uint64_t i = 0; i < pair->bytes / sizeof *got; i++) {
    if (got[i] == want[i]) continue;
    check_bits(pair->jobs, got[i], want[i],
               "%s: 8 bytes at place %d + 0x%llx; %s, latency %u, bandwidth %u, stall seed %llu",
               what, (int)(8 * i / pair->place_bytes),
               (unsigned long long)(8 * i % pair->place_bytes), pair->setting->configuration,
               pair->setting->latency, pair->setting->bandwidth,
               (unsigned long long)pair->setting->stall_seed);
  }
}

// A number of rows of a number of bytes.
typedef struct {
  uint64_t address, rows, bytes, stride;
} region_t;

static int holds(region_t region, uint64_t address) {
  const uint64_t at = address - region.address;
  return region.stride != 0 && at / region.stride < region.rows &&
         at % region.stride < region.bytes;
}

static uint64_t sixteens(uint32_t count) {
  return ((uint64_t)count + 15) / 16;
}

static int is_output(const ufp4_descriptor_t *job, uint64_t address) {
  const ufp4_gemm_descriptor_t *g = &job->gemm;
  const ufp4_quant_descriptor_t *q = &job->quant;
  if (g->opcode == UFP4_OPCODE_GEMM) {
    const uint64_t size = g->d_dtype == UFP4_DTYPE_BF16 ? 2 : g->d_dtype == UFP4_DTYPE_I64 ? 8 : 4;
    return holds((region_t){g->d_addr, g->m, g->n * size, g->d_stride_bytes}, address);
  }
  if (q->opcode != UFP4_OPCODE_QUANT) return 0;
  const uint64_t rows = sixteens(q->rows), cols = sixteens(q->cols), code = UFP4_PANEL_CODE_BYTES,
                 scale = UFP4_PANEL_SCALE_BYTES;
  const int row = (q->row_mode & UFP4_MODE_ENABLE) != 0,
            col = (q->col_mode & UFP4_MODE_ENABLE) != 0;
  return (row &&
          holds((region_t){q->row_codes_addr, rows, cols * code, q->row_stride_blocks * code},
                address)) ||
         (row &&
          holds((region_t){q->row_scales_addr, rows, cols * scale, q->row_stride_blocks * scale},
                address)) ||
         (col &&
          holds((region_t){q->col_codes_addr, cols, rows * code, q->col_stride_blocks * code},
                address)) ||
         (col &&
          holds((region_t){q->col_scales_addr, cols, rows * scale, q->col_stride_blocks * scale},
                address));
}

// A job with a bus error leaves its output, and nothing else, undefined: the model takes over the
// bytes that the core left there.
static void pair_reconcile(pair_t *pair, const ufp4_descriptor_t *job, const char *what) {
  for (int i = 0; i < 2; i++) {
    pair_must(pair->device[i],
              ufp4_buffer_read(pair->device[i], pair->address, pair->memory[i], pair->bytes));
  }
  for (uint64_t i = 0; i < pair->bytes; i++) {
    if (pair->memory[0][i] == pair->memory[1][i]) continue;
    check_that(pair->jobs, is_output(job, pair->address + i),
               "%s ended with a bus error and wrote 0x%llx of place %d", what,
               (unsigned long long)(i % pair->place_bytes), (int)(i / pair->place_bytes));
  }
  pair_must(pair->device[1],
            ufp4_buffer_write(pair->device[1], pair->address, pair->memory[0], pair->bytes));
}

// Checks the counters of one job: all of its cycles are of its own kind.
static void check_counters(pair_t *pair, const ufp4_descriptor_t *job,
                           const ufp4_completion_t *done, const uint64_t before[UFP4_COUNTER_COUNT],
                           const uint64_t after[UFP4_COUNTER_COUNT]) {
  uint64_t spent[UFP4_COUNTER_COUNT], engine = 0;
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) spent[i] = after[i] - before[i];
  const int gemm = job->header.opcode == UFP4_OPCODE_GEMM;
  for (int i = UFP4_COUNTER_ARRAY_BUSY; i <= UFP4_COUNTER_STALL_DRAIN; i++) engine += spent[i];
  stand_check_sum(pair->jobs, after);
  check_bits(pair->jobs, engine, gemm ? done->cycles : 0,
             "cycles in which the array worked or stalled");
  check_bits(pair->jobs, spent[UFP4_COUNTER_QUANT], gemm ? 0 : done->cycles, "cycles of QUANT");
  check_bits(pair->jobs, spent[UFP4_COUNTER_JOBS], 1, "jobs");
}

static void scramble(pair_t *pair, void *field, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((uint8_t *)field)[i] = (uint8_t)check_next(&pair->garbage);
}

#define SCRAMBLE(pair, field) scramble(pair, &(field), sizeof(field))

static void scramble_gemm(pair_t *pair, ufp4_gemm_descriptor_t *g) {
  if (!(g->d_mode & UFP4_D_MODE_SUMS)) {
    SCRAMBLE(pair, g->sums_addr);
    SCRAMBLE(pair, g->sums_stride_bytes);
  }
  if (!(g->d_mode & UFP4_D_MODE_C)) {
    SCRAMBLE(pair, g->c_addr);
    SCRAMBLE(pair, g->c_stride_bytes);
  }
  if (!(g->d_mode & UFP4_D_MODE_ALPHA)) SCRAMBLE(pair, g->alpha);
  if (g->scale != UFP4_SCALE_NVFP4) SCRAMBLE(pair, g->tensor_scale);
}

static void scramble_quant(pair_t *pair, ufp4_quant_descriptor_t *q) {
  if (!(q->row_mode & UFP4_MODE_ENABLE)) {
    SCRAMBLE(pair, q->row_exponent);
    SCRAMBLE(pair, q->row_codes_addr);
    SCRAMBLE(pair, q->row_scales_addr);
    SCRAMBLE(pair, q->row_stride_blocks);
    SCRAMBLE(pair, q->row_tensor_id);
  }
  if (!(q->col_mode & UFP4_MODE_ENABLE)) {
    SCRAMBLE(pair, q->col_exponent);
    SCRAMBLE(pair, q->col_codes_addr);
    SCRAMBLE(pair, q->col_scales_addr);
    SCRAMBLE(pair, q->col_stride_blocks);
    SCRAMBLE(pair, q->col_tensor_id);
  }
  if (q->opcode == UFP4_OPCODE_AMAX) {
    SCRAMBLE(pair, q->round);
    SCRAMBLE(pair, q->scale_round);
    scramble(pair, &q->row_codes_addr,
             sizeof *q - offsetof(ufp4_quant_descriptor_t, row_codes_addr));
  }
}

ufp4_core_status_t pair_job(pair_t *pair, const ufp4_descriptor_t *wanted, const char *what) {
  ufp4_descriptor_t filled = *wanted;
  if (filled.header.opcode == UFP4_OPCODE_GEMM) scramble_gemm(pair, &filled.gemm);
  if (filled.header.opcode == UFP4_OPCODE_QUANT || filled.header.opcode == UFP4_OPCODE_AMAX) {
    scramble_quant(pair, &filled.quant);
  }
  const ufp4_descriptor_t *job = &filled;
  ufp4_completion_t done[2];
  uint64_t before[UFP4_COUNTER_COUNT], after[UFP4_COUNTER_COUNT];
  pair->jobs++;
  pair_must(pair->device[0], ufp4_device_counters(pair->device[0], before));
  for (int i = 0; i < 2; i++) {
    uint32_t number;
    ufp4_status_t status = ufp4_submit(pair->device[i], job, &number);
    // The driver refuses jobs that touch the rings.
    if (i == 0 && status == UFP4_ERROR_ARGUMENT) {
      check_bits(pair->jobs, ufp4_submit(pair->device[1], job, NULL), status, "submit of %s", what);
      return UFP4_CORE_STATUS_BAD_ADDRESS;
    }
    pair_must(pair->device[i], status);
    status = ufp4_wait(pair->device[i], number, 0, &done[i]);
    if (status != UFP4_ERROR_JOB) pair_must(pair->device[i], status);
  }
  pair_must(pair->device[0], ufp4_device_counters(pair->device[0], after));
  check_bits(pair->jobs, done[0].status, done[1].status, "status of %s", what);
  check_bits(pair->jobs, done[0].flags, done[1].flags, "flags of %s", what);
  check_counters(pair, job, &done[0], before, after);
  if (done[1].status >= UFP4_CORE_STATUS_READ_ERROR) pair_reconcile(pair, job, what);
  return (ufp4_core_status_t)done[1].status;
}
