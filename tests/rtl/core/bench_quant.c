// SPDX-License-Identifier: Apache-2.0
// AMAX and QUANT of a BF16 tensor on the simulated core, each alone, both copies with transform and
// stochastic rounding: their cycles, and whether every byte of codes and scales is the golden
// model's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ufp4.h"

enum { COPIES = 2, ELEMENT_BYTES = 2 };

typedef struct {
  ufp4_device_t *device;
  uint64_t source, image, image_bytes;  // the image: codes and scales of both copies
  ufp4_descriptor_t job;
} bench_t;

static void must(bench_t *bench, ufp4_status_t status) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "bench_quant: %s\n", ufp4_device_message(bench->device));
  exit(3);
}

static uint64_t round_up(uint64_t bytes) {
  return (bytes + 127) / 128 * 128;
}

// Places the copies' codes and scales, one after the other.
static void place(bench_t *bench, uint32_t rows, uint32_t cols) {
  const int64_t strides[COPIES] = {ufp4_panel_stride_blocks(cols), ufp4_panel_stride_blocks(rows)};
  const uint32_t lines[COPIES] = {rows, cols};
  uint64_t at[COPIES][2], bytes = 0;
  for (int c = 0; c < COPIES; c++) {
    at[c][0] = bytes;
    bytes += round_up((uint64_t)ufp4_panel_codes_bytes(lines[c], strides[c]));
    at[c][1] = bytes;
    bytes += round_up((uint64_t)ufp4_panel_scales_bytes(lines[c], strides[c]));
  }
  bench->image_bytes = bytes;
  must(bench, ufp4_buffer_alloc(bench->device, bytes, &bench->image));
  ufp4_quant_descriptor_t *job = &bench->job.quant;
  job->row_codes_addr = bench->image + at[0][0];
  job->row_scales_addr = bench->image + at[0][1];
  job->col_codes_addr = bench->image + at[1][0];
  job->col_scales_addr = bench->image + at[1][1];
  job->row_stride_blocks = (uint32_t)strides[0];
  job->col_stride_blocks = (uint32_t)strides[1];
}

static void fill(bench_t *bench, uint32_t rows, uint32_t cols, uint32_t stride) {
  check_random_t random = check_random();
  uint8_t *image = calloc(bench->image_bytes, 1);
  uint16_t *row = calloc(stride, 1);
  if (!image || !row) exit(3);
  must(bench, ufp4_buffer_write(bench->device, bench->image, image, bench->image_bytes));
  for (uint32_t r = 0; r < rows; r++) {
    for (uint32_t c = 0; c < cols; c++) {
      const uint64_t bits = check_next(&random);
      row[c] = (uint16_t)((bits & 0x807F) | (118 + (bits >> 32 & 7)) << 7);
    }
    must(bench,
         ufp4_buffer_write(bench->device, bench->source + (uint64_t)r * stride, row, stride));
  }
  free(row);
  free(image);
}

static bench_t open_bench(const char *backend, const char *configuration, uint32_t latency,
                          uint32_t rows, uint32_t cols) {
  bench_t bench = {0};
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_message_t message = {""};
  const uint32_t stride = (uint32_t)round_up((uint64_t)cols * ELEMENT_BYTES);
  options.configuration = configuration;
  options.mem_latency = latency;
  options.message = &message;
  if (ufp4_device_open(backend, &options, &bench.device) != UFP4_OK) {
    fprintf(stderr, "bench_quant: %s\n", message.text);
    exit(3);
  }
  must(&bench, ufp4_buffer_alloc(bench.device, (uint64_t)rows * stride, &bench.source));
  bench.job.quant =
      (ufp4_quant_descriptor_t){.rows = rows,
                                .cols = cols,
                                .src_addr = bench.source,
                                .src_stride_bytes = stride,
                                .src_dtype = UFP4_DTYPE_BF16,
                                .elem = UFP4_ELEM_E1M2,
                                .round = UFP4_ROUND_SR,
                                .row_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT | UFP4_MODE_SLOT,
                                .col_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT | UFP4_MODE_SLOT,
                                .rht_mask = UFP4_RHT_DEFAULT_MASK,
                                .row_exponent = 0,
                                .col_exponent = 1,
                                .seed = 1};
  place(&bench, rows, cols);
  fill(&bench, rows, cols, stride);
  return bench;
}

static ufp4_completion_t run(bench_t *bench, uint8_t opcode) {
  ufp4_completion_t done;
  uint32_t number;
  bench->job.quant.opcode = opcode;
  must(bench, ufp4_submit(bench->device, &bench->job, &number));
  must(bench, ufp4_wait(bench->device, number, 0, &done));
  return done;
}

static int same_image(bench_t *a, bench_t *b) {
  uint8_t *images[2] = {malloc(a->image_bytes), malloc(b->image_bytes)};
  if (!images[0] || !images[1]) exit(3);
  must(a, ufp4_buffer_read(a->device, a->image, images[0], a->image_bytes));
  must(b, ufp4_buffer_read(b->device, b->image, images[1], b->image_bytes));
  const int same = memcmp(images[0], images[1], a->image_bytes) == 0;
  free(images[0]);
  free(images[1]);
  return same;
}

// @return whether all is the golden model's
static int measure(const char *configuration, uint32_t latency, uint32_t rows, uint32_t cols) {
  bench_t core = open_bench("rtl", configuration, latency, rows, cols);
  bench_t model = open_bench("model", configuration, latency, rows, cols);
  const ufp4_completion_t amax = run(&core, UFP4_OPCODE_AMAX);
  const ufp4_completion_t quant = run(&core, UFP4_OPCODE_QUANT);
  run(&model, UFP4_OPCODE_AMAX);
  run(&model, UFP4_OPCODE_QUANT);
  const int same = same_image(&core, &model);
  const double elements = (double)rows * cols;
  printf("  %6u %6u %9llu %9llu %6.2f %6.2f %s\n", rows, cols, (unsigned long long)amax.cycles,
         (unsigned long long)quant.cycles, elements / (double)amax.cycles,
         elements / (double)quant.cycles, same ? "equal" : "DIFFERENT");
  ufp4_device_close(core.device);
  ufp4_device_close(model.device);
  return same;
}

int main(int argc, char **argv) {
  const char *configuration = "default";
  uint32_t latency = 100, rows, cols;
  int at = 1, same = 1;
  for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
    if (strcmp(argv[at], "--config") == 0)
      configuration = argv[at + 1];
    else if (strcmp(argv[at], "--mem-latency") == 0)
      latency = (uint32_t)strtoul(argv[at + 1], NULL, 0);
    else
      break;
  }
  if (at == argc) {
    fprintf(stderr, "usage: bench_quant [--config NAME] [--mem-latency N] ROWSxCOLS...\n");
    return 2;
  }
  printf("%%  rows   cols      amax     quant  numbers a cycle, bits\n");
  for (; at < argc; at++) {
    if (sscanf(argv[at], "%ux%u", &rows, &cols) != 2 || rows == 0 || cols == 0) {
      fprintf(stderr, "bench_quant: '%s' is not a shape like 64x4096\n", argv[at]);
      return 2;
    }
    same &= measure(configuration, latency, rows, cols);
  }
  return same ? 0 : 1;
}
