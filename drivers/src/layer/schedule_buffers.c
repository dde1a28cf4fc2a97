// SPDX-License-Identifier: Apache-2.0
// Device memory of a schedule.
#include <string.h>

#include "schedule.h"

ufp4_linear_shape_t schedule_shape(const ufp4_schedule_plan_t *plan, int layer, int batch) {
  const ufp4_schedule_layer_t *shape = &plan->layers[layer];
  return (ufp4_linear_shape_t){
      .tokens = ufp4_schedule_tokens(plan, layer, batch), .cin = shape->cin, .cout = shape->cout};
}

unsigned schedule_source_bytes(const ufp4_schedule_plan_t *plan) {
  return plan->source == UFP4_DTYPE_BF16 ? 2 : 4;
}

int64_t ufp4_schedule_tokens(const ufp4_schedule_plan_t *plan, int layer, int batch) {
  const int64_t tokens = plan->layers[layer].tokens;
  return plan->batches == 1 ? tokens : (tokens + 1 - batch) / 2;
}

/** Allocates memory of a device; without a device it only adds up the sizes. */
typedef struct {
  ufp4_device_t *device;
  uint64_t bytes;
  ufp4_status_t status;
} taker_t;

static uint64_t take(taker_t *taker, uint64_t bytes) {
  uint64_t address = 0;
  if (taker->device != NULL && taker->status == UFP4_OK)
    taker->status = ufp4_buffer_alloc(taker->device, bytes, &address);
  taker->bytes += (bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
  return address;
}

static uint64_t take_plain(taker_t *taker, int64_t rows, int64_t cols, unsigned element_bytes) {
  return take(taker, (uint64_t)rows * linear_stride_bytes(cols, element_bytes));
}

static ufp4_schedule_tensor_t take_tensor(taker_t *taker, const ufp4_schedule_plan_t *plan,
                                          ufp4_role_t role, int layer, int batch) {
  const ufp4_linear_shape_t shape = schedule_shape(plan, layer, batch);
  ufp4_schedule_tensor_t tensor;
  int64_t sizes[2];
  linear_role_shape(&shape, role, &sizes[0], &sizes[1]);
  tensor.plain = take_plain(taker, sizes[0], sizes[1], schedule_source_bytes(plan));
  for (int axis = 0; axis < 2; axis++) {
    const int64_t rows = sizes[axis], stride = ufp4_panel_stride_blocks(sizes[1 - axis]);
    tensor.codes[axis] = take(taker, (uint64_t)ufp4_panel_codes_bytes(rows, stride));
    tensor.scales[axis] = take(taker, (uint64_t)ufp4_panel_scales_bytes(rows, stride));
  }
  return tensor;
}

// Returns whether Y of a layer is X of the next layer.
static int is_chained(const ufp4_schedule_plan_t *plan, int layer) {
  if (layer < 0 || layer + 1 >= plan->layer_count) return 0;
  const ufp4_schedule_layer_t *from = &plan->layers[layer], *to = from + 1;
  return from->cout == to->cin && from->tokens == to->tokens;
}

static void take_operands(taker_t *taker, const ufp4_schedule_plan_t *plan, int layer,
                          ufp4_schedule_buffers_t *target) {
  for (int b = 0; b < plan->batches; b++) {
    target->x[b] = take_tensor(taker, plan, UFP4_ROLE_X, layer, b);
    target->dy[b] = take_tensor(taker, plan, UFP4_ROLE_DY, layer, b);
    if (layer == 0 && plan->steps > 1)
      target->next_x[b] = take_tensor(taker, plan, UFP4_ROLE_X, layer, b);
  }
  target->w = take_tensor(taker, plan, UFP4_ROLE_W, layer, 0);
}

static void take_results(taker_t *taker, const ufp4_schedule_plan_t *plan, int layer,
                         ufp4_schedule_buffers_t *target) {
  const unsigned element_bytes = schedule_source_bytes(plan);
  for (int b = 0; b < plan->batches; b++) {
    const ufp4_linear_shape_t shape = schedule_shape(plan, layer, b);
    target->y[b] = is_chained(plan, layer)
                       ? target[1].x[b].plain
                       : take_plain(taker, shape.tokens, shape.cout, element_bytes);
    target->dx[b] = is_chained(plan, layer - 1)
                        ? target[-1].dy[b].plain
                        : take_plain(taker, shape.tokens, shape.cin, element_bytes);
    target->dw[b] = take_plain(taker, shape.cout, shape.cin, sizeof(float));
  }
}

uint64_t ufp4_schedule_bytes(const ufp4_schedule_plan_t *plan) {
  taker_t taker = {.device = NULL};
  for (int l = 0; l < plan->layer_count; l++) {
    ufp4_schedule_buffers_t three[3] = {0};  // the layer and its neighbours
    take_operands(&taker, plan, l, &three[1]);
    take_results(&taker, plan, l, &three[1]);
  }
  return taker.bytes;
}

ufp4_status_t ufp4_schedule_alloc(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                                  ufp4_schedule_buffers_t *buffers) {
  taker_t taker = {.device = device};
  ufp4_status_t status = device_check(device);
  if (status == UFP4_OK) status = schedule_check(device, plan, buffers);
  if (status != UFP4_OK) return status;
  memset(buffers, 0, (size_t)plan->layer_count * sizeof *buffers);
  for (int l = 0; l < plan->layer_count; l++) take_operands(&taker, plan, l, &buffers[l]);
  for (int l = 0; l < plan->layer_count; l++) take_results(&taker, plan, l, &buffers[l]);
  if (taker.status != UFP4_OK) ufp4_schedule_release(device, plan, buffers);
  return taker.status;
}

static void release_tensor(ufp4_device_t *device, const ufp4_schedule_tensor_t *tensor) {
  ufp4_buffer_free(device, tensor->plain);
  for (int axis = 0; axis < 2; axis++) {
    ufp4_buffer_free(device, tensor->codes[axis]);
    ufp4_buffer_free(device, tensor->scales[axis]);
  }
}

void ufp4_schedule_release(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                           ufp4_schedule_buffers_t *buffers) {
  // Memory that a job may still write stays allocated, as in ufp4_linear_free.
  if (device == NULL || plan == NULL || buffers == NULL || !jobs_drain(device)) return;
  for (int l = 0; l < plan->layer_count; l++) {
    ufp4_schedule_buffers_t *of = &buffers[l];
    for (int b = 0; b < plan->batches; b++) {
      release_tensor(device, &of->x[b]);
      release_tensor(device, &of->dy[b]);
      release_tensor(device, &of->next_x[b]);
      if (!is_chained(plan, l)) ufp4_buffer_free(device, of->y[b]);
      if (!is_chained(plan, l - 1)) ufp4_buffer_free(device, of->dx[b]);
      ufp4_buffer_free(device, of->dw[b]);
    }
    release_tensor(device, &of->w);
  }
  memset(buffers, 0, (size_t)plan->layer_count * sizeof *buffers);
}
