// SPDX-License-Identifier: Apache-2.0
#include "steps.h"

#include <stdlib.h>
#include <string.h>

ufp4_device_t *steps_device(const char *backend, const steps_case_t *steps_case) {
  ufp4_device_options_t options = stand_options();
  ufp4_device_t *device = NULL;
  ufp4_message_t why = {0};
  options.configuration = steps_case->configuration;
  // The SystemC modules have no back-pressure.
  if (strncmp(backend, "systemc", 7) != 0) options.stall_seed = check_stall(steps_case->stall_seed);
  options.mem_latency = 20;
  options.message = &why;
  check_bits(0, ufp4_device_open(backend, &options, &device), UFP4_OK, "open: %s", why.text);
  return device;
}

// The layers have odd shapes. X of the third layer is Y of the second; no layer takes the first
// one's Y, as if attention stood between them.
static void make_plan(steps_t *run, const steps_case_t *steps_case) {
  static const int64_t widths[][2] = {{19, 45}, {17, 70}, {70, 33}};
  run->plan = (ufp4_schedule_plan_t){.layers = run->layers,
                                     .layer_count = steps_case->layers,
                                     .batches = steps_case->batches,
                                     .steps = steps_case->steps,
                                     .kept = steps_case->kept,
                                     .source = steps_case->source,
                                     .seed = 77};
  for (int l = 0; l < steps_case->layers; l++) {
    const int64_t *width = widths[l % 3];
    run->layers[l] = (ufp4_schedule_layer_t){l % 3 == 0 ? 38 : 37, width[0], width[1]};
  }
  check_bits(0, ufp4_recipe_named(steps_case->recipe, &run->plan.recipe), UFP4_OK, "recipe");
}

size_t steps_element_bytes(const steps_t *run) {
  return run->plan.source == UFP4_DTYPE_BF16 ? 2 : 4;
}

static size_t stride_bytes(int64_t cols, size_t bytes) {
  return ((size_t)cols * bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
}

static void fill(steps_t *run, check_random_t *random, uint64_t address, int64_t rows, int64_t cols,
                 float factor) {
  float *data = stand_tensor(random, rows * cols, factor);
  uint16_t *half = malloc((size_t)cols * sizeof *half);
  for (int64_t r = 0; r < rows; r++) {
    const float *row = data + r * cols;
    for (int64_t c = 0; c < cols; c++) half[c] = ufp4_bf16_cast(row[c]);
    const void *from = steps_element_bytes(run) == 2 ? (const void *)half : row;
    ufp4_buffer_write(run->device,
                      address + (uint64_t)r * stride_bytes(cols, steps_element_bytes(run)), from,
                      (size_t)cols * steps_element_bytes(run));
  }
  free(half);
  free(data);
}

static void fill_all(steps_t *run) {
  check_random_t random = check_random();
  for (int l = 0; l < run->plan.layer_count; l++) {
    const ufp4_schedule_layer_t *shape = &run->layers[l];
    const ufp4_schedule_buffers_t *at = &run->buffers[l];
    fill(run, &random, at->w.plain, shape->cout, shape->cin, 0.1f);
    for (int b = 0; b < run->plan.batches; b++) {
      const int64_t tokens = ufp4_schedule_tokens(&run->plan, l, b);
      fill(run, &random, at->x[b].plain, tokens, shape->cin, 1);
      fill(run, &random, at->dy[b].plain, tokens, shape->cout, 1e-3f);
      if (l == 0 && run->plan.steps > 1)
        fill(run, &random, at->next_x[b].plain, tokens, shape->cin, 1);
    }
  }
}

steps_t *steps_start(const char *backend, const steps_case_t *steps_case) {
  steps_t *run = calloc(1, sizeof *run);
  run->device = steps_device(backend, steps_case);
  make_plan(run, steps_case);
  check_bits(0, ufp4_schedule_alloc(run->device, &run->plan, run->buffers), UFP4_OK, "alloc: %s",
             ufp4_device_message(run->device));
  fill_all(run);
  check_bits(0, ufp4_schedule_make(run->device, &run->plan, run->buffers, &run->schedule), UFP4_OK,
             "make: %s", ufp4_device_message(run->device));
  return run;
}

void steps_go(steps_t *run) {
  check_bits(0, ufp4_schedule_run(run->device, &run->schedule), UFP4_OK, "run: %s",
             ufp4_device_message(run->device));
}

void steps_end(steps_t *run) {
  ufp4_schedule_free(&run->schedule);
  ufp4_schedule_release(run->device, &run->plan, run->buffers);
  ufp4_device_close(run->device);
  free(run);
}

// Reads FP32 [rows][cols].
float *steps_read(const steps_t *run, uint64_t address, int64_t rows, int64_t cols, size_t bytes) {
  float *data = malloc((size_t)(rows * cols) * sizeof *data);
  uint16_t *half = malloc((size_t)cols * sizeof *half);
  for (int64_t r = 0; r < rows; r++) {
    float *row = data + r * cols;
    ufp4_buffer_read(run->device, address + (uint64_t)r * stride_bytes(cols, bytes),
                     bytes == 2 ? (void *)half : row, (size_t)cols * bytes);
    for (int64_t c = 0; c < cols && bytes == 2; c++) row[c] = ufp4_bf16_value(half[c]);
  }
  free(half);
  return data;
}
