// SPDX-License-Identifier: Apache-2.0
// Tests that training steps as one list of jobs give the bits of the golden model's layers.
#include <stdlib.h>

#include "steps.h"

static void check_result(const steps_t *run, uint64_t address, int64_t rows, int64_t cols,
                         int is_gradient, const float *want, const char *what, int layer) {
  const size_t bytes = is_gradient ? sizeof(float) : steps_element_bytes(run);
  float *got = steps_read(run, address, rows, cols, bytes);
  for (int64_t i = 0; i < rows * cols; i++) {
    const float rounded = bytes == 2 ? ufp4_bf16_value(ufp4_bf16_cast(want[i])) : want[i];
    check_bits(i, ufp4_f32_bits(got[i]), ufp4_f32_bits(rounded), "%s of layer %d", what, layer);
  }
  free(got);
}

// Checks that a layer's results in the last step are those that the golden model computes from its
// tensors.
static void check_layer(const steps_t *run, ufp4_device_t *golden, int l, int b) {
  const ufp4_schedule_layer_t *shape = &run->layers[l];
  const ufp4_schedule_buffers_t *at = &run->buffers[l];
  const int last = run->plan.steps - 1;
  const uint64_t drawn = (uint64_t)(last * run->plan.batches + b);
  const int64_t tokens = ufp4_schedule_tokens(&run->plan, l, b), in = shape->cin, out = shape->cout;
  const ufp4_schedule_tensor_t *x = l == 0 && last % 2 ? &at->next_x[b] : &at->x[b];
  const size_t bytes = steps_element_bytes(run);
  float *data[] = {steps_read(run, x->plain, tokens, in, bytes),
                   steps_read(run, at->w.plain, out, in, bytes),
                   steps_read(run, at->dy[b].plain, tokens, out, bytes)};
  const ufp4_matrix_t mx = {UFP4_DTYPE_F32, tokens, in, in, data[0]},
                      mw = {UFP4_DTYPE_F32, out, in, in, data[1]},
                      mdy = {UFP4_DTYPE_F32, tokens, out, out, data[2]};
  const ufp4_linear_shape_t how = {tokens, in, out, (unsigned)l, run->plan.seed, UFP4_PASSES_ALL};
  float *y = malloc((size_t)(tokens * out) * sizeof *y),
        *dx = malloc((size_t)(tokens * in) * sizeof *dx),
        *dw = malloc((size_t)(out * in) * sizeof *dw);
  ufp4_linear_t *linear = NULL;
  check_bits(l, ufp4_linear_create(golden, &how, &run->plan.recipe, &linear), UFP4_OK, "layer");
  check_bits(l, ufp4_linear_fprop(linear, &mx, &mw, drawn, y, NULL), UFP4_OK, "fprop");
  check_bits(l, ufp4_linear_dgrad(linear, &mdy, drawn, dx, NULL), UFP4_OK, "dgrad");
  check_bits(l, ufp4_linear_wgrad(linear, dw, NULL), UFP4_OK, "wgrad");
  check_result(run, at->y[b], tokens, out, 0, y, "Y", l);
  check_result(run, at->dx[b], tokens, in, 0, dx, "dX", l);
  check_result(run, at->dw[b], out, in, 1, dw, "dW", l);
  ufp4_linear_free(linear);
  for (int i = 0; i < 3; i++) free(data[i]);
  free(y);
  free(dx);
  free(dw);
}

static void check_case(const steps_case_t *steps_case) {
  steps_t *run = steps_start(stand_backend(), steps_case);
  ufp4_device_t *golden = steps_device("model", steps_case);
  steps_go(run);
  for (int l = 0; l < steps_case->layers; l++) {
    for (int b = 0; b < steps_case->batches; b++) check_layer(run, golden, l, b);
  }
  ufp4_device_close(golden);
  steps_end(run);
}

TEST(results_are_those_of_the_layers) {
  static const steps_case_t cases[] = {
      {"small", "ufp4", UFP4_DTYPE_F32, 3, 2, 1, 0, 0},
      {"small", "e2m1", UFP4_DTYPE_BF16, 3, 2, 2, 0, 7},
      {"small", "ufp4", UFP4_DTYPE_BF16, 1, 1, 2, 0, 0},
      {"small-fp32", "mxfp4", UFP4_DTYPE_BF16, 3, 2, 2, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}

SLOW_TEST(results_with_shared_slots_are_those_of_the_layers) {
  static const steps_case_t cases[] = {
      {"small", "ufp4", UFP4_DTYPE_BF16, 7, 2, 2, 2, 0},
      {"small", "ufp4", UFP4_DTYPE_BF16, 19, 2, 1, 0, 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}
