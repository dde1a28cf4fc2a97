// SPDX-License-Identifier: Apache-2.0
#include "layer.h"

#include "layer/sgemm.h"

static ufp4_matrix_t matrix(int64_t rows, int64_t cols, const float *data) {
  return (ufp4_matrix_t){UFP4_DTYPE_F32, rows, cols, cols, data};
}

ufp4_status_t ufp4_layer_create(ufp4_device_t *device, const ufp4_recipe_t *recipe,
                                const ufp4_linear_shape_t *shape, ufp4_layer_t *layer) {
  *layer = (ufp4_layer_t){
      .tokens = shape->tokens, .cin = shape->cin, .cout = shape->cout, .layer = shape->layer};
  if (!device || !recipe) return UFP4_OK;
  return ufp4_linear_create(device, shape, recipe, &layer->linear);
}

void ufp4_layer_free(ufp4_layer_t *layer) {
  if (layer->linear) ufp4_linear_free(layer->linear);
  *layer = (ufp4_layer_t){0};
}

static ufp4_status_t tell(const ufp4_layer_t *layer, const ufp4_layer_hook_t *hook,
                          ufp4_pass_t pass, const float *dy, const float *d,
                          const ufp4_gemm_stats_t *stats) {
  if (!hook || !hook->call) return UFP4_OK;
  int64_t rows = pass == UFP4_PASS_WGRAD ? layer->cout : layer->tokens;
  int64_t cols = pass == UFP4_PASS_FPROP ? layer->cout : layer->cin;
  ufp4_layer_event_t event = {
      .layer = layer->layer,
      .pass = pass,
      .linear = layer->linear,
      .x = matrix(layer->tokens, layer->cin, pass == UFP4_PASS_DGRAD ? NULL : layer->x),
      .w = matrix(layer->cout, layer->cin, pass == UFP4_PASS_WGRAD ? NULL : layer->w),
      .dy = matrix(layer->tokens, layer->cout, dy),
      .d = matrix(rows, cols, d),
      .stats = *stats};
  return hook->call(hook->context, &event);
}

static void multiply(const ufp4_layer_t *layer, int64_t m, int64_t n, int64_t k, const float *a,
                     int a_turned, const float *b, int b_turned, float *d) {
  if (layer->product.call) {
    layer->product.call(layer->product.context, m, n, k, a, a_turned, b, b_turned, d);
    return;
  }
  const ufp4_sgemm_view_t left = {a, a_turned ? 1 : k, a_turned ? m : 1},
                          right = {b, b_turned ? 1 : n, b_turned ? k : 1};
  ufp4_sgemm(m, n, k, left, right, d, n, 0);
}

// Keeps the copies of the weights if they are still valid.
static ufp4_status_t load_weights(ufp4_layer_t *layer, const float *w, uint64_t step) {
  if (layer->fixed && layer->held && layer->w == w && layer->step == step) return UFP4_OK;
  const ufp4_matrix_t mw = matrix(layer->cout, layer->cin, w);
  const ufp4_status_t status = ufp4_linear_load(layer->linear, UFP4_ROLE_W, &mw, step);
  layer->held = status == UFP4_OK;
  layer->w = w;
  layer->step = step;
  return status;
}

ufp4_status_t ufp4_layer_forward(ufp4_layer_t *layer, const float *x, const float *w, uint64_t step,
                                 float *y, const ufp4_layer_hook_t *hook) {
  int64_t tokens = layer->tokens, cin = layer->cin, cout = layer->cout;
  ufp4_gemm_stats_t stats = {.m = tokens, .n = cout, .k = cin};
  layer->x = x;
  if (layer->linear) {
    const ufp4_matrix_t mx = matrix(tokens, cin, x);
    ufp4_status_t status = ufp4_linear_load(layer->linear, UFP4_ROLE_X, &mx, step);
    if (!status) status = load_weights(layer, w, step);
    if (!status) status = ufp4_linear_run(layer->linear, UFP4_PASS_FPROP, y, cout, &stats);
    if (status) return status;
  } else {
    layer->w = w;
    multiply(layer, tokens, cout, cin, x, 0, w, 1, y);
  }
  return tell(layer, hook, UFP4_PASS_FPROP, NULL, y, &stats);
}

static ufp4_status_t dgrad(ufp4_layer_t *layer, const float *dy, uint64_t step, float *dx,
                           const ufp4_layer_hook_t *hook) {
  int64_t tokens = layer->tokens, cin = layer->cin, cout = layer->cout;
  ufp4_gemm_stats_t stats = {.m = tokens, .n = cin, .k = cout};
  if (layer->linear) {
    ufp4_matrix_t m = matrix(tokens, cout, dy);
    ufp4_status_t status = ufp4_linear_dgrad(layer->linear, &m, step, dx, &stats);
    if (status) return status;
  } else {
    multiply(layer, tokens, cin, cout, dy, 0, layer->w, 0, dx);
  }
  return tell(layer, hook, UFP4_PASS_DGRAD, dy, dx, &stats);
}

static ufp4_status_t wgrad(ufp4_layer_t *layer, const float *dy, float *dw,
                           const ufp4_layer_hook_t *hook) {
  int64_t tokens = layer->tokens, cin = layer->cin, cout = layer->cout;
  ufp4_gemm_stats_t stats = {.m = cout, .n = cin, .k = tokens};
  if (layer->linear) {
    ufp4_status_t status = ufp4_linear_wgrad(layer->linear, dw, &stats);
    if (status) return status;
  } else {
    multiply(layer, cout, cin, tokens, dy, 1, layer->x, 0, dw);
  }
  return tell(layer, hook, UFP4_PASS_WGRAD, dy, dw, &stats);
}

ufp4_status_t ufp4_layer_backward(ufp4_layer_t *layer, const float *dy, uint64_t step, float *dx,
                                  float *dw, const ufp4_layer_hook_t *hook) {
  ufp4_status_t status = dgrad(layer, dy, step, dx, hook);
  return status ? status : wgrad(layer, dy, dw, hook);
}
